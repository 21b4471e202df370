//! A connection of one user, or of the pool: opening, resting, closing. What goes over it is in `exchange`.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use crate::clock::Moment;
use crate::dial;
use crate::exchange::Intake;
use crate::message::Message;
use crate::road::Way;
use crate::stream::Stream;
use crate::thread::Core;
use crate::tls::Tls;
use crate::turns::Carrier;
use crate::watch::Slot;
use genkai_model::error::ErrorKind;
use genkai_model::load::Reuse;
use genkai_wire::http1::Received;

/// How long to wait for the server to close a connection that it said it would close. Who closes first keeps the port for
/// the time of TIME_WAIT (60 s), and a client that always does runs out of ports at 470 connections a second.
const CLOSE_WAIT: Moment = 20_000_000;

/// Everything one connection needs. Without a stream it is closed, and opens for the next request.
pub(crate) struct Connection {
    pub(crate) core: Rc<Core>,
    way: Rc<Way>,
    pub(super) slot: Rc<Slot>,
    pub(crate) stream: Option<Stream>,
    /// Whether it has carried a response: tells a keep-alive race from a refusal.
    pub(super) reused: bool,
    /// What is known of the last read.
    pub(super) last: Cell<Last>,
    /// The present moment, while nothing has been waited for since the last response.
    fresh: Option<Moment>,
}

/// What is known of the last read of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Last {
    /// How long its bytes had been in the socket, where the kernel says so.
    pub(crate) waited: Option<Moment>,
    /// Whether the server will send no more than what was there.
    pub(crate) closed: bool,
}

/// One request to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// When it was planned.
    pub(crate) planned: Moment,
    /// Whether nothing but the generator could delay its beginning: the write, or where no connection is open the attempt
    /// to connect.
    pub(crate) prompt: bool,
}

/// A request that was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// When it was written; where it came to nothing before, when it was planned.
    pub(crate) written: Moment,
    /// When it ended.
    pub(crate) at: Moment,
    /// The present moment: it may have ended before it was noticed.
    pub(crate) now: Moment,
    /// How.
    pub(crate) outcome: Result<Received, ErrorKind>,
}

/// How a request went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    /// When it ended.
    pub(crate) at: Moment,
    /// Whether it failed, by status or otherwise.
    pub(crate) failed: bool,
}

impl Connection {
    /// A connection that is not open yet.
    pub(crate) fn new(core: Rc<Core>) -> Connection {
        let way = Rc::clone(&core.way);
        Connection::toward(core, way)
    }

    /// The same, by a way that is not the load's own.
    pub(crate) fn toward(core: Rc<Core>, way: Rc<Way>) -> Connection {
        let slot = core.watch.slot();
        Connection { core, way, slot, stream: None, reused: false, last: Cell::default(), fresh: None }
    }

    /// Whether it is open, as far as is known.
    pub(crate) fn is_open(&self) -> bool {
        self.stream.is_some()
    }

    /// The protocol agreed on by ALPN; none without TLS.
    pub(crate) fn agreed(&self) -> Option<Vec<u8>> {
        self.stream.as_ref().and_then(Stream::agreed)
    }

    /// What others know it by.
    pub(crate) fn slot(&self) -> &Rc<Slot> {
        &self.slot
    }

    /// Makes the load's request, whatever that needs, and counts how it went.
    pub(crate) async fn make(&mut self, turn: Turn) -> Done {
        let core = Rc::clone(&self.core);
        let mut reader = core.message.reader();
        let attempt = self.attempt(turn, &core.message, &mut reader, core.timeout).await;
        let Attempt { at, now, outcome, .. } = attempt;
        let failed = core.ledger.borrow_mut().ended(turn.planned, &attempt);
        self.after(outcome).await;
        self.fresh = (self.is_open() && !self.last.get().closed).then_some(now);
        Done { at: if self.is_open() { at } else { core.clock.now() }, failed }
    }

