//! The run so far, retold: which limits were met, which were lifted, and what is due now.

use genkai_model::event::{Change, Purpose};
use genkai_model::limit::Strength;
use genkai_model::objective::Condition;
use genkai_model::plan::Plan;
use genkai_model::record::{Record, Trial};

use super::attempt::Attempt;
use super::judged::Judged;
use super::met::{Met, Progress, Test};
use crate::capacity::demand;
use crate::capacity::TOLERANCE;
use crate::diagnosis::onset;
use crate::proof;

/// A run so far.
#[derive(Clone, Debug)]
pub(crate) struct Story<'r> {
    pub(crate) plan: &'r Plan,
    /// The trial that tells how the system is.
    pub(crate) first: Option<Judged<'r>>,
    /// Breaks in the order met.
    pub(crate) met: Vec<Met<'r>>,
    /// The backend under the same load by itself, where that was asked.
    pub(crate) direct: Option<Judged<'r>>,
    pub(crate) stand: Stand<'r>,
}

/// Where a run stands.
#[derive(Clone, Debug)]
pub(crate) enum Stand<'r> {
    /// Nothing was tried yet.
    NeedBreak,
    /// A trial was cut off.
    Cut,
    /// The client was the limit.
    Invalid,
    /// The objective holds as it is.
    Holds,
    /// A server died.
    Died,
    /// This is to be put to the test.
    Test(Box<Attempt<'r>>),
    /// Nothing more than possible causes: the backend is to be asked by itself. Where it stands without that.
    AskBackend(Box<Stand<'r>>),
    /// Nothing in the evidence names a cause.
    NoCause,
    /// Every candidate was lifted in vain.
    Refuted,
    /// The likeliest cause cannot be lifted.
    CannotLift,
    /// As many limits were lifted as the plan allows.
    Enough,
    /// The changes hold at the load asked for: baseline against proposal.
    Prove,
}

impl<'r> Story<'r> {
    /// Retells `record`; none without a head.
    pub(crate) fn tell(record: &'r Record) -> Option<Story<'r>> {
        let plan = &record.head.as_ref()?.plan;
        let mut story = Story { plan, first: None, met: Vec::new(), direct: None, stand: Stand::NeedBreak };
        let search = |p| matches!(p, Purpose::Break | Purpose::Measure);
        let Some(trial) = record.trials.iter().find(|t| search(t.started.purpose)) else { return Some(story) };
        let judged = Judged::of(trial, plan);
        story.first = Some(judged.clone());
        story.stand = if !judged.client.finding.valid {
            Stand::Invalid
        } else if judged.broke.is_none() {
            if proof::is_whole(trial) { Stand::Holds } else { Stand::Cut }
        } else if judged.died() {
            Stand::Died
        } else {
            let mut tests = record.trials.iter().filter(|t| t.started.purpose == Purpose::Counterfactual);
            story.search(judged, record, &mut tests)
        };
        Some(story)
    }

    fn search(
        &mut self,
        first: Judged<'r>,
        record: &'r Record,
        tests: &mut dyn Iterator<Item = &'r Trial>,
    ) -> Stand<'r> {
        let mut at = first;
        loop {
            let changes = self.changes();
            if self.met.len() >= self.plan.procedure.max_limits as usize {
                let (met, _) = Met::play(at, &mut std::iter::empty(), &changes, self.plan, self.goal());
                self.met.push(met);
                return self.or_prove(Stand::Enough);
            }
            let (met, progress) = Met::play(at, tests, &changes, self.plan, self.goal());
            self.met.push(met);
            match progress {
                Progress::Proved => {}
                Progress::Try(attempt) => return Stand::Test(attempt),
                Progress::CannotLift => return self.or_else(Stand::CannotLift, record),
                Progress::Refuted => return self.or_else(Stand::Refuted, record),
                Progress::NoCause => return self.or_else(Stand::NoCause, record),
                Progress::Cut => return Stand::Cut,
                Progress::Invalid => return Stand::Invalid,
            }
            let Some(test) = self.met.last().and_then(Met::proved) else { return Stand::NoCause };
            match &test.after.broke {
                Some(_) if test.after.died() => return Stand::Died,
                Some(broke) if broke.level < self.goal() => at = test.after.clone(),
                _ => match self.failed_proof(record) {
                    Some(failed) => at = failed,
                    None => return Stand::Prove,
                },
            }
        }
    }

    /// A proof trial of the changes so far that broke by a limit which says so itself: one that bites only sometimes (clients
    /// that spread unevenly) and did not in the search. It is to be lifted like those before. None where it cannot be.
    fn failed_proof(&self, record: &'r Record) -> Option<Judged<'r>> {
        let changes = self.changes();
        let mine = |t: &&Trial| t.started.purpose == Purpose::Proposal && t.started.changes == changes;
        let judged = record.trials.iter().filter(mine).filter(|t| proof::is_whole(t)).map(|t| Judged::of(t, self.plan));
        let named = |judged: &Judged<'r>| {
            let (met, progress) = Met::play(judged.clone(), &mut std::iter::empty(), &changes, self.plan, self.goal());
            let says = met.untested().is_some_and(|w| w.strongest == Some(Strength::Decisive));
            says && matches!(progress, Progress::Try(_))
        };
        judged.filter(|j| j.client.finding.valid && j.broke.is_some() && !j.died()).find(named)
    }

    /// A further limit that nothing lifts does not matter if it lies beyond the load asked for: then only the headroom is
    /// missing, and the changes so far are worth their proof.
    fn or_prove(&self, stand: Stand<'r>) -> Stand<'r> {
        let beyond = self.met.last().and_then(|m| m.at.broke.as_ref()).map(|b| b.level);
        let lifted = self.met.iter().any(|m| m.proved().is_some());
        if lifted && beyond.is_some_and(|level| level > self.asked()) { Stand::Prove } else { stand }
    }

    /// The same where nothing is named: the backend by itself may be what it is.
    fn or_else(&mut self, stand: Stand<'r>, record: &'r Record) -> Stand<'r> {
        let stand = self.or_prove(stand);
        let open = self.met.last().is_some_and(Met::is_open);
        if matches!(stand, Stand::Prove) || !open {
            return stand;
        }
        let Some(trial) = record.trials.iter().find(|t| t.started.purpose == Purpose::Direct) else {
            return Stand::AskBackend(Box::new(stand));
        };
        if !proof::is_whole(trial) {
            return stand;
        }
        let direct = Judged::of(trial, self.plan);
        if direct.died() {
            return Stand::Died;
        }
        let valid = direct.client.finding.valid;
        let named = valid && self.met.last_mut().is_some_and(|met| met.directly(&direct));
        self.direct = Some(direct);
        if named { Stand::CannotLift } else { stand }
    }

    fn asked(&self) -> f64 {
        demand::asked(&self.plan.load)
    }

    /// The level up to which the objective must hold: the load asked for with headroom, less the tolerance with which a
    /// break's place can be told, and never less than the load asked for.
    pub(crate) fn goal(&self) -> f64 {
        (self.asked() * self.plan.procedure.headroom * (1.0 - TOLERANCE)).max(self.asked())
    }

    /// The tests that proved a cause, in order.
    pub(crate) fn lifted(&self) -> impl Iterator<Item = &Test<'r>> {
        self.met.iter().filter_map(Met::proved)
    }

    /// The changes proved so far.
    pub(crate) fn changes(&self) -> Vec<Change> {
        self.lifted().last().map(|t| t.attempt.changes.clone()).unwrap_or_default()
    }

    /// The condition that the system as it is violates.
    pub(crate) fn condition(&self) -> Option<Condition> {
        self.first.as_ref()?.broke.as_ref().and_then(onset::condition)
    }
}
