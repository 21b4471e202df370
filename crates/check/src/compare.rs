//! Systems compared: each turn from its own intervals, effects over blocks, ranks from effects.

mod answers;
mod caveats;
mod left;
mod part;

use genkai_model::event::Environment;
use serde_json::Value as Json;

use crate::broken::{Judged, counted};
use crate::compared::{self, Came, Pair, Strain};
use crate::effects::{self, Bound, Call, Pairs, Rules};
use crate::events::{Events, Line, Trial, sum};
use crate::expected::Expected;
use crate::intervals::{self, ALPHA, Interval};
use crate::steady::{self, Steady};
use crate::{generator, proof};
use left::Left;
use part::Part;

/// The figures of a turn, in their order.
const FIGURES: [&str; 8] = ["failures", "throughput", "p50", "p95", "p99", "max", "cpu", "memory"];
/// The place of the one that is compared by difference, and of the one of which more is better.
const FAILURES: usize = 0;
const THROUGHPUT: usize = 1;
/// Of failures, a tenth of the margin matters.
const LESS: f64 = 0.1;
/// Figures that say how long a process has run: of contenders that were not restarted they are not compared.
const AGING: [&str; 2] = ["cpu", "memory"];
/// Subjects of samples that are no servers.
const OTHERS: [&str; 3] = ["kernel", "machine", "client"];
/// Where the plan has the comparison: that of earlier versions has it beside the load.
const PLANNED: [&str; 2] = ["/plan/study/compare", "/plan/comparison"];

fn planned<'e>(events: &'e Events, name: &str) -> Option<&'e Json> {
    PLANNED.iter().find_map(|at| events.head().json.pointer(at)?.get(name))
}

/// A turn as it was played.
struct Turn<'e> {
    judged: Judged<'e>,
    contender: Json,
    block: u32,
    control: bool,
    counts: bool,
    failed: f64,
    finished: f64,
    paced: f64,
    values: Vec<Option<f64>>,
    /// What figures are more than of which no value was seen.
    bounds: Vec<Option<f64>>,
    /// Of failures, how long before the end requests were planned of which they are told, seconds.
    due: Option<f64>,
    /// Whether anything came at all.
    came: bool,
    left: Left,
    busy: Option<f64>,
    after: Option<f64>,
    stressed: bool,
    /// Why its generator was not good enough.
    reasons: Vec<Json>,
}

/// What the events say of a comparison of systems.
pub(crate) fn expect(events: &Events, verdict: &Json, expected: &mut Expected) {
    let list = |name: &str| verdict.get(name).and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    let environment: Option<Environment> =
        events.head().json.get("environment").and_then(|told| serde_json::from_value(told.clone()).ok());
    let Some(comparison) = verdict.get("comparison").filter(|_| verdict.get("turns").is_some()) else { return };
    let cores = environment.map_or(1.0, |told| told.server_time());
    let (mut turns, mut addresses) = (Vec::new(), Vec::new());
    for (i, finding) in list("turns").iter().enumerate() {
        let address = format!("/turns/{i}");
        let Some(trial) = crate::trials::named(events, finding, &address, expected) else { continue };
        let Some(turn) = Turn::of(events, &trial, cores) else { continue };
        addresses.push(address);
        turns.push(turn);
    }
    left::settle(&mut turns);
    turns.iter().zip(addresses).for_each(|(turn, address)| turn.expect(&address, events, expected));
    let comparison = Comparison::of(events, comparison, verdict, turns);
    comparison.expect(events, list("pairs"), expected);
    for (i, contender) in list("subjects").iter().enumerate() {
        comparison.contender(&format!("/subjects/{i}"), contender, list("pairs"), expected);
    }
}

