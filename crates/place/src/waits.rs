//! What some processes wait for: how often of their own accord, and how long for a disk.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use procfs::process::Process;

/// Over so long threads are looked at, until something is said of them: one long wait is none that goes on.
const OVER: Duration = Duration::from_secs(2);
/// Between two looks at the states of few threads.
const OFTEN: Duration = Duration::from_millis(25);
/// A look at one more thread costs some hundredths of this: of many threads the states are looked at more rarely.
const EACH: Duration = Duration::from_millis(1);
/// Of fewer looks (of more than some hundred threads) nothing is said.
const FEWEST: usize = 16;
/// Between two counts of waits: reading them costs more than a state.
const RARELY: Duration = Duration::from_secs(1);

/// What was seen of processes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Waiting {
    /// Voluntary context switches a second of all threads (proc(5), `voluntary_ctxt_switches`).
    pub voluntary: Option<f64>,
    /// Bytes a second that they had storage read, and written (proc(5), `/proc/PID/io`). None where that may not be read.
    pub disk: Option<(f64, f64)>,
    /// Threads that waited without being interruptible (state `D`) while their process had storage read or written, on average over 2 s. None of
    /// so many threads that each is looked at too rarely.
    pub threads: Option<f64>,
    /// The part of these 2 s for which one thread did.
    pub longest: Option<f64>,
}

/// Processes, looked at again and again.
#[derive(Debug)]
pub struct Waits {
    shared: Arc<Mutex<Shared>>,
    counts: HashMap<(u32, u32), u64>,
    counted: Instant,
    voluntary: Option<f64>,
    /// Bytes read and written of each process at the look before.
    moved: HashMap<u32, (u64, u64)>,
    looked: Instant,
}

/// What looks at states has in common with who asks for them.
#[derive(Debug, Default)]
struct Shared {
    processes: Vec<u32>,
    /// When a process last had storage read or written.
    moving: HashMap<u32, Instant>,
    /// Each look with the threads that waited, by process and thread.
    looks: VecDeque<(Instant, Vec<(u32, u32)>)>,
}

impl Default for Waits {
    fn default() -> Self {
        let shared = Arc::new(Mutex::new(Shared::default()));
        let theirs = Arc::downgrade(&shared);
        std::thread::spawn(move || {
            while let Some(shared) = theirs.upgrade() {
                let processes = lock(&shared).processes.clone();
                let (threads, waiting) = states(&processes);
                lock(&shared).note(waiting);
                drop(shared);
                std::thread::sleep(OFTEN.max(EACH * threads));
            }
        });
        let (counts, moved, now) = (HashMap::new(), HashMap::new(), Instant::now());
        Waits { shared, counts, counted: now, voluntary: None, moved, looked: now }
    }
}

impl Waits {
    /// What these processes waited for since the look before; what needs two looks is none at the first.
    pub fn look(&mut self, processes: &[u32]) -> Waiting {
        let now = Instant::now();
        let disk = self.disk(processes, now);
        if now.duration_since(self.counted) >= RARELY || self.counts.is_empty() {
            let counts: HashMap<_, _> = processes.iter().flat_map(|pid| switches(*pid)).collect();
            let since = |(thread, n): (&(u32, u32), &u64)| Some(n.saturating_sub(*self.counts.get(thread)?));
            let wall = now.duration_since(self.counted).as_secs_f64().max(1e-6);
            let all: u64 = counts.iter().filter_map(since).sum();
            self.voluntary = (!self.counts.is_empty()).then(|| all as f64 / wall);
            (self.counts, self.counted) = (counts, now);
        }
        let mut shared = lock(&self.shared);
        shared.processes = processes.to_vec();
        let (threads, longest) = shared.waited(now).unzip();
        Waiting { voluntary: self.voluntary, disk, threads, longest }
    }

    fn disk(&mut self, processes: &[u32], now: Instant) -> Option<(f64, f64)> {
        let moved: HashMap<u32, (u64, u64)> = processes.iter().filter_map(|pid| Some((*pid, storage(*pid)?))).collect();
        let since = |(pid, (read, written)): (&u32, &(u64, u64))| {
            let (read_before, written_before) = self.moved.get(pid)?;
            Some((*pid, read.saturating_sub(*read_before), written.saturating_sub(*written_before)))
        };
        let all: Vec<(u32, u64, u64)> = moved.iter().filter_map(since).collect();
        let moving = all.iter().filter(|(_, read, written)| read + written > 0).map(|(pid, ..)| (*pid, now));
        lock(&self.shared).moving.extend(moving);
        let wall = now.duration_since(self.looked).as_secs_f64().max(1e-6);
        (self.moved, self.looked) = (moved, now);
        let rate = |of: &dyn Fn(&(u32, u64, u64)) -> u64| all.iter().map(of).sum::<u64>() as f64 / wall;
        (!all.is_empty()).then(|| (rate(&|(_, read, _)| *read), rate(&|(.., written)| *written)))
    }
}

