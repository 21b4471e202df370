//! What caches count themselves.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use genkai_model::cache::OwnCounts;

use crate::socket;
use genkai_place::oneshot::finish;
use genkai_place::process::Spawn;
use genkai_place::scratch::Scratch;
use genkai_place::status_page::read_until;
use genkai_place::tail::Tail;

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// A program that prints them may wait for its server first.
const ANSWER: Duration = Duration::from_secs(30);
/// The same while a load runs: what comes later is of no use.
const GLANCE: Duration = Duration::from_secs(1);
/// Longest answer that is read.
const ANSWER_MAX: usize = 4 << 20;

/// What a program prints of how a cache is, by metric.
pub(crate) type Gauges = fn(&str) -> Vec<(String, f64)>;

/// How a cache tells what it counted since it was started.
#[derive(Debug)]
pub(crate) enum Counters {
    /// A line of its access log for each request; whether one is a hit, none for what is no request of a client.
    Lines(Lines),
    /// A page of its own, at the same listener. The number of times it was read before is handed over, for those that count it too.
    Page {
        /// Its path.
        path: &'static str,
        /// What it says.
        read: fn(&str, u64) -> Option<OwnCounts>,
        /// How far behind it may be.
        lag: Duration,
        /// Other pages, and what each says of how the cache is, by metric; none: it is not asked while a load runs.
        gauges: Vec<(&'static str, Gauges)>,
    },
    /// A program that prints them.
    Program {
        /// Its path and arguments.
        command: Vec<String>,
        /// What it prints.
        read: fn(&str) -> Option<OwnCounts>,
        /// What it prints of how the cache is, by metric; none: it is not asked while a load runs.
        gauges: Option<Gauges>,
        /// Another program with its arguments, and what it prints of how the cache is; none: none is asked.
        beside: Option<(Vec<String>, Gauges)>,
        /// Where it prints to.
        output: PathBuf,
    },
    /// A Unix socket that answers a line.
    Socket {
        /// Its folder, which goes with the cache.
        folder: Scratch,
        /// Its name there.
        name: &'static str,
        /// The line.
        ask: &'static str,
        /// What it answers.
        read: fn(&str) -> Option<OwnCounts>,
    },
}

/// An access log that is counted as it grows.
#[derive(Debug)]
pub(crate) struct Lines {
    tail: Tail,
    is_hit: fn(&str) -> Option<bool>,
    seen: OwnCounts,
}

impl Lines {
    /// Counts the lines of `log` from where it is now.
    fn of(log: PathBuf, is_hit: fn(&str) -> Option<bool>) -> Lines {
        Lines { tail: Tail::open(log), is_hit, seen: OwnCounts::default() }
    }

    /// Counters that are those.
    pub(crate) fn counters(log: PathBuf, is_hit: fn(&str) -> Option<bool>) -> Counters {
        Counters::Lines(Lines::of(log, is_hit))
    }

    /// All lines so far.
    fn count(&mut self) -> OwnCounts {
        loop {
            let lines = self.tail.lines();
            if lines.is_empty() {
                return self.seen;
            }
            for hit in lines.iter().filter_map(|line| (self.is_hit)(line)) {
                *(if hit { &mut self.seen.hits } else { &mut self.seen.misses }) += 1;
            }
        }
    }
}

/// How often in a row counters are the same when they have come to rest: who was just answered may stand in a log a moment later.
const ALIKE: u32 = 5;

/// Reads until that comes to rest, with this long between two looks, or until it has lasted too long.
pub(super) fn at_rest<T: PartialEq, E>(
    pause: Duration,
    longest: Duration,
    mut read: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let (deadline, mut before, mut alike) = (Instant::now() + longest, read()?, 1);
    while alike < ALIKE && Instant::now() < deadline {
        std::thread::sleep(pause);
        let now = read()?;
        alike = if now == before { alike + 1 } else { 1 };
        before = now;
    }
    Ok(before)
}

impl Counters {
    /// How far behind what happened they may be.
    pub(crate) fn lag(&self) -> Duration {
        if let Counters::Page { lag, .. } = self { *lag } else { Duration::ZERO }
    }

