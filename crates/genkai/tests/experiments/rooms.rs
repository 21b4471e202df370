//! The experiment `rooms` on real processes, and its fault drill: what is dropped on purpose must be found, in its place.

use std::process::Command;

use genkai_model::error::ErrorKind;
use genkai_model::finding::Evidence;
use genkai_model::finding::idle_requests::IdleFinding;
use genkai_model::finding::rooms::{Place, Placed, RoomsFinding, RoomsRun};
use genkai_model::rooms::Why;

use crate::harness::ssh::Sshd;
use crate::harness::{Run, genkai, machine, run};

/// Four rooms of five who say eight things each, in about three seconds.
const SMALL: &str = "experiment run rooms --rooms 4 --members 5 --messages 8 --enter-every 50ms";
/// Between two messages, where a test has no wish of its own.
const PACE: &str = "--message-every 250ms";
const PLANNED: u64 = 4 * 5 * 8;

fn rooms(flags: &str) -> (Run, RoomsRun) {
    rooms_with(flags, |_| ())
}

fn rooms_with(flags: &str, more: impl FnOnce(&mut Command)) -> (Run, RoomsRun) {
    let pace = if flags.contains("--message-every") { "" } else { PACE };
    let mut command = genkai(&format!("{SMALL} {pace} {flags}"));
    more(&mut command);
    let (run, one) = told(&command);
    assert_eq!(one.planned, PLANNED);
    (run, one)
}

fn told(command: &Command) -> (Run, RoomsRun) {
    let run = run(command);
    let text = std::fs::read_to_string(run.out.join("verdict.json")).unwrap_or_else(|e| panic!("{e}\n{}", run.story()));
    let finding: RoomsFinding = serde_json::from_str(&text).unwrap();
    let [one] = &finding.runs[..] else { panic!("one run\n{}", run.story()) };
    let missing: u64 = one.missing.iter().map(|placed| placed.count).sum();
    assert_eq!(missing, one.planned - one.score, "every missing point has a place\n{}", run.story());
    let one = one.clone();
    (run, one)
}

/// The places, most first, without those that only follow from a member being gone.
fn places(placed: &[Placed]) -> Vec<(Place, Option<u32>)> {
    placed.iter().map(|placed| (placed.place, placed.node)).collect()
}

#[test]
fn one_node_keeps_a_full_score() {
    let _machine = machine();
    let (run, rooms) = rooms("");
    assert_eq!((rooms.score, rooms.lost, rooms.never_entered), (PLANNED, 0, 0), "{}", run.story());
    assert_eq!((rooms.entered_after[0], rooms.cuts.len(), rooms.duplicated), (20, 0, 0), "{}", run.story());
    assert!(run.stdout.starts_with("1 node: 160 of 160, a full score."), "{}", run.stdout);
    assert!(run.code == Some(0) || !rooms.client.valid, "{}", run.story());
    let client = run.record().trials[0].ended.as_ref().and_then(|ended| ended.client).expect("the generator tells");
    assert!(client.ports > 0 && client.connections >= 20, "{client:?}");
}

#[test]
fn three_nodes_share_rooms_over_redis() {
    let _machine = machine();
    let (run, rooms) = rooms("--nodes 3");
    assert_eq!((rooms.nodes, rooms.score, rooms.lost, rooms.reordered), (3, PLANNED, 0, 0), "{}", run.story());
    let record = run.record();
    let nodes = &record.trials[0].nodes;
    assert!(nodes.iter().all(|node| node.alive && node.traced && node.hops.joined > 0), "{nodes:#?}");
    let published: u64 = nodes.iter().map(|node| node.hops.published).sum();
    assert_eq!(published, PLANNED, "each message went over Redis once");
    let members: usize = nodes.iter().map(|node| node.members.len()).sum();
    assert_eq!(members, 20);
}

