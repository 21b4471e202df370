//! The flags of `genkai compare`.

use clap::Args;
use genkai_model::figure::Figure;
use genkai_model::setting::RequestedChange;
use genkai_model::units::Span;

use super::{BackendFlags, OutputFlags};
use crate::flags::LoadFlags;
use crate::websocket::WebSocketFlags;

pub(super) const EXAMPLES: &str = "\
Examples:
  genkai compare nginx.conf other/nginx.conf --backend embedded --users 200
  genkai compare nginx apache --users 100 --backend-time 5ms
  genkai compare nginx.conf squid.conf default.vcl /etc/trafficserver --backend embedded --users 50
  genkai compare nginx-cache squid-memory varnish-malloc --rate 2000 --backend-time 5ms
  genkai compare http://127.0.0.1:8080 http://127.0.0.1:8081 --rate 2000
  genkai compare --base nginx --set worker_connections=64 --change \"worker_connections 64 -> 1024\" --users 60
  genkai compare --base /etc/apache2/apache2.conf --change \"ProxyTimeout -> 300\" --change \"KeepAliveTimeout -> 60\" --all-together
  genkai compare systems.yaml --quick

Every contender is started anew for each of its turns, alone, on the same cores; blocks of turns are drawn from a seed. It ends
early when everything that decides (--decide) is decided. Ctrl-C keeps and judges what was measured. Who does not start any more,
nor at once again, is out with all its turns, and the others go on; without the first one nothing is left to compare. Caches are empty at the beginning of each turn.
The run folder has the record, verdict.json, report.html and turns.csv, the raw data.

Exit codes:
  0    everything that decides is decided, whichever way
  1    something that decides cannot be told (it says how many blocks that would take), or a contender (not the first) did not start any more
  2    wrong flags, files or settings; nothing was started
  3    the machine cannot do it, a contender does not start at all, the first one does not start any more, or there are fewer than two
       blocks
  4    the comparison says nothing: the client was the limit, a contender differs from itself, no request was answered, or
       (without --base, which only says it) nobody was stressed
  130  interrupted; what was measured is kept";

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// nginx, apache or haproxy (a plain reverse proxy); nginx-cache, apache-disk, apache-socache, squid-ufs, squid-aufs, squid-rock,
    /// squid-memory, varnish-malloc, varnish-file, trafficserver or haproxy-cache (a cache); a configuration of one (nginx.conf,
    /// squid.conf, default.vcl, Traffic Server's folder); http://127.0.0.1:PORT; or a YAML file of systems
    #[arg(value_name = "CONTENDER", required_unless_present = "base", conflicts_with = "base")]
    pub(crate) contenders: Vec<String>,
    /// Compare single changes with this system: nginx, apache, haproxy, a configuration file, or a YAML file of one system
    #[arg(long, value_name = "SYSTEM", requires = "change", help_heading = "Changes")]
    pub(crate) base: Option<String>,
    /// A change to be compared with the base, alone (repeatable): \"NAME -> VALUE\" or \"NAME OLD -> NEW\"
    #[arg(long, value_name = "CHANGE", requires = "base", help_heading = "Changes")]
    pub(crate) change: Vec<RequestedChange>,
    /// Also all changes at once
    #[arg(long, requires = "base", help_heading = "Changes")]
    pub(crate) all_together: bool,
    /// Change a setting of the base, e.g. worker_connections=512 (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE", requires = "base", help_heading = "Changes")]
    pub(crate) set: Vec<String>,
    /// What stands behind every contender: embedded, wordpress, keep (what the files name), or http://127.0.0.1:PORT
    /// [default: embedded; keep where all are files]
    #[arg(long, value_name = "WHAT", help_heading = "Backend")]
    pub(crate) backend: Option<String>,
    #[command(flatten)]
    pub(crate) origin: BackendFlags,
    #[command(flatten)]
    pub(crate) load: LoadFlags,
    /// Users open WebSockets through it, and send messages that come back
    #[arg(long, help_heading = "WebSocket")]
    pub(crate) websocket: bool,
    #[command(flatten)]
    pub(crate) messages: WebSocketFlags,
    /// Products named without a file: listen with TLS, by an authority made for the run that the load trusts
    #[arg(long, help_heading = "Backend")]
    pub(crate) tls: bool,
    #[command(flatten)]
    pub(crate) blocks: BlockFlags,
    /// Print Markdown instead of text: a table for a paper or an issue
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub(crate) markdown: bool,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Comparison")]
pub(crate) struct BlockFlags {
    /// Short turns, few blocks, for a first look
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Long turns, many blocks
    #[arg(long)]
    pub(crate) full: bool,
    /// Blocks at most; the data are looked at three times on the way [default: 16, --quick 6, --full 40]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) blocks: Option<u32>,
    /// Hold the load so long in each turn [default: 5s, --quick 2s, --full 10s]
    #[arg(long, value_name = "TIME")]
    pub(crate) hold: Option<Span>,
    /// Largest effect that does not matter, in percent: figures within it are equal
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0)]
    pub(crate) margin: f64,
    /// Figures that must be decided before it ends early: failures, throughput, p50, p95, p99, max, cpu, memory
    #[arg(long, value_name = "FIGURE,...", value_delimiter = ',', default_value = "failures,throughput,p95")]
    pub(crate) decide: Vec<Figure>,
    /// No control: do not compare the first contender with itself
    #[arg(long)]
    pub(crate) no_control: bool,
    /// What must hold in each turn; told beside the comparison
    #[arg(long, value_name = "TEXT", default_value = "errors < 0.1%")]
    pub(crate) objective: genkai_model::objective::Objective,
    /// Cores: apart (a quarter makes load), none, or servers=0-2,client=3
    #[arg(long, value_name = "HOW", default_value = "apart")]
    pub(crate) pin: String,
}

