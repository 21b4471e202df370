//! `genkai doctor` on the real machine.

use std::time::Duration;

use genkai_model::machine::Checkup;

use crate::harness::{finish, genkai};

const LONGEST: Duration = Duration::from_secs(60);

#[test]
fn this_machine_is_examined() {
    let output = finish(&mut genkai("doctor --json --connections 600"), LONGEST);
    let checkup: Checkup = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(if checkup.good { 0 } else { 3 }));
    assert!(
        checkup.holds.all >= 600 && checkup.flags.is_some_and(|f| f.contains("--processes")),
        "{:?}",
        checkup.holds
    );
    // The machine of these tests has nginx.
    assert!(checkup.machine.servers["nginx"].starts_with("1."), "{:?}", checkup.machine.servers);
    let text = finish(&mut genkai("doctor"), LONGEST);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    for words in ["holds", "net.core.somaxconn", "nginx", "memory"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn what_no_machine_holds_is_refused() {
    let output = finish(&mut genkai("doctor --connections 900000000"), LONGEST);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stdout).contains("do not fit"));
}
