//! What chat rooms showed: statements about a record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ClientCheck, Evidence, Outcome, Quantiles, WorkerFinding};
use crate::error::ErrorCount;
use crate::limit::Limit;
use crate::rooms::{Cut, Hops, RouterReport};

/// All runs of an experiment with rooms, and the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoomsFinding {
    /// Each run, in order.
    pub runs: Vec<RoomsRun>,
    /// The smallest number of nodes with a full score, nothing heard in the wrong room and a valid client, of those tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest_full: Option<u32>,
    /// Holds: there is such a number. Fails: there is none. Invalid: the client limited every run that might have.
    pub outcome: Outcome,
}

/// One run: so many nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoomsRun {
    /// Number of the trial in the record.
    pub trial: u32,
    /// Nodes.
    pub nodes: u32,
    /// Messages that the first entrants of all rooms heard.
    pub score: u64,
    /// Full marks: messages that were to be sent.
    pub planned: u64,
    /// Messages that were sent.
    pub sent: u64,
    /// Deliveries: messages times members that heard them.
    pub delivered: u64,
    /// Deliveries that were due and did not come.
    pub lost: u64,
    /// Deliveries that came again.
    pub duplicated: u64,
    /// Deliveries that came after a later message of the same sender.
    pub reordered: u64,
    /// Messages heard in a room that they were not for. With any, a score is not full.
    #[serde(default)]
    pub foreign: u64,
    /// Messages that members could not hear because their connection had ended.
    pub away: u64,
    /// Scores of all rooms, in order of room.
    pub rooms: Vec<u64>,
    /// Full marks of a room (the largest, where rooms differ).
    pub full: u64,
    /// Members that entered.
    pub entered: u64,
    /// Members that never did.
    pub never_entered: u64,
    /// Members that entered after 0, 1, 2... failed attempts.
    pub entered_after: Vec<u64>,
    /// Failed attempts, by kind.
    pub refused: Vec<ErrorCount>,
    /// Connections that ended too early.
    pub cuts: Vec<Cut>,
    /// Where the points that are missing from the score went; together `planned - score`.
    pub missing: Vec<Placed>,
    /// Where all lost deliveries were lost, as far as they are named.
    pub losses: Vec<Placed>,
    /// Limits of the backplane that made messages go missing in it or on the way to it, by its own evidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<RoomsCause>,
    /// What the router told, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub router: Option<RouterReport>,
    /// From the planned instant of a message until a member heard it, seconds.
    #[serde(default, skip_serializing_if = "Quantiles::is_empty")]
    pub latency: Quantiles,
    /// The counts of all nodes together.
    #[serde(default)]
    pub hops: Hops,
    /// The run over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over: Vec<Moment>,
    /// Seconds the load lasted.
    pub lasted: f64,
    /// The generator's check of itself.
    pub client: ClientCheck,
    /// The processes that made the load, where several machines did: times between members of two of them are as good as their clocks are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerFinding>,
}

/// A limit of the backplane at work while messages went missing in it or on the way to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoomsCause {
    /// The limit.
    pub limit: Limit,
    /// The signs that only this limit leaves, seen while messages went missing.
    pub evidence: Vec<Evidence>,
    /// Deliveries that were lost in the backplane or on the way to it.
    pub lost: u64,
}

/// A stretch of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// Its middle, seconds since the load began.
    pub at: f64,
    /// Connections at its end, those on their way in too.
    pub connections: u64,
    /// Messages sent a second.
    pub sent: f64,
    /// Deliveries a second.
    pub heard: f64,
    /// Deliveries a second, of messages sent in it, that never came; as far as they are named.
    pub lost: f64,
    /// From the planned instant of a message until a member heard it, 99 % of them within so many seconds; none without any.
    pub p99: Option<f64>,
}

/// Something missing, and where it went missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Placed {
    /// Where.
    pub place: Place,
    /// In which node, where it was in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// How many.
    pub count: u64,
    /// When the first of the messages was sent, microseconds since the load began; none for those never sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_us: Option<u64>,
    /// When the last was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_us: Option<u64>,
}

/// Where a message can go missing, in the order of its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Its sender never entered, or was cut off before.
    NeverSent,
    /// It was written by its sender, and no node received it: the network, a socket's buffer.
    BeforeNode,
    /// It was on its way through the router, to a node or from one, when the router ended the connection or was ended itself.
    InRouter,
    /// A node received it and did not pass it on.
    InNode,
    /// It was in a node that ended.
    DeadNode,
    /// A node could not give it to the backplane, or does not know whether it did.
    ToBackplane,
    /// The backplane took it and did not give it to the node of the receiver.
    InBackplane,
    /// It waited in the queue of a member that was disconnected for reading too slowly.
    WriteQueue,
    /// Its receiver's connection had ended when it was passed on.
    ReceiverGone,
    /// A node wrote it to the receiver's socket, and the receiver did not hear it: the router, the network, a socket's buffer,
    /// the client.
    AfterNode,
    /// The receiver was not there.
    ReceiverAway,
    /// Nothing is known of it: the servers kept no trace.
    Unknown,
}
