//! Experiment 1 in a cluster, against a stand-in for one that runs its pods as containers.

#[path = "harness/cluster/mod.rs"]
mod cluster;
mod harness;

use std::process::Command;
use std::time::Duration;

use cluster::{Behaviour, Cluster, Served};
use genkai_model::finding::Because;
use genkai_model::platforms::PlatformsFinding;
use harness::loads::show;
use harness::{genkai, machine, run, until};
use serde_json::Value;

/// Nothing is left 10 s after the end of genkai; on a busy machine it is given three times that.
const PROMISED: Duration = Duration::from_secs(30);

#[test]
fn both_platforms_are_shown_in_one_report() {
    // What two runs of the experiment leave: here the same record twice.
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path();
    let of = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records/tune-nginx/run.jsonl");
    let record = std::fs::read_to_string(of).unwrap();
    for (platform, title) in [
        ("machine", "nginx-worker-connections (quick)"),
        ("cluster", "nginx-worker-connections (quick) in a cluster, before WordPress"),
    ] {
        std::fs::create_dir(out.join(platform)).unwrap();
        let named = record.replacen("\"title\":\"tune nginx\"", &format!("\"title\":\"{title}\""), 1);
        assert_ne!(named, record);
        std::fs::write(out.join(platform).join("run.jsonl"), named).unwrap();
    }
    let again = |words: &str| show(&mut genkai(&format!("report {} {words}", out.display())));
    let told = again("");
    let story = told.story();
    assert_eq!(told.code, Some(1), "{story}");
    for wanted in
        ["machine", "cluster", "broke at", "proposed", "proof: failed after", "no comparison of the platforms"]
    {
        assert!(story.contains(wanted), "{wanted}: {story}");
    }
    let verdict = std::fs::read_to_string(out.join("verdict.json")).unwrap();
    let stored: Value = serde_json::from_str(&verdict).unwrap();
    let finding: PlatformsFinding = serde_json::from_str(&verdict).unwrap();
    let names: Vec<&str> = finding.platforms.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["machine", "cluster"], "{story}");
    let markdown = again("--markdown");
    assert!(markdown.stdout.contains("| machine | cluster |"), "{}", markdown.story());
    assert_eq!(std::fs::read_to_string(out.join("verdict.json")).unwrap(), verdict);
    let held = again("--check --json");
    assert!(held.code == Some(0) && held.stdout.contains("(cluster in both)"), "{}", held.story());

    // A figure that is changed in the common report alone is found.
    let mut wrong = stored;
    let figure = "/platforms/1/verdict/trials/0/finished";
    let statements = wrong["statements"].as_array_mut().unwrap();
    let of = statements.iter_mut().find(|one| one["address"] == figure).expect("it has an address");
    of["value"]["count"] = 1.into();
    *wrong.pointer_mut(figure).unwrap() = 1.into();
    std::fs::write(out.join("verdict.json"), wrong.to_string()).unwrap();
    let found = again("--check");
    assert_eq!(found.code, Some(1), "{}", found.story());

    // Of a run that is missing it is said.
    std::fs::remove_dir_all(out.join("cluster")).unwrap();
    let half = again("");
    assert!(half.code == Some(130) && half.stdout.contains("a platform may be missing"), "{}", half.story());
}

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
    // A run of another value is no other side of it.
    let words = format!("experiment run nginx-worker-connections --server {place} --beside={}", run.out.display());
    let shown = show(genkai(&words).env("KUBECONFIG", cluster.config()));
    assert!(shown.code == Some(2) && shown.stderr.contains("with other values"), "{}", shown.story());
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
