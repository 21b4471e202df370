//! Which limit it was: every limit of the system is a candidate, and the signs it left decide.
//!
//! The rules, in the order they weigh:
//! 1. A limit that cannot cause what clients saw is not the cause (one that refuses does not make responses slow).
//! 2. A limit that left no sign is not the cause, however well its formula fits; nor is one whose signs merely fit where the break came at a
//!    load of which it lets more through.
//! 3. Signs that nothing else leaves (decisive) beat signs that hardly anything else leaves (supporting), and these beat
//!    signs that merely fit (consistent). So a backend that is seen to be full wins over a proxy in front of it whose
//!    signs others would leave too, whatever their places.
//! 4. What takes longer alone, without any load, than the objective allows is the cause, whatever else was seen.
//! 5. Processor time that seems to be lacking while programs that are no part of the run used most of it says nothing of the load.
//! 6. Among equals: how many of the errors it explains, whether the break came where its formula puts it, and how many
//!    signs it left.
//! 7. A pool of workers that answered no more when it was full than when less than half of it worked is a possible cause at most, whatever signs it
//!    left: what its workers wait for is the limit.
//! 8. What is only to be tried, because no formula and no sign of it is known, stays possible until a trial has refuted it.

use genkai_model::error::ErrorKind;
use genkai_model::event::Tick;
use genkai_model::finding::{Against, Candidate, Evidence, Seen};
use genkai_model::limit::{Law, Limit, Strength};
use genkai_model::objective::Condition;
use genkai_model::record::Trial;
use genkai_model::units::Range;

use super::case::Case;
use super::others::Others;
use super::signs::{self, Seconds};
pub use super::weighed::{Weighed, is_near, observed};
use super::{before, flat, onset, silence, unloaded};
pub use crate::capacity::demand::STEEP;
use crate::capacity::{self, Demand, Forecast, TOLERANCE};

/// How late a connection is at least that found no room to wait: it is tried again then, seconds (RFC 6298 section 2.1; Linux
/// `TCP_TIMEOUT_INIT`).
const TRIED_AGAIN: f64 = 1.0;
/// The least share of the errors that a limit must explain.
const SHARE: f64 = 0.05;

/// Every limit of the trial as a candidate, the best first; `refuted` are those whose lifting made no difference.
pub fn attribute<'t>(case: &Case<'t>, refuted: &[String]) -> Vec<Weighed<'t>> {
    let seconds = around(case);
    let crowded = Others::most(case.trial, &seconds).is_some();
    let mut all: Vec<Weighed<'t>> =
        case.trial.limits.limits.iter().map(|limit| weigh(limit, case, &seconds, crowded, refuted)).collect();
    all.sort_by(|a, b| b.candidate.score.total_cmp(&a.candidate.score));
    named_itself(&mut all);
    before::put(&mut all, case);
    explain(&mut all);
    all
}

/// What programs that are no part of the run used of the machine when it broke, where that was most of it, and what was seen fits that
/// processor time was lacking; and whether nothing else that was seen names a limit.
pub(crate) fn crowded(case: &Case<'_>) -> Option<(Others, bool)> {
    let others = Others::most(case.trial, &around(case))?;
    let weighed = attribute(case, &[]);
    let by_others = |w: &Weighed<'_>| !w.out_of_reach && w.candidate.against == [Against::OtherPrograms];
    weighed.iter().any(by_others).then(|| (others, !weighed.iter().any(Weighed::is_possible)))
}

/// The seconds in which signs of a break count.
fn around(case: &Case<'_>) -> Seconds {
    Seconds::around(case.trial, case.broke.at, case.certain)
}

/// The limits that left signs (more than merely fitting ones) in a trial that held, strongest first, each with its
/// strongest sign: they were at work, and the objective did not mind. What has no setting (in brackets: a backend that closes a connection)
/// has no level either that is reached: it happens, with one user as well.
pub fn at_work<'t>(trial: &'t Trial, demand: &Demand) -> Vec<(&'t Limit, Strength, Evidence)> {
    let seconds = Seconds::all(trial);
    let end = seconds.to as f64 / crate::window::US;
    let reachable = trial.limits.limits.iter().filter(|l| !is_told_of(l) && !out_of_reach(l, trial, demand, end));
    let strongest = |limit: &'t Limit| {
        let seen = limit.signatures.iter().filter(|s| s.strength >= Strength::Supports);
        let found = seen.filter_map(|s| Some((s, signs::find(s, trial, &seconds)?)));
        let signs = found.map(|(s, evidence)| (limit, signs::strength(s, &evidence), evidence));
        signs.max_by_key(|(_, strength, _)| *strength)
    };
    let mut all: Vec<_> = reachable.filter_map(strongest).collect();
    all.sort_by_key(|(_, strength, _)| std::cmp::Reverse(*strength));
    all
}

