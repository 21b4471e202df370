//! `genkai load URL`: load on something that already runs.

use std::time::SystemTime;

use genkai_analysis::findings;
use genkai_lab::experiment;
use genkai_lab::measure::{self, Job};
use genkai_model::exit::Exit;
use genkai_model::load::Stop;
use genkai_model::objective::Objective;
use genkai_model::plan::{Backend, ConfigSource, Plan, System};
use genkai_model::stage::{self, Unit};
use genkai_model::units::Span;
use genkai_report::{json, text};

use crate::cli::Load;
use crate::flags::LoadFlags;
use crate::outputs::Outputs;
use crate::target::Target;
use crate::view::{self, View};
use crate::websocket::WebSocketFlags;
use crate::{Failure, interrupt, script, websocket};

/// All users at once: a rate so high that the ramp is over in the first millisecond.
const AT_ONCE: f64 = 1_000_000.0;

/// `genkai load`.
pub(crate) fn run(flags: &Load) -> Result<Exit, Failure> {
    let plan = if script::is_file(&flags.url) { scripted(flags)? } else { plan(flags)? };
    if flags.dry_run {
        let shown =
            if flags.json { json::load(&plan.load) } else { text::script(&plan, view::stdout_style(flags.color)) };
        view::print(&shown);
        return Ok(Exit::Holds);
    }
    let interrupt = interrupt::flag();
    let job = Job {
        plan,
        command: std::env::args().collect(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        interrupt: &interrupt,
    };
    let mut view = View::choose(flags.quiet, flags.color);
    let record = measure::run(&job, &mut |event| view.event(event));
    view.finish();
    let record = record?;
    let findings = findings(&record);
    if !flags.quiet {
        let shown = if flags.json {
            json::verdict(&record, &findings)
        } else {
            text::measure(&record, &findings, view::stdout_style(flags.color))
        };
        view::print(&shown);
    }
    let exit = Outputs { record: &record, findings: &findings }.exit();
    // A load too short for a break to be sustained: when nothing succeeded, it has failed all the same.
    let nothing = findings.verdict.trials.iter().any(|t| t.finished > 0 && t.failed == t.finished);
    Ok(if exit == Exit::Holds && nothing { Exit::Fails } else { exit })
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

/// What a scenario file says.
fn scripted(flags: &Load) -> Result<Plan, Failure> {
    let script = script::read(flags)?;
    let (title, objective) = (script.title.clone(), script.objective.clone());
    let load = script::load(script, flags, flags.load.load(AT_ONCE, 1)?)?;
    let objective = flags.objective.clone().or(objective).unwrap_or_default();
    Ok(whole(flags, title, load, objective))
}

fn plan(flags: &Load) -> Result<Plan, Failure> {
    if flags.dry_run || !flags.target.is_empty() || flags.environment.is_some() {
        return Err(Failure::usage("--dry-run, --target, --environment: are for scenario files"));
    }
    let target = Target::read(&flags.url, &flags.allow_remote)?;
    let (shape, message_rate) = staged(flags, target.websocket);
    let mut load = if target.websocket {
        websocket::load(&shape, &WebSocketFlags { message_rate, ..flags.websocket.clone() }, AT_ONCE)?
    } else {
        flags.websocket.must_be_unused()?;
        shape.load(AT_ONCE, 1)?
    };
    load.transport = target.transport(&flags.tls)?;
    load.addresses = target.addresses;
    if flags.load.path.is_none() {
        load.request.path = target.path;
    }
    if !flags.load.header.iter().any(|h| h.to_ascii_lowercase().starts_with("host:")) {
        load.request.host = target.host;
    }
    load.stages = flags.stages.as_ref().map(|stages| stages.stages.clone()).unwrap_or_default();
    let after = match (flags.duration, flags.requests) {
        _ if !load.stages.is_empty() => stage::lasting(&load.stages),
        (Some(span), _) => span,
        (None, Some(_)) => Span::from_secs(3600),
        (None, None) => Span::from_secs(10),
    };
    load.stop = Stop { after, requests: flags.requests };
    Ok(whole(flags, format!("load {}", flags.url), load, flags.objective.clone().unwrap_or_default()))
}

fn whole(flags: &Load, title: String, load: genkai_model::load::Load, objective: Objective) -> Plan {
    let target = load.scenario.as_ref().map_or(&flags.url, |scenario| &scenario.targets[0].url).clone();
    Plan {
        title,
        system: System {
            product: "server".to_owned(),
            program: None,
            config: ConfigSource::Generated,
            settings: std::collections::BTreeMap::new(),
            backend: Backend::Url(target),
            allow_remote: flags.allow_remote.clone(),
        },
        load,
        objective,
        procedure: experiment::procedure(experiment::Size::Quick),
    }
}
