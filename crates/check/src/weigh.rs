//! The limits in force when a trial broke, each with the signs that it left, put down plainly once more: which of them can be the cause, and
//! which is the likeliest.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Law, Limit, Sign, Signature, Strength};
use genkai_model::objective::Condition;
use serde_json::{Value as Json, json};

use crate::answered;
use crate::asked::TOLERANCE;
use crate::before;
use crate::broken::{self, Judged};
use crate::events::{Line, failed, merged, sum, sum_where};
use crate::flat;
use crate::generator::STEEP;
use crate::instants;
use crate::kept;
use crate::laws::{longer, predicted};
use crate::met::Met;
use crate::others;
use crate::score::{Place, Standing, score, specific_first};
use crate::turns;
use crate::weighed::thinks;
pub(crate) use crate::weighed::{Weighed, is_near, place};

/// The least part of the errors that a limit must explain.
const SHARE: f64 = 0.05;
/// A fraction of errors that no load has less of.
const RARE: f64 = 1e-6;

/// A break as signs are looked for around it.
struct Case<'a, 'e> {
    judged: &'a Judged<'e>,
    condition: Option<Condition>,
    met: Met,
    /// From when to when signs count, and the break, microseconds since the load began.
    from: f64,
    broke: f64,
    to: f64,
    certain: f64,
    /// What clients saw fail from the break on, most frequent first; and the same with what waited.
    errors: Vec<(ErrorKind, f64)>,
    troubles: Vec<(ErrorKind, f64)>,
}

/// Every limit of a trial that broke, best first; of `refuted` it is known that lifting them changed nothing. None of one that held.
pub(crate) fn all(judged: &Judged<'_>, met: &Met, refuted: &[String]) -> Vec<Weighed> {
    let Some(case) = Case::of(judged, met) else { return Vec::new() };
    let mut all: Vec<Weighed> = judged.limits.iter().map(|limit| case.weigh(limit, refuted)).collect();
    if others::used_most(judged, case.from, case.to) {
        let fits = |one: &&mut Weighed| {
            let fits = matches!(
                (&one.limit.law, one.strongest),
                (Law::Cpu { .. }, Some(Strength::Consistent)) | (Law::Handshakes { .. }, Some(Strength::Supports))
            );
            fits && one.against.is_empty()
        };
        all.iter_mut().filter(fits).for_each(|one| one.against.push("other_programs"));
    }
    all.sort_by(|a, b| b.score.total_cmp(&a.score));
    specific_first(&mut all, |one| Standing::of(&one.limit, one.is_possible(), one.strongest, &one.evidence));
    before::order(&mut all, judged, met);
    before::explained(&mut all);
    all
}

/// Whether a trial broke while other programs used most of the machine, and what was seen fits that processor time was lacking.
pub(crate) fn is_crowded(judged: &Judged<'_>, met: &Met) -> bool {
    let all = all(judged, met, &[]);
    let by_others = |one: &Weighed| !one.out_of_reach && one.against == ["other_programs"];
    all.iter().any(by_others)
}

impl<'a, 'e> Case<'a, 'e> {
    fn of(judged: &'a Judged<'e>, met: &Met) -> Option<Case<'a, 'e>> {
        let onset = judged.onset?;
        let ticks = judged.trial.ticks();
        let (broke, certain) = (onset.at_us as f64, onset.certain_us as f64);
        let end = ticks.last().map_or(f64::INFINITY, |last| last.number("/to_us") + 5e5);
        let errors = broken::failures(judged, &onset);
        let troubles = broken::troubles(&errors, judged, &onset);
        Some(Case {
            judged,
            condition: onset.condition,
            met: met.clone(),
            from: broke - 1e6,
            broke,
            to: (certain + 2e6).min(end).max(broke),
            certain,
            errors,
            troubles,
        })
    }

