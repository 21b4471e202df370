//! A load made by pods of a Job, against a stand-in for a cluster that runs them as processes.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use genkai_model::finding::Verdict;
use genkai_model::machine::PlacesCheckup;
use k8s_openapi::api::batch::v1::Job;

use crate::cluster::{Behaviour, Cluster};
use crate::harness::loads::{Shown, show};
use crate::harness::servers::{Counting, Guard};
use crate::harness::{all_gone, descendants, genkai, machine, signal, until, wait};

const LONGEST: Duration = Duration::from_secs(60);
/// Nothing is left 10 s after the end of genkai; on a busy machine it is given three times that.
const PROMISED: Duration = Duration::from_secs(30);

/// genkai with these words, as somebody who has the cluster's kubeconfig.
fn inside(cluster: &Cluster, words: &str) -> Command {
    let mut command = genkai(words);
    command.env("KUBECONFIG", cluster.config());
    command
}

/// Until nothing is left in the namespace.
fn is_empty(cluster: &Cluster) {
    until("the Job and its pods to be removed", PROMISED, || cluster.list().is_empty().then_some(()));
}

#[test]
fn pods_make_one_load_and_nothing_is_left() {
    let _machine = machine();
    let (cluster, nginx) = (Cluster::start(Behaviour { nodes: 2, ..Behaviour::default() }), Counting::start());
    for words in ["--users 6 -n 1001", "--rate 800 --connections 7 -n 1001 -d 60s"] {
        let before = nginx.requests();
        let on = "--on kubernetes:3,namespace=load --on here --json";
        let shown = show(&mut inside(&cluster, &format!("load {} {words} {on}", nginx.url())));
        let made = shown.faultless();
        assert_eq!((made.finished, nginx.requests() - before - 1), (1001, 1001), "{words}");
        assert_eq!((made.latency.count, made.used.unwrap().processes), (1001, 4), "{words}");
        let places: Vec<&str> = made.workers.iter().map(|one| one.place.as_str()).collect();
        assert_eq!(places, ["pod load/0", "pod load/1", "pod load/2", "here"], "{words}");
        // Spread over the nodes, and told so.
        let nodes: Vec<Option<&str>> = made.workers.iter().map(|one| one.node.as_deref()).collect();
        assert_eq!(nodes, [Some("node-1"), Some("node-2"), Some("node-1"), None], "{words}");
        for one in &made.workers {
            let own = one.place == "here";
            assert!(one.began.is_some() && one.clock_uncertainty.is_none() == own, "{one:?}");
        }
        is_empty(&cluster);
    }
}

#[test]
fn what_is_created_is_what_the_manifest_shows() {
    let _machine = machine();
    // An API server that cannot end standard input alone is enough.
    let (cluster, nginx) = (Cluster::start(Behaviour { old: true, ..Behaviour::default() }), Counting::start());
    let on = "--on kubernetes:2,namespace=load,image=registry.example/genkai:1,cpu=500m,memory=256Mi,wait=20s";
    let shown = show(&mut inside(&cluster, &format!("load {} --users 2 -n 20 -d 30s {on} --json", nginx.url())));
    assert_eq!(shown.faultless().finished, 20);
    let manifest = show(&mut genkai(&format!("kubernetes manifest {on} --duration 30s"))).stdout;
    let mut documents = manifest.split("\n---\n");
    let mut shown: Job = serde_saphyr::from_str(documents.next().unwrap()).unwrap();
    assert_eq!(documents.count(), 2, "the role and its binding");
    let [created] = &cluster.created()[..] else { panic!("one Job: {:?}", cluster.created()) };
    let drawn = created.metadata.name.clone().unwrap();
    let text = serde_json::to_string(&shown).unwrap().replace("genkai-00000000", &drawn);
    shown = serde_json::from_str(&text).unwrap();
    assert_eq!(shown, *created);
    is_empty(&cluster);
}

