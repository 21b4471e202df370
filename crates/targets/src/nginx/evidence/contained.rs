//! What an nginx in a container shows to whoever looks into it: its workers, and its error log. (Its status page is not asked, its accept queue is the
//! container's; how long workers waited for a core is not told, as they may have waited for their quota, or for neighbours on the node.)

use std::collections::{BTreeMap, BTreeSet};

use genkai_model::event::{ServerState, State};
use genkai_model::evidence::{Sample, metric};
use genkai_place::inside::{Look, Process, Since};
use genkai_place::observation::Observation;

use super::{aggregate, death, metrics};
use crate::product::WatchInside;

/// What a master calls itself before its command line (src/os/unix/ngx_process_cycle.c).
pub(in crate::nginx) const MASTER: &str = "nginx: master process ";
/// What a worker calls itself at first.
const WORKER: &str = "nginx: worker process";

/// Whether a process that calls itself so is a master.
pub(in crate::nginx) fn is_master(title: &str) -> bool {
    title.starts_with(MASTER.trim_end())
}

/// Whether a process that calls itself so is a worker.
pub(in crate::nginx) fn is_worker(title: &str) -> bool {
    title.starts_with(WORKER)
}

/// Looks at one nginx in a container, again and again.
#[derive(Debug, Default)]
pub(in crate::nginx) struct Within {
    since: Since,
    workers: BTreeSet<u32>,
    /// Workers whose death was reported.
    reported: BTreeSet<u32>,
    /// The beginning of a line of the log whose end was not seen yet.
    partial: Vec<u8>,
    limit: Option<u64>,
    page: Option<u64>,
    /// Periods of the quota at the look before.
    periods: Option<(u64, u64)>,
}

impl Within {
    /// Of one whose workers may have so many descriptors.
    pub(in crate::nginx) fn new(limit: Option<u64>, page: Option<u64>) -> Within {
        Within { limit, page, ..Within::default() }
    }

    /// Whole lines that came to the log.
    fn lines(&mut self, log: &[u8]) -> Vec<String> {
        let mut bytes = std::mem::take(&mut self.partial);
        bytes.extend(log);
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.partial = bytes.split_off(end);
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(genkai_place::tail::clean).collect()
    }

    /// Workers that died: those that are gone, and those that only the log names, each once.
    fn deaths(&mut self, alive: BTreeSet<u32>, lines: &[String]) -> Vec<State> {
        let logged: BTreeMap<u32, &str> = lines.iter().filter_map(|line| death(line)).collect();
        let gone = self.workers.difference(&alive).copied();
        let all: BTreeSet<u32> = gone.chain(logged.keys().copied()).collect();
        self.workers = alive;
        let new = all.into_iter().filter(|pid| self.reported.insert(*pid));
        new.map(|pid| {
            let said = logged.get(&pid).map(|said| (*said).to_owned());
            let detail = said.unwrap_or_else(|| format!("worker process {pid} ended"));
            State { subject: "nginx".to_owned(), state: ServerState::WorkerDied, detail: Some(detail) }
        })
        .collect()
    }
}

