//! `genkai tune`: flags to a plan, the run, its outputs.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use genkai_lab::experiment::{self, Size};
use genkai_lab::generator::locust::Locustfile;
use genkai_lab::redact;
use genkai_lab::system::Pin;
use genkai_model::command::{CommandLine, Parameter};
use genkai_model::exit::Exit;
use genkai_model::load::{Arrivals, Load, Protocol};
use genkai_model::objective::Objective;
use genkai_model::plan::{
    Answers, Backend, ConfigSource, Front, Plan, Procedure, Site, System, Upgrade, WebSocketServer,
};
use genkai_model::units::{Span, Spread};
use genkai_model::websocket::WebSocket;

use crate::cli::{BackendFlags, CommandFlags, LoadFlags, Product, SearchFlags, TuneFlags, UpgradeFlag, What};
use crate::scenario::ScenarioLoad;
use crate::study::{self, How};
use crate::target::local_only;
use crate::{Failure, flags, http2, locust, scenario, websocket};

/// Default rate at which users join, as in experiment 1.
const SPAWN_RATE: f64 = 10.0;
/// Default ramp of an open load: the rate at which it breaks can then be seen.
const RATE_RAMP: Span = Span::from_secs(15);

/// Default time for leaving out directives of the user's file.
const BISECT: Span = Span::from_secs(60);

/// Most values that are tried below those that a formula proposes: one where what it says is enough holds.
const SMALLER: u32 = 2;
/// The same where no formula is known.
const SMALLER_UNKNOWN: u32 = 3;

/// `genkai tune ...`.
pub(crate) fn any(what: &What) -> Result<Exit, Failure> {
    match what {
        What::Product(product) => self::product(product),
        What::Command(flags) => command(flags),
    }
}

/// `genkai tune command`.
fn command(flags: &CommandFlags) -> Result<Exit, Failure> {
    let pin = flags::pin(&flags.search.pin)?;
    let mut settings = BTreeMap::new();
    let mut parameters = Vec::new();
    for text in &flags.set {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let secret = redact::is_secret_parameter(name);
        let read = if secret { Parameter::read_secret(text) } else { Parameter::read(text) };
        let shown = if secret && !value.is_empty() { format!("{name}={}", redact::HIDDEN) } else { text.clone() };
        let (parameter, value) = read.map_err(|why| Failure::usage(format!("--set `{shown}`: {why}")))?;
        if settings.insert(parameter.name.clone(), value).is_some() {
            return Err(Failure::usage(format!("--set {}: given twice", parameter.name)));
        }
        parameters.push(parameter);
    }
    let line = CommandLine { words: flags.words.clone(), template: flags.template.clone(), parameters };
    let system = System { command: Some(line), settings, ..System::generated(System::COMMAND) };
    let told = scenario::read(&flags.scenario, flags.output.quiet, false)?;
    let users = locust::read(&flags.locust, &flags.load, &flags.scenario, flags.output.quiet)?;
    locust::reaches(&users, None)?;
    let load = http(&flags.load, &told, &users, generators(&pin))?;
    let smaller = flags.search.smaller.unwrap_or(SMALLER_UNKNOWN);
    let procedure = Procedure { smaller, ..procedure(&flags.search, &load.arrivals)? };
    let procedure = locust::procedure(procedure, &load, flags.search.hold)?;
    let objective = flags.search.objective.clone().or(scenario::objective(&told)).unwrap_or_default();
    if let Some(condition) = objective.of_websockets() {
        return Err(Failure::usage(format!("--objective `{condition}`: is about WebSockets; the load has none")));
    }
    let plan = Plan::of(locust::title("tune command".to_owned(), &users, &told), system, load, objective, procedure);
    study::run(plan, study::place(None)?, How { pin, ..How::default() }, &flags.output)
}

/// The address at which servers are to listen, which must be this machine's.
pub(crate) fn listen(address: Option<Ipv4Addr>) -> Result<Option<Ipv4Addr>, Failure> {
    let Some(address) = address else { return Ok(None) };
    if address.is_unspecified() {
        return Err(Failure::usage(format!(
            "--listen {address}: that is every address\n  hint: name the one that the other machines reach"
        )));
    }
    let here = std::net::TcpListener::bind((address, 0));
    here.map_err(|e| {
        Failure::usage(format!(
            "--listen {address}: nothing can listen there: {e}\n  hint: `ip address` lists this machine's"
        ))
    })?;
    Ok(Some(address))
}

