//! Users as somebody asks for them while the load is made: each has a seat, a number among those of its flow, and stays as long as
//! more than that number are wanted.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::live_users::Wish;

/// The seats of one thread, for each flow.
pub(super) struct Seats {
    flows: Vec<Row>,
    /// The thread, and how many there are: it has every so-manieth number.
    place: (u32, u32),
}

#[derive(Default)]
struct Row {
    /// Users of the flow who are wanted, of all threads.
    wanted: Cell<u32>,
    /// Whether somebody sits there, of this thread's numbers in order.
    taken: RefCell<Vec<bool>>,
}

/// One user's seat.
pub(super) struct Seat {
    seats: Rc<Seats>,
    /// The flow its user goes through.
    pub(super) flow: usize,
    number: u32,
}

impl Seats {
    pub(super) fn new(flows: usize, place: (u32, u32)) -> Rc<Seats> {
        Rc::new(Seats { flows: (0..flows).map(|_| Row::default()).collect(), place })
    }

    /// Takes up a wish; flows that it does not name are not wanted.
    pub(super) fn wish(&self, wish: &Wish) {
        for (n, row) in self.flows.iter().enumerate() {
            row.wanted.set(wish.users.get(n).copied().unwrap_or(0));
        }
    }

    /// A seat that is wanted and free.
    pub(super) fn free(self: &Rc<Seats>) -> Option<Seat> {
        let (thread, threads) = self.place;
        self.flows.iter().enumerate().find_map(|(flow, row)| {
            let mine = row.wanted.get().saturating_sub(thread).div_ceil(threads) as usize;
            let mut taken = row.taken.borrow_mut();
            if taken.len() < mine {
                taken.resize(mine, false);
            }
            let at = taken[..mine].iter().position(|taken| !taken)?;
            taken[at] = true;
            Some(Seat { seats: Rc::clone(self), flow, number: thread + at as u32 * threads })
        })
    }
}

impl Seat {
    /// Whether its user is to leave.
    pub(super) fn is_unwanted(&self) -> bool {
        self.number >= self.seats.flows[self.flow].wanted.get()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let (thread, threads) = self.seats.place;
        let at = ((self.number - thread) / threads) as usize;
        self.seats.flows[self.flow].taken.borrow_mut()[at] = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbers(seats: &Rc<Seats>) -> Vec<Seat> {
        std::iter::from_fn(|| seats.free()).collect()
    }

    #[test]
    fn who_is_unwanted_leaves_and_makes_room() {
        let seats = Seats::new(2, (0, 1));
        seats.wish(&Wish { at: 0, users: vec![2, 1] });
        let mut all = numbers(&seats);
        assert_eq!(all.iter().map(|seat| (seat.flow, seat.number)).collect::<Vec<_>>(), [(0, 0), (0, 1), (1, 0)]);
        seats.wish(&Wish { at: 1, users: vec![1] });
        let unwanted: Vec<bool> = all.iter().map(Seat::is_unwanted).collect();
        assert_eq!(unwanted, [false, true, true]);
        seats.wish(&Wish { at: 2, users: vec![2] });
        assert!(seats.free().is_none(), "the second one has not left yet, and stays");
        all.remove(1);
        assert_eq!(seats.free().map(|seat| seat.number), Some(1));
    }

    proptest! {
        /// However many threads there are: each number that is wanted is somebody's, once.
        #[test]
        fn threads_share_what_is_wanted(wanted in proptest::collection::vec(0u32..40, 1..4), threads in 1u32..7) {
            let mut all = Vec::new();
            let mut kept = Vec::new();
            for thread in 0..threads {
                let seats = Seats::new(wanted.len(), (thread, threads));
                seats.wish(&Wish { at: 0, users: wanted.clone() });
                let mine = numbers(&seats);
                all.extend(mine.iter().map(|seat| (seat.flow, seat.number)));
                kept.push(mine);
            }
            all.sort_unstable();
            let due: Vec<_> = wanted.iter().enumerate().flat_map(|(flow, n)| (0..*n).map(move |k| (flow, k))).collect();
            prop_assert_eq!(all, due);
        }
    }
}
