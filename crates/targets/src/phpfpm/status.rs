//! php-fpm's status page, asked over FastCGI on a socket of its own (`pm.status_listen`), where it answers however busy the pool is.

use std::io::{self, Read, Write};
use std::time::Duration;

use genkai_place::endpoint::Endpoint;
use genkai_place::stream::Stream;

/// How long the page may take: it is served by a process that does nothing else.
const WITHIN: Duration = Duration::from_millis(1000);

/// Longest page: about 400 bytes a child, at most a thousand children.
const LARGEST: usize = 4 << 20;

// The FastCGI specification (fastcgi-archives.github.io), 8 "Types and Constants".
const VERSION: u8 = 1;
const BEGIN_REQUEST: u8 = 1;
const END_REQUEST: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;
const RESPONDER: u8 = 1;
const KEEP_CONN: u8 = 1;

/// What the pool says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Status {
    /// Children that are working on a request now. Counted over the children's own states: the page's "active
    /// processes" is as old as the master's last look, up to a second.
    pub(crate) busy: u64,
    /// Children there are.
    pub(crate) processes: u64,
    /// Connections accepted since the start.
    pub(crate) accepted: u64,
    /// Connections waiting to be accepted, as of the master's last look.
    pub(crate) queued: u64,
    /// Times the pool wanted another child and had no more.
    pub(crate) exhausted: u64,
    /// Requests that took longer than `request_slowlog_timeout`; none where the page does not tell.
    pub(crate) slow: Option<u64>,
}

/// A client of the status page.
#[derive(Debug)]
pub(crate) struct StatusPage {
    at: Endpoint,
    request: Vec<u8>,
    /// Whether the connection, and with it the page's process, is kept from look to look.
    keep: bool,
    stream: Option<Stream>,
}

impl StatusPage {
    /// For the page `path` at `at`, with a line for each child; connects with the first look.
    pub(crate) fn full(at: Endpoint, path: &str) -> StatusPage {
        StatusPage { at, request: request(path, "full", true), keep: true, stream: None }
    }

    /// The same without those lines. No connection is kept to a pool that serves others, too.
    pub(crate) fn short(at: Endpoint, path: &str) -> StatusPage {
        StatusPage { at, request: request(path, "", false), keep: false, stream: None }
    }

    /// Looks.
    ///
    /// # Errors
    /// When the page does not answer within a second, or answers nonsense. The next look connects anew.
    pub(crate) fn look(&mut self) -> io::Result<Status> {
        let connect = || Stream::connect(&self.at, WITHIN);
        let stream = match self.stream.take() {
            // A connection that was closed meanwhile (a reload, an idle end) is told by an error: try another.
            Some(mut stream) => match exchange(&mut stream, &self.request) {
                Ok(page) => return self.keep(stream, &page),
                Err(_) => connect()?,
            },
            None => connect()?,
        };
        let mut stream = stream;
        let page = exchange(&mut stream, &self.request)?;
        self.keep(stream, &page)
    }

    fn keep(&mut self, stream: Stream, page: &str) -> io::Result<Status> {
        let status = parse(page).ok_or_else(|| nonsense("the status page has not the lines it should have"))?;
        self.stream = self.keep.then_some(stream);
        Ok(status)
    }
}

/// One request for the page and its answer: CGI headers, an empty line, the page.
fn exchange(stream: &mut Stream, request: &[u8]) -> io::Result<String> {
    stream.write_all(request)?;
    let mut page = Vec::new();
    loop {
        let mut head = [0u8; 8];
        stream.read_exact(&mut head)?;
        let [version, kind, _, _, high, low, padding, _] = head;
        let length = usize::from(u16::from_be_bytes([high, low]));
        let mut content = vec![0u8; length + usize::from(padding)];
        stream.read_exact(&mut content)?;
        match kind {
            _ if version != VERSION => return Err(nonsense("not FastCGI")),
            STDOUT if page.len() + length > LARGEST => return Err(nonsense("the status page does not end")),
            STDOUT => page.extend_from_slice(&content[..length]),
            END_REQUEST => return Ok(String::from_utf8_lossy(&page).into_owned()),
            _ => {}
        }
    }
}

/// A `GET` of `path`, with the variables php-fpm needs to recognise its status page.
fn request(path: &str, query: &str, keep: bool) -> Vec<u8> {
    let variables = [
        ("REQUEST_METHOD", "GET"),
        ("SCRIPT_NAME", path),
        ("SCRIPT_FILENAME", path),
        ("REQUEST_URI", path),
        ("QUERY_STRING", query),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("GATEWAY_INTERFACE", "CGI/1.1"),
    ];
    let mut content = Vec::new();
    for (name, value) in variables {
        content.extend(length(name));
        content.extend(length(value));
        content.extend_from_slice(name.as_bytes());
        content.extend_from_slice(value.as_bytes());
    }
    let mut bytes = record(BEGIN_REQUEST, &[0, RESPONDER, if keep { KEEP_CONN } else { 0 }, 0, 0, 0, 0, 0]);
    bytes.extend(record(PARAMS, &content));
    bytes.extend(record(PARAMS, &[]));
    bytes.extend(record(STDIN, &[]));
    bytes
}

