//! What servers and the kernel showed while the load ran.
//!
//! Metrics are names with numbers, so that analysis needs to know no product: a product's `evidence.rs` writes them and
//! its `limits.rs` refers to them. A name is `subject.metric`; cumulative counters end in `_total`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Metrics of one subject at one instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// Who: `nginx`, `backend`, `kernel`, `client`.
    pub subject: String,
    /// Full names (`nginx.worker_fds_max`) with values.
    pub metrics: BTreeMap<String, f64>,
}

/// A line of a server's log, or several alike in one interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LogLine {
    /// Who wrote it.
    pub subject: String,
    /// Severity as the server names it, e.g. `alert`.
    pub level: String,
    /// The first such line in the interval, control characters replaced, at most 400 characters.
    pub text: String,
    /// The known message it is, if any, e.g. `nginx.worker_connections.alert`.
    pub signature: Option<String>,
    /// How many lines of the same signature (or, unknown, the same text without numbers) the interval had.
    pub count: u64,
}

/// Well-known metric names. Products add their own, documented in their `evidence.rs`.
pub mod metric {
    /// Busiest worker's CPU, as a fraction of one core, since the sample before (product prefix, e.g. `nginx`).
    pub const WORKER_CPU_MAX: &str = "worker_cpu_max";
    /// CPU of the whole process tree, in cores.
    pub const CPU: &str = "cpu";
    /// Open descriptors of the worker that has most.
    pub const WORKER_FDS_MAX: &str = "worker_fds_max";
    /// Soft limit on descriptors of a worker.
    pub const WORKER_FD_LIMIT: &str = "worker_fd_limit";
    /// Resident memory of the process tree, bytes.
    pub const RSS: &str = "rss";
    /// Clients that a server itself counts at once; after the subject of what it tells and a dot.
    pub const CLIENTS: &str = "clients";
    /// Memory that the processes of a server take together, bytes: pages that several share count for each in part (PSS, proc(5)), and
    /// pages of files, which can be given up, do not; after its name and a dot, as the nine that follow. Rarely looked at: a look is dear.
    pub const PSS: &str = "pss";
    /// What the kernel takes for these processes beside that, bytes, reckoned: page tables, threads, mappings, descriptors.
    pub const KERNEL_MEMORY: &str = "kernel_memory";
    /// The same for one of its processes but the first, the mean of all.
    pub const WORKER_KERNEL: &str = "worker_kernel_memory";
    /// Its processes but the first.
    pub const WORKER_PROCESSES: &str = "worker_processes";
    /// What one of these has written and no other process shares, bytes, the mean of all: what another one would take, too.
    pub const WORKER_PRIVATE: &str = "worker_private";
    /// Descriptors that all of its processes hold.
    pub const DESCRIPTORS: &str = "descriptors";
    /// Connections that its processes hold to others, whoever these are: opened by them, and not to themselves. Of Unix sockets only those that
    /// were accepted.
    pub const ONWARD: &str = "onward_connections";
    /// Memory that could be had of the machine at that moment, bytes (`MemAvailable`, proc(5)).
    pub const MEMORY_AVAILABLE: &str = "memory_available";
    /// Memory that the tightest of its control groups had left at that moment, bytes: its limit, less what is in use and cannot be given
    /// up (usage less `inactive_file`); absent where none is limited.
    pub const GROUP_LEFT: &str = "memory_group_left";
    /// The limit of that group, bytes.
    pub const GROUP_LIMIT: &str = "memory_group_limit";
    /// Processes of a server that the kernel ended because the memory of their control group was used up, cumulative, after the server's
    /// name and a dot.
    pub const MEMORY_KILLS: &str = "memory_kills_total";
    /// Connections waiting in the accept queue of the listener under load.
    pub const ACCEPT_QUEUE: &str = "accept_queue";
    /// Kernel: connections dropped because an accept queue was full, cumulative (TcpExt ListenOverflows).
    pub const LISTEN_OVERFLOWS: &str = "kernel.listen_overflows_total";
    /// Kernel: SYNs dropped at listeners, cumulative (TcpExt ListenDrops).
    pub const LISTEN_DROPS: &str = "kernel.listen_drops_total";
    /// Machine CPU in use, cores (all processes).
    pub const MACHINE_CPU: &str = "kernel.cpu";
    /// Cores that genkai's own process uses: generator, observer, record.
    pub const OWN_CPU: &str = "kernel.genkai_cpu";
    /// Cores that all servers of a run use together.
    pub const SERVERS_CPU: &str = "machine.servers_cpu";
    /// Cores that the processes of a server use which was not started for the run, after its name and a dot. Not [`CPU`]: it does not run on the
    /// cores that the servers of the run share.
    pub const BEHIND_CPU: &str = "processor";
    /// Control groups of genkai and what it starts: of the periods since the look before, the fraction in which the CPU quota was used up
    /// (`nr_throttled` by `nr_periods` of cpu.stat, cgroups(7)); absent without a quota.
    pub const THROTTLED: &str = "kernel.throttled";
    /// Cores that the processes of that group used: of genkai, of what it starts, and of whoever else is in it; absent without a quota, or where the kernel
    /// does not count it.
    pub const GROUP_CPU: &str = "kernel.group_cpu";
    /// The same as [`THROTTLED`] of the group of a server's own, after the server's name and a dot.
    pub const OWN_THROTTLED: &str = "throttled";

    /// Whether a metric tells in which part of its periods a quota was used up: no number of cores.
    pub fn is_throttling(metric: &str) -> bool {
        metric.rsplit('.').next() == Some(OWN_THROTTLED)
    }

    /// Backend: requests in service now.
    pub const BACKEND_BUSY: &str = "backend.busy";
    /// Backend: requests that can be in service at once (absent: no cap).
    pub const BACKEND_WORKERS: &str = "backend.workers";
    /// Backend: requests waiting for a worker now.
    pub const BACKEND_QUEUED: &str = "backend.queued";
    /// Backend: requests refused because the queue was full, cumulative.
    pub const BACKEND_REFUSED: &str = "backend.refused_total";
    /// Backend: requests answered, cumulative.
    pub const BACKEND_DONE: &str = "backend.done_total";
    /// Product: requests that the servers behind it answered, by its own account, cumulative.
    pub const SERVERS_DONE: &str = "servers.done_total";
    /// Product: answers sent as good ones in the place of errors that a server behind it gave, or it instead of one, cumulative.
    pub const HIDDEN_ERRORS: &str = "hidden_errors_total";

    /// Product: whether one of the servers behind it gets no requests because it failed, by the product's own account (1, else 0).
    pub fn of_down(product: &str, server: &str) -> String {
        format!("{product}.server.{server}.down")
    }

    /// The product and the server of such a metric; none: it is another one.
    pub fn down(metric: &str) -> Option<(&str, &str)> {
        let (product, server) = metric.split_once(".server.")?;
        Some((product, server.strip_suffix(".down")?))
    }
}
