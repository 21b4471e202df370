//! What a search decides, and the limits that it met, as a verdict must tell them.

use genkai_model::limit::Law;
use serde_json::{Value as Json, json};

use crate::broken::{self, Judged};
use crate::counted;
use crate::directives::Removals;
use crate::events::{Line, failed};
use crate::expected::Expected;
use crate::load::Threshold;
use crate::outpaced;
use crate::search::{End, Search, Step, Test};
use crate::weigh::Weighed;

/// What the conditions say of a whole load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Holds,
    Fails,
    /// None fails, but of one nothing came to judge it by.
    Unjudged,
    /// None fails, but one would if those failed that hung at the end.
    Undecided,
}

impl Over {
    /// Of the conditions of a load.
    pub(crate) fn of(all: &[Threshold]) -> Over {
        match () {
            () if all.iter().any(|one| one.seen.is_some() && !one.holds) => Over::Fails,
            () if all.iter().any(|one| !one.holds) => Over::Unjudged,
            () if all.iter().any(|one| one.undecided > 0.0) => Over::Undecided,
            () => Over::Holds,
        }
    }
}

impl<'e> Search<'_, 'e> {
    /// What stops the load, as far as it is known.
    fn stop(&self) -> Json {
        let named = self.steps.last().filter(|step| step.proved().is_none()).and_then(Step::untested);
        let stop = |name: &str| json!({ "stop": name });
        match self.end {
            End::Died => stop("died"),
            End::Refused => stop("refused"),
            End::Invalid => stop("generator"),
            End::Crowded => stop("other_programs"),
            End::NoCause => stop("unknown"),
            End::Refuted if !self.counts().is_empty() => stop("unknown"),
            End::Refuted => stop("refuted"),
            End::Enough => stop("untested"),
            End::CannotLift => {
                let Some(named) = named else { return stop("unknown") };
                let product = self.events.head().text("/plan/system/product");
                let foreign = ![product, "kernel", "machine"].contains(&named.limit.subject.as_str());
                let likely = named.confidence() == "likely";
                match named.limit.law {
                    _ if foreign => json!({ "stop": "backend", "likely": likely }),
                    Law::Cpu { .. } | Law::Handshakes { .. } => json!({ "stop": "processor", "likely": likely }),
                    _ => stop("untested"),
                }
            }
            _ if named.is_some() && !self.is_moved() => stop("untested"),
            _ => stop("unfinished"),
        }
    }

    /// What settings count that were changed, where that is not users.
    pub(crate) fn counts(&self) -> Vec<(Json, Option<usize>)> {
        let tests = self.steps.iter().flat_map(|step| step.tests.iter().map(move |test| (step, test)));
        counted::of(tests.map(|(step, test)| (&test.candidate.limit, &step.at, &test.after)))
    }

    /// Whether it is a plain load, which is judged by what came.
    fn is_load(&self) -> bool {
        self.events.head().text("/plan/study") == "load"
    }

    /// What is decided, where `pairing` is what pairs say of what was lifted, and `over` what holds over a whole load.
    fn decision(&self, pairing: impl FnOnce() -> Json, over: Over) -> Json {
        let broken = self.first.is_some_and(|first| first.onset.is_some());
        let invalid = self.first.is_some_and(|first| !first.generator.is_valid());
        match self.end {
            End::Untried => json!({ "decided": "unfinished" }),
            End::Cut if !broken => json!({ "decided": "unfinished" }),
            End::Invalid if invalid => json!({ "decided": "invalid" }),
            End::Holds if over == Over::Unjudged => self.unjudged(),
            End::Holds if over == Over::Fails => json!({ "decided": "unmoved", "by": { "stop": "unknown" } }),
            End::Holds if over == Over::Undecided => json!({ "decided": "unanswered" }),
            End::Holds if !self.is_load() && self.first.is_some_and(is_unanswered) => {
                json!({ "decided": "unanswered" })
            }
            End::Holds if self.first.is_some_and(outpaced::is) => json!({ "decided": "outpaced" }),
            End::Holds => json!({ "decided": "holds" }),
            End::Prove => match pairing() {
                none if none["pairing"] == "none" && self.is_once() => {
                    json!({ "decided": "moved", "then": { "stop": "unfinished" } })
                }
                pairs => json!({ "decided": "carried", "pairs": pairs }),
            },
            _ if self.is_moved() => {
                let then = self.stop();
                let open = ["died", "refused", "generator", "other_programs", "unfinished"];
                let tells = !open.iter().any(|word| then["stop"] == *word);
                let then = if tells && self.is_once() { json!({ "stop": "unfinished" }) } else { then };
                json!({ "decided": "moved", "then": then })
            }
            _ if self.removals.as_ref().is_some_and(Removals::is_proved) => {
                let open = self.removals.as_ref().is_some_and(Removals::opens_what_is_protected);
                json!({ "decided": if open { "guarded" } else { "bisected" } })
            }
            _ => json!({ "decided": "unmoved", "by": self.stop() }),
        }
    }

    /// A plain load of which a condition has nothing to be judged by: of none that succeeded, those that failed say that it was not carried, or
    /// those that waited.
    fn unjudged(&self) -> Json {
        let ticks = self.first.map(|first| first.trial.ticks()).unwrap_or_default();
        let total = |of: &dyn Fn(&Line) -> f64| ticks.iter().map(|tick| of(tick)).sum::<f64>();
        match (total(&|tick| tick.number("/ok")), total(&failed), total(&|tick| tick.number("/sent"))) {
            (0.0, bad, _) if bad > 0.0 => json!({ "decided": "unmoved", "by": { "stop": "unknown" } }),
            (0.0, _, sent) if sent > 0.0 => json!({ "decided": "unanswered" }),
            _ => json!({ "decided": "unfinished" }),
        }
    }

    /// What the verdict must say of causes and of the answer.
    pub(crate) fn expect(&self, call: Option<&str>, pairs: &Pairs<'_, 'e>, over: Over, expected: &mut Expected) {
        let decision = self.decision(|| self.pairing(call, pairs), over);
        let none = ["/decided", "/pairs/pairing"].map(|at| decision.pointer(at).and_then(Json::as_str));
        let paired = none[0] == Some("carried") && none[1] != Some("none");
        self.causes(is_confirmed(&decision), paired, expected);
        let line = self.first.map(|first| first.trial.start.number);
        let why = format!("the search ended so: {:?}", self.end);
        let (outcome, must_change, because) = views(&decision);
        for (name, word) in [("outcome", outcome), ("must_change", must_change), ("because", because)] {
            expected.word(format!("/{name}"), word, &why, line);
        }
        self.ladder(&decision, pairs, expected);
        self.smaller(expected);
        expected.word("/decision", decision, &why, line);
        match &self.removals {
            Some(removals) => removals.expect(expected),
            None => expected.there("/bisection", false, "no directives were left out", None),
        }
    }

    /// What pairs say of what was lifted.
    fn pairing(&self, call: Option<&str>, pairs: &Pairs<'_, 'e>) -> Json {
        let fewest = self.head("/plan/procedure/min_pairs") as usize;
        let pairing = |name: &str| json!({ "pairing": name });
        let of = pairs.len();
        let held = pairs.iter().filter(|(a, _)| a.held()).count();
        let failed = pairs.iter().filter(|(_, b)| b.onset.is_some()).count();
        let silent = pairs.iter().filter(|(_, b)| b.is_silent()).count();
        let outpaced = pairs.iter().filter(|(_, b)| outpaced::is(b)).count();
        match call {
            _ if self.has_no_proposal() => pairing("not_started"),
            _ if pairs.is_empty() && fewest == 0 => pairing("none"),
            _ if of < fewest => pairing("unfinished"),
            _ if pairs.iter().any(|(a, b)| !a.generator.is_valid() || !b.generator.is_valid()) => pairing("generator"),
            better if failed > 0 && held > 0 => {
                json!({
                    "pairing": "contradicted", "held": held, "failed": failed, "of": of, "helps": better == Some("better")
                })
            }
            Some(word @ ("same" | "worse")) if failed > 0 => pairing(word),
            _ if failed > 0 => {
                json!({ "pairing": "not_enough", "failed": failed, "of": of, "helps": call == Some("better") })
            }
            _ if silent > 0 => json!({ "pairing": "unanswered", "unanswered": silent, "of": of }),
            _ if held == of => json!({ "pairing": "not_reproduced", "of": of }),
            Some("same") => pairing("same"),
            Some("worse") => pairing("worse"),
            Some("better") if outpaced > 0 => json!({ "pairing": "outpaced", "outpaced": outpaced, "of": of }),
            Some("better") if held > 0 => json!({ "pairing": "helps", "held": held, "of": of }),
            Some("better") => pairing("enough"),
            _ => pairing("undecided"),
        }
    }

    /// The limits that were met, in order: those lifted, then the one behind a break that was not.
    fn causes(&self, confirmed: bool, paired: bool, expected: &mut Expected) {
        let mut count = 0;
        for step in &self.steps {
            for test in step.tests.iter().filter(|test| !test.hindered) {
                let confidence = match test.moved {
                    "not" => "refuted",
                    // What the proof did not see again may have been over before the change was made.
                    _ if !confirmed || test.once && !paired => "possible",
                    _ => "proved",
                };
                if cause(count, step, &test.candidate, confidence, expected) {
                    lifted(&format!("/causes/{count}/counterfactual"), step, test, expected);
                    count += 1;
                }
            }
            let open = step.untested().filter(|_| step.proved().is_none());
            if open.is_some_and(|open| cause(count, step, open, open.confidence(), expected)) {
                expected.there(format!("/causes/{count}/counterfactual"), false, "it was not lifted", None);
                count += 1;
            }
        }
        expected.there(format!("/causes/{count}"), false, "no more limits were met", None);
    }
}

