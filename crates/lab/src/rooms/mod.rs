//! Chat rooms: backplane, nodes and router up, members in, everybody talks, nodes are asked what became of messages, servers
//! down; once for each number of nodes. Or requests held open, in one trial after the other ([`idle`]).

mod drill;
mod idle;
mod node;
mod servers;
mod size;

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use genkai_engine::End;
use genkai_model::event::{Change, EndReason, Environment, Limits, Purpose, Step, TrialStarted, What};
use genkai_model::load::Load;
use genkai_model::plan::{Backplane, Cluster, Fault, Plan};
use genkai_model::transport::Transport;
use genkai_targets::application::{self, Place};
use genkai_targets::rooms::SERVERS;
use genkai_targets::{redis, router};

use crate::error::LabError;
use crate::folder::Folder;
use crate::generator::{Generator, MANY_LOADS, Recorded, Workplaces};
use crate::job::{Job, Outcome};
use crate::latencies;
use crate::recorder::{Recorder, Watcher};
use crate::redact;
use crate::scenario;
use crate::system::{self, Pin};
use drill::Drill;
use servers::Servers;
use size::clients;

/// Time between two looks at all nodes.
const LOOK: Duration = Duration::from_millis(500);

/// Checks a plan before anything is started.
///
/// # Errors
/// When it contradicts itself, something that it needs is missing, or it does not fit this machine.
pub(crate) fn check(plan: &Plan, cluster: &Cluster, place: &Place, pin: &Pin) -> Result<Environment, LabError> {
    if cluster.nodes.is_empty() || cluster.nodes.contains(&0) {
        return Err(LabError::Plan("there must be at least one node".to_owned()));
    }
    let shares = plan.idle_requests().is_none() && cluster.nodes.iter().any(|nodes| *nodes > 1);
    if cluster.backplane == Backplane::None && shares {
        let text = "several nodes share rooms only over a backplane\n  hint: add --backplane redis, or use --nodes 1";
        return Err(LabError::Plan(text.to_owned()));
    }
    if cluster.backplane == Backplane::None && !cluster.redis.is_empty() {
        let text = "settings of Redis, and there is none\n  hint: add --backplane redis, or leave --redis-set out";
        return Err(LabError::Plan(text.to_owned()));
    }
    redis::check(&cluster.redis)?;
    if !SERVERS.contains(&cluster.server.as_str()) {
        let text = format!("`{}` is no server of rooms; there are: {}", cluster.server, SERVERS.join(", "));
        return Err(LabError::Plan(text));
    }
    latencies::runs(application::find(&cluster.server)?, place)?;
    let environment = system::environment(pin, None);
    size::bounded(&plan.load)?;
    size::fitted(&plan.load, &environment)?;
    size::housed(cluster, &plan.load)?;
    routed(cluster, clients(&plan.load))?;
    Ok(environment)
}

/// Checks the router, and what is to go wrong in it.
fn routed(cluster: &Cluster, clients: u32) -> Result<(), LabError> {
    let resets = cluster.faults.iter().any(|fault| matches!(fault, Fault::ResetRouter(_)));
    match &cluster.router {
        Some(router) => Ok(router::check(router, clients, resets)?),
        None if resets => {
            let text = "there is no router that could be reset\n  hint: add --router haproxy";
            Err(LabError::Plan(text.to_owned()))
        }
        None => Ok(()),
    }
}

/// Makes the run.
///
/// # Errors
/// When the run could not begin. What goes wrong later is in [`Outcome::failure`].
pub(crate) fn run(job: &Job<'_>, cluster: &Cluster, watcher: &mut Watcher<'_>) -> Result<Outcome, LabError> {
    let environment = check(&job.plan, cluster, &job.place, &job.pin)?;
    let places = &Workplaces::open(&job.place.program, &job.plan.load.scale, &[], MANY_LOADS, job.interrupt)?;
    // The servers are not up yet; they will listen there.
    let front = cluster.router.as_ref().and_then(|router| router.listen).unwrap_or(Ipv4Addr::LOCALHOST);
    places.check(&scenario::aimed(&job.plan.load, (front, 80).into(), Transport::Tcp))?;
    let start = |_: &Folder| Ok(());
    job.recorded(watcher, start, |(), folder, recorder| {
        Run { job, places, folder, environment, recorder }.whole(cluster)
    })
}

struct Run<'r, 'j, 'w> {
    job: &'j Job<'j>,
    places: &'r Workplaces,
    folder: &'r Folder,
    environment: Environment,
    recorder: &'r mut Recorder<'w>,
}

