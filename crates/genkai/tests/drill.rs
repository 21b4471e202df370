//! Some cases of the drill (`make drill` runs all): what they are diagnosed as must be what was done to them.
#![allow(dead_code, reason = "the drill's program uses the rest")]

#[path = "../examples/drill/cases.rs"]
mod cases;
mod harness;
#[path = "../examples/drill/judge.rs"]
mod judge;
#[path = "../examples/drill/run.rs"]
mod run;
#[path = "../examples/drill/world.rs"]
mod world;

use std::path::Path;

use judge::Mark;

/// Asserts that a case is named right. "Cannot tell" is a true answer on a busy machine: it is asked again then, three times at most.
fn right(name: &str) {
    let _machine = harness::machine();
    let case = cases::CASES.iter().find(|case| case.name == name).unwrap();
    let diagnosed = |_| {
        let dir = tempfile::tempdir().unwrap();
        let done = run::run(case, Path::new(env!("CARGO_BIN_EXE_genkai")), dir.path());
        done.judged.unwrap_or_else(|why| panic!("{name}: {why}"))
    };
    let told = (0..3).map(diagnosed).find(|judged| judged.mark != Mark::CannotTell);
    let judged = told.unwrap_or_else(|| panic!("{name}: it could not tell, three times"));
    assert_eq!(judged.mark, Mark::Right, "{name}: {}", judged.named);
}

#[test]
fn nobody_behind_haproxy() {
    right("haproxy-refused");
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
fn names_are_unique_and_every_case_says_what_it_is() {
    for (i, case) in cases::CASES.iter().enumerate() {
        assert!(!case.name.is_empty() && !case.fault.is_empty(), "{}", case.name);
        assert!(cases::CASES[..i].iter().all(|other| other.name != case.name), "{} is there twice", case.name);
        assert!(genkai_targets::product::PRODUCTS.contains(&case.product), "{}", case.name);
    }
}
