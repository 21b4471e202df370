//! Chat rooms: the engine's members in the embedded server's rooms.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use genkai_engine::{End, StopFlag, run};
use genkai_lab::experiment::Size;
use genkai_lab::experiment::rooms::{Shape, Site, plan};
use genkai_model::event::Tick;
use genkai_model::load::{Load, Protocol, Stop};
use genkai_model::plan::Backplane;
use genkai_model::rooms::{Attendance, Loss};
use genkai_model::units::Span;
use genkai_model::websocket::WebSocket;
use genkai_origin::aside::Aside;
use genkai_origin::rooms::{Spec, serve};

fn start(spec: Spec) -> Aside {
    Aside::start(move |listener, stop| serve(listener, spec, None, &stop, || Ok(()))).unwrap()
}

/// Three rooms of four members who say five things each.
fn load(address: SocketAddr) -> Load {
    let every = Span::from_millis(50);
    let shape =
        Shape { rooms: 3, members: 4, messages: 5, message_every: every, enter_every: every, ..Shape::of(Size::Quick) };
    let site = Site {
        nodes: vec![1],
        server: "embedded".into(),
        router: None,
        backplane: Backplane::None,
        redis: vec![],
        faults: vec![],
    };
    let mut load = plan(Size::Quick, &shape, site).load;
    let Protocol::WebSocket(WebSocket { rooms: Some(rooms), .. }) = &mut load.protocol else { panic!("rooms") };
    (rooms.retries, rooms.pause) = (2, Span::from_millis(20));
    let stop = Stop { after: Span::from_secs(30), requests: None };
    let (timeout, tick) = (Span::from_secs(1), Span::from_millis(200));
    Load { addresses: vec![address], threads: 2, stop, timeout, tick, ..load }
}

/// Makes the load until `done`, which sees all ticks so far after each; else to its end.
fn make(load: &Load, mut done: impl FnMut(&[Tick]) -> bool) -> (Box<Attendance>, End, Vec<Tick>) {
    let (mut ticks, stop) = (Vec::new(), StopFlag::new());
    let ends = stop.clone();
    let tick = |tick| {
        ticks.push(tick);
        if done(&ticks) {
            ends.stop();
        }
    };
    let end = run(load, None, &stop, |_| (), tick).unwrap();
    (end.rooms.clone().unwrap(), end, ticks)
}

fn failed(ticks: &[Tick]) -> u64 {
    ticks.iter().flat_map(|tick| &tick.errors).map(|error| error.count).sum()
}

/// All 60 messages were sent and have come back to their senders or are overdue, and in the last tick nobody heard a thing.
fn all_is_said(ticks: &[Tick]) -> bool {
    let settled = ticks.iter().map(|tick| tick.ok).sum::<u64>() + failed(ticks);
    let heard = |tick: &Tick| tick.deliveries.as_ref().map_or(0, |deliveries| deliveries.count);
    settled >= 60 && ticks.last().is_some_and(|tick| heard(tick) == 0)
}

#[test]
fn everybody_hears_everything() {
    let node = start(Spec::default());
    let load = Load { timeout: Span::from_secs(30), ..load(node.address()) };
    let (attendance, end, ticks) = make(&load, all_is_said);
    assert_eq!((attendance.score(), attendance.planned(), end.abandoned), (60, 60, 0), "{attendance:#?}");
    assert!(attendance.rooms.iter().all(|room| (room.members, room.sent) == (4, 20)));
    assert!(attendance.rooms.iter().all(|room| room.first.is_some_and(|first| first % 3 == room.room)));
    assert!(attendance.losses.is_empty() && attendance.unsent.is_empty() && attendance.cuts.is_empty());
    assert_eq!((attendance.entered_after, attendance.never_entered), (vec![12, 0, 0], 0));
    let heard: u64 = ticks.iter().filter_map(|tick| tick.deliveries.as_ref()).map(|d| d.count).sum();
    assert_eq!(heard, attendance.rooms.iter().map(|room| room.delivered).sum::<u64>());
    // The first member of a room hears its 20 messages, the three others at least their own five.
    assert!((3 * (20 + 3 * 5)..=60 * 4).contains(&heard), "{heard}: later members miss what was said before");
    assert_eq!(ticks.iter().map(|tick| tick.ok).sum::<u64>(), 60, "each hears its own words");
}

#[test]
fn what_the_server_loses_is_named() {
    let node = start(Spec { lose_every: Some(7), ..Spec::default() });
    let (attendance, _, ticks) = make(&load(node.address()), all_is_said);
    assert_eq!(attendance.score(), 60 - 60 / 7, "{attendance:#?}");
    let lost = |loss: &Loss| (loss.first..=loss.last).map(|n| (loss.sender, n)).collect::<Vec<_>>();
    let messages: BTreeSet<(u32, u32)> = attendance.losses.iter().flat_map(lost).collect();
    assert_eq!(messages.len(), 8, "eight messages, each lost for all who were there: {messages:?}");
    assert!(failed(&ticks) > 0, "those that were overdue while the load ran have failed");
}

#[test]
fn what_is_heard_in_a_wrong_room_is_counted() {
    let node = start(Spec::default());
    let mut load = load(node.address());
    // The room's number comes after the `?`: for the server all members are in one room.
    load.request.path = "/rooms/all?".into();
    let (attendance, _, ticks) = make(&load, all_is_said);
    assert_eq!(attendance.score(), 60, "what was due came: {attendance:#?}");
    let foreign: u64 = attendance.rooms.iter().map(|room| room.foreign).sum();
    let told: u64 = ticks.iter().filter_map(|tick| tick.messages.as_ref()).map(|messages| messages.foreign).sum();
    assert!(foreign > 0 && foreign == told, "{foreign} in rooms, {told} over time");
}

#[test]
fn a_server_that_is_not_there_or_goes_costs_what_it_costs() {
    let mut node = start(Spec::default());
    let load = load(node.address());
    // It goes when everything was said, and the load ends when nobody is connected any more.
    let mut gone = false;
    let (attendance, _, _) = make(&load, |ticks| {
        if !gone && all_is_said(ticks) {
            node.end().unwrap();
            gone = true;
        }
        gone && ticks.last().is_some_and(|tick| tick.connections == 0)
    });
    assert_eq!(attendance.cuts.len(), 12, "all were there, and all were cut off: {attendance:#?}");
    assert_eq!(attendance.score(), 60, "it went after everything was said");
    let (attendance, _, _) = make(&load, |ticks| failed(ticks) >= 12);
    assert_eq!((attendance.score(), attendance.never_entered, attendance.unsent.len()), (0, 12, 12));
    assert_eq!(attendance.refused.iter().map(|refused| refused.count).sum::<u64>(), 12 * 3, "{attendance:#?}");
}
