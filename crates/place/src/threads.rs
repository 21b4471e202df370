//! How much of a core the busiest thread of some processes takes.

use std::collections::HashMap;
use std::fs;
use std::time::Instant;

/// Threads, looked at again and again.
#[derive(Debug)]
pub struct Threads {
    /// Time each thread had on a processor at the last look, nanoseconds, by process and thread.
    before: HashMap<(u32, u32), u64>,
    looked: Instant,
    /// Whether the time counts in which a thread could have run but had no processor.
    waits: bool,
    /// Whether only the first thread of each process counts.
    main: bool,
}

impl Default for Threads {
    fn default() -> Self {
        Threads { before: HashMap::new(), looked: Instant::now(), waits: false, main: false }
    }
}

impl Threads {
    /// As [`Threads::default`], but a thread that waits for a processor takes it, too: who shares cores with others is at its end sooner.
    pub fn wanting() -> Threads {
        Threads { waits: true, ..Threads::default() }
    }

    /// As [`Threads::default`], but of each process only its first thread.
    pub fn main() -> Threads {
        Threads { main: true, ..Threads::default() }
    }

    /// The largest share of a core that a thread of `processes` took since the look before; none at the first look, and where the kernel
    /// keeps no account of it (`/proc/PID/task/TID/schedstat`, proc(5)).
    pub fn busiest(&mut self, processes: impl IntoIterator<Item = u32>) -> Option<f64> {
        let now = Instant::now();
        let wall = now.duration_since(self.looked).as_nanos().max(1) as f64;
        let times = processes.into_iter().flat_map(|process| of(process, self.waits));
        let counts = |(process, thread): &(u32, u32)| !self.main || process == thread;
        let times: HashMap<_, _> = times.filter(|(thread, _)| counts(thread)).collect();
        let since = |(thread, time): (&(u32, u32), &u64)| Some(time.saturating_sub(*self.before.get(thread)?));
        let most = times.iter().filter_map(since).max();
        (self.before, self.looked) = (times, now);
        most.map(|most| most as f64 / wall)
    }
}

/// Each thread of a process with its time on a processor, or also that for which it waited for one.
fn of(process: u32, waits: bool) -> Vec<((u32, u32), u64)> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    let one = |thread: u32| {
        let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/schedstat")).ok()?;
        let mut times = text.split_whitespace().map_while(|word| word.parse::<u64>().ok());
        let (ran, waited) = (times.next()?, times.next().unwrap_or(0));
        Some(((process, thread), if waits { ran + waited } else { ran }))
    };
    tasks.flatten().filter_map(|entry| one(entry.file_name().to_str()?.parse().ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_thread_that_works_is_seen_beside_those_that_wait() {
        let own = || [std::process::id()];
        let mut threads = Threads::default();
        assert_eq!(threads.busiest(own()), None);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            threads.busiest(own());
            std::thread::sleep(Duration::from_millis(100));
            let seen = threads.busiest(own());
            stop.store(true, Ordering::Relaxed);
            assert!(seen.is_some_and(|share| share > 0.0 && share < 1.5), "{seen:?}");
        });
    }
}
