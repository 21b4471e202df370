//! The experiments genkai exists for, as plans.

pub mod apache;
pub mod cache;
pub mod idle_requests;
pub mod rooms;
pub mod servers;
pub mod site;

use std::collections::BTreeMap;

use genkai_model::load::Load;
use genkai_model::objective::{Bound, Condition, Objective};
use genkai_model::plan::{Answers, Backend, OriginSpec, Plan, Site, System, WebSocketServer};
use genkai_model::rooms::Rooms;
use genkai_model::units::{Bytes, Span, Spread};

pub use crate::size::{Size, procedure};

/// `worker_connections` of the original, nginx's own default.
pub const DEFAULT_CONNECTIONS: &str = "512";

/// Users of the original.
const USERS: u32 = 300;
/// New users a second in the original.
const SPAWN_RATE: f64 = 10.0;

/// nginx in front of a web application, from a value of `worker_connections`.
pub fn nginx_worker_connections(size: Size, worker_connections: &str) -> Plan {
    let (spawn_rate, backend) = match size {
        Size::Quick => (60.0, Backend::Embedded(slow_application())),
        Size::Full => (SPAWN_RATE, wordpress()),
    };
    let system = System {
        settings: BTreeMap::from([("worker_connections".to_owned(), worker_connections.to_owned())]),
        backend,
        ..System::generated("nginx")
    };
    let title = format!("nginx-worker-connections ({})", size.word());
    Plan::of(title, system, users(USERS, spawn_rate), Objective::default(), procedure(size))
}

/// `pm.max_children` of Debian's php-fpm pool (`/etc/php/8.2/fpm/pool.d/www.conf`).
pub const DEBIAN_MAX_CHILDREN: u32 = 5;

/// The application of the original.
pub fn wordpress() -> Backend {
    Backend::WordPress(Site::new(DEBIAN_MAX_CHILDREN))
}

/// An application as slow as a small WordPress host under load, without its appetite for processor time.
pub fn slow_application() -> OriginSpec {
    OriginSpec {
        body: Bytes(10 << 10),
        service_time: Spread::Constant(Span::from_millis(300)),
        workers: None,
        queue: None,
        seed: 1,
    }
}

/// The embedded WebSocket server that sends every message back at once.
pub fn echo() -> WebSocketServer {
    WebSocketServer { answers: Answers::Echo, max_message: Bytes(64 << 20), delay: Span(0) }
}

/// Where the embedded rooms are.
pub const ROOMS: &str = "/rooms";

/// One room, in which each member says something so often for as long as a trial lasts, and all others hear it.
pub fn one_room(every: Span) -> Rooms {
    Rooms { rooms: 1, messages: 1, every, retries: 0, pause: Span::from_secs(1), socketio: false }
}

/// What must hold of WebSockets where nothing is said.
pub fn held_objective() -> Objective {
    Objective(vec![
        Condition::ErrorsBelow(Bound::excluding(0.001)),
        Condition::DisconnectsBelow(Bound::excluding(0.001)),
    ])
}

/// Closed users that ask for the top page in a loop.
pub fn users(count: u32, spawn_rate: f64) -> Load {
    Load::users(count, spawn_rate)
}
