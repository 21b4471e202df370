//! Objects asked for one after the other, and their bodies compared: with a server of the test's own that can lie.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use genkai_engine::{StopFlag, content, run};
use genkai_model::content::{Content, Mix, Pages, Sizes, WrongBody};
use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::event::Tick;
use genkai_model::load::Load;
use genkai_model::units::Bytes;

use crate::server::{load, users};

const OBJECTS: u32 = 40;

/// How an answer differs from what it should be.
#[derive(Clone, Copy)]
enum Lie {
    None,
    /// Two objects in place of each other.
    Swapped(u32, u32),
    /// The last byte of an object is another.
    Bent(u32),
    /// An object ends early, and the head says so.
    Short(u32),
    /// Everything in chunks of three bytes, and true.
    Chunked,
}

fn objects() -> Content {
    Content { objects: OBJECTS, sizes: Sizes::LogNormal { median: Bytes(2_700), sigma: 0.5 }, seed: 9 }
}

/// Answers requests on every connection; what was asked for, in order.
fn serve(lie: Lie) -> (SocketAddr, Arc<Mutex<Vec<u32>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = Arc::clone(&seen);
            thread::spawn(move || answer(stream, lie, &seen));
        }
    });
    (address, asked)
}

fn answer(mut stream: TcpStream, lie: Lie, seen: &Mutex<Vec<u32>>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    while let Some(Ok(line)) = lines.next() {
        let Some(path) = line.strip_prefix("GET ").and_then(|rest| rest.split(' ').next()) else { continue };
        let asked: u32 = path.strip_prefix(content::FOLDER).unwrap().parse().unwrap();
        seen.lock().unwrap().push(asked);
        let given = match lie {
            Lie::Swapped(a, b) if asked == a => b,
            Lie::Swapped(a, b) if asked == b => a,
            _ => asked,
        };
        let mut body = Vec::new();
        content::fill(&objects(), given, &mut body);
        match lie {
            Lie::Bent(n) if n == asked => *body.last_mut().unwrap() ^= 1,
            Lie::Short(n) if n == asked => body.truncate(body.len() / 2),
            _ => {}
        }
        let mut all = match lie {
            Lie::Chunked => b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(),
            _ => format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes(),
        };
        match lie {
            Lie::Chunked => {
                for part in body.chunks(3) {
                    all.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
                    all.extend_from_slice(part);
                    all.extend_from_slice(b"\r\n");
                }
                all.extend_from_slice(b"0\r\n\r\n");
            }
            _ => all.extend_from_slice(&body),
        }
        if stream.write_all(&all).is_err() {
            return;
        }
    }
}

/// Asks for objects in the order of `mix`; what was seen.
fn ask(address: SocketAddr, mix: Mix, requests: u32) -> Vec<Tick> {
    let pages = Pages { content: objects(), mix, distinct: OBJECTS, requests, seed: 4 };
    let load = Load { pages: Some(Box::new(pages)), arrivals: users(3), ..load(address, u64::from(requests)) };
    let mut ticks = Vec::new();
    run(&load, None, &StopFlag::new(), |_| {}, |tick| ticks.push(tick)).unwrap();
    ticks
}

fn counted(ticks: &[Tick]) -> (u64, Vec<ErrorCount>, Option<WrongBody>) {
    let errors = ticks.iter().flat_map(|tick| tick.errors.clone()).collect();
    (ticks.iter().map(|tick| tick.ok).sum(), errors, ticks.iter().find_map(|tick| tick.wrong))
}

#[test]
fn a_sweep_asks_for_each_object_once_and_true_bodies_are_well() {
    for lie in [Lie::None, Lie::Chunked] {
        let (address, asked) = serve(lie);
        assert_eq!(counted(&ask(address, Mix::Sweep, OBJECTS)), (u64::from(OBJECTS), vec![], None));
        let mut all = asked.lock().unwrap().clone();
        all.sort_unstable();
        assert_eq!(all, (0..OBJECTS).collect::<Vec<_>>());
    }
}

#[test]
fn a_recorded_order_is_kept_and_begins_again() {
    let (address, asked) = serve(Lie::None);
    let pages =
        Pages { content: objects(), mix: Mix::Recorded(vec![7, 7, 1]), distinct: OBJECTS, requests: 3, seed: 1 };
    let load = Load { pages: Some(Box::new(pages)), arrivals: users(1), ..load(address, 7) };
    run(&load, None, &StopFlag::new(), |_| {}, |_| {}).unwrap();
    assert_eq!(*asked.lock().unwrap(), [7, 7, 1, 7, 7, 1, 7]);
}

#[test]
fn bodies_that_are_not_those_asked_for_are_caught_and_named() {
    let wrong = |count| vec![ErrorCount { kind: ErrorKind::WrongBody, count }];
    let size = |n| u64::from(content::size(&objects(), n));
    let (address, _) = serve(Lie::Swapped(3, 5));
    let (ok, errors, first) = counted(&ask(address, Mix::Sweep, OBJECTS));
    assert_eq!((ok, errors.iter().map(|e| e.count).sum::<u64>()), (u64::from(OBJECTS) - 2, 2), "{errors:?}");
    let first = first.unwrap();
    assert!([(3, Some(5)), (5, Some(3))].contains(&(first.asked, first.came)), "{first:?}");
    assert_eq!((first.due, first.bytes), (size(first.asked), size(first.came.unwrap())));

    let (address, _) = serve(Lie::Bent(11));
    let (ok, errors, first) = counted(&ask(address, Mix::Sweep, OBJECTS));
    assert_eq!((ok, errors), (u64::from(OBJECTS) - 1, wrong(1)));
    assert_eq!(first, Some(WrongBody { asked: 11, came: None, due: size(11), bytes: size(11) }));

    let (address, _) = serve(Lie::Short(12));
    let (_, errors, first) = counted(&ask(address, Mix::Sweep, OBJECTS));
    assert_eq!(errors, wrong(1), "cut short, with a head that hides it");
    assert_eq!(first, Some(WrongBody { asked: 12, came: None, due: size(12), bytes: size(12) / 2 }));
}

#[test]
fn what_cannot_be_asked_for_is_said_before_any_load() {
    let fails = |change: fn(&mut Load)| {
        let pages = Pages { content: objects(), mix: Mix::Sweep, distinct: 1, requests: 1, seed: 1 };
        let mut load = Load { pages: Some(Box::new(pages)), ..load("127.0.0.1:1".parse().unwrap(), 1) };
        change(&mut load);
        let error = run(&load, None, &StopFlag::new(), |_| {}, |_| {}).unwrap_err();
        assert!(error.is_usage(), "{error}");
        error.to_string()
    };
    assert!(fails(|load| load.threads = 2).contains("one thread"));
    assert!(fails(|load| load.request.method = "POST".to_owned()).contains("GET"));
    let recorded = |load: &mut Load| load.pages.as_mut().unwrap().mix = Mix::Recorded(vec![OBJECTS]);
    assert!(fails(recorded).contains("no object 40"));
}
