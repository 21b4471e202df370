//! Chat rooms as a load: who enters, who says what, and who heard it.

mod router;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{ErrorCount, ErrorKind};
use crate::units::Span;

pub use router::{Ended, Ender, Refused, RouterNode, RouterReport, Why};

/// Members of rooms. A load of so many users (see [`Arrivals::Users`](crate::load::Arrivals)): the `k`-th user enters room
/// `k mod rooms`, at the path [`path`](Rooms::path), sends messages at a fixed pace, and hears what everybody in its room
/// says until the load ends. All messages of a room are due at all its members, the sender too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rooms {
    /// Rooms.
    pub rooms: u32,
    /// Messages each member sends.
    pub messages: u32,
    /// Time between two messages of a member; the first is sent when it should have entered.
    pub every: Span,
    /// How often a member that could not enter tries again.
    pub retries: u32,
    /// Pause before it does.
    pub pause: Span,
    /// Whether rooms are namespaces of Socket.IO and messages its events, instead of request targets and WebSocket messages.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub socketio: bool,
}

impl Rooms {
    /// Request target for the member `number` of the load, below `base`, the path of the load.
    pub fn path(&self, base: &str, number: u32) -> String {
        format!("{}?member={number}", self.room(base, number))
    }

    /// The room of the member `number` below `base`: a path, or a namespace of Socket.IO.
    pub fn room(&self, base: &str, number: u32) -> String {
        format!("{}/{}", base.trim_end_matches('/'), number % self.rooms.max(1))
    }
}

/// What one member of a load did and received, as the process that made it tells. Small where everything came: of each sender how far it was
/// received, and what is missing below that.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attended {
    /// Its number in the load.
    pub number: u32,
    /// When it had entered, nanoseconds since the load began, by the clock of its process; none: it did not.
    pub entered: Option<u64>,
    /// When its connection ended before the load did, and how.
    pub cut: Option<(u64, ErrorKind)>,
    /// Why attempts to enter failed.
    pub refused: Vec<ErrorKind>,
    /// When each of its messages was sent, of those that were.
    pub sent: Vec<u64>,
    /// Of each member of its room, by place: number after the highest of its messages that was received.
    pub reached: Vec<u32>,
    /// Messages below those that were not received, in runs: place of the sender, first, last.
    pub missing: Vec<(u32, u32, u32)>,
    /// Messages that came again.
    pub duplicated: u64,
    /// Messages that came after a later one of the same sender.
    pub reordered: u64,
    /// Messages that it received and should not have.
    pub foreign: u64,
}

/// Losses that are named, one by one, in an [`Attendance`].
pub const MOST_LOSSES: usize = 20_000;

/// What became of the messages of all rooms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attendance {
    /// Each room.
    pub rooms: Vec<RoomCount>,
    /// Attempts to enter that failed, by kind.
    pub refused: Vec<ErrorCount>,
    /// Members that entered at the first attempt, after one more, after two more...
    pub entered_after: Vec<u64>,
    /// Members that never entered.
    pub never_entered: u64,
    /// Members whose connection ended before the load did.
    pub cuts: Vec<Cut>,
    /// Messages that were planned and not sent, in runs.
    pub unsent: Vec<Unsent>,
    /// Messages that were sent and did not come, in runs; at most [`MOST_LOSSES`].
    pub losses: Vec<Loss>,
    /// Deliveries lost beyond those named; where the run was interrupted, all that did not come and were not looked at, due or not.
    pub unnamed: u64,
}

/// What happened in one room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoomCount {
    /// Its number.
    pub room: u32,
    /// The member that entered first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u32>,
    /// Messages that member heard: the room's score.
    pub score: u64,
    /// Members that entered.
    pub members: u32,
    /// Messages its members were to send.
    pub planned: u64,
    /// Messages they sent.
    pub sent: u64,
    /// Deliveries: messages times the members that heard them, each once.
    pub delivered: u64,
    /// Deliveries that were due and did not come: sent while the member was there.
    pub lost: u64,
    /// Messages a member could not hear because its connection had ended.
    pub away: u64,
    /// Deliveries that came again.
    pub duplicated: u64,
    /// Deliveries that came after a later message of the same sender.
    pub reordered: u64,
    /// Messages that its members heard and should not have: of another room, or never to be sent.
    #[serde(default)]
    pub foreign: u64,
}

/// A connection that ended too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cut {
    /// Whose.
    pub member: u32,
    /// When, microseconds since the load began.
    pub at_us: u64,
    /// How.
    pub kind: ErrorKind,
}

/// Messages of one member that were never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unsent {
    /// Whose.
    pub sender: u32,
    /// Number of the first.
    pub first: u32,
    /// Number of the last.
    pub last: u32,
}

