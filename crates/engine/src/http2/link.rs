//! One connection, and the task that drives it.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use genkai_model::error::ErrorKind;
use h2::client::{Builder, SendRequest};
use tokio::io::ReadBuf;

use super::fault::{self, Cut, Scene};
use super::fleet::Fleet;
use super::view::View;
use crate::clock::Moment;
use crate::connection::Connection;
use crate::thread::Core;
use crate::watch::Slot;

/// Windows for response bodies, a stream's and a connection's (RFC 9113 section 5.2), octets: so large that what a server
/// may send is never held up by the generator. Nothing of it is memory: what comes is counted and dropped.
const STREAM_WINDOW: u32 = 1 << 24;
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;
/// h2 closes connections on which many small DATA frames wait to be taken. Here they are taken at once.
const SMALL_FRAMES: usize = 1 << 28;
/// Most streams reset by us (timeouts) whose late frames are ignored for a while instead of being errors.
const RESETS: usize = 1 << 16;

/// The driven side of a connection.
type Driver = h2::client::Connection<View, Bytes>;

/// What is known of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not ready for requests yet.
    Opening,
    /// Takes requests.
    Open,
    /// Takes no more; those it carries go on.
    Leaving,
    /// It could not be opened.
    Failed(ErrorKind),
    /// Over.
    Gone,
}

/// A connection, as its riders see it.
pub(super) struct Link {
    pub(super) state: Cell<State>,
    /// Where requests go; none unless it is open.
    pub(super) send: RefCell<Option<SendRequest<Bytes>>>,
    /// Riders that have a seat.
    pub(super) riders: Cell<u32>,
    /// Seats.
    pub(super) room: Cell<u32>,
    /// Requests being made.
    pub(super) active: Cell<u32>,
    /// Whether it has carried a response.
    pub(super) reused: Cell<bool>,
    /// When something was last read.
    pub(super) heard: Cell<Moment>,
    cut: Cell<Option<Cut>>,
    /// Whether the server has ended it by GOAWAY with an error.
    blamed: Cell<bool>,
    /// Riders to be told when it is open, or will not be.
    waiting: RefCell<Vec<Rc<Slot>>>,
    /// The driver's.
    slot: RefCell<Option<Rc<Slot>>>,
    /// Where in the thread's buffer the bytes are that h2 has not taken; only while it is polled.
    tray: Cell<(usize, usize)>,
    /// Bytes h2 did not take in its last poll.
    left: RefCell<Vec<u8>>,
}

impl Link {
    /// A connection that is to be opened, with so many seats.
    pub(super) fn new(room: u32) -> Link {
        Link {
            state: Cell::new(State::Opening),
            send: RefCell::default(),
            riders: Cell::new(0),
            room: Cell::new(room),
            active: Cell::new(0),
            reused: Cell::new(false),
            heard: Cell::new(0),
            cut: Cell::new(None),
            blamed: Cell::new(false),
            waiting: RefCell::default(),
            slot: RefCell::default(),
            tray: Cell::default(),
            left: RefCell::default(),
        }
    }

    /// Whether there is a free seat.
    pub(super) fn has_seat(&self) -> bool {
        matches!(self.state.get(), State::Opening | State::Open) && self.riders.get() < self.room.get()
    }

    /// What is known of an error on it.
    pub(super) fn scene(&self, started: bool) -> Scene {
        Scene { cut: self.cut.get(), blamed: self.blamed.get(), reused: self.reused.get(), started }
    }

    /// Takes no more requests.
    pub(super) fn leave(&self) {
        if matches!(self.state.get(), State::Opening | State::Open) {
            self.state.set(State::Leaving);
        }
        self.send.take();
        // The driver sees to it that this comes to an end.
        self.slot.borrow().iter().for_each(|slot| slot.wake());
    }

    /// Tells `slot` when the connection has become open, or will not.
    pub(super) fn tell(&self, slot: &Rc<Slot>) {
        self.waiting.borrow_mut().push(Rc::clone(slot));
    }

    fn call(&self) {
        self.waiting.take().iter().for_each(|slot| slot.wake());
    }

    /// Whether nothing has come yet.
    pub(super) fn is_new(&self) -> bool {
        self.heard.get() == 0
    }

    /// The first end is the cause of later ones.
    pub(super) fn was_cut(&self, cut: Cut) {
        self.cut.set(self.cut.get().or(Some(cut)));
    }

    /// So many bytes are in the thread's buffer.
    pub(super) fn fetched(&self, now: Moment, bytes: usize) {
        self.heard.set(now.max(1));
        self.tray.set((0, bytes));
    }

    /// Gives h2 what it has not taken yet; whether there was anything.
    pub(super) fn serve(&self, core: &Core, out: &mut ReadBuf<'_>) -> bool {
        let mut left = self.left.borrow_mut();
        if !left.is_empty() {
            let n = left.len().min(out.remaining());
            out.put_slice(&left[..n]);
            left.drain(..n);
            return true;
        }
        let (from, to) = self.tray.get();
        let n = (to - from).min(out.remaining());
        out.put_slice(&core.buffer.borrow()[from..from + n]);
        self.tray.set((from + n, to));
        n > 0
    }

    /// Before others use the thread's buffer.
    fn stash(&self, core: &Core) {
        let (from, to) = self.tray.take();
        if from < to {
            self.left.borrow_mut().extend_from_slice(&core.buffer.borrow()[from..to]);
        }
    }
}