/// A length: in one byte below 128, else in four (3.4 "Name-Value Pairs").
fn length(text: &str) -> Vec<u8> {
    match text.len() {
        short @ 0..128 => vec![short as u8],
        long => (long as u32 | 1 << 31).to_be_bytes().to_vec(),
    }
}

/// One record of request 1, unpadded; `content` is short.
fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let [high, low] = (content.len() as u16).to_be_bytes();
    let mut bytes = vec![VERSION, kind, 0, 1, high, low, 0, 0];
    bytes.extend_from_slice(content);
    bytes
}

fn nonsense(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Reads the text form of the full page (sapi/fpm/fpm/fpm_status.c): the pool's lines, then those of each child. Text
/// rather than JSON, because old versions do not escape the URIs of requests in the latter.
fn parse(page: &str) -> Option<Status> {
    let body = page.split_once("\r\n\r\n").map_or(page, |(_, body)| body);
    let mut lines = body.lines().filter_map(|line| line.split_once(':')).map(|(name, value)| (name, value.trim()));
    let number =
        |wanted: &str| body.lines().find_map(|l| l.strip_prefix(wanted)?.strip_prefix(':')?.trim().parse().ok());
    let mut status = Status {
        busy: 0,
        processes: number("total processes")?,
        accepted: number("accepted conn")?,
        queued: number("listen queue")?,
        exhausted: number("max children reached")?,
        slow: number("slow requests"),
    };
    // Stages of fpm_request_get_stage_name (fpm_request.c): all but `Idle` belong to a request.
    status.busy = lines.by_ref().filter(|(name, value)| *name == "state" && *value != "Idle").count() as u64;
    Some(status)
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener};
    use std::thread;

    use super::*;

    const PAGE: &str = "Content-Type: text/plain\r\n\r\npool:                 wordpress\nprocess manager:      dynamic\n\
        start since:          6\naccepted conn:        12\nlisten queue:         3\nmax listen queue:     4\n\
        listen queue len:     511\nidle processes:       1\nactive processes:     0\ntotal processes:      3\n\
        max active processes: 2\nmax children reached: 1\nslow requests:        0\n\n************************\n\
        pid:                  1\nstate:                Running\nrequest URI:          /?state: Running\n\n\
        ************************\npid:                  2\nstate:                Idle\nuser:                 -\n\n\
        ************************\npid:                  3\nstate:                Reading headers\n";

    #[test]
    fn busy_is_counted_over_the_children() {
        let status = parse(PAGE).unwrap();
        assert_eq!(status, Status { busy: 2, processes: 3, accepted: 12, queued: 3, exhausted: 1, slow: Some(0) });
        assert_eq!(parse("File not found.\n"), None);
    }

    fn asked_full() -> Vec<u8> {
        request("/s", "full", true)
    }

    fn client(at: SocketAddr) -> StatusPage {
        StatusPage::full(Endpoint::Tcp(at), "/s")
    }

    #[test]
    fn long_names_have_long_lengths() {
        assert_eq!((length("/s"), length(&"x".repeat(300))), (vec![2], vec![0x80, 0, 1, 44]));
    }

    /// A server that answers each request on one connection in small records with padding, and hangs up after `looks`.
    fn page(looks: usize) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().take(2) {
                let mut stream = stream.unwrap();
                for _ in 0..looks {
                    let mut asked = vec![0; asked_full().len()];
                    stream.read_exact(&mut asked).unwrap();
                    assert_eq!(asked, asked_full());
                    for part in PAGE.as_bytes().chunks(100) {
                        let mut bytes = record(STDOUT, part);
                        bytes[6] = 5;
                        bytes.extend([0; 5]);
                        stream.write_all(&bytes).unwrap();
                    }
                    stream.write_all(&record(STDOUT, &[])).unwrap();
                    stream.write_all(&record(END_REQUEST, &[0; 8])).unwrap();
                }
            }
        });
        address
    }

    #[test]
    fn one_connection_serves_many_looks_and_a_lost_one_is_replaced() {
        let mut client = client(page(2));
        for look in 0..4 {
            assert_eq!(client.look().unwrap().accepted, 12, "look {look}");
        }
    }

    #[test]
    fn nobody_there_is_an_error_not_a_hang() {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert!(client(gone).look().is_err());
        // Something that is not FastCGI.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        });
        assert!(client(address).look().is_err());
        server.join().unwrap();
    }
}
