//! The servers of a run: the product under test with its settings, and what stands behind it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command::CommandLine;
use crate::units::{Bytes, Span, Spread};

/// The servers of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct System {
    /// Product under test, e.g. `nginx`.
    pub product: String,
    /// Its executable; none: found in PATH or where distributions put it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
    /// How a server is started that is no product genkai knows; none: it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandLine>,
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
    /// Whether a server behind it that starts applications of the user's (Tomcat) may be started a second time, with all that they do at start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub start_applications: bool,
}

impl System {
    /// The name of a server that runs already, whatever it is.
    pub const STANDING: &str = "server";
    /// The name of a server that genkai does not know and starts by a command of the user's.
    pub const COMMAND: &str = "command";

    /// This product on a generated configuration, with its defaults and nothing of genkai's behind it.
    pub fn generated(product: &str) -> System {
        System {
            product: product.to_owned(),
            program: None,
            command: None,
            config: ConfigSource::Generated,
            settings: BTreeMap::new(),
            backend: Backend::Kept,
            front: Front::default(),
            allow_remote: Vec::new(),
            start_applications: false,
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
    /// The IPv4 address of this machine at which servers listen that the run starts, private copies of the user's too; none: 127.0.0.1,
    /// which other machines do not reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<Ipv4Addr>,
    /// Clients do not resume TLS sessions, also of a configuration of the user's: each of their connections makes a full handshake.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_resume: bool,
}

impl Front {
    /// The address at which servers listen that the run starts.
    pub fn address(&self) -> Ipv4Addr {
        self.listen.unwrap_or(Ipv4Addr::LOCALHOST)
    }

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
    /// A server in a Kubernetes cluster (read only; a private copy runs beside it).
    Cluster(ClusterServer),
}

/// A server in a Kubernetes cluster: the containers of a Deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterServer {
    /// A context of the user's kubeconfig; none: the current one, or the cluster that genkai itself runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The namespace of the Deployment.
    pub namespace: String,
    /// The Deployment.
    pub deployment: String,
    /// The container that serves; none: its pods have only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The namespace, which is there already, for private copies; none: one that genkai makes for the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<String>,
    /// The namespace of an ingress-nginx before it, whose configuration is read; none: it is not looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress: Option<String>,
    /// An image with a shell, by whose ephemeral container copies are looked into; none: by the shell of their own image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look: Option<String>,
    /// How long a copy may take until it is ready.
    pub wait: Span,
    /// Whether it was made for the run, in a namespace that is removed with it: nobody has its files afterwards.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub made: bool,
}

impl std::fmt::Display for ClusterServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "kubernetes:{}/deployment/{}", self.namespace, self.deployment)
    }
}

/// A WordPress of genkai's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Site {
    /// php-fpm's `pm.max_children`.
    pub children: u32,
    /// How long each page waits for something else, a payment service say, without taking processor time.
    #[serde(default, skip_serializing_if = "Span::is_zero")]
    pub waits: Span,
    /// MariaDB's `max_connections`; none: its default, or as many as the children need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
}

impl Site {
    /// A site that waits for nobody.
    pub fn new(children: u32) -> Site {
        Site { children, waits: Span(0), connections: None }
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
