//! What happens in a run, as it happens. A record is these, one a line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cache::{CacheEntry, CachePass, Conformance};
use crate::comparison::{DroppedContender, Turn};
use crate::content::WrongBody;
use crate::error::ErrorCount;
use crate::evidence::{LogLine, Sample};
use crate::flows::Flows;
use crate::histogram::Payload;
use crate::http2::GoAways;
use crate::latencies::{Collection, ContenderRecord, Round};
use crate::limit::Limit;
use crate::load::Load;
use crate::plan::Plan;
use crate::rooms::{Attendance, NodeReport, RouterReport};
use crate::units::Span;
use crate::websocket::Messages;

pub use crate::setting::{Change, Rewrite};
pub use bisection::{Bisection, Directive, Page, Removal, Trying};
pub use counted::{Deliveries, Disconnects, Handshakes, Refusal, StatusCount, Waiting};
pub use not_started::NotStarted;
pub use purpose::Purpose;

use counted::is_zero;

mod bisection;
mod counted;
mod not_started;
mod purpose;

/// Version of the record's format; the first line of every record carries it.
pub const SCHEMA: &str = "genkai.run/2";
/// Every version that is read. The first had a field for each kind of study in its plan.
pub const READ: [&str; 2] = ["genkai.run/1", SCHEMA];

/// One event with its place in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Microseconds since the run began (monotonic clock).
    pub at_us: u64,
    /// The trial it belongs to, from 1; none outside trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<u32>,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum What {
    /// The run began: always the first line.
    RunStarted(Box<RunStarted>),
    /// A step of the journey began.
    Step(Step),
    /// The limits of the system as configured for the trial that follows.
    Limits(Limits),
    /// Load begins: time zero of the trial.
    TrialStarted(Box<TrialStarted>),
    /// An interval of the load ended.
    Tick(Box<Tick>),
    /// A server or the kernel was looked at.
    Sample(Sample),
    /// A server wrote to its log.
    Log(LogLine),
    /// A server changed state.
    State(State),
    /// The load ended.
    TrialEnded(TrialEnded),
    /// Chat rooms: what became of the messages of a trial.
    Attendance(Box<Attendance>),
    /// Chat rooms: what a node tells after a trial.
    Node(Box<NodeReport>),
    /// Servers compared: a contender is up.
    #[serde(rename = "entry")]
    Contender(Box<ContenderRecord>),
    /// Servers compared: a contender was asked something.
    Round(Box<Round>),
    /// Servers compared: a contender's garbage collector paused. The event's time is that of the pause's end.
    Collection(Collection),
    /// Caches compared: a contender is up.
    CacheEntry(Box<CacheEntry>),
    /// Caches compared: what a load on a contender came to.
    CachePass(Box<CachePass>),
    /// Caches compared: how a contender kept a rule of HTTP.
    Conformance(Conformance),
    /// Chat rooms: what the router tells after a trial.
    Router(Box<RouterReport>),
    /// Systems compared: a contender did not start, and takes no further part.
    #[serde(rename = "out")]
    Dropped(Box<DroppedContender>),
    /// Systems compared: whose turn the trial that follows is.
    Turn(Turn),
    /// A search among the directives of a configuration begins.
    Bisection(Box<Bisection>),
    /// Some of its directives were left out.
    Removal(Box<Removal>),
    /// The server does not start, or does not answer, with a value that was to be tried: no trial of it follows.
    NotStarted(NotStarted),
    /// Something the reader should know.
    Note(Note),
    /// The run ended: always the last line of a whole record.
    RunEnded(RunEnded),
}

/// Head of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunStarted {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of genkai.
    pub version: String,
    /// Wall-clock start, RFC 3339, UTC.
    pub started: String,
    /// The command line, secrets replaced.
    pub command: Vec<String>,
    /// The machine.
    pub environment: Environment,
    /// What is to be done.
    pub plan: Plan,
    /// The private copy's differences from the user's configuration, for the report.
    pub rewrites: Vec<Rewrite>,
}

/// The machine of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// `Linux 6.1.0 x86_64`.
    pub kernel: String,
    /// Distribution, from os-release.
    pub os: String,
    /// Processor model.
    pub cpu: String,
    /// Cores this process may use.
    pub cores: u32,
    /// Memory, bytes.
    pub memory: u64,
    /// Soft limit on descriptors of this process.
    pub descriptors: u64,
    /// Local ports for outgoing connections.
    pub ports: (u16, u16),
    /// net.core.somaxconn.
    pub somaxconn: u32,
    /// Versions of the programs used, e.g. `nginx` -> `1.22.1`.
    pub versions: BTreeMap<String, String>,
    /// Which cores serve and which make load.
    pub pinning: Option<Pinning>,
    /// Processor time that the control groups leave, cores' worth; none: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<f64>,
}

impl Environment {
    /// Processor time that all servers of a run have at most, cores' worth: of their cores, or of the quota, which they share with
    /// the generator.
    pub fn server_time(&self) -> f64 {
        let cores = self.pinning.as_ref().map_or(f64::from(self.cores), |pinning| pinning.servers.len() as f64);
        cores.max(1.0).min(self.cpu_quota.unwrap_or(f64::INFINITY))
    }
}

