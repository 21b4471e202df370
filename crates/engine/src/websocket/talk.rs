//! What is done with WebSocket connections: ask and wait for the echo (closed users), carry planned messages (open
//! model), or just be there (held). One loop each; sessions do the rest.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, ready};

use genkai_model::error::ErrorKind;
use genkai_model::load::Reuse;

use super::session::Session;
use super::window::MOST;
use crate::clock::{Moment, NEVER};
use crate::connection::{Done, Turn};
use crate::queue::first_in_time;
use crate::thread::Core;
use crate::turns::{FAILURE_PACE, Thinker};
use crate::watch::Slot;

/// A user who sends, waits for the echo, thinks, and sends again; `first` has been claimed. Where connections are not kept, each
/// message has one of its own.
pub(crate) async fn converse(core: Rc<Core>, mut session: Session, mut thinker: Thinker, first: Turn) {
    let mut turn = first;
    loop {
        let mut done = session.ask(turn).await;
        if core.reuse == Reuse::PerRequest && !core.is_ending() {
            session.finish().await;
            done.at = core.clock.now();
        }
        let planned = thinker.next(turn.planned, done);
        if planned >= thinker.until {
            session.rest(thinker.until).await;
            break;
        }
        if planned > done.at {
            session.rest(planned).await;
        }
        if core.is_ending() || !core.ledger.borrow_mut().claim(planned.max(done.at)) {
            break;
        }
        turn = Turn { planned, prompt: true };
    }
    session.finish().await;
}

/// A connection that is opened and held until `until`; its opening, which has been claimed, is `planned`. It mostly waits, and there
/// may be very many: what it takes is kept small.
pub(crate) async fn hold(mut session: Box<Session>, mut planned: Moment, until: Moment) {
    loop {
        // Boxed: what opening needs must not be a part of every open connection's task.
        Box::pin(session.open_held(planned)).await;
        if session.is_open() {
            session.stay(until).await;
        }
        if session.core().clock.now() >= until {
            break;
        }
        if !session.core().is_ending() {
            // The server did not let it stay: a new one, but not at once.
            planned = session.core().clock.now().max(planned.saturating_add(FAILURE_PACE.0));
            Box::pin(session.rest(planned)).await;
        }
        let core = session.core();
        if core.is_ending() || !core.ledger.borrow_mut().claim(core.clock.now()) {
            break;
        }
    }
    Box::pin(session.finish()).await;
}

/// Planned messages of one connection that have not been sent.
pub(crate) struct Inbox {
    slot: Rc<Slot>,
    planned: RefCell<VecDeque<Moment>>,
}

/// Connections of the open model: each message goes to the next one, in turn.
#[derive(Default)]
pub(crate) struct Room {
    inboxes: RefCell<Vec<Rc<Inbox>>>,
    turn: Cell<usize>,
}

impl Room {
    /// Adds a connection.
    pub(crate) fn enter(&self, session: &Session) -> Rc<Inbox> {
        let inbox = Inbox { slot: Rc::clone(session.connection.slot()), planned: RefCell::default() };
        let inbox = Rc::new(inbox);
        self.inboxes.borrow_mut().push(Rc::clone(&inbox));
        inbox
    }

    /// Hands over a message that is due; whether there was a connection with room for it.
    pub(crate) fn place(&self, planned: Moment) -> bool {
        let inboxes = self.inboxes.borrow();
        let turn = self.turn.get();
        let Some(inbox) = turn.checked_rem(inboxes.len()).map(|at| &inboxes[at]) else { return false };
        self.turn.set(turn.wrapping_add(1));
        let mut waiting = inbox.planned.borrow_mut();
        if waiting.len() >= MOST {
            return false;
        }
        waiting.push_back(planned);
        inbox.slot.wake();
        true
    }
}

