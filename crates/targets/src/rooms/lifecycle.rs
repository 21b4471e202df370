//! Start, ready, observe, ask, kill, stop.

use std::net::SocketAddr;
use std::path::Path;

use genkai_model::rooms::{Loss, NodeReport};

use super::{Settings, evidence, trace};
use crate::application::{self, Place, Product};
use crate::error::TargetError;
use genkai_place::handshake::Announced;
use genkai_place::observation::Observation;
use genkai_place::process::Signal;

/// A running node. Dropping it ends it.
#[derive(Debug)]
pub struct Node {
    number: u32,
    server: Announced,
    /// It keeps a trace.
    trace: bool,
}

impl Node {
    /// Starts `product` as node `number` (from 1), on a free port of loopback, and waits until it listens. Its private files are in
    /// `node-NUMBER` in `dir`.
    ///
    /// # Errors
    /// When something is missing, or it cannot be started, ends at once (no Redis), or does not say where it listens in time.
    pub fn start(
        product: &Product,
        place: &Place,
        number: u32,
        settings: &Settings,
        cpus: Option<&[usize]>,
        dir: &Path,
    ) -> Result<Node, TargetError> {
        let dir = dir.join(format!("node-{number}"));
        let trace = settings.trace > 0;
        let settings = application::settings::Settings::of_node(settings.clone());
        let server = product.launch(&format!("rooms node {number}"), place, &settings, cpus, &dir)?;
        Ok(Node { number, server, trace })
    }

    /// Its number, from 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Looks at it: counts at most 100 ms old, CPU since the look before. When it has ended, that is told once.
    pub fn observe(&mut self) -> Observation {
        let subject = evidence::subject(self.number);
        self.server.observe(&subject, "", |line, usage| evidence::sample(&subject, line, usage))
    }

    /// What it tells after a load in which `losses` were found. A node that does not answer tells its last counts.
    pub fn report(&mut self, losses: &[Loss]) -> NodeReport {
        let hops = evidence::hops(&self.server.last_line()).unwrap_or_default();
        let mut report = NodeReport { node: self.number, hops, ..NodeReport::default() };
        if self.server.child.try_exited().is_some() {
            return report;
        }
        let Some(counters) = trace::get(self.address(), "/counters") else { return report };
        report.alive = true;
        report.hops = evidence::hops(&counters).unwrap_or(hops);
        if self.trace
            && let Some(text) = trace::get(self.address(), "/trace")
        {
            trace::read(&text, losses, &mut report);
        }
        report
    }

    /// Ends it without a word (SIGKILL): a fault on purpose.
    pub fn kill(&self) {
        self.server.child.signal(Signal::SIGKILL);
    }
}
