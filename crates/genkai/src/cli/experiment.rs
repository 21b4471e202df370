//! The flags of `genkai experiment`: a subcommand for each experiment.

mod examples;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use genkai_lab::experiment::{DEFAULT_CONNECTIONS, Size, cache};
use genkai_model::objective::Objective;
use genkai_model::plan::Fault;
use genkai_model::units::{Bytes, Span};

use super::{OutputFlags, help};
use crate::cluster::SiteFlag;
use crate::workplace::OnFlag;

#[derive(Debug, Args)]
pub(crate) struct Experiment {
    #[command(subcommand)]
    pub(crate) action: ExperimentAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExperimentAction {
    /// List the experiments
    List,
    /// Run an experiment
    Run(Box<ExperimentRun>),
}

#[derive(Debug, Args)]
#[command(subcommand_help_heading = "Experiments", subcommand_value_name = "NAME")]
pub(crate) struct ExperimentRun {
    #[command(subcommand)]
    pub(crate) experiment: ExperimentName,
}

/// The experiments; their first lines are the questions that `genkai experiment list` prints.
#[derive(Debug, Subcommand)]
pub(crate) enum ExperimentName {
    /// nginx in front of a web application: must I change worker_connections, and to what?
    #[command(after_help = examples::NGINX, after_long_help = examples::below(examples::NGINX, "the configuration carries the load", "it does not; the verdict says why, and what helps"))]
    NginxWorkerConnections(NginxWorkerConnections),
    /// Apache in front of a WebSocket application: what does it carry, and what is behind each of the troubles that people report?
    #[command(after_help = examples::APACHE, after_long_help = examples::below(examples::APACHE, "every limit was named, every change and claim is decided", "one of them is not; the report says which"))]
    ApacheWebsocket(ApacheWebSocket),
    /// 100 chat rooms of 100 clients: which messages are lost, and where? how many nodes keep a full score?
    #[command(after_help = examples::ROOMS, after_long_help = examples::below(examples::ROOMS, "a full score, with at least one of the numbers of nodes", "no full score; the report says where messages were lost"))]
    Rooms(Box<RoomsFlags>),
    /// Tomcat, Jetty, Node.js ws, Socket.IO: which is faster at what, and how sure is that? which messages are refused?
    #[command(after_help = examples::SERVERS, after_long_help = examples::below(examples::SERVERS, "every server answered every round", "a server failed in a round; the report says which"))]
    WebsocketServers(Box<ServersFlags>),
    /// requests held open for 25 s each: how many at once does a node hold without a refusal, and what refuses?
    #[command(after_help = examples::HELD, after_long_help = examples::below(examples::HELD, "the largest number tried was held without a refusal", "requests were refused before it; the report says by whom"))]
    RoomsHttp(HeldFlags),
    /// which cache in front of static content: how fast is each cold and warm, at what cost, and is the difference real?
    #[command(after_help = examples::CACHES, after_long_help = examples::below(examples::CACHES, "no cache sent a wrong body, lost a request or miscounted", "one did; the report says which"))]
    ReverseProxyCache(Box<CacheFlags>),
}

/// What every experiment takes.
#[derive(Debug, Args)]
pub(crate) struct RunFlags {
    /// Run the quick size [default]
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Run at the size of the original, which takes long
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

impl RunFlags {
    /// How much time the experiment may take.
    pub(crate) fn size(&self) -> Size {
        if self.full { Size::Full } else { Size::Quick }
    }
}

#[derive(Debug, Args)]
pub(crate) struct NginxWorkerConnections {
    /// Value of worker_connections to start from
    #[arg(long, value_name = "N", default_value = DEFAULT_CONNECTIONS)]
    pub(crate) worker_connections: String,
    /// Run it in a Kubernetes cluster: kubernetes[,product=IMAGE][,wordpress=IMAGE][,...]
    ///
    /// A namespace is made, and removed at the end. In it stands nginx (of product=IMAGE, else of the image called nginx) before the application: with
    /// --full, or where wordpress= or database= is given, WordPress with php-fpm (of wordpress=) and MariaDB (of database=), else genkai's embedded
    /// application (of image=IMAGE, which holds the same genkai). context=NAME and wait=TIME are known, too. See docs/kubernetes.md.
    #[arg(long, value_name = "PLACE", conflicts_with = "dry_run")]
    pub(crate) server: Option<SiteFlag>,
    /// Run it on this machine first, or take the run in DIR, and show both platforms in one report
    #[arg(long, value_name = "DIR", requires = "server", num_args = 0..=1, require_equals = true)]
    pub(crate) beside: Option<Option<PathBuf>>,
    #[command(flatten)]
    pub(crate) places: PlaceFlags,
    #[command(flatten)]
    pub(crate) listen: ListenFlag,
    #[command(flatten)]
    pub(crate) run: RunFlags,
}

#[derive(Debug, Args)]
pub(crate) struct ApacheWebSocket {
    /// Run only this part (repeatable)
    ///
    /// Parts are baseline, answer, idle, slow, large, fan-out, refused, changes and claims; with --full also load-500, load-1000 and
    /// changes-1000. The parts changes and claims take minutes; without --full they run only if they are named.
    #[arg(long, value_name = "NAME")]
    pub(crate) part: Vec<String>,
    #[command(flatten)]
    pub(crate) places: PlaceFlags,
    #[command(flatten)]
    pub(crate) listen: ListenFlag,
    #[command(flatten)]
    pub(crate) run: RunFlags,
}

/// Flags of the experiments `rooms` and `rooms-http`.
#[derive(Debug, Args)]
pub(crate) struct RouterFlags {
    /// Router in front of the nodes; without one, clients go to the nodes in turn
    #[arg(long, value_name = "NAME")]
    pub(crate) router: Option<RouterFlag>,
    /// Connections that the router gives a node at once; a further request waits for --queue-timeout, then is refused
    #[arg(long, value_name = "N", requires = "router", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) node_connections: Option<u32>,
    /// Time that a request waits in HAProxy for a free node: 5s unless given; for rooms-http at most a fifth of --hold
    #[arg(long, value_name = "TIME", requires = "router", hide_short_help = true)]
    pub(crate) queue_timeout: Option<Span>,
    /// This machine's IPv4 address at which the router listens, so that other machines of --on reach it [default: 127.0.0.1]
    ///
    /// Whoever reaches that address reaches the router for as long as it runs. Nodes, and what is behind them, stay at 127.0.0.1.
    #[arg(long, value_name = "ADDRESS", requires = "router", hide_short_help = true)]
    pub(crate) listen: Option<std::net::Ipv4Addr>,
}

#[derive(Debug, Args)]
pub(crate) struct RoomsFlags {
    /// Nodes that serve the rooms [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "sweep_nodes", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) nodes: Option<u32>,
    /// Run once for each of these numbers of nodes, e.g. 5,10,25,30
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) sweep_nodes: Vec<u32>,
    /// Server of a node: genkai's own, or an application on another server [default: embedded]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(genkai_targets::rooms::SERVERS))]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) router: RouterFlags,
    /// How nodes share rooms [default: redis for several nodes, else none]
    #[arg(long, value_name = "HOW")]
    pub(crate) backplane: Option<BackplaneFlag>,
    /// Set an option of the private Redis, e.g. maxclients=20 or "client-output-buffer-limit=pubsub 1mb 0 0" (repeatable)
    ///
    /// Addresses, files, passwords and modules cannot be set.
    #[arg(long, value_name = "NAME=VALUE", hide_short_help = true)]
    pub(crate) redis_set: Vec<String>,
    /// Number of rooms [default: 10, with --full 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) rooms: Option<u32>,
    /// Members of each room [default: 20, with --full 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) members: Option<u32>,
    /// Messages that each member sends [default: 20, with --full 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) messages: Option<u32>,
    /// Time between two messages of a member [default: 500ms, with --full 5s]
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub(crate) message_every: Option<Span>,
    /// Size of a message, at least 24 bytes [default: 64]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub(crate) message_size: Option<Bytes>,
    /// Time between two members that enter a room [default: 100ms, with --full 3s]
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub(crate) enter_every: Option<Span>,
    /// Bytes queued per member in a node; a member that falls further behind is disconnected [default: 1m]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub(crate) member_queue: Option<Bytes>,
    /// Inject a fault, to see it found (repeatable)
    ///
    /// lose-every=N loses every Nth message in node 1, kill-node=TIME kills the last node, cut-redis=TIME cuts the nodes'
    /// subscriptions, fill-redis=TIME lets other clients use up Redis's maxclients, reset-router=TIME resets the router.
    #[arg(long, value_name = "FAULT", value_parser = fault, hide_short_help = true)]
    pub(crate) fault: Vec<Fault>,
    #[command(flatten)]
    pub(crate) places: PlaceFlags,
    #[command(flatten)]
    pub(crate) apps: AppsFlag,
    #[command(flatten)]
    pub(crate) run: RunFlags,
}

/// Which processes make the load, and where.
#[derive(Debug, Args)]
pub(crate) struct PlaceFlags {
    /// Spread the clients over this many processes, each with its own descriptors
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256), hide_short_help = true)]
    pub(crate) processes: u16,
    /// Make the load on these machines, as `genkai load --on` does: here:PROCESSES, ssh:HOST,HOST:PROCESSES, kubernetes:PODS (repeatable)
    ///
    /// Servers listen on 127.0.0.1, which other machines do not reach: for those, name this machine's address by --listen (rooms: of the
    /// --router).
    #[arg(long, value_name = "PLACE", conflicts_with = "processes", hide_short_help = true)]
    pub(crate) on: Vec<OnFlag>,
    /// The program that --on ssh: uses, with options of its own: "ssh -F FILE"
    #[arg(long, value_name = "COMMAND", default_value = "ssh", requires = "on", hide_short_help = true)]
    pub(crate) ssh: String,
}

