//! Whether a server speaks HTTP/2, found out before any load; and what it answers to one request.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::mpsc::{channel, sync_channel};
use std::time::Duration;

use genkai_model::error::ErrorKind;
use genkai_model::load::{Load, Protocol};
use genkai_model::transport::Transport;
use genkai_model::units::Span;
use genkai_wire::http1::fields;

use super::answer::Asked;
use crate::clock::Start;
use crate::hold::Hold;
use crate::measure::ledger::Ledger;
use crate::measure::open::OpenCount;
use crate::measure::report::Handover;
use crate::protocol::core::Core;
use crate::protocol::http2::{Kept, Outcome, Plan, Pool, Requester};
use crate::schedule::share::Part;
use crate::transport::deadline::Deadlines;
use crate::transport::endpoint::Route;
use crate::transport::reactor::{Reactor, spawn};

/// A server that does not speak HTTP/2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("HTTP/2 not offered by {server} ({instead})")]
pub struct NotOffered {
    /// Its address, or the path of its Unix socket.
    pub server: String,
    /// What it did instead.
    pub instead: String,
}

/// Connects once, as a load would, and waits at most `within` for each step. A server that cannot be reached, or fails
/// otherwise, is no error here: the load will count that.
///
/// # Errors
/// When the server does not speak HTTP/2.
pub fn http2_offered(load: &Load, within: Duration) -> Result<(), NotOffered> {
    match visit(load, within, false) {
        Some(Visit { failed: Some(ErrorKind::Http2NotOffered), instead, .. }) => {
            let server = match &load.transport {
                Transport::Unix { path } => path.display().to_string(),
                _ => load.addresses.first().map(SocketAddr::to_string).unwrap_or_default(),
            };
            Err(NotOffered { server, instead })
        }
        _ => Ok(()),
    }
}

/// Sends the load's request once.
pub(crate) fn ask(load: &Load, within: Duration) -> Asked {
    match visit(load, within, true) {
        Some(Visit { status: Some(status), location, .. }) => Asked::Answered { status, location },
        Some(Visit { failed: Some(ErrorKind::Http2NotOffered), instead, .. }) => Asked::NotOffered { instead },
        Some(Visit { failed: Some(ErrorKind::EofNew | ErrorKind::Reset), .. }) => Asked::Closed,
        _ => Asked::Nothing,
    }
}

/// Most of a response that is looked at, bytes.
const MOST_HEAD: usize = 16 * 1024;

#[derive(Default)]
struct Visit {
    status: Option<u16>,
    location: Option<String>,
    failed: Option<ErrorKind>,
    instead: String,
}

/// Opens a connection by the means of a load, and makes its request if `asks`. None when the load cannot be made at all.
fn visit(load: &Load, within: Duration, asks: bool) -> Option<Visit> {
    let timeout = Span(u64::try_from(within.as_nanos()).unwrap_or(u64::MAX));
    let load = Load { timeout, ..load.clone() };
    let share = Part::WHOLE.shares(&load).ok()?.into_iter().next()?;
    let Protocol::Http2(http2) = &load.protocol else { return None };
    let plan = Plan::read(&load, http2).ok()?;
    let route = Route::plan(&load).ok()?;
    let (reports, _inbox) = sync_channel(1);
    let handover = Handover { thread: 0, reports, open: OpenCount::default(), spare: channel().1 };
    let ledger = Ledger::new(load.tick.0, load.stop.after.0, share.quota, handover);
    let made = Reactor::new().ok()?.block_on(async {
        let core = Core::new(&load, share.thread, &route, ledger, (Start::now().into(), Hold::new())).ok()?;
        spawn(Rc::clone(&core.alarm).ring());
        spawn(sweep(Rc::clone(&core)));
        let pool = Pool::new(&core, &core.endpoint, (plan.streams, 1), false);
        let mut requester = Requester::new(&pool);
        let mut visit = Visit::default();
        let outcome = match requester.acquire().await {
            Err(kind) => Outcome::Failed(kind),
            Ok(()) if !asks => return Some(visit),
            Ok(()) => {
                let mut kept = Kept::at_most(MOST_HEAD);
                let outcome = requester.exchange(&plan.request, &mut kept, core.timeout, |_| ()).await;
                let mut location = fields(&kept.head).filter(|(name, _)| *name == b"location");
                visit.location = location.next().map(|(_, to)| String::from_utf8_lossy(to).into_owned());
                outcome
            }
        };
        match outcome {
            Outcome::Status(status, _) => visit.status = Some(status),
            Outcome::Failed(kind) => visit.failed = Some(kind),
            Outcome::LeftOut { .. } | Outcome::Over => visit.failed = Some(ErrorKind::GoAway),
        }
        visit.instead = pool.instead.borrow().clone();
        Some(visit)
    });
    made.ok()?
}

/// Looks after deadlines, for ever.
async fn sweep(core: Rc<Core>) {
    let period = Deadlines::period(core.timeout);
    loop {
        let next = core.deadlines.sweep(core.clock.now(), period);
        core.alarm.until(next).await;
    }
}
