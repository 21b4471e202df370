//! What the clients ask of its server, and how long that takes.

use std::time::{Duration, Instant};

use genkai_model::histogram::empty;
use genkai_model::latencies::Case;
use genkai_model::latencies::steps::ServerClock;
use genkai_model::websocket::CloseCount;
use genkai_wire::websocket::Kind;
use hdrhistogram::Histogram;

use super::client::ReceivedMessage;
use super::clock::{delay, stamp, wrong};
use super::dialect::HEAD;
use super::{BroadcastClients, BroadcastError, busy, monotonic};

/// Between two questions how many messages have arrived: the server is busy reading them.
const POLL: Duration = Duration::from_millis(5);

/// What came of asking.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The case's figure, ns; none when the answer was not whole.
    pub figure: Option<u64>,
    /// Delay of each client, ns, where there are several.
    pub delays: Histogram<u64>,
    /// Messages that were due.
    pub due: u64,
    /// Those that did not come.
    pub missing: u64,
    /// Connections that ended meanwhile, by code.
    pub closes: Vec<CloseCount>,
    /// Connections that had ended since the last question and were opened again, by code.
    pub reopened: Vec<CloseCount>,
    /// How long it took, the client's own work included.
    pub lasted: Duration,
    /// Part of that time in which this thread was busy.
    pub busy: f64,
    /// Heap in use in the server afterwards, bytes, where it has one.
    pub heap: Option<u64>,
}

impl Answer {
    /// Of a server that cannot be asked.
    pub fn none(due: u64) -> Answer {
        Answer {
            figure: None,
            delays: empty(),
            due,
            missing: due,
            closes: Vec::new(),
            reopened: Vec::new(),
            lasted: Duration::ZERO,
            busy: 0.0,
            heap: None,
        }
    }
}

/// A case's figure before it is joined with what all have.
pub(super) struct Figure {
    pub(super) figure: Option<u64>,
    pub(super) delays: Histogram<u64>,
    pub(super) due: u64,
    pub(super) missing: u64,
}

impl Figure {
    /// Of one message.
    pub(super) fn one(figure: Option<u64>) -> Figure {
        Figure { figure, delays: empty(), due: 1, missing: u64::from(figure.is_none()) }
    }
}

/// One message to all clients: who has the server send it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Broadcast {
    /// One of these clients.
    Asked { bytes: usize },
    /// One of another process, at this instant of the server's clock or later, ns.
    Awaited { since: u64 },
}

impl Broadcast {
    /// Whether a message that was sent then is the one; an earlier one came too late for its own round.
    fn is_due(self, said: u64) -> bool {
        match self {
            Broadcast::Asked { .. } => true,
            Broadcast::Awaited { since } => said >= since,
        }
    }
}

/// Counts of messages that carried their instant.
struct Report {
    count: u64,
    sum: u64,
    heap: u64,
}

impl BroadcastClients {
    /// Asks one thing. `bytes`: size of small messages. Connections that have ended are opened again first.
    ///
    /// # Errors
    /// When a connection cannot be opened, or the server does not speak the protocol or has another clock. A server that does
    /// not answer, or ends connections, is an answer.
    pub fn ask(&mut self, case: Case, bytes: usize) -> Result<Answer, BroadcastError> {
        let reopened = self.prepare()?;
        let (began, worked) = (Instant::now(), busy());
        let one_clock = ServerClock::default();
        let Figure { figure, delays, due, missing } = match case {
            Case::Receive => self.receive(Broadcast::Asked { bytes }, one_clock)?,
            Case::Send => self.send(bytes)?,
            Case::Give { bytes, binary } => Figure::one(self.give(bytes, binary, one_clock)?),
            Case::Take { bytes, binary } => Figure::one(self.take(bytes as usize, binary)?),
        };
        let lasted = began.elapsed();
        let busy = (busy() - worked) as f64 / lasted.as_nanos().max(1) as f64;
        let closes = self.take_closes();
        let heap = self.heap()?;
        Ok(Answer { figure, delays, due, missing, closes, reopened, lasted, busy, heap })
    }

