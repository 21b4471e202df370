//! One server behind a product.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use genkai_model::error::ErrorKind;
use genkai_model::event::{Environment, ServerState, State};
use genkai_model::evidence::{Sample, metric};
use genkai_model::limit::{Limit, Origin, Strength, Symptom};
use genkai_place::caps::Machine;
use genkai_place::endpoint::{Endpoint, Listener};
use genkai_place::group;
use genkai_place::listener::Watched;
use genkai_place::memory::Memory;
use genkai_place::observation::Observation;
use genkai_place::usage::alone;

use super::who::{Processes, Who, trouble};
use crate::cores;
use crate::limits::backend::queue_full;
use crate::limits::{SLOW, grew, log, reached, reached_of};
use crate::product::behind::{DISK, DISK_LONGEST, DROPS, FULL, LOOP, THREAD, WAITS};
use crate::product::{Cost, ENDED, Served};

/// Periods in which the quota of its control group was used up, as a part of all; after its subject.
const THROTTLED: &str = "throttled";
/// How often its control group allowed no more processes and threads, cumulative; after its subject.
const TASKS_REFUSED: &str = "tasks_refused_total";
/// Processes and threads that it has; after its subject.
const TASKS: &str = "tasks";
/// Connections that wait to be accepted, where no product's own looks tell; after its subject.
const QUEUED: &str = "queued";
/// How often its threads wait of their own accord, times a second; after its subject.
const VOLUNTARY: &str = "voluntary_waits";
/// Bytes a second that it has a disk read, and written; after its subject.
const DISK_READ: &str = "disk_read";
const DISK_WRITTEN: &str = "disk_written";
/// Whether the kernel ended a process of its control group a moment ago: who takes its place has to start first; after its subject.
const KILLED: &str = "memory_killed";
/// How long a moment is.
const MOMENT: Duration = Duration::from_secs(2);
/// A quota that is used up in so many periods holds its processes up.
const STALLED: f64 = 0.5;
/// How long nobody listens where its processes did, until it is gone: a supervisor starts a new one at once (systemd after 100 ms).
const GONE: Duration = Duration::from_millis(500);

/// A server that somebody else started.
#[derive(Debug)]
pub(super) struct Peer {
    endpoint: Endpoint,
    /// Of its samples.
    subject: String,
    machine: Machine,
    /// Of the machine, bytes.
    memory: u64,
    /// Its listeners, where it is a TCP port.
    listener: Option<Watched>,
    cost: Option<Cost>,
    /// Looks at the memory of one that genkai runs, whose settings it changes: under its product's name, as its limits are.
    looks: Option<Memory>,
    who: Who,
}

impl Peer {
    /// Whoever listens there.
    pub(super) fn find(endpoint: Endpoint, subject: String, machine: &Machine, memory: u64) -> Peer {
        let who = Who::at(&endpoint, machine, memory);
        let (listener, machine) = (endpoint.watched(), machine.clone());
        Peer { endpoint, subject, machine, memory, listener, cost: None, looks: None, who }
    }

    /// One whose first process is known.
    pub(super) fn of(first: u32, endpoint: Endpoint, subject: String, served: Box<dyn Served>) -> Peer {
        let who = Who::Known(Box::new(Processes::of(first, Some(Ok(served)))));
        let (machine, looks) = (Machine::of(&Environment::default()), Some(Memory::of(first)));
        let listener = endpoint.watched();
        Peer { endpoint, subject, machine, memory: 0, listener, cost: None, looks, who }
    }

    /// Who it is, and what cannot be seen of it.
    pub(super) fn told(&self) -> String {
        self.who.told(&self.endpoint)
    }

    /// Whether it has a number of workers.
    pub(super) fn has_workers(&self) -> bool {
        matches!(&self.who, Who::Known(known) if known.is_known())
    }

    /// Where it passes connections on to, where it does nothing else.
    pub(super) fn forwards(&self) -> Option<Endpoint> {
        let Who::Known(known) = &self.who else { return None };
        known.product.as_ref()?.as_ref().ok()?.forwards()
    }

    /// Its first process, where that is known.
    pub(super) fn first(&self) -> Option<u32> {
        if let Who::Known(known) = &self.who { Some(known.first) } else { None }
    }

    /// Whether it is reached there, or its processes are.
    pub(super) fn is_at(&self, at: &Endpoint) -> bool {
        let same = |first: u32| at.listener() == Listener::Process(first);
        self.endpoint.is_same(at) || self.first().is_some_and(same)
    }

    /// Processor time that its processes have had.
    pub(super) fn processor(&self) -> Duration {
        let Who::Known(known) = &self.who else { return Duration::ZERO };
        known.tree.processor()
    }

