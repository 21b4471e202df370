//! The pool in real time: requests of connections go in, and come out when their service time is over.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use genkai_model::plan::OriginSpec;
use tokio::sync::Notify;

use super::stats::Counters;
use crate::clock::Clock;
use crate::pool::{Admission, Pool};
use crate::service::Times;

/// Rung when a connection's request is done. A connection has one request in the pool at a time, so one bell serves it
/// for life.
pub(super) type Bell = Rc<Notify>;

/// Workers, their queue, and the clock that drives them.
pub(super) struct Workers {
    pool: RefCell<Pool<Bell>>,
    times: RefCell<Times>,
    clock: Clock,
    /// When the alarm goes off; it is set again only for an earlier instant.
    alarm: Cell<Option<u64>>,
    /// Every service time is zero: no request ever occupies a worker, and no timer is needed.
    instant: bool,
    counters: Arc<Counters>,
}

impl Workers {
    /// # Errors
    /// When there is no descriptor for the timer.
    pub(super) fn new(spec: &OriginSpec, counters: Arc<Counters>) -> io::Result<Workers> {
        let times = Times::new(spec.service_time, spec.seed);
        Ok(Workers {
            pool: RefCell::new(Pool::new(spec.workers, spec.queue)),
            instant: times.instant(),
            times: RefCell::new(times),
            clock: Clock::new()?,
            alarm: Cell::new(None),
            counters,
        })
    }

    /// Takes a request through the pool: returns when it was served, or at once when it was refused.
    ///
    /// # Errors
    /// When the timer cannot be set.
    pub(super) async fn work(&self, bell: &Bell) -> io::Result<Admission> {
        if self.instant {
            self.counters.one_done();
            return Ok(Admission::Taken);
        }
        let now = self.clock.now();
        self.advance(now);
        let takes = self.times.borrow_mut().draw();
        let admission = self.pool.borrow_mut().admit(now, takes, Rc::clone(bell));
        self.counters.set(self.pool.borrow().counts());
        if admission == Admission::Taken {
            self.arm()?;
            bell.notified().await;
        }
        Ok(admission)
    }

    /// Lets requests out when their time is over; ends only by an error of the timer.
    pub(super) async fn run(&self) -> io::Result<()> {
        loop {
            self.clock.rings().await?;
            self.alarm.set(None);
            self.advance(self.clock.now());
            self.arm()?;
        }
    }

    fn advance(&self, now: u64) {
        let mut pool = self.pool.borrow_mut();
        pool.advance(now, |bell| bell.notify_one());
        self.counters.set(pool.counts());
    }

    fn arm(&self) -> io::Result<()> {
        let Some(due) = self.pool.borrow().due() else { return Ok(()) };
        if self.alarm.get().is_none_or(|alarm| due < alarm) {
            self.clock.set(due)?;
            self.alarm.set(Some(due));
        }
        Ok(())
    }
}
