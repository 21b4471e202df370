//! The flags of `genkai tune`.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, Subcommand, value_parser};
use genkai_model::exit::Exit;
use genkai_model::objective::Objective;
use genkai_model::system::System;
use genkai_model::units::Span;
use genkai_targets::catalog::{self, PRODUCTS};
use genkai_targets::product::{Entry, Proxy};

use crate::cluster::ServerFlag;

use super::{BackendFlags, LoadFlags, OutputFlags, ScenarioFlags, SessionFlags, StreamFlags, WebSocketFlags, help};

#[derive(Debug, Args)]
pub(crate) struct Tune {
    #[command(subcommand)]
    pub(crate) what: What,
}

/// What is put under test.
#[derive(Debug)]
pub(crate) enum What {
    /// A product that genkai knows.
    Product(Product),
    /// A server that it does not know.
    Command(Box<CommandFlags>),
}

/// A product of the catalogue that is put under test alone, with its flags.
#[derive(Debug)]
pub(crate) struct Product {
    pub(crate) name: &'static str,
    pub(crate) program: Option<PathBuf>,
    pub(crate) tls: bool,
    pub(crate) upgrade: Option<UpgradeFlag>,
    pub(crate) server: Option<Box<ServerFlag>>,
    pub(crate) flags: Box<TuneFlags>,
}

const NOTES: &str = "\
genkai works on a private copy. It reads your files and changes them only with --write, once the change is proved. The load goes to \
127.0.0.1 only, unless --allow-remote names another host.";

/// The products of the catalogue that are put under test alone.
fn products() -> impl Iterator<Item = &'static Entry> {
    PRODUCTS.iter().copied().filter(|entry| entry.prepare.is_some())
}

/// The command of a product: a reverse proxy, which genkai can write by itself, or a cache with a configuration of the user's.
fn command(entry: &'static Entry) -> Command {
    match entry.proxy() {
        Some(proxy) => of_proxy(entry, proxy),
        None => {
            let about = format!("{}, with a configuration file of yours, in front of a backend", entry.called);
            let example = "--config FILE --backend embedded --users 300 --spawn-rate 20";
            let command = with_flags(entry, Command::new(entry.name), &[], &[example], about);
            command.mut_arg("config", |config| config.required(true))
        }
    }
}

fn of_proxy(entry: &'static Entry, proxy: &'static Proxy) -> Command {
    let command = Command::new(entry.name);
    let command = if proxy.tls { TlsFlags::augment_args(command) } else { command };
    let command = if proxy.upgrades { UpgradeFlags::augment_args(command) } else { command };
    let command = if is_inside(entry) { ServerFlags::augment_args(command) } else { command };
    let about = format!("{}, as a reverse proxy in front of a backend", proxy.title);
    with_flags(entry, command, proxy.programs, proxy.examples, about)
}

/// Whether a product is put under test in a cluster, too.
fn is_inside(entry: &Entry) -> bool {
    catalog::inside(entry.name).is_ok()
}

/// A command with the flags that every product takes.
fn with_flags(entry: &Entry, command: Command, programs: &[&str], examples: &[&str], about: String) -> Command {
    let examples = examples.iter().map(|flags| format!("\n  genkai tune {} {flags}", entry.name));
    let examples = format!("Examples:{}", examples.collect::<String>());
    let programs = if programs.len() > 1 { format!(" ({})", programs.join(", ")) } else { String::new() };
    let program = format!("{} program{programs} to run [default: the one installed]", entry.called);
    let program = Arg::new(entry.name).long(entry.name).value_name("PROGRAM").help(program);
    let program = program.help_heading("System").hide_short_help(true).value_parser(value_parser!(PathBuf));
    TuneFlags::augment_args(command.arg(program))
        .about(about)
        .after_help(examples.clone())
        .after_long_help(help::below(&examples, NOTES, Exit::ALL))
}

impl Subcommand for What {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands(products().map(self::command)).subcommand(unknown()).subcommand_required(true)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        name == System::COMMAND || products().any(|entry| entry.name == name)
    }
}