/// Two nodes of `server`, which share rooms over Redis: everybody hears everything, and every hop says what it should.
fn shares_rooms(server: &str) {
    let _machine = machine();
    let (run, rooms) = rooms(&format!("--server {server} --nodes 2"));
    let found = (rooms.score, rooms.lost, rooms.reordered, rooms.duplicated, rooms.foreign);
    assert_eq!(found, (PLANNED, 0, 0, 0, 0), "{}", run.story());
    let record = run.record();
    let nodes = &record.trials[0].nodes;
    assert!(nodes.iter().all(|node| node.alive && node.traced && node.hops.joined == 10), "{nodes:#?}");
    let hops = rooms.hops;
    assert_eq!((hops.received, hops.published, hops.unpublished), (PLANNED, PLANNED, 0), "{}", run.story());
    // The adapter of Socket.IO passes on to its own members itself; the others get each message back from Redis, in every node
    // in which somebody is in its room by then.
    let most = if server == "socketio" { PLANNED } else { 2 * PLANNED };
    assert!((most - PLANNED + 1..=most).contains(&hops.returned), "{hops:?}\n{}", run.story());
    assert!(hops.queued == hops.written && hops.written >= rooms.delivered, "{hops:?}\n{}", run.story());
}

#[test]
fn nodes_on_ws_share_rooms() {
    shares_rooms("node-ws");
}

#[test]
fn nodes_on_socket_io_share_rooms() {
    shares_rooms("socketio");
}

#[test]
fn nodes_on_jetty_share_rooms() {
    shares_rooms("jetty");
}

#[test]
fn nodes_on_tomcat_share_rooms() {
    shares_rooms("tomcat");
}

#[test]
fn what_a_node_loses_is_found_in_that_node() {
    let _machine = machine();
    let (run, rooms) = rooms("--nodes 2 --fault lose-every=5");
    assert_eq!(places(&rooms.missing), [(Place::InNode, Some(1))], "{}", run.story());
    assert_eq!(places(&rooms.losses), [(Place::InNode, Some(1))], "{}", run.story());
    assert!(rooms.score < PLANNED && run.code != Some(0), "{}", run.story());
}

/// Several processes make one load: each member is of one of them, and what they tell is put together as if one had heard it all.
#[test]
fn clients_of_several_processes_and_machines_are_one_load() {
    let _machine = machine();
    let sshd = Sshd::start(true);
    let through = |command: &mut Command| {
        command.arg("--ssh").arg(sshd.ssh());
    };
    for (flags, from) in [("--on here:3", &[][..]), ("--on ssh:load1:2 --on here", &["load1", "load1", "here"])] {
        let (run, rooms) = rooms_with(&format!("--nodes 2 {flags}"), through);
        let found = (rooms.score, rooms.lost, rooms.duplicated, rooms.reordered, rooms.foreign, rooms.never_entered);
        assert_eq!(found, (PLANNED, 0, 0, 0, 0, 0), "{flags}\n{}", run.story());
        assert_eq!((rooms.entered, rooms.entered_after[0], rooms.cuts.len()), (20, 20, 0), "{flags}\n{}", run.story());
        let record = run.record();
        let trial = &record.trials[0];
        let mut members: Vec<u32> = trial.nodes.iter().flat_map(|node| node.members.clone()).collect();
        members.sort_unstable();
        assert_eq!(members, (0..20).collect::<Vec<_>>(), "each entered once: {flags}");
        let ended = trial.ended.as_ref().unwrap();
        assert_eq!(ended.client.unwrap().processes, 3, "{flags}");
        assert_eq!(ended.workers.iter().map(|one| one.place.as_str()).collect::<Vec<_>>(), from, "{flags}");
        each_process_is_checked(&run, from.len());
        let (run, rooms) = rooms_with(&format!("--nodes 2 --fault lose-every=5 {flags}"), through);
        assert_eq!(places(&rooms.missing), [(Place::InNode, Some(1))], "{flags}\n{}", run.story());
        assert_eq!(places(&rooms.losses), [(Place::InNode, Some(1))], "{flags}\n{}", run.story());
    }
}

