//! Workers and the queue before them, as a php-fpm pool has: a discrete-event model without a clock of its own.
//!
//! At most so many requests are in service at once, each for its own time; further ones wait first come first served;
//! when the queue is full they are refused. Time is told by the caller, in nanoseconds from any fixed origin.
//!
//! The pool is exact although its caller is always a little late: a worker that became free at instant `t` begins the
//! next waiting request at `t` (or at its arrival, if that was later), not when somebody noticed. So lateness does not
//! add up along a queue, and throughput at saturation is exactly `workers / service time`.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

/// A pool whose requests carry a ticket `T`, handed back when they are done.
#[derive(Debug)]
pub struct Pool<T> {
    workers: Option<u32>,
    queue: Option<u32>,
    serving: BinaryHeap<Reverse<Serving<T>>>,
    waiting: VecDeque<Waiting<T>>,
    admitted: u64,
    refused: u64,
    done: u64,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// In service, or waiting for it: its ticket comes back from [`Pool::advance`].
    Taken,
    /// The queue is full; its ticket is dropped.
    Refused,
}

/// Counts of a pool at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests in service.
    pub busy: u64,
    /// Requests waiting.
    pub queued: u64,
    /// Requests refused since the pool was made.
    pub refused: u64,
    /// Requests done since the pool was made.
    pub done: u64,
}

#[derive(Debug)]
struct Serving<T> {
    due: u64,
    /// Order of admission: equal instants are done in it.
    turn: u64,
    ticket: T,
}

#[derive(Debug)]
struct Waiting<T> {
    arrived: u64,
    takes: u64,
    turn: u64,
    ticket: T,
}

impl<T> Pool<T> {
    /// At most `workers` in service and `queue` waiting; none: no cap. A pool of no workers is one of one worker.
    pub fn new(workers: Option<u32>, queue: Option<u32>) -> Pool<T> {
        Pool {
            workers: workers.map(|workers| workers.max(1)),
            queue,
            serving: BinaryHeap::new(),
            waiting: VecDeque::new(),
            admitted: 0,
            refused: 0,
            done: 0,
        }
    }

    /// A request arrives at `now` and takes `takes` nanoseconds of a worker. Call [`Pool::advance`] to the same `now`
    /// first, so that workers free by then are free.
    pub fn admit(&mut self, now: u64, takes: u64, ticket: T) -> Admission {
        let turn = self.admitted;
        let free = self.workers.is_none_or(|workers| self.serving.len() < workers as usize);
        if free {
            self.serving.push(Reverse(Serving { due: now.saturating_add(takes), turn, ticket }));
        } else if self.queue.is_none_or(|queue| self.waiting.len() < queue as usize) {
            self.waiting.push_back(Waiting { arrived: now, takes, turn, ticket });
        } else {
            self.refused += 1;
            return Admission::Refused;
        }
        self.admitted += 1;
        Admission::Taken
    }

    /// Lets time pass until `now`: hands back the ticket of every request done by then, in order of completion.
    pub fn advance(&mut self, now: u64, mut done: impl FnMut(T)) {
        while self.due().is_some_and(|due| due <= now) {
            let Some(Reverse(served)) = self.serving.pop() else { return };
            self.done += 1;
            if let Some(next) = self.waiting.pop_front() {
                let due = served.due.max(next.arrived).saturating_add(next.takes);
                self.serving.push(Reverse(Serving { due, turn: next.turn, ticket: next.ticket }));
            }
            done(served.ticket);
        }
    }

    /// When the next request will be done; none while nothing is in service.
    pub fn due(&self) -> Option<u64> {
        self.serving.peek().map(|Reverse(serving)| serving.due)
    }

    /// Counts as of the last call.
    pub fn counts(&self) -> Counts {
        Counts {
            busy: self.serving.len() as u64,
            queued: self.waiting.len() as u64,
            refused: self.refused,
            done: self.done,
        }
    }
}

impl<T> Ord for Serving<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due, self.turn).cmp(&(other.due, other.turn))
    }
}

impl<T> PartialOrd for Serving<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Serving<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Serving<T> {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn finished(pool: &mut Pool<u32>, now: u64) -> Vec<u32> {
        let mut done = Vec::new();
        pool.advance(now, |ticket| done.push(ticket));
        done
    }

