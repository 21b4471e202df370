//! What contradicts what: the statements of a verdict against each other and against the counters of its record.

use genkai_analysis::window::Tally;
use genkai_model::event::ServerState;
use genkai_model::finding::*;
use genkai_model::objective::{Condition, Objective};
use genkai_model::record::{Record, Trial};
use genkai_report::document::Document;
use genkai_report::text::{self, Style};

/// Sentences about what cannot be true at once; empty for none.
pub(crate) fn contradictions(record: &Record, findings: &Findings, document: &Document) -> Vec<String> {
    let v = &findings.verdict;
    let said = document.sentences.join("\n");
    let mut all = Vec::new();
    all.extend(headline(v, &document.headline));
    all.extend(counters(record, v));
    all.extend(v.trials.iter().filter_map(|t| t.broke.as_ref()).flat_map(|b| unsampled(&said, b)));
    all.extend(v.causes.iter().flat_map(|c| cause(record, v, c)));
    all.extend(proof(v, &said));
    all.extend(ends(record, v, &said));
    all.extend(v.caveats.iter().flat_map(|c| caveat(record, v, c)));
    all.extend(seen_elsewhere(record, v));
    all.extend(tables(v, document));
    all
}

/// A contradiction where `wrong`.
fn if_(wrong: bool, what: impl FnOnce() -> String) -> Option<String> {
    wrong.then(what)
}

