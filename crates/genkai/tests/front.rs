//! What is in front, or behind, and cannot be used: one clear sentence each.

mod harness;

use harness::{genkai, machine, run};

/// The one message of a command that is refused before anything is started.
fn refused(arguments: &str) -> (Option<i32>, String) {
    let output = genkai(arguments).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_certificate_that_is_not_there_is_refused_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let gone = dir.path().join("gone.pem");
    let file = dir.path().join("nginx.conf");
    let text = format!(
        "events {{}}\nhttp {{\n  server {{\n    listen 443 ssl;\n    ssl_certificate {0};\n    ssl_certificate_key {0};\n    location / {{ \
         proxy_pass http://127.0.0.1:9; }}\n  }}\n}}\n",
        gone.display()
    );
    std::fs::write(&file, text).unwrap();
    let (code, said) = refused(&format!("tune nginx --users 2 --backend embedded --config {}", file.display()));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains(&format!("{}:5", file.display())) && said.contains("gone.pem"), "{said}");
    assert_eq!(said.matches("error:").count(), 1, "{said}");
}

#[test]
fn a_socket_of_the_backend_that_is_not_there_is_a_fault_and_no_limit() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let gone = dir.path().join("gone.sock");
    let file = dir.path().join("nginx.conf");
    let text = format!(
        "events {{}}\nhttp {{\n  upstream app {{\n    server unix:{};\n  }}\n  server {{\n    listen 80;\n    location / {{\n      \
         proxy_pass http://app;\n    }}\n  }}\n}}\n",
        gone.display()
    );
    std::fs::write(&file, text).unwrap();
    let run = run(genkai("tune nginx --users 4 --spawn-rate 4 --quick --quiet --bisect 0 --config").arg(&file));
    let says = run.says();
    let place = format!("({}:", file.display());
    assert!(
        says[0].contains("nginx cannot reach its upstream app ")
            && says[0].contains(&place)
            && says[0].contains("no such socket"),
        "{says:?}"
    );
    assert!(!says[0].contains("limit") && run.verdict().proposal.is_empty(), "{says:?}");
    let causes: Vec<_> = run.verdict().causes.iter().map(|cause| (cause.limit.id.clone(), cause.limit.fault)).collect();
    assert_eq!(causes, [("nginx.upstream.address".to_owned(), true)], "{}", run.story());
}
