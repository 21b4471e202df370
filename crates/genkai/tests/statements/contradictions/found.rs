//! What contradicts what: the statements of a verdict against each other and against the counters of its record.

use genkai_analysis::window::{self, Tally};
use genkai_model::event::{EndReason, ServerState};
use genkai_model::finding::*;
use genkai_model::limit::{Law, Limit};
use genkai_model::load::{Arrivals, Protocol};
use genkai_model::objective::{Condition, Objective};
use genkai_model::record::{Record, Trial};
use genkai_model::units::Spread;
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
    all.extend(moved(&said));
    all.extend(ends(record, v, &said));
    all.extend(v.caveats.iter().flat_map(|c| caveat(record, v, c)));
    all.extend(next_above(record, v));
    all.extend(held(record, v));
    all.extend(met(v));
    all.extend(met_once(v));
    all.extend(seen_elsewhere(record, v));
    all.extend(tables(v, document));
    all
}

/// A contradiction where `wrong`.
fn if_(wrong: bool, what: impl FnOnce() -> String) -> Option<String> {
    wrong.then(what)
}

/// Trials that are told as held, although the objective does not hold over the whole of them.
fn held(record: &Record, v: &Verdict) -> Vec<String> {
    let objective = record.head.iter().flat_map(|head| &head.plan.objective.0);
    let conditions: Vec<&Condition> = objective.collect();
    let whole = |trial: &&Trial| trial.ended.as_ref().is_some_and(|end| end.reason == EndReason::Completed);
    let told = record
        .trials
        .iter()
        .filter(whole)
        .filter(|trial| v.trials.iter().any(|told| told.trial == trial.number && told.broke.is_none()));
    let fails = |trial: &Trial, condition: &Condition| {
        let seen = match condition {
            Condition::ErrorsBelow(_) => Some(Tally::of(&trial.ticks).failed_fraction()),
            Condition::LatencyBelow(q, _) => window::quantile(&window::merge(&trial.ticks, |t| &t.latency), *q),
            _ => None,
        };
        seen.filter(|seen| !condition.holds(*seen))
    };
    let all = told.flat_map(|trial| conditions.iter().filter_map(move |c| Some((trial.number, *c, fails(trial, c)?))));
    all.map(|(trial, condition, seen)| format!("trial {trial} is told as held: {condition}, {seen} was seen")).collect()
}

/// Breaks of which two figures are told: where a trial broke is one.
fn met(v: &Verdict) -> Vec<String> {
    let rungs = v.ladder.iter().flat_map(|ladder| &ladder.rungs);
    let met = rungs.filter_map(|rung| match rung {
        Rung::Proved(rung) => Some(rung.met),
        Rung::Measured(rung) => Some(rung.met),
        Rung::Predicted(_) => None,
    });
    let broke = |trial: u32| v.trials.iter().find(|one| one.trial == trial)?.broke.as_ref().map(|broke| broke.level);
    let told = met.filter_map(|met| Some((met.trial, met.level?, broke(met.trial)?)));
    told.filter(|(_, met, broke)| (met - broke).abs() > 1e-9)
        .map(|(trial, met, broke)| format!("trial {trial} broke at {broke}, and its limit was met at {met}"))
        .collect()
}

