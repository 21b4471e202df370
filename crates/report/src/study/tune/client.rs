//! The generator's check of itself, and everything that limits what the verdict says.

use genkai_model::event::ClientUse;
use genkai_model::finding::{Answers, Call, Caveat, ClientCheck, ClientLimit, LateOver, Moved, Scale, Verdict};

use super::{cause, counted};
use crate::context::Context;
use crate::{clean, figure, words};

/// Part of a core below which a generator's busiest thread surely had time left.
const IDLE: f64 = 0.5;

/// Whether the generator was good enough, with its figures.
pub(super) fn check(context: Context<'_>, v: &Verdict) -> Option<String> {
    let c = &v.client;
    let locust = context.head.is_some_and(|head| head.plan.load.locust.is_some());
    let used = if locust { "Locust's busiest worker used or waited for" } else { "its busiest thread used" };
    let cpu = format!("{used} at most {} of a core", figure::percent(c.cpu_max));
    let lateness = format!(
        "99 % of {} requests left within {} of their planned instant",
        figure::count(c.lateness.count),
        figure::seconds(c.lateness.p99)
    );
    // What there was too little of to be measured is not said.
    let known = [(c.cpu_max > 0.0, cpu), (c.lateness.count > 0, lateness)];
    let figures: Vec<String> = known.into_iter().filter(|(known, _)| *known).map(|(_, text)| text).collect();
    if figures.is_empty() && c.valid {
        return Some(unmeasured(v).to_owned());
    }
    let figures = if figures.is_empty() { "too little was sent to measure it".to_owned() } else { figures.join("; ") };
    if !c.valid && c.reasons.iter().all(|r| matches!(r, ClientLimit::Users { .. })) {
        return Some(format!("The generator's users were too few, it was not too slow: {figures}."));
    }
    if !c.valid && c.reasons.iter().all(|r| matches!(r, ClientLimit::Connections { .. })) {
        return Some(format!("The generator's connections were the limit, not its speed: {figures}."));
    }
    let late = |r: &ClientLimit| match r {
        ClientLimit::Late { .. } | ClientLimit::Short { .. } => true,
        ClientLimit::Worker { used, .. } => *used < IDLE,
        _ => false,
    };
    if !c.valid && c.cpu_max < IDLE && c.reasons.iter().all(|r| matches!(r, ClientLimit::Stalled { .. })) {
        return Some(format!(
            "The generator did not run all the time, although it had time left ({figures}; {}): other programs or the machine kept it from \
             running.",
            reasons(c)
        ));
    }
    Some(match c.valid {
        true => format!("The generator was not the limit: {figures}."),
        // It had time left, and was late: it was not let run.
        false if c.cpu_max > 0.0 && c.cpu_max < IDLE && c.reasons.iter().all(late) => format!(
            "The generator could not keep to its plan although it had time left ({figures}): other programs or the machine kept it from \
             running, or it waited for something that was not measured."
        ),
        false => format!("The generator was the limit: {figures}."),
    })
}

/// What is said of a generator of which nothing was measured: that it was not the limit is not known then.
fn unmeasured(v: &Verdict) -> &'static str {
    match v.trials.iter().all(|trial| trial.finished == 0) {
        true => "Nothing was answered, so it is not known what the generator can do.",
        false => "Too little was sent to tell whether the generator was the limit.",
    }
}

