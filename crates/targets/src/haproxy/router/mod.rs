//! HAProxy as a router before nodes: a configuration of genkai's own, whose sessions and nodes are counted.
//!
//! It stands before nodes as a platform's router does: so many connections a node at most, requests beyond them wait a while in
//! a queue, and those that wait too long get HAProxy's own answer (here one that says so, as a platform's H11 does).

mod config;
mod evidence;
mod limits;

use std::net::SocketAddr;
use std::path::Path;

use genkai_model::evidence::{LogLine, Sample};
use genkai_model::plan;
use genkai_model::rooms::RouterReport;

use super::evidence::{SUBJECT, Stat, Watch};
use super::{CALLED, Haproxy, LOG};
use crate::error::TargetError;
use crate::product::{Deployment, Prepared as _};
use evidence::Sessions;
use genkai_place::observation::Observation;
use genkai_place::process::Signal;
use genkai_place::running::Running;
use genkai_place::tail::Tail;
pub(crate) use limits::of as limits;

/// It, running. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Router {
    /// Which of its processes this is, from 1.
    number: u64,
    /// None only while it is killed and started anew. It ends before its files go.
    running: Option<Running<Watch>>,
    haproxy: Deployment<Haproxy>,
    cpus: Option<Vec<usize>>,
    address: SocketAddr,
    log: Tail,
    sessions: Sessions,
    /// What it logged before it was killed on purpose, until that is told.
    untold: Vec<LogLine>,
    /// It stands still, on purpose: it answers nobody.
    frozen: bool,
    /// Statistics of those processes of it that were killed on purpose.
    before: Stat,
}

impl Router {
    /// Starts its process `number` before `nodes` with room for so many clients at once, its files in `dir`.
    ///
    /// # Errors
    /// When it is not installed, refuses its configuration or does not start.
    pub(crate) fn start(
        plan: &plan::Router,
        number: u64,
        clients: u32,
        nodes: &[SocketAddr],
        cpus: Option<&[usize]>,
        dir: &Path,
    ) -> Result<Router, TargetError> {
        let refusal = dir.join("503.http");
        std::fs::write(&refusal, config::refusal(plan)).map_err(TargetError::files(&refusal))?;
        let haproxy =
            Deployment::<Haproxy>::rendered(&config::render(plan, clients, nodes, &refusal), plan.listen, dir)?;
        let running = haproxy.start(cpus)?;
        let (address, log) = (running.address(), Tail::open(haproxy.variant().dir().join(LOG)));
        Ok(Router {
            number,
            haproxy,
            running: Some(running),
            cpus: cpus.map(<[usize]>::to_vec),
            address,
            log,
            sessions: Sessions::default(),
            untold: Vec::new(),
            frozen: false,
            before: Stat::default(),
        })
    }

    /// The listener that the load goes to.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Looks at it, as at any HAProxy, but for its log: that tells whose connections ended. One that stands still is not asked.
    pub(crate) fn observe(&mut self) -> Observation {
        let running = self.running.as_mut().filter(|_| !self.frozen);
        let seen = running.map(Running::observe).unwrap_or_default();
        let logs = std::mem::take(&mut self.untold).into_iter().chain(self.sessions.take(&self.log.lines()));
        let samples = seen.samples.into_iter().map(|sample| own(self.number, sample)).collect();
        Observation { samples, logs: logs.collect(), ..seen }
    }

    /// What it tells after a load.
    pub(crate) fn report(&mut self) -> RouterReport {
        self.sessions.take(&self.log.lines());
        let stat = self.stat();
        RouterReport {
            product: SUBJECT.to_owned(),
            version: self.haproxy.version().to_owned(),
            nodes: evidence::nodes(&stat),
            queue_peak: evidence::queue_peak(&stat),
            refused: self.sessions.refused(),
            ended: self.sessions.ended.clone(),
            resets_us: Vec::new(),
        }
    }

    /// Lets it stand still: a fault on purpose. What is sent to it from now on waits in its sockets.
    pub(crate) fn freeze(&mut self) {
        self.before = self.stat();
        self.frozen = true;
        self.signal(Signal::SIGSTOP);
    }

    /// Kills it, so that what waits in it is lost and all its connections are reset, and starts it anew at the same address.
    ///
    /// # Errors
    /// When it does not start again.
    pub(crate) fn reset(&mut self) -> Result<(), TargetError> {
        if !self.frozen {
            self.before = self.stat();
        }
        self.signal(Signal::SIGKILL);
        self.running = None;
        // Its log goes when it is started anew.
        self.untold = self.sessions.take(&self.log.lines());
        let running = self.haproxy.start(self.cpus.as_deref())?;
        if running.address() != self.address {
            let text = format!("haproxy: {} was taken by somebody else when it was started anew", self.address);
            return Err(TargetError::machine(CALLED, text));
        }
        self.log = Tail::open(self.haproxy.variant().dir().join(LOG));
        (self.running, self.frozen) = (Some(running), false);
        Ok(())
    }

    fn signal(&self, signal: Signal) {
        self.running.iter().for_each(|running| running.signal(signal));
    }

    /// Its statistics since it was first started. One that was killed took its own along: they were asked for before.
    fn stat(&self) -> Stat {
        let running = self.running.as_ref().filter(|_| !self.frozen);
        running.map(|running| running.watch().stat()).unwrap_or_default().after(&self.before)
    }
}

/// What was seen of process `number`: of all but the first under a name of its own, for each has figures of its own.
fn own(number: u64, sample: Sample) -> Sample {
    if number == 1 || sample.subject != SUBJECT {
        return sample;
    }
    let name = format!("{SUBJECT}-{number}");
    let renamed = |metric: String| match metric.strip_prefix(SUBJECT) {
        Some(rest) if rest.starts_with('.') => format!("{name}{rest}"),
        _ => metric,
    };
    let metrics = sample.metrics.into_iter().map(|(metric, value)| (renamed(metric), value)).collect();
    Sample { subject: name, metrics }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_figures_of_its_own() {
        let sample = |subject: &str, metric: &str| Sample {
            subject: subject.to_owned(),
            metrics: [(metric.to_owned(), 1.0), ("tcp.overflow".to_owned(), 2.0)].into(),
        };
        assert_eq!(own(1, sample("haproxy", "haproxy.cpu")), sample("haproxy", "haproxy.cpu"));
        assert_eq!(own(2, sample("haproxy", "haproxy.cpu")), sample("haproxy-2", "haproxy-2.cpu"));
        assert_eq!(own(2, sample("kernel", "haproxy.cpu")), sample("kernel", "haproxy.cpu"));
    }
}
