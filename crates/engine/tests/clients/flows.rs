//! Redirections of a scenario: whose time they take, and where they lead.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::server::{HELLO, Seen, Server, load, make};
use genkai_model::load::Load;
use genkai_model::scenario::{Flow, Request, Scenario, Step, Target};
use genkai_model::template::Template;
use genkai_model::units::Span;

/// A user who asks for each of `paths` in turn, again and again, and follows one redirection of each; until so many requests are made.
fn tour(server: &Server, paths: &[&str], requests: u64) -> Load {
    let target = Target {
        name: "site".to_owned(),
        url: format!("http://{}", server.address),
        addresses: vec![server.address],
        transport: Default::default(),
        http2: None,
        host: server.address.to_string(),
        base: String::new(),
    };
    let step = |path: &&str| {
        Step::Request(Box::new(Request {
            name: 0,
            target: 0,
            method: "GET".to_owned(),
            path: Template::text(*path),
            headers: Vec::new(),
            body: None,
            redirects: 1,
            cookies: false,
            timeout: None,
            captures: Vec::new(),
            checks: Vec::new(),
        }))
    };
    let flow = Flow { name: "tour".to_owned(), weight: 1, steps: paths.iter().map(step).collect() };
    let scenario = Scenario {
        targets: vec![target],
        variables: Vec::new(),
        tables: Vec::new(),
        flows: vec![flow],
        names: vec!["page".to_owned()],
        checks: Vec::new(),
        drain: Span::from_secs(5),
        skip: false,
    };
    Load { scenario: Some(Box::new(scenario)), ..load(server.address, requests) }
}

/// The path of the next request; none when there is none.
fn asked(stream: &mut TcpStream) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        (stream.read(&mut byte).ok()? == 1).then(|| head.push(byte[0]))?;
    }
    String::from_utf8_lossy(&head).split(' ').nth(1).map(str::to_owned)
}

/// Requests that were written so long after they were due, by the generator's own account.
fn late(seen: &Seen, by: Duration) -> u64 {
    seen.merged(|tick| &tick.lateness).count_between(by.as_nanos() as u64, u64::MAX)
}

#[test]
fn what_a_server_takes_to_redirect_is_not_the_generators_lateness() {
    const REDIRECTING: Duration = Duration::from_millis(200);
    let server = Server::start(|stream, _| {
        while let Some(path) = asked(stream) {
            let landed = path == "/landed";
            if !landed {
                thread::sleep(REDIRECTING);
            }
            let moved = b"HTTP/1.1 302 Found\r\nLocation: /landed\r\nContent-Length: 0\r\n\r\n";
            let _ = stream.write_all(if landed { HELLO } else { moved });
        }
    });
    let seen = make(&tour(&server, &["/login"], 6));
    assert_eq!((seen.ok(), seen.errors()), (6, 0));
    assert!(
        seen.merged(|tick| &tick.latency).min() as f64 >= REDIRECTING.as_nanos() as f64 * 0.999,
        "it is the user's wait"
    );
    let service = seen.merged(|tick| &tick.service).min();
    assert!(
        service as f64 >= REDIRECTING.as_nanos() as f64 * 0.999,
        "it counts from the first byte of the first request"
    );
    // All six second requests would be, if they were due when the first were.
    assert!(late(&seen, REDIRECTING.mul_f64(0.9)) < 6);
    assert!(!seen.merged(|tick| &tick.lateness).is_empty());
}

/// What is asked for and what it redirects to are one request, which has one time.
#[test]
fn a_redirection_and_where_it_leads_have_one_timeout() {
    const EACH: Duration = Duration::from_millis(300);
    let server = Server::start(|stream, _| {
        while let Some(path) = asked(stream) {
            thread::sleep(EACH);
            let moved = b"HTTP/1.1 302 Found\r\nLocation: /landed\r\nContent-Length: 0\r\n\r\n";
            let _ = stream.write_all(if path == "/landed" { HELLO } else { moved });
        }
    });
    for (within, ends) in [(EACH * 3 / 2, (0, 2)), (EACH * 9, (2, 0))] {
        let mut load = tour(&server, &["/login"], 2);
        load.timeout = within.into();
        let seen = make(&load);
        assert_eq!((seen.ok(), seen.errors()), ends, "{within:?}");
    }
}

#[test]
fn waiting_for_a_server_to_close_is_not_the_generators_lateness() {
    // It says that it will close, and leaves that to the client.
    let server = Server::start(|stream, _| {
        while asked(stream).is_some() {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let seen = make(&tour(&server, &["/a", "/b", "/c", "/d"], 40));
    assert_eq!((seen.ok(), seen.errors(), server.connections()), (40, 0, 40));
    // Three of four follow another in their run; each waits for 20 ms before that.
    let late = late(&seen, Duration::from_millis(19));
    assert!(late < 25, "{late} of 40");
}

#[test]
fn a_redirection_leads_where_it_says() {
    for (location, landed) in [
        ("/login?next=https://app/", Some("/login?next=https://app/")),
        ("there?to=http://a.b/c", Some("/old/there?to=http://a.b/c")),
        ("?to=http://a.b/c", Some("/old/page?to=http://a.b/c")),
        ("http://HERE/x?y=http://z/", Some("/x?y=http://z/")),
        ("http://HERE?q", Some("/?q")),
        ("http://elsewhere.test/x", None),
        ("//elsewhere.test/x", None),
    ] {
        let paths = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&paths);
        let server = Server::start(move |stream, _| {
            let here = stream.local_addr().expect("an address").to_string();
            while let Some(path) = asked(stream) {
                let moved = path == "/old/page";
                heard.lock().unwrap().push(path);
                let _ = if moved {
                    let location = location.replace("HERE", &here);
                    write!(stream, "HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
                } else {
                    stream.write_all(HELLO)
                };
            }
        });
        let seen = make(&tour(&server, &["/old/page"], 1));
        assert_eq!((seen.ok(), seen.errors()), (1, 0), "{location}");
        let paths = paths.lock().unwrap().clone();
        assert_eq!((paths[0].as_str(), paths.get(1).map(String::as_str)), ("/old/page", landed), "{location}");
    }
}