fn weigh<'t>(limit: &'t Limit, case: &Case<'t>, seconds: &Seconds, crowded: bool, refuted: &[String]) -> Weighed<'t> {
    let forecast = capacity::of(limit, &case.demand);
    let mut signs: Vec<(Strength, Evidence)> = limit
        .signatures
        .iter()
        .filter_map(|s| signs::find(s, case.trial, seconds).map(|seen| (signs::strength(s, &seen), seen)))
        .collect();
    weaker_marks(&mut signs);
    let alone = by_itself(limit, case);
    signs.extend(alone.iter().map(|evidence| (Strength::Decisive, evidence.clone())));
    let strongest = signs.iter().map(|(s, _)| *s).max();
    let (share, symptoms) = symptom(limit, case);
    let strongest = strongest
        .or((limit.law.is_tried() && share.is_some()).then_some(Strength::Consistent))
        .or((told_by_size(limit, share, &case.demand) || allows_nobody(limit, share)).then_some(Strength::Supports));
    let sooner = strongest <= Some(Strength::Consistent) && is_sooner(&forecast, case);
    // It was full, and that is not why responses were late.
    let flat = strongest.and_then(|_| flat::evidence(limit, case));
    let strongest = strongest.map(|seen| if flat.is_some() { seen.min(Strength::Consistent) } else { seen });
    let out_of_reach = sooner || out_of_reach(limit, case.trial, &case.demand, case.certain);
    let place = if out_of_reach { Place::Elsewhere } else { place(&forecast, case) };
    let mut against = Vec::new();
    if strongest.is_none() {
        against.push(Against::NoSign);
    }
    let by_processor = matches!(limit.law, Law::Cpu { .. } | Law::Handshakes { .. });
    if share.is_none() || by_processor && nothing_served(case) {
        against.push(Against::WrongSymptom);
    }
    if place == Place::Elsewhere {
        against.push(Against::WrongPlace);
    }
    if refuted.contains(&limit.id) {
        against.push(Against::Refuted);
    }
    if crowded && against.is_empty() && Others::explain(limit, strongest) {
        against.push(Against::OtherPrograms);
    }
    let score = match alone {
        Some(_) => 1.0,
        None => score(strongest.filter(|_| share.is_some() && !out_of_reach), share, &place, signs.len()),
    };
    let mut evidence: Vec<Evidence> = signs.into_iter().map(|(_, e)| e).collect();
    evidence.extend(symptoms);
    evidence.extend(flat);
    if let Place::There { predicted, observed } = place {
        evidence.push(Evidence::Place { predicted, observed });
    }
    let candidate = Candidate {
        limit: limit.id.clone(),
        subject: limit.subject.clone(),
        setting: limit.setting.clone(),
        score,
        evidence,
        against,
    };
    Weighed { forecast, candidate, strongest, out_of_reach }
}

/// Whether no request had an answer that is none of an error until the break was certain: a processor that has too much to do serves some.
fn nothing_served(case: &Case<'_>) -> bool {
    let until = (case.certain * crate::window::US) as u64;
    crate::window::before(&case.trial.ticks, Some(until)).iter().all(|tick| tick.ok == 0)
}

/// Whether bodies are larger than a limit on them allows and clients are told just that: a status that means it is a sign, also
/// of a server that writes nothing to its log (httpd does not).
fn told_by_size(limit: &Limit, share: Option<f64>, demand: &Demand) -> bool {
    matches!(limit.law, Law::BodySize { value } if demand.body > value) && share.is_some()
}

/// Whether a limit lets nobody pass at all and clients see what that does: its value is sign enough.
fn allows_nobody(limit: &Limit, share: Option<f64>) -> bool {
    matches!(limit.law, Law::Slots { value, .. } if value == 0.0) && share.is_some()
}

/// Evidence that needs no sign of the server's own: what takes too long alone, what ends connections after just its time.
fn by_itself(limit: &Limit, case: &Case<'_>) -> Option<Evidence> {
    unloaded::evidence(limit, case).or_else(|| silence::evidence(limit, case))
}

/// Takes away marks that a gauge passed on its way to a higher one.
fn weaker_marks(signs: &mut Vec<(Strength, Evidence)>) {
    let marks: Vec<(String, f64)> = signs
        .iter()
        .filter_map(|(_, e)| match e {
            Evidence::Reached { metric, mark, .. } => Some((metric.clone(), *mark)),
            _ => None,
        })
        .collect();
    let highest = |name: &str, mark: f64| !marks.iter().any(|(other, higher)| other == name && *higher > mark);
    signs.retain(|(_, e)| !matches!(e, Evidence::Reached { metric, mark, .. } if !highest(metric, *mark)));
}

