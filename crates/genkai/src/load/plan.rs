//! What the flags of `genkai load` ask for, as a plan.

use genkai_lab::experiment;
use genkai_model::http2::STREAMS;
use genkai_model::load::{Load as Sent, Stop};
use genkai_model::objective::Objective;
use genkai_model::plan::{Backend, Plan, Study, System};
use genkai_model::stage::{self, Unit};
use genkai_model::units::Span;

use super::script;
use crate::cli::{Load, LoadFlags, WebSocketFlags};
use crate::target::Target;
use crate::{Failure, http2, websocket};

/// All users at once: a rate so high that the ramp is over in the first millisecond.
pub(super) const AT_ONCE: f64 = 1_000_000.0;
/// How long a load lasts when nothing else is said.
const USUAL: Span = Span::from_secs(10);
/// How long one with a number of requests may last.
const LONGEST: Span = Span::from_secs(3600);

/// The plan.
///
/// # Errors
/// When flags make no sense, or not together.
pub(crate) fn plan(flags: &Load) -> Result<Plan, Failure> {
    if script::is_file(&flags.url) {
        return scripted(flags);
    }
    if flags.dry_run || !flags.target.is_empty() || flags.environment.is_some() {
        return Err(Failure::usage("--dry-run, --target, --environment: need a scenario file"));
    }
    Ok(whole(flags, format!("load {}", flags.url), load(flags)?, objective(&flags.objective)))
}

/// What a scenario file says.
fn scripted(flags: &Load) -> Result<Plan, Failure> {
    let asked = script::Asked { targets: &flags.target, environment: flags.environment.as_deref(), quiet: flags.quiet };
    let script = script::read(&flags.url, &asked)?;
    let (title, own) = (script.title.clone(), script.objective.clone());
    flags.http2.must_be_in_file()?;
    let mut load = script::load(script, flags, flags.load.load(AT_ONCE, 1)?)?;
    load.tick = interval(load.tick, load.stop);
    let objective = if flags.objective.is_empty() { own.unwrap_or_default() } else { objective(&flags.objective) };
    Ok(whole(flags, title, load, objective))
}

fn whole(flags: &Load, title: String, load: Sent, objective: Objective) -> Plan {
    let target = load.scenario.as_ref().map_or(&flags.url, |scenario| &scenario.targets[0].url).clone();
    let system = System {
        backend: Backend::Url(target),
        allow_remote: flags.allow_remote.clone(),
        ..System::generated(System::STANDING)
    };
    let plan = Plan::of(title, system, load, objective, experiment::procedure(experiment::Size::Quick));
    Plan { study: Study::Load, ..plan }
}

fn load(flags: &Load) -> Result<Sent, Failure> {
    let target = Target::read(&flags.url, &flags.allow_remote)?;
    let (shape, message_rate) = staged(flags, target.websocket);
    let mut load = if target.websocket {
        flags.http2.must_be_unused()?;
        websocket::load(&shape, &WebSocketFlags { message_rate, ..flags.websocket.clone() }, AT_ONCE)?
    } else {
        flags.websocket.must_be_unused(websocket::NEEDS)?;
        if flags.http2.used() {
            http2::load(&shape, flags.http2.streams.unwrap_or(STREAMS), AT_ONCE, 1)?
        } else {
            flags.http2.must_be_unused()?;
            shape.load(AT_ONCE, 1)?
        }
    };
    load.transport = target.transport(&flags.tls)?;
    flags.http2.must_fit(&load.transport)?;
    load.addresses = target.addresses;
    if flags.load.path.is_none() {
        load.request.path = target.path;
    }
    if !flags.load.header.iter().any(|h| h.to_ascii_lowercase().starts_with("host:")) {
        load.request.host = target.host;
    }
    load.stages = flags.stages.as_ref().map(|stages| stages.stages.clone()).unwrap_or_default();
    load.stop = stop(flags)?;
    if !load.stages.is_empty() {
        load.stop.after = stage::lasting(&load.stages);
    }
    load.tick = interval(load.tick, load.stop);
    Ok(load)
}

/// The flags with the highest level of the stages, if there are any, as users or rate; the rate of messages apart.
fn staged(flags: &Load, websocket: bool) -> (LoadFlags, Option<f64>) {
    let mut shape = flags.load.clone();
    let Some(stages) = &flags.stages else { return (shape, flags.websocket.message_rate) };
    let peak = stage::peak(&stages.stages);
    match stages.unit {
        // With --connections they are only held.
        Unit::Users if websocket && shape.connections.is_some() => shape.connections = Some(peak as u32),
        Unit::Users => shape.users = Some(peak as u32),
        Unit::Rate if websocket => return (shape, Some(peak)),
        Unit::Rate => shape.rate = Some(peak),
    }
    (shape, None)
}

fn stop(flags: &Load) -> Result<Stop, Failure> {
    if flags.duration.is_some_and(|span| span.0 == 0) {
        return Err(Failure::usage("--duration 0s: must be at least 1ms"));
    }
    if flags.requests == Some(0) {
        return Err(Failure::usage("--requests 0: must be at least 1"));
    }
    let after = flags.duration.unwrap_or(if flags.requests.is_some() { LONGEST } else { USUAL });
    Ok(Stop { after, requests: flags.requests })
}

/// Most intervals of a load of known length. Each is some kilobytes of distributions, which are kept for the judgement at its
/// end: memory must not grow with the length of a load.
const INTERVALS: u64 = 600;

/// How often a load is reported: as `usual`, or seldomer when it is long. One that ends by its requests is not expected to be; if
/// it is, its intervals become longer while it goes on (the engine's `ledger`).
fn interval(usual: Span, stop: Stop) -> Span {
    if stop.requests.is_some() { usual } else { usual.max(Span(stop.after.0 / INTERVALS)) }
}

/// All conditions that were given; the usual one for none.
fn objective(given: &[Objective]) -> Objective {
    let all: Vec<_> = given.iter().flat_map(|one| one.0.iter().copied()).collect();
    if all.is_empty() { Objective::default() } else { Objective(all) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_loads_have_longer_intervals() {
        let usual = Span::from_millis(200);
        let of = |seconds, requests| interval(usual, Stop { after: Span::from_secs(seconds), requests });
        assert_eq!([of(10, None), of(120, None)], [usual, usual]);
        assert_eq!([of(600, None), of(3600, None)], [Span::from_secs(1), Span::from_secs(6)]);
        assert_eq!(of(3600, Some(100)), usual);
    }

    #[test]
    fn repeated_thresholds_must_all_hold() {
        let both: Vec<Objective> = ["p99 < 500ms, errors < 1%", "rate > 5"].map(|t| t.parse().unwrap()).into();
        assert_eq!(objective(&both).to_string(), "p99 < 500ms, errors < 1%, rate > 5");
        assert_eq!(objective(&[]).to_string(), "errors < 0.1%");
    }
}
