//! The loops of sessions: ask and wait for the echo (closed users), carry planned messages (open model), or just be there
//! (held); and what they and others wait for on a session.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, ready};

use genkai_model::error::ErrorKind;
use genkai_model::load::{FAILURE_PACE, Reuse};

use super::inbox::InboxMessage;
use super::session::Session;
use super::window::MOST;
use crate::clock::{Moment, NEVER};
use crate::protocol::core::Core;
use crate::protocol::queue::first_in_time;
use crate::protocol::request::{Channel, Done, ScheduledRequest};
use crate::protocol::users::{Next, Thinker};
use crate::transport::deadline::Slot;

/// Most steps in a row before a message is sent without looking further.
const LOOKS: usize = 8;

/// A user who sends, waits for the echo, thinks, and sends again; `first` has been claimed. Where connections are not kept, each
/// message has one of its own.
pub(super) async fn converse(core: Rc<Core>, mut session: Session, mut thinker: Thinker, first: ScheduledRequest) {
    let mut request = first;
    loop {
        let mut done = session.ask(request).await;
        if core.reuse == Reuse::PerRequest && !core.is_ending() {
            session.finish().await;
            done.at = core.clock.now();
        }
        let Next { planned, paced } = thinker.next(request.planned, done);
        if planned >= thinker.until {
            session.rest(thinker.until).await;
            break;
        }
        if planned > done.at {
            session.rest(planned).await;
        }
        if core.is_ending() || !core.claim_after(planned.max(done.at), paced) {
            break;
        }
        request = ScheduledRequest { planned, prompt: true };
    }
    session.finish().await;
}

/// A connection that is opened and held until `until`; its opening, which has been claimed, is `planned`. It mostly waits, and there
/// may be very many: what it takes is kept small.
pub(super) async fn hold(mut session: Box<Session>, mut planned: Moment, until: Moment) {
    loop {
        // Boxed: what opening needs must not be a part of every open connection's task.
        Box::pin(session.open_held(planned)).await;
        if session.is_open() {
            session.stay(until).await;
        }
        if session.core().clock.now() >= until {
            break;
        }
        // The server did not let it stay: a new one, but not at once.
        let now = session.core().clock.now();
        planned = now.max(planned.saturating_add(FAILURE_PACE.0));
        let paced = planned > now;
        if !session.core().is_ending() {
            Box::pin(session.rest(planned)).await;
        }
        let core = session.core();
        if core.is_ending() || !core.claim_after(core.clock.now(), paced) {
            break;
        }
    }
    Box::pin(session.finish()).await;
}

/// Planned messages of one connection that have not been sent.
pub(super) struct Outbox {
    slot: Rc<Slot>,
    planned: RefCell<VecDeque<Moment>>,
}

impl Outbox {
    /// Of one connection.
    pub(super) fn new(session: &Session) -> Outbox {
        Outbox { slot: Rc::clone(session.connection.slot()), planned: RefCell::default() }
    }

    /// Takes a message that is due, if there is room for it.
    pub(super) fn push(&self, planned: Moment) -> bool {
        let mut waiting = self.planned.borrow_mut();
        if waiting.len() >= MOST {
            return false;
        }
        waiting.push_back(planned);
        self.slot.wake();
        true
    }

    /// The next message that is still worth sending.
    fn next(&self, core: &Core) -> Option<Moment> {
        first_in_time(&self.planned, core)
    }
}

/// A connection that carries the messages of its outbox.
pub(super) async fn carry(core: Rc<Core>, mut session: Session, outbox: Rc<Outbox>) {
    while !core.is_ending() {
        let began = core.clock.now();
        match session.open(|_| ()).await {
            Ok(()) => session.deliver(&outbox).await,
            Err(kind) => {
                session.end(kind);
                session.fail(&outbox, kind).await;
            }
        }
        if !core.is_ending() {
            session.rest(began.saturating_add(FAILURE_PACE.0)).await;
        }
    }
    session.finish().await;
}

