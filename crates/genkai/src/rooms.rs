//! `genkai experiment run rooms`: flags to a plan, the run, its outputs.

use std::path::Path;
use std::time::SystemTime;

use genkai_analysis::rooms::findings;
use genkai_lab::experiment::{Size, rooms as experiment};
use genkai_lab::rooms::{self, Job};
use genkai_lab::system::Pin;
use genkai_model::exit::Exit;
use genkai_model::finding::Outcome;
use genkai_model::plan::{Backplane, Fault, Plan};
use genkai_model::record::Record;
use genkai_model::rooms::RoomsFinding;
use genkai_report::{json, text};

use crate::cli::{BackplaneFlag, OutputFlags, RoomsFlags};
use crate::view::{self, View};
use crate::{Failure, interrupt, outputs, tune};

/// A fault as `--fault` says it.
///
/// # Errors
/// When it is not one.
pub(crate) fn fault(text: &str) -> Result<Fault, String> {
    let forms = "must be lose-every=N, kill-node=TIME or cut-redis=TIME";
    let (name, value) = text.split_once('=').ok_or(forms)?;
    let time = || value.parse().map_err(|e| format!("{e}"));
    match name {
        "lose-every" => value.parse().ok().filter(|n| *n > 0).map(Fault::LoseEvery).ok_or_else(|| forms.to_owned()),
        "kill-node" => time().map(Fault::KillNode),
        "cut-redis" => time().map(Fault::CutSubscribers),
        _ => Err(forms.to_owned()),
    }
}

/// The plan that flags describe.
///
/// # Errors
/// When they contradict each other.
pub(crate) fn plan(size: Size, flags: &RoomsFlags) -> Result<Plan, Failure> {
    let mut shape = experiment::Shape::of(size);
    shape.rooms = flags.rooms.unwrap_or(shape.rooms);
    shape.members = flags.members.unwrap_or(shape.members);
    shape.messages = flags.messages.unwrap_or(shape.messages);
    shape.message_every = flags.message_every.unwrap_or(shape.message_every);
    shape.enter_every = flags.enter_every.unwrap_or(shape.enter_every);
    if shape.message_every.0 == 0 || shape.enter_every.0 == 0 {
        return Err(Failure::usage("--message-every, --enter-every: must be longer than zero"));
    }
    if u64::from(shape.rooms) * u64::from(shape.members) > u64::from(u32::MAX) {
        return Err(Failure::usage("--rooms times --members: more clients than can be told apart"));
    }
    shape.member_queue = flags.member_queue.unwrap_or(shape.member_queue);
    let nodes = match (&flags.sweep_nodes[..], flags.nodes) {
        ([], nodes) => vec![nodes.unwrap_or(1)],
        (several, _) => several.to_vec(),
    };
    let backplane = match flags.backplane {
        Some(BackplaneFlag::None) => Backplane::None,
        Some(BackplaneFlag::Redis) => Backplane::Redis,
        None if nodes.iter().any(|n| *n > 1) => Backplane::Redis,
        None => Backplane::None,
    };
    Ok(experiment::plan(size, &shape, nodes, backplane, flags.fault.clone()))
}

/// Makes a run and its outputs.
pub(crate) fn run(plan: Plan, output: &OutputFlags) -> Result<Exit, Failure> {
    let pin = Pin::Apart;
    let environment = rooms::check(&plan, &pin)?;
    if output.dry_run {
        if !output.quiet {
            view::print(&json::plan(&plan, &[], &environment));
        }
        return Ok(Exit::Holds);
    }
    let out = output.out.clone().unwrap_or_else(|| tune::default_folder(&plan.title));
    let interrupt = interrupt::flag();
    let job = Job {
        plan,
        program: std::env::current_exe()
            .map_err(|e| Failure::environment(format!("cannot find my own program: {e}")))?,
        command: std::env::args().collect(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        pin,
        keep: output.keep,
        interrupt: &interrupt,
    };
    let mut view = View::choose(output.quiet, output.color, &interrupt);
    let outcome = rooms::run(&job, &out, &mut |event| view.event(event));
    view.finish();
    let outcome = outcome?;
    let shown = show(&outcome.record, &out, output);
    match outcome.failure {
        Some(failure) => Err(failure.into()),
        None => shown,
    }
}

/// Writes and prints what was found, if there was a run at all.
fn show(record: &Record, out: &Path, output: &OutputFlags) -> Result<Exit, Failure> {
    let Some(finding) = findings(record) else { return Ok(Exit::Interrupted) };
    outputs::whole(&out.join("verdict.json"), &json::rooms(&finding))?;
    if !output.quiet {
        let style = view::stdout_style(output.color);
        view::print(&if output.json { json::rooms(&finding) } else { text::rooms(&finding, style) });
        view::say(&format!("record: {}", out.join("run.jsonl").display()));
    }
    Ok(exit(record, &finding))
}

/// The code that tells a script the answer.
pub(crate) fn exit(record: &Record, finding: &RoomsFinding) -> Exit {
    let interrupted = record.end.as_ref().is_some_and(|end| end.interrupted);
    match finding.outcome {
        _ if interrupted => Exit::Interrupted,
        Outcome::Holds => Exit::Holds,
        Outcome::Fails => Exit::Fails,
        Outcome::Invalid => Exit::Invalid,
        Outcome::Unfinished => Exit::Environment,
    }
}
