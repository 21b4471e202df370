//! What can run here, and whether a plan can.

use std::path::{Path, PathBuf};

use genkai_model::event::Environment;
use genkai_model::latencies::LatencyComparison;
use genkai_model::load::Scale;
use genkai_model::plan::Plan;
use genkai_place::machine;
use genkai_targets::application::{self, Place, Product};

use crate::compare::distinct;
use crate::error::LabError;
use crate::generator::largest_share;
use crate::system::{self, Pin};

/// Descriptors of this process that are no clients.
const OTHERS: u64 = 100;

/// Where the applications are: the folder given, else `apps` in the current folder or beside a folder in which genkai's own
/// program lies (it is built into `target/` of its source).
pub fn place(program: &Path, apps: Option<&Path>) -> Place {
    let is_apps = |path: &PathBuf| path.join("protocol").is_dir();
    let near = std::env::current_dir().into_iter().chain(program.ancestors().skip(1).map(Path::to_owned));
    let found = apps.map(Path::to_owned).or_else(|| near.map(|folder| folder.join("apps")).find(is_apps));
    Place { program: program.to_owned(), apps: found }
}

/// Servers that can run here, and why each of the others cannot.
pub fn available(place: &Place) -> (Vec<&'static str>, Vec<String>) {
    let (mut can, mut cannot) = (Vec::new(), Vec::new());
    for product in application::PRODUCTS {
        match product.check(place) {
            Ok(()) => can.push(product.name),
            Err(e) => cannot.push(e.to_string()),
        }
    }
    (can, cannot)
}

/// Checks a plan before anything is started.
///
/// # Errors
/// When it contradicts itself, or something that it needs is missing.
pub(crate) fn check(
    plan: &Plan,
    comparison: &LatencyComparison,
    place: &Place,
    pin: &Pin,
) -> Result<Environment, LabError> {
    if comparison.contenders.len() < 2 {
        return Err(LabError::Plan("there must be at least two servers to compare".to_owned()));
    }
    distinct(comparison.contenders.iter().map(|one| &one.name))?;
    for contender in &comparison.contenders {
        let product = application::find(&contender.server)?;
        let settings = application::settings::Settings::read(&contender.settings, product.knobs);
        settings.map_err(|why| LabError::Plan(format!("{}: {why}", contender.server)))?;
        runs(product, place)?;
    }
    let environment = system::environment(pin, None);
    let scale = &plan.load.scale;
    if comparison.clients < scale.processes.into() {
        return Err(LabError::Plan(format!(
            "{} clients cannot be spread over {} processes\n  hint: at least one for each",
            comparison.clients, scale.processes
        )));
    }
    if scale.here() > 0 {
        let limit = environment.descriptors.max(machine::hard_descriptors());
        fits(comparison, scale, limit).map_err(LabError::Environment)?;
    }
    Ok(environment)
}

/// Whether each process may have as many descriptors as its clients need.
///
/// # Errors
/// When it may not, with the most clients that fit.
pub(super) fn fits(comparison: &LatencyComparison, scale: &Scale, limit: u64) -> Result<(), String> {
    let servers = comparison.contenders.len() as u64;
    let needed = u64::from(largest_share(comparison.clients, scale.processes)) * servers + OTHERS;
    if needed <= limit {
        return Ok(());
    }
    let most = limit.saturating_sub(OTHERS) / servers * u64::from(scale.processes);
    Err(format!(
        "{} clients of {servers} servers need {needed} descriptors in one process, which may have {limit}\n  hint: --clients {most}, more \
         --processes (or machines: --on), or raise the limit (`ulimit -Hn`)",
        comparison.clients
    ))
}

/// Whether a server can run here.
///
/// # Errors
/// What is missing, and which others can.
pub(crate) fn runs(product: &Product, place: &Place) -> Result<(), LabError> {
    product.check(place).map_err(|why| {
        let (can, _) = available(place);
        LabError::Environment(format!("{why}\n  hint: these can run: {}", can.join(", ")))
    })
}
