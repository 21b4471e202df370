//! Processes on this machine: start and stop them without leaving any behind, and look at them and at the kernel.
//!
//! Everything blocks and uses plain threads. Reading order: [`process`] (a child and its whole group), [`ready`] (until
//! it answers), [`usage`] (what it consumes), [`tail`] (what it logs), [`kernel`] (what the machine shows),
//! [`machine`] (what the machine is).

pub mod account;
pub mod authority;
pub mod began;
pub mod bound;
pub mod caps;
mod diag;
pub mod disk;
pub mod endpoint;
pub mod footprint;
pub mod group;
pub mod handshake;
mod holders;
pub mod image;
pub mod inside;
pub mod isolated;
pub mod kernel;
pub mod listener;
pub mod log_lines;
pub mod machine;
pub mod memory;
mod netstat;
pub mod observation;
pub mod oneshot;
mod onward;
pub mod pagecache;
pub mod peak;
pub mod port;
pub mod ports_in_use;
pub mod process;
pub mod process_tree;
pub mod program;
pub mod ready;
pub mod reaper;
pub mod remote;
pub mod room;
pub mod running;
pub mod scratch;
mod session;
pub mod ssh;
pub mod status_page;
pub mod strays;
pub mod stream;
pub mod survey;
pub mod tail;
pub mod tap;
pub mod threads;
pub mod usage;
pub mod waits;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Why a local process could not be started or did not get ready. Each is one sentence for the user.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The program does not exist or may not be executed.
    #[error("{name}: cannot start `{program}`: {source}; is it installed and executable?")]
    Start {
        /// What the process is called.
        name: String,
        /// The program as asked for.
        program: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The log file cannot be opened.
    #[error("{name}: cannot write the log {}: {source}", path.display())]
    Log {
        /// What the process is called.
        name: String,
        /// The log.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A core that this process may not use.
    #[error("{name}: cannot run on core {cpu}: only cores {allowed:?} may be used here")]
    Core {
        /// What the process is called.
        name: String,
        /// The core asked for.
        cpu: usize,
        /// The cores there are.
        allowed: Vec<usize>,
    },
    /// More descriptors than may be granted.
    #[error(
        "{name}: cannot give it {asked} descriptors: the hard limit is {hard}; ask for fewer, or raise it (`ulimit -Hn`)"
    )]
    Descriptors {
        /// What the process is called.
        name: String,
        /// Descriptors asked for.
        asked: u64,
        /// The hard limit.
        hard: u64,
    },
    /// A folder for it cannot be made.
    #[error("cannot write {}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A host that takes no program of ours.
    #[error("{host}: {why}\n  hint: {hint}")]
    Host {
        /// The host as ssh takes it.
        host: String,
        /// What was seen.
        why: String,
        /// What to do.
        hint: String,
    },
    /// All ports tried were taken by somebody else before it could bind them.
    #[error(
        "{name} could not bind its ports {attempts} times in a row: {said}\n  hint: something else takes ports as fast as they are freed; stop it, or try again"
    )]
    Ports {
        /// What the server is called.
        name: String,
        /// How often it was tried.
        attempts: u32,
        /// Its last words.
        said: String,
    },
    /// It ended before it was ready.
    #[error("{name} ended before it was ready ({status}){}", last_words(tail))]
    Exited {
        /// What the process is called.
        name: String,
        /// How it ended, in words.
        status: String,
        /// The end of its log, control characters replaced; may be empty.
        tail: String,
    },
    /// It runs, but did not answer in time.
    #[error("{name} did not accept connections on {address} within {within:?}{}", last_words(tail))]
    Silent {
        /// What the process is called.
        name: String,
        /// Where it was expected.
        address: SocketAddr,
        /// How long was waited.
        within: Duration,
        /// The end of its log, control characters replaced; may be empty.
        tail: String,
    },
    /// It runs, but did not say what it should have said when it starts.
    #[error("{name} did not say where it listens within {within:?}; it said `{said}`{}", last_words(tail))]
    Mute {
        /// What the process is called.
        name: String,
        /// How long was waited.
        within: Duration,
        /// Its first line, if any.
        said: String,
        /// The end of its log, control characters replaced; may be empty.
        tail: String,
    },
}

fn last_words(tail: &str) -> String {
    if tail.is_empty() { String::new() } else { format!("; its last words:\n{tail}") }
}
