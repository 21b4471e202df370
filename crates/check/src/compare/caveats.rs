//! What weakens a comparison of systems: each caveat that its turns oblige to, and of its kind no other.

use genkai_model::figure::Figure;
use serde_json::{Value as Json, json};

use super::{Comparison, FIGURES, Turn, left};
use crate::compared::{self, Pair};
use crate::effects;
use crate::events::{Events, Line, Trial, failed, sum};
use crate::expected::Expected;
use crate::intervals::{self, ALPHA};

/// Every kind that there is.
const KINDS: [&str; 19] = [
    "control_differs",
    "control_strays",
    "no_control",
    "not_restarted",
    "not_compressed",
    "paced",
    "retried",
    "left_unanswered",
    "nothing_answered",
    "hidden_errors",
    "answers_unlike",
    "client_limit",
    "died",
    "not_steady",
    "drift",
    "survivors",
    "unanswered",
    "out",
    "record_cut_off",
];
/// The figures of which it is asked whether they drift, by their places.
const DRIFTING: [usize; 2] = [1, 3];
/// The later half of blocks by the earlier one, from which on it matters: a factor either way.
const DRIFT: f64 = 1.1;
/// Responses that differ by less than this part are as large.
const AS_LARGE: f64 = 0.005;

/// Where they stand.
const LIST: &str = "/caveats";

