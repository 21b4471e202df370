//! Leaves directives out of the private copy, some at a time, until it is known which of them make it fail.

use std::time::{Duration, Instant};

use genkai_analysis::bisection;
use genkai_analysis::tuning::TrialPlan;
use genkai_analysis::verdict::{Open, leaves_open};
use genkai_model::event::{Bisection, EndReason, Page, Removal, ServerState, Trying, What};
use genkai_model::load::{Load, Protocol};
use genkai_model::objective::{Condition, Objective};
use genkai_model::text::shortened;
use genkai_model::units::Span;
use genkai_targets::product::{Prepared, Running};

use super::Run;
use super::clock::Clock;
use super::content::comparable;
use super::pages::{Pages, Patience, is_page};
use crate::error::LabError;
use crate::{scenario, trial};

/// How long an answer is waited for at first, at least.
const WITHIN: Duration = Duration::from_secs(5);
/// How long an answer is waited for after the first: so many times as long as it took what stands behind, and no less than this.
const PATIENCE: (u32, Duration) = (4, Duration::from_secs(2));
/// What a step takes beside its load, at least: a check, a start, an end.
const AROUND: Duration = Duration::from_secs(1);

/// Identity of the note that says why nothing was left out.
const NOTE: &str = "not-bisected";

/// What is known before the first step.
struct Begun {
    search: Bisection,
    /// What is asked of each configuration.
    pages: Pages,
    /// How long an answer is waited for.
    patience: Duration,
    clock: Clock,
}

