//! `genkai load URL`: load on something that already runs.

use std::time::SystemTime;

use genkai_analysis::findings;
use genkai_lab::experiment;
use genkai_lab::measure::{self, Job};
use genkai_model::exit::Exit;
use genkai_model::load::Stop;
use genkai_model::plan::{Backend, ConfigSource, Plan, System};
use genkai_model::units::Span;
use genkai_report::{json, text};

use crate::cli::Load;
use crate::outputs::Outputs;
use crate::target::Target;
use crate::view::{self, View};
use crate::{Failure, interrupt, websocket};

/// All users at once: a rate so high that the ramp is over in the first millisecond.
const AT_ONCE: f64 = 1_000_000.0;

/// `genkai load`.
pub(crate) fn run(flags: &Load) -> Result<Exit, Failure> {
    let plan = plan(flags)?;
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

fn plan(flags: &Load) -> Result<Plan, Failure> {
    let target = Target::read(&flags.url, &flags.allow_remote)?;
    let mut load = if target.websocket {
        websocket::load(&flags.load, &flags.websocket, AT_ONCE)?
    } else {
        flags.websocket.must_be_unused()?;
        flags.load.load(AT_ONCE, 1)?
    };
    load.transport = target.transport(&flags.tls)?;
    load.addresses = target.addresses;
    if flags.load.path.is_none() {
        load.request.path = target.path;
    }
    if !flags.load.header.iter().any(|h| h.to_ascii_lowercase().starts_with("host:")) {
        load.request.host = target.host;
    }
    let after = match (flags.duration, flags.requests) {
        (Some(span), _) => span,
        (None, Some(_)) => Span::from_secs(3600),
        (None, None) => Span::from_secs(10),
    };
    load.stop = Stop { after, requests: flags.requests };
    Ok(Plan {
        cluster: None,
        title: format!("load {}", flags.url),
        system: System {
            product: "server".to_owned(),
            program: None,
            config: ConfigSource::Generated,
            settings: std::collections::BTreeMap::new(),
            backend: Backend::Url(flags.url.clone()),
            allow_remote: flags.allow_remote.clone(),
        },
        load,
        objective: flags.objective.clone().unwrap_or_default(),
        procedure: experiment::procedure(experiment::Size::Quick),
    })
}
