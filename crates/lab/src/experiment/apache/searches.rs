//! Searches: baseline and load steps, the answer for more connections than workers, and the five troubles that people report, each made on
//! purpose and to be named.

use std::collections::BTreeMap;

use genkai_model::load::{Arrivals, Load, Protocol, Reuse};
use genkai_model::objective::Objective;
use genkai_model::plan::{Answers, Backend, Plan, Procedure, WebSocketServer};
use genkai_model::units::{Bytes, Span, Spread};
use genkai_model::websocket::{Message, WebSocket};

use super::{Part, Search, Task, system};
use crate::experiment::{ROOMS, Size, echo, one_room, procedure, users};

/// `MaxRequestWorkers` of the original.
pub(super) const WORKERS: u32 = 300;
/// Connections of the answer: as in the original's trouble.
const CONNECTIONS: u32 = 500;
/// What must hold for connections that talk.
pub(super) const TALKING: &str = "connects > 99.9%, delivered > 99.99%, disconnects < 0.1%";

/// The searches in order. The troubles have the ratios of the original; in the quick size they are ten to twenty times smaller.
pub(super) fn all(size: Size) -> Vec<Part> {
    let mut all = steps(size);
    all.push(answer(size));
    all.extend([idle(size), slow(size), large(size), fan_out(size), refused(size)]);
    all
}

/// A load of so many connections without a search: the figures as the system is.
fn steps(size: Size) -> Vec<Part> {
    let step = |name, connections: u32, limit| {
        let load = talkers(connections, f64::from(connections) / ramp(size), Span::from_secs(1));
        let mut plan = plan(name, settings(&[("MaxRequestWorkers", WORKERS)]), load, TALKING, size);
        plan.procedure.max_limits = 0;
        if size == Size::Quick {
            plan.procedure.hold = Span::from_secs(1);
        }
        let question = format!("{connections} connections through {WORKERS} workers: how is it?");
        search(name, question, None, limit, plan)
    };
    match size {
        Size::Quick => vec![step("baseline", 100, None)],
        Size::Full => vec![
            step("baseline", 100, None),
            step("load-500", 500, Some("apache.MaxRequestWorkers")),
            step("load-1000", 1000, Some("apache.MaxRequestWorkers")),
        ],
    }
}

/// Seconds in which all connections of a part have come.
fn ramp(size: Size) -> f64 {
    if size == Size::Quick { 1.0 } else { 10.0 }
}

/// 500 connections through 300 workers: what is the limit, what lifts it, what is next.
fn answer(size: Size) -> Part {
    let spawn_rate = if size == Size::Quick { 500.0 } else { 50.0 };
    let load = talkers(CONNECTIONS, spawn_rate, Span::from_secs(1));
    let mut plan = plan("answer", settings(&[("MaxRequestWorkers", WORKERS)]), load, TALKING, size);
    if size == Size::Quick {
        (plan.procedure.proof_ramp, plan.procedure.proof_hold) = (Span::from_millis(500), Span::from_secs(2));
        plan.procedure.hold = Span::from_millis(2500);
    } else {
        // As fast as its own load comes, and long enough to tell who hangs.
        (plan.procedure.proof_ramp, plan.procedure.proof_hold) = (Span::from_secs(10), Span::from_secs(20));
    }
    let question = format!(
        "{CONNECTIONS} connections through a {WORKERS}-worker Apache: what is the limit, what lifts it, what is next?"
    );
    search("answer", question, None, Some("apache.MaxRequestWorkers"), plan)
}

/// Connections that say nothing for longer than Apache waits.
fn idle(size: Size) -> Part {
    let (timeout, connections, hold) =
        if size == Size::Quick { ("2", 20, Span::from_secs(4)) } else { ("60", 100, Span::from_secs(90)) };
    let load = held(connections, f64::from(connections) / ramp(size));
    let mut set = settings(&[]);
    set.extend([("Timeout", timeout), ("ProxyTimeout", timeout)].map(|(n, v)| (n.to_owned(), v.to_owned())));
    let plan =
        Plan { procedure: Procedure { hold, ..alone(size) }, ..plan("idle", set, load, "disconnects < 0.1%", size) };
    trouble("idle", "idle connections are cut after a timeout", Some("apache.idle"), plan)
}

/// Short conversations, more at once than workers: those who come wait for those who talk.
fn slow(size: Size) -> Part {
    let (workers, connections) = if size == Size::Quick { (30, 50) } else { (WORKERS, CONNECTIONS) };
    let mut load = talkers(connections, f64::from(connections) / ramp(size), Span(0));
    load.reuse = Reuse::PerRequest;
    let set = settings(&[("MaxRequestWorkers", workers), ("ThreadsPerChild", 10), ("ServerLimit", 100)]);
    let mut plan = plan("slow", set, load, "errors < 0.1%, p95 < 900ms", size);
    plan.system.backend = Backend::WebSocket(WebSocketServer { delay: Span::from_millis(700), ..echo() });
    plan.procedure = alone(size);
    trouble(
        "slow",
        "responses slow down as connections pass the number of threads",
        Some("apache.MaxRequestWorkers"),
        plan,
    )
}

