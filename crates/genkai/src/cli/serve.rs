//! The flags of `genkai serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use genkai_model::exit::Exit;
use genkai_model::units::{Bytes, Span};

use super::{OriginFlags, help};

const NOTES: &str = "\
The first line on standard output is the address. The server runs until Ctrl-C.";

const EXIT_CODES: &[(Exit, &str)] = &[
    (Exit::Holds, "it was asked to end"),
    (Exit::Usage, "wrong flags"),
    (Exit::Environment, "the address is taken, or the machine cannot do it"),
];

const ORIGIN: &str = "\
Examples:
  genkai serve origin --listen 127.0.0.1:8080 --service-time 5ms
  genkai serve origin --stall 2s --stall-every 10s";

const ECHO: &str = "\
Examples:
  genkai serve echo --listen 127.0.0.1:9000
  genkai serve echo --delay 20ms --processes 4";

const ROOMS: &str = "\
Examples:
  genkai serve rooms --listen 127.0.0.1:9000
  genkai serve rooms --redis redis://127.0.0.1:6379/ --stats 1s";

const LINK: &str = "\
Examples:
  genkai serve link --to 127.0.0.1:8080 --delay 50ms --loss 0.01
  genkai serve link --to 127.0.0.1:8080 --rate 1m";

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(subcommand)]
    pub(crate) server: Server,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Server {
    /// An HTTP origin with a known service time and a limit on concurrent requests
    #[command(after_help = ORIGIN, after_long_help = help::below(ORIGIN, NOTES, EXIT_CODES))]
    Origin(Origin),
    /// A WebSocket server that sends every message back
    #[command(after_help = ECHO, after_long_help = help::below(ECHO, NOTES, EXIT_CODES))]
    Echo(Echo),
    /// Chat rooms over WebSocket: a message from a member of /rooms/NAME goes to all its members
    #[command(after_help = ROOMS, after_long_help = help::below(ROOMS, NOTES, EXIT_CODES))]
    Rooms(Rooms),
    /// A bad network in front of another server: delay, loss, a slow rate, or connections that are reset
    #[command(after_help = LINK, after_long_help = help::below(LINK, NOTES, EXIT_CODES))]
    Link(Link),
}

#[derive(Debug, Args)]
pub(crate) struct Link {
    /// Address and port; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Address that connections lead to
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) to: SocketAddr,
    /// Delay of each piece of data, each way
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) delay: Span,
    /// Share of pieces (0 to 1) that arrive 200 ms late, as after a lost segment
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) loss: f64,
    /// Share of connections (0 to 1) that are reset when the request arrives
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) reset: f64,
    /// Bytes per second each way, for all connections together [default: no limit]
    #[arg(long, value_name = "SIZE")]
    pub(crate) rate: Option<Bytes>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct Rooms {
    /// Address and port; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Share rooms with other nodes over this Redis, e.g. redis://127.0.0.1:6379/
    #[arg(long, value_name = "URL")]
    pub(crate) redis: Option<String>,
    /// Largest message
    #[arg(long, value_name = "SIZE", default_value = "64k")]
    pub(crate) max_message: Bytes,
    /// Bytes queued per member; a member that falls further behind is disconnected (close code 1008)
    #[arg(long, value_name = "SIZE", default_value = "1m")]
    pub(crate) member_queue: Bytes,
    /// Keep the fate of the last N messages, for GET /trace
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) trace: usize,
    /// Print counters as a JSON line at this interval (GET /counters gives the same)
    #[arg(long, value_name = "TIME")]
    pub(crate) stats: Option<Span>,
    /// Inject a fault: lose every Nth message before it is processed
    #[arg(long, value_name = "N", hide = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) lose_every: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Echo {
    /// Address and port; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Refuse compression
    #[arg(long)]
    pub(crate) no_deflate: bool,
    /// Largest message
    #[arg(long, value_name = "SIZE", default_value = "64m")]
    pub(crate) max_message: Bytes,
    /// Time that each message waits before it is sent back, as in a slow application
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) delay: Span,
    /// Number of processes on one port, each with its own descriptors and thread; the kernel spreads connections
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) processes: u16,
    /// One of several that listen on the same port
    #[arg(long, hide = true)]
    pub(crate) shared: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Origin {
    /// Address and port; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    #[command(flatten)]
    pub(crate) origin: OriginFlags,
    /// Print counters as a JSON line at this interval
    #[arg(long, value_name = "TIME")]
    pub(crate) stats: Option<Span>,
    /// Pause for this time, again and again: nothing is read or answered
    #[arg(long, value_name = "TIME")]
    pub(crate) stall: Option<Span>,
    /// Interval in the middle of which it pauses, counted from the first request
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "stall")]
    pub(crate) stall_every: Span,
    /// At the end, write when each request arrived at the kernel and when it was answered
    #[arg(long, value_name = "FILE")]
    pub(crate) account: Option<PathBuf>,
}
