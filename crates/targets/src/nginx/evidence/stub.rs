//! The `stub_status` page: asked with one short connection, read, and freed of genkai's own share.

use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use genkai_place::status_page::read_until;

/// The whole question may take so long; a saturated server must not hold up the observer.
const DEADLINE: Duration = Duration::from_millis(100);

/// Largest answer read. The page is below 400 bytes with its head.
const ANSWER_MAX: usize = 4096;

/// The figures of one `stub_status` page, as nginx counts them (all workers together).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StubStatus {
    /// Client connections open now, idle ones included.
    pub active: u64,
    /// Client connections accepted, cumulative.
    pub accepts: u64,
    /// Of these, given a slot, cumulative. The difference was closed for want of one.
    pub handled: u64,
    /// Requests, cumulative.
    pub requests: u64,
    /// Connections whose request head is being read.
    pub reading: u64,
    /// Connections being answered (or proxied, or upgraded).
    pub writing: u64,
    /// Idle keep-alive connections.
    pub waiting: u64,
}

impl StubStatus {
    /// Reads the page's text; `None` when it is not such a page.
    ///
    /// Format: src/http/modules/ngx_http_stub_status_module.c, `ngx_http_stub_status_handler`.
    pub fn read(text: &str) -> Option<StubStatus> {
        let mut lines = text.lines().map(str::trim);
        let active = lines.find_map(|l| l.strip_prefix("Active connections:"))?.trim().parse().ok()?;
        lines.find(|l| l.starts_with("server accepts handled requests"))?;
        let totals: Vec<u64> = numbers(lines.next()?);
        let states: Vec<u64> = numbers(lines.next()?);
        let ([accepts, handled, requests, ..], [reading, writing, waiting]) = (totals.as_slice(), states.as_slice())
        else {
            return None;
        };
        Some(StubStatus {
            active,
            accepts: *accepts,
            handled: *handled,
            requests: *requests,
            reading: *reading,
            writing: *writing,
            waiting: *waiting,
        })
    }
}

fn numbers(line: &str) -> Vec<u64> {
    line.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// What one question brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The page.
    Page(StubStatus),
    /// Accepted and closed without a byte: nginx had no slot for the question itself.
    Closed,
    /// No answer in time, a refusal, or something that is not the page.
    Silent,
}

/// Where the page is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StubPage {
    /// Listener that serves it.
    pub address: SocketAddr,
    /// Its path, e.g. `/__stub`.
    pub path: String,
    /// `Host` header that leads to its server block.
    pub host: String,
}

impl StubPage {
    /// Asks once, within 100 ms, over a connection of its own.
    pub fn ask(&self) -> Answer {
        let until = Instant::now() + DEADLINE;
        let Ok(mut stream) = TcpStream::connect_timeout(&self.address, DEADLINE) else { return Answer::Silent };
        let request = format!("GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.path, self.host);
        match stream.write_all(request.as_bytes()).and_then(|()| read_until(&mut stream, ANSWER_MAX, until)) {
            Ok(bytes) if bytes.is_empty() => Answer::Closed,
            Ok(bytes) => page_of(&bytes).map_or(Answer::Silent, Answer::Page),
            Err(e) if matches!(e.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => Answer::Closed,
            Err(_) => Answer::Silent,
        }
    }
}

fn page_of(bytes: &[u8]) -> Option<StubStatus> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    head.starts_with("HTTP/1.1 200 ").then(|| StubStatus::read(body))?
}

/// Keeps count of genkai's own questions, so that the figures are about the load alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Poll {
    /// Questions answered.
    pub answered: u64,
    /// Questions accepted and closed.
    pub closed: u64,
    /// Questions without an answer, closed ones included.
    pub unreachable: u64,
    last: Option<StubStatus>,
}