#[test]
fn systems_are_tuned_by_one_job_for_all_loads() {
    let _machine = machine();
    let cluster = Cluster::start(Behaviour::default());
    let out = tempfile::tempdir().unwrap();
    let words = "tune nginx --users 20 --spawn-rate 40 --hold 1s --on kubernetes:2 --quick";
    let shown = show(inside(&cluster, words).arg("--out").arg(out.path().join("run")));
    assert!(matches!(shown.code, Some(0 | 1)), "{}", shown.story());
    let record = std::fs::read_to_string(out.path().join("run/run.jsonl")).unwrap();
    let events = record.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let ended: Vec<_> = events.filter(|event| event["event"] == "trial_ended").collect();
    assert!(!ended.is_empty());
    for trial in ended {
        let workers = trial["workers"].as_array().unwrap();
        let places: Vec<_> = workers.iter().map(|one| one["place"].as_str().unwrap()).collect();
        assert_eq!(places, ["pod 0", "pod 1"]);
        assert!(workers.iter().all(|one| one["ended"].is_object()), "{trial}");
    }
    assert_eq!(cluster.created().len(), 1);
    is_empty(&cluster);
}

#[test]
fn doctor_says_what_each_pod_holds() {
    let cluster = Cluster::start(Behaviour::default());
    let shown = show(&mut inside(&cluster, "doctor --on kubernetes:2 --connections 100 --json"));
    let checkup: PlacesCheckup =
        serde_json::from_str(&shown.stdout).unwrap_or_else(|e| panic!("{e}\n{}", shown.story()));
    let seen: Vec<_> = checkup.places.iter().map(|one| (one.place.as_str(), one.part)).collect();
    assert_eq!(seen, [("pod 0", Some(50)), ("pod 1", Some(50))]);
    assert!(shown.code == Some(0) && checkup.holds >= 100, "{}", shown.story());
    is_empty(&cluster);
}

/// A load that cannot begin: what it said, once nothing is left.
fn refused(cluster: &Cluster, words: &str, code: i32) -> String {
    let nginx = Counting::start();
    let before = nginx.requests();
    let shown = show(&mut inside(cluster, &format!("load {} --users 4 -d 20s {words}", nginx.url())));
    let story = shown.story();
    assert_eq!(shown.code, Some(code), "{story}");
    assert!(story.contains("hint: "), "{story}");
    assert_eq!(nginx.requests() - before, 1, "no load was sent");
    is_empty(cluster);
    story
}

#[test]
fn pods_that_do_not_come_are_named_with_their_reasons() {
    let _machine = machine();
    for (behaviour, on, expected) in [
        (
            Behaviour { no_image_from: Some(1), ..Behaviour::default() },
            "kubernetes:3,image=nowhere.example/a:1",
            "2 of 3 pods did not come: pod 1: ImagePullBackOff: Back-off pulling image \"nowhere.example/a:1\" (node node-1); pod 2: Image",
        ),
        (
            Behaviour { nodes: 2, other_kind: Some(2), ..Behaviour::default() },
            "kubernetes:2",
            "1 of 2 pods did not come: pod 1: Error (exit code 1): exec /genkai: exec format error (node node-2)\n  \
             hint: the image is for another kind of processor than the node's",
        ),
        // So it was on a real cluster.
        (
            Behaviour { nodes: 2, other_kind: Some(2), seems: true, ..Behaviour::default() },
            "kubernetes:2",
            "1 of 2 pods did not come: pod 1: Error (exit code 1): exec /genkai: exec format error (node node-2)\n  \
             hint: the image is for another kind of processor than the node's",
        ),
        (
            Behaviour { quota: Some(2), ..Behaviour::default() },
            "kubernetes:3",
            "1 of 3 pods did not come: pod 2: Error creating: pods \"genkai-",
        ),
        (
            Behaviour { no_node_from: Some(0), ..Behaviour::default() },
            "kubernetes:2,wait=1s",
            "2 of 2 pods did not come within 1 s: pod 0: Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.",
        ),
        (
            Behaviour { denied: &["delete jobs", "create pods/attach"], ..Behaviour::default() },
            "kubernetes:1",
            "in the namespace `load` you are not allowed to delete jobs, create pods/attach",
        ),
    ] {
        let story = refused(&Cluster::start(behaviour), &format!("--on {on}"), 3);
        assert!(story.contains("no load was sent: kubernetes: ") && story.contains(expected), "{story}");
    }
}

