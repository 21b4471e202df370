//! Intervals of processes to intervals of the load. What a process reports becomes again what a thread would have reported,
//! and goes through the very code that joins threads: distributions are added, never percentiles.

use genkai_model::event::Tick;
use genkai_model::histogram::PayloadError;
use genkai_model::load::Load;

use super::figure::Figure;
use super::merge::Merge;
use super::report::{Report, Waits};
use super::tally::Tally;
use crate::schedule::pacer::Level;

/// Joins the intervals of several processes that make one load together.
pub struct Join(Merge);

impl Join {
    /// For a load made by so many processes, which began at one instant and report intervals of the same length.
    pub fn new(load: &Load, processes: usize) -> Join {
        Join(Merge::new(processes, Level::of(load)).naming(load.scenario.as_deref()).apart())
    }

    /// Takes the next interval of a process.
    ///
    /// # Errors
    /// When one of its distributions cannot be read; the interval is then not taken.
    pub fn push(&mut self, process: usize, tick: &Tick) -> Result<(), PayloadError> {
        let tally = Box::new(Tally::read(tick)?);
        self.0.push(Report {
            thread: process,
            to: tick.to_us * 1_000,
            tally,
            in_flight: tick.in_flight,
            waiting: tick.waiting.map_or_else(Waits::default, |one| Waits {
                since: one.since_us.map(|us| us * 1_000 + 999),
                overdue: one.overdue,
                unsent: one.unsent,
            }),
            connections: tick.connections,
            most: tick.most.unwrap_or(tick.connections),
            cpu_us: tick.cpu_us,
            cpu_max_us: tick.cpu_max_us,
            last: false,
        });
        Ok(())
    }

    /// Nothing more comes from this process: it has ended, well or not.
    pub fn end(&mut self, process: usize) {
        self.0.end(process);
    }

    /// Whether every process has ended and its intervals have been given out.
    pub fn is_done(&self) -> bool {
        self.0.is_done()
    }
}

impl Iterator for Join {
    type Item = Tick;

    /// The next interval of the load, if every process has reported it.
    fn next(&mut self) -> Option<Tick> {
        self.0.next(|_, _| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::figure::count_status;
    use crate::schedule::profile::Profile;
    use genkai_model::error::ErrorKind;
    use genkai_model::websocket::{Fate, Incident};

    fn level() -> Level {
        Level::Users(Profile::users(300, 10.0))
    }

    /// A thread's interval with something of everything in it.
    fn report(thread: usize, to_ms: u64, seed: u64) -> Report {
        let mut tally = Box::new(Tally::default());
        (tally.opened, tally.closed_idle, tally.sent) = (seed, 2 * seed, 3 * seed);
        (tally.bytes_in, tally.bytes_out) = (seed, 9 * seed);
        (tally.handshakes.upgraded, tally.handshakes.full, tally.handshakes.resumed) = (4, seed, 1);
        for n in 1..=seed {
            tally.succeeded(n * 1_000_000, n * 900_000);
            tally.lateness.record(n * 20_000);
            tally.connect.record(n * 70_000);
            tally.handshakes.took.record(n * 80_000);
            tally.receipt.record(n * 80_000);
        }
        tally.failed(ErrorKind::Reset, to_ms * 1_000_000 - 5_000, seed * 1_000_000);
        tally.failed(ErrorKind::Status502, to_ms * 1_000_000 - 5_000, seed * 2_000_000);
        count_status(&mut tally.statuses, 200, 1);
        tally.messages.sent = 7 * seed;
        tally.messages.closed(1006, seed);
        let incident = Incident { what: Fate::Lost, connection: thread as u32, sequence: seed, planned_us: Some(4) };
        tally.messages.incident(incident);
        let (cpu_us, cpu_max_us) = (50 * seed, 50 * seed);
        let to = to_ms * 1_000_000;
        let waiting = Waits { since: Some(seed * 1_000_000 + 999), overdue: seed, unsent: 1 };
        Report {
            thread,
            to,
            tally,
            in_flight: seed,
            waiting,
            connections: 5 + seed,
            most: 0,
            cpu_us,
            cpu_max_us,
            last: false,
        }
    }

    fn ticks(threads: &[usize], seeds: fn(usize, u64) -> u64) -> Vec<Tick> {
        let mut merge = Merge::new(threads.len(), level());
        for (n, &thread) in threads.iter().enumerate() {
            for to_ms in [100, 200] {
                let mut one = report(thread, to_ms, seeds(thread, to_ms));
                one.thread = n;
                merge.push(one);
            }
            merge.end(n);
        }
        std::iter::from_fn(|| merge.next(|_, _| ())).collect()
    }

    #[test]
    fn processes_join_to_what_their_threads_would() {
        let seeds: fn(usize, u64) -> u64 = |thread, to_ms| 3 * thread as u64 + to_ms / 50;
        let mut join = Join(Merge::new(2, level()));
        for (process, threads) in [[0, 2], [1, 3]].iter().enumerate() {
            for tick in ticks(threads, seeds) {
                // As it travels.
                let text = serde_json::to_string(&tick).unwrap();
                join.push(process, &serde_json::from_str(&text).unwrap()).unwrap();
            }
            join.end(process);
        }
        let (joined, direct): (Vec<Tick>, Vec<Tick>) = (join.by_ref().collect(), ticks(&[0, 2, 1, 3], seeds));
        assert!(join.is_done());
        assert_eq!(joined, direct);
        assert_eq!((joined.len(), joined[1].latency.decode().unwrap().len()), (2, 34));
        assert_eq!(joined[0].errors.len(), 2);
    }

    #[test]
    fn a_process_that_is_gone_is_not_waited_for() {
        let mut join = Join(Merge::new(2, level()));
        for tick in ticks(&[0], |_, _| 2) {
            join.push(0, &tick).unwrap();
        }
        assert_eq!(join.next(), None);
        join.end(1);
        assert_eq!(join.by_ref().count(), 2);
        assert!(!join.is_done());
        join.end(0);
        assert!(join.is_done());
    }

    #[test]
    fn what_is_no_distribution_is_refused_whole() {
        let mut join = Join(Merge::new(1, level()));
        let broken = Tick { ok: 5, service: genkai_model::histogram::Payload("AAAA".into()), ..Tick::default() };
        assert!(join.push(0, &broken).is_err());
        join.end(0);
        assert!(join.is_done());
    }
}
