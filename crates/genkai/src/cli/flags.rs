//! Flags that several commands share. What they mean is worked out elsewhere (`flags`, `target`, `websocket`, `http2`, `tune`).

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use genkai_model::units::{Bytes, Span, Spread};

use crate::source::SourceFlag;
use crate::workplace::OnFlag;

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFlags {
    /// Folder of the run [default: genkai-runs/TIME-NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Show the plan and what is predicted; start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing but errors
    #[arg(long, short, hide_short_help = true)]
    pub(crate) quiet: bool,
    /// Also write the figures as figure.svg, figure-2.svg and so on, the numbers of charts as .csv beside them
    #[arg(long, hide_short_help = true)]
    pub(crate) svg: bool,
    /// Keep the servers' private files in DIR/work-...
    #[arg(long, hide_short_help = true)]
    pub(crate) keep: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, hide_short_help = true)]
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
#[command(next_help_heading = "Output")]
pub(crate) struct TableFlags {
    /// Write one line for each interval of the load: rates, percentiles, connections, bytes
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Write a result file for JMeter (`jmeter -g FILE -o DIR` makes its report)
    ///
    /// The lines are made from the histograms of the intervals. Counts, times (from the planned instant) and failures are exact.
    /// Instants and bytes are spread evenly over an interval. Latency and Connect are 0.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) jtl: Option<PathBuf>,
    /// Write at most this many lines with --jtl
    ///
    /// A load with more requests gets a line for every k-th request, with k as its SampleCount and the bytes of one request.
    /// JMeter's report counts lines, so its rates and bytes are then k times too small.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..), hide_short_help = true)]
    pub(crate) jtl_lines: u64,
}

/// So many of something.
fn whole(text: &str) -> Result<u32, String> {
    let some = text.parse().ok().filter(|count| *count > 0);
    some.ok_or_else(|| "a whole number from 1 on is wanted, such as 100".to_owned())
}