/// What the generator took of its machine.
pub(crate) fn used(used: &ClientUse) -> String {
    let memory = figure::bytes(used.rss as f64);
    let memory = match used.processes {
        0 | 1 => memory,
        many => format!("{memory} in {many} processes (largest {})", figure::bytes(used.rss_max as f64)),
    };
    let limit = figure::count(used.descriptors_limit);
    // They are looked at once in a while, connections are counted; of several processes it is not known how they share these.
    let descriptors = if used.processes > 1 { used.descriptors } else { used.descriptors.max(used.connections) };
    let each = if used.processes > 1 { " each" } else { "" };
    let text = format!(
        "{memory}, {} of CPU time, at least {} of {limit} descriptors{each}",
        figure::seconds(used.cpu_us as f64 / 1e6),
        figure::count(descriptors),
    );
    let (sources, ports) = (u64::from(used.sources), figure::count(u64::from(used.ports)));
    let sources = figure::plural(sources, "address", "addresses");
    match used.connections {
        // A look at the end of an interval that saw none says nothing of how many there were.
        0 => text,
        most => {
            let up_to = if used.processes > 1 { "up to " } else { "" };
            format!(
                "{text}, {up_to}{} at once from {sources} ({ports} ports each)",
                figure::plural(most, "connection", "connections")
            )
        }
    }
}

/// Why the generator limited its own measurement, as a list in words.
pub(crate) fn reasons(check: &ClientCheck) -> String {
    let all: Vec<String> = check.reasons.iter().map(reason).collect();
    if all.is_empty() { "no reason recorded".to_owned() } else { all.join("; ") }
}

pub(in crate::study) fn reason(limit: &ClientLimit) -> String {
    match limit {
        ClientLimit::Cpu { used } => format!("its busiest thread used {} of a core", figure::percent(*used)),
        ClientLimit::LocustCpu { used } => format!(
            "a worker of Locust used or waited for {} of a core: give it more of them (--locust-workers), and cores",
            figure::percent(*used)
        ),
        ClientLimit::Throttled { fraction } => format!(
            "the CPU quota of its control group was used up in {} of the periods, and whatever it started stood still with it: give the \
             group more (cpu.max, cpu.cfs_quota_us)",
            figure::percent(*fraction)
        ),
        ClientLimit::Late { p99, bound, over } => {
            let over = match over {
                LateOver::All => "",
                LateOver::Settled => " after the first second",
                LateOver::Second => " in one second",
            };
            format!("it sent late: p99 {}{over}, allowed {}", figure::seconds(*p99), figure::seconds(*bound))
        }
        ClientLimit::Stalled { longest, requests, bound } => format!(
            "it stood still for up to {}, and answers lay there meanwhile: {} in flight in stops of {} or longer",
            figure::seconds(*longest),
            figure::plural(*requests, "request was", "requests were"),
            figure::seconds(*bound)
        ),
        ClientLimit::Connections { connections, service, carries, planned } => format!(
            "all its {} connections were busy: with {} a request they carry {} requests/s, and {} were planned; give it more \
             with --connections",
            figure::count(u64::from(*connections)),
            figure::seconds(*service),
            figure::number(*carries),
            figure::number(*planned)
        ),
        ClientLimit::Users { users, alone, carries, wanted, needed } => format!(
            "its {} users make at most {} requests/s of a backend that takes {} for a request without any load, and {} were asked for: ask \
             with at least {} users, or with --rate",
            figure::whole(*users),
            figure::number(*carries),
            figure::seconds(*alone),
            figure::number(*wanted),
            figure::whole(*needed)
        ),
        ClientLimit::Worker { worker, used, p99, bound } => format!(
            "its worker process {worker} was at its end: its busiest thread used {} of a core, and it sent late: p99 {}, allowed {}",
            figure::percent(*used),
            figure::seconds(*p99),
            figure::seconds(*bound)
        ),
        ClientLimit::Short { fraction } => format!("it sent {} of the requests planned", figure::percent(*fraction)),
        ClientLimit::Ports { count } => {
            format!("it ran out of local ports: {}", figure::plural(*count, "failed request", "failed requests"))
        }
        ClientLimit::TooLarge { count } => format!(
            "{} with more than genkai takes, and nothing else failed: that is genkai's limit, not the server's",
            figure::plural(*count, "response came", "responses came")
        ),
        ClientLimit::Descriptors { count } => {
            format!("it ran out of descriptors: {}", figure::plural(*count, "failed request", "failed requests"))
        }
    }
}

