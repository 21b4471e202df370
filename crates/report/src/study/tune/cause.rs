//! What broke, what speaks for the cause, what happened when it was lifted.

use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::finding::{Break, Candidate, Cause, Evidence, Failures, Seen};
use genkai_model::limit::{Sign, Strength};
use genkai_model::objective::Condition;

use crate::context::Context;
use crate::{clean, figure, words};

/// Longest log line quoted inside a sentence, in characters.
const QUOTE: usize = 120;

/// Begins the part of what a limit caps that says how it is lifted, where that is not a setting of the server under test.
const TO_LIFT: &str = "; to lift it, ";

/// What broke and what the servers showed, in one sentence or two.
pub(super) fn broke(context: Context<'_>, cause: &Cause, later: bool) -> String {
    let sign = strongest(&cause.evidence).map_or_else(String::new, |e| format!(": {}", sign(context, cause, e)));
    let (broke, most) = (&cause.broke, most_frequent(&cause.broke.errors));
    // What a limit answers is told of it, although more may have failed otherwise.
    let its = cause.broke.errors.iter().filter(|error| cause.limit.symptom.errors.contains(&error.kind));
    let own = its.max_by_key(|error| error.count).or(most);
    let others = own.zip(most).filter(|(own, most)| own.kind != most.kind).map(|(_, most)| {
        let count = figure::count(most.count);
        format!(" More failed otherwise: {count} x {}.", words::error(most.kind))
    });
    format!(
        "{} {} {}{sign}. {}.{}",
        begin(context, broke, later),
        context.product(),
        verb(context, broke, own),
        violated(context, broke),
        others.unwrap_or_default()
    )
}

fn most_frequent(all: &[ErrorCount]) -> Option<&ErrorCount> {
    all.iter().max_by_key(|error| error.count)
}

/// A break without a cause.
pub(super) fn plain_break(context: Context<'_>, broke: &Break) -> String {
    let most = most_frequent(&broke.errors);
    let all: u64 = broke.errors.iter().map(|error| error.count).sum();
    // What is told of one kind is not so of the others.
    let mixed = most.is_some_and(|most| most.count * 5 < all * 4);
    let kinds = if mixed { format!(" Failures by kind: {}.", words::errors(&broke.errors)) } else { String::new() };
    format!(
        "{} {} {}. {}.{kinds}",
        begin(context, broke, false),
        context.product(),
        verb(context, broke, most),
        violated(context, broke)
    )
}

/// The death of a server, or that it refused connections.
pub(super) fn death(context: Context<'_>, broke: &Break, what: &str) -> String {
    format!("{} {what}.", begin(context, broke, false))
}

/// `At 243 users`, `From the start of the load on`.
fn begin(context: Context<'_>, broke: &Break, later: bool) -> String {
    let place = context.when(broke);
    if later {
        return format!("With that lifted, {place}");
    }
    figure::capital(&place)
}

/// What the limit caps. How to lift it is left out where more of it answered no faster.
pub(super) fn caps(cause: &Cause) -> String {
    let caps = clean::line(&cause.limit.caps);
    if !cause.evidence.iter().any(|e| matches!(e, Evidence::NoFaster { .. })) {
        return caps;
    }
    let what = caps.split_once(TO_LIFT).map_or(caps.as_str(), |(what, _)| what);
    format!("{what}; more of them are not likely to help")
}

/// `the backend alone takes 700 ms a request, and p99 < 500ms allows 500 ms`; where not all take the same: `has a p99 of 700 ms`.
pub(super) fn alone(who: &str, cause: &Cause) -> String {
    let found = cause.evidence.iter().find_map(|e| match e {
        Evidence::Alone { takes, allowed, quantile } => Some((*takes, *allowed, *quantile)),
        _ => None,
    });
    let condition = clean::line(&cause.broke.condition);
    match found {
        Some((takes, allowed, quantile)) => {
            let takes = match quantile {
                Some(q) => format!("has a {} of {}", figure::quantile(q), figure::seconds(takes)),
                None => format!("takes {} for a request", figure::seconds(takes)),
            };
            match cause.limit.patience {
                Some(_) => format!("{who} alone {takes}, and is given {}", figure::seconds(allowed)),
                None if is_timed(&cause.broke) => {
                    format!("{who} alone {takes}, and --timeout ends a request after {}", figure::seconds(allowed))
                }
                None => format!("{who} alone {takes}, and `{condition}` allows {}", figure::seconds(allowed)),
            }
        }
        None => format!("{who} alone takes longer than `{condition}` allows"),
    }
}

