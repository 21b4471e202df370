//! What a Locust master and its workers say to each other, for both sides of it: genkai is a worker of somebody's master ([`crate::locust`]),
//! and the master of workers that run a locustfile ([`crate::generator`]).

pub(crate) mod message;
pub(crate) mod state;
pub(crate) mod stats;
pub(crate) mod users;
