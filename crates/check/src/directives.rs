//! A search among directives told once more, from its steps alone: which of them were left out when it held, and what that is worth.
//!
//! Nothing is searched here: of the steps that are there, it is the one that held with the fewest left out.

use genkai_model::objective::Condition;
use serde_json::Value as Json;

use crate::broken::{self, Judged};
use crate::events::{Events, Line, failed, sum};
use crate::expected::Expected;
use crate::intervals::{self, Counts};
use crate::predictions::met;
use crate::scan::Onset;
use crate::weigh;

/// What came of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    Held,
    Failed,
    Otherwise,
    NotAccepted,
    Unknown,
}

/// A set of which nothing could be told is tried so often.
const OFTEN: usize = 3;
/// So often both are tried where a part of the requests fails.
const AT_RANDOM: usize = 3;

/// A search.
pub(crate) struct Removals<'e> {
    began: &'e Line,
    /// What was left out, and what came of it, in order.
    steps: Vec<(Vec<u64>, Came)>,
    /// Of each step, what failed and what came to an end in its load, where that broke by failures, or held.
    counts: Vec<Option<Counts>>,
    /// Whether every content that was no failure's was held against one.
    all_compared: bool,
    /// What was answered with all in place, at first.
    first_status: Option<u64>,
}

impl<'e> Removals<'e> {
    /// The search of a record, if there is one.
    pub(crate) fn of(events: &'e Events, judged: &[Judged<'e>]) -> Option<Removals<'e>> {
        let began = events.of("bisection").last()?;
        let lines: Vec<&Line> = events.of("removal").filter(|line| line.number > began.number).collect();
        let trial = |at: usize| {
            let until = lines.get(at + 1).map_or(usize::MAX, |next| next.number);
            let mine = |one: &&Judged<'e>| {
                let start = one.trial.start;
                start.text("/purpose") == "bisect" && (lines[at].number..until).contains(&start.number)
            };
            judged.iter().find(mine)
        };
        let step = |(at, line): (usize, &&'e Line)| {
            let removed = line.items("/removed").iter().filter_map(Json::as_u64).collect();
            (removed, came(began, line, trial(at)))
        };
        let steps = lines.iter().enumerate().map(step).collect();
        let counts = (0..lines.len()).map(|at| counts(trial(at)?)).collect();
        let first_status = lines.first().and_then(|line| line.json.pointer("/page/status")?.as_u64());
        let unheld = |page: &Json| page.get("digest").is_none();
        let answered = |page: &&Json| page.get("status").and_then(Json::as_u64).is_some_and(|status| status < 400);
        let all_compared = !began.items("/normal").iter().all(unheld)
            && !lines.iter().filter_map(|line| line.json.get("page")).filter(answered).any(unheld);
        Some(Removals { began, steps, counts, all_compared, first_status })
    }

    /// Whether it proves what it names.
    pub(crate) fn is_proved(&self) -> bool {
        self.ended() == "proved"
    }

    /// Whether requests were refused before anything was left out, and not as failures of a server: what heals lets in who was kept out.
    fn lets_in(&self) -> bool {
        matches!(self.first_status, Some(401 | 403 | 405..=407 | 410 | 418 | 429 | 451))
    }

    /// Whether one of those without which it held protects something.
    pub(crate) fn opens_what_is_protected(&self) -> bool {
        let all = self.began.items("/directives");
        if self.lets_in() && self.fewest().is_some() {
            return true;
        }
        let left_out = self.fewest().unwrap_or_default().iter().filter_map(|at| all.get(*at as usize));
        left_out.filter_map(|one| one.get("protects")).any(|told| *told == Json::Bool(true))
    }

    /// The last step that held of those with the fewest left out.
    fn fewest(&self) -> Option<&[u64]> {
        let held = self.steps.iter().filter(|(set, came)| *came == Came::Held && !set.is_empty());
        let held = held.map(|(set, _)| set.as_slice());
        held.rev().min_by_key(|set| set.len())
    }

    /// How many directives were left out in at least one step of which it is known whether it held.
    fn seen(&self) -> usize {
        let steps = self.steps.iter().filter(|(_, came)| matches!(came, Came::Held | Came::Failed));
        let mut seen: Vec<u64> = steps.flat_map(|(set, _)| set.iter().copied()).collect();
        seen.sort_unstable();
        seen.dedup();
        seen.len()
    }

    /// What came of a set from a step on, where that is known; and whether it was tried so often that no more is tried.
    fn outcome(&self, from: usize, set: &[u64]) -> (Option<Came>, bool) {
        let tried: Vec<Came> = self.steps[from..].iter().filter(|step| step.0 == set).map(|step| step.1).collect();
        let known = tried.iter().copied().find(|came| *came != Came::Unknown);
        (known, known.is_some() || tried.len() >= OFTEN)
    }

    fn was_tried(&self, set: &[u64]) -> bool {
        self.outcome(0, set).1
    }

    /// All of `set` but each.
    fn fewer(set: &[u64]) -> Vec<Vec<u64>> {
        let but = |one: &u64| set.iter().copied().filter(|other| other != one).collect();
        if set.len() < 2 { Vec::new() } else { set.iter().map(but).collect() }
    }

    /// Whether each of `set` was tried alone, and all of it but each.
    fn is_exhausted(&self, set: &[u64]) -> bool {
        Self::fewer(set).iter().all(|rest| self.was_tried(rest))
            && (set.len() < 2 || set.iter().all(|one| self.was_tried(&[*one])))
    }

    fn ended(&self) -> &'static str {
        let all: Vec<u64> = (0..self.began.items("/directives").len() as u64).collect();
        match self.steps.first() {
            None => return "unfinished",
            Some((_, Came::Failed)) => {}
            Some((_, Came::Unknown)) => return "untold",
            Some((_, Came::Otherwise)) => return "unsteady",
            Some(_) => return "not_failing",
        }
        let Some(set) = self.fewest() else {
            let done = all.is_empty() || self.was_tried(&all) && self.is_exhausted(&all);
            let open = self.steps.iter().any(|(set, _)| self.outcome(0, set).0.is_none());
            return match done {
                true if open => "undecided",
                true => "nothing",
                false => "unfinished",
            };
        };
        if !self.is_exhausted(set) {
            return "unfinished";
        }
        if Self::fewer(set).iter().any(|rest| self.outcome(0, rest).0.is_none()) {
            return "undecided";
        }
        let first = |from: usize, wanted: &[u64], came: Came| {
            (from..self.steps.len()).find(|at| self.steps[*at].0 == wanted && self.steps[*at].1 == came)
        };
        let mut from = first(0, set, Came::Held).unwrap_or(self.steps.len());
        let (mut left_out, mut in_place) = ((0.0, 0.0), (0.0, 0.0));
        for _ in 0..AT_RANDOM {
            match self.outcome(from, &[]) {
                (None, false) => return "unfinished",
                (None, true) => return "untold",
                (Some(Came::Failed), _) => {}
                (Some(Came::Otherwise), _) => return "unsteady",
                (Some(_), _) => return "not_reproduced",
            }
            let failed = first(from, &[], Came::Failed).unwrap_or(self.steps.len());
            match self.outcome(failed, set) {
                (None, false) => return "unfinished",
                (None, true) => return "undecided",
                (Some(Came::Held), _) => {}
                (Some(_), _) => return "not_reproduced",
            }
            let held = first(failed, set, Came::Held).unwrap_or(self.steps.len());
            let count = |at: usize| self.counts.get(at).copied().flatten();
            let (Some(more), Some(less)) = (count(failed), count(held)) else { return "proved" };
            in_place = (in_place.0 + more.0, in_place.1 + more.1);
            left_out = (left_out.0 + less.0, left_out.1 + less.1);
            if intervals::differ(left_out, in_place, intervals::ALPHA).0 > 0.0 {
                return "proved";
            }
            from = held;
        }
        "chance"
    }

    /// What the verdict must say of it.
    pub(crate) fn expect(&self, expected: &mut Expected) {
        let (ended, line) = (self.ended(), Some(self.began.number));
        let why = "the steps of the search, one by one";
        expected.word("/bisection/ended", ended, why, line);
        let named = self
            .fewest()
            .filter(|_| !matches!(ended, "nothing" | "not_failing" | "untold" | "unsteady"))
            .unwrap_or_default();
        let directives = self.began.items("/directives");
        let mut named: Vec<Json> = named.iter().filter_map(|at| directives.get(*at as usize).cloned()).collect();
        if self.lets_in() {
            named.iter_mut().filter_map(Json::as_object_mut).for_each(|one| {
                one.insert("protects".to_owned(), true.into());
            });
        }
        expected.same("/bisection/named", &named.into(), "the fewest without which it held", line);
        let compared = self.all_compared;
        expected.word("/bisection/compared", compared, why, line);
        for name in ["budget", "tried_by"] {
            let told = self.began.json.get(name).cloned().unwrap_or_default();
            expected.same(&format!("/bisection/{name}"), &told, "as it began", line);
        }
        let count = |wanted: Came| self.steps.iter().filter(|(_, came)| *came == wanted).count() as f64;
        let figures = [
            ("directives", directives.len() as f64),
            ("tried", self.steps.len() as f64),
            ("refused", count(Came::NotAccepted)),
            ("kept", directives.len().saturating_sub(self.seen()) as f64),
            ("altered", count(Came::Otherwise)),
        ];
        for (name, value) in figures {
            expected.is(format!("/bisection/{name}"), value, line);
        }
    }
}

