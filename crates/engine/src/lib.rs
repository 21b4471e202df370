//! Makes load and measures what came back.
//!
//! [`run`] spawns one thread per core asked for. Each has an event loop of its own, a task
//! per user or connection, one read buffer for all its connections, one pre-rendered request, and one set of
//! counters and histograms that is handed to the calling thread at the end of every interval. Nothing is shared or locked
//! on the path of a request.
//!
//! Reading order: [`run`] (what happens), `share` (which part of a load a thread makes), `profile` and `pacer` (when requests
//! are planned: pure), `reactor` (the event loop), `thread` (what runs on it), `turns` (the loop of one user or connection), `queue`
//! (planned requests that wait for a connection), `connection` and `exchange` (one request), `flow` (scenarios), `ledger` and `tally`
//! (what is counted), `merge` (threads to one interval), `join` (processes to one interval), `alarm` (time finer than a millisecond),
//! `watch` (deadlines, coarse and free of charge). [`crowd`] is apart: clients that do one thing together, unpaced.
//!
//! What is measured, exactly:
//! * *Planned instant*: closed model, the user's spawn instant, afterwards the end of the response before plus the think
//!   time; open model, the schedule. Latency counts from it, whatever made the request late: that is the generator's own
//!   lateness, a wait for a free connection, or connecting.
//! * *Service time* counts from the first write of the request.
//! * Both end when the response was read; with kernel stamps, when its last byte had arrived (`stamp`), and how long it lay
//!   there is the *receipt*.
//! * *Lateness* is planned instant to write, recorded when a connection stood ready at the planned instant: then only
//!   the generator can be to blame. Where a request needs a new connection, it is planned instant to the attempt to connect;
//!   a wait for a busy connection, and the first request of a connection that is kept, are not recorded.
//! * A request is *in flight* from its planned instant (or from when its user took it up) until it ended; so
//!   `planned = ok + errors + in flight` at any time, and *abandoned* is what was in flight when the load ended. `sent` counts
//!   those that were written: `sent = ok + errors + abandoned`, less those that failed or were cut off before (connect
//!   errors, client-side errors, dropped).
//! * A failed user does not hammer: see [`FAILURE_PACE`].

pub mod broadcast;
mod clock;
pub mod content;
mod error;
mod host;
mod measure;
mod preflight;
mod probe;
mod protocol;
mod run;
mod schedule;
mod stop;
pub mod target;
mod thread;
mod transport;

pub use clock::Start;
pub use error::EngineError;
pub use host::pin;
pub use measure::join::Join;
pub use preflight::{Limiter, Room, TooLarge, automatic_sources, preflight};
pub use probe::{Asked, Fetched, NotOffered, ask, fetch, http2_offered};
pub use protocol::users::FAILURE_PACE;
pub use run::{End, run, run_part};
pub use schedule::share::{Part, processes};
pub use stop::StopFlag;
