//! Commands and flags. The words of `--help` are here; what they mean is elsewhere.

mod compare;
mod serve;
mod tune;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use genkai_model::plan::Fault;
use genkai_model::stage::Stages;
use genkai_model::units::{Bytes, Span};

pub(crate) use compare::{Claims, Compare};
pub(crate) use serve::{Echo, Link, Origin, Rooms, Serve, Server};
pub(crate) use tune::{Apache, BackendFlags, Product, SearchFlags, Tune, TuneFlags, UpgradeFlag};

use crate::caches::CacheFlags;
use crate::flags::LoadFlags;
use crate::http2::Http2Flags;
use crate::load::tables::Tables;
use crate::servers::ServersFlags;
use crate::target::TlsFlags;
use crate::websocket::WebSocketFlags;

const EXIT_CODES: &str = "\
Exit codes:
  0    the objective holds
  1    the objective fails (the verdict says why)
  2    wrong flags, files or settings; nothing was started
  3    the machine cannot do it: server missing, port taken, limits too small, disk full
  4    invalid: the client was the limit, nothing is said about the server
  130  interrupted; what was measured is kept";

/// Finds the load at which a web server breaks, names the setting that is the limit, changes it and proves it.
#[derive(Debug, Parser)]
#[command(name = "genkai", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find, name and prove the limit of a server's configuration
    Tune(Tune),
    /// Load systems in turn, in shuffled blocks, and say which differs in what, and how sure that is
    #[command(after_help = compare::EXAMPLES)]
    Compare(Box<Compare>),
    /// Put advice to the test: each claim's change beside the same server without it
    #[command(after_help = compare::CLAIMS_EXAMPLES)]
    Claims(Box<Claims>),
    /// Say what a configuration means: every limit, what bites first, and what is not as it seems; nothing is started
    Explain(Explain),
    /// Run one of the experiments genkai was made for
    Experiment(Experiment),
    /// Make load on a URL, or as a scenario file says, and measure
    #[command(after_help = LOAD_EXAMPLES)]
    Load(Box<Load>),
    /// Rebuild every output of a run from its record alone
    Report(Report),
    /// Run an embedded server
    Serve(Serve),
    /// Show what this machine can hold, and how to raise it
    Doctor(Doctor),
    /// Make a part of a load for another genkai, as standard input says
    #[command(hide = true)]
    Worker,
}

const EXPLAIN_EXIT_CODES: &str = "\
Exit codes:
  0    nothing is wrong with what genkai knows of it
  1    something is wrong or not as it seems (it is printed)
  2    wrong flags, or a file that cannot be read or understood";

