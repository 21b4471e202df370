//! Everything that is decided before anything starts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cache::Caching;
use crate::comparison::Comparison;
use crate::contest::Contest;
use crate::held::Held;
use crate::load::Load;
use crate::objective::Objective;
use crate::units::{Bytes, Span, Spread};

/// A whole run: the system, the load to withstand, what must hold, and how it will be found out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// What people call this run, e.g. `nginx-worker-connections (quick)`.
    pub title: String,
    /// The servers.
    pub system: System,
    /// The load asked for. Addresses are empty until the servers are up.
    pub load: Load,
    /// What must hold under it.
    pub objective: Objective,
    /// How the answer is found.
    pub procedure: Procedure,
    /// Chat rooms: the servers of them, instead of `system`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Cluster>,
    /// Servers compared: those of the comparison, instead of `system`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contest: Option<Contest>,
    /// Systems compared under the load: those of the comparison, instead of `system` (which is the first of them).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Caches compared: those of the comparison, instead of `system`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caching: Option<Box<Caching>>,
}

impl Plan {
    /// A plan for one system; nothing else is compared.
    pub fn of(title: String, system: System, load: Load, objective: Objective, procedure: Procedure) -> Plan {
        Plan {
            title,
            system,
            load,
            objective,
            procedure,
            cluster: None,
            contest: None,
            comparison: None,
            caching: None,
        }
    }
}

/// Servers of chat rooms, or of requests held open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cluster {
    /// Numbers of nodes to be tried, one after the other.
    pub nodes: Vec<u32>,
    /// The application that a node is, e.g. `embedded`.
    #[serde(default = "embedded")]
    pub server: String,
    /// What stands before the nodes; none: clients go to the nodes, in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub router: Option<Router>,
    /// How nodes share rooms.
    pub backplane: Backplane,
    /// Lines of the private Redis's configuration beside its defaults, e.g. `maxclients 20`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redis: Vec<String>,
    /// Bytes that may wait for one member in a node.
    pub member_queue: Bytes,
    /// Messages each node keeps a trace of.
    pub trace: u32,
    /// Instead of chat rooms: requests held open, in one trial after the other, to find how many at once are borne.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
    /// Faults on purpose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

fn embedded() -> String {
    "embedded".to_owned()
}

/// A proxy that spreads connections over nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Router {
    /// Which, e.g. `haproxy`.
    pub product: String,
    /// Connections that a node gets at once; none: as many as come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_connections: Option<u32>,
    /// How long a request waits for a node with room before it is refused. (nginx has no such queue: it refuses at once.)
    pub queue_timeout: Span,
}

/// How nodes share rooms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Backplane {
    /// They do not: only one node can serve a room.
    #[default]
    None,
    /// Over a private Redis (pub/sub).
    Redis,
}

impl Backplane {
    /// What samples, log lines and limits call it; none where there is none.
    pub fn subject(self) -> Option<&'static str> {
        match self {
            Backplane::None => None,
            Backplane::Redis => Some("redis"),
        }
    }
}

/// Something that goes wrong on purpose, to see whether it is found out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Node 1 loses every so many-th message.
    LoseEvery(u64),
    /// The last node is killed so long after the load began.
    KillNode(Span),
    /// Redis closes the connections of all subscribers so long after the load began.
    CutSubscribers(Span),
    /// The same, and others take every connection that Redis allows (`maxclients`): subscribers do not get back in.
    FillRedis(Span),
    /// The router stands still so long after the load began, and is killed and started anew a little later: what was on its
    /// way through it is lost.
    ResetRouter(Span),
}

/// The servers of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct System {
    /// Product under test, e.g. `nginx`.
    pub product: String,
    /// Its executable; none: found in PATH or where distributions put it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
    /// Where its configuration comes from.
    pub config: ConfigSource,
    /// Settings changed on top of it, by directive name (`worker_connections`), in the user's words.
    pub settings: BTreeMap<String, String>,
    /// What stands behind it.
    pub backend: Backend,
    /// How a generated configuration takes clients in.
    #[serde(default, skip_serializing_if = "Front::is_plain")]
    pub front: Front,
    /// Hosts that the load may reach though they are not this machine, as the user named them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow_remote: Vec<String>,
}

