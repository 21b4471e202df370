//! What genkai and its worker processes say to each other: a JSON value a line, orders on standard input, what was seen on
//! standard output. It is the same for a child process and through ssh.
//!
//! ```text
//! from a worker:  {"said":"hello","version":"0.1.0","layout":"..."}
//! to a worker:    {"look":["10.0.0.1:80"]}    any number of times, answered {"said":"room",...}
//! to a worker:    {"order":{"load":...,"process":0,"of":6}}
//! from a worker:  {"said":"ready"}
//! to a worker:    {"clock":123456700}    at any time until its input ends, answered {"said":"clock","asked":123456700,...}
//! to a worker:    {"start":123456789}    then end of input: stop
//! from a worker:  {"said":"tick",...} an interval each    then    {"said":"ended",...}
//!                 before that {"said":"member",...} for each member of chat rooms, where it made such
//! ```
//!
//! Clients of servers that are compared by latency do step by step what they are told, in the place of a load:
//!
//! ```text
//! to a worker:    {"clients":{...}}
//! from a worker:  {"said":"ready"}
//! to a worker:    {"do":{"connect":{...}}}, {"do":{"step":{...}}}    each answered {"said":"did",...}; then end of input: stop
//! ```
//!
//! Instants are of the worker's CLOCK_MONOTONIC, which is one clock for all processes of a machine (clock_gettime(2)).

use std::io::{self, BufRead, Write};
use std::net::SocketAddr;

use genkai_engine::End;
use genkai_model::event::{ClientUse, Tick, WorkerEnd};
use genkai_model::histogram::{DIGITS, HIGHEST_NS, LOWEST_NS};
use genkai_model::latencies::steps::{ServerClock, Step, StepEnd};
use genkai_model::load::Load;
use genkai_model::rooms::Attended;
use genkai_model::units::Span;
use genkai_place::tail;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::room::Room;

/// What a worker hears before its load.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    /// What its machine has for connections to these addresses is asked for.
    Look(Vec<SocketAddr>),
    /// Its part.
    Order(Box<Order>),
    /// Clients that do what they are told.
    Clients(ClientsOrder),
}

/// How a process has clients that do what they are told.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct ClientsOrder {
    /// The core of their thread; none: any.
    pub(super) cpu: Option<usize>,
    /// As in [`Order`].
    pub(super) leash: Option<Span>,
}

/// What clients are told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Task {
    /// To connect to the next server.
    Connect {
        /// Where it listens.
        address: SocketAddr,
        /// Whether Socket.IO is spoken.
        socketio: bool,
        /// Whether compression is offered.
        compression: bool,
        /// How many of them.
        clients: u32,
        /// Longest wait for anything.
        patience: Span,
    },
    /// A step of a case.
    Step {
        /// Which server, in the order in which they were connected to.
        server: usize,
        /// What.
        step: Step,
        /// How the server's clock stands to theirs.
        clock: ServerClock,
    },
}

/// What came of a task.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Did {
    /// It was done.
    Done(Box<StepEnd>),
    /// The server does not do its part.
    Gone(String),
    /// It could not be done.
    Failed(String),
}

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
    /// It stops when it has not heard anything for so long: the way to it is cut. None: its input ends when ours does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) leash: Option<Span>,
}

/// What a worker hears after its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Word {
    /// When to begin, nanoseconds of its CLOCK_MONOTONIC.
    Start(i64),
    /// What its clock shows; ours showed this, nanoseconds, and comes back.
    Clock(i64),
    /// What its clients are to do next.
    Do(Task),
}

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "said", rename_all = "snake_case")]
pub(super) enum Report {
    /// It is there.
    Hello(Hello),
    /// What its machine has.
    Room(Box<Room>),
    /// Its threads wait for the start.
    Ready,
    /// What its clock showed.
    Clock(Stamps),
    /// An interval of its part ended.
    Tick(Box<Tick>),
    /// A member of chat rooms, at the end of its part.
    Member(Box<Attended>),
    /// What its clients did.
    Did(Did),
    /// Its part is over.
    Ended(Box<Ended>),
    /// It could not make its part.
    Failed {
        /// Whether what was asked for is at fault.
        usage: bool,
        /// Why.
        message: String,
    },
}

impl Report {
    /// The same with no word in it that a terminal obeys: it may come from anybody's program.
    pub(super) fn harmless(self) -> Report {
        match self {
            Report::Hello(Hello { version, layout }) => {
                Report::Hello(Hello { version: harmless(&version), layout: harmless(&layout) })
            }
            Report::Failed { usage, message } => Report::Failed { usage, message: harmless(&message) },
            Report::Did(Did::Gone(why)) => Report::Did(Did::Gone(harmless(&why))),
            Report::Did(Did::Failed(why)) => Report::Did(Did::Failed(harmless(&why))),
            other => other,
        }
    }
}

/// Lines without control characters.
pub(super) fn harmless(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| tail::clean(line.as_bytes())).collect();
    lines.join("\n")
}

