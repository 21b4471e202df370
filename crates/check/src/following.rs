//! Which limit comes next where none was seen, and which others may come before it: from the laws, and from what held.

use genkai_model::limit::{Law, Limit, Sign};
use genkai_model::objective::{Condition, Objective};
use serde_json::Value as Json;

use crate::asked::TOLERANCE;
use crate::events::{Line, Trial};
use crate::laws::of_limit;
use crate::met::Met;

/// Where a limit may be met: at the earliest, as it is ordered, and at the latest.
struct Span<'l> {
    limit: &'l Limit,
    from: Option<f64>,
    bites: f64,
    to: f64,
}

/// The first of `limits` that is not passed where the load of `held` held at `reached`, and those whose beginning lies before its end.
pub(crate) fn of<'l>(
    limits: &'l [Limit],
    met: &Met,
    (reached, held): (f64, Option<&Trial<'_>>),
    objective: &Objective,
) -> (Option<&'l Limit>, Vec<&'l Limit>) {
    let mut all: Vec<Span<'l>> = limits.iter().filter_map(|limit| span(limit, met)).collect();
    all.sort_by(|a, b| a.bites.total_cmp(&b.bites));
    let only_errors = objective.0.iter().all(|one| matches!(one, Condition::ErrorsBelow(_)));
    // Who only waits is no error: whatever held, that limit may have been at work.
    let silent = |limit: &Limit| only_errors && limit.symptom.slow && matches!(limit.law, Law::Slots { .. });
    let not_full = |limit: &Limit| held.is_some_and(|trial| overflows_not(limit, trial));
    let stands = |one: &Span<'_>| one.to * (1.0 + TOLERANCE) >= reached || silent(one.limit) || not_full(one.limit);
    let Some(at) = all.iter().position(stands) else {
        return (None, Vec::new());
    };
    let end = all[at].to;
    let sooner = |one: &Span<'_>| one.to >= reached && one.from.is_some_and(|from| from.max(reached) < end);
    let others = all.iter().enumerate().filter(|(i, one)| *i != at && sooner(one)).map(|(_, one)| one.limit);
    (Some(all[at].limit), others.chain(untold(limits, met, objective, Some(end))).collect())
}

/// Whether a limit lets so many requests a second through, and never had as many come early as may: the most that were sent from any interval to any
/// later one, beyond those that the rate lets through meanwhile.
fn overflows_not(limit: &Limit, trial: &Trial<'_>) -> bool {
    let Law::Rate { value, burst, .. } = limit.law else { return false };
    let ticks = trial.ticks();
    let beyond = |tick: &&Line| tick.number("/sent") - value * (tick.number("/to_us") - tick.number("/from_us")) / 1e6;
    let mut total = 0.0_f64;
    let (mut least, mut most) = (0.0_f64, 0.0_f64);
    for one in ticks.iter().map(beyond) {
        total += one;
        least = least.min(total);
        most = most.max(total - least);
    }
    most <= burst
}

/// Those whose place nothing tells, and which may come first: a parameter that is only tried; a pool whose waiting nothing judges, and which is full
/// before `end` (none: a rate of the processor).
pub(crate) fn untold<'l>(limits: &'l [Limit], met: &Met, objective: &Objective, end: Option<f64>) -> Vec<&'l Limit> {
    let only_errors = objective.0.iter().all(|one| matches!(one, Condition::ErrorsBelow(_)));
    let open = met.spawn.is_none();
    let mut found: Vec<(f64, &Limit)> = Vec::new();
    for limit in limits {
        let bites = of_limit(limit, met).bites(&limit.law, met);
        let may = match limit.law {
            Law::Tried { .. } => true,
            Law::Workers { workers, wait: None, .. } if only_errors && !met.tunnels => {
                let later = bites.is_none_or(|bites| !open && end.is_none_or(|end| bites > end));
                let full = end.is_none_or(|end| workers < end) || open;
                later && full
            }
            _ => false,
        };
        if may {
            found.push((bites.unwrap_or(f64::INFINITY), limit));
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.into_iter().map(|(_, limit)| limit).collect()
}

fn span<'l>(limit: &'l Limit, met: &Met) -> Option<Span<'l>> {
    let told = of_limit(limit, met);
    let bites = told.bites(&limit.law, met)?;
    let (low, to) = told.levels(met).unwrap_or((bites, bites));
    let from = match limit.law {
        Law::Growing { .. } if met.tunnels => Some(low),
        // With the fewest that there may be, users wait too long the earliest.
        Law::Growing { least, wait, .. } if met.spawn.is_some() => {
            let fewest = Law::Growing { least, most: least, full: None, wait };
            crate::laws::predicted(&fewest, met).users.map(|(_, high)| high)
        }
        Law::Workers { .. } if met.tunnels => Some(low),
        Law::Workers { .. } | Law::NewConnections { .. } => Some(bites),
        _ => Some(low),
    };
    Some(Span { limit, from, bites, to })
}

/// Whether signs of `next` may have been seen in a trial that held, so that nothing comes before it: a caveat says so, or it may compare parts with
/// each other.
pub(crate) fn may_be_at_work(next: &Limit, verdict: &Json) -> bool {
    let caveats = verdict.get("caveats").and_then(Json::as_array);
    let says = |one: &Json| {
        let text = |name: &str| one.get(name).and_then(Json::as_str);
        text("caveat") == Some("at_work_but_held") && text("limit") == Some(next.id.as_str())
    };
    let compares = |sign: &Sign| matches!(sign, Sign::ReachedMetric { fraction, .. } if *fraction > 1.0);
    caveats.into_iter().flatten().any(says) || next.signatures.iter().any(|one| compares(&one.sign))
}
