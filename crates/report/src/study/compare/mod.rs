//! Systems compared, in words.

mod caveat;
mod document;

use super::claim;
use super::comparison::{brief, is_open, ranks, title, unit};
use crate::{clean, figure};
use genkai_model::claim::Test;
use genkai_model::figure::Figure;
use genkai_model::finding::comparison::{
    ComparedContender, ComparedFigure, ComparedPair, ComparisonCaveat, ComparisonFinding, Ended,
};
use genkai_model::finding::{Call, Effect, OneSided, Outcome};

pub(crate) use caveat::caveat;
pub(in crate::study) use document::cards;
pub use document::compare;
pub(crate) use document::copy;

/// Most pairs that get a sentence of their own.
const TOLD: usize = 6;

/// The answer that can be quoted, a sentence a pair, how sure that is, what limits it.
pub(crate) fn sentences(finding: &ComparisonFinding) -> Vec<String> {
    if let Some(claim) = finding.claim.as_ref().filter(|claim| matches!(claim.claim.test, Test::Line(_))) {
        return vec![claim::sentence(claim)];
    }
    let mut all = vec![headline(finding)];
    all.extend(unlike(finding));
    if finding.blocks >= 2 && !is_one_pair(finding) {
        all.extend(finding.pairs.iter().take(TOLD).map(pair));
    }
    all.extend(finding.claim.iter().map(|claim| claim::sentence(claim)));
    all.extend(control(finding));
    all.push(sure(finding));
    all.extend(stress(finding));
    all.extend(limits(finding));
    all
}

/// That answers are unlike, which stands beside the answer: whoever reads of who is faster must read this.
pub(crate) fn unlike(finding: &ComparisonFinding) -> Option<String> {
    finding.caveats.iter().find(|one| is_beside(one)).map(caveat)
}

/// What limits the answer and does not stand beside it.
pub(crate) fn limits(finding: &ComparisonFinding) -> impl Iterator<Item = String> {
    finding.caveats.iter().filter(|one| !is_beside(one)).map(caveat)
}

fn is_beside(caveat: &ComparisonCaveat) -> bool {
    matches!(caveat, ComparisonCaveat::AnswersUnlike { .. })
}

/// The sentence to quote.
pub(crate) fn headline(finding: &ComparisonFinding) -> String {
    let dropped = finding.contenders.iter().filter(|one| one.dropped).count();
    if finding.pairs.is_empty() && dropped > 0 {
        return format!(
            "{} of {} did not start any more: there is nothing to compare.",
            dropped,
            figure::plural(finding.contenders.len() as u64, "contender", "contenders")
        );
    }
    if finding.blocks < 2 {
        return match finding.outcome {
            Outcome::Invalid => "The load generator was the limit: nothing is said of the systems.".to_owned(),
            _ => "The run ended before every contender had two turns: there is nothing to compare.".to_owned(),
        };
    }
    if is_silent(finding) {
        return "No request of any of them succeeded: there is nothing to compare.".to_owned();
    }
    match (&finding.comparison.base, &finding.pairs[..]) {
        (_, [one]) => pair(one),
        (Some(base), all) => changes(base, all),
        (None, _) => ranking(finding),
    }
}

/// Whether no pair was answered.
fn is_silent(finding: &ComparisonFinding) -> bool {
    let silent = finding.caveats.iter().filter(|c| matches!(c, ComparisonCaveat::Unanswered { .. })).count();
    silent > 0 && silent == finding.pairs.len()
}

/// Whether the headline says what there is to say of the one pair there is.
fn is_one_pair(finding: &ComparisonFinding) -> bool {
    finding.pairs.len() == 1 && !is_silent(finding)
}

/// Which of several changes made a difference, and in what: `Beside baseline, better in throughput: a -> b; all together. No difference
/// was found: c -> d.`
fn changes(base: &str, all: &[ComparedPair]) -> String {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for pair in all.iter().filter(|pair| differs(pair)) {
        let (what, name) = (directions(pair), clean::line(&pair.other));
        match groups.iter_mut().find(|(known, _)| *known == what) {
            Some((_, names)) => names.push(name),
            None => groups.push((what, vec![name])),
        }
    }
    let mut parts: Vec<String> = groups.iter().map(|(what, names)| format!("{what}: {}", names.join("; "))).collect();
    let none: Vec<String> = all.iter().filter(|pair| !differs(pair)).map(|pair| clean::line(&pair.other)).collect();
    let found = if parts.is_empty() { "no difference was found" } else { "No difference was found" };
    parts.extend((!none.is_empty()).then(|| format!("{found}: {}", none.join("; "))));
    format!("Beside {}, {}.", clean::line(base), parts.join(". "))
}

/// Whether anything differs for certain between two.
pub(crate) fn differs(pair: &ComparedPair) -> bool {
    pair.effects.iter().any(|effect| matches!(effect.call, Call::Better | Call::Worse))
}