/// What a verdict says of each process that made the load follows from the record, and nothing else would.
fn each_process_is_checked(run: &Run, many: usize) {
    let lines = std::fs::read_to_string(run.out.join("run.jsonl")).unwrap();
    let (verdict, statements) = crate::harness::checked::stated(&run.out).unwrap();
    let opinion = genkai_check::Opinion::of(&lines, &verdict).unwrap();
    let own: Vec<_> = statements.iter().filter(|one| one.address.starts_with("/runs/0/workers/")).collect();
    assert!(own.len() >= 2 * many, "{own:?}");
    for one in own {
        let (mut other, mut statement) = (verdict.clone(), one.clone());
        *other.pointer_mut(&one.address).unwrap() = 0.987.into();
        statement.value = genkai_model::statement::Value::Measured(0.987);
        let found = opinion.on(&other, std::slice::from_ref(&statement));
        assert_eq!(found.differences.len(), 1, "{one:?}");
    }
    for i in 0..many {
        let mut other = verdict.clone();
        other["runs"][0]["workers"][i]["place"] = "m9".into();
        let found = opinion.on(&other, &[]);
        assert_eq!(found.contradicted[0].address, format!("/runs/0/workers/{i}/place"));
    }
}

/// What may open so few descriptors in a process.
fn narrow(words: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -n 400 && exec \"$@\"", "sh", env!("CARGO_BIN_EXE_genkai")])
        .args(words.split_whitespace());
    command
}

#[test]
fn a_router_has_as_many_processes_as_its_clients_need_descriptors() {
    let _machine = machine();
    let many = "experiment run rooms --rooms 40 --members 5 --messages 3 --enter-every 200ms --message-every 300ms";
    for router in ["haproxy", "nginx"] {
        let run = run(&narrow(&format!("{many} --router {router}")));
        let finding: RoomsFinding =
            serde_json::from_str(&std::fs::read_to_string(run.out.join("verdict.json")).unwrap()).unwrap();
        let [one] = &finding.runs[..] else { panic!("one run\n{}", run.story()) };
        assert_eq!((one.score, one.entered, one.never_entered), (600, 200, 0), "{router}\n{}", run.story());
        let told = one.router.as_ref().expect("it told");
        if router == "haproxy" {
            assert_eq!(told.nodes.iter().map(|node| node.peak).sum::<u64>(), 200, "of all processes\n{}", run.story());
            let limit = &run.record().trials[0].limits.limits[0];
            assert!(limit.formula.contains("3 processes x maxconn 71"), "{}", limit.formula);
        }
    }
    for (flags, words) in [
        ("--router haproxy --node-connections 150", "at most 150 clients fit"),
        ("--router haproxy --fault reset-router=1s", "what is reset is in one process"),
        ("--members 6 --router haproxy", "the node needs 440 descriptors for 240 clients, and may have 400"),
    ] {
        let many = if flags.contains("--members") { many.replace("--members 5", "") } else { many.to_owned() };
        let refused = run(&narrow(&format!("{many} {flags}")));
        assert!(refused.code == Some(3) && refused.stderr.contains(words), "{flags}\n{}", refused.story());
        assert!(!refused.out.exists(), "{flags}");
    }
}

#[test]
fn what_redis_does_not_deliver_is_found_in_the_backplane() {
    let _machine = machine();
    // Subscribers are cut off again and again: some messages pass while they are not there.
    let faults = "--fault cut-redis=600ms --fault cut-redis=900ms --fault cut-redis=1200ms --fault cut-redis=1500ms";
    let (run, rooms) = rooms(&format!("--nodes 2 {faults}"));
    let lost = run.record().trials[0].nodes.iter().map(|node| node.hops.backplane_lost).sum::<u64>();
    assert!(lost >= 1, "nodes noticed, and came back: {lost}\n{}", run.story());
    let elsewhere = rooms.losses.iter().filter(|placed| placed.place != Place::InBackplane).count();
    assert_eq!(elsewhere, 0, "{}", run.story());
    assert_eq!(rooms.causes, [], "no limit of Redis's was at work\n{}", run.story());
}

/// The limits that are named for what was lost, each with its value.
fn named(rooms: &RoomsRun) -> Vec<(&str, &str)> {
    rooms.causes.iter().map(|cause| (cause.limit.id.as_str(), cause.limit.value.as_str())).collect()
}

