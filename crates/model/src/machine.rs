//! What a machine has for load tests, and what that holds.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was found on a machine. What could not be read is absent or zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// `Linux 6.1.0 x86_64`.
    pub kernel: String,
    /// Distribution.
    pub os: String,
    /// Whether genkai runs as root.
    pub root: bool,
    /// Cores this process may use.
    pub cores: u32,
    /// Cores' worth of time that its control group may use; none: no quota.
    pub cpu_quota: Option<f64>,
    /// Memory, bytes.
    pub memory: u64,
    /// Memory that could be had now, bytes (`MemAvailable` of proc(5)).
    pub available: u64,
    /// Memory that its control group may use, bytes; none: no limit.
    pub memory_limit: Option<u64>,
    /// Soft limit on descriptors of a process (RLIMIT_NOFILE).
    pub descriptors: u64,
    /// Hard limit: what the soft one can be raised to without privilege.
    pub descriptors_hard: u64,
    /// Largest hard limit that root may set (fs.nr_open).
    pub nr_open: u64,
    /// Open files of the whole machine, and how many there may be (fs.file-nr).
    pub files: (u64, u64),
    /// Local ports for outgoing connections (net.ipv4.ip_local_port_range).
    pub ports: (u16, u16),
    /// Of these, those that servers listen on.
    pub ports_listening: u64,
    /// Longest accept queue (net.core.somaxconn).
    pub somaxconn: u64,
    /// Half-open connections remembered of a listener (net.ipv4.tcp_max_syn_backlog).
    pub syn_backlog: u64,
    /// Pages of all TCP buffers: no pressure below, pressure, limit (net.ipv4.tcp_mem).
    pub tcp_mem: [u64; 3],
    /// Receive buffer of a socket, bytes: least, first, most (net.ipv4.tcp_rmem).
    pub rmem: [u64; 3],
    /// Send buffer (net.ipv4.tcp_wmem).
    pub wmem: [u64; 3],
    /// Bytes of a page.
    pub page: u64,
    /// Connections the firewall tracks now, and most it can (nf_conntrack); none: it does not.
    pub conntrack: Option<(u64, u64)>,
    /// Servers genkai knows that are installed: name and what the program says of its version.
    pub servers: BTreeMap<String, String>,
    /// Debian's packages of servers that genkai can tune, the usual one first; none where one of them is installed.
    #[serde(default)]
    pub packages: Vec<String>,
}

/// What a machine holds, and how to raise it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Checkup {
    /// The machine.
    pub machine: Machine,
    /// Idle connections that fit, with both ends on this machine.
    pub holds: Holds,
    /// Connections asked for, if any were.
    pub asked: Option<u64>,
    /// Flags of `genkai load` with which these can be held; none when they cannot, or none were asked for.
    pub flags: Option<String>,
    /// Whether the machine can do what was asked, and the least that load tests need.
    pub good: bool,
    /// What was looked at.
    pub items: Vec<Item>,
}

/// What the machines hold that make a load together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlacesCheckup {
    /// Each of them.
    pub places: Vec<PlaceCheckup>,
    /// The largest load that fits all of them, connections to one destination: each makes as large a part as it has of the processes.
    pub holds: u64,
    /// Connections asked for, if any were.
    pub asked: Option<u64>,
    /// Whether they can hold what was asked, or at least one connection a process.
    pub good: bool,
}

/// What one of them holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceCheckup {
    /// `here`, or the host.
    pub place: String,
    /// Processes there.
    pub processes: u16,
    /// The machine.
    pub machine: Machine,
    /// Idle connections to one destination that fit, with the clients' ends there.
    pub holds: PlaceHolds,
    /// Its part of the connections asked for.
    pub part: Option<u64>,
    /// Whether that fits.
    pub good: bool,
}

/// Idle connections of which one end fits, by what limits them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceHolds {
    /// Descriptors of all processes there.
    pub descriptors: u64,
    /// Local ports of one source address.
    pub ports: u64,
    /// Memory that can be had.
    pub memory: u64,
    /// Open files of the machine.
    pub files: u64,
    /// Further connections that the firewall can track; none: it tracks none now.
    pub conntrack: Option<u64>,
    /// All of these.
    pub all: u64,
}

/// Idle connections that fit, by what limits them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Holds {
    /// Descriptors of one process.
    pub one_process: u64,
    /// Local ports of one source address, to one destination.
    pub one_source: u64,
    /// Memory that can be had.
    pub memory: u64,
    /// Open files of the machine: two a connection.
    pub files: u64,
    /// Further connections that the firewall can track; none: it tracks none now.
    pub conntrack: Option<u64>,
    /// All of these, with as many processes and source addresses as are allowed.
    pub all: u64,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// Its name, e.g. `net.core.somaxconn`.
    pub name: String,
    /// What it is.
    pub value: String,
    /// What that means for load tests.
    pub means: String,
    /// Whether it is enough.
    pub state: State,
    /// How to raise it, where that can be done.
    pub raise: Option<Raise>,
}

/// Whether something is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is.
    Good,
    /// It limits larger loads.
    Low,
    /// It keeps genkai from what was asked.
    Bad,
}

/// How to raise a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Raise {
    /// The command.
    pub command: String,
    /// Whether it needs root.
    pub root: bool,
    /// What it changes, and for how long.
    pub changes: String,
}
