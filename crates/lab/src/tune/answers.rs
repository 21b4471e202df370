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
use genkai_targets::product::{Prepared, Running};

use super::Run;
use crate::error::LabError;
use crate::scenario;
use crate::trial;

/// How long it may take until it answers, from when it listens.
const WITHIN: Duration = Duration::from_secs(60);
/// How long one answer may take at first. Whoever waits longer than it takes to load is answered then; each further one is waited for twice as
/// long, so that one that always takes its time is answered, too.
const ONE: Duration = Duration::from_secs(5);
/// How long a server that never gave a good answer may go on answering with errors of its own: then that is how it answers.
const FAILING: Duration = Duration::from_secs(10);
/// Between two questions.
const PAUSE: Duration = Duration::from_millis(200);
/// Between two looks at the interrupt while an answer is waited for.
const POLL: Duration = Duration::from_millis(50);

/// What became of a server that listens.
enum Asking {
    /// It answers as it is meant to, with this status; none where it cannot be asked.
    Answers(Option<u16>),
    /// It does not, in words.
    Not(String),
    /// The user wants to stop.
    Interrupted,
}

impl Run<'_, '_, '_> {
    /// Whether the server of a trial answers, having been waited for; that it does not with a value that is to be tried is on record then.
    ///
    /// # Errors
    /// When it does not, and no such value is why.
    pub(super) fn answers(
        &mut self,
        what: &TrialPlan,
        product: &dyn Prepared,
        server: &mut dyn Running,
    ) -> Result<bool, LabError> {
        if product.product() != System::COMMAND {
            return Ok(true);
        }
        let shaped = trial::shape(&self.job.plan.load, what);
        let load = plain(scenario::aimed(&shaped, server.address(), product.transport()));
        let mut seen = Observation::default();
        let came = until(&load, server, self.usual, self.job.interrupt, &mut seen);
        self.recorder.before(seen)?;
        match came {
            Asking::Answers(status) => {
                self.usual = self.usual.or(status);
                Ok(true)
            }
            Asking::Interrupted => Ok(false),
            Asking::Not(said) => match self.unusable(what, &said)? {
                true => Ok(false),
                false => Err(LabError::Environment(format!(
                    "the command listens at {}, but {said}\n  hint: --path chooses what is asked for",
                    server.address()
                ))),
            },
        }
    }
}

/// A load with one request that may be made without doing anything, to be asked once.
fn plain(mut load: Load) -> Load {
    load.protocol = load.http2().map_or_else(|| load.protocol.clone(), Protocol::Http2);
    load.scenario = None;
    if !["GET", "HEAD"].contains(&load.request.method.as_str()) {
        load.request.method = "GET".to_owned();
        load.request.path = "/".to_owned();
        load.request.body = Default::default();
    }
    load
}

/// Asks until it is answered: with the status that is usual, or one that is no error. What the server said meanwhile goes to `seen`.
fn until(load: &Load, server: &mut dyn Running, usual: Option<u16>, stop: &StopFlag, seen: &mut Observation) -> Asking {
    let (begun, mut patience) = (Instant::now(), ONE);
    loop {
        let left = WITHIN.saturating_sub(begun.elapsed());
        let last = match asked(load, server.address(), patience.min(left), stop) {
            Err(()) => return Asking::Interrupted,
            Ok(None) => return Asking::Answers(None),
            Ok(Some(Asked::Answered { status, .. })) => {
                let is_new = usual.is_none() && (status < 500 || begun.elapsed() >= FAILING);
                if status < 400 || usual == Some(status) || is_new {
                    return Asking::Answers(Some(status));
                }
                Some(format!("it answers {status}"))
            }
            // What the load will meet, too: that is told of its first request.
            Ok(Some(Asked::Refused { .. } | Asked::NotOffered { .. })) => return Asking::Answers(None),
            Ok(Some(Asked::Closed)) => Some("it closes the connection without an answer".to_owned()),
            Ok(Some(Asked::Nothing)) => {
                patience *= 2;
                None
            }
        };
        if let Some(how) = ended(server, seen) {
            return Asking::Not(how);
        }
        if begun.elapsed() >= WITHIN {
            let what = format!("{} {}", load.request.method, load.request.path);
            return Asking::Not(match last {
                Some(last) => format!("after {} s {last} to {what}", WITHIN.as_secs()),
                None => format!("it did not answer {what} within {} s", WITHIN.as_secs()),
            });
        }
        thread::sleep(PAUSE);
    }
}

/// One question, which an interrupt does not wait for.
fn asked(load: &Load, address: SocketAddr, within: Duration, stop: &StopFlag) -> Result<Option<Asked>, ()> {
    let (sender, receiver) = mpsc::channel();
    let load = load.clone();
    // It ends by itself, at the latest when the server does.
    thread::spawn(move || sender.send(ask(&load, address, within.max(POLL))));
    loop {
        match receiver.recv_timeout(POLL) {
            Ok(asked) => return Ok(asked),
            Err(RecvTimeoutError::Disconnected) => return Ok(Some(Asked::Nothing)),
            Err(RecvTimeoutError::Timeout) if stop.is_stopped() => return Err(()),
            Err(RecvTimeoutError::Timeout) => {}
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
