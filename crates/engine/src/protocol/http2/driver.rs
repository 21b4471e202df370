//! The task that opens a connection and drives it to its end.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use genkai_model::error::ErrorKind;
use h2::client::{Builder, SendRequest};

use super::fault;
use super::fleet::Fleet;
use super::link::{Link, State};
use super::view::View;
use crate::protocol::connection::Connection;
use crate::protocol::core::Core;
use crate::protocol::request::Seat;

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

/// Opens a connection and drives it to its end.
pub(super) async fn drive(fleet: Rc<Fleet>, link: Rc<Link>) {
    let core = Rc::clone(&fleet.core);
    let mut connection = Connection::toward(Rc::clone(&core), Rc::clone(&fleet.endpoint));
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
            core.count_session(1);
            let shared = Rc::new(connection);
            let ended = carry(&fleet, &link, &shared).await;
            core.count_session(-1);
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
