//! Workers as the pods of one Job, spoken to through the API server: nothing listens on a port, nothing is installed; and private copies
//! of servers that run in the cluster ([`server`]).
//!
//! Everything blocks; what the client needs of an asynchronous runtime has a thread of its own. Reading order: [`manifest`] (what is
//! created), [`api`] (the calls), [`standing`] (what pods say of themselves), [`run`] (one Job from its beginning to its end), [`attached`]
//! (the standard streams of a pod).

mod api;
mod attached;
mod manifest;
mod run;
pub mod server;
mod standing;

pub use attached::Attached;
pub use manifest::{JobPlan, access, deadline, job, yaml};
pub use run::{Run, Stopped, advice};

/// Why there are no pods: one sentence for the user, and a hint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}\n  hint: {hint}")]
pub struct ClusterError {
    /// What was seen.
    pub why: String,
    /// What to do.
    pub hint: String,
    /// Whether what was asked for is at fault: a context that does not exist.
    pub usage: bool,
}

impl ClusterError {
    fn new(why: impl Into<String>, hint: impl Into<String>) -> ClusterError {
        ClusterError { why: why.into(), hint: hint.into(), usage: false }
    }

    fn usage(why: impl Into<String>, hint: impl Into<String>) -> ClusterError {
        ClusterError { usage: true, ..ClusterError::new(why, hint) }
    }

    /// The same, and what went wrong after it.
    fn and(&self, later: &ClusterError) -> ClusterError {
        ClusterError { why: format!("{}; {}", self.why, later.why), ..self.clone() }
    }
}
