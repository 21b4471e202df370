//! Caches compared, small, on the real servers: what is counted where, the same against itself, and a cache that lies.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use genkai_analysis::cache::findings;
use genkai_engine::{StopFlag, content, fetch};
use genkai_lab::experiment::{Size, cache as experiment};
use genkai_lab::job::Job;
use genkai_lab::system::Pin;
use genkai_model::cache::{Aim, CachePass, Caching, Kept, OwnCounts, Warmth};
use genkai_model::content::{Mix, Pages};
use genkai_model::event::{EndReason, Event, TrialEnded, TrialStarted, What};
use genkai_model::finding::Outcome;
use genkai_model::finding::cache::{CacheFinding, Trouble};
use genkai_model::load::{Load, Stop};
use genkai_model::record::Record;
use genkai_model::units::Span;
use genkai_targets::apache::origin::{Files, Origin};
use genkai_targets::application::Place;

const REQUESTS: u32 = 40;

fn small(names: &[&str], change: impl FnOnce(&mut Caching)) -> Caching {
    let mut plan = experiment::shape(Size::Quick);
    plan.contenders = experiment::contenders(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    (plan.content.objects, plan.requests, plan.clients, plan.search) = (60, REQUESTS, 4, None);
    change(&mut plan);
    plan
}

fn made(plan: Caching, out: &Path) -> (Record, CacheFinding) {
    let interrupt = StopFlag::new();
    let job = Job {
        plan: experiment::plan(Size::Quick, plan, experiment::objective()),
        place: Place { program: std::env::current_exe().unwrap(), apps: None },
        command: vec!["genkai".to_owned()],
        version: "1".to_owned(),
        started: "2026-01-01T00:00:00Z".to_owned(),
        pin: Pin::Free,
        out: Some(out.to_owned()),
        keep: false,
        write: false,
        interrupt: &interrupt,
    };
    let outcome = genkai_lab::study::run(&job, &mut |_| {}).unwrap();
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    let finding = findings(&outcome.record).unwrap();
    (outcome.record, finding)
}

#[test]
fn what_a_cold_cache_misses_the_origin_is_asked_for_and_a_warm_one_misses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let plan = small(&["origin", "nginx", "squid-memory", "haproxy"], |plan| plan.rounds = 2);
    let (record, finding) = made(plan, dir.path());
    assert_eq!((finding.outcome, &finding.troubles), (Outcome::Holds, &vec![]), "{finding:#?}");
    let requests = u64::from(2 * REQUESTS);
    for pass in &finding.passes {
        assert_eq!(pass.standings.len(), 4);
        for one in &pass.standings {
            let cold = pass.warmth == Warmth::Cold;
            let (hits, at_origin) = if cold { (0, requests) } else { (requests, 0) };
            assert_eq!((one.requests, one.errors.len(), one.rounds.len()), (requests, 0, 2), "{one:?}");
            if one.name == "origin" {
                assert_eq!((one.own, one.origin), (None, requests));
                continue;
            }
            assert_eq!(one.own, Some(OwnCounts { hits, misses: requests - hits }), "{}", one.name);
            assert_eq!(one.origin, at_origin, "{}", one.name);
            assert!(one.cost.cpu > 0.0 && one.cost.memory > 0.0, "{one:?}");
        }
    }
    let nginx = finding.contenders.iter().find(|one| one.name == "nginx").unwrap();
    assert!(nginx.settings.iter().any(|setting| setting.name == "proxy_cache_path"), "{nginx:?}");
    for one in finding.contenders.iter().filter(|one| one.name != "origin") {
        assert_eq!(one.conformance.len(), 6, "{}", one.name);
        assert!(one.conformance.iter().all(|rule| matches!(rule.verdict, Kept::Kept | Kept::Passed)), "{one:?}");
    }
    let lines = std::fs::read_to_string(dir.path().join("run.jsonl")).unwrap();
    let again = findings(&Record::read(lines.lines()).unwrap()).unwrap();
    assert_eq!(again, finding, "the file says what was seen");
    assert_eq!(record.trials.len(), 16);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left");
}

/// The same server twice, at a rate that both bear.
#[test]
fn the_same_against_itself_is_equal() {
    let dir = tempfile::tempdir().unwrap();
    let plan = small(&["nginx", "nginx"], |plan| (plan.rate, plan.requests, plan.rounds) = (Some(80.0), 24, 4));
    let (_, finding) = made(plan, dir.path());
    let names: Vec<&str> = finding.contenders.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["nginx", "nginx#2"]);
    for pass in &finding.passes {
        assert!(pass.pairs.iter().all(|pair| !pair.certain), "{pass:?}");
        assert!(pass.standings.iter().all(|one| (one.best, one.worst) == (1, 2)), "{pass:?}");
        let own: Vec<_> = pass.standings.iter().map(|one| one.own).collect();
        assert_eq!(own[0], own[1], "both count alike");
    }
}

