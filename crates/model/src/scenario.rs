//! What users do: flows of steps, the values they use, the targets they go to. Everything is in here, files included, so that
//! another process can make the same load from it alone.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::http2::Http2;
use crate::template::Template;
use crate::transport::Transport;
use crate::units::{Span, Spread};
use crate::websocket::Deflate;

/// Most names of measured steps: each has a distribution of its own in every thread.
pub const MOST_STEPS: usize = 128;
/// Most checks.
pub const MOST_CHECKS: usize = 1_024;

/// What users do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scenario {
    /// Where steps go.
    pub targets: Vec<Target>,
    /// Variables that are there when a run of a flow begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<Variable>,
    /// Tables of which each run of a flow takes a row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<Table>,
    /// What is done; each run takes one of them, by weight.
    pub flows: Vec<Flow>,
    /// Names of what is measured. Steps refer to them by position; several may share one.
    pub names: Vec<String>,
    /// Names of the checks. Checks refer to them by position.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// How long runs that have begun may go on after the last stage.
    pub drain: Span,
    /// Open model: runs for which there is no room any more are left out, and counted; else they count as failed requests
    /// of the client's doing.
    #[serde(default)]
    pub skip: bool,
}

/// Where steps go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// What the scenario calls it.
    pub name: String,
    /// As the user wrote it: `http://127.0.0.1:8080/api`.
    pub url: String,
    /// Addresses it has; empty until they are looked up, and for Unix sockets.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub addresses: Vec<SocketAddr>,
    /// What carries connections.
    #[serde(default, skip_serializing_if = "Transport::is_tcp")]
    pub transport: Transport,
    /// Requests to it are HTTP/2 (users share connections); none: HTTP/1.1. WebSockets are opened by HTTP/1.1 in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http2: Option<Http2>,
    /// Value of the Host field.
    pub host: String,
    /// What every path begins with; empty for none.
    #[serde(default)]
    pub base: String,
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its values: each run of a flow takes one, at random.
    pub values: Vec<Value>,
}

/// Rows of values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// The file it was in, for people.
    pub source: String,
    /// Names of the variables that its columns become.
    pub columns: Vec<String>,
    /// The rows. Records leave them out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Vec<String>>,
    /// Which row a run takes.
    pub order: Order,
    /// Values that look like numbers, true or false are such where JSON is made of them.
    #[serde(default)]
    pub cast: bool,
}

/// Which row of a table a run takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The next one, from the first again after the last. Threads take theirs in turn.
    #[default]
    Sequence,
    /// Any.
    Random,
}

/// What a user does, from beginning to end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// How often it is taken, beside the others' weights.
    pub weight: u32,
    /// What is done.
    pub steps: Vec<Step>,
}

/// One thing done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "do")]
pub enum Step {
    /// An HTTP request and its response.
    Request(Box<Request>),
    /// A WebSocket is opened; one that is open is closed before.
    Connect(Box<Connect>),
    /// A message is sent on the open WebSocket.
    Send(Send),
    /// A message is waited for.
    Expect(Expect),
    /// Nothing, for a while.
    Think(Think),
    /// Steps are done again and again.
    Loop(Loop),
}

/// An HTTP request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// Position of its name.
    pub name: u32,
    /// Position of its target.
    pub target: u32,
    /// Method.
    pub method: String,
    /// Path and query, after the target's base.
    pub path: Template,
    /// Header fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, Template)>,
    /// Body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Template>,
    /// So many redirections are followed (RFC 9110 section 15.4), to the scenario's targets only.
    #[serde(default)]
    pub redirects: u8,
    /// Whether cookies are kept and sent (RFC 6265).
    #[serde(default)]
    pub cookies: bool,
    /// Own timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
    /// What is taken from the response.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<Capture>,
    /// What must hold for it. Without a check of the status, one of 400 and more has failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
}

/// The opening of a WebSocket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Connect {
    /// Position of its name.
    pub name: u32,
    /// Position of its target.
    pub target: u32,
    /// Path and query, after the target's base.
    pub path: Template,
    /// Header fields of the handshake.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, Template)>,
    /// Subprotocols offered, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subprotocols: Vec<String>,
    /// Compression offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deflate: Option<Deflate>,
}