impl Poll {
    /// Takes an answer into account and gives the figures of the load: the question's own connection and the earlier
    /// ones are taken off. `None` when there was no page.
    pub fn take(&mut self, answer: Answer) -> Option<StubStatus> {
        match answer {
            Answer::Page(page) => {
                self.answered += 1;
                let seen = StubStatus {
                    active: page.active.saturating_sub(1),
                    accepts: page.accepts.saturating_sub(self.answered + self.closed),
                    handled: page.handled.saturating_sub(self.answered),
                    requests: page.requests.saturating_sub(self.answered),
                    writing: page.writing.saturating_sub(1),
                    ..page
                };
                self.last = Some(seen);
                Some(seen)
            }
            Answer::Closed => {
                self.closed += 1;
                self.unreachable += 1;
                None
            }
            Answer::Silent => {
                self.unreachable += 1;
                None
            }
        }
    }

    /// The last page seen.
    pub fn last(&self) -> Option<StubStatus> {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use std::net::TcpListener;
    use std::thread;

    const PAGE: &str = "Active connections: 291 \nserver accepts handled requests\n 16630948 16630946 31070465 \n\
                        Reading: 6 Writing: 179 Waiting: 106 \n";

    #[test]
    fn the_page_is_read() {
        let page = StubStatus::read(PAGE).unwrap();
        assert_eq!((page.active, page.accepts, page.handled, page.requests), (291, 16_630_948, 16_630_946, 31_070_465));
        assert_eq!((page.reading, page.writing, page.waiting), (6, 179, 106));
    }

    #[test]
    fn other_pages_are_not() {
        for text in [
            "",
            "<html>404</html>",
            "Active connections: x\n",
            "Active connections: 1 \nserver accepts handled requests\n 1 2\n",
        ] {
            assert_eq!(StubStatus::read(text), None, "{text:?}");
        }
    }

    #[test]
    fn own_questions_are_taken_off() {
        let mut poll = Poll::default();
        assert_eq!(poll.take(Answer::Closed), None);
        assert_eq!(poll.take(Answer::Silent), None);
        // One question closed, this one answered; the load: 10 accepted, 8 handled.
        let page = StubStatus { active: 9, accepts: 12, handled: 9, requests: 50, reading: 0, writing: 5, waiting: 4 };
        let seen = poll.take(Answer::Page(page)).unwrap();
        assert_eq!((seen.active, seen.accepts, seen.handled, seen.requests, seen.writing), (8, 10, 8, 49, 4));
        assert_eq!((poll.unreachable, poll.last()), (2, Some(seen)));
    }

    /// Answers one connection with `bytes` (or closes it at once), and says what `ask` made of it.
    fn asked(bytes: Option<&'static [u8]>) -> Answer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let page = StubPage { address: listener.local_addr().unwrap(), path: "/s".into(), host: "h".into() };
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") {
                assert_eq!(stream.read(&mut byte).unwrap(), 1);
                head.push(byte[0]);
            }
            assert!(head.starts_with(b"GET /s HTTP/1.1\r\nHost: h\r\n"));
            if let Some(bytes) = bytes {
                stream.write_all(bytes).unwrap();
            }
        });
        let answer = page.ask();
        server.join().unwrap();
        answer
    }

    #[test]
    fn answers_are_told_apart() {
        let good = b"HTTP/1.1 200 OK\r\nServer: nginx\r\n\r\nActive connections: 1 \nserver accepts handled requests\n 1 1 1 \nReading: 0 Writing: 1 Waiting: 0 \n";
        assert!(matches!(asked(Some(good)), Answer::Page(p) if p.active == 1));
        assert_eq!(asked(Some(b"HTTP/1.1 500 Internal Server Error\r\n\r\n")), Answer::Silent);
        assert_eq!(asked(None), Answer::Closed);
        let nobody = StubPage { address: "127.0.0.1:1".parse().unwrap(), path: "/".into(), host: "h".into() };
        assert_eq!(nobody.ask(), Answer::Silent);
    }
}
