//! Servers that HAProxy takes out for what they answer to requests (`observe`), while no health check of them fails; and what an nginx behind says itself.

use std::process::{Command, Stdio};

use genkai_model::limit::Origin;

use super::others::{listens, noted, port};
use crate::harness::judged::{lifted, only_cause, told};
use crate::harness::servers::{Guard, scripted};
use crate::harness::{genkai, machine};

#[test]
fn servers_that_are_out_for_errors_of_requests_have_failed_no_check() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let [(_one, one), (_two, two)] = [0, 1].map(|_| scripted("errors --share 0.01"));
    let observed = "check inter 20s observe layer7 error-limit 1 on-error mark-down";
    let text = format!(
        "defaults\n  mode http\n  timeout connect 1s\n  timeout client 20s\n  timeout server 20s\nfrontend f\n  bind :80\n  default_backend b\n\
         backend b\n  server one {one} {observed}\n  server two {two} {observed}\n"
    );
    let config = dir.path().join("haproxy.cfg");
    std::fs::write(&config, text).unwrap();
    let load = "--users 20 --spawn-rate 4 --quick --quiet --pairs 0";
    let mut command = genkai(&format!("tune haproxy {load} --config"));
    command.arg(&config).args(["--objective", "errors < 5%"]);
    let run = told(&command);
    let verdict = lifted(&run, "haproxy.server.observe", "server.observe");
    assert_eq!(verdict.proposal[0].change.to, "none");
    let origin = &verdict.causes[0].limit.origin;
    assert!(matches!(origin, Origin::File { path, line: 10 } if *path == config), "{origin:?}");
    let said = run.says().join("\n");
    assert!(!said.contains("health check is") && !said.contains("`check` failed"), "{said}");
}

#[test]
fn the_connections_of_an_nginx_behind_are_named_with_their_line() {
    let _machine = machine();
    let (_application, application) = scripted("fixed --time 0.3");
    let dir = tempfile::tempdir().unwrap();
    let (root, port) = (dir.path().display(), port());
    let inner = dir.path().join("inner.conf");
    let text = format!(
        "worker_processes 1;\nerror_log {root}/inner.log;\npid {root}/inner.pid;\nevents {{ worker_connections 64; }}\nhttp {{ access_log off; server {{ \
         listen 127.0.0.1:{port}; location / {{ proxy_pass http://{application}; }} }} }}\n"
    );
    std::fs::write(&inner, text).unwrap();
    let mut command = Command::new("nginx");
    command.arg("-c").arg(&inner).args(["-g", "daemon off;"]).stderr(Stdio::null());
    let _inner = Guard(command.spawn().unwrap());
    listens("nginx to listen", port);
    let outer = dir.path().join("outer.conf");
    let text = format!(
        "events {{ }}\nhttp {{ server {{ listen 80; location / {{ proxy_pass http://127.0.0.1:{port}; }} }} }}\n"
    );
    std::fs::write(&outer, text).unwrap();
    let run = told(genkai("tune nginx --users 80 --spawn-rate 20 --quick --quiet --pairs 0 --config").arg(&outer));
    let verdict = only_cause(&run, "backend.worker_connections");
    let limit = &verdict.causes[0].limit;
    assert_eq!((limit.value.as_str(), &limit.origin), ("64", &Origin::File { path: inner.clone(), line: 4 }));
    assert!(verdict.proposal.is_empty(), "it is somebody else's: {}", run.story());
    let place = format!("{}:4", inner.display());
    assert!(run.says()[0].contains(&place), "{:?}", run.says());
    assert!(noted(&run).iter().any(|text| text.contains("worker_connections 64")), "{}", run.story());
}
