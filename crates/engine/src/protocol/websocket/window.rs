//! Which messages of a connection are on their way, and what becomes of each: pure, at bounded memory.
//!
//! Messages are numbered as they are sent. Those before `base` are settled; of those from there on, each has an entry until
//! everything before it is settled too. A message that is overdue keeps its entry, so that it can still come late; only
//! when [`MOST`] entries are there is the oldest overdue one given up.

use std::collections::VecDeque;

use crate::clock::Moment;

/// Most messages that are remembered of one connection.
pub(crate) const MOST: usize = 1024;

/// Entries beyond so many are given back when all are settled.
const KEPT: usize = 16;

/// Messages of one connection.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// Number of the first entry.
    base: u64,
    entries: VecDeque<Entry>,
    /// Entries at the front that do not wait.
    settled: usize,
    waiting: usize,
    /// Number after the highest that came.
    reached: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    planned: Moment,
    written: Moment,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Came,
    Overdue,
}

/// What an arrival was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Echo {
    pub(crate) how: EchoKind,
    /// Whether a later one came before it. Not asked of repetitions.
    pub(crate) reordered: bool,
}

/// In what way a message came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EchoKind {
    InTime {
        planned: Moment,
        written: Moment,
    },
    Late {
        planned: Moment,
    },
    /// Before, or given up long ago.
    Again,
    /// Never sent.
    Never,
}

impl Window {
    /// Number of the next message.
    pub(crate) fn next(&self) -> u64 {
        self.base + self.entries.len() as u64
    }