/// What came of a step: by what the product said, what it answered, and what became of the load that was sent to it.
fn came(began: &Line, step: &Line, trial: Option<&Judged<'_>>) -> Came {
    if step.json.get("refused").is_some() {
        return Came::NotAccepted;
    }
    let Some(page) = step.json.get("page") else { return Came::Unknown };
    let by_request = began.text("/tried_by/by") == "request";
    let status = page.get("status").and_then(Json::as_u64).unwrap_or(999);
    let normal = began.items("/normal");
    // Of several requests that were asked, each has its own.
    let kinds = |one: &Json| -> Vec<u64> {
        let all = one.get("statuses").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        all.iter().filter_map(Json::as_u64).map(|status| status / 100).collect()
    };
    let as_normal = |one: &Json| {
        let both = one.get("digest").zip(page.get("digest"));
        one.get("status").and_then(Json::as_u64).map(|one| one / 100) == Some(status / 100)
            && kinds(one) == kinds(page)
            && both.is_none_or(|(one, other)| one == other)
    };
    let is_normal = match normal {
        _ if status >= 400 => false,
        [] => status < 300,
        all => all.iter().any(as_normal),
    };
    match (is_normal, by_request) {
        (true, true) => Came::Held,
        (true, false) => trial.map_or(Came::Unknown, under_load),
        (false, true) if status >= 400 => Came::Failed,
        (false, _) => Came::Otherwise,
    }
}

