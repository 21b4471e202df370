//! The origin over real sockets.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use genkai_model::units::Bytes;
use genkai_wire::http1::ResponseHead;

use super::*;

const LONG: Duration = Duration::from_secs(20);

struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<()>>>,
    lines: Receiver<String>,
}

/// Standard output of the server: what it writes goes into a channel.
struct Out(Sender<String>);

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        self.0.send(text).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn spec(body: u64, service: &str, workers: Option<u32>, queue: Option<u32>) -> OriginSpec {
    OriginSpec { body: Bytes(body), service_time: service.parse().unwrap(), workers, queue, seed: 1 }
}

impl Server {
    fn start(spec: OriginSpec) -> Server {
        Server::start_with(spec, Extras::default())
    }

    fn start_with(spec: OriginSpec, extras: Extras) -> Server {
        let listener = crate::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, lines) = channel();
        let flag = Arc::clone(&stop);
        let extras = Extras { stats: Some(Duration::from_millis(1)), ..extras };
        let thread = thread::spawn(move || serve_to(listener, &spec, &extras, &flag, Out(sender)));
        Server { address, stop, thread: Some(thread), lines }
    }

    fn client(&self) -> Client {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        Client { stream, bytes: Vec::new() }
    }

    /// Ends it; every line it printed that was not read before.
    fn end(mut self) -> Vec<serde_json::Value> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap().unwrap();
        let text: String = self.lines.try_iter().collect();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Waits until a line of counts has these values.
    fn wait(&self, name: &str, value: u64) {
        let deadline = Instant::now() + LONG;
        let mut text = String::new();
        loop {
            text += &self.lines.recv_timeout(deadline - Instant::now()).expect("no such count in time");
            let Some((line, rest)) = text.split_once('\n') else { continue };
            let counts: serde_json::Value = serde_json::from_str(line).unwrap();
            text = rest.to_owned();
            if counts[name] == value {
                return;
            }
        }
    }
}

struct Client {
    stream: TcpStream,
    bytes: Vec<u8>,
}

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Client {
    fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).unwrap();
    }

    /// The next answer, its length taken from Content-Length; to a HEAD request, its head only.
    fn answer(&mut self, to_head: bool) -> Answer {
        let head = loop {
            if let Some(head) = ResponseHead::parse(&self.bytes, to_head).unwrap() {
                break head;
            }
            assert!(self.read(), "the connection ended inside a head");
        };
        let text: Vec<u8> = self.bytes.drain(..head.length).collect();
        let text = String::from_utf8(text).unwrap();
        let field = text.lines().find_map(|line| line.strip_prefix("Content-Length: ").map(str::trim_end));
        let length: usize = field.map_or(0, |length| length.parse().unwrap());
        let length = if to_head { 0 } else { length };
        while self.bytes.len() < length {
            assert!(self.read(), "the connection ended inside a body");
        }
        Answer { status: head.status, head: text, body: self.bytes.drain(..length).collect() }
    }

    fn read(&mut self) -> bool {
        let mut buffer = vec![0; 65536];
        let n = self.stream.read(&mut buffer).unwrap();
        self.bytes.extend_from_slice(&buffer[..n]);
        n > 0
    }

    fn ended(&mut self) -> bool {
        self.bytes.is_empty() && !self.read()
    }
}

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn an_answer_is_whole_and_says_what_it_must() {
    let server = Server::start(spec(1000, "0s", None, None));
    let mut client = server.client();
    client.send(GET);
    let answer = client.answer(false);
    assert_eq!((answer.status, answer.body.len()), (200, 1000));
    assert!(answer.body.starts_with(b"genkai origin"));
    for field in ["Content-Length: 1000\r\n", "Content-Type: text/plain\r\n", "X-Served-By: genkai-origin\r\n"] {
        assert!(answer.head.contains(field), "{}", answer.head);
    }
    let date = answer.head.lines().find_map(|line| line.strip_prefix("Date: ")).unwrap();
    let age = std::time::SystemTime::now().duration_since(httpdate::parse_http_date(date).unwrap());
    assert!(age.unwrap() < LONG, "{date}");
    client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    let head = client.answer(true);
    assert!(head.head.contains("Content-Length: 1000\r\n"), "{}", head.head);
    client.send(GET);
    assert_eq!(client.answer(false).body, answer.body, "HEAD must not be followed by a body");
}

