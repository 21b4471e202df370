//! A limit to be lifted, to see what becomes of the break.

use genkai_model::event::{Change, Purpose};
use genkai_model::finding::{DescriptorsAlone, Predicted, Price};
use genkai_model::limit::{Limit, Remedy};
use genkai_model::load::Arrivals;
use genkai_model::plan::{FARTHEST, Plan};
use genkai_model::units::{Range, Span};

use super::TrialPlan;
use super::judged_trial::JudgedTrial;
use super::unusable::Tests;
use crate::capacity::price::{Cost, Short};
use crate::capacity::remedy::{self, Lift};
use crate::capacity::{self, Demand, Forecast, TOLERANCE, demand};
use crate::diagnosis::attribute::{self, STEEP};

/// The most that a formula is stretched when fewer clients fitted than it says.
const STRETCH: f64 = 8.0;

/// One setting to change.
#[derive(Clone, Debug)]
pub(crate) struct Attempt<'r> {
    /// The limit, as configured when it was met.
    pub(crate) limit: &'r Limit,
    /// The value that should lift it.
    pub(crate) lift: Lift,
    /// The change, from the baseline's value.
    pub(crate) change: Change,
    /// It and all changes proved before.
    pub(crate) changes: Vec<Change>,
    /// Whether a change of the same setting was proved before.
    pub(crate) further: bool,
    /// The level to go to.
    pub(crate) level: f64,
    /// What one client more takes, where that was measured.
    cost: Option<Cost>,
    /// What is missing of the value that is needed, where the memory does not hold it.
    pub(crate) short: Option<Short>,
}

impl<'r> Attempt<'r> {
    /// Lifts `forecast`'s limit, which was met in `at`; `proved` are the changes that are in place there; `tests`
    /// knows the values that cannot be used. None when it cannot be lifted.
    pub(crate) fn new(
        forecast: &Forecast<'r>,
        at: &JudgedTrial<'r>,
        proved: &[Change],
        plan: &Plan,
        tests: &Tests<'r>,
    ) -> Option<Attempt<'r>> {
        let limit = forecast.limit;
        let broke = at.broke.as_ref()?;
        // The load asked for, not the one of a trial that went beyond it.
        let demand = Demand { asked: demand::asked(&plan.load), ..at.demand };
        let stretch = if limit.law.is_tried() { rest(limit, proved, broke.level, plan) } else { stretch(forecast, at) };
        let cost = Cost::of(limit, at.trial, &at.demand, &plan.system.product);
        let usable = tests.usable(limit)?;
        let each = tests.each(limit, at.trial);
        let bound = cost.and_then(|cost| cost.bound(&usable, &at.demand)).or_else(|| each?.bound(&usable));
        let lift = remedy::lift(bound.as_ref().unwrap_or(&usable), &demand, plan.procedure.headroom, stretch)?;
        let before = proved.iter().find(|c| c.setting == lift.setting).map(|c| c.from.clone());
        let further = before.is_some();
        let change = Change {
            product: plan.system.product.clone(),
            setting: lift.setting.clone(),
            from: before.unwrap_or_else(|| present(limit, &lift.setting, &at.trial.limits.limits)),
            to: lift.value.clone(),
        };
        let mut changes: Vec<Change> = proved.iter().filter(|c| c.setting != lift.setting).cloned().collect();
        changes.push(change.clone());
        let level = level(limit, &lift, at, broke.level, plan);
        let short = bound.filter(|_| lift.capped.is_some()).and_then(|_| {
            let free = Limit { remedy: limit.remedy.clone().map(unbounded), ..limit.clone() };
            let needed = remedy::lift(&free, &demand, plan.procedure.headroom, stretch)?;
            let (needed, most) = (needed.value.parse().ok()?, lift.value.parse().ok()?);
            let told = each.map(|each| each.short(needed, most));
            cost.map_or(told, |cost| cost.short(limit, needed, most, &at.demand))
        });
        Some(Attempt { limit, lift, change, changes, further, level, cost, short })
    }

    /// What the change takes, as told from the trial in which its limit was met, and held against the one that tested it.
    pub(crate) fn price(&self, at: &JudgedTrial<'_>, after: &JudgedTrial<'_>) -> Option<Price> {
        self.cost?.price(self.limit, self.lift.value.parse().ok()?, &at.demand, after.trial)
    }

    /// What the change takes of descriptors where nothing is known of memory.
    pub(crate) fn descriptors(&self, at: &JudgedTrial<'_>) -> Option<DescriptorsAlone> {
        self.cost?.descriptors(self.limit, self.lift.value.parse().ok()?, &at.demand)
    }

    /// The trial that puts it to the test: the ramp is as steep as the plan's.
    pub(crate) fn trial(&self, plan: &Plan) -> TrialPlan {
        let ramp = match plan.load.arrivals {
            Arrivals::Users { spawn_rate, .. } if spawn_rate > 0.0 => Span::from_secs_f64(self.level / spawn_rate),
            Arrivals::Users { .. } => Span(0),
            Arrivals::Rate { per_second, ramp, .. } if per_second > 0.0 => {
                Span::from_secs_f64(ramp.as_secs_f64() * self.level / per_second)
            }
            Arrivals::Rate { ramp, .. } => ramp,
        };
        TrialPlan {
            purpose: Purpose::Counterfactual,
            changes: self.changes.clone(),
            limit: Some(self.limit.id.clone()),
            level: self.level,
            ramp,
            hold: plan.procedure.hold,
            draw: 0,
        }
    }
}