/// Messages larger than the application takes.
fn large(size: Size) -> Part {
    let (connections, bytes) = if size == Size::Quick { (5, 128 << 10) } else { (20, 4 << 20) };
    let mut load = talkers(connections, 5.0, Span::from_millis(200));
    if let Protocol::WebSocket(WebSocket { message: Some(message), .. }) = &mut load.protocol {
        message.size = bytes;
        message.binary = true;
    }
    let mut plan = plan("large", settings(&[]), load, TALKING, size);
    plan.system.backend = Backend::WebSocket(WebSocketServer { max_message: Bytes(64 << 10), ..echo() });
    plan.procedure = alone(size);
    if size == Size::Quick {
        // Each is closed at its first message.
        plan.procedure.hold = Span::from_secs(1);
    }
    trouble("large", "large messages arrive incomplete", Some("backend.max_message"), plan)
}

/// Everybody hears everybody: the processor is the limit.
fn fan_out(size: Size) -> Part {
    let (members, every) = if size == Size::Quick { (250, Span::from_millis(400)) } else { (1000, Span::from_secs(1)) };
    let mut load = talkers(members, f64::from(members) / ramp(size), Span(0));
    load.request.path = ROOMS.to_owned();
    if let Protocol::WebSocket(websocket) = &mut load.protocol {
        websocket.rooms = Some(one_room(every));
    }
    let mut plan = plan("fan-out", settings(&[("MaxRequestWorkers", 1200)]), load, "p99 < 250ms", size);
    plan.system.backend = Backend::WebSocket(WebSocketServer { answers: Answers::Rooms, ..echo() });
    plan.procedure = alone(size);
    trouble("fan-out", "many small messages to many clients saturate the processor", Some(PROCESSOR), plan)
}

/// Any limit on processor time: which of them depends on the machine.
pub const PROCESSOR: &str = "(processor)";

/// More connections than workers, that only stay.
fn refused(size: Size) -> Part {
    let (workers, connections) = if size == Size::Quick { (70, 80) } else { (700, 800) };
    let load = held(connections, f64::from(connections) / ramp(size));
    let set = settings(&[("MaxRequestWorkers", workers), ("ThreadsPerChild", 10), ("ServerLimit", 100)]);
    let mut plan = plan("refused", set, load, "connects > 99.9%", size);
    plan.procedure = alone(size);
    trouble("refused", "new connections are refused at a limit", Some("apache.MaxRequestWorkers"), plan)
}

fn trouble(name: &'static str, words: &'static str, limit: Option<&'static str>, plan: Plan) -> Part {
    search(name, format!("{words}: why?"), Some(words), limit, plan)
}

fn search(
    name: &'static str,
    question: String,
    trouble: Option<&'static str>,
    limit: Option<&'static str>,
    plan: Plan,
) -> Part {
    Part { name, question, usual: true, task: Task::Search(Box::new(Search { plan, trouble, limit })) }
}

/// A search without a proof by pairs: changing the setting alone is test enough for one of several parts.
fn alone(size: Size) -> Procedure {
    let usual = procedure(size);
    let hold = if size == Size::Quick { Span::from_millis(2500) } else { usual.hold };
    Procedure { max_limits: 1, min_pairs: 0, max_pairs: 0, hold, ..usual }
}

/// Settings as given, with all workers there from the start: how fast Apache starts more of them (1, 2, 4... children a second) is
/// not what is asked here.
pub(super) fn settings(all: &[(&str, u32)]) -> BTreeMap<String, String> {
    let ready = [("StartServers", 200), ("MaxSpareThreads", 5000)];
    all.iter().chain(&ready).map(|(name, value)| ((*name).to_owned(), value.to_string())).collect()
}

/// Users who keep a WebSocket and say something now and then.
pub(super) fn talkers(count: u32, spawn_rate: f64, think: Span) -> Load {
    let arrivals = Arrivals::Users { count, spawn_rate, think: Spread::Constant(think) };
    let message = Some(Message { size: 64, binary: false });
    let protocol = Protocol::WebSocket(WebSocket { message, ..WebSocket::default() });
    Load { arrivals, protocol, ..users(count, spawn_rate) }
}

/// WebSockets that are only held.
fn held(count: u32, spawn_rate: f64) -> Load {
    Load { protocol: Protocol::WebSocket(WebSocket::default()), ..users(count, spawn_rate) }
}

fn plan(name: &str, settings: BTreeMap<String, String>, load: Load, objective: &str, size: Size) -> Plan {
    let objective = objective.parse::<Objective>().expect("a constant that is one");
    let plan = Plan::of(super::title(name, size), system(settings), load, objective, procedure(size));
    Plan { part: Some(super::id(name, size)), ..plan }
}
