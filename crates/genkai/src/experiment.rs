//! `genkai experiment`.

use std::path::Path;

use clap::CommandFactory;
use genkai_lab::experiment::nginx_worker_connections;
use genkai_lab::system::Pin;
use genkai_model::exit::Exit;
use genkai_model::plan::Plan;

use crate::cli::{Cli, Experiment, ExperimentAction, ExperimentName, RunFlags};
use crate::placement::placement;
use crate::study::{self, How};
use crate::{Failure, caches, interrupt, platforms, rooms, servers, site, suite, view};

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
            let connections = &flags.worker_connections;
            let placement = placement(&flags.places, flags.listen.listen)?;
            if flags.server.is_some() && (flags.places.processes > 1 || flags.listen.listen.is_some()) {
                let text =
                    "--processes, --listen: are for a server on this machine; with --server, name machines by --on";
                return Err(Failure::usage(text));
            }
            match (&flags.server, &flags.beside) {
                (Some(server), None) => {
                    let plan = site::plan(flags.run.full, Some(connections), &server.0);
                    let (interrupt, output) = (interrupt::flag(), &flags.run.output);
                    site::made(plan, &server.0, &placement.scale, &interrupt, |plan| {
                        // They take none of this machine's cores.
                        let how = How { pin: Pin::Free, ..How::default() };
                        study::run_until(plan, study::place(None)?, how, output, &interrupt)
                    })
                }
                (Some(server), Some(beside)) => platforms::run(flags, &server.0, beside.as_deref()),
                (None, _) => {
                    let plan = placement.of(nginx_worker_connections(flags.run.size(), connections));
                    run_plan(plan, None, &flags.run)
                }
            }
        }
        ExperimentName::ApacheWebsocket(flags) => {
            let placement = placement(&flags.places, flags.listen.listen)?;
            suite::apache(flags.run.size(), &flags.part, &placement, &flags.run.output)
        }
        ExperimentName::Rooms(flags) => run_plan(rooms::plan(flags)?, flags.apps.apps.as_deref(), &flags.run),
        ExperimentName::WebsocketServers(flags) => servers::run(flags),
        ExperimentName::RoomsHttp(flags) => run_plan(rooms::held(flags)?, None, &flags.run),
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

/// Makes a run, and its outputs.
fn run_plan(plan: Plan, apps: Option<&Path>, flags: &RunFlags) -> Result<Exit, Failure> {
    study::run(plan, study::place(apps)?, How::default(), &flags.output)
}
