//! What is heard of workers, wherever they run.

use std::sync::mpsc::Sender;

use super::protocol::Report;

/// What is heard of a worker.
pub(super) enum FromWorker {
    /// What it said, and our clock when it was read, nanoseconds.
    Message(Report, i64),
    /// Nothing more will be: why, if it is known.
    Gone(Option<String>),
}

/// Whoever hears workers: number of the process, what was heard.
pub(super) type Listener = Sender<(usize, FromWorker)>;
