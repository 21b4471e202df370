//! Intervals of threads to intervals of the load. Those of processes become the load's in the same way (see `join`): what is
//! said of threads here is true of processes.

use std::collections::VecDeque;

use genkai_model::event::{Tick, Waiting};
use genkai_model::scenario::Scenario;

use super::figure::Figure;
use super::flows::name;
use super::report::{Report, Waits};
use super::tally::Tally;
use crate::clock::Moment;
use crate::hold::Hold;
use crate::schedule::pacer::Level;

/// Joins what threads report. An interval is complete when every thread has reported up to the same end, or has ended.
pub(crate) struct Merge {
    level: Level,
    /// Whether the load is held, and was.
    hold: Hold,
    /// Of a scenario's steps, and of its checks.
    names: [Vec<String>; 2],
    threads: Vec<Thread>,
    sum: Tally,
    from: Moment,
    /// Whether each has connections that it counts by itself.
    apart: bool,
}

#[derive(Default)]
struct Thread {
    reports: VecDeque<Report>,
    /// Whether its last report has been used.
    ended: bool,
    in_flight: u64,
    waiting: Waits,
    connections: u64,
    most: u64,
    /// CPU time in the interval being joined.
    cpu_us: u64,
    cpu_max_us: u64,
}

impl Merge {
    /// For so many threads of a load with this level.
    pub(crate) fn new(threads: usize, level: Level) -> Merge {
        let threads = (0..threads).map(|_| Thread::default()).collect();
        Merge {
            level,
            hold: Hold::new(),
            names: Default::default(),
            threads,
            sum: Tally::default(),
            from: 0,
            apart: false,
        }
    }

    /// With the names of a scenario's steps and checks.
    pub(crate) fn naming(self, scenario: Option<&Scenario>) -> Merge {
        let names = scenario.map(|scenario| [scenario.names.clone(), scenario.checks.clone()]).unwrap_or_default();
        Merge { names, ..self }
    }

    /// Of processes, which count their connections each by itself: all of them together had at most the sum at once.
    pub(crate) fn apart(self) -> Merge {
        Merge { apart: true, ..self }
    }

    /// Of a load that may be held.
    pub(crate) fn holding(self, hold: Hold) -> Merge {
        Merge { hold, ..self }
    }

    /// Takes a report.
    pub(crate) fn push(&mut self, report: Report) {
        self.threads[report.thread].reports.push_back(report);
    }

    /// Nothing more comes from this thread.
    pub(crate) fn end(&mut self, thread: usize) {
        let thread = &mut self.threads[thread];
        match thread.reports.back_mut() {
            Some(report) => report.last = true,
            None => thread.ended = true,
        }
    }

    /// Whether every thread has ended and been merged.
    pub(crate) fn is_done(&self) -> bool {
        self.threads.iter().all(|thread| thread.ended && thread.reports.is_empty())
    }

    /// Whether more must come from this thread.
    pub(crate) fn awaits(&self, thread: usize) -> bool {
        !self.threads[thread].ended && !self.threads[thread].reports.back().is_some_and(|report| report.last)
    }

    /// The next interval, if it is complete. `give_back` gets each thread's tally, cleared.
    pub(crate) fn next(&mut self, mut give_back: impl FnMut(usize, Box<Tally>)) -> Option<Tick> {
        let to = self.common_end()?;
        for (number, thread) in self.threads.iter_mut().enumerate() {
            (thread.cpu_us, thread.cpu_max_us) = (0, 0);
            if thread.ended {
                (thread.in_flight, thread.connections, thread.waiting) = (0, 0, Waits::default());
            }
            let ended_by_then = thread.reports.iter().take_while(|report| report.to <= to).count();
            for mut report in thread.reports.drain(..ended_by_then) {
                self.sum.add(&report.tally);
                thread.cpu_us += report.cpu_us;
                thread.cpu_max_us += report.cpu_max_us;
                (thread.in_flight, thread.connections) = (report.in_flight, report.connections);
                (thread.waiting, thread.most) = (report.waiting, report.most);
                thread.ended = report.last;
                report.tally.clear();
                give_back(number, report.tally);
            }
        }
        let tick = self.tick(to);
        self.sum.clear();
        self.from = to;
        Some(tick)
    }

    /// The earliest moment at which every thread has an interval that ends there, unless it ended before.
    fn common_end(&self) -> Option<Moment> {
        let running = || self.threads.iter().filter(|thread| !thread.ended);
        let mut to = 0;
        for thread in running() {
            to = to.max(thread.reports.front()?.to);
        }
        // A thread's interval may be longer than another's (see `Handover`): go on until all meet.
        loop {
            let mut furthest = to;
            for thread in running() {
                match thread.reports.iter().find(|report| report.to >= to) {
                    Some(report) => furthest = furthest.max(report.to),
                    None if thread.reports.back().is_some_and(|report| report.last) => {}
                    None => return None,
                }
            }
            if furthest == to {
                return running().next().is_some().then_some(to);
            }
            to = furthest;
        }
    }

