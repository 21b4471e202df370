//! Experiment 1 with WordPress in a cluster and on one machine, against a stand-in for a cluster that runs its pods as containers.

#[path = "harness/cluster/mod.rs"]
mod cluster;
mod harness;

use std::process::Command;
use std::time::Duration;

use cluster::{Behaviour, Cluster};
use genkai_model::finding::Because;
use harness::loads::show;
use harness::{genkai, machine, run, until};

/// Nothing is left 10 s after the end of genkai; on a busy machine it is given three times that.
const PROMISED: Duration = Duration::from_secs(30);

#[test]
fn experiment_1_runs_before_wordpress_in_pods() {
    let _machine = machine();
    // Its servers listen where they do in pods: on ports that others may have here.
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).unwrap();
    assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap().success());
    let cluster = Cluster::start(Behaviour::default());
    let place = "kubernetes,wordpress=registry.example/wordpress:1,database=registry.example/mariadb:1";
    let mut command =
        genkai(&format!("experiment run nginx-worker-connections --worker-connections 64 --server {place}"));
    let run = run(command.env("KUBECONFIG", cluster.config()));
    let (story, verdict) = (run.story(), run.verdict());
    assert!(run.stdout.contains("in a cluster, before WordPress"), "{story}");
    // The value is what stops it, whatever of the rest this machine carries.
    assert_eq!(run.code, Some(1), "{story}");
    assert_eq!(verdict.causes[0].limit.setting, "worker_connections", "{story}");
    assert_ne!(verdict.because(), Because::Unanswered, "{story}");
    assert!(verdict.trials[0].finished > verdict.trials[0].failed, "{story}");

    // Two pods with a password that stands in Secrets alone, as an ordinary user without rights.
    let sent = cluster.sent();
    let deployment = |name: &str| {
        let one = sent.iter().find(|one| one["metadata"]["name"] == name && one["spec"]["template"].is_object());
        one.unwrap()["spec"]["template"]["spec"].clone()
    };
    for (name, containers) in [("database", 1), ("application", 2)] {
        let pod = deployment(name);
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_eq!(pod["containers"].as_array().unwrap().len(), containers);
    }
    let secrets: Vec<&str> = sent.iter().filter_map(|one| one["stringData"]["PASSWORD"].as_str()).collect();
    assert!(secrets.len() == 2 && secrets[0] == secrets[1] && secrets[0].len() == 32);
    let told = std::fs::read_to_string(run.out.join("run.jsonl")).unwrap();
    assert!(!told.contains(secrets[0]) && !run.stdout.contains(secrets[0]));
    until("all that was made to be removed", PROMISED, || cluster.list().is_empty().then_some(()));
    assert!(cluster.containers().is_empty());

    // What may not be done is told before anything is made, as it is needed: without a password no Secret is.
    let denied = Behaviour { denied: &["create secrets", "get configmaps"], ..Behaviour::default() };
    let cluster = Cluster::start(denied);
    let refused = |place: &str| {
        let mut command = genkai(&format!("experiment run nginx-worker-connections --server {place}"));
        let shown = show(command.env("KUBECONFIG", cluster.config()));
        assert_eq!(shown.code, Some(3), "{}", shown.story());
        shown.story()
    };
    let with = refused(place);
    assert!(with.contains("in a namespace of genkai's own: get configmaps, create secrets"), "{with}");
    let without = refused("kubernetes");
    assert!(without.contains("in a namespace of genkai's own: get configmaps"), "{without}");
    assert!(!without.contains("create secrets"), "{without}");
    assert!(cluster.sent().is_empty());
}

#[test]
fn what_an_experiment_creates_is_printed() {
    let shown = show(&mut genkai("kubernetes manifest --server kubernetes,database=r/db:1 --user jane"));
    let text = &shown.stdout;
    for wanted in [
        "kind: Namespace",
        "kind: Secret",
        "image: r/db:1",
        "image: docker.io/library/wordpress:php8.3-fpm",
        "name: application",
        "worker_connections 512",
        "kind: ClusterRole",
        "- secrets",
        "name: jane",
    ] {
        assert!(text.contains(wanted), "{wanted}: {}", shown.story());
    }
    let plain = show(&mut genkai("kubernetes manifest --server kubernetes"));
    assert!(plain.stdout.contains("kind: Namespace") && !plain.stdout.contains("secrets"), "{}", plain.story());
    let full = show(&mut genkai("kubernetes manifest --server kubernetes --full"));
    assert!(full.stdout.contains("kind: Secret"), "{}", full.story());
    let wrong = show(&mut genkai("kubernetes manifest --server kubernetes:web/deployment/shop --full"));
    assert_eq!(wrong.code, Some(2), "{}", wrong.story());
}
