//! Commands and flags. The words of `--help` are here; what they mean is elsewhere.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use genkai_model::plan::Fault;
use genkai_model::stage::Stages;
use genkai_model::units::{Bytes, Span, Spread};

use crate::flags::{LoadFlags, OriginFlags};
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
    /// Main files of configurations, e.g. /etc/nginx/nginx.conf or /etc/apache2/apache2.conf; includes are followed
    #[arg(required = true, value_name = "CONFIG")]
    pub(crate) configs: Vec<PathBuf>,
    /// Whose they are: nginx or apache [default: as the text looks]
    #[arg(long, value_name = "NAME", value_parser = ["nginx", "apache"])]
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
pub(crate) struct Tune {
    #[command(subcommand)]
    pub(crate) product: Product,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Product {
    /// nginx, as a reverse proxy in front of a backend
    #[command(after_help = NGINX_EXAMPLES)]
    Nginx(Box<Nginx>),
    /// Apache httpd, as a reverse proxy in front of a backend
    #[command(after_help = APACHE_EXAMPLES)]
    Apache(Box<Apache>),
}

const NGINX_EXAMPLES: &str = "\
Examples:
  genkai tune nginx --set worker_connections=512 --users 300 --spawn-rate 10
  genkai tune nginx --config /etc/nginx/nginx.conf --backend embedded --users 500
  genkai tune nginx --config ./nginx.conf --backend http://127.0.0.1:8080 --objective \"errors < 0.1%, p99 < 500ms\"
  genkai tune nginx --set worker_connections=512 --users 300 --dry-run

genkai works on a private copy: your files are read, never changed, unless --write is given and the change is proved.
The load goes to 127.0.0.1 only.";

const APACHE_EXAMPLES: &str = "\
Examples:
  genkai tune apache --set MaxRequestWorkers=300 --users 500 --spawn-rate 20
  genkai tune apache --set mpm=prefork --set MaxRequestWorkers=150 --users 300
  genkai tune apache --config /etc/apache2/apache2.conf --backend embedded --users 500
  genkai tune apache --config ./httpd.conf --backend http://127.0.0.1:8080 --objective \"errors < 0.1%, p99 < 500ms\"

genkai works on a private copy: your files are read, never changed, unless --write is given and the change is proved.
The load goes to 127.0.0.1 only.";

#[derive(Debug, Args)]
pub(crate) struct Nginx {
    /// The nginx program to run [default: the one installed]
    #[arg(long, value_name = "PROGRAM", help_heading = "System")]
    pub(crate) nginx: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) flags: TuneFlags,
}

#[derive(Debug, Args)]
pub(crate) struct Apache {
    /// The Apache program (apache2, httpd) to run [default: the one installed]
    #[arg(long, value_name = "PROGRAM", help_heading = "System")]
    pub(crate) apache: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) flags: TuneFlags,
}

