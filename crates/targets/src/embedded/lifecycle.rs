//! Start, ready, observe, stop.

use std::net::SocketAddr;
use std::path::Path;

use genkai_model::limit::Limit;
use genkai_model::plan::{Answers, OriginSpec};

use super::{Spec, evidence, limits};
use genkai_place::handshake::Announced;
use genkai_place::log_lines::plain;
use genkai_place::observation::Observation;
use genkai_place::tail::Tail;
use genkai_place::{PlaceError, machine};

/// What messages call it.
const NAME: &str = "embedded origin";
/// Between two lines of its counts: half of the time between two looks, so that none is older than that.
const STATS: &str = "100ms";

/// A running embedded origin. Dropping it ends it.
#[derive(Debug)]
pub struct Origin {
    server: Announced,
    spec: Spec,
    cores: u32,
    tail: Tail,
}

impl Origin {
    /// Starts `program serve ...` as `spec` says, on a free port of loopback, and waits until it listens. Its log is
    /// `origin.log` in `dir`. It gets all the descriptors that may be given without privilege.
    ///
    /// # Errors
    /// When it cannot be started, ends at once, or does not say where it listens within ten seconds.
    pub fn start(
        program: &Path,
        spec: impl Into<Spec>,
        cpus: Option<&[usize]>,
        dir: &Path,
    ) -> Result<Origin, PlaceError> {
        let spec = spec.into();
        let log = dir.join("origin.log");
        let tail = Tail::open(&log);
        let args = std::iter::once("serve".to_owned()).chain(flags(&spec, "127.0.0.1:0"));
        let server = Announced::start(program, args, NAME, cpus, &log)?;
        let cores = cpus.map_or_else(|| machine::cores().len(), <[usize]>::len) as u32;
        Ok(Origin { server, spec, cores, tail })
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
        let logs = plain("backend", &mut self.tail);
        Observation { logs, ..self.server.observe("backend", &format!("{NAME}: "), evidence::sample) }
    }
}

/// The arguments by which genkai is an embedded origin that listens at an address.
pub fn arguments(spec: &OriginSpec, listen: &str) -> Vec<String> {
    let mut all = vec!["serve".to_owned()];
    all.extend(flags(&Spec::Http(spec.clone()), listen));
    all
}

/// The server's name and flags.
fn flags(spec: &Spec, listen: &str) -> Vec<String> {
    let name = match spec {
        Spec::Http(_) => "origin",
        Spec::WebSocket(server) if server.answers == Answers::Rooms => "rooms",
        Spec::WebSocket(_) => "echo",
    };
    let mut flags: Vec<String> = vec![name.to_owned()];
    let mut flag =
        |name: &str, value: Option<String>| flags.extend(value.into_iter().flat_map(|v| [name.to_owned(), v]));
    flag("--listen", Some(listen.to_owned()));
    match spec {
        Spec::Http(spec) => {
            flag("--body", Some(spec.body.to_string()));
            flag("--service-time", Some(spec.service_time.to_string()));
            flag("--workers", spec.workers.map(|workers| workers.to_string()));
            flag("--queue", spec.queue.map(|queue| queue.to_string()));
            flag("--seed", Some(spec.seed.to_string()));
            flag("--stats", Some(STATS.to_owned()));
        }
        Spec::WebSocket(spec) => {
            flag("--max-message", Some(spec.max_message.to_string()));
            flag("--delay", (spec.delay.0 > 0).then(|| spec.delay.to_string()));
        }
    }
    flags
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use genkai_model::plan::{OriginSpec, WebSocketServer};
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
        let text = flags(&Spec::from(&spec()), "127.0.0.1:0").join(" ");
        let all = "origin --listen 127.0.0.1:0 --body 1500 --service-time uniform(20ms,80ms) --workers 5 --seed 7 --stats 100ms";
        assert_eq!(text, all);
        let text = flags(&Spec::from(&OriginSpec { workers: None, queue: Some(3), ..spec() }), "127.0.0.1:0").join(" ");
        assert!(text.contains("--queue 3") && !text.contains("--workers"), "{text}");
        let echo = WebSocketServer { answers: Answers::Echo, max_message: Bytes(65_536), delay: Span::from_millis(5) };
        assert_eq!(
            flags(&Spec::from(&echo), "127.0.0.1:0").join(" "),
            "echo --listen 127.0.0.1:0 --max-message 64k --delay 5ms"
        );
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
