//! Caches compared: an origin with many objects; round after round, in an order drawn for the round, each cache in front of it is started
//! empty, asked for some of them, asked for the same again, and then at the highest rates it holds. One of them runs at a time.

mod account;
mod conformance;
mod load;
mod mount;
mod turn;

use std::path::Path;

use genkai_analysis::cache as analysis;
use genkai_engine::{StopFlag, content};
use genkai_model::cache::{Aim, Caching, RateSearch, Warmth};
use genkai_model::event::{Environment, What};
use genkai_model::plan::Plan;
use genkai_model::transport::Transport;
use genkai_place::disk::Device;
use genkai_targets::apache::origin::{Files, Origin};
use genkai_targets::catalog::caches;
use genkai_targets::error::TargetError;

use turn::{Ask, Subject};

use crate::compare::distinct;
use crate::error::LabError;
use crate::folder::Folder;
use crate::generator::{MANY_LOADS, Workplaces};
use crate::headroom;
use crate::job::{Job, Outcome};
use crate::recorder::{Recorder, Watcher};
use crate::scenario;
use crate::system::{self, Pin};
use genkai_analysis::order;

/// What makes a load that is too large fit.
const HINT: &str = "more --processes (or machines: --on), fewer --clients, or raise the limit where root may: `ulimit -n` for descriptors, \
                    net.ipv4.ip_local_port_range for ports";

/// Makes the run.
///
/// # Errors
/// When the run could not begin. What goes wrong later is in [`Outcome::failure`].
pub(crate) fn run(job: &Job<'_>, plan: &Caching, watcher: &mut Watcher<'_>) -> Result<Outcome, LabError> {
    let environment = check(&job.plan, plan, &job.pin)?;
    let places = &Workplaces::open(&job.place.program, &job.plan.load.scale, &[], MANY_LOADS, job.interrupt)?;
    // The servers are not up yet; they will listen there.
    let front = (job.plan.system.front.address(), 80).into();
    for load in load::largest(plan, &job.plan.load) {
        places.check(&scenario::aimed(&load, front, Transport::Tcp))?;
    }
    job.recorded(watcher, |_| Ok(()), |(), folder, recorder| whole(job, plan, places, (folder, environment), recorder))
}

/// Checks a plan before anything is started.
///
/// # Errors
/// When it contradicts itself, something that it needs is missing, or its loads do not fit this machine.
pub(crate) fn check(plan: &Plan, caching: &Caching, pin: &Pin) -> Result<Environment, LabError> {
    if caching.contenders.is_empty() {
        return Err(LabError::Plan("there is no cache to measure".to_owned()));
    }
    distinct(caching.contenders.iter().map(|one| &one.name))?;
    for one in &caching.contenders {
        if let Some(preset) = caches::find(&one.server)? {
            preset.installed()?;
        }
    }
    if caching.requests == 0 || caching.clients == 0 || caching.rounds == 0 {
        return Err(LabError::Plan("there must be requests, clients and rounds".to_owned()));
    }
    let environment = system::environment(pin, None);
    for load in load::largest(caching, &plan.load) {
        let load = headroom::listened(&load, plan.system.front.listen);
        headroom::advised(&load, &headroom::look(&load.addresses, &environment), Some(HINT))?;
    }
    Ok(environment)
}

/// Contenders that can run here, and why each of the others cannot.
pub fn available() -> (Vec<&'static str>, Vec<(&'static str, String)>) {
    let (mut can, mut cannot) = (vec![caches::ALONE], Vec::new());
    for preset in caches::CACHES {
        match preset.installed() {
            Ok(_) => can.push(preset.name),
            Err(e) => cannot.push((preset.name, format!("{}: {e}", preset.name))),
        }
    }
    (can, cannot)
}

fn whole(
    job: &Job<'_>,
    plan: &Caching,
    places: &Workplaces,
    (folder, environment): (&Folder, Environment),
    recorder: &mut Recorder<'_>,
) -> Result<(), LabError> {
    let cpus = environment.pinning.clone();
    recorder.now(None, job.head(environment, &[]))?;
    let dir = folder.open_to_all("caches")?;
    let Some(files) = files(&dir, plan, job.interrupt)? else { return Ok(()) };
    let device = Device::under(files.root());
    if device.is_none() {
        let text =
            "the run's folder is on no single disk: what disks do is not told, and nothing is dropped from memory"
                .to_owned();
        recorder.note(None, "no-device", text)?;
    }
    let listen = job.plan.system.front.address();
    let origin = Origin::start(files, listen, cpus.as_ref().map(|pinning| &*pinning.servers))?;
    let mut run = Run { job, places, plan: plan.clone(), dir, cpus, device, origin, recorder, trials: 0 };
    run.all()
}

