//! Directives that are left out where nothing is named: what heals, and what only means something else.

use genkai_model::finding::{Because, BisectionEnd};

use crate::harness::servers::{free, nginx};
use crate::harness::{genkai, machine, run};

#[test]
fn a_fast_answer_that_is_another_page_is_no_healing() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let [port] = free();
    let slow = "x".repeat(1500);
    let pages = format!(
        "server {{ listen 127.0.0.1:{port}; location = /slow {{ limit_rate 500; return 200 {slow}; }} location / {{ return 200 fast; }} }}"
    );
    let _behind = nginx(dir.path(), &pages, port);
    let front = dir.path().join("front.conf");
    let text = format!(
        "events {{ }}\nhttp {{\n server {{\n  listen 8080;\n  etag off;\n  location / {{\n   rewrite ^/$ /slow break;\n   proxy_pass \
         http://127.0.0.1:{port};\n  }}\n }}\n}}\n"
    );
    std::fs::write(&front, text).unwrap();
    let flags = "--users 6 --spawn-rate 6 --hold 4s --quick --pairs 0 --quiet";
    let run = run(genkai(&format!("tune nginx {flags}")).args(["--objective", "p99 < 800ms", "--config"]).arg(&front));
    let verdict = run.verdict();
    let found = verdict.bisection.as_ref().unwrap_or_else(|| panic!("nothing was left out: {}", run.story()));
    assert!(found.named.is_empty() && found.altered > 0 && found.compared, "{found:?}\n{}", run.story());
    assert_eq!(found.ended, BisectionEnd::Nothing, "{}", run.story());
    assert_ne!(verdict.because(), Because::DirectivesNamed, "{}", run.story());
}
