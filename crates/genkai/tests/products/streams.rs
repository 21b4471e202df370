//! `genkai tune --http2`: users who share connections, at real servers. Where each limit is reached is told beforehand, and met.

use genkai_model::finding::{Confidence, Verdict};

use crate::harness;
use crate::harness::judged::told;
use crate::harness::{Run, genkai, machine};

/// A short run without pairs.
const QUICK: &str = "--quick --quiet --pairs 0 --max-limits 1 --bisect 0";

fn tuned(arguments: &str) -> Run {
    let quick = if arguments.contains("--config") { QUICK } else { QUICK.trim_end_matches(" --bisect 0") };
    told(&genkai(&format!("tune {arguments} {quick}")))
}

/// That the limit was met where its law puts it (to a tenth), in users from one number to another, and that its change moved the break.
fn met(run: &Run, limit: &str, users: (f64, f64)) -> Verdict {
    let verdict = run.verdict();
    // Beyond the load it may be met once more.
    let all: Vec<&str> = verdict.causes.iter().map(|cause| cause.limit.id.as_str()).collect();
    assert!(all.first() == Some(&limit) && all.iter().all(|one| *one == limit), "{all:?}: {}", run.story());
    assert_eq!(verdict.causes[0].confidence, Confidence::Proved, "{}", run.story());
    let told = &verdict.causes[0].predicted;
    let range = told.users.unwrap_or_else(|| panic!("no number\n{}", run.story()));
    assert_eq!((range.low, range.high), users, "{}", run.story());
    let seen = told.observed.unwrap_or_else(|| panic!("not observed\n{}", run.story()));
    assert!(seen >= users.0 * 0.9 && seen <= users.1 * 1.1, "{seen} users: {}", run.story());
    verdict
}

#[test]
fn nginx_has_a_tenth_of_a_connection_for_each_user_and_one_to_its_upstream() {
    let _machine = machine();
    let load = "--set worker_connections=64 --users 90 --spawn-rate 20";
    // (64 - its listener, genkai's status page, its channel) / 1.1; from 15/16 of 64 on clients may suffer.
    met(&tuned(&format!("nginx --tls --http2 {load}")), "nginx.worker_connections", (51.0, 55.0));
    // Without TLS the server is known to speak it; two users a connection.
    met(&tuned(&format!("nginx --http2 --streams 2 {load}")), "nginx.worker_connections", (38.0, 40.0));
}

/// Users who do as a file says, by streams.
const WALK: &str = "target: http://shop.example/\nhttp2: true\nstreams: STREAMS\nphases: [{users: 90, for: 3s}]\nflows:\n  - steps:\n    - \
                    {request: GET /a}\n    - {request: GET /b}\n";

#[test]
fn users_of_a_scenario_that_says_so_share_connections_by_the_same_laws() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("walk.yaml");
    let with = |streams: &str| {
        std::fs::write(&file, WALK.replace("STREAMS", streams)).unwrap();
        format!("--scenario {} --spawn-rate 20", file.display())
    };
    let run = tuned(&format!("nginx --tls --set worker_connections=64 {}", with("10")));
    met(&run, "nginx.worker_connections", (51.0, 55.0));
    let record = run.record();
    let target = &record.trials[0].started.load.scenario.as_ref().unwrap().targets[0];
    assert_eq!(target.http2.map(|http2| http2.streams), Some(10));
    // Without TLS this listener speaks HTTP/2 only: the first answer is asked for so, too.
    let run = tuned(&format!("nginx --set worker_connections=64 {}", with("2")));
    met(&run, "nginx.worker_connections", (38.0, 40.0));
    let text = std::fs::read_to_string(run.out.join("run.jsonl")).unwrap();
    assert!(!text.contains("before any load"), "{}", run.story());
    let refused = genkai(&format!("compare nginx squid-memory {}", with("2"))).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        refused.status.code() == Some(2)
            && said.contains("`http2: true`: genkai makes no load of HTTP/2 on squid-memory"),
        "{said}"
    );
}

