//! A worker process as whoever started it has it: a child of ours, or one in a pod.

use std::io::{self, Write};
use std::process::ChildStdin;
use std::sync::Arc;
use std::time::Duration;

use genkai_place::process::{Child, Signal};

use super::keeper::{END, OVER};
use super::seat::Seat;

/// A worker process.
pub(super) enum Process {
    Child(Child),
    Pod(Arc<Seat>),
}

impl Process {
    /// How it ended, where that is known already.
    pub(super) fn try_exited(&mut self) -> Option<String> {
        match self {
            Process::Child(child) => child.try_exited().map(|status| status.to_string()),
            // Whoever hears it says so.
            Process::Pod(_) => None,
        }
    }

    /// The node that it is on, where it is in a pod.
    pub(super) fn node(&self) -> Option<&str> {
        match self {
            Process::Child(_) => None,
            Process::Pod(seat) => seat.node(),
        }
    }

    /// The end of what it said on standard error.
    pub(super) fn last_words(&self) -> String {
        match self {
            Process::Child(child) => child.last_words(),
            Process::Pod(seat) => seat.last_words(),
        }
    }

    /// Ends it, at once if it has not ended after `grace`.
    pub(super) fn stop(&mut self, grace: Duration) {
        if let Process::Child(child) = self {
            child.stop(Signal::SIGTERM, grace);
        }
        // One in a pod hears of it when this is dropped.
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Process::Pod(seat) = self {
            seat.tell(END);
        }
    }
}

/// What is said to a worker. Its end is the end of the worker's input.
pub(super) enum Orders {
    Pipe(ChildStdin),
    Pod(Arc<Seat>),
}

impl Write for Orders {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Orders::Pipe(pipe) => pipe.write(bytes),
            Orders::Pod(seat) => seat.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Orders::Pipe(pipe) => pipe.flush(),
            Orders::Pod(_) => Ok(()),
        }
    }
}

impl Drop for Orders {
    fn drop(&mut self) {
        if let Orders::Pod(seat) = self {
            seat.tell(OVER);
        }
    }
}
