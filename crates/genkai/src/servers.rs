//! `genkai experiment run websocket-servers`: flags to a plan, the run, its outputs.

use std::collections::BTreeMap;

use clap::Args;
use genkai_lab::contest;
use genkai_lab::experiment::{Size, servers as experiment};
use genkai_model::exit::Exit;
use genkai_model::plan::Plan;
use genkai_model::units::{Bytes, Span};
use genkai_targets::application::Place;

use crate::Failure;
use crate::cli::OutputFlags;
use crate::study::{self, How};
use crate::view;

/// Flags of the experiment `websocket-servers`.
#[derive(Debug, Args)]
#[command(next_help_heading = "websocket-servers (--clients, --rounds, --seed: reverse-proxy-cache too)")]
pub(crate) struct ServersFlags {
    /// Servers to compare: embedded, tomcat, jetty, node-ws, socketio [default: all that can run here]
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    pub(crate) servers: Vec<String>,
    /// A setting of a server, e.g. tomcat.heap=512m, jetty.gc=z, node-ws.max-message=1m (repeatable)
    #[arg(long = "server-set", value_name = "SERVER.NAME=VALUE")]
    pub(crate) server_set: Vec<String>,
    /// Values of a setting to be tried for large messages, each beside the server as it is, e.g. jetty.buffer=64k,2m
    /// (repeatable)
    #[arg(long, value_name = "SERVER.NAME=V,V")]
    pub(crate) sweep: Vec<String>,
    /// Clients of each server [default: 200, with --full 1000; reverse-proxy-cache: 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub(crate) clients: Option<u32>,
    /// Rounds that count, of each start [default: 10; reverse-proxy-cache: 3, with --full 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub(crate) rounds: Option<u32>,
    /// Rounds before them that do not count [default: 10, with --full 30]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub(crate) warm_up: Option<u32>,
    /// Start all servers anew so often; with several, intervals speak of starts and not of rounds [default: 1, with --full 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) starts: Option<u32>,
    /// Sizes of large messages [default: 16k,1m,4m]
    #[arg(long, value_name = "SIZE,...", value_delimiter = ',')]
    pub(crate) sizes: Vec<Bytes>,
    /// Size of the message that all receive, and that each sends [default: 128]
    #[arg(long, value_name = "SIZE")]
    pub(crate) message: Option<Bytes>,
    /// Longest wait for one answer [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub(crate) answer_timeout: Option<Span>,
    /// Seed of the orders in which servers are asked [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// Largest of the large messages: what the applications send at most, and what the client takes.
const LARGEST: u64 = 64 << 20;
/// Smallest message that holds its command and instant.
const SMALLEST: u64 = 64;

/// The plan that flags describe.
///
/// # Errors
/// When they contradict each other, or nothing can be compared here.
fn plan(size: Size, flags: &ServersFlags, place: &Place) -> Result<Plan, Failure> {
    let mut contest = experiment::shape(size);
    contest.clients = flags.clients.unwrap_or(contest.clients);
    contest.rounds = flags.rounds.unwrap_or(contest.rounds);
    contest.warm_up = flags.warm_up.unwrap_or(contest.warm_up);
    contest.starts = flags.starts.unwrap_or(contest.starts);
    contest.message = flags.message.unwrap_or(contest.message);
    contest.timeout = flags.answer_timeout.unwrap_or(contest.timeout);
    contest.seed = flags.seed.unwrap_or(contest.seed);
    if !flags.sizes.is_empty() {
        contest.sizes.clone_from(&flags.sizes);
        contest.sizes.sort_unstable();
        contest.sizes.dedup();
    }
    let within = |bytes: &Bytes| (SMALLEST..=LARGEST).contains(&bytes.0);
    if !contest.sizes.iter().chain([&contest.message]).all(within) {
        return Err(Failure::usage("--sizes, --message: must be from 64 bytes to 64 MiB"));
    }
    if contest.timeout.0 == 0 {
        return Err(Failure::usage("--answer-timeout: must be longer than zero"));
    }
    let servers = servers(&flags.servers, place)?;
    let mut settings: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for text in &flags.server_set {
        let (server, name, value) = parts(text, "--server-set", &servers)?;
        settings.entry(server).or_default().insert(name, value);
    }
    let sweeps = flags.sweep.iter().map(|text| {
        let (server, setting, values) = parts(text, "--sweep", &servers)?;
        Ok(experiment::Sweep { server, setting, values: values.split(',').map(str::to_owned).collect() })
    });
    let sweeps = sweeps.collect::<Result<Vec<_>, Failure>>()?;
    contest.contenders = experiment::contenders(&servers, &settings, &sweeps);
    Ok(experiment::plan(size, contest))
}

/// The servers asked for, each once; without a wish all that can run.
fn servers(asked: &[String], place: &Place) -> Result<Vec<String>, Failure> {
    let mut all: Vec<String> = Vec::new();
    for server in asked {
        if !all.contains(server) {
            all.push(server.clone());
        }
    }
    if !all.is_empty() {
        return Ok(all);
    }
    let (can, cannot) = contest::available(place);
    if can.len() < 2 {
        let why = cannot.join("\n  ");
        return Err(Failure::environment(format!(
            "only one server can run here, and there is nothing to compare\n  {why}"
        )));
    }
    cannot.iter().for_each(|why| view::say(&format!("left out: {why}")));
    Ok(can.into_iter().map(str::to_owned).collect())
}

/// `SERVER.NAME=VALUE` of a server that takes part.
fn parts(text: &str, flag: &str, servers: &[String]) -> Result<(String, String, String), Failure> {
    let split = text.split_once('=').and_then(|(who, value)| Some((who.split_once('.')?, value)));
    let Some(((server, name), value)) = split.filter(|(_, value)| !value.is_empty()) else {
        return Err(Failure::usage(format!("{flag} {text}: must be SERVER.NAME=VALUE, e.g. tomcat.heap=512m")));
    };
    if !servers.iter().any(|one| one == server) {
        let all = servers.join(", ");
        return Err(Failure::usage(format!("{flag} {text}: `{server}` does not take part; these do: {all}")));
    }
    Ok((server.to_owned(), name.to_owned(), value.to_owned()))
}

/// Makes a run and its outputs.
pub(crate) fn run(size: Size, flags: &ServersFlags, place: Place, output: &OutputFlags) -> Result<Exit, Failure> {
    let plan = plan(size, flags, &place)?;
    study::run(plan, place, How::default(), output)
}
