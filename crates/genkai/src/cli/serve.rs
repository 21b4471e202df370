//! The flags of `genkai serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use genkai_model::units::{Bytes, Span};

use crate::flags::OriginFlags;

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(subcommand)]
    pub(crate) server: Server,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Server {
    /// An HTTP origin with a known service time and a cap on concurrent work
    Origin(Origin),
    /// A WebSocket server that sends every message back
    Echo(Echo),
    /// Chat rooms over WebSocket: what a member of /rooms/NAME sends goes to all of its members
    Rooms(Rooms),
    /// A bad network before another server: late, lossy, slow, or with connections that are reset
    Link(Link),
}

#[derive(Debug, Args)]
pub(crate) struct Link {
    /// Address and port; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Where connections lead
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) to: SocketAddr,
    /// Time that each piece takes, each way
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) delay: Span,
    /// Share of pieces (0 to 1) that come 200 ms later, as after a lost segment
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) loss: f64,
    /// Share of connections (0 to 1) that are reset when the request comes
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) reset: f64,
    /// Bytes a second each way, all connections together [default: any number]
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
    /// What may wait for one member; who lets more pile up is disconnected with code 1008
    #[arg(long, value_name = "SIZE", default_value = "1m")]
    pub(crate) member_queue: Bytes,
    /// Keep what became of the last N messages, for GET /trace
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) trace: usize,
    /// Print counters as a JSON line at this interval (GET /counters gives the same)
    #[arg(long, value_name = "TIME")]
    pub(crate) stats: Option<Span>,
    /// A fault on purpose: lose every Nth message before anything is done with it
    #[arg(long, value_name = "N", hide = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) lose_every: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Echo {
    /// Address and port; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Do not agree to compression
    #[arg(long)]
    pub(crate) no_deflate: bool,
    /// Largest message
    #[arg(long, value_name = "SIZE", default_value = "64m")]
    pub(crate) max_message: Bytes,
    /// Each message waits so long before it is sent back, as in a slow application
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) delay: Span,
    /// So many processes on one port, each with descriptors and a thread of its own; the kernel spreads connections
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
    /// Stand still for so long, again and again: nothing is read or answered
    #[arg(long, value_name = "TIME")]
    pub(crate) stall: Option<Span>,
    /// Stand still in the middle of every so long, counted from the first request
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "stall")]
    pub(crate) stall_every: Span,
    /// Write at the end when each request arrived at the kernel and when it was answered
    #[arg(long, value_name = "FILE")]
    pub(crate) account: Option<PathBuf>,
}
