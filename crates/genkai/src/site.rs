//! Experiment 1 on a site that is made for it in a cluster.

use genkai_engine::StopFlag;
use genkai_lab::experiment::site::{self, Images};
use genkai_lab::experiment::{self, Size};
use genkai_model::load::Scale;
use genkai_model::plan::Plan;

use crate::Failure;

/// The plan of experiment 1 for a cluster, whose application is that of its size, unless images of another are named.
pub(crate) fn plan(full: bool, connections: Option<&str>, images: &Images) -> Plan {
    let size = if full { Size::Full } else { Size::Quick };
    let mut plan = experiment::nginx_worker_connections(size, connections.unwrap_or(experiment::DEFAULT_CONNECTIONS));
    if images.names_site() {
        plan.system.backend = experiment::wordpress();
    }
    plan
}

/// Makes servers in a cluster, and a run of them by `run`; what was made there is removed.
pub(crate) fn made<T>(
    mut plan: Plan,
    images: &Images,
    scale: &Scale,
    interrupt: &StopFlag,
    run: impl FnOnce(Plan) -> Result<T, Failure>,
) -> Result<T, Failure> {
    plan.load.scale = scale.clone();
    let (site, plan) = site::open(plan, images, interrupt)?;
    let exit = run(plan);
    match (site.end(), exit) {
        (Ok(()), exit) => exit,
        (Err(e), Ok(_)) => Err(Failure::environment(e.to_string())),
        (Err(e), Err(failure)) => {
            eprintln!("genkai: {e}");
            Err(failure)
        }
    }
}