/// `better in failures, throughput, worse in memory`.
fn directions(pair: &ComparedPair) -> String {
    let said = ["better in", "worse in"].into_iter().zip([Call::Better, Call::Worse]);
    said.filter_map(|(what, wanted)| effects(pair, what, |call| call == wanted, named)).collect::<Vec<_>>().join(", ")
}

/// `better in failures, memory`: the figures whose effect is called so, each in words; none where there is none.
fn effects(
    pair: &ComparedPair,
    what: &str,
    wanted: impl Fn(Call) -> bool,
    word: fn(&Effect) -> String,
) -> Option<String> {
    let all: Vec<String> = pair.effects.iter().filter(|one| wanted(one.call)).map(word).collect();
    (!all.is_empty()).then(|| format!("{what} {}", all.join(", ")))
}

fn named(one: &Effect) -> String {
    title(one.figure).to_owned()
}

/// `By throughput: 1 (a ...), 2-3 (b ...), 2-3 (c ...).`; by latency where nobody was stressed.
fn ranking(finding: &ComparisonFinding) -> String {
    let by = if finding.stress.anybody { Figure::Throughput } else { Figure::P95 };
    let of = |subject: &ComparedContender| subject.figures.iter().find(|one| one.figure == by).cloned();
    let playing = finding.contenders.iter().filter(|one| !one.dropped);
    let mut all: Vec<(&ComparedContender, ComparedFigure)> =
        playing.filter_map(|subject| Some((subject, of(subject)?))).collect();
    all.sort_by_key(|(_, one)| (one.best, one.worst));
    let one = |(subject, one): &(&ComparedContender, ComparedFigure)| {
        format!("{} {} ({})", ranks(one.best, one.worst), clean::line(&subject.name), shown(by, one))
    };
    let ranks: Vec<String> = all.iter().map(one).collect();
    format!("By {}: {}. A range of ranks is a tie.", title(by), ranks.join(", "))
}

/// `worker_connections 512 -> 1024 beside baseline: better in failures (...); no measurable difference in ...; cannot tell about ...`.
pub(crate) fn pair(pair: &ComparedPair) -> String {
    let sized = |one: &Effect| format!("{} {}", title(one.figure), brief(one));
    let parts = [
        effects(pair, "better in", |call| call == Call::Better, sized),
        effects(pair, "worse in", |call| call == Call::Worse, sized),
        effects(pair, "no measurable difference in", |call| call == Call::Same, named),
        effects(pair, "cannot tell about", |call| matches!(call, Call::CannotTell { .. }), named),
        effects(pair, "not judged:", |call| call == Call::NotJudged, named),
    ];
    let mut parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        parts.push("nothing to compare".to_owned());
    }
    format!("{} beside {}: {}.", clean::line(&pair.other), clean::line(&pair.base), parts.join("; "))
}

/// A contender's figure.
pub(crate) fn shown(figure: Figure, one: &ComparedFigure) -> String {
    match (one.value, one.bound) {
        (Some(value), _) => unit(figure, value.value),
        (None, Some(OneSided::MoreThan(bound))) => format!("more than {}", unit(figure, bound)),
        (None, Some(OneSided::LessThan(bound))) => format!("less than {}", unit(figure, bound)),
        (None, None) => "-".to_owned(),
    }
}

/// A contender's rank by a figure: who was dropped has none.
fn place(subject: &ComparedContender, one: &ComparedFigure) -> String {
    if subject.dropped { "dropped".to_owned() } else { ranks(one.best, one.worst) }
}

/// The first contender against itself.
pub(crate) fn control(finding: &ComparisonFinding) -> Option<String> {
    let control = finding.control.as_ref().filter(|_| finding.blocks >= 2)?;
    let seen = control.effects.is_empty() || control.effects.iter().any(|effect| effect.call != Call::Missing);
    // What few turns cannot tell is no agreement.
    let open = control.effects.iter().any(|effect| matches!(effect.call, Call::CannotTell { .. }));
    let words = if open {
        "shows no difference for certain, as it must; not all figures can be told apart"
    } else {
        "shows no difference, as it must"
    };
    (!differs(control) && seen).then(|| format!("Control: {} against itself {words}.", clean::line(&control.base)))
}

/// How many blocks were planned, were run, do not count, and count; and why it ended.
fn blocks(finding: &ComparisonFinding) -> String {
    let planned = finding.comparison.looks.last().copied().unwrap_or(0);
    let run = finding.turns.iter().map(|turn| turn.block).max().unwrap_or(0).max(finding.blocks);
    counted(finding.ended, planned, run, finding.blocks)
}

