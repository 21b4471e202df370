//! Systems compared: block after block each contender is started anew and loaded once, one at a time, in an order drawn for
//! the block, until the analysis says that it is enough.

mod changes;
mod contender;
mod order;

use std::collections::BTreeSet;
use std::time::Duration;

use genkai_analysis::capacity::demand;
use genkai_analysis::tuning::TrialPlan;
use genkai_analysis::{claims, compare};
use genkai_model::comparison::{Comparison, Contender, DroppedContender, Runs, Turn};
use genkai_model::event::{Change, EndReason, Environment, Purpose, What};
use genkai_model::plan::Plan;
use genkai_model::record::APART;
use genkai_model::units::{Range, Span};
use genkai_place::kernel::Kernel;
use genkai_targets::product::Running;

pub use changes::{BASELINE, with_changes};
use contender::Ready;

use crate::backend::Backend;
use crate::error::LabError;
use crate::first;
use crate::folder::Folder;
use crate::generator::{Generator, MANY_LOADS, Workplaces};
use crate::headroom;
use crate::job::{Job, Outcome, Preview};
use crate::observer::Observer;
use crate::recorder::{Recorder, Watcher};
use crate::scenario;
use crate::size::Size;
use crate::system::{self, Pin};
use crate::trial::{self, Trial};

/// How long a backend may take to finish what an earlier turn left in it.
const DRAIN: Duration = Duration::from_secs(60);
/// Most contenders: each two are compared, and each has its turn in every block.
pub const MOST: usize = 16;

/// Checks a plan without starting a server: configurations are read and tested by the products themselves, the load is held
/// against this machine.
///
/// # Errors
/// Whatever would keep the run from being made.
pub(crate) fn preview(plan: &Plan, comparison: &Comparison, pin: &Pin) -> Result<Preview, LabError> {
    whole(plan, comparison)?;
    let dir =
        tempfile::Builder::new().prefix("genkai-check-").tempdir().map_err(LabError::folder(std::env::temp_dir()))?;
    let mut environment = system::environment(pin, None);
    let listen = comparison.contenders.iter().find_map(|one| match &one.runs {
        Runs::Server { system, .. } => system.front.listen,
        Runs::Url(_) => None,
    });
    let load = headroom::listened(&plan.load, listen);
    headroom::fit(&load, &headroom::look(&load.addresses, &environment))?;
    let behind = system::placeholder(&plan.system.backend)?;
    let mut contenders = Vec::new();
    for (number, contender) in comparison.contenders.iter().enumerate() {
        let folder = |name: &str| {
            let path = dir.path().join(format!("{number}-{name}"));
            std::fs::create_dir_all(&path).map_err(LabError::folder(&path))?;
            Ok(path)
        };
        let ready = Ready::prepare(contender, &plan.load, behind, &folder)?;
        contenders.push(ready.entry(contender, &environment));
        versions(&mut environment, &ready);
    }
    Ok(Preview { contenders, ..Preview::of(environment) })
}

fn versions(environment: &mut Environment, ready: &Ready) {
    if let Ready::Server(prepared) = ready {
        environment.versions.insert(prepared.product().to_owned(), prepared.version().to_owned());
    }
}

/// Whether the comparison of a plan makes sense.
fn whole(plan: &Plan, comparison: &Comparison) -> Result<(), LabError> {
    let wrong = |why: String| Err(LabError::Plan(why));
    let all = &comparison.contenders;
    if !(2..=MOST).contains(&all.len()) {
        return wrong(format!("{} to compare: give two to {MOST} systems", all.len()));
    }
    distinct(all.iter().map(|one| &one.name))?;
    for one in all {
        if let Runs::Server { system, .. } = &one.runs
            && system.backend != plan.system.backend
        {
            return wrong(format!(
                "`{}` stands before another backend than the others: that would be compared",
                one.name
            ));
        }
    }
    if comparison.base.as_ref().is_some_and(|base| !all.iter().any(|one| one.name == *base)) {
        return wrong("the contender to compare with takes no part".to_owned());
    }
    let ascending = comparison.looks.windows(2).all(|two| two[0] < two[1]);
    if comparison.looks.first().is_none_or(|first| *first < 2) || !ascending {
        return wrong("looks must be numbers of blocks from 2, ascending".to_owned());
    }
    Ok(())
}

/// Checks that no two contenders have one name.
pub(crate) fn distinct<'n>(mut names: impl Iterator<Item = &'n String>) -> Result<(), LabError> {
    let mut known = BTreeSet::new();
    let again = |name| LabError::Plan(format!("`{name}` takes part twice\n  hint: give one of them another name"));
    names.find(|name| !known.insert(*name)).map_or(Ok(()), |name| Err(again(name)))
}