#[test]
fn subscribers_that_redis_does_not_let_back_in_are_its_maxclients() {
    let _machine = machine();
    let (run, rooms) = rooms("--nodes 2 --redis-set maxclients=12 --fault fill-redis=1s");
    assert_eq!(named(&rooms), [("redis.maxclients", "12")], "{}", run.story());
    let lost: u64 = rooms.losses.iter().filter(|l| l.place == Place::InBackplane).map(|l| l.count).sum();
    assert!(lost > 0 && rooms.causes[0].lost >= lost, "{}", run.story());
    let refused = rooms.causes[0].evidence.iter().any(|e| matches!(e, Evidence::Grew { from, to, .. } if to > from));
    assert!(refused, "by Redis's own count: {:?}", rooms.causes);
    let said = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("because of redis's maxclients = 12"), "{}", run.stdout);
}

#[test]
fn what_redis_cuts_off_for_its_size_is_its_output_buffer_limit() {
    let _machine = machine();
    let mut command = genkai(&format!("{SMALL} {PACE} --nodes 2 --message-size 64k --redis-set"));
    let run = run(command.arg("client-output-buffer-limit=pubsub 32k 0 0"));
    let text = std::fs::read_to_string(run.out.join("verdict.json")).unwrap_or_else(|e| panic!("{e}\n{}", run.story()));
    let finding: RoomsFinding = serde_json::from_str(&text).unwrap();
    assert_eq!(named(&finding.runs[0]), [("redis.client-output-buffer-limit pubsub", "32k 0 0")], "{}", run.story());
    let says = "scheduled to be closed ASAP for overcoming of output buffer limits";
    let evidence = &finding.runs[0].causes[0].evidence;
    assert!(evidence.iter().any(|e| matches!(e, Evidence::Log { text, .. } if text.contains(says))), "{evidence:?}");
}

#[test]
fn a_redis_with_too_few_places_for_all_nodes_is_named() {
    let _machine = machine();
    let run = run(&genkai(&format!("{SMALL} --nodes 2 --redis-set maxclients=3")));
    assert_eq!(run.code, Some(3), "{}", run.story());
    assert!(run.stderr.contains("redis refused") && run.stderr.contains("maxclients"), "{}", run.story());
}

#[test]
fn what_the_router_loses_is_found_in_the_router() {
    let _machine = machine();
    // It stands still for a while, with everybody talking, and is then killed: what was on its way is lost in it.
    let (run, rooms) = rooms("--nodes 2 --router haproxy --fault reset-router=1s");
    let lost = rooms.losses.iter().find(|placed| placed.place == Place::InRouter);
    assert!(lost.is_some_and(|placed| placed.count > 0), "{}", run.story());
    let elsewhere = [Place::InNode, Place::InBackplane, Place::ToBackplane, Place::DeadNode, Place::WriteQueue];
    assert!(rooms.losses.iter().all(|placed| !elsewhere.contains(&placed.place)), "{}", run.story());
    let router = rooms.router.as_ref().expect("it told");
    assert_eq!((router.product.as_str(), router.resets_us.len()), ("haproxy", 1), "{}", run.story());
    assert!(!rooms.cuts.is_empty(), "{}", run.story());
}

#[test]
fn a_router_with_full_nodes_refuses_and_says_why() {
    let _machine = machine();
    let (run, rooms) = rooms("--nodes 2 --router haproxy --node-connections 6 --queue-timeout 100ms");
    assert_eq!((rooms.entered, rooms.never_entered), (12, 8), "two nodes of six each\n{}", run.story());
    let refused = |kind| rooms.refused.iter().filter(|e| e.kind == kind).map(|e| e.count).sum::<u64>();
    assert!(refused(ErrorKind::Status503) >= 8, "{}", run.story());
    let router = rooms.router.as_ref().expect("it told");
    let waited =
        router.refused.iter().find(|refused| refused.why == Why::QueueTimeout).map_or(0, |refused| refused.count);
    assert!(waited >= 8, "{}", run.story());
    assert!(router.nodes.iter().all(|node| (node.peak, node.limit) == (6, Some(6))), "{}", run.story());
    assert_eq!(places(&rooms.missing), [(Place::NeverSent, None)], "{}", run.story());
    let said = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("waited too long for a node with room"), "{}", run.stdout);
}

