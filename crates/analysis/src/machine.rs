//! What a machine holds: a pure function of what was found on it.
//!
//! Memory of an idle WebSocket connection, measured on x86-64 with 100,000 of them on one machine: the generator 1.4 KB, the
//! embedded echo server 1.4 KB of user memory. The kernel's part of each end is in slabs of fixed size (/proc/slabinfo,
//! Linux 6.18): TCP 2,368, sock_inode_cache 832, filp 192, dentry 192, eventpoll_epi 128 bytes. Buffers are empty while nothing is
//! said.

use genkai_model::machine::{Checkup, Holds, Item, Machine, PlaceCheckup, PlaceHolds, PlacesCheckup, Raise, State};

/// User memory of one end of an idle connection, bytes.
const USER: u64 = 1_500;
/// Kernel memory of one end.
const KERNEL: u64 = 2_368 + 832 + 192 + 192 + 128;
/// Descriptors a process of the generator needs besides connections (engine, `preflight`).
const OWN: u64 = 72;
/// Most processes of a load.
const MOST_PROCESSES: u64 = 256;
/// Most source addresses that are chosen by themselves on loopback.
const MOST_SOURCES: u64 = 1_024;
/// Part of the memory that may be used, percent: the rest is for everything else.
const MEMORY_PART: u64 = 80;
/// Fewest descriptors of a process, and ports, that are called enough.
const ENOUGH: u64 = 10_000;
/// Shortest accept queue that is called enough: the default since Linux 5.4.
const ENOUGH_QUEUE: u64 = 4_096;
/// Fewer connections than this, and load tests make no sense.
const LEAST: u64 = 500;

/// What `machine` holds; `asked` connections in particular.
pub fn examine(machine: Machine, asked: Option<u64>) -> Checkup {
    let holds = holds(&machine);
    let fits = asked.unwrap_or(LEAST) <= holds.all;
    let flags = asked.filter(|_| fits).map(|asked| flags(&machine, &holds, asked));
    let mut items = vec![
        descriptors(&machine, &holds, asked),
        files(&machine, &holds, asked),
        ports(&machine, &holds),
        queue(machine.somaxconn),
        half_open(machine.syn_backlog),
        memory(&machine, &holds, asked),
        buffers(&machine),
        cores(&machine),
        servers(&machine),
    ];
    items.extend(conntrack(&machine, &holds, asked));
    if asked.is_some() && fits {
        // It is asked for so many, and they fit: what is too little for more is low.
        items.iter_mut().filter(|item| item.state == State::Bad).for_each(|item| item.state = State::Low);
    }
    let good = fits && items.iter().all(|item| item.state != State::Bad);
    Checkup { machine, holds, asked, flags, good, items }
}

/// What machines hold that make a load together: name, processes and what was found of each; `asked` connections in particular.
pub fn examine_places(found: Vec<(String, u16, Machine)>, asked: Option<u64>) -> PlacesCheckup {
    let all: u64 = found.iter().map(|(_, processes, _)| u64::from(*processes)).sum();
    let places: Vec<PlaceCheckup> =
        found.into_iter().map(|(name, n, machine)| place(name, n, machine, asked, all)).collect();
    // Parts are as processes are, rounded up.
    let whole = |one: &PlaceCheckup| one.holds.all.saturating_mul(all) / u64::from(one.processes.max(1));
    let holds = places.iter().map(whole).min().unwrap_or(0);
    PlacesCheckup { holds, asked, good: places.iter().all(|one| one.good), places }
}

fn place(place: String, processes: u16, machine: Machine, asked: Option<u64>, all: u64) -> PlaceCheckup {
    let n = u64::from(processes);
    let holds = holds_ends(&machine, n);
    let part = asked.map(|asked| asked.saturating_mul(n).div_ceil(all.max(1)));
    PlaceCheckup { good: part.unwrap_or(n) <= holds.all, place, processes, machine, holds, part }
}

/// The clients' ends of connections to one destination, from one address.
fn holds_ends(machine: &Machine, processes: u64) -> PlaceHolds {
    let descriptors = machine.descriptors_hard.saturating_sub(OWN).saturating_mul(processes);
    let memory = usable(machine) / 100 * MEMORY_PART / (USER + KERNEL);
    let files = machine.files.1.saturating_sub(machine.files.0);
    let (ports, conntrack) = (range(machine), trackable(machine));
    let all = [descriptors, ports, memory, files, conntrack.unwrap_or(u64::MAX)];
    PlaceHolds { descriptors, ports, memory, files, conntrack, all: all.into_iter().min().unwrap_or(0) }
}

fn usable(machine: &Machine) -> u64 {
    machine.memory_limit.unwrap_or(u64::MAX).min(machine.available)
}