impl<'e> Turn<'e> {
    fn of(events: &'e Events, trial: &Trial<'e>, cores: f64) -> Option<Turn<'e>> {
        let judged = Judged::of(events, trial)?;
        let said = events.of("turn").filter(|turn| turn.number < trial.start.number).last()?;
        let (failed, finished) = finished(&judged);
        let ramp_us = (judged.asked.ramp * 1e6).floor();
        let held: Vec<&Line> = trial.ticks().into_iter().filter(|tick| tick.number("/from_us") >= ramp_us).collect();
        let cut = match steady::of(&held) {
            Steady::From(at) => Some(at),
            _ => None,
        };
        let after = cut.and_then(|at| held.get(at)).map(|tick| (tick.number("/from_us") - ramp_us) / 1e6);
        let ticks = held[cut.unwrap_or(0).min(held.len())..].to_vec();
        let part = Part { trial, ticks, open: !judged.asked.users };
        let generator = generator::of(trial, &judged.asked, &judged.objective, None, true);
        let busy = part.busy(cores);
        let strain = Strain {
            ticks: &part.answering(),
            looks: part.inside(),
            failed,
            finished,
            busy,
            asked: (!judged.asked.users).then_some(judged.asked.level),
            allowed: judged.objective.0.iter().find_map(compared::allowed),
        };
        let left = Left::of(&trial.ticks());
        let (values, bounds) = part.values(failed, finished, &left);
        Some(Turn {
            came: finished + sum(&trial.ticks(), "/handshakes/upgraded") > 0.0,
            due: None,
            values,
            bounds,
            left,
            stressed: strain.is_stressed(),
            contender: said.json.get("contender")?.clone(),
            block: said.number("/block") as u32,
            control: said.json.get("control") == Some(&Json::Bool(true)),
            counts: judged.is_whole() && generator.is_valid() && !trial.ticks().is_empty(),
            reasons: generator.reasons,
            failed,
            finished,
            paced: crate::load::pauses(&trial.ticks()).unwrap_or(0.0),
            busy,
            after,
            judged,
        })
    }

    /// Whether it held, by anything that came: a request that ended, a WebSocket that was opened.
    fn is_held(&self) -> bool {
        self.judged.onset.is_none() && self.came
    }

    fn expect(&self, address: &str, events: &Events, expected: &mut Expected) {
        let line = self.judged.trial.first();
        let announced = events.of("turn").filter(|turn| turn.number < self.judged.trial.start.number).last();
        if let Some(said) = announced {
            expected.is(format!("{address}/block"), said.number("/block"), Some(said.number));
            expected.is(format!("{address}/place"), said.number("/place"), Some(said.number));
            expected.word(format!("{address}/contender"), self.contender.clone(), "as announced", Some(said.number));
        }
        expected.is(format!("{address}/failed"), self.failed, line);
        expected.is(format!("{address}/finished"), self.finished, line);
        let why = "whether it ended as it should and the generator was good enough";
        expected.word(format!("{address}/counts"), self.counts, why, line);
        expected.word(format!("{address}/control"), self.control, "as announced", line);
        expected.is(format!("{address}/paced"), self.paced, line);
        expected.is(format!("{address}/steady_after"), self.after, line);
        expected.is(format!("{address}/busy"), self.busy, line);
        for (i, value) in self.values.iter().enumerate() {
            expected.is(format!("{address}/values/{i}"), *value, line);
        }
        expected.is(format!("{address}/due"), self.due, line);
        for (i, bound) in self.bounds.iter().enumerate() {
            effects::bound(&format!("{address}/bounds/{i}"), bound.map(Bound::More), line, expected);
        }
    }

    fn is(&self, name: &Json, control: bool) -> bool {
        self.counts && self.contender == *name && self.control == control
    }
}

/// Failed and finished requests of a turn; WebSockets that ended unasked with nothing under way are failures, too, and messages that
/// never came back.
fn finished(judged: &Judged<'_>) -> (f64, f64) {
    let (failed, finished) = proof::counts(judged, None);
    let ticks = judged.trial.ticks();
    let more: f64 = ["closed", "closed_abnormally"]
        .map(|kind| counted(&ticks, &kind.into(), true) - counted(&ticks, &kind.into(), false))
        .iter()
        .sum();
    let more = more + sum(&ticks, "/messages/unanswered");
    (failed + more, finished + more)
}

/// A comparison with its turns.
struct Comparison<'a> {
    verdict: &'a Json,
    turns: Vec<Turn<'a>>,
    /// Contenders that were not dropped.
    playing: Vec<Json>,
    /// The first of them, in the plan.
    first: Option<Json>,
    base: Option<Json>,
    margin: f64,
    looks: Vec<u32>,
    deciding: Vec<Json>,
    /// All contenders, as planned.
    order: Vec<Json>,
    /// Those that ran before and are not restarted.
    standing: Vec<Json>,
}

