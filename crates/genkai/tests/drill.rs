//! Some cases of the drill (`make drill` runs all): what they are diagnosed as must be what was done to them.
#![allow(dead_code, reason = "the drill's program uses the rest")]

#[path = "../examples/drill/cases/mod.rs"]
mod cases;
mod harness;
#[path = "../examples/drill/inside.rs"]
mod inside;
#[path = "../examples/drill/jobs.rs"]
mod jobs;
#[path = "../examples/drill/judge.rs"]
mod judge;
#[path = "../examples/drill/results.rs"]
mod results;
#[path = "../examples/drill/run.rs"]
mod run;
#[path = "../examples/drill/world.rs"]
mod world;

use std::path::Path;
use std::time::Duration;

use judge::Mark;
use run::{Done, Unjudged};

/// Asserts that a case is named right, and that it broke where its formula puts it.
fn right_there(name: &str) {
    let judged = diagnosed(name);
    let there = !judged.places.is_empty() && judged.places.iter().all(judge::Place::is_near);
    assert!(there, "{name}: {:?}", judged.places);
}

fn right(name: &str) {
    diagnosed(name);
}

/// Asserts that a case is named right. "Cannot tell" is a true answer on a busy machine: it is asked again then, once the machine is quieter, three
/// times at most.
fn diagnosed(name: &str) -> judge::Judged {
    let _machine = harness::machine();
    let case = cases::all().iter().find(|case| case.name == name).unwrap();
    let told = |n| {
        if n > 0 {
            genkai_tidy::noted::asked_again("cannot tell");
            harness::quiet();
        }
        let dir = tempfile::tempdir().unwrap();
        let done = run::run(case, Path::new(env!("CARGO_BIN_EXE_genkai")), dir.path());
        done.judged.unwrap_or_else(|why| panic!("{name}: {why:?}"))
    };
    let told = (0..3).map(told).find(|judged| judged.mark != Mark::CannotTell);
    let judged = told.unwrap_or_else(|| panic!("{name}: it could not tell, three times"));
    assert_eq!(judged.mark, Mark::Right, "{name}: {}", judged.named());
    judged
}

#[test]
fn a_queue_that_is_full_as_workers_are_too_slow() {
    right("uwsgi-listen-nginx");
}

#[test]
fn nobody_behind_haproxy() {
    right("haproxy-refused");
}

#[test]
fn one_of_two_servers_refuses() {
    right("haproxy-refusing-server");
}

#[test]
fn one_of_two_servers_is_slow() {
    right("haproxy-slow-server");
}

#[test]
fn one_of_two_servers_of_nginx_is_slow() {
    right("nginx-slow-server");
}

#[test]
fn max_conns_beside_a_server_that_is_not_there() {
    right_there("nginx-max-conns-absent");
}

#[test]
fn max_conns_beside_a_server_that_never_answers() {
    right("nginx-max-conns-mute");
}

#[test]
fn max_conns_before_a_backup_that_is_not_there() {
    right_there("nginx-max-conns-no-backup");
}

#[test]
fn a_backend_that_wants_a_certificate_of_its_clients() {
    right("tls-certificate-haproxy");
}

#[test]
fn a_backend_that_wants_a_certificate_of_apache() {
    right("tls-certificate-apache");
}

#[test]
fn connections_at_once_that_haproxy_counts_of_an_address() {
    right("haproxy-many");
}

#[test]
fn few_streams_on_a_connection() {
    right("h2-streams-nginx");
}

#[test]
fn a_server_slower_than_haproxy_waits() {
    right("haproxy-timeout");
}

#[test]
fn a_link_that_resets() {
    right("resetting-link");
}

#[test]
fn a_full_queue_behind_haproxy() {
    right("backend-queue");
}

#[test]
fn a_message_larger_than_the_application_takes() {
    right("ws-large-message");
}

#[test]
fn a_full_pool_of_each_member_of_a_balancer() {
    right("apache-balancer-pool");
}

#[test]
fn upstreams_of_caddy_that_are_all_down() {
    right("caddy-no-failure-allowed");
}

#[test]
fn a_peer_of_squid_that_has_no_connection_left() {
    right("squid-max-conn");
}

#[test]
fn a_directive_of_nginx_without_a_rule() {
    right("bisect-nginx-lua-exit");
}

#[test]
fn a_directive_of_nginx_that_only_a_load_shows() {
    right("bisect-nginx-auth-request-few");
}

#[test]
fn a_directive_of_haproxy_without_a_rule() {
    right("bisect-haproxy-set-status");
}

#[test]
fn a_directive_of_apache_without_a_rule() {
    right("bisect-apache-proxy-block");
}

#[test]
fn a_directive_of_caddy_without_a_rule() {
    right("bisect-caddy-replace-status");
}

#[test]
fn a_block_of_caddy_without_a_rule() {
    right("bisect-caddy-handle");
}

#[test]
fn a_parameter_of_caddys_transport_without_a_rule() {
    right("bisect-caddy-max-response-header");
}

#[test]
fn a_line_of_squid_without_a_rule() {
    right("bisect-squid-reply-header-max-size");
}