/// 0 to 1: the strongest sign gives the quarter, the rest the place in it.
fn score(strongest: Option<Strength>, share: Option<f64>, place: &Place, signs: usize) -> f64 {
    let quarter = match strongest {
        None => 0.0,
        Some(Strength::Consistent) => 1.0,
        Some(Strength::Supports) => 2.0,
        Some(Strength::Decisive) => 3.0,
    };
    let place = match place {
        Place::There { .. } => 0.4,
        Place::Unknown => 0.2,
        Place::Elsewhere => 0.0,
    };
    let more = (signs.saturating_sub(1) as f64 * 0.05).min(0.15);
    let within = 0.4 * share.unwrap_or(0.0) + place + more;
    ((quarter + within) / 4.0 * 1000.0).round() / 1000.0
}

/// How much of what clients saw the limit can cause (none: nothing of it), and the evidence for that. Slowness beyond a
/// client's patience is a timeout, and one that keeps all connections busy leaves none to send on, so a limit that slows explains
/// those too.
fn symptom(limit: &Limit, case: &Case<'_>) -> (Option<f64>, Vec<Evidence>) {
    let broke = &case.broke;
    let turn = longest_turn(limit, case);
    let is_short = |beside: f64| turn.is_some_and(|turn| turn < TOLERANCE * beside);
    let in_time = is_short(case.trial.started.load.timeout.as_secs_f64());
    let waited = |kind| kind == ErrorKind::Dropped || kind == ErrorKind::Timeout && !in_time;
    let one = |kind: ErrorKind| limit.symptom.errors.contains(&kind) || (limit.symptom.slow && waited(kind));
    let causes = |kind: ErrorKind| one(kind) || as_seen_else(kind).iter().any(|kind| one(*kind));
    let troubles = broke.troubles();
    let all: u64 = troubles.iter().map(|e| e.count).sum();
    let explained: u64 = troubles.iter().filter(|e| causes(e.kind)).map(|e| e.count).sum();
    let share = if all == 0 { 0.0 } else { explained as f64 / all as f64 };
    let mut evidence = Vec::new();
    // What is told as failed has failed.
    let errors: Vec<_> = broke.errors.iter().filter(|e| causes(e.kind)).copied().collect();
    if share >= SHARE && !errors.is_empty() {
        evidence.push(Evidence::Errors { errors });
    }
    let errors = (share >= SHARE).then_some(share);
    let share = match onset::condition(broke) {
        Some(Condition::LatencyBelow(..)) => {
            let slow =
                limit.symptom.slow && !is_sooner_than_its_queue(limit, broke.seen) && !is_short(broke.seen.least());
            if slow {
                evidence.push(Evidence::Slow { seen: broke.seen });
            }
            slow.then_some(1.0)
        }
        Some(Condition::RateAbove(_)) => errors.or(limit.symptom.slow.then_some(0.5)),
        _ => errors,
    };
    (share, evidence)
}

/// The longest that a request can have waited for its turn at a limit by a rate until the break was certain, seconds; none at others. Where that is
/// next to nothing beside what was waited for, it is not why.
fn longest_turn(limit: &Limit, case: &Case<'_>) -> Option<f64> {
    let until = (case.certain * crate::window::US) as u64;
    capacity::unloaded::longest_turn(limit, crate::window::before(&case.trial.ticks, Some(until)))
}

/// Whether responses came sooner than a connection that a full queue had no room for is tried again: those who wait in a queue wait for who
/// serves it, and a longer one makes nobody faster.
fn is_sooner_than_its_queue(limit: &Limit, seen: Seen) -> bool {
    matches!(limit.law, Law::Backlog { .. }) && matches!(seen, Seen::Measured(seen) if seen < TRIED_AGAIN)
}

/// What a client sees of the same end at another time: without TLS of what ends a handshake of it (what becomes of a connection is the same
/// before and after), or where it is not known whether the connection was new.
fn as_seen_else(kind: ErrorKind) -> &'static [ErrorKind] {
    match kind {
        ErrorKind::TlsClosed => &[ErrorKind::EofNew, ErrorKind::Reset],
        ErrorKind::TlsTimeout => &[ErrorKind::Timeout],
        ErrorKind::Eof => &[ErrorKind::EofNew, ErrorKind::EofReused],
        _ => &[],
    }
}

/// Where a break came, against the formula.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// Within tolerance of the prediction.
    There { predicted: Range, observed: f64 },
    /// Not there.
    Elsewhere,
    /// The law does not say where.
    Unknown,
}