impl FromArgMatches for What {
    fn from_arg_matches(all: &ArgMatches) -> Result<What, clap::Error> {
        match all.subcommand() {
            Some((System::COMMAND, flags)) => Ok(What::Command(Box::new(CommandFlags::from_arg_matches(flags)?))),
            chosen => Product::chosen(chosen).map(What::Product),
        }
    }

    fn update_from_arg_matches(&mut self, all: &ArgMatches) -> Result<(), clap::Error> {
        *self = What::from_arg_matches(all)?;
        Ok(())
    }
}

impl Product {
    fn chosen(chosen: Option<(&str, &ArgMatches)>) -> Result<Product, clap::Error> {
        let known = chosen.and_then(|(name, flags)| Some((products().find(|entry| entry.name == name)?, flags)));
        let Some((entry, flags)) = known else {
            return Err(clap::Error::new(clap::error::ErrorKind::MissingSubcommand));
        };
        let is = |what: fn(&Proxy) -> bool| entry.proxy().is_some_and(what);
        Ok(Product {
            name: entry.name,
            program: flags.get_one(entry.name).cloned(),
            tls: is(|proxy| proxy.tls) && TlsFlags::from_arg_matches(flags)?.tls,
            server: if is_inside(entry) { ServerFlags::from_arg_matches(flags)?.server.map(Box::new) } else { None },
            upgrade: if is(|proxy| proxy.upgrades) { UpgradeFlags::from_arg_matches(flags)?.upgrade } else { None },
            flags: Box::new(TuneFlags::from_arg_matches(flags)?),
        })
    }
}

const ABOUT: &str = "A server that genkai does not know, started by a command with parameters in braces";

const COMMAND_EXAMPLES: &str = "\
Examples:
  genkai tune command --set workers=2 --users 100 -- gunicorn -w {workers} -b {listen} app:app
  genkai tune command --set size=4:1..64 --template app.ini --users 100 -- ./server {template}";

const COMMAND_NOTES: &str = "\
Each parameter is changed alone: a number is doubled (to the end of its range at most), a word gives way to the others. What moves the break \
is named, and proved in pairs. {listen}, {host} and {port} are where to listen on 127.0.0.1, {template} is the filled copy of the file, {dir} a \
private folder; ${NAME} and {{NAME}} are left alone. The command runs in the present folder with the present environment; it must stay in the \
foreground, and is ended with everything it started.";

/// The command for a server that is no product of the catalogue.
fn unknown() -> Command {
    CommandFlags::augment_args(Command::new(System::COMMAND))
        .about(ABOUT)
        .after_help(COMMAND_EXAMPLES)
        .after_long_help(help::below(COMMAND_EXAMPLES, COMMAND_NOTES, Exit::ALL))
}

/// What a server takes that is no product of the catalogue.
#[derive(Debug, Args)]
pub(crate) struct CommandFlags {
    /// Parameter, e.g. workers=2, workers=2:1..64 (with its range), mode=sync|async (its words) or name=text (repeatable); values of
    /// names like password or token are recorded as "(hidden)"
    #[arg(long = "set", value_name = "NAME=VALUE", help_heading = "System")]
    pub(crate) set: Vec<String>,
    /// File with parameters in braces; a filled copy of it is {template} in the command
    #[arg(long, value_name = "FILE", help_heading = "System")]
    pub(crate) template: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) load: LoadFlags,
    #[command(flatten)]
    pub(crate) scenario: ScenarioFlags,
    #[command(flatten)]
    pub(crate) locust: LocustFlags,
    #[command(flatten)]
    pub(crate) search: SearchFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
    /// Program and arguments, parameters in braces, after `--`
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
struct TlsFlags {
    /// Generated configuration: listen with TLS; the load trusts an authority made for the run
    #[arg(long, conflicts_with = "config", help_heading = "System")]
    tls: bool,
}

