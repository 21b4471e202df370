//! What a proposal takes in a memory group, as the group counts it: a sample of `make groups`.

mod harness;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use harness::{finish, machine};

/// A group of version 1, which only root can make.
fn can_be_made() -> bool {
    let root = Path::new("/sys/fs/cgroup/memory");
    let own = root.join(format!("genkai-test-{}", std::process::id()));
    root.join("memory.limit_in_bytes").exists()
        && std::fs::create_dir(&own).and_then(|()| std::fs::remove_dir(&own)).is_ok()
}

/// A case of `make groups`.
fn as_it_should(name: &str) {
    if !can_be_made() {
        return genkai_tidy::noted::skipped("no memory group can be made here (control groups of version 1, as root)");
    }
    let _machine = machine();
    let mut command = Command::new("python3");
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/groups.py"));
    command.args([env!("CARGO_BIN_EXE_genkai"), name]).stdin(Stdio::null());
    let output = finish(&mut command, Duration::from_secs(300));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn what_was_predicted_for_a_pool_of_php_is_what_its_group_counts() {
    as_it_should("fpm-large");
}

#[test]
fn where_the_group_holds_no_larger_value_nothing_is_proposed_and_that_is_said() {
    as_it_should("nothing-fits");
}