/// Whether none of a trial's requests came to an end, or fewer than were waiting when it ended, or none as something that must hold asks for; whether
/// none of its WebSockets was opened.
fn is_unanswered(judged: &Judged<'_>) -> bool {
    let ended: f64 = judged.trial.ticks().iter().map(|tick| tick.number("/ok") + failed(tick)).sum();
    let waiting = judged.trial.end().map_or(0.0, |end| end.number("/abandoned"));
    let opened: f64 = judged.trial.ticks().iter().map(|tick| tick.number("/handshakes/upgraded")).sum();
    let few = if judged.asked.tunnels { ended == 0.0 && opened == 0.0 } else { ended == 0.0 || ended < waiting };
    few || judged.onset.is_none() && judged.is_silent()
}

/// Whether the proof leaves standing what the search saw of its changes.
pub(crate) fn is_confirmed(decision: &Json) -> bool {
    let of = |name: &str| decision.get("pairs").and_then(|pairs| pairs.get(name));
    match of("pairing").and_then(Json::as_str) {
        Some("not_reproduced" | "contradicted" | "same" | "worse") => false,
        Some("not_enough") => of("failed") != of("of") || of("helps") == Some(&true.into()),
        _ => true,
    }
}

/// Baselines with their proposals.
pub(crate) type Pairs<'a, 'e> = [(&'a Judged<'e>, &'a Judged<'e>)];