    /// Makes a request, whatever that needs. It must have been taken up; that it is written is counted, how it went is the
    /// caller's to count, and [`after`](Self::after) must follow.
    #[inline]
    pub(crate) async fn attempt(
        &mut self,
        turn: Turn,
        message: &Message,
        intake: &mut impl Intake,
        timeout: Moment,
    ) -> Attempt {
        // Without a wait in between nothing new can be known.
        let fresh = self.fresh.take();
        if fresh.is_none() {
            self.notice_close().await;
        }
        let prompt = turn.prompt && self.is_open();
        if turn.prompt && !prompt {
            // What follows, connecting, takes as long as the server lets it: only the way to here is the generator's.
            let now = self.core.clock.now();
            self.core.ledger.borrow_mut().began(now, now.saturating_sub(turn.planned));
        }
        let (written, outcome) = match self.open().await {
            Ok(()) => {
                let written = fresh.unwrap_or_else(|| self.core.clock.now());
                self.slot.arm(written.saturating_add(timeout));
                let late = prompt.then(|| written.saturating_sub(turn.planned));
                self.core.ledger.borrow_mut().sent(written, late);
                (written, self.exchange(message, intake).await)
            }
            Err(kind) => (turn.planned, Err(kind)),
        };
        self.slot.disarm();
        let now = self.core.clock.now();
        let at = if outcome.is_ok() { self.arrived(now) } else { now };
        Attempt { written, at, now, outcome }
    }

    /// When the response that has been read now arrived.
    #[inline]
    fn arrived(&self, now: Moment) -> Moment {
        let Some(waited) = self.last.get().waited else { return now };
        self.core.ledger.borrow_mut().received(now, waited);
        now.saturating_sub(waited)
    }

    /// Keeps the connection, or closes it.
    pub(crate) async fn after(&mut self, outcome: Result<Received, ErrorKind>) {
        match outcome {
            Ok(Received { persistent: true, .. }) if self.core.reuse == Reuse::KeepAlive => self.reused = true,
            Ok(_) => {
                self.await_close().await;
                self.close();
            }
            Err(_) => self.close(),
        }
    }

    /// Connects, unless connected; with TLS, where the load has it.
    pub(crate) async fn open(&mut self) -> Result<(), ErrorKind> {
        self.open_to(None).await
    }

    /// The same, to the address chosen; none: whose turn it is.
    pub(crate) async fn open_to(&mut self, chosen: Option<usize>) -> Result<(), ErrorKind> {
        if self.is_open() {
            return Ok(());
        }
        let began = self.core.clock.now();
        self.slot.arm(began.saturating_add(self.core.timeout));
        let socket = self.core.sources.dial(self.way.address(chosen))?;
        poll_fn(|cx| {
            self.slot.attend(cx.waker());
            match socket.poll_write_ready(cx) {
                Poll::Ready(_) => Poll::Ready(Ok(())),
                Poll::Pending if self.slot.expired() => Poll::Ready(Err(ErrorKind::ConnectTimeout)),
                Poll::Pending => Poll::Pending,
            }
        })
        .await?;
        dial::outcome(socket.get_ref())?;
        let now = self.core.clock.now();
        self.core.ledger.borrow_mut().opened(now, now.saturating_sub(began));
        self.reused = false;
        match &self.way.tls {
            None => self.stream = Some(Stream::plain(socket, self.core.stamps)),
            Some(shared) => {
                let Ok(tls) = Tls::new(shared) else {
                    self.core.ledger.borrow_mut().closed();
                    return Err(ErrorKind::TlsFailed);
                };
                self.stream = Some(Stream::secured(socket, tls));
                self.secure(now).await?;
            }
        }
        Ok(())
    }