impl WatchInside for Within {
    fn look(&mut self, look: &Look) -> Observation {
        let used = self.since.take(look);
        let master = look.processes.iter().find(|one| is_master(&one.title)).map(|one| one.pid);
        let own = |one: &Process| Some(one.pid) == master || Some(one.parent) == master;
        let works =
            |one: &Process| Some(one.parent) == master && (self.workers.contains(&one.pid) || is_worker(&one.title));
        let (mut cpu, mut pages, mut busiest) = (0.0, 0, 0.0f64);
        let (mut alive, mut descriptors) = (BTreeSet::new(), None);
        for (one, cores) in used.into_iter().filter(|(one, _)| own(one)) {
            cpu += cores;
            pages += one.pages;
            if works(one) {
                alive.insert(one.pid);
                busiest = busiest.max(cores);
                descriptors = descriptors.max(one.descriptors);
            }
        }
        let mut metrics = BTreeMap::from([
            (metrics::CPU.to_owned(), cpu),
            (metrics::WORKERS.to_owned(), alive.len() as f64),
            (metrics::WORKER_CPU_MAX.to_owned(), busiest),
        ]);
        let named = [
            (metrics::RSS.to_owned(), self.page.map(|page| (pages * page) as f64)),
            (metrics::WORKER_FDS_MAX.to_owned(), descriptors.map(|count| count as f64)),
            (metrics::WORKER_FD_LIMIT.to_owned(), self.limit.map(|limit| limit as f64)),
            (format!("nginx.{}", metric::MEMORY_KILLS), look.kills.map(|kills| kills as f64)),
            (metrics::THROTTLED.to_owned(), throttled(&mut self.periods, look.periods)),
        ];
        metrics.extend(named.into_iter().filter_map(|(name, value)| Some((name, value?))));
        let lines = self.lines(&look.log);
        let states = self.deaths(alive, &lines);
        let logs = aggregate(lines.iter().map(String::as_str));
        Observation { samples: vec![Sample { subject: "nginx".to_owned(), metrics }], logs, states }
    }
}

/// Of the periods since the look before, the part in which the quota was used up.
fn throttled(before: &mut Option<(u64, u64)>, now: Option<(u64, u64)>) -> Option<f64> {
    let (was, is) = (std::mem::replace(before, now)?, now?);
    let (all, stopped) = (is.0.saturating_sub(was.0), is.1.saturating_sub(was.1));
    Some(if all == 0 { 0.0 } else { (stopped as f64 / all as f64).min(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32, title: &str, processor: f64) -> Process {
        Process { pid, parent, title: title.to_owned(), began: 1, processor, pages: 10, ..Process::default() }
    }

    #[test]
    fn workers_are_those_of_the_master_and_die_once() {
        let mut within = Within::new(Some(1024), Some(4096));
        let title = "nginx: worker process";
        let all = |at: f64, cpu: f64, workers: &[u32]| {
            let master = process(1, 0, "nginx: master process nginx -g daemon off;", 0.0);
            let others = [process(9, 0, "sh -c x", 50.0), process(8, 1, "nginx: cache manager process", 0.0)];
            let workers = workers.iter().map(|pid| process(*pid, 1, title, cpu));
            let processes = std::iter::once(master).chain(others).chain(workers).collect();
            Look { at, processes, periods: Some(((at * 10.0) as u64, (at * 5.0) as u64)), ..Look::default() }
        };
        let metric = |seen: &Observation, name: &str| seen.samples[0].metrics.get(name).copied();
        let first = within.look(&all(10.0, 1.0, &[20, 21]));
        assert_eq!((metric(&first, metrics::CPU), metric(&first, metrics::WORKERS)), (Some(0.0), Some(2.0)));
        assert_eq!(metric(&first, metrics::THROTTLED), None, "nothing to compare with");
        let second = within.look(&all(12.0, 2.0, &[20, 21]));
        assert_eq!((metric(&second, metrics::CPU), metric(&second, metrics::WORKER_CPU_MAX)), (Some(1.0), Some(0.5)));
        assert_eq!((metric(&second, metrics::THROTTLED), metric(&second, metrics::RSS)), (Some(0.5), Some(163_840.0)));
        let mut third = all(13.0, 2.0, &[20]);
        third.log = b"2026/11/21 11:00:00 [alert] 1#1: worker process 21 exited on signal 9\nhalf".to_vec();
        let third = within.look(&third);
        assert_eq!(third.states[0].detail.as_deref(), Some("worker process 21 exited on signal 9"));
        assert_eq!(third.logs.len(), 1, "half a line is none");
        assert!(within.look(&all(14.0, 2.0, &[20])).states.is_empty());
    }
}
