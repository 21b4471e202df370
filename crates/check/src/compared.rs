//! What a comparison of systems decides in the end: whether anybody was stressed, why it ended, its outcome, and what that says of advice.

use genkai_model::claim::{Claim, Promised, Test};
use genkai_model::evidence::metric;
use genkai_model::figure::Figure;
use genkai_model::objective::Condition;
use serde_json::{Value as Json, json};

use crate::effects::{Bound, Call};
use crate::events::{Events, Line, sum};
use crate::expected::Expected;

/// Part of the cores (or of one by its busiest worker) from which somebody is busy.
const BUSY: f64 = 0.7;
/// Failures that are a sign of stress where the objective names none.
const FAILURES: f64 = 0.001;
/// Part of the looks at an accept queue with somebody in it from which connections wait.
const WAITING: f64 = 0.25;
/// Who is slower by this factor has felt the load.
const SLOWER: f64 = 1.5;

/// A turn as far as stress goes.
pub(crate) struct Strain<'t, 'e> {
    /// The intervals of its steady part in which all who ask could have been answered.
    pub(crate) ticks: &'t [&'e Line],
    /// Looks at everything in that part.
    pub(crate) looks: Vec<&'e Line>,
    pub(crate) failed: f64,
    pub(crate) finished: f64,
    pub(crate) busy: Option<f64>,
    /// The rate asked for; none of users.
    pub(crate) asked: Option<f64>,
    /// The errors that the objective allows.
    pub(crate) allowed: Option<f64>,
}

/// The errors that a condition allows.
pub(crate) fn allowed(condition: &Condition) -> Option<f64> {
    match condition {
        Condition::ErrorsBelow(bound) => Some(bound.at),
        _ => None,
    }
}

impl Strain<'_, '_> {
    /// Whether the contender noticed the load: it failed, fell short, was busy, or let connections wait.
    pub(crate) fn is_stressed(&self) -> bool {
        let seconds: f64 = self.ticks.iter().map(|tick| (tick.number("/to_us") - tick.number("/from_us")) / 1e6).sum();
        let short = self.asked.is_some_and(|rate| {
            let planned = rate * seconds;
            planned - sum(self.ticks, "/ok") > (0.03 * planned).max(5.0)
        });
        let fails = self.failed > self.allowed.unwrap_or(FAILURES) * self.finished.max(1.0);
        fails || short || self.busy.is_some_and(|busy| busy >= BUSY) || self.waits()
    }

    fn waits(&self) -> bool {
        let queue = |line: &&Line| {
            let mut all = line.json.get("metrics")?.as_object()?.iter();
            all.find(|(name, _)| name.ends_with(metric::ACCEPT_QUEUE))?.1.as_f64()
        };
        let looks: Vec<f64> = self.looks.iter().filter_map(queue).collect();
        let some = looks.iter().filter(|waiting| **waiting > 0.0).count();
        !looks.is_empty() && some as f64 >= WAITING * looks.len() as f64
    }
}

/// A pair of contenders with what each figure says.
pub(crate) type Pair = Vec<(Figure, Call)>;

/// Whether somebody is certainly and far slower than another.
pub(crate) fn is_slower(pairs: &[Pair]) -> bool {
    pairs.iter().flatten().any(|(figure, said)| {
        let far = match said.bound {
            Some(Bound::More(ratio)) => ratio > SLOWER,
            Some(Bound::Less(ratio)) => ratio < 1.0 / SLOWER,
            None => said.effect.is_some_and(|e| !(1.0 / SLOWER..=SLOWER).contains(&e.value)),
        };
        matches!(figure, Figure::P50 | Figure::P95) && matches!(said.call, "better" | "worse") && far
    })
}

/// What a comparison came to.
pub(crate) struct Came<'p> {
    pub(crate) pairs: &'p [Pair],
    /// Of the first contender against itself, the figures that differ.
    pub(crate) strays: Vec<Figure>,
    /// The figures that decide.
    pub(crate) deciding: Vec<Figure>,
    /// Blocks in which everybody had a turn that counts.
    pub(crate) blocks: u32,
    /// Whether the generator was the limit in a turn.
    pub(crate) limited: bool,
    /// Pairs of which neither was ever answered.
    pub(crate) silent: usize,
    /// Whether a contender did not start any more.
    pub(crate) dropped: bool,
    /// Whether anybody was stressed.
    pub(crate) stressed: bool,
}

