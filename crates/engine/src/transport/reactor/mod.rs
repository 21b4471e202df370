//! The event loop of one thread: tasks, and what they wait for.
//!
//! Everything here belongs to one thread, so nothing is atomic and nothing is locked: readiness is a few bits in a cell, a task that waits
//! for a socket is a number. That is what this loop is for. A general runtime has to let any thread wake any task; on the path of a request,
//! where the kernel's share is given, that was a tenth of the generator's cost (docs/benchmarks.md).
//!
//! It is edge-triggered epoll(7): a source is registered once, for both directions; its readiness is remembered until somebody finds it
//! used up ([`Guard::clear_ready`]). Tasks may be woken without cause; futures that cannot stand that have no place here. A task that panics
//! takes its thread with it.
//!
//! Wakers work on their own thread only: woken on another one they do nothing.

mod source;
mod task;

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use source::Readiness;
pub(crate) use source::{Guard, Source};
use task::{ROOT, Tasks};

/// Tasks polled before the kernel is asked for news, so that a long row of them does not keep a timer waiting. After one that used up its
/// budget it is asked at once: a server that floods one connection must not make the timers of all others late.
const TURN: usize = 64;

/// Events taken at once.
const EVENTS: usize = 256;

thread_local! {
    static CURRENT: RefCell<Option<Rc<Shared>>> = const { RefCell::new(None) };
}

/// An event loop and its tasks.
pub(crate) struct Reactor {
    shared: Rc<Shared>,
}

/// What tasks and sources know of their loop.
struct Shared {
    epoll: OwnedFd,
    tasks: Tasks,
    /// By the number that events carry.
    sources: RefCell<Vec<Option<Rc<Readiness>>>>,
    free: RefCell<Vec<u32>>,
}

impl Reactor {
    /// A loop with nothing to do.
    ///
    /// # Errors
    /// When the system has no descriptor left for it.
    pub(crate) fn new() -> io::Result<Reactor> {
        let shared = Shared {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            tasks: Tasks::default(),
            sources: RefCell::default(),
            free: RefCell::default(),
        };
        Ok(Reactor { shared: Rc::new(shared) })
    }

    /// Runs `root` to its end, and every task meanwhile. Tasks that are left wait for the next call, or are dropped with the loop.
    ///
    /// # Errors
    /// When the kernel does not tell events any more.
    pub(crate) fn block_on<T>(&self, root: impl Future<Output = T>) -> io::Result<T> {
        let _entered = Entered::new(&self.shared);
        let tasks = &self.shared.tasks;
        let mut root = pin!(root);
        let root_waker = task::waker(ROOT);
        let mut events = Vec::with_capacity(EVENTS);
        tasks.wake(ROOT);
        loop {
            for _ in 0..TURN {
                match tasks.next() {
                    Some(ROOT) => {
                        let polled = tasks.poll_as(ROOT, &root_waker, |cx| root.as_mut().poll(cx));
                        if let Poll::Ready(value) = polled {
                            return Ok(value);
                        }
                    }
                    Some(task) => tasks.poll(task),
                    None => break,
                }
                if tasks.is_spent() {
                    break;
                }
            }
            self.shared.look(&mut events, tasks.is_idle())?;
        }
    }
}

impl Drop for Reactor {
    /// Tasks own sources, which know the loop: they go first.
    fn drop(&mut self) {
        let _entered = Entered::new(&self.shared);
        self.shared.tasks.clear();
    }
}

impl Shared {
    /// Takes what the kernel has to tell, and waits for it if `idle`.
    fn look(&self, events: &mut Vec<epoll::Event>, idle: bool) -> io::Result<()> {
        const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
        events.clear();
        match epoll::wait(&self.epoll, spare_capacity(events), if idle { None } else { Some(&AT_ONCE) }) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        // No task runs in between, so the number of a source that was dropped is not in use by another yet.
        let sources = self.sources.borrow();
        for event in events.iter() {
            let (data, flags) = (event.data, event.flags);
            if let Some(Some(source)) = sources.get(data.u64() as usize) {
                source.happened(flags, &self.tasks);
            }
        }
        Ok(())
    }
}

/// The loop that runs on this thread, while it does.
struct Entered(Option<Rc<Shared>>);

impl Entered {
    fn new(shared: &Rc<Shared>) -> Entered {
        Entered(CURRENT.replace(Some(Rc::clone(shared))))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// What `with` makes of the loop that runs on this thread; none outside of one.
fn current<T>(with: impl FnOnce(&Rc<Shared>) -> T) -> Option<T> {
    CURRENT.with_borrow(|shared| shared.as_ref().map(with))
}

/// Starts a task of the loop that runs on this thread. It is polled soon, not now.
///
/// # Panics
/// Outside of a loop.
pub(crate) fn spawn(task: impl Future<Output = ()> + 'static) {
    current(|shared| shared.tasks.add(Box::pin(task))).expect("tasks are started by a running loop");
}

/// Lets other tasks have their turn.
pub(crate) async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests;