fn headline(v: &Verdict, headline: &str) -> Vec<String> {
    let begins = |all: &[&str]| all.iter().any(|one| headline.starts_with(one));
    let fits = match v.must_change() {
        // Of directives that were left out nothing is proposed to be written in their place.
        Answer::Yes => begins(&["Yes: change "]) && (!v.proposal.is_empty() || v.decision() == Decision::Bisected),
        Answer::No => begins(&["No: ", "No change needed: ", "Held: "]),
        Answer::CannotTell => {
            begins(&["Cannot tell: ", "Cannot tell what to change: ", "Probably not: ", "Invalid: ", "Failed: "])
        }
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
        let broke = found
            .broke
            .iter()
            .flat_map(|broke| seen(trial, broke, &tally).into_iter().chain(place(trial, broke)).collect::<Vec<_>>());
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
    match (condition(broke)?, broke.seen) {
        (Condition::LatencyBelow(..), Seen::Measured(seen)) => if_(seen > slowest() * 1.002, || {
            format!("trial {}: a latency of {seen} s, but the slowest response took {} s", trial.number, slowest())
        }),
        (Condition::ErrorsBelow(_), Seen::Measured(seen)) => if_(seen > 0.0 && tally.failed == 0, || {
            format!("trial {}: {} % failed, but nothing did", trial.number, seen * 100.0)
        }),
        _ => None,
    }
}

fn unsampled(said: &str, broke: &Break) -> Option<String> {
    let zero = broke.in_flight.round() == 0.0 && said.contains("(0 clients at once)");
    if_(zero, || "0 clients at once are said".to_owned())
}

/// What is said of clients at a break, beside the load: users who do not think are clients, and nobody is there before the first interval was
/// counted.
fn place(trial: &Trial, broke: &Break) -> Vec<String> {
    let load = &trial.started.load;
    let busy = matches!(&load.arrivals, Arrivals::Users { think, .. } if *think == Spread::default());
    let kept = matches!(load.protocol, Protocol::WebSocket(_));
    let users = busy && !kept && load.scenario.is_none();
    let first = trial.ticks.first().filter(|first| broke.at * 1e6 <= first.to_us as f64 && !kept && !users);
    let early = broke.later.filter(|later| later.at <= broke.at);
    [
        if_(users && broke.in_flight != broke.level.round(), || {
            format!("trial {}: {} users, and {} clients", trial.number, broke.level, broke.in_flight)
        }),
        if_(first.is_some_and(|first| broke.connections != Some(first.connections as f64)), || {
            format!(
                "trial {}: connections of a moment at which nobody had counted: {:?}",
                trial.number, broke.connections
            )
        }),
        if_(early.is_some(), || format!("trial {}: seen before it began", trial.number)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A next limit that nothing was seen of, beside the tighter ones of the same configuration: one that only makes requests wait, which nothing
/// judges, stands however far the load went. Workers beyond whom requests fail do not, and nobody waits there unjudged.
fn next_above(record: &Record, v: &Verdict) -> Option<String> {
    let next = v.next.as_ref().filter(|next| next.observed.is_none())?;
    let head = record.head.as_ref()?;
    let judged = head.plan.objective.0.iter().any(|c| !matches!(c, Condition::ErrorsBelow(_)));
    let limits = match v.causes.iter().rev().find(|c| c.confidence == Confidence::Proved) {
        Some(cause) => &trial(record, cause.counterfactual.as_ref()?.trial)?.limits.limits,
        None => &record.trials.first()?.limits.limits,
    };
    let unchanged = limits.iter().find(|l| l.id == next.limit);
    let value = if_(unchanged.is_some_and(|l| l.value != next.value), || {
        format!("{} = {} is next, but that is not its value in what is proposed", next.limit, next.value)
    });
    let all = genkai_analysis::capacity::predict_under(limits, &head.plan.load, &head.plan.objective, None);
    let waits = |p: &&Predicted| {
        let limit = limits.iter().find(|l| l.id == p.limit);
        limit.is_some_and(|l| l.symptom.slow && matches!(l.law, Law::Slots { .. }))
    };
    let work = v.caveats.iter().any(|c| matches!(c, Caveat::AtWorkButHeld { limit, .. } if *limit == next.limit));
    let tighter =
        all.iter().filter(waits).find(|p| p.users.zip(next.users).is_some_and(|(one, next)| one.high < next.low));
    let tighter = tighter.filter(|p| !judged && !work && p.limit != next.limit);
    let passed = v.caveats.iter().filter(|_| !work).find_map(|c| passed(unchanged?, next, c));
    let tighter = tighter.map(|p| format!("{} = {} stands before {} = {}", p.limit, p.value, next.limit, next.value));
    value.or(tighter).or(passed)
}

/// Whether `limit` is of workers beyond whose last user requests fail, so that every objective judges it.
fn fails_beyond(limit: &Limit) -> bool {
    matches!(limit.law, Law::Workers { .. } | Law::Growing { .. })
}

/// A next limit beyond whose last user a load held without an error.
fn passed(limit: &Limit, next: &Predicted, caveat: &Caveat) -> Option<String> {
    let Caveat::PredictedButHeld { limit: held, reached, scale: Scale::Level, .. } = caveat else { return None };
    let high = next.users.filter(|_| *held == next.limit && fails_beyond(limit))?.high;
    if_(high * 1.1 + 1.0 < *reached, || format!("{held} is next at {high} users, and {reached} were held"))
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
    // What did not fail again in the proof may have been over when the test was made: it confirms nothing.
    let over = !v.decision().confirms();
    let decided = matches!(c.confidence, Confidence::Proved | Confidence::Refuted);
    let undone = over && c.confidence == Confidence::Possible;
    let tested =
        if_(!undone && decided != c.counterfactual.is_some() || over && c.confidence == Confidence::Proved, || {
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
            Pairing::Outpaced { outpaced, of } => {
                outpaced > 0 && outpaced <= of && call == Some(Call::Better) && !failed
            }
            Pairing::Helps { .. } => call == Some(Call::Better) && !failed && held,
            Pairing::Same => call == Some(Call::Same) && !(failed && held),
            Pairing::Worse => call == Some(Call::Worse) && !(failed && held),
            Pairing::NotEnough { failed: n, of, .. } => n > 0 && n <= of && (failed && !held || v.proof.is_none()),
            Pairing::Contradicted { .. } => failed && held || v.proof.is_none(),
            Pairing::Unanswered { unanswered, of } => unanswered > 0 && unanswered <= of && !failed,
            Pairing::NotReproduced { .. } => !failed && (held || v.proof.is_none()),
            Pairing::Undecided => !matches!(call, Some(Call::Better | Call::Same | Call::Worse)),
            Pairing::None | Pairing::Unfinished | Pairing::Generator | Pairing::NotStarted => true,
        };
        all.push(if_(!fits, || format!("{pairs:?} beside {call:?}, proposal failed {failed}, baseline held {held}")));
    }
    let again = |c: &Cause| c.counterfactual.as_ref().is_some_and(|test| test.observed.is_some());
    let confirmed = v.causes.iter().filter(|c| c.confidence == Confidence::Proved).collect::<Vec<_>>();
    all.push(if_(said.contains("moved the break as its formula says") && !confirmed.iter().any(|c| again(c)), || {
        "it moved, and was not seen again".to_owned()
    }));
    // What the ladder tells no load for has no place that a formula puts it at.
    let rungs = v.ladder.iter().flat_map(|ladder| &ladder.rungs);
    let mut told = rungs.filter_map(|rung| rung.limit()).map(|limit| limit.predicted.is_some());
    let places = ["where the formula puts", "moved the break as its formula says", "where it was predicted ("];
    let place = places.iter().find(|words| said.contains(**words));
    all.push(if_(v.ladder.is_some() && place.is_some() && !told.any(|told| told), || {
        format!("{place:?} beside a ladder that tells no load")
    }));
    let Some(p) = &v.proof else { return all.into_iter().flatten().collect() };
    let none = if p.judged.as_ref().is_some_and(|j| j.condition.starts_with('p') || j.condition.starts_with("rate")) {
        1.0
    } else {
        0.0
    };
    let vague = p.decided.effect.is_some_and(|e| e.interval.low < none && none < e.interval.high);
    all.push(if_(vague && p.decided.by == Rule::Separation && said.contains(": better, "), || {
        "better, with an interval that includes no effect".to_owned()
    }));
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

/// A limit that stands in the end is met at one place, in the ladder as in what comes next.
fn met_once(v: &Verdict) -> Option<String> {
    let next = v.next.as_ref()?;
    let same = |limit: &RungLimit| (&limit.limit, &limit.value) == (&next.limit, &next.value);
    let mut rungs = v.ladder.iter().flat_map(|ladder| &ladder.rungs).filter_map(|rung| match rung {
        Rung::Measured(rung) if rung.limit.as_ref().is_some_and(same) => Some(rung.met),
        _ => None,
    });
    let met = rungs.next_back()?;
    if_(v.next_met != Some(met), || format!("{} was met at {met:?}, and at {:?}", next.limit, v.next_met))
}

/// Breaks that are told as moved, to where they had been or before.
fn moved(said: &str) -> Vec<String> {
    let number = |text: &str| -> Option<f64> {
        let word = text.split_whitespace().next()?.trim_end_matches(['.', ',', ';']);
        word.replace(',', "").parse().ok()
    };
    let told = said.split("moved the break from ").skip(1).filter_map(|rest| {
        let (from, to) = rest.split_once(" to ")?;
        Some((number(from)?, number(to)?))
    });
    told.filter(|(from, to)| to <= from).map(|(from, to)| format!("a break moved from {from} to {to}")).collect()
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
        Caveat::HiddenErrors { responses, hidden, .. } => {
            if_(hidden > responses, || format!("{hidden} of {responses} good answers: a part larger than the whole"))
        }
        Caveat::CeilingReached { setting, value, .. } => {
            let proposed = v.proposal.iter().find(|p| p.change.setting == *setting)?;
            let number: f64 = proposed.change.to.parse().ok()?;
            if_(number > *value, || format!("{setting} cannot be raised above {value}, and {number} is proposed"))
        }
        Caveat::MemoryBound { setting, value, needed, .. } => {
            let proposed = v.proposal.iter().find(|p| p.change.setting == *setting);
            let number = proposed.and_then(|p| p.change.to.parse::<f64>().ok());
            let beyond = number.is_some_and(|number| number > *value);
            if_(beyond || needed <= value, || {
                format!("memory holds {setting} {value}, {needed} are needed: {number:?}")
            })
        }
        Caveat::BaselineHeldInProof => if_(v.decision() == Decision::Carried { pairs: Pairing::Enough }, || {
            "a baseline held, and the change is enough".to_owned()
        }),
        Caveat::PredictedButHeld { limit: id, scale: Scale::Level, waits: true, .. } => {
            let limits = record.trials.iter().flat_map(|trial| &trial.limits.limits);
            let fails = limits.filter(|limit| limit.id == *id).any(fails_beyond);
            if_(fails, || format!("{id}: beyond its last user requests fail, and nothing is said to judge that"))
        }
        Caveat::ProposalFailedInProof => if_(v.decision() == Decision::Carried { pairs: Pairing::Enough }, || {
            "a proposal failed, and the change is enough".to_owned()
        }),
        Caveat::BackendBore { .. } if matches!(v.decision(), Decision::Unmoved { by: Stop::Backend { .. } }) => {
            Some("the backend is the limit, and is told as what bore more or broke otherwise".to_owned())
        }
        Caveat::NoHeadroom { predicted, .. } if predicted.high < 1.0 => {
            Some("it held, and is told to break without any load".to_owned())
        }
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
