//! What a server refuses, delays or holds back by itself under load: named with the line of its directive, on real servers.

use std::path::PathBuf;

use genkai_model::event::What;
use genkai_model::finding::{Because, Confidence, Verdict};
use genkai_model::limit::Origin;

use crate::harness::judged::{only_cause, told};
use crate::harness::{Run, genkai, machine, run};

/// A run on this configuration, and the line with the mark `#1` (which is left out).
fn tuned(product: &str, text: &str, load: &str, objective: &str) -> (Run, Origin) {
    let dir = tempfile::tempdir().unwrap();
    let path: PathBuf = dir.path().join(format!("{product}.conf"));
    let line = text.lines().position(|line| line.contains("#1")).unwrap() + 1;
    std::fs::write(&path, text.replace("#1", "")).unwrap();
    let flags = format!("tune {product} --backend embedded {load} --quick --quiet --pairs 0 --bisect 0 --max-limits 1");
    let run = told(genkai(&flags).args(["--objective", objective, "--config"]).arg(&path));
    (run, Origin::File { path, line })
}

/// That this limit and no other is named, at this place.
fn named(run: &Run, id: &str, at: &Origin) -> Verdict {
    let verdict = only_cause(run, id);
    assert_eq!(&verdict.causes[0].limit.origin, at, "{}", run.story());
    verdict
}

fn apache(modules: &[&str], lines: &str) -> String {
    let all = ["mpm_event", "authz_core", "proxy", "proxy_http"].iter().chain(modules);
    let load = |name: &&str| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
    let modules: String = all.map(load).collect();
    format!("{modules}Listen 8080\n{lines}\nProxyPass / http://127.0.0.1:9/\n")
}

fn haproxy(front: &str, back: &str) -> String {
    format!(
        "defaults\n mode http\n timeout connect 1s\n timeout client 20s\n timeout server 20s\n timeout queue 20s\nfrontend f\n bind :80\n \
         {front}\n default_backend b\nbackend b\n {back}\n"
    )
}

#[test]
fn bodies_that_do_not_come_in_time_are_apaches_request_read_timeout() {
    let _machine = machine();
    let text = apache(&["reqtimeout"], "RequestReadTimeout body=1#1");
    let load = "--users 40 --spawn-rate 5 --body-size 40m --backend-time 10ms";
    let (run, at) = tuned("apache", &text, load, "errors < 0.1%");
    let id = run.verdict().causes.first().map(|cause| cause.limit.id.clone()).unwrap_or_default();
    named(&run, &id, &at);
    assert!(id.starts_with("apache.answers.RequestReadTimeout."), "{}", run.story());
    assert!(run.says().iter().any(|says| says.contains("Request body read timeout")), "{}", run.story());
}

/// That the only cause is this setting of Squid's, which moved the break as its law says: to the value that was tried, or one beyond.
fn squid_moved(lines: &str, id: &str) {
    let origin = "http_port 80 accel defaultsite=localhost\ncache_peer 127.0.0.1 parent 9 0 no-query no-digest originserver\ncache deny all\n";
    let load = "--users 24 --spawn-rate 8 --backend-time 50ms";
    let (run, at) = tuned("squid", &format!("{origin}{lines}"), load, "errors < 0.1%");
    let verdict = named(&run, id, &at);
    assert_eq!(verdict.causes[0].confidence, Confidence::Proved, "{}", run.story());
    let predicted = verdict.causes[0].predicted.clients.unwrap();
    let broke = verdict.causes[0].broke.level;
    assert!(predicted.high <= broke && broke <= predicted.high + 2.0, "{predicted:?} {broke}: {}", run.story());
}

#[test]
fn a_client_of_squid_with_too_many_connections_is_refused_by_its_acl() {
    let _machine = machine();
    let acls = "acl toomany maxconn 8#1\nacl ports port 80 1025-65535\n";
    let rules =
        "http_access deny !ports\nhttp_access deny toomany\nhttp_access allow localhost\nhttp_access deny all\n";
    squid_moved(&format!("{acls}{rules}"), "squid.maxconn");
}

#[test]
fn connections_beyond_those_of_an_address_are_closed_by_squid() {
    let _machine = machine();
    squid_moved("client_ip_max_connections 8#1\nhttp_access allow all\n", "squid.client_ip_max_connections");
}

#[test]
fn responses_that_are_held_back_are_mod_ratelimits_and_come_at_once_without() {
    let _machine = machine();
    let lines = "<Location />\nSetOutputFilter RATE_LIMIT\nSetEnv rate-limit 20#1\n</Location>";
    let text = apache(&["env", "ratelimit"], lines);
    let load = "--users 16 --spawn-rate 10 --backend-time 10ms --backend-body 10k";
    let (run, at) = tuned("apache", &text, load, "p99 < 300ms");
    let verdict = named(&run, "apache.rate-limit", &at);
    assert_eq!(verdict.causes[0].confidence, Confidence::Proved, "{}", run.story());
    assert_eq!((verdict.proposal[0].change.from.as_str(), verdict.proposal[0].change.to.as_str()), ("20", "0"));
}

#[test]
fn requests_for_whom_a_full_queue_has_no_room_are_haproxys_maxqueue() {
    let _machine = machine();
    let text = haproxy(
        "",
        "balance source\n server s 127.0.0.1:9 maxconn 10 maxqueue 8#1\n server t 127.0.0.1:9 maxconn 10 maxqueue 8",
    );
    let (run, at) = tuned("haproxy", &text, "--users 40 --spawn-rate 8", "errors < 0.1%");
    let verdict = named(&run, "haproxy.server.maxqueue", &at);
    let told = &verdict.causes[0].predicted;
    assert_eq!(told.users.map(|range| (range.low, range.high)), Some((18.0, 18.0)), "{}", run.story());
    assert!(told.observed.is_some_and(|seen| (17.0..=20.0).contains(&seen)), "{}", run.story());
    assert_eq!(verdict.causes[0].confidence, Confidence::Proved, "{}", run.story());
}

#[test]
fn connections_that_come_too_fast_are_haproxys_rate_limit_sessions() {
    let _machine = machine();
    let text = haproxy("rate-limit sessions 30#1", "server s 127.0.0.1:9");
    let load = "--rate 60 --ramp 6s --new-connections --backend-time 10ms --connections 400";
    let (run, at) = tuned("haproxy", &text, load, "errors < 0.1%, p99 < 700ms");
    named(&run, "haproxy.rate-limit.sessions", &at);
}

#[test]
fn a_limit_that_counts_none_of_the_requests_is_told_as_that() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("nginx.conf");
    let text = "events {}\nhttp {\nlimit_req_zone $server_name zone=r:1m rate=1r/s;\nserver {\nlisten 80;\nlocation / {\nlimit_req zone=r;\n\
                proxy_pass http://127.0.0.1:9;\n}\n}\n}\n";
    std::fs::write(&path, text).unwrap();
    let flags = "tune nginx --backend embedded --users 8 --spawn-rate 8 --hold 1s --quick --quiet --pairs 0 --config";
    let run = run(genkai(flags).arg(&path));
    assert_eq!(run.verdict().because(), Because::ObjectiveHolds, "{}", run.story());
    let said = format!(
        "limit_req of zone r ({}:3) limits none of these requests: its key $server_name is empty for them",
        path.display()
    );
    let record = run.record();
    let told = record.remarks.iter().any(|event| matches!(&event.what, What::Note(note) if note.text.contains(&said)));
    assert!(told, "{}", run.story());
}