/// Whether a limit on how many may wait is longer than all clients that were there, so that a sign of it (a stray drop
/// that the kernel counted) is not about this break.
fn out_of_reach(limit: &Limit, trial: &Trial, demand: &Demand, certain: f64) -> bool {
    let Law::Backlog { value } = limit.law else { return false };
    let until = (certain * crate::window::US) as u64;
    let ticks = crate::window::before(&trial.ticks, Some(until));
    let users = |t: &Tick| if demand.is_open() { 0.0 } else { t.level };
    let clients = |t: &Tick| (t.in_flight.max(t.connections) as f64).min(demand.most);
    let present = ticks.iter().map(|t| users(t).max(clients(t))).fold(0.0, f64::max);
    present < value * (1.0 - TOLERANCE)
}

/// Whether the break came at a load of which `limit` lets more through: what merely fits is of something else then.
fn is_sooner(forecast: &Forecast<'_>, case: &Case<'_>) -> bool {
    let seen = observed(forecast, &case.broke, &case.demand);
    seen.is_some_and(|(predicted, at)| at < predicted.low && !is_near(predicted, at))
}

fn place(forecast: &Forecast<'_>, case: &Case<'_>) -> Place {
    let bites = match forecast.limit.law {
        Law::BodySize { value } => Some(case.demand.body > value),
        Law::MessageSize { value } => Some(case.demand.message > value),
        Law::Idle { after } => Some(case.demand.silence > after),
        _ => None,
    };
    if let Some(bites) = bites {
        return if bites { Place::Unknown } else { Place::Elsewhere };
    }
    let Some((predicted, observed)) = observed(forecast, &case.broke, &case.demand) else { return Place::Unknown };
    let steep = capacity::demand::ramp(&case.trial.started.load) < STEEP;
    if is_near(predicted, observed) {
        Place::There { predicted, observed }
    } else if steep && observed > predicted.high || is_at_once(forecast, case) {
        Place::Unknown
    } else {
        Place::Elsewhere
    }
}

/// Whether just as many requests were in flight as a limit on those at once lets in, whatever part of its time a user was thought to ask.
fn is_at_once(forecast: &Forecast<'_>, case: &Case<'_>) -> bool {
    let Law::Slots { idle_cost: 0.0, .. } = forecast.limit.law else { return false };
    let asking = Demand { think: 0.0, ..case.demand };
    let lets = capacity::law::clients(&forecast.limit.law, &asking).filter(|_| case.demand.thinks_present());
    lets.is_some_and(|lets| is_near(lets, case.broke.in_flight))
}

/// Puts a limit of what stands behind, which no setting here lifts, before what is only told of that (its setting is in brackets), where its signs
/// say as much and it explains the same errors: a process whose descriptors are all in use is why it closes connections.
fn named_itself(all: &mut [Weighed<'_>]) {
    let Some(best) = all.iter().position(Weighed::is_possible) else { return };
    let errors = |w: &Weighed<'_>| {
        let of = |e: &Evidence| if let Evidence::Errors { errors } = e { Some(errors.clone()) } else { None };
        w.candidate.evidence.iter().find_map(of)
    };
    let (told, strongest) = (errors(&all[best]), all[best].strongest);
    let itself = |w: &Weighed<'_>| {
        let limit = w.forecast.limit;
        let unset = limit.remedy.is_none() && !is_told_of(limit) && !limit.fault;
        unset && w.is_possible() && w.strongest >= strongest && errors(w) == told
    };
    if told.is_none() || strongest < Some(Strength::Decisive) || !is_told_of(all[best].forecast.limit) {
        return;
    }
    if let Some(at) = all.iter().position(itself) {
        all[best..=at].rotate_right(1);
    }
}

/// Whether a limit is none of a setting, but what is told of something.
fn is_told_of(limit: &Limit) -> bool {
    limit.setting.starts_with('(')
}

/// Marks what the best candidate explains: weaker ones, and those as strong whose signs are all among its own.
fn explain(all: &mut [Weighed<'_>]) {
    let Some(best) = all.iter().position(Weighed::is_possible) else { return };
    let (strongest, signs) = (all[best].strongest, names(&all[best]));
    for (i, weighed) in all.iter_mut().enumerate() {
        if i == best || !weighed.is_possible() || weighed.forecast.limit.law.is_tried() {
            continue;
        }
        let same = names(weighed).iter().all(|name| signs.contains(name));
        if weighed.strongest < strongest || same {
            weighed.candidate.against.push(Against::Explained);
        }
    }
}

fn names(weighed: &Weighed<'_>) -> Vec<String> {
    let name = |e: &Evidence| match e {
        Evidence::Log { signature, .. } => Some(signature.clone()),
        Evidence::Grew { metric, .. }
        | Evidence::Reached { metric, .. }
        | Evidence::Handshakes { metric, .. }
        | Evidence::Answered { metric, .. } => Some(metric.clone()),
        Evidence::Closed { code, .. } => Some(format!("close code {code}")),
        _ => None,
    };
    weighed.candidate.evidence.iter().filter_map(name).collect()
}
