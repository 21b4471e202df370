//! Systems compared under the same load, in blocks: what each figure's effect is, how sure that is, and when it is enough.
//!
//! A contender is a name: nothing here knows a product. A block is the unit of observation: each contender was started anew and
//! loaded once in it, so blocks share no process, and requests within a turn are no independent observations (as in
//! [`latencies`](crate::latencies)).

mod answers;
mod caveat;
mod early;
mod left;
mod pairs;
mod stress;
mod turn;

use genkai_model::comparison::{Comparison, Contender, DroppedContender};
use genkai_model::event::{Rewrite, What};
use genkai_model::figure::Figure;
use genkai_model::finding::comparison::{
    ComparedContender, ComparedFigure, ComparedPair, ComparisonCaveat, ComparisonFinding, Ended, Stress,
};
use genkai_model::finding::{Effect, Estimate, OneSided, Outcome};
use genkai_model::record::Record;
use genkai_model::setting::Setting;

use crate::claims;
use crate::effect;
use crate::processes;
use crate::spending;
use crate::statistics::{self, ALPHA};
use crate::window::Tally;
pub(crate) use early::all as turns;
use pairs::{Differing, Judge};
pub(crate) use turn::Seen;

/// What the comparison of a record showed; none when there was none.
pub fn findings(record: &Record) -> Option<ComparisonFinding> {
    let plan = &record.head.as_ref()?.plan;
    let comparison = plan.comparison()?.clone();
    let turns = early::all(record);
    let dropped = dropped(record);
    let playing = playing(&comparison, &dropped);
    let blocks = blocks(&playing, &turns);
    let judge = Judge::new(&comparison, playing, &turns, begun(record));
    let (mut pairs, control) = (judge.pairs(), judge.control());
    let differing = Differing::of(control.as_ref(), &comparison.deciding);
    differing.unsay(&mut pairs);
    let stress = stress::of(record, &turns, &pairs);
    let silent = judge.silent();
    let mut caveats = caveat::of(record, &comparison, &turns, &pairs, &differing);
    caveats.extend(dropped.iter().map(|one| {
        let DroppedContender { contender, block, why } = (*one).clone();
        ComparisonCaveat::Dropped { name: contender, block, why }
    }));
    caveats.extend(silent.iter().map(|(base, other)| {
        let (base, other) = ((*base).to_owned(), (*other).to_owned());
        ComparisonCaveat::Unanswered { base, other }
    }));
    let ran = |one: &Contender| ComparedContender {
        dropped: dropped.iter().any(|out| out.contender == one.name),
        ..contender(record, &one.name, &turns, &judge, &pairs)
    };
    let contenders = comparison.contenders.iter().map(ran).collect();
    let ended = ended(record, &comparison, begun(record));
    let decided = judge.decided(&pairs);
    let clients = caveats.iter().any(|c| matches!(c, ComparisonCaveat::ClientLimit { .. }));
    let (tells, differs) = tells(&comparison, &pairs, &stress);
    let outcome = match () {
        () if blocks < 2 && clients => Outcome::Invalid,
        () if blocks < 2 || pairs.is_empty() => Outcome::Unfinished,
        () if silent.len() == pairs.len() => Outcome::Invalid,
        () if !differing.deciding.is_empty() || !(tells || differs) => Outcome::Invalid,
        () if tells && decided && dropped.is_empty() => Outcome::Holds,
        () => Outcome::Fails,
    };
    let claim = claims::finding(record, &comparison, &pairs, blocks, outcome, stress.anybody).map(Box::new);
    Some(ComparisonFinding {
        claim,
        blocks,
        alpha: ALPHA,
        each: judge.each(),
        processes: processes::over(record),
        ended,
        contenders,
        pairs,
        control,
        stress,
        turns: turns.iter().map(|seen| seen.finding.clone()).collect(),
        caveats,
        outcome,
        comparison,
    })
}

/// Whether anything that decides is decided of any pair; and whether another figure differs for certain. Where nobody was stressed, throughput is what was
/// asked, and tells nothing.
fn tells(comparison: &Comparison, pairs: &[ComparedPair], stress: &Stress) -> (bool, bool) {
    let told = |effect: &&Effect| effect.figure != Figure::Throughput || stress.anybody;
    let all = || pairs.iter().flat_map(|pair| pair.effects.iter().filter(told));
    let decides = |effect: &Effect| comparison.deciding.contains(&effect.figure) && effect::is_decided(effect.call);
    (all().any(decides), all().any(|effect| pairs::differs(effect.call)))
}

/// Whether a comparison whose record this is needs no further block: a look is planned now, and everything that decides is
/// decided, or there are no more looks.
pub fn is_enough(record: &Record) -> bool {
    let Some(comparison) = record.head.as_ref().and_then(|head| head.plan.comparison()) else { return true };
    let begun = begun(record);
    if comparison.looks.last().is_none_or(|last| begun >= *last) {
        return true;
    }
    let playing = playing(comparison, &dropped(record));
    if Judge::new(comparison, playing.clone(), &[], begun).names().is_empty() {
        return true;
    }
    if !spending::is_look(&comparison.looks, begun) {
        return false;
    }
    let turns = early::all(record);
    let judge = Judge::new(comparison, playing.clone(), &turns, begun);
    blocks(&playing, &turns) >= 2 && judge.decided(&judge.pairs())
}