/// The words for scripts that follow from a decision: outcome, whether something must change, and why.
fn views(decision: &Json) -> (&'static str, &'static str, &'static str) {
    let text = |pointer: &str| decision.pointer(pointer).and_then(Json::as_str).unwrap_or_default();
    let stops = |stop: &str| match stop {
        "refuted" => "change_made_no_difference",
        "untested" => "not_tested",
        "backend" => "backend_is_limit",
        "processor" => "cpu_is_limit",
        "died" => "server_died",
        "refused" => "server_refused",
        "generator" => "client_is_limit",
        "other_programs" => "other_programs",
        "unfinished" => "unfinished",
        _ => "no_cause_found",
    };
    match text("/decided") {
        "holds" => ("holds", "no", "objective_holds"),
        "invalid" => ("invalid", "cannot_tell", "client_is_limit"),
        "unanswered" => ("invalid", "cannot_tell", "unanswered"),
        "outpaced" => ("invalid", "cannot_tell", "outpaced"),
        "unmoved" => {
            let outcome = if text("/by/stop") == "other_programs" { "invalid" } else { "fails" };
            let no = text("/by/stop") == "backend" && decision.pointer("/by/likely") == Some(&true.into());
            (outcome, if no { "no" } else { "cannot_tell" }, stops(text("/by/stop")))
        }
        "moved" => match text("/then/stop") {
            stop @ ("died" | "refused" | "generator" | "other_programs" | "unfinished") => {
                ("fails", "cannot_tell", stops(stop))
            }
            _ => ("fails", "yes", "proved_but_next_limit"),
        },
        "bisected" => ("fails", "yes", "directives_named"),
        "guarded" => ("fails", "cannot_tell", "access_control"),
        "carried" => {
            let (must_change, because) = match text("/pairs/pairing") {
                "none" | "enough" => ("yes", "proved_and_holds"),
                "generator" => ("cannot_tell", "client_is_limit"),
                "not_enough" if decision.pointer("/pairs/helps") == Some(&true.into()) => {
                    ("cannot_tell", "proved_but_next_limit")
                }
                "contradicted" => ("cannot_tell", "contradicted"),
                "unanswered" => ("cannot_tell", "unanswered"),
                "outpaced" => ("cannot_tell", "outpaced"),
                "not_reproduced" => ("cannot_tell", "not_reproduced"),
                "same" => ("cannot_tell", "change_made_no_difference"),
                "not_started" => ("cannot_tell", "proposal_not_started"),
                "worse" => ("cannot_tell", "change_made_it_worse"),
                "not_enough" | "undecided" => ("cannot_tell", "undecided"),
                "helps" => ("cannot_tell", "helps"),
                _ => ("cannot_tell", "unfinished"),
            };
            ("fails", must_change, because)
        }
        _ => ("unfinished", "cannot_tell", "unfinished"),
    }
}