#[derive(Debug, Args)]
struct ServerFlags {
    /// A server in a cluster: kubernetes:NAMESPACE/deployment/NAME; a private copy of it runs there
    ///
    /// Its Deployment and ConfigMaps are read; nothing of them is changed. Behind the name may stand, each once: ,container=NAME
    /// ,copies=NAMESPACE (which is there; else one is made and removed) ,context=NAME ,ingress=NAMESPACE (of ingress-nginx, to be told what
    /// it has) ,look=IMAGE (with a shell, where the server's has none) ,wait=TIME [60s]. The proposal is a ConfigMap for kubectl apply.
    /// `genkai kubernetes manifest --server PLACE` prints the role that is needed. See docs/kubernetes.md.
    #[arg(
        long,
        value_name = "PLACE",
        conflicts_with_all = ["config", "backend", "listen", "tls", "dry_run", "pin"],
        help_heading = "System",
        hide_short_help = true
    )]
    server: Option<ServerFlag>,
}

#[derive(Debug, Args)]
struct UpgradeFlags {
    /// Generated configuration: module that proxies WebSockets [default: http]
    #[arg(
        long,
        value_name = "HOW",
        requires = "websocket",
        conflicts_with = "config",
        help_heading = "System",
        hide_short_help = true
    )]
    upgrade: Option<UpgradeFlag>,
}

/// The module that proxies WebSockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum UpgradeFlag {
    /// mod_proxy_http with upgrade=websocket (2.4.47 and later)
    Http,
    /// mod_proxy_wstunnel by itself, as before 2.4.47
    Wstunnel,
}

/// A load that Locust makes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Locust")]
pub(crate) struct LocustFlags {
    /// Have Locust make the load: its workers run the users of a locustfile, e.g. locust:shop.py
    ///
    /// genkai is their master: it says how many users there are, and leads them to the server under test (the file's host does not count). All
    /// figures of the load are Locust's then: rounded, in windows of 3 s. Where a task calls another address than its host's, that is where it
    /// goes.
    #[arg(long, value_name = "locust:FILE", hide_short_help = true)]
    pub(crate) load: Option<String>,
    /// Locust program that reads the file and is started as workers [default: the first `locust` on the PATH]
    #[arg(long, value_name = "PROGRAM", requires = "load", hide_short_help = true)]
    pub(crate) locust: Option<PathBuf>,
    /// Locust workers: processes, each of which uses one core
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u16).range(1..=1000), requires = "load", hide_short_help = true)]
    pub(crate) locust_workers: u16,
    /// Start no workers, but wait at this address until so many have come
    #[arg(long, value_name = "HOST:PORT", requires = "load", hide_short_help = true)]
    pub(crate) locust_bind: Option<String>,
}