pub(super) const CLAIMS_EXAMPLES: &str = "\
Examples:
  genkai claims claims/*.yaml --quick
  genkai claims my-advice.yaml --out runs/advice
  genkai claims --from runs/advice --markdown > claims.md
  genkai claims --from runs/monday runs/tuesday

A claim is a small YAML file (schemas/claim.schema.json): the advice, where it was read, the system, what it changes, a load, and
what it promises. A change is compared with the same server without it; a line is shown to the server's own check.
Each claim has a folder of its own in the run folder, with its record and report.

Exit codes:
  0    every claim has a verdict other than \"cannot tell\"
  1    at least one cannot be told
  2    wrong flags or files; nothing was started
  3    at least one could not be tested here
  130  interrupted; what was measured is kept";

/// Flags of `genkai claims`.
#[derive(Debug, Args)]
pub(crate) struct Claims {
    /// Files of claims [default: those that genkai ships, the folder `claims` of its source]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<std::path::PathBuf>,
    /// Do not test: tell again what the records in these folders say, or in folders below them
    #[arg(long, value_name = "DIR", num_args = 1.., conflicts_with_all = ["files", "out", "dry_run", "quick", "full", "blocks"])]
    pub(crate) from: Vec<std::path::PathBuf>,
    /// Short turns, few blocks, for a first look
    #[arg(long, conflicts_with = "full", help_heading = "Comparison")]
    pub(crate) quick: bool,
    /// Long turns, many blocks
    #[arg(long, help_heading = "Comparison")]
    pub(crate) full: bool,
    /// Blocks at most [default: 16, --quick 6, --full 40]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000), help_heading = "Comparison")]
    pub(crate) blocks: Option<u32>,
    /// Cores: apart (a quarter makes load), none, or servers=0-2,client=3
    #[arg(long, value_name = "HOW", default_value = "apart", help_heading = "Comparison")]
    pub(crate) pin: String,
    /// Seed of the orders
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Comparison")]
    pub(crate) seed: u64,
    /// Print Markdown instead of text: a table
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub(crate) markdown: bool,
    /// Folder of the run [default: genkai-runs/TIME-claims]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<std::path::PathBuf>,
    /// Check every claim, and do nothing
    #[arg(long, help_heading = "Output")]
    pub(crate) dry_run: bool,
    /// Print JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print nothing but errors
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Colours
    #[arg(long, value_enum, default_value_t = super::Colour::Auto, help_heading = "Output")]
    pub(crate) color: super::Colour,
}