#[test]
fn nginx_can_be_the_router_and_the_report_is_made_again() {
    let _machine = machine();
    let (run, rooms) = rooms("--nodes 2 --router nginx --node-connections 6");
    assert_eq!((rooms.entered, rooms.never_entered), (12, 8), "{}", run.story());
    assert!(rooms.refused.iter().all(|e| e.kind == ErrorKind::Status502), "{}", run.story());
    let verdict = std::fs::read_to_string(run.out.join("verdict.json")).unwrap();
    let page = std::fs::read_to_string(run.out.join("report.html")).unwrap();
    assert!(page.contains("never sent") && page.contains("received by nodes"), "the page has its data");
    for file in ["verdict.json", "report.html"] {
        std::fs::remove_file(run.out.join(file)).unwrap();
    }
    let again = genkai(&format!("report {}", run.out.display())).output().unwrap();
    assert_eq!(again.status.code(), run.code);
    assert_eq!(std::fs::read_to_string(run.out.join("verdict.json")).unwrap(), verdict);
    assert_eq!(std::fs::read_to_string(run.out.join("report.html")).unwrap(), page);
}

#[test]
fn what_an_application_loses_is_found_in_that_node() {
    let _machine = machine();
    let (run, rooms) = rooms("--server socketio --nodes 2 --fault lose-every=5");
    assert_eq!(places(&rooms.losses), [(Place::InNode, Some(1))], "{}", run.story());
    assert!(rooms.score < PLANNED && run.code != Some(0), "{}", run.story());
}

#[test]
fn a_node_that_is_killed_is_named() {
    is_named_when_killed("");
}

#[test]
fn an_application_that_is_killed_is_named() {
    is_named_when_killed("--server node-ws");
}

fn is_named_when_killed(server: &str) {
    let _machine = machine();
    let (run, rooms) = rooms(&format!("{server} --nodes 3 --fault kill-node=1s"));
    assert!(!rooms.cuts.is_empty() && rooms.score < PLANNED, "{}", run.story());
    // What its members would have said was never sent; what it had received and not passed on died with it.
    let expected =
        |place| matches!(place, Place::NeverSent | Place::ReceiverAway | Place::DeadNode | Place::BeforeNode);
    assert!(rooms.missing.iter().all(|placed| expected(placed.place)), "{}", run.story());
    let node = rooms.losses.iter().filter(|placed| placed.place == Place::DeadNode).filter_map(|placed| placed.node);
    assert!(node.into_iter().all(|node| node == 3), "{}", run.story());
    let record = run.record();
    let told: Vec<u32> = record.trials[0].nodes.iter().filter(|node| !node.alive).map(|node| node.node).collect();
    assert_eq!(told, [3], "{}", run.story());
}

#[test]
fn who_reads_too_slowly_is_found_in_the_write_queue() {
    let _machine = machine();
    // A queue for less than one message, where twenty come at once: how fast the machine is does not matter.
    let crowded = "--rooms 1 --members 20 --messages 40 --enter-every 20ms --message-every 1ms --member-queue 50";
    let (run, rooms) = told(&genkai(&format!("experiment run rooms {crowded}")));
    let queue = rooms.losses.iter().find(|placed| placed.place == Place::WriteQueue);
    assert!(queue.is_some_and(|placed| placed.node == Some(1) && placed.count > 0), "{}", run.story());
    // What was in a socket of a connection that was then cut off may be lost too, on its way in or out.
    let expected = |place| place != Place::InNode && place != Place::InBackplane && place != Place::Unknown;
    assert!(rooms.losses.iter().all(|placed| expected(placed.place)), "{}", run.story());
    let slow: u64 = run.record().trials[0].nodes.iter().map(|node| node.hops.slow).sum();
    assert!(slow > 0 && rooms.cuts.len() as u64 >= slow.min(1), "{}", run.story());
}

