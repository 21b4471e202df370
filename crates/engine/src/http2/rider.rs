//! Who makes requests, one at a time: a closed user, or a worker of the open model.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use genkai_model::error::ErrorKind;
use h2::client::ResponseFuture;
use h2::{RecvStream, SendStream};
use http::HeaderMap;

use super::fault;
use super::fleet::Fleet;
use super::link::{Link, State};
use crate::clock::Moment;
use crate::connection::{Done, Turn, of_status};
use crate::thread::Core;
use crate::turns::Carrier;
use crate::watch::Slot;

/// How often a request that GOAWAY left out is made anew before it counts as failed.
pub(super) const MOST_TRIES: u32 = 8;

/// Most of a body that h2 is given at once, octets.
const PART: usize = 256 * 1024;

/// One who has a seat on a connection, or looks for one.
pub(crate) struct Rider {
    fleet: Rc<Fleet>,
    slot: Rc<Slot>,
    link: Option<Rc<Link>>,
}

/// How an exchange ended.
pub(super) enum Outcome {
    /// With a response, read at that moment.
    Status(u16, Moment),
    Failed(ErrorKind),
    /// GOAWAY left the request out; whether it had been written.
    LeftOut {
        written: bool,
    },
    /// The load is over.
    Over,
}

/// A stream.
struct Exchange<'a> {
    rider: &'a Rider,
    link: &'a Link,
    /// What of the body has not been sent, and from where on.
    sending: Option<(SendStream<Bytes>, u64)>,
    receiving: Receiving,
}

enum Receiving {
    Head(ResponseFuture),
    Body(u16, RecvStream),
}

impl Rider {
    /// One without a seat.
    pub(crate) fn new(fleet: &Rc<Fleet>) -> Rider {
        Rider { slot: fleet.core.watch.slot(), fleet: Rc::clone(fleet), link: None }
    }

    async fn make_one(&mut self, turn: Turn) -> Option<Done> {
        let core = Rc::clone(&self.fleet.core);
        let prompt = turn.prompt && self.is_open();
        if turn.prompt && !prompt {
            let now = core.clock.now();
            core.ledger.borrow_mut().began(now, now.saturating_sub(turn.planned));
        }
        let (mut written, mut tries) = (turn.planned, 0);
        let outcome = loop {
            if let Err(kind) = self.board().await {
                break Outcome::Failed(kind);
            }
            if core.is_ending() {
                return None;
            }
            let first = tries == 0;
            let outcome = self.exchange(
                |_| (),
                |now| {
                    written = now;
                    if first {
                        core.ledger.borrow_mut().sent(now, prompt.then(|| now.saturating_sub(turn.planned)));
                    }
                },
            );
            match outcome.await {
                Outcome::LeftOut { written: was_written } if tries < MOST_TRIES => {
                    if was_written {
                        tries += 1;
                        core.ledger.borrow_mut().retried(core.clock.now());
                    }
                    self.leave();
                }
                outcome => break outcome,
            }
        };
        self.slot.disarm();
        self.count(turn.planned, written, outcome)
    }

    fn count(&mut self, planned: Moment, written: Moment, outcome: Outcome) -> Option<Done> {
        let core = &self.fleet.core;
        let (at, kind) = match outcome {
            Outcome::Status(status, at) => (at.max(written), of_status(status)),
            Outcome::Failed(kind) => (core.clock.now(), Some(kind)),
            Outcome::LeftOut { .. } => (core.clock.now(), Some(ErrorKind::GoAway)),
            Outcome::Over => return None,
        };
        let mut ledger = core.ledger.borrow_mut();
        if let Outcome::Status(status, _) = outcome {
            ledger.answered(at, status);
        }
        match kind {
            None => ledger.succeeded(at, planned, written),
            Some(kind) => ledger.failed(at, planned, kind),
        }
        drop(ledger);
        if self.fleet.once || self.fleet.is_wanted() {
            self.leave();
        }
        Some(Done { at, failed: kind.is_some() })
    }