#[test]
fn a_job_of_which_nobody_was_told_is_deleted_too() {
    let _machine = machine();
    let cluster = Cluster::start(Behaviour { slow_store: true, ..Behaviour::default() });
    let story = refused(&cluster, "--on kubernetes:1", 3);
    assert!(story.contains("cannot create the Job: Timeout: ") && story.contains("(HTTP 504)"), "{story}");
    assert_eq!(cluster.created().len(), 1, "it was created after that was said, and deleted");
}

#[test]
fn a_deletion_is_asked_for_until_it_is_done() {
    let _machine = machine();
    let behaviour = Behaviour { no_image_from: Some(0), busy: true, ..Behaviour::default() };
    let story = refused(&Cluster::start(behaviour), "--on kubernetes:1", 3);
    assert!(story.contains("ImagePullBackOff") && !story.contains("may be left"), "{story}");
}

#[test]
fn clusters_that_cannot_be_used_are_told() {
    let _machine = machine();
    let mut cluster = Cluster::start(Behaviour::default());
    for (on, code, expected) in [
        ("kubernetes:1,context=other", 2, "the kubeconfig has no context `other`; it has: here, stranger"),
        ("kubernetes:1,context=stranger", 3, "Unauthorized (HTTP 401)"),
        ("kubernetes:1,memory=lots", 2, "an amount is wanted"),
    ] {
        let shown = show(&mut inside(&cluster, &format!("load http://127.0.0.1:1/ --on {on}")));
        assert!(shown.code == Some(code) && shown.story().contains(expected), "{on}: {}", shown.story());
    }
    // A name that is no machine of the user's is not loaded, from wherever.
    let far = show(&mut inside(&cluster, "load http://192.0.2.1/ --users 1 -d 1s --on kubernetes:1"));
    assert!(far.code == Some(2) && far.story().contains("--allow-remote"), "{}", far.story());
    assert!(cluster.created().is_empty());
    cluster.stop();
    let story = refused(&cluster, "--on kubernetes:1", 3);
    assert!(story.contains("the API server https://127.0.0.1:") && story.contains("cannot be reached"), "{story}");
    let mut none = genkai("load http://127.0.0.1:1/ --on kubernetes:1");
    let none = show(none.env("KUBECONFIG", "/no/such/file").env_remove("KUBERNETES_SERVICE_HOST"));
    assert!(none.code == Some(2) && none.story().contains("no cluster is known"), "{}", none.story());
}

#[test]
fn what_each_pod_has_for_itself_is_not_loaded() {
    let _machine = machine();
    let possible = Command::new("unshare").args(["--net", "true"]).status().is_ok_and(|status| status.success());
    if !possible {
        genkai_tidy::noted::skipped("no network namespace can be made here");
        return;
    }
    let cluster = Cluster::start(Behaviour { own_network: true, ..Behaviour::default() });
    let story = refused(&cluster, "--on kubernetes:1", 2);
    assert!(story.contains("--on pod 0: 127.0.0.1:") && story.contains("leads to another server there"), "{story}");
}

