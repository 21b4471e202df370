//! The servers' cores, shared by everything under test: when they are full, no single server need be. And the quota of their control group, which is
//! shorter than the cores where they may use less of them.

use genkai_model::error::ErrorKind;
use genkai_model::evidence::{Sample, metric};
use genkai_model::limit::{Ceiling, Law, Limit, Origin, Sign, Strength, Symptom};
use genkai_place::group::{self, Quota};

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

/// The limit that a quota is which servers and generator share.
pub const QUOTA: &str = "machine.cpu_quota";

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
pub fn quota(quota: &Quota) -> Limit {
    let cores = quota.cores;
    Limit {
        value: cores.to_string(),
        origin: Origin::Machine(format!(
            "cpu.max, or cpu.cfs_quota_us by cpu.cfs_period_us, of {}",
            quota.folder.display()
        )),
        caps: "processor time of servers and generator together".to_owned(),
        law: Law::Cpu { cores },
        formula: format!("{}, the quota of the control group ({}): {STILL}", worth(cores), quota.folder.display()),
        source: "cgroups(7): nr_periods, nr_throttled and usage_usec of cpu.stat; cpuacct.usage".to_owned(),
        signatures: vec![
            reached(metric::THROTTLED, STALLED, Strength::Supports),
            // Of a small quota what looks at the servers takes a good part, which does not grow with the load: no rate is foretold by it.
            reached(metric::GROUP_CPU, FULL * cores, Strength::Consistent),
        ],
        symptom: SLOW,
        ..Limit::named(QUOTA, "machine", "CPU quota of the control group")
    }
}

/// So much processor time, in words.
fn worth(cores: f64) -> String {
    format!("{cores} {}", if cores == 1.0 { "core" } else { "cores" })
}

/// What is said of a quota that servers share with the generator.
pub fn shared(quota: &Quota) -> String {
    format!("the quota of the control group ({}), which the generator shares", quota.folder.display())
}

/// Limits of processor time of servers whose group has this quota, `called` so: no more of it can be used, whatever the cores are. Signs for which it is too
/// small are never left: then the quota says by itself that it is used up. More workers than it feeds get nothing more done.
pub fn within(all: &mut [Limit], quota: &Quota, called: &str) {
    for limit in all {
        let Law::Cpu { cores } = &mut limit.law else { continue };
        if let Some(Ceiling { value, by }) = limit.remedy.as_mut().and_then(|remedy| remedy.ceiling.as_mut())
            && *value > quota.cores.ceil()
        {
            *value = quota.cores.ceil();
            *by = format!("{}: {called}", worth(quota.cores));
        }
        if *cores <= quota.cores {
            continue;
        }
        *cores = quota.cores;
        limit.formula += &format!("; of that {} at most: {called}", worth(quota.cores));
        if matches!(limit.origin, Origin::Machine(_)) {
            limit.value = quota.cores.to_string();
        }
        limit.signatures.retain(|one| !matches!(one.sign, Sign::Reached { value, .. } if value > quota.cores));
        limit.remedy = None;
    }
}

/// The same of a server of which process `pid` is one, which genkai did not start.
pub(crate) fn within_own(all: &mut [Limit], pid: u32) {
    if let Some(quota) = group::cpu_quota_of(pid) {
        let called = format!("the quota of its control group ({})", quota.folder.display());
        within(all, &quota, &called);
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
    use genkai_model::limit::{Remedy, RemedyUnit};

    use super::*;
    use crate::limits::raised;

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

    #[test]
    fn a_quota_that_is_shorter_than_the_cores_is_what_can_be_used() {
        let cpu = |cores: f64, ceiling: f64, signs: &[f64]| Limit {
            value: "auto".to_owned(),
            law: Law::Cpu { cores },
            formula: "min(workers, cores)".to_owned(),
            signatures: signs.iter().map(|mark| reached("x.cpu", *mark, Strength::Supports)).collect(),
            remedy: Some(Remedy {
                ceiling: Some(Ceiling { value: ceiling, by: "cores".to_owned() }),
                ..raised("workers", RemedyUnit::Count, 1.0)
            }),
            ..Limit::named("x.cpu", "x", "workers")
        };
        let of = |limit: Limit, cores: f64| {
            let mut all = [limit];
            let quota = Quota { cores, folder: "/sys/fs/cgroup/cpu/box".into() };
            within(&mut all, &quota, &shared(&quota));
            let [limit] = all;
            limit
        };
        let tight = of(cpu(2.0, 4.0, &[0.9, 1.8]), 1.5);
        assert_eq!((&tight.law, &tight.remedy, tight.value.as_str()), (&Law::Cpu { cores: 1.5 }, &None, "auto"));
        assert_eq!(tight.signatures, [reached("x.cpu", 0.9, Strength::Supports)], "the other is never reached");
        assert_eq!(
            tight.formula,
            "min(workers, cores); of that 1.5 cores at most: the quota of the control group (/sys/fs/cgroup/cpu/box), which the generator shares"
        );
        // One worker has what it can use; of a second one half is fed.
        let one = of(cpu(1.0, 4.0, &[0.9]), 1.5);
        let ceiling = one.remedy.clone().unwrap().ceiling.unwrap();
        assert_eq!((&one.law, ceiling.value, one.signatures.len()), (&Law::Cpu { cores: 1.0 }, 2.0, 1));
        assert!(ceiling.by.starts_with("1.5 cores: the quota") && !one.formula.contains("quota"), "{ceiling:?}");
        let wide = cpu(1.0, 2.0, &[0.9]);
        assert_eq!(of(wide.clone(), 2.0), wide);
        let other = Limit::named("x.slots", "x", "slots");
        assert_eq!(of(other.clone(), 0.1), other);
    }

    #[test]
    fn a_quota_tells_its_group() {
        let limit = quota(&Quota { cores: 0.5, folder: "/sys/fs/cgroup/cpu/box".into() });
        assert_eq!((limit.value.as_str(), &limit.law), ("0.5", &Law::Cpu { cores: 0.5 }));
        assert!(matches!(&limit.origin, Origin::Machine(place) if place.ends_with("of /sys/fs/cgroup/cpu/box")));
        assert_eq!(limit.signatures[1], reached(metric::GROUP_CPU, 0.475, Strength::Consistent));
    }
}