/// Contenders that did not start any more.
fn dropped(record: &Record) -> Vec<&DroppedContender> {
    let all = record.remarks.iter().filter_map(|event| match &event.what {
        What::Dropped(one) => Some(&**one),
        _ => None,
    });
    all.collect()
}

/// The names of all others.
fn playing<'c>(comparison: &'c Comparison, dropped: &[&DroppedContender]) -> Vec<&'c str> {
    let names = comparison.contenders.iter().map(|one| one.name.as_str());
    names.filter(|name| !dropped.iter().any(|one| one.contender == **name)).collect()
}

/// The last block that was begun. Looks are planned in these: how many turns of them count depends on what was seen.
fn begun(record: &Record) -> u32 {
    record.trials.iter().filter_map(|trial| trial.turn.as_ref()).map(|turn| turn.block).max().unwrap_or(0)
}

/// Blocks in which each of these has a turn that counts.
fn blocks(playing: &[&str], turns: &[Seen<'_>]) -> u32 {
    let whole = |block: &u32| {
        let has = |name: &str| turns.iter().any(|seen| seen.is(name, false) && seen.finding.block == *block);
        playing.iter().all(|name| has(name))
    };
    let last = turns.iter().map(|seen| seen.finding.block).max().unwrap_or(0);
    (1..=last).filter(whole).count() as u32
}

fn ended(record: &Record, comparison: &Comparison, begun: u32) -> Ended {
    let last = comparison.looks.last().copied().unwrap_or(0);
    match &record.end {
        Some(end) if end.interrupted || end.failure.is_some() => Ended::CutOff,
        None => Ended::CutOff,
        Some(_) if begun < last => Ended::Early,
        Some(_) => Ended::Planned,
    }
}

fn contender(
    record: &Record,
    name: &str,
    turns: &[Seen<'_>],
    judge: &Judge<'_>,
    pairs: &[ComparedPair],
) -> ComparedContender {
    let own: Vec<&Seen<'_>> = turns.iter().filter(|seen| seen.is(name, false)).collect();
    let figures = Figure::ALL.iter().map(|(figure, _)| {
        let (best, worst) = judge.rank(name, *figure, pairs);
        ComparedFigure { figure: *figure, value: value(&own, *figure), bound: bound(&own, *figure), best, worst }
    });
    let (version, settings, rewrites) = entry(record, name);
    let mut warm_up: Vec<f64> = own.iter().filter_map(|seen| seen.finding.steady_after).collect();
    warm_up.sort_by(f64::total_cmp);
    ComparedContender {
        name: name.to_owned(),
        version,
        settings,
        rewrites,
        figures: figures.collect(),
        errors: Tally::of(own.iter().flat_map(|seen| &seen.trial.ticks)).errors,
        held: own.iter().filter(|seen| seen.held).count() as u32,
        turns: own.len() as u32,
        warm_up: warm_up.get(warm_up.len() / 2).copied(),
        dropped: false,
    }
}

/// A figure's mean over turns.
fn value(own: &[&Seen<'_>], figure: Figure) -> Option<Estimate> {
    if figure.is_fraction() {
        if own.iter().any(|seen| early::is_short(seen)) {
            return None;
        }
        let counts = own.iter().map(|seen| seen.counts()).filter(|(_, finished)| *finished > 0);
        return statistics::failures(&counts.collect::<Vec<_>>());
    }
    if own.iter().any(|seen| seen.bound(figure).is_some()) {
        return None;
    }
    // A mean of logarithms knows no nothing: with a turn in which nothing was answered well there is no throughput.
    let values: Vec<f64> = own.iter().filter_map(|seen| seen.value(figure)).collect();
    statistics::geometric(&values, ALPHA)
}

/// What that mean is more than, where a figure is a bound in any turn.
fn bound(own: &[&Seen<'_>], figure: Figure) -> Option<OneSided> {
    own.iter().find_map(|seen| seen.bound(figure))?;
    let values: Vec<f64> = own.iter().filter_map(|seen| seen.value(figure).or(seen.bound(figure))).collect();
    Some(OneSided::MoreThan(statistics::geometric(&values, ALPHA)?.value))
}

/// What was said of a contender when it was first prepared.
fn entry(record: &Record, name: &str) -> (String, Vec<Setting>, Vec<Rewrite>) {
    let mut entries = record.remarks.iter().filter_map(|event| match &event.what {
        What::Contender(entry) if entry.contender == name => Some(entry),
        _ => None,
    });
    entries.next_back().map_or_else(Default::default, |entry| {
        let settings = entry.settings.iter().filter(|setting| !setting.default).cloned().collect();
        (entry.version.clone(), settings, entry.rewrites.clone())
    })
}
