//! The flags of `genkai tune`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use genkai_model::objective::Objective;
use genkai_model::units::{Bytes, Span, Spread};

use super::OutputFlags;
use crate::flags::LoadFlags;
use crate::websocket::WebSocketFlags;

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
    /// HAProxy, as a reverse proxy in front of a backend
    #[command(after_help = HAPROXY_EXAMPLES)]
    Haproxy(Box<Haproxy>),
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
  genkai tune apache --websocket --tls --set MaxRequestWorkers=300 --users 500 --spawn-rate 100 --think 1s
  genkai tune apache --websocket --set Timeout=60 --set ProxyTimeout=60 --connections 100 --hold 2m
  genkai tune apache --websocket --broadcast 1s --users 100 --objective \"delivered > 99.99%, p99 < 500ms\"

genkai works on a private copy: your files are read, never changed, unless --write is given and the change is proved.
The load goes to 127.0.0.1 only.";

const HAPROXY_EXAMPLES: &str = "\
Examples:
  genkai tune haproxy --set maxconn=300 --users 500 --spawn-rate 20
  genkai tune haproxy --set server.maxconn=20 --set timeout.queue=2s --users 200
  genkai tune haproxy --config /etc/haproxy/haproxy.cfg --backend embedded --users 500
  genkai tune haproxy --websocket --tls --set timeout.tunnel=60s --connections 100 --hold 2m
  genkai tune haproxy --config ./haproxy.cfg --backend http://127.0.0.1:8080 --objective \"errors < 0.1%, p99 < 500ms\"

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
    /// Generated configuration: listen with TLS (https://, wss://), by an authority made for the run that the load trusts
    #[arg(long, conflicts_with = "config", help_heading = "System")]
    pub(crate) tls: bool,
    /// Generated configuration: what passes WebSockets on, mod_proxy_http or mod_proxy_wstunnel by itself [default: http]
    #[arg(long, value_name = "HOW", requires = "websocket", conflicts_with = "config", help_heading = "System")]
    pub(crate) upgrade: Option<UpgradeFlag>,
    #[command(flatten)]
    pub(crate) flags: TuneFlags,
}

#[derive(Debug, Args)]
pub(crate) struct Haproxy {
    /// The HAProxy program to run [default: the one installed]
    #[arg(long, value_name = "PROGRAM", help_heading = "System")]
    pub(crate) haproxy: Option<PathBuf>,
    /// Generated configuration: listen with TLS (https://, wss://), by an authority made for the run that the load trusts
    #[arg(long, conflicts_with = "config", help_heading = "System")]
    pub(crate) tls: bool,
    #[command(flatten)]
    pub(crate) flags: TuneFlags,
}

/// What passes WebSockets on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum UpgradeFlag {
    /// mod_proxy_http with upgrade=websocket (2.4.47 and later)
    Http,
    /// mod_proxy_wstunnel by itself, as before 2.4.47
    Wstunnel,
}

/// What every product is tuned by.
#[derive(Debug, Args)]
pub(crate) struct TuneFlags {
    /// Change a setting, e.g. worker_connections=512, MaxRequestWorkers=300 or maxconn=300 (repeatable)
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
    /// WebSockets instead of HTTP: each user sends a message, waits for its echo, thinks; with --connections they are only held
    #[arg(long, help_heading = "WebSocket")]
    pub(crate) websocket: bool,
    /// Every user sends a message so often, and every other one hears it
    #[arg(long, value_name = "TIME", requires = "websocket", conflicts_with_all = ["think", "connections", "message_rate"], help_heading = "WebSocket")]
    pub(crate) broadcast: Option<Span>,
    #[command(flatten)]
    pub(crate) messages: WebSocketFlags,
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
    /// Embedded: time in service, e.g. 300ms, exp(200ms), lognormal(200ms,0.5) [default: 300ms; of a message: none]; WordPress: what
    /// each page waits for something else [default: nothing]
    #[arg(long, value_name = "TIME")]
    pub(crate) backend_time: Option<Spread>,
    /// Embedded: requests served at once, like a php-fpm pool [default: no cap]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) backend_workers: Option<u32>,
    /// Embedded: requests that may wait for a worker before 503 [default: no cap]
    #[arg(long, value_name = "N")]
    pub(crate) backend_queue: Option<u32>,
    /// Embedded, WebSocket: largest message it takes [default: 64m]
    #[arg(long, value_name = "SIZE")]
    pub(crate) backend_max_message: Option<Bytes>,
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
    /// What must hold: errors, median, p99, max, rate; of WebSockets also connects, delivered, disconnects, as
    /// "connects > 99.9%, delivered > 99.99%, p99 < 500ms, disconnects < 0.1%"
    /// [default: errors < 0.1%; of WebSockets: errors < 0.1%, disconnects < 0.1%]
    #[arg(long, value_name = "TEXT")]
    pub(crate) objective: Option<Objective>,
    /// Hold the full load so long when looking for a break [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub(crate) hold: Option<Span>,
    /// Pairs of baseline and proposal in the proof, in an order drawn for each: at least so many, and up to two more where these do not decide
    /// (not with --quick); 0: none, the cause is put to the test and that is all [default: 3]
    #[arg(long, value_name = "N", value_parser = pairs)]
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

/// None, or as many as can exclude chance ([`genkai_analysis::separation::FEWEST`]).
fn pairs(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(n @ (0 | 3..=50)) => Ok(n),
        _ => Err("must be 0 (no proof) or from 3 to 50: two pairs do not exclude chance".to_owned()),
    }
}
