//! Waking up on time.
//!
//! tokio's timers have a wheel of 1 ms slots and rest on the timeout of `epoll_wait`, which is in milliseconds too: a
//! request planned for an instant would be sent up to a millisecond late, and the generator would measure its own clock (wrk2's p50 of 1.1 ms
//! against a server that answers in 0.05 ms). Here each thread has one `timerfd`, armed with the absolute CLOCK_MONOTONIC time of its
//! nearest deadline. The kernel backs it by a high-resolution timer without slack; the loop sees it through epoll as it sees a
//! socket. Deadlines are in a heap; re-arming is one system call and happens only when the nearest changes. Nothing spins.
//!
//! The expiry counter is never read: `timerfd_settime` resets it, and epoll is edge-triggered, so each expiry is a new event.

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::future::{Future, poll_fn};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use super::reactor::Source;
use crate::clock::{Clock, Moment, NEVER};

/// The alarm clock of one thread.
pub(crate) struct Alarm {
    clock: Clock,
    timer: Source<Timer>,
    /// What the timer is armed for.
    armed: Cell<Moment>,
    calls: RefCell<BinaryHeap<Call>>,
}

/// A timerfd, as the event loop takes it.
struct Timer(TimerFd);

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// One to wake.
struct Call {
    at: Moment,
    who: Waker,
}

impl Alarm {
    /// Must be called within the thread's event loop.
    pub(crate) fn new(clock: Clock) -> io::Result<Alarm> {
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        Ok(Alarm { clock, timer: Source::new(Timer(timer))?, armed: Cell::new(NEVER), calls: RefCell::default() })
    }

    /// Waits until `at`; ready at once if that has passed.
    pub(crate) fn until(&self, at: Moment) -> Until<'_> {
        Until { alarm: self, at, called: false }
    }

    /// Wakes who is due, for ever: one task of the thread.
    pub(crate) async fn ring(self: Rc<Self>) {
        poll_fn(|cx| -> Poll<()> {
            loop {
                ready!(self.timer.poll_read_ready(cx)).clear_ready();
                self.wake_due();
            }
        })
        .await;
    }

    fn wake_due(&self) {
        let now = self.clock.now();
        let mut calls = self.calls.borrow_mut();
        while let Some(call) = calls.peek()
            && call.at <= now
        {
            calls.pop().expect("peeked").who.wake();
        }
        self.arm(calls.peek().map_or(NEVER, |call| call.at));
    }

    fn call(&self, at: Moment, who: Waker) {
        self.calls.borrow_mut().push(Call { at, who });
        if at < self.armed.get() {
            self.arm(at);
        }
    }

    fn arm(&self, at: Moment) {
        self.armed.set(at);
        if at != NEVER {
            let at = Expiration::OneShot(self.clock.absolute(at));
            self.timer.get_ref().0.set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME).expect("arming an own timer");
        }
    }
}

/// Future of [`Alarm::until`].
pub(crate) struct Until<'a> {
    alarm: &'a Alarm,
    at: Moment,
    called: bool,
}

impl Future for Until<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.alarm.clock.now() >= self.at {
            return Poll::Ready(());
        }
        if !self.called {
            self.called = true;
            self.alarm.call(self.at, cx.waker().clone());
        }
        Poll::Pending
    }
}

// Earliest first: the heap gives its greatest.
impl Ord for Call {
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.cmp(&self.at)
    }
}

impl PartialOrd for Call {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Call {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Call {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::reactor::{Reactor, spawn, yield_now};

    #[test]
    fn wakes_in_order_and_never_early() {
        let reactor = Reactor::new().unwrap();
        let run = async {
            let clock = Clock::start();
            let alarm = Rc::new(Alarm::new(clock).unwrap());
            spawn(Rc::clone(&alarm).ring());
            let order = Rc::new(RefCell::new(Vec::new()));
            // Later ones are asked for first, so that each re-arms the timer.
            for ms in [6u64, 4, 2, 0] {
                let (alarm, order) = (Rc::clone(&alarm), Rc::clone(&order));
                spawn(async move {
                    alarm.until(ms * 1_000_000).await;
                    assert!(clock.now() >= ms * 1_000_000);
                    order.borrow_mut().push(ms);
                });
            }
            while order.borrow().len() < 4 {
                yield_now().await;
            }
            assert_eq!(*order.borrow(), [0, 2, 4, 6]);
        };
        reactor.block_on(run).unwrap();
    }
}
