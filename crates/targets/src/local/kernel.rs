//! What the kernel shows: accept queues and their overflows, and the CPU of the whole machine.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Instant;

use genkai_model::evidence::{Sample, metric};

/// Connections waiting to be accepted, the largest over the listeners asked for (a gauge; the cap is
/// `min(backlog, net.core.somaxconn) + 1` for each).
pub const ACCEPT_QUEUE: &str = "kernel.accept_queue";

/// Looks at the kernel of this machine (and of this network namespace).
#[derive(Debug)]
pub struct Kernel {
    busy: f64,
    looked: Instant,
}

impl Default for Kernel {
    fn default() -> Self {
        Kernel { busy: busy_seconds().unwrap_or(0.0), looked: Instant::now() }
    }
}

impl Kernel {
    /// Machine CPU counts from now.
    pub fn new() -> Kernel {
        Kernel::default()
    }

    /// A sample of subject `kernel`: listen overflows and drops (cumulative since boot, all listeners of the machine),
    /// CPU in use since the look before (cores), and [`ACCEPT_QUEUE`]. What cannot be read is absent.
    pub fn sample(&mut self, listeners: &[SocketAddr]) -> Sample {
        let mut metrics = BTreeMap::new();
        let mut note = |name: &str, value: Option<f64>| {
            if let Some(value) = value {
                metrics.insert(name.to_owned(), value);
            }
        };
        let netstat = fs::read_to_string("/proc/net/netstat").unwrap_or_default();
        note(metric::LISTEN_OVERFLOWS, counter(&netstat, "TcpExt:", "ListenOverflows"));
        note(metric::LISTEN_DROPS, counter(&netstat, "TcpExt:", "ListenDrops"));
        note(metric::MACHINE_CPU, self.cpu());
        note(ACCEPT_QUEUE, accept_queue(listeners).map(f64::from));
        Sample { subject: "kernel".to_owned(), metrics }
    }

    fn cpu(&mut self) -> Option<f64> {
        let (busy, now) = (busy_seconds()?, Instant::now());
        let wall = now.duration_since(self.looked).as_secs_f64().max(1e-6);
        let cores = (busy - self.busy).max(0.0) / wall;
        (self.busy, self.looked) = (busy, now);
        Some(cores)
    }
}

/// CPU time in use since boot, seconds, over all cores: everything in the first line of /proc/stat but idle, iowait and
/// steal (guest time is part of user time already, proc(5)).
fn busy_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let ticks: Vec<u64> = text.lines().next()?.split_whitespace().skip(1).map_while(|n| n.parse().ok()).collect();
    let [user, nice, system, _idle, _iowait, irq, softirq, ..] = ticks[..] else { return None };
    Some((user + nice + system + irq + softirq) as f64 / procfs::ticks_per_second() as f64)
}

/// A counter of /proc/net/netstat: a line of names, then one of values, both led by `group`.
fn counter(text: &str, group: &str, name: &str) -> Option<f64> {
    let mut lines = text.lines().filter(|line| line.starts_with(group));
    let at = lines.next()?.split_whitespace().position(|word| word == name)?;
    lines.next()?.split_whitespace().nth(at)?.parse().ok()
}

/// The longest accept queue of the listeners; none when none of them is found.
fn accept_queue(listeners: &[SocketAddr]) -> Option<u32> {
    if listeners.is_empty() {
        return None;
    }
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| File::open(path).map(BufReader::new));
    tables.into_iter().flatten().filter_map(|table| longest(table, listeners)).max()
}

/// The longest queue in one table. The kernel lists listeners before all other sockets (tcp_seq_start, net/ipv4/
/// tcp_ipv4.c), so reading stops at the first other one: ten thousand connections cost nothing. For a listener
/// `rx_queue` is `sk_ack_backlog`, the connections waiting to be accepted (get_tcp4_sock, same file).
fn longest(table: impl BufRead, listeners: &[SocketAddr]) -> Option<u32> {
    const LISTEN: &str = "0A";
    let rows = table.lines().skip(1).map_while(Result::ok);
    let rows = rows.map_while(|line| {
        let mut words = line.split_whitespace().skip(1);
        let (local, _remote, state, queues) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let (address, (_, waiting)) = (address(local)?, queues.split_once(':')?);
        (state == LISTEN).then_some((address, u32::from_str_radix(waiting, 16).ok()?))
    });
    rows.filter(|(bound, _)| listeners.iter().any(|wanted| covers(*bound, *wanted))).map(|(_, waiting)| waiting).max()
}

/// Whether a socket bound to `bound` takes connections to `wanted`.
fn covers(bound: SocketAddr, wanted: SocketAddr) -> bool {
    let same = bound.ip().to_canonical() == wanted.ip().to_canonical();
    bound.port() == wanted.port() && (same || bound.ip().is_unspecified())
}

/// `0100007F:1F90`: the address as hexadecimal 32-bit words in the machine's byte order, then the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let word = |at: usize| Some(u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    let ip = match ip.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let words: Vec<u8> = [word(0)?, word(8)?, word(16)?, word(24)?].concat();
            IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(words).ok()?))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}
