//! What is sent, how fast, and when it stops: three values, any combination of them.

use std::net::{IpAddr, SocketAddr};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::Pages;
use crate::http2::Http2;
use crate::locust::Locust;
use crate::scenario::Scenario;
use crate::stage::Stage;
use crate::transport::Transport;
use crate::units::{Span, Spread};
use crate::websocket::WebSocket;

/// One load: the request, its arrivals, its connections, its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// Where connections go: one or more addresses of the same service (taken in turn).
    #[schemars(with = "Vec<String>")]
    pub addresses: Vec<SocketAddr>,
    /// What carries connections.
    #[serde(default, skip_serializing_if = "Transport::is_tcp")]
    pub transport: Transport,
    /// What is spoken over them.
    #[serde(default, skip_serializing_if = "Protocol::is_http1")]
    pub protocol: Protocol,
    /// What each request is.
    pub request: Request,
    /// When requests are planned.
    pub arrivals: Arrivals,
    /// How the level of the arrivals (users, or requests a second) changes; none: it rises once and stays. With stages, the
    /// count or rate of the arrivals is the highest level, and their spawn rate or ramp means nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
    /// Who says, while the load is made, how many users of each flow of the scenario there are: `Locust master 127.0.0.1:5557`. The
    /// count of the arrivals is what was asked for first; in a record that is read, most of what was. None: it is planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
    /// Who makes it, where that is Locust: users do what its file says, and the request is the one by which limits are looked up. None:
    /// genkai.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locust: Option<Box<Locust>>,
    /// What users do instead of sending the request over and over. Arrivals are runs of its flows then; the request is the
    /// first one of them, for display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<Box<Scenario>>,
    /// Whether a connection carries one request or many.
    pub reuse: Reuse,
    /// Whether an idempotent request that meets the end of a kept connection is made once more on a new one, as browsers do (RFC 9112
    /// section 9.3.1). Older versions never did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retry: bool,
    /// When the load ends.
    pub stop: Stop,
    /// A request without a complete response after this long is a timeout (its connection is closed).
    pub timeout: Span,
    /// Event-loop threads of the generator, in each of its processes.
    pub threads: u16,
    /// How it is spread over processes, addresses and machines.
    #[serde(default, skip_serializing_if = "Scale::is_one")]
    pub scale: Scale,
    /// Length of the intervals that are reported: of the first 600; later ones are longer, by powers of two.
    pub tick: Span,
    /// Seed of everything random.
    pub seed: u64,
    /// A response ends when the kernel had its last byte (software receive stamps of Linux), not when the generator read it. For
    /// connections without TLS.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kernel_timestamps: bool,
    /// Objects that are asked for instead of the request's path, one after the other, every body compared with what it must be.
    /// HTTP/1.1, one thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<Box<Pages>>,
}

/// A closed user whose request failed plans the next no sooner than this after the one that failed.
///
/// Without it a user who is refused at once asks again at once: thousands of times a second, which loads the machine with failures and
/// makes a broken server look fast. With it a failing user makes at most ten attempts a second; a failure that took
/// longer (a timeout) costs no further pause. The open model needs no such rule: its schedule does not depend on outcomes.
pub const FAILURE_PACE: Span = Span::from_millis(100);

/// The longest that an answer is waited for before waiting may count like failing: as long as people wait for a page at most.
const PATIENCE: Span = Span::from_secs(10);

impl Load {
    /// How long a request must have waited before a verdict on errors may rest on it: the lesser of the timeout and 10 s.
    pub fn patience(&self) -> Span {
        self.timeout.min(PATIENCE)
    }

    /// Whether its users send the request over and over. Otherwise a file says what they do, which genkai knows in part only.
    pub fn is_one_request(&self) -> bool {
        self.scenario.is_none() && self.locust.is_none()
    }

    /// How its requests share connections; none: they do not. Where a scenario has several targets, as those to the first that shares them do.
    pub fn http2(&self) -> Option<Http2> {
        match (&self.scenario, &self.protocol) {
            (Some(scenario), _) => scenario.targets.iter().find_map(|target| target.http2),
            (None, Protocol::Http2(http2)) => Some(*http2),
            (None, _) => None,
        }
    }

    /// Takes note of a level that was asked for while the load was made; its count is the highest of them.
    pub(crate) fn reach(&mut self, level: f64) {
        if let (Some(_), Arrivals::Users { count, .. }) = (&self.asked_by, &mut self.arrivals) {
            *count = (*count).max(level as u32);
        }
    }