#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXIT_CODES)]
pub(crate) struct Explain {
    /// Main files of configurations, e.g. /etc/nginx/nginx.conf or /etc/squid/squid.conf; includes are followed
    #[arg(required = true, value_name = "CONFIG")]
    pub(crate) configs: Vec<PathBuf>,
    /// Whose they are: nginx, apache, haproxy, squid, varnish, php-fpm or redis [default: as the text looks]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(genkai_targets::catalog::explained()))]
    pub(crate) product: Option<String>,
    /// Path of the requests that are looked at
    #[arg(long, value_name = "PATH", default_value = "/")]
    pub(crate) path: String,
    /// Their Host header: it decides which virtual server counts
    #[arg(long, value_name = "NAME", default_value = "localhost")]
    pub(crate) host: String,
    /// They open WebSocket connections
    #[arg(long)]
    pub(crate) websocket: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Colours
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    pub(crate) color: Colour,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFlags {
    /// Folder of the run [default: genkai-runs/TIME-NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Show the plan and what is predicted, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing but errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Also write the main figure as figure.svg
    #[arg(long)]
    pub(crate) svg: bool,
    /// Keep the servers' private files in DIR/work-...
    #[arg(long)]
    pub(crate) keep: bool,
    /// Colours
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    pub(crate) color: Colour,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Args)]
pub(crate) struct Experiment {
    #[command(subcommand)]
    pub(crate) action: ExperimentAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExperimentAction {
    /// List the experiments
    List,
    /// Run one
    Run(Box<ExperimentRun>),
}

#[derive(Debug, Args)]
pub(crate) struct ExperimentRun {
    /// Name of the experiment (see `genkai experiment list`)
    pub(crate) name: String,
    /// Under a minute of load, embedded backend [default]
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// As the original was done (nginx-worker-connections: on real WordPress; apache-websocket: with all comparisons and claims, 36 to 60
    /// minutes of load; --dry-run tells how long each part takes)
    #[arg(long)]
    pub(crate) full: bool,
    /// apache-websocket: only this part (repeatable): baseline, answer, idle, slow, large, fan-out, refused; changes and claims, which take
    /// minutes and are left out of --quick; with --full also load-500, load-1000, changes-1000
    #[arg(long, value_name = "NAME")]
    pub(crate) part: Vec<String>,
    /// nginx-worker-connections: the setting's value to start from [default: 512]
    #[arg(long, value_name = "N")]
    pub(crate) worker_connections: Option<String>,
    #[command(flatten)]
    pub(crate) rooms: RoomsFlags,
    #[command(flatten)]
    pub(crate) servers: ServersFlags,
    /// The folder `apps` of genkai's source, built by `make apps` [default: looked for here and around the program]
    #[arg(long, value_name = "DIR")]
    pub(crate) apps: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) caches: CacheFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

const LOAD_EXAMPLES: &str = "\
Examples:
  genkai load http://127.0.0.1:8080/ --users 100 --duration 30s
  genkai load https://localhost:8443/ --cacert ca.pem --rate 2000 --threshold \"p99 < 50ms\" --threshold \"errors < 0.1%\"
  genkai load ws://127.0.0.1:9000/chat --connections 1000 --message-rate 5000
  genkai load http://127.0.0.1:8080/ --stages \"10s:0..500, 30s:500, 10s:0\"
  genkai load shop.yaml --target http://127.0.0.1:8080 --dry-run
  genkai load artillery.yml --environment local
  genkai load http://127.0.0.1:8080/ --out run1 --csv run1.csv --jtl run1.jtl

On a terminal: - and + change the time scale, a lets it follow the load, q stops and shows what was measured.
Latency counts from the instant at which a request was planned, service time from its first byte written.
The exit code is 0 if every threshold holds, 1 if one does not, 4 if this machine could not make the load.";
/// Flags of the experiments `rooms` and `rooms-http`.
#[derive(Debug, Args)]
#[command(next_help_heading = "rooms, rooms-http")]
pub(crate) struct RoomsFlags {
    /// Nodes that serve the rooms [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "sweep_nodes", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) nodes: Option<u32>,
    /// Several numbers of nodes, one after the other: 5,10,25,30
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) sweep_nodes: Vec<u32>,
    /// What a node is: embedded (genkai's own), or an application on node-ws, socketio, tomcat, jetty [default: embedded]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(genkai_targets::rooms::SERVERS))]
    pub(crate) server: Option<String>,
    /// What stands before the nodes: none, haproxy or nginx [default: none, so that clients go to the nodes in turn]
    #[arg(long, value_name = "NAME")]
    pub(crate) router: Option<RouterFlag>,
    /// Connections the router gives a node at once; a request beyond waits for --queue-timeout, then is refused
    #[arg(long, value_name = "N", requires = "router", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) node_connections: Option<u32>,
    /// How long a request waits in haproxy for a node with room [default: 5s; rooms-http: at most a fifth of --hold]
    #[arg(long, value_name = "TIME", requires = "router")]
    pub(crate) queue_timeout: Option<Span>,
    /// How nodes share rooms [default: redis for several nodes, else none]
    #[arg(long, value_name = "HOW")]
    pub(crate) backplane: Option<BackplaneFlag>,
    /// A setting of the private Redis, e.g. maxclients=20 or "client-output-buffer-limit=pubsub 1mb 0 0" (repeatable); not
    /// where it listens and writes, passwords, or what it loads
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) redis_set: Vec<String>,
    /// Rooms [default: 10, with --full 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) rooms: Option<u32>,
    /// Members of a room [default: 20, with --full 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) members: Option<u32>,
    /// Messages of a member [default: 20, with --full 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) messages: Option<u32>,
    /// Time between two messages of a member [default: 500ms, with --full 5s]
    #[arg(long, value_name = "TIME")]
    pub(crate) message_every: Option<Span>,
    /// Bytes of a message, at least 24 [default: 64]
    #[arg(long, value_name = "SIZE")]
    pub(crate) message_size: Option<Bytes>,
    /// Time between two members that enter a room [default: 100ms, with --full 3s]
    #[arg(long, value_name = "TIME")]
    pub(crate) enter_every: Option<Span>,
    /// rooms-http: how long each request is held open [default: 1500ms, with --full 25s]
    #[arg(long, value_name = "TIME")]
    pub(crate) hold: Option<Span>,
    /// rooms-http: requests at once, at most [default: 2000, with --full 10000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) most: Option<u32>,
    /// What may wait for one member in a node; who lets more pile up is disconnected [default: 1m]
    #[arg(long, value_name = "SIZE")]
    pub(crate) member_queue: Option<Bytes>,
    /// A fault on purpose, to see it found (repeatable): lose-every=N (node 1), kill-node=TIME (the last), cut-redis=TIME,
    /// fill-redis=TIME (others take its maxclients), reset-router=TIME
    #[arg(long, value_name = "FAULT", value_parser = crate::rooms::fault)]
    pub(crate) fault: Vec<Fault>,
}

