//! A WebSocket server that echoes, or does something else with a message when told to. A thread a connection.
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use genkai_wire::http1::RequestHead;
use genkai_wire::websocket::deflate::{Effort, Settings};
use genkai_wire::websocket::handshake::Upgrade;
use genkai_wire::websocket::{Assembler, Decoder, Encoder, Event, Kind, MAX_MESSAGE, Role, Scratch};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// What becomes of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    Echo,
    Twice,
    Nothing,
    /// After the one behind it.
    Swapped,
    Altered,
    /// Something of the server's own before it.
    Heralded,
    /// Something of the server's own instead.
    Replaced,
    /// So long after it came, and in order.
    After(Duration),
    /// A close frame instead; 1005: without a code.
    Close(u16),
    /// The echo, and a close frame in the same segment.
    Last(u16),
    /// RST instead.
    Reset,
    /// Bytes that are no frame instead.
    Nonsense,
}

type Script = dyn Fn(u64) -> Next + Send + Sync;

#[derive(Clone)]
struct Manner {
    script: Arc<Script>,
    greeting: bool,
    ping: Option<Duration>,
    close: Option<Duration>,
    mute: bool,
    curt: bool,
    tls: Option<Arc<ServerConfig>>,
}

/// The server. Ends with the process.
pub(crate) struct Echo {
    pub(crate) address: SocketAddr,
    manner: Arc<Mutex<Manner>>,
    accepted: Arc<AtomicUsize>,
    head: Arc<Mutex<String>>,
}

impl Echo {
    /// `script` says what to do with the n-th message of a connection, from 0.
    pub(crate) fn start(script: impl Fn(u64) -> Next + Send + Sync + 'static) -> Echo {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let manner = Manner {
            script: Arc::new(script),
            greeting: false,
            ping: None,
            close: None,
            mute: false,
            curt: false,
            tls: None,
        };
        let server = Echo {
            address: listener.local_addr().unwrap(),
            manner: Arc::new(Mutex::new(manner)),
            accepted: Arc::default(),
            head: Arc::default(),
        };
        let (manner, accepted, head) = (server.manner.clone(), server.accepted.clone(), server.head.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                accepted.fetch_add(1, Ordering::SeqCst);
                let (manner, head) = (manner.lock().unwrap().clone(), head.clone());
                thread::spawn(move || {
                    stream.set_nodelay(true).unwrap();
                    // Short, so that pings and delays are on time.
                    stream.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
                    let raw = stream.try_clone().unwrap();
                    let _ = match manner.tls.clone() {
                        None => serve(stream, &raw, &manner, &head),
                        Some(config) => {
                            let session = ServerConnection::new(config).unwrap();
                            serve(StreamOwned::new(session, stream), &raw, &manner, &head)
                        }
                    };
                });
            }
        });
        server
    }

    pub(crate) fn faithful() -> Echo {
        Echo::start(|_| Next::Echo)
    }

    fn with(self, change: impl FnOnce(&mut Manner)) -> Echo {
        change(&mut self.manner.lock().unwrap());
        self
    }

    /// Whether it says something in the same segment as the handshake's answer.
    pub(crate) fn greeting(self, greeting: bool) -> Echo {
        self.with(|m| m.greeting = greeting)
    }

    pub(crate) fn pinging(self, every: Duration) -> Echo {
        self.with(|m| m.ping = Some(every))
    }

    pub(crate) fn closing_after(self, age: Duration) -> Echo {
        self.with(|m| m.close = Some(age))
    }

    /// It answers no ping.
    pub(crate) fn without_pongs(self) -> Echo {
        self.with(|m| m.mute = true)
    }

    /// Told to close, it says nothing any more but its close frame, as servers do that answer messages later.
    pub(crate) fn curt(self) -> Echo {
        self.with(|m| m.curt = true)
    }

    pub(crate) fn secured(self, config: ServerConfig) -> Echo {
        self.with(|m| m.tls = Some(Arc::new(config)))
    }

    pub(crate) fn connections(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    pub(crate) fn last_head(&self) -> String {
        self.head.lock().unwrap().clone()
    }
}

/// Bytes, none when there are none for now.
fn read(stream: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    match stream.read(buffer) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Ok(0),
        other => other,
    }
}

/// The opening handshake.
fn open(
    stream: &mut (impl Read + Write),
    manner: &Manner,
    last_head: &Mutex<String>,
) -> io::Result<(Encoder, Decoder)> {
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 65_536]);
    while !bytes.windows(4).any(|w| w == b"\r\n\r\n") {
        let n = read(stream, &mut buffer)?;
        bytes.extend_from_slice(&buffer[..n]);
    }
    let head = RequestHead::parse(&bytes).unwrap().unwrap();
    *last_head.lock().unwrap() = String::from_utf8_lossy(&bytes[..head.length]).into_owned();
    let upgrade = Upgrade::check(&bytes, &head).expect("the engine asks correctly");
    let protocol = upgrade.protocols().next();
    let mut out = Vec::new();
    let agreed = upgrade.accept(&mut out, protocol, Some(&Settings::default()), &[]).unwrap();
    let (mut encoder, mut decoder) = (Encoder::new(Role::Server), Decoder::new(Role::Server, MAX_MESSAGE));
    if let Some(agreed) = agreed {
        encoder = encoder.deflating(&agreed, Effort::default());
        decoder = decoder.inflating(&agreed);
    }
    let mut scratch = Scratch::default();
    if manner.greeting {
        encoder.message(&mut out, Kind::Text, b"welcome", 0, &mut scratch).unwrap();
    }
    stream.write_all(&out)?;
    stream.flush()?;
    Ok((encoder, decoder))
}

