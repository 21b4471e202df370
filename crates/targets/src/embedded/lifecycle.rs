//! Start, ready, observe, stop.

use std::net::SocketAddr;
use std::path::Path;

use genkai_model::event::{ServerState, State};
use genkai_model::evidence::LogLine;
use genkai_model::limit::Limit;
use genkai_model::plan::OriginSpec;

use super::evidence;
use super::limits;
use crate::local::spoken::Spoken;
use crate::local::tail::Tail;
use crate::local::usage::Tree;
use crate::local::{LocalError, machine};
use crate::observation::Observation;

/// What messages call it.
const NAME: &str = "embedded origin";
/// Between two lines of its counts: half of the time between two looks, so that none is older than that.
const STATS: &str = "100ms";
/// At most so many lines of its log are told a look; it logs only what goes wrong, and then once.
const LOG_LINES: usize = 20;
/// Longest log line in a record, characters.
const LOG_LINE: usize = 400;

/// A running embedded origin.
#[derive(Debug)]
pub struct Origin {
    server: Spoken,
    spec: OriginSpec,
    cores: u32,
    tree: Tree,
    tail: Tail,
    /// Its end has been told.
    dead: bool,
}

impl Origin {
    /// Starts `program serve origin` as `spec` says, on a free port of loopback, and waits until it listens. Its log is
    /// `origin.log` in `dir`. It gets all the descriptors that may be given without privilege.
    ///
    /// # Errors
    /// When it cannot be started, ends at once, or does not say where it listens within ten seconds.
    pub fn start(program: &Path, spec: &OriginSpec, cpus: Option<&[usize]>, dir: &Path) -> Result<Origin, LocalError> {
        let log = dir.join("origin.log");
        let tail = Tail::open(&log);
        let args = ["serve", "origin"].map(str::to_owned).into_iter().chain(flags(spec));
        let server = Spoken::start(program, args, NAME, cpus, &log)?;
        let tree = Tree::new(server.child.pid());
        let cores = cpus.map_or_else(|| machine::cores().len(), <[usize]>::len) as u32;
        Ok(Origin { server, spec: spec.clone(), cores, tree, tail, dead: false })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Its limits as configured.
    pub fn limits(&self) -> Vec<Limit> {
        limits::of(&self.spec, self.cores)
    }

    /// Looks at it: counts at most 100 ms old, CPU since the look before. When it has ended, that is told once, and
    /// there are no more samples.
    pub fn observe(&mut self) -> Observation {
        let mut seen = Observation { logs: self.log(), ..Observation::default() };
        match self.server.child.try_exited() {
            None => seen.samples.push(evidence::sample(&self.server.last_line(), &self.tree.sample())),
            Some(status) if !self.dead => {
                self.dead = true;
                let (subject, detail) = ("backend".to_owned(), Some(format!("{NAME}: {status}")));
                seen.states.push(State { subject, state: ServerState::Died, detail });
            }
            Some(_) => {}
        }
        seen
    }

    /// Ends it.
    pub fn stop(mut self) {
        self.server.stop();
    }

    fn log(&mut self) -> Vec<LogLine> {
        let lines = self.tail.lines().into_iter().take(LOG_LINES);
        let line = |text: String| LogLine {
            subject: "backend".to_owned(),
            level: "error".to_owned(),
            text: text.chars().take(LOG_LINE).collect(),
            signature: None,
            count: 1,
        };
        lines.map(line).collect()
    }
}

fn flags(spec: &OriginSpec) -> Vec<String> {
    let mut flags: Vec<String> = Vec::new();
    let mut flag =
        |name: &str, value: Option<String>| flags.extend(value.into_iter().flat_map(|v| [name.to_owned(), v]));
    flag("--listen", Some("127.0.0.1:0".to_owned()));
    flag("--body", Some(spec.body.to_string()));
    flag("--service-time", Some(spec.service_time.to_string()));
    flag("--workers", spec.workers.map(|workers| workers.to_string()));
    flag("--queue", spec.queue.map(|queue| queue.to_string()));
    flag("--seed", Some(spec.seed.to_string()));
    flag("--stats", Some(STATS.to_owned()));
    flags
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use genkai_model::units::{Bytes, Span, Spread};

    use super::*;

    fn spec() -> OriginSpec {
        let service_time = Spread::Uniform(Span::from_millis(20), Span::from_millis(80));
        OriginSpec { body: Bytes(1500), service_time, workers: Some(5), queue: None, seed: 7 }
    }

    /// What is said of a program that is no origin.
    fn failing(script: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("genkai");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        loop {
            let error = Origin::start(&program, &spec(), None, dir.path()).unwrap_err().to_string();
            // Another test may have forked while the file was open for writing (execve(2), ETXTBSY); not for long.
            if !error.contains("os error 26") {
                return error;
            }
        }
    }

    #[test]
    fn the_command_line_is_the_specification() {
        let text = flags(&spec()).join(" ");
        let all =
            "--listen 127.0.0.1:0 --body 1500 --service-time uniform(20ms,80ms) --workers 5 --seed 7 --stats 100ms";
        assert_eq!(text, all);
        let text = flags(&OriginSpec { workers: None, queue: Some(3), ..spec() }).join(" ");
        assert!(text.contains("--queue 3") && !text.contains("--workers"), "{text}");
    }

    #[test]
    fn a_program_that_is_no_origin_is_told_with_its_words() {
        let error = failing("echo no such flag >&2; exit 2");
        assert!(error.contains("no such flag") && error.contains("exit status: 2"), "{error}");
        let error = failing("echo hello; exec sleep 600");
        assert!(error.contains("`hello`"), "{error}");
        let dir = tempfile::tempdir().unwrap();
        let error = Origin::start(Path::new("/no/such/genkai"), &spec(), None, dir.path()).unwrap_err();
        assert!(error.to_string().contains("/no/such/genkai"), "{error}");
    }
}
