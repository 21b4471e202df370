//! Chat rooms: the engine's members in the embedded server's rooms.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use genkai_engine::{End, StopFlag, run};
use genkai_model::event::Tick;
use genkai_model::load::{Arrivals, Body, Load, Protocol, Request, Reuse, Stop};
use genkai_model::rooms::{Attendance, Loss, Rooms};
use genkai_model::units::{Span, Spread};
use genkai_model::websocket::{Message, WebSocket};
use genkai_origin::rooms::{Spec, serve};

struct Node {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Node {
    fn start(spec: Spec) -> Node {
        let listener = genkai_origin::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
        let ends = Arc::clone(&stop);
        let thread = thread::spawn(move || serve(listener, spec, None, &ends).unwrap());
        Node { address, stop, thread: Some(thread) }
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.end();
    }
}

/// Three rooms of four members who say five things each.
fn load(address: SocketAddr) -> Load {
    let every = Span::from_millis(50);
    let rooms = Rooms { rooms: 3, messages: 5, every, retries: 2, pause: Span::from_millis(20) };
    let message = Some(Message { size: 64, binary: false });
    Load {
        addresses: vec![address],
        transport: Default::default(),
        protocol: Protocol::WebSocket(WebSocket { message, rooms: Some(rooms), ..WebSocket::default() }),
        request: Request {
            method: "GET".into(),
            path: "/rooms".into(),
            host: "localhost".into(),
            headers: vec![],
            body: Body::Empty,
        },
        arrivals: Arrivals::Users { count: 12, spawn_rate: 60.0, think: Spread::default() },
        reuse: Reuse::KeepAlive,
        stop: Stop { after: Span::from_millis(1500), requests: None },
        timeout: Span::from_secs(1),
        threads: 2,
        tick: Span::from_millis(200),
        seed: 1,
        kernel_timestamps: false,
        scale: Default::default(),
        scenario: None,
        stages: Vec::new(),
    }
}

fn make(load: &Load) -> (Box<Attendance>, End, Vec<Tick>) {
    let mut ticks = Vec::new();
    let end = run(load, None, &StopFlag::new(), |_| (), |tick| ticks.push(tick)).unwrap();
    (end.rooms.clone().unwrap(), end, ticks)
}

#[test]
fn everybody_hears_everything() {
    let node = Node::start(Spec::default());
    let (attendance, end, ticks) = make(&load(node.address));
    assert_eq!((attendance.score(), attendance.planned(), end.abandoned), (60, 60, 0), "{attendance:#?}");
    assert!(attendance.rooms.iter().all(|room| (room.first, room.members, room.sent) == (Some(room.room), 4, 20)));
    assert!(attendance.losses.is_empty() && attendance.unsent.is_empty() && attendance.cuts.is_empty());
    assert_eq!((attendance.entered_after, attendance.never_entered), (vec![12, 0, 0], 0));
    let heard: u64 = ticks.iter().filter_map(|tick| tick.deliveries.as_ref()).map(|d| d.count).sum();
    assert_eq!(heard, attendance.rooms.iter().map(|room| room.delivered).sum::<u64>());
    assert!((60 * 3..=60 * 4).contains(&heard), "{heard}: later members miss what was said before");
    assert_eq!(ticks.iter().map(|tick| tick.ok).sum::<u64>(), 60, "each hears its own words");
}

#[test]
fn what_the_server_loses_is_named() {
    let node = Node::start(Spec { lose_every: Some(7), ..Spec::default() });
    let (attendance, _, ticks) = make(&load(node.address));
    assert_eq!(attendance.score(), 60 - 60 / 7, "{attendance:#?}");
    let lost = |loss: &Loss| (loss.sender, loss.first, loss.last);
    let mut messages: Vec<_> = attendance.losses.iter().map(lost).collect();
    messages.sort_unstable();
    messages.dedup();
    let count: u32 = messages.iter().map(|(_, first, last)| last - first + 1).sum();
    assert_eq!(count, 8, "eight messages, each lost for all who were there: {messages:?}");
    let failed: u64 = ticks.iter().flat_map(|tick| &tick.errors).map(|error| error.count).sum();
    assert!(failed > 0, "those that were overdue while the load ran have failed");
}

#[test]
fn a_server_that_is_not_there_or_goes_costs_what_it_costs() {
    let mut node = Node::start(Spec::default());
    let load = load(node.address);
    let ending = thread::spawn(move || {
        thread::sleep(std::time::Duration::from_millis(500));
        node.end();
    });
    let (attendance, _, _) = make(&load);
    ending.join().unwrap();
    assert_eq!(attendance.cuts.len(), 12, "all were there, and all were cut off: {attendance:#?}");
    assert!(attendance.score() >= 60, "it went after everything was said: {}", attendance.score());
    let (attendance, _, _) = make(&load);
    assert_eq!((attendance.score(), attendance.never_entered, attendance.unsent.len()), (0, 12, 12));
    assert_eq!(attendance.refused.iter().map(|refused| refused.count).sum::<u64>(), 12 * 3, "{attendance:#?}");
}
