use std::path::Path;

use genkai_model::limit::{Ceiling, Law, Limit, Origin, Sign, Strength};

use super::*;
use crate::files::{Configuration, Requests};
use crate::nginx::config::{Config, Found};
use crate::nginx::limits::{Machine, accidents, of};

/// Limits by name of what these servers make, with three of its 100 connections taken by listeners and the channel.
fn limits(http: &str) -> Vec<Limit> {
    let text = format!("events {{ worker_connections 100; }}\nhttp {{\n{http}\n}}\n");
    let config = Config::of_text(Path::new("/n.conf"), text.into(), Path::new("/usr")).unwrap();
    let route = config.route(Some("localhost"), "/").unwrap();
    let origin = |f: &Found<'_>| Origin::File { path: f.config.file(f.file).path.clone(), line: f.line() };
    let machine = Machine {
        descriptors: 1024,
        descriptors_hard: 4096,
        descriptors_ceiling: Ceiling { value: 4096.0, by: "hard RLIMIT_NOFILE 4096".into() },
        online: 2,
        cores: 2,
        somaxconn: 128,
        ports: (32768, 60999),
    };
    let (version, machine) = ((1, 22, 1), &machine);
    let facts = Reading {
        config: &config,
        route,
        origin: &origin,
        version,
        machine,
        status: None,
        visitor: None,
        headers: None,
        body: (0, 0),
        absent: &|_| false,
    }
    .facts();
    of(&facts).into_iter().chain(accidents(&facts)).collect()
}

fn named<'l>(all: &'l [Limit], id: &str) -> &'l Limit {
    all.iter().find(|limit| limit.id == id).unwrap_or_else(|| panic!("no {id} in {all:?}"))
}

fn cost(limit: &Limit) -> f64 {
    let Law::Slots { busy_cost, .. } = limit.law else { panic!("{:?}", limit.law) };
    busy_cost
}

const OUTER: &str = "server {\nlisten 8080;\nlocation / { proxy_pass http://127.0.0.1:8081; }\n}\n";

#[test]
fn each_time_costs_connections_and_descriptors() {
    let all = limits(&format!("{OUTER}server {{ listen 8081; location / {{ proxy_pass http://127.0.0.1:9; }} }}"));
    let slots = named(&all, "nginx.worker_connections");
    assert_eq!((cost(slots), cost(named(&all, "nginx.worker_rlimit_nofile"))), (4.0, 4.0));
    assert_eq!(
        slots.formula,
        "1 worker x floor((100 - 2 listeners - 1 channel) / 4); nginx passes requests to itself (listen at /n.conf:7): a client in \
         flight holds 4 connections, its own, both ends of each to nginx itself, and the last one to its upstream; an idle one 1"
    );
    let answered = limits(&format!("{OUTER}server {{ listen 8081; location / {{ return 204; }} }}"));
    assert_eq!(cost(named(&answered, "nginx.worker_connections")), 3.0);
    let thrice = format!(
        "{OUTER}server {{ listen 8081; location / {{ proxy_pass http://unix:/o.sock; }} }}\n\
         server {{ listen unix:/o.sock; location / {{ proxy_pass http://127.0.0.1:9; }} }}"
    );
    assert_eq!(cost(named(&limits(&thrice), "nginx.worker_connections")), 6.0);
}

#[test]
fn a_response_from_a_cache_within_costs_less() {
    let cached = "proxy_cache_path /c keys_zone=c:1m;\n";
    let inner = "server { listen 8081; location / { proxy_cache c; proxy_pass http://127.0.0.1:9; } }";
    let all = limits(&format!("{cached}{OUTER}{inner}"));
    let slots = named(&all, "nginx.worker_connections");
    assert_eq!(cost(slots), 3.0);
    assert!(slots.formula.contains("holds 4 connections") && slots.formula.contains("where it is answered early 3"));
}

#[test]
fn limits_of_the_server_within_count_too() {
    let all = limits(&format!(
        "limit_conn_zone $binary_remote_addr zone=b:1m;\nlimit_req_zone $binary_remote_addr zone=r:1m rate=5r/s;\n\
         upstream u {{ zone u 64k; server 127.0.0.1:9 max_conns=7; }}\n{OUTER}\
         server {{ listen 8081; location / {{ limit_conn b 9; limit_req zone=r; proxy_pass http://u; }} }}"
    ));
    for (id, value) in [("nginx.upstream.max_conns", "7"), ("nginx.limit_conn", "9"), ("nginx.limit_req", "5r/s")] {
        let limit = named(&all, id);
        assert_eq!(limit.value, value);
        assert!(limit.law != Law::Unknown, "{id}: {}", limit.formula);
    }
}

