//! Experiment 1 in a cluster, against a stand-in for one that runs its pods as containers.

#[path = "harness/cluster/mod.rs"]
mod cluster;
mod harness;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cluster::{Behaviour, Cluster, Served};
use genkai_model::finding::{Because, Verdict};
use genkai_model::platforms::PlatformsFinding;
use harness::loads::show;
use harness::{genkai, machine, run, until};
use serde_json::Value;

/// Nothing is left 10 s after the end of genkai; on a busy machine it is given three times that.
const PROMISED: Duration = Duration::from_secs(30);

/// One report has both platforms, is made again from their records, and each of its figures is recomputed.
fn both_platforms_are_shown(out: &Path, verdict: &str, story: &str) {
    let stored: Value = serde_json::from_str(verdict).unwrap();
    let finding: PlatformsFinding = serde_json::from_str(verdict).unwrap();
    let names: Vec<&str> = finding.platforms.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["machine", "cluster"], "{story}");
    for one in &finding.platforms {
        assert_eq!(one.verdict.causes[0].limit.setting, "worker_connections", "{story}");
    }
    for wanted in ["broke at", "proposed", "proof: failed after", "no comparison of the platforms"] {
        assert!(story.contains(wanted), "{wanted}: {story}");
    }
    let again = |words: &str| show(&mut genkai(&format!("report {} {words}", out.display())));
    let markdown = again("--markdown");
    assert!(markdown.stdout.contains("| machine | cluster |"), "{}", markdown.story());
    assert_eq!(std::fs::read_to_string(out.join("verdict.json")).unwrap(), verdict);
    let held = again("--check");
    assert!(held.code == Some(0) && held.stdout.contains("cluster in both"), "{}", held.story());

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
    std::fs::write(out.join("verdict.json"), verdict).unwrap();
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
        genkai(&format!("experiment run nginx-worker-connections --worker-connections 256 --beside --server {place}"));
    let run = run(command.env("KUBECONFIG", cluster.config()));
    let story = run.story();
    assert_eq!(run.code, Some(1), "{story}");
    let read = |path: &str| std::fs::read_to_string(run.out.join(path)).unwrap_or_else(|e| panic!("{path}: {e}: {story}"));
    both_platforms_are_shown(&run.out, &read("verdict.json"), &story);
    let verdict: Verdict = serde_json::from_str(&read("cluster/verdict.json")).unwrap();
    let proposed = verdict.proposal.iter().find(|one| one.change.setting == "worker_connections");
    assert_eq!(proposed.map(|one| one.change.from.as_str()), Some("256"), "{story}");
    assert!(verdict.because() == Because::ProvedAndHolds, "{story}");
    // It says which application that was.
    assert!(run.stdout.contains("in a cluster, before genkai's"), "{story}");
    // A run of another value is no other side of it.
    let other = run.out.join("machine");
    let words = format!("experiment run nginx-worker-connections --server {place} --beside={}", other.display());
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