    /// Waits for a seat on an open connection, or the end of the load.
    pub(super) async fn board(&mut self) -> Result<(), ErrorKind> {
        if self.is_open() && self.has_place() {
            return Ok(());
        }
        let core = Rc::clone(&self.fleet.core);
        self.slot.arm(core.clock.now().saturating_add(core.timeout));
        poll_fn(|cx| {
            self.slot.attend(cx.waker());
            loop {
                if core.is_ending() {
                    return Poll::Ready(Ok(()));
                }
                let Some(link) = &self.link else {
                    self.link = self.fleet.seat();
                    if self.link.is_some() {
                        continue;
                    }
                    if self.slot.expired() {
                        return Poll::Ready(Err(ErrorKind::Dropped));
                    }
                    self.fleet.tell(&self.slot);
                    return Poll::Pending;
                };
                match link.state.get() {
                    State::Open if self.has_place() => return Poll::Ready(Ok(())),
                    State::Opening => {
                        // It has deadlines of its own.
                        link.tell(&self.slot);
                        return Poll::Pending;
                    }
                    State::Failed(kind) => {
                        self.leave();
                        return Poll::Ready(Err(kind));
                    }
                    State::Open | State::Leaving | State::Gone => self.leave(),
                }
            }
        })
        .await
    }

    /// Whether the connection still allows as many as it has.
    fn has_place(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.riders.get() <= link.room.get())
    }

    /// Gives the seat back.
    fn leave(&mut self) {
        if let Some(link) = self.link.take() {
            self.fleet.vacate(&link);
        }
    }

    /// Sends the request, receives the response. `heads` gets the response's fields, `begun` the moment of writing.
    pub(super) async fn exchange(&self, mut heads: impl FnMut(&HeaderMap), begun: impl FnOnce(Moment)) -> Outcome {
        let Some(link) = self.link.as_deref() else { return Outcome::LeftOut { written: false } };
        let core = &self.fleet.core;
        let mut exchange = match Exchange::begin(self, link) {
            Ok(exchange) => exchange,
            Err(outcome) => return outcome,
        };
        let now = core.clock.now();
        self.slot.arm(now.saturating_add(core.timeout));
        begun(now);
        let outcome = poll_fn(|cx| {
            if core.is_ending() {
                return Poll::Ready(Outcome::Over);
            }
            if self.slot.expired() {
                return Poll::Ready(Outcome::Failed(ErrorKind::Timeout));
            }
            self.slot.attend(cx.waker());
            exchange.poll(cx, &mut heads)
        })
        .await;
        if matches!(outcome, Outcome::Failed(ErrorKind::Timeout)) && link.heard.get() < now {
            // Nothing at all has come meanwhile: what is sent on it next would fare no better.
            link.leave();
        }
        outcome
    }
}

impl Carrier for Rider {
    fn core(&self) -> &Rc<Core> {
        &self.fleet.core
    }

    fn slot(&self) -> &Rc<Slot> {
        &self.slot
    }

    fn is_open(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.state.get() == State::Open)
    }

    async fn make(&mut self, turn: Turn) -> Option<Done> {
        self.make_one(turn).await
    }

    async fn rest(&mut self, at: Moment) {
        self.fleet.core.alarm.until(at).await;
    }

    async fn await_hand_over(&mut self) -> Option<Moment> {
        poll_fn(|cx| {
            if let Some(planned) = self.slot.handed.take() {
                return Poll::Ready(Some(planned));
            }
            self.slot.attend(cx.waker());
            Poll::Pending
        })
        .await
    }
}

impl Drop for Rider {
    fn drop(&mut self) {
        self.leave();
    }
}