/// A load that would last long, once it is made; and its pods' processes with their workers.
fn long(cluster: &Cluster, nginx: &Counting) -> (Guard, Vec<u32>) {
    let mut command =
        inside(cluster, &format!("load {} --users 20 -d 60s --on kubernetes:2 --on here --json", nginx.url()));
    let load = Guard(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let before = nginx.requests();
    // Far more than are made to look.
    until("the load", LONGEST, || (nginx.requests() > before + 5_000).then_some(()));
    let pods = cluster.pods();
    assert_eq!(pods.len(), 2);
    (load, pods)
}

fn ended(mut guard: Guard) -> Shown {
    let (mut stdout, mut stderr) = (String::new(), String::new());
    guard.0.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    guard.0.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    Shown { code: wait(&mut guard.0, LONGEST).code(), stdout, stderr }
}

/// What takes a pod away.
type Lose = fn(&mut Cluster);

#[test]
fn a_pod_that_is_lost_ends_the_load_as_invalid() {
    let _machine = machine();
    let ways: [(&str, Lose); 4] = [
        ("the worker in this pod ended: signal: 9", |cluster| {
            let [worker] = descendants(cluster.pods()[1])[..] else { panic!("a worker in each pod") };
            signal(worker, "KILL");
        }),
        ("Evicted: The node was low on resource: memory.", |cluster| cluster.evict(1)),
        ("nothing was heard of it for 2s", |cluster| cluster.mute()),
        ("cannot be reached", Cluster::stop),
    ];
    for (expected, lose) in ways {
        let (mut cluster, nginx) = (Cluster::start(Behaviour::default()), Counting::start());
        let (load, pods) = long(&cluster, &nginx);
        let mut all = pods.clone();
        all.extend(pods.iter().flat_map(|pod| descendants(*pod)));
        let lost = Instant::now();
        lose(&mut cluster);
        let shown = ended(load);
        let story = shown.story();
        assert_eq!(shown.code, Some(4), "{expected}: {story}");
        assert!(story.contains("of 3 on pod ") && story.contains(expected), "{expected}: {story}");
        eprintln!("{expected}: ended after {:?}", lost.elapsed());
        let verdict: Verdict = serde_json::from_str(&shown.stdout).unwrap();
        let kept = &verdict.trials[0];
        assert!(kept.finished > 0 && kept.lasted < 50.0, "what was measured is kept: {kept:?}");
        all_gone(&all);
    }
}

/// A node that is switched off says nothing, and nobody else does for some 40 s; the objects of its pods stay until the node is deleted.
#[test]
fn a_node_that_is_lost_ends_the_load_and_is_named() {
    let _machine = machine();
    for known in [false, true] {
        let (cluster, nginx) = (Cluster::start(Behaviour { nodes: 2, ..Behaviour::default() }), Counting::start());
        let (load, pods) = long(&cluster, &nginx);
        let mut all = pods.clone();
        all.extend(pods.iter().flat_map(|pod| descendants(*pod)));
        let lost = Instant::now();
        if known {
            cluster.taint_node(2);
        }
        cluster.lose_node(2);
        let shown = ended(load);
        let (story, after) = (shown.story(), lost.elapsed());
        assert_eq!(shown.code, Some(4), "{story}");
        let expected = "worker process 2 of 3 on pod 1 (node node-2) was lost (nothing was heard of it for 2s)";
        assert!(story.contains(expected), "{story}");
        eprintln!("node lost (known: {known}): ended after {after:?}");
        let verdict: Verdict = serde_json::from_str(&shown.stdout).unwrap();
        assert!(verdict.trials[0].finished > 0, "what was measured is kept");
        all_gone(&all);
        // What is left is what nobody can remove as long as there is the node.
        until("all but the pod of the lost node to be removed", PROMISED, || {
            matches!(&cluster.list()[..], [one] if one.ends_with("-1-x")).then_some(())
        });
        cluster.delete_node(2);
        is_empty(&cluster);
    }
}

/// The API server is restarted under a load: what is attached is cut, the load ends, and its Job is deleted once the server is back.
#[test]
fn a_restart_of_the_api_server_ends_the_load_and_nothing_is_left() {
    let _machine = machine();
    let (cluster, nginx) = (Cluster::start(Behaviour::default()), Counting::start());
    let (load, pods) = long(&cluster, &nginx);
    let mut all = pods.clone();
    all.extend(pods.iter().flat_map(|pod| descendants(*pod)));
    cluster.restart(Duration::from_secs(2));
    let shown = ended(load);
    let story = shown.story();
    assert_eq!(shown.code, Some(4), "{story}");
    assert!(
        story.contains("was lost (the connection to the pod genkai-") && story.contains("cannot be reached"),
        "{story}"
    );
    assert_eq!(story.matches("error: ").count(), 1, "one sentence: {story}");
    let verdict: Verdict = serde_json::from_str(&shown.stdout).unwrap();
    assert!(verdict.trials[0].finished > 0, "what was measured is kept");
    assert!(!story.contains("may be left"), "{story}");
    // At its end, not some seconds later by the cluster's own means.
    assert_eq!(cluster.list(), [""; 0], "the Job is deleted");
    all_gone(&all);
    // The server is there again, and so is what it is for.
    let again = show(&mut inside(&cluster, &format!("load {} --users 2 -n 50 --on kubernetes:2 --json", nginx.url())));
    assert_eq!(again.faultless().finished, 50);
    is_empty(&cluster);
}

/// A slow API server makes a load begin late, and no worse; one that does not answer is told.
#[test]
fn a_slow_api_server_is_waited_for_and_one_that_does_not_answer_is_told() {
    let _machine = machine();
    let (cluster, nginx) = (Cluster::start(Behaviour::default()), Counting::start());
    cluster.slow(Duration::from_millis(900));
    let words = format!("load {} --users 4 -n 301 --on kubernetes:2 --json", nginx.url());
    let made = show(&mut inside(&cluster, &words));
    assert_eq!(made.faultless().finished, 301, "{}", made.story());
    is_empty(&cluster);
    // Slow in the middle of a load: what is attached goes on.
    cluster.slow(Duration::ZERO);
    let (load, _) = long(&cluster, &nginx);
    cluster.slow(Duration::from_secs(3));
    signal(load.0.id(), "INT");
    let shown = ended(load);
    assert!(shown.code == Some(130) && !shown.story().contains("may be left"), "{}", shown.story());
    is_empty(&cluster);
    cluster.slow(Duration::from_secs(30));
    let story = refused(&cluster, "--on kubernetes:1", 3);
    assert!(story.contains("cannot ask what is allowed: the API server https://127.0.0.1:"), "{story}");
    assert!(story.contains("did not answer within 10s"), "{story}");
}

#[test]
fn the_end_of_genkai_is_the_end_of_the_job() {
    let _machine = machine();
    for (name, code) in [("INT", Some(130)), ("KILL", None)] {
        let (cluster, nginx) = (Cluster::start(Behaviour::default()), Counting::start());
        let (mut load, pods) = long(&cluster, &nginx);
        let mut all = pods.clone();
        all.extend(pods.iter().flat_map(|pod| descendants(*pod)));
        let told = Instant::now();
        signal(load.0.id(), name);
        if code.is_some() {
            assert_eq!(ended(load).code, code);
        } else {
            wait(&mut load.0, LONGEST);
        }
        is_empty(&cluster);
        eprintln!("{name}: nothing was left after {:?}", told.elapsed());
        all_gone(&all);
    }
}

/// Containers have sessions of their own: they end with a test that is killed all the same.
#[test]
fn containers_do_not_outlive_a_test_that_is_killed() {
    const HOLDS: &str = "GENKAI_TEST_HOLDS";
    let name = std::thread::current().name().unwrap().to_owned();
    let deployment = "metadata: {name: idle, namespace: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: idle}}
  template:
    metadata: {labels: {app: idle}}
    spec: {securityContext: {runAsUser: 65532}, containers: [{name: idle, image: i, command: [sleep, '1000']}]}
";
    if let Some(file) = std::env::var_os(HOLDS) {
        let cluster = Cluster::start(Behaviour::default());
        cluster.run(deployment, &[]);
        let pids = || cluster.first("idle").map(|first| first.to_string());
        let first = until("its first process", LONGEST, pids);
        std::fs::write(file, first).unwrap();
        std::thread::sleep(LONGEST);
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("first");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &name]).env(HOLDS, &file).stdout(Stdio::null()).stderr(Stdio::null());
    let mut held = Guard(command.spawn().unwrap());
    let first = until("the container", LONGEST, || std::fs::read_to_string(&file).ok()?.parse::<u32>().ok());
    assert!(std::path::Path::new(&format!("/proc/{first}")).exists());
    signal(held.0.id(), "KILL");
    wait(&mut held.0, LONGEST);
    all_gone(&[first]);
}
