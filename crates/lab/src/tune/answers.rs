//! Waits until a server that nobody knows answers. One that listens first and loads its application then takes connections and leaves them
//! waiting: a load in that time says nothing of a setting.

use std::net::SocketAddr;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use genkai_analysis::tuning::TrialPlan;
use genkai_engine::{Asked, StopFlag, ask};
use genkai_model::event::ServerState;
use genkai_model::load::{Load, Protocol};
use genkai_model::system::System;
use genkai_place::observation::Observation;
use genkai_place::usage::Tree;
use genkai_targets::product::{Prepared, Running};

use super::Run;
use crate::error::LabError;
use crate::scenario;
use crate::trial;

/// How long it may take until it answers, from when it listens, ...
const WITHIN: Duration = Duration::from_secs(60);
/// ... longer while it used processor time not longer ago than this, ...
const AT_WORK: Duration = Duration::from_secs(30);
/// ... and at the most.
const LONGEST: Duration = Duration::from_secs(300);
/// Between two looks at what it uses.
const LOOK: Duration = Duration::from_secs(2);
/// Who uses less of a core waits for something.
const RESTING: f64 = 0.1;
/// How long one answer may take at first. Whoever waits longer than it takes to load is answered then; each further one is waited for twice as
/// long, so that one that always takes its time is answered, too.
const ONE: Duration = Duration::from_secs(5);
/// How long a server that never gave a good answer may go on answering with errors of its own, and rest: then that is how it answers. It may have
/// to load at each start, so that is waited for at each.
const FAILING: Duration = Duration::from_secs(10);
/// Between two questions.
const PAUSE: Duration = Duration::from_millis(200);
/// Between two looks at the interrupt while an answer is waited for.
const POLL: Duration = Duration::from_millis(50);

/// What became of a server that listens.
pub(super) enum Asking {
    /// It answers as it is meant to, with this status; none where it cannot be asked.
    Answers(Option<u16>),
    /// It does not, though it runs, in words.
    Silent(String),
    /// It ended, in words.
    Ended(String),
    /// The user wants to stop.
    Interrupted,
}

impl Run<'_, '_, '_> {
    /// Waits until the server of a trial answers.
    ///
    /// # Errors
    /// When what it said meanwhile cannot be written.
    pub(super) fn asking(
        &mut self,
        what: &TrialPlan,
        product: &dyn Prepared,
        server: &mut dyn Running,
    ) -> Result<Asking, LabError> {
        let shaped = trial::shape(&self.job.plan.load, what);
        // Whether a client that talks is answered is no matter of one request.
        let talks = shaped.scenario.as_ref().is_some_and(|scenario| scenario.talks());
        if product.product() != System::COMMAND || talks || matches!(shaped.protocol, Protocol::WebSocket(_)) {
            return Ok(Asking::Answers(None));
        }
        let is_own = is_own(&shaped);
        let load = plain(scenario::aimed(&shaped, server.address(), product.transport()));
        let mut seen = Observation::default();
        let came = until((&load, is_own), server, self.usual, self.job.interrupt, &mut seen);
        self.recorder.before(seen)?;
        if let Asking::Answers(status) = &came
            && is_own
        {
            self.usual = self.usual.or(*status);
        }
        Ok(came)
    }

    /// What is said of a command that does not answer.
    pub(super) fn unanswered(&self, address: SocketAddr, said: &str) -> LabError {
        let hint = if is_own(&self.job.plan.load) { "\n  hint: --path chooses what is asked for" } else { "" };
        LabError::Environment(format!("the command listens at {address}, but {said}{hint}"))
    }
}

/// Whether it is the load's own request that is asked. Where it is another, which the server may not know, any answer is one.
fn is_own(load: &Load) -> bool {
    load.is_one_request() && is_safe(load)
}

/// Whether its request may be made without doing anything.
fn is_safe(load: &Load) -> bool {
    ["GET", "HEAD"].contains(&load.request.method.as_str())
}

/// A load with one request that may be made without doing anything.
fn plain(mut load: Load) -> Load {
    load.protocol = load.http2().map_or_else(|| load.protocol.clone(), Protocol::Http2);
    load.scenario = None;
    if !is_safe(&load) {
        load.request.method = "GET".to_owned();
        load.request.path = "/".to_owned();
        load.request.body = Default::default();
    }
    load
}

/// How long a server is waited for.
struct Wait {
    begun: Instant,
    tree: Option<Tree>,
    looked: Instant,
    /// When it was last seen to use processor time; at first when it began to listen.
    worked: Instant,
}

impl Wait {
    fn new(server: &dyn Running) -> Wait {
        let now = Instant::now();
        Wait { begun: now, tree: server.first().map(Tree::new), looked: now, worked: now }
    }

    /// Looks now and then whether it works.
    fn look(&mut self) {
        if self.looked.elapsed() >= LOOK {
            let used = self.tree.as_mut().map_or(0.0, |tree| tree.sample().cpu);
            self.looked = Instant::now();
            if used > RESTING {
                self.worked = self.looked;
            }
        }
    }

    /// Whether it was waited for as long as it should be.
    fn is_over(&self) -> bool {
        let waited = self.begun.elapsed();
        waited >= LONGEST || waited >= WITHIN && self.worked.elapsed() >= AT_WORK
    }

    /// Whether a server that answers with errors of its own does so for good.
    fn is_failing(&self) -> bool {
        let waited = self.begun.elapsed();
        waited >= WITHIN || waited >= FAILING && self.worked.elapsed() >= FAILING
    }
}

