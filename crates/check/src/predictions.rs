//! Predictions: what the recorded limits say of the recorded loads, and where those that were met broke.

use genkai_model::evidence::metric;
use genkai_model::limit::{Law, Limit, Sign, Strength};
use genkai_model::load::Load;
use serde_json::Value as Json;

use crate::asked::{self, Asked, TOLERANCE};
use crate::broken::{self, Judged};
use crate::comes::is_never_full;
use crate::events::{Events, Line, merged, rate};
use crate::expected::Expected;
use crate::following;
use crate::laws::{Predicted, of_limit, predicted};
use crate::met::{Ends, Met};
use crate::onward;
use crate::price::{self, Priced};
use crate::{scan, served, servers, weigh};

/// What the events say of `predictions`, `next`, `proposal`, and of what was predicted for causes.
pub(crate) fn expect<'e>(events: &Events, verdict: &Json, judged: &[Judged<'e>], expected: &mut Expected) {
    let goal = asked::goal(events).1;
    let seen = |one: &Judged<'e>| match one.trial.start.text("/purpose") {
        "counterfactual" => one.beyond(goal),
        _ => one.clone(),
    };
    let judged: Vec<Judged<'e>> = judged.iter().map(seen).collect();
    let Some(search) = Search::of(events, verdict, &judged) else { return };
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

/// A trial's load as laws meet it, with the response times seen before it broke.
pub(crate) fn met(judged: &Judged<'_>) -> Met {
    let mut met = Met::of(&judged.asked, &judged.objective, service(judged), &judged.limits);
    met.place = servers::of(judged);
    // Without an answer, what limits tell of themselves is all that is known.
    if service(judged).is_some() {
        met.unloaded = unloaded(judged, &met);
    }
    met
}

