//! A connection of one user, or of the pool: opening, resting, closing. What goes over it is the protocol's.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use super::core::Core;
use super::request::Channel;
use crate::clock::Moment;
use crate::transport::deadline::Slot;
use crate::transport::dial;
use crate::transport::endpoint::Endpoint;
use crate::transport::read::ReadOutcome;
use crate::transport::stream::Stream;
use crate::transport::tls::Tls;
use genkai_model::error::ErrorKind;

/// How long to wait for the server to close a connection that it said it would close. Who closes first keeps the port for
/// the time of TIME_WAIT (60 s), and a client that always does runs out of ports at 470 connections a second.
const CLOSE_WAIT: Moment = 20_000_000;

/// Everything one connection needs. Without a stream it is closed, and opens for the next request.
pub(crate) struct Connection {
    pub(crate) core: Rc<Core>,
    endpoint: Rc<Endpoint>,
    pub(super) slot: Rc<Slot>,
    pub(crate) stream: Option<Stream>,
    /// Whether it has carried a response: tells a keep-alive race from a refusal.
    pub(super) reused: bool,
    /// When the last response had arrived.
    pub(super) answered: Moment,
    /// What is known of the last read.
    pub(super) last: Cell<Last>,
    /// The present moment, while nothing has been waited for since the last response.
    pub(super) fresh: Option<Moment>,
}

/// Why an idle connection is of no further use.
#[derive(Clone, Copy)]
enum Gone {
    /// The server closed it, or said that it does.
    Closed,
    /// It carries bytes behind an answer that are no answer.
    Surplus,
}

/// What is known of the last read of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Last {
    /// How long its bytes had been in the socket, where the kernel says so.
    pub(crate) waited: Option<Moment>,
    /// Whether the server will send no more than what was there.
    pub(crate) closed: bool,
}

impl Connection {
    /// A connection that is not open yet.
    pub(crate) fn new(core: Rc<Core>) -> Connection {
        let endpoint = Rc::clone(&core.endpoint);
        Connection::toward(core, endpoint)
    }

    /// The same, to an endpoint that is not the load's own.
    pub(crate) fn toward(core: Rc<Core>, endpoint: Rc<Endpoint>) -> Connection {
        let slot = core.deadlines.slot();
        Connection {
            core,
            endpoint,
            slot,
            stream: None,
            reused: false,
            answered: 0,
            last: Cell::default(),
            fresh: None,
        }
    }

    /// The protocol agreed on by ALPN; none without TLS.
    pub(crate) fn agreed(&self) -> Option<Vec<u8>> {
        self.stream.as_ref().and_then(Stream::agreed)
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
        self.slot.until(began.saturating_add(self.core.timeout));
        let socket = self.core.sources.dial(self.endpoint.address(chosen))?;
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
        match &self.endpoint.tls {
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
            stream.close_notify();
            self.core.ledger.borrow_mut().closed();
        }
    }

    /// Closes the connection if the server has already done so. Costs no system call when nothing happened.
    pub(super) async fn notice_close(&mut self) {
        let gone = poll_fn(|cx| match self.poll_gone(cx) {
            Poll::Ready(gone) => Poll::Ready(Some(gone)),
            Poll::Pending => Poll::Ready(None),
        });
        if let Some(gone) = gone.await {
            self.forget_idle(gone);
        }
    }

    fn forget_idle(&mut self, gone: Gone) {
        let now = self.core.clock.now();
        match gone {
            Gone::Surplus => self.core.ledger.borrow_mut().surplus(now),
            Gone::Closed => {
                self.core.ledger.borrow_mut().closed_idle(now);
                self.kept_ended(now, now);
            }
        }
        self.close();
    }

    /// Counts the silence before the end of a kept connection, which lasted until `at`.
    pub(super) fn kept_ended(&self, now: Moment, at: Moment) {
        if self.reused {
            self.core.ledger.borrow_mut().kept_ended(now, at.saturating_sub(self.answered));
        }
    }

    /// Lets the server close first, for a while; whether it did.
    pub(crate) async fn await_close(&mut self) -> bool {
        let core = Rc::clone(&self.core);
        let mut alarm = pin!(core.alarm.until(core.clock.now().saturating_add(CLOSE_WAIT)));
        poll_fn(|cx| match self.poll_gone(cx) {
            Poll::Ready(_) => Poll::Ready(true),
            Poll::Pending => alarm.as_mut().poll(cx).map(|()| false),
        })
        .await
    }

    /// Ready when an idle connection is of no further use: closed, broken, or carrying what nobody asked for (as a 408
    /// before closing). Never ready when there is none.
    fn poll_gone(&self, cx: &mut Context<'_>) -> Poll<Gone> {
        let Some(stream) = &self.stream else { return Poll::Pending };
        loop {
            let mut guard = ready!(stream.poll_read_ready(cx));
            let mut buffer = self.core.buffer.borrow_mut();
            match stream.read(&mut buffer) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => guard.clear_ready(),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // A response that nobody asked for is a word before closing.
                Ok(ReadOutcome { bytes: n @ 1.., .. }) if self.reused && !buffer[..n].starts_with(b"HTTP/") => {
                    return Poll::Ready(Gone::Surplus);
                }
                _ => return Poll::Ready(Gone::Closed),
            }
        }
    }
}

impl Channel for Connection {
    fn core(&self) -> &Rc<Core> {
        &self.core
    }

    fn slot(&self) -> &Rc<Slot> {
        &self.slot
    }

    fn is_open(&self) -> bool {
        self.stream.is_some()
    }

    /// A connection the server closes meanwhile is closed here, so that no request is sent into it.
    async fn rest(&mut self, at: Moment) {
        self.fresh = None;
        let core = Rc::clone(&self.core);
        let mut alarm = pin!(core.alarm.until(at));
        loop {
            let gone = poll_fn(|cx| match alarm.as_mut().poll(cx) {
                Poll::Ready(()) => Poll::Ready(None),
                Poll::Pending => self.poll_gone(cx).map(Some),
            });
            let Some(gone) = gone.await else { return };
            self.forget_idle(gone);
        }
    }

    /// None when the server closes the connection.
    async fn await_hand_over(&mut self) -> Option<Moment> {
        self.fresh = None;
        let handed = poll_fn(|cx| {
            if let Some(planned) = self.slot.handed.take() {
                return Poll::Ready(Ok(planned));
            }
            self.slot.attend(cx.waker());
            self.poll_gone(cx).map(Err)
        });
        match handed.await {
            Ok(planned) => Some(planned),
            Err(gone) => {
                self.forget_idle(gone);
                None
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close();
    }
}