/// Requests that were made again, in all trials; none where there were none.
pub(super) fn retried(v: &Verdict) -> Option<String> {
    let all: u64 = v.trials.iter().map(|trial| trial.retried).sum();
    let trials = if v.trials.len() == 1 { "the trial" } else { "all trials" };
    (all > 0).then(|| format!("In {trials}, {}.", words::retried(all)))
}

/// That the backend alone bore more: the trial, and whether it broke there, the level, where it broke behind the product. Of close frames, which who
/// speaks WebSocket sends, it says nothing.
fn bore(context: Context<'_>, v: &Verdict, trial: u32, level: f64, through: f64, shared: bool) -> String {
    let product = context.product();
    let broke = v.trials.iter().any(|one| one.trial == trial && one.broke.is_some());
    if let Some(closed) = v.trials.iter().find(|one| one.broke.as_ref().is_some_and(cause::is_closed_by_frames)) {
        return format!(
            "The backend alone {} {} (trial {trial}): whatever closed WebSockets behind {product} in trial {} did not do so there by then.",
            if broke { "broke only at" } else { "held up to" },
            context.level(level),
            closed.trial
        );
    }
    format!(
        "The backend alone {} {} (trial {trial}); with {product} in front of it, it broke at {}: not this backend by itself is the bottleneck, but \
         what is in front of it, or another server that {product} asks{}.",
        if broke { "broke only at" } else { "held up to" },
        context.level(level),
        figure::whole(through),
        if shared { ", or processor time that both share" } else { "" }
    )
}

/// Whether the changes that were put to the proof had held in the search: nothing broke with them.
fn had_held(v: &Verdict) -> bool {
    let tests = v.causes.iter().rev().filter_map(|cause| cause.counterfactual.as_ref());
    let Some(test) = tests.into_iter().find(|test| test.moved != Moved::Not) else { return true };
    test.observed.is_none()
}