impl Shared {
    fn note(&mut self, mut waiting: Vec<(u32, u32)>) {
        let now = Instant::now();
        // Not every wait of this kind is one for a disk.
        let recent = |pid: &u32| self.moving.get(pid).is_some_and(|at| now.duration_since(*at) < OVER);
        waiting.retain(|(pid, _)| recent(pid));
        self.looks.push_back((now, waiting));
        while self.looks.front().is_some_and(|(at, _)| now.duration_since(*at) > OVER) {
            self.looks.pop_front();
        }
    }

    /// Threads that waited on average, and the part of the time for which the one did that waited longest; none before it is over.
    fn waited(&self, now: Instant) -> Option<(f64, f64)> {
        let long = self.looks.front().is_some_and(|(at, _)| now.duration_since(*at) >= OVER.mul_f64(0.9));
        let mut each: HashMap<(u32, u32), u32> = HashMap::new();
        for thread in self.looks.iter().flat_map(|(_, waiting)| waiting) {
            *each.entry(*thread).or_default() += 1;
        }
        let looks = self.looks.len().max(1) as f64;
        let most = each.values().copied().max().unwrap_or(0);
        // Of many threads there are few looks: who waited at one may have for a moment only.
        (long && self.looks.len() >= FEWEST)
            .then(|| (f64::from(each.values().sum::<u32>()) / looks, f64::from(most) / looks))
    }
}

fn lock(shared: &Mutex<Shared>) -> std::sync::MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tasks(process: u32) -> impl Iterator<Item = u32> {
    let all = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// How many threads there are, and which of them wait without being interruptible.
fn states(processes: &[u32]) -> (u32, Vec<(u32, u32)>) {
    let (mut all, mut waiting) = (0, Vec::new());
    for (process, thread) in processes.iter().flat_map(|pid| tasks(*pid).map(|thread| (*pid, thread))) {
        all += 1;
        let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/stat")).unwrap_or_default();
        // Its name, in brackets, may hold anything.
        if text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('D')) {
            waiting.push((process, thread));
        }
    }
    (all, waiting)
}

/// Voluntary context switches of each thread of a process.
fn switches(process: u32) -> Vec<((u32, u32), u64)> {
    let of = |thread: u32| {
        let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/status")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        Some(((process, thread), line.trim().parse().ok()?))
    };
    tasks(process).filter_map(of).collect()
}

/// Bytes that a process has had storage read and written; none where that may not be read.
fn storage(process: u32) -> Option<(u64, u64)> {
    let io = Process::new(i32::try_from(process).ok()?).ok()?.io().ok()?;
    Some((io.read_bytes, io.write_bytes))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn waits_and_bytes_of_a_process_are_counted() {
        let own = [std::process::id()];
        let mut waits = Waits::default();
        assert_eq!(waits.look(&own).voluntary, None);
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let echo =
            std::thread::spawn(move || while there.read_exact(&mut [0]).is_ok() && there.write_all(b"!").is_ok() {});
        let deadline = Instant::now() + Duration::from_secs(60);
        let (mut voluntary, mut written) = (0.0_f64, 0.0_f64);
        while voluntary == 0.0 || written == 0.0 {
            assert!(Instant::now() < deadline, "{voluntary} waits, {written} bytes");
            here.write_all(b"?").unwrap();
            here.read_exact(&mut [0]).unwrap();
            let mut file = fs::File::create(dir.path().join("f")).unwrap();
            file.write_all(&[7; 1 << 16]).unwrap();
            file.sync_all().unwrap();
            let seen = waits.look(&own);
            voluntary = voluntary.max(seen.voluntary.unwrap_or(0.0));
            written = written.max(seen.disk.map_or(0.0, |(_, written)| written));
        }
        drop(here);
        echo.join().unwrap();
    }

    #[test]
    fn only_who_waits_while_storage_is_used_waits_for_a_disk() {
        let mut shared = Shared::default();
        shared.note(vec![(1, 1)]);
        assert!(shared.looks[0].1.is_empty(), "nothing was read or written");
        shared.moving.insert(1, Instant::now());
        let looks = [vec![(1, 1), (1, 2), (2, 2)], vec![(1, 1)], vec![]];
        looks.iter().for_each(|waiting| shared.note(waiting.clone()));
        assert_eq!(shared.waited(Instant::now() + OVER), None, "four looks are few");
        looks.iter().cycle().take(12).for_each(|waiting| shared.note(waiting.clone()));
        let now = Instant::now();
        assert_eq!(shared.waited(now), None, "it is not over");
        let (threads, longest) = shared.waited(now + OVER).unwrap();
        // Five times the three, after the one of which nothing is known.
        assert!((threads - 15.0 / 16.0).abs() < 1e-9 && (longest - 10.0 / 16.0).abs() < 1e-9, "{threads}, {longest}");
    }

    #[test]
    fn states_are_told_of_every_thread() {
        let (all, waiting) = states(&[std::process::id()]);
        assert!(all >= 1 && waiting.len() <= all as usize);
        assert_eq!(states(&[u32::MAX]), (0, Vec::new()));
        assert_eq!(storage(u32::MAX), None);
    }
}