impl Run<'_, '_, '_> {
    /// Where nothing is named: finds the directives without which it does not fail, as far as the time for it goes.
    ///
    /// # Errors
    /// When the record cannot be written, or the configuration as it is does not start any more.
    pub(super) fn bisect(&mut self) -> Result<(), LabError> {
        let open = leaves_open(self.recorder.record()).filter(|_| !self.job.interrupt.is_stopped());
        let Some(open) = open else { return Ok(()) };
        if let Some(why) = self.in_the_way() {
            return self.recorder.note(None, NOTE, format!("no directives were left out to find the cause: {why}"));
        }
        let Some(mut begun) = self.look(Clock::of(self.job.plan.procedure.bisect.duration()))? else { return Ok(()) };
        let (by, patience, clock) = (begun.search.tried_by, begun.patience, begun.clock);
        if open == Open::ToRequests && matches!(by, Trying::Load { .. }) {
            return Ok(());
        }
        self.recorder.now(None, What::Bisection(Box::new(begun.search.clone())))?;
        let mut longest =
            AROUND + bisection::trial(by).map_or(patience, |what| what.ramp.duration() + what.hold.duration());
        while let Some(removed) = bisection::next(self.recorder.record()) {
            let step = Instant::now();
            if self.job.interrupt.is_stopped() || !clock.has(longest) {
                break;
            }
            if self.leave_out(&removed, &mut begun)? == EndReason::Interrupted {
                break;
            }
            longest = longest.max(step.elapsed());
        }
        Ok(())
    }

    /// Why this load or this configuration allows no such search.
    fn in_the_way(&self) -> Option<String> {
        let load = &self.job.plan.load;
        if load.locust.is_some() {
            return Some("Locust makes the load, and what its users ask for is not known here".to_owned());
        }
        let talks = load.scenario.as_ref().is_some_and(|scenario| scenario.talks());
        if talks || !load.stages.is_empty() {
            return Some("that is done under plain loads of requests only".to_owned());
        }
        if let Protocol::WebSocket(websocket) = &load.protocol
            && (websocket.rooms.is_some() || !bisection::fails_always(self.recorder.record()))
        {
            return Some("of WebSockets that is done only where none of the first load was served".to_owned());
        }
        if Pages::of(load).is_empty() {
            return Some(match load.scenario {
                None => "only GET and HEAD can be asked one by one, to see that the answer stays the same".to_owned(),
                Some(_) => "none of the requests can be asked by itself (GET or HEAD, without a value of a run), to see that answers stay \
                            the same"
                    .to_owned(),
            });
        }
        let none = self.system.baseline().removable().is_empty();
        none.then(|| {
            format!("genkai knows none of this configuration of {} that it may leave out", self.job.plan.system.product)
        })
    }

    /// What is asked before the first step: the backend, and the product with all directives in place. None where no load can be told.
    fn look(&mut self, clock: Clock) -> Result<Option<Begun>, LabError> {
        let load = self.job.plan.load.clone();
        let fails = bisection::fails_always(self.recorder.record());
        // Under load it may need longer by itself: whatever is left out then, it is not faster.
        let loaded = bisection::longest_alone(self.recorder.record()).map_or(Duration::ZERO, Span::duration);
        let answered = bisection::longest_answer(self.recorder.record()).map_or(Duration::ZERO, Span::duration);
        let wanted = (answered.max(loaded) * 3 / 2).max(WITHIN).min(load.timeout.duration());
        let mut pages = Pages::of(&load);
        // Only by the path that is passed on: another page of what stands behind is not what users get. Of a scenario that is not known.
        let alone = self.system.directly().zip(self.system.backend.alone());
        let behind = alone.and_then(|(asked, address)| {
            let (mut its, patience) = (Pages::of(asked), Patience { clock, wanted, apart: fails });
            let (page, took) = its.twice(address, &asked.transport, patience)?;
            is_page(&page).then_some((page, took, its))
        });
        let product = self.system.without(&[], self.folder)?;
        let cpus = self.system.cpus().map(<[usize]>::to_vec);
        let server = product.start(cpus.as_deref())?;
        let bound = clock.wait(wanted);
        let through = pages.twice(server.address(), &product.transport(), Patience { clock, wanted, apart: true });
        server.stop();
        if let Some((_, waited)) = through.as_ref().filter(|(page, took)| !fails && is_silent(page, *took, bound)) {
            let text = format!(
                "no directives were left out to find the cause: one request alone was not answered within {}, and is not waited for any longer here",
                rounded(*waited)
            );
            self.recorder.note(None, NOTE, text)?;
            return Ok(None);
        }
        let through = through.filter(|(page, _)| is_page(page));
        if through.is_some() && matches!(load.protocol, Protocol::WebSocket(_)) {
            let text = "no directives were left out to find the cause: one WebSocket alone is served, and under load that is not tried";
            self.recorder.note(None, NOTE, text.to_owned())?;
            return Ok(None);
        }
        let alone = behind.as_ref().map_or(Duration::ZERO, |(_, took, _)| *took);
        let most = PATIENCE.1.max(wanted);
        let patience = rounded((alone * PATIENCE.0).max(loaded * 3 / 2).clamp(PATIENCE.1, most)).duration();
        let (tried_by, patience) = match &through {
            None if fails => (Some(Trying::Request { within: Span::from(patience) }), patience),
            None => (bisection::trying(self.recorder.record(), Span::from(patience)), patience),
            Some((_, took)) => {
                let allowed = allowed(&self.job.plan.objective).filter(|_| load.is_one_request());
                match allowed.filter(|most| most < took && alone * 2 < *most) {
                    Some(most) => (Some(Trying::Request { within: Span::from(most) }), most),
                    None => {
                        let patience = patience.max(rounded(*took * 3 / 2).duration());
                        (bisection::trying(self.recorder.record(), Span::from(patience)), patience)
                    }
                }
            }
        };
        if let Some((_, _, its)) = &behind {
            pages.join(its);
        }
        let normal = comparable(behind.map(|(page, ..)| page), through.map(|(page, _)| page));
        let directives = self.system.baseline().removable();
        let first = bisection::few_of_a_kind(&directives);
        let budget = self.job.plan.procedure.bisect;
        let search = |tried_by| Bisection { budget, directives, first, tried_by, normal };
        Ok(tried_by.map(search).map(|search| Begun { search, pages, patience, clock }))
    }

    /// One step: a copy without these, checked and started; one request; a short load where the answer is as it should be and that is how it
    /// is tried.
    fn leave_out(&mut self, removed: &[u32], begun: &mut Begun) -> Result<EndReason, LabError> {
        let Begun { search, pages, patience, clock } = begun;
        let cpus = self.system.cpus().map(<[usize]>::to_vec);
        let started = self.system.without(removed, self.folder).and_then(|product| {
            let server = product.start(cpus.as_deref())?;
            Ok((product, server))
        });
        let step = |refused, page| What::Removal(Box::new(Removal { removed: removed.to_vec(), refused, page }));
        let (product, mut server) = match started {
            Ok(started) => started,
            Err(e) if removed.is_empty() => return Err(e),
            Err(e) => {
                self.recorder.now(None, step(Some(said(&e)), None))?;
                return Ok(EndReason::Completed);
            }
        };
        self.state(ServerState::Ready, Some(server.address().to_string()))?;
        let (address, transport) = (server.address(), product.transport());
        let mut ask = || pages.once(address, &transport, *patience, removed.is_empty()).unwrap_or_default();
        // What is late once may be late by chance.
        let page = Some(ask()).filter(|page| page.status.is_some()).unwrap_or_else(&mut ask);
        let normal = bisection::is_normal(&page, &search.normal) == Some(true);
        self.recorder.now(None, step(None, Some(page)))?;
        let ended = match bisection::trial(search.tried_by).filter(|_| normal) {
            Some(what) => self.shortly(&what, &*product, &mut *server, (*patience, *clock)),
            None => Ok(EndReason::Completed),
        };
        server.stop();
        self.state(ServerState::Stopped, None)?;
        ended
    }

    fn shortly(
        &mut self,
        what: &TrialPlan,
        product: &dyn Prepared,
        server: &mut dyn Running,
        (patience, clock): (Duration, Clock),
    ) -> Result<EndReason, LabError> {
        if !self.drained(clock.left())? {
            return Ok(EndReason::Interrupted);
        }
        // Its time went by while that was waited for: then nothing is known of this step.
        let beside = what.ramp.duration() + what.hold.duration();
        if !clock.has(beside) {
            return Ok(EndReason::Completed);
        }
        let load = scenario::aimed(&trial::shape(&self.job.plan.load, what), server.address(), product.transport());
        let timeout = load.timeout.min(Span::from(patience));
        self.sent(what, server, Load { timeout, ..load })
    }
}