/// A rate.
fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "a number is wanted, such as 50 or 0.5".to_owned())
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadFlags {
    /// Closed model: number of users; each waits for its response before its next request [default: 100]
    ///
    /// After a failed request a user makes the next one no sooner than 100 ms after the failed one was planned: who is refused at once
    /// would else ask thousands of times a second.
    #[arg(long, value_name = "N", conflicts_with = "rate", value_parser = whole)]
    pub(crate) users: Option<u32>,
    /// New users per second [default: 10 in tune, all at once elsewhere]
    #[arg(long, value_name = "N", conflicts_with = "rate", allow_negative_numbers = true, value_parser = number, hide_short_help = true)]
    pub(crate) spawn_rate: Option<f64>,
    /// Pause of a user between a response and its next request
    #[arg(long, value_name = "TIME", conflicts_with = "rate", hide_short_help = true)]
    pub(crate) think: Option<Spread>,
    /// Open model: requests per second, whatever the responses do
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number)]
    pub(crate) rate: Option<f64>,
    /// Open model: time over which the rate rises from zero
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub(crate) ramp: Option<Span>,
    /// Open model: random (Poisson) instead of even spacing
    #[arg(long, hide_short_help = true)]
    pub(crate) poisson: bool,
    /// Number of connections
    ///
    /// With --rate, the most connections that are open at once (1000 if not given). With HTTP/2 and no --rate, so many times
    /// --streams users, one a stream (so not beside --users); more are opened where the server allows fewer streams on each. With
    /// WebSocket and --message-rate, messages are spread over them (100 if not given); with WebSocket and no
    /// --message-rate, they are opened and held idle.
    #[arg(long, value_name = "N", conflicts_with = "users", value_parser = whole)]
    pub(crate) connections: Option<u32>,
    /// Path to request [default: /]
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub(crate) path: Option<String>,
    /// Method [default: GET, or POST with a body]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) method: Option<String>,
    /// Add a header, e.g. "Accept: text/html" (repeatable)
    ///
    /// "Host: NAME" decides which virtual server of a configuration is asked, and with a port ("Host: NAME:8081") which listener, of nginx, Apache
    /// and HAProxy.
    #[arg(long, short = 'H', value_name = "NAME: VALUE", hide_short_help = true)]
    pub(crate) header: Vec<String>,
    /// Request body: the text, or @FILE
    #[arg(long, value_name = "TEXT", conflicts_with = "body_size", hide_short_help = true)]
    pub(crate) body: Option<String>,
    /// Send a request body of this size
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub(crate) body_size: Option<Bytes>,
    /// Open a new connection for each request (no keep-alive)
    #[arg(long, hide_short_help = true)]
    pub(crate) new_connections: bool,
    /// Do not make a request again that met the end of a kept connection; count it as failed
    ///
    /// A server may close a kept connection at any time. Where it does so before a byte of the next response, GET, HEAD, PUT, DELETE,
    /// OPTIONS and TRACE are made once more on a new connection, as browsers do (RFC 9112, 9.3.1), and counted as retried. HTTP/1.1.
    #[arg(long, hide_short_help = true)]
    pub(crate) no_retry: bool,
    /// A request without a complete response after this time, connecting included, has failed [default: 60s]
    ///
    /// A request that had no answer after the lesser of this and 10 s, while the load was held as it was, counts against a condition on errors
    /// (`errors < 0.1%`), too: it is told as unanswered, not as failed.
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub(crate) timeout: Option<Span>,
    /// Threads that make the load [default: one for each core that the client has]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), hide_short_help = true)]
    pub(crate) threads: Option<u16>,
    /// Spread the load over this many processes, each with its own threads and descriptors; all start at the same instant
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256), hide_short_help = true)]
    pub(crate) processes: u16,
    /// Make the load on these machines: here:PROCESSES, ssh:HOST,HOST:PROCESSES, kubernetes:PODS, podman:IMAGE (repeatable)
    ///
    /// Each machine gets its share; all begin at the same instant, by the clocks of all (the skew is told). `ssh HOST` must work without a
    /// question; genkai is sent along where the same one is not there, and nothing is left behind. Servers that genkai starts listen on
    /// 127.0.0.1, unless --listen names an address that those machines reach.
    ///
    /// Pods are one Job, which is removed at the end; their image must hold the same genkai. Behind their number may stand
    /// namespace=NAME, image=IMAGE, context=NAME (of the kubeconfig), cpu=AMOUNT, memory=AMOUNT (of each), wait=TIME (until all run): for
    /// example kubernetes:8,namespace=load,image=registry.example/genkai:1. See `genkai kubernetes manifest`.
    ///
    /// podman:IMAGE starts a container of an image that holds the same genkai; behind it may stand containers=N, network=NAME (host, for
    /// example), cpus=AMOUNT and memory=AMOUNT (of each).
    #[arg(long, value_name = "PLACE", conflicts_with = "processes", hide_short_help = true)]
    pub(crate) on: Vec<OnFlag>,
    /// The program that --on ssh: uses, with options of its own: "ssh -F FILE"
    #[arg(long, value_name = "COMMAND", default_value = "ssh", requires = "on", hide_short_help = true)]
    pub(crate) ssh: String,
    /// The program that --on podman: uses, with options of its own
    #[arg(long, value_name = "COMMAND", default_value = "podman", requires = "on", hide_short_help = true)]
    pub(crate) podman: String,
    /// Connect from these addresses of this machine, in turn: 127.0.0.2,127.0.0.3 or 127.0.0.0/26 (repeatable)
    ///
    /// Without this flag the system chooses; to 127.0.0.0/8, genkai uses as many addresses as the number of ports demands.
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',', hide_short_help = true)]
    pub(crate) source: Vec<SourceFlag>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1, hide_short_help = true)]
    pub(crate) seed: u64,
    /// End a response when the kernel received its last byte, however late it was read (Linux, without TLS)
    ///
    /// On by default with --rate. Off by default with users, who go on when they have read the response.
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, default_missing_value = "on", hide_short_help = true)]
    pub(crate) kernel_timestamps: Option<Switch>,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct TlsFlags {
    /// Trust the certificates in this file (PEM) instead of the system's: authorities, or the server's own
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) cacert: Option<PathBuf>,
    /// Certificate of the client (PEM)
    #[arg(long, value_name = "FILE", requires = "key", hide_short_help = true)]
    pub(crate) cert: Option<PathBuf>,
    /// Private key of the client's certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert", hide_short_help = true)]
    pub(crate) key: Option<PathBuf>,
    /// Accept any certificate
    #[arg(long, short = 'k', conflicts_with = "cacert")]
    pub(crate) insecure: bool,
    /// Do not resume sessions: each connection makes a full handshake
    #[arg(long, hide_short_help = true)]
    pub(crate) no_resume: bool,
}

/// What clients do with TLS sessions of servers that genkai starts.
#[derive(Debug, Args)]
pub(crate) struct SessionFlags {
    /// Over TLS: do not resume sessions, so that each connection makes a full handshake, as a new visitor's
    #[arg(long, conflicts_with = "load", help_heading = "Load", hide_short_help = true)]
    pub(crate) no_resume: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "HTTP/2")]
pub(crate) struct Http2Flags {
    /// Use HTTP/2, negotiated by ALPN, for https:// [default: HTTP/1.1]
    #[arg(long)]
    pub(crate) http2: bool,
    /// Use HTTP/2 without negotiation, for http:// and unix:
    #[arg(long, hide_short_help = true)]
    pub(crate) http2_prior_knowledge: bool,
    /// Users that share a connection, each with one stream; with --rate, requests at once on a connection [default: 10]
    ///
    /// A connection carries fewer if the server allows fewer.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), hide_short_help = true)]
    pub(crate) streams: Option<u32>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "HTTP/2")]