/// Whether anything will be tracked is not known while nothing is: there may be rules, and no connections yet.
fn trackable(machine: &Machine) -> Option<u64> {
    let tracked = machine.conntrack.filter(|(used, _)| *used > 0);
    tracked.map(|(used, most)| most.saturating_sub(used))
}

fn range(machine: &Machine) -> u64 {
    (u64::from(machine.ports.1) + 1).saturating_sub(u64::from(machine.ports.0)).saturating_sub(machine.ports_listening)
}

fn holds(machine: &Machine) -> Holds {
    let one_process = machine.descriptors_hard.saturating_sub(OWN);
    let one_source = range(machine);
    let memory = usable(machine) / 100 * MEMORY_PART / (2 * (USER + KERNEL));
    let files = machine.files.1.saturating_sub(machine.files.0) / 2;
    let conntrack = trackable(machine);
    let all = [
        one_process.saturating_mul(MOST_PROCESSES),
        one_source.saturating_mul(MOST_SOURCES),
        memory,
        files,
        conntrack.unwrap_or(u64::MAX),
    ];
    Holds { one_process, one_source, memory, files, conntrack, all: all.into_iter().min().unwrap_or(0) }
}

/// Sources are chosen by themselves on loopback.
fn flags(machine: &Machine, holds: &Holds, asked: u64) -> String {
    let processes = asked.div_ceil(holds.one_process.max(1)).max(1);
    let more = if asked > range(machine) { " (not on loopback: add --source)" } else { "" };
    format!("--connections {asked} --processes {processes}{more}")
}

fn state(bad: bool, low: bool) -> State {
    match (bad, low) {
        (true, _) => State::Bad,
        (false, true) => State::Low,
        (false, false) => State::Good,
    }
}

/// `sysctl -w`: until the next start of the machine.
fn sysctl(name: &str, value: impl std::fmt::Display) -> Raise {
    Raise {
        command: format!("sysctl -w {name}=\"{value}\""),
        root: true,
        changes: format!(
            "the whole machine, until it starts again (for good: a line `{name} = {value}` in /etc/sysctl.d/)"
        ),
    }
}

fn descriptors(machine: &Machine, holds: &Holds, asked: Option<u64>) -> Item {
    let hard = machine.descriptors_hard;
    let wanted = asked.unwrap_or(100_000).saturating_add(OWN).min(machine.nr_open.max(hard));
    let raise = (hard < wanted).then(|| Raise {
        command: format!("ulimit -Hn {wanted} && ulimit -n {wanted}"),
        root: true,
        changes: "this shell and what it starts (for good: a line `* - nofile` in /etc/security/limits.d/); or use --processes"
            .to_owned(),
    });
    Item {
        name: "descriptors of a process".to_owned(),
        value: format!("{} (soft), {hard} (hard)", machine.descriptors),
        means: format!("{} connections in one process; genkai raises the soft limit itself", holds.one_process),
        state: state(hard < LEAST, hard < ENOUGH),
        raise,
    }
}

fn files(machine: &Machine, holds: &Holds, asked: Option<u64>) -> Item {
    let (open, most) = machine.files;
    let bad = asked.is_some_and(|asked| asked > holds.files);
    let low = holds.files < 10 * ENOUGH;
    Item {
        name: "fs.file-max".to_owned(),
        value: format!("{most}, {open} open"),
        means: format!("{} connections with both ends on this machine", holds.files),
        state: state(bad, low),
        raise: (bad || low).then(|| sysctl("fs.file-max", 2 * asked.unwrap_or(1_000_000) + open + 10_000)),
    }
}

fn ports(machine: &Machine, holds: &Holds) -> Item {
    let (first, last) = machine.ports;
    let raise = (first > 1_024 || last < 65_535).then(|| sysctl("net.ipv4.ip_local_port_range", "1024 65535"));
    Item {
        name: "net.ipv4.ip_local_port_range".to_owned(),
        value: format!("{first}-{last}, {} of them listened on", machine.ports_listening),
        means: format!(
            "{} connections from one address to one destination; more with --source (on loopback by itself)",
            holds.one_source
        ),
        state: state(holds.one_source < LEAST, holds.one_source < ENOUGH),
        raise,
    }
}

fn queue(value: u64) -> Item {
    let (name, low) = ("net.core.somaxconn", value < ENOUGH_QUEUE / 4);
    Item {
        name: name.to_owned(),
        value: value.to_string(),
        means: "longest accept queue of a server: bursts of new connections beyond it are dropped and tried again after a second"
            .to_owned(),
        state: state(false, low),
        raise: low.then(|| sysctl(name, ENOUGH_QUEUE)),
    }
}

