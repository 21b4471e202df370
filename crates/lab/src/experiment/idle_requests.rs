//! `rooms-http` as a plan: how many requests, each held open for a while, do nodes and their router bear at once?

use genkai_model::idle_requests::IdleSearch;
use genkai_model::load::{Load, Stop};
use genkai_model::objective::Objective;
use genkai_model::plan::{Backplane, Cluster, Plan, Router, Study};
use genkai_model::units::{Bytes, Span};

use super::{Size, procedure, users};

/// How long a node may take to answer beyond the time it holds a request.
const PATIENCE: Span = Span::from_secs(10);

/// How long, how many at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Nodes.
    pub nodes: u32,
    /// How long each request is held.
    pub time: Span,
    /// Requests at most.
    pub most: u32,
}

impl Shape {
    /// The original's 25 s and 10,000 requests, or what takes seconds.
    pub fn of(size: Size) -> Shape {
        match size {
            Size::Quick => Shape { nodes: 1, time: Span::from_millis(1500), most: 2_000 },
            Size::Full => Shape { nodes: 1, time: Span::from_secs(25), most: 10_000 },
        }
    }
}

/// The plan.
pub fn plan(size: Size, shape: Shape, router: Option<Router>) -> Plan {
    let cluster = Cluster {
        nodes: vec![shape.nodes],
        server: "embedded".to_owned(),
        router,
        backplane: Backplane::None,
        redis: Vec::new(),
        member_queue: Bytes(0),
        trace: 0,
        faults: Vec::new(),
    };
    let search = IdleSearch { time: shape.time, first: (shape.most / 16).max(1), most: shape.most };
    // One second begins them all; it is the whole of a trial beside the time that they are held.
    let after = Span(shape.time.0 + PATIENCE.0);
    let base = users(shape.most, f64::from(shape.most));
    let load = Load { timeout: PATIENCE, stop: Stop { after, requests: None }, ..base };
    let title = format!("rooms-http ({})", size.word());
    let plan = Plan::of(title, super::rooms::system(), load, Objective::default(), procedure(size));
    Plan { study: Study::IdleRequests { cluster, search }, ..plan }
}