impl Session {
    /// Opens a connection to be held, and counts how that went.
    async fn open_held(&mut self, planned: Moment) {
        let core = Rc::clone(self.core());
        let mut written = planned;
        let asked = |at| {
            written = at;
            core.ledger.borrow_mut().sent(at, None);
        };
        let opened = self.open(asked).await;
        let now = core.clock.now();
        match opened {
            Ok(()) => core.ledger.borrow_mut().succeeded(now, planned, written),
            Err(kind) => {
                core.ledger.borrow_mut().failed(now, planned, kind);
                self.end(kind);
            }
        }
    }

    /// Makes one request: opens if need be, sends, waits for the echo.
    async fn ask(&mut self, request: ScheduledRequest) -> Done {
        let core = Rc::clone(self.core());
        self.notice_close().await;
        let prompt = request.prompt && self.is_prompt();
        if !self.is_open()
            && let Err(kind) = self.open(|_| ()).await
        {
            self.end(kind);
            let at = core.clock.now();
            core.ledger.borrow_mut().failed(at, request.planned, kind);
            return Done { at, failed: true };
        }
        let sent = self.send(request.planned, prompt);
        let outcome = match sent {
            Ok(()) => self.answer().await,
            Err(kind) => Err(kind),
        };
        match outcome {
            Ok(in_time) => Done { at: if in_time { self.received_at() } else { core.clock.now() }, failed: !in_time },
            // The echo has come, and the end of the connection with it.
            Err(kind) if sent.is_ok() && self.waiting() == 0 => {
                self.left(kind).await;
                Done { at: core.clock.now(), failed: false }
            }
            Err(kind) => {
                let at = core.clock.now();
                self.part(kind).await;
                Done { at, failed: true }
            }
        }
    }