#[test]
fn a_zone_that_counts_twice_has_no_number() {
    let all = limits(&format!(
        "limit_conn_zone $binary_remote_addr zone=a:1m;\nlimit_conn a 9;\n{OUTER}\
         server {{ listen 8081; location / {{ proxy_pass http://127.0.0.1:9; }} }}"
    ));
    let limit = named(&all, "nginx.limit_conn");
    assert_eq!(limit.law, Law::Unknown);
    assert!(limit.formula.contains("nginx passes them to itself"), "{}", limit.formula);
}

#[test]
fn a_group_that_leads_back_has_a_limit_of_its_own() {
    let all = limits(
        "upstream own { zone o 64k; server 127.0.0.1:8081 max_conns=5; }\nupstream u { server 127.0.0.1:9 max_conns=7; }\n\
         server { listen 8080; location / { proxy_pass http://own; } }\n\
         server { listen 8081; location / { proxy_pass http://u; } }",
    );
    assert_eq!(named(&all, "nginx.upstream.max_conns").value, "7");
    let own = named(&all, "nginx.upstream.max_conns.own");
    assert_eq!((own.value.as_str(), own.remedy.is_none()), ("5", true));
}

#[test]
fn where_it_is_not_known_how_often_there_is_no_number() {
    let all = limits("server { listen 8080; location / { proxy_pass http://127.0.0.1:8080; } }");
    for id in ["nginx.worker_connections", "nginx.worker_rlimit_nofile"] {
        assert_eq!(named(&all, id).law, Law::Unknown, "{id}");
    }
    let formula = &named(&all, "nginx.worker_connections").formula;
    assert!(formula.contains("cannot tell how many a client takes, as nginx passes requests to itself"), "{formula}");
}

#[test]
fn what_counts_within_can_be_changed() {
    let text = format!(
        "events {{}}\nhttp {{\nlimit_conn_zone $host zone=a:1m;\nupstream u {{ server 127.0.0.1:9 max_conns=7; }}\n{OUTER}\
         server {{ listen 8081; location / {{ limit_conn a 9; proxy_pass http://u; }} }}\n}}\n"
    );
    let config = Config::of_text(Path::new("/n.conf"), text.into(), Path::new("/usr")).unwrap();
    let requests = Requests::to("a", "/");
    for (name, old, new) in [("limit_conn", "9", "20"), ("upstream.max_conns", "7", "30")] {
        assert_eq!(config.value_of(name, &requests).unwrap().0, old);
        let changed = config.set(name, new, &requests).unwrap();
        assert_eq!(changed.value_of(name, &requests).unwrap().0, new);
    }
}

/// That nginx's own stream server closes a connection is no sign that what is behind it does.
#[test]
fn a_stream_server_between_counts_connections_itself() {
    let stream = "}\nstream {\nlimit_conn_zone $server_port zone=c:1m;\nserver { listen 8081; limit_conn c 20; proxy_pass 127.0.0.1:9; }";
    let strength = |all: &[Limit]| {
        let signs = named(all, "nginx.upstream").signatures.clone();
        let closed = |sign: &Sign| matches!(sign, Sign::Log(name) if name == crate::limits::closed::NGINX);
        signs.into_iter().find(|one| closed(&one.sign)).unwrap().strength
    };
    let all = limits(&format!("{OUTER}{stream}"));
    assert_eq!(strength(&all), Strength::Consistent);
    let zone = named(&all, "nginx.limit_conn.c");
    assert_eq!((zone.subject.as_str(), zone.value.as_str()), ("nginx", "c 20"));
    assert!(matches!(&zone.origin, Origin::File { line: 8.., .. }), "{:?}", zone.origin);
    assert!(zone.symptom.errors.contains(&genkai_model::error::ErrorKind::Status502));
    assert_eq!(strength(&limits(OUTER)), Strength::Decisive, "nobody of its own is between");
}