/// A proxy without a cache that gives two objects in place of each other.
fn liar(origin: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = move |mut stream: TcpStream| {
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        while let Some(Ok(line)) = lines.next() {
            let Some(path) = line.strip_prefix("GET ").and_then(|rest| rest.split(' ').next()) else { continue };
            let path = match path {
                "/o/3" => "/o/5",
                "/o/5" => "/o/3",
                path => path,
            };
            let page = fetch(origin, path, &[], Duration::from_secs(5)).unwrap();
            let head = format!("HTTP/1.1 {} OK\r\nContent-Length: {}\r\n\r\n", page.status, page.body.len());
            if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&page.body)).is_err() {
                return;
            }
        }
    };
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    address
}

#[test]
fn a_cache_that_swaps_two_bodies_is_found_out() {
    let dir = tempfile::tempdir().unwrap();
    let plan = small(&["liar"], |plan| (plan.rounds, plan.content.objects, plan.requests) = (1, 12, 12));
    let fill = |n: u32, out: &mut Vec<u8>| {
        content::fill(&plan.content, n, out);
        true
    };
    let files = Files::write(&dir.path().join("origin"), content::FOLDER, plan.content.objects, fill).unwrap().unwrap();
    let origin = Origin::start(files, std::net::Ipv4Addr::LOCALHOST, None).unwrap();
    let whole = experiment::plan(Size::Quick, plan.clone(), experiment::objective());
    let pages = Pages { content: plan.content.clone(), mix: Mix::Sweep, distinct: 12, requests: 12, seed: 1 };
    let load = Load {
        addresses: vec![liar(origin.address())],
        stop: Stop { after: Span::from_secs(30), requests: Some(12) },
        pages: Some(Box::new(pages)),
        ..whole.load.clone()
    };
    let mut record = Record::default();
    let head = serde_json::from_value(serde_json::json!({
        "schema": genkai_model::event::SCHEMA, "version": "1", "started": "", "command": [], "rewrites": [], "plan": whole,
        "environment": genkai_model::event::Environment { cores: 2, ..Default::default() },
    }));
    let mut push = |trial, what| record.push(Event { at_us: 0, trial, what });
    push(None, What::RunStarted(Box::new(head.unwrap())));
    for (n, warmth) in [(1, Warmth::Cold), (2, Warmth::Warm)] {
        let started = TrialStarted::measure(load.clone());
        push(Some(n), What::TrialStarted(Box::new(started)));
        let mut wrong = None;
        let tick = |tick: genkai_model::event::Tick| {
            wrong = wrong.or(tick.wrong);
            push(Some(n), What::Tick(Box::new(tick)));
        };
        genkai_engine::run(&load, None, &StopFlag::new(), |_| {}, tick).unwrap();
        let (reason, lasted) = (EndReason::Completed, Span(1));
        push(
            Some(n),
            What::TrialEnded(TrialEnded {
                reason,
                lasted,
                abandoned: 0,
                client_rss: 0,
                client: None,
                workers: Vec::new(),
            }),
        );
        let (contender, aim) = ("liar".to_owned(), Aim::Pass { round: 1 });
        let pass: CachePass = serde_json::from_value(serde_json::json!({
            "contender": contender, "origin": 12, "spent": [], "warmth": warmth, "wrong": wrong, "aim": "pass", "round": 1,
        }))
        .unwrap();
        assert_eq!(pass.aim, aim);
        push(Some(n), What::CachePass(Box::new(pass)));
    }
    push(
        None,
        What::RunEnded(genkai_model::event::RunEnded {
            interrupted: false,
            failure: None,
            diff: String::new(),
            files: Vec::new(),
        }),
    );
    let finding = findings(&record).unwrap();
    assert_eq!(finding.outcome, Outcome::Fails);
    let [Trouble::WrongBodies { name, count: 4, first: Some(first), trial: 1 }] = &finding.troubles[..] else {
        panic!("{:?}", finding.troubles)
    };
    assert_eq!(name, "liar");
    assert!([(3, Some(5)), (5, Some(3))].contains(&(first.asked, first.came)), "{first:?}");
}
