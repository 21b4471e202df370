//! Start, ready, observe, ask, kill, stop.

use std::net::SocketAddr;
use std::path::Path;

use genkai_model::event::{ServerState, State};
use genkai_model::rooms::{Loss, NodeReport};

use super::{evidence, trace};
use crate::local::LocalError;
use crate::local::process::Signal;
use crate::local::spoken::Spoken;
use crate::local::usage::Tree;
use crate::observation::Observation;

/// Between two lines of its counts: short against the half second between two looks, so that what is seen is fresh.
const STATS: &str = "100ms";

/// How a node is built.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Redis that nodes share, as a URL.
    pub redis: Option<String>,
    /// Bytes that may wait for one member.
    pub member_queue: u64,
    /// Messages it keeps a trace of.
    pub trace: u32,
    /// Loses every so many-th message on purpose.
    pub lose_every: Option<u64>,
}

/// A running node.
#[derive(Debug)]
pub struct Node {
    number: u32,
    server: Spoken,
    settings: Settings,
    tree: Tree,
    /// Its end has been told.
    dead: bool,
}

impl Node {
    /// Starts `program serve rooms` as node `number` (from 1), on a free port of loopback, and waits until it listens. Its log
    /// is `node-NUMBER.log` in `dir`.
    ///
    /// # Errors
    /// When it cannot be started, ends at once (no Redis), or does not say where it listens within ten seconds.
    pub fn start(
        program: &Path,
        number: u32,
        settings: &Settings,
        cpus: Option<&[usize]>,
        dir: &Path,
    ) -> Result<Node, LocalError> {
        let args = ["serve", "rooms"].map(str::to_owned).into_iter().chain(flags(settings));
        let log = dir.join(format!("node-{number}.log"));
        let server = Spoken::start(program, args, &format!("rooms node {number}"), cpus, &log)?;
        let tree = Tree::new(server.child.pid());
        Ok(Node { number, server, settings: settings.clone(), tree, dead: false })
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
        let mut seen = Observation::default();
        match self.server.child.try_exited() {
            None => seen.samples.push(evidence::sample(self.number, &self.server.last_line(), &self.tree.sample())),
            Some(status) if !self.dead => {
                self.dead = true;
                let (subject, detail) = (evidence::subject(self.number), Some(status.to_string()));
                seen.states.push(State { subject, state: ServerState::Died, detail });
            }
            Some(_) => {}
        }
        seen
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
        if self.settings.trace > 0
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

    /// Ends it.
    pub fn stop(mut self) {
        self.server.stop();
    }
}

fn flags(settings: &Settings) -> Vec<String> {
    let mut flags: Vec<String> = Vec::new();
    let mut flag =
        |name: &str, value: Option<String>| flags.extend(value.into_iter().flat_map(|v| [name.to_owned(), v]));
    flag("--listen", Some("127.0.0.1:0".to_owned()));
    flag("--member-queue", Some(settings.member_queue.to_string()));
    flag("--trace", Some(settings.trace.to_string()));
    flag("--redis", settings.redis.clone());
    flag("--lose-every", settings.lose_every.map(|every| every.to_string()));
    flag("--stats", Some(STATS.to_owned()));
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_the_settings() {
        let settings = Settings { member_queue: 1000, trace: 5, ..Settings::default() };
        let all = "--listen 127.0.0.1:0 --member-queue 1000 --trace 5 --stats 100ms";
        assert_eq!(flags(&settings).join(" "), all);
        let redis = Some("redis://127.0.0.1:1/".to_owned());
        let text = flags(&Settings { redis, lose_every: Some(7), ..settings }).join(" ");
        assert!(text.contains("--redis redis://127.0.0.1:1/ --lose-every 7"), "{text}");
    }
}