/// It counts only without SYN cookies (tcp(7); Linux net/ipv4/tcp_input.c: `tcp_conn_request`). Measured: with them 3,800 half-open ones at 2,048.
fn half_open(value: u64) -> Item {
    Item {
        name: "net.ipv4.tcp_max_syn_backlog".to_owned(),
        value: value.to_string(),
        means: "half-open connections of a listener, only where net.ipv4.tcp_syncookies is 0; else the accept queue bounds them"
            .to_owned(),
        state: State::Good,
        raise: None,
    }
}

fn memory(machine: &Machine, holds: &Holds, asked: Option<u64>) -> Item {
    let mib = |bytes: u64| bytes >> 20;
    let limit = machine.memory_limit.map(|limit| format!(", control group {} MiB", mib(limit))).unwrap_or_default();
    Item {
        name: "memory".to_owned(),
        value: format!("{} MiB, {} MiB available{limit}", mib(machine.memory), mib(machine.available)),
        means: format!(
            "{} idle connections with both ends here ({} B each: {USER} B user and {KERNEL} B kernel memory an end)",
            holds.memory,
            2 * (USER + KERNEL)
        ),
        state: state(asked.is_some_and(|asked| asked > holds.memory), holds.memory < ENOUGH),
        raise: None,
    }
}

fn buffers(machine: &Machine) -> Item {
    let [_, pressure, most] = machine.tcp_mem;
    let bytes = most.saturating_mul(machine.page) >> 20;
    Item {
        name: "net.ipv4.tcp_mem".to_owned(),
        value: format!("{pressure} pages pressure, {most} pages limit ({bytes} MiB)"),
        means: format!(
            "buffers of all connections together; one takes up to {} B to receive (tcp_rmem), {} B to send (tcp_wmem), none when \
             idle",
            machine.rmem[2], machine.wmem[2]
        ),
        state: state(false, most > 0 && bytes < 128),
        raise: (most > 0 && bytes < 128).then(|| sysctl("net.ipv4.tcp_mem", "98304 131072 196608")),
    }
}

fn cores(machine: &Machine) -> Item {
    let quota = machine.cpu_quota.map(|quota| format!(", control group {quota}")).unwrap_or_default();
    let short = machine.cores < 2 || machine.cpu_quota.is_some_and(|quota| quota < 2.0);
    Item {
        name: "cores".to_owned(),
        value: format!("{}{quota}", machine.cores),
        means: if short {
            "generator and server share a core: each one's work is the other's wait".to_owned()
        } else {
            "generator and server can be kept apart (--pin)".to_owned()
        },
        state: state(false, short),
        raise: None,
    }
}

fn servers(machine: &Machine) -> Item {
    let all: Vec<String> = machine.servers.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let package = machine.packages.first();
    let none = package.is_some();
    Item {
        name: "servers".to_owned(),
        value: if all.is_empty() { "none found".to_owned() } else { all.join(", ") },
        means: if none {
            "`genkai tune` needs one"
        } else {
            "genkai can start them; `genkai tune --help` names those that it can tune"
        }
        .to_owned(),
        state: state(false, none),
        raise: package.map(|package| Raise {
            command: format!("apt-get install {package}"),
            root: true,
            changes: "installs the package, which may start a server of its own".to_owned(),
        }),
    }
}

