//! The first sentence: must it change, and to what.

use genkai_model::event::Purpose;
use genkai_model::evidence::metric;
use genkai_model::finding::{
    Answer, Break, Cause, Caveat, Confidence, Decision, Evidence, Pairing, Predicted, ProposedChange, Stop, Verdict,
};
use genkai_model::limit::{Law, Origin};

use super::asked::{at_asked, quoted};
use super::held::held;
use super::{again, cause, client, counted, counterfactual, directives, early};
use crate::context::Context;
use crate::unit::Unit;
use crate::{clean, figure, words};

/// The answer in one sentence, without the need to read on: the decision in words.
pub(super) fn headline(context: Context<'_>, v: &Verdict) -> String {
    let text = decided(context, v);
    match counted::beside(context, v) {
        Some(beside) => format!("{}; {beside}.", text.trim_end_matches('.')),
        None => text,
    }
}

fn decided(context: Context<'_>, v: &Verdict) -> String {
    match v.decision() {
        Decision::Holds => held(context, v),
        Decision::Invalid => format!(
            "Invalid: this measurement says nothing about the server: the generator was the limit ({}).",
            client::reasons(&v.client)
        ),
        Decision::Unfinished => early::told(context, v),
        Decision::Unanswered => unanswered(context, v),
        Decision::Outpaced => outpaced(context),
        Decision::Unmoved { .. } if v.load.is_some() => {
            format!("Failed: {} did not hold{}.", quoted(&context.objective()), at_asked(context))
        }
        Decision::Unmoved { by } => {
            let answer = match (v.must_change(), by) {
                (Answer::No, _) => "No",
                (_, Stop::Backend { .. }) if maybe_behind(context, v).is_some() => "Cannot tell",
                (_, Stop::Backend { .. }) => "Probably not",
                _ => "Cannot tell",
            };
            format!("{answer}: {}.", stopped(context, v, by))
        }
        Decision::Moved { then } => moved(context, v, then),
        Decision::Bisected => directives::headline(context, v),
        Decision::Guarded => directives::guarded(context, v),
        Decision::Carried { pairs } => carried(context, v, pairs),
    }
}

/// That too little came back.
fn unanswered(context: Context<'_>, v: &Verdict) -> String {
    if let Some(hung) = early::hung(v) {
        return format!(
            "Cannot tell: {} hung when the load ended, and whether {} holds{} depends on what becomes of {}: a longer load tells.",
            figure::plural(hung, "request", "requests"),
            quoted(&context.objective()),
            at_asked(context),
            if hung == 1 { "it" } else { "them" }
        );
    }
    let few = match v.trials.first() {
        Some(trial) if trial.handshakes.as_ref().is_some_and(|made| made.upgraded == 0 && made.failed > 0) => {
            "no WebSocket was opened"
        }
        Some(trial) if trial.finished > 0 && trial.failed == trial.finished => context.silence(),
        Some(trial) if trial.finished > 0 => "fewer requests were answered than still waited at the end",
        _ if context.counted() == Unit::Openings.many() => context.silence(),
        _ => &no_answer(v),
    };
    let (objective, at) = (quoted(&context.objective()), at_asked(context));
    format!("Cannot tell: {few}, so there is nothing by which {objective} could be judged{at}.")
}

/// That a rate was not carried.
fn outpaced(context: Context<'_>) -> String {
    let (objective, at) = (quoted(&context.objective()), at_asked(context));
    format!(
        "Cannot tell: {objective} was not violated{at}, but that rate was not carried: {} came faster than they were answered, and ever \
         more waited.",
        context.counted()
    )
}

/// That no answer came, with how many waited for one where that was counted.
fn no_answer(v: &Verdict) -> String {
    let waited =
        v.load.as_ref().map(|load| (load.in_flight - load.unsent.unwrap_or(0).min(load.in_flight), load.lasted));
    let Some((waiting, lasted)) = waited.filter(|(waiting, _)| *waiting > 0) else {
        return "no request was answered".to_owned();
    };
    format!(
        "no answer came: {} waited when the load ended, after {}",
        figure::plural(waiting, "request", "requests"),
        figure::seconds(lasted)
    )
}

/// What changes did that moved the break, where the load asked for still fails.
fn moved(context: Context<'_>, v: &Verdict, then: Stop) -> String {
    let changed = format!("changing {} moves the break", changes(&v.proposal));
    if v.causes.iter().any(|cause| again::is_once(v, cause)) {
        return format!("Cannot tell: changing {} moved the break, but {}.", changes(&v.proposal), again::ONCE);
    }
    match then {
        _ if then.says_nothing() => {
            format!("Cannot tell: {changed}, but then {}.", stopped(context, v, then))
        }
        _ => format!("Yes: change {}; {}.", changes(&v.proposal), not_enough(context, v)),
    }
}

