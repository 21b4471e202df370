//! The flags of `genkai load`.

use std::path::PathBuf;

use clap::Args;
use genkai_model::exit::Exit;
use genkai_model::objective::Objective;
use genkai_model::stage::Stages;
use genkai_model::units::Span;

use super::{Colour, Http2Flags, LoadFlags, TableFlags, TlsFlags, WebSocketFlags};

pub(super) const EXAMPLES: &str = "\
Examples:
  genkai load http://127.0.0.1:8080/ --users 100 --duration 30s
  genkai load http://127.0.0.1:8080/ --rate 2000 --threshold \"p99 < 50ms, errors < 0.1%\"
  genkai load ws://127.0.0.1:9000/chat --connections 1000 --message-rate 5000
  genkai load http://127.0.0.1:8080/ --stages \"10s:0..500, 30s:500, 10s:0\"
  genkai load shop.yaml --target http://127.0.0.1:8080 --dry-run
  genkai load artillery.yml --environment local
  genkai load shop.yaml --locust 127.0.0.1:5557
  genkai load http://127.0.0.1:8080/ --out run1 --csv run1.csv --jtl run1.jtl";

pub(super) const NOTES: &str = "\
On a terminal: + and - change the time scale, a lets it follow the load, q stops the load and shows the result.
Latency counts from the instant at which a request was planned; service time counts from its first byte written.
A user whose request failed makes the next one no sooner than 100 ms after the failed one was planned.";

pub(super) const EXIT_CODES: &[(Exit, &str)] = &[
    (Exit::Holds, "every objective holds"),
    (Exit::Fails, "an objective fails"),
    (Exit::Usage, "wrong flags or files; nothing was sent"),
    (Exit::Environment, "the machine cannot do it: nothing listens there, limits too small, disk full"),
    (
        Exit::Invalid,
        "invalid: the load was not made or its responses not taken, no request ended, a rate was not carried, or what hung at the end decides",
    ),
    (Exit::Interrupted, "interrupted; what was measured is kept"),
];

#[derive(Debug, Args)]
pub(crate) struct Load {
    /// Address, or a scenario file
    ///
    /// An address is http://, https://, ws:// or wss://HOST:PORT/PATH, unix:SOCKET:/PATH or ws+unix:SOCKET:/PATH. A scenario file
    /// is YAML, in genkai's own form or an Artillery script.
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
    /// Stages of the load, e.g. "10s:0..500, 30s:500, 10s:0"
    ///
    /// Each stage goes evenly from the level where the last one ended (or from FROM..) to its own level. 5s:pause sends nothing.
    /// A level is a number of users, or with /s a rate.
    #[arg(long, value_name = "LIST", help_heading = "Load", conflicts_with_all =
        ["users", "spawn_rate", "rate", "ramp", "message_rate"])]
    pub(crate) stages: Option<Stages>,
    /// Duration of the load, ramp included [default: 10s]
    #[arg(long, short = 'd', value_name = "TIME", help_heading = "Load", conflicts_with = "stages")]
    pub(crate) duration: Option<Span>,
    /// End after this many requests
    #[arg(long, short = 'n', value_name = "N", help_heading = "Load")]
    pub(crate) requests: Option<u64>,
    /// Allow load to this host, which is not this machine (repeatable)
    #[arg(long, value_name = "HOST", help_heading = "Load", hide_short_help = true)]
    pub(crate) allow_remote: Vec<String>,
    /// Objective, e.g. "p99 < 500ms, errors < 1%, rate > 100" (repeatable) [default: errors < 0.1%]
    ///
    /// It must hold over the whole load, and must not be broken for a second by more failures or slow answers than chance makes. The exit code tells.
    #[arg(long, visible_alias = "threshold", value_name = "TEXT", help_heading = "Load")]
    pub(crate) objective: Vec<Objective>,
    /// Scenario file: address to use instead of the file's (repeatable)
    #[arg(long, value_name = "[NAME=]URL", help_heading = "Scenario", hide_short_help = true)]
    pub(crate) target: Vec<String>,
    /// Artillery script: the environment under config.environments
    #[arg(long, short = 'e', value_name = "NAME", help_heading = "Scenario", hide_short_help = true)]
    pub(crate) environment: Option<String>,
    /// Scenario file: make its users as this Locust master asks for them
    ///
    /// The flows are named like the user classes of the master's locustfile; how many users there are, when a test begins and when
    /// it ends is the master's to say, and the file's phases are not used. The master shows its statistics, rounded as Locust's are; the
    /// verdict, and with --out the record, have what was measured. Each worker is one process: start as many as you need.
    #[arg(long, value_name = "HOST[:PORT]", help_heading = "Scenario", hide_short_help = true)]
    pub(crate) locust: Option<String>,
    /// Scenario file: show what would be sent; send nothing
    #[arg(long, help_heading = "Scenario", hide_short_help = true)]
    pub(crate) dry_run: bool,
    /// Folder for the record, verdict.json and report.html (`genkai report DIR` makes them again)
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tables: TableFlags,
    /// Print JSON instead of text (schemas/verdict.schema.json; the figures are under `load`)
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print nothing but errors
    #[arg(long, short, help_heading = "Output", hide_short_help = true)]
    pub(crate) quiet: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, help_heading = "Output", hide_short_help = true)]
    pub(crate) color: Colour,
}