    /// Opens connections that have ended: their codes.
    pub(super) fn prepare(&mut self) -> Result<Vec<CloseCount>, BroadcastError> {
        self.reconnect()?;
        Ok(self.take_closes())
    }

    /// One message to all clients: the delay of the last.
    pub(super) fn receive(&mut self, how: Broadcast, clock: ServerClock) -> Result<Figure, BroadcastError> {
        let due = self.clients.len();
        let (mut delays, mut came, mut fault) = (empty(), vec![false; due], None);
        let (mut open, mut longest) = (due, 0);
        let asked = match how {
            Broadcast::Asked { bytes } => {
                let asked = monotonic();
                self.send_from(0, Kind::Text, format!("broadcast {bytes}").as_bytes());
                Some(asked)
            }
            Broadcast::Awaited { .. } => None,
        };
        let deadline = Instant::now() + self.patience;
        self.until(deadline, |all, message| {
            match message {
                Some((number, message)) => {
                    let said = words(message, "broadcast").and_then(number_of);
                    if let Some(said) = said.filter(|said| how.is_due(*said)) {
                        let delay = match delay(clock, asked, said, message.at) {
                            Ok(delay) => delay,
                            Err(e) => {
                                fault = Some(e);
                                return true;
                            }
                        };
                        all.wrong = all.wrong.max(wrong(clock, asked, said, message.at));
                        if !std::mem::replace(&mut came[number], true) {
                            delays.saturating_record(delay);
                            (longest, open) = (longest.max(delay), open - 1);
                        }
                    }
                }
                None => return !came.iter().zip(&all.clients).any(|(came, client)| !came && !client.has_ended()),
            }
            open == 0
        })?;
        if let Some(fault) = fault {
            return Err(fault);
        }
        let figure = (open == 0).then_some(longest);
        Ok(Figure { figure, delays, due: due as u64, missing: open as u64 })
    }

    /// A message of every client: the mean delay, by the server's count.
    fn send(&mut self, bytes: usize) -> Result<Figure, BroadcastError> {
        let due = self.clients.len() as u64;
        self.clear()?;
        self.stamp(bytes, ServerClock::default());
        let (count, sum) = self.counted(due)?;
        let figure = (count == due).then(|| sum / due.max(1));
        Ok(Figure { figure, delays: empty(), due, missing: due.saturating_sub(count) })
    }

    /// Has the server begin its count anew.
    pub(super) fn clear(&mut self) -> Result<(), BroadcastError> {
        self.answer(0, Kind::Text, b"clear", |message| words(message, "cleared").is_some()).map(drop)
    }

    /// A message of every client with the instant at which it is written, as `clock` has it.
    pub(super) fn stamp(&mut self, bytes: usize, clock: ServerClock) {
        let mut text = vec![b'.'; bytes.max(HEAD / 2)];
        for number in 0..self.clients.len() {
            let head = format!("stamp {} ", stamp(clock, monotonic()));
            text[..head.len()].copy_from_slice(head.as_bytes());
            self.send_from(number, Kind::Text, &text);
        }
    }

    /// How many such messages the server has read, and the sum of their delays, once it has `due` or there is no more time.
    pub(super) fn counted(&mut self, due: u64) -> Result<(u64, u64), BroadcastError> {
        let deadline = Instant::now() + self.patience;
        let mut report = None;
        while Instant::now() < deadline && report.as_ref().is_none_or(|report: &Report| report.count < due) {
            self.until(Instant::now() + POLL, |_, _| false)?;
            let Some(next) = self.report()? else { break };
            report = Some(next);
        }
        Ok(report.map_or((0, 0), |report| (report.count, report.sum)))
    }