fn conntrack(machine: &Machine, holds: &Holds, asked: Option<u64>) -> Option<Item> {
    let (used, most) = machine.conntrack?;
    let raise = || sysctl("net.netfilter.nf_conntrack_max", 2 * asked.unwrap_or(500_000).max(500_000));
    let beyond = asked.is_some_and(|asked| asked > most);
    let Some(free) = holds.conntrack else {
        return Some(Item {
            name: "net.netfilter.nf_conntrack_max".to_owned(),
            value: format!("{most}, {used} used"),
            means: format!(
                "nothing is tracked now; if a rule of the firewall tracks what comes, it remembers {most} connections, and what is beyond \
                 is dropped"
            ),
            state: state(false, beyond),
            raise: beyond.then(raise),
        });
    };
    let (bad, low) = (asked.is_some_and(|asked| asked > free), free < 10 * ENOUGH);
    Some(Item {
        name: "net.netfilter.nf_conntrack_max".to_owned(),
        value: format!("{most}, {used} used"),
        means: format!("the firewall remembers {free} more connections; what is beyond is dropped"),
        state: state(bad, low),
        raise: (bad || low).then(raise),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine {
            kernel: "Linux 6.1.0 x86_64".into(),
            os: "Debian GNU/Linux 12".into(),
            root: false,
            cores: 2,
            memory: 24 << 30,
            available: 20 << 30,
            descriptors: 1_024,
            descriptors_hard: 20_000,
            nr_open: 1 << 20,
            files: (1_000, 2_466_177),
            ports: (32_768, 60_999),
            ports_listening: 2,
            somaxconn: 4_096,
            syn_backlog: 2_048,
            tcp_mem: [287_901, 383_868, 575_802],
            rmem: [4_096, 131_072, 6_291_456],
            wmem: [4_096, 16_384, 4_194_304],
            page: 4_096,
            servers: [("nginx".to_owned(), "1.22.1".to_owned())].into(),
            ..Machine::default()
        }
    }

    #[test]
    fn a_usual_machine_holds_a_hundred_thousand() {
        let checkup = examine(machine(), Some(100_000));
        let holds = checkup.holds;
        assert_eq!((holds.one_process, holds.one_source, holds.files), (19_928, 28_230, 1_232_588));
        assert_eq!(holds.all, holds.files.min(holds.memory));
        assert!(checkup.good && holds.all > 1_000_000, "{holds:?}");
        assert!(checkup.flags.is_some_and(|flags| flags.starts_with("--connections 100000 --processes 6")));
        insta::assert_json_snapshot!("usual", examine(machine(), None).items);
    }

    #[test]
    fn what_is_too_small_is_said_with_what_raises_it() {
        let small = Machine {
            cpu_quota: Some(0.5),
            memory_limit: Some(256 << 20),
            descriptors_hard: 400,
            somaxconn: 128,
            tcp_mem: [1_000, 2_000, 3_000],
            conntrack: Some((60_000, 65_536)),
            files: (9_000, 10_000),
            servers: Default::default(),
            packages: vec!["nginx".to_owned(), "apache2".to_owned()],
            ..machine()
        };
        let checkup = examine(small, Some(10_000));
        assert!(!checkup.good && checkup.flags.is_none());
        assert_eq!(checkup.holds.all, 500);
        insta::assert_json_snapshot!("small", checkup.items);
    }

    #[test]
    fn what_is_asked_for_and_fits_is_not_called_too_little() {
        let few = || Machine { descriptors_hard: 300, ..machine() };
        let checkup = examine(few(), Some(120));
        assert!(checkup.good && checkup.flags.is_some());
        assert!(checkup.items.iter().all(|item| item.state != State::Bad));
        assert!(checkup.items.iter().any(|item| item.state == State::Low));
        assert!(!examine(few(), None).good, "nobody says how few are enough");
    }

    #[test]
    fn places_hold_as_much_as_the_smallest_part_allows() {
        let few = Machine { descriptors_hard: 1_072, ..machine() };
        let found = || vec![("here".to_owned(), 1, machine()), ("load1".to_owned(), 3, few.clone())];
        let checkup = examine_places(found(), Some(4_001));
        let parts: Vec<_> = checkup.places.iter().map(|one| (one.part, one.holds.all, one.good)).collect();
        // 3,000 fit there, which are three quarters of 4,000.
        assert_eq!(parts, [(Some(1_001), 19_928, true), (Some(3_001), 3_000, false)]);
        assert_eq!((checkup.holds, checkup.good), (4_000, false));
        assert!(examine_places(found(), Some(4_000)).good && examine_places(found(), None).good);
        let nothing = Machine { descriptors_hard: 72, ..machine() };
        assert!(!examine_places(vec![("a".to_owned(), 1, nothing)], None).good);
    }

    #[test]
    fn every_limit_can_be_the_one() {
        let all = |change: fn(&mut Machine)| {
            let mut one = machine();
            change(&mut one);
            examine(one, Some(50_000)).good
        };
        assert!(all(|_| ()));
        assert!(!all(|m| m.available = 300 << 20));
        assert!(!all(|m| m.memory_limit = Some(300 << 20)));
        assert!(!all(|m| m.files = (0, 60_000)));
        assert!(!all(|m| m.conntrack = Some((1, 40_000))));
        assert!(all(|m| m.conntrack = Some((0, 40_000))), "whether anything is tracked is not known");
        assert!(!all(|m| m.descriptors_hard = 200));
        assert!(!all(|m| m.ports = (40_000, 40_010)));
        assert_eq!(examine(Machine::default(), None).holds.all, 0);
    }

    #[test]
    fn an_empty_table_of_the_firewall_is_no_proof_that_nothing_fills_it() {
        let item = |asked| {
            let checkup = examine(Machine { conntrack: Some((0, 40_000)), ..machine() }, asked);
            checkup.items.into_iter().find(|item| item.name.ends_with("conntrack_max")).unwrap()
        };
        let (few, many) = (item(Some(30_000)), item(Some(50_000)));
        for words in [&few.means, &many.means] {
            assert!(words.starts_with("nothing is tracked now; if a rule") && words.contains("40000"), "{words}");
        }
        assert_eq!((few.state, few.raise), (State::Good, None));
        assert!(many.state == State::Low && many.raise.is_some(), "the bound may be met");
    }
}