#[test]
fn request_bodies_are_read_and_forgotten() {
    let server = Server::start(spec(3, "0s", None, None));
    let mut client = server.client();
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                   5;x=1\r\nGET /\r\n10\r\n0123456789abcdef\r\n0\r\nTrailer: t\r\n\r\n";
    for byte in chunked.as_bytes() {
        client.stream.write_all(&[*byte]).unwrap();
    }
    assert_eq!(client.answer(false).status, 200);
    client.send(&format!("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n{}", "x".repeat(300_000)));
    assert_eq!(client.answer(false).status, 200);
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.answer(false).status, 100);
    client.send("body");
    assert_eq!(client.answer(false).status, 200);
}

#[test]
fn requests_sent_ahead_are_answered_in_order_and_once() {
    let server = Server::start(spec(20_000, "exp(100us)", Some(2), None));
    let mut client = server.client();
    let mut text = GET.repeat(200);
    text += "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n";
    text += "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    client.send(&text);
    for _ in 0..200 {
        assert_eq!(client.answer(false).body.len(), 20_000);
    }
    assert_eq!(client.answer(true).status, 200);
    let last = client.answer(false);
    assert!(last.head.contains("Connection: close\r\n"), "{}", last.head);
    assert!(client.ended());
    assert_eq!(server.end().last().unwrap()["done_total"], 202);
}

#[test]
fn old_clients_get_what_they_ask_for() {
    let server = Server::start(spec(1, "0s", None, None));
    let mut client = server.client();
    client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert!(client.answer(false).head.contains("Connection: keep-alive\r\n"));
    client.send("GET / HTTP/1.0\r\n\r\n");
    assert!(client.answer(false).head.contains("Connection: close\r\n"));
    assert!(client.ended());
}

#[test]
fn nonsense_is_told_so_and_the_connection_ends() {
    let server = Server::start(spec(1, "0s", None, None));
    let long = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(300_000));
    let cases = [
        ("\x16\x03\x01 not http", 400),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000000\r\n\r\n", 413),
        (long.as_str(), 400),
    ];
    for (text, status) in cases {
        let mut client = server.client();
        client.send(text);
        // What comes after the mistake must not destroy the answer.
        let _ = client.stream.write_all(&[b'z'; 10_000]);
        assert_eq!(client.answer(false).status, status, "{text:.60}");
        assert!(client.ended(), "{text:.60}");
    }
    let mut client = server.client();
    client.send(GET);
    assert_eq!(client.answer(false).status, 200, "the server lives on");
}

#[test]
fn a_large_body_to_a_slow_reader_is_whole() {
    let server = Server::start(spec(8 << 20, "0s", None, None));
    let mut client = server.client();
    client.send(GET);
    let mut other = server.client();
    other.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(other.answer(true).status, 200, "one that does not read holds up nobody");
    let body = client.answer(false).body;
    assert_eq!(body.len(), 8 << 20);
    // The text repeats with its piece of 64 KiB.
    assert!(body.chunks(65536).all(|piece| piece == &body[..65536]));
}

#[test]
fn never_more_in_service_than_workers_and_nobody_is_forgotten() {
    const SERVICE: Duration = Duration::from_millis(20);
    let server = Server::start(spec(1, "20ms", Some(3), None));
    let started = Instant::now();
    let mut clients: Vec<Client> = (0..12).map(|_| server.client()).collect();
    clients.iter_mut().for_each(|client| client.send(GET));
    for client in &mut clients {
        assert_eq!(client.answer(false).status, 200);
    }
    // Twelve requests in turns of three: four turns, never faster.
    assert!(started.elapsed() >= 4 * SERVICE);
    let lines = server.end();
    assert!(lines.iter().all(|line| line["busy"].as_u64().unwrap() <= 3));
    assert!(lines.iter().all(|line| line["workers"] == 3));
    let last = lines.last().unwrap();
    assert_eq!((&last["done_total"], &last["busy"], &last["queued"]), (&12.into(), &0.into(), &0.into()));
}

