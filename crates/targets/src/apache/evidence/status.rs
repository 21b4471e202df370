//! The status page (mod_status `?auto`): asked with one short connection and read.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::apache::private::STATUS_PATH;
use genkai_place::status_page::read_until;

/// The whole question may take so long; a saturated server must not hold up the observer.
const DEADLINE: Duration = Duration::from_millis(100);
/// Largest answer read: a scoreboard has a character for each possible worker.
const ANSWER_MAX: usize = 256 * 1024;

/// The figures of one page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Workers that serve a request (or read, write, keep alive with a thread of their own).
    pub busy: u64,
    /// Workers that wait.
    pub idle: u64,
    /// Child processes; none where this MPM does not tell (prefork).
    pub processes: Option<u64>,
    /// Child processes that end gracefully.
    pub stopping: Option<u64>,
    /// Requests since the start.
    pub accesses: u64,
    /// Workers that hold an idle keep-alive connection (`K`).
    pub keeping: u64,
    /// Workers that end gracefully (`G`).
    pub graceful: u64,
}

impl Status {
    /// Reads the page's text; none when it is not such a page.
    ///
    /// Format: modules/generators/mod_status.c, status_handler.
    pub fn read(text: &str) -> Option<Status> {
        let value = |name: &str| text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(": "));
        let number = |name: &str| value(name).and_then(|v| v.trim().parse().ok());
        let board = value("Scoreboard")?;
        let marked = |mark: u8| board.bytes().filter(|b| *b == mark).count() as u64;
        Some(Status {
            busy: number("BusyWorkers")?,
            idle: number("IdleWorkers")?,
            processes: number("Processes"),
            stopping: number("Stopping"),
            accesses: number("Total Accesses").unwrap_or(0),
            keeping: marked(b'K'),
            graceful: marked(b'G'),
        })
    }
}

/// Asks once, within 100 ms; none when there was no page.
pub fn ask(address: SocketAddr) -> Option<Status> {
    let until = Instant::now() + DEADLINE;
    let mut stream = TcpStream::connect_timeout(&address, DEADLINE).ok()?;
    let request = format!("GET {STATUS_PATH}?auto HTTP/1.0\r\nHost: genkai\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let bytes = read_until(&mut stream, ANSWER_MAX, until).ok()?;
    let text = std::str::from_utf8(&bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    head.split_once(' ').is_some_and(|(_, rest)| rest.starts_with("200 ")).then(|| Status::read(body))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_read() {
        let page = "ServerMPM: event\nTotal Accesses: 12\nBusyWorkers: 3\nGracefulWorkers: 1\nIdleWorkers: 72\nProcesses: 3\n\
                    Stopping: 0\nScoreboard: __K_W_G..\n";
        let status = Status::read(page).unwrap();
        assert_eq!((status.busy, status.idle, status.processes, status.accesses), (3, 72, Some(3), 12));
        assert_eq!((status.keeping, status.graceful), (1, 1));
        assert_eq!(Status::read("<html>404</html>"), None);
        assert_eq!(ask("127.0.0.1:1".parse().unwrap()), None);
    }
}
