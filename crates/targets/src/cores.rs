//! The servers' cores, shared by everything under test: when they are full, no single server need be.

use genkai_model::error::ErrorKind;
use genkai_model::evidence::{Sample, metric};
use genkai_model::limit::{Law, Limit, Origin, Strength, Symptom};

use crate::limits::{self, SLOW, grew, reached};

/// Cores that all servers of a run use together, since the sample before.
pub const SERVERS_CPU: &str = metric::SERVERS_CPU;
/// From this share of their cores on, processes wait for one another all the time.
const FULL: f64 = 0.95;
/// From this share on, what waits for a core waits for about four times as long as it works (of a single server at random
/// arrivals, `u / (1 - u)`): it fits a latency that is exceeded, though others would show it too.
const CROWDED: f64 = 0.8;

/// From this fraction of its periods on, a control group stands still often enough to be seen in latencies.
const STALLED: f64 = 0.5;

/// What a quota does.
const STILL: &str = "who has used up the quota stands still until the period is over";

/// The limit that `cores` cores put on all servers of a run together. Nothing that can be set lifts it.
pub fn limit(cores: u32) -> Limit {
    let cores = f64::from(cores);
    Limit {
        value: cores.to_string(),
        origin: Origin::Machine("sched_getaffinity(2), less the generator's cores".to_owned()),
        caps: "processor time of all servers together".to_owned(),
        law: Law::Cpu { cores },
        formula: format!(
            "{cores} {} shared by the product under test and what stands behind it",
            if cores == 1.0 { "core" } else { "cores" }
        ),
        source: "proc(5): utime and stime of each process; clock_getcpuclockid(3)".to_owned(),
        signatures: vec![
            reached(SERVERS_CPU, FULL * cores, Strength::Supports),
            reached(SERVERS_CPU, CROWDED * cores, Strength::Consistent),
        ],
        symptom: SLOW,
        ..Limit::named("machine.servers_cpu", "machine", "cores of the servers")
    }
}

/// The limit that all `cores` of this machine put on everything that runs on it, other programs included. That they are
/// full fits whatever is slow, and says no more.
pub fn machine(cores: u32) -> Limit {
    let cores = f64::from(cores);
    Limit {
        value: cores.to_string(),
        origin: Origin::Machine("sysconf(3) _SC_NPROCESSORS_ONLN".to_owned()),
        caps: "processor time of everything that runs here".to_owned(),
        law: Law::Cpu { cores },
        formula: "servers, generator and other programs on this machine together".to_owned(),
        source: "proc(5): /proc/stat".to_owned(),
        signatures: vec![reached(metric::MACHINE_CPU, FULL * cores, Strength::Consistent)],
        symptom: SLOW,
        ..Limit::named("machine.cpu", "machine", "cores")
    }
}

/// The limit that a quota of a control group puts on generator and servers together, `cores` worth of processor time. They stand still
/// for the rest of every period in which it is used up, while the machine's processors look idle.
pub fn quota(cores: f64) -> Limit {
    Limit {
        value: cores.to_string(),
        origin: Origin::Machine("cpu.max, or cpu.cfs_quota_us by cpu.cfs_period_us".to_owned()),
        caps: "processor time of servers and generator together".to_owned(),
        law: Law::Cpu { cores },
        formula: STILL.to_owned(),
        source: "cgroups(7): nr_periods and nr_throttled of cpu.stat".to_owned(),
        signatures: vec![reached(metric::THROTTLED, STALLED, Strength::Supports)],
        symptom: SLOW,
        ..Limit::named("machine.cpu_quota", "machine", "CPU quota of the control group")
    }
}

/// The limit that a pod has of processor time: so many cores' worth. With a quota it stands still for the rest of every period in which it is
/// used up, as `product` tells.
pub fn pod(product: &str, cores: f64, quota: bool) -> Limit {
    let (name, from, formula) = if quota {
        ("CPU quota of the pod", "cpu.max, or cpu.cfs_quota_us by cpu.cfs_period_us, in its container", STILL)
    } else {
        (
            "cores of the pod's node",
            "Cpus_allowed_list of proc(5), in its container",
            "shared by all that runs on the node",
        )
    };
    let mut signatures = vec![
        reached(SERVERS_CPU, FULL * cores, Strength::Supports),
        reached(SERVERS_CPU, CROWDED * cores, Strength::Consistent),
    ];
    if quota {
        signatures.push(reached(&format!("{product}.{}", metric::OWN_THROTTLED), STALLED, Strength::Supports));
    }
    Limit {
        value: cores.to_string(),
        origin: Origin::Machine(from.to_owned()),
        caps: "processor time of the pod".to_owned(),
        law: Law::Cpu { cores },
        formula: formula.to_owned(),
        source: "proc(5): utime and stime of each process; cgroups(7): nr_periods and nr_throttled of cpu.stat"
            .to_owned(),
        signatures,
        symptom: SLOW,
        ..Limit::named("machine.pod_cpu", "machine", name)
    }
}

/// The queue of connections that wait to be accepted, of whoever's listener overflows first: the kernel's counters do not tell.
pub fn accept_queue(somaxconn: u32) -> Limit {
    let queue = limits::accept_queue("kernel.accept_queue", "kernel", "net.core.somaxconn", f64::from(somaxconn) + 1.0);
    Limit {
        value: somaxconn.to_string(),
        origin: Origin::Machine("/proc/sys/net/core/somaxconn".to_owned()),
        caps: "connections that may wait at a listener to be accepted at one instant".to_owned(),
        formula: format!("at most net.core.somaxconn {somaxconn} + 1"),
        source: "listen(2); Linux include/net/sock.h: sk_acceptq_is_full".to_owned(),
        signatures: vec![
            grew(metric::LISTEN_OVERFLOWS, Strength::Supports),
            grew(metric::LISTEN_DROPS, Strength::Consistent),
        ],
        symptom: Symptom { errors: vec![ErrorKind::ConnectTimeout], slow: true },
        ..queue
    }
}

/// What the servers seen in `samples` used together: the sum of their `SUBJECT.cpu`. None where no server tells.
pub fn sample(samples: &[Sample]) -> Option<Sample> {
    let used: Vec<f64> = samples
        .iter()
        .filter(|s| s.subject != "kernel")
        .filter_map(|s| s.metrics.get(&format!("{}.cpu", s.subject)))
        .copied()
        .collect();
    let metrics = [(SERVERS_CPU.to_owned(), used.iter().sum())].into();
    (!used.is_empty()).then(|| Sample { subject: "machine".to_owned(), metrics })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_add_up_and_the_kernel_does_not_count() {
        let one = |subject: &str, cpu: f64| Sample {
            subject: subject.to_owned(),
            metrics: [(format!("{subject}.cpu"), cpu), ("other".to_owned(), 9.0)].into(),
        };
        let all = [one("nginx", 0.5), one("backend", 0.25), one("kernel", 2.0)];
        assert_eq!(sample(&all).unwrap().metrics[SERVERS_CPU], 0.75);
        assert_eq!(sample(&all[2..]), None);
        assert_eq!(limit(2).law, Law::Cpu { cores: 2.0 });
    }
}