/// Whether an answer was waited for, and none came.
fn is_silent(page: &Page, took: Duration, bound: Duration) -> bool {
    page.status.is_none() && took >= bound.min(WITHIN) * 9 / 10
}

/// As it is told: tenths of a second, and no less than it is.
fn rounded(time: Duration) -> Span {
    Span::from_millis(time.as_millis().div_ceil(100) as u64 * 100)
}

/// The shortest time that an objective allows a request.
fn allowed(objective: &Objective) -> Option<Duration> {
    let bounds = objective.0.iter().filter_map(|condition| match condition {
        Condition::LatencyBelow(_, bound) => Some(bound.at.duration()),
        _ => None,
    });
    bounds.min()
}

/// What is said against a configuration, on one line.
fn said(error: &LabError) -> String {
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    shortened(&genkai_targets::files::masked(&lines.join(" ")), 300)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_waited_for_in_vain_is_told_from_what_was_closed() {
        let (seconds, page) = (Duration::from_secs, |status| Page { status, ..Page::default() });
        assert!(is_silent(&page(None), seconds(15), seconds(15)) && is_silent(&page(None), seconds(1), seconds(1)));
        assert!(!is_silent(&page(None), seconds(1), seconds(15)), "it was closed");
        assert!(!is_silent(&page(Some(504)), seconds(15), seconds(15)));
        assert_eq!(rounded(Duration::from_micros(7_250_001)), Span::from_millis(7300));
    }
}