/// Makes the run.
///
/// # Errors
/// When the run could not begin. What goes wrong later is in [`Outcome::failure`].
pub(crate) fn run(job: &Job<'_>, comparison: &Comparison, watcher: &mut Watcher<'_>) -> Result<Outcome, LabError> {
    let environment = preview(&job.plan, comparison, &job.pin)?.environment;
    let places = &Workplaces::open(&job.place.program, &job.plan.load.scale, &[], MANY_LOADS, job.interrupt)?;
    let cpus = environment.pinning.as_ref().map(|pinning| pinning.servers.clone());
    let start = |folder: &Folder| {
        let backend = Backend::start(&job.plan.system.backend, &job.place.program, folder, cpus.as_deref())?;
        let ready = |(number, one): (usize, &Contender)| {
            Ready::prepare(one, &job.plan.load, backend.address(), &contender::folders(folder, number + 1))
        };
        let ready = comparison.contenders.iter().enumerate().map(ready).collect::<Result<Vec<_>, _>>()?;
        ready.iter().try_for_each(|one| one.offers(&job.plan.load, cpus.as_deref()))?;
        Ok((backend, ready))
    };
    job.recorded(watcher, start, |(backend, ready), _, recorder| {
        let dropped = vec![false; ready.len()];
        Run { job, places, comparison, ready, dropped, backend, environment, recorder }.whole()
    })
}

struct Run<'r, 'j, 'w> {
    job: &'j Job<'j>,
    places: &'r Workplaces,
    comparison: &'r Comparison,
    ready: &'r [Ready],
    /// Who did not start any more.
    dropped: Vec<bool>,
    backend: &'r mut Backend,
    environment: Environment,
    recorder: &'r mut Recorder<'w>,
}

impl Run<'_, '_, '_> {
    fn whole(&mut self) -> Result<(), LabError> {
        self.environment.versions.extend(self.backend.versions());
        // What private copies differ in is with each contender.
        self.recorder.now(None, self.job.head(self.environment.clone(), &[]))?;
        for (ready, contender) in self.ready.iter().zip(&self.comparison.contenders) {
            let entry = ready.entry(contender, &self.environment);
            self.recorder.now(None, What::Contender(Box::new(entry)))?;
            for warning in ready.warnings() {
                let text = format!("{}: {warning}", contender.name);
                self.recorder.note(None, claims::WARNING, text)?;
            }
        }
        self.try_out()?;
        for number in 1.. {
            for (who, turn) in order::block(self.comparison, number) {
                if self.dropped[who] {
                    continue;
                }
                if self.job.interrupt.is_stopped() || self.turn(who, turn)? == EndReason::Interrupted {
                    return Ok(());
                }
            }
            if compare::is_enough(self.recorder.record()) {
                break;
            }
        }
        Ok(())
    }

    /// Starts each once before any load: who does not start at all is a mistake, and not one of a comparison.
    fn try_out(&self) -> Result<(), LabError> {
        for (ready, contender) in self.ready.iter().zip(&self.comparison.contenders) {
            if self.job.interrupt.is_stopped() {
                break;
            }
            match ready.start(self.cpus()) {
                Ok(server) => drop(server.stop()),
                Err(why) => return Err(LabError::Environment(format!("{}: {why}", contender.name))),
            }
        }
        Ok(())
    }

    /// Cores of the servers.
    fn cpus(&self) -> Option<&[usize]> {
        self.environment.pinning.as_ref().map(|pinning| pinning.servers.as_slice())
    }

    /// One turn: a fresh server, load, server down. Who does not start, nor at once again, is dropped, and the others go on.
    fn turn(&mut self, who: usize, turn: Turn) -> Result<EndReason, LabError> {
        let first = turn.block == 1 && !turn.control;
        let block = turn.block;
        self.recorder.now(None, What::Turn(turn))?;
        let idle = self.backend.drain(DRAIN, self.job.interrupt);
        if self.job.interrupt.is_stopped() {
            return Ok(EndReason::Interrupted);
        }
        if !idle {
            self.recorder.note(
                None,
                "backend-not-idle",
                "the backend still works on requests of the turn before".to_owned(),
            )?;
        }
        let mut started = self.ready[who].start(self.cpus());
        if let Err(why) = &started
            && !self.job.interrupt.is_stopped()
        {
            self.recorder.note(None, "started-again", format!("{}: {why}", self.comparison.contenders[who].name))?;
            started = self.ready[who].start(self.cpus());
        }
        let mut server = match started {
            Ok(server) => server,
            Err(why) => {
                self.dropped[who] = true;
                let (contender, why) = (self.comparison.contenders[who].name.clone(), why.to_string());
                self.recorder.now(None, What::Dropped(Box::new(DroppedContender { contender, block, why })))?;
                return Ok(EndReason::Completed);
            }
        };
        let ended = self.load(who, block, first, &mut *server);
        server.stop();
        ended
    }

    fn load(&mut self, who: usize, block: u32, first: bool, server: &mut dyn Running) -> Result<EndReason, LabError> {
        let contender = &self.comparison.contenders[who];
        let (plan, address) = (&self.job.plan, server.address());
        let what = TrialPlan {
            purpose: Purpose::Measure,
            changes: changes(contender).to_vec(),
            limit: None,
            level: demand::asked(&plan.load),
            ramp: self.comparison.ramp,
            hold: self.comparison.hold,
            draw: block,
        };
        let load = scenario::aimed(&trial::shape(&plan.load, &what), address, self.ready[who].transport());
        if first {
            let ready = &self.ready[who];
            let answers = ready.answers(&load.request);
            let first = first::answer(ready.product(), &answers, &load, server, self.backend);
            self.recorder.before(first.seen)?;
            let note = first.told.map(|text| format!("{}: {text}", contender.name));
            note.map_or(Ok(()), |text| self.recorder.note(None, first::NOTE, text))?;
            for text in ready.apart(address) {
                self.recorder.note(None, APART, format!("{}: {text}", contender.name))?;
            }
        }
        let load = headroom::fit(&load, &headroom::look(&load.addresses, &self.environment))?;
        let cpus = self.environment.pinning.as_ref().map(|pinning| pinning.client.clone());
        let trial = Trial {
            number: self.recorder.record().trials.len() as u32 + 1,
            what: &what,
            plan,
            load,
            generator: Generator { places: self.places, cpus: cpus.as_deref() },
            interrupt: self.job.interrupt,
        };
        let mut kernel = Kernel::new();
        let backend = &mut *self.backend;
        let observer = Observer { server, backend, kernel: &mut kernel, listeners: vec![address] };
        trial.run(observer, self.recorder)
    }
}