/// What every product takes.
#[derive(Debug, Args)]
pub(crate) struct TuneFlags {
    /// Change a setting, e.g. worker_connections=512, MaxRequestWorkers=300 or maxconn=300 (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE", help_heading = "System")]
    pub(crate) set: Vec<String>,
    /// Main file of your configuration; includes are followed, a private copy runs [default: a plain reverse proxy]
    #[arg(long, value_name = "FILE", help_heading = "System")]
    pub(crate) config: Option<PathBuf>,
    /// Backend: embedded, wordpress, keep (the one that the file names), or http(s)://127.0.0.1:PORT
    ///
    /// The default is keep with --config, otherwise embedded. A backend with https:// is asked over TLS: its certificate is verified as the
    /// configuration says that of its servers is, and not at all where it says nothing of TLS.
    #[arg(long, value_name = "WHAT", help_heading = "System")]
    pub(crate) backend: Option<String>,
    #[command(flatten)]
    pub(crate) origin: BackendFlags,
    /// Write the proposed change into your files once it is proved (atomically, with a backup)
    #[arg(long, requires = "config", help_heading = "System")]
    pub(crate) write: bool,
    /// Start applications behind (Tomcat) a second time, with all that they do at start, for a private copy
    ///
    /// Schedulers, consumers of queues, migrations of databases and whatever else an application begins then run twice, and files that it names by
    /// absolute paths are written by both. Without it what stands there is only watched.
    #[arg(long, requires = "config", help_heading = "System", hide_short_help = true)]
    pub(crate) start_applications: bool,
    /// Where nothing is named: time for leaving out directives of your file in the private copy, to see which make it fail; 0 is off [default: 60s]
    #[arg(long, value_name = "TIME", requires = "config", help_heading = "Search", hide_short_help = true)]
    pub(crate) bisect: Option<Span>,
    #[command(flatten)]
    pub(crate) load: LoadFlags,
    #[command(flatten)]
    pub(crate) sessions: SessionFlags,
    #[command(flatten)]
    pub(crate) streams: StreamFlags,
    #[command(flatten)]
    pub(crate) scenario: ScenarioFlags,
    #[command(flatten)]
    pub(crate) locust: LocustFlags,
    /// Use WebSocket: each user sends a message, waits for its echo, thinks; with --connections they are held idle
    #[arg(long, conflicts_with = "scenario", help_heading = "WebSocket")]
    pub(crate) websocket: bool,
    /// Each user sends a message at this interval, and all other users receive it
    #[arg(long, value_name = "TIME", requires = "websocket", conflicts_with_all = ["think", "connections", "message_rate"],
        help_heading = "WebSocket", hide_short_help = true)]
    pub(crate) broadcast: Option<Span>,
    #[command(flatten)]
    pub(crate) messages: WebSocketFlags,
    #[command(flatten)]
    pub(crate) search: SearchFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Search")]
pub(crate) struct SearchFlags {
    /// Objective, e.g. "errors < 0.1%, p99 < 500ms" [default: errors < 0.1%]
    ///
    /// Figures are errors, median, p99, max and rate; with --websocket also connects, delivered and disconnects, e.g. "connects >
    /// 99.9%, delivered > 99.99%, p99 < 500ms". With --websocket the default is "errors < 0.1%, disconnects < 0.1%".
    ///
    /// It breaks where a second or more has more failures or slow answers than chance makes, or where the whole load violates it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) objective: Option<Objective>,
    /// Time for which the search holds the full load [default: 10s]
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub(crate) hold: Option<Span>,
    /// Least number of pairs of baseline and proposal in the proof [default: 3]
    ///
    /// The order within each pair is random. Up to two more pairs are run if these do not decide (not with --quick). 0 skips the
    /// proof: the cause is still tested.
    #[arg(long, value_name = "N", value_parser = pairs, hide_short_help = true)]
    pub(crate) pairs: Option<u32>,
    /// Multiple of the requested load that the proposal must hold
    ///
    /// The test of a cause sends this much; or up to twice the requested load, where the next limit is predicted within that.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.2, hide_short_help = true)]
    pub(crate) headroom: f64,
    /// Most values to try below the proposed ones, a short trial each: 2 unless given, 3 of a command; 0: none
    ///
    /// First what the formula says is enough, then halves: the smallest value that held is told with its users and requests/s. With --quick or
    /// --server the default is 0 (not for a command).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=20), hide_short_help = true)]
    pub(crate) smaller: Option<u32>,
    /// Most limits to raise, one after another
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=100), hide_short_help = true)]
    pub(crate) max_limits: u32,
    /// Shorter trials, for a first look
    #[arg(long)]
    pub(crate) quick: bool,
    /// Cores: apart (a quarter of them makes the load), none, or servers=0-2,client=3
    #[arg(long, value_name = "HOW", default_value = "apart", hide_short_help = true)]
    pub(crate) pin: String,
}

/// None, or as many as can exclude chance ([`genkai_analysis::separation::FEWEST`]).
fn pairs(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(n @ (0 | 3..=50)) => Ok(n),
        _ => Err("must be 0 (no proof) or from 3 to 50: two pairs do not exclude chance".to_owned()),
    }
}