impl Comparison<'_> {
    /// What must be told, where `pairs` are what each figure says and `control` is whether the first contender differs from itself in it.
    pub(super) fn caveats(&self, events: &Events, pairs: &[Pair], control: &[bool], expected: &mut Expected) {
        let line = self.turns.first().map(|turn| turn.judged.trial.start.number);
        let mut all: Vec<(Json, &str)> = Vec::new();
        self.of_control(events, control, &mut all);
        for name in &self.order {
            self.of_generator(name, &mut all);
            self.of_answers(name, &mut all);
            self.of_time(name, &mut all);
        }
        let names = self.names();
        for ((base, other), pair) in names.iter().zip(pairs) {
            let failures = pair.iter().find(|(figure, _)| *figure == Figure::Failures).map(|(_, said)| said.call);
            let fails = [("worse", *other), ("better", *base)].into_iter().find(|(call, _)| failures == Some(*call));
            let told = fails.map(|(_, name)| json!({ "caveat": "survivors", "name": name }));
            all.extend(told.map(|told| (told, "who fails more for certain")));
            if self.is_silent((*base, false), (*other, false)) {
                let told = json!({ "caveat": "unanswered", "base": base, "other": other });
                all.push((told, "neither was ever answered in a turn that counts"));
            }
            all.extend(self.not_compressed(events, base, other).map(|told| (told, "as many bytes with it as without")));
        }
        all.extend(self.unlike(events).map(|told| (told, "statuses and bytes of good answers")));
        for one in events.of("out") {
            let of = |name: &str| one.json.get(name).cloned().unwrap_or_default();
            let told = json!({ "caveat": "out", "name": of("contender"), "block": of("block"), "why": of("why") });
            all.push((told, "it did not start any more"));
        }
        if events.of("run_ended").next().is_none() {
            all.push((json!({ "caveat": "record_cut_off" }), "the record has no end"));
        }
        self.figures(&all, line, expected);
        all.into_iter().for_each(|(told, why)| expected.lists.tells(LIST, told, why, line));
        expected.lists.only(LIST, &KINDS);
        compared::caveats(self.verdict, |name| self.of_caveats(name), line, expected);
    }

    /// The first contender against itself, and who is not started anew.
    fn of_control(&self, events: &Events, control: &[bool], all: &mut Vec<(Json, &str)>) {
        let differing =
            || FIGURES.iter().zip(control).filter(|(_, differs)| **differs).map(|(name, _)| Json::from(*name));
        for (kind, decides) in [("control_differs", true), ("control_strays", false)] {
            let own: Vec<Json> = differing().filter(|name| self.deciding.contains(name) == decides).collect();
            if !own.is_empty() {
                all.push((json!({ "caveat": kind, "figures": own }), "the first contender against itself"));
            }
        }
        if super::planned(events, "control") != Some(&Json::Bool(true)) {
            all.push((json!({ "caveat": "no_control" }), "as planned"));
        }
        if !self.standing.is_empty() {
            all.push((json!({ "caveat": "not_restarted", "names": self.standing }), "who runs at an address"));
        }
    }

    fn all_of<'s>(&'s self, name: &'s Json) -> impl Iterator<Item = &'s Turn<'s>> {
        self.turns.iter().filter(move |turn| turn.contender == *name)
    }

    fn of_generator(&self, name: &Json, all: &mut Vec<(Json, &str)>) {
        let reasons: Vec<&Json> = self.all_of(name).filter_map(|turn| turn.reasons.first()).collect();
        if let Some(first) = reasons.first() {
            let told = json!({ "caveat": "client_limit", "name": name, "turns": reasons.len(), "reason": first });
            all.push((told, "the generator in its turns"));
        }
        let died = self.all_of(name).filter(|turn| has_died(&turn.judged.trial)).count();
        if died > 0 {
            all.push((json!({ "caveat": "died", "name": name, "turns": died }), "as its turns tell"));
        }
    }

    fn of_answers(&self, name: &Json, all: &mut Vec<(Json, &str)>) {
        let own = self.of_caveats(name);
        if own.paced > 0.0 {
            all.push((json!({ "caveat": "paced", "name": name, "paced": own.paced }), "pauses after failures"));
        }
        if own.retried > 0.0 {
            let told = json!({ "caveat": "retried", "name": name, "retried": own.retried });
            all.push((told, "requests made again in its turns that count"));
        }
        self.of_left(name, all);
        let (responses, hidden) = own.hidden();
        if hidden > 0.0 {
            let told = json!({ "caveat": "hidden_errors", "name": name, "responses": responses, "hidden": hidden });
            all.push((told, "as its server counted"));
        }
    }

    /// Requests that turns left without an answer, and turns in which nothing was answered.
    fn of_left(&self, name: &Json, all: &mut Vec<(Json, &str)>) {
        let own: Vec<&Turn<'_>> = self.turns.iter().filter(|turn| turn.is(name, false)).collect();
        let unanswered: f64 = own.iter().map(|turn| turn.left.count()).sum();
        if unanswered > 0.0 {
            let judged: f64 = own.iter().map(|turn| turn.finished).sum();
            let told = json!({
                "caveat": "left_unanswered",
                "name": name,
                "unanswered": unanswered,
                "planned": own.iter().map(|turn| left::planned(turn)).sum::<f64>(),
                "longest": own.iter().filter_map(|turn| turn.left.longest()).fold(0.0, f64::max),
                "patience": own[0].judged.asked.patience_us as f64 / 1e6,
                "judged": own.iter().any(|turn| turn.due.is_some()).then_some(judged),
            });
            all.push((told, "who had waited for longer than any took that ended"));
        }
        let none = own.iter().filter(|turn| turn.values[super::THROUGHPUT] == Some(0.0)).count();
        if none > 0 {
            let told = json!({ "caveat": "nothing_answered", "name": name, "turns": none });
            all.push((told, "no good answer in what is measured of them"));
        }
    }

    /// The figures of what is told of missing answers, where it stands.
    fn figures(&self, all: &[(Json, &str)], line: Option<usize>, expected: &mut Expected) {
        let stands = self.verdict.get("caveats").and_then(Json::as_array).into_iter().flatten().enumerate();
        for (i, caveat) in stands {
            let known = |told: &Json| ["caveat", "name"].iter().all(|field| told.get(field) == caveat.get(field));
            let Some((told, _)) = all.iter().find(|(told, _)| known(told)) else { continue };
            for field in ["unanswered", "planned", "longest", "patience", "judged"] {
                if let Some(value) = told.get(field).and_then(Json::as_f64) {
                    expected.is(format!("{LIST}/{i}/{field}"), value, line);
                }
            }
        }
    }

    /// Turns without a steady state, and figures that still rise or fall.
    fn of_time(&self, name: &Json, all: &mut Vec<(Json, &str)>) {
        let counted: Vec<&Turn<'_>> = self.all_of(name).filter(|turn| turn.counts).collect();
        let unsteady = counted.iter().filter(|turn| turn.after.is_none()).count();
        if unsteady * 2 > counted.len() {
            let told = json!({ "caveat": "not_steady", "name": name, "turns": unsteady, "of": counted.len() });
            all.push((told, "in most of its turns that count"));
        }
        let own: Vec<&Turn<'_>> = counted.into_iter().filter(|turn| !turn.control).collect();
        let alpha = ALPHA / (self.order.len() * DRIFTING.len()).max(1) as f64;
        for figure in DRIFTING {
            let series = own.iter().filter_map(|turn| Some((turn.block, turn.values[figure]?))).collect::<Vec<_>>();
            let Some(ratio) = drift(&series, alpha) else { continue };
            let told =
                json!({ "caveat": "drift", "name": name, "figure": FIGURES[figure], "ratio": { "value": ratio } });
            all.push((told, "its later blocks by the earlier ones"));
        }
    }

    /// A change of compression with which responses are as large as without.
    fn not_compressed(&self, events: &Events, base: &Json, other: &Json) -> Option<Json> {
        let changes = |line: &Line| {
            line.json.get("contender") == Some(other) && line.json.get("compression") == Some(&Json::Bool(true))
        };
        events.of("entry").find(|line| changes(line))?;
        let [before, bytes] = [base, other].map(|name| self.of_caveats(name).bytes);
        let known = before.is_finite() && bytes.is_finite() && before > 0.0 && bytes > 0.0;
        (known && (bytes / before - 1.0).abs() < AS_LARGE)
            .then(|| json!({ "caveat": "not_compressed", "name": other, "base": base, "bytes": bytes }))
    }

    fn of_caveats(&self, name: &Json) -> compared::OfCaveats {
        let own = || self.turns.iter().filter(|turn| turn.is(name, false)).map(|turn| &turn.judged.trial);
        let ticks: Vec<&Line> = own().flat_map(Trial::ticks).collect();
        let ended = sum(&ticks, "/ok") + ticks.iter().map(|tick| failed(tick)).sum::<f64>();
        let paced = self.turns.iter().filter(|turn| turn.is(name, false)).map(|turn| turn.paced).sum();
        let answers = own().map(|trial| crate::events::grown(trial, "hidden_errors_total")).collect();
        compared::OfCaveats {
            paced,
            retried: sum(&ticks, "/retried"),
            bytes: sum(&ticks, "/bytes_in") / ended,
            answers,
        }
    }

    /// The figures in which the first contender differs from itself.
    pub(super) fn strays(control: &[bool]) -> Vec<Figure> {
        let strays = FIGURES.iter().zip(control).filter(|(_, differs)| **differs);
        strays.filter_map(|(name, _)| effects::figure_of(name)).collect()
    }
}

/// Whether a server ended in a turn although nobody asked it to.
fn has_died(trial: &Trial<'_>) -> bool {
    let ended = trial.end().is_some_and(|end| end.text("/reason") == "server_died");
    ended || trial.of("state").any(|line| line.text("/state") == "died")
}

/// How many times the earlier half the later half of the blocks has, where that is certain and matters.
fn drift(series: &[(u32, f64)], alpha: f64) -> Option<f64> {
    let middle = series.iter().map(|(block, _)| block).sum::<u32>() / (series.len() as u32).max(1);
    let (late, early): (Vec<_>, Vec<_>) = series.iter().copied().partition(|(block, _)| *block > middle);
    let values = |half: Vec<(u32, f64)>| half.into_iter().map(|(_, value)| value).collect::<Vec<f64>>();
    let ratio = intervals::factor(&values(early), &values(late), alpha)?;
    let certain = ratio.low > 1.0 || ratio.high < 1.0;
    (certain && !(1.0 / DRIFT..=DRIFT).contains(&ratio.value)).then_some(ratio.value)
}