    /// Takes over what a request costs when nothing else is asked.
    pub(super) fn costs(&mut self, cost: Cost) {
        let quota = self.first().and_then(group::cpu_quota_of);
        let cost = Cost { cores: quota.map_or(cost.cores, |quota| quota.cores.min(cost.cores)), ..cost };
        self.cost = Some(cost);
        if let Who::Known(known) = &mut self.who
            && let Some(Ok(product)) = &mut known.product
        {
            product.costs(cost);
        }
    }

    /// What caps it: its pool where it is one, and what every process has.
    pub(super) fn limits(&self) -> Vec<Limit> {
        let Who::Known(known) = &self.who else { return Vec::new() };
        let mut own: Vec<Limit> =
            known.product.iter().flatten().flat_map(|product| product.limits(&self.subject)).collect();
        cores::within_own(&mut own, known.first);
        // What its first process may open is not what its workers may, where its own file says that.
        let opens = own.iter().any(|limit| limit.id == self.metric("worker_rlimit_nofile"));
        let descriptors = self.descriptors(known).filter(|_| !opens);
        let any = [self.thread(known), self.disk(known), descriptors, self.queue(known)];
        let grouped = [self.quota(known), self.memory(known), self.tasks(known)];
        own.into_iter().chain(any.into_iter().chain(grouped).flatten()).collect()
    }

    /// One thread that has a core for itself and needs more.
    fn thread(&self, known: &Processes) -> Option<Limit> {
        // Of a product that is known its own limits tell more.
        (!known.is_known()).then(|| Limit {
            value: "1".to_owned(),
            origin: Origin::Machine(format!("threads of process {}", known.first)),
            caps: "one of its threads has a core for itself all the time: what that thread does for each request is the limit (an event loop, a \
                   lock that all wait for)"
                .to_owned(),
            formula: "a thread runs on one core at a time".to_owned(),
            source: "proc(5): /proc/PID/task/TID/schedstat".to_owned(),
            signatures: vec![reached(&self.metric(THREAD), FULL, Strength::Supports)],
            symptom: Symptom { errors: vec![ErrorKind::Status504, ErrorKind::Timeout], slow: true },
            ..self.limit(known, "thread", "one thread's processor time")
        })
    }

    /// One thread that waits for a disk and does little else. Of a product that is known it is evidence of its own limits.
    fn disk(&self, known: &Processes) -> Option<Limit> {
        (!known.is_known()).then(|| Limit {
            value: "1".to_owned(),
            origin: Origin::Machine(format!("threads of process {}", known.first)),
            caps: "one of its threads waits for a disk nearly all the time: what that thread reads or writes for each request is the limit"
                .to_owned(),
            formula: "a thread does nothing else while it waits".to_owned(),
            source: "proc(5): state D of /proc/PID/task/TID/stat while bytes of /proc/PID/io grow".to_owned(),
            signatures: vec![reached(&self.metric(DISK_LONGEST), WAITS, Strength::Supports)],
            symptom: Symptom { errors: vec![ErrorKind::Status504, ErrorKind::Timeout], slow: true },
            ..self.limit(known, "disk", "one thread's waits for a disk")
        })
    }

    fn descriptors(&self, known: &Processes) -> Option<Limit> {
        let limit = alone(known.first)?.fd_limit?;
        Some(Limit {
            value: limit.to_string(),
            origin: Origin::Machine(format!("/proc/{}/limits", known.first)),
            caps: format!("a process of it (the first is {}) has all descriptors in use that it may have", known.first),
            formula: format!("{limit} descriptors a process"),
            source: "getrlimit(2) RLIMIT_NOFILE".to_owned(),
            signatures: vec![reached_of(
                &self.metric(metric::WORKER_FDS_MAX),
                &self.metric(metric::WORKER_FD_LIMIT),
                0.98,
                Strength::Decisive,
            )],
            // Who asks for one is told in words of his own, and may be a server that is asked himself.
            symptom: Symptom { errors: ENDED.to_vec(), slow: true },
            ..self.limit(known, "descriptors", "RLIMIT_NOFILE")
        })
    }

    /// The accept queue; of a product that is known its own limits tell more.
    fn queue(&self, known: &Processes) -> Option<Limit> {
        let backlog = self.endpoint.queue().filter(|_| !known.is_known())?.backlog;
        let (signatures, first) = match &self.endpoint {
            Endpoint::Tcp(_) => (vec![grew(&self.metric(DROPS), Strength::Decisive)], ErrorKind::Status504),
            // It counts none, but refuses: connect(2) fails at once, and the proxy answers 502.
            Endpoint::Unix(path) => {
                let full = log(&queue_full(&path.to_string_lossy()), Strength::Decisive);
                let held = reached(&self.metric(QUEUED), f64::from(backlog), Strength::Decisive);
                (vec![held, full], ErrorKind::Status502)
            }
        };
        Some(Limit {
            value: backlog.to_string(),
            origin: Origin::Machine(format!("listening socket of {}", self.endpoint)),
            caps: "connections that wait to be accepted by it".to_owned(),
            formula: format!("{backlog} + 1: the smaller of its backlog and net.core.somaxconn"),
            source: "listen(2); sock_diag(7); unix(7)".to_owned(),
            signatures,
            symptom: Symptom { errors: vec![first, ErrorKind::Status502, ErrorKind::Timeout], ..SLOW },
            ..self.limit(known, "backlog", "listen backlog")
        })
    }

