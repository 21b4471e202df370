//! The first sentence: must it change, and to what.

use genkai_model::evidence::metric;
use genkai_model::finding::{
    Answer, Because, Cause, Caveat, Confidence, Evidence, Outcome, Predicted, ProposedChange, Verdict,
};
use genkai_model::limit::Law;

use super::{cause, client};
use crate::context::Context;
use crate::{clean, figure, words};

/// The answer in one sentence, without the need to read on.
pub(super) fn headline(context: Context<'_>, v: &Verdict) -> String {
    if v.outcome == Outcome::Invalid || v.because == Because::ClientIsLimit {
        return format!(
            "Invalid: this measurement says nothing about the server: the generator was the limit ({}).",
            client::reasons(&v.client)
        );
    }
    match v.must_change {
        Answer::Yes if !v.proposal.is_empty() => {
            format!("Yes: change {}{}.", changes(&v.proposal), afterwards(context, v))
        }
        Answer::Yes => format!("Yes: {}.", reason(context, v)),
        Answer::No if v.because == Because::ObjectiveHolds => {
            format!("No change needed: {} held{}.", quoted(&context.objective()), at_asked(context))
        }
        Answer::No => format!("No: {}.", reason(context, v)),
        Answer::CannotTell if matches!(v.because, Because::BackendIsLimit | Because::CpuIsLimit) => {
            format!("Probably not: {}.", reason(context, v))
        }
        Answer::CannotTell => format!("Cannot tell: {}.", reason(context, v)),
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

fn at_asked(context: Context<'_>) -> String {
    context.asked().map_or_else(String::new, |asked| format!(" at {}", context.level(asked)))
}

fn quoted(text: &str) -> String {
    format!("`{}`", clean::line(text))
}

/// What a proposal does not solve, after a "yes".
fn afterwards(context: Context<'_>, v: &Verdict) -> String {
    let product = context.product();
    match v.because {
        Because::ProvedButNextLimit => {
            let name = v.next.as_ref().map_or_else(|| "another limit".to_owned(), named);
            format!("; it is right but not enough, because {name} then stops the load")
        }
        Because::BackendIsLimit => format!("; beyond that, {}", backend(context, v)),
        Because::CpuIsLimit => format!("; beyond that processor time is the limit, which no {product} setting gives"),
        Because::NotTested => "; probably, for the change could not be put to the test".to_owned(),
        Because::ServerDied => "; but a server died under load".to_owned(),
        Because::Unfinished => "; but the run ended before this was proved".to_owned(),
        _ => String::new(),
    }
}

/// The reason for an answer as a clause.
fn reason(context: Context<'_>, v: &Verdict) -> String {
    let product = context.product();
    match v.because {
        Because::ObjectiveHolds => format!("{} held{}", quoted(&context.objective()), at_asked(context)),
        Because::ProvedAndHolds => "the limit was found and lifting it made the objective hold".to_owned(),
        Because::ProvedButNextLimit => {
            let name = v.next.as_ref().map_or_else(|| "another limit".to_owned(), named);
            format!("the first limit was found and lifted, but {name} then stops the load")
        }
        Because::ChangeMadeNoDifference => format!("{} made no difference", tried(v)),
        Because::BackendIsLimit => backend(context, v),
        Because::CpuIsLimit => {
            format!("processor time is the limit{}, and no {product} setting gives more of it", cores(v))
        }
        Because::ServerDied => format!("{} died under load", died(context, v)),
        Because::ClientIsLimit => "the generator was the limit".to_owned(),
        Because::NoCauseFound => {
            format!("{} failed, but nothing in the evidence names a cause", quoted(&context.objective()))
        }
        Because::NotTested if v.proof.as_ref().is_some_and(|proof| proof.certain) => {
            format!("{} helps, but not every trial without it failed", changing(v))
        }
        Because::NotTested if v.proof.is_some() => {
            format!("probably {} helps, but the proof does not exclude chance", changing(v))
        }
        Because::NotTested => match likely(v) {
            Some(setting) => format!("{setting} is the likely limit, but that could not be put to the test"),
            None => "the likely limit could not be put to the test".to_owned(),
        },
        Because::Unfinished => "the run ended before an answer".to_owned(),
    }
}

/// `nginx's worker_connections = 768`.
fn named(p: &Predicted) -> String {
    format!("{} {}", words::whose(&p.subject), words::setting(&p.setting, &p.value))
}

fn likely(v: &Verdict) -> Option<String> {
    let cause = v.causes.iter().rev().find(|c| c.confidence != Confidence::Refuted)?;
    Some(words::setting(&cause.limit.setting, &cause.limit.value))
}

/// `changing worker_connections from 512 to 768`.
fn changing(v: &Verdict) -> String {
    format!("changing {}", changes(&v.proposal))
}

fn tried(v: &Verdict) -> String {
    let change = v.causes.iter().rev().find_map(|c| c.counterfactual.as_ref()).map(|c| &c.change);
    change.map_or_else(
        || "changing the likely setting".to_owned(),
        |change| format!("changing {}", words::change(change)),
    )
}

/// That the backend is the limit, with its figures.
fn backend(context: Context<'_>, v: &Verdict) -> String {
    let product = context.product();
    let theirs = |c: &&Cause| ![product, "kernel", "machine"].contains(&c.limit.subject.as_str());
    let met = v.causes.iter().rev().find(|c| theirs(c) && c.confidence != Confidence::Refuted);
    let Some(cause) = met else { return format!("{product} is not the limit: the backend is") };
    let who = words::subject(&cause.limit.subject);
    if let Some(level) = cause.evidence.iter().find_map(directly) {
        return format!(
            "{product} is not the limit, {who} is: asked directly, without {product}, it breaks at {} too",
            context.level(level)
        );
    }
    match cause.limit.law {
        Law::Delay { .. } => format!("{}; no {product} setting makes it faster", cause::alone(&who, cause)),
        Law::Unknown => format!("{product} is not the limit, {who} is: {}", clean::line(&cause.limit.caps)),
        _ => format!(
            "{product} is not the limit: {who} ({}: {}) is",
            words::setting(&cause.limit.setting, &cause.limit.value),
            clean::line(&cause.limit.caps)
        ),
    }
}

/// Where it broke when it was asked directly.
fn directly(evidence: &Evidence) -> Option<f64> {
    match evidence {
        Evidence::Directly { level, .. } => Some(*level),
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
        Evidence::Reached { metric, value, .. } if metric != metric::THROTTLED => Some(*value),
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