/// What stands before nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RouterFlag {
    /// Nothing
    None,
    /// HAProxy
    Haproxy,
    /// nginx
    Nginx,
}

/// How nodes share rooms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackplaneFlag {
    /// They do not
    None,
    /// Over a private Redis
    Redis,
}

#[derive(Debug, Args)]
pub(crate) struct Load {
    /// http://, https://, ws:// or wss://HOST:PORT/PATH; unix:SOCKET:/PATH or ws+unix:SOCKET:/PATH; or a scenario file
    /// (YAML), genkai's own or an Artillery script
    #[arg(value_name = "URL|FILE")]
    pub(crate) url: String,
    #[command(flatten)]
    pub(crate) load: LoadFlags,
    #[command(flatten)]
    pub(crate) tls: TlsFlags,
    #[command(flatten)]
    pub(crate) http2: Http2Flags,
    #[command(flatten)]
    pub(crate) websocket: WebSocketFlags,
    /// Stages, e.g. "10s:0..500, 30s:500, 10s:0": each goes evenly from where the last one ended (or FROM..) to its level;
    /// 5s:pause sends nothing; levels are users, or a rate with /s
    #[arg(long, value_name = "LIST", help_heading = "Load", conflicts_with_all =
        ["users", "spawn_rate", "rate", "ramp", "message_rate"])]
    pub(crate) stages: Option<Stages>,
    /// How long, ramp included [default: 10s]
    #[arg(long, short = 'd', value_name = "TIME", help_heading = "Load", conflicts_with = "stages")]
    pub(crate) duration: Option<Span>,
    /// End after so many requests
    #[arg(long, short = 'n', value_name = "N", help_heading = "Load")]
    pub(crate) requests: Option<u64>,
    /// Send load to this host although it is not this machine
    #[arg(long, value_name = "HOST", help_heading = "Load")]
    pub(crate) allow_remote: Vec<String>,
    /// What must hold, over the whole load and without a break of a second (repeatable; the exit code tells):
    /// "p99 < 500ms, errors < 1%, rate > 100" [default: errors < 0.1%]
    #[arg(long, visible_alias = "threshold", value_name = "TEXT", help_heading = "Load")]
    pub(crate) objective: Vec<genkai_model::objective::Objective>,
    /// Scenario file: where it goes instead of where it says (repeatable)
    #[arg(long, value_name = "[NAME=]URL", help_heading = "Scenario")]
    pub(crate) target: Vec<String>,
    /// Artillery script: the environment under config.environments
    #[arg(long, short = 'e', value_name = "NAME", help_heading = "Scenario")]
    pub(crate) environment: Option<String>,
    /// Scenario file: show what would be sent, and send nothing
    #[arg(long, help_heading = "Scenario")]
    pub(crate) dry_run: bool,
    /// Folder for the record, verdict.json and report.html (`genkai report DIR` makes them again)
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tables: Tables,
    /// Print JSON instead of text (schemas/verdict.schema.json; the figures are under `load`)
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print nothing but errors
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, help_heading = "Output")]
    pub(crate) color: Colour,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Folder of a run (or its run.jsonl)
    pub(crate) dir: PathBuf,
    /// Also write the main figure as figure.svg
    #[arg(long)]
    pub(crate) svg: bool,
    #[command(flatten)]
    pub(crate) tables: Tables,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Print Markdown instead of text: tables for a paper or an issue
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Print nothing but errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Colours
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    pub(crate) color: Colour,
}

#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 the machine holds it, 3 it does not")]
pub(crate) struct Doctor {
    /// Whether so many idle connections fit, both ends on this machine
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) connections: Option<u64>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Colours
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    pub(crate) color: Colour,
}
