//! `genkai kubernetes`: what `--on kubernetes:` creates, and what `--on` and `--server` must be allowed.

use genkai_kubernetes::server::{self, Roles, roles, site_roles};
use genkai_kubernetes::{JobPlan, access, deadline, job, yaml};
use genkai_lab::experiment::site::{Images, has_secret, preview};
use genkai_lab::generator::one_load;
use genkai_model::exit::Exit;
use genkai_model::plan::ClusterServer;
use serde::Serialize;

use crate::cli::{Kubernetes, KubernetesAction, Manifest};
use crate::cluster::AnyServer;
use crate::workplace::OnFlag;
use crate::{Failure, site, view};

/// `genkai kubernetes`.
pub(crate) fn run(flags: &Kubernetes) -> Result<Exit, Failure> {
    let KubernetesAction::Manifest(flags) = &flags.action;
    let mut parts = Vec::new();
    if flags.on.is_some() || flags.server.is_none() {
        parts.extend(workers(flags)?);
    }
    match &flags.server {
        Some(AnyServer::Named(_)) if flags.full => {
            return Err(Failure::usage("--full: only the site of an experiment has sizes: --server kubernetes"));
        }
        Some(AnyServer::Named(server)) => parts.extend(copies(server, &flags.user)?),
        Some(AnyServer::Site(images)) => parts.extend(created(images, flags)?),
        None => {}
    }
    view::print(&parts.join("---\n"));
    Ok(Exit::Holds)
}

fn document(object: &impl Serialize) -> Result<String, Failure> {
    yaml(object).map_err(|e| Failure::environment(format!("cannot write YAML: {e}")))
}

/// The Job of a load, and the role for it.
fn workers(flags: &Manifest) -> Result<[String; 3], Failure> {
    let one = || "kubernetes:1".parse::<OnFlag>().map_err(Failure::usage);
    let on = flags.on.clone().map_or_else(one, Ok)?;
    let Some((cluster, pods)) = on.pods() else {
        return Err(Failure::usage("--on: only kubernetes:PODS has a manifest"));
    };
    let deadline = deadline(cluster, one_load(flags.duration));
    let job = job(cluster, &JobPlan { name: "genkai-00000000".to_owned(), pods, deadline });
    let (role, binding) = access(cluster.namespace.as_deref(), &flags.user);
    Ok([
        "# What --on creates. The digits of its name are drawn anew for each run; the deadline is that of a load of this duration.\n"
            .to_owned()
            + &document(&job)?,
        "# What whoever runs genkai with --on must be allowed to do, for an administrator to create once.\n".to_owned()
            + &document(&role)?,
        document(&binding)?,
    ])
}

/// The roles for a server in a cluster.
fn copies(server: &ClusterServer, user: &str) -> Result<Vec<String>, Failure> {
    allowed(&roles(server, user), "# With copies=NAMESPACE none of this is needed.\n")
}

/// What an experiment creates in its namespace, and the role for it.
fn created(images: &Images, flags: &Manifest) -> Result<Vec<String>, Failure> {
    const NAME: &str = "genkai-00000000";
    let plan = site::plan(flags.full, None, images);
    let (pods, before) = preview(&plan, images)?;
    let heading = "# What --server kubernetes creates. The digits of the namespace, passwords (drawn-anew-for-each-run) and the addresses of pods\n\
                   # (here 192.0.2.1) are known only when it runs. Copies of the last Deployment are what is loaded.\n";
    let mut all = vec![heading.to_owned() + &document(&server::namespace(NAME))?];
    for pod in &pods {
        let (secret, files, deployment) = server::pod(NAME, pod);
        all.extend(secret.map(|one| document(&one)).transpose()?);
        all.extend(files.map(|one| document(&one)).transpose()?);
        all.push(document(&deployment)?);
    }
    let (file, deployment) = server::server(NAME, &before);
    all.extend([document(&file)?, document(&deployment)?]);
    all.extend(allowed(&site_roles(has_secret(&plan), &flags.user), "")?);
    Ok(all)
}

/// Roles with their bindings. `without` is how to do without those in the whole cluster.
fn allowed(roles: &Roles, without: &str) -> Result<Vec<String>, Failure> {
    let Roles { local, whole } = roles;
    let mut all = Vec::new();
    for (role, binding) in local {
        let of = role.metadata.namespace.as_deref().unwrap_or_default();
        let heading =
            format!("# What whoever runs genkai with --server must be allowed to do in the namespace {of}.\n");
        all.extend([heading + &document(role)?, document(binding)?]);
    }
    if let Some((role, binding)) = whole {
        let heading = format!(
            "# What it must be allowed in the whole cluster, as the namespace for copies has a name that is drawn anew for each run.\n{without}"
        );
        all.extend([heading + &document(role)?, document(binding)?]);
    }
    Ok(all)
}
