//! Tasks of one thread and the row in which they are polled.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use super::current;

/// The number of the future that the loop was started with.
pub(super) const ROOT: u32 = 0;

/// How often a task may find a source ready before it must let others have their turn. A peer that never stops sending
/// would keep its task, and with it the timers, for ever. tokio allows 128 (its `coop` module); here each may be a read of 64 KiB,
/// and timers are to be in time.
const BUDGET: u32 = 32;

type Body = Pin<Box<dyn Future<Output = ()>>>;

/// All tasks of a loop, by number.
pub(super) struct Tasks {
    slots: RefCell<Vec<Slot>>,
    /// Numbers that are not in use.
    free: RefCell<Vec<u32>>,
    /// Those to be polled.
    row: RefCell<VecDeque<u32>>,
    running: Cell<u32>,
    /// The data of the waker of the task that is being polled: tells it from others.
    running_waker: Cell<*const ()>,
    /// What is left of the running task's budget.
    budget: Cell<u32>,
}

#[derive(Default)]
struct Slot {
    /// There is one while it is not being polled and has not ended.
    task: Option<Task>,
    /// Whether it is in the row.
    queued: bool,
}

struct Task {
    body: Body,
    waker: Waker,
}

impl Default for Tasks {
    fn default() -> Tasks {
        Tasks {
            // The root's place: it is polled by the loop itself.
            slots: RefCell::new(vec![Slot::default()]),
            free: RefCell::default(),
            row: RefCell::default(),
            running: Cell::new(ROOT),
            running_waker: Cell::new(std::ptr::null()),
            budget: Cell::new(BUDGET),
        }
    }
}

impl Tasks {
    /// Adds a task, to be polled soon.
    pub(super) fn add(&self, body: Body) {
        let number = self.free.borrow_mut().pop();
        let number = {
            let mut slots = self.slots.borrow_mut();
            let number = number.unwrap_or_else(|| {
                slots.push(Slot::default());
                slots.len() as u32 - 1
            });
            slots[number as usize].task = Some(Task { body, waker: waker(number) });
            number
        };
        self.wake(number);
    }

    /// Puts a task into the row, if it is not there.
    #[inline]
    pub(super) fn wake(&self, task: u32) {
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slots.get_mut(task as usize) else { return };
        if !std::mem::replace(&mut slot.queued, true) {
            self.row.borrow_mut().push_back(task);
        }
    }

    /// Whether the row is empty.
    pub(super) fn is_idle(&self) -> bool {
        self.row.borrow().is_empty()
    }

    /// Takes the next number of the row.
    #[inline]
    pub(super) fn next(&self) -> Option<u32> {
        let number = self.row.borrow_mut().pop_front()?;
        self.slots.borrow_mut().get_mut(number as usize)?.queued = false;
        Some(number)
    }

    /// Polls a task. Nothing, if it has ended: it may be woken afterwards.
    #[inline]
    pub(super) fn poll(&self, number: u32) {
        let Some(mut task) = self.slots.borrow_mut()[number as usize].task.take() else { return };
        match self.poll_as(number, &task.waker, |cx| task.body.as_mut().poll(cx)) {
            Poll::Pending => self.slots.borrow_mut()[number as usize].task = Some(task),
            Poll::Ready(()) => {
                // Where nothing is borrowed: what a task leaves behind may wake others.
                drop(task);
                self.free.borrow_mut().push(number);
            }
        }
    }

    /// Polls as the task of this number and waker.
    #[inline]
    pub(super) fn poll_as<T>(&self, number: u32, waker: &Waker, poll: impl FnOnce(&mut Context<'_>) -> T) -> T {
        self.running.set(number);
        self.running_waker.set(waker.data());
        self.budget.set(BUDGET);
        poll(&mut Context::from_waker(waker))
    }

    /// The number of the task that is being polled, if that is whom `waker` wakes.
    #[inline]
    pub(super) fn running(&self, waker: &Waker) -> Option<u32> {
        (waker.data() == self.running_waker.get()).then(|| self.running.get())
    }

    /// Takes one of the running task's budget; false when it is used up.
    #[inline]
    pub(super) fn spend(&self) -> bool {
        let left = self.budget.get();
        self.budget.set(left.saturating_sub(1));
        left > 0
    }

    /// Whether the task polled last used up its budget.
    #[inline]
    pub(super) fn is_spent(&self) -> bool {
        self.budget.get() == 0
    }

    /// Drops all tasks.
    pub(super) fn clear(&self) {
        let slots = std::mem::take(&mut *self.slots.borrow_mut());
        drop(slots);
    }
}

/// Wakes a task of its thread's loop by number.
struct Number(u32);

impl Wake for Number {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        current(|shared| shared.tasks.wake(self.0));
    }
}

/// The waker of a number.
pub(super) fn waker(task: u32) -> Waker {
    Waker::from(Arc::new(Number(task)))
}