fn counted(ended: Ended, planned: u32, run: u32, count: u32) -> String {
    let blocks = figure::plural(run.into(), "block", "blocks");
    let ran = match ended {
        Ended::Early => format!("After {blocks} of at most {planned}, because what decides was decided by then"),
        Ended::Planned if run >= planned => format!("After {blocks}, as many as were planned"),
        Ended::Planned => format!("After {blocks} of {planned} that were planned"),
        Ended::CutOff => format!("After {blocks} of at most {planned}: it was cut off"),
    };
    let not = run - count;
    let do_not = if not == 1 { "does not" } else { "do not" };
    let told = match count {
        _ if not == 0 => return ran,
        0 => "none of them counts".to_owned(),
        1 => format!("1 of them counts and {not} {do_not}"),
        _ => format!("{count} of them count and {not} {do_not}"),
    };
    format!("{ran}; {told}, as a turn in it was cut short, is missing, or had the generator as its limit")
}

/// How sure it all is, and why it ended.
pub(crate) fn sure(finding: &ComparisonFinding) -> String {
    let ran = blocks(finding);
    let intervals = |pair: &ComparedPair| {
        pair.effects.iter().filter(|effect| effect.effect.is_some() || effect.bound.is_some()).count() as u64
    };
    let statements = finding.pairs.iter().map(intervals).sum::<u64>();
    let with = figure::percent(1.0 - finding.alpha);
    let hold = match statements {
        0 => String::new(),
        1 => format!(". The confidence interval holds with {with}, every look at the data counted"),
        n => format!(
            ". The confidence intervals hold together with {with}, all {} statements and every look at the data counted",
            figure::count(n)
        ),
    };
    let margin = figure::percent(finding.comparison.margin);
    format!("{ran}{hold}; less than {margin} either way is no difference that matters{}.", open(finding))
}

/// What it would take to decide what is open.
fn open(finding: &ComparisonFinding) -> String {
    let decides = |effect: &&Effect| finding.comparison.deciding.contains(&effect.figure);
    let deciding = || finding.pairs.iter().flat_map(|pair| pair.effects.iter().filter(decides));
    if finding.blocks >= 2 && deciding().any(is_open) {
        return "; a deciding figure is open for want of answers, which takes longer turns (--hold)".to_owned();
    }
    let all: Vec<Call> = deciding().map(|effect| effect.call).collect();
    let needed: Vec<Option<u32>> =
        all.iter().filter_map(|call| if let Call::CannotTell { more } = call { Some(*more) } else { None }).collect();
    if needed.is_empty() || finding.blocks < 2 {
        return String::new();
    }
    // As large a share of them will not count.
    let run = finding.turns.iter().map(|turn| turn.block).max().unwrap_or(0).max(finding.blocks);
    let total = |more: u32| ((finding.blocks + more) * run).div_ceil(finding.blocks);
    match needed.iter().copied().collect::<Option<Vec<u32>>>().and_then(|all| all.into_iter().max()) {
        Some(more) => format!("; to decide every deciding figure would take about --blocks {}", total(more)),
        None => "; to decide every deciding figure would take more than 1,000 further blocks".to_owned(),
    }
}

/// That nobody failed; or not in so many turns that it is a sign of stress.
fn failed(finding: &ComparisonFinding) -> &'static str {
    let any = finding.turns.iter().any(|turn| turn.failed > 0);
    if any { "none failed in most of its turns" } else { "none failed" }
}

/// Whether anybody was stressed.
pub(crate) fn stress(finding: &ComparisonFinding) -> Option<String> {
    let stress = &finding.stress;
    if finding.blocks < 2 {
        return None;
    }
    let used = stress.busiest.map(|busy| {
        let who = stress.who.as_deref().map(clean::line).unwrap_or_default();
        format!(
            "{who} was busiest: {} of the servers' cores, or of the one that a worker can use",
            figure::percent(busy)
        )
    });
    match (stress.anybody, used) {
        (true, Some(used)) => Some(format!("{used}.")),
        (true, None) => {
            Some("What the servers used cannot be seen, so whether the load was felt cannot be told.".to_owned())
        }
        (false, used) => Some(format!(
            "No contender was stressed ({}, {}, none had a queue): throughput is what this load asks for, and of users who wait for \
             their responses follows from latency; what they can do at most, a higher --users or --rate would tell.",
            used.unwrap_or_default(),
            failed(finding)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was planned, what was run, and what counts are three numbers.
    #[test]
    fn blocks_that_do_not_count_are_told_beside_those_that_do() {
        let told = |count| counted(Ended::Planned, 6, 6, count);
        assert_eq!(told(6), "After 6 blocks, as many as were planned");
        assert!(
            told(1).starts_with("After 6 blocks, as many as were planned; 1 of them counts and 5 do not, as a turn")
        );
        assert!(told(5).contains("; 5 of them count and 1 does not, as a turn"), "{}", told(5));
        assert!(told(0).contains("; none of them counts, as a turn"), "{}", told(0));
        assert!(counted(Ended::Early, 6, 4, 4).starts_with("After 4 blocks of at most 6, because"));
    }
}
