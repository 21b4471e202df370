//! Chat rooms: members that send something now and then, and receive what all in their room send.
//!
//! A member enters, however often it must ask; sends what it has to send when it is time; and receives until the load ends.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, ready};

use genkai_model::error::ErrorKind;
use genkai_model::load::{Arrivals, Load};
use genkai_model::rooms::Rooms;

use super::attendance::{Attendee, Roster};
use super::core::Core;
use super::dispatch::Protocol;
use super::request::ScheduledRequest;
use super::websocket::{self, Session};
use crate::clock::{Moment, NEVER};
use crate::schedule::pacer::Arrival;
use crate::schedule::share::Share;
use crate::transport::reactor::spawn;

/// Chat rooms as a load has them.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    websocket: websocket::Plan,
    rooms: Rooms,
    /// Users of the load, all threads together.
    members: u32,
}

impl Plan {
    /// What `load` says, which speaks WebSocket as `websocket` says; none where its users are no members of rooms.
    pub(crate) fn read(load: &Load, websocket: &websocket::Plan) -> Option<Plan> {
        match (&websocket.rooms, load.arrivals) {
            (Some(rooms), Arrivals::Users { count, .. }) => {
                Some(Plan { websocket: websocket.clone(), rooms: rooms.clone(), members: count })
            }
            _ => None,
        }
    }
}

/// The members of one thread.
pub(crate) struct Members {
    core: Rc<Core>,
    websocket: Rc<websocket::Plan>,
    rooms: Rooms,
    members: u32,
    share: Share,
    roster: Roster,
}

impl Members {
    /// Those of `share`.
    pub(crate) fn new(core: &Rc<Core>, plan: Plan, share: &Share) -> Members {
        let Plan { websocket, rooms, members } = plan;
        let (websocket, share) = (Rc::new(websocket), share.clone());
        Members { core: Rc::clone(core), websocket, rooms, members, share, roster: Roster::default() }
    }
}

impl Protocol for Members {
    fn arrive(&self, n: usize, arrival: Arrival) -> bool {
        let core = &self.core;
        if !core.claim() {
            return false;
        }
        let number = self.share.threads * n as u32 + self.share.thread;
        let who = self.roster.add(Attendee::new(number, self.members, &self.rooms));
        let session = Session::new(Rc::clone(core), Rc::clone(&self.websocket), number).of_member(Rc::clone(&who));
        let first = ScheduledRequest::first(core, arrival.at);
        spawn(attend(Rc::clone(core), session, self.rooms.clone(), who, first));
        true
    }

    fn attendees(&self) -> Vec<Attendee> {
        self.roster.close()
    }
}

/// A member that should enter at `first`, whose first message has been claimed.
async fn attend(
    core: Rc<Core>,
    mut session: Session,
    rooms: Rooms,
    who: Rc<RefCell<Attendee>>,
    first: ScheduledRequest,
) {
    match enter(&core, &mut session, &rooms, &who).await {
        Ok(()) => {
            let stayed = session_loop(&core, &mut session, &rooms, &who, first.planned).await;
            if let Err(kind) = stayed {
                who.borrow_mut().cut = Some((core.clock.now(), kind));
                session.part(kind).await;
            }
        }
        // Its first message cannot be sent. Those after it are not planned any more: the roster tells of them.
        Err(kind) => core.ledger.borrow_mut().failed(core.clock.now(), first.planned, kind),
    }
    session.finish().await;
}

/// Opens the connection, if need be by asking again.
async fn enter(
    core: &Rc<Core>,
    session: &mut Session,
    rooms: &Rooms,
    who: &RefCell<Attendee>,
) -> Result<(), ErrorKind> {
    let mut attempt = 0;
    loop {
        let opened = session.open(|_| ()).await;
        let now = core.clock.now();
        let Err(kind) = opened else {
            if core.is_ending() {
                // Others left, and so there was room: too late.
                return Err(ErrorKind::Timeout);
            }
            who.borrow_mut().entered = Some(now);
            return Ok(());
        };
        session.end(kind);
        who.borrow_mut().refused.push(kind);
        if attempt == rooms.retries || core.is_ending() {
            return Err(kind);
        }
        attempt += 1;
        let again = now.saturating_add(rooms.pause.0);
        core.alarm.until(again).await;
        if core.is_ending() {
            return Err(kind);
        }
    }
}

/// Sends and receives until the load ends.
async fn session_loop(
    core: &Rc<Core>,
    session: &mut Session,
    rooms: &Rooms,
    who: &RefCell<Attendee>,
    begin: Moment,
) -> Result<(), ErrorKind> {
    for n in 0..rooms.messages {
        let planned = begin.saturating_add(u64::from(n).saturating_mul(rooms.every.0));
        receive_until(core, session, planned).await?;
        if core.is_ending() || n > 0 && !core.ledger.borrow_mut().claim(core.clock.now()) {
            return Ok(());
        }
        // A member that was late to enter sends at once what it should have sent before.
        let prompt = n > 0 && session.is_prompt() && who.borrow().entered.is_none_or(|entered| entered <= planned);
        session.send(planned, prompt)?;
    }
    receive_until(core, session, NEVER).await
}

/// Receives until `until`, or the end of the load.
async fn receive_until(core: &Rc<Core>, session: &mut Session, until: Moment) -> Result<(), ErrorKind> {
    let mut alarm = pin!(core.alarm.until(until));
    let received = poll_fn(|cx| {
        session.attend(cx.waker());
        loop {
            if core.is_ending() || alarm.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ok(()));
            }
            session.expire();
            session.arm();
            ready!(session.poll_step(cx))?;
        }
    })
    .await;
    session.disarm();
    received
}
