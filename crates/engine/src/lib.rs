//! Makes load and measures what came back.
//!
//! [`run`] spawns one thread per core asked for. Each has an event loop of its own, a task
//! per user or connection, one read buffer for all its connections, one pre-rendered request, and one set of
//! counters and histograms that is handed to the calling thread at the end of every interval. Nothing is shared or locked
//! on the path of a request.
//!
//! Modules stand on floors; a module uses those below it, never one beside or above it:
//!
//! | floor | modules | what |
//! |---|---|---|
//! | 8 | `run` | the threads of a load, their intervals, the end |
//! | 7 | `thread`, [`broadcast`], `probe` | one thread; clients that do one thing together, unpaced; one request by itself |
//! | 6 | `protocol` | what clients send and receive: HTTP/1.1, HTTP/2, objects, WebSocket, Socket.IO, chat rooms, flows |
//! | 5 | `measure` | what is counted: a tally an interval, handed over at its end, joined over threads and processes |
//! | 4 | `schedule` | when requests and users are planned, and which thread makes them: pure |
//! | 3 | `transport` | event loop, timers, deadlines, sockets, TLS |
//! | 2 | `clock`, `error`, `host`, `hold`, `live_users`, `stop` | time, errors, this process, the wishes to hold, for users, to stop |
//! | 1 | [`content`], `preflight` | objects made from numbers; whether a load fits this machine: pure |
//!
//! The floors inside `protocol` are in its own documentation. The path of a request: `schedule::pacer` (when), `protocol::dispatch` (given
//! to a protocol), `protocol::users` and `queue` (who makes it), `protocol::http1` (made), `measure::ledger` (counted).
//!
//! What is measured, exactly:
//! * *Planned instant*: closed model, the user's spawn instant, afterwards the end of the response before plus the think
//!   time; open model, the schedule. Latency counts from it, whatever made the request late: that is the generator's own
//!   lateness, a wait for a free connection, or connecting.
//! * *Service time* counts from the first write of the request.
//! * Both end when the response was read; with kernel stamps, when its last byte had arrived (`transport::stamp`), and how long it lay
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
mod hold;
mod host;
mod live_users;
mod measure;
mod preflight;
mod probe;
mod protocol;
mod run;
mod schedule;
mod stop;
mod thread;
mod transport;

pub use clock::Start;
pub use error::EngineError;
pub use genkai_model::load::FAILURE_PACE;
pub use hold::Hold;
pub use host::pin;
pub use live_users::LiveUsers;
pub use measure::join::Join;
pub use preflight::{Headroom, Limiter, TooLarge, automatic_sources, preflight, preflight_at};
pub use probe::{
    Asked, Connected, Fetched, NotOffered, ask, ask_echo, ask_page, ask_upgrade, ask_whole, connect, fetch, handshake,
    http2_offered,
};
pub use protocol::attendance::Books;
pub use run::{End, hurried, run, run_following, run_held, run_part};
pub use schedule::share::{Part, processes};
pub use stop::StopFlag;
