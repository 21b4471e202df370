//! Baseline and proposal in pairs.

use genkai_model::objective::Condition;
use serde_json::Value as Json;

use crate::asked;
use crate::broken::Judged;
use crate::effects::{self, Pairs, Rules};
use crate::events::{Events, Line, failed, merged, rate, sum};
use crate::expected::Expected;
use crate::hanging::{self, Allowed};
use crate::intervals::{self, ALPHA, Counts, Interval};
use crate::scan;

/// Fewest pairs that are told apart by all baselines failing and all proposals holding: each pair does so by chance one time in four.
const APART: u32 = 3;
/// What does not matter: of ratios, and of failures where no condition says it.
const MARGINS: (f64, f64) = (0.05, 0.001);
/// Values of histograms are told to three digits.
const DIGITS: f64 = 0.001;

/// What the events say of `proof`.
///
/// Gives what they decide; none where there are fewer than two.
pub(crate) fn expect(
    events: &Events,
    verdict: &Json,
    judged: &[Judged<'_>],
    expected: &mut Expected,
) -> Option<&'static str> {
    let pairs = pairs(judged);
    let line = pairs.first().map(|(a, _)| a.trial.start.number);
    let causes = verdict.get("causes").and_then(Json::as_array);
    let lifted = causes.into_iter().flatten().any(crate::predictions::lifted);
    let there = lifted && pairs.len() > 1;
    expected.there("/proof", there, "a limit was lifted, and there are two pairs or more", line);
    if pairs.len() < 2 {
        return None;
    }
    if there {
        expected.is("/proof/pairs", pairs.len() as f64, line);
    }
    let first = judged.iter().find(|one| matches!(one.trial.start.text("/purpose"), "break" | "measure"));
    let condition = first.and_then(|one| one.onset).and_then(|onset| onset.condition);
    Proof { pairs, condition, looks: looks(events), line }.expect(there, expected)
}

/// After how many pairs it is looked at.
fn looks(events: &Events) -> Vec<u32> {
    let of = |name: &str| events.head().number(&format!("/plan/procedure/{name}")) as u32;
    let fewest = of("min_pairs").max(2);
    (fewest..=of("max_pairs").max(fewest)).collect()
}

/// The trials of the last proof, the first baseline with the first proposal, and so on; those that ended as they should.
pub(crate) fn pairs<'a, 'e>(judged: &'a [Judged<'e>]) -> Vec<(&'a Judged<'e>, &'a Judged<'e>)> {
    let purpose = |one: &Judged<'e>| one.trial.start.text("/purpose").to_owned();
    let is_proof = |one: &Judged<'e>| matches!(purpose(one).as_str(), "baseline" | "proposal");
    let begin = judged.iter().rposition(|one| !is_proof(one)).map_or(0, |last| last + 1);
    let side = |wanted: &'static str| {
        judged[begin..].iter().filter(|one| one.is_whole()).filter(move |one| purpose(one) == wanted)
    };
    side("baseline").zip(side("proposal")).collect()
}

/// The pairs with what is judged in them.
struct Proof<'a, 'e> {
    pairs: Vec<(&'a Judged<'e>, &'a Judged<'e>)>,
    /// The condition that the system as it is violates.
    condition: Option<Condition>,
    looks: Vec<u32>,
    line: Option<usize>,
}

