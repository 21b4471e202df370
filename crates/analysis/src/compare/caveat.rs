//! What limits the answer of a comparison of systems.

use genkai_model::comparison::Comparison;
use genkai_model::event::{Event, What};
use genkai_model::figure::Figure;
use genkai_model::finding::Call;
use genkai_model::finding::comparison::{ComparedPair, ComparisonCaveat};
use genkai_model::record::Record;

use super::pairs::Differing;
use super::{Seen, answers, left};
use crate::effect;
use crate::hidden::{self, Grown};
use crate::statistics::ALPHA;
use crate::window::Tally;

/// Figures whose drift is looked for.
const DRIFTING: [Figure; 2] = [Figure::Throughput, Figure::P95];

/// Responses that differ by less than this part are as large: heads differ by a few bytes now and then.
const AS_LARGE: f64 = 0.005;

pub(super) fn of(
    record: &Record,
    comparison: &Comparison,
    turns: &[Seen<'_>],
    all: &[ComparedPair],
    differing: &Differing,
) -> Vec<ComparisonCaveat> {
    let mut found = Vec::new();
    let some = |figures: &Vec<Figure>| Some(figures.clone()).filter(|figures| !figures.is_empty());
    found.extend(some(&differing.deciding).map(|figures| ComparisonCaveat::ControlDiffers { figures }));
    found.extend(some(&differing.other).map(|figures| ComparisonCaveat::ControlStrays { figures }));
    if !comparison.control {
        found.push(ComparisonCaveat::NoControl);
    }
    found.extend(not_restarted(comparison));
    for contender in &comparison.contenders {
        let own: Vec<&Seen<'_>> = turns.iter().filter(|seen| seen.finding.contender == contender.name).collect();
        found.extend(client(&contender.name, &own));
        found.extend(died(&contender.name, &own));
        found.extend(paced(&contender.name, &own));
        found.extend(retried(&contender.name, &own));
        found.extend(left_unanswered(&contender.name, &own));
        found.extend(nothing_answered(&contender.name, &own));
        found.extend(hidden_errors(&contender.name, &own));
        found.extend(unsteady(&contender.name, &own));
        found.extend(drifts(&contender.name, &own, comparison.contenders.len()));
    }
    found.extend(answers::unlike(record, comparison, turns));
    found.extend(all.iter().filter_map(survivors));
    found.extend(all.iter().filter_map(|pair| not_compressed(record, pair, turns)));
    if record.end.is_none() {
        found.push(ComparisonCaveat::RecordCutOff);
    }
    found
}

fn client(name: &str, own: &[&Seen<'_>]) -> Option<ComparisonCaveat> {
    let limited: Vec<_> = own.iter().filter_map(|seen| seen.client.reasons.first()).collect();
    let reason = **limited.first()?;
    Some(ComparisonCaveat::ClientLimit { name: name.to_owned(), turns: limited.len() as u32, reason })
}

fn not_restarted(comparison: &Comparison) -> Option<ComparisonCaveat> {
    let standing = comparison.contenders.iter().filter(|one| !one.runs.is_restarted());
    let names: Vec<String> = standing.map(|one| one.name.clone()).collect();
    (!names.is_empty()).then_some(ComparisonCaveat::NotRestarted { names })
}

/// Pauses after failures, in the turns that are compared.
fn paced(name: &str, own: &[&Seen<'_>]) -> Option<ComparisonCaveat> {
    let counted = own.iter().filter(|seen| seen.is(name, false));
    let paced = counted.map(|seen| seen.finding.paced).sum();
    (paced > 0).then(|| ComparisonCaveat::Paced { name: name.to_owned(), paced })
}

/// Requests that were made again on a new connection, in the turns that are compared.
fn retried(name: &str, own: &[&Seen<'_>]) -> Option<ComparisonCaveat> {
    let ticks = own.iter().filter(|seen| seen.is(name, false)).flat_map(|seen| &seen.trial.ticks);
    let retried = ticks.map(|tick| tick.retried).sum();
    (retried > 0).then(|| ComparisonCaveat::Retried { name: name.to_owned(), retried })
}

/// Requests without an answer at the ends of the turns that are compared.
fn left_unanswered(name: &str, own: &[&Seen<'_>]) -> Option<ComparisonCaveat> {
    let counted = || own.iter().filter(|seen| seen.is(name, false));
    let some = || counted().filter(|seen| seen.left.count() > 0);
    let first = some().next()?;
    let noted = counted().any(|seen| seen.finding.due.is_some());
    Some(ComparisonCaveat::LeftUnanswered {
        name: name.to_owned(),
        unanswered: some().map(|seen| seen.left.count()).sum(),
        planned: counted().map(|seen| left::planned(seen.trial)).sum(),
        longest: some().map(|seen| seen.left.longest_seconds()).fold(0.0, f64::max),
        patience: first.trial.started.load.patience().as_secs_f64(),
        judged: noted.then(|| counted().map(|seen| seen.finding.finished).sum()),
    })
}

/// Turns without a throughput, of those that are compared.
fn nothing_answered(name: &str, own: &[&Seen<'_>]) -> Option<ComparisonCaveat> {
    let counted = own.iter().filter(|seen| seen.is(name, false));
    let turns = counted.filter(|seen| seen.value(Figure::Throughput) == Some(0.0)).count() as u32;
    (turns > 0).then(|| ComparisonCaveat::NothingAnswered { name: name.to_owned(), turns })
}

/// Good answers in the place of errors, in the turns that are compared.
fn hidden_errors(name: &str, own: &[&Seen<'_>]) -> Option<ComparisonCaveat> {
    let counted = own.iter().filter(|seen| seen.is(name, false));
    let Grown { responses, by: hidden } = hidden::errors(counted.map(|seen| seen.trial))?;
    Some(ComparisonCaveat::HiddenErrors { name: name.to_owned(), responses, hidden })
}

/// A change of compression that left responses as large as they were.
fn not_compressed(record: &Record, pair: &ComparedPair, turns: &[Seen<'_>]) -> Option<ComparisonCaveat> {
    let changes = |event: &Event| match &event.what {
        What::Contender(entry) => entry.contender == pair.other && entry.compression,
        _ => false,
    };
    record.remarks.iter().any(changes).then_some(())?;
    let (before, bytes) = (response(turns, &pair.base)?, response(turns, &pair.other)?);
    let headers = &record.head.as_ref()?.plan.load.request.headers;
    ((bytes / before - 1.0).abs() < AS_LARGE).then(|| ComparisonCaveat::NotCompressed {
        name: pair.other.clone(),
        base: pair.base.clone(),
        bytes,
        asked: headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("accept-encoding")),
    })
}

/// Bytes of a response in the turns that count, the mean; none where there was none.
fn response(turns: &[Seen<'_>], name: &str) -> Option<f64> {
    let ticks = || turns.iter().filter(|seen| seen.is(name, false)).flat_map(|seen| &seen.trial.ticks);
    let bytes: u64 = ticks().map(|tick| tick.bytes_in).sum();
    let ended = Tally::of(ticks()).finished();
    (bytes > 0 && ended > 0).then(|| bytes as f64 / ended as f64)
}

fn died(name: &str, own: &[&Seen<'_>]) -> Option<ComparisonCaveat> {
    let turns = own.iter().filter(|seen| seen.died).count() as u32;
    (turns > 0).then(|| ComparisonCaveat::Died { name: name.to_owned(), turns })
}

/// Most turns without a steady state: single ones happen by chance.
fn unsteady(name: &str, own: &[&Seen<'_>]) -> Option<ComparisonCaveat> {
    let counted: Vec<_> = own.iter().filter(|seen| seen.finding.counts).collect();
    let turns = counted.iter().filter(|seen| seen.finding.steady_after.is_none()).count();
    let of = counted.len() as u32;
    (turns * 2 > counted.len()).then(|| ComparisonCaveat::NotSteady { name: name.to_owned(), turns: turns as u32, of })
}

fn drifts(name: &str, own: &[&Seen<'_>], contenders: usize) -> Vec<ComparisonCaveat> {
    let alpha = ALPHA / (contenders * DRIFTING.len()).max(1) as f64;
    let drift = |figure: Figure| {
        let counted = own.iter().filter(|seen| seen.is(name, false));
        let series: Vec<(u32, f64)> =
            counted.filter_map(|seen| Some((seen.finding.block, seen.value(figure)?))).collect();
        let ratio = effect::drift(&series, alpha).filter(|ratio| effect::drifts(*ratio))?;
        Some(ComparisonCaveat::Drift { name: name.to_owned(), figure, ratio })
    };
    DRIFTING.into_iter().filter_map(drift).collect()
}

fn survivors(pair: &ComparedPair) -> Option<ComparisonCaveat> {
    let failures = pair.effects.iter().find(|effect| effect.figure == Figure::Failures)?;
    let name = match failures.call {
        Call::Worse => &pair.other,
        Call::Better => &pair.base,
        _ => return None,
    };
    Some(ComparisonCaveat::Survivors { name: name.clone() })
}
