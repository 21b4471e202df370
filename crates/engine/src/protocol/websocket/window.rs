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
    /// Whether something that says not whose it is came while this was the only one that it could be.
    stand_in: bool,
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
    /// Whether something was taken for it before: that was nobody's.
    pub(crate) stand_in: bool,
}

/// A message that will not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) sequence: u64,
    pub(crate) planned: Moment,
    pub(crate) written: Moment,
    /// Whether it was not overdue yet.
    pub(crate) waiting: bool,
    /// Whether something else came in its place.
    pub(crate) stand_in: bool,
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
    /// any.
    #[inline]
    pub(crate) fn push(&mut self, planned: Moment, written: Moment) -> Option<Missing> {
        let full = self.entries.len() >= MOST;
        let given_up = self.entries.front().filter(|_| full).map(|entry| entry.missing(self.base));
        if given_up.is_some() {
            self.pop();
            self.tidy();
        }
        self.entries.push_back(Entry { planned, written, state: State::Waiting, stand_in: false });
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
        let plainly = |how| Echo { how, reordered: false, stand_in: false };
        let Some(place) = sequence.checked_sub(self.base) else { return plainly(EchoKind::Again) };
        let Some(entry) = usize::try_from(place).ok().and_then(|place| self.entries.get_mut(place)) else {
            return plainly(EchoKind::Never);
        };
        let before = std::mem::replace(&mut entry.state, State::Came);
        let Entry { planned, written, stand_in, .. } = *entry;
        let how = match before {
            State::Waiting => EchoKind::InTime { planned, written },
            State::Overdue => EchoKind::Late { planned },
            State::Came => return plainly(EchoKind::Again),
        };
        self.waiting -= usize::from(before == State::Waiting);
        let reordered = sequence < self.reached;
        self.reached = self.reached.max(sequence + 1);
        self.tidy();
        Echo { how, reordered, stand_in }
    }

    /// Something came that says not whose it is. It is taken for the only message that it could be (one that waits, where nothing
    /// overdue may come yet) until that comes itself; whether there is just one.
    pub(crate) fn stand_in(&mut self) -> bool {
        let open = |entry: &&mut Entry| entry.state != State::Came && !entry.stand_in;
        let mut all = self.entries.iter_mut().filter(open);
        let only = all.next().filter(|entry| entry.state == State::Waiting);
        let only = only.filter(|_| all.next().is_none());
        only.map(|entry| entry.stand_in = true).is_some()
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

    /// The connection ended: gives each message that will not come.
    pub(crate) fn end(&mut self, each: impl FnMut(Missing)) {
        let open = self.entries.iter().zip(self.base..).filter(|(entry, _)| entry.state != State::Came);
        open.map(|(entry, sequence)| entry.missing(sequence)).for_each(each);
        *self = Window::default();
    }
}

impl Entry {
    fn missing(&self, sequence: u64) -> Missing {
        let Entry { planned, written, stand_in, .. } = *self;
        Missing { sequence, planned, written, waiting: self.state == State::Waiting, stand_in }
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
        let echo = |how, reordered| Echo { how, reordered, stand_in: false };
        let in_time = |n| EchoKind::InTime { planned: n, written: n };
        assert_eq!(window.came(0), echo(in_time(0), false));
        assert_eq!(window.came(2), echo(in_time(2), false));
        assert_eq!(window.came(2).how, EchoKind::Again);
        assert_eq!(window.came(1), echo(in_time(1), true));
        assert_eq!(window.came(1).how, EchoKind::Again);
        assert_eq!(window.came(4).how, EchoKind::Never);
        let mut late = Vec::new();
        window.overdue(3, |planned| late.push(planned));
        assert_eq!((late, window.waiting(), window.oldest()), (vec![3], 0, None));
        assert_eq!(window.came(3), echo(EchoKind::Late { planned: 3 }, false));
        assert_eq!(window.next(), 4);
        window.end(|missing| panic!("all are settled, but {missing:?}"));
    }