/// Who a worker is: parts of a load can only be added where all of them count alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hello {
    /// genkai's version.
    pub(super) version: String,
    /// How its distributions are laid out: bounds and digits.
    pub(super) layout: String,
}

impl Hello {
    /// What this program says.
    pub(super) fn ours() -> Hello {
        let layout = format!("hdrhistogram {LOWEST_NS}-{HIGHEST_NS} ns, {DIGITS} digits");
        Hello { version: env!("CARGO_PKG_VERSION").to_owned(), layout }
    }
}

/// The stamps of an exchange that the other side makes, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamps {
    /// Ours, when it was asked.
    pub(super) asked: i64,
    /// Its clock when it had read that.
    pub(super) received: i64,
    /// Its clock when it answered.
    pub(super) answered: i64,
}

/// How a worker's part ended.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Ended {
    lasted: Span,
    abandoned: u64,
    rss: u64,
    stopped: bool,
    client: ClientUse,
    /// Its own account of itself.
    pub(super) own: WorkerEnd,
}

impl Ended {
    /// The end of a part; `busiest` and `lateness` as in [`WorkerEnd`].
    pub(super) fn new(end: End, own: WorkerEnd) -> Ended {
        // Who heard what in chat rooms is told member by member.
        let End { lasted, abandoned, client_rss: rss, stopped, client, began: _, rooms: _ } = end;
        Ended { lasted, abandoned, rss, stopped, client, own }
    }

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
        // Limits may differ: what is told is of the process that is nearest to its own.
        let filled = |of: &ClientUse, limit: u64| u128::from(of.descriptors) * u128::from(limit);
        if sum.descriptors_limit == 0 || filled(one, sum.descriptors_limit) > filled(sum, one.descriptors_limit) {
            (sum.descriptors, sum.descriptors_limit) = (one.descriptors, one.descriptors_limit);
        }
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
    use genkai_model::histogram::Payload;

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
        let end = End { lasted: Span(lasted), abandoned: 2, client_rss: rss, client, ..super::super::nothing() };
        Ended::new(end, WorkerEnd { began_ns: 5, busiest: 0.5, lateness: Payload::default() })
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
    fn descriptors_are_told_of_the_process_nearest_to_its_limit() {
        let with = |descriptors: u64, limit: u64| {
            let mut one = ended(1, 1);
            (one.client.descriptors, one.client.descriptors_limit) = (descriptors, limit);
            one
        };
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
            let processes = [with(500, 20_000), with(90, 120), with(3, 1_024)];
            let mut all = super::super::nothing();
            order.into_iter().for_each(|n: usize| processes[n].add_to(&mut all));
            assert_eq!((all.client.descriptors, all.client.descriptors_limit), (90, 120), "{order:?}");
        }
    }

    #[test]
    fn what_workers_say_obeys_no_terminal() {
        let said = Report::Failed { usage: false, message: "no\u{1b}[2J\r\n  hint: \u{7}go".to_owned() };
        let Report::Failed { message, .. } = said.harmless() else { panic!("it is another now") };
        assert_eq!(message, "no\u{fffd}[2J\n  hint: \u{fffd}go");
        let hello = Hello { version: "\u{9b}1".to_owned(), ..Hello::ours() };
        assert!(
            matches!(Report::Hello(hello).harmless(), Report::Hello(Hello { version, .. }) if version == "\u{fffd}1")
        );
    }

    #[test]
    fn what_is_said_is_heard() {
        let mut line = Vec::new();
        write(&mut line, &Report::Hello(Hello::ours())).unwrap();
        write(&mut line, &Report::Ready).unwrap();
        write(&mut line, &Report::Tick(Box::new(Tick { ok: 3, ..Tick::default() }))).unwrap();
        write(&mut line, &Report::Clock(Stamps { asked: 1, received: -5, answered: -4 })).unwrap();
        write(&mut line, &Report::Ended(Box::new(ended(1, 2)))).unwrap();
        let mut from = line.as_slice();
        assert!(matches!(read(&mut from).unwrap(), Some(Report::Hello(hello)) if hello == Hello::ours()));
        assert!(matches!(read(&mut from).unwrap(), Some(Report::Ready)));
        assert!(matches!(read(&mut from).unwrap(), Some(Report::Tick(tick)) if tick.ok == 3));
        assert!(matches!(read(&mut from).unwrap(), Some(Report::Clock(Stamps { received: -5, .. }))));
        assert!(matches!(read(&mut from).unwrap(), Some(Report::Ended(ended)) if ended.rss == 1));
        assert!(read::<Report>(&mut from).unwrap().is_none());
        assert!(read::<Report>(&mut &b"{\"said\":\"hello\"}\n"[..]).is_err());
        let mut words = Vec::new();
        write(&mut words, &Word::Start(7)).unwrap();
        assert_eq!(words, b"{\"start\":7}\n");
        assert_eq!(read::<Word>(&mut &b"{\"clock\":-8}\n"[..]).unwrap(), Some(Word::Clock(-8)));
    }
}
