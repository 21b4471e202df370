//! The experiment `websocket-servers` on the real servers: each speaks the protocol, refuses what its limit says, and is judged
//! from the record alone.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use genkai_model::finding::Outcome;
use genkai_model::finding::latencies::{LatencyCaveat, LatencyFinding};
use genkai_model::latencies::{Case, Contender, Round};
use genkai_targets::application::{self, Application};

use crate::harness::{Run, genkai, machine, run};

/// A few clients and rounds: what is tested is that all answer, not how fast.
const SMALL: &str = "experiment run websocket-servers --clients 6 --rounds 3 --warm-up 1 --message 100";
const ALL: [&str; 5] = ["embedded", "tomcat", "jetty", "node-ws", "socketio"];

fn servers(flags: &str) -> (Run, LatencyFinding) {
    let run = run(&genkai(&format!("{SMALL} {flags}")));
    let text = std::fs::read_to_string(run.out.join("verdict.json"))
        .unwrap_or_else(|e| panic!("{e}; `make packages-test apps` makes what the servers need\n{}", run.story()));
    let finding = serde_json::from_str(&text).unwrap();
    (run, finding)
}

fn rounds(run: &Run) -> Vec<Round> {
    run.record().trials.iter().flat_map(|trial| trial.rounds.iter().map(|(_, round)| round.clone())).collect()
}

#[test]
fn every_server_speaks_the_protocol_and_has_its_limit() {
    let _machine = machine();
    let (run, finding) = servers("--sizes 1k,70k");
    assert_eq!((finding.outcome, run.code), (Outcome::Holds, Some(0)), "{}", run.story());
    let names: Vec<&str> = finding.contenders.iter().map(|entrant| entrant.name.as_str()).collect();
    assert_eq!(names, ALL);
    for (entrant, version) in
        finding.contenders.iter().zip(["genkai ", "Apache Tomcat/10", "Jetty 12", "ws 8", "socket.io 4"])
    {
        assert!(entrant.version.starts_with(version), "{}", entrant.version);
        let usage = &entrant.usage;
        assert!(usage.cpu > 0.0 && usage.rss > 0 && usage.threads > 0, "{usage:?}");
        assert!(usage.descriptors >= Some(6), "six clients: {usage:?}");
        assert_eq!(usage.heap.is_some(), entrant.name != "embedded", "{}", entrant.name);
    }
    let cases: Vec<String> = finding.cases.iter().map(|case| case.case.to_string()).collect();
    assert_eq!(cases, ["receive", "send", "give 1k text", "give 70k text", "give 1k binary", "give 70k binary"]);
    for case in &finding.cases {
        assert_eq!((case.standings.len(), case.pairs.len()), (5, 10), "{}", case.case);
        for standing in &case.standings {
            assert!(standing.failed == 0 && standing.rounds.len() == 3, "{}: {standing:?}", case.case);
            assert!(standing.figure.is_some_and(|figure| figure.value > 0.0 && figure.n == 3), "{standing:?}");
            // The reference has no rank among the other four.
            let ranked = 1 <= standing.best && standing.best <= standing.worst && standing.worst <= 4;
            assert!(if standing.name == "embedded" { standing.worst == 0 } else { ranked }, "{standing:?}");
        }
    }
    assert!(finding.caveats.contains(&LatencyCaveat::OneStart));
    limits(&run, &finding);
    record(&run);
}

/// The largest messages that servers take by default, to the byte.
fn limits(run: &Run, finding: &LatencyFinding) {
    let seen: Vec<_> = finding
        .limits
        .iter()
        .map(|limit| (limit.name.as_str(), limit.taken, limit.refused, limit.code, limit.proved, limit.kinds.len()))
        .collect();
    let expected = [
        ("embedded", Some(65_536), 65_537, Some(1009), true, 2),
        ("tomcat", Some(8_192), 8_193, Some(1009), true, 2),
        ("jetty", Some(65_536), 65_537, Some(1009), true, 2),
    ];
    assert_eq!(seen, expected, "{}", run.story());
    assert!(run.stdout.contains("--server-set tomcat.max-message=SIZE lifts it"), "{}", run.stdout);
}

