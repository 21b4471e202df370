//! `genkai experiment`.

use genkai_lab::experiment::{DEFAULT_CONNECTIONS, EXPERIMENTS, Kind, Size, find};
use genkai_model::exit::Exit;
use genkai_model::plan::Plan;

use crate::cli::{Experiment, ExperimentAction, ExperimentRun};
use crate::study::{self, How};
use crate::{Failure, caches, rooms, servers, suite, view};

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
            study::run(plan(size, value), study::place(None)?, How::default(), &flags.output)
        }
        Kind::Apache => suite::apache(size, &flags.part, &flags.output),
        Kind::Servers => servers::run(size, &flags.servers, study::place(flags.apps.as_deref())?, &flags.output),
        Kind::Rooms => nodes(rooms::plan(size, &flags.rooms)?, flags),
        Kind::Held => nodes(rooms::held(size, &flags.rooms)?, flags),
        Kind::Cache => caches::run(size, flags),
    }
}

/// Makes a run on nodes, and its outputs.
fn nodes(plan: Plan, flags: &ExperimentRun) -> Result<Exit, Failure> {
    study::run(plan, study::place(flags.apps.as_deref())?, How::default(), &flags.output)
}

/// Refuses flags of other experiments.
fn fits(name: &str, flags: &ExperimentRun) -> Result<(), Failure> {
    let (rooms, servers, caches) = (&flags.rooms, &flags.servers, &flags.caches);
    const CHAT: &[&str] = &["rooms"];
    const BOTH: &[&str] = &["rooms", "rooms-http"];
    const SERVERS: &[&str] = &["websocket-servers"];
    const CACHES: &[&str] = &["reverse-proxy-cache"];
    const COMPARED: &[&str] = &["websocket-servers", "reverse-proxy-cache"];
    let all = [
        ("--worker-connections", &["nginx-worker-connections"][..], flags.worker_connections.is_some()),
        ("--part", &["apache-websocket"], !flags.part.is_empty()),
        ("--nodes", BOTH, rooms.nodes.is_some()),
        ("--router", BOTH, rooms.router.is_some()),
        ("--node-connections", BOTH, rooms.node_connections.is_some()),
        ("--queue-timeout", BOTH, rooms.queue_timeout.is_some()),
        ("--hold", &["rooms-http"], rooms.hold.is_some()),
        ("--most", &["rooms-http"], rooms.most.is_some()),
        ("--sweep-nodes", CHAT, !rooms.sweep_nodes.is_empty()),
        ("--server", CHAT, rooms.server.is_some()),
        ("--backplane", CHAT, rooms.backplane.is_some()),
        ("--rooms", CHAT, rooms.rooms.is_some()),
        ("--members", CHAT, rooms.members.is_some()),
        ("--messages", CHAT, rooms.messages.is_some()),
        ("--message-every", CHAT, rooms.message_every.is_some()),
        ("--enter-every", CHAT, rooms.enter_every.is_some()),
        ("--member-queue", CHAT, rooms.member_queue.is_some()),
        ("--message-size", CHAT, rooms.message_size.is_some()),
        ("--redis-set", CHAT, !rooms.redis_set.is_empty()),
        ("--fault", CHAT, !rooms.fault.is_empty()),
        ("--servers", SERVERS, !servers.servers.is_empty()),
        ("--server-set", SERVERS, !servers.server_set.is_empty()),
        ("--sweep", SERVERS, !servers.sweep.is_empty()),
        ("--clients", COMPARED, servers.clients.is_some()),
        ("--rounds", COMPARED, servers.rounds.is_some()),
        ("--warm-up", SERVERS, servers.warm_up.is_some()),
        ("--starts", SERVERS, servers.starts.is_some()),
        ("--sizes", SERVERS, !servers.sizes.is_empty()),
        ("--message", SERVERS, servers.message.is_some()),
        ("--answer-timeout", SERVERS, servers.answer_timeout.is_some()),
        ("--seed", COMPARED, servers.seed.is_some()),
        ("--apps", &["rooms", "websocket-servers"], flags.apps.is_some()),
        ("--contenders", CACHES, !caches.contenders.is_empty()),
        ("--objects", CACHES, caches.objects.is_some()),
        ("--requests", CACHES, caches.requests.is_some()),
        ("--mix", CACHES, caches.mix.is_some()),
        ("--access-log", CACHES, caches.access_log.is_some()),
        ("--rate", CACHES, caches.rate.is_some()),
        ("--memory-budget", CACHES, caches.memory_budget.is_some()),
        ("--disk-budget", CACHES, caches.disk_budget.is_some()),
        ("--must-hold", CACHES, caches.must_hold.is_some()),
        ("--access-times", CACHES, caches.access_times),
        ("--no-search", CACHES, caches.no_search),
        ("--markdown", CACHES, caches.markdown),
    ];
    match all.iter().find(|(_, of, given)| *given && !of.contains(&name)) {
        Some((flag, of, _)) => {
            Err(Failure::usage(format!("{flag}: belongs to the experiment `{}`, not to `{name}`", of[0])))
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