/// Whether what is allowed is the generator's own patience: a condition on errors names no time.
fn is_timed(broke: &Break) -> bool {
    matches!(condition(broke), Some(Condition::ErrorsBelow(_)))
}

/// What the server did, of which `most` are told.
fn verb(context: Context<'_>, broke: &Break, most: Option<&ErrorCount>) -> String {
    let unanswered = broke.waiting.is_some_and(|waiting| most.is_none_or(|most| most.count < waiting.count));
    let dropped = matches!(most, Some(ErrorCount { kind: ErrorKind::Dropped, .. })) || broke.unsent > 0;
    match (most, condition(broke)) {
        (_, Some(Condition::ErrorsBelow(_))) if unanswered => "left requests unanswered".to_owned(),
        (_, Some(Condition::ErrorsBelow(_))) if dropped => {
            let all =
                context.connections().map_or_else(|| "all".to_owned(), |n| format!("all {}", figure::count(n.into())));
            format!("kept {all} connections busy and completed {} requests/s", figure::number(broke.rate))
        }
        (_, Some(Condition::LatencyBelow(..))) => "answered slowly".to_owned(),
        (Some(ErrorCount { kind, .. }), Some(Condition::RateAbove(_))) if broke.seen == Seen::Measured(0.0) => {
            words::did(*kind).to_owned()
        }
        // Who waits for an answer asks for nothing meanwhile.
        (_, Some(Condition::RateAbove(_))) if context.closed() => {
            "answered too few requests of users who each wait for their answer".to_owned()
        }
        (_, Some(Condition::RateAbove(_))) => "answered too few requests".to_owned(),
        (_, Some(Condition::ConnectsAbove(_))) => "left clients without a WebSocket".to_owned(),
        (_, Some(Condition::DeliveredAbove(_))) => "did not bring all messages back whole".to_owned(),
        (_, Some(Condition::DisconnectsBelow(_))) if is_closed_by_frames(broke) => {
            "saw open WebSockets closed by close frames, which a proxy that passes bytes on does not send".to_owned()
        }
        (_, Some(Condition::DisconnectsBelow(_))) => "cut open WebSockets".to_owned(),
        (Some(ErrorCount { kind, .. }), _) => words::did(*kind).to_owned(),
        (None, _) => "failed".to_owned(),
    }
}

/// Whether all WebSockets that ended unasked were closed by a frame (RFC 6455, 5.5.1), which who speaks WebSocket sends.
pub(super) fn is_closed_by_frames(broke: &Break) -> bool {
    let is_of_ends = matches!(condition(broke), Some(Condition::DisconnectsBelow(_)));
    is_of_ends && !broke.errors.is_empty() && broke.errors.iter().all(|error| error.kind == ErrorKind::Closed)
}

fn condition(broke: &Break) -> Option<Condition> {
    super::condition::condition(&broke.condition)
}

/// `12 of 3,400 requests failed (0.353 %)`.
pub(super) fn failures(context: Context<'_>, all: &Failures) -> String {
    let share = if all.of == 0 { 0.0 } else { all.failed as f64 / all.of as f64 };
    format!(
        "{} of {} {} failed ({})",
        figure::count(all.failed),
        figure::count(all.of),
        context.counted(),
        figure::percent(share)
    )
}

