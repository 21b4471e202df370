use std::io::{Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use genkai_model::rooms::Hops;
use genkai_wire::identity::{Identity, LENGTH};
use genkai_wire::websocket::Kind;

use super::{SLOW, Spec, serve_to};
use crate::aside::Aside;
use crate::peer::{Client, Received, connect};

struct Node {
    address: SocketAddr,
    _aside: Aside,
}

impl Node {
    fn start(spec: Spec) -> Node {
        let aside = Aside::start(move |listener, stop| serve_to(listener, spec, &stop, |_| Ok(()))).unwrap();
        Node { address: aside.address(), _aside: aside }
    }

    fn enter(&self, target: &str) -> Client {
        let mut client = Client::open(self.address, target, None);
        // Who hears its own words is in the room.
        client.say(Kind::Text, b"here");
        while client.hear() != said(Kind::Text, b"here") {}
        client
    }

    fn get(&self, path: &str) -> String {
        let mut stream = connect(self.address);
        write!(stream, "GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        body.to_owned()
    }

    fn hops(&self) -> Hops {
        serde_json::from_str(&self.get("/counters")).unwrap()
    }

    fn eventually(&self, what: impl Fn(&Hops) -> bool) -> Hops {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let hops = self.hops();
            if what(&hops) {
                return hops;
            }
            assert!(Instant::now() < deadline, "{hops:?}");
        }
    }
}

fn said(kind: Kind, data: &[u8]) -> Received {
    Received::Message(kind, data.to_vec())
}

fn message(sender: u32, sequence: u64) -> Vec<u8> {
    let mut text = [0; LENGTH];
    Identity { connection: sender, sequence, planned: 1 }.write(&mut text);
    text.to_vec()
}

#[test]
fn all_of_a_room_hear_and_nobody_else() {
    let node = Node::start(Spec::default());
    let mut anna = node.enter("/rooms/blue?member=1");
    let mut berta = node.enter("/rooms/blue?member=2");
    let mut clara = node.enter("/rooms/red");
    assert_eq!(anna.hear(), said(Kind::Text, b"here"), "Berta's entry");
    let long = vec![7; 60_000];
    anna.say(Kind::Binary, &long);
    berta.say(Kind::Text, "größer".as_bytes());
    for member in [&mut anna, &mut berta] {
        let mut heard = [member.hear(), member.hear()];
        heard.sort_by_key(|heard| matches!(heard, Received::Message(Kind::Text, _)));
        assert_eq!(heard, [said(Kind::Binary, &long), said(Kind::Text, "größer".as_bytes())]);
    }
    clara.say(Kind::Text, b"alone");
    assert_eq!(clara.hear(), said(Kind::Text, b"alone"));
    drop((anna, berta, clara));
    let hops = node.eventually(|hops| hops.left == 3);
    assert_eq!((hops.joined, hops.received, hops.queued, hops.written), (3, 6, 9, 9), "{hops:?}");
}

#[test]
fn who_does_not_read_is_disconnected_and_holds_up_nobody() {
    let node = Node::start(Spec { member_queue: 100_000, trace: 1000, ..Spec::default() });
    let mut talker = node.enter("/rooms/a?member=1");
    let mut sleeper = node.enter("/rooms/a?member=2");
    assert_eq!(talker.hear(), said(Kind::Text, b"here"));
    let mut sent = 0;
    while node.hops().slow == 0 {
        // More than sockets take in all, in the end.
        assert!(sent < 2000, "{:?}", node.hops());
        let mut data = message(1, sent);
        data.resize(30_000, b'x');
        talker.say(Kind::Text, &data);
        assert_eq!(talker.hear(), said(Kind::Text, &data), "the talker hears everything");
        sent += 1;
    }
    let mut came = 0;
    let code = loop {
        match sleeper.hear() {
            Received::Message(..) => came += 1,
            Received::Close(code) => break code,
            // It was cut off before the close frame got through.
            Received::End => break None,
            other => panic!("{other:?}"),
        }
    };
    assert!(code.is_none_or(|code| code == SLOW.0), "{code:?}");
    let hops = node.eventually(|hops| hops.left == 1 && hops.queued == hops.written + hops.dropped_slow);
    assert!(hops.dropped_slow > 0 && came < sent, "{hops:?}, {came} of {sent}");
    let trace = node.get("/trace");
    let lost: Vec<&str> = trace.lines().filter(|line| line.starts_with("d 2 1 ")).collect();
    assert_eq!(lost.len() as u64, hops.dropped_slow, "each lost delivery is named:\n{trace}");
    assert!(lost.iter().all(|line| line.contains(" slow ")), "{lost:?}");
}

#[test]
fn what_is_lost_on_purpose_is_counted_and_traced() {
    let node = Node::start(Spec { lose_every: Some(3), trace: 10, ..Spec::default() });
    let mut member = Client::open(node.address, "/rooms/a?member=5", None);
    (0..6).for_each(|n| member.say(Kind::Text, &message(5, n)));
    let heard: Vec<Received> = (0..4).map(|_| member.hear()).collect();
    assert_eq!(heard, [0, 1, 3, 4].map(|n| said(Kind::Text, &message(5, n))));
    let hops = node.eventually(|hops| hops.received == 6);
    assert_eq!((hops.lost_inside, hops.written), (2, 4));
    let trace = node.get("/trace");
    let inside = |n: u64, hops: u8| trace.lines().any(|line| line.starts_with(&format!("m 5 {n} {hops} ")));
    assert!(inside(2, 9) && inside(5, 9) && inside(0, 1), "{trace}");
}

#[test]
fn what_is_no_room_is_refused() {
    let node = Node::start(Spec::default());
    let status = |target: &str| {
        let mut stream = connect(node.address);
        write!(stream, "GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer[9..12].parse::<u16>().unwrap()
    };
    assert_eq!(["/", "/rooms/", "/rooms/a/b", "/rooms/a"].map(status), [404, 404, 404, 426]);
}

#[test]
fn the_application_of_the_comparison_does_what_it_is_told() {
    let node = Node::start(Spec { max_message: 5_000, ..Spec::default() });
    let open = || Client::open(node.address, "/app", None);
    let (mut one, mut other) = (open(), open());
    let text = |client: &mut Client| match client.hear() {
        Received::Message(Kind::Text, data) => String::from_utf8(data).unwrap(),
        heard => panic!("{heard:?}"),
    };
    let ask = |client: &mut Client, command: &str| {
        client.say(Kind::Text, command.as_bytes());
        text(client)
    };
    // Both are there once both are answered.
    assert_eq!((ask(&mut one, "clear"), ask(&mut other, "hello")), ("cleared".to_owned(), "what?".to_owned()));
    one.say(Kind::Text, b"broadcast 100");
    let (mine, others) = (text(&mut one), text(&mut other));
    assert_eq!((mine.len(), &mine), (100, &others));
    let sent: u64 = mine.strip_prefix("broadcast ").unwrap().split(' ').next().unwrap().parse().unwrap();
    one.say(Kind::Text, format!("stamp {sent} ...").as_bytes());
    one.say(Kind::Text, format!("stamp {sent}").as_bytes());
    let report = ask(&mut one, "report");
    let numbers: Vec<u64> = report.split(' ').skip(1).map(|word| word.parse().unwrap()).collect();
    let [2, sum, longest, 0] = numbers[..] else { panic!("{report}") };
    assert!(longest > 0 && longest <= sum && sum <= 2 * longest, "{report}");
    assert_eq!(
        (ask(&mut other, "clear"), ask(&mut other, "report")),
        ("cleared".to_owned(), "report 0 0 0 0".to_owned())
    );
    for (command, kind) in [("give text 3000000", Kind::Text), ("give binary 3000000", Kind::Binary)] {
        assert!(ask(&mut one, command).starts_with("giving "));
        assert_eq!(one.hear(), said(kind, &vec![b'.'; 3_000_000]), "larger than what may wait, and yet asked for");
    }
    assert_eq!(ask(&mut one, "take 12345"), "took 10");
    one.say(Kind::Binary, &[0; 5_000]);
    assert_eq!(text(&mut one), "took 5000");
    one.say(Kind::Binary, &[0; 5_001]);
    assert_eq!((one.hear(), one.hear()), (Received::Close(Some(1009)), Received::End));
    // What is said there is no message of a room.
    assert_eq!(node.hops().received, 0);
}