fn headline(v: &Verdict, headline: &str) -> Vec<String> {
    let begins = |all: &[&str]| all.iter().any(|one| headline.starts_with(one));
    let fits = match v.must_change() {
        Answer::Yes => begins(&["Yes: change "]) && !v.proposal.is_empty(),
        Answer::No => begins(&["No: ", "No change needed: ", "Held: "]),
        Answer::CannotTell => begins(&["Cannot tell: ", "Probably not: ", "Invalid: ", "Failed: "]),
    };
    let moved = v.causes.iter().any(|c| c.confidence == Confidence::Proved);
    let better = v.proof.as_ref().is_some_and(|p| p.decided.call == Call::Better);
    let nothing = headline.contains("made no difference") || headline.contains("no measurable difference");
    let refuted = |next: &Predicted| {
        v.causes
            .iter()
            .any(|c| c.confidence == Confidence::Refuted && (&c.limit.id, &c.limit.value) == (&next.limit, &next.value))
    };
    let stops = headline.contains("then stops the load");
    [
        if_(!fits, || format!("{:?} beside: {headline}", v.must_change())),
        if_(
            headline.contains("made no difference")
                && moved
                && v.causes.iter().all(|c| c.confidence != Confidence::Refuted),
            || format!("a change that moved the break made no difference: {headline}"),
        ),
        if_(nothing && better, || format!("better for certain, and: {headline}")),
        if_(stops && v.next.as_ref().is_none_or(refuted), || format!("refuted, and: {headline}")),
        if_(stops && v.next.as_ref().is_none_or(|n| n.observed.is_none()), || format!("never seen, and: {headline}")),
        if_((v.must_change() == Answer::Yes) && v.outcome() != Outcome::Fails, || {
            format!("nothing failed: {headline}")
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn trial(record: &Record, number: u32) -> Option<&Trial> {
    record.trials.iter().find(|t| t.number == number)
}

fn condition(broke: &Break) -> Option<Condition> {
    broke.condition.parse::<Objective>().ok()?.0.first().copied()
}

/// Counts beside those of the record, and breaks beside what was counted.
fn counters(record: &Record, v: &Verdict) -> Vec<String> {
    let one = |found: &TrialFinding| -> Vec<String> {
        let Some(trial) = trial(record, found.trial) else { return vec![format!("there is no trial {}", found.trial)] };
        let tally = Tally::of(&trial.ticks);
        let (counted, told) = ((tally.failed, tally.finished()), (found.failed, found.finished));
        let broke = found.broke.iter().flat_map(|broke| seen(trial, broke, &tally));
        if_(counted != told, || format!("trial {}: {told:?} told, {counted:?} counted", found.trial))
            .into_iter()
            .chain(broke)
            .collect()
    };
    v.trials.iter().flat_map(one).collect()
}

/// What was seen at a break, beside what the trial counted.
fn seen(trial: &Trial, broke: &Break, tally: &Tally) -> Option<String> {
    let slowest = || {
        let all = genkai_analysis::window::merge(&trial.ticks, |t| &t.latency);
        all.max() as f64 / 1e9
    };
    // Of requests that were still waited for another word is due than for those that failed.
    let waits = trial.ticks.last().is_some_and(|t| t.in_flight > 0);
    match (condition(broke)?, broke.seen) {
        (Condition::LatencyBelow(..), Seen::Measured(seen)) => if_(seen > slowest() * 1.002, || {
            format!("trial {}: a latency of {seen} s, but the slowest response took {} s", trial.number, slowest())
        }),
        (Condition::ErrorsBelow(_), Seen::Measured(seen)) => if_(seen > 0.0 && tally.failed == 0 && !waits, || {
            format!("trial {}: {} % failed, but nothing did", trial.number, seen * 100.0)
        }),
        _ => None,
    }
}

fn unsampled(said: &str, broke: &Break) -> Option<String> {
    let zero = broke.in_flight.round() == 0.0 && said.contains("(0 clients at once)");
    if_(zero, || "0 clients at once are said".to_owned())
}

fn cause(record: &Record, v: &Verdict, c: &Cause) -> Vec<String> {
    let in_force = |setting: &str| {
        let changes = &trial(record, c.trial)?.started.changes;
        changes.iter().find(|one| one.setting == setting).map(|one| one.to.clone())
    };
    let from = c.counterfactual.as_ref().and_then(|test| {
        let force = in_force(&test.change.setting)?;
        if_(force != test.change.from, || format!("{} was {force}, not {}", test.change.setting, test.change.from))
    });
    let tested =
        if_(matches!(c.confidence, Confidence::Proved | Confidence::Refuted) != c.counterfactual.is_some(), || {
            format!("{}: {:?} and its test do not belong together", c.limit.id, c.confidence)
        });
    let broke = v.trials.iter().find(|t| t.trial == c.trial).is_some_and(|t| t.broke.as_ref() == Some(&c.broke));
    let broke = if_(!broke, || format!("{}: trial {} did not break so", c.limit.id, c.trial));
    [from, tested, broke].into_iter().flatten().collect()
}

fn proof(v: &Verdict, said: &str) -> Vec<String> {
    let mut all: Vec<Option<String>> = vec![
        if_(said.contains("is confirmed") && v.causes.iter().all(|c| c.confidence != Confidence::Proved), || {
            "confirmed, but nothing was".to_owned()
        }),
        if_(said.contains("is proved"), || "proved is said of a cause, beside a proof".to_owned()),
    ];
    if let Decision::Carried { pairs } = v.decision() {
        let call = v.proof.as_ref().map(|p| p.decided.call);
        let [failed, held] = v.proof.as_ref().map_or([false, false], |p| [!p.proposal_holds, !p.baseline_fails]);
        let fits = match pairs {
            Pairing::Enough => call == Some(Call::Better) && !failed && !held,
            Pairing::Helps { .. } => call == Some(Call::Better) && !failed && held,
            Pairing::Same => call == Some(Call::Same) && !failed,
            Pairing::Worse => call == Some(Call::Worse) && !failed,
            Pairing::NotEnough { failed: n, of, .. } => n > 0 && n <= of && (failed || v.proof.is_none()),
            Pairing::NotReproduced { .. } => !failed && (held || v.proof.is_none()),
            Pairing::Undecided => !matches!(call, Some(Call::Better | Call::Same | Call::Worse)),
            Pairing::None | Pairing::Unfinished | Pairing::Generator => true,
        };
        all.push(if_(!fits, || format!("{pairs:?} beside {call:?}, proposal failed {failed}, baseline held {held}")));
    }
    let Some(p) = &v.proof else { return all.into_iter().flatten().collect() };
    let ratio =
        p.judged.as_ref().and_then(|j| j.condition.parse::<Objective>().ok()).and_then(|o| o.0.first().copied());
    let ratio = matches!(ratio, Some(Condition::LatencyBelow(..) | Condition::RateAbove(_)));
    all.push(if_(!ratio && p.decided.effect.is_some_and(|e| e != p.failed_difference), || {
        "two intervals for one figure".to_owned()
    }));
    all.push(if_(said.contains("failed with every baseline") && !p.baseline_fails, || "a baseline held".to_owned()));
    all.push(if_(said.contains("held with every proposal") && !p.proposal_holds, || "a proposal failed".to_owned()));
    let figures = p.rate.iter().chain(&p.p99).chain([&p.failed_before, &p.failed_after, &p.failed_difference]);
    all.extend(figures.map(|e| {
        let Estimate { value, interval, .. } = e;
        let inside = interval.low <= *value && *value <= interval.high;
        if_(!inside, || format!("{value} is not within {interval:?}"))
    }));
    all.extend(
        p.rate.iter().map(|e| if_(e.interval.low == e.interval.high, || format!("an interval without width: {e:?}"))),
    );
    all.into_iter().flatten().collect()
}

/// How servers and the run ended.
fn ends(record: &Record, v: &Verdict, said: &str) -> Vec<String> {
    let gone = |t: &Trial| t.states.iter().any(|(_, s)| matches!(s.state, ServerState::Died | ServerState::Refuses));
    let interrupted = record.end.as_ref().is_none_or(|end| end.interrupted);
    let told = v.caveats.iter().any(|c| matches!(c, Caveat::RecordCutOff | Caveat::Interrupted { .. }));
    [
        if_(said.contains(" died") && !record.trials.iter().any(gone), || "died, but none did".to_owned()),
        if_(interrupted && !told, || "it was cut short, and that is not told".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn caveat(record: &Record, v: &Verdict, c: &Caveat) -> Option<String> {
    match c {
        Caveat::CeilingReached { setting, value, .. } => {
            let proposed = v.proposal.iter().find(|p| p.change.setting == *setting)?;
            let number: f64 = proposed.change.to.parse().ok()?;
            if_(number > *value, || format!("{setting} cannot be raised above {value}, and {number} is proposed"))
        }
        Caveat::BaselineHeldInProof => if_(v.decision() == Decision::Carried { pairs: Pairing::Enough }, || {
            "a baseline held, and the change is enough".to_owned()
        }),
        Caveat::ProposalFailedInProof => if_(v.decision() == Decision::Carried { pairs: Pairing::Enough }, || {
            "a proposal failed, and the change is enough".to_owned()
        }),
        Caveat::BackendBore { trial: number, longer: true, .. } => {
            let errors = v.trials.iter().find_map(|t| condition(t.broke.as_ref()?));
            let [own, first] = [*number, 1].map(|n| trial(record, n).map(|t| Tally::of(&t.ticks).failed_fraction()));
            let more = own? >= first? && own? > 0.0;
            if_(matches!(errors, Some(Condition::ErrorsBelow(_))) && more, || {
                format!("the backend alone failed as often ({own:?}, behind the product {first:?}), and is cleared")
            })
        }
        _ => None,
    }
}

/// "Seen at" of the very configuration that it was predicted for.
fn seen_elsewhere(record: &Record, v: &Verdict) -> Vec<String> {
    let law = |id: &str| record.trials.first()?.limits.limits.iter().find(|l| l.id == id);
    let wrong = |p: &&Predicted| {
        let same = |c: &&Cause| c.limit.id == p.limit && law(&p.limit).is_some_and(|l| l.law == c.limit.law);
        p.observed.is_some() && !v.causes.iter().any(|c| same(&c))
    };
    v.predictions.iter().filter(wrong).map(|p| format!("{} = {} was not met so", p.limit, p.value)).collect()
}

/// Tables beside the verdict.
fn tables(v: &Verdict, document: &Document) -> Vec<String> {
    let shown = text::document(document, Style { color: false, width: 200 });
    let wrong = |p: &&Predicted| {
        let row = format!("{} = {} ", p.setting, p.value);
        let held = |line: &str| line.contains(&row) && line.contains("reached, but held");
        p.observed.is_some() && shown.lines().any(held)
    };
    v.predictions.iter().filter(wrong).map(|p| format!("{} broke, and `reached, but held`", p.limit)).collect()
}