/// What was seen against what was asked: `4.2 % of requests failed there (asked for: ...)`.
fn violated(context: Context<'_>, broke: &Break) -> String {
    let asked = clean::line(&broke.condition);
    let seen = match broke.seen {
        Seen::Measured(seen) => {
            let failed = measured(context, broke, seen);
            // Whoever waits has not failed.
            let counted = match condition(broke) {
                Some(Condition::ConnectsAbove(_)) => "openings of a WebSocket",
                _ => context.counted(),
            };
            words::unanswered(broke, counted).map_or(failed.clone(), |waited| match seen > 0.0 {
                true => format!("{failed}, and {waited}"),
                false => format!("None failed, but {waited}"),
            })
        }
        Seen::Bound { more_than } => {
            let name = quantile(condition(broke));
            format!(
                "{name} latency was more than {} {}, for requests still waited",
                figure::seconds(more_than),
                there(context, broke)
            )
        }
    };
    format!("{seen} (asked for: `{asked}`)")
}

/// `The p99`, `The largest`.
fn quantile(condition: Option<Condition>) -> String {
    match condition {
        Some(Condition::LatencyBelow(q, _)) => format!("The {}", figure::quantile(q)),
        _ => "The largest".to_owned(),
    }
}

/// `there`; where the load rose on while that was seen: `from there to 33 users`. A plain load does not end there, and more may have come after it.
fn there(context: Context<'_>, broke: &Break) -> String {
    if context.is_plain() {
        return "from there on until that was certain".to_owned();
    }
    broke.until.map_or_else(|| "there".to_owned(), |until| format!("from there to {}", context.level(until)))
}

fn measured(context: Context<'_>, broke: &Break, seen: f64) -> String {
    let (condition, there) = (condition(broke), there(context, broke));
    match condition {
        Some(Condition::ErrorsBelow(_)) => {
            format!("{} of {} failed {there}", figure::percent(seen), context.counted())
        }
        Some(Condition::LatencyBelow(..)) => {
            format!("{} latency was {} {there}", quantile(condition), figure::seconds(seen))
        }
        Some(Condition::RateAbove(_)) => {
            format!("{} {}/s were completed {there}", figure::number(seen), context.counted())
        }
        Some(Condition::ConnectsAbove(_)) => format!("{} of WebSockets could be opened there", figure::percent(seen)),
        Some(Condition::DeliveredAbove(_)) => {
            format!("{} of messages had been delivered by then", figure::percent(seen))
        }
        Some(Condition::DisconnectsBelow(_)) => {
            format!("{} of open WebSockets ended unasked there", figure::percent(seen))
        }
        None => format!("{} was seen there", figure::number(seen)),
    }
}

/// The piece of evidence that says most; log lines before counters before gauges, frequent lines before rare ones.
fn strongest(all: &[Evidence]) -> Option<&Evidence> {
    fn rank(e: &Evidence) -> Option<(Strength, u8, u64)> {
        match e {
            Evidence::Log { strength, count, .. } => Some((*strength, 3, *count)),
            Evidence::Answered { strength, .. } => Some((*strength, 5, 0)),
            Evidence::Grew { strength, .. } => Some((*strength, 2, 0)),
            Evidence::Reached { strength, .. } => Some((*strength, 1, 0)),
            Evidence::Handshakes { strength, .. } => Some((*strength, 2, 1)),
            Evidence::Alone { .. } | Evidence::Directly { .. } | Evidence::Silence { .. } | Evidence::Closed { .. } => {
                Some((Strength::Decisive, 4, 0))
            }
            Evidence::Paced { .. } => Some((Strength::Consistent, 0, 0)),
            Evidence::NoFaster { .. } => Some((Strength::Decisive, 6, 0)),
            Evidence::Errors { .. } | Evidence::Slow { .. } | Evidence::Place { .. } => None,
        }
    }
    all.iter().filter(|e| rank(e).is_some()).max_by_key(|e| rank(e))
}

