//! Looks at the servers while the load runs.

use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use genkai_engine::StopFlag;
use genkai_model::evidence::metric;
use genkai_place::kernel::{ACCEPT_QUEUE, Kernel};
use genkai_place::observation::Observation;
use genkai_targets::cores;
use genkai_targets::product::Running;

use crate::backend::Backend;

/// Time between two looks. Short enough to tell a break's order of events, long enough to cost no server anything.
pub const INTERVAL: Duration = Duration::from_millis(200);

/// What a kernel tells of listeners.
const OF_LISTENERS: [&str; 3] = [metric::LISTEN_OVERFLOWS, metric::LISTEN_DROPS, ACCEPT_QUEUE];

/// What one look at everything showed.
pub struct Look {
    /// When.
    pub at: Instant,
    /// What.
    pub seen: Observation,
    /// Why nothing is seen of the product any more, though it may run.
    pub blind: Option<String>,
}

/// Everything there is to look at.
pub struct Observer<'a> {
    /// The product under test.
    pub server: &'a mut dyn Running,
    /// What stands behind it.
    pub backend: &'a mut Backend,
    /// The kernel.
    pub kernel: &'a mut Kernel,
    /// Listeners under load; none: they are another machine's, of whose kernel nothing is seen.
    pub listeners: Vec<SocketAddr>,
}

impl Observer<'_> {
    /// One look.
    pub fn look(&mut self) -> Look {
        let at = Instant::now();
        let mut seen = self.server.observe();
        seen.merge(self.backend.observe());
        seen.samples.extend(cores::sample(&seen.samples));
        let mut kernel = self.kernel.sample(&self.listeners);
        if self.listeners.is_empty() {
            kernel.metrics.retain(|name, _| !OF_LISTENERS.contains(&name.as_str()));
        }
        seen.samples.push(kernel);
        Look { at, seen, blind: self.server.blind(false) }
    }

    /// Looks at every interval until `stop`, and once more after it, so that what the last moments left behind is seen.
    pub fn watch(&mut self, stop: &StopFlag, to: impl Fn(Look), mut next: Instant) {
        while !stop.is_stopped() {
            std::thread::sleep(next.saturating_duration_since(Instant::now()).min(INTERVAL));
            to(self.look());
            next = (next + INTERVAL).max(Instant::now());
        }
        to(self.look());
    }
}

/// Sends looks into a channel; a closed channel (the trial is over) is not an error.
pub fn into<T>(sender: &Sender<T>, wrap: impl Fn(Look) -> T) -> impl Fn(Look) {
    move |look| {
        let _ = sender.send(wrap(look));
    }
}
