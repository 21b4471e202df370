//! `genkai experiment run websocket-servers`: flags to a plan, the run, its outputs.

use std::collections::BTreeMap;

use genkai_lab::experiment::servers as experiment;
use genkai_lab::latencies;
use genkai_model::exit::Exit;
use genkai_model::plan::Plan;
use genkai_model::units::Bytes;
use genkai_targets::application::Place;

use crate::Failure;
use crate::cli::ServersFlags;
use crate::placement::placement;
use crate::study::{self, How};
use crate::view;

/// Largest of the large messages: what the applications send at most, and what the client takes.
const LARGEST: u64 = 64 << 20;
/// Smallest message that holds its command and instant.
const SMALLEST: u64 = 64;

/// The plan that flags describe.
///
/// # Errors
/// When they contradict each other, or nothing can be compared here.
fn plan(flags: &ServersFlags, place: &Place) -> Result<Plan, Failure> {
    let size = flags.run.size();
    let mut comparison = experiment::shape(size);
    comparison.clients = flags.clients.unwrap_or(comparison.clients);
    comparison.rounds = flags.rounds.unwrap_or(comparison.rounds);
    comparison.warm_up = flags.warm_up.unwrap_or(comparison.warm_up);
    comparison.starts = flags.starts.unwrap_or(comparison.starts);
    comparison.message = flags.message.unwrap_or(comparison.message);
    comparison.timeout = flags.answer_timeout.unwrap_or(comparison.timeout);
    comparison.seed = flags.seed.unwrap_or(comparison.seed);
    if !flags.sizes.is_empty() {
        comparison.sizes.clone_from(&flags.sizes);
        comparison.sizes.sort_unstable();
        comparison.sizes.dedup();
    }
    let within = |bytes: &Bytes| (SMALLEST..=LARGEST).contains(&bytes.0);
    if !comparison.sizes.iter().chain([&comparison.message]).all(within) {
        return Err(Failure::usage("--sizes, --message: must be from 64 bytes to 64 MiB"));
    }
    if comparison.timeout.0 == 0 {
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
    comparison.contenders = experiment::contenders(&servers, &settings, &sweeps);
    let placement = placement(&flags.places, flags.listen.listen)?;
    Ok(placement.of(experiment::plan(size, comparison)))
}

/// The servers asked for, each once; none asked for: all that can run.
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
    let (can, cannot) = latencies::available(place);
    if can.len() < 2 {
        let why = cannot.join("\n  ");
        return Err(Failure::environment(format!(
            "only one server can run here, so there is nothing to compare\n  {why}"
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
        return Err(Failure::usage(format!("{flag} {text}: `{server}` does not take part; the servers are {all}")));
    }
    Ok((server.to_owned(), name.to_owned(), value.to_owned()))
}

/// Makes a run and its outputs.
pub(crate) fn run(flags: &ServersFlags) -> Result<Exit, Failure> {
    let place = study::place(flags.apps.apps.as_deref())?;
    let plan = plan(flags, &place)?;
    study::run(plan, place, How::default(), &flags.run.output)
}