    fn ticks(&self) -> Vec<&'e Line> {
        self.judged.trial.ticks()
    }

    /// Lines of a kind, each with when it was, microseconds since the load began.
    fn lines(&self, kind: &'static str) -> Vec<(f64, &'e Line)> {
        let began = self.judged.trial.start.number("/at_us");
        self.judged.trial.of(kind).map(|line| (line.number("/at_us") - began, line)).collect()
    }

    fn holds(&self, at: f64) -> bool {
        at >= self.from && at <= self.to
    }

    fn weigh(&self, limit: &Limit, refuted: &[String]) -> Weighed {
        let signs = self.signs(limit);
        let alone = self.alone(limit).or_else(|| self.silence(limit));
        let count = signs.len() + usize::from(alone.is_some());
        let strongest =
            signs.iter().map(|(strength, _)| *strength).chain(alone.as_ref().map(|_| Strength::Decisive)).max();
        let (share, symptoms) = self.symptom(limit);
        let told = matches!(limit.law, Law::BodySize { value } if self.met.body > value);
        let nobody = matches!(limit.law, Law::Slots { value, .. } if value == 0.0);
        let strongest = strongest.or((share.is_some() && (told || nobody)).then_some(Strength::Supports));
        let untried = matches!(limit.law, Law::Tried { .. }) && share.is_some();
        let strongest = strongest.or(untried.then_some(Strength::Consistent));
        // More than there were are let through, and nothing was seen that others would not leave.
        let sooner =
            || place(limit, self.judged, &self.met).is_some_and(|(ends, at)| at < ends.0 && !is_near(ends, at));
        let fits = !matches!(strongest, Some(Strength::Supports | Strength::Decisive));
        let out_of_reach = fits && sooner() || self.is_out_of_reach(limit);
        let flat = strongest.and_then(|_| flat::no_faster(limit, &self.ticks(), self.certain));
        let strongest = if flat.is_some() { Some(Strength::Consistent) } else { strongest };
        let place = if out_of_reach { Place::Elsewhere } else { self.place(limit) };
        let served = instants::before(&self.ticks(), self.certain as u64).iter().any(|tick| tick.number("/ok") > 0.0);
        let wrong = share.is_none() || matches!(limit.law, Law::Cpu { .. } | Law::Handshakes { .. }) && !served;
        let against = [
            (strongest.is_none(), "no_sign"),
            (wrong, "wrong_symptom"),
            (matches!(place, Place::Elsewhere), "wrong_place"),
            (refuted.contains(&limit.id), "refuted"),
        ];
        let mut weighed = Weighed {
            limit: limit.clone(),
            evidence: signs
                .into_iter()
                .map(|(_, evidence)| evidence)
                .chain(alone.clone())
                .chain(symptoms)
                .chain(flat)
                .collect(),
            against: against.iter().filter(|(so, _)| *so).map(|(_, why)| *why).collect(),
            score: 1.0,
            strongest,
            out_of_reach,
        };
        if alone.is_none() {
            let counts = weighed.strongest.filter(|_| share.is_some() && !out_of_reach);
            weighed.score = score(counts, share, &place, count);
        }
        if let Place::There((low, high), seen) = place {
            let predicted = json!({ "low": low, "high": high });
            weighed.evidence.push(json!({ "evidence": "place", "predicted": predicted, "observed": seen }));
        }
        weighed
    }

    /// The signs that were seen; of marks that a gauge passed, the highest.
    fn signs(&self, limit: &Limit) -> Vec<(Strength, Json)> {
        // A line may say less than its kind does.
        let line = |seen: &Json| match seen.get("evidence").and_then(Json::as_str) {
            Some("log") => serde_json::from_value(seen.get("strength")?.clone()).ok(),
            _ => None,
        };
        let seen = limit.signatures.iter().filter_map(|one| {
            let seen = self.sign(one)?;
            Some((line(&seen).unwrap_or(one.strength), seen))
        });
        let seen: Vec<(Strength, Json)> = seen.collect();
        let reached = |one: &Json| match (one.get("evidence")?.as_str()?, one.get("metric"), one.get("mark")?.as_f64()?)
        {
            ("reached", Some(metric), mark) => Some((metric.clone(), mark)),
            _ => None,
        };
        let marks: Vec<(Json, f64)> = seen.iter().filter_map(|(_, one)| reached(one)).collect();
        let passed = |one: &Json| {
            reached(one)
                .is_some_and(|(metric, mark)| marks.iter().any(|(other, more)| *other == metric && *more > mark))
        };
        seen.into_iter().filter(|(_, one)| !passed(one)).collect()
    }

    fn sign(&self, signature: &Signature) -> Option<Json> {
        let strength = serde_json::to_value(signature.strength).ok()?;
        match &signature.sign {
            Sign::Log(name) => self.log(name, (self.from, self.to), &strength),
            Sign::LogOther { before, known, after } => {
                let during = self.lines("log").into_iter().filter(|(at, _)| self.holds(*at));
                let mut names = during.map(|(_, line)| line.text("/signature"));
                let first = names.find(|name| kept::is_other_number(name, before, known, after))?;
                self.log(first, (self.from, self.to), &strength)
            }
            Sign::LoggedOnce(name) => self.log(name, (self.from, self.to), &strength).or_else(|| {
                let weaker = serde_json::to_value(signature.strength.min(Strength::Supports)).ok()?;
                let early = self.log(name, (0.0, self.from), &weaker)?;
                let at = early.get("at")?.as_f64()? * 1e6;
                let ticks = self.ticks();
                let then = instants::gauge(&ticks, at, "/level");
                let fell = |tick: &&Line| {
                    let later = tick.number("/to_us") > at && tick.number("/from_us") <= self.broke;
                    later && tick.number("/level") < then
                };
                (!ticks.iter().any(fell)).then_some(early)
            }),
            Sign::LoggedUnserved(name) => {
                let ticks = self.ticks();
                let nobody = ticks.iter().all(|tick| tick.number("/ok") == 0.0);
                let until = ticks.last().map_or(0.0, |last| last.number("/to_us")) + 5e5;
                self.log(name, (f64::NEG_INFINITY, until), &strength).filter(|_| nobody)
            }
            Sign::LoggedGrown { name, since, metric, grew } => {
                let line = |name: &str| self.log(name, (self.from, self.to), &strength);
                let first = line(since).or_else(|| line(name))?.get("at")?.as_f64()?;
                line(name).filter(|_| kept::had_grown(&self.values(metric), self.from, first) == *grew)
            }
            Sign::Silent { after } => kept::kept(&self.ticks(), *after),
            Sign::Paced { rate, after } => kept::paced(&self.ticks(), *rate, *after),
            Sign::GrewUncounted { own, .. } if !self.values(own).is_empty() => None,
            Sign::Grew(metric) | Sign::GrewAsEnded(metric) | Sign::GrewUncounted { metric, .. } => {
                let all = self.values(metric);
                if matches!(signature.sign, Sign::GrewAsEnded(_)) && !kept::met_as_it_grew(&self.ticks(), &all) {
                    return None;
                }
                let (from, to) = self.grown(metric).filter(|(from, to)| to > from)?;
                Some(json!({ "evidence": "grew", "metric": metric, "from": from, "to": to, "strength": strength }))
            }
            Sign::Answers { own, others } => {
                let mut during = self.ticks();
                during.retain(|tick| tick.number("/to_us") > self.from && tick.number("/from_us") <= self.to);
                let clients = during.iter().map(|tick| failed(tick)).sum();
                let more = |metric: &str| self.grown(metric).map(|(from, to)| to - from);
                answered::evidence(own, others, &strength, more, clients)
            }
            Sign::Closed(code) => {
                let count = sum_where(&self.ticks(), "/messages/closes", ("code", &json!(code)), "count");
                (count > 0.0).then(|| json!({ "evidence": "closed", "code": code, "count": count as u64 }))
            }
            Sign::Handshakes { metric, mark, each, cores } => {
                let (value, _) = self.reached(metric, |_| Some(*mark))?;
                let rate = kept::full_handshakes(&self.ticks(), self.from, self.to)?;
                (rate * each >= cores / 2.0).then(|| {
                    json!({ "evidence": "handshakes", "metric": metric, "value": value,
                    "rate": rate, "each": each, "cores": cores, "strength": strength })
                })
            }
            Sign::Reached { metric, value } => {
                Some(kept::reached(metric, self.reached(metric, |_| Some(*value))?, "", &strength))
            }
            Sign::ReachedMetric { metric, of, fraction } => {
                let wholes = self.values(of);
                let near = |look: usize| {
                    let before = wholes.iter().rev().find(|(_, _, at)| *at <= look);
                    let whole = before.or(wholes.first()).map(|(_, whole, _)| *whole)?;
                    (whole > 0.0).then_some(whole * fraction)
                };
                Some(kept::reached(metric, self.reached(metric, near)?, of, &strength))
            }
        }
    }

    /// From what to what a metric grew; none where it was not looked at before, or in, these seconds.
    fn grown(&self, metric: &str) -> Option<(f64, f64)> {
        let all = self.values(metric);
        let before = all.iter().rev().find(|(at, ..)| *at < self.from).or(all.first())?;
        let later = all.iter().filter(|(at, ..)| self.holds(*at) && *at > before.0).map(|(_, value, _)| *value);
        Some((before.1, later.reduce(f64::max)?))
    }

    /// Lines of a kind from one moment to another.
    fn log(&self, name: &str, (from, to): (f64, f64), strength: &Json) -> Option<Json> {
        let mine = |(at, line): &(f64, &Line)| *at >= from && *at <= to && line.text("/signature") == name;
        let lines: Vec<(f64, &Line)> = self.lines("log").into_iter().filter(mine).collect();
        let (at, first) = lines.first()?;
        let count: f64 = lines.iter().map(|(_, line)| line.number("/count")).sum();
        Some(json!({ "evidence": "log", "subject": first.text("/subject"), "signature": name, "count": count as u64,
            "text": first.text("/text"), "at": at / 1e6, "strength": strength }))
    }

    /// The values of a metric: when, how much, and in the how many-th look.
    fn values(&self, metric: &str) -> Vec<(f64, f64, usize)> {
        let looks = self.lines("sample").into_iter().enumerate();
        looks.filter_map(|(i, (at, line))| Some((at, line.json.get("metrics")?.get(metric)?.as_f64()?, i))).collect()
    }

    /// The largest value of a gauge that reached its mark, with the mark, where half of the looks from the break on (or else around it) did.
    fn reached(&self, metric: &str, mark: impl Fn(usize) -> Option<f64>) -> Option<(f64, f64)> {
        let all = self.values(metric).into_iter().filter(|(at, ..)| self.holds(*at));
        let all: Vec<(f64, f64, f64)> = all.filter_map(|(at, value, look)| Some((at, value, mark(look)?))).collect();
        let after: Vec<(f64, f64, f64)> = all.iter().copied().filter(|(at, ..)| *at >= self.broke).collect();
        let looked = if after.is_empty() { all } else { after };
        let reached: Vec<(f64, f64)> =
            looked.iter().filter(|(_, value, mark)| value >= mark).map(|(_, value, mark)| (*value, *mark)).collect();
        let largest = reached.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0))?;
        (reached.len() * 2 >= looked.len()).then_some(largest)
    }

    /// What takes too long alone, or what stands behind a limit that waits less.
    fn alone(&self, limit: &Limit) -> Option<Json> {
        let load = &self.judged.asked.load;
        if let Law::Delay { time } = limit.law {
            return match self.condition? {
                Condition::LatencyBelow(q, bound) => longer(&time, q, bound.at.as_secs_f64()),
                Condition::ErrorsBelow(most) => longer(&time, 1.0 - most.at.max(RARE), load.timeout.as_secs_f64()),
                _ => None,
            };
        }
        let allowed = limit.patience?;
        let Condition::ErrorsBelow(most) = self.condition? else { return None };
        self.judged.limits.iter().find_map(|behind| match &behind.law {
            Law::Delay { time } => longer(time, 1.0 - most.at.max(RARE), allowed),
            _ => None,
        })
    }

    /// Most connections that were cut had been silent for just as long as is allowed.
    fn silence(&self, limit: &Limit) -> Option<Json> {
        let Law::Idle { after } = limit.law else { return None };
        let ticks = self.ticks();
        let of = sum(&ticks, "/disconnects/closed") + sum(&ticks, "/disconnects/cut");
        kept::silent(&ticks, "/disconnects/silent", of, after)
    }

    /// How much of what clients saw a limit can cause (none: nothing of it), and the evidence for that.
    fn symptom(&self, limit: &Limit) -> (Option<f64>, Vec<Json>) {
        let turn = turns::longest(limit, &instants::before(&self.ticks(), self.certain as u64));
        let short = |beside: f64| turn.is_some_and(|turn| turn < TOLERANCE * beside);
        let in_time = short(self.judged.asked.load.timeout.as_secs_f64());
        let waits = |kind| kind == ErrorKind::Dropped || kind == ErrorKind::Timeout && !in_time;
        let causes = |kind| limit.symptom.errors.contains(&kind) || limit.symptom.slow && waits(kind);
        let explains = |(kind, _): &&(ErrorKind, f64)| {
            // The end of a TLS handshake is what ends a connection without TLS; and a connection of which nobody knows was new or not.
            causes(*kind)
                || *kind == ErrorKind::TlsClosed && (causes(ErrorKind::EofNew) || causes(ErrorKind::Reset))
                || *kind == ErrorKind::TlsTimeout && causes(ErrorKind::Timeout)
                || *kind == ErrorKind::Eof && (causes(ErrorKind::EofNew) || causes(ErrorKind::EofReused))
        };
        let all: f64 = self.troubles.iter().map(|(_, count)| count).sum();
        let explained: f64 = self.troubles.iter().filter(explains).map(|(_, count)| count).sum();
        let share = (all > 0.0).then(|| explained / all).filter(|share| *share >= SHARE);
        let mut evidence = Vec::new();
        let errors: Vec<Json> = self
            .errors
            .iter()
            .filter(explains)
            .map(|(kind, count)| json!({ "kind": kind, "count": *count as u64 }))
            .collect();
        if share.is_some() && !errors.is_empty() {
            evidence.push(json!({ "evidence": "errors", "errors": errors }));
        }
        let slow = limit.symptom.slow;
        let share = match self.condition {
            Some(Condition::LatencyBelow(q, bound)) => {
                let bound = bound.at.as_secs_f64();
                let part = instants::between(&self.ticks(), self.broke, self.certain - 1.0);
                let seen = merged(&part, "/latency").quantile(q).filter(|seen| *seen >= bound);
                // Who found a full accept queue came again after a second.
                let sooner = matches!(limit.law, Law::Backlog { .. }) && seen.is_some_and(|seen| seen < 1.0);
                let slow = slow && !short(seen.unwrap_or(bound));
                let seen = seen.map_or_else(|| json!({ "more_than": bound }), Json::from);
                let told = (slow && !sooner).then(|| json!({ "evidence": "slow", "seen": seen }));
                evidence.extend(told.clone());
                told.map(|_| 1.0)
            }
            Some(Condition::RateAbove(_)) => share.or(slow.then_some(0.5)),
            _ => share,
        };
        (share, evidence)
    }

    /// Whether a queue is longer than all clients that there were.
    fn is_out_of_reach(&self, limit: &Limit) -> bool {
        let Law::Backlog { value } = limit.law else { return false };
        let ticks = instants::before(&self.ticks(), self.certain as u64);
        let there = |tick: &&Line| {
            let users = if self.met.spawn.is_some() { tick.number("/level") } else { 0.0 };
            users.max(tick.number("/in_flight").max(tick.number("/connections")).min(self.met.most))
        };
        ticks.iter().map(there).fold(0.0, f64::max) < value * (1.0 - TOLERANCE)
    }

    /// Whether as many requests were in flight as a limit on those at once lets in.
    fn asks_as_many(&self, limit: &Limit) -> bool {
        let Law::Slots { idle_cost: 0.0, .. } = limit.law else { return false };
        let asking = self.met.without_pauses();
        let seen = self.judged.in_flight().filter(|_| thinks(self.judged, &self.met));
        predicted(&limit.law, &asking).clients.zip(seen).is_some_and(|(ends, seen)| is_near(ends, seen))
    }

    fn place(&self, limit: &Limit) -> Place {
        let bites = match limit.law {
            Law::BodySize { value } => Some(self.met.body > value),
            Law::MessageSize { value } => Some(self.met.message > value),
            Law::Idle { after } => Some(self.met.silence > after),
            _ => None,
        };
        match (bites, place(limit, self.judged, &self.met)) {
            (Some(true), _) | (None, None) => Place::Unknown,
            (Some(false), _) => Place::Elsewhere,
            (None, Some((ends, seen))) if is_near(ends, seen) => Place::There(ends, seen),
            (None, Some((ends, seen))) if self.judged.asked.ramp < STEEP && seen > ends.1 => Place::Unknown,
            _ if self.asks_as_many(limit) => Place::Unknown,
            _ => Place::Elsewhere,
        }
    }
}