/// A limit that was met at a break. Whether it can be told: there was one.
fn cause(i: usize, step: &Step<'_>, of: &Weighed, confidence: &str, expected: &mut Expected) -> bool {
    if step.at.onset.is_none() {
        return false;
    }
    let (address, line) = (format!("/causes/{i}"), Some(step.at.trial.start.number));
    expected.is(format!("{address}/trial"), f64::from(step.at.trial.number), line);
    let limit = serde_json::to_value(&of.limit).unwrap_or_default();
    expected.word(
        format!("{address}/limit"),
        limit,
        "the best of those that can be the cause, or what was lifted",
        line,
    );
    expected.word(format!("{address}/confidence"), confidence, "by its signs, or by what lifting it did", line);
    expected.same(&format!("{address}/evidence"), &of.evidence.clone().into(), "the signs seen around the break", line);
    expected.same(
        &format!("{address}/others"),
        &step.beside(&of.limit).into(),
        "the other limits in force, best first",
        line,
    );
    true
}

/// What lifting a limit did.
fn lifted(address: &str, step: &Step<'_>, test: &Test<'_>, expected: &mut Expected) {
    let line = Some(test.after.trial.start.number);
    expected.is(format!("{address}/trial"), f64::from(test.after.trial.number), line);
    expected.word(format!("{address}/moved"), test.moved, "by where it broke then, and by what", line);
    expected.word(format!("{address}/scale"), test.scale, "what the next limit counts", line);
    expected.between(format!("{address}/predicted"), test.predicted, line);
    expected.is(format!("{address}/held_to"), test.after.held_to(), line);
    broken::expect(&format!("{address}/observed"), &test.after, expected);
    changed(&format!("{address}/change"), step, test, expected);
    let (address, why) = (format!("{address}/again"), "both were tried again, and how often");
    expected.same(&address, &test.again, why, line);
    for name in ["unchanged", "failures", "more"].iter().filter(|name| test.again.get(name).is_none()) {
        expected.there(format!("{address}/{name}"), false, why, line);
    }
}

/// The change that a test made, from the value in force before it.
pub(crate) fn changed(address: &str, step: &Step<'_>, test: &Test<'_>, expected: &mut Expected) {
    let line = Some(test.after.trial.start.number);
    let setting = test.candidate.limit.remedy.as_ref().map(|remedy| remedy.setting.clone());
    let of = |judged: &Judged<'_>| {
        let name = setting.clone().map(Json::from);
        judged.trial.start.items("/changes").iter().find(|change| change.get("setting") == name.as_ref()).cloned()
    };
    if let Some(change) = of(&test.after) {
        let before = of(&step.at).and_then(|before| before.get("to").cloned());
        for (name, value) in [
            ("setting", change.get("setting")),
            ("to", change.get("to")),
            ("from", before.as_ref().or(change.get("from"))),
        ] {
            expected.word(format!("{address}/{name}"), value.cloned().unwrap_or_default(), "as it was changed", line);
        }
    }
}
