//! One trial, judged: whether it broke, and whether its client was good enough.

use genkai_model::finding::Break;
use genkai_model::plan::Plan;
use genkai_model::record::Trial;

use crate::busy;
use crate::capacity::{Demand, demand, servers, unloaded};
use crate::client::{self, Check};
use crate::diagnosis::attribute::{self, STEEP};
use crate::diagnosis::case::Case;
use crate::diagnosis::others::Others;
use crate::diagnosis::{self, onset::Onset};
use crate::refusals::{self, Refusal};
use crate::{proof, series, window};

/// A trial with what is to be thought of it.
#[derive(Clone, Debug)]
pub(crate) struct JudgedTrial<'r> {
    pub(crate) trial: &'r Trial,
    /// The violation, if any.
    pub(crate) onset: Option<Onset>,
    /// The violation in figures.
    pub(crate) broke: Option<Break>,
    /// The client up to the break.
    pub(crate) client: Check,
    /// The load as sent, with the response times seen before the break.
    pub(crate) demand: Demand,
    /// Whether nothing came by which the objective could have held.
    silent: bool,
}

impl<'r> JudgedTrial<'r> {
    pub(crate) fn of(trial: &'r Trial, plan: &Plan) -> JudgedTrial<'r> {
        let onset = diagnosis::onset(trial, &plan.objective, &plan.procedure);
        let until = onset.map(|o| o.depends_on_client_until());
        let seen = series::service_before(trial, onset.map(|o| o.at_us));
        let mut client = client::check(trial, &plan.objective, until);
        let few = |onset: &Onset| busy::check(trial, onset).or_else(|| busy::users(trial, onset));
        if let Some((limit, since)) = onset.as_ref().and_then(few) {
            client.finding.valid = false;
            client.finding.reasons.push(limit);
            client.since_us = Some(client.since_us.map_or(since, |us| us.min(since)));
        }
        let limits = &trial.limits.limits;
        let demand = Demand::of(&trial.started.load, &plan.objective, Some(seen), limits);
        let demand = Demand { servers: servers::seen(trial, onset.map(|o| o.at_us), limits), ..demand };
        let unloaded = unloaded::mean(&trial.ticks, onset.map(|o| o.at_us), limits, &demand);
        JudgedTrial {
            trial,
            broke: onset.map(|o| o.describe(trial)),
            client,
            // What its limits tell stays, where no answer was seen.
            demand: if seen.count > 0 { Demand { unloaded, ..demand } } else { demand },
            onset,
            silent: proof::is_silent(trial, &plan.objective),
        }
    }

    /// The same of a test, which goes beyond the load asked for. If its client gave out only there, what was seen up to then stands.
    pub(crate) fn up_to(mut self, goal: f64) -> JudgedTrial<'r> {
        if self.client.since_us.is_some() && self.held_to() >= goal {
            self.broke = None;
            self.onset = None;
            self.client.finding.valid = true;
        }
        self
    }

    /// Whether it broke because a server died.
    pub(crate) fn died(&self) -> bool {
        self.onset.is_some_and(|o| o.died)
    }

    /// Whether nothing broke, and there is nothing by which it could have held: not one request came to an end, or none succeeded of which the
    /// objective speaks; of WebSockets that stay open, not one was opened.
    pub(crate) fn is_silent(&self) -> bool {
        self.broke.is_none() && self.silent
    }

    /// The server that refused connections as it broke, without being known to be dead.
    pub(crate) fn refused(&self) -> Option<Refusal> {
        let onset = self.onset?;
        let [at, certain] = [onset.at_us, onset.certain_us].map(|us| us as f64 / window::US);
        refusals::around(self.trial, at, certain).filter(|refusal| !refusal.dead)
    }

    /// The break as a case for attribution.
    pub(crate) fn case(&self) -> Option<Case<'r>> {
        let (onset, broke) = (self.onset?, self.broke.clone()?);
        Some(Case { trial: self.trial, broke, certain: onset.certain_us as f64 / window::US, demand: self.demand })
    }

    /// What programs that are no part of the run used of the machine when it broke, where that may be why; and whether nothing that was seen
    /// names anything else.
    pub(crate) fn crowded(&self) -> Option<(Others, bool)> {
        attribute::crowded(&self.case()?)
    }

    /// Whether the whole load came at once, so that the level at the break says nothing of what held.
    pub(crate) fn is_steep(&self) -> bool {
        demand::ramp(&self.trial.started.load) < STEEP
    }

    /// The largest level reached without a violation, as far as the client can be trusted. None of a load that came all
    /// at once and broke.
    pub(crate) fn held_to(&self) -> f64 {
        if self.is_steep() && self.broke.is_some() {
            return 0.0;
        }
        let broke = self.broke.as_ref().map(|b| b.level);
        let trusted = self.client.since_us.map(|us| window::gauge(&self.trial.ticks, us, |t| t.level));
        broke.into_iter().chain(trusted).fold(series::reached(self.trial), f64::min)
    }
}