fn sign(context: Context<'_>, cause: &Cause, evidence: &Evidence) -> String {
    match evidence {
        Evidence::Log { subject, count, text, .. } => {
            let subject = if subject.is_empty() { &cause.limit.subject } else { subject };
            let whose = if subject == context.product() {
                "its log says".to_owned()
            } else {
                format!("the log of {} says", words::subject(subject))
            };
            format!("{whose} `{}` ({})", clean::ends(clean::gist(text), QUOTE), figure::plural(*count, "line", "lines"))
        }
        Evidence::Grew { metric, from, to, .. } => {
            format!("{} rose from {} to {}", words::metric(metric), figure::whole(*from), figure::whole(*to))
        }
        Evidence::Reached { metric, value, mark, of, .. } => {
            let rose = if cause.broke.until.is_some() { " as the load rose on" } else { "" };
            let part = cause.limit.signatures.iter().find_map(|one| match &one.sign {
                Sign::ReachedMetric { metric: gauge, of: whole, fraction } if gauge == metric && whole == of => {
                    Some(*fraction)
                }
                _ => None,
            });
            // What it is a part of is known by the limit.
            match part.filter(|part| *part > 0.0) {
                Some(part) => {
                    let (value, whole) = (figure::number(*value), figure::number(mark / part));
                    format!("{} reached {value} of {whole} ({}){rose}", words::metric(metric), words::metric(of))
                }
                None => format!("{}{rose}", reached(metric, *value, *mark, of)),
            }
        }
        Evidence::Alone { .. } => {
            let alone = alone(&words::subject(&cause.limit.subject), cause);
            let logged = cause.evidence.iter().find(|e| matches!(e, Evidence::Log { .. }));
            match logged.filter(|_| cause.limit.patience.is_some()) {
                Some(line) => format!("{}; {alone}", sign(context, cause, line)),
                None => alone,
            }
        }
        Evidence::Directly { level, failures, .. } => {
            let who = words::subject(&cause.limit.subject);
            match failures {
                Some([own, _]) => format!("asked directly, {who} failed too: {}", self::failures(context, own)),
                None => format!("asked directly, {who} broke at {}", context.level(*level)),
            }
        }
        Evidence::Answered { failed, of, rates, share, .. } => {
            let who = clean::line(&cause.limit.setting);
            let all = who.starts_with('(');
            answered(if all { "what stands behind" } else { &who }, (*failed, *of), *rates, *share)
        }
        Evidence::Handshakes { .. }
        | Evidence::Silence { .. }
        | Evidence::Closed { .. }
        | Evidence::Paced { .. }
        | Evidence::NoFaster { .. }
        | Evidence::Errors { .. }
        | Evidence::Slow { .. }
        | Evidence::Place { .. } => self::evidence(evidence),
    }
}

/// `server s2 gave 17 of the 17 answers with an error: 17 of its 83 answers, 0 of the others' 85`.
/// Of a `share` of the requests: `of a share that was looked at 7 of its 7 answers, 0 of the others' 20`.
fn answered(who: &str, (failed, of): (u64, u64), rates: Option<[Failures; 2]>, share: bool) -> String {
    let text = format!(
        "{who} gave {} of the {} with an error of the servers behind",
        figure::count(failed),
        figure::plural(of, "answer", "answers")
    );
    match rates {
        Some([own, others]) => format!(
            "{text} ({}{} of its {}; {} of the others' {})",
            if share { "of a share of the requests, looked at one by one: " } else { "" },
            figure::count(own.failed),
            figure::plural(own.of, "answer", "answers"),
            figure::count(others.failed),
            figure::count(others.of)
        ),
        None => text,
    }
}

/// `processor use of the busiest worker reached 0.993 of 1 (one core)`.
fn reached(metric: &str, value: f64, mark: f64, of: &str) -> String {
    let (value, mark) = (figure::number(value), figure::number(mark));
    // The mark is what another metric tells, or a part of it.
    if of.contains('.') {
        return format!(
            "{} reached {value} ({mark} or more tells, a mark set by {})",
            words::metric(metric),
            words::metric(of)
        );
    }
    if of.is_empty() {
        return format!("{} reached {value} ({mark} or more tells)", words::metric(metric));
    }
    format!("{} reached {value} of {mark} ({})", words::metric(metric), clean::line(of))
}