/// What was asked, in which order.
fn record(run: &Run) {
    let rounds = rounds(run);
    let timed: Vec<&Round> = rounds.iter().filter(|round| !matches!(round.case, Case::Take { .. })).collect();
    assert_eq!(timed.len(), 4 * 6 * 5, "{}", run.story());
    assert_eq!(timed.iter().filter(|round| round.warm_up).count(), 6 * 5);
    for round in &timed {
        let due = if matches!(round.case, Case::Give { .. }) { 1 } else { 6 };
        assert_eq!((round.due, round.missing), (due, 0), "{round:?}");
        assert!(
            round.figure_ns.is_some_and(|ns| ns <= round.lasted.0),
            "a part cannot take longer than the whole: {round:?}"
        );
    }
    let orders: std::collections::BTreeSet<Vec<&str>> =
        timed.chunks(5).map(|five| five.iter().map(|round| round.contender.as_str()).collect()).collect();
    assert!(orders.len() > 5, "24 orders of five that were drawn: {orders:?}");
    assert!(timed.chunks(5).all(|five| five.iter().all(|round| round.case == five[0].case)), "case by case");
}

/// Whatever a member of a room says goes to all members, the sender too: alone in its room, it hears an echo.
#[test]
fn every_websocket_server_has_chat_rooms() {
    let _machine = machine();
    for name in ALL.into_iter().filter(|name| *name != "socketio") {
        let dir = tempfile::tempdir().unwrap();
        let server = set(name, &[], dir.path());
        let load =
            format!("load ws://{}/rooms/blue --users 1 --requests 20 --message-size 500 --quiet", server.address());
        let run = run(&genkai(&load));
        let record = run.record();
        let ticks = &record.trials[0].ticks;
        let errors: usize = ticks.iter().map(|tick| tick.errors.len()).sum();
        assert_eq!((ticks.iter().map(|tick| tick.ok).sum::<u64>(), errors), (20, 0), "{name}\n{}", run.story());
        drop(server);
    }
}

#[test]
fn settings_lift_limits_and_set_them() {
    let _machine = machine();
    let set = "--server-set tomcat.max-message=100k --server-set node-ws.max-message=2000 --server-set socketio.max-message=2000";
    let (run, finding) = servers(&format!("--servers tomcat,node-ws,socketio --sizes 1k,70k {set}"));
    let seen: Vec<_> = finding
        .limits
        .iter()
        .map(|limit| (limit.name.as_str(), &*limit.kinds, limit.taken, limit.refused, limit.code, limit.proved))
        .collect();
    let (text, binary, both) = (["text".to_owned()], ["binary".to_owned()], ["text".to_owned(), "binary".to_owned()]);
    let expected = [
        ("node-ws", &both[..], Some(2000), 2001, Some(1009), true),
        // Socket.IO's own words are part of what is measured, where they are in the same message.
        ("socketio", &text[..], Some(1936), 2000, Some(1009), true),
        ("socketio", &binary[..], Some(2000), 2001, Some(1009), true),
    ];
    assert_eq!(seen, expected, "{}", run.story());
    let tomcat = &finding.contenders[0];
    let setting = tomcat.settings.iter().find(|setting| setting.name == "max-message").unwrap();
    assert_eq!((setting.value.as_str(), setting.default), ("100k", false));
}

/// Starts a server with settings.
fn set(name: &str, settings: &[(&str, &str)], dir: &Path) -> Application {
    let place = genkai_lab::latencies::place(Path::new(env!("CARGO_BIN_EXE_genkai")), None);
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let contender =
        Contender { name: name.to_owned(), server: name.to_owned(), settings, variant: false, reference: false };
    let server = Application::start(application::find(name).unwrap(), &contender, (&place, None), None, dir).unwrap();
    let given = server.entry().settings.iter().filter(|setting| !setting.default).count();
    assert_eq!(given, contender.settings.len(), "{name}: {:?}", server.entry().settings);
    server
}

/// Opens `/app` with compression on offer; the head of the answer, and the connection.
fn opened(server: &Application) -> (String, TcpStream) {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let head = "GET /app HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let (mut answer, mut byte) = (Vec::new(), [0]);
    while !answer.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    (String::from_utf8(answer).unwrap().to_ascii_lowercase(), stream)
}