#[test]
fn a_listener_of_the_users_file_is_asked_as_it_is() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let papers = genkai_place::authority::make(dir.path()).unwrap();
    let file = dir.path().join("nginx.conf");
    let site = |listen: &str, more: &str| {
        let (certificate, key) = (papers.certificate.display(), papers.key.display());
        let server = format!(
            "listen {listen};\n{more}ssl_certificate {certificate};\nssl_certificate_key {key};\nlocation / {{ proxy_pass http://127.0.0.1:9; }}\n"
        );
        std::fs::write(&file, format!("events {{ worker_connections 64; }}\nhttp {{ server {{\n{server}}} }}\n"))
            .unwrap();
        format!("nginx --http2 --backend embedded --users 90 --spawn-rate 20 --config {}", file.display())
    };
    let refused = genkai(&format!("tune {}", site("443 ssl", ""))).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(3), "{said}");
    assert!(said.contains("HTTP/2 not offered") && said.contains("ALPN chose http/1.1"), "{said}");
    assert!(said.contains("`listen ... ssl http2;`") && said.matches("error:").count() == 1, "{said}");
    // The server allows four streams on a connection, where ten are asked for: 61 / 1.25.
    let few = site("443 ssl http2", "http2_max_concurrent_streams 4;\n");
    met(&tuned(&few), "nginx.worker_connections", (45.0, 48.0));
}

#[test]
fn haproxy_has_sockets_for_two_of_each_of_its_connections_only() {
    let _machine = machine();
    let run = tuned("haproxy --tls --http2 --set maxconn=60 --users 170 --spawn-rate 30 --timeout 3s");
    // 2 x 60 sockets / 1.1, and up to 22 more that are set aside for itself.
    let verdict = met(&run, "haproxy.maxsock", (109.0, 129.0));
    assert_eq!(verdict.proposal[0].change.setting, "maxconn", "{}", run.story());
    // Ten users a connection would be 600.
    let connections = verdict.predictions.iter().find(|told| told.limit == "haproxy.maxconn").unwrap();
    assert_eq!(connections.users.map(|range| range.high), Some(600.0), "{}", run.story());
}

#[test]
fn apache_answers_by_threads_of_its_own_whose_number_is_told() {
    let _machine = machine();
    let run = tuned(
        "apache --tls --http2 --set MaxRequestWorkers=25 --users 70 --spawn-rate 10 --hold 5s --objective p99<400ms",
    );
    // 3/2 of 25 threads; 37 x 400 ms / 300 ms.
    let verdict = met(&run, "apache.H2MaxWorkers", (37.0, 49.0));
    assert_eq!(verdict.proposal[0].change.setting, "H2MaxWorkers", "{}", run.story());
}

#[test]
fn a_connection_of_apache_has_a_worker_of_worker() {
    let _machine = machine();
    let run = tuned("apache --tls --http2 --set MaxRequestWorkers=25 --users 290 --spawn-rate 30 --timeout 4s");
    met(&run, "apache.MaxRequestWorkers", (250.0, 250.0));
}

#[test]
fn what_caddy_sends_to_an_upstream_is_one_connection_a_request() {
    let _machine = machine();
    let run = tuned("caddy --tls --http2 --set max_conns_per_host=20 --users 60 --spawn-rate 10 --objective p99<800ms");
    met(&run, "caddy.max_conns_per_host", (20.0, 53.0));
}

#[test]
fn a_comparison_is_made_over_http2_where_all_offer_it() {
    let _machine = machine();
    let run = harness::run(&genkai(
        "compare nginx haproxy --tls --http2 --users 20 --backend-time 5ms --quick --blocks 2 --quiet",
    ));
    let verdict: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(run.out.join("verdict.json")).unwrap()).unwrap();
    assert!(verdict["comparison"].is_object(), "{}", run.story());
    let connections =
        run.record().trials.iter().map(|trial| trial.started.load.protocol.is_http1()).collect::<Vec<_>>();
    assert!(!connections.is_empty() && connections.iter().all(|one| !one), "{}", run.story());
    let refused = genkai("compare nginx squid-memory --http2 --users 2").output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && said.contains("no load of HTTP/2 on squid-memory"), "{said}");
}
