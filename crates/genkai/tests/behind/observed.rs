//! Servers that HAProxy takes out for what they answer to requests (`observe`), while no health check of them fails.

use genkai_model::limit::Origin;

use crate::harness::judged::{lifted, told};
use crate::harness::servers::scripted;
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
