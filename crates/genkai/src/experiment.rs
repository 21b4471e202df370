//! `genkai experiment`.

use std::path::Path;

use clap::CommandFactory;
use genkai_engine::StopFlag;
use genkai_lab::experiment::nginx_worker_connections;
use genkai_lab::rooms as chat;
use genkai_lab::system::Pin;
use genkai_model::exit::Exit;
use genkai_model::plan::Plan;

use crate::cli::{Cli, Experiment, ExperimentAction, ExperimentName, OutputFlags, RunFlags};
use crate::view::{self, View};
use crate::{Failure, caches, made, rooms, servers, suite, tune};

/// `genkai experiment list` and `run`.
pub(crate) fn run(command: &Experiment) -> Result<Exit, Failure> {
    let experiment = match &command.action {
        ExperimentAction::List => {
            view::print(&list());
            return Ok(Exit::Holds);
        }
        ExperimentAction::Run(run) => &run.experiment,
    };
    match experiment {
        ExperimentName::NginxWorkerConnections(flags) => {
            let plan = nginx_worker_connections(flags.run.size(), &flags.worker_connections);
            tune::run(plan, Pin::Apart, &flags.run.output, false)
        }
        ExperimentName::ApacheWebsocket(flags) => suite::apache(flags.run.size(), &flags.part, &flags.run.output),
        ExperimentName::Rooms(flags) => nodes(rooms::plan(flags)?, flags.apps.apps.as_deref(), &flags.run),
        ExperimentName::WebsocketServers(flags) => servers::run(flags),
        ExperimentName::RoomsHttp(flags) => nodes(rooms::held(flags)?, None, &flags.run),
        ExperimentName::ReverseProxyCache(flags) => caches::run(flags),
    }
}

/// Each experiment with its question, as the command line has them.
fn list() -> String {
    let command = Cli::command();
    let run = command.find_subcommand("experiment").and_then(|experiment| experiment.find_subcommand("run"));
    let about = |one: &clap::Command| one.get_about().map(ToString::to_string).unwrap_or_default();
    let lines = run.into_iter().flat_map(clap::Command::get_subcommands);
    lines.map(|one| format!("{}\n    {}", one.get_name(), about(one))).collect::<Vec<_>>().join("\n")
}

/// Makes a run on nodes, and its outputs.
fn nodes(plan: Plan, apps: Option<&Path>, flags: &RunFlags) -> Result<Exit, Failure> {
    let view = |output: &OutputFlags, stop: &StopFlag| View::choose(output.quiet, output.color, stop);
    let experiment = made::Experiment { check: chat::check, run: chat::run, view, markdown: false };
    made::run(plan, made::place(apps)?, &experiment, &flags.output)
}