/// A load of requests: one over and over, or those of a scenario.
fn http(
    flags: &LoadFlags,
    told: &Option<ScenarioLoad>,
    users: &Option<Locustfile>,
    cores: usize,
) -> Result<Load, Failure> {
    if let Some(users) = users {
        return locust::load(users, flags, SPAWN_RATE);
    }
    if let Some(told) = told {
        return told.load(flags, SPAWN_RATE, cores);
    }
    let mut load = flags.load(SPAWN_RATE, cores)?;
    steadily(&mut load, flags);
    Ok(load)
}

/// The cores that make the load.
fn generators(pin: &Pin) -> usize {
    pin.resolve().map_or_else(|| genkai_lab::pinning::cores().len(), |p| p.client.len())
}

/// An open load rises, unless flags say how.
fn steadily(load: &mut Load, flags: &LoadFlags) {
    if let Arrivals::Rate { ramp, .. } = &mut load.arrivals
        && flags.ramp.is_none()
    {
        *ramp = RATE_RAMP;
    }
}

/// `genkai tune PRODUCT`.
fn product(product: &Product) -> Result<Exit, Failure> {
    let Product { name, program, tls, upgrade, server, flags } = product;
    let upgrade = match upgrade {
        Some(UpgradeFlag::Wstunnel) => Upgrade::Wstunnel,
        Some(UpgradeFlag::Http) | None => Upgrade::Http,
    };
    // A server in a cluster takes none of this machine's cores.
    let pin = flags::pin(if server.is_some() { "none" } else { &flags.search.pin })?;
    if let (Some(program), Some(_)) = (program, server) {
        let text = format!("--{name} {}: a server in a cluster is that of its image", program.display());
        return Err(Failure::usage(text));
    }
    let config = match (server, &flags.config) {
        (Some(server), _) => ConfigSource::Cluster(server.0.clone()),
        (None, Some(file)) => ConfigSource::File(file.clone()),
        (None, None) => ConfigSource::Generated,
    };
    let no_resume = flags.sessions.no_resume;
    let front = Front { tls: *tls, upgrade, listen: listen(flags.origin.listen)?, no_resume };
    let plan = plan((name, program.clone(), config), flags, front, &pin)?;
    study::run(plan, study::place(None)?, How { pin, write: flags.write, ..How::default() }, &flags.output)
}

fn plan(
    (product, program, config): (&str, Option<PathBuf>, ConfigSource),
    flags: &TuneFlags,
    front: Front,
    pin: &Pin,
) -> Result<Plan, Failure> {
    let told = scenario::read(&flags.scenario, flags.output.quiet, true)?;
    let users = locust::read(&flags.locust, &flags.load, &flags.scenario, flags.output.quiet)?;
    let is_http2 = flags.streams.each().is_some() || told.as_ref().is_some_and(scenario::ScenarioLoad::shares);
    if users.is_some() && (flags.websocket || is_http2) {
        return Err(Failure::usage(
            "--load locust: users of a locustfile ask by HTTP/1.1; leave out --websocket and --http2",
        ));
    }
    if matches!(config, ConfigSource::Cluster(_)) && (users.is_some() || is_http2) {
        return Err(Failure::usage(
            "--server: a server in a cluster is asked by HTTP/1.1 and by genkai's own users; leave out --http2 and --load locust",
        ));
    }
    locust::reaches(&users, front.listen)?;
    let load = load(flags, &told, &users, generators(pin))?;
    http2::must_fit(&load, product)?;
    let load = locust::at(load, front.listen);
    // Users of a scenario may speak to the embedded server in WebSockets, too.
    let spoken = match told.as_ref().is_some_and(scenario::ScenarioLoad::talks) {
        true => Protocol::WebSocket(WebSocket::default()),
        false => load.protocol.clone(),
    };
    let backend = backend(flags.backend.as_deref(), &flags.origin, &spoken, &config)?;
    if let (true, Some(what)) = (flags.start_applications && backend != Backend::Kept, &flags.backend) {
        return Err(Failure::usage(format!(
            "--start-applications: --backend {what} takes the place of the applications behind, of which a copy would be started; leave one of the two out"
        )));
    }
    let system = System {
        program,
        config,
        settings: settings("--set", SETTING, &flags.set)?,
        backend,
        front,
        allow_remote: flags.origin.allow_remote.clone(),
        start_applications: flags.start_applications,
        ..System::generated(product)
    };
    let bisect = flags.bisect.unwrap_or(if flags.config.is_some() { BISECT } else { Span(0) });
    // What is quick, or starts a server in a cluster for each trial, tries none unless asked to.
    let short = flags.search.quick || matches!(system.config, ConfigSource::Cluster(_));
    let smaller = flags.search.smaller.unwrap_or(if short { 0 } else { SMALLER });
    let procedure = Procedure { bisect, smaller, ..procedure(&flags.search, &load.arrivals)? };
    let procedure = locust::procedure(procedure, &load, flags.search.hold)?;
    let objective = objective(flags, scenario::objective(&told))?;
    Ok(Plan::of(locust::title(format!("tune {product}"), &users, &told), system, load, objective, procedure))
}

