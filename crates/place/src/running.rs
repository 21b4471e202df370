//! A server that was started, whatever it is: looked at until it dies or is stopped.

use std::net::SocketAddr;
use std::process::ExitStatus;

use genkai_model::evidence::metric;

use crate::group::{self, Group};
use crate::memory::Memory;
use crate::observation::Observation;
use crate::process::{Child, Signal};
use crate::process_tree;

/// How a product's processes are looked at while they run.
pub trait Watch: Send {
    /// The product, as metrics and states name it (`apache`).
    const SUBJECT: &'static str;
    /// What the product calls its first process.
    const FIRST: &'static str;
    /// The signal by which it ends gracefully.
    const GRACEFUL: Signal;

    /// Metrics, new log lines, deaths of its workers. At most a few milliseconds, 100 more when a status page does not answer.
    fn look(&mut self) -> Observation;

    /// What it logged before it died.
    fn last_words(&mut self) -> Observation;
}

/// A running server. Dropping it ends it.
#[derive(Debug)]
pub struct Running<W> {
    child: Child,
    address: SocketAddr,
    watch: W,
    /// The control group that limits its memory.
    group: Option<Group>,
    memory: Memory,
    /// Its death was told.
    dead: bool,
}

impl<W: Watch> Running<W> {
    /// One that answers on `address`.
    pub fn new(child: Child, address: SocketAddr, watch: W) -> Running<W> {
        let first = child.pid();
        Running { group: group::memory(first), memory: Memory::of(first), child, address, watch, dead: false }
    }

    /// The listener that the load goes to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its first process's id.
    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// How it is looked at.
    pub fn watch(&self) -> &W {
        &self.watch
    }

    /// Sends a signal to its first process.
    pub fn signal(&self, signal: Signal) {
        self.child.signal(signal);
    }

    /// Looks at it: metrics under its name, new log lines, deaths.
    pub fn observe(&mut self) -> Observation {
        if self.dead {
            return self.watch.last_words();
        }
        let mut seen = self.watch.look();
        let kills = self.group.as_ref().and_then(Group::kills).map(|kills| (metric::MEMORY_KILLS, kills as f64));
        if let Some(sample) = seen.samples.iter_mut().find(|sample| sample.subject == W::SUBJECT) {
            let more = self.memory.look().into_iter().chain(kills);
            sample.metrics.extend(more.map(|(name, value)| (format!("{}.{name}", W::SUBJECT), value)));
        }
        if let Some(death) = process_tree::death(&mut self.child, W::SUBJECT, W::FIRST) {
            self.dead = true;
            // Workers that lost their first process look as if they had died.
            seen.states = vec![death];
        }
        seen
    }

    /// Ends it: gracefully, then fast, then by force. Afterwards no process of it is left.
    pub fn stop(mut self) -> ExitStatus {
        process_tree::stop(&mut self.child, W::GRACEFUL)
    }
}