/// What else can be set, seen from outside on servers that run.
#[test]
fn settings_take_effect() {
    let _machine = machine();
    let collectors =
        [("jetty", "serial", "Using Serial", "qtp"), ("tomcat", "parallel", "Using Parallel", "http-nio-127.0.")];
    for (name, gc, using, thread) in collectors {
        let dir = tempfile::tempdir().unwrap();
        let mut settings =
            vec![("heap", "96m"), ("gc", gc), ("threads", "16"), ("buffer", "16k"), ("send-buffer", "32k")];
        settings.push(("idle-timeout", "700ms"));
        settings.extend((name == "tomcat").then_some(("aggregation", "on")));
        let server = set(name, &settings, dir.path());
        // A server's first frame to a client that says nothing: the close frame of its idle timeout (RFC 6455 section 5.5.1).
        let clients: Vec<(String, TcpStream)> = (0..40).map(|_| opened(&server)).collect();
        for (head, mut stream) in clients {
            assert!(head.starts_with("http/1.1 101") && head.contains("permessage-deflate"), "{name}: {head}");
            let mut first = [0];
            stream.read_exact(&mut first).unwrap();
            assert_eq!(first, [0x88], "{name}");
        }
        let log = std::fs::read_to_string(dir.path().join("gc.log")).unwrap();
        assert!(log.contains(using) && log.contains("Heap Max Capacity: 96M"), "{name}: {log}");
        assert!((1..=16).contains(&threads(thread)), "{name}");
        drop(server);
    }
}

