//! Predictions: what the recorded limits say of the recorded loads, and where those that were met broke.

use genkai_model::evidence::metric;
use genkai_model::limit::{Law, Limit, Sign, Strength};
use genkai_model::load::Load;
use serde_json::Value as Json;

use crate::asked::{self, Asked};
use crate::broken::{self, Judged};
use crate::events::{Events, Line, Trial, merged, rate};
use crate::expected::Expected;
use crate::laws::{Ends, Met, Predicted, predicted};
use crate::scan;

/// How far from the range predicted a break may be: a tenth.
const TOLERANCE: f64 = 0.1;

/// What the events say of `predictions`, `next`, `proposal`, and of what was predicted for causes.
pub(crate) fn expect(events: &Events, verdict: &Json, judged: &[Judged<'_>], expected: &mut Expected) {
    let Some(search) = Search::of(events, verdict, judged) else { return };
    search.table(expected);
    for (i, cause) in search.causes.iter().enumerate() {
        search.cause(&format!("/causes/{i}"), cause, expected);
    }
    search.next(expected);
    search.proposal(expected);
}

/// A search retold by what its verdict names.
struct Search<'a, 'e> {
    events: &'a Events,
    verdict: &'a Json,
    judged: &'a [Judged<'e>],
    causes: &'a [Json],
    /// The limits of the system as it is.
    limits: Vec<Limit>,
    /// The plan's load, with the response times that the first trial showed.
    plan: Met,
}

/// Processor time in use, cores, at a rate of requests a second, and how many cores there are.
#[derive(Clone, Copy)]
struct Busy {
    used: f64,
    rate: f64,
    mark: f64,
}

impl Busy {
    /// The rate at which it runs out.
    fn full(self) -> Ends {
        let full = self.rate * self.mark / self.used;
        (full * (1.0 - TOLERANCE), full * (1.0 + TOLERANCE))
    }
}

/// The limits in force at an event: those told last before it.
pub(crate) fn limits(events: &Events, before: usize) -> Vec<Limit> {
    let told = events.of("limits").filter(|line| line.number < before).last();
    told.and_then(|line| serde_json::from_value(line.json.get("limits")?.clone()).ok()).unwrap_or_default()
}

/// A trial's load as laws meet it, with the response times seen before it broke.
pub(crate) fn met(events: &Events, judged: &Judged<'_>) -> Met {
    let limits = limits(events, judged.trial.start.number);
    Met::of(&judged.asked, &judged.objective, service(judged), &limits)
}

/// The mean response time up to the break, seconds.
fn service(judged: &Judged<'_>) -> Option<f64> {
    let until = judged.onset.map_or(f64::INFINITY, |onset| onset.at_us as f64);
    let ticks: Vec<&Line> = judged.trial.ticks().into_iter().filter(|tick| tick.number("/from_us") <= until).collect();
    let all = merged(&ticks, "/service");
    (all.count() > 0).then(|| all.sum() / all.count() as f64)
}