/// Failures, and all that came to an end; none where something else broke it.
fn counts(trial: &Judged<'_>) -> Option<Counts> {
    let by_failures =
        |onset: Onset| matches!(onset.condition, Some(Condition::ErrorsBelow(_))) && broken::waits(&onset) == 0.0;
    let ticks = trial.trial.ticks();
    let bad: f64 = ticks.iter().map(|tick| failed(tick)).sum();
    trial.onset.is_none_or(by_failures).then(|| (bad, bad + sum(&ticks, "/ok")))
}

fn under_load(trial: &Judged<'_>) -> Came {
    match trial.onset {
        _ if !trial.is_whole() || !trial.generator.is_valid() => Came::Unknown,
        Some(_) if weigh::is_crowded(trial, &met(trial)) => Came::Unknown,
        Some(_) => Came::Failed,
        None if trial.is_silent() => Came::Unknown,
        None => Came::Held,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(json: Json) -> Line {
        Line { number: 1, json }
    }

    /// How a search of two directives ends whose second alone is to blame, with these as its last steps.
    fn ending(last: &[(&[u64], Came)]) -> &'static str {
        counted(last, |_| None)
    }

    /// The same, with what failed, and what came to an end, in the load of a step.
    fn counted(last: &[(&[u64], Came)], of: impl Fn(Came) -> Option<Counts>) -> &'static str {
        let began = line(json!({ "directives": [{}, {}] }));
        let (all, one, two): (&[u64], &[u64], &[u64]) = (&[0, 1], &[0], &[1]);
        let first: [(&[u64], Came); 4] =
            [(&[], Came::Failed), (all, Came::Held), (one, Came::Failed), (two, Came::Held)];
        let steps: Vec<_> = first.iter().chain(last).map(|(set, came)| (set.to_vec(), *came)).collect();
        let counts = steps.iter().map(|(_, came)| of(*came)).collect();
        Removals { began: &began, steps, counts, all_compared: true, first_status: None }.ended()
    }

    #[test]
    fn an_end_is_what_was_seen_at_last() {
        let failed: (&[u64], Came) = (&[], Came::Failed);
        let held: (&[u64], Came) = (&[1], Came::Held);
        assert_eq!(ending(&[failed]), "unfinished");
        assert_eq!(ending(&[failed, held]), "proved");
        assert_eq!(ending(&[(&[], Came::Held)]), "not_reproduced");
        assert_eq!(ending(&[(&[], Came::Otherwise)]), "unsteady");
        let untold: (&[u64], Came) = (&[], Came::Unknown);
        assert_eq!(ending(&[untold; OFTEN]), "untold");
        assert_eq!(ending(&[failed, (&[1], Came::Failed)]), "not_reproduced");
        assert_eq!(ending(&[failed, (&[1], Came::Otherwise)]), "not_reproduced");
        let unknown: (&[u64], Came) = (&[1], Came::Unknown);
        assert_eq!(ending(&[failed, unknown, unknown]), "unfinished");
        assert_eq!(ending(&[failed, unknown, unknown, unknown]), "undecided");
    }

    #[test]
    fn what_fails_at_times_is_tried_until_chance_is_excluded() {
        let failed: (&[u64], Came) = (&[], Came::Failed);
        let held: (&[u64], Came) = (&[1], Came::Held);
        let of = |bad: f64| move |came: Came| Some((if came == Came::Held { 1.0 } else { bad }, 200.0));
        assert_eq!(counted(&[failed, held], of(150.0)), "proved");
        assert_eq!(counted(&[failed, held], of(3.0)), "unfinished");
        assert_eq!(counted(&[failed, held, failed, held, failed, held], of(3.0)), "chance");
        assert_eq!(counted(&[failed, held, failed, (&[1], Came::Failed)], of(3.0)), "not_reproduced");
    }

    #[test]
    fn each_of_several_requests_has_an_answer_of_its_own() {
        let normal = json!([{ "status": 301, "statuses": [200, 301], "digest": "old" }]);
        let began = line(json!({ "tried_by": { "by": "request" }, "normal": normal }));
        let came = |page: Json| came(&began, &line(json!({ "page": page })), None);
        assert_eq!(came(json!({ "status": 302, "statuses": [200, 302], "digest": "old" })), Came::Held);
        assert_eq!(came(json!({ "status": 302, "statuses": [302, 301], "digest": "old" })), Came::Otherwise);
        assert_eq!(came(json!({ "status": 503, "statuses": [200, 503] })), Came::Failed);
        assert_eq!(came(json!({})), Came::Failed);
    }
}