impl<'e> Proof<'_, 'e> {
    fn both<T>(&self, of: impl Fn(&Judged<'e>) -> T) -> Vec<(T, T)> {
        self.pairs.iter().map(|(a, b)| (of(a), of(b))).collect()
    }

    /// What is told of it where it is `told`, and what it decides.
    fn expect(&self, told: bool, expected: &mut Expected) -> Option<&'static str> {
        let mut silent = Expected::default();
        let expected = if told { expected } else { &mut silent };
        let line = self.line;
        let counts = self.both(|one| counts(one, self.condition));
        let sides: (Vec<Counts>, Vec<Counts>) = counts.iter().copied().unzip();
        for (i, side) in [&sides.0, &sides.1].into_iter().enumerate() {
            expected.is(format!("/proof/failures/{i}"), side.iter().map(|one| one.0).sum::<f64>(), line);
            expected.is(format!("/proof/finished/{i}"), side.iter().map(|one| one.1).sum::<f64>(), line);
        }
        let left = self.both(|one| scan::left(&one.trial.ticks(), &one.asked).0.floor());
        expected.is("/proof/unanswered/0", left.iter().map(|one| one.0).sum::<f64>(), line);
        expected.is("/proof/unanswered/1", left.iter().map(|one| one.1).sum::<f64>(), line);
        let rates = self.both(|one| rate(&one.trial.ticks()));
        let rate = three(&rates, &self.both(edge));
        let p99 = self.both(|one| latency(one, 0.99));
        self.bounds("/proof/p99_at_least", 0.99, expected);
        let failures =
            [intervals::failures(&sides.0), intervals::failures(&sides.1), intervals::failures_differ(&counts, ALPHA)];
        let (figures, figure) = match self.condition {
            Some(Condition::LatencyBelow(q, _)) => {
                let all = self.both(|one| latency(one, q));
                let known = !self.bounds("/proof/judged/at_least", q, expected);
                (three(&all, &digits(&all)), Pairs::Ratios(if known { all } else { Vec::new() }))
            }
            Some(Condition::RateAbove(_)) => (rate, Pairs::Ratios(self.paced())),
            _ => (failures, Pairs::Failures(counts.into_iter().filter(|(a, b)| a.1 > 0.0 && b.1 > 0.0).collect())),
        };
        let ratio = matches!(figure, Pairs::Ratios(_));
        let (decided, call) = self.decide(&figure, expected);
        // One figure has one interval: that by which it is decided.
        let told = |mut all: [Option<Interval>; 3]| {
            if !ratio && decided.is_some() {
                all[2] = decided;
            }
            all
        };
        for (name, one) in ["failed_before", "failed_after", "failed_difference"].iter().zip(told(failures)) {
            expected.estimate(format!("/proof/{name}"), one, line);
        }
        for (name, all) in [("rate", rate), ("p99", three(&p99, &digits(&p99))), ("judged/figures", told(figures))] {
            for (i, one) in all.into_iter().enumerate() {
                expected.estimate(format!("/proof/{name}/{i}"), one, line);
            }
        }
        let judged = self.condition.map(|condition| condition.to_string());
        expected.word("/proof/judged/condition", judged, "what the system as it is violates", line);
        let (held, failed) = self.outcomes();
        expected.word("/proof/proposal_holds", failed == 0, "the objective in each proposal", line);
        expected.word("/proof/baseline_fails", held == 0, "the objective in each baseline", line);
        Some(call)
    }

    /// Successful responses a second of pairs of which both lasted.
    fn paced(&self) -> Vec<(f64, f64)> {
        let lasts =
            |one: &Judged<'_>| one.trial.ticks().iter().any(|tick| tick.number("/to_us") > tick.number("/from_us"));
        self.pairs.iter().filter(|(a, b)| lasts(a) && lasts(b)).map(|(a, b)| (some(a), some(b))).collect()
    }

    /// Whether a latency of any trial is only a bound, as must be told at `path`: those that hung at the end would move it if they had taken longer.
    fn bounds(&self, path: &str, q: f64, expected: &mut Expected) -> bool {
        let sides = self.both(|one| at_least(one, q, 1.0) < at_least(one, q, 1e6));
        let (before, after) = (sides.iter().any(|one| one.0), sides.iter().any(|one| one.1));
        for (i, side) in [before, after].into_iter().enumerate() {
            expected.word(format!("{path}/{i}"), side, "those that hung at the end", self.line);
        }
        before || after
    }

    /// Baselines that did not fail, and proposals that are not known to have held.
    fn outcomes(&self) -> (usize, usize) {
        let held = self.pairs.iter().filter(|(a, _)| a.onset.is_none()).count();
        (held, self.pairs.iter().filter(|(_, b)| !b.held()).count())
    }

    /// What the pairs decide: all baselines failed and all proposals held, or by the interval with what that leaves of the error rate.
    fn decide(&self, figure: &Pairs, expected: &mut Expected) -> (Option<Interval>, &'static str) {
        let (line, pairs) = (self.line, self.pairs.len() as u32);
        let first = self.looks.iter().copied().find(|look| *look >= APART);
        let by_chance = |pairs: u32| 0.25_f64.powi(pairs as i32);
        let left = ALPHA - first.map_or(0.0, by_chance);
        let now = effects::spent(&self.looks, pairs, left);
        let last = effects::spent(&self.looks, self.looks.last().copied().unwrap_or(1), left);
        let more = matches!(self.condition, Some(Condition::RateAbove(_)));
        let mut said = figure.said(Rules { margin: self.margin(), more, now, last });
        let apart = self.outcomes() == (0, 0);
        let separated = apart && first.is_some_and(|first| pairs >= first);
        if separated {
            (said.call, said.more) = ("better", None);
        } else if apart && said.call == "cannot_tell" {
            let missing = first.unwrap_or(APART).saturating_sub(pairs);
            said.more = Some(said.more.map_or(missing, |more| more.min(missing)));
        }
        effects::expect("/proof/decided", &said, line, expected);
        expected.word("/proof/certain", said.call == "better", "by what the pairs decide", line);
        let by = if separated { "separation" } else { "interval" };
        expected.word("/proof/decided/by", by, "all baselines fail and all proposals hold, or not", line);
        expected.is("/proof/decided/each", now, line);
        expected.is("/proof/decided/alpha", ALPHA, line);
        expected.is("/proof/decided/chance", apart.then(|| by_chance(pairs)), line);
        for (i, look) in self.looks.iter().enumerate() {
            expected.is(format!("/proof/decided/looks/{i}"), f64::from(*look), line);
        }
        (said.effect, said.call)
    }

    fn margin(&self) -> f64 {
        match self.condition {
            Some(Condition::LatencyBelow(..) | Condition::RateAbove(_)) => MARGINS.0,
            Some(Condition::ErrorsBelow(most) | Condition::DisconnectsBelow(most)) => most.at,
            Some(Condition::ConnectsAbove(least) | Condition::DeliveredAbove(least)) => 1.0 - least.at,
            None => MARGINS.1,
        }
    }
}