    /// Makes the TLS handshake of a connection established at `connected`.
    async fn secure(&mut self, connected: Moment) -> Result<(), ErrorKind> {
        let made = poll_fn(|cx| {
            self.slot.attend(cx.waker());
            match self.stream.as_ref().map_or(Poll::Pending, |stream| stream.poll_secure(cx)) {
                Poll::Pending if self.slot.expired() => Poll::Ready(Err(ErrorKind::TlsTimeout)),
                other => other,
            }
        })
        .await;
        match made {
            Ok(resumed) => {
                let now = self.core.clock.now();
                self.core.ledger.borrow_mut().secured(now, resumed, now.saturating_sub(connected));
                Ok(())
            }
            Err(kind) => {
                self.close();
                Err(kind)
            }
        }
    }

    /// Closes, if open.
    pub(crate) fn close(&mut self) {
        if let Some(stream) = self.stream.take() {
            stream.farewell();
            self.core.ledger.borrow_mut().closed();
        }
    }

    /// Waits until `at`. A connection the server closes meanwhile is closed here, so that no request is sent into it.
    pub(crate) async fn rest(&mut self, at: Moment) {
        self.fresh = None;
        let core = Rc::clone(&self.core);
        let mut alarm = pin!(core.alarm.until(at));
        loop {
            let gone = poll_fn(|cx| match alarm.as_mut().poll(cx) {
                Poll::Ready(()) => Poll::Ready(false),
                Poll::Pending => self.poll_gone(cx).map(|()| true),
            });
            if !gone.await {
                return;
            }
            self.forget_idle();
        }
    }

    /// Waits until a request is handed over, or the server closes the connection: then `None`.
    pub(crate) async fn await_hand_over(&mut self) -> Option<Moment> {
        self.fresh = None;
        let handed = poll_fn(|cx| {
            if let Some(planned) = self.slot.handed.take() {
                return Poll::Ready(Some(planned));
            }
            self.slot.attend(cx.waker());
            self.poll_gone(cx).map(|()| None)
        })
        .await;
        if handed.is_none() {
            self.forget_idle();
        }
        handed
    }

    /// Closes the connection if the server has already done so. Costs no system call when nothing happened.
    async fn notice_close(&mut self) {
        if self.is_open() && poll_fn(|cx| Poll::Ready(self.poll_gone(cx).is_ready())).await {
            self.forget_idle();
        }
    }

    fn forget_idle(&mut self) {
        let now = self.core.clock.now();
        self.core.ledger.borrow_mut().closed_idle(now);
        self.close();
    }

    /// Lets the server close first, for a while.
    pub(crate) async fn await_close(&mut self) {
        let core = Rc::clone(&self.core);
        let mut alarm = pin!(core.alarm.until(core.clock.now().saturating_add(CLOSE_WAIT)));
        poll_fn(|cx| match self.poll_gone(cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => alarm.as_mut().poll(cx),
        })
        .await;
    }

    /// Ready when an idle connection is of no further use: closed, broken, or carrying what nobody asked for (as a 408
    /// before closing). Never ready when there is none.
    fn poll_gone(&self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(stream) = &self.stream else { return Poll::Pending };
        loop {
            let mut guard = ready!(stream.poll_read_ready(cx));
            match stream.read(&mut self.core.buffer.borrow_mut()) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => guard.clear_ready(),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                _ => return Poll::Ready(()),
            }
        }
    }
}

impl Carrier for Connection {
    fn core(&self) -> &Rc<Core> {
        &self.core
    }

    fn slot(&self) -> &Rc<Slot> {
        &self.slot
    }

    fn is_open(&self) -> bool {
        self.stream.is_some()
    }

    async fn make(&mut self, turn: Turn) -> Option<Done> {
        Some(Connection::make(self, turn).await)
    }

    async fn rest(&mut self, at: Moment) {
        Connection::rest(self, at).await;
    }

    async fn await_hand_over(&mut self) -> Option<Moment> {
        Connection::await_hand_over(self).await
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close();
    }
}