    /// Memory that its control group leaves it, where that is its own.
    fn memory(&self, known: &Processes) -> Option<Limit> {
        let (_, bytes) = known.group.memory()?;
        let unit = known.unit.iter().map(|unit| format!(" of {unit}")).collect::<String>();
        Some(Limit {
            value: bytes.to_string(),
            origin: Origin::Machine(format!("memory.max, or memory.limit_in_bytes, of process {}", known.first)),
            caps: format!(
                "bytes of memory that its control group{unit} leaves it: the kernel ends a process of it when they are used up"
            ),
            formula: "how much a request takes is not known".to_owned(),
            source: "cgroups(7): oom_kill of memory.events, or of memory.oom_control".to_owned(),
            signatures: vec![
                grew(&self.metric(metric::MEMORY_KILLS), Strength::Decisive),
                reached(&self.metric(KILLED), 1.0, Strength::Decisive),
            ],
            symptom: Symptom { errors: ENDED.to_vec(), slow: true },
            ..self.limit(known, "memory_group", "memory of the control group")
        })
    }

    /// Processes and threads that its control group allows it, where that is its own.
    fn tasks(&self, known: &Processes) -> Option<Limit> {
        let most = known.group.tasks()?;
        let unit = known.unit.iter().map(|unit| format!(" of {unit}")).collect::<String>();
        Some(Limit {
            value: most.to_string(),
            origin: Origin::Machine(format!("pids.max of process {}", known.first)),
            caps: format!(
                "processes and threads that its control group{unit} allows: one more is refused (EAGAIN of fork(2) and clone(2))"
            ),
            formula: "how many a request takes is not known".to_owned(),
            source: "cgroups(7): max of pids.events; systemd.resource-control(5): TasksMax".to_owned(),
            signatures: vec![grew(&self.metric(TASKS_REFUSED), Strength::Decisive)],
            symptom: Symptom { errors: ENDED.to_vec(), slow: true },
            ..self.limit(known, "tasks", "pids.max of the control group")
        })
    }

    /// Processor time that its control group leaves it, where that is its own.
    fn quota(&self, known: &Processes) -> Option<Limit> {
        let cores = group::quota_of(known.first)?;
        let unit = known.unit.iter().map(|unit| format!(" of {unit}")).collect::<String>();
        Some(Limit {
            value: cores.to_string(),
            origin: Origin::Machine(format!(
                "cpu.max, or cpu.cfs_quota_us by cpu.cfs_period_us, of process {}",
                known.first
            )),
            caps: format!("cores' worth of processor time that its control group{unit} leaves it"),
            formula: "who has used up the quota stands still until the period is over".to_owned(),
            source: "cgroups(7): nr_periods and nr_throttled of cpu.stat".to_owned(),
            signatures: vec![reached(&self.metric(THROTTLED), STALLED, Strength::Supports)],
            symptom: Symptom { errors: vec![ErrorKind::Status504, ErrorKind::Timeout], slow: true },
            ..self.limit(known, "cpu_quota", "CPU quota of the control group")
        })
    }

    fn limit(&self, known: &Processes, id: &str, setting: &str) -> Limit {
        Limit::named(&format!("{}.{id}", self.subject), &known.name, setting)
    }

    fn metric(&self, name: &str) -> String {
        format!("{}.{name}", self.subject)
    }

    /// Whether its processes have ended, and nobody has come in their place.
    pub(super) fn is_gone(&self) -> bool {
        matches!(&self.who, Who::Known(known) if known.gone.is_some())
    }

    /// Whether it has processes that live.
    pub(super) fn lives(&self) -> bool {
        matches!(&self.who, Who::Known(known) if known.gone.is_none())
    }