/// What every product is tuned by.
#[derive(Debug, Args)]
pub(crate) struct TuneFlags {
    /// Change a setting, e.g. worker_connections=512 or MaxRequestWorkers=300 (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE", help_heading = "System")]
    pub(crate) set: Vec<String>,
    /// Your configuration's main file; includes are followed, a private copy runs [default: a plain reverse proxy]
    #[arg(long, value_name = "FILE", help_heading = "System")]
    pub(crate) config: Option<PathBuf>,
    /// What stands behind it: embedded, wordpress, keep (what the file names), or http://127.0.0.1:PORT
    /// [default: embedded; keep with --config]
    #[arg(long, value_name = "WHAT", help_heading = "System")]
    pub(crate) backend: Option<String>,
    #[command(flatten)]
    pub(crate) origin: BackendFlags,
    /// Write the proposal into your files once it is proved (atomically, with a backup)
    #[arg(long, requires = "config", help_heading = "System")]
    pub(crate) write: bool,
    #[command(flatten)]
    pub(crate) load: LoadFlags,
    #[command(flatten)]
    pub(crate) search: SearchFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Backend")]
pub(crate) struct BackendFlags {
    /// Embedded: size of each response body [default: 10k]
    #[arg(long, value_name = "SIZE")]
    pub(crate) backend_body: Option<Bytes>,
    /// Embedded: time in service, e.g. 300ms, exp(200ms), lognormal(200ms,0.5) [default: 300ms]
    #[arg(long, value_name = "TIME")]
    pub(crate) backend_time: Option<Spread>,
    /// Embedded: requests served at once, like a php-fpm pool [default: no cap]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) backend_workers: Option<u32>,
    /// Embedded: requests that may wait for a worker before 503 [default: no cap]
    #[arg(long, value_name = "N")]
    pub(crate) backend_queue: Option<u32>,
    /// WordPress: php-fpm's pm.max_children [default: 5, as Debian's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=500))]
    pub(crate) fpm_children: Option<u32>,
    /// Send load to, or through, this host although it is not this machine (repeatable)
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_remote: Vec<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Search")]
pub(crate) struct SearchFlags {
    /// What must hold
    #[arg(long, value_name = "TEXT", default_value = "errors < 0.1%")]
    pub(crate) objective: genkai_model::objective::Objective,
    /// Hold the full load so long when looking for a break [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub(crate) hold: Option<Span>,
    /// Pairs of baseline and proposal in the proof, at least [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=50))]
    pub(crate) pairs: Option<u32>,
    /// The proposal must hold for so many times the load asked for
    #[arg(long, value_name = "FACTOR", default_value_t = 1.2)]
    pub(crate) headroom: f64,
    /// Lift at most so many limits one after another
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) max_limits: u32,
    /// Shorter trials, for a first look
    #[arg(long)]
    pub(crate) quick: bool,
    /// Cores: apart (a quarter makes load), none, or servers=0-2,client=3
    #[arg(long, value_name = "HOW", default_value = "apart")]
    pub(crate) pin: String,
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
    /// As the original was done, on real WordPress
    #[arg(long)]
    pub(crate) full: bool,
    /// nginx-worker-connections: the setting's value to start from [default: 512]
    #[arg(long, value_name = "N")]
    pub(crate) worker_connections: Option<String>,
    #[command(flatten)]
    pub(crate) rooms: RoomsFlags,
    #[command(flatten)]
    pub(crate) servers: ServersFlags,
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
/// Flags of the experiment `rooms`.
#[derive(Debug, Args)]
#[command(next_help_heading = "rooms")]
pub(crate) struct RoomsFlags {
    /// Nodes that serve the rooms [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "sweep_nodes", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) nodes: Option<u32>,
    /// Several numbers of nodes, one after the other: 5,10,25,30
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) sweep_nodes: Vec<u32>,
    /// How nodes share rooms [default: redis for several nodes, else none]
    #[arg(long, value_name = "HOW")]
    pub(crate) backplane: Option<BackplaneFlag>,
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
    /// Time between two members that enter a room [default: 100ms, with --full 3s]
    #[arg(long, value_name = "TIME")]
    pub(crate) enter_every: Option<Span>,
    /// What may wait for one member in a node; who lets more pile up is disconnected [default: 1m]
    #[arg(long, value_name = "SIZE")]
    pub(crate) member_queue: Option<Bytes>,
    /// A fault on purpose, to see it found (repeatable): lose-every=N (node 1), kill-node=TIME (the last), cut-redis=TIME
    #[arg(long, value_name = "FAULT", value_parser = crate::rooms::fault)]
    pub(crate) fault: Vec<Fault>,
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
    /// Print nothing but errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Colours
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    pub(crate) color: Colour,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(subcommand)]
    pub(crate) server: Server,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Server {
    /// An HTTP origin with a known service time and a cap on concurrent work
    Origin(Origin),
    /// A WebSocket server that sends every message back
    Echo(Echo),
    /// Chat rooms over WebSocket: what a member of /rooms/NAME sends goes to all of its members
    Rooms(Rooms),
}

#[derive(Debug, Args)]
pub(crate) struct Rooms {
    /// Address and port; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Share rooms with other nodes over this Redis, e.g. redis://127.0.0.1:6379/
    #[arg(long, value_name = "URL")]
    pub(crate) redis: Option<String>,
    /// Largest message
    #[arg(long, value_name = "SIZE", default_value = "64k")]
    pub(crate) max_message: Bytes,
    /// What may wait for one member; who lets more pile up is disconnected with code 1008
    #[arg(long, value_name = "SIZE", default_value = "1m")]
    pub(crate) member_queue: Bytes,
    /// Keep what became of the last N messages, for GET /trace
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) trace: usize,
    /// Print counters as a JSON line at this interval (GET /counters gives the same)
    #[arg(long, value_name = "TIME")]
    pub(crate) stats: Option<Span>,
    /// A fault on purpose: lose every Nth message before anything is done with it
    #[arg(long, value_name = "N", hide = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) lose_every: Option<u64>,
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

#[derive(Debug, Args)]
pub(crate) struct Echo {
    /// Address and port; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Do not agree to compression
    #[arg(long)]
    pub(crate) no_deflate: bool,
    /// Largest message
    #[arg(long, value_name = "SIZE", default_value = "64m")]
    pub(crate) max_message: Bytes,
    /// So many processes on one port, each with descriptors and a thread of its own; the kernel spreads connections
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) processes: u16,
    /// One of several that listen on the same port
    #[arg(long, hide = true)]
    pub(crate) shared: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Origin {
    /// Address and port; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    #[command(flatten)]
    pub(crate) origin: OriginFlags,
    /// Print counters as a JSON line at this interval
    #[arg(long, value_name = "TIME")]
    pub(crate) stats: Option<Span>,
    /// Stand still for so long, again and again: nothing is read or answered
    #[arg(long, value_name = "TIME")]
    pub(crate) stall: Option<Span>,
    /// Stand still in the middle of every so long, counted from the first request
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "stall")]
    pub(crate) stall_every: Span,
    /// Write at the end when each request arrived at the kernel and when it was answered
    #[arg(long, value_name = "FILE")]
    pub(crate) account: Option<PathBuf>,
}