/// Whether an answer is one of a server that has loaded: `usual` is that of the trials before, if there was one. If not, it is asked again.
fn taken(status: u16, is_own: bool, usual: Option<u16>, wait: &Wait) -> bool {
    let is_meant = !is_own || usual.is_none_or(|usual| usual == status);
    status < 400 || is_meant && (status < 500 || wait.is_failing())
}

/// Asks until it is answered: with the status that is usual, or one that is no error; where another request is asked than the load has, with
/// anything, and where that is not answered at all, nothing is known. What the server said meanwhile goes to `seen`.
fn until(
    (load, is_own): (&Load, bool),
    server: &mut dyn Running,
    usual: Option<u16>,
    stop: &StopFlag,
    seen: &mut Observation,
) -> Asking {
    let (mut wait, mut patience) = (Wait::new(server), ONE);
    loop {
        let last = match asked(load, server.address(), patience, stop, &mut wait) {
            Err(()) => return Asking::Interrupted,
            Ok(None) => return Asking::Answers(None),
            Ok(Some(Asked::Answered { status, .. })) if taken(status, is_own, usual, &wait) => {
                return Asking::Answers(Some(status));
            }
            Ok(Some(Asked::Answered { status, .. })) => Some(format!("it answers {status}")),
            // What the load will meet, too: that is told of its first request.
            Ok(Some(Asked::Refused { .. } | Asked::NotOffered { .. } | Asked::Garbled)) => {
                return Asking::Answers(None);
            }
            Ok(Some(Asked::Closed)) => Some("it closes the connection without an answer".to_owned()),
            Ok(Some(Asked::Nothing)) => {
                patience *= 2;
                None
            }
        };
        if let Some(how) = ended(server, seen) {
            return Asking::Ended(how);
        }
        wait.look();
        if !is_own && (wait.begun.elapsed() >= WITHIN || last.is_some() && wait.is_failing()) {
            return Asking::Answers(None);
        }
        if wait.is_over() {
            let (what, waited) =
                (format!("{} {}", load.request.method, load.request.path), wait.begun.elapsed().as_secs());
            return Asking::Silent(match last {
                Some(last) => format!("after {waited} s {last} to {what}"),
                None => format!("it did not answer {what} within {waited} s"),
            });
        }
        thread::sleep(PAUSE);
    }
}

/// One question, which an interrupt does not wait for.
fn asked(
    load: &Load,
    address: SocketAddr,
    within: Duration,
    stop: &StopFlag,
    wait: &mut Wait,
) -> Result<Option<Asked>, ()> {
    let (sender, receiver) = mpsc::channel();
    let load = load.clone();
    // It ends by itself, at the latest when the server does.
    thread::spawn(move || sender.send(ask(&load, address, within)));
    loop {
        match receiver.recv_timeout(POLL) {
            Ok(asked) => return Ok(asked),
            Err(RecvTimeoutError::Disconnected) => return Ok(Some(Asked::Nothing)),
            Err(RecvTimeoutError::Timeout) if stop.is_stopped() => return Err(()),
            Err(RecvTimeoutError::Timeout) => {
                wait.look();
                if wait.is_over() {
                    return Ok(Some(Asked::Nothing));
                }
            }
        }
    }
}

/// How a server ended that was asked; none where it runs.
fn ended(server: &mut dyn Running, seen: &mut Observation) -> Option<String> {
    let Observation { logs, states, .. } = server.observe();
    let died = states.iter().find(|state| state.state == ServerState::Died);
    let how = died
        .map(|state| format!("it ended before it answered ({})", state.detail.as_deref().unwrap_or("why is not told")));
    seen.logs.extend(logs);
    seen.states.extend(states);
    how
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waited(seconds: u64, rested: u64) -> Wait {
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        Wait { begun: ago(seconds), tree: None, looked: Instant::now(), worked: ago(rested) }
    }

    #[test]
    fn a_server_at_work_is_waited_for_longer_but_not_for_good() {
        assert!(!waited(59, 59).is_over() && waited(60, 60).is_over());
        assert!(!waited(200, 5).is_over() && waited(200, 31).is_over() && waited(300, 0).is_over());
    }

    #[test]
    fn errors_while_it_loads_are_not_how_it_answers() {
        assert!(!taken(503, true, None, &waited(9, 9)) && taken(503, true, None, &waited(11, 11)));
        assert!(!taken(503, true, None, &waited(30, 1)), "it is at work");
        assert!(!taken(503, true, Some(503), &waited(1, 1)), "at each start");
        assert!(!taken(503, true, Some(200), &waited(299, 0)) && !taken(404, true, Some(200), &waited(99, 9)));
        assert!(taken(404, true, None, &waited(0, 0)) && taken(404, true, Some(404), &waited(0, 0)));
        assert!(taken(200, true, Some(404), &waited(0, 0)));
        assert!(taken(404, false, Some(200), &waited(0, 0)), "it is not the load's request");
    }

    #[test]
    fn a_load_whose_own_request_is_not_asked_is_known() {
        let mut load = Load::users(1, 1.0);
        assert!(is_own(&load));
        load.request.method = "POST".to_owned();
        assert!(!is_own(&load));
        assert_eq!((plain(load.clone()).request.method.as_str(), plain(load).request.path.as_str()), ("GET", "/"));
    }
}