#[test]
fn a_sweep_names_the_smallest_number_of_nodes() {
    let _machine = machine();
    let run = run(&genkai(&format!("{SMALL} {PACE} --sweep-nodes 2,1")));
    let text = std::fs::read_to_string(run.out.join("verdict.json")).unwrap();
    let finding: RoomsFinding = serde_json::from_str(&text).unwrap();
    assert_eq!(finding.runs.iter().map(|run| (run.nodes, run.score)).collect::<Vec<_>>(), [(2, PLANNED), (1, PLANNED)]);
    assert!(finding.smallest_full == Some(1) || finding.runs.iter().any(|run| !run.client.valid), "{}", run.story());
}

#[test]
fn bad_input_is_refused_before_anything_starts() {
    for (flags, said) in [
        ("experiment run rooms --nodes 2 --backplane none", "--backplane redis"),
        ("experiment run rooms --worker-connections 5", "unexpected argument '--worker-connections'"),
        ("experiment run nginx-worker-connections --nodes 3", "unexpected argument '--nodes'"),
        ("experiment run rooms --nodes 0", "--nodes"),
        ("experiment run rooms --message-every 0s", "--message-every"),
        ("experiment run rooms --fault lose-every=0", "lose-every=N"),
        ("experiment run rooms --rooms 300 --members 100", "descriptors"),
        ("experiment run rooms --fault reset-router=1s", "--router haproxy"),
        ("experiment run rooms --router nginx --fault reset-router=1s", "--router haproxy"),
        ("experiment run rooms --node-connections 5", "--router"),
        ("experiment run rooms --server apache", "embedded"),
        ("experiment run rooms --server jetty --apps /nowhere", "make apps"),
        ("experiment run nginx-worker-connections --router haproxy", "unexpected argument '--router'"),
        ("experiment run rooms-http --members 5", "unexpected argument '--members'"),
        ("experiment run rooms --hold 5s", "unexpected argument '--hold'"),
        ("experiment run rooms --redis-set maxclients=5", "--backplane redis"),
        (
            "experiment run rooms --nodes 2 --redis-set maxclients",
            "--redis-set `maxclients`: write it like maxclients=20",
        ),
        (
            "experiment run rooms --nodes 2 --redis-set bind=0.0.0.0",
            "--redis-set bind: where the private Redis listens",
        ),
        ("experiment run rooms --message-size 8", "at least 24"),
        ("experiment run rooms-http --message-size 64k", "unexpected argument '--message-size'"),
        ("experiment run rooms-http --hold 0s", "--hold"),
    ] {
        let run = run(&genkai(flags));
        assert!(run.code == Some(2) || run.code == Some(3), "{flags}\n{}", run.story());
        assert!(run.stderr.contains(said), "{flags}\n{}", run.story());
        assert!(!run.out.exists(), "{flags}");
    }
}

#[test]
fn held_requests_find_the_cap_and_name_it() {
    let _machine = machine();
    let flags = "--nodes 2 --router haproxy --node-connections 5 --queue-timeout 100ms --hold 1500ms --most 64";
    let run = run(&genkai(&format!("experiment run rooms-http {flags}")));
    let text = std::fs::read_to_string(run.out.join("verdict.json")).unwrap_or_else(|e| panic!("{e}\n{}", run.story()));
    let finding: IdleFinding = serde_json::from_str(&text).unwrap();
    assert_eq!((finding.largest, finding.refused_from), (Some(10), Some(11)), "two nodes of five\n{}", run.story());
    let first = finding.limits.first().map(|found| found.limit.id.as_str());
    assert_eq!(first, Some("haproxy.server.maxconn"), "{}", run.story());
    assert!(run.code == Some(1) || run.code == Some(4), "{}", run.story());
    assert!(run.stdout.contains("server.maxconn = 5"), "{}", run.stdout);
    let page = std::fs::read_to_string(run.out.join("report.html")).unwrap();
    assert!(page.contains("server.maxconn = 5") && page.contains("waited too long for a node with room"), "its page");
    let again = genkai(&format!("report {} --json", run.out.display())).output().unwrap();
    assert_eq!(again.status.code(), run.code);
    assert_eq!(std::fs::read_to_string(run.out.join("verdict.json")).unwrap(), text);
}
