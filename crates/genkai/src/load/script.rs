//! `genkai load FILE`: a scenario file, genkai's own or Artillery's.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use genkai_model::load::{Load, Stop};
use genkai_model::stage;
use genkai_model::transport::Transport;
use genkai_model::units::Span;
use genkai_scenario::{Script, World};

use crate::target::Target;
use crate::{Failure, cli, view};

/// Largest file that a scenario may name.
const LARGEST: u64 = 256 << 20;

/// Whether `text` names a file rather than an address.
pub(crate) fn is_file(text: &str) -> bool {
    let named = [".yaml", ".yml", ".json"].iter().any(|end| text.ends_with(end));
    !text.contains("://")
        && !text.starts_with("unix:")
        && !text.starts_with("ws+unix:")
        && (named || Path::new(text).is_file())
}

/// What flags beside a scenario file say of it.
pub(crate) struct Asked<'a> {
    /// Addresses instead of the file's, `NAME=URL` or `URL`.
    pub(crate) targets: &'a [String],
    /// Artillery: the environment that is chosen.
    pub(crate) environment: Option<&'a str>,
    /// Nothing is said of what is done otherwise than the file says.
    pub(crate) quiet: bool,
}

/// Reads the scenario in a file.
///
/// # Errors
/// The first mistake in it, with its place.
pub(crate) fn read(file: &str, asked: &Asked<'_>) -> Result<Script, Failure> {
    let path = Path::new(file);
    let text = whole(path, genkai_scenario::LARGEST as u64).map_err(|e| {
        Failure::usage(format!("{file}: {e}\n  hint: give a scenario file, or an address like http://127.0.0.1:8080/"))
    })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let targets: Vec<(Option<String>, String)> = asked.targets.iter().map(|text| named(text)).collect();
    let world = World {
        read: &|name| whole(&folder.join(name), LARGEST),
        environment: &|name| std::env::var(name).ok(),
        chosen: asked.environment,
        targets: &targets,
    };
    let script = genkai_scenario::read(file, &text, &world).map_err(|fault| Failure::usage(fault.to_string()))?;
    if !asked.quiet {
        script.notes.iter().for_each(|note| view::say(&format!("note: {note}")));
    }
    Ok(script)
}

fn whole(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::new();
    let length = File::open(path)?.take(most + 1).read_to_string(&mut text)? as u64;
    if length > most {
        return Err(io::Error::other(format!("larger than {most} bytes")));
    }
    Ok(text)
}

/// `NAME=URL` or `URL`.
fn named(text: &str) -> (Option<String>, String) {
    match text.split_once('=') {
        Some((name, url)) if !name.contains([':', '/']) => (Some(name.to_owned()), url.to_owned()),
        _ => (None, text.to_owned()),
    }
}

/// The load of a script, its targets looked up.
///
/// # Errors
/// When a target does not resolve or must not be loaded, or a flag says what the file says.
pub(crate) fn load(script: Script, flags: &cli::Load, base: Load) -> Result<Load, Failure> {
    must_be_unused(flags)?;
    let mut load = base;
    let mut scenario = script.scenario;
    let mut tls = flags.tls.clone();
    tls.insecure |= script.insecure && tls.cacert.is_none();
    let safe = tls.none();
    for one in &mut scenario.targets {
        let target = Target::read(&one.url, &flags.allow_remote)?;
        // Flags of TLS are for those targets that have it.
        let flags = if target.is_tls() { &tls } else { &safe };
        one.transport = target.transport(flags)?;
        one.addresses = target.addresses;
        one.host = target.host;
        one.base = target.path.trim_end_matches('/').to_owned();
    }
    let any_tls = scenario.targets.iter().any(|target| matches!(target.transport, Transport::Tls(_)));
    if flags.tls.used() && !any_tls {
        return Err(Failure::usage(
            "--cacert, --cert, --key, --insecure, --no-resume: no target is https:// or wss://",
        ));
    }
    let first = &scenario.targets[0];
    (load.addresses, load.transport) = (first.addresses.clone(), first.transport.clone());
    load.request.host.clone_from(&first.host);
    load.request.path = if first.base.is_empty() { "/".to_owned() } else { first.base.clone() };
    let after = Span(stage::lasting(&script.stages).0.saturating_add(scenario.drain.0));
    load.stop = Stop { after, requests: flags.requests.or(script.requests) };
    (load.arrivals, load.stages) = (script.arrivals, script.stages);
    load.timeout = flags.load.timeout.unwrap_or(script.timeout);
    load.scenario = Some(Box::new(scenario));
    Ok(load)
}

/// Refuses flags for what the file says.
fn must_be_unused(flags: &cli::Load) -> Result<(), Failure> {
    let shape = &flags.load;
    let used = [
        ("--users", shape.users.is_some()),
        ("--spawn-rate", shape.spawn_rate.is_some()),
        ("--think", shape.think.is_some()),
        ("--rate", shape.rate.is_some()),
        ("--ramp", shape.ramp.is_some()),
        ("--poisson", shape.poisson),
        ("--connections", shape.connections.is_some()),
        ("--path", shape.path.is_some()),
        ("--method", shape.method.is_some()),
        ("--header", !shape.header.is_empty()),
        ("--body", shape.body.is_some()),
        ("--body-size", shape.body_size.is_some()),
        ("--new-connections", shape.new_connections),
        ("--stages", flags.stages.is_some()),
        ("--duration", flags.duration.is_some()),
    ];
    match used.into_iter().find(|(_, used)| *used) {
        Some((flag, _)) => {
            Err(Failure::usage(format!("{flag}: cannot be used with a scenario file, which defines it")))
        }
        None => flags.websocket.must_be_unused(crate::websocket::NEEDS),
    }
}