impl<'a> Comparison<'a> {
    fn of(events: &'a Events, comparison: &'a Json, verdict: &'a Json, turns: Vec<Turn<'a>>) -> Comparison<'a> {
        let planned = || comparison.get("contenders").and_then(Json::as_array).into_iter().flatten();
        let names: Vec<Json> = planned().filter_map(|one| one.get("name").cloned()).collect();
        let standing = planned().filter(|one| one.pointer("/runs/url").is_some());
        // Who did not start any more is compared with nobody.
        let dropped: Vec<&Json> = events.of("out").filter_map(|line| line.json.get("contender")).collect();
        let looks = comparison.get("looks").and_then(Json::as_array).into_iter().flatten();
        Comparison {
            verdict,
            turns,
            standing: standing.filter_map(|one| one.get("name").cloned()).collect(),
            first: names.first().cloned(),
            order: names.clone(),
            playing: names.into_iter().filter(|name| !dropped.contains(&name)).collect(),
            base: comparison.get("base").filter(|base| base.is_string()).cloned(),
            margin: comparison.get("margin").and_then(Json::as_f64).unwrap_or(0.0),
            looks: looks.filter_map(|look| look.as_u64().map(|n| n as u32)).collect(),
            deciding: comparison.get("deciding").and_then(Json::as_array).cloned().unwrap_or_default(),
        }
    }

    fn names(&self) -> Vec<(&Json, &Json)> {
        let all = &self.playing;
        match &self.base {
            Some(base) if !all.contains(base) => Vec::new(),
            Some(base) => all.iter().filter(|name| *name != base).map(|name| (base, name)).collect(),
            None => (0..all.len()).flat_map(|i| (i + 1..all.len()).map(move |k| (&all[i], &all[k]))).collect(),
        }
    }

    fn expect(&self, events: &Events, pairs: &[Json], expected: &mut Expected) {
        let line = self.turns.first().map(|turn| turn.judged.trial.start.number);
        let begun = self.turns.iter().map(|turn| turn.block).max().unwrap_or(0);
        let last = self.looks.last().copied().unwrap_or(1);
        let spends = [begun, last].map(|blocks| effects::spent(&self.looks, blocks, ALPHA));
        let statements = (self.names().len() * FIGURES.len()).max(1) as f64;
        expected.is("/alpha", ALPHA, line);
        expected.is("/each", spends[0] / statements, line);
        expected.is("/blocks", f64::from(self.blocks(begun)), line);
        let control = self.control(spends, line, expected);
        let mut all: Vec<Pair> = Vec::new();
        for (i, (base, other)) in self.names().into_iter().enumerate() {
            let address = format!("/pairs/{i}");
            expected.word(format!("{address}/base"), base.clone(), "the order of the plan", line);
            expected.word(format!("{address}/other"), other.clone(), "the order of the plan", line);
            let mut pair = Pair::new();
            for (k, figure) in FIGURES.iter().enumerate() {
                let mut said = self.said((base, false), (other, false), k, spends.map(|part| part / statements));
                let strays = control.get(k) == Some(&true) && !self.deciding.contains(&Json::from(*figure));
                // Of what differs from itself nothing is said.
                if strays && matches!(said.call, "better" | "worse") {
                    (said.call, said.more) = ("not_judged", None);
                }
                effects::expect(&format!("{address}/effects/{k}"), &said, line, expected);
                expected.word(format!("{address}/effects/{k}/figure"), *figure, "their order", line);
                pair.extend(effects::figure_of(figure).map(|figure| (figure, said)));
            }
            all.push(pair);
        }
        if pairs.len() != self.names().len() {
            expected.word("/pairs", Json::Null, &format!("there are {} pairs", self.names().len()), line);
        }
        let stressed = self.stress(&all, line, expected);
        self.came(events, &all, &control, stressed, line, expected);
        self.caveats(events, &all, &control, expected);
    }

    /// What all of it decides.
    fn came(
        &self,
        events: &Events,
        pairs: &[Pair],
        control: &[bool],
        stressed: bool,
        line: Option<usize>,
        expected: &mut Expected,
    ) {
        let begun = self.turns.iter().map(|turn| turn.block).max().unwrap_or(0);
        let deciding = self.deciding.iter().filter_map(Json::as_str);
        let came = Came {
            pairs,
            strays: Self::strays(control),
            deciding: deciding.filter_map(effects::figure_of).collect(),
            blocks: self.blocks(begun),
            limited: self.turns.iter().any(|turn| !turn.reasons.is_empty()),
            silent: self.names().iter().filter(|(a, b)| self.is_silent((*a, false), (*b, false))).count(),
            dropped: self.playing.len() < self.order.len(),
            stressed,
        };
        expected.word("/outcome", came.outcome(), "by what is decided of the pairs", line);
        expected.word("/ended", compared::ended(events, begun, &self.looks), "by the end of the record", line);
        if let Some(claim) = planned(events, "claim").filter(|claim| claim.is_object()) {
            came.claim(events, claim, expected);
        }
    }

    /// Blocks in which everybody who plays had a turn that counts.
    fn blocks(&self, begun: u32) -> u32 {
        let whole = (1..=begun).filter(|block| {
            self.playing.iter().all(|name| self.turns.iter().any(|turn| turn.is(name, false) && turn.block == *block))
        });
        whole.count() as u32
    }

    /// The first contender against itself: for each figure, whether it differs.
    fn control(&self, spends: [f64; 2], line: Option<usize>, expected: &mut Expected) -> Vec<bool> {
        let Some(first) = self.first.as_ref().filter(|_| self.verdict.get("control").is_some_and(Json::is_object))
        else {
            return Vec::new();
        };
        let each = spends.map(|part| part / FIGURES.len() as f64);
        let all = (0..FIGURES.len()).map(|k| {
            let said = self.said((first, false), (first, true), k, each);
            effects::expect(&format!("/control/effects/{k}"), &said, line, expected);
            expected.word(format!("/control/effects/{k}/figure"), FIGURES[k], "their order", line);
            matches!(said.call, "better" | "worse")
        });
        all.collect()
    }

    /// What one figure of two contenders says, over the blocks in which both have a turn that counts.
    fn said(&self, base: (&Json, bool), other: (&Json, bool), figure: usize, [now, last]: [f64; 2]) -> Call {
        let own = |of: (&Json, bool)| self.turns.iter().filter(|turn| turn.is(of.0, of.1)).collect::<Vec<_>>();
        if self.is_silent(base, other) {
            return Call::none("missing");
        }
        if AGING.contains(&FIGURES[figure]) && [base.0, other.0].iter().any(|name| self.standing.contains(name)) {
            return Call::none("not_judged");
        }
        let (mine, theirs) = (own(base), own(other));
        let blocks = mine.iter().filter_map(|a| Some((*a, *theirs.iter().find(|b| b.block == a.block)?)));
        let (pairs, margin) = match figure {
            FAILURES => {
                let of = |turn: &Turn<'_>| (turn.failed, turn.finished);
                let both = blocks.map(|(a, b)| (of(a), of(b))).filter(|(a, b)| a.1 > 0.0 && b.1 > 0.0);
                (Pairs::Failures(both.collect()), self.margin * LESS)
            }
            _ => {
                let of = |turn: &Turn<'_>| turn.values[figure].or(turn.bounds[figure]);
                let blocks: Vec<_> = blocks.collect();
                let sides = [
                    blocks.iter().any(|(a, _)| a.bounds[figure].is_some()),
                    blocks.iter().any(|(_, b)| b.bounds[figure].is_some()),
                ];
                let ratios: Vec<(f64, f64)> = blocks.iter().filter_map(|(a, b)| Some((of(a)?, of(b)?))).collect();
                if sides != [false; 2] {
                    return effects::bounded(ratios, sides, now);
                }
                // Of nothing there is no ratio.
                let none = ratios.iter().any(|(a, b)| a.min(*b) <= 0.0);
                (Pairs::Ratios(if none { Vec::new() } else { ratios }), self.margin)
            }
        };
        pairs.said(Rules { margin, more: figure == THROUGHPUT, now, last })
    }

    /// Whether two had turns that count, and neither was ever answered in one.
    fn is_silent(&self, base: (&Json, bool), other: (&Json, bool)) -> bool {
        let answered = |turn: &Turn<'_>| {
            let any = |tick: &&Line| tick.number("/ok") > 0.0 || tick.number("/handshakes/upgraded") > 0.0;
            turn.judged.trial.ticks().iter().any(any)
        };
        let both = |turn: &&Turn<'_>| [base, other].iter().any(|(name, control)| turn.is(name, *control));
        let mut turns = self.turns.iter().filter(both).peekable();
        turns.peek().is_some() && !turns.any(answered)
    }

    /// Whether anybody noticed the load, and who was busiest.
    fn stress(&self, pairs: &[Pair], line: Option<usize>, expected: &mut Expected) -> bool {
        let mut names: Vec<&str> = self.turns.iter().filter_map(|turn| turn.contender.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let own =
            |name: &str| -> Vec<&Turn<'_>> { self.turns.iter().filter(|turn| turn.is(&name.into(), false)).collect() };
        let mean = |name: &str| {
            let all: Vec<f64> = own(name).iter().filter_map(|turn| turn.busy).collect();
            (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
        };
        let most = names.iter().filter_map(|name| Some((mean(name)?, *name))).max_by(|a, b| a.0.total_cmp(&b.0));
        let stressed = |name: &&str| own(name).iter().filter(|turn| turn.stressed).count() * 2 > own(name).len();
        // Where nobody can be seen, nothing speaks against it.
        let anybody = most.is_none() || compared::is_slower(pairs) || names.iter().any(stressed);
        expected.is("/stress/busiest", most.map(|(busy, _)| busy), line);
        expected.word("/stress/who", most.map(|(_, name)| name), "who was busiest in the mean", line);
        expected.word("/stress/anybody", anybody, "whether anybody failed, fell short, was busy or slower", line);
        anybody
    }

    /// A contender in sum: geometric means over its turns, its failures, and its ranks by what its pairs mean.
    fn contender(&self, address: &str, contender: &Json, pairs: &[Json], expected: &mut Expected) {
        let Some(name) = contender.get("name") else { return };
        let at = address.rsplit('/').next().and_then(|at| at.parse::<usize>().ok());
        if let Some(planned) = at.and_then(|at| self.order.get(at)) {
            expected.word(format!("{address}/name"), planned.clone(), "the order of the plan", None);
        }
        let own: Vec<&Turn<'_>> = self.turns.iter().filter(|turn| turn.is(name, false)).collect();
        let line = own.first().map(|turn| turn.judged.trial.start.number);
        expected.is(format!("{address}/turns"), own.len() as f64, line);
        let out = if self.playing.contains(name) { Json::Null } else { true.into() };
        expected.word(format!("{address}/out"), out, "whether it started again each time", line);
        expected.is(format!("{address}/held"), own.iter().filter(|turn| turn.is_held()).count() as f64, line);
        let mut after: Vec<f64> = own.iter().filter_map(|turn| turn.after).collect();
        after.sort_by(f64::total_cmp);
        expected.is(format!("{address}/warm_up"), after.get(after.len() / 2).copied(), line);
        for (k, figure) in FIGURES.iter().enumerate() {
            let place = format!("{address}/figures/{k}");
            expected.word(format!("{place}/figure"), *figure, "their order", line);
            let (value, bound) = value(&own, k);
            expected.estimate(format!("{place}/value"), value, line);
            effects::bound(&format!("{place}/bound"), bound, line, expected);
            let (best, worst) = self.rank(name, k, pairs);
            expected.is(format!("{place}/best"), best, line);
            expected.is(format!("{place}/worst"), worst, line);
        }
        let ticks: Vec<&Line> = own.iter().flat_map(|turn| turn.judged.trial.ticks()).collect();
        crate::load::by_key(contender, (address, "errors"), ("errors", "kind"), &ticks, line, expected);
    }

    fn rank(&self, name: &Json, figure: usize, pairs: &[Json]) -> (f64, f64) {
        let ahead = pairs.iter().filter_map(|pair| {
            let (base, other) = (pair.get("base")?.clone(), pair.get("other")?.clone());
            match pair.pointer(&format!("/effects/{figure}/call"))?.as_str()? {
                "better" => Some((other, base)),
                "worse" => Some((base, other)),
                _ => None,
            }
        });
        match self.playing.contains(name) {
            true => effects::ranks(name, self.playing.len(), &ahead.collect::<Vec<_>>()),
            false => (1.0, self.order.len() as f64),
        }
    }
}

/// The mean of a figure over turns, or what it is more than where any of them has only that.
fn value(own: &[&Turn<'_>], figure: usize) -> (Option<Interval>, Option<Bound>) {
    if figure == FAILURES {
        if own.iter().any(|turn| left::is_short(turn)) {
            return (None, None);
        }
        let counts = own.iter().map(|turn| (turn.failed, turn.finished)).filter(|(_, finished)| *finished > 0.0);
        return (intervals::failures(&counts.collect::<Vec<_>>()), None);
    }
    let known = own.iter().filter_map(|turn| turn.values[figure].or(turn.bounds[figure])).collect::<Vec<_>>();
    let mean = intervals::geometric(&known, ALPHA);
    match own.iter().any(|turn| turn.bounds[figure].is_some()) {
        true => (None, mean.map(|mean| Bound::More(mean.value))),
        false => (mean, None),
    }
}
