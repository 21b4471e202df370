//! One request and its response on an open connection.
//!
//! One loop does all: write while there is something to write, read whenever something arrived. A small request is written by the
//! first call and only reading is left; with a large body the server may answer before it has it all (413, RFC 9112
//! section 9.3: "respond early"), and that answer counts, even when the server then resets the connection under the rest of the body.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

use genkai_model::error::ErrorKind;
use genkai_model::load::Reuse;
use genkai_wire::http1::{Ending, Error, Memo, Progress, Received, ResponseReader};

use super::message::Message;
use crate::clock::Moment;
use crate::measure::attempt::Attempt;
use crate::protocol::connection::{Connection, Last};
use crate::protocol::request::{Channel, ScheduledRequest};
use crate::transport::reactor::Guard;
use crate::transport::read::ReadOutcome;
use crate::transport::stream::Stream;
use crate::transport::tls;

/// Most writes in a row before the loop looks whether an answer has come and lets others run.
const WRITES: usize = 16;

/// What takes a response in: as little of it as shows how it ends, or more.
pub(crate) trait Intake {
    /// See [`ResponseReader::receive_with`].
    fn receive_with(&mut self, bytes: &[u8], memo: &mut Memo) -> Result<Progress, Error>;
    /// See [`ResponseReader::close`].
    fn close(&self) -> Ending;
    /// See [`ResponseReader::started`].
    fn started(&self) -> bool;
    /// See [`ResponseReader::surplus`].
    fn surplus(&self) -> bool;
}

impl Intake for ResponseReader {
    #[inline]
    fn receive_with(&mut self, bytes: &[u8], memo: &mut Memo) -> Result<Progress, Error> {
        ResponseReader::receive_with(self, bytes, memo)
    }

    fn close(&self) -> Ending {
        ResponseReader::close(self)
    }

    fn started(&self) -> bool {
        ResponseReader::started(self)
    }

    fn surplus(&self) -> bool {
        ResponseReader::surplus(self)
    }
}

/// What writing came to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    All,
    /// There is more, and room for it.
    Some,
    /// There is more, but no room.
    Full,
}

