//! What is installed beside the program: manual pages and completions, made from the definition of the command line.

use std::path::Path;
use std::process::Command;

use crate::harness::genkai;

fn printed(arguments: &str) -> String {
    let output = genkai(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Whether this machine has the program.
fn has(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|all| std::env::split_paths(&all).any(|dir| dir.join(program).is_file()))
}

fn checked(program: &str, arguments: &[&str], file: &Path) {
    if has(program) {
        let output = Command::new(program).args(arguments).arg(file).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{program} {}: {said}", file.display());
    }
}

#[test]
fn every_command_has_a_manual_page_without_warnings() {
    let dir = tempfile::tempdir().unwrap();
    printed(&format!("man --out {}", dir.path().display()));
    let mut pages: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    let names: Vec<_> = pages.iter().map(|page| page.file_name().unwrap().to_str().unwrap()).collect();
    for name in ["genkai.1", "genkai-load.1", "genkai-tune-nginx.1", "genkai-experiment-run-rooms.1"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(!names.contains(&"genkai-worker.1"), "it is not for people");
    for page in &pages {
        checked("man", &["--warnings", "-l", "-Tutf8"], page);
    }
    let tune = std::fs::read_to_string(dir.path().join("genkai-tune-nginx.1")).unwrap();
    let after = tune.split("\\fB\\-\\-think\\fR").last().and_then(|rest| rest.lines().nth(1));
    assert!(after.is_some_and(|text| text.len() > 20 && !text.starts_with('.')), "a flag that -h hides: {after:?}");
    let load = std::fs::read_to_string(dir.path().join("genkai-load.1")).unwrap();
    assert!(load.contains("\\-\\-http2") && load.contains("Exit codes") && load.contains("Examples"), "{load}");
}

#[test]
fn completions_are_scripts_that_their_shells_understand() {
    let dir = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = printed(&format!("completions {shell}"));
        assert!(script.contains("http2-prior-knowledge") && script.contains("reverse-proxy-cache"), "{shell}");
        // clap's completions for fish know flags of two levels only.
        assert!(shell == "fish" || script.contains("sweep-nodes"), "{shell}");
        let file = dir.path().join(shell);
        std::fs::write(&file, script).unwrap();
        checked(shell, &["-n"], &file);
    }
}