/// A message to send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Send {
    /// Position of its name.
    pub name: u32,
    /// Its content.
    pub payload: Template,
    /// Binary instead of text.
    #[serde(default)]
    pub binary: bool,
}

/// A message to wait for. Messages are queued as they come; the next one is taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expect {
    /// Position of its name.
    pub name: u32,
    /// How long at most; none: the load's timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Span>,
    /// Messages that do not pass the checks are passed over instead of being failures.
    #[serde(default)]
    pub search: bool,
    /// What is taken from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<Capture>,
    /// What must hold for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
}

/// A pause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Think {
    /// From a distribution.
    Spread(Spread),
    /// As a variable says: a span, or seconds.
    Template(Template),
}

/// Steps done again and again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Loop {
    /// How often.
    pub times: Times,
    /// Variable that holds the number of the round, from 0, or the element.
    pub variable: String,
    /// What is done.
    pub steps: Vec<Step>,
}

/// How often a loop is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Times {
    /// So often.
    Count(u64),
    /// Until the load ends or the user leaves.
    Forever,
    /// As often as a variable says.
    Template(Template),
    /// Once for each of these.
    Over(Vec<Value>),
    /// Once for each element of a variable that is a JSON array.
    Elements(String),
}

/// A value taken from a response or message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capture {
    /// Variable that holds it from then on.
    pub variable: String,
    /// Where it is.
    pub from: Source,
    /// It may be missing: the variable is empty then. Else the run of the flow ends.
    #[serde(default)]
    pub optional: bool,
}

/// Where in a response or message a value is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// In its JSON: a pointer (RFC 6901), or a path (RFC 9535) when it begins with `$`.
    Json(String),
    /// A group of a regular expression's first match.
    Regex {
        /// The expression.
        pattern: String,
        /// Number of the group; 0 is all of the match.
        group: u32,
    },
    /// A header field.
    Header(String),
    /// All of the body.
    Body,
}

/// Something that must hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Position of its name.
    pub name: u32,
    /// What must hold.
    pub what: Expected,
    /// When it does not hold, the run of the flow ends.
    #[serde(default)]
    pub strict: bool,
}

/// What must hold for a response or message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// The status is in one of these ranges, both ends included.
    Status(Vec<(u16, u16)>),
    /// The body holds this text.
    Contains(Template),
    /// The body matches this regular expression.
    Matches(String),
    /// What [`Source`] finds is this.
    Equals(Source, Template),
    /// What [`Source`] finds is there.
    Exists(Source),
    /// A header field holds this text.
    HeaderContains(String, Template),
    /// It came within this time, from the planned instant.
    Within(Span),
}

impl Scenario {
    /// Whether any step opens a WebSocket.
    pub fn talks(&self) -> bool {
        fn talks(steps: &[Step]) -> bool {
            steps.iter().any(|step| match step {
                Step::Connect(_) => true,
                Step::Loop(inner) => talks(&inner.steps),
                _ => false,
            })
        }
        self.flows.iter().any(|flow| talks(&flow.steps))
    }

    /// Whether any step follows redirections.
    pub fn follows(&self) -> bool {
        fn follows(steps: &[Step]) -> bool {
            steps.iter().any(|step| match step {
                Step::Request(request) => request.redirects > 0,
                Step::Loop(inner) => follows(&inner.steps),
                _ => false,
            })
        }
        self.flows.iter().any(|flow| follows(&flow.steps))
    }

    /// Whether any flow makes HTTP requests.
    pub fn requests(&self) -> bool {
        fn requests(steps: &[Step]) -> bool {
            steps.iter().any(|step| match step {
                Step::Request(_) => true,
                Step::Loop(inner) => requests(&inner.steps),
                _ => false,
            })
        }
        self.flows.iter().any(|flow| requests(&flow.steps))
    }

    /// Positions of the targets that requests go to.
    pub fn asked(&self) -> BTreeSet<u32> {
        fn add(steps: &[Step], all: &mut BTreeSet<u32>) {
            for step in steps {
                match step {
                    Step::Request(request) => drop(all.insert(request.target)),
                    Step::Loop(inner) => add(&inner.steps, all),
                    _ => {}
                }
            }
        }
        let mut all = BTreeSet::new();
        self.flows.iter().for_each(|flow| add(&flow.steps, &mut all));
        all
    }
}