    /// Where its processes have ended: who has come in their place, or that nobody has, once that is certain.
    fn ended(&mut self) -> Vec<State> {
        let found = Who::at(&self.endpoint, &self.machine, self.memory);
        let Who::Known(known) = &mut self.who else { return Vec::new() };
        let (name, at) = (known.name.clone(), &self.endpoint);
        let state = |state, detail| vec![State { subject: name.clone(), state, detail: Some(detail) }];
        let (since, told) = *known.gone.get_or_insert((Instant::now(), false));
        if let Who::Known(new) = &found {
            let first = new.first;
            self.who = found;
            self.cost.into_iter().for_each(|cost| self.costs(cost));
            return state(ServerState::Ready, format!("{} was started anew: process {first}", self.endpoint));
        }
        if told || since.elapsed() < GONE {
            return Vec::new();
        }
        known.gone = Some((since, true));
        let memory = known.group.kills().is_some_and(|kills| kills > known.ended);
        let memory =
            memory.then(|| "the kernel ended processes of its control group, whose memory was used up".to_owned());
        let said = known.said.take().map(|text| format!("it said `{text}`"));
        let why: String = memory.into_iter().chain(said).map(|why| format!("; {why}")).collect();
        state(ServerState::Died, format!("process {} has ended, and nobody listens at {at} any more{why}", known.first))
    }

    /// Looks at it.
    pub(super) fn observe(&mut self) -> Observation {
        let (subject, endpoint) = (self.subject.clone(), self.endpoint.clone());
        if let Who::Hidden(Some((_, theirs))) = &mut self.who {
            let cpu = theirs.cpu().map(|cpu| (format!("{subject}.{}", metric::BEHIND_CPU), cpu));
            let samples = cpu.map(|one| Sample { subject, metrics: [one].into() }).into_iter().collect();
            return Observation { samples, ..Observation::default() };
        }
        let Who::Known(known) = &mut self.who else { return Observation::default() };
        let usage = known.tree.sample();
        if usage.processes.is_empty() {
            // What it said last.
            let product = known.product.as_mut().and_then(|found| found.as_mut().ok());
            let logs = product.map(|product| product.logs(&subject)).unwrap_or_default();
            known.said = trouble(&logs).or(known.said.take());
            return Observation { states: self.ended(), logs, ..Observation::default() };
        }
        let mut metrics = BTreeMap::from([
            (metric::BEHIND_CPU.to_owned(), usage.cpu),
            (metric::WORKER_CPU_MAX.to_owned(), usage.busiest_cpu),
            (metric::RSS.to_owned(), usage.rss as f64),
        ]);
        let mut note = |name: &str, value: Option<f64>| metrics.extend(value.map(|value| (name.to_owned(), value)));
        note(metric::WORKER_FDS_MAX, usage.fds_max.map(|n| n as f64));
        note(metric::WORKER_FD_LIMIT, usage.fd_limit.map(|n| n as f64));
        note(THROTTLED, known.throttle.fraction());
        note(THREAD, known.threads.busiest(usage.processes.iter().map(|one| one.pid)));
        note(LOOP, known.busiest_loop(&endpoint, &usage));
        let pids: Vec<u32> = usage.processes.iter().map(|one| one.pid).collect();
        let waits = known.waits.look(&pids);
        note(VOLUNTARY, waits.voluntary);
        note(DISK_READ, waits.disk.map(|(read, _)| read));
        note(DISK_WRITTEN, waits.disk.map(|(_, written)| written));
        note(DISK, waits.threads);
        note(DISK_LONGEST, waits.longest);
        note(TASKS, Some(usage.processes.iter().map(|one| f64::from(one.threads)).sum()));
        note(TASKS_REFUSED, known.group.tasks_refused().map(|n| n as f64));
        if let Some(kills) = known.group.kills() {
            let (before, at) = known.killed;
            known.killed = (kills, if kills > before { Some(Instant::now()) } else { at });
            note(metric::MEMORY_KILLS, Some(kills as f64));
            let moment = known.killed.1.is_some_and(|at| at.elapsed() < MOMENT);
            note(KILLED, Some(f64::from(u8::from(moment))));
        }
        if let Some((left, limit)) = known.group.memory() {
            note(metric::GROUP_LEFT, Some(left as f64));
            note(metric::GROUP_LIMIT, Some(limit as f64));
        }
        match &mut self.listener {
            Some(listener) => note(DROPS, listener.look().map(|queue| queue.dropped as f64)),
            None if !known.is_known() => note(QUEUED, endpoint.queue().map(|queue| f64::from(queue.waiting))),
            None => {}
        }
        let mut logs = Vec::new();
        if let Some(Ok(product)) = &mut known.product {
            metrics.extend(product.look(&endpoint, &usage));
            logs = product.logs(&subject);
            known.said = trouble(&logs).or(known.said.take());
        }
        let metrics = metrics.into_iter().map(|(name, value)| (format!("{subject}.{name}"), value)).collect();
        let own = self.looks.as_mut().map(Memory::look).filter(|seen| !seen.is_empty()).map(|seen| {
            let metrics = seen.into_iter().map(|(name, value)| (format!("{}.{name}", known.name), value)).collect();
            Sample { subject: known.name.clone(), metrics }
        });
        let samples = [Sample { subject, metrics }].into_iter().chain(own).collect();
        Observation { samples, logs, states: Vec::new() }
    }
}