pub(crate) struct StreamFlags {
    /// Use HTTP/2: agreed on by ALPN where the listener has TLS, else without negotiation (prior knowledge)
    #[arg(long, conflicts_with_all = ["scenario", "websocket"], hide_short_help = true)]
    pub(crate) http2: bool,
    /// Users that share a connection, each with one stream; with --rate, requests at once on a connection [default: 10]
    ///
    /// A connection carries fewer if the server allows fewer.
    #[arg(long, value_name = "N", requires = "http2", value_parser = clap::value_parser!(u32).range(1..), hide_short_help = true)]
    pub(crate) streams: Option<u32>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Scenario")]
pub(crate) struct ScenarioFlags {
    /// What each user does, over and over: a scenario file, genkai's own or an Artillery script
    ///
    /// All its requests go to the server under test, whatever address its target has; the Host field is the target's. Its
    /// phases are not used: users are added as without a file, as many as --users says, or as its phases have at most. Its users may open
    /// WebSockets at a product under test, if they make no requests beside them.
    #[arg(long, value_name = "FILE", hide_short_help = true, conflicts_with_all = ["think", "rate", "ramp", "poisson", "connections", "path", "method", "header",
        "body", "body_size", "new_connections", "kernel_timestamps"])]
    pub(crate) scenario: Option<String>,
    /// Scenario file: address to use instead of the file's, for its Host field and path (repeatable)
    #[arg(long, value_name = "[NAME=]URL", requires = "scenario", hide_short_help = true)]
    pub(crate) target: Vec<String>,
    /// Artillery script: the environment under config.environments
    #[arg(long, short = 'e', value_name = "NAME", requires = "scenario", hide_short_help = true)]
    pub(crate) environment: Option<String>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "WebSocket")]
pub(crate) struct WebSocketFlags {
    /// Size of a message, at least 24 bytes; the server must send each one back [default: 64]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub(crate) message_size: Option<Bytes>,
    /// Open model: messages per second over all connections
    #[arg(long, value_name = "N", conflicts_with_all = ["rate", "users"], allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) message_rate: Option<f64>,
    /// Send binary messages instead of text
    #[arg(long, hide_short_help = true)]
    pub(crate) binary: bool,
    /// Ask for a subprotocol (repeatable, preferred first)
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) subprotocol: Vec<String>,
    /// Offer permessage-deflate: as browsers do, or without keeping the window between messages
    #[arg(long, value_name = "HOW", num_args = 0..=1, default_missing_value = "takeover", require_equals = true, hide_short_help = true)]
    pub(crate) deflate: Option<DeflateFlag>,
    /// Send a ping at this interval on idle connections
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub(crate) ping: Option<Span>,
}

/// How to compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeflateFlag {
    /// The window is kept from message to message
    Takeover,
    /// Each message is compressed by itself
    NoTakeover,
}

#[derive(Debug, Args)]
pub(crate) struct OriginFlags {
    /// Size of each response body
    #[arg(long, value_name = "SIZE", default_value = "1k")]
    pub(crate) body: Bytes,
    /// Time to serve a request, e.g. 50ms, exp(50ms), lognormal(50ms,0.5)
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) service_time: Spread,
    /// Requests served at once [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) workers: Option<u32>,
    /// Requests that may wait for a worker; further ones get 503 [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) queue: Option<u32>,
    /// Seed of the service times
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Backend")]
pub(crate) struct BackendFlags {
    /// Embedded backend: size of each response body [default: 10k]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub(crate) backend_body: Option<Bytes>,
    /// Time to serve a request, e.g. 300ms, exp(200ms), lognormal(200ms,0.5)
    ///
    /// Embedded backend: 300ms for a request and 0s for a WebSocket message if not given. WordPress: the time that each page
    /// waits for something else, 0s if not given. WordPress and WebSocket take a fixed time only.
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub(crate) backend_time: Option<Spread>,
    /// Embedded backend: requests served at once, like a php-fpm pool [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), hide_short_help = true)]
    pub(crate) backend_workers: Option<u32>,
    /// Embedded backend: requests that may wait for a worker; further ones get 503 [default: no limit]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) backend_queue: Option<u32>,
    /// Embedded backend, WebSocket: largest message that it accepts [default: 64m]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub(crate) backend_max_message: Option<Bytes>,
    /// WordPress: php-fpm's pm.max_children [default: 5, as in Debian]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=500), hide_short_help = true)]
    pub(crate) fpm_children: Option<u32>,
    /// WordPress: MariaDB's max_connections [default: 151, or more where the children need them]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=1000), hide_short_help = true)]
    pub(crate) db_connections: Option<u32>,
    /// Allow load to, or through, this host, which is not this machine (repeatable)
    #[arg(long, value_name = "HOST", hide_short_help = true)]
    pub(crate) allow_remote: Vec<String>,
    /// This machine's IPv4 address at which servers listen that genkai starts, so that other machines reach them [default: 127.0.0.1]
    ///
    /// For loads that are made elsewhere: --on ssh:, --on kubernetes:. Whoever reaches that address reaches the server for as long as it
    /// runs, private copies of your own too. What stands behind it stays at 127.0.0.1.
    #[arg(long, value_name = "ADDRESS", help_heading = "System", hide_short_help = true)]
    pub(crate) listen: Option<std::net::Ipv4Addr>,
}