    /// Closed users that ask for the top page in a loop; further fields as they are usual.
    pub fn users(count: u32, spawn_rate: f64) -> Load {
        Load {
            addresses: Vec::new(),
            transport: Transport::default(),
            protocol: Protocol::default(),
            request: Request {
                method: "GET".to_owned(),
                path: "/".to_owned(),
                host: "localhost".to_owned(),
                headers: Vec::new(),
                body: Body::Empty,
            },
            arrivals: Arrivals::Users { count, spawn_rate, think: Spread::default() },
            stages: Vec::new(),
            asked_by: None,
            locust: None,
            scenario: None,
            reuse: Reuse::KeepAlive,
            retry: true,
            stop: Stop { after: Span::from_secs(3600), requests: None },
            timeout: Span::from_secs(60),
            threads: 1,
            scale: Scale::default(),
            tick: Span::from_millis(200),
            kernel_timestamps: false,
            pages: None,
            seed: 1,
        }
    }
}

/// How a load is spread over the machines that make it: what one process, one address or one machine has too little of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Scale {
    /// Processes that make it together, each with descriptors of its own; 1: genkai's own process.
    pub processes: u16,
    /// Addresses of this machine that connections come from, in turn, each with local ports of its own. None: the
    /// system's choice, which is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub sources: Vec<IpAddr>,
    /// Where its processes run, in the order of their numbers; none: all of them on this machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workplaces: Vec<Workplace>,
}

/// A machine that makes a part of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Workplace {
    /// How it is reached.
    pub by: Way,
    /// Processes there.
    pub processes: u16,
}

/// How a workplace is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// It is the machine that genkai was started on.
    Here,
    /// Through OpenSSH.
    Ssh {
        /// The program and its first arguments, e.g. `ssh`, `-F`, `FILE`.
        command: Vec<String>,
        /// The host as ssh takes it: a name of its configuration, `user@host`, an address.
        host: String,
    },
    /// In a pod of a Kubernetes Job, spoken to through the API server.
    Pod {
        /// The cluster, and what its pods are like.
        cluster: PodPlace,
        /// Number of the pod in the Job (its completion index), from 0.
        index: u16,
        /// What people call it.
        name: String,
    },
    /// In a container that podman runs, or what understands its words.
    Container {
        /// What it is started from.
        place: ContainerPlace,
        /// Number of the container among those that are alike, from 0.
        index: u16,
        /// What people call it.
        name: String,
    },
}

/// Containers that are alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContainerPlace {
    /// The program and its first arguments, e.g. `podman`.
    pub command: Vec<String>,
    /// The image, which holds genkai as `/genkai`.
    pub image: String,
    /// The network; none: the program's usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// Processors of each at most, as podman writes it: `0.5`; none: no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// Memory of each at most, as podman writes it: `512m`; none: no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
}

/// A Kubernetes cluster, and what is asked of it: pods of one Job.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct PodPlace {
    /// A context of the user's kubeconfig; none: the current one, or the cluster that genkai itself runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The namespace; none: that of the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The image that holds genkai.
    pub image: String,
    /// Processor of each pod, requested and at most, as Kubernetes writes it: `1`, `500m`.
    pub cpu: String,
    /// Memory of each pod, requested and at most: `512Mi`.
    pub memory: String,
    /// How long the pods may take until all of them run.
    pub wait: Span,
}

impl Way {
    /// What the machine that genkai was started on is called where places are listed.
    pub const HERE: &str = "here";

    /// What people call it: `here`, or the host.
    pub fn name(&self) -> &str {
        match self {
            Way::Here => Self::HERE,
            Way::Ssh { host, .. } => host,
            Way::Pod { name, .. } | Way::Container { name, .. } => name,
        }
    }
}

impl Way {
    /// Whether it leads into one of several that are alike, which have numbers instead of names.
    pub fn is_numbered(&self) -> bool {
        matches!(self, Way::Pod { .. } | Way::Container { .. })
    }
}

impl Default for Scale {
    fn default() -> Scale {
        Scale { processes: 1, sources: Vec::new(), workplaces: Vec::new() }
    }
}

impl Scale {
    /// How each process is reached, in the order of their numbers: of as many as are named.
    pub fn ways(&self) -> impl Iterator<Item = &Way> {
        self.workplaces.iter().flat_map(|one| std::iter::repeat_n(&one.by, usize::from(one.processes)))
    }

    /// Processes on the machine that genkai was started on.
    pub fn here(&self) -> u16 {
        self.at(&Way::Here)
    }

    /// Processes on the machine that is reached so.
    pub fn at(&self, way: &Way) -> u16 {
        if self.workplaces.is_empty() && *way == Way::Here {
            return self.processes;
        }
        self.workplaces.iter().filter(|one| one.by == *way).map(|one| one.processes).sum()
    }

    /// Whether a part of it is made by another machine.
    pub fn is_spread(&self) -> bool {
        self.workplaces.iter().any(|one| one.by != Way::Here)
    }