fn unbounded(remedy: Remedy) -> Remedy {
    Remedy { ceiling: None, ..remedy }
}

/// What is missing where not even the next value of `forecast`'s setting fits into the memory.
pub(crate) fn out_of_memory(forecast: &Forecast<'_>, at: &JudgedTrial<'_>, plan: &Plan) -> Option<(String, Short)> {
    let limit = forecast.limit;
    let cost = Cost::of(limit, at.trial, &at.demand, &plan.system.product)?;
    let bound = cost.bound(limit, &at.demand).filter(remedy::at_ceiling)?;
    let remedy = limit.remedy.clone()?;
    let setting = remedy.setting.clone();
    let most = bound.remedy?.ceiling?.value;
    let demand = Demand { asked: demand::asked(&plan.load), ..at.demand };
    let free = Limit { remedy: Some(unbounded(remedy)), ..limit.clone() };
    let needed = remedy::lift(&free, &demand, plan.procedure.headroom, stretch(forecast, at))?.value.parse().ok()?;
    Some((setting, cost.short(limit, needed, most, &at.demand)?))
}

/// The same of a setting of which no formula tells, by what one more of it took in the trials so far.
pub(crate) fn no_further(
    forecast: &Forecast<'_>,
    at: &JudgedTrial<'_>,
    proved: &[Change],
    plan: &Plan,
    tests: &Tests<'_>,
) -> Option<(String, Short)> {
    let limit = forecast.limit;
    let each = tests.each(limit, at.trial)?;
    let bound = each.bound(limit).filter(remedy::at_ceiling)?;
    let remedy = limit.remedy.clone()?;
    let setting = remedy.setting.clone();
    let demand = Demand { asked: demand::asked(&plan.load), ..at.demand };
    let stretch = rest(limit, proved, at.broke.as_ref()?.level, plan);
    // Up to the end of its range.
    let needed = remedy::lift(limit, &demand, plan.procedure.headroom, stretch)?.value.parse().ok()?;
    Some((setting, each.short(needed, bound.remedy?.ceiling?.value)))
}

/// How many times more clients must fit by the formula than are wanted, because fewer fitted than it says (workers that
/// share unevenly). A ramp that is steep cannot tell.
fn stretch(forecast: &Forecast<'_>, at: &JudgedTrial<'_>) -> f64 {
    let Some(broke) = at.broke.as_ref().filter(|_| !at.is_steep()) else { return 1.0 };
    match attribute::observed(forecast, broke, &at.demand) {
        Some((predicted, seen)) if seen > 0.0 && seen < predicted.low * (1.0 - TOLERANCE) => {
            (predicted.low / seen).min(STRETCH)
        }
        _ => 1.0,
    }
}

/// How many times the load at the break the load asked for is, where a larger value of the same setting has moved the break already: the
/// next one is taken in proportion. 1 before that.
fn rest(limit: &Limit, proved: &[Change], broke: f64, plan: &Plan) -> f64 {
    let moved = proved.iter().any(|change| change.setting == limit.setting);
    if moved && broke > 0.0 { (demand::asked(&plan.load) / broke).clamp(1.0, STRETCH) } else { 1.0 }
}

/// The present value of `setting`: the limit's own, or that of the limit which stands for the setting.
fn present(limit: &Limit, setting: &str, limits: &[Limit]) -> String {
    if limit.setting == setting {
        return limit.value.clone();
    }
    limits.iter().find(|l| l.setting == setting).unwrap_or(limit).value.clone()
}

/// The range of levels of a prediction, in the unit of the load's level.
pub(crate) fn levels(predicted: &Predicted, demand: &Demand) -> Option<Range> {
    if demand.is_open() { predicted.rate } else { predicted.users }
}

/// Of `limits`, the one that should bite next once the break at `broke` is gone: the first beyond it, or `lifted` itself
/// at its new value.
pub(crate) fn expected<'l>(limits: &'l [Limit], lifted: &str, broke: f64, demand: &Demand) -> Option<Forecast<'l>> {
    let beyond = |f: &Forecast<'_>| f.bites.is_some_and(|at| at > broke * (1.0 + TOLERANCE) || f.limit.id == lifted);
    capacity::forecast(limits, demand).into_iter().find(beyond)
}

/// How far the counterfactual's load goes: just past the next predicted limit, so that the break can be seen to move
/// there, if that is at most twice the load asked for; else the load asked for with headroom.
fn level(limit: &Limit, lift: &Lift, at: &JudgedTrial<'_>, broke: f64, plan: &Plan) -> f64 {
    let asked = demand::asked(&plan.load);
    let enough = whole(asked * plan.procedure.headroom, &at.demand);
    if demand::ramp(&plan.load) < STEEP {
        return enough;
    }
    let mut limits: Vec<Limit> = at.trial.limits.limits.clone();
    limits.retain_mut(|l| {
        let lifted = l.id == limit.id;
        if let (true, Some(law)) = (lifted, &lift.law) {
            l.law = law.clone();
        }
        !lifted || lift.law.is_some()
    });
    let next = expected(&limits, &limit.id, broke, &at.demand);
    let past = next.and_then(|f| levels(&f.predicted, &at.demand)).map(|l| l.high * (1.0 + TOLERANCE) + 1.0);
    past.map(|past| whole(past, &at.demand).max(enough)).filter(|past| *past <= asked * FARTHEST).unwrap_or(enough)
}

/// Users come whole.
fn whole(level: f64, demand: &Demand) -> f64 {
    if demand.is_open() { level } else { (level - 1e-9).ceil().max(1.0) }
}