/// The mean response time, seconds, up to the break and to the end of the last interval before one with more requests in flight than any
/// limit that makes wait lets through, or more connections than one lets through whose places kept connections hold, or in which a request may
/// have waited for its turn at a rate for more than a tenth of the mean there, had all come at once. Where there is such an
/// interval, the mean must be known: 2 s / sqrt(n) within a tenth of it, n at least 3, and time for two of the longest.
fn unloaded(judged: &Judged<'_>, met: &Met) -> Option<f64> {
    let until = judged.onset.map_or(f64::INFINITY, |onset| onset.at_us as f64);
    let (mut busy, mut kept) = (f64::INFINITY, f64::INFINITY);
    // Rate, how many need not wait, requests that are not let through yet.
    let mut queues: Vec<(f64, f64, f64)> = Vec::new();
    for limit in judged.limits.iter().filter(|limit| limit.symptom.slow) {
        match limit.law {
            Law::NewConnections { .. } if !met.keeps => return None,
            Law::Rate { value, at_once: Some(early), burst } if burst > early => queues.push((value, early, 0.0)),
            _ => {}
        }
        let held = matches!(limit.law, Law::Slots { idle_cost, .. } if idle_cost > 0.0) && met.keeps;
        if matches!(limit.law, Law::Slots { .. } | Law::Workers { .. } | Law::Growing { .. }) {
            let Some((low, _)) = of_limit(limit, met).clients else { continue };
            let most = if held { &mut kept } else { &mut busy };
            *most = most.min(low);
        }
    }
    let (mut few, mut more) = (Vec::new(), false);
    for tick in judged.trial.ticks() {
        if tick.number("/from_us") > until {
            break;
        }
        let (asking, open) = (tick.number("/in_flight"), tick.number("/connections"));
        let seconds = (tick.number("/to_us") - tick.number("/from_us")) / 1e6;
        let own = merged(&[tick], "/service");
        for (rate, early, queued) in &mut queues {
            let all = *queued + tick.number("/sent");
            let last_waits = (all - 1.0 - *early) / *rate;
            more = more || own.count() > 0 && last_waits > 0.0 && last_waits > TOLERANCE * own.moments().0;
            *queued = f64::max(0.0, all - *rate * seconds);
        }
        more = more || asking > busy.min(kept) || open > kept;
        if !more {
            few.push(tick);
        }
    }
    let took = merged(&few, "/service");
    let n = took.count() as f64;
    let (mean, spread) = took.moments();
    let had = few.last().map_or(0.0, |tick| tick.number("/to_us") / 1e6);
    let known = n >= 3.0 && 2.0 * spread / n.sqrt() <= TOLERANCE * mean && had >= 2.0 * took.quantile(1.0)?;
    (n > 0.0 && (known || !more)).then_some(mean)
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
        let limits = asked::limits(events, before);
        let objective = asked::objective(events);
        let asked = Asked::by(load);
        let seen = first.map(met).filter(|seen| seen.service.is_some());
        let mut plan = Met::of(&asked, &objective, seen.as_ref().and_then(|seen| seen.service), &limits);
        if let Some(seen) = seen {
            (plan.unloaded, plan.place) = (seen.unloaded, seen.place);
        }
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
            self.limits.iter().map(|limit| (limit, of_limit(limit, &self.plan))).collect();
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
            let formula = cause.pointer("/limit/formula").and_then(Json::as_str) == Some(limit.formula.as_str());
            same && !refuted && law.as_ref() == Some(&limit.law) && (formula || limit.law == Law::Unknown)
        };
        let cause = self.causes.iter().find(of)?;
        self.counted(limit, self.judged(cause.get("trial"))?)
    }

    /// What a limit counts, when a trial broke: in the unit of its law, or else clients in flight.
    fn counted(&self, limit: &Limit, judged: &Judged<'_>) -> Option<f64> {
        let met = met(judged);
        weigh::place(limit, judged, &met).map(|(_, seen)| seen).or(judged.in_flight())
    }

    /// What processor time the first trial used; none where too little to tell anything from.
    fn processor(&self, limit: &Limit) -> Option<Busy> {
        let first = self.judged.iter().find(|one| matches!(one.trial.start.text("/purpose"), "break" | "measure"))?;
        busy(limit, first)
    }

    /// The same in the trial that held at last: after the last change, or the first.
    fn busy_next(&self, limit: &Limit) -> Option<Busy> {
        let changed = self.causes.iter().rev().find_map(|cause| self.judged(cause.pointer("/counterfactual/trial")));
        changed.map_or_else(|| self.processor(limit), |judged| busy(limit, judged))
    }

    fn cause(&self, address: &str, cause: &Json, expected: &mut Expected) {
        let Some(judged) = self.judged(cause.get("trial")) else { return };
        let line = Some(judged.trial.start.number);
        let told = &judged.limits;
        let Some(limit) =
            told.iter().find(|one| Some(one.id.as_str()) == cause.pointer("/limit/id").and_then(Json::as_str))
        else {
            return;
        };
        let met = met(judged);
        let told = of_limit(limit, &met);
        ranges(&format!("{address}/predicted"), &told, line, expected);
        named(&format!("{address}/predicted"), limit, &told, &met, line, expected);
        expected.is(format!("{address}/predicted/observed"), self.counted(limit, judged), line);
    }

    /// What breaks next, with the plan's load.
    fn next(&self, expected: &mut Expected) {
        let Some(next) = self.verdict.get("next").filter(|next| next.is_object()) else {
            expected.there("/next_met", false, "nothing is known to come next", None);
            return expected.there("/next_or", false, "nothing is known to come next", None);
        };
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
        let mut told = of_limit(&limit, &self.plan);
        if next.get("told_from").is_some_and(Json::is_object) {
            let busy = self.busy_next(&limit);
            expected.is("/next/told_from/cores", busy.map(|busy| busy.used), Some(line));
            expected.is("/next/told_from/rate", busy.map(|busy| busy.rate), Some(line));
            told.rate = busy.map(Busy::full).or(told.rate);
        }
        ranges("/next", &told, Some(line), expected);
        named("/next", &limit, &told, &self.plan, Some(line), expected);
        let failed = self.met_next().filter(|judged| judged.trial.start.text("/purpose") == "proposal");
        if let Some(judged) = failed {
            let all = weigh::all(judged, &met(judged), &[]);
            let shown = all.iter().find(|one| one.left_a_sign()).map(|one| one.limit.id.as_str());
            let why = "a proposal that failed is laid to what left a sign in that trial";
            expected.word("/next/limit", shown, why, Some(judged.trial.start.number));
        }
        let seen = self.met_next().and_then(|judged| self.counted(&limit, judged));
        expected.is("/next/observed", seen, Some(line));
        let came = self.met_next().map_or(Json::Null, broken::came);
        expected.same("/next_met", &came, "the trial in which what breaks next was met", Some(line));
        let measured = next.get("told_from").is_some_and(Json::is_object);
        self.or(&limit, seen.is_none().then_some(measured), line, expected);
    }

    /// What may be met before `next`: nothing where it was seen (`measured` is none), else whether it is told from what the processor did, or foretold.
    fn or(&self, next: &Limit, measured: Option<bool>, line: usize, expected: &mut Expected) {
        let Some(measured) = measured else {
            return expected.there("/next_or", false, "what comes next was seen", Some(line));
        };
        let lifted = self.causes.iter().rev().find(|cause| lifted(cause));
        let after = lifted.and_then(|cause| self.judged(cause.pointer("/counterfactual/trial")));
        let first = self.judged.iter().find(|one| matches!(one.trial.start.text("/purpose"), "break" | "measure"));
        let held = after.or(first).map_or(0.0, Judged::held_to);
        let reached = if after.is_some() { held.max(self.plan.level) } else { held };
        let limits = after.map_or(&self.limits, |after| &after.limits);
        let objective = asked::objective(self.events);
        let (chosen, others) = match measured {
            true => (Some(next), following::untold(limits, &self.plan, &objective, None)),
            false => following::of(limits, &self.plan, (reached, after.or(first).map(|one| &one.trial)), &objective),
        };
        let told = self.verdict.get("next_or").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
        if following::may_be_at_work(next, self.verdict) && told.is_empty() {
            return;
        }
        let why = format!("the first of which it is foretold that it is met beyond {reached}");
        expected.word("/next/limit", chosen.map(|one| one.id.clone()), &why, Some(line));
        expected.there(format!("/next_or/{}", others.len()), false, "so many may come first", Some(line));
        for (i, limit) in others.into_iter().enumerate() {
            let address = format!("/next_or/{i}");
            let told = of_limit(limit, &self.plan);
            ranges(&address, &told, Some(line), expected);
            named(&address, limit, &told, &self.plan, Some(line), expected);
            expected.is(format!("{address}/observed"), None, Some(line));
        }
    }

    /// The trial in which what breaks next was met: in the proof of what carried the load in the search, of a cause that nothing was done about, or
    /// after the last change.
    fn met_next(&self) -> Option<&'a Judged<'e>> {
        let last = self.causes.last()?;
        let failed = || self.proposals().into_iter().find(|one| one.onset.is_some());
        let carried = self.verdict.pointer("/decision/decided").and_then(Json::as_str) == Some("carried");
        match last.get("confidence").and_then(Json::as_str) {
            _ if carried && let Some(failed) = failed() => Some(failed),
            Some("refuted") | None => None,
            Some(_) if lifted(last) => {
                self.judged(last.pointer("/counterfactual/trial")).filter(|one| one.onset.is_some())
            }
            Some(_) => self.judged(last.get("trial")),
        }
    }

    /// The proposals of the last proof that ran to their end.
    fn proposals(&self) -> Vec<&'a Judged<'e>> {
        let is_proof = |one: &Judged<'_>| matches!(one.trial.start.text("/purpose"), "baseline" | "proposal");
        let begin = self.judged.iter().rposition(|one| !is_proof(one)).map_or(0, |last| last + 1);
        let whole = self.judged[begin..].iter().filter(|one| one.is_whole());
        whole.filter(|one| one.trial.start.text("/purpose") == "proposal").collect()
    }

    /// The clients that proposed values hold for: by the law, with the value in place.
    fn proposal(&self, expected: &mut Expected) {
        let changes = self.verdict.get("proposal").and_then(Json::as_array);
        for (i, change) in changes.into_iter().flatten().enumerate() {
            let id = change.get("limit");
            let proved = |cause: &&Json| cause.pointer("/limit/id") == id && lifted(cause);
            let Some(cause) = self.causes.iter().rev().find(proved) else { continue };
            let Some(judged) = self.judged(cause.get("trial")) else { continue };
            let told = &judged.limits;
            let Some(limit) = told.iter().find(|one| Some(one.id.as_str()) == id.and_then(Json::as_str)) else {
                continue;
            };
            let after = self.judged(cause.pointer("/counterfactual/trial"));
            let of = |cause: &Json| cause.pointer("/counterfactual/change/setting").cloned();
            let before = self.causes.iter().find(|one| lifted(one) && of(one) == of(cause));
            let before = before.and_then(|one| self.judged(one.get("trial")));
            let to = change.pointer("/change/to").and_then(Json::as_str).and_then(|to| to.parse::<f64>().ok());
            let product = self.events.head().text("/plan/system/product");
            let priced = |number| Priced { limit, at: judged, met: met(judged), number, after, product };
            let is_priced = to.is_some_and(|to| priced(to).is_told());
            let looked_at = before.zip(after).filter(|_| !is_priced);
            let machines = ["kernel", "machine"].contains(&limit.subject.as_str());
            let subject = if machines { product } else { &limit.subject };
            let itself = before.filter(|_| *subject == limit.subject);
            let itself = itself.and_then(|before| price::counted_by(limit, &met(before)));
            price::measured(&format!("/proposal/{i}/measured"), (subject, itself), looked_at, expected);
            if let Some((before, after)) = looked_at {
                let trials = served::Trials { before, after, proposals: &self.proposals() };
                trials.expect(&format!("/proposal/{i}/measured/grew"), subject, expected);
            }
            let between = onward::Between { subject, product, trials: before.zip(after) };
            between.expect(&format!("/proposal/{i}/onward"), expected);
            let Some(to) = to else { continue };
            priced(to).expect(&format!("/proposal/{i}/price"), expected);
            priced(to).expect_descriptors(&format!("/proposal/{i}/descriptors"), expected);
            // The setting may stand for one of so many servers, of which the law counts all.
            let value = to * limit.remedy.as_ref().map_or(1.0, |remedy| remedy.parts.max(1.0));
            let law = match limit.law {
                Law::Slots { reserved, idle_cost, busy_cost, pools, soft, .. } => {
                    Law::Slots { value, reserved, idle_cost, busy_cost, pools, soft }
                }
                _ => Law::Unknown,
            };
            let holds = predicted(&law, &met(judged)).clients;
            let holds = holds.filter(|_| !is_never_full(&Limit { law, ..limit.clone() }, holds));
            expected.between(format!("/proposal/{i}/holds_for"), holds, Some(judged.trial.start.number));
        }
    }
}