    /// One large message to one client: from when the server began to send.
    pub(super) fn give(&mut self, bytes: u64, binary: bool, clock: ServerClock) -> Result<Option<u64>, BroadcastError> {
        let kind = if binary { "binary" } else { "text" };
        let (mut began, asked) = (None, monotonic());
        let command = format!("give {kind} {bytes}");
        let whole = self.answer(0, Kind::Text, command.as_bytes(), |message| {
            match (began, words(message, "giving").and_then(number_of)) {
                (None, Some(said)) => began = Some(said),
                _ => return (message.content.bytes, message.content.binary) == (bytes, binary),
            }
            false
        })?;
        let (Some(said), Some(came)) = (began, whole) else { return Ok(None) };
        self.wrong = self.wrong.max(wrong(clock, Some(asked), said, came));
        delay(clock, Some(asked), said, came).map(Some)
    }

    /// One large message of one client: until it is answered.
    pub(super) fn take(&mut self, bytes: usize, binary: bool) -> Result<Option<u64>, BroadcastError> {
        let mut payload = vec![b'.'; bytes];
        let mut kind = Kind::Binary;
        if !binary {
            kind = Kind::Text;
            let head = b"take ";
            payload.resize(bytes.max(head.len()), b'.');
            payload[..head.len()].copy_from_slice(head);
        }
        let (asked, size) = (monotonic(), payload.len() as u64);
        let took =
            self.answer(0, kind, &payload, |message| words(message, "took").and_then(number_of) == Some(size))?;
        Ok(took.map(|came| came - asked))
    }

    /// Heap in use in the server, where it has one and answers.
    pub(super) fn heap(&mut self) -> Result<Option<u64>, BroadcastError> {
        Ok(self.report()?.map(|report| report.heap).filter(|heap| *heap > 0))
    }

    /// What the server counted; none when it does not answer.
    fn report(&mut self) -> Result<Option<Report>, BroadcastError> {
        let mut report = None;
        let Some(asker) = self.clients.iter().position(|client| client.is_open()) else { return Ok(None) };
        self.answer(asker, Kind::Text, b"report", |message| {
            report = words(message, "report").map(str::to_owned);
            report.is_some()
        })?;
        let Some(text) = report else { return Ok(None) };
        let numbers: Vec<u64> = text.split(' ').map_while(|word| word.parse().ok()).collect();
        match numbers[..] {
            [count, sum, _, heap] => Ok(Some(Report { count, sum, heap })),
            _ => Err(BroadcastError::Strange(text)),
        }
    }

    /// Says something and waits for the message that `is_it`: when it was there. None when it does not come in time, or the
    /// connection ends.
    fn answer(
        &mut self,
        number: usize,
        kind: Kind,
        payload: &[u8],
        mut is_it: impl FnMut(&ReceivedMessage) -> bool,
    ) -> Result<Option<u64>, BroadcastError> {
        let (mut came, mut strange) = (None, None);
        self.send_from(number, kind, payload);
        let deadline = Instant::now() + self.patience;
        self.until(deadline, |all, message| {
            match message {
                Some((from, message)) if from == number => {
                    if words(message, "what?").is_some() {
                        strange = Some(String::from_utf8_lossy(&payload[..payload.len().min(HEAD)]).into_owned());
                    }
                    if is_it(message) {
                        came = Some(message.at);
                    }
                }
                Some(_) => {}
                None => return all.clients[number].has_ended(),
            }
            came.is_some() || strange.is_some()
        })?;
        match strange {
            Some(command) => Err(BroadcastError::Strange(format!("what?` to `{command}"))),
            None => Ok(came),
        }
    }
}

/// What follows `first` in a text message that begins with it.
fn words<'p>(message: &'p ReceivedMessage, first: &str) -> Option<&'p str> {
    if message.content.binary {
        return None;
    }
    std::str::from_utf8(&message.content.head).ok()?.strip_prefix(first).map(str::trim_start)
}

/// The number with which a text begins.
fn number_of(text: &str) -> Option<u64> {
    text.split(' ').next()?.parse().ok()
}