/// Opens a connection and drives it to its end.
pub(super) async fn drive(fleet: Rc<Fleet>, link: Rc<Link>) {
    let core = Rc::clone(&fleet.core);
    let mut connection = Connection::toward(Rc::clone(&core), Rc::clone(&fleet.way));
    link.slot.replace(Some(Rc::clone(connection.slot())));
    let opened = match connection.open().await {
        Ok(()) if connection.agreed().is_some_and(|name| name != b"h2") => {
            fleet.instead.replace(instead(&connection.agreed().unwrap_or_default()));
            Err(ErrorKind::Http2NotOffered)
        }
        opened => opened,
    };
    let ended = match opened {
        Ok(()) => {
            core.talking(1);
            let shared = Rc::new(connection);
            let ended = carry(&fleet, &link, &shared).await;
            core.talking(-1);
            connection = Rc::into_inner(shared).expect("the view is gone");
            ended
        }
        Err(kind) => Err(kind),
    };
    let by_server = link.state.get() == State::Leaving || link.cut.get().is_some();
    if connection.is_open() && by_server && link.active.get() == 0 && !core.is_ending() {
        core.ledger.borrow_mut().closed_idle(core.clock.now());
    }
    fleet.forget(&link, ended.err());
    link.call();
    if link.cut.get().is_none() && !core.is_ending() {
        connection.await_close().await;
    }
    connection.close();
}

/// What was agreed on that is not HTTP/2.
fn instead(name: &[u8]) -> String {
    if name.is_empty() { "ALPN chose nothing".to_owned() } else { format!("ALPN chose {}", name.escape_ascii()) }
}

/// Speaks HTTP/2 until the connection ends. An error when it could not be made ready for requests.
async fn carry(fleet: &Rc<Fleet>, link: &Rc<Link>, connection: &Rc<Connection>) -> Result<(), ErrorKind> {
    let core = &fleet.core;
    let slot = connection.slot();
    slot.arm(core.clock.now().saturating_add(core.timeout));
    let view = View::new(Rc::clone(connection), Rc::clone(link), Rc::clone(fleet));
    let mut shaking = Box::pin(settings().handshake::<_, Bytes>(view));
    let shaken = poll_fn(|cx| {
        slot.attend(cx.waker());
        match shaking.as_mut().poll(cx) {
            Poll::Pending if slot.expired() => Poll::Ready(Err(ErrorKind::Timeout)),
            polled => polled.map_err(|e| link.scene(false).kind(&e)),
        }
    });
    let (send, mut driver) = shaken.await?;
    drop(shaking);
    let mut send = Some(send);
    poll_fn(|cx| {
        slot.attend(cx.waker());
        let polled = Pin::new(&mut driver).poll(cx);
        link.stash(core);
        let opening = send.is_some();
        note_goaway(core, link, &mut send, cx);
        match polled {
            Poll::Ready(_) if !opening => Poll::Ready(Ok(())),
            Poll::Ready(Ok(())) => Poll::Ready(Err(link.scene(false).ended())),
            Poll::Ready(Err(e)) => Poll::Ready(Err(link.scene(false).kind(&e))),
            Poll::Pending => follow(fleet, link, &mut send, &driver, cx),
        }
    })
    .await
}

/// Counts the GOAWAY that ends a connection, once. `fresh` is there until the connection is ready for requests.
fn note_goaway(core: &Core, link: &Link, fresh: &mut Option<SendRequest<Bytes>>, cx: &mut Context<'_>) {
    let said = {
        let mut open = link.send.borrow_mut();
        fresh.as_mut().or(open.as_mut()).map(|send| send.poll_ready(cx))
    };
    if let Some(Poll::Ready(Err(e))) = said
        && e.is_go_away()
        && e.is_remote()
    {
        core.ledger.borrow_mut().sent_away(core.clock.now());
        link.blamed.set(!fault::left_out(&e));
        link.leave();
    }
}

/// Takes note of what the server has said of its settings, and sees to the end of the connection. `fresh` is there until the
/// connection is ready for requests.
fn follow(
    fleet: &Rc<Fleet>,
    link: &Rc<Link>,
    fresh: &mut Option<SendRequest<Bytes>>,
    driver: &Driver,
    cx: &mut Context<'_>,
) -> Poll<Result<(), ErrorKind>> {
    let core = &fleet.core;
    let slot = link.slot.borrow();
    let slot = slot.as_deref().expect("a driver has one");
    if slot.expired() {
        // It did not say what it allows, or its requests should have ended long ago.
        return Poll::Ready(if fresh.is_some() { Err(ErrorKind::Timeout) } else { Ok(()) });
    }
    if core.is_ending() && fresh.take().is_some() | link.send.take().is_some() {
        link.state.set(State::Leaving);
        // h2 says goodbye now that nobody can ask for more; it must be polled for that.
        cx.waker().wake_by_ref();
    }
    if link.state.get() == State::Leaving {
        if fresh.is_some() {
            return Poll::Ready(Err(ErrorKind::GoAway));
        }
        if !slot.is_armed() {
            // Its requests were all begun before now.
            slot.arm(core.clock.now().saturating_add(core.timeout.saturating_mul(2)));
        }
        return Poll::Pending;
    }
    let allowed = u32::try_from(driver.max_concurrent_send_streams()).unwrap_or(u32::MAX);
    if allowed > 0 {
        fleet.allowed(link, allowed);
        if let Some(send) = fresh.take() {
            slot.disarm();
            link.send.replace(Some(send));
            link.state.set(State::Open);
            link.call();
        }
    }
    Poll::Pending
}

/// What is said to servers.
fn settings() -> Builder {
    let mut builder = Builder::new();
    builder
        .enable_push(false)
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .data_frame_budget(SMALL_FRAMES)
        .max_concurrent_reset_streams(RESETS)
        // None before the server has said how many.
        .initial_max_send_streams(0);
    builder
}