/// That the right change is not enough, and what stops the load then, as far as that is known.
fn not_enough(context: Context<'_>, v: &Verdict) -> String {
    let Some(next) = &v.next else {
        let place = standing(v).map_or_else(String::new, |broke| format!(": it then breaks {}", context.when(broke)));
        // Another setting, which did not help, ends nothing.
        let own = |setting: &str| v.proposal.iter().any(|one| one.change.setting == setting);
        let why = refused_value_of(v, own)
            .or_else(|| full(v, own))
            .unwrap_or_else(|| "what stops it there is not known".to_owned());
        return format!("it is right but not enough{place}, and {why}");
    };
    let cause = v.causes.iter().rev().find(|c| c.limit.id == next.limit && c.limit.value == next.value);
    match cause.map(|c| c.confidence) {
        Some(Confidence::Possible) => {
            format!("it is right but not enough, and what stops the load then is not known (possibly {})", named(next))
        }
        _ => format!("it is right but not enough, because {} then stops the load", named(next)),
    }
}

/// That the server refuses a value that might have carried more, as a clause.
fn refused_value(v: &Verdict) -> Option<String> {
    refused_value_of(v, |_| true)
}

/// The same of settings that are meant.
fn refused_value_of(v: &Verdict, is_meant: impl Fn(&str) -> bool) -> Option<String> {
    v.caveats.iter().find_map(|c| match c {
        Caveat::DoesNotStart { setting, value, .. } if is_meant(setting) => {
            Some(client::does_not_start(setting, *value))
        }
        _ => None,
    })
}

/// Whether other programs used most of the machine when the objective failed with a proposal.
fn crowded(v: &Verdict) -> bool {
    let is_proposal = |trial: u32| v.trials.iter().any(|one| one.trial == trial && one.purpose == Purpose::Proposal);
    v.caveats.iter().any(|c| matches!(c, Caveat::OtherPrograms { trial, .. } if is_proposal(*trial)))
}

/// The break that stands with everything proved in place.
fn standing(v: &Verdict) -> Option<&Break> {
    let lifted = v.causes.iter().rev().find(|c| c.confidence == Confidence::Proved)?;
    lifted.counterfactual.as_ref()?.observed.as_ref()
}

/// What the pairs say of changes that carried the load in the search.
fn carried(context: Context<'_>, v: &Verdict, pairs: Pairing) -> String {
    let changing = format!("changing {}", changes(&v.proposal));
    let of = |some: u32, of: u32| format!("{some} of {}", figure::plural(u64::from(of), "trial", "trials"));
    match pairs {
        Pairing::None | Pairing::Enough => format!("Yes: change {}.", changes(&v.proposal)),
        Pairing::Unfinished => {
            let made = v.proof.as_ref().map_or(0, |proof| proof.pairs);
            let before = match made {
                0 => "before that was compared in pairs".to_owned(),
                pairs => format!(
                    "after {} of baseline and proposal, fewer than were to be made",
                    figure::plural(pairs.into(), "pair", "pairs")
                ),
            };
            format!("Cannot tell: {changing} carried the load in the search, but the run ended {before}.")
        }
        Pairing::Generator => format!(
            "Cannot tell: {changing} carried the load in the search, but the generator was the limit in the pairs ({}).",
            client::reasons(&v.client)
        ),
        Pairing::NotEnough { failed, of: all, helps } => {
            let next = v.next.as_ref().filter(|next| next.observed.is_some());
            let by = match crowded(v) {
                true => "; other programs used most of the machine in some of these".to_owned(),
                false => next.map_or_else(String::new, |next| format!(", by {}", named(next))),
            };
            let helps = match helps {
                true => "helps, but is not enough",
                // What is not enough would help.
                false => "carried the load in the search, but not in the proof",
            };
            format!("Cannot tell: {changing} {helps}: the objective failed in {} with it{by}.", of(failed, all))
        }
        Pairing::Contradicted { held, failed, of: all, helps } => format!(
            "Cannot tell: {changing} {}, but in the proof the objective held without it in {} and failed with it in {failed} of {all}.",
            if helps { "helps" } else { "carried the load in the search" },
            of(held, all),
        ),
        Pairing::Unanswered { unanswered, of: all } => format!(
            "Cannot tell: {changing} moved the break in the search, but in {} of the proof with it {}{}.",
            of(unanswered, all),
            context.silence(),
            match all.saturating_sub(unanswered) {
                0 => format!(", so there is nothing by which {} could be judged", quoted(&context.objective())),
                rest =>
                    format!("; {} held in the other {rest}, which is too few to prove it", quoted(&context.objective())),
            }
        ),
        Pairing::Outpaced { outpaced, of: all } => format!(
            "Cannot tell: {changing} helps, and {} was not violated with it{}; but in {} of the proof with it that rate was not carried: {} \
             came faster than they were answered, and ever more waited.",
            quoted(&context.objective()),
            at_asked(context),
            of(outpaced, all),
            context.counted(),
        ),
        Pairing::NotReproduced { of } => format!(
            "Cannot tell: the objective had failed, but held in all {of} trials of the proof without any change; {changing} is not known to be needed."
        ),
        Pairing::NotStarted => format!(
            "Cannot tell: {changing} carried the load in the search, but in the proof the server did not start with it, or did not answer."
        ),
        Pairing::Same => format!(
            "Cannot tell: {changing} carried the load in the search, but makes no measurable difference in the proof."
        ),
        Pairing::Worse => {
            format!("Cannot tell: {changing} carried the load in the search, but made it worse in the proof.")
        }
        Pairing::Undecided => {
            format!("Cannot tell: whether {changing} helps is not decided: the proof does not exclude chance.")
        }
        Pairing::Helps { held, of: all } => {
            format!("Cannot tell: {changing} helps, but without it the objective held in {}, too.", of(held, all))
        }
    }
}