    /// Closes the connection if the server has already done so. Costs no system call when nothing came.
    async fn notice_close(&mut self) {
        if !self.is_open() {
            return;
        }
        let ended = poll_fn(|cx| {
            for _ in 0..LOOKS {
                match self.poll_step(cx) {
                    Poll::Pending => break,
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(kind)) => return Poll::Ready(Some(kind)),
                }
            }
            Poll::Ready(None)
        })
        .await;
        if let Some(kind) = ended {
            self.left(kind).await;
        }
    }

    /// Waits until nothing is on its way any more, or the load ends: whether nothing became overdue.
    async fn answer(&mut self) -> Result<bool, ErrorKind> {
        self.arm();
        let in_time = poll_fn(|cx| {
            self.connection.slot().attend(cx.waker());
            loop {
                if self.waiting() == 0 || self.core().is_ending() {
                    return Poll::Ready(Ok(true));
                }
                if self.expire() {
                    return Poll::Ready(Ok(false));
                }
                ready!(self.poll_step(cx))?;
            }
        })
        .await;
        self.connection.slot().disarm();
        in_time
    }

    /// Waits until `at`, or the end of the load. What the server sends meanwhile is taken; if it closes the connection, the
    /// next request opens another.
    pub(crate) async fn rest(&mut self, at: Moment) {
        let core = Rc::clone(self.core());
        let mut alarm = pin!(core.alarm.until(at));
        let ended = poll_fn(|cx| {
            self.connection.slot().attend(cx.waker());
            loop {
                if core.is_ending() || alarm.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Ok(()));
                }
                ready!(self.poll_step(cx))?;
            }
        })
        .await;
        if let Err(kind) = ended {
            self.left(kind).await;
            core.alarm.until(at).await;
        }
    }

    /// The server ended an idle connection.
    async fn left(&mut self, kind: ErrorKind) {
        let core = Rc::clone(self.core());
        let now = if kind == ErrorKind::Closed { self.received_at() } else { core.clock.now() };
        core.ledger.borrow_mut().closed_idle(now);
        self.part(kind).await;
    }

    /// Ends the connection; after close frames it is the server's to close first (RFC 6455 section 7.1.1), which also
    /// leaves TIME_WAIT on its side.
    pub(crate) async fn part(&mut self, kind: ErrorKind) {
        self.count_end(kind);
        if kind == ErrorKind::Closed {
            self.connection.await_close().await;
        }
        self.end(kind);
    }

    /// Is there until `until`, or the connection or the load ends; sends pings.
    async fn stay(&mut self, until: Moment) {
        let core = Rc::clone(self.core());
        let ended = loop {
            let ping = self.plan.ping.map_or(NEVER, |every| core.clock.now().saturating_add(every));
            let next = ping.min(until);
            let mut alarm = pin!((next != NEVER).then(|| core.alarm.until(next)));
            let stayed = poll_fn(|cx| {
                self.connection.slot().attend(cx.waker());
                loop {
                    let due = alarm.as_mut().as_pin_mut().is_some_and(|alarm| alarm.poll(cx).is_ready());
                    if core.is_ending() || due {
                        return Poll::Ready(Ok(()));
                    }
                    if self.connection.slot().expired() {
                        return Poll::Ready(Err(ErrorKind::Timeout));
                    }
                    ready!(self.poll_step(cx))?;
                    if !self.awaits_pong() {
                        self.connection.slot().disarm();
                    }
                }
            })
            .await;
            if core.is_ending() || stayed.is_ok() && core.clock.now() >= until {
                return;
            }
            if let Err(kind) = stayed {
                break kind;
            }
            if !self.awaits_pong() {
                self.connection.slot().arm(core.clock.now().saturating_add(core.timeout));
                if let Err(kind) = self.ping() {
                    break kind;
                }
            }
        };
        self.left(ended).await;
    }

    /// Sends what is in the outbox and receives what comes back, until the connection or the load ends.
    async fn deliver(&mut self, outbox: &Outbox) {
        let core = Rc::clone(self.core());
        let mut prompt = false;
        let ended = poll_fn(|cx| {
            self.connection.slot().attend(cx.waker());
            loop {
                if core.is_ending() {
                    return Poll::Ready(Ok(()));
                }
                while self.has_room()
                    && let Some(planned) = outbox.next(&core)
                {
                    self.send(planned, prompt && self.is_prompt())?;
                }
                prompt = outbox.planned.borrow().is_empty();
                self.expire();
                self.arm();
                ready!(self.poll_step(cx))?;
            }
        })
        .await;
        self.connection.slot().disarm();
        match ended {
            Err(kind) if self.waiting() == 0 => self.left(kind).await,
            Err(kind) => self.part(kind).await,
            Ok(()) => {}
        }
    }

    /// The connection could not be opened: what was to be sent on it has failed, if nothing was, what comes next does.
    async fn fail(&mut self, outbox: &Outbox, kind: ErrorKind) {
        let core = Rc::clone(self.core());
        poll_fn(|cx| {
            self.connection.slot().attend(cx.waker());
            let some = core.is_ending() || !outbox.planned.borrow().is_empty();
            if some { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        let now = core.clock.now();
        core.ledger.borrow_mut().unqueued(outbox.planned.borrow().len() as u64);
        for planned in outbox.planned.borrow_mut().drain(..) {
            core.ledger.borrow_mut().failed(now, planned, kind);
        }
    }

    /// Waits for echoes that are on their way, if the load's end leaves time for it. (A server that echoes when it is told to close sends them
    /// before its close frame; one that answers later sends none any more after it.)
    ///
    /// # Errors
    /// When the connection has ended.
    async fn drain(&mut self) -> Result<(), ErrorKind> {
        let core = Rc::clone(self.core());
        let until = core.drains_until();
        if self.waiting() == 0 || until <= core.clock.now() {
            return Ok(());
        }
        core.count_draining(1);
        let mut alarm = pin!(core.alarm.until(until));
        let drained = poll_fn(|cx| {
            self.connection.slot().attend(cx.waker());
            loop {
                let over = core.clock.now() >= core.drains_until();
                if self.waiting() == 0 || over || alarm.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Ok(()));
                }
                ready!(self.poll_step(cx))?;
            }
        })
        .await;
        core.count_draining(-1);
        drained
    }

    /// The closing handshake, if the connection is open, after what is still on its way.
    pub(crate) async fn finish(&mut self) {
        if !self.is_open() {
            return;
        }
        if let Err(kind) = Box::pin(self.drain()).await {
            return self.part(kind).await;
        }
        let core = Rc::clone(self.core());
        self.connection.slot().arm(core.clock.now().saturating_add(core.timeout));
        let mut written = self.send_close();
        let ended = poll_fn(|cx| {
            self.connection.slot().attend(cx.waker());
            loop {
                if self.connection.slot().expired() {
                    return Poll::Ready(ErrorKind::ClosedAbnormally);
                }
                if let Err(kind) = std::mem::replace(&mut written, Ok(())) {
                    return Poll::Ready(kind);
                }
                written = ready!(self.poll_step(cx));
            }
        })
        .await;
        self.part(ended).await;
    }

    /// Waits for the next message, until `until`; none when the load ends before.
    ///
    /// # Errors
    /// When the connection has ended, or no message came in time.
    pub(crate) async fn next_message(&mut self, until: Moment) -> Result<Option<InboxMessage>, ErrorKind> {
        self.connection.slot().arm(until);
        let got = poll_fn(|cx| {
            self.connection.slot().attend(cx.waker());
            loop {
                let Some(inbox) = self.inbox() else { return Poll::Ready(Err(ErrorKind::Closed)) };
                match (inbox.next(), inbox.ended) {
                    (Some(message), _) => return Poll::Ready(Ok(Some(message))),
                    (None, Some(kind)) => return Poll::Ready(Err(kind)),
                    (None, None) => {}
                }
                if self.core().is_ending() {
                    return Poll::Ready(Ok(None));
                }
                if self.connection.slot().expired() {
                    return Poll::Ready(Err(ErrorKind::Timeout));
                }
                if let Err(kind) = ready!(self.poll_step(cx)) {
                    match self.inbox() {
                        Some(inbox) => inbox.ended = Some(kind),
                        None => return Poll::Ready(Err(kind)),
                    }
                }
            }
        })
        .await;
        self.connection.slot().disarm();
        got
    }

    /// Waits until the socket has taken everything that was written. What comes meanwhile is kept.
    ///
    /// # Errors
    /// When the connection has ended, or the socket took nothing in the load's timeout.
    pub(crate) async fn flush(&mut self) -> Result<(), ErrorKind> {
        if self.is_flushed() {
            return Ok(());
        }
        let until = self.core().clock.now().saturating_add(self.core().timeout);
        self.connection.slot().arm(until);
        let flushed = poll_fn(|cx| {
            self.connection.slot().attend(cx.waker());
            while !self.is_flushed() && !self.core().is_ending() {
                if self.connection.slot().expired() {
                    return Poll::Ready(Err(ErrorKind::Timeout));
                }
                ready!(self.poll_step(cx))?;
            }
            Poll::Ready(Ok(()))
        })
        .await;
        self.connection.slot().disarm();
        flushed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn future_of<A, B, C, F: Future>(_: fn(A, B, C) -> F) -> usize {
        size_of::<F>()
    }

    /// 15,000 of them are to fit into 1.5 KB each (measured: 1,139 B); this is the part that code decides. What grows here
    /// grows as many times.
    #[test]
    fn a_held_connection_is_small() {
        let (task, session) = (future_of(hold), size_of::<Session>());
        assert!(task <= 224 && session <= 192, "{task} and {session} bytes");
    }
}
