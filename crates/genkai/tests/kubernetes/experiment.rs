//! Experiment 1 in a cluster, against a stand-in for one that runs its pods as containers.

use std::process::Command;
use std::time::Duration;

use genkai_model::finding::Because;
use genkai_model::platforms::PlatformsFinding;
use serde_json::Value;

use crate::cluster::{Behaviour, Cluster, Served};
use crate::harness::loads::show;
use crate::harness::{Run, genkai, machine, run, until};

/// Nothing is left 10 s after the end of genkai; on a busy machine it is given three times that.
const PROMISED: Duration = Duration::from_secs(30);

/// Servers listen where they do in pods: on ports that others may have here.
fn own_network() {
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).unwrap();
    assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap().success());
}

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
    own_network();
    let cluster = Cluster::start(Behaviour::default());
    let place = "kubernetes,product=registry.example/nginx:1,image=registry.example/genkai:1";
    let here = run(&genkai("experiment run nginx-worker-connections --worker-connections 64"));
    assert_eq!(here.code, Some(1), "{}", here.story());
    let words = "experiment run nginx-worker-connections --worker-connections 64 --on kubernetes:2,namespace=load";
    let beside = format!("--server {place} --beside={}", here.out.display());
    let both = run(genkai(&format!("{words} {beside}")).env("KUBECONFIG", cluster.config()));
    let story = both.story();
    assert_eq!(both.code, Some(1), "{story}");
    is_told_of_both(&both, &here);
    // A run of another value is no other side of it.
    let words = format!("experiment run nginx-worker-connections {beside}");
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

/// One report of what was run here and of what the cluster's pods have shown.
fn is_told_of_both(both: &Run, here: &Run) {
    let story = both.story();
    let text = std::fs::read_to_string(both.out.join("verdict.json")).unwrap();
    let finding: PlatformsFinding = serde_json::from_str(&text).unwrap();
    assert!(!finding.interrupted, "{story}");
    let [machine, pods] = &finding.platforms[..] else { panic!("two platforms: {story}") };
    assert_eq!((machine.name.as_str(), pods.name.as_str()), ("machine", "cluster"));
    assert_eq!(machine.verdict.trials.len(), here.verdict().trials.len(), "taken as it is");
    for one in [&machine.verdict, &pods.verdict] {
        let proposed = one.proposal.iter().find(|one| one.change.setting == "worker_connections");
        assert_eq!(proposed.map(|one| one.change.from.as_str()), Some("64"), "{story}");
        assert!(one.because() == Because::ProvedAndHolds, "{story}");
        assert!(story.contains(&proposed.unwrap().change.to), "{story}");
    }
    assert!(both.stdout.starts_with("Yes: change worker_connections from 64 to "), "{story}");
    let own = show(&mut genkai(&format!("report {}", both.out.join("cluster").display())));
    assert!(own.stdout.contains("-        worker_connections 64;"), "so it stands in the ConfigMap: {}", own.story());
    let words = own.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("was made for this run and is removed at its end, and its ConfigMap with it"),
        "{}",
        own.story()
    );
    // It says which application that was, and who made the load.
    assert!(both.stdout.contains("in a cluster, before genkai's"), "{story}");
    let workers = &pods.verdict.trials[0].workers;
    assert_eq!(workers.iter().map(|one| one.place.as_str()).collect::<Vec<_>>(), ["pod load/0", "pod load/1"]);
    for file in ["report.html", "machine/report.html", "cluster/report.html", "cluster/verdict.json"] {
        assert!(both.out.join(file).is_file(), "{file}: {story}");
    }
    let again = show(&mut genkai(&format!("report {} --check", both.out.display())));
    assert_eq!(again.code, Some(0), "{}", again.story());
}

#[test]
fn a_cluster_whose_pods_have_ipv6_addresses_is_refused() {
    let _machine = machine();
    own_network();
    let cluster = Cluster::start(Behaviour { ipv6: true, ..Behaviour::default() });
    let mut command =
        genkai("experiment run nginx-worker-connections --server kubernetes,image=registry.example/genkai:1");
    let shown = show(command.env("KUBECONFIG", cluster.config()));
    let story = shown.story();
    let expected =
        "the application was given the address fd00::5: what this experiment starts in pods listens by IPv4 alone";
    assert!(shown.code == Some(3) && story.contains(expected), "{story}");
    until("all that was made to be removed", PROMISED, || cluster.list().is_empty().then_some(()));
}
