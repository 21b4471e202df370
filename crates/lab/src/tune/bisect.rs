//! Leaves directives out of the private copy, some at a time, until it is known which of them make it fail.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use genkai_analysis::bisection;
use genkai_analysis::tuning::TrialPlan;
use genkai_analysis::verdict::leaves_open;
use genkai_engine::{Asked, ask_page};
use genkai_model::event::{Bisection, EndReason, Page, Removal, ServerState, Trying, What};
use genkai_model::load::{Load, Protocol};
use genkai_model::transport::Transport;
use genkai_model::units::Span;
use genkai_targets::product::Prepared;

use super::Run;
use crate::error::LabError;
use crate::trial;

/// How long an answer is waited for at first.
const WITHIN: Duration = Duration::from_secs(5);
/// How long it is waited for later: so many times as long as it took what stands behind, and no less than this.
const PATIENCE: (u32, Duration) = (4, Duration::from_secs(2));
/// What a step takes beside its load, at least: a check, a start, an end.
const AROUND: Duration = Duration::from_secs(1);

/// Identity of the note that says why nothing was left out.
const NOTE: &str = "not-bisected";

/// What is known before the first step.
struct Begun {
    search: Bisection,
    /// How long an answer is waited for.
    patience: Duration,
}

impl Run<'_, '_, '_> {
    /// Where nothing is named: finds the directives without which it does not fail, as far as the time for it goes.
    ///
    /// # Errors
    /// When the record cannot be written, or the configuration as it is does not start any more.
    pub(super) fn bisect(&mut self) -> Result<(), LabError> {
        if self.job.interrupt.is_stopped() || !leaves_open(self.recorder.record()) {
            return Ok(());
        }
        if let Some(why) = self.in_the_way() {
            return self.recorder.note(None, NOTE, format!("no directives were left out to find the cause: {why}"));
        }
        let (began, budget) = (Instant::now(), self.job.plan.procedure.bisect);
        let Some(Begun { search, patience }) = self.look(budget)? else { return Ok(()) };
        let by = search.tried_by;
        self.recorder.now(None, What::Bisection(Box::new(search.clone())))?;
        let mut longest = AROUND + bisection::trial(by).map_or(patience, |what| what.ramp.duration() + what.hold.duration());
        while let Some(removed) = bisection::next(self.recorder.record()) {
            let step = Instant::now();
            if self.job.interrupt.is_stopped() || began.elapsed() + longest > budget.duration() {
                break;
            }
            if self.leave_out(&removed, &search, patience)? == EndReason::Interrupted {
                break;
            }
            longest = longest.max(step.elapsed());
        }
        Ok(())
    }

    /// Why this load or this configuration allows no such search.
    fn in_the_way(&self) -> Option<String> {
        let load = &self.job.plan.load;
        if !["GET", "HEAD"].contains(&load.request.method.as_str()) || load.scenario.is_some() {
            return Some("only GET and HEAD can be asked one by one, to see that the answer stays the same".to_owned());
        }
        if matches!(load.protocol, Protocol::WebSocket(_)) || !load.stages.is_empty() {
            return Some("that is done under plain loads of one request only".to_owned());
        }
        let none = self.system.baseline().removable().is_empty();
        none.then(|| format!("genkai knows none of this configuration of {} that it may leave out", self.job.plan.system.product))
    }

    /// What is asked before the first step: the backend, and the product with all directives in place. None where no load can be told.
    fn look(&mut self, budget: Span) -> Result<Option<Begun>, LabError> {
        let (mut normal, asked) = (Vec::new(), Instant::now());
        let plain = self.job.plan.load.transport.clone();
        let own = self.system.backend.alone().and_then(|address| self.page(address, plain, WITHIN));
        let took = asked.elapsed().min(WITHIN) / 2;
        normal.extend(own.filter(is_page));
        let product = self.system.without(&[], self.folder)?;
        let cpus = self.system.cpus().map(<[usize]>::to_vec);
        let server = product.start(cpus.as_deref())?;
        let page = self.page(server.address(), product.transport(), WITHIN);
        server.stop();
        let patience = (took * PATIENCE.0).clamp(PATIENCE.1, WITHIN);
        let tried_by = match page.filter(is_page) {
            None => Some(Trying::Request),
            Some(page) => {
                normal.push(page);
                bisection::trying(self.recorder.record(), Span::from(patience))
            }
        };
        let directives = self.system.baseline().removable();
        let begun = |tried_by| Begun { search: Bisection { budget, directives, tried_by, normal }, patience };
        Ok(tried_by.map(begun))
    }

    /// The load's request, made twice: a content that differs is not compared. None where it cannot be asked.
    fn page(&self, address: SocketAddr, transport: Transport, within: Duration) -> Option<Page> {
        let first = self.once(address, transport.clone(), within)?;
        if !is_page(&first) {
            return Some(first);
        }
        let second = self.once(address, transport, within)?;
        Some(Page { digest: first.digest.filter(|digest| second.digest.as_ref() == Some(digest)), ..first })
    }

    fn once(&self, address: SocketAddr, transport: Transport, within: Duration) -> Option<Page> {
        let load = Load { transport, addresses: vec![address], ..self.job.plan.load.clone() };
        let (asked, digest) = ask_page(&load, address, within)?;
        let status = if let Asked::Answered { status, .. } = asked { Some(status) } else { None };
        Some(Page { status, digest })
    }

    /// One step: a copy without these, checked and started; one request; a short load where the answer is as it should be and that is how it
    /// is tried.
    fn leave_out(&mut self, removed: &[u32], search: &Bisection, patience: Duration) -> Result<EndReason, LabError> {
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
        let page = self.once(server.address(), product.transport(), patience).unwrap_or_default();
        let normal = bisection::is_normal(&page, &search.normal) == Some(true);
        self.recorder.now(None, step(None, Some(page)))?;
        let ended = match bisection::trial(search.tried_by).filter(|_| normal) {
            Some(what) => self.shortly(&what, &*product, &mut *server, patience),
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
        server: &mut dyn genkai_targets::product::Running,
        patience: Duration,
    ) -> Result<EndReason, LabError> {
        if !self.drained()? {
            return Ok(EndReason::Interrupted);
        }
        let load = Load { transport: product.transport(), ..trial::shape(&self.job.plan.load, what) };
        let timeout = load.timeout.min(Span::from(patience));
        self.sent(what, server, Load { timeout, ..load })
    }
}

/// Whether it is a page, and no failure.
fn is_page(page: &Page) -> bool {
    page.status.is_some_and(|status| status < 400)
}

/// What is said against a configuration, on one line.
fn said(error: &LabError) -> String {
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    genkai_targets::files::masked(&lines.join(" ")).chars().take(300).collect()
}