    #[test]
    fn what_says_not_whose_it_is_stands_for_the_only_one_on_its_way_until_that_comes() {
        let mut one = window(3);
        assert!(!one.stand_in(), "it may be any of three");
        (0..2).for_each(|n| assert!(matches!(one.came(n).how, EchoKind::InTime { .. })));
        assert!(one.stand_in());
        assert_eq!(one.waiting(), 1, "the message may still come");
        assert!(!one.stand_in(), "one message is one thing");
        let echo = one.came(2);
        assert!(matches!(echo.how, EchoKind::InTime { .. }) && echo.stand_in, "it came: the other was nobody's");
        assert!(!one.stand_in(), "there is none any more");
        let mut late = window(2);
        late.overdue(0, |_| ());
        assert!(!late.stand_in(), "the late one may have come");
    }

    #[test]
    fn what_did_not_come_by_the_end_came_as_something_else_where_that_is_all_that_came() {
        let mut window = window(1);
        assert!(window.stand_in());
        window.overdue(0, |_| ());
        window.push(1, 1);
        assert!(window.stand_in(), "the overdue one has what came for it");
        window.push(2, 2);
        let mut all = Vec::new();
        window.end(|missing| all.push((missing.sequence, missing.waiting, missing.stand_in)));
        assert_eq!(all, [(0, false, true), (1, true, true), (2, true, false)]);
    }

    #[test]
    fn memory_is_bounded_and_what_is_given_up_is_named() {
        let mut window = window(MOST as u64);
        assert!(window.is_full());
        window.overdue(1, |_| ());
        assert!(!window.is_full());
        let given_up = |n| Some(Missing { sequence: n, planned: n, written: n, waiting: false, stand_in: false });
        assert_eq!(window.push(9999, 9999), given_up(0));
        assert_eq!(window.came(0).how, EchoKind::Again, "given up: it cannot be told any more");
        assert_eq!(window.push(9999, 9999), given_up(1));
        assert!(window.is_full());
        (2..MOST as u64 + 2).for_each(|n| assert!(matches!(window.came(n).how, EchoKind::InTime { .. })));
        assert_eq!((window.waiting(), window.entries.capacity()), (0, 0));
    }

    proptest! {
        /// Whatever comes in whatever order: every message sent is exactly one of in time, late, given up, lost.
        #[test]
        fn nothing_is_counted_twice(steps in proptest::collection::vec((0u8..5, 0u64..3000), 1..4000)) {
            let mut window = Window::default();
            let (mut sent, mut in_time, mut late, mut given_up, mut lost, mut overdue) = (0u64, 0, 0, 0, 0, 0);
            let (mut stood_in, mut nobodys, mut changed) = (0u64, 0u64, 0u64);
            for (now, (what, which)) in steps.into_iter().enumerate() {
                let now = now as u64;
                match what {
                    0 | 1 if !window.is_full() => {
                        sent += 1;
                        let missing = window.push(now, now);
                        given_up += u64::from(missing.is_some());
                        changed += u64::from(missing.is_some_and(|missing| missing.stand_in));
                    }
                    2 => {
                        let echo = window.came(which);
                        nobodys += u64::from(echo.stand_in);
                        match echo.how {
                            EchoKind::InTime { .. } => in_time += 1,
                            EchoKind::Late { .. } => late += 1,
                            EchoKind::Again => prop_assert!(which < sent && !echo.stand_in),
                            EchoKind::Never => prop_assert!(which >= sent && !echo.stand_in),
                        }
                    }
                    3 => stood_in += u64::from(window.stand_in()),
                    _ => window.overdue(now.saturating_sub(which), |_| overdue += 1),
                }
                prop_assert!(window.entries.len() <= MOST);
                prop_assert_eq!(window.next(), sent);
                prop_assert_eq!(window.waiting() as u64, sent - in_time - overdue);
            }
            window.end(|missing| {
                lost += 1;
                changed += u64::from(missing.stand_in);
            });
            prop_assert_eq!(sent, in_time + late + given_up + lost);
            // What stood for a message that came was nobody's; changed are only those that never came.
            prop_assert_eq!(stood_in, nobodys + changed);
            prop_assert!(changed <= given_up + lost);
        }
    }
}
