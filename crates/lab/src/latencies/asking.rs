//! Asking one contender one thing, and writing down what came of it.

use std::time::{Duration, Instant};

use genkai_engine::broadcast::Answer;
use genkai_model::event::What;
use genkai_model::histogram::Payload;
use genkai_model::latencies::{Case, Collection, Consumption, LatencyComparison, Round};
use genkai_model::limit::Law;
use genkai_targets::application::{Application, Observed};
use nix::time::{ClockId, clock_gettime};

use super::asker::Asker;
use super::{Run, order};
use crate::error::LabError;
use crate::generator::Asked;

/// The rounds of one start.
pub(super) struct Asking<'a, 'p, 'r, 'j, 'w> {
    pub(super) run: &'a mut Run<'r, 'j, 'w>,
    pub(super) start: u32,
    pub(super) comparison: &'a LatencyComparison,
    pub(super) servers: &'a mut [Application],
    pub(super) asker: &'a mut Asker<'p>,
    /// Which of them could not be asked once; that was told.
    pub(super) lost: Vec<bool>,
}

impl Asking<'_, '_, '_, '_, '_> {
    /// Asks one contender one thing and writes down what came of it.
    pub(super) fn ask(&mut self, contender: usize, case: Case, round: u32) -> Result<(), LabError> {
        let times = |servers: &[Application]| -> Vec<u64> { servers.iter().map(|s| s.used().cpu_us).collect() };
        let before = times(self.servers);
        let asked = self.asker.ask(contender, case, self.comparison.message.0 as usize)?;
        let Asked { answer, workers } = match asked {
            Ok(asked) => asked,
            Err(why) => Asked { answer: self.gone(contender, case, &why)?, workers: Vec::new() },
        };
        let ended = Instant::now();
        let after = times(self.servers);
        let spent: Vec<u64> = after.iter().zip(&before).map(|(after, before)| after.saturating_sub(*before)).collect();
        let seen = self.servers[contender].observe();
        let used = Consumption {
            cpu_us: spent[contender],
            others_us: spent.iter().sum::<u64>() - spent[contender],
            heap: answer.heap,
            ..seen.used
        };
        let name = &self.comparison.contenders[contender].name;
        self.seen(name, &seen)?;
        let round = Round {
            contender: name.clone(),
            round,
            warm_up: round <= self.comparison.warm_up,
            case,
            figure_ns: answer.figure,
            delays: Payload::encode(&answer.delays),
            due: answer.due,
            missing: answer.missing,
            closes: answer.closes,
            reopened: answer.reopened,
            lasted: answer.lasted.into(),
            client_busy: answer.busy,
            used,
            workers,
        };
        self.run.recorder.at(ended, Some(self.start), What::Round(Box::new(round)))
    }

    /// A contender cannot be asked any more; the others are.
    fn gone(&mut self, contender: usize, case: Case, why: &str) -> Result<Answer, LabError> {
        let name = &self.comparison.contenders[contender].name;
        if !std::mem::replace(&mut self.lost[contender], true) {
            self.run.recorder.note(Some(self.start), "server-gone", format!("{name}: {why}"))?;
        }
        let several = matches!(case, Case::Receive | Case::Send);
        Ok(Answer::none(if several { self.comparison.clients.into() } else { 1 }))
    }

    /// Writes down what one look at a server brought.
    fn seen(&mut self, contender: &str, seen: &Observed) -> Result<(), LabError> {
        for pause in &seen.pauses {
            let what = Collection {
                contender: contender.to_owned(),
                kind: pause.kind.clone(),
                cause: pause.cause.clone(),
                lasted_ns: pause.lasted_ns,
                before: pause.heap.map(|heap| heap.0),
                after: pause.heap.map(|heap| heap.1),
            };
            self.run.recorder.at(instant(pause.at_ns), Some(self.start), What::Collection(what))?;
        }
        for line in &seen.logs {
            self.run.recorder.now(Some(self.start), What::Log(line.clone()))?;
        }
        for state in &seen.states {
            self.run.recorder.now(Some(self.start), What::State(state.clone()))?;
        }
        Ok(())
    }

    /// Looks which messages of clients each takes.
    pub(super) fn probe(&mut self) -> Result<(), LabError> {
        for contender in 0..self.servers.len() {
            let limit = self.servers[contender].entry().largest.as_ref().and_then(|limit| match limit.law {
                Law::BodySize { value } => Some(value as u64),
                _ => None,
            });
            if self.comparison.contenders[contender].variant {
                continue;
            }
            for case in order::probes(self.comparison, limit) {
                if self.run.job.interrupt.is_stopped() {
                    return Ok(());
                }
                self.ask(contender, case, self.comparison.warm_up + 1)?;
            }
        }
        Ok(())
    }
}

/// The instant at which CLOCK_MONOTONIC showed `ns`; now where that is not known.
fn instant(ns: Option<u64>) -> Instant {
    let clock = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |now| Duration::from(now).as_nanos() as u64);
    let ago = ns.map_or(0, |ns| clock.saturating_sub(ns));
    Instant::now().checked_sub(Duration::from_nanos(ago)).unwrap_or_else(Instant::now)
}