/// Writes the origin's files below `dir`; none when somebody wants to stop.
fn files(dir: &Path, plan: &Caching, interrupt: &StopFlag) -> Result<Option<Files>, TargetError> {
    let fill = |n: u32, out: &mut Vec<u8>| {
        content::fill(&plan.content, n, out);
        !interrupt.is_stopped()
    };
    Files::write(&dir.join("origin"), content::FOLDER, plan.content.objects, fill)
}

/// A run in the making.
struct Run<'r, 'j, 'w> {
    job: &'j Job<'j>,
    places: &'r Workplaces,
    plan: Caching,
    dir: std::path::PathBuf,
    cpus: Option<genkai_model::event::Pinning>,
    device: Option<Device>,
    origin: Origin,
    recorder: &'r mut Recorder<'w>,
    trials: u32,
}

impl Run<'_, '_, '_> {
    fn all(&mut self) -> Result<(), LabError> {
        let mut lost = vec![false; self.plan.contenders.len()];
        for round in 1..=self.plan.rounds {
            for place in order::round(self.plan.contenders.len(), self.plan.seed, round) {
                if self.is_stopped() {
                    return Ok(());
                }
                if !lost[place] {
                    let went = self.round(place, round);
                    lost[place] = self.is_lost(place, went)?;
                }
            }
        }
        self.mounts()
    }

    /// Whether a contender could not be started or asked: that is told, and the others go on.
    fn is_lost(&mut self, place: usize, went: Result<(), LabError>) -> Result<bool, LabError> {
        let Err(LabError::Target(why)) = went else { return went.map(|()| false) };
        let text = format!("{} takes no further part: {why}", self.plan.contenders[place].name);
        self.recorder.note(None, "cache-lost", text)?;
        Ok(true)
    }

    fn is_stopped(&self) -> bool {
        self.job.interrupt.is_stopped()
    }

    /// One contender in one round: empty, asked, asked again, its highest rates looked for; in the first round rules of HTTP too.
    fn round(&mut self, place: usize, round: u32) -> Result<(), LabError> {
        let mut subject = self.start(place)?;
        for warmth in [Warmth::Cold, Warmth::Warm] {
            if self.is_stopped() {
                return Ok(());
            }
            let load = load::pass(&self.plan, &self.job.plan.load);
            self.ask(&mut subject, Ask { load, aim: Aim::Pass { round }, warmth, flush: None })?;
        }
        self.warm_steps(&mut subject, round)?;
        if round == 1 && subject.is_cache() {
            for one in conformance::tried(&subject.name, subject.address(&self.origin), self.job.interrupt) {
                self.recorder.now(None, What::Conformance(one))?;
            }
        }
        drop(subject);
        self.cold_steps(place, round)
    }

    /// The rate to offer next in a search, as the record has it; none: it is known, or nobody wants to know.
    fn next(&self, name: &str, warmth: Warmth, round: u32) -> Option<(f64, RateSearch)> {
        let search = self.plan.search.filter(|_| !self.is_stopped())?;
        Some((analysis::next(self.recorder.record(), name, warmth, round)?, search))
    }

    /// The highest rate of a contender that is warm.
    fn warm_steps(&mut self, subject: &mut Subject, round: u32) -> Result<(), LabError> {
        while let Some((rate, search)) = self.next(&subject.name, Warmth::Warm, round) {
            let load = load::warm(&self.plan, &self.job.plan.load, rate, search.hold);
            self.ask(subject, Ask { load, aim: Aim::Search { round, rate }, warmth: Warmth::Warm, flush: None })?;
        }
        Ok(())
    }

    /// The highest rate of an empty one: each rate is offered to one that was just started.
    fn cold_steps(&mut self, place: usize, round: u32) -> Result<(), LabError> {
        let name = self.plan.contenders[place].name.clone();
        while let Some((rate, search)) = self.next(&name, Warmth::Cold, round) {
            let mut subject = self.start(place)?;
            let load = load::cold(&self.plan, &self.job.plan.load, rate, search.hold);
            self.ask(&mut subject, Ask { load, aim: Aim::Search { round, rate }, warmth: Warmth::Cold, flush: None })?;
        }
        Ok(())
    }
}