fn serve(mut stream: impl Read + Write, raw: &TcpStream, manner: &Manner, last_head: &Mutex<String>) -> io::Result<()> {
    let mut buffer = vec![0; 65_536];
    let (mut encoder, mut decoder) = open(&mut stream, manner, last_head)?;
    let (mut out, mut scratch) = (Vec::new(), Scratch::default());
    let mut assembler = Assembler::default();
    let (began, mut pinged, mut n) = (Instant::now(), Instant::now(), 0);
    let mut swapped: Option<(Kind, Vec<u8>)> = None;
    let mut due: VecDeque<(Instant, Kind, Vec<u8>)> = VecDeque::new();
    loop {
        out.clear();
        while due.front().is_some_and(|(at, ..)| *at <= Instant::now()) {
            let (_, kind, data) = due.pop_front().unwrap();
            encoder.message(&mut out, kind, &data, 0, &mut scratch).unwrap();
        }
        if manner.ping.is_some_and(|every| pinged.elapsed() >= every) {
            pinged = Instant::now();
            encoder.ping(&mut out, b"there?", 0).unwrap();
        }
        if manner.close.is_some_and(|age| began.elapsed() >= age) {
            encoder.close(&mut out, Some((1001, "")), 0).unwrap();
            return stream.write_all(&out).and_then(|()| stream.flush());
        }
        stream.write_all(&out)?;
        out.clear();
        let got = read(&mut stream, &mut buffer)?;
        let mut at = 0;
        while let (used, Some(event)) = decoder.decode(&mut buffer[at..got], &mut scratch).unwrap() {
            at += used;
            let message = match event {
                Event::Data(chunk) => assembler.push(chunk).map(|m| (m.kind, m.data.to_vec())),
                Event::Ping(_) if manner.mute => None,
                Event::Ping(payload) => {
                    encoder.pong(&mut out, payload, 0).unwrap();
                    None
                }
                Event::Pong(payload) => {
                    assert_eq!(payload, b"there?");
                    None
                }
                Event::Close(close) => {
                    // What is delayed comes first, as it would from a server that works it off in order.
                    let answer = close.answer();
                    for (at, kind, data) in due.drain(..).filter(|_| !manner.curt) {
                        thread::sleep(at.saturating_duration_since(Instant::now()));
                        encoder.message(&mut out, kind, &data, 0, &mut scratch).unwrap();
                    }
                    encoder.close(&mut out, answer, 0).unwrap();
                    return stream.write_all(&out).and_then(|()| stream.flush());
                }
            };
            let Some((kind, mut data)) = message else { continue };
            let next = (manner.script)(n);
            n += 1;
            let delay = if let Next::After(delay) = next { delay } else { Duration::ZERO };
            match next {
                Next::Nothing => continue,
                Next::Swapped => {
                    swapped = Some((kind, data));
                    continue;
                }
                Next::Altered => *data.last_mut().unwrap() ^= 1,
                Next::Close(code) => {
                    encoder.close(&mut out, (code != 1005).then_some((code, "bye")), 0).unwrap();
                    return stream.write_all(&out).and_then(|()| stream.flush());
                }
                Next::Reset => {
                    socket2::SockRef::from(raw).set_linger(Some(Duration::ZERO)).unwrap();
                    return Ok(());
                }
                Next::Nonsense => {
                    stream.write_all(&[0xff; 20])?;
                    return stream.flush();
                }
                Next::Replaced => data = b"welcome".to_vec(),
                Next::Heralded => encoder.message(&mut out, kind, b"welcome", 0, &mut scratch).unwrap(),
                Next::Last(code) => {
                    encoder.message(&mut out, kind, &data, 0, &mut scratch).unwrap();
                    encoder.close(&mut out, Some((code, "bye")), 0).unwrap();
                    return stream.write_all(&out).and_then(|()| stream.flush());
                }
                Next::Echo | Next::Twice | Next::After(_) => {}
            }
            let mut all = vec![data.clone()];
            if let Next::Twice = next {
                all.push(data);
            }
            all.extend(swapped.take().map(|(_, data)| data));
            for data in all {
                if delay.is_zero() && due.is_empty() {
                    encoder.message(&mut out, kind, &data, 0, &mut scratch).unwrap();
                } else {
                    let last = due.back().map_or(Instant::now(), |(at, ..)| *at);
                    due.push_back((last.max(Instant::now() + delay), kind, data));
                }
            }
        }
        stream.write_all(&out)?;
        stream.flush()?;
    }
}