fn load(
    flags: &TuneFlags,
    told: &Option<ScenarioLoad>,
    users: &Option<Locustfile>,
    cores: usize,
) -> Result<Load, Failure> {
    let mut load = if flags.websocket {
        let mut load = websocket::load(&flags.load, &flags.messages, SPAWN_RATE)?;
        steadily(&mut load, &flags.load);
        load
    } else {
        flags.messages.must_be_unused("needs --websocket")?;
        match flags.streams.each() {
            Some(streams) => {
                let mut load = http2::load(&flags.load, streams, SPAWN_RATE, cores)?;
                steadily(&mut load, &flags.load);
                load
            }
            None => http(&flags.load, told, users, cores)?,
        }
    };
    if let (Some(every), Protocol::WebSocket(websocket)) = (flags.broadcast, &mut load.protocol) {
        websocket.rooms = Some(experiment::one_room(every));
        if flags.load.path.is_none() {
            load.request.path = experiment::ROOMS.to_owned();
        }
    }
    Ok(load)
}

/// What must hold: as given, or as the scenario's file has it, or the usual for what is spoken.
fn objective(flags: &TuneFlags, own: Option<Objective>) -> Result<Objective, Failure> {
    let usual = || if flags.websocket { experiment::held_objective() } else { Objective::default() };
    let objective = flags.search.objective.clone().or(own).unwrap_or_else(usual);
    match objective.of_websockets() {
        Some(condition) if !flags.websocket => {
            Err(Failure::usage(format!("--objective `{condition}`: is about WebSockets; add --websocket")))
        }
        _ => Ok(objective),
    }
}

/// A setting as `--set` takes it.
pub(crate) const SETTING: &str = "worker_connections=512";

/// The settings that were given to a flag, by name; `like` is one as it takes them.
///
/// # Errors
/// When one has no name or no value, or is given twice.
pub(crate) fn settings(flag: &str, like: &str, set: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let mut all = BTreeMap::new();
    for text in set {
        let (name, value) = text
            .split_once('=')
            .filter(|(name, value)| !name.trim().is_empty() && !value.trim().is_empty())
            .ok_or_else(|| Failure::usage(format!("{flag} `{text}`: write it like {like}")))?;
        if all.insert(name.trim().to_owned(), value.trim().to_owned()).is_some() {
            return Err(Failure::usage(format!("{flag} {}: given twice", name.trim())));
        }
    }
    Ok(all)
}

pub(crate) fn backend(
    what: Option<&str>,
    flags: &BackendFlags,
    protocol: &Protocol,
    config: &ConfigSource,
) -> Result<Backend, Failure> {
    let default = if *config == ConfigSource::Generated { "embedded" } else { "keep" };
    let what = what.unwrap_or(default);
    has_effect(what, flags)?;
    match (what, protocol) {
        ("embedded", Protocol::WebSocket(websocket)) => messages(flags, websocket.rooms.is_some()),
        ("embedded", _) => {
            if flags.backend_max_message.is_some() {
                return Err(Failure::usage("--backend-max-message: needs --websocket"));
            }
            let mut spec = experiment::slow_application();
            spec.body = flags.backend_body.unwrap_or(spec.body);
            spec.service_time = flags.backend_time.unwrap_or(spec.service_time);
            spec.workers = flags.backend_workers;
            spec.queue = flags.backend_queue;
            Ok(Backend::Embedded(spec))
        }
        ("wordpress", _) => {
            let children = flags.fpm_children.unwrap_or(experiment::DEBIAN_MAX_CHILDREN);
            Ok(Backend::WordPress(Site {
                children,
                waits: fixed(flags.backend_time, "a page waits")?,
                connections: flags.db_connections,
            }))
        }
        ("keep", _) if *config == ConfigSource::Generated => {
            Err(Failure::usage("--backend keep: needs --config FILE; it keeps the upstreams of that file"))
        }
        ("keep", _) => Ok(Backend::Kept),
        (url, _) if is_url(url, protocol) => {
            let url = url.replacen("ws", "http", usize::from(url.starts_with("ws")));
            local_only(&url, &flags.allow_remote)?;
            no_path(&url)?;
            Ok(Backend::Url(url))
        }
        (other, _) => Err(Failure::usage(format!(
            "--backend `{other}`: must be embedded, wordpress, keep, or a URL like http://127.0.0.1:8080 or https://127.0.0.1:8443"
        ))),
    }
}