impl Run<'_, '_, '_> {
    fn whole(&mut self, cluster: &Cluster) -> Result<(), LabError> {
        self.recorder.now(None, self.job.head(self.environment.clone(), &[]))?;
        match self.job.plan.idle_requests() {
            Some(search) => self.search(cluster, search),
            None => self.sweep(cluster),
        }
    }

    /// One number of nodes after the other.
    fn sweep(&mut self, cluster: &Cluster) -> Result<(), LabError> {
        let mut before: Option<u32> = None;
        for (number, nodes) in (1..).zip(cluster.nodes.iter().copied()) {
            if self.job.interrupt.is_stopped() {
                break;
            }
            let from = before.replace(nodes).unwrap_or(nodes);
            self.trial(number, nodes, self.change("nodes", from, nodes), cluster)?;
        }
        Ok(())
    }

    /// What differs from the trial before; nothing where nothing does.
    fn change(&self, setting: &str, from: u32, to: u32) -> Vec<Change> {
        let product = self.job.plan.system.product.clone();
        let change = Change { product, setting: setting.to_owned(), from: from.to_string(), to: to.to_string() };
        if from == to { Vec::new() } else { vec![change] }
    }

    /// One number of nodes: servers up, load, questions, servers down.
    fn trial(&mut self, number: u32, nodes: u32, changes: Vec<Change>, cluster: &Cluster) -> Result<(), LabError> {
        let load = self.job.plan.load.clone();
        let (end, mut servers) = self.one(number, nodes, load, changes, cluster)?;
        let attendance = end.rooms.unwrap_or_default();
        for report in servers.reports(&attendance.losses) {
            self.recorder.now(Some(number), What::Node(Box::new(report)))?;
        }
        self.recorder.now(Some(number), What::Attendance(attendance))?;
        self.told(number, servers)
    }

    /// Servers up, and load on them.
    fn one(
        &mut self,
        number: u32,
        nodes: u32,
        load: Load,
        changes: Vec<Change>,
        cluster: &Cluster,
    ) -> Result<(End, Servers), LabError> {
        let step = Step { purpose: Purpose::Measure, changes: changes.clone(), limit: None };
        self.recorder.now(None, What::Step(step))?;
        let dir = self.folder.private(&format!("trial-{number}"))?;
        let cpus = self.environment.pinning.clone();
        let cpus = cpus.as_ref().map(|p| &*p.servers);
        let most = clients(&self.job.plan.load);
        let held = self.job.plan.idle_requests().map(|search| search.time);
        let mut servers = Servers::start(cluster, held, nodes, most, &self.job.place, cpus, &dir)?;
        let limits = servers.limits(cluster, most, &self.environment)?;
        self.recorder.now(None, What::Limits(Limits { limits }))?;
        let load = size::fitted(&Load { addresses: servers.addresses(), ..load }, &self.environment)?;
        let started = TrialStarted { purpose: Purpose::Measure, changes, limit: None, load: redact::load(&load) };
        let end = self.load(number, &load, started, &mut servers, &cluster.faults)?;
        Ok((end, servers))
    }

    /// What the router tells at the end; servers down.
    fn told(&mut self, number: u32, mut servers: Servers) -> Result<(), LabError> {
        if let Some(report) = servers.router_report() {
            self.recorder.now(Some(number), What::Router(Box::new(report)))?;
        }
        Ok(())
    }

    fn load(
        &mut self,
        number: u32,
        load: &Load,
        started: TrialStarted,
        servers: &mut Servers,
        faults: &[Fault],
    ) -> Result<End, LabError> {
        let cpus = self.environment.pinning.as_ref().map(|p| p.client.clone());
        let generator = Generator { places: self.places, cpus: cpus.as_deref() };
        let (mut drill, mut next) = (Drill::new(faults), Instant::now());
        let made = Recorded { number, load, started, generator, interrupt: self.job.interrupt };
        let made = made.make(self.recorder, |recorder, began| {
            if let Some(at) = began {
                disturb(number, at, &mut drill, servers, recorder)?;
            }
            if Instant::now() < next {
                return Ok(());
            }
            next = Instant::now() + LOOK;
            let seen = servers.observe();
            if began.is_some() { recorder.look(Instant::now(), number, seen) } else { Ok(()) }
        })?;
        let seen = servers.observe();
        self.recorder.look(Instant::now(), number, seen)?;
        let reason = if self.job.interrupt.is_stopped() { EndReason::Interrupted } else { EndReason::Completed };
        self.recorder.now(Some(number), What::TrialEnded(made.ended(reason)))?;
        made.failure.map_or(Ok(made.end), Err)
    }
}

/// Does what is to go wrong by now.
fn disturb(
    number: u32,
    began: Instant,
    drill: &mut Drill,
    servers: &mut Servers,
    recorder: &mut Recorder<'_>,
) -> Result<(), LabError> {
    while let Some(act) = drill.due(began.elapsed()) {
        let text = servers.disturb(act, began.elapsed())?;
        recorder.note(Some(number), "fault", text)?;
    }
    Ok(())
}
