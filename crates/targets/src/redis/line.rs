//! A connection of genkai's own to a private Redis: inline commands (Redis protocol, "Inline commands"), an answer each.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longest wait for an answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// Longest answer that is read, bytes: `INFO` has some kilobytes.
const LONGEST: usize = 1 << 16;

/// An open connection. Made before others are, it is still there when Redis takes no more.
#[derive(Debug)]
pub(super) struct Line<S = TcpStream>(BufReader<S>);

impl Line {
    /// Connects.
    pub(super) fn open(address: SocketAddr) -> io::Result<Line> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Line::on(stream))
    }
}

impl<S: Read + Write> Line<S> {
    /// On a connection that is open.
    pub(super) fn on(stream: S) -> Line<S> {
        Line(BufReader::new(stream))
    }

    /// The answer to a command: the text of a bulk string, else its line. None when the connection has ended, or nothing came.
    pub(super) fn ask(&mut self, command: &str) -> Option<String> {
        write!(self.0.get_mut(), "{command}\r\n").ok()?;
        let mut head = String::new();
        self.0.by_ref().take(LONGEST as u64).read_line(&mut head).ok().filter(|read| *read > 0)?;
        let Some(length) = head.strip_prefix('$') else { return Some(head.trim_end().to_owned()) };
        let length = length.trim_end().parse::<usize>().ok().filter(|length| *length <= LONGEST)?;
        let mut text = vec![0; length + 2];
        self.0.read_exact(&mut text).ok()?;
        text.truncate(length);
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    /// Whether Redis takes commands on it: one beyond `maxclients` is told so and closed.
    pub(super) fn is_taken(&mut self) -> bool {
        self.ask("PING").is_some_and(|answer| answer == "+PONG")
    }
}
