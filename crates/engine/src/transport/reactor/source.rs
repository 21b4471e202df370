//! What tasks wait for: descriptors, and what is known of their readiness.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use rustix::event::epoll::{self, EventData, EventFlags};

use super::task::Tasks;
use super::{Shared, current};

/// Something to read, or the end of what there is to read.
const READ: u8 = 1;
/// Room to write.
const WRITE: u8 = 2;
/// Nothing more will come after what is there: the peer has closed its side, or the connection is broken. It stays so.
const READ_CLOSED: u8 = 4;
/// Nothing more can be sent. It stays so.
const WRITE_CLOSED: u8 = 8;

/// A descriptor that is registered with the loop of its thread. Dropping it ends both.
pub(crate) struct Source<T: AsFd> {
    io: T,
    readiness: Rc<Readiness>,
    number: u32,
    shared: Rc<Shared>,
}

/// What is known of a source.
#[derive(Default)]
pub(super) struct Readiness {
    ready: Cell<u8>,
    reader: Cell<Who>,
    writer: Cell<Who>,
    /// Wakers that are not those of a task, as combinators of futures make them.
    others: RefCell<Vec<Waker>>,
}

/// Who waits.
#[derive(Clone, Copy, Default)]
enum Who {
    #[default]
    Nobody,
    /// A task of the loop.
    Task(u32),
    /// One of the others.
    Other,
}

/// A source that is ready; to be cleared when that is used up.
pub(crate) struct Guard<'a> {
    readiness: &'a Readiness,
    interest: u8,
}

impl<T: AsFd> Source<T> {
    /// Registers `io`, which is not blocking, for both directions with the loop that runs on this thread.
    ///
    /// # Errors
    /// Those of epoll_ctl(2); and when no loop runs.
    pub(crate) fn new(io: T) -> io::Result<Source<T>> {
        let shared = current(Rc::clone).ok_or_else(|| io::Error::other("no event loop runs on this thread"))?;
        let readiness = Rc::<Readiness>::default();
        let number = shared.enter(&readiness);
        let source = Source { io, readiness, number, shared };
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&source.shared.epoll, &source.io, EventData::new_u64(number.into()), flags)?;
        Ok(source)
    }

    /// The descriptor's owner.
    #[inline]
    pub(crate) fn get_ref(&self) -> &T {
        &self.io
    }

    /// Ready when there may be something to read.
    #[inline]
    pub(crate) fn poll_read_ready(&self, cx: &Context<'_>) -> Poll<Guard<'_>> {
        self.poll_ready(READ | READ_CLOSED, &self.readiness.reader, cx)
    }

    /// Ready when there may be room to write.
    #[inline]
    pub(crate) fn poll_write_ready(&self, cx: &Context<'_>) -> Poll<Guard<'_>> {
        self.poll_ready(WRITE | WRITE_CLOSED, &self.readiness.writer, cx)
    }

    #[inline]
    fn poll_ready(&self, interest: u8, who: &Cell<Who>, cx: &Context<'_>) -> Poll<Guard<'_>> {
        if self.readiness.ready.get() & interest != 0 {
            if self.shared.tasks.spend() {
                return Poll::Ready(Guard { readiness: &self.readiness, interest });
            }
            // Others first; it is as ready afterwards.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        match self.shared.tasks.running(cx.waker()) {
            Some(task) => who.set(Who::Task(task)),
            None => self.readiness.attend_other(who, cx.waker()),
        }
        Poll::Pending
    }
}

impl<T: AsFd> Drop for Source<T> {
    /// The kernel forgets a descriptor when it is closed, which follows.
    fn drop(&mut self) {
        self.shared.leave(self.number);
    }
}

impl Shared {
    fn enter(&self, readiness: &Rc<Readiness>) -> u32 {
        let (mut sources, mut free) = (self.sources.borrow_mut(), self.free.borrow_mut());
        let number = free.pop().unwrap_or_else(|| {
            sources.push(None);
            sources.len() as u32 - 1
        });
        sources[number as usize] = Some(Rc::clone(readiness));
        number
    }

    fn leave(&self, number: u32) {
        self.sources.borrow_mut()[number as usize] = None;
        self.free.borrow_mut().push(number);
    }
}

impl Readiness {
    #[cold]
    fn attend_other(&self, who: &Cell<Who>, waker: &Waker) {
        who.set(Who::Other);
        let mut others = self.others.borrow_mut();
        if !others.iter().any(|known| known.will_wake(waker)) {
            others.push(waker.clone());
        }
    }

    /// Notes what the kernel says, and wakes who waits for it.
    pub(super) fn happened(&self, flags: EventFlags, tasks: &Tasks) {
        let has = |flag| flags.contains(flag);
        let mut now = 0;
        if has(EventFlags::IN) || has(EventFlags::PRI) || has(EventFlags::ERR) {
            now |= READ;
        }
        if has(EventFlags::OUT) {
            now |= WRITE;
        }
        if has(EventFlags::HUP) || has(EventFlags::RDHUP) {
            now |= READ_CLOSED;
        }
        if has(EventFlags::HUP) || has(EventFlags::ERR) {
            now |= WRITE_CLOSED;
        }
        self.ready.set(self.ready.get() | now);
        for (interest, who) in [(READ | READ_CLOSED, &self.reader), (WRITE | WRITE_CLOSED, &self.writer)] {
            if now & interest != 0 {
                match who.take() {
                    Who::Nobody => {}
                    Who::Task(task) => tasks.wake(task),
                    Who::Other => self.others.borrow_mut().drain(..).for_each(Waker::wake),
                }
            }
        }
    }
}

impl Guard<'_> {
    /// Nothing is left: wait for the next event. What is known of the peer's end outlasts this.
    #[inline]
    pub(crate) fn clear_ready(&mut self) {
        let ready = &self.readiness.ready;
        ready.set(ready.get() & !(self.interest & (READ | WRITE)));
    }

    /// Whether the peer will send no more than what is there.
    #[inline]
    pub(crate) fn is_read_closed(&self) -> bool {
        self.readiness.ready.get() & READ_CLOSED != 0
    }
}