/// A fact that contradicts the verdict or limits what it says.
pub(super) fn caveat(context: Context<'_>, v: &Verdict, caveat: &Caveat) -> String {
    match caveat {
        Caveat::PredictedButHeld { limit, predicted, reached, scale, waits } => {
            let unit = if *scale == Scale::Clients { "clients at once" } else { context.unit() };
            let (limit, at) = (clean::line(limit), crate::context::bites(*predicted, unit));
            let reached = figure::whole(*reached);
            match waits {
                true => format!(
                    "{limit} is predicted to be full {at}, and {reached} were reached: by its formula requests wait there, which no \
                     condition on latency judges."
                ),
                false => {
                    // Who waits at an earlier limit is not counted by it, and what is full may refuse nobody.
                    format!(
                        "{limit} was predicted to bite {at}, and at {reached} {unit} no sign of it was seen: fewer of them came to it than its formula \
                         takes for granted, or it refuses none."
                    )
                }
            }
        }
        Caveat::NoHeadroom { subject, setting, value, predicted, asked, .. } => format!(
            "It holds, but without headroom: {} {} is predicted to bite {}, and {} {} were asked for.",
            words::whose(subject),
            words::setting(setting, value),
            crate::context::bites(*predicted, context.unit()),
            figure::whole(*asked),
            context.unit()
        ),
        Caveat::BackendBore { trial, level, through, longer: true, shared } => {
            bore(context, v, *trial, *level, *through, *shared)
        }
        Caveat::BackendBore { trial, level, through, longer: false, .. } => {
            let product = context.product();
            format!(
                "The backend alone broke at {} (trial {trial}), but not as it does behind {product} at {}: \
                 that says nothing of the cause.",
                context.level(*level),
                figure::whole(*through)
            )
        }
        Caveat::BackendFailedToo { trial, directly, through } => format!(
            "Asked directly (trial {trial}), the backend failed too: {}; behind {}: {}. That does not tell whose the failures are.",
            super::cause::failures(context, directly),
            context.product(),
            super::cause::failures(context, through)
        ),
        Caveat::DirectInvalid { trial } => {
            format!(
                "The backend was asked directly, but the generator was the limit then (trial {trial}): that says nothing."
            )
        }
        Caveat::AtWorkButHeld { limit, sign, waits, .. } => format!(
            "{} had been reached, but the objective still held: {}.{}",
            clean::line(limit),
            super::cause::evidence(sign),
            if *waits { " Requests wait there, which no condition on latency judges." } else { "" }
        ),
        Caveat::AnsweredBefore { trial, responses, served } => answered_before(context, *trial, *responses, *served),
        Caveat::HiddenErrors { trial, responses, hidden } => hidden_errors(context, *trial, *responses, *hidden),
        Caveat::AnswersChanged { trial, first, last } => answers_changed(context, *trial, first, last),
        Caveat::MemberDown { trial, subject, server, down, looks, from } => {
            member_down(*trial, (subject, server), (*down, *looks), *from)
        }
        Caveat::OtherPrograms { trial, busy, of } => other_programs(context, *trial, (*busy, *of)),
        Caveat::ServerDied { subject, trial } => format!("In trial {trial} {} died.", words::subject(subject)),
        Caveat::ServerRefused { subject, trial, from, until } => {
            format!("In trial {trial} {}.", refused(subject, *from, *until))
        }
        Caveat::Interrupted { trial, failure } => interrupted(*trial, failure.as_deref()),
        Caveat::FewPairs { pairs, more } => few_pairs(v, *pairs, *more),
        Caveat::BaselineHeldInProof => {
            "The baseline held in at least one trial of the proof although it had failed before.".to_owned()
        }
        Caveat::ProposalFailedInProof => {
            let though = if had_held(v) { " although it had held before" } else { "" };
            format!("The proposal failed in at least one trial of the proof{though}.")
        }
        Caveat::CeilingReached { setting, value, by } => format!(
            "{} cannot be raised above {} on this machine, because of {}.",
            clean::line(setting),
            figure::whole(*value),
            clean::line(by)
        ),
        Caveat::DoesNotStart { setting, value, most, said } => refused_value(setting, *value, *most, said),
        Caveat::MemoryBound { setting, value, needed, bytes, left_bytes, group_bytes } => {
            super::price::bound(setting, [*value, *needed], [*bytes, *left_bytes], *group_bytes)
        }
        Caveat::Counts { setting, counts, before, after } => {
            counted::told(context, setting, *counts, before, after.as_ref())
        }
        Caveat::RecordCutOff => {
            format!(
                "The record ends before the run of {} did: what it says is what was measured by then.",
                context.product()
            )
        }
    }
}

/// That the server does not start with a value, and what it says of it.
fn refused_value(setting: &str, value: f64, most: f64, said: &str) -> String {
    let refused = figure::capital(&does_not_start(setting, value));
    format!("{refused}; {} is the most that was measured. It says: {}", figure::whole(most), clean::line(said))
}

/// That the server does not start with a value, as a clause.
pub(super) fn does_not_start(setting: &str, value: f64) -> String {
    format!("the server does not start with {} = {}", clean::line(setting), figure::whole(value))
}

/// What other programs used in the first trial that says so, as a clause.
pub(super) fn crowded(v: &Verdict) -> Option<String> {
    v.caveats.iter().find_map(|c| match c {
        Caveat::OtherPrograms { busy, of, .. } => Some(others(*busy, *of)),
        _ => None,
    })
}

/// That there were not as many pairs as were to be made, or too few to exclude chance.
fn few_pairs(v: &Verdict, pairs: u32, more: Option<u32>) -> String {
    let made = figure::plural(u64::from(pairs), "pair", "pairs");
    if is_decided(v) {
        return format!("{made} of baseline and proposal: fewer than were to be made, as the run ended before.");
    }
    let more = more.map_or_else(String::new, |more| format!("; --pairs {} may decide", pairs + more));
    format!("{made} of baseline and proposal: too few to exclude chance{more}.")
}

/// Whether pairs exclude chance, however few they are.
fn is_decided(v: &Verdict) -> bool {
    let call = v.proof.as_ref().map(|proof| proof.decided.call);
    matches!(call, Some(Call::Better | Call::Worse | Call::Same))
}