    /// Messages that wait for their echo.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether there is no room for another, not even in place of an overdue one.
    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() >= MOST && self.entries.front().is_some_and(|entry| entry.state == State::Waiting)
    }

    /// A message is sent; not to be called when [full](Window::is_full). Gives the overdue one that had to be given up, if
    /// any: number and planned instant.
    #[inline]
    pub(crate) fn push(&mut self, planned: Moment, written: Moment) -> Option<(u64, Moment)> {
        let given_up =
            if self.entries.len() >= MOST { self.entries.front().map(|e| (self.base, e.planned)) } else { None };
        if given_up.is_some() {
            self.pop();
            self.tidy();
        }
        self.entries.push_back(Entry { planned, written, state: State::Waiting });
        self.waiting += 1;
        given_up
    }

    fn pop(&mut self) {
        self.entries.pop_front();
        self.base += 1;
        self.settled = self.settled.saturating_sub(1);
    }

    /// Forgets what has come, from the front.
    #[inline]
    fn tidy(&mut self) {
        while self.entries.front().is_some_and(|entry| entry.state == State::Came) {
            self.pop();
        }
        if self.entries.is_empty() && self.entries.capacity() > KEPT {
            self.entries = VecDeque::new();
        }
    }

    /// A message came.
    #[inline]
    pub(crate) fn came(&mut self, sequence: u64) -> Echo {
        let plainly = |how| Echo { how, reordered: false };
        let Some(place) = sequence.checked_sub(self.base) else { return plainly(EchoKind::Again) };
        let Some(entry) = usize::try_from(place).ok().and_then(|place| self.entries.get_mut(place)) else {
            return plainly(EchoKind::Never);
        };
        let before = std::mem::replace(&mut entry.state, State::Came);
        let (planned, written) = (entry.planned, entry.written);
        let how = match before {
            State::Waiting => EchoKind::InTime { planned, written },
            State::Overdue => EchoKind::Late { planned },
            State::Came => return plainly(EchoKind::Again),
        };
        self.waiting -= usize::from(before == State::Waiting);
        let reordered = sequence < self.reached;
        self.reached = self.reached.max(sequence + 1);
        self.tidy();
        Echo { how, reordered }
    }

    /// Settles the only message that is on its way, and gives its number and planned instant; none where there are none or several, or
    /// overdue ones that may come yet.
    pub(crate) fn only(&mut self) -> Option<(u64, Moment)> {
        let open = |entry: &Entry| entry.state != State::Came;
        let mut all = self.entries.iter().zip(self.base..).filter(|(entry, _)| open(entry));
        let (entry, sequence) = all.next().filter(|(entry, _)| entry.state == State::Waiting)?;
        let planned = entry.planned;
        if all.next().is_some() {
            return None;
        }
        self.came(sequence);
        Some((sequence, planned))
    }

    /// When the message that waits longest was written.
    #[inline]
    pub(crate) fn oldest(&mut self) -> Option<Moment> {
        while self.entries.get(self.settled).is_some_and(|entry| entry.state != State::Waiting) {
            self.settled += 1;
        }
        self.entries.get(self.settled).map(|entry| entry.written)
    }

    /// Those written until `limit` that still wait are overdue; gives the planned instant of each.
    pub(crate) fn overdue(&mut self, limit: Moment, mut each: impl FnMut(Moment)) {
        while self.oldest().is_some_and(|written| written <= limit) {
            let entry = &mut self.entries[self.settled];
            entry.state = State::Overdue;
            self.waiting -= 1;
            each(entry.planned);
        }
    }

    /// The connection ended: gives number, planned instant and whether it was waiting, of each message that will not come.
    pub(crate) fn end(&mut self, mut each: impl FnMut(u64, Moment, bool)) {
        let base = self.base;
        for (i, entry) in self.entries.drain(..).enumerate() {
            if entry.state != State::Came {
                each(base + i as u64, entry.planned, entry.state == State::Waiting);
            }
        }
        *self = Window::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn window(sent: u64) -> Window {
        let mut window = Window::default();
        (0..sent).for_each(|n| assert_eq!(window.push(n, n), None));
        window
    }

    #[test]
    fn each_message_has_one_fate() {
        let mut window = window(4);
        let in_time = |n| EchoKind::InTime { planned: n, written: n };
        assert_eq!(window.came(0), Echo { how: in_time(0), reordered: false });
        assert_eq!(window.came(2), Echo { how: in_time(2), reordered: false });
        assert_eq!(window.came(2).how, EchoKind::Again);
        assert_eq!(window.came(1), Echo { how: in_time(1), reordered: true });
        assert_eq!(window.came(1).how, EchoKind::Again);
        assert_eq!(window.came(4).how, EchoKind::Never);
        let mut late = Vec::new();
        window.overdue(3, |planned| late.push(planned));
        assert_eq!((late, window.waiting(), window.oldest()), (vec![3], 0, None));
        assert_eq!(window.came(3), Echo { how: EchoKind::Late { planned: 3 }, reordered: false });
        assert_eq!(window.next(), 4);
        window.end(|_, _, _| panic!("all are settled"));
    }

    #[test]
    fn what_came_back_changed_is_known_where_one_message_only_is_on_its_way() {
        let mut one = window(3);
        assert_eq!(one.only(), None, "it may be any of three");
        (0..2).for_each(|n| assert!(matches!(one.came(n).how, EchoKind::InTime { .. })));
        assert_eq!((one.only(), one.waiting()), (Some((2, 2)), 0));
        assert_eq!(one.only(), None, "there is none any more");
        let mut late = window(2);
        late.overdue(0, |_| ());
        assert_eq!(late.only(), None, "the late one may have come");
    }

    #[test]
    fn memory_is_bounded_and_what_is_given_up_is_named() {
        let mut window = window(MOST as u64);
        assert!(window.is_full());
        window.overdue(1, |_| ());
        assert!(!window.is_full());
        assert_eq!(window.push(9999, 9999), Some((0, 0)));
        assert_eq!(window.came(0).how, EchoKind::Again, "given up: it cannot be told any more");
        assert_eq!(window.push(9999, 9999), Some((1, 1)));
        assert!(window.is_full());
        (2..MOST as u64 + 2).for_each(|n| assert!(matches!(window.came(n).how, EchoKind::InTime { .. })));
        assert_eq!((window.waiting(), window.entries.capacity()), (0, 0));
    }

    proptest! {
        /// Whatever comes in whatever order: every message sent is exactly one of in time, late, given up, lost.
        #[test]
        fn nothing_is_counted_twice(steps in proptest::collection::vec((0u8..4, 0u64..3000), 1..4000)) {
            let mut window = Window::default();
            let (mut sent, mut in_time, mut late, mut given_up, mut lost, mut overdue) = (0u64, 0, 0, 0, 0, 0);
            for (now, (what, which)) in steps.into_iter().enumerate() {
                let now = now as u64;
                match what {
                    0 | 1 if !window.is_full() => {
                        sent += 1;
                        given_up += u64::from(window.push(now, now).is_some());
                    }
                    2 => match window.came(which).how {
                        EchoKind::InTime { .. } => in_time += 1,
                        EchoKind::Late { .. } => late += 1,
                        EchoKind::Again => prop_assert!(which < sent),
                        EchoKind::Never => prop_assert!(which >= sent),
                    },
                    _ => window.overdue(now.saturating_sub(which), |_| overdue += 1),
                }
                prop_assert!(window.entries.len() <= MOST);
                prop_assert_eq!(window.next(), sent);
                prop_assert_eq!(window.waiting() as u64, sent - in_time - overdue);
            }
            window.end(|_, _, _| lost += 1);
            prop_assert_eq!(sent, in_time + late + given_up + lost);
        }
    }
}