    /// Reads them for the `nth` time, from 0.
    ///
    /// # Errors
    /// Why they cannot be read.
    pub(crate) fn read(&mut self, address: SocketAddr, nth: u64) -> Result<OwnCounts, String> {
        let strange = |text: &str| format!("not understood: {}", text.chars().take(200).collect::<String>());
        match self {
            Counters::Lines(lines) => Ok(lines.count()),
            Counters::Page { path, read, .. } => {
                let text = page(address, path, PATIENCE).map_err(|e| e.to_string())?;
                read(&text, nth).ok_or_else(|| strange(&text))
            }
            Counters::Program { command, read, output, .. } => {
                let text = printed(command, output, ANSWER)?;
                read(&text).ok_or_else(|| strange(&text))
            }
            Counters::Socket { folder, name, ask, read } => {
                let text =
                    socket::ask(&folder.path().join(name), ask).ok_or("its statistics socket does not answer")?;
                read(&text).ok_or_else(|| strange(&text))
            }
        }
    }
}

impl Counters {
    /// How the cache at `address` is, by metric; nothing where nobody tells, or not in time.
    pub(crate) fn gauges(&self, address: SocketAddr) -> Vec<(String, f64)> {
        match self {
            Counters::Program { command, gauges: Some(gauges), beside, output, .. } => {
                let all =
                    std::iter::once((command, gauges)).chain(beside.iter().map(|(command, gauges)| (command, gauges)));
                let told = all.filter_map(|(command, gauges)| Some(gauges(&printed(command, output, GLANCE).ok()?)));
                told.flatten().collect()
            }
            Counters::Page { gauges, .. } => {
                let told = |(path, gauges): &(&str, Gauges)| Some(gauges(&page(address, path, GLANCE).ok()?));
                gauges.iter().filter_map(told).flatten().collect()
            }
            _ => Vec::new(),
        }
    }

    /// How many requests of the cache's asking how it is makes.
    pub(crate) fn asked(&self) -> u64 {
        if let Counters::Page { gauges, .. } = self { gauges.len() as u64 } else { 0 }
    }
}

/// What a program prints.
///
/// # Errors
/// Why it does not, within so long.
fn printed(command: &[String], output: &Path, longest: Duration) -> Result<String, String> {
    let mut program = Command::new(&command[0]);
    program.args(&command[1..]);
    let spawn = Spawn { name: command[0].clone(), log: Some(output.to_owned()), ..Spawn::default() };
    Ok(finish(program, spawn, longest).map_err(|e| e.to_string())?.text)
}

fn page(address: SocketAddr, path: &str, longest: Duration) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, longest)?;
    stream.set_write_timeout(Some(longest))?;
    // HTTP/1.0: an answer in chunks could have a name cut in two.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let bytes = read_until(&mut stream, ANSWER_MAX, Instant::now() + longest)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The number in `NAME = 12`, `"NAME": "12"` or `NAME 12`: the first after the name.
pub(crate) fn number(text: &str, name: &str) -> Option<u64> {
    let mut rest = text;
    loop {
        let at = rest.find(name)?;
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        rest = after;
        let inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if before.ends_with(inside) || after.starts_with(inside) {
            continue;
        }
        let digits = after.trim_start_matches(|c: char| c.is_ascii_whitespace() || "=:\"".contains(c));
        let digits: &str = &digits[..digits.bytes().take_while(u8::is_ascii_digit).count()];
        return digits.parse().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_counts_late_is_waited_for() {
        let mut told = [1, 2, 2, 2, 3, 3, 3, 3, 3, 9].into_iter();
        let read = || Ok::<i32, ()>(told.next().unwrap());
        assert_eq!(at_rest(Duration::ZERO, Duration::from_secs(9), read), Ok(3));
        let mut more = 0..;
        assert!(at_rest(Duration::ZERO, Duration::ZERO, || more.next().ok_or(())).is_ok(), "it ends in time");
    }

    #[test]
    fn numbers_are_found_by_whole_names() {
        let text = "client_http.requests = 6\nx.client_http.hits = 9\nclient_http.hits = 3\n\"a.b\": \"12\",";
        assert_eq!(number(text, "client_http.hits"), Some(3));
        assert_eq!((number(text, "a.b"), number(text, "requests"), number(text, "none")), (Some(12), None, None));
    }

    #[test]
    fn a_log_is_counted_as_it_grows() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let mut lines = Lines::of(log.clone(), |line| (line != "-").then(|| line.starts_with("HIT")));
        assert_eq!(lines.count(), OwnCounts::default());
        std::fs::write(&log, "HIT 200\nMISS 200\n-\nHIT").unwrap();
        assert_eq!(lines.count(), OwnCounts { hits: 1, misses: 1 });
        std::fs::write(&log, "HIT 200\nMISS 200\n-\nHIT 304\n").unwrap();
        assert_eq!(lines.count(), OwnCounts { hits: 2, misses: 1 });
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[a-z.=\": 0-9\n]{0,60}", name in "[a-z.]{1,5}") {
            let _ = number(&text, &name);
        }
    }
}
