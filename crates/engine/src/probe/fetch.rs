//! One request by itself, its response kept whole: for questions about how a server answers, not for load.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use genkai_wire::http1::{Ending, Length, Memo, Progress, ResponseHead, ResponseReader, fields, write_request};

/// Largest response that is kept.
pub(super) const LARGEST: usize = 4 << 20;

/// A response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// Its status.
    pub status: u16,
    /// Its head, as it came.
    pub head: Vec<u8>,
    /// Its content, without transfer coding.
    pub body: Vec<u8>,
}

impl Fetched {
    /// The first value of a header field.
    pub fn field(&self, name: &str) -> Option<String> {
        let found = fields(&self.head).find(|(its, _)| its.eq_ignore_ascii_case(name.as_bytes()));
        found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
    }
}

/// GET of `path` at `address` on a connection of its own, with these fields, waiting at most `within` for each step.
///
/// # Errors
/// When there is no connection, or no whole response of at most 4 MiB that is HTTP.
pub fn fetch(address: SocketAddr, path: &str, given: &[(&str, &str)], within: Duration) -> io::Result<Fetched> {
    let mut stream = TcpStream::connect_timeout(&address, within)?;
    stream.set_read_timeout(Some(within))?;
    stream.set_write_timeout(Some(within))?;
    let mut message = Vec::new();
    let all = given.iter().copied().chain([("Connection", "close")]);
    write_request(&mut message, "GET", path, "localhost", all, Length::None).map_err(io::Error::other)?;
    stream.write_all(&message)?;
    let (mut reader, mut memo, mut came) = (ResponseReader::new(false), Memo::default(), Vec::new());
    let (mut fetched, mut buffer) = (Fetched::default(), [0; 16 * 1024]);
    loop {
        let n = stream.read(&mut buffer)?;
        if n == 0 && matches!(reader.close(), Ending::Done(_)) {
            break;
        }
        if n == 0 || came.len() + n > LARGEST {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        came.extend_from_slice(&buffer[..n]);
        let body = &mut fetched.body;
        let progress = reader.receive_into(&buffer[..n], &mut memo, |run| body.extend_from_slice(run));
        if matches!(progress.map_err(io::Error::other)?, Progress::Done(_)) {
            break;
        }
    }
    // Interim responses come before the one that counts.
    let mut rest = &came[..];
    while let Ok(Some(head)) = ResponseHead::parse(rest, false) {
        (fetched.status, fetched.head) = (head.status, rest[..head.length].to_vec());
        if !head.interim() {
            return Ok(fetched);
        }
        rest = &rest[head.length..];
    }
    Err(ErrorKind::UnexpectedEof.into())
}
