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

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::os::fd::AsRawFd;
    use std::thread;
    use std::time::Duration;

    use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, getsockname, listen, socket};

    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0        0 1145 1 00
   1: 00000000:1F90 00000000:0000 0A 00000000:0000000B 00:00000000 00000000     0        0 1146 1 00
   2: 0200007F:1F90 00000000:0000 0A 00000000:000000FF 00:00000000 00000000     0        0 1147 1 00
   3: 0100007F:1F90 0100007F:D431 01 00000000:0000FFFF 00:00000000 00000000     0        0 1148 1 00
   4: 0100007F:1F90 00000000:0000 0A 00000000:0000EEEE 00:00000000 00000000     0        0 1149 1 00
";

    fn wanted(text: &str) -> Vec<SocketAddr> {
        vec![text.parse().unwrap()]
    }

    #[test]
    fn the_longest_queue_of_matching_listeners_before_the_first_connection() {
        // The table is written in little-endian words, as on the machines this is tested on.
        assert_eq!(longest(TABLE.as_bytes(), &wanted("127.0.0.1:8080")), Some(11));
        assert_eq!(longest(TABLE.as_bytes(), &wanted("127.0.0.2:8080")), Some(255));
        assert_eq!(longest(TABLE.as_bytes(), &wanted("127.0.0.1:81")), None);
        assert_eq!(longest("".as_bytes(), &wanted("127.0.0.1:81")), None);
        assert_eq!(longest("junk\njunk\njunk".as_bytes(), &wanted("127.0.0.1:81")), None);
    }

    #[test]
    fn addresses_of_both_families() {
        assert_eq!(address("0100007F:0050"), Some("127.0.0.1:80".parse().unwrap()));
        let v6 = "00000000000000000000000001000000:01BB";
        assert_eq!(address(v6), Some("[::1]:443".parse().unwrap()));
        assert_eq!(address("0100007F"), None);
        assert_eq!(address("0100:50"), None);
        let mapped = "0000000000000000FFFF00000100007F:0050";
        assert!(covers(address(mapped).unwrap(), "127.0.0.1:80".parse().unwrap()));
    }

    #[test]
    fn counters_by_name() {
        let text = "TcpExt: A ListenOverflows ListenDrops\nTcpExt: 1 22 333\nIpExt: ListenDrops\nIpExt: 4\n";
        assert_eq!(counter(text, "TcpExt:", "ListenDrops"), Some(333.0));
        assert_eq!(counter(text, "TcpExt:", "Missing"), None);
        assert_eq!(counter("", "TcpExt:", "ListenDrops"), None);
    }

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
        assert!((0.0..=online as f64 * 1.2).contains(&cores), "{cores} of {online}");
    }
}