/// Threads of the JVMs that this process has started whose name begins so.
fn threads(prefix: &str) -> usize {
    let said = |path: &Path, file: &str| std::fs::read_to_string(path.join(file)).unwrap_or_default();
    let inside = |folder: &Path| -> Vec<_> {
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    let children = inside(Path::new("/proc/self/task")).into_iter().flat_map(|task| {
        said(&task, "children").split_whitespace().map(|pid| Path::new("/proc").join(pid)).collect::<Vec<_>>()
    });
    let tasks = children.filter(|child| said(child, "comm") == "java\n").flat_map(|child| inside(&child.join("task")));
    tasks.filter(|task| said(task, "comm").starts_with(prefix)).count()
}

#[test]
fn compression_and_aggregation_are_answered() {
    let _machine = machine();
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (plain, packed) =
        (set("node-ws", &[], dirs[0].path()), set("node-ws", &[("compression", "on")], dirs[1].path()));
    let offers = |server: &Application| opened(server).0.contains("permessage-deflate");
    assert_eq!((offers(&plain), offers(&packed)), (false, true));
    drop((plain, packed));
    let flags =
        "--server-set tomcat.aggregation=on --server-set node-ws.compression=on --server-set jetty.compression=on";
    let (run, finding) = servers(&format!("--servers tomcat,jetty,node-ws --sizes 70k {flags}"));
    assert_eq!(finding.outcome, Outcome::Holds, "{}", run.story());
    let missing: u64 =
        rounds(&run).iter().filter(|round| !matches!(round.case, Case::Take { .. })).map(|round| round.missing).sum();
    assert_eq!(missing, 0, "{}", run.story());
}

#[test]
fn a_swept_setting_is_asked_for_large_messages_beside_its_server() {
    let _machine = machine();
    let (run, finding) = servers("--servers embedded,jetty --sizes 100k --sweep jetty.buffer=64k --starts 2");
    assert_eq!(finding.outcome, Outcome::Holds, "{}", run.story());
    let of = |case: usize| -> Vec<&str> {
        let mut names: Vec<&str> =
            finding.cases[case].standings.iter().map(|standing| standing.name.as_str()).collect();
        names.sort_unstable();
        names
    };
    assert_eq!((of(0), of(2)), (vec!["embedded", "jetty"], vec!["embedded", "jetty", "jetty buffer=64k"]));
    // Two starts: two observations, whatever the number of rounds.
    assert!(
        finding.cases.iter().flat_map(|case| &case.standings).all(|one| one.figure.is_some_and(|figure| figure.n == 2))
    );
    assert_eq!(run.record().trials.len(), 2);
    assert!(!finding.caveats.contains(&LatencyCaveat::OneStart));
}

#[test]
fn the_report_is_made_again_from_the_record() {
    let _machine = machine();
    let (first, _) = servers("--servers embedded,node-ws --sizes 1k");
    let files = || ["verdict.json", "report.html"].map(|name| std::fs::read_to_string(first.out.join(name)).unwrap());
    let before = files();
    assert!(before[1].contains("genkai.page/") && before[1].contains("node-ws"));
    for name in ["verdict.json", "report.html"] {
        std::fs::remove_file(first.out.join(name)).unwrap();
    }
    let output = genkai("report").arg(&first.out).output().unwrap();
    assert_eq!(output.status.code(), first.code, "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), first.stdout);
    assert!(files() == before, "the same files");
}

#[test]
fn bad_input_is_refused_before_anything_starts() {
    let experiment = "experiment run websocket-servers";
    for (flags, said) in [
        ("--servers embedded,iis", "embedded, tomcat, jetty, node-ws, socketio"),
        ("--servers embedded", "at least two"),
        ("--servers embedded,tomcat --server-set tomcat.magic=1", "no setting `magic`"),
        ("--servers embedded,node-ws --server-set tomcat.heap=1g", "does not take part"),
        ("--servers embedded,tomcat --server-set tomcat.gc=fast", "serial, parallel, g1 or z"),
        ("--servers embedded,tomcat --sweep tomcat", "SERVER.NAME=VALUE"),
        ("--servers embedded,tomcat --sweep tomcat.buffer=1k,1k", "twice"),
        ("--sizes 10", "64 bytes"),
        ("--rounds 1", "--rounds"),
        ("--nodes 3", "unexpected argument '--nodes'"),
        ("--servers embedded,tomcat --apps /nowhere", "make apps"),
        ("--servers embedded,node-ws --clients 1000001", "--clients "),
        (
            "--servers embedded,tomcat --processes 2 --clients 8193",
            "tomcat takes 8192 connections at most (Tomcat's default maxConnections",
        ),
    ] {
        let run = run(&genkai(&format!("{experiment} {flags}")));
        assert!(run.code == Some(2) || run.code == Some(3), "{flags}\n{}", run.story());
        assert!(run.stderr.contains(said), "{flags}\n{}", run.story());
        assert!(!run.out.exists(), "{flags}");
    }
    let run = run(&genkai("experiment run rooms --servers tomcat"));
    assert!(run.code == Some(2) && run.stderr.contains("unexpected argument '--servers'"), "{}", run.story());
}

/// genkai where a process may open 400 descriptors: 190 clients of five servers are too many for one, and not for four.
#[test]
fn more_clients_than_one_process_has_descriptors_for_are_made_by_several() {
    let _machine = machine();
    let narrow = |flags: &str| {
        let words = format!(
            "experiment run websocket-servers --rounds 2 --warm-up 0 --message 100 --sizes 1k --answer-timeout 30s {flags}"
        );
        let mut command = Command::new("bash");
        command.args(["-c", "ulimit -n 400 && exec \"$@\"", "bash", env!("CARGO_BIN_EXE_genkai")]);
        command.args(words.split_whitespace());
        run(&command)
    };
    for (flags, said) in [
        (
            "--clients 190",
            "190 clients of 5 servers need 1050 descriptors in one process, which may have 400\n  hint: --clients 60, more",
        ),
        (
            "--clients 201 --processes 4",
            "201 clients need 401 descriptors in the process of each server, which may have 400",
        ),
    ] {
        let refused = narrow(flags);
        assert!(refused.code == Some(3) && refused.stderr.contains(said), "{flags}\n{}", refused.story());
        assert!(!refused.out.exists(), "{flags}");
    }
    let run = narrow("--clients 190 --processes 4");
    assert_eq!(run.code, Some(0), "{}", run.story());
    let heard: Vec<Round> = rounds(&run).into_iter().filter(|round| round.case == Case::Receive).collect();
    assert_eq!(heard.len(), 5 * 2, "{}", run.story());
    for round in &heard {
        let clients: Vec<u32> = round.workers.iter().map(|one| one.clients).collect();
        assert_eq!((round.due, round.missing, clients), (190, 0, vec![48, 48, 47, 47]), "{round:?}");
    }
}
