//! Progress on a terminal (emulated) and as plain lines.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

use genkai_model::event::{Deliveries, Event, Purpose, StatusCount, What};
use genkai_model::load::Protocol;
use genkai_model::rooms::Rooms;
use genkai_model::units::Span;
use genkai_model::websocket::{Message, Messages, WebSocket};
use genkai_report::live::{Lines, Screen};

use crate::fixture;

/// A terminal that remembers what it was told.
#[derive(Clone)]
struct Emulated(Arc<Mutex<vt100::Parser>>);

impl Emulated {
    fn new(rows: u16, columns: u16) -> Emulated {
        let mut parser = vt100::Parser::new(rows, columns, 200);
        parser.process(b"$ genkai tune nginx\r\n");
        Emulated(Arc::new(Mutex::new(parser)))
    }
    fn shown(&self) -> String {
        self.0.lock().unwrap().screen().contents()
    }
    fn cursor_hidden(&self) -> bool {
        self.0.lock().unwrap().screen().hide_cursor()
    }
}

impl Write for Emulated {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().process(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Everything written, as bytes.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The first trial up to a number of its ticks.
fn events(ticks: usize) -> Vec<Event> {
    let all = fixture::experiment(1.0).events;
    let last = all.iter().enumerate().filter(|(_, e)| matches!(e.what, What::Tick(_))).nth(ticks - 1).unwrap().0;
    all[..=last].to_vec()
}

fn drawn(rows: u16, columns: u16, ticks: usize) -> String {
    let terminal = Emulated::new(rows, columns);
    let mut screen = Screen::new(terminal.clone(), true, move || (columns, rows));
    events(ticks).iter().for_each(|e| screen.event(e));
    terminal.shown()
}

#[test]
fn the_screen_at_several_sizes() {
    insta::assert_snapshot!("screen_80x24", drawn(24, 80, 34));
    insta::assert_snapshot!("screen_40x12", drawn(12, 40, 34));
    insta::assert_snapshot!("screen_20x5", drawn(5, 20, 34));
    insta::assert_snapshot!("screen_80x24_before_the_break", drawn(24, 80, 12));
}

/// The same as a plain load that answers and fails.
fn plain(ticks: usize) -> Vec<Event> {
    let mut all = events(ticks);
    all.retain(|e| !matches!(e.what, What::Step(_) | What::Log(_) | What::Note(_)));
    for e in &mut all {
        match &mut e.what {
            What::RunStarted(head) => head.plan.title = "load http://127.0.0.1:8080/".into(),
            What::TrialStarted(started) => started.purpose = Purpose::Measure,
            What::Tick(tick) => tick.statuses = vec![StatusCount { status: 200, count: tick.ok }],
            _ => {}
        }
    }
    all
}

fn loaded(rows: u16, columns: u16, ticks: usize, keys: &str) -> String {
    let terminal = Emulated::new(rows, columns);
    let mut screen = Screen::new(terminal.clone(), true, move || (columns, rows));
    plain(ticks).iter().for_each(|e| screen.event(e));
    keys.chars().for_each(|key| screen.key(key));
    terminal.shown()
}

#[test]
fn the_screen_of_a_plain_load_at_several_sizes() {
    insta::assert_snapshot!("load_80x24", loaded(24, 80, 34, ""));
    insta::assert_snapshot!("load_120x40", loaded(40, 120, 34, ""));
    insta::assert_snapshot!("load_40x12", loaded(12, 40, 34, ""));
    insta::assert_snapshot!("load_24x6", loaded(6, 24, 34, ""));
    insta::assert_snapshot!("load_80x24_at_first", loaded(24, 80, 1, ""));
}

/// The same as chat rooms.
fn chat(ticks: usize) -> Vec<Event> {
    let mut all = plain(ticks);
    for e in &mut all {
        match &mut e.what {
            What::RunStarted(head) => head.plan.title = "rooms (quick)".into(),
            What::TrialStarted(started) => {
                let every = Span::from_secs(1);
                let rooms = Rooms { rooms: 3, messages: 9, every, retries: 1, pause: every, socketio: false };
                let message = Some(Message { size: 64, binary: false });
                let all = WebSocket { message, rooms: Some(rooms), ..WebSocket::default() };
                started.load.protocol = Protocol::WebSocket(all);
            }
            What::Tick(tick) => {
                tick.statuses.clear();
                tick.deliveries = Some(Deliveries { count: tick.ok * 100, latency: tick.latency.clone() });
                tick.messages = Some(Messages { sent: tick.ok, ..Messages::default() });
            }
            _ => {}
        }
    }
    all
}

#[test]
fn chat_rooms_have_members_and_deliveries() {
    let terminal = Emulated::new(24, 100);
    let mut screen = Screen::new(terminal.clone(), true, || (100, 24));
    let mut lines = Lines::new(Vec::new());
    for event in chat(34) {
        screen.event(&event);
        lines.event(&event);
    }
    let written = String::from_utf8(lines.finish()).unwrap();
    for shown in [terminal.shown(), written] {
        for wanted in ["of 300 members", " messages/s", " deliveries/s", " lost", "p99 "] {
            assert!(shown.contains(wanted), "{wanted}:\n{shown}");
        }
        assert!(!shown.contains("users") && !shown.contains("ok/s"), "{shown}");
    }
}

#[test]
fn keys_change_the_time_scale() {
    let shown = |keys: &str| loaded(24, 80, 34, keys);
    assert!(shown("").contains("last 1 min") && shown("x").contains("last 1 min"), "{}", shown(""));
    assert!(shown("-").contains("last 30 s") && shown("--").contains("last 10 s"));
    assert!(shown("+").contains("last 5 min") && shown("+++a").contains("last 1 min"));
}

#[test]
fn a_screen_without_colours_has_none() {
    for (color, events) in [(false, plain(34)), (true, plain(34)), (false, events(34))] {
        let written = Kept::default();
        let mut screen = Screen::new(written.clone(), color, || (80, 24));
        events.iter().for_each(|e| screen.event(e));
        // SGR 30 to 38 and 90 to 97 choose a colour (ECMA-48 8.3.117); crossterm writes 38;5;n.
        let text = written.text();
        let coloured = ["\x1b[3", "\x1b[9"].iter().any(|code| {
            text.match_indices(code).any(|(at, _)| {
                !text[at + code.len()..].starts_with("9m") && {
                    let rest = &text[at + code.len()..];
                    rest.starts_with(|c: char| c.is_ascii_digit())
                        && rest
                            .split_once('m')
                            .is_some_and(|(n, _)| n.len() < 8 && n.chars().all(|c| c.is_ascii_digit() || c == ';'))
                }
            })
        });
        assert_eq!(coloured, color);
    }
}

#[test]
fn no_size_breaks_the_screen() {
    let sizes =
        [(0, 0), (1, 1), (1, 200), (2, 3), (24, 5), (3, 44), (9, 24), (16, 44), (200, 300), (u16::MAX, u16::MAX)];
    for ((rows, columns), events) in sizes.into_iter().flat_map(|size| [(size, events(30)), (size, plain(12))]) {
        let written = Kept::default();
        let mut screen = Screen::new(written.clone(), true, move || (columns, rows));
        events.iter().for_each(|e| screen.event(e));
        screen.finish();
        assert!(!written.text().is_empty(), "{rows}x{columns}");
    }
}

#[test]
fn a_finished_screen_leaves_only_what_is_worth_keeping() {
    let terminal = Emulated::new(40, 80);
    let mut screen = Screen::new(terminal.clone(), true, || (80, 40));
    fixture::experiment(1.0).events.iter().for_each(|e| screen.event(e));
    assert!(terminal.cursor_hidden());
    screen.finish();
    assert!(!terminal.cursor_hidden());
    insta::assert_snapshot!("screen_finished", terminal.shown());
}

#[test]
fn a_dropped_or_panicking_screen_restores_the_terminal() {
    let terminal = Emulated::new(24, 80);
    let other = terminal.clone();
    let panicked = std::panic::catch_unwind(move || {
        let mut screen = Screen::new(other, true, || (80, 24));
        events(20).iter().for_each(|e| screen.event(e));
        panic!("as if something were wrong");
    });
    assert!(panicked.is_err());
    assert!(!terminal.cursor_hidden());
    assert!(!terminal.shown().contains("ok/s"), "{}", terminal.shown());
}

#[test]
fn a_resized_terminal_is_drawn_anew() {
    let columns = Arc::new(AtomicU16::new(80));
    let terminal = Emulated::new(24, 80);
    let width = columns.clone();
    let mut screen = Screen::new(terminal.clone(), true, move || (width.load(Ordering::SeqCst), 24));
    let events = events(34);
    let (before, after) = events.split_at(40);
    before.iter().for_each(|e| screen.event(e));
    columns.store(60, Ordering::SeqCst);
    terminal.0.lock().unwrap().set_size(24, 60);
    after.iter().for_each(|e| screen.event(e));
    let shown = terminal.shown();
    assert_eq!(shown.matches("p99 ").count(), 1, "{shown}");
    assert_eq!(shown.matches("genkai  nginx").count(), 1, "{shown}");
}

#[test]
fn a_terminal_that_goes_away_is_borne() {
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }
    let mut screen = Screen::new(Gone, true, || (80, 24));
    events(10).iter().for_each(|e| screen.event(e));
    screen.finish();
}

#[test]
fn plain_lines_for_a_pipe() {
    let mut lines = Lines::new(Vec::new());
    fixture::experiment(1.0).events.iter().for_each(|e| lines.event(e));
    let text = String::from_utf8(lines.finish()).unwrap();
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "no colours, no cursor moves");
    insta::assert_snapshot!("lines", text);
}

#[test]
fn server_text_cannot_steer_the_terminal() {
    let hostile = "\x1b[2J\x1b]0;owned\x07 oops";
    let mut all = events(30);
    for e in &mut all {
        match &mut e.what {
            What::Log(line) => (line.text, line.level) = (hostile.into(), hostile.into()),
            What::RunStarted(head) => head.plan.title = hostile.into(),
            _ => {}
        }
    }
    let written = Kept::default();
    let mut screen = Screen::new(written.clone(), true, || (80, 24));
    all.iter().for_each(|e| screen.event(e));
    screen.say(hostile);
    screen.finish();
    let text = written.text();
    assert!(text.contains("oops"));
    assert!(!text.contains("\x1b[2J") && !text.contains("\x1b]0;") && !text.contains('\x07'));
}