#[test]
fn a_statement_of_varnish_without_a_rule() {
    right("bisect-varnish-status");
}

#[test]
fn what_cannot_be_made_is_skipped_with_its_reason() {
    let case = cases::all().iter().find(|case| case.name == "conntrack").unwrap();
    let done = run::run(case, Path::new(env!("CARGO_BIN_EXE_genkai")), Path::new("/nonexistent"));
    let Err(Unjudged::Skipped(why)) = done.judged else { panic!("{:?}", done.judged.map(|judged| judged.named())) };
    assert!(why.starts_with("nf_conntrack_max is the whole machine's"), "{why}");
}

#[test]
fn the_last_result_of_each_case_counts_as_long_as_the_case_is_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("results.jsonl");
    let [later, first] = [&cases::all()[1], &cases::all()[0]];
    let done = |case, why: &str, day: &str| Done {
        case,
        judged: Err(Unjudged::Failed(why.to_owned())),
        again: None,
        took: Duration::from_millis(1500),
        day: day.to_owned(),
    };
    for one in [done(later, "a", "2026-01-01"), done(first, "b", "2026-01-01"), done(later, "c", "2026-01-02")] {
        results::keep(&file, &one, "a machine").unwrap();
    }
    let told = |file: &Path| {
        let (all, machines) = results::read(file).unwrap();
        assert_eq!(machines, "a machine");
        all.into_iter().map(|done| (done.case.name.clone(), done.judged.err(), done.day)).collect::<Vec<_>>()
    };
    let of = |case: &cases::Case, why: &str, day: &str| {
        (case.name.clone(), Some(Unjudged::Failed(why.to_owned())), day.to_owned())
    };
    assert_eq!(told(&file), [of(first, "b", "2026-01-01"), of(later, "c", "2026-01-02")]);
    // As if the first case had been another one then.
    let text = std::fs::read_to_string(&file).unwrap();
    let (one, rest) = text.split_once('\n').unwrap();
    let at = one.find("\"case\":\"").unwrap() + 8;
    std::fs::write(&file, format!("{}00000000{}\n{rest}", &one[..at], &one[at + 8..])).unwrap();
    assert_eq!(told(&file), [of(later, "c", "2026-01-02")]);
}

#[test]
fn cases_run_beside_each_other_and_those_that_must_be_alone_after_all_others() {
    let chosen = |alone: bool| cases::all().iter().filter(move |case| case.alone() == alone).take(4);
    // Those that are alone come first in the list, and their results, too.
    let all: Vec<&'static cases::Case> = chosen(true).chain(chosen(false)).collect();
    let running = std::sync::Mutex::new(0);
    let (both, order) = (std::sync::Barrier::new(2), std::sync::Mutex::new(Vec::new()));
    let one = |case: &'static cases::Case| {
        let beside = {
            let mut running = running.lock().unwrap();
            *running += 1;
            *running
        };
        if case.alone() {
            assert_eq!(beside, 1, "{} is not alone", case.name);
        } else {
            // Two of them are under way at once, or this never ends.
            both.wait();
        }
        *running.lock().unwrap() -= 1;
        let judged = Err(Unjudged::Failed(String::new()));
        Ok(Done { case, judged, again: None, took: Duration::ZERO, day: String::new() })
    };
    let kept = |done: &Done<'_>| {
        order.lock().unwrap().push(done.case.alone());
        Ok(())
    };
    let done = jobs::run(&all, 2, one, kept).unwrap();
    let names = |cases: Vec<&cases::Case>| cases.into_iter().map(|case| case.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(done.iter().map(|done| done.case).collect()), names(all.clone()));
    assert_eq!(order.into_inner().unwrap(), [[false; 4], [true; 4]].concat());
    // The first error ends it: what has begun is run to its end, and nothing else is begun.
    let begun = std::sync::atomic::AtomicUsize::new(0);
    let fails = |_| {
        begun.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Err(std::io::Error::other("no folder"))
    };
    let ended = jobs::run(&all, 2, fails, |_| Ok(())).err().map(|e| e.to_string());
    assert_eq!(ended.as_deref(), Some("no folder"));
    assert!(begun.into_inner() <= 2);
}

#[test]
fn names_are_unique_and_every_case_says_what_it_is() {
    for (i, case) in cases::all().iter().enumerate() {
        assert!(!case.name.is_empty() && !case.fault.is_empty(), "{}", case.name);
        assert!(cases::all()[..i].iter().all(|other| other.name != case.name), "{} is there twice", case.name);
        let known = [cases::ROOMS, "command"].contains(&case.product)
            || genkai_targets::catalog::PRODUCTS
                .iter()
                .any(|entry| entry.name == case.product && entry.prepare.is_some());
        assert!(known, "{}", case.name);
        if let cases::Expect::Cause { ids, why, .. } = &case.expect {
            assert_eq!(ids.len() > 1, !why.is_empty(), "{}: several names need a reason, one needs none", case.name);
        }
    }
    assert!(cases::all().len() >= 200, "{} cases", cases::all().len());
}
