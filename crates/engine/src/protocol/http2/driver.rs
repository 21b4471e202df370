//! The task that opens a connection and drives it to its end.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use genkai_model::error::ErrorKind;
use h2::client::{Builder, SendRequest};

use super::fault;
use super::pool::Pool;
use super::shared::{SharedConnection, State};
use super::view::View;
use crate::protocol::connection::Connection;
use crate::protocol::core::Core;
use crate::protocol::request::Channel;

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
pub(super) async fn drive(pool: Rc<Pool>, shared: Rc<SharedConnection>) {
    let core = Rc::clone(&pool.core);
    let mut connection = Connection::toward(Rc::clone(&core), Rc::clone(&pool.endpoint));
    shared.slot.replace(Some(Rc::clone(connection.slot())));
    let opened = match connection.open().await {
        Ok(()) if connection.agreed().is_some_and(|name| name != b"h2") => {
            pool.instead.replace(instead(&connection.agreed().unwrap_or_default()));
            Err(ErrorKind::Http2NotOffered)
        }
        opened => opened,
    };
    let ended = match opened {
        Ok(()) => {
            core.count_session(1);
            let socket = Rc::new(connection);
            let ended = carry(&pool, &shared, &socket).await;
            core.count_session(-1);
            connection = Rc::into_inner(socket).expect("the view is gone");
            ended
        }
        Err(kind) => Err(kind),
    };
    if connection.is_open() && shared.is_ended_by_server() && shared.active.get() == 0 && !core.is_ending() {
        core.ledger.borrow_mut().closed_idle(core.clock.now());
    }
    pool.forget(&shared, ended.err());
    shared.call();
    if shared.cut.get().is_none() && !core.is_ending() {
        connection.await_close().await;
    }
    connection.close();
}

/// What was agreed on that is not HTTP/2.
fn instead(name: &[u8]) -> String {
    if name.is_empty() { "ALPN chose nothing".to_owned() } else { format!("ALPN chose {}", name.escape_ascii()) }
}

/// Speaks HTTP/2 until the connection ends. An error when it could not be made ready for requests.
async fn carry(pool: &Rc<Pool>, shared: &Rc<SharedConnection>, connection: &Rc<Connection>) -> Result<(), ErrorKind> {
    let core = &pool.core;
    let slot = connection.slot();
    slot.arm(core.clock.now().saturating_add(core.timeout));
    let view = View::new(Rc::clone(connection), Rc::clone(shared), Rc::clone(pool));
    let mut shaking = Box::pin(settings().handshake::<_, Bytes>(view));
    let shaken = poll_fn(|cx| {
        slot.attend(cx.waker());
        match shaking.as_mut().poll(cx) {
            Poll::Pending if slot.expired() => Poll::Ready(Err(ErrorKind::Timeout)),
            polled => polled.map_err(|e| shared.circumstances(false).kind(&e)),
        }
    });
    let (send, mut driver) = shaken.await?;
    drop(shaking);
    let mut send = Some(send);
    poll_fn(|cx| {
        slot.attend(cx.waker());
        let polled = Pin::new(&mut driver).poll(cx);
        shared.stash(core);
        let opening = send.is_some();
        note_goaway(core, shared, &mut send, cx);
        match polled {
            Poll::Ready(_) if !opening => Poll::Ready(Ok(())),
            Poll::Ready(Ok(())) => Poll::Ready(Err(shared.circumstances(false).ended())),
            Poll::Ready(Err(e)) => Poll::Ready(Err(shared.circumstances(false).kind(&e))),
            Poll::Pending => follow(pool, shared, &mut send, &driver, cx),
        }
    })
    .await
}

/// Counts the GOAWAY that ends a connection, once. `fresh` is there until the connection is ready for requests.
fn note_goaway(core: &Core, shared: &SharedConnection, fresh: &mut Option<SendRequest<Bytes>>, cx: &mut Context<'_>) {
    let said = {
        let mut open = shared.send.borrow_mut();
        fresh.as_mut().or(open.as_mut()).map(|send| send.poll_ready(cx))
    };
    if let Some(Poll::Ready(Err(e))) = said
        && e.is_go_away()
        && e.is_remote()
    {
        core.ledger.borrow_mut().sent_away(core.clock.now());
        shared.blamed.set(!fault::left_out(&e));
        shared.leave();
    }
}

/// Takes note of what the server has said of its settings, and sees to the end of the connection. `fresh` is there until the
/// connection is ready for requests.
fn follow(
    pool: &Rc<Pool>,
    shared: &Rc<SharedConnection>,
    fresh: &mut Option<SendRequest<Bytes>>,
    driver: &Driver,
    cx: &mut Context<'_>,
) -> Poll<Result<(), ErrorKind>> {
    let core = &pool.core;
    let slot = shared.slot.borrow();
    let slot = slot.as_deref().expect("a driver has one");
    if slot.expired() {
        // It did not say what it allows, or its requests should have ended long ago.
        return Poll::Ready(if fresh.is_some() { Err(ErrorKind::Timeout) } else { Ok(()) });
    }
    if core.is_ending() && fresh.take().is_some() | shared.send.take().is_some() {
        shared.state.set(State::Leaving);
        // h2 says goodbye now that nobody can ask for more; it must be polled for that.
        cx.waker().wake_by_ref();
    }
    if shared.state.get() == State::Leaving {
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
        pool.allowed(shared, allowed);
        if let Some(send) = fresh.take() {
            slot.disarm();
            shared.send.replace(Some(send));
            shared.state.set(State::Open);
            shared.call();
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