/// Cores given to each side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pinning {
    /// Cores of the servers.
    pub servers: Vec<usize>,
    /// Cores of the generator.
    pub client: Vec<usize>,
}

/// A step of the journey, and why it is taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// What kind of step.
    pub purpose: Purpose,
    /// The change it tries, if any.
    pub changes: Vec<Change>,
    /// The limit that is being put to the test, if any.
    pub limit: Option<String>,
}

/// The limits of the system as configured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Each limit.
    pub limits: Vec<Limit>,
}

/// Load begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialStarted {
    /// What the trial is for.
    pub purpose: Purpose,
    /// Settings that differ from the run's baseline.
    pub changes: Vec<Change>,
    /// The limit under test, in a counterfactual.
    pub limit: Option<String>,
    /// The load as sent.
    pub load: Load,
}

impl TrialStarted {
    /// A trial that only measures, with nothing changed.
    pub fn measure(load: Load) -> TrialStarted {
        TrialStarted { purpose: Purpose::Measure, changes: Vec::new(), limit: None, load }
    }
}

/// One interval of load, all generator threads together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tick {
    /// Start of the interval, microseconds since the load began.
    pub from_us: u64,
    /// End of the interval.
    pub to_us: u64,
    /// Users started by the end of the interval (closed), or planned requests a second at its end (open).
    pub level: f64,
    /// Requests waiting for a response at the end.
    pub in_flight: u64,
    /// Open connections at the end.
    pub connections: u64,
    /// Most connections open at once since the load began, counted as they open and close; of several processes the sum of what each had,
    /// which may not have been at one moment. None in records of versions that did not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u64>,
    /// What waited for an answer at the end; none in records of versions that did not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    /// Connections opened in the interval.
    pub opened: u64,
    /// Idle connections the server closed in the interval, noticed before a request was sent on them.
    pub closed_idle: u64,
    /// How long nothing had been said on kept connections of HTTP/1.1 that the server closed without `Connection: close`, ns.
    #[serde(default, skip_serializing_if = "Payload::is_empty")]
    pub kept_silent: Payload,
    /// Requests written in the interval.
    pub sent: u64,
    /// Requests that were made again, because the server closed a kept connection before a byte of their response (RFC 9112 section
    /// 9.3.1). Each is one request, with the latency from its planned instant; those that GOAWAY left out are under `goaways`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retried: u64,
    /// Answers behind which bytes came that are no part of them: their connections were closed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub surplus: u64,
    /// Redirections that a scenario followed. The request of each is among those written, where it came to be. None in records of versions that did not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirected: Option<u64>,
    /// Pauses of closed users that ended in the interval with another request: those that a failure at once makes
    /// ([`FAILURE_PACE`](crate::load::FAILURE_PACE)), where the user would have asked sooner. None in records of versions that did not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paced: Option<u64>,
    /// Requests that ended with a response below status 400.
    pub ok: u64,
    /// Requests that failed, by kind; only kinds that occurred.
    pub errors: Vec<ErrorCount>,
    /// Responses by status, well or not, in order of the status; only those that occurred.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<StatusCount>,
    /// Body and head bytes received.
    pub bytes_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Latency of successful responses from the planned instant, ns.
    pub latency: Payload,
    /// Service time of successful responses: from the instant of writing, ns.
    pub service: Payload,
    /// Time a failed request took to fail, from the planned instant, ns.
    pub failed_after: Payload,
    /// TCP connect times, ns.
    pub connect: Payload,
    /// The generator's own lateness, ns: planned instant to the write, or to the attempt to connect where a request needs a
    /// connection of its own; for requests that nothing but the generator could delay.
    pub lateness: Payload,
    /// How much later than it was to a thread of the generator ran, for each request that was in flight on it then, ns; from 10 ms on. It
    /// may be in their latencies, which nothing else tells of users who ask as soon as they are answered.
    #[serde(default, skip_serializing_if = "Payload::is_empty")]
    pub stalled: Payload,
    /// Of the load's last interval: how long each of those had waited that had no answer when it ended, since its write or the attempt to
    /// connect, ns. Of messages of a WebSocket, the oldest of each connection.
    #[serde(default, skip_serializing_if = "Payload::is_empty")]
    pub unanswered: Payload,
    /// With kernel stamps ([`Load::kernel_timestamps`](crate::load::Load::kernel_timestamps)): how long responses lay in their
    /// sockets before they were read, ns. No part of their latency.
    #[serde(default, skip_serializing_if = "Payload::is_empty")]
    pub receipt: Payload,
    /// CPU time the generator's threads used in the interval, microseconds, the sum over threads.
    pub cpu_us: u64,
    /// CPU time of the busiest generator thread in the interval, microseconds. Of workers of Locust that genkai started: with the time for which
    /// it waited for a core (nobody tells how late it sent).
    pub cpu_max_us: u64,
    /// Of the requests that failed in the interval, the planned instant (not the failure's) of the first planned, microseconds since the load began.
    pub first_error_us: Option<u64>,
    /// `level` at that instant.
    pub first_error_level: Option<f64>,
    /// TLS and WebSocket handshakes of the interval, where there are such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshakes: Option<Handshakes>,
    /// WebSocket messages of the interval, where there are such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Messages>,
    /// WebSockets that were open and ended in the interval although the client had not asked for it, where there were such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disconnects: Option<Disconnects>,
    /// HTTP/2 connections the server ended by GOAWAY in the interval, where there were such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goaways: Option<GoAways>,
    /// What became of flows in the interval, where the load has a scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Box<Flows>>,
    /// Messages of others that members of chat rooms heard in the interval, where there are such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliveries: Option<Deliveries>,
    /// The first body of the interval that was not the one asked for, where bodies are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong: Option<WrongBody>,
}