impl<'a> Exchange<'a> {
    /// Hands the request to h2.
    fn begin(rider: &'a Rider, link: &'a Link) -> Result<Exchange<'a>, Outcome> {
        let plan = &rider.fleet.plan;
        let bodiless = plan.length() == 0;
        let mut send = link.send.borrow_mut();
        let Some(sender) = send.as_mut() else { return Err(Outcome::LeftOut { written: false }) };
        let mut sent = sender.send_request(plan.head(), bodiless);
        if sent.as_ref().is_err_and(|e| !(e.is_go_away() || e.is_reset() || e.is_io())) {
            // A stream waits to be opened, because the server still counts one that we have ended: only this handle must
            // wait for it.
            *sender = sender.clone();
            sent = sender.send_request(plan.head(), bodiless);
        }
        drop(send);
        match sent {
            Ok((response, body)) => {
                link.active.set(link.active.get() + 1);
                let sending = (!bodiless).then_some((body, 0));
                Ok(Exchange { rider, link, sending, receiving: Receiving::Head(response) })
            }
            Err(e) => {
                link.leave();
                Err(if fault::left_out(&e) {
                    Outcome::LeftOut { written: false }
                } else {
                    Outcome::Failed(link.scene(false).kind(&e))
                })
            }
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>, heads: &mut impl FnMut(&HeaderMap)) -> Poll<Outcome> {
        self.poll_sending(cx);
        loop {
            match &mut self.receiving {
                Receiving::Head(response) => match ready!(Pin::new(response).poll(cx)) {
                    Ok(response) => {
                        let (parts, body) = response.into_parts();
                        heads(&parts.headers);
                        let status = parts.status.as_u16();
                        if body.is_end_stream() {
                            return Poll::Ready(self.done(status));
                        }
                        self.receiving = Receiving::Body(status, body);
                    }
                    Err(e) if fault::left_out(&e) => return Poll::Ready(Outcome::LeftOut { written: true }),
                    Err(e) => return Poll::Ready(Outcome::Failed(self.link.scene(false).kind(&e))),
                },
                Receiving::Body(status, body) => {
                    let status = *status;
                    match ready!(poll_body(body, cx)) {
                        Ok(()) => return Poll::Ready(self.done(status)),
                        Err(e) => return Poll::Ready(Outcome::Failed(self.link.scene(true).kind(&e))),
                    }
                }
            }
        }
    }

    fn done(&self, status: u16) -> Outcome {
        self.link.reused.set(true);
        Outcome::Status(status, self.link.heard.get())
    }

    /// Sends what of the body the server has room for. What goes wrong is told by the response.
    fn poll_sending(&mut self, cx: &mut Context<'_>) {
        let plan = &self.rider.fleet.plan;
        while let Some((stream, at)) = &mut self.sending {
            let left = usize::try_from(plan.length() - *at).unwrap_or(usize::MAX);
            if stream.capacity() == 0 {
                stream.reserve_capacity(left.min(PART));
                match stream.poll_capacity(cx) {
                    Poll::Pending => return,
                    Poll::Ready(Some(Ok(_))) => {}
                    Poll::Ready(_) => {
                        self.sending = None;
                        return;
                    }
                }
            }
            let chunk = plan.chunk(*at, stream.capacity());
            *at += chunk.len() as u64;
            let last = *at == plan.length();
            if stream.send_data(chunk, last).is_err() || last {
                self.sending = None;
            }
        }
    }
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        self.link.active.set(self.link.active.get() - 1);
    }
}

/// Takes what comes of a body, to its end and that of its trailers.
fn poll_body(body: &mut RecvStream, cx: &mut Context<'_>) -> Poll<Result<(), h2::Error>> {
    while let Some(data) = ready!(body.poll_data(cx)) {
        let data = data?;
        if body.is_end_stream() {
            // Its room in the window is given back with the stream.
            return Poll::Ready(Ok(()));
        }
        body.flow_control().release_capacity(data.len())?;
    }
    body.poll_trailers(cx).map_ok(|_| ())
}