#[test]
fn a_full_queue_is_503_and_the_connection_stays() {
    let server = Server::start(spec(1, "1h", Some(1), Some(1)));
    let (mut served, mut queued, mut refused) = (server.client(), server.client(), server.client());
    served.send(GET);
    server.wait("busy", 1);
    queued.send(GET);
    server.wait("queued", 1);
    for _ in 0..2 {
        refused.send(GET);
        assert_eq!(refused.answer(false).status, 503);
    }
    refused.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(refused.answer(true).status, 503);
    let last = server.end().pop().unwrap();
    assert_eq!((&last["busy"], &last["queued"], &last["refused_total"]), (&1.into(), &1.into(), &3.into()));
}

/// As each request waits for the one before, every response takes at least its service time, and the times are those of
/// the seed.
#[test]
fn service_times_are_those_drawn() {
    let spec = spec(1, "uniform(1ms,5ms)", Some(4), None);
    let mut times = crate::service::Times::new(spec.service_time, spec.seed);
    let server = Server::start(spec);
    let mut client = server.client();
    for _ in 0..50 {
        let sent = Instant::now();
        client.send(GET);
        client.answer(false);
        let drawn = Duration::from_nanos(times.draw());
        assert!(sent.elapsed() >= drawn, "{:?}, drawn {drawn:?}", sent.elapsed());
    }
}

#[test]
fn without_a_reader_it_ends_quietly() {
    let mut server = Server::start(spec(1, "0s", None, None));
    server.lines = channel().1;
    server.thread.take().unwrap().join().unwrap().unwrap();
}

/// The account knows of a request that waited in its socket while the origin stood still.
#[test]
fn the_account_tells_what_was_done() {
    const STALL: Duration = Duration::from_millis(300);
    let folder = std::env::temp_dir().join(format!("genkai-account-{}-{:p}", std::process::id(), &STALL));
    let extras = Extras {
        stall: Some(Stall { lasts: STALL, every: Duration::from_millis(500) }),
        account: Some(folder.clone()),
        ..Extras::default()
    };
    // It works at nothing, so what a request took is what it waited for being read.
    let server = Server::start_with(spec(1, "0s", None, None), extras);
    let mut client = server.client();
    let (began, mut asked, mut stalls) = (Instant::now(), 0, 0);
    // Several of them: the kernel begins to stamp a while after it was asked to (net/core/dev.c, net_enable_timestamp), and what
    // came before is stamped when it is read.
    while stalls < 5 && began.elapsed() < LONG {
        let sent = Instant::now();
        client.send(GET);
        assert_eq!(client.answer(false).status, 200);
        (asked, stalls) = (asked + 1, stalls + u32::from(sent.elapsed() >= STALL / 2));
    }
    drop(client);
    server.end();
    let text = std::fs::read_to_string(&folder).unwrap();
    std::fs::remove_file(&folder).unwrap();
    let mut lines = text.lines();
    let head: serde_json::Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    let took = |from: i64, to: i64| Duration::from_nanos(to.checked_sub(from).unwrap().try_into().unwrap());
    let stall = &head["stalls"][0];
    assert!(took(stall[0].as_i64().unwrap(), stall[1].as_i64().unwrap()) >= STALL, "{head}");
    let served: Vec<Duration> = lines
        .map(|line| line.split_once(' ').unwrap())
        .map(|(arrived, answered)| took(arrived.parse().unwrap(), answered.parse().unwrap()))
        .collect();
    assert_eq!(served.len(), asked);
    // The kernel's stamp is in the stall, though the request was read after it.
    assert!(served.iter().any(|took| *took >= STALL / 2), "{:?} {head}", served.iter().max());
}
