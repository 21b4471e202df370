//! Experiment 1 in a cluster, against a stand-in for one that runs its pods as containers.

#[path = "harness/cluster/mod.rs"]
mod cluster;
mod harness;

use std::process::Command;
use std::time::Duration;

use cluster::{Behaviour, Cluster, Served};
use genkai_model::finding::Because;
use harness::loads::show;
use harness::{genkai, machine, run, until};

/// Nothing is left 10 s after the end of genkai; on a busy machine it is given three times that.
const PROMISED: Duration = Duration::from_secs(30);

#[test]
fn experiment_1_runs_on_a_site_of_its_own_in_the_cluster() {
    let _machine = machine();
    // Its servers listen where they do in pods: on ports that others may have here.
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).unwrap();
    assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap().success());
    let cluster = Cluster::start(Behaviour::default());
    let place = "kubernetes,product=registry.example/nginx:1,image=registry.example/genkai:1";
    let mut command =
        genkai(&format!("experiment run nginx-worker-connections --worker-connections 256 --server {place}"));
    let run = run(command.env("KUBECONFIG", cluster.config()));
    let (story, verdict) = (run.story(), run.verdict());
    assert_eq!(run.code, Some(1), "{story}");
    let proposed = verdict.proposal.iter().find(|one| one.change.setting == "worker_connections");
    assert_eq!(proposed.map(|one| one.change.from.as_str()), Some("256"), "{story}");
    assert!(verdict.because() == Because::ProvedAndHolds, "{story}");
    // It says which application that was.
    assert!(run.stdout.contains("in a cluster, before genkai's"), "{story}");
    let sent = cluster.sent();
    let application = sent.iter().find(|one| one["metadata"]["name"] == "application").unwrap();
    assert_eq!(application["spec"]["template"]["spec"]["containers"][0]["image"], "registry.example/genkai:1");
    until("all that was made to be removed", PROMISED, || cluster.list().is_empty().then_some(()));
    assert!(cluster.containers().is_empty());

    // What cannot be made is told, and nothing is left.
    let none = Behaviour { served: Served { no_image: true, ..Served::default() }, ..Behaviour::default() };
    let cluster = Cluster::start(none);
    let mut command = genkai(&format!("experiment run nginx-worker-connections --server {place}"));
    let shown = show(command.env("KUBECONFIG", cluster.config()));
    let story = shown.story();
    assert!(shown.code == Some(3) && story.contains("the application does not come: ImagePullBackOff"), "{story}");
    until("all that was made to be removed", PROMISED, || cluster.list().is_empty().then_some(()));
}