/// Whether this names a backend by its address: `ws` stands for `http` where WebSockets are opened.
fn is_url(text: &str, protocol: &Protocol) -> bool {
    let talks = matches!(protocol, Protocol::WebSocket(_));
    let begins = |scheme: &&str| text.starts_with(*scheme);
    ["http://", "https://"].iter().any(begins) || talks && ["ws://", "wss://"].iter().any(begins)
}

/// The embedded WebSocket server as flags have it.
fn messages(flags: &BackendFlags, rooms: bool) -> Result<Backend, Failure> {
    let of_http = [
        ("--backend-body", flags.backend_body.is_some()),
        ("--backend-workers", flags.backend_workers.is_some()),
        ("--backend-queue", flags.backend_queue.is_some()),
        ("--backend-time", rooms && flags.backend_time.is_some()),
    ];
    if let Some((flag, _)) = of_http.iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format!("{flag}: has no effect on these messages\n  hint: leave it out")));
    }
    let delay = fixed(flags.backend_time, "an echo takes")?;
    let usual = experiment::echo();
    Ok(Backend::WebSocket(WebSocketServer {
        answers: if rooms { Answers::Rooms } else { Answers::Echo },
        max_message: flags.backend_max_message.unwrap_or(usual.max_message),
        delay,
    }))
}

/// A `--backend-time` that is the same each time; none: no time.
fn fixed(time: Option<Spread>, what: &str) -> Result<Span, Failure> {
    match time {
        None => Ok(Span(0)),
        Some(Spread::Constant(time)) => Ok(time),
        Some(other) => Err(Failure::usage(format!("--backend-time {other}: {what} a fixed time, like 300ms"))),
    }
}

/// Refuses flags that say something about another backend than `what`.
fn has_effect(what: &str, flags: &BackendFlags) -> Result<(), Failure> {
    let all = [
        ("--backend-body", "embedded", flags.backend_body.is_some()),
        ("--backend-time", "embedded", flags.backend_time.is_some() && what != "wordpress"),
        ("--backend-workers", "embedded", flags.backend_workers.is_some()),
        ("--backend-queue", "embedded", flags.backend_queue.is_some()),
        ("--backend-max-message", "embedded", flags.backend_max_message.is_some()),
        ("--fpm-children", "wordpress", flags.fpm_children.is_some()),
        ("--db-connections", "wordpress", flags.db_connections.is_some()),
    ];
    match all.iter().find(|(_, of, given)| *given && *of != what) {
        Some((flag, of, _)) => Err(Failure::usage(format!(
            "{flag} has no effect with --backend {what}\n  hint: leave it out, or use --backend {of}"
        ))),
        None => Ok(()),
    }
}

/// Refuses a path or query in a backend's URL: the product gets an address, and passes on the path of the request.
fn no_path(url: &str) -> Result<(), Failure> {
    match beyond_address(url) {
        Some(path) => Err(Failure::usage(format!(
            "--backend {url}: `{path}` would have no effect; a backend is a host and a port\n  hint: give the path to request \
             with --path"
        ))),
        None => Ok(()),
    }
}

/// The path, query or fragment of a URL; none where it has only a `/`.
pub(crate) fn beyond_address(url: &str) -> Option<&str> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.find(['/', '?', '#']).map(|at| &rest[at..]).filter(|path| *path != "/")
}

fn procedure(flags: &SearchFlags, arrivals: &Arrivals) -> Result<Procedure, Failure> {
    if !(1.0..=10.0).contains(&flags.headroom) {
        return Err(Failure::usage(format!("--headroom {}: must be between 1 and 10", flags.headroom)));
    }
    if flags.hold.is_some_and(|hold| hold.0 == 0) {
        return Err(Failure::usage("--hold 0s: must be at least 1s for a verdict"));
    }
    let quick = experiment::procedure(Size::Quick);
    let ramp = match *arrivals {
        Arrivals::Users { count, spawn_rate, .. } => f64::from(count) / spawn_rate,
        Arrivals::Rate { ramp, .. } => ramp.as_secs_f64(),
    };
    let (hold, proof_hold) =
        if flags.quick { (quick.hold, quick.proof_hold) } else { (Span::from_secs(10), Span::from_secs(5)) };
    let min_pairs = flags.pairs.unwrap_or(quick.min_pairs);
    Ok(Procedure {
        max_limits: flags.max_limits,
        min_pairs,
        max_pairs: min_pairs + if flags.quick { 0 } else { 2 },
        hold: flags.hold.unwrap_or(hold),
        proof_ramp: Span::from_secs_f64(ramp.min(if flags.quick { 2.0 } else { 5.0 })),
        proof_hold,
        headroom: flags.headroom,
        ..quick
    })
}