/// Failed and finished, of what the violated condition counts; what was left without an answer for too long counts as both.
pub(crate) fn counts(one: &Judged<'_>, condition: Option<Condition>) -> Counts {
    let ticks = one.trial.ticks();
    if let Some(condition) = condition.filter(Condition::is_of_websockets) {
        let (bad, all) = scan::share(0.0, &ticks, condition);
        let opens = matches!(condition, Condition::ConnectsAbove(_));
        let out = scan::left_out(&ticks, &one.asked).last().map_or(0.0, |(out, _)| out.floor());
        let out = if opens { out } else { 0.0 };
        return (bad + out, all.ceil() + out);
    }
    let left = scan::left(&ticks, &one.asked).0.floor();
    let bad: f64 = ticks.iter().map(|tick| failed(tick)).sum();
    (bad + left, bad + sum(&ticks, "/ok") + left)
}

/// Successful responses a second; half a response where there was none, so that a ratio can be told.
pub(crate) fn some(one: &Judged<'_>) -> f64 {
    at_least_half(&one.trial.ticks())
}

/// The same of intervals.
pub(crate) fn at_least_half(ticks: &[&Line]) -> f64 {
    let seconds: f64 = ticks.iter().map(|tick| (tick.number("/to_us") - tick.number("/from_us")) / 1e6).sum();
    rate(ticks).max(0.5 / seconds.max(1e-9))
}

/// Latency at a quantile, seconds; requests that hung at the end took as long as is allowed at least.
fn latency(one: &Judged<'_>, q: f64) -> f64 {
    at_least(one, q, 1.0)
}

/// The same if they took so many times as long.
fn at_least(one: &Judged<'_>, q: f64, times: f64) -> f64 {
    let ticks = one.trial.ticks();
    let mut all = merged(&ticks, "/latency");
    if let Some(bound) = asked::tightest(&one.objective) {
        let hung = hanging::of(&ticks, Allowed::Seconds(bound)).last().map_or(0.0, |last| last.count);
        all.record((bound * times * 1e9).round() as u64, hung as u64);
    }
    all.quantile(q).unwrap_or(0.0)
}

/// What a rate can be off by: what was in flight at the end was a moment late.
fn edge(one: &Judged<'_>) -> f64 {
    let ticks = one.trial.ticks();
    let seconds: f64 = ticks.iter().map(|tick| (tick.number("/to_us") - tick.number("/from_us")) / 1e6).sum();
    let open = ticks.last().map_or(0.0, |tick| tick.number("/in_flight").min(one.asked.most));
    if seconds > 0.0 { open.max(1.0) / seconds } else { 0.0 }
}

fn digits(all: &[(f64, f64)]) -> Vec<(f64, f64)> {
    all.iter().map(|(a, b)| (DIGITS * a, DIGITS * b)).collect()
}

/// Before, after, and the difference in pairs, each interval no narrower than half a step of what is told.
fn three(pairs: &[(f64, f64)], steps: &[(f64, f64)]) -> [Option<Interval>; 3] {
    let (before, after): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
    let half = |of: fn(&(f64, f64)) -> f64| steps.iter().map(of).fold(0.0, f64::max) / 2.0;
    let (a, b) = (half(|step| step.0), half(|step| step.1));
    let all = [(before, a), (after, b), (differences, a.hypot(b))];
    all.map(|(values, half)| {
        let e = intervals::mean(&values, ALPHA)?;
        Some(Interval { low: e.low.min(e.value - half), high: e.high.max(e.value + half), ..e })
    })
}
