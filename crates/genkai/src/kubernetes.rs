//! `genkai kubernetes`: what `--on kubernetes:` creates.

use genkai_kubernetes::{JobPlan, access, deadline, job, yaml};
use genkai_lab::generator::one_load;
use genkai_model::exit::Exit;

use crate::cli::{Kubernetes, KubernetesAction};
use crate::{Failure, view};

/// `genkai kubernetes`.
pub(crate) fn run(flags: &Kubernetes) -> Result<Exit, Failure> {
    let KubernetesAction::Manifest(flags) = &flags.action;
    let Some((cluster, pods)) = flags.on.pods() else {
        return Err(Failure::usage("--on: only kubernetes:PODS has a manifest"));
    };
    let deadline = deadline(cluster, one_load(flags.duration));
    let job = job(cluster, &JobPlan { name: "genkai-00000000".to_owned(), pods, deadline });
    let (role, binding) = access(cluster.namespace.as_deref(), &flags.user);
    let failed = |e| Failure::environment(format!("cannot write YAML: {e}"));
    let parts = [
        "# What --on creates. The digits of its name are drawn anew for each run; the deadline is that of a load of this duration.\n"
            .to_owned(),
        yaml(&job).map_err(failed)?,
        "---\n# What whoever runs genkai must be allowed to do, for an administrator to create once.\n".to_owned(),
        yaml(&role).map_err(failed)?,
        "---\n".to_owned(),
        yaml(&binding).map_err(failed)?,
    ];
    view::print(&parts.concat());
    Ok(Exit::Holds)
}