/// Messages of one sender, in a row, that one receiver did not hear although it was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Loss {
    /// Who should have heard them.
    pub receiver: u32,
    /// Who sent them.
    pub sender: u32,
    /// Number of the first.
    pub first: u32,
    /// Number of the last.
    pub last: u32,
    /// When the first was sent, microseconds since the load began.
    pub from_us: u64,
    /// When the last was.
    pub to_us: u64,
}

impl Loss {
    /// How many.
    pub fn count(&self) -> u64 {
        u64::from(self.last - self.first) + 1
    }
}

/// Counts since a node began. `received = published + unpublished + lost_inside` with a backplane; each message that is
/// passed on is `queued` once a member; `queued = written + dropped_slow + dropped_gone +` what still waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hops {
    /// Members that entered.
    pub joined: u64,
    /// Members that left, or were disconnected.
    pub left: u64,
    /// Members disconnected because they read too slowly.
    pub slow: u64,
    /// Messages received from members.
    pub received: u64,
    /// Messages lost in the node on purpose.
    pub lost_inside: u64,
    /// Messages given to Redis, which said so.
    pub published: u64,
    /// Messages that could not be given to Redis, or of which it is not known.
    pub unpublished: u64,
    /// Messages that came from Redis.
    pub returned: u64,
    /// Times the connection to Redis was lost.
    pub backplane_lost: u64,
    /// Deliveries: messages times the members they are for.
    pub queued: u64,
    /// Deliveries that the kernel took.
    pub written: u64,
    /// Deliveries lost because their member was disconnected for being slow.
    pub dropped_slow: u64,
    /// Deliveries lost because their member was gone.
    pub dropped_gone: u64,
}

impl std::ops::AddAssign for Hops {
    fn add_assign(&mut self, other: Hops) {
        let Hops { joined, left, slow, received, lost_inside, published, unpublished, .. } = other;
        let Hops { returned, backplane_lost, queued, written, dropped_slow, dropped_gone, .. } = other;
        self.joined += joined;
        self.left += left;
        self.slow += slow;
        self.received += received;
        self.lost_inside += lost_inside;
        self.published += published;
        self.unpublished += unpublished;
        self.returned += returned;
        self.backplane_lost += backplane_lost;
        self.queued += queued;
        self.written += written;
        self.dropped_slow += dropped_slow;
        self.dropped_gone += dropped_gone;
    }
}

/// HOPS of a [`Traced`] message: received from the member that sent it.
pub const RECEIVED: u8 = 1;
/// HOPS: given to the backplane, which said so.
pub const PUBLISHED: u8 = 2;
/// HOPS: came from the backplane. A message that the node received too is there twice.
pub const RETURNED: u8 = 4;
/// HOPS: lost in the node.
pub const LOST: u8 = 8;
/// HOPS: passed on to the members of this node without the backplane, which got it for the others.
pub const PASSED: u8 = 16;

/// What a node tells after a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeReport {
    /// Which one, from 1.
    pub node: u32,
    /// Whether it could still be asked. A node that is gone tells nothing but its last counts.
    pub alive: bool,
    /// Its counts.
    pub hops: Hops,
    /// Whether it kept a trace of every message, so that what is not in it was not there.
    pub traced: bool,
    /// Members that entered here.
    pub members: Vec<u32>,
    /// Members that left, or were disconnected, while the load ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<Gone>,
    /// Of the messages that somebody did not hear: what happened to them here.
    pub messages: Vec<Traced>,
    /// Of those: deliveries that were lost here.
    pub drops: Vec<Dropped>,
}

/// What happened to a message in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Traced {
    /// Who sent it.
    pub sender: u32,
    /// Its number.
    pub sequence: u32,
    /// Sum of [`RECEIVED`], [`PUBLISHED`], [`RETURNED`], [`LOST`], [`PASSED`].
    pub hops: u8,
    /// Members it was queued for.
    pub queued: u32,
    /// Those of them whose socket took it.
    pub written: u32,
    /// When it came to the node, microseconds of the machine's monotonic clock.
    pub at_us: u64,
}

/// A member that is not in its room any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gone {
    /// Who.
    pub member: u32,
    /// Since when, microseconds of the machine's monotonic clock.
    pub at_us: u64,
}

/// A delivery that was lost in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dropped {
    /// For whom it was.
    pub member: u32,
    /// Who sent it.
    pub sender: u32,
    /// Its number.
    pub sequence: u32,
    /// Whether that member was disconnected for being slow; else it was gone.
    pub slow: bool,
}

impl Attendance {
    /// The score of all rooms.
    pub fn score(&self) -> u64 {
        self.rooms.iter().map(|room| room.score).sum()
    }

    /// Full marks.
    pub fn planned(&self) -> u64 {
        self.rooms.iter().map(|room| room.planned).sum()
    }
}
