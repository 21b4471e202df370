//! `genkai experiment`.

use genkai_lab::experiment::{DEFAULT_CONNECTIONS, EXPERIMENTS, Kind, Size, find};
use genkai_lab::system::Pin;
use genkai_model::exit::Exit;

use crate::cli::{Experiment, ExperimentAction, ExperimentRun};
use crate::{Failure, rooms, servers, tune, view};

/// `genkai experiment list` and `run`.
pub(crate) fn run(command: &Experiment) -> Result<Exit, Failure> {
    let flags = match &command.action {
        ExperimentAction::List => {
            let lines: Vec<String> = EXPERIMENTS.iter().map(|e| format!("{}\n    {}", e.name, e.question)).collect();
            view::print(&lines.join("\n"));
            return Ok(Exit::Holds);
        }
        ExperimentAction::Run(flags) => flags,
    };
    let experiment = find(&flags.name).ok_or_else(|| unknown(&flags.name))?;
    let size = if flags.full { Size::Full } else { Size::Quick };
    fits(experiment.name, flags)?;
    match experiment.kind {
        Kind::Tune(plan) => {
            let value = flags.worker_connections.as_deref().unwrap_or(DEFAULT_CONNECTIONS);
            tune::run(plan(size, value), Pin::Apart, &flags.output, false)
        }
        Kind::Servers => servers::run(size, &flags.servers, &flags.output),
        Kind::Rooms => rooms::run(rooms::plan(size, &flags.rooms)?, &flags.output),
    }
}

/// Refuses flags of other experiments.
fn fits(name: &str, flags: &ExperimentRun) -> Result<(), Failure> {
    let (rooms, servers) = (&flags.rooms, &flags.servers);
    let all = [
        ("--worker-connections", "nginx-worker-connections", flags.worker_connections.is_some()),
        ("--nodes", "rooms", rooms.nodes.is_some()),
        ("--sweep-nodes", "rooms", !rooms.sweep_nodes.is_empty()),
        ("--backplane", "rooms", rooms.backplane.is_some()),
        ("--rooms", "rooms", rooms.rooms.is_some()),
        ("--members", "rooms", rooms.members.is_some()),
        ("--messages", "rooms", rooms.messages.is_some()),
        ("--message-every", "rooms", rooms.message_every.is_some()),
        ("--enter-every", "rooms", rooms.enter_every.is_some()),
        ("--member-queue", "rooms", rooms.member_queue.is_some()),
        ("--fault", "rooms", !rooms.fault.is_empty()),
        ("--servers", "websocket-servers", !servers.servers.is_empty()),
        ("--server-set", "websocket-servers", !servers.server_set.is_empty()),
        ("--sweep", "websocket-servers", !servers.sweep.is_empty()),
        ("--clients", "websocket-servers", servers.clients.is_some()),
        ("--rounds", "websocket-servers", servers.rounds.is_some()),
        ("--warm-up", "websocket-servers", servers.warm_up.is_some()),
        ("--starts", "websocket-servers", servers.starts.is_some()),
        ("--sizes", "websocket-servers", !servers.sizes.is_empty()),
        ("--message", "websocket-servers", servers.message.is_some()),
        ("--answer-timeout", "websocket-servers", servers.answer_timeout.is_some()),
        ("--seed", "websocket-servers", servers.seed.is_some()),
        ("--apps", "websocket-servers", servers.apps.is_some()),
    ];
    match all.iter().find(|(_, of, given)| *given && *of != name) {
        Some((flag, of, _)) => {
            Err(Failure::usage(format!("{flag}: belongs to the experiment `{of}`, not to `{name}`")))
        }
        None => Ok(()),
    }
}

fn unknown(name: &str) -> Failure {
    let nearest = EXPERIMENTS
        .iter()
        .max_by(|a, b| strsim::jaro_winkler(a.name, name).total_cmp(&strsim::jaro_winkler(b.name, name)))
        .map_or("", |e| e.name);
    Failure::usage(format!(
        "there is no experiment `{name}`\n  hint: did you mean `{nearest}`? `genkai experiment list` shows all"
    ))
}