/// One piece of evidence as a clause, with its figures.
pub(crate) fn evidence(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Log { count, text, at, strength, .. } => format!(
            "log: `{}` ({}, first {} into the load; {})",
            clean::line(text),
            figure::plural(*count, "line", "lines"),
            figure::seconds(*at),
            words::strength(*strength)
        ),
        Evidence::Grew { metric, from, to, strength } => format!(
            "{} rose from {} to {} ({}; {})",
            words::metric(metric),
            figure::whole(*from),
            figure::whole(*to),
            clean::line(metric),
            words::strength(*strength)
        ),
        Evidence::Answered { failed, of, rates, share, strength, .. } => {
            format!("{}; {}", answered("it", (*failed, *of), *rates, *share), words::strength(*strength))
        }
        Evidence::Reached { metric, value, mark, of, strength } => {
            format!("{}; {}", reached(metric, *value, *mark, of), words::strength(*strength))
        }
        Evidence::Handshakes { metric, value, rate, each, cores, .. } => format!(
            "{} full TLS handshakes/s, at {} of processor time each, took {} of {}; {} reached {}",
            figure::number(*rate),
            figure::seconds(*each),
            figure::number(rate * each),
            if *cores == 1.0 { "1 core".to_owned() } else { format!("{} cores", figure::number(*cores)) },
            words::metric(metric),
            figure::number(*value)
        ),
        Evidence::Alone { takes, allowed, quantile } => {
            let takes = match quantile {
                Some(q) => format!("its {} is {}", figure::quantile(*q), figure::seconds(*takes)),
                None => format!("it takes {} for a request", figure::seconds(*takes)),
            };
            format!("alone, without any load, {takes}; {} are allowed", figure::seconds(*allowed))
        }
        Evidence::Directly { trial, level, through, failures } => {
            let counts = failures.map_or_else(String::new, |[own, behind]| {
                let [own, behind] =
                    [own, behind].map(|f| format!("{} of {}", figure::count(f.failed), figure::count(f.of)));
                format!("; {own} failed directly, {behind} through it")
            });
            format!(
                "under the same load sent to it directly (trial {trial}) it broke at {}; through the product at {}{counts}",
                figure::whole(*level),
                figure::whole(*through)
            )
        }
        Evidence::Silence { count, of, seen, allowed } => format!(
            "{} of {} were cut when they had been silent for {} (median); {} are allowed",
            figure::count(*count),
            figure::plural(*of, "connection that ended", "connections that ended"),
            figure::seconds(*seen),
            figure::seconds(*allowed)
        ),
        Evidence::Paced { bytes, seen, takes } => format!(
            "responses of {} bytes took {} (median); at this pace they take up to {}",
            figure::whole(*bytes),
            figure::seconds(*seen),
            figure::seconds(*takes)
        ),
        Evidence::NoFaster { few, rate, most, full } => format!(
            "{} answers/s with {} requests at once on average, and {} with {} and more: more at once are not likely to help, what each of them waits \
             for or computes with is the limit",
            figure::number(*rate),
            figure::number(*few),
            figure::number(*full),
            figure::whole(*most)
        ),
        Evidence::Closed { code, count } => {
            format!(
                "{} closed with code {}",
                figure::plural(*count, "WebSocket was", "WebSockets were"),
                words::close(*code)
            )
        }
        Evidence::Errors { errors } => format!("clients saw: {}", words::errors(errors)),
        Evidence::Slow { seen: Seen::Measured(seen) } => {
            format!("responses became slow: {} around the break", figure::seconds(*seen))
        }
        Evidence::Slow { seen: Seen::Bound { more_than } } => {
            format!("responses became slow: more than {} around the break", figure::seconds(*more_than))
        }
        Evidence::Place { predicted, observed } => format!(
            "the break came at {} clients, the formula says {}",
            figure::whole(*observed),
            figure::range(*predicted, figure::whole)
        ),
    }
}

/// Why a candidate is not the cause.
pub(super) fn why_not(candidate: &Candidate) -> String {
    let why: Vec<&str> = candidate.against.iter().map(|a| words::against(*a)).collect();
    if why.is_empty() { "less speaks for it".to_owned() } else { why.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_reached_is_not_said_to_be_near() {
        let said = reached("haproxy.sessions", 105.0, 100.0, "haproxy.sessions_most");
        assert!(said.contains(" reached 105 (100 or more tells, a mark set by ") && !said.contains("near"), "{said}");
    }
}