/// A server changed state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct State {
    /// Which server: `nginx`, `backend`.
    pub subject: String,
    /// What happened.
    pub state: ServerState,
    /// Details, e.g. an exit status.
    pub detail: Option<String>,
}

/// States of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    /// Process started.
    Started,
    /// Answers.
    Ready,
    /// A worker process ended although nobody asked it to.
    WorkerDied,
    /// The whole server ended although nobody asked it to.
    Died,
    /// It refuses connections; whether it lives is not known.
    Refuses,
    /// Ended as asked.
    Stopped,
}

/// The load ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialEnded {
    /// Why.
    pub reason: EndReason,
    /// How long the load lasted.
    pub lasted: Span,
    /// Requests cut off because the load ended while they were in flight; neither ok nor failed.
    pub abandoned: u64,
    /// Largest resident memory of the generator, bytes, the sum over its processes.
    pub client_rss: u64,
    /// What else the generator used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientUse>,
    /// Each worker process, in the order of their numbers, where several machines made the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerUse>,
}

/// A worker process of a load that several machines made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerUse {
    /// The machine: `here`, or its name for ssh.
    pub place: String,
    /// The node that its pod was on, where it was in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Its clock beside that of the machine that genkai was started on; none: it is the same clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<WorkerClock>,
    /// How it ended; none: it was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<WorkerEnd>,
}

/// How far another machine's clock (CLOCK_MONOTONIC) is from ours: exchanges of four stamps (RFC 5905 section 8), the one with the least round
/// trip of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerClock {
    /// Its clock less ours before the load, nanoseconds.
    pub offset_ns: i64,
    /// The most by which that can be wrong: half of the round trip, nanoseconds.
    pub uncertainty_ns: u64,
    /// By how much the offset had changed after the load, nanoseconds; none: it could not be asked any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_ns: Option<i64>,
}

/// What a worker process says of its own part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerEnd {
    /// How long after the common start, by its own clock, the last of its threads had begun, nanoseconds.
    pub began_ns: u64,
    /// Fraction of a core that its busiest thread used in the second in which that was most.
    pub busiest: f64,
    /// How late its requests left.
    pub lateness: Payload,
}

/// What the generator used of its machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientUse {
    /// Processes that made the load.
    pub processes: u32,
    /// CPU time of all of them, user and system, microseconds, from their start to the end of the load.
    pub cpu_us: u64,
    /// Largest resident memory of each, bytes, the sum.
    pub rss: u64,
    /// That of the one which had most.
    pub rss_max: u64,
    /// Most descriptors that one of them had open at the end of an interval.
    pub descriptors: u64,
    /// Soft limit on descriptors of each.
    pub descriptors_limit: u64,
    /// Most connections that they had open at once: of one process counted exactly, of several at most so many (the sum of what each had). In
    /// records of versions that did not count: at the ends of intervals. Each has a local port. None seen: 0, and not written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub connections: u64,
    /// Addresses these came from.
    pub sources: u32,
    /// Local ports that each of those addresses has for each destination.
    pub ports: u32,
}

/// Why a load ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// It lasted as planned.
    Completed,
    /// The break was certain.
    BreakSeen,
    /// A server died.
    ServerDied,
    /// The user asked.
    Interrupted,
    /// The generator failed.
    EngineFailed,
}

/// Something the reader should know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// Stable name, e.g. `ipv6-listener-dropped`.
    pub id: String,
    /// One sentence.
    pub text: String,
}

/// The run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunEnded {
    /// Whether the user cut it short.
    pub interrupted: bool,
    /// What stopped it early, if anything did (server died, disk full, ...).
    pub failure: Option<String>,
    /// Unified diff of the user's file (or of the rendered configuration) for the proposal; empty for none.
    pub diff: String,
    /// The files that the proposal changes, finished.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FinishedFile>,
}

/// A configuration file with all of a proposal in it, to be put in the place of the user's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FinishedFile {
    /// The file that it is for.
    pub path: PathBuf,
    /// Where it is within the run folder; none: the file holds what looks like a secret, and a second one was not written.
    pub copy: Option<PathBuf>,
    /// The checksum of the copy ([`crate::seal::checksum`]); none: there is no copy, or an earlier build wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<String>,
}