    #[test]
    fn waiting_requests_begin_when_a_worker_was_free_not_when_it_was_noticed() {
        let mut pool = Pool::new(Some(1), None);
        for ticket in 0..4 {
            assert_eq!(pool.admit(0, 10, ticket), Admission::Taken);
        }
        assert_eq!(pool.counts(), Counts { busy: 1, queued: 3, refused: 0, done: 0 });
        // Noticed 9 too late; the second one was done at 20 all the same, and the third is due at 30.
        assert_eq!(finished(&mut pool, 19), [0]);
        assert_eq!(finished(&mut pool, 25), [1]);
        assert_eq!(pool.due(), Some(30));
        assert_eq!(finished(&mut pool, 100), [2, 3]);
        assert_eq!(pool.counts(), Counts { busy: 0, queued: 0, refused: 0, done: 4 });
    }

    #[test]
    fn a_full_queue_refuses() {
        let mut pool = Pool::new(Some(2), Some(1));
        let admitted: Vec<_> = (0..5).map(|ticket| pool.admit(0, 10, ticket)).collect();
        assert_eq!(admitted[..3], [Admission::Taken; 3]);
        assert_eq!(admitted[3..], [Admission::Refused; 2]);
        assert_eq!(pool.counts(), Counts { busy: 2, queued: 1, refused: 2, done: 0 });
        assert_eq!(finished(&mut pool, 10), [0, 1]);
        assert_eq!(pool.admit(10, 10, 9), Admission::Taken);
        assert_eq!(finished(&mut pool, 20), [2, 9]);
    }

    #[test]
    fn a_pool_without_cap_serves_all_at_once_and_the_short_ones_first() {
        let mut pool = Pool::new(None, Some(0));
        for (ticket, takes) in [(0, 30), (1, 10), (2, 20)] {
            pool.admit(0, takes, ticket);
        }
        assert_eq!(finished(&mut pool, 30), [1, 2, 0]);
    }

    /// Requests in order of completion, and the instants of it where the pool is looked at as each is due; `late` looks
    /// only when a request arrives, and in steps after the last.
    fn run(workers: u32, requests: &[(u64, u64)], late: Option<u64>) -> Vec<(u64, usize)> {
        let mut pool = Pool::new(Some(workers), None);
        let (mut now, mut seen) = (0, Vec::new());
        let mut pass = |pool: &mut Pool<usize>, until: u64| {
            while let Some(due) = pool.due().filter(|due| *due <= until) {
                let at = if late.is_some() { until } else { due };
                pool.advance(at, |ticket| seen.push((at, ticket)));
            }
        };
        for (ticket, (gap, takes)) in requests.iter().enumerate() {
            now += gap;
            pass(&mut pool, now);
            pool.admit(now, *takes, ticket);
            assert!(pool.counts().busy <= u64::from(workers));
        }
        while let Some(due) = pool.due() {
            pass(&mut pool, due + late.unwrap_or(0));
        }
        assert_eq!(pool.counts().done as usize, requests.len());
        seen
    }

    proptest! {
        /// Against the definition: a request begins when it has arrived and a worker is free, first come first served.
        #[test]
        fn completions_are_those_of_the_definition(
            workers in 1u32..5,
            requests in proptest::collection::vec((0u64..50, 0u64..100), 1..60),
            late in 0u64..40,
        ) {
            let (mut free, mut now) = (vec![0u64; workers as usize], 0);
            let mut expected = Vec::new();
            for (ticket, (gap, takes)) in requests.iter().enumerate() {
                now += gap;
                let worker = free.iter_mut().min().unwrap();
                *worker = (*worker).max(now) + takes;
                expected.push((*worker, ticket));
            }
            expected.sort_unstable();
            prop_assert_eq!(run(workers, &requests, None), expected.clone());
            let order = |run: Vec<(u64, usize)>| run.into_iter().map(|(_, ticket)| ticket).collect::<Vec<_>>();
            prop_assert_eq!(order(run(workers, &requests, Some(late))), order(expected));
        }
    }
}