fn others(busy: f64, of: f64) -> String {
    format!("other programs used {} of this machine's {} cores", figure::number(busy), figure::number(of))
}

/// When a server refused connections, as a clause.
pub(super) fn refused(subject: &str, from: f64, until: Option<f64>) -> String {
    let until = until.map_or_else(
        || "until the load ended: whether it lives is not known".to_owned(),
        |until| format!("and took them again at {}", figure::seconds(until)),
    );
    format!("{} refused connections, seen {} into the load, {until}", words::subject(subject), figure::seconds(from))
}

/// That most good answers were not the backend's.
fn answered_before(context: Context<'_>, trial: u32, responses: u64, served: u64) -> String {
    format!(
        "Of {} requests that had been answered well at the last look at the backend in trial {trial}, it had answered {}: the others were answered by {} itself (from a \
         cache, or with an answer of its own) or by another server that it asks.",
        figure::count(responses),
        figure::count(served),
        context.product()
    )
}

/// What good answers were that is no good news, as a clause; `few` of them were the backend's.
pub(super) fn but(v: &Verdict, few: bool) -> Option<String> {
    let hidden = v.caveats.iter().find_map(|c| match c {
        Caveat::HiddenErrors { responses, hidden, .. } => Some(format!(
            "{} of {} good answers were sent in the place of an error",
            figure::count(*hidden),
            figure::count(*responses)
        )),
        _ => None,
    });
    let changed = || {
        v.caveats.iter().find_map(|c| match c {
            Caveat::AnswersChanged { first, last, .. } => Some(format!(
                "answers of {} at first are of {} in the end",
                figure::bytes(first.bytes),
                figure::bytes(last.bytes)
            )),
            _ => None,
        })
    };
    hidden.or_else(|| if few { None } else { changed() })
}

/// That other programs had most of the machine at the break.
fn other_programs(context: Context<'_>, trial: u32, (busy, of): (f64, f64)) -> String {
    format!(
        "When it broke in trial {trial}, {} (all that was in use, less what servers, the processes found behind them and the generator \
         used): whether {} would have held without them is not known.",
        others(busy, of),
        context.product()
    )
}

/// That good answers became longer or shorter.
fn answers_changed(context: Context<'_>, trial: u32, first: &Answers, last: &Answers) -> String {
    let of = |which: &str, part: &Answers| {
        let (count, bytes, level) = (figure::count(part.count), figure::bytes(part.bytes), context.level(part.level));
        format!("the {which} {count} (up to {level}) have {bytes} each")
    };
    format!(
        "In trial {trial} answers became {} with the load: {}, {}. genkai does not judge what they contain: a server that is busy may answer \
         otherwise, with a good status.",
        if last.bytes < first.bytes { "shorter" } else { "longer" },
        of("first", first),
        of("last", last)
    )
}

/// That a server was down while everything held.
fn member_down(trial: u32, (subject, server): (&str, &str), (down, looks): (u64, u64), from: f64) -> String {
    format!(
        "{} had its server {} out of use, because it failed, at {} of {} looks during the load of trial {trial} (the first {} into it): what was served \
         then, the others served.",
        words::subject(subject),
        clean::line(server),
        figure::count(down),
        figure::count(looks),
        figure::seconds(from)
    )
}

/// That some good answers stood for errors.
fn hidden_errors(context: Context<'_>, trial: u32, responses: u64, hidden: u64) -> String {
    words::hidden_errors(&format!("the last look in trial {trial}"), context.product(), responses, hidden)
}

fn interrupted(trial: Option<u32>, failure: Option<&str>) -> String {
    let by =
        failure.map_or_else(|| "interrupted".to_owned(), |why| format!("stopped by a failure ({})", clean::line(why)));
    let during = trial.map_or_else(String::new, |trial| format!(" in trial {trial}"));
    format!("The run was {by}{during}: what it says is what was found by then.")
}