    /// Whether it is one process and the system's choice of address: what records without a word about scale mean.
    pub fn is_one(&self) -> bool {
        *self == Scale::default()
    }
}

/// What is spoken over a load's connections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// HTTP/1.1: the request, over and over.
    #[default]
    Http1,
    /// WebSocket: the request opens a connection, then messages are exchanged. Where a load speaks of requests, messages
    /// are meant: planned, written, answered by their echo. On connections that are only held, opening is the request.
    WebSocket(WebSocket),
    /// HTTP/2 (RFC 9113): the request, over and over, many at once on a connection. Agreed by ALPN over TLS; without TLS
    /// the server is known to speak it (prior knowledge, section 3.3).
    Http2(Http2),
}

impl Protocol {
    /// Whether it is HTTP/1.1: what records without a word about protocols mean.
    pub fn is_http1(&self) -> bool {
        *self == Protocol::Http1
    }
}

/// An HTTP request, sent over and over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// Method, e.g. `GET`.
    pub method: String,
    /// Request target in origin form, e.g. `/` or `/shop?id=3`.
    pub path: String,
    /// Value of the `Host` header; in HTTP/2 of `:authority`.
    pub host: String,
    /// Further headers, in order. Values marked secret by the caller are replaced before a record is written.
    pub headers: Vec<(String, String)>,
    /// What follows the head.
    pub body: Body,
}

/// A Host header as clients send it: without the port where that is the usual one of the scheme (RFC 9110, 4.2.1 and 7.2).
pub fn host_sent(host: &str, tls: bool) -> &str {
    host.strip_suffix(if tls { ":443" } else { ":80" }).filter(|name| !name.is_empty()).unwrap_or(host)
}

/// A request body.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// None.
    #[default]
    Empty,
    /// This text.
    Text(String),
    /// These bytes, which are no text.
    Bytes(Raw),
    /// So many bytes of filler.
    Size(u64),
}

impl Body {
    /// Length, bytes.
    pub fn len(&self) -> u64 {
        match self {
            Body::Empty => 0,
            Body::Text(text) => text.len() as u64,
            Body::Bytes(Raw(bytes)) => bytes.len() as u64,
            Body::Size(n) => *n,
        }
    }

    /// Whether nothing follows the head.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<Vec<u8>> for Body {
    /// Text where the bytes are UTF-8, so that people can read it in a plan and a record.
    fn from(bytes: Vec<u8>) -> Body {
        String::from_utf8(bytes).map_or_else(|e| Body::Bytes(Raw(e.into_bytes())), Body::Text)
    }
}

/// Bytes; base64 (RFC 4648, section 4) where they are written down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Raw(pub Vec<u8>);

impl Serialize for Raw {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        STANDARD.decode(text).map(Raw).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Raw {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Raw".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "contentEncoding": "base64" })
    }
}

/// When requests are planned.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "model")]
pub enum Arrivals {
    /// Closed model: each user sends, waits for the response, thinks, sends again.
    Users {
        /// Users at the end of the ramp.
        count: u32,
        /// New users a second; infinite is not allowed, use a large number for a burst.
        spawn_rate: f64,
        /// Pause between a response and the user's next request.
        think: Spread,
    },
    /// Open model: requests are planned at a rate, whatever the responses do.
    Rate {
        /// Requests a second, once the ramp is over.
        per_second: f64,
        /// Time over which the rate rises linearly from zero; zero for none.
        ramp: Span,
        /// How planned instants are spaced.
        spacing: Spacing,
        /// At most so many connections; a request planned while all are busy waits (its latency counts from the plan).
        connections: u32,
    },
}

/// Spacing of planned instants in the open model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// Evenly.
    #[default]
    Uniform,
    /// Exponential gaps (a Poisson process).
    Poisson,
}

/// Use of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// Keep-alive: a user keeps its connection for as long as the server does.
    #[default]
    KeepAlive,
    /// A new connection for each request (HTTP/1.1: `Connection: close`).
    PerRequest,
}

/// When a load ends: whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stop {
    /// After this long, ramp included.
    pub after: Span,
    /// After so many finished requests.
    pub requests: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_is_no_text_is_written_down_and_read_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        let body = Body::from(bytes.clone());
        assert_eq!((&body, body.len()), (&Body::Bytes(Raw(bytes)), 256));
        let text = serde_json::to_string(&body).unwrap();
        assert!(text.starts_with(r#"{"bytes":"AAECAw"#), "{text}");
        assert_eq!(serde_json::from_str::<Body>(&text).unwrap(), body);
        assert!(serde_json::from_str::<Body>(r#"{"bytes":"not base64!"}"#).is_err());
        assert_eq!(Body::from("a=1".as_bytes().to_vec()), Body::Text("a=1".to_owned()));
        assert!(Body::default().is_empty());
    }
}