impl System {
    /// This product on a generated configuration, with its defaults and nothing of genkai's behind it.
    pub fn generated(product: &str) -> System {
        System {
            product: product.to_owned(),
            program: None,
            config: ConfigSource::Generated,
            settings: BTreeMap::new(),
            backend: Backend::Kept,
            front: Front::default(),
            allow_remote: Vec::new(),
        }
    }
}

/// How a generated configuration takes clients in and passes WebSocket connections on. A configuration of the user's says that itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Front {
    /// A TLS listener, with a certificate of an authority that genkai makes for the run.
    #[serde(default)]
    pub tls: bool,
    /// What passes WebSocket connections on.
    #[serde(default)]
    pub upgrade: Upgrade,
}

impl Front {
    /// Whether it is the usual: what records without a word about it mean.
    pub fn is_plain(&self) -> bool {
        *self == Front::default()
    }
}

/// What passes WebSocket connections on, where a product has several ways (httpd).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Upgrade {
    /// mod_proxy_http, by `upgrade=websocket` (httpd 2.4.47 and later).
    #[default]
    Http,
    /// mod_proxy_wstunnel by itself (`ProxyWebsocketFallbackToProxyHttp Off`), the only way before.
    Wstunnel,
}

/// Where a configuration comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConfigSource {
    /// genkai renders a plain reverse proxy.
    Generated,
    /// The user's file (read only; a private copy runs).
    File(PathBuf),
}

/// A WordPress of genkai's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Site {
    /// php-fpm's `pm.max_children`.
    pub children: u32,
    /// How long each page waits for something else, a payment service say, without taking processor time.
    #[serde(default, skip_serializing_if = "Span::is_zero")]
    pub waits: Span,
}

impl Site {
    /// A site that waits for nobody.
    pub fn new(children: u32) -> Site {
        Site { children, waits: Span(0) }
    }
}

/// What stands behind the product under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// The embedded origin, a process of its own.
    Embedded(OriginSpec),
    /// The embedded WebSocket server, a process of its own.
    WebSocket(WebSocketServer),
    /// WordPress on php-fpm and MariaDB, from the distribution's packages, private to the run.
    WordPress(Site),
    /// Something that already runs on this machine.
    Url(String),
    /// Whatever the user's configuration names, as it is.
    Kept,
}

/// The embedded origin's behaviour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OriginSpec {
    /// Size of each response body.
    pub body: Bytes,
    /// How long a request is in service.
    pub service_time: Spread,
    /// At most so many requests in service at once, as a php-fpm pool has; none: no cap.
    pub workers: Option<u32>,
    /// At most so many waiting for a worker; further ones are answered 503. None: no cap.
    pub queue: Option<u32>,
    /// Seed of the service times.
    pub seed: u64,
}

/// The embedded WebSocket server's behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebSocketServer {
    /// What it does with messages.
    pub answers: Answers,
    /// Largest message; who sends a larger one is disconnected with code 1009 (RFC 6455 section 7.4.1).
    pub max_message: Bytes,
    /// How long an echo takes.
    pub delay: Span,
}

/// What a WebSocket server does with messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answers {
    /// Each is sent back.
    Echo,
    /// Each goes to everybody in its room, its sender too.
    Rooms,
}

/// How the answer is found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Procedure {
    /// At most so many limits are lifted one after another.
    pub max_limits: u32,
    /// Smallest number of baseline/proposal pairs in the proof.
    pub min_pairs: u32,
    /// Largest number of pairs.
    pub max_pairs: u32,
    /// How long the full load is held after the ramp when a break is looked for.
    pub hold: Span,
    /// Ramp of a proof trial.
    pub proof_ramp: Span,
    /// How long the full load is held in a proof trial.
    pub proof_hold: Span,
    /// The proposal must hold for so many times the load asked for (1.2: a fifth more).
    pub headroom: f64,
    /// How long a violation must last to be a break.
    pub sustained: Span,
    /// Seed of every random choice.
    pub seed: u64,
}
