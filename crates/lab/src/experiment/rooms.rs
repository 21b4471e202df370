//! The chat-room challenge as a plan.

use genkai_model::load::{Load, Protocol, Request, Stop};
use genkai_model::objective::{Bound, Condition, Objective};
use genkai_model::plan::{Backplane, Cluster, Fault, Plan, Router, Study, System};
use genkai_model::rooms::Rooms;
use genkai_model::units::{Bytes, Span};
use genkai_model::websocket::{Message, WebSocket};
use genkai_targets::application;

use super::{Size, procedure, users};

/// How many, how often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Rooms.
    pub rooms: u32,
    /// Members of each.
    pub members: u32,
    /// Messages of each member.
    pub messages: u32,
    /// Time between two messages of a member.
    pub message_every: Span,
    /// Time between two members that enter a room.
    pub enter_every: Span,
    /// Bytes of a message.
    pub message: Bytes,
    /// Bytes that may wait for a member in a node.
    pub member_queue: Bytes,
    /// After the last message was to be sent: time for what is late, so that it is not counted as lost.
    pub settle: Span,
}

/// Failed attempts to enter before a client gives up.
const RETRIES: u32 = 10;
/// Pause between two attempts.
const PAUSE: Span = Span::from_secs(1);

impl Shape {
    /// The original's, or one that takes seconds.
    pub fn of(size: Size) -> Shape {
        let (rooms, members, messages, message_every, enter_every, settle) = match size {
            Size::Quick => (10, 20, 20, Span::from_millis(500), Span::from_millis(100), Span::from_secs(2)),
            Size::Full => (100, 100, 100, Span::from_secs(5), Span::from_secs(3), Span::from_secs(10)),
        };
        Shape {
            rooms,
            members,
            messages,
            message_every,
            enter_every,
            message: Bytes(64),
            member_queue: Bytes(1 << 20),
            settle,
        }
    }

    /// How long it takes: all enter, the last one says all it has to say, everything arrives.
    pub fn lasts(&self) -> Span {
        let entering = self.enter_every.0.saturating_mul(u64::from(self.members));
        let talking = self.message_every.0.saturating_mul(u64::from(self.messages));
        Span(entering.saturating_add(talking).saturating_add(self.settle.0))
    }

    /// Messages in all.
    pub fn planned(&self) -> u64 {
        (u64::from(self.rooms) * u64::from(self.members)).saturating_mul(u64::from(self.messages))
    }
}

/// The servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// Numbers of nodes to be tried.
    pub nodes: Vec<u32>,
    /// What a node is.
    pub server: String,
    /// What stands before them.
    pub router: Option<Router>,
    /// How they share rooms.
    pub backplane: Backplane,
    /// Lines of the private Redis's configuration.
    pub redis: Vec<String>,
    /// Faults on purpose.
    pub faults: Vec<Fault>,
}

/// The plan: this shape, on these servers.
pub fn plan(size: Size, shape: &Shape, site: Site) -> Plan {
    let Site { nodes, server, router, backplane, redis, faults } = site;
    let socketio = application::find(&server).is_ok_and(|product| product.socketio);
    let cluster = Cluster {
        nodes,
        server,
        router,
        backplane,
        redis,
        member_queue: shape.member_queue,
        // Every message, and with a backplane a second time on its way back.
        trace: u32::try_from(shape.planned().saturating_mul(2)).unwrap_or(u32::MAX),
        faults,
    };
    // A message that is heard within a second is in time for a chat, and tells how late a generator may be.
    let objective = Objective(vec![Condition::LatencyBelow(0.99, Bound::excluding(Span::from_secs(1)))]);
    let (title, load) = (format!("rooms ({})", size.word()), load(shape, socketio));
    Plan { study: Study::Rooms(cluster), ..Plan::of(title, system(), load, objective, procedure(size)) }
}

/// Rooms have no product under test: their cluster says what runs.
pub(super) fn system() -> System {
    System::generated("rooms")
}

fn load(shape: &Shape, socketio: bool) -> Load {
    let rooms = Rooms {
        rooms: shape.rooms,
        messages: shape.messages,
        every: shape.message_every,
        retries: RETRIES,
        pause: PAUSE,
        socketio,
    };
    let message = Some(Message { size: shape.message.0, binary: false });
    let spawn_rate = f64::from(shape.rooms) / shape.enter_every.as_secs_f64();
    let base = users(shape.rooms * shape.members, spawn_rate);
    Load {
        protocol: Protocol::WebSocket(WebSocket { message, rooms: Some(rooms), ..WebSocket::default() }),
        request: Request { path: "/rooms".to_owned(), ..base.request },
        stop: Stop { after: shape.lasts(), requests: None },
        timeout: Span::from_secs(10),
        tick: Span::from_millis(500),
        ..base
    }
}

#[cfg(test)]
mod tests {
    use genkai_model::load::Arrivals;

    use super::*;

    #[test]
    fn the_full_size_is_the_original() {
        let shape = Shape::of(Size::Full);
        assert_eq!(shape.planned(), 1_000_000);
        assert_eq!(shape.lasts(), Span::from_secs(300 + 500 + 10));
        let Arrivals::Users { count, spawn_rate, .. } = load(&shape, false).arrivals else { panic!("users") };
        assert_eq!((count, spawn_rate), (10_000, 100.0 / 3.0));
    }
}
