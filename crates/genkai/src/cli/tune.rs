//! The flags of `genkai tune`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use genkai_model::exit::Exit;
use genkai_model::objective::Objective;
use genkai_model::units::Span;

use super::{BackendFlags, LoadFlags, OutputFlags, WebSocketFlags, help};

#[derive(Debug, Args)]
pub(crate) struct Tune {
    #[command(subcommand)]
    pub(crate) product: Product,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Product {
    /// nginx, as a reverse proxy in front of a backend
    #[command(after_help = NGINX_EXAMPLES, after_long_help = help::below(NGINX_EXAMPLES, NOTES, Exit::ALL))]
    Nginx(Box<Nginx>),
    /// Apache httpd, as a reverse proxy in front of a backend
    #[command(after_help = APACHE_EXAMPLES, after_long_help = help::below(APACHE_EXAMPLES, NOTES, Exit::ALL))]
    Apache(Box<Apache>),
    /// HAProxy, as a reverse proxy in front of a backend
    #[command(after_help = HAPROXY_EXAMPLES, after_long_help = help::below(HAPROXY_EXAMPLES, NOTES, Exit::ALL))]
    Haproxy(Box<Haproxy>),
    /// Caddy, as a reverse proxy in front of a backend
    #[command(after_help = CADDY_EXAMPLES, after_long_help = help::below(CADDY_EXAMPLES, NOTES, Exit::ALL))]
    Caddy(Box<Caddy>),
}

const NOTES: &str = "\
genkai works on a private copy. It reads your files and changes them only with --write, once the change is proved. The load goes to \
127.0.0.1 only, unless --allow-remote names another host.";

const NGINX_EXAMPLES: &str = "\
Examples:
  genkai tune nginx --set worker_connections=512 --users 300 --spawn-rate 10
  genkai tune nginx --config /etc/nginx/nginx.conf --backend embedded --users 500
  genkai tune nginx --config ./nginx.conf --backend http://127.0.0.1:8080 --objective \"p99 < 500ms\"
  genkai tune nginx --set worker_connections=512 --users 300 --dry-run";

const APACHE_EXAMPLES: &str = "\
Examples:
  genkai tune apache --set MaxRequestWorkers=300 --users 500 --spawn-rate 20
  genkai tune apache --set mpm=prefork --set MaxRequestWorkers=150 --users 300
  genkai tune apache --config /etc/apache2/apache2.conf --backend embedded --users 500
  genkai tune apache --config ./httpd.conf --backend http://127.0.0.1:8080 --objective \"p99 < 500ms\"
  genkai tune apache --websocket --tls --set MaxRequestWorkers=300 --users 500 --think 1s
  genkai tune apache --websocket --set Timeout=60 --set ProxyTimeout=60 --connections 100 --hold 2m
  genkai tune apache --websocket --broadcast 1s --users 100 --objective \"delivered > 99.99%\"";

const HAPROXY_EXAMPLES: &str = "\
Examples:
  genkai tune haproxy --set maxconn=300 --users 500 --spawn-rate 20
  genkai tune haproxy --set server.maxconn=20 --set timeout.queue=2s --users 200
  genkai tune haproxy --config /etc/haproxy/haproxy.cfg --backend embedded --users 500
  genkai tune haproxy --websocket --tls --set timeout.tunnel=60s --connections 100 --hold 2m
  genkai tune haproxy --config ./haproxy.cfg --backend http://127.0.0.1:8080";

const CADDY_EXAMPLES: &str = "\
Examples:
  genkai tune caddy --set max_conns_per_host=20 --users 200
  genkai tune caddy --config /etc/caddy/Caddyfile --backend embedded --users 500
  genkai tune caddy --config ./Caddyfile --header \"Host: www.example.com\"";

#[derive(Debug, Args)]
pub(crate) struct Nginx {
    /// nginx program to run [default: the one installed]
    #[arg(long, value_name = "PROGRAM", help_heading = "System", hide_short_help = true)]
    pub(crate) nginx: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) flags: TuneFlags,
}

#[derive(Debug, Args)]
pub(crate) struct Apache {
    /// Apache program (apache2, httpd) to run [default: the one installed]
    #[arg(long, value_name = "PROGRAM", help_heading = "System", hide_short_help = true)]
    pub(crate) apache: Option<PathBuf>,
    /// Generated configuration: listen with TLS; the load trusts an authority made for the run
    #[arg(long, conflicts_with = "config", help_heading = "System")]
    pub(crate) tls: bool,
    /// Generated configuration: module that proxies WebSockets [default: http]
    #[arg(
        long,
        value_name = "HOW",
        requires = "websocket",
        conflicts_with = "config",
        help_heading = "System",
        hide_short_help = true
    )]
    pub(crate) upgrade: Option<UpgradeFlag>,
    #[command(flatten)]
    pub(crate) flags: TuneFlags,
}

#[derive(Debug, Args)]
pub(crate) struct Haproxy {
    /// HAProxy program to run [default: the one installed]
    #[arg(long, value_name = "PROGRAM", help_heading = "System", hide_short_help = true)]
    pub(crate) haproxy: Option<PathBuf>,
    /// Generated configuration: listen with TLS; the load trusts an authority made for the run
    #[arg(long, conflicts_with = "config", help_heading = "System")]
    pub(crate) tls: bool,
    #[command(flatten)]
    pub(crate) flags: TuneFlags,
}

#[derive(Debug, Args)]
pub(crate) struct Caddy {
    /// Caddy program to run [default: the one installed]
    #[arg(long, value_name = "PROGRAM", help_heading = "System", hide_short_help = true)]
    pub(crate) caddy: Option<PathBuf>,
    /// Generated configuration: listen with TLS; the load trusts an authority made for the run
    #[arg(long, conflicts_with = "config", help_heading = "System")]
    pub(crate) tls: bool,
    #[command(flatten)]
    pub(crate) flags: TuneFlags,
}

/// The module that proxies WebSockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum UpgradeFlag {
    /// mod_proxy_http with upgrade=websocket (2.4.47 and later)
    Http,
    /// mod_proxy_wstunnel by itself, as before 2.4.47
    Wstunnel,
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
    /// Backend: embedded, wordpress, keep (the one that the file names), or http://127.0.0.1:PORT
    ///
    /// The default is keep with --config, otherwise embedded.
    #[arg(long, value_name = "WHAT", help_heading = "System")]
    pub(crate) backend: Option<String>,
    #[command(flatten)]
    pub(crate) origin: BackendFlags,
    /// Write the proposed change into your files once it is proved (atomically, with a backup)
    #[arg(long, requires = "config", help_heading = "System")]
    pub(crate) write: bool,
    #[command(flatten)]
    pub(crate) load: LoadFlags,
    /// Use WebSocket: each user sends a message, waits for its echo, thinks; with --connections they are held idle
    #[arg(long, help_heading = "WebSocket")]
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
    #[arg(long, value_name = "FACTOR", default_value_t = 1.2, hide_short_help = true)]
    pub(crate) headroom: f64,
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
