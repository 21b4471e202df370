//! Experiment 1 with WordPress in a cluster, against a stand-in for a cluster that runs its pods as containers.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

use genkai_model::event::Tick;
use genkai_model::record::Record;

use crate::cluster::{Behaviour, Cluster};
use crate::harness::loads::show;
use crate::harness::servers::Guard;
use crate::harness::{checked, genkai, machine, signal, until, wait};

/// How long anything may take on a busy machine.
const LONGEST: Duration = Duration::from_secs(300);
/// Nothing is left 10 s after the end of genkai; on a busy machine it is given three times that.
const PROMISED: Duration = Duration::from_secs(30);

#[test]
fn experiment_1_runs_before_wordpress_in_pods() {
    let _machine = machine();
    // Its servers listen where they do in pods: on ports that others may have here.
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).unwrap();
    assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap().success());
    let cluster = Cluster::start(Behaviour::default());
    let place = "kubernetes,wordpress=registry.example/wordpress:1,database=registry.example/mariadb:1,wait=120s";
    let out = tempfile::tempdir().unwrap();
    let out = out.path().join("run");
    let mut command =
        genkai(&format!("experiment run nginx-worker-connections --worker-connections 64 --server {place}"));
    command.arg("--out").arg(&out).env("KUBECONFIG", cluster.config()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut run = Guard(command.spawn().unwrap());
    let record = || std::fs::read_to_string(out.join("run.jsonl")).unwrap_or_default();
    // The whole of it takes minutes: WordPress answers as slowly as it does.
    until("the end of its first trial", LONGEST, || {
        (record().contains("\"event\":\"trial_ended\"") || run.0.try_wait().unwrap().is_some()).then_some(())
    });
    if run.0.try_wait().unwrap().is_none() {
        signal(run.0.id(), "INT");
    }
    let mut said = String::new();
    run.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(wait(&mut run.0, LONGEST).code(), Some(130), "{said}");
    checked::folder(&out);
    let told = record();
    let read = Record::read(told.lines()).unwrap();
    assert!(read.head.unwrap().plan.title.ends_with("in a cluster, before WordPress"));
    let trial = &read.trials[0];
    let sum = |of: fn(&Tick) -> u64| trial.ticks.iter().map(of).sum::<u64>();
    let (answered, bytes) = (sum(|tick| tick.ok), sum(|tick| tick.bytes_in));
    // Its front page has about 60 KB; what nginx says itself, some hundred bytes.
    assert!(answered > 0 && bytes / answered > 40_000, "{answered} responses of {bytes} bytes: {said}");

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
    assert!(!told.contains(secrets[0]) && !said.contains(secrets[0]));
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
    let both = refused(&format!("{place} --beside"));
    assert!(both.contains("create secrets"), "before anything is run here: {both}");
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
