//! The flags of `genkai compare`.

use clap::Args;
use genkai_model::exit::Exit;
use genkai_model::figure::Figure;
use genkai_model::objective::Objective;
use genkai_model::setting::RequestedChange;
use genkai_model::units::Span;
use genkai_targets::catalog;

use super::{BackendFlags, LoadFlags, OutputFlags, ScenarioFlags, StreamFlags, WebSocketFlags, help};

pub(super) const EXAMPLES: &str = "\
Examples:
  genkai compare nginx.conf other/nginx.conf --backend embedded --users 200
  genkai compare nginx apache --users 100 --backend-time 5ms
  genkai compare nginx.conf squid.conf default.vcl /etc/trafficserver --backend embedded --users 50
  genkai compare nginx-cache squid-memory varnish-malloc --rate 2000 --backend-time 5ms
  genkai compare http://127.0.0.1:8080 http://127.0.0.1:8081 --rate 2000
  genkai compare --base nginx --set worker_connections=64 --change \"worker_connections 64 -> 1024\"
  genkai compare --base /etc/apache2/apache2.conf --change \"ProxyTimeout -> 300\" --all-together
  genkai compare systems.yaml --quick";

pub(super) const NOTES: &str = "\
Each contender is restarted for each of its turns and runs alone, on the same cores; an address (http://...) is not restarted: its \
processor time and memory are shown and not judged. The order of the turns in a block is drawn from a seed, that of every second block is \
the reverse of the one before. Caches are empty at the beginning of each turn. The comparison ends early when every figure of --decide is decided. \
Ctrl-C ends it; what was measured is kept and judged.

A contender that fails to start twice in a row is dropped, and all its measurements are discarded. The comparison ends if the \
first contender (the reference) is dropped.

The run folder has the record, verdict.json, report.html, and the raw data in turns.csv.";

pub(super) const EXIT_CODES: &[(Exit, &str)] = &[
    (Exit::Holds, "every deciding figure is decided, in either direction"),
    (
        Exit::Fails,
        "a part is decided, but not every deciding figure (the report says how many blocks it would take), or a contender was dropped",
    ),
    (Exit::Usage, "wrong flags, files or settings; nothing was started"),
    (
        Exit::Environment,
        "the machine cannot do it, a contender never started, the reference was dropped, or there are fewer than two blocks",
    ),
    (
        Exit::Invalid,
        "nothing is decided, or nothing can be: the client was the limit, a contender differs from itself, or no request was \
         answered",
    ),
    (Exit::Interrupted, "interrupted; what was measured is kept"),
];

/// The long help of CONTENDER.
fn contenders() -> String {
    format!(
        "Systems to compare: a product or cache that genkai configures ({}), a configuration of one (nginx.conf, squid.conf, \
         default.vcl, Traffic Server's folder), an address like http://127.0.0.1:8080, or a YAML file of systems.",
        help::or(&catalog::names())
    )
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    #[arg(value_name = "CONTENDER", required_unless_present = "base", conflicts_with = "base",
        help = "Systems to compare: products, caches, configuration files, addresses, or a YAML file of systems",
        long_help = contenders())]
    pub(crate) contenders: Vec<String>,
    /// Compare single changes with this system: a product, a configuration file, or a YAML file of one system
    #[arg(long, value_name = "SYSTEM", requires = "change", help_heading = "Changes")]
    pub(crate) base: Option<String>,
    /// Compare this change alone with the base: "NAME -> VALUE" or "NAME OLD -> NEW" (repeatable)
    #[arg(long, value_name = "CHANGE", requires = "base", help_heading = "Changes")]
    pub(crate) change: Vec<RequestedChange>,
    /// Also compare all changes at once
    #[arg(long, requires = "base", help_heading = "Changes", hide_short_help = true)]
    pub(crate) all_together: bool,
    /// Change a setting of the base, e.g. worker_connections=512 (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE", requires = "base", help_heading = "Changes")]
    pub(crate) set: Vec<String>,
    /// Backend of every contender: embedded, wordpress, keep, or http(s)://127.0.0.1:PORT
    ///
    /// keep uses the backends that the configuration files name. It is the default if all contenders are files; otherwise the
    /// default is embedded.
    #[arg(long, value_name = "WHAT", help_heading = "Backend")]
    pub(crate) backend: Option<String>,
    #[command(flatten)]
    pub(crate) origin: BackendFlags,
    #[command(flatten)]
    pub(crate) load: LoadFlags,
    #[command(flatten)]
    pub(crate) streams: StreamFlags,
    #[command(flatten)]
    pub(crate) scenario: ScenarioFlags,
    /// Open WebSocket connections and send messages that come back
    #[arg(long, conflicts_with = "scenario", help_heading = "WebSocket")]
    pub(crate) websocket: bool,
    #[command(flatten)]
    pub(crate) messages: WebSocketFlags,
    /// Products named without a file: listen with TLS; the load trusts an authority made for the run
    #[arg(long, help_heading = "Backend", hide_short_help = true)]
    pub(crate) tls: bool,
    #[command(flatten)]
    pub(crate) blocks: BlockFlags,
    /// Print Markdown instead of text: a table for a paper or an issue
    #[arg(long, conflicts_with = "json", help_heading = "Output", hide_short_help = true)]
    pub(crate) markdown: bool,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Comparison")]
pub(crate) struct BlockFlags {
    /// Short turns and few blocks, for a first look
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Long turns and many blocks
    #[arg(long)]
    pub(crate) full: bool,
    /// Most blocks to measure; the data are looked at three times on the way [default: 16, --quick 6, --full 40]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) blocks: Option<u32>,
    /// Time for which each turn holds the load [default: 5s, --quick 2s, --full 10s]
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub(crate) hold: Option<Span>,
    /// Largest effect that does not matter, in percent; figures within it count as equal
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, hide_short_help = true)]
    pub(crate) margin: f64,
    /// Figures that must be decided before the comparison ends early: failures, throughput, p50, p95, p99, max, cpu, memory
    #[arg(
        long,
        value_name = "FIGURE,...",
        value_delimiter = ',',
        default_value = "failures,throughput,p95",
        hide_short_help = true
    )]
    pub(crate) decide: Vec<Figure>,
    /// Do not compare the first contender with itself as a control
    #[arg(long, hide_short_help = true)]
    pub(crate) no_control: bool,
    /// Objective of each turn, reported beside the comparison
    #[arg(long, value_name = "TEXT", default_value = "errors < 0.1%", hide_short_help = true)]
    pub(crate) objective: Objective,
    /// Cores: apart (a quarter of them makes the load), none, or servers=0-2,client=3
    #[arg(long, value_name = "HOW", default_value = "apart", hide_short_help = true)]
    pub(crate) pin: String,
}