impl<'a, 'e> Search<'a, 'e> {
    fn of(events: &'a Events, verdict: &'a Json, judged: &'a [Judged<'e>]) -> Option<Search<'a, 'e>> {
        let load: Load = serde_json::from_value(events.head().json.pointer("/plan/load")?.clone()).ok()?;
        let first = judged.iter().find(|one| matches!(one.trial.start.text("/purpose"), "break" | "measure"));
        let before = first.map_or(usize::MAX, |first| first.trial.start.number);
        let limits = limits(events, before);
        let objective = asked::objective(events);
        let asked = Asked::by(load);
        let service = first.and_then(|first| met(events, first).service);
        let plan = Met::of(&asked, &objective, service, &limits);
        let causes = verdict.get("causes").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
        Some(Search { events, verdict, judged, causes, limits, plan })
    }

    fn judged(&self, number: Option<&Json>) -> Option<&'a Judged<'e>> {
        let number = number?.as_u64()? as u32;
        self.judged.iter().find(|one| one.trial.number == number)
    }

    /// The table of predictions for the system as it is.
    fn table(&self, expected: &mut Expected) {
        let line = self.events.of("limits").next().map(|line| line.number);
        let rows = self.verdict.get("predictions").and_then(Json::as_array);
        let mut all: Vec<(&Limit, Predicted)> =
            self.limits.iter().map(|limit| (limit, predicted(&limit.law, &self.plan))).collect();
        let bites =
            |(limit, predicted): &(&Limit, Predicted)| predicted.bites(&limit.law, &self.plan).unwrap_or(f64::INFINITY);
        // The tightest first.
        all.sort_by(|a, b| bites(a).total_cmp(&bites(b)));
        if rows.is_none_or(|rows| rows.len() != all.len()) {
            expected.word("/predictions", Json::Null, &format!("there are {} limits", all.len()), line);
            return;
        }
        for (i, (limit, mut predicted)) in all.into_iter().enumerate() {
            let address = format!("/predictions/{i}");
            expected.word(format!("{address}/limit"), limit.id.clone(), "the tightest first", line);
            let inside = predicted.bites(&limit.law, &self.plan).is_some_and(|at| self.plan.level > at);
            let busy = self.processor(limit);
            expected.is(format!("{address}/told_from/cores"), busy.map(|busy| busy.used), line);
            expected.is(format!("{address}/told_from/rate"), busy.map(|busy| busy.rate), line);
            let inside = match busy.map(Busy::full) {
                Some(full) => {
                    predicted.rate = Some(full);
                    self.plan.spawn.is_none() && self.plan.level > full.1
                }
                None => inside,
            };
            expected.word(format!("{address}/within_load"), inside, "by its law", line);
            ranges(&address, &predicted, line, expected);
            expected.is(format!("{address}/observed"), self.observed(limit), line);
        }
    }

    /// Where a limit of the system as it is really broke: of the cause that has the same value and law.
    fn observed(&self, limit: &Limit) -> Option<f64> {
        let of = |cause: &&Json| {
            let same = cause.pointer("/limit/id").and_then(Json::as_str) == Some(limit.id.as_str())
                && cause.pointer("/limit/value").and_then(Json::as_str) == Some(limit.value.as_str());
            let law = cause.pointer("/limit/law").and_then(|law| serde_json::from_value::<Law>(law.clone()).ok());
            let refuted = cause.get("confidence").and_then(Json::as_str) == Some("refuted");
            same && !refuted && law.as_ref() == Some(&limit.law)
        };
        let cause = self.causes.iter().find(of)?;
        self.counted(limit, self.judged(cause.get("trial"))?)
    }

    /// What a limit counts, when a trial broke: in the unit of its law, or else clients in flight.
    fn counted(&self, limit: &Limit, judged: &Judged<'_>) -> Option<f64> {
        let met = met(self.events, judged);
        self.place(limit, judged, &met).map(|(_, seen)| seen).or(judged.in_flight())
    }

    /// The range that a law predicts for what it counts, and what was counted.
    fn place(&self, limit: &Limit, judged: &Judged<'_>, met: &Met) -> Option<(Ends, f64)> {
        let predicted = predicted(&limit.law, met);
        let onset = judged.onset?;
        match limit.law {
            Law::Slots { idle_cost, .. } => {
                let users = met.think == 0.0 && !met.tunnels && met.spawn.is_some();
                let connected = !met.tunnels && met.keeps && idle_cost > 0.0;
                let connections = || broken::gauge(&judged.trial.ticks(), onset.at_us as f64, "/connections");
                let seen = match () {
                    () if users => judged.level()?,
                    () if connected => connections(),
                    () => judged.in_flight()?,
                };
                Some((predicted.clients?, seen))
            }
            Law::Workers { .. } | Law::Growing { .. } | Law::Rate { .. } | Law::NewConnections { .. } => {
                Some((predicted.levels(met)?, judged.level()?))
            }
            _ => None,
        }
    }

    /// What the last three seconds before the break used of processor time; none where too little to tell anything from.
    fn processor(&self, limit: &Limit) -> Option<Busy> {
        let Law::Cpu { .. } = limit.law else { return None };
        let own = limit.signatures.iter().filter(|one| one.strength >= Strength::Supports);
        let (name, mark) = own
            .filter_map(|one| match &one.sign {
                Sign::Reached { metric, value } if metric != metric::THROTTLED => Some((metric, *value)),
                _ => None,
            })
            .next()?;
        let first = self.judged.iter().find(|one| matches!(one.trial.start.text("/purpose"), "break" | "measure"))?;
        let ticks = first.trial.ticks();
        let end = match first.onset {
            Some(onset) => onset.at_us as f64,
            None => ticks.last()?.number("/to_us"),
        };
        let begin = (end - 3e6).max(0.0);
        let inside =
            |line: &&Line| scan::since(&first.trial, line).is_some_and(|at| at as f64 > begin && at as f64 <= end);
        let looks = first.trial.of("sample").filter(inside);
        let values: Vec<f64> = looks.filter_map(|line| line.json.get("metrics")?.get(name)?.as_f64()).collect();
        let used = values.iter().sum::<f64>() / values.len() as f64;
        let part: Vec<&Line> = ticks
            .into_iter()
            .filter(|tick| tick.number("/to_us") > begin && tick.number("/from_us") <= (end - 1.0).max(0.0))
            .collect();
        let rate = rate(&part);
        let enough = values.len() >= 5 && used >= 0.1 * mark && rate > 0.0 && end >= 1e6;
        enough.then_some(Busy { used, rate, mark })
    }

    fn cause(&self, address: &str, cause: &Json, expected: &mut Expected) {
        let Some(judged) = self.judged(cause.get("trial")) else { return };
        let line = Some(judged.trial.start.number);
        let told = limits(self.events, judged.trial.start.number);
        let Some(limit) =
            told.iter().find(|one| Some(one.id.as_str()) == cause.pointer("/limit/id").and_then(Json::as_str))
        else {
            return;
        };
        let met = met(self.events, judged);
        ranges(&format!("{address}/predicted"), &predicted(&limit.law, &met), line, expected);
        expected.is(format!("{address}/predicted/observed"), self.counted(limit, judged), line);
        let place = self.place(limit, judged, &met);
        for (i, one) in cause.get("evidence").and_then(Json::as_array).into_iter().flatten().enumerate() {
            if let (Some("place"), Some((ends, seen))) = (one.get("evidence").and_then(Json::as_str), place) {
                expected.between(format!("{address}/evidence/{i}/predicted"), Some(ends), line);
                expected.is(format!("{address}/evidence/{i}/observed"), seen, line);
            }
        }
        if let Some(after) = cause.get("counterfactual").and_then(|one| self.judged(one.get("trial"))) {
            let next = self.expected_next(limit, judged, after);
            expected.between(format!("{address}/counterfactual/predicted"), next, Some(after.trial.start.number));
        }
    }

    /// Where the next limit should be met once one was lifted: the first beyond the break, or the lifted one itself.
    fn expected_next(&self, lifted: &Limit, before: &Judged<'_>, after: &Judged<'_>) -> Option<Ends> {
        let met = met(self.events, after);
        let size = if met.tunnels { before.in_flight()? } else { before.level()? };
        let told = limits(self.events, after.trial.start.number);
        let all = told.iter().filter_map(|limit| {
            let predicted = predicted(&limit.law, &met);
            Some((predicted.bites(&limit.law, &met)?, limit, predicted))
        });
        let beyond = all.filter(|(at, limit, _)| *at > size * (1.0 + TOLERANCE) || limit.id == lifted.id);
        let (at, _, predicted) = beyond.reduce(|a, b| if b.0 < a.0 { b } else { a })?;
        let levels = predicted.levels(&met);
        let clients = predicted.clients.filter(|_| met.think == 0.0 || levels.is_none());
        clients.or(levels).filter(|_| at < met.level)
    }

    /// What breaks next, with the plan's load.
    fn next(&self, expected: &mut Expected) {
        let Some(next) = self.verdict.get("next").filter(|next| next.is_object()) else { return };
        let text = |name: &str| next.get(name).and_then(Json::as_str).unwrap_or_default();
        let told = self.events.of("limits");
        let all = told.filter_map(|line| {
            let limits: Vec<Limit> = serde_json::from_value(line.json.get("limits")?.clone()).ok()?;
            let limit = limits.into_iter().find(|one| one.id == text("limit") && one.value == text("value"))?;
            Some((line.number, limit))
        });
        let Some((line, limit)) = all.last() else {
            return expected.word("/next/limit", Json::Null, "no limit of this name and value was told", None);
        };
        ranges("/next", &predicted(&limit.law, &self.plan), Some(line), expected);
        let seen = self.met_next().and_then(|judged| self.counted(&limit, judged));
        expected.is("/next/observed", seen, Some(line));
    }

    /// The trial in which what breaks next was met: of a cause that nothing was done about, or after the last change.
    fn met_next(&self) -> Option<&'a Judged<'e>> {
        let last = self.causes.last()?;
        match last.get("confidence").and_then(Json::as_str) {
            Some("refuted") | None => None,
            Some("proved") => {
                let from = self
                    .judged
                    .iter()
                    .rposition(|one| !matches!(one.trial.start.text("/purpose"), "baseline" | "proposal"));
                let proof = &self.judged[from.map_or(0, |last| last + 1)..];
                let failed = proof.iter().find(|one| {
                    one.trial.start.text("/purpose") == "proposal" && one.onset.is_some() && ended(&one.trial)
                });
                failed.or_else(|| self.judged(last.pointer("/counterfactual/trial")).filter(|one| one.onset.is_some()))
            }
            Some(_) => self.judged(last.get("trial")),
        }
    }

    /// The clients that proposed values hold for: by the law, with the value in place.
    fn proposal(&self, expected: &mut Expected) {
        let changes = self.verdict.get("proposal").and_then(Json::as_array);
        for (i, change) in changes.into_iter().flatten().enumerate() {
            let id = change.get("limit");
            let proved = |cause: &&Json| {
                cause.pointer("/limit/id") == id && cause.get("confidence").and_then(Json::as_str) == Some("proved")
            };
            let Some(judged) = self.causes.iter().rev().find(proved).and_then(|cause| self.judged(cause.get("trial")))
            else {
                continue;
            };
            let told = limits(self.events, judged.trial.start.number);
            let Some(limit) = told.iter().find(|one| Some(one.id.as_str()) == id.and_then(Json::as_str)) else {
                continue;
            };
            let to = change.pointer("/change/to").and_then(Json::as_str).and_then(|to| to.parse::<f64>().ok());
            let Some(to) = to else { continue };
            let law = match limit.law {
                Law::Slots { reserved, idle_cost, busy_cost, pools, soft, .. } => {
                    Law::Slots { value: to, reserved, idle_cost, busy_cost, pools, soft }
                }
                _ => Law::Unknown,
            };
            let holds = predicted(&law, &met(self.events, judged)).clients;
            expected.between(format!("/proposal/{i}/holds_for"), holds, Some(judged.trial.start.number));
        }
    }
}

/// Whether a trial ran as it should.
fn ended(trial: &Trial<'_>) -> bool {
    trial.end().is_some_and(|end| matches!(end.text("/reason"), "completed" | "break_seen" | "server_died"))
}

/// A prediction in each of its units.
fn ranges(address: &str, of: &Predicted, line: Option<usize>, expected: &mut Expected) {
    for (name, ends) in [("clients", of.clients), ("users", of.users), ("rate", of.rate)] {
        expected.between(format!("{address}/{name}"), ends, line);
    }
    expected.is(format!("{address}/bytes"), of.bytes, line);
}
