//! What a setting counts, where that is not users.

use genkai_model::finding::{
    Caveat, CountedTrial, Counterfactual, Counts, Decision, ProposedChange, TrialFinding, Verdict,
};
use genkai_model::load::Reuse;
use genkai_model::setting::Change;

use crate::context::Context;
use crate::{clean, figure, words};

/// How far from where it is due something may be seen to run out, as a part of that.
const TOLERANCE: f64 = 0.1;

/// Both trials, and what they say of the setting.
pub(super) fn told(
    context: Context<'_>,
    setting: &str,
    counts: Counts,
    before: &CountedTrial,
    after: Option<&CountedTrial>,
) -> String {
    let setting = clean::line(setting);
    match counts {
        Counts::Requests => format!(
            "{setting} counts {} answered in all, and not users: {}. By that no value of it lasts for good.",
            requests(context),
            ends(&setting, before, after)
        ),
        Counts::Seconds => format!(
            "{setting} counts seconds, and not users: {}. By that no value of it lasts for good.",
            ends(&setting, before, after)
        ),
        Counts::Either => format!(
            "{}, at no larger load: whether {setting} counts requests or seconds these trials do not tell.",
            figure::capital(&ends(&setting, before, after))
        ),
        Counts::Rate => format!(
            "{setting} counts requests a second, and not users: while others failed, {}.",
            rates(&setting, before, after)
        ),
        Counts::Burst => format!(
            "{setting} counts requests that may come beyond a rate, which it leaves as it is: while others failed, {}; before the first failed, \
             {} had been answered, and {} with the other value.",
            rates(&setting, before, after),
            figure::whole(before.answered as f64),
            after.map_or_else(|| "-".to_owned(), |after| figure::whole(after.answered as f64)),
        ),
    }
}

/// From when on everything failed.
fn ends(setting: &str, before: &CountedTrial, after: Option<&CountedTrial>) -> String {
    let one = |counted: &CountedTrial| {
        format!(
            "{} had been answered within {} when everything failed with {setting} = {} (trial {})",
            figure::whole(counted.answered as f64),
            figure::seconds(counted.lasted),
            counted.value,
            counted.trial
        )
    };
    match after {
        Some(after) => format!("{}, and {}", one(before), one(after)),
        None => format!("{}, and nothing failed with the value that was tried", one(before)),
    }
}

fn rates(setting: &str, before: &CountedTrial, after: Option<&CountedTrial>) -> String {
    let one = |counted: &CountedTrial| {
        format!(
            "{} a second were answered with {setting} = {} (trial {})",
            figure::number(counted.rate),
            counted.value,
            counted.trial
        )
    };
    let each: Vec<String> = std::iter::once(before).chain(after).map(one).collect();
    each.join(" and ")
}

/// What must stand beside an answer that a change is right: that it is used up all the same.
pub(super) fn beside(context: Context<'_>, v: &Verdict) -> Option<String> {
    if !matches!(v.decision(), Decision::Carried { .. } | Decision::Moved { .. }) {
        return None;
    }
    v.proposal.iter().find_map(|one| lasts(context, v, one))
}

/// What is counted: where each request has a connection of its own, these as well.
fn requests(context: Context<'_>) -> &'static str {
    let apart = context.head.is_some_and(|head| head.plan.load.reuse == Reuse::PerRequest);
    if apart { "requests (or connections, of which each had one)" } else { "requests" }
}

fn lasts(context: Context<'_>, v: &Verdict, proposed: &ProposedChange) -> Option<String> {
    let (counts, before) = counting(v, proposed)?;
    let (name, to) = (clean::line(&proposed.change.setting), proposed.change.to.parse::<f64>().ok()?);
    let times = to / before.value;
    match counts {
        Counts::Requests => Some(format!(
            "{name} counts {} answered in all, and not users: {} is used up after about {} of them, at any load",
            requests(context),
            clean::line(&proposed.change.to),
            figure::whole(before.answered as f64 * times)
        )),
        Counts::Seconds => Some(format!(
            "{name} counts seconds, and not users: {} is over after about {}, at any load",
            clean::line(&proposed.change.to),
            figure::seconds(before.lasted * times)
        )),
        Counts::Rate => Some(format!("{name} counts requests a second, and not users")),
        Counts::Burst => Some(format!("{name} counts requests that may come beyond a rate, which it leaves as it is")),
        Counts::Either => None,
    }
}

/// What a proposal that failed in `trial` ran out of, and when: a setting of it that is used up at any load, where it broke then, give or take a tenth.
pub(super) fn ran_out(v: &Verdict, trial: &TrialFinding) -> Option<(String, String)> {
    let at = trial.broke.as_ref()?.at;
    let answered = trial.finished.saturating_sub(trial.failed) as f64;
    v.proposal.iter().find_map(|proposed| {
        let (counts, before) = counting(v, proposed)?;
        let Change { product, setting, to, .. } = &proposed.change;
        let times = to.parse::<f64>().ok()? / before.value;
        let (seen, due) = match counts {
            Counts::Requests => (answered, before.answered as f64 * times),
            Counts::Seconds => (at, before.lasted * times),
            _ => return None,
        };
        let when = match counts {
            Counts::Requests => format!("about {} requests", figure::whole(due)),
            _ => format!("about {}", figure::seconds(due)),
        };
        if (seen - due).abs() > TOLERANCE * due {
            return None;
        }
        let named = format!("{} {}", words::subject(product), words::setting(setting, to));
        Some((format!("{named}, used up"), format!("after {when}, at any load")))
    })
}

/// What the setting of a change counts, where that is not users.
fn counting<'v>(v: &'v Verdict, proposed: &ProposedChange) -> Option<(Counts, &'v CountedTrial)> {
    v.caveats.iter().find_map(|caveat| match caveat {
        Caveat::Counts { setting, counts, before, .. } if *setting == proposed.change.setting => {
            Some((*counts, before))
        }
        _ => None,
    })
}

/// Whether a test moved the break by what is used up, and not by the load.
pub(super) fn is_used_up(v: &Verdict, test: &Counterfactual) -> bool {
    matches!(of(v, test), Some((Counts::Requests | Counts::Seconds, _, Some(after))) if after.trial == test.trial)
}

/// Where it moved.
pub(super) fn moved(v: &Verdict, test: &Counterfactual) -> String {
    let Some((_, before, Some(after))) = of(v, test) else { return String::new() };
    let one = |counted: &CountedTrial| {
        let answered = figure::whole(counted.answered as f64);
        format!("{answered} requests within {}", figure::seconds(counted.lasted))
    };
    format!("{}, before {}", one(after), one(before))
}

fn of<'v>(v: &'v Verdict, test: &Counterfactual) -> Option<(Counts, &'v CountedTrial, Option<&'v CountedTrial>)> {
    v.caveats.iter().find_map(|caveat| match caveat {
        Caveat::Counts { setting, counts, before, after } if *setting == test.change.setting => {
            Some((*counts, before, after.as_ref()))
        }
        _ => None,
    })
}

/// What came of changes that moved no break, where they changed when failures begin.
pub(super) fn in_vain(v: &Verdict) -> Option<&'static str> {
    let told = v.caveats.iter().any(|caveat| matches!(caveat, Caveat::Counts { .. }));
    told.then_some("carried no larger load, but more requests were answered before they failed")
}