/// Settings of a contender that are changed on top of its system.
fn changes(contender: &Contender) -> &[Change] {
    match &contender.runs {
        Runs::Server { changes, .. } => changes,
        Runs::Url(_) => &[],
    }
}

/// What a comparison is like where nothing else is said.
#[derive(Clone, Debug, PartialEq)]
pub struct Usual {
    /// How long the load rises in a turn.
    pub ramp: Span,
    /// How long it is held.
    pub hold: Span,
    /// After how many blocks it is looked at.
    pub looks: Vec<u32>,
}

impl Default for Usual {
    fn default() -> Usual {
        Usual { ramp: Span::from_secs(1), hold: Span::from_secs(5), looks: vec![5, 8, 12, 16] }
    }
}

/// The same in a size.
pub fn usual(size: Size) -> Usual {
    match size {
        Size::Quick => Usual { ramp: Span::from_millis(500), hold: Span::from_secs(2), looks: vec![4, 6] },
        Size::Full => Usual { ramp: Span::from_secs(2), hold: Span::from_secs(10), looks: vec![6, 10, 16, 25, 40] },
    }
}

/// Seconds of load of a comparison: until the first look, and until the last.
pub fn seconds(comparison: &Comparison) -> Range {
    let turns = comparison.contenders.len() + usize::from(comparison.control);
    let block = turns as f64 * (comparison.ramp.as_secs_f64() + comparison.hold.as_secs_f64());
    let after = |look: Option<&u32>| block * f64::from(look.copied().unwrap_or(0));
    Range { low: after(comparison.looks.first()), high: after(comparison.looks.last()) }
}

/// Three looks on the way to so many blocks, the last at their end; none before the third block, which has too little to say.
pub fn looks(blocks: u32) -> Vec<u32> {
    let mut all: Vec<u32> = [blocks / 3, blocks * 2 / 3].into_iter().filter(|look| *look >= 3).collect();
    all.push(blocks);
    all.dedup();
    all
}

/// Length of the intervals in which a turn is told: enough of them to see when it was steady.
pub fn tick(hold: Span) -> Span {
    Span((hold.0 / 100).clamp(Span::from_millis(20).0, Span::from_millis(200).0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_few_and_end_with_the_last_block() {
        assert_eq!(looks(16), [5, 10, 16]);
        assert_eq!((looks(2), looks(4), looks(6)), (vec![2], vec![4], vec![4, 6]));
    }
}
