//! What the kernel shows: accept queues and their overflows, and the CPU of the whole machine.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use genkai_model::evidence::{Sample, metric};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use crate::group::Throttle;
use crate::netstat::Netstat;
use crate::{caps, listener};

/// Connections waiting to be accepted, the largest over the listeners asked for (a gauge; the cap is
/// `min(backlog, net.core.somaxconn) + 1` for each).
pub const ACCEPT_QUEUE: &str = "kernel.accept_queue";

/// Looks at the kernel of this machine (and of this network namespace).
#[derive(Debug)]
pub struct Kernel {
    busy: Option<Look>,
    own: Option<Look>,
    throttle: Throttle,
}

/// Processor time that was had by a moment.
#[derive(Clone, Copy, Debug)]
struct Look {
    seconds: f64,
    /// Before it was read, and after.
    from: Instant,
    to: Instant,
}

impl Look {
    /// Reads it now; none where it cannot be read.
    fn now(read: impl FnOnce() -> Option<f64>) -> Option<Look> {
        let from = Instant::now();
        let seconds = read()?;
        Some(Look { seconds, from, to: Instant::now() })
    }

    /// Cores in use since `before`. Who looks can be held up while it looks: the time between is the longest that it can have been, so
    /// that what was used in it is never told as used in less.
    fn cores_since(&self, before: &Look) -> f64 {
        (self.seconds - before.seconds).max(0.0) / self.to.duration_since(before.from).as_secs_f64().max(1e-6)
    }
}

impl Default for Kernel {
    fn default() -> Self {
        Kernel { busy: Look::now(busy_seconds), own: Look::now(own_seconds), throttle: Throttle::new() }
    }
}

impl Kernel {
    /// Machine CPU counts from now.
    pub fn new() -> Kernel {
        Kernel::default()
    }

    /// A sample of subject `kernel`: listen overflows and drops (cumulative since boot, all listeners of the machine),
    /// CPU in use since the look before (cores, of the machine, of this process and of its group where that has a quota), periods in which the
    /// quota was used up, and [`ACCEPT_QUEUE`]. What cannot be read is absent.
    pub fn sample(&mut self, listeners: &[SocketAddr]) -> Sample {
        let mut metrics = BTreeMap::new();
        let mut note = |name: &str, value: Option<f64>| {
            if let Some(value) = value {
                metrics.insert(name.to_owned(), value);
            }
        };
        let netstat = Netstat::now();
        note(metric::LISTEN_OVERFLOWS, netstat.tcp("ListenOverflows"));
        note(metric::LISTEN_DROPS, netstat.tcp("ListenDrops"));
        // It is counted in ticks: of a short time they may be one more a core than there was time for.
        let most = f64::from(caps::online());
        note(metric::MACHINE_CPU, used(&mut self.busy, busy_seconds).map(|cores| cores.min(most)));
        note(metric::OWN_CPU, used(&mut self.own, own_seconds));
        note(metric::THROTTLED, self.throttle.fraction());
        note(metric::GROUP_CPU, self.throttle.cores());
        note(ACCEPT_QUEUE, accept_queue(listeners).map(f64::from));
        Sample { subject: "kernel".to_owned(), metrics }
    }
}

/// Cores in use since the look before.
fn used(last: &mut Option<Look>, read: impl FnOnce() -> Option<f64>) -> Option<f64> {
    let now = Look::now(read)?;
    let before = last.replace(now)?;
    Some(now.cores_since(&before))
}

/// Processor time that this process has had, with all its threads; zero where it cannot be read.
pub fn own() -> Duration {
    Duration::from_secs_f64(own_seconds().unwrap_or_default())
}

/// CPU time that this process has had, with all its threads, seconds (getrusage(2)).
fn own_seconds() -> Option<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Some(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// CPU time in use since boot, seconds, over all cores: everything in the first line of /proc/stat but idle, iowait and
/// steal (guest time is part of user time already, proc(5)).
fn busy_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let ticks: Vec<u64> = text.lines().next()?.split_whitespace().skip(1).map_while(|n| n.parse().ok()).collect();
    let [user, nice, system, _idle, _iowait, irq, softirq, ..] = ticks[..] else { return None };
    Some((user + nice + system + irq + softirq) as f64 / procfs::ticks_per_second() as f64)
}

/// The longest accept queue of the listeners; none when none of them is found.
fn accept_queue(listeners: &[SocketAddr]) -> Option<u32> {
    listeners.iter().filter_map(|&address| listener::queue(address)).map(|queue| queue.waiting).max()
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::os::fd::AsRawFd;
    use std::thread;

    use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, getsockname, listen, socket};

    use super::*;

    /// A listener that never accepts: its queue holds backlog + 1 connections, the next one overflows it.
    #[test]
    fn a_full_accept_queue_is_seen() {
        let server = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
        bind(server.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0)).unwrap();
        listen(&server, Backlog::new(1).unwrap()).unwrap();
        let bound: SockaddrIn = getsockname(server.as_raw_fd()).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], bound.port()));
        let mut kernel = Kernel::new();
        assert_eq!(kernel.sample(&[address]).metrics[ACCEPT_QUEUE], 0.0);
        let clients = [TcpStream::connect(address).unwrap(), TcpStream::connect(address).unwrap()];
        let before = kernel.sample(&[address]).metrics;
        assert_eq!(before[ACCEPT_QUEUE], 2.0);
        assert!(TcpStream::connect_timeout(&address, Duration::from_millis(50)).is_err());
        let after = kernel.sample(&[address]).metrics;
        assert!(after[metric::LISTEN_OVERFLOWS] > before[metric::LISTEN_OVERFLOWS]);
        assert!(after[metric::LISTEN_DROPS] > before[metric::LISTEN_DROPS]);
        drop(clients);
        assert!(!kernel.sample(&[]).metrics.contains_key(ACCEPT_QUEUE));
    }

    #[test]
    fn the_machine_is_not_busier_than_it_has_cores() {
        let mut kernel = Kernel::new();
        thread::sleep(Duration::from_millis(200));
        let cores = kernel.sample(&[]).metrics[metric::MACHINE_CPU];
        let online = fs::read_to_string("/proc/stat").unwrap().lines().filter(|l| l.starts_with("cpu")).count() - 1;
        assert!((0.0..=online as f64).contains(&cores), "{cores} of {online}");
    }

    #[test]
    fn who_is_held_up_while_it_looks_does_not_see_more_cores_than_there_are() {
        let began = Instant::now();
        let look = |seconds: f64, from: u64, to: u64| {
            let at = |ms: u64| began + Duration::from_millis(ms);
            Look { seconds, from: at(from), to: at(to) }
        };
        // One core is full all the time: read at 100 ms and noted at 300 ms, then read and noted at 400 ms.
        let (held_up, next) = (look(0.1, 100, 300), look(0.4, 400, 400));
        assert!((next.cores_since(&held_up) - 1.0).abs() < 1e-9);
        assert!(look(0.1, 0, 0).cores_since(&look(0.2, 0, 0)) <= 0.0);
    }

    #[test]
    fn own_processor_time_is_seen() {
        let mut kernel = Kernel::new();
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(50) {
            std::hint::spin_loop();
        }
        assert!(kernel.sample(&[]).metrics[metric::OWN_CPU] > 0.0);
    }
}