impl Came<'_> {
    /// The outcome.
    pub(crate) fn outcome(&self) -> &'static str {
        let decided = |said: &Call| !matches!(said.call, "cannot_tell" | "missing" | "not_judged");
        let decides = |(figure, _): &&(Figure, Call)| self.deciding.contains(figure);
        let all = || self.pairs.iter().flatten().filter(decides);
        let asked = |figure: Figure| figure == Figure::Throughput && !self.stressed;
        let tells = all().any(|(figure, said)| decided(said) && !asked(*figure));
        let others = || self.pairs.iter().flatten().filter(|(figure, _)| !asked(*figure));
        let differs = others().any(|(_, said)| matches!(said.call, "better" | "worse"));
        match () {
            () if self.blocks < 2 && self.limited => "invalid",
            () if self.blocks < 2 || self.pairs.is_empty() => "unfinished",
            () if self.silent == self.pairs.len() => "invalid",
            () if !(tells || differs) || self.strays.iter().any(|figure| self.deciding.contains(figure)) => "invalid",
            () if tells && all().all(|(_, said)| decided(said)) && !self.dropped => "holds",
            () => "fails",
        }
    }

    /// What is to be said of the claim that it tests.
    pub(crate) fn claim(&self, events: &Events, claim: &Json, expected: &mut Expected) {
        let line = Some(events.head().number);
        let Ok(claim) = serde_json::from_value::<Claim>(claim.clone()) else { return };
        expected.is("/claim/blocks", f64::from(self.blocks), line);
        let noted = |id: &str| events.of("note").any(|line| line.text("/id") == id);
        let Test::Load(test) = &claim.test else {
            let known = [
                ("unknown", "does_not_exist"),
                ("refused", "refused"),
                ("clamped", "clamped"),
                ("warned", "warned"),
                ("accepted", "exists"),
            ];
            let first = known.iter().find(|(word, _)| noted(&format!("claim-line-{word}")));
            let verdict = first.map_or("cannot_tell", |(_, verdict)| verdict);
            return expected.word("/claim/verdict", verdict, "by what the server's check said", line);
        };
        let (mut kept, mut broken, mut open) = (0, 0, 0);
        for (i, promise) in test.promises.iter().enumerate() {
            let address = format!("/claim/kept/{i}");
            let said = self.pairs.last().and_then(|pair| pair.iter().find(|(figure, _)| *figure == promise.figure));
            if let Some((_, said)) = said {
                crate::effects::expect(&format!("{address}/effect"), said, line, expected);
            }
            let told = said.filter(|(figure, _)| self.stressed || *figure != Figure::Throughput);
            let keeps = told.and_then(|(_, said)| keeps(promise.becomes, said));
            match keeps {
                Some(true) => kept += 1,
                Some(false) => broken += 1,
                None => open += 1,
            }
            expected.word(format!("{address}/kept"), json!(keeps), "by the interval of what was promised", line);
        }
        let verdict = match (kept, broken, open) {
            _ if matches!(self.outcome(), "invalid" | "unfinished") => "cannot_tell",
            (_, 0, 0) => "confirmed",
            (0, 1.., _) => "refuted",
            (1.., 1.., _) => "partly",
            _ => "cannot_tell",
        };
        expected.word("/claim/verdict", verdict, "by the promises that were kept", line);
    }
}

/// What a contender's turns that count have, of which caveats tell: pauses, requests made again, the mean bytes of a response, good answers and those of them that
/// stood for errors.
pub(crate) struct OfCaveats {
    pub(crate) paced: f64,
    pub(crate) retried: f64,
    pub(crate) bytes: f64,
    pub(crate) answers: Vec<(f64, f64)>,
}

impl OfCaveats {
    /// Good answers, and those of them that stood for errors.
    pub(crate) fn hidden(&self) -> (f64, f64) {
        let each = self.answers.iter().map(|(responses, hidden)| (*responses, hidden.min(*responses)));
        each.fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1))
    }
}

/// What caveats tell of contenders; `own` gives it of each by its name.
pub(crate) fn caveats(verdict: &Json, own: impl Fn(&Json) -> OfCaveats, line: Option<usize>, expected: &mut Expected) {
    let told = verdict.get("caveats").and_then(Json::as_array).into_iter().flatten().enumerate();
    for (i, caveat) in told {
        let Some(own) = caveat.get("name").map(&own) else { continue };
        match caveat.get("caveat").and_then(Json::as_str) {
            Some("paced") => expected.is(format!("/caveats/{i}/paced"), own.paced, line),
            Some("retried") => expected.is(format!("/caveats/{i}/retried"), own.retried, line),
            Some("not_compressed") => expected.is(format!("/caveats/{i}/bytes"), own.bytes, line),
            Some("hidden_errors") => {
                let (responses, hidden) = own.hidden();
                expected.is(format!("/caveats/{i}/responses"), responses, line);
                expected.is(format!("/caveats/{i}/hidden"), hidden, line);
            }
            _ => {}
        }
    }
}

/// Whether a promise was kept; none: that is not decided.
fn keeps(promised: Promised, said: &Call) -> Option<bool> {
    let wanted = match promised {
        Promised::Better => "better",
        Promised::Worse => "worse",
        Promised::Same => "same",
        Promised::Times(times) => {
            let e = said.effect?;
            let (short, changed) =
                if times < 1.0 { (e.low > times, e.high < 1.0) } else { (e.high < times, e.low > 1.0) };
            return if short { Some(false) } else { changed.then_some(true) };
        }
    };
    (!matches!(said.call, "cannot_tell" | "missing" | "not_judged")).then_some(said.call == wanted)
}

/// Why a comparison ended, after so many blocks were begun.
pub(crate) fn ended(events: &Events, begun: u32, looks: &[u32]) -> &'static str {
    let cut = |end: &Line| {
        end.json.get("interrupted") == Some(&Json::Bool(true))
            || end.json.get("failure").is_some_and(|why| !why.is_null())
    };
    match events.of("run_ended").next() {
        None => "cut_off",
        Some(end) if cut(end) => "cut_off",
        Some(_) if begun < looks.last().copied().unwrap_or(0) => "early",
        Some(_) => "planned",
    }
}