    fn tick(&self, to: Moment) -> Tick {
        let of_threads = |what: fn(&Thread) -> u64| self.threads.iter().map(what);
        let pauses = self.hold.pauses();
        let level = self.level.held(to, &pauses);
        let waits = self.threads.iter().fold(Waits::default(), |all, thread| all.and(thread.waiting));
        let first_error = self.sum.first_error_us.planned();
        let mut tick = Tick {
            from_us: self.from / 1_000,
            to_us: to / 1_000,
            level,
            waiting: Some(Waiting {
                since_us: waits.since.map(|at| at / 1_000),
                // As of failures below.
                since_level: waits.since.map(|at| self.level.held(at + 1, &pauses)),
                overdue: waits.overdue,
                unsent: waits.unsent,
            }),
            in_flight: of_threads(|t| t.in_flight).sum(),
            connections: of_threads(|t| t.connections).sum(),
            most: match self.apart {
                true => Some(of_threads(|t| t.most).sum()),
                false => of_threads(|t| t.most).max(),
            },
            cpu_us: of_threads(|t| t.cpu_us).sum(),
            cpu_max_us: of_threads(|t| t.cpu_max_us).max().unwrap_or(0),
            // The user who was planned at that very instant is one of those that it met.
            first_error_level: first_error.map(|at| self.level.held(at + 1, &pauses)),
            ..self.sum.tell()
        };
        if tick.service == tick.latency {
            // As with closed users, who wait for nothing: one text for both.
            tick.service = tick.latency.clone();
        }
        if let Some(flows) = &mut tick.flows {
            name(flows, &self.names);
        }
        tick
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::profile::Profile;
    use genkai_model::error::ErrorKind;

    fn merge(threads: usize) -> Merge {
        Merge::new(threads, Level::Users(Profile::users(300, 10.0)))
    }

    fn report(thread: usize, to_ms: u64, ok: u64, last: bool) -> Report {
        let mut tally = Box::new(Tally::default());
        tally.ok = ok;
        Report {
            thread,
            to: to_ms * 1_000_000,
            tally,
            in_flight: ok,
            waiting: Waits { since: Some(to_ms * 1_000_000 / 2), overdue: 1, unsent: 2 },
            connections: 1,
            most: 1,
            cpu_us: 5 * (thread as u64 + 1),
            cpu_max_us: 5 * (thread as u64 + 1),
            last,
        }
    }

    fn drain(merge: &mut Merge) -> Vec<(u64, u64, u64)> {
        std::iter::from_fn(|| merge.next(|_, _| ())).map(|t| (t.from_us / 1_000, t.to_us / 1_000, t.ok)).collect()
    }

    #[test]
    fn waits_for_the_slowest_thread() {
        let mut merge = merge(2);
        merge.push(report(0, 100, 1, false));
        merge.push(report(0, 200, 2, false));
        assert_eq!(drain(&mut merge), []);
        merge.push(report(1, 100, 10, false));
        let tick = merge.next(|_, _| ()).unwrap();
        assert_eq!((tick.ok, tick.in_flight, tick.connections), (11, 11, 2));
        assert_eq!((tick.cpu_us, tick.cpu_max_us, tick.level), (15, 10, 1.0));
        let waiting = Waiting { since_us: Some(50_000), since_level: Some(1.0), overdue: 2, unsent: 4 };
        assert_eq!(tick.waiting, Some(waiting), "all threads together");
        assert_eq!(drain(&mut merge), []);
    }

    #[test]
    fn longer_intervals_are_met_by_joining_shorter_ones() {
        let mut merge = merge(2);
        for to in [100, 200, 300] {
            merge.push(report(0, to, 1, false));
        }
        merge.push(report(1, 200, 10, false));
        assert_eq!(drain(&mut merge), [(0, 200, 12)]);
        merge.push(report(1, 300, 10, true));
        assert_eq!(drain(&mut merge), [(200, 300, 11)]);
        merge.push(report(0, 400, 1, false));
        let tick = merge.next(|_, _| ()).unwrap();
        assert_eq!((tick.ok, tick.in_flight, tick.connections), (1, 1, 1), "what ended has nothing in flight");
        assert!(!merge.is_done());
        merge.push(report(0, 450, 1, true));
        assert_eq!(drain(&mut merge), [(400, 450, 1)]);
        assert!(merge.is_done());
    }

    #[test]
    fn different_last_moments_are_one_interval() {
        let mut merge = merge(2);
        merge.push(report(0, 103, 1, true));
        merge.push(report(1, 111, 1, true));
        assert_eq!(drain(&mut merge), [(0, 111, 2)]);
        assert!(merge.is_done());
    }

    #[test]
    fn the_first_error_is_the_earliest_of_all() {
        let mut merge = merge(2);
        for (thread, at) in [(0, 2_450_000_000), (1, 2_050_000_000)] {
            let mut one = report(thread, 3000, 0, false);
            one.tally.failed(ErrorKind::Reset, at + 1, 1);
            merge.push(one);
        }
        let tick = merge.next(|_, _| ()).unwrap();
        assert_eq!((tick.first_error_us, tick.first_error_level), (Some(2_050_000), Some(21.0)));
    }
}