/// A connection that carries the messages of its inbox.
pub(crate) async fn carry(core: Rc<Core>, mut session: Session, inbox: Rc<Inbox>) {
    while !core.is_ending() {
        let began = core.clock.now();
        match session.open(|_| ()).await {
            Ok(()) => session.deliver(&inbox).await,
            Err(kind) => {
                session.end(kind);
                session.fail(&inbox, kind).await;
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

    /// Makes one turn: opens if need be, sends, waits for the echo.
    async fn ask(&mut self, turn: Turn) -> Done {
        let core = Rc::clone(self.core());
        let prompt = turn.prompt && self.is_prompt();
        if !self.is_open()
            && let Err(kind) = self.open(|_| ()).await
        {
            self.end(kind);
            let at = core.clock.now();
            core.ledger.borrow_mut().failed(at, turn.planned, kind);
            return Done { at, failed: true };
        }
        let outcome = match self.send(turn.planned, prompt) {
            Ok(()) => self.answer().await,
            Err(kind) => Err(kind),
        };
        match outcome {
            Ok(in_time) => Done { at: if in_time { self.heard_at() } else { core.clock.now() }, failed: !in_time },
            Err(kind) => {
                let at = core.clock.now();
                self.part(kind).await;
                Done { at, failed: true }
            }
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

    /// Waits until `at`, or the end of the load. What the server does meanwhile is heard; if it closes the connection, the
    /// next turn opens another.
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
        core.ledger.borrow_mut().closed_idle(core.clock.now());
        self.part(kind).await;
    }

    /// Ends the connection; after close frames it is the server's to close first (RFC 6455 section 7.1.1), which also
    /// leaves TIME_WAIT on its side.
    pub(crate) async fn part(&mut self, kind: ErrorKind) {
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

    /// Sends what is in the inbox and hears what comes back, until the connection or the load ends.
    async fn deliver(&mut self, inbox: &Inbox) {
        let core = Rc::clone(self.core());
        let mut prompt = false;
        let ended = poll_fn(|cx| {
            self.connection.slot().attend(cx.waker());
            loop {
                if core.is_ending() {
                    return Poll::Ready(Ok(()));
                }
                while self.has_room()
                    && let Some(planned) = inbox.next(&core)
                {
                    self.send(planned, prompt && self.is_prompt())?;
                }
                prompt = inbox.planned.borrow().is_empty();
                self.expire();
                self.arm();
                ready!(self.poll_step(cx))?;
            }
        })
        .await;
        self.connection.slot().disarm();
        if let Err(kind) = ended {
            self.part(kind).await;
        }
    }

    /// The connection could not be opened: what was to be sent on it has failed, if nothing was, what comes next does.
    async fn fail(&mut self, inbox: &Inbox, kind: ErrorKind) {
        let core = Rc::clone(self.core());
        poll_fn(|cx| {
            self.connection.slot().attend(cx.waker());
            let some = core.is_ending() || !inbox.planned.borrow().is_empty();
            if some { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        let now = core.clock.now();
        for planned in inbox.planned.borrow_mut().drain(..) {
            core.ledger.borrow_mut().failed(now, planned, kind);
        }
    }

    /// The closing handshake, if the connection is open: what is still on its way comes before the server's close frame.
    pub(crate) async fn finish(&mut self) {
        if !self.is_open() {
            return;
        }
        let core = Rc::clone(self.core());
        self.connection.slot().arm(core.clock.now().saturating_add(core.timeout));
        let mut said = self.say_goodbye();
        let ended = poll_fn(|cx| {
            self.connection.slot().attend(cx.waker());
            loop {
                if self.connection.slot().expired() {
                    return Poll::Ready(ErrorKind::ClosedAbnormally);
                }
                if let Err(kind) = std::mem::replace(&mut said, Ok(())) {
                    return Poll::Ready(kind);
                }
                said = ready!(self.poll_step(cx));
            }
        })
        .await;
        self.part(ended).await;
    }
}

impl Inbox {
    /// The next message that is still worth sending.
    fn next(&self, core: &Core) -> Option<Moment> {
        first_in_time(&self.planned, core)
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