/// Whether a cause was lifted, and the break moved.
pub(crate) fn lifted(cause: &Json) -> bool {
    cause.pointer("/counterfactual/moved").and_then(Json::as_str).is_some_and(|moved| moved != "not")
}

/// What the last three seconds before the break, or the end, of a trial used of processor time.
fn busy(limit: &Limit, first: &Judged<'_>) -> Option<Busy> {
    let Law::Cpu { .. } = limit.law else { return None };
    let own = limit.signatures.iter().filter(|one| one.strength >= Strength::Supports);
    let (name, mark) = own
        .filter_map(|one| match &one.sign {
            Sign::Reached { metric, value } if !metric::is_throttling(metric) => Some((metric, *value)),
            _ => None,
        })
        .next()?;
    let ticks = first.trial.ticks();
    let end = match first.onset {
        Some(onset) => onset.at_us as f64,
        None => ticks.last()?.number("/to_us"),
    };
    let begin = (end - 3e6).max(0.0);
    let now = spent(first, name, begin, end).map(|(used, rate)| Busy { used, rate, mark });
    let before = spent(first, name, (begin - 3e6).max(0.0), begin);
    now.filter(|now| now.used >= 0.1 * mark && end >= 1e6).filter(|now| {
        before.is_none_or(|(used, rate)| rate < now.rate / 2.0 || used / rate <= 1.25 * now.used / now.rate)
    })
}