/// `worker_connections from 512 to 768 and worker_rlimit_nofile from 1024 to 2048`.
pub(super) fn changes(proposal: &[ProposedChange]) -> String {
    let each: Vec<String> = proposal.iter().map(|p| words::change(&p.change)).collect();
    match each.split_last() {
        None => "nothing".to_owned(),
        Some((one, [])) => one.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// What stops the load, as a clause.
fn stopped(context: Context<'_>, v: &Verdict, by: Stop) -> String {
    let product = context.product();
    match by {
        Stop::Unknown => {
            let among = context.one_of_several();
            let among = among.map_or_else(String::new, |one| format!(" among the limits of {}", quoted(&one)));
            let refused = refused_value(v).map_or_else(String::new, |refused| format!(", and {refused}"));
            if let Some(vain) = counted::in_vain(v) {
                return format!("{} {vain}{refused}", tried(v));
            }
            format!(
                "{} failed, but nothing in the evidence names a cause{among}{refused}",
                quoted(&context.objective())
            )
        }
        Stop::Refuted if blurred(v) => format!(
            "{} moved the break by no more than chance and this ramp may; whether that is more than nothing, a slower ramp would show \
             (`--spawn-rate` of users, `--ramp` of rates)",
            tried(v)
        ),
        Stop::Refuted => {
            let refused = refused_value(v).map_or_else(String::new, |refused| format!(", and {refused}"));
            format!("{} {}{refused}", tried(v), in_vain(v))
        }
        Stop::Untested => match (fault(v), likely(v)) {
            (Some(fault), _) => fault,
            (None, Some((setting, how))) => {
                let fits = if nothing_fits(v) { ": the memory that is left holds no larger value" } else { "" };
                format!("{setting} is {how} limit, but that could not be put to the test{fits}")
            }
            (None, None) => {
                refused_value(v).unwrap_or_else(|| "the likely limit could not be put to the test".to_owned())
            }
        },
        Stop::Backend { .. } => backend(context, v),
        Stop::Processor { .. } => {
            format!(
                "processor time is the limit{}: no {product} setting gives more of it here, and whether one would make a request take \
                 less of it was not tried",
                cores(v)
            )
        }
        Stop::Died => format!("{} died under load", died(context, v)),
        Stop::Refused => refused(v).unwrap_or_else(|| format!("{product} refused connections under load")),
        Stop::Generator => format!("the generator was the limit ({})", client::reasons(&v.client)),
        Stop::OtherPrograms => format!(
            "{} failed, but {} then: nothing is said of {product}",
            quoted(&context.objective()),
            client::crowded(v)
                .unwrap_or_else(|| "other programs used most of this machine's processor time".to_owned())
        ),
        Stop::Unfinished => "the run ended before an answer".to_owned(),
    }
}

/// What came of changes that lifted nothing.
fn in_vain(v: &Verdict) -> &'static str {
    if let Some(again) = again::in_vain(v) {
        return again;
    }
    let refuted = v.causes.iter().filter(|one| one.confidence == Confidence::Refuted);
    let earlier: Vec<bool> = refuted.map(counterfactual::broke_earlier).collect();
    match (earlier.iter().all(|one| *one), earlier.contains(&true)) {
        (true, true) => "came with a break at a smaller load",
        (_, true) => "carried no larger load",
        (_, false) => "made no measurable difference",
    }
}

/// `nginx's worker_connections = 768`.
fn named(p: &Predicted) -> String {
    format!("{} {}", words::whose(&p.subject), words::setting(&p.setting, &p.value))
}

/// What is broken, if something is: that is no limit.
fn fault(v: &Verdict) -> Option<String> {
    let limit = &v.causes.iter().rev().find(|c| c.confidence != Confidence::Refuted)?.limit;
    let (who, caps) = (words::subject(&limit.subject), clean::line(&limit.caps));
    let what = format!("{} {}", clean::line(&limit.setting), clean::line(&limit.value));
    let place = match &limit.origin {
        Origin::File { path, line } => format!(" ({}:{line})", clean::line(&path.display().to_string())),
        _ => String::new(),
    };
    // What a setting lifts is in the product's own file, and no place that it cannot reach.
    let relation = if limit.remedy.is_some() { "is broken by its" } else { "cannot reach its" };
    limit.fault.then(|| format!("{who} {relation} {what}{place}: {caps}"))
}

/// Whether the memory holds no larger value of what is likely the limit.
fn nothing_fits(v: &Verdict) -> bool {
    let last = v.causes.iter().rev().find(|c| c.confidence != Confidence::Refuted);
    last.is_some_and(|cause| full(v, |setting| setting == cause.limit.setting).is_some())
}

/// The largest value that the memory holds of a setting that is meant, as a clause.
fn full(v: &Verdict, is_meant: impl Fn(&str) -> bool) -> Option<String> {
    v.caveats.iter().find_map(|caveat| match caveat {
        Caveat::MemoryBound { setting, value, .. } if is_meant(setting) => {
            Some(format!("the memory that is left holds no larger {} than {value}", clean::line(setting)))
        }
        _ => None,
    })
}

fn likely(v: &Verdict) -> Option<(String, &'static str)> {
    let cause = v.causes.iter().rev().find(|c| c.confidence != Confidence::Refuted)?;
    let how = if cause.confidence == Confidence::Possible { "a possible" } else { "the likely" };
    let limit = &cause.limit;
    let setting = words::setting(&limit.setting, &limit.value);
    // What no setting lifts is looked for in the file.
    match &limit.origin {
        Origin::File { path, line } if limit.remedy.is_none() => {
            Some((format!("{setting} ({}:{line})", clean::line(&path.display().to_string())), how))
        }
        _ => Some((setting, how)),
    }
}

fn tried(v: &Verdict) -> String {
    let alone = v.causes.iter().filter(|c| c.limit.law.is_tried() && c.confidence == Confidence::Refuted);
    let each: Vec<String> = alone.filter_map(|c| Some(words::change(&c.counterfactual.as_ref()?.change))).collect();
    if each.len() > 1 {
        return format!("changing each parameter alone ({})", each.join("; "));
    }
    let change = v.causes.iter().rev().find_map(|c| c.counterfactual.as_ref()).map(|c| &c.change);
    change.map_or_else(
        || "changing the likely setting".to_owned(),
        |change| format!("changing {}", words::change(change)),
    )
}

/// Whether a change without effect moved the break all the same, by more than two runs of the same load differ, but not by more than the ramp
/// rises until a break is noticed.
fn blurred(v: &Verdict) -> bool {
    const ALIKE: f64 = 1.25;
    let refuted =
        || v.causes.iter().filter(|cause| cause.confidence == Confidence::Refuted && cause.counterfactual.is_some());
    let alone = refuted().filter(|cause| cause.limit.law.is_tried()).count() > 1;
    // Those of which the sentence tells.
    let mut told = refuted().rev().take(if alone { usize::MAX } else { 1 });
    told.any(|cause| {
        let after = cause.counterfactual.as_ref().and_then(|tested| tested.observed.as_ref());
        let again = cause.counterfactual.as_ref().is_some_and(|tested| tested.again.is_some());
        !again && after.is_some_and(|after| after.level > cause.broke.level * ALIKE)
    })
}

/// That the backend is the limit, with its figures.
fn backend(context: Context<'_>, v: &Verdict) -> String {
    let product = context.product();
    let Some(cause) = behind(context, v) else { return format!("{product} is not the limit: the backend is") };
    let who = words::subject(&cause.limit.subject);
    if let Some(cause) = maybe_behind(context, v) {
        let (setting, caps) =
            (words::setting(&cause.limit.setting, &cause.limit.value), clean::line(&cause.limit.caps));
        return format!("{who} ({setting}: {caps}) may be the limit, and nothing tells that it is");
    }
    if let Some(found) = cause.evidence.iter().find_map(|e| directly(context, e)) {
        return format!("{product} is not the limit, {who} is: asked directly, without {product}, it {found}");
    }
    if cause.evidence.iter().any(|e| matches!(e, Evidence::NoFaster { .. })) {
        let setting = words::setting(&cause.limit.setting, &cause.limit.value);
        return format!("{product} is not the limit: {who} is, and raising {setting} is not likely to help");
    }
    match cause.limit.law {
        Law::Delay { .. } => format!("{}; no {product} setting makes {who} faster", cause::alone(&who, cause)),
        // What is so of the first request has no number.
        Law::Unknown | Law::Slots { value: 0.0, .. } => {
            format!("{product} is not the limit, {who} is: {}", clean::line(&cause.limit.caps))
        }
        _ => format!(
            "{product} is not the limit: {who} ({}: {}) is",
            words::setting(&cause.limit.setting, &cause.limit.value),
            clean::line(&cause.limit.caps)
        ),
    }
}

/// The cause behind the product that was met last.
fn behind<'v>(context: Context<'_>, v: &'v Verdict) -> Option<&'v Cause> {
    let product = context.product();
    let theirs = |c: &&Cause| ![product, "kernel", "machine"].contains(&c.limit.subject.as_str());
    v.causes.iter().rev().find(|c| theirs(c) && c.confidence != Confidence::Refuted)
}

/// The same where it is possible only, and no log says so: neither was it asked by itself, nor is it known to be full.
fn maybe_behind<'v>(context: Context<'_>, v: &'v Verdict) -> Option<&'v Cause> {
    let said = |e: &Evidence| matches!(e, Evidence::NoFaster { .. } | Evidence::Log { .. });
    let seen = |e: &Evidence| said(e) || directly(context, e).is_some();
    behind(context, v).filter(|c| c.confidence == Confidence::Possible && !c.evidence.iter().any(seen))
}

/// What it did when it was asked directly: where it broke, or, of failures, how many there were.
pub(super) fn directly(context: Context<'_>, evidence: &Evidence) -> Option<String> {
    match evidence {
        Evidence::Directly { failures: Some([own, through]), .. } => Some(format!(
            "fails too: {}; behind {}: {}",
            cause::failures(context, own),
            context.product(),
            cause::failures(context, through)
        )),
        Evidence::Directly { level, .. } => Some(format!("breaks at {} too", context.level(*level))),
        _ => None,
    }
}

/// ` (0.993 of 1 core in use: 1 worker can use 1 core)`.
fn cores(v: &Verdict) -> String {
    let met = v.causes.iter().rev().find_map(|c| match c.limit.law {
        Law::Cpu { cores } => Some((c, cores)),
        _ => None,
    });
    let Some((cause, cores)) = met else { return String::new() };
    let most = cause.evidence.iter().filter_map(|e| match e {
        Evidence::Reached { metric, value, .. } if !metric::is_throttling(metric) => Some(*value),
        _ => None,
    });
    let used = most.reduce(f64::max).map_or_else(String::new, |used| {
        format!(
            "{} of {} {} in use: ",
            figure::number(used),
            figure::number(cores),
            if cores == 1.0 { "core" } else { "cores" }
        )
    });
    format!(" ({used}{})", clean::line(&cause.limit.formula))
}

pub(super) fn died(context: Context<'_>, v: &Verdict) -> String {
    let dead = v.caveats.iter().find_map(|c| match c {
        Caveat::ServerDied { subject, .. } => Some(words::subject(subject)),
        _ => None,
    });
    dead.unwrap_or_else(|| context.product().to_owned())
}

/// When a server refused connections, as a clause.
pub(super) fn refused(v: &Verdict) -> Option<String> {
    v.caveats.iter().find_map(|c| match c {
        Caveat::ServerRefused { subject, from, until, .. } => Some(client::refused(subject, *from, *until)),
        _ => None,
    })
}
