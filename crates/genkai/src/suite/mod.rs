//! An experiment of several runs: one after the other, each in a folder of its own, and what they showed together.

mod join;
mod plan;

use std::path::Path;

use genkai_engine::StopFlag;
use genkai_lab::claims::Effort;
use genkai_lab::compare::{self, Usual};
use genkai_lab::experiment::Size;
use genkai_lab::experiment::apache::{self, NAME, Part, Search, Task, parts};
use genkai_lab::job::{Job, Outcome};
use genkai_lab::placement::Placement;
use genkai_lab::system::Pin;
use genkai_model::exit::Exit;
use genkai_model::plan::Plan;

use crate::claims::{Tests, shipped, threads};
use crate::cli::OutputFlags;
use crate::view::{self, View};
use crate::{Failure, found, interrupt, study};

use join::Joined;
pub(crate) use join::{again, among};

/// Whose settings the claims of the experiment are about.
const PRODUCT: &str = "apache";

/// Runs `apache-websocket` in a size; with `only`, the parts of these names; their loads are made where `placement` says.
///
/// # Errors
/// When a part could not be made.
pub(crate) fn apache(
    size: Size,
    only: &[String],
    placement: &Placement,
    output: &OutputFlags,
) -> Result<Exit, Failure> {
    let chosen = chosen(parts(size), only)?;
    if output.dry_run {
        return plan::show(&chosen, size, placement, output);
    }
    let out = output.out.clone().unwrap_or_else(|| study::default_folder(NAME));
    let interrupt = interrupt::flag();
    let run = Run { size, placement, out: &out, output, interrupt: &interrupt };
    let mut joined = Joined::new(NAME);
    let mut failure = None;
    for part in &chosen {
        if interrupt.is_stopped() {
            break;
        }
        failure = run.part(part, &mut joined).err();
        if failure.is_some() {
            break;
        }
    }
    if failure.is_some() || interrupt.is_stopped() {
        joined.cut_off();
    }
    // What was seen until then is told whatever came between.
    let exit = joined.show(&out, output.quiet, output.json, output.color)?;
    match failure {
        Some(failure) => Err(failure),
        None if interrupt.is_stopped() => Ok(Exit::Interrupted),
        None => Ok(exit),
    }
}

/// The parts that are usual, or those named.
fn chosen(all: Vec<Part>, only: &[String]) -> Result<Vec<Part>, Failure> {
    if let Some(name) = only.iter().find(|name| !all.iter().any(|part| part.name == *name)) {
        let names: Vec<&str> = all.iter().map(|part| part.name).collect();
        return Err(Failure::usage(format!("--part {name}: there are {}", names.join(", "))));
    }
    let asked = |part: &Part| if only.is_empty() { part.usual } else { only.iter().any(|name| name == part.name) };
    Ok(all.into_iter().filter(asked).collect())
}

/// How claims are tested in a size: in turns as `genkai claims` makes them, the quick ones short; the full ones are looked at twice, as
/// what eight blocks do not decide twice as many seldom do.
fn effort(size: Size, pin: &Pin, placement: &Placement) -> Effort {
    let usual = match size {
        Size::Quick => compare::usual(size),
        Size::Full => Usual { looks: vec![5, 8], ..Usual::default() },
    };
    Effort { usual, threads: threads(pin), seed: 1, placement: placement.clone() }
}

/// A run of the experiment.
struct Run<'a> {
    size: Size,
    placement: &'a Placement,
    out: &'a Path,
    output: &'a OutputFlags,
    interrupt: &'a StopFlag,
}

impl Run<'_> {
    /// Makes a part, with its outputs.
    fn part(&self, part: &Part, joined: &mut Joined) -> Result<(), Failure> {
        if !self.output.quiet {
            view::say(&format!("{}: {}", part.name, part.question));
        }
        match &part.task {
            Task::Search(search) => self.search(part, search, joined),
            Task::Changes(connections) => self.changes(part, *connections, joined),
            Task::Claims => {
                let out = self.out.join(part.name);
                let (quiet, interrupt) = (self.output.quiet, self.interrupt);
                let effort = effort(self.size, &Pin::Apart, self.placement);
                let tests = Tests { effort, pin: Pin::Apart, quiet, out: &out, interrupt };
                joined.claims(part, tests.all(&shipped::all(Some(PRODUCT))?));
                Ok(())
            }
        }
    }

    fn search(&self, part: &Part, search: &Search, joined: &mut Joined) -> Result<(), Failure> {
        let dir = self.out.join(part.name);
        let Outcome { record, failure, .. } = self.made(self.placement.of(search.plan.clone()), &dir)?;
        let findings = genkai_analysis::findings(&record);
        found::tuned(&record).write(&record, &dir, self.output.svg)?;
        joined.search(part, search, &record, findings);
        failure.map_or(Ok(()), |failure| Err(failure.into()))
    }

    fn changes(&self, part: &Part, connections: u32, joined: &mut Joined) -> Result<(), Failure> {
        let dir = self.out.join(part.name);
        let plan = self.placement.of(apache::changes(part.name, connections, self.size)?);
        let Outcome { record, failure, .. } = self.made(plan, &dir)?;
        if let Some(found) = found::found(&record) {
            found.write(&record, &dir, self.output.svg)?;
        }
        joined.changes(part, &record);
        failure.map_or(Ok(()), |failure| Err(failure.into()))
    }

    /// One run with its record in `dir`, shown while it goes on.
    fn made(&self, plan: Plan, dir: &Path) -> Result<Outcome, Failure> {
        let job = study::job(plan, study::place(None)?, Pin::Apart, Some(dir.to_owned()), self.interrupt);
        let job = Job { keep: self.output.keep, ..job };
        let view = View::of(&job.plan.study, self.output.quiet, self.output.color, self.interrupt);
        Ok(study::make(&job, view)?)
    }
}