/// What a connection is ready for.
enum Event<'a> {
    Readable(Guard<'a>),
    Writable(Guard<'a>),
}

impl Connection {
    /// Makes a request, whatever that needs. It must have been taken up; that it is written is counted, how it went is the
    /// caller's to count, and [`after`](Self::after) must follow.
    #[inline]
    pub(crate) async fn attempt(
        &mut self,
        scheduled: ScheduledRequest,
        message: &Message,
        intake: &mut impl Intake,
        timeout: Moment,
    ) -> Attempt {
        // Without a wait in between nothing new can be known.
        let fresh = self.fresh.take();
        if fresh.is_none() {
            self.notice_close().await;
        }
        let prompt = scheduled.prompt && self.is_open();
        if scheduled.prompt && !prompt {
            // What follows, connecting, takes as long as the server lets it: only the way to here is the generator's.
            let now = self.core.clock.now();
            self.core.ledger.borrow_mut().began(now, now.saturating_sub(scheduled.planned));
        }
        // Connecting is a part of it.
        let connects = (!self.is_open()).then(|| self.core.clock.now());
        if let Some(now) = connects {
            self.slot.ask(now, now.saturating_add(timeout));
        }
        let (written, outcome) = match self.open().await {
            Ok(()) => {
                let written = fresh.unwrap_or_else(|| self.core.clock.now());
                let until = connects.unwrap_or(written).saturating_add(timeout);
                self.slot.ask(written, until);
                let late = prompt.then(|| written.saturating_sub(scheduled.planned));
                self.core.ledger.borrow_mut().sent(written, late);
                let outcome = self.exchange(message, intake).await;
                if matches!(outcome, Err(ErrorKind::EofReused | ErrorKind::ResetReused)) {
                    self.kept_ended(self.core.clock.now(), written);
                }
                if self.is_retried(message, &outcome) {
                    // Boxed: it is rare, and must not make every request's task larger.
                    (written, Box::pin(self.again(message, intake, (written, until))).await)
                } else {
                    (written, outcome)
                }
            }
            Err(kind) => (scheduled.planned, Err(kind)),
        };
        self.slot.disarm();
        let now = self.core.clock.now();
        let at = if outcome.is_ok() { self.arrived(now) } else { now };
        Attempt { written, at, now, outcome }
    }

    /// Whether a request is made again: the server closed a kept connection before a byte of its response, and it may be processed
    /// twice (RFC 9112 section 9.3.1).
    fn is_retried(&self, message: &Message, outcome: &Result<Received, ErrorKind>) -> bool {
        let closed = matches!(outcome, Err(ErrorKind::EofReused | ErrorKind::ResetReused));
        closed && self.core.retry && message.is_idempotent && !self.core.is_ending()
    }

    /// Makes a request once more, on a new connection.
    async fn again(
        &mut self,
        message: &Message,
        intake: &mut impl Intake,
        (since, until): (Moment, Moment),
    ) -> Result<Received, ErrorKind> {
        self.core.ledger.borrow_mut().made_again(self.core.clock.now());
        self.close();
        self.open().await?;
        self.slot.ask(since, until);
        self.exchange(message, intake).await
    }

    /// When the response that has been read now arrived.
    #[inline]
    fn arrived(&self, now: Moment) -> Moment {
        let Some(waited) = self.last.get().waited else { return now };
        self.core.ledger.borrow_mut().received(now, waited);
        now.saturating_sub(waited)
    }

    /// Keeps the connection, or closes it: after a server that says that it closes, for a while. One that does not say so may keep it open (RFC 9112,
    /// section 9.6): it is waited for until it has done so once, as that is a pause of the user's. From when on the next request could be made: that
    /// closing was waited for is not its lateness.
    pub(crate) async fn after(&mut self, attempt: &Attempt) -> Moment {
        match attempt.outcome {
            Ok(Received { persistent: true, .. }) if self.core.reuse == Reuse::KeepAlive => {
                self.reused = true;
                self.answered = attempt.at;
            }
            Ok(Received { persistent, .. }) => {
                if !(persistent && self.core.stays_open.get()) {
                    let closed = self.await_close().await;
                    self.core.stays_open.set(persistent && !closed);
                }
                self.close();
            }
            Err(_) => self.close(),
        }
        if self.is_open() { attempt.at } else { self.core.clock.now() }
    }

    /// Remembers that it is `now`, for a request that follows at once.
    #[inline]
    pub(super) fn keep_fresh(&mut self, now: Moment) {
        self.fresh = (self.is_open() && !self.last.get().closed).then_some(now);
    }

    /// Sends the request `message`, receives the response. The connection must be open; after an error it is of no further use.
    async fn exchange<I: Intake>(&self, message: &Message, reader: &mut I) -> Result<Received, ErrorKind> {
        let stream = self.stream.as_ref().expect("open() came before");
        let mut sent = 0;
        let mut sending = match self.write(stream, message, &mut sent) {
            Ok(written) => written != Written::All,
            Err(e) => return self.last_words(stream, reader, write_error(&e, self.reused)),
        };
        loop {
            match poll_fn(|cx| self.poll_event(stream, sending, cx)).await? {
                Event::Readable(mut guard) => {
                    if let Some(received) = self.read(stream, &mut guard, reader)? {
                        // What is left of the request would be taken for the next one.
                        return Ok(Received { persistent: received.persistent && !sending, ..received });
                    }
                }
                Event::Writable(mut guard) => match self.write(stream, message, &mut sent) {
                    Ok(Written::All) => sending = false,
                    Ok(Written::Some) => {}
                    Ok(Written::Full) => guard.clear_ready(),
                    Err(e) => return self.last_words(stream, reader, write_error(&e, self.reused)),
                },
            }
        }
    }

    fn poll_event<'a>(
        &self,
        stream: &'a Stream,
        sending: bool,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Event<'a>, ErrorKind>> {
        if self.slot.expired() {
            return Poll::Ready(Err(ErrorKind::Timeout));
        }
        self.slot.attend(cx.waker());
        if let Poll::Ready(guard) = stream.poll_read_ready(cx) {
            return Poll::Ready(Ok(Event::Readable(guard)));
        }
        if sending && let Poll::Ready(guard) = stream.poll_write_ready(cx) {
            return Poll::Ready(Ok(Event::Writable(guard)));
        }
        Poll::Pending
    }

    /// Writes on from `sent`.
    #[inline]
    fn write(&self, stream: &Stream, message: &Message, sent: &mut u64) -> io::Result<Written> {
        for _ in 0..WRITES {
            match stream.write(message.from(*sent)) {
                Ok(n) => {
                    *sent += n as u64;
                    self.core.ledger.borrow_mut().wrote(n);
                    if *sent == message.len() && stream.is_flushed() {
                        return Ok(Written::All);
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(Written::Full),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(Written::Some)
    }

    /// Reads once; the response, when it is whole.
    #[inline]
    fn read(
        &self,
        stream: &Stream,
        guard: &mut Guard<'_>,
        reader: &mut impl Intake,
    ) -> Result<Option<Received>, ErrorKind> {
        let mut buffer = self.core.buffer.borrow_mut();
        match stream.read(&mut buffer) {
            Ok(ReadOutcome { bytes: 0, .. }) => self.ended(reader).map(Some),
            Ok(ReadOutcome { bytes: n, emptied, waited }) => {
                self.last.set(Last { waited, closed: guard.is_read_closed() });
                if emptied {
                    // Saves the read that would find nothing. Readiness for end of stream, if known, outlasts this.
                    guard.clear_ready();
                }
                self.received(&buffer[..n], reader)
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                guard.clear_ready();
                Ok(None)
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(e) => Err(read_error(&e, reader, self.reused)),
        }
    }

    #[inline]
    fn received(&self, bytes: &[u8], reader: &mut impl Intake) -> Result<Option<Received>, ErrorKind> {
        self.core.ledger.borrow_mut().read(bytes.len());
        match reader.receive_with(bytes, &mut self.core.heads.borrow_mut()) {
            Ok(Progress::Done(received)) => {
                if reader.surplus() && self.core.reuse == Reuse::KeepAlive {
                    self.core.ledger.borrow_mut().surplus(self.core.clock.now());
                }
                Ok(Some(received))
            }
            Ok(Progress::More) => Ok(None),
            Err(error) => Err(fault(error)),
        }
    }

    /// The server closed its side.
    fn ended(&self, reader: &impl Intake) -> Result<Received, ErrorKind> {
        match reader.close() {
            Ending::Done(received) => Ok(received),
            Ending::Truncated => Err(ErrorKind::Truncated),
            Ending::Nothing if self.reused => Err(ErrorKind::EofReused),
            Ending::Nothing => Err(ErrorKind::EofNew),
        }
    }

    /// The request cannot be written any further, because of `broken`: what has arrived by now is all there will be. A
    /// response that was sent before the connection broke is still in the socket.
    fn last_words(&self, stream: &Stream, reader: &mut impl Intake, broken: ErrorKind) -> Result<Received, ErrorKind> {
        let mut buffer = self.core.buffer.borrow_mut();
        loop {
            match stream.read(&mut buffer) {
                Ok(ReadOutcome { bytes: n, .. }) if n > 0 => {
                    if let Some(received) = self.received(&buffer[..n], reader)? {
                        return Ok(Received { persistent: false, ..received });
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                _ => break,
            }
        }
        match reader.close() {
            Ending::Done(received) => Ok(received),
            Ending::Truncated => Err(ErrorKind::Truncated),
            Ending::Nothing => Err(broken),
        }
    }
}

/// The kind of what is no response, or more of one than is taken.
pub(crate) fn fault(error: Error) -> ErrorKind {
    match error {
        Error::Unasked => ErrorKind::Unasked,
        _ if error.exceeds() => ErrorKind::TooLarge,
        _ => ErrorKind::Protocol,
    }
}

/// A reset, by what the connection had done before.
pub(crate) fn reset(reused: bool) -> ErrorKind {
    if reused { ErrorKind::ResetReused } else { ErrorKind::Reset }
}

pub(crate) fn write_error(error: &io::Error, reused: bool) -> ErrorKind {
    match error.raw_os_error() {
        None => tls::fault(error).unwrap_or(ErrorKind::WriteOther),
        Some(libc::ECONNRESET | libc::EPIPE) => reset(reused),
        Some(libc::ETIMEDOUT) => ErrorKind::Timeout,
        _ => ErrorKind::WriteOther,
    }
}

fn read_error(error: &io::Error, reader: &impl Intake, reused: bool) -> ErrorKind {
    match error.raw_os_error() {
        None => tls::fault(error).unwrap_or(ErrorKind::WriteOther),
        _ if reader.started() => ErrorKind::Truncated,
        Some(libc::ETIMEDOUT) => ErrorKind::Timeout,
        _ => reset(reused),
    }
}
