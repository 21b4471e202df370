//! What genkai and its worker processes say to each other: a JSON value a line, orders on standard input, what was seen on
//! standard output.
//!
//! ```text
//! to a worker:    {"load":...,"process":0,"of":6}    then    {"start":123456789}    then end of input: stop
//! from a worker:  {"said":"ready"}    then    {"said":"tick",...} an interval each    then    {"said":"ended",...}
//! ```
//!
//! The start is an instant of CLOCK_MONOTONIC, which is one clock for all processes of a machine (clock_gettime(2)).

use std::io::{self, BufRead, Write};

use genkai_engine::End;
use genkai_model::event::{ClientUse, Tick};
use genkai_model::load::Load;
use genkai_model::units::Span;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Which part of which load a worker makes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    /// The whole load.
    pub(super) load: Load,
    /// Number of the process, from 0.
    pub(super) process: u16,
    /// Processes there are.
    pub(super) of: u16,
    /// Cores of its threads, in turn.
    pub(super) cpus: Option<Vec<usize>>,
}

/// The word to begin.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Go {
    /// When, nanoseconds of CLOCK_MONOTONIC.
    pub(super) start: i64,
}

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "said", rename_all = "snake_case")]
pub(super) enum Said {
    /// Its threads wait for the start.
    Ready,
    /// An interval of its part ended.
    Tick(Box<Tick>),
    /// Its part is over.
    Ended(Ended),
    /// It could not make its part.
    Failed {
        /// Whether what was asked for is at fault.
        usage: bool,
        /// Why.
        message: String,
    },
}

/// How a worker's part ended.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Ended {
    lasted: Span,
    abandoned: u64,
    rss: u64,
    stopped: bool,
    client: ClientUse,
}

impl From<End> for Ended {
    fn from(end: End) -> Ended {
        // Chat rooms are made by one process: who heard what is not told in parts.
        let End { lasted, abandoned, client_rss: rss, stopped, client, rooms: _ } = end;
        Ended { lasted, abandoned, rss, stopped, client }
    }
}

impl Ended {
    /// Adds a process to `all`: sums, and the largest where one of them is what runs out. The connections of all at one
    /// moment are the caller's to know.
    pub(super) fn add_to(&self, all: &mut End) {
        all.lasted = Span(all.lasted.0.max(self.lasted.0));
        all.abandoned += self.abandoned;
        all.client_rss += self.rss;
        all.stopped |= self.stopped;
        let (sum, one) = (&mut all.client, &self.client);
        sum.processes += one.processes;
        sum.cpu_us += one.cpu_us;
        sum.rss += one.rss;
        sum.rss_max = sum.rss_max.max(one.rss_max);
        sum.descriptors = sum.descriptors.max(one.descriptors);
        sum.descriptors_limit = one.descriptors_limit;
        sum.sources = sum.sources.max(one.sources);
    }
}

/// Writes one line.
pub(super) fn write(to: &mut impl Write, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Reads one line; none at the end.
pub(super) fn read<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_str(&line)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(rss: u64, lasted: u64) -> Ended {
        let client = ClientUse {
            processes: 1,
            cpu_us: 10,
            rss,
            rss_max: rss,
            descriptors: rss + 1,
            descriptors_limit: 99,
            connections: 7,
            sources: 3,
            ports: 0,
        };
        End { lasted: Span(lasted), abandoned: 2, client_rss: rss, stopped: false, client, rooms: None }.into()
    }

    #[test]
    fn processes_add_up() {
        let mut all = super::super::nothing();
        ended(100, 5).add_to(&mut all);
        ended(70, 9).add_to(&mut all);
        assert_eq!((all.lasted.0, all.abandoned, all.client_rss, all.stopped), (9, 4, 170, false));
        let client = all.client;
        assert_eq!((client.processes, client.cpu_us, client.rss_max, client.descriptors), (2, 20, 100, 101));
        assert_eq!(client.rss, 170);
        assert_eq!((client.descriptors_limit, client.sources), (99, 3));
    }

    #[test]
    fn what_is_said_is_heard() {
        let mut line = Vec::new();
        write(&mut line, &Said::Ready).unwrap();
        write(&mut line, &Said::Tick(Box::new(Tick { ok: 3, ..Tick::default() }))).unwrap();
        write(&mut line, &Said::Ended(ended(1, 2))).unwrap();
        let mut from = line.as_slice();
        assert!(matches!(read(&mut from).unwrap(), Some(Said::Ready)));
        assert!(matches!(read(&mut from).unwrap(), Some(Said::Tick(tick)) if tick.ok == 3));
        assert!(matches!(read(&mut from).unwrap(), Some(Said::Ended(ended)) if ended.rss == 1));
        assert!(read::<Said>(&mut from).unwrap().is_none());
        assert!(read::<Said>(&mut &b"{\"said\":\"hello\"}\n"[..]).is_err());
    }
}