/// What was used of processor time from `begin` to `end`, and by how many requests a second; none of fewer than five looks.
fn spent(first: &Judged<'_>, name: &str, begin: f64, end: f64) -> Option<(f64, f64)> {
    let inside = |line: &&Line| scan::since(&first.trial, line).is_some_and(|at| at as f64 > begin && at as f64 <= end);
    let looks = first.trial.of("sample").filter(inside);
    let values: Vec<f64> = looks.filter_map(|line| line.json.get("metrics")?.get(name)?.as_f64()).collect();
    let used = values.iter().sum::<f64>() / values.len() as f64;
    let ticks = first.trial.ticks().into_iter();
    let part: Vec<&Line> =
        ticks.filter(|tick| tick.number("/to_us") > begin && tick.number("/from_us") <= (end - 1.0).max(0.0)).collect();
    let rate = rate(&part);
    (values.len() >= 5 && rate > 0.0).then_some((used, rate))
}

/// Whose limit a prediction is of, and whether the load goes beyond it.
fn named(address: &str, limit: &Limit, of: &Predicted, met: &Met, line: Option<usize>, expected: &mut Expected) {
    let Limit { id, subject, setting, value, .. } = limit;
    let names = [("limit", id), ("subject", subject), ("setting", setting), ("value", value)];
    for (name, word) in names {
        expected.word(format!("{address}/{name}"), word.clone(), "as the limit was told", line);
    }
    let inside = of.bites(&limit.law, met).is_some_and(|at| met.level > at);
    expected.word(format!("{address}/within_load"), inside, "by its law", line);
}

/// A prediction in each of its units.
fn ranges(address: &str, of: &Predicted, line: Option<usize>, expected: &mut Expected) {
    for (name, ends) in [("clients", of.clients), ("users", of.users), ("rate", of.rate)] {
        expected.between(format!("{address}/{name}"), ends, line);
    }
    expected.is(format!("{address}/bytes"), of.bytes, line);
}