/// Where servers listen that clients reach.
#[derive(Debug, Args)]
pub(crate) struct ListenFlag {
    /// This machine's IPv4 address at which servers listen, so that other machines of --on reach them [default: 127.0.0.1]
    ///
    /// Whoever reaches that address reaches the servers for as long as they run.
    #[arg(long, value_name = "ADDRESS", hide_short_help = true)]
    pub(crate) listen: Option<std::net::Ipv4Addr>,
}

/// Where applications of other ecosystems are.
#[derive(Debug, Args)]
pub(crate) struct AppsFlag {
    /// Folder `apps` of genkai's source, built by `make apps` [default: looked for here and around the program]
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub(crate) apps: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct HeldFlags {
    /// Nodes that serve the requests [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) nodes: Option<u32>,
    #[command(flatten)]
    pub(crate) router: RouterFlags,
    /// Time that each request is held open [default: 1500ms, with --full 25s]
    #[arg(long, value_name = "TIME")]
    pub(crate) hold: Option<Span>,
    /// Largest number of requests at once that is tried [default: 2000, with --full 10000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) most: Option<u32>,
    #[command(flatten)]
    pub(crate) places: PlaceFlags,
    #[command(flatten)]
    pub(crate) run: RunFlags,
}

#[derive(Debug, Args)]
pub(crate) struct ServersFlags {
    /// Servers to compare: embedded, tomcat, jetty, node-ws, socketio [default: all that can run here]
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    pub(crate) servers: Vec<String>,
    /// Change a setting of a server, e.g. tomcat.heap=512m, jetty.gc=z, node-ws.max-message=1m (repeatable)
    #[arg(long = "server-set", value_name = "SERVER.NAME=VALUE")]
    pub(crate) server_set: Vec<String>,
    /// Try values of a setting for large messages, each beside the unchanged server, e.g. jetty.buffer=64k,2m (repeatable)
    #[arg(long, value_name = "SERVER.NAME=V,V")]
    pub(crate) sweep: Vec<String>,
    /// Clients of each server [default: 200, with --full 1000]
    ///
    /// As many as the processes that make them, and each server's own, have descriptors for: `genkai doctor`, --processes, --on.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) clients: Option<u32>,
    /// Measured rounds after each start [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub(crate) rounds: Option<u32>,
    /// Warm-up rounds before them, which are not measured [default: 10, with --full 30]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub(crate) warm_up: Option<u32>,
    /// Restart all servers this many times [default: 1, with --full 5]
    ///
    /// With more than one, confidence intervals are computed over restarts, not over rounds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) starts: Option<u32>,
    /// Sizes of large messages [default: 16k,1m,4m]
    #[arg(long, value_name = "SIZE,...", value_delimiter = ',')]
    pub(crate) sizes: Vec<Bytes>,
    /// Size of the message that all clients receive, and that each sends [default: 128]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub(crate) message: Option<Bytes>,
    /// Longest wait for an answer [default: 10s]
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub(crate) answer_timeout: Option<Span>,
    /// Seed of the order in which servers are asked [default: 1]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) places: PlaceFlags,
    #[command(flatten)]
    pub(crate) listen: ListenFlag,
    #[command(flatten)]
    pub(crate) apps: AppsFlag,
    #[command(flatten)]
    pub(crate) run: RunFlags,
}

#[derive(Debug, Args)]
pub(crate) struct CacheFlags {
    #[arg(long, value_name = "A,B,...", value_delimiter = ',', help = "Caches to compare [default: those that can run here]",
        long_help = contenders())]
    pub(crate) contenders: Vec<String>,
    /// Clients of each cache [default: 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20_000), hide_short_help = true)]
    pub(crate) clients: Option<u32>,
    /// Rounds [default: 3, with --full 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub(crate) rounds: Option<u32>,
    /// Seed of the orders [default: 1]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) seed: Option<u64>,
    /// Objects at the origin: 1500 unless given, with --full 15000
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200_000))]
    pub(crate) objects: Option<u32>,
    /// Requests of a pass: 500 unless given, with --full 5000, with --access-log all that it has
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) requests: Option<u32>,
    /// Which objects are requested: sweep (each once), zipf, or zipf:EXPONENT [default: sweep]
    #[arg(long, value_name = "MIX", conflicts_with = "access_log")]
    pub(crate) mix: Option<String>,
    /// Request in the order and with the sizes of this access log (common or combined log format); paths become numbers
    #[arg(long, value_name = "FILE", conflicts_with = "objects")]
    pub(crate) access_log: Option<PathBuf>,
    /// Requests per second to offer [default: as many as the clients can make]
    #[arg(long, value_name = "N")]
    pub(crate) rate: Option<f64>,
    /// Memory for objects of each cache that keeps them there [default: 64m]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub(crate) memory_budget: Option<Bytes>,
    /// Disk space for objects of each cache that keeps them there [default: 256m]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub(crate) disk_budget: Option<Bytes>,
    /// Objective at the highest rate [default: "errors < 0.1%, p99 < 100ms"]
    #[arg(long, value_name = "CONDITIONS", hide_short_help = true)]
    pub(crate) must_hold: Option<Objective>,
    /// Also measure the origin on file systems mounted strictatime, relatime and noatime, as root [default: with --full]
    #[arg(long, hide_short_help = true)]
    pub(crate) access_times: bool,
    /// Do not look for the highest rate that each cache holds
    #[arg(long)]
    pub(crate) no_search: bool,
    /// Print Markdown instead of text: tables for a paper or an issue
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    #[command(flatten)]
    pub(crate) places: PlaceFlags,
    #[command(flatten)]
    pub(crate) listen: ListenFlag,
    #[command(flatten)]
    pub(crate) run: RunFlags,
}

/// The long help of `--contenders`.
fn contenders() -> String {
    format!(
        "Caches to compare: {}, where origin is no cache. A cache that is named twice is compared with itself.\n\nBy default those \
         that can run here: with --full all, else {}.",
        help::or(&genkai_targets::catalog::caches::names()),
        help::or(cache::QUICK)
    )
}

/// A router in front of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RouterFlag {
    /// No router
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

/// A fault as `--fault` has it.
fn fault(text: &str) -> Result<Fault, String> {
    let forms = "must be lose-every=N, kill-node=TIME, cut-redis=TIME, fill-redis=TIME or reset-router=TIME";
    let (name, value) = text.split_once('=').ok_or(forms)?;
    let time = || value.parse().map_err(|e| format!("{e}"));
    match name {
        "lose-every" => value.parse().ok().filter(|n| *n > 0).map(Fault::LoseEvery).ok_or_else(|| forms.to_owned()),
        "kill-node" => time().map(Fault::KillNode),
        "cut-redis" => time().map(Fault::CutSubscribers),
        "fill-redis" => time().map(Fault::FillRedis),
        "reset-router" => time().map(Fault::ResetRouter),
        _ => Err(forms.to_owned()),
    }
}
