//! Advice put to the test, a claim after the other: a line is shown to the server's own check, a change is compared with the
//! system without it. Each has a folder and a record of its own, from which all that is said of it follows.

use genkai_analysis::claims::{ACCEPTED, CLAMPED, REFUSED, UNKNOWN, WARNED};
use genkai_model::claim::{Claim, LoadTest, Test};
use genkai_model::comparison::{Comparison, Contender, Runs};
use genkai_model::figure::Figure;
use genkai_model::load::Load;
use genkai_model::objective::Objective;
use genkai_model::plan::{Plan, Study};
use genkai_model::setting::RequestedChange;
use genkai_model::units::Span;
use genkai_targets::product::{Rejection, RejectionKind};

use crate::compare::{self, BASELINE, Usual};
use crate::error::LabError;
use crate::folder::Folder;
use crate::job::{Job, Outcome};
use crate::placement::Placement;
use crate::recorder::Watcher;
use crate::size::{Size, procedure};
use crate::system;

/// Largest effect that does not matter.
pub const MARGIN: f64 = 0.05;

/// How claims are tested where they say nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Effort {
    /// Turns and looks.
    pub usual: Usual,
    /// Threads of the generator.
    pub threads: u16,
    /// Seed of the orders.
    pub seed: u64,
    /// Where loads are made.
    pub placement: Placement,
}

/// The plan of a claim's test.
///
/// # Errors
/// When its changes cannot be made on its system.
pub fn plan(claim: &Claim, effort: &Effort) -> Result<Plan, LabError> {
    let (contenders, load, objective, hold, deciding) = match &claim.test {
        Test::Line(_) => {
            let system = Box::new(claim.system.clone());
            let one = Contender { name: BASELINE.to_owned(), runs: Runs::Server { system, changes: Vec::new() } };
            (vec![one], Load::users(1, 1.0), Objective::default(), None, vec![Figure::Failures])
        }
        Test::Load(test) => {
            let load = Load { threads: effort.threads, ..test.load.clone() };
            let deciding = test.promises.iter().map(|promise| promise.figure).collect();
            (contenders(claim, test, &load)?, load, test.objective.clone(), test.hold, deciding)
        }
    };
    let hold = hold.filter(|hold: &Span| hold.0 >= Span::from_millis(200).0).unwrap_or(effort.usual.hold);
    let first = match &contenders[0].runs {
        Runs::Server { system, .. } => (**system).clone(),
        Runs::Url(_) => claim.system.clone(),
    };
    let comparison = Comparison {
        base: Some(BASELINE.to_owned()),
        contenders,
        control: true,
        ramp: effort.usual.ramp,
        hold,
        looks: effort.usual.looks.clone(),
        margin: MARGIN,
        deciding,
        seed: effort.seed,
        claim: Some(Box::new(claim.clone())),
    };
    let load = Load { tick: compare::tick(hold), ..load };
    let plan = Plan::of(format!("claim {}", claim.name), first, load, objective, procedure(Size::Quick));
    Ok(effort.placement.of(Plan { study: Study::Compare(comparison), ..plan }))
}

fn contenders(claim: &Claim, test: &LoadTest, load: &Load) -> Result<Vec<Contender>, LabError> {
    let change =
        |text: &String| text.parse::<RequestedChange>().map_err(|e| LabError::Plan(format!("{}: {e}", claim.name)));
    let requested = test.changes.iter().map(change).collect::<Result<Vec<_>, _>>()?;
    compare::with_changes(claim.system.clone(), &requested, load, true)
}

/// The line that a plan's claim asks about, where it asks about one.
pub(crate) fn line(plan: &Plan) -> Option<&str> {
    match &plan.comparison()?.claim.as_ref()?.test {
        Test::Line(line) => Some(line),
        Test::Load(_) => None,
    }
}

/// Shows a line to the server's own check.
///
/// # Errors
/// When the check could not be asked.
pub(crate) fn check(job: &Job<'_>, line: &str, watcher: &mut Watcher<'_>) -> Result<Outcome, LabError> {
    let ask = |folder: &Folder| {
        let behind = system::placeholder(&job.plan.system.backend)?;
        let prepared = system::prepare(&job.plan.system, &job.plan.load, behind, folder.private("check")?)?;
        let rejection = prepared.rejects(line)?;
        Ok((system::environment(&job.pin, Some(&*prepared)), rejection))
    };
    job.recorded(watcher, ask, |(environment, rejection), _, recorder| {
        recorder.now(None, job.head(environment.clone(), &[]))?;
        let (id, text) = match rejection.take() {
            Some(Rejection { kind: RejectionKind::Unknown, words }) => (UNKNOWN, words),
            Some(Rejection { kind: RejectionKind::Refused, words }) => (REFUSED, words),
            Some(Rejection { kind: RejectionKind::Clamped, words }) => (CLAMPED, words),
            Some(Rejection { kind: RejectionKind::Warned, words }) => (WARNED, words),
            None => (ACCEPTED, format!("the server's own check accepts `{line}`")),
        };
        recorder.note(None, id, text)
    })
}
