//! The formulas against what was measured on a real nginx, and the shape of what analysis reads.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Ceiling, Law, Limit, Origin, Sign};
use genkai_model::units::Span;

use crate::limits::slots::Takes;
use crate::settings::SourcedValue;

use super::*;
use crate::nginx::config::Refusal;

fn held<T: ToString>(value: T) -> SourcedValue<T> {
    SourcedValue { written: value.to_string(), value, origin: Origin::Given }
}

/// One server behind it.
fn behind() -> Upstream {
    Upstream {
        name: SourcedValue { value: (), written: "backend".into(), origin: Origin::Given },
        encrypted: false,
        addresses: vec!["127.0.0.1:9".parse().unwrap()],
        sockets: Vec::new(),
        each: Vec::new(),
        servers: 1,
        even: true,
        place: None,
        absent: Vec::new(),
        told: false,
        max_conns: None,
        max_fails: None,
        resolved: None,
        shared: false,
        keepalive: None,
        closed: false,
        refusal: Refusal::Status(502),
        only: None,
    }
}

/// A reverse proxy with one worker, one listener and two logs, as measured.
fn proxy(worker_connections: u64) -> Facts {
    Facts {
        workers: held(1),
        uneven: false,
        worker_connections: held(worker_connections),
        nofile: held(20_000),
        nofile_ceiling: Ceiling { value: 20_000.0, by: "hard RLIMIT_NOFILE 20000".into() },
        listeners: 1,
        own_listeners: 0,
        sockets: 1,
        logs: 2,
        helpers: 0,
        serving: Serving::Upstream,
        cached: false,
        mixed: false,
        takes: Takes::always(2),
        again: Vec::new(),
        asides: Vec::new(),
        lost: None,
        relayed: false,
        limit_rate: None,
        keepalive_timeout: held(Span::from_secs(75)),
        head_buffer: held(4096),
        protocol: "proxy",
        backlog: held(511),
        somaxconn: 4096,
        body: held(1 << 20),
        limit_conn: Vec::new(),
        limit_req: Vec::new(),
        besides: Vec::new(),
        upstream: Some(behind()),
        between: Vec::new(),
        others: Vec::new(),
        connect_timeout: held(Span::from_secs(60)),
        read_timeout: held(Span::from_secs(60)),
        upgrades: false,
        cores: 2,
        ports: (32768, 60999),
    }
}

fn limit(facts: &Facts, id: &str) -> Limit {
    of(facts).into_iter().find(|l| l.id == id).unwrap_or_else(|| panic!("no limit {id}"))
}

/// Busy clients that a law of slots lets in: hard, and at the soft onset.
fn clients(limit: &Limit) -> (f64, f64) {
    let Law::Slots { value, reserved, busy_cost, pools, soft, .. } = limit.law else { panic!("{:?}", limit.law) };
    let at = |slots: f64| pools * ((slots - reserved) / busy_cost).floor();
    (at(value), at(value * soft))
}

#[test]
fn worker_connections_is_what_was_measured() {
    // Tunnels held at once before the first refusal, and users before the first failure in bursts.
    for (slots, hard) in [(64, 31.0), (65, 31.0), (512, 255.0)] {
        assert_eq!(clients(&limit(&proxy(slots), "nginx.worker_connections")).0, hard, "{slots}");
    }
    assert_eq!(clients(&limit(&proxy(512), "nginx.worker_connections")), (255.0, 239.0));
    let two_workers = Facts { workers: held(2), ..proxy(64) };
    assert_eq!(clients(&limit(&two_workers, "nginx.worker_connections")).0, 62.0);
}

#[test]
fn a_client_served_by_nginx_itself_costs_one() {
    let facts = Facts { serving: Serving::File, upstream: None, ..proxy(512) };
    assert_eq!(clients(&limit(&facts, "nginx.worker_connections")).0, 510.0);
    let descriptors = limit(&Facts { nofile: held(100), ..facts }, "nginx.worker_rlimit_nofile");
    // 9 of its own; a client and the file it reads: (100 - 9) / 2.
    assert_eq!(clients(&descriptors).0, 45.0);
}

#[test]
fn listeners_of_the_private_copy_take_slots() {
    let facts = Facts { own_listeners: 1, ..proxy(512) };
    let slots = limit(&facts, "nginx.worker_connections");
    assert_eq!(clients(&slots).0, 254.0);
    assert_eq!(
        slots.formula,
        "1 worker x floor((512 - 1 listener - 1 for genkai's status page - 1 channel) / 2); a proxied client holds 2 connections, an idle one 1"
    );
}

#[test]
fn descriptors_of_its_own_are_what_was_measured() {
    // (workers, sockets) -> descriptors of an idle worker with two logs, nginx 1.22.1.
    for (workers, sockets, open) in [(1, 1, 9), (3, 1, 11), (1, 3, 11), (2, 2, 11)] {
        let facts = Facts { workers: held(workers), sockets, ..proxy(64) };
        assert_eq!(facts.base_descriptors(), open, "{workers} workers, {sockets} sockets");
    }
}

#[test]
fn worker_connections_cannot_exceed_descriptors() {
    let facts = Facts { nofile: held(1024), ..proxy(512) };
    let remedy = limit(&facts, "nginx.worker_connections").remedy.unwrap();
    // 9 descriptors are its own, of which the listener and the channel hold slots.
    assert_eq!(remedy.ceiling.unwrap().value, 19_993.0);
    assert!(remedy.note.unwrap().contains("above 1017"));
}

#[test]
fn the_shorter_of_backlog_and_somaxconn_counts() {
    let queue = |backlog, id| limit(&Facts { backlog: held(backlog), somaxconn: 4096, ..proxy(512) }, id);
    assert_eq!(queue(511, "nginx.listen.backlog").law, Law::Backlog { value: 512.0 });
    let cut = queue(9000, "nginx.somaxconn");
    assert_eq!((cut.setting.as_str(), cut.law), ("net.core.somaxconn", Law::Backlog { value: 4097.0 }));
    assert_eq!(cut.formula, "min(backlog 9000, net.core.somaxconn 4096) + 1");
}

#[test]
fn more_workers_help_only_where_there_are_cores() {
    let one = limit(&proxy(512), "nginx.cpu");
    assert_eq!(one.law, Law::Cpu { cores: 1.0 });
    assert_eq!(one.remedy.unwrap().ceiling.unwrap().value, 2.0);
    let all = limit(&Facts { workers: held(4), ..proxy(512) }, "nginx.cpu");
    assert_eq!((all.law, all.remedy), (Law::Cpu { cores: 2.0 }, None));
}

#[test]
fn no_cap_on_bodies_is_no_limit() {
    assert_eq!(limit(&proxy(512), "nginx.client_max_body_size").law, Law::BodySize { value: 1_048_576.0 });
    assert!(of(&Facts { body: held(0), ..proxy(512) }).iter().all(|l| l.id != "nginx.client_max_body_size"));
}

fn zone(name: &str) -> ConnZone {
    ConnZone {
        zone: name.into(),
        key: "$binary_remote_addr".into(),
        keyed: Keyed::Counts,
        number: held(10),
        refusal: Refusal::Status(429),
        only: None,
    }
}

#[test]
fn zones_are_told_apart() {
    let one = limit(&Facts { limit_conn: vec![zone("per")], ..proxy(512) }, "nginx.limit_conn");
    assert_eq!(clients(&one).0, 10.0);
    assert_eq!(one.symptom.errors, [ErrorKind::Status429]);
    assert!(one.signatures.iter().any(|s| s.sign == Sign::Log("nginx.limit_conn.per".into())));
    let two = of(&Facts { limit_conn: vec![zone("per"), zone("all")], ..proxy(512) });
    let ids: Vec<_> = two.iter().map(|l| l.id.as_str()).filter(|id| id.starts_with("nginx.limit_conn")).collect();
    assert_eq!(ids, ["nginx.limit_conn.per", "nginx.limit_conn.all"]);
}

#[test]
fn limit_req_is_a_rate_that_may_delay() {
    let req = |burst, nodelay| {
        let zone = ReqZone {
            zone: "one".into(),
            key: "$binary_remote_addr".into(),
            keyed: Keyed::Counts,
            rate: held(5.0),
            burst,
            at_once: if nodelay { burst } else { 0 },
            refusal: Refusal::Status(503),
            only: None,
        };
        limit(&Facts { limit_req: vec![zone], ..proxy(512) }, "nginx.limit_req")
    };
    assert_eq!(req(20, true).law, Law::Rate { value: 5.0, burst: 20.0, at_once: Some(f64::from(u32::MAX)) });
    assert_eq!(
        (req(20, true).symptom.slow, req(20, false).symptom.slow, req(0, false).symptom.slow),
        (false, true, false)
    );
    assert_eq!(req(0, false).symptom.errors, [ErrorKind::Status503]);
    let note = |burst| req(burst, true).remedy.unwrap().note.unwrap();
    assert!(note(0).contains("millisecond") && !note(20).contains("millisecond"));
}

#[test]
fn ports_count_for_each_upstream_address() {
    let ports = limit(&proxy(512), "nginx.upstream.ports");
    assert_eq!(clients(&ports).0, 28_232.0);
    assert_eq!(ports.formula, "28232 local ports x 1 upstream server");
    assert!(ports.remedy.is_some());
    let two = Upstream {
        addresses: vec!["127.0.0.1:9".parse().unwrap(), "127.0.0.1:8".parse().unwrap()],
        keepalive: Some(16),
        ..behind()
    };
    let ports = limit(&Facts { upstream: Some(two), ..proxy(512) }, "nginx.upstream.ports");
    assert_eq!(clients(&ports).0, 56_464.0);
    assert_eq!((ports.formula.as_str(), ports.remedy), ("28232 local ports x 2 upstream servers", None));
}

#[test]
fn servers_that_are_left_alone_for_their_failures_are_a_limit_of_nginx() {
    let each = || SourcedValue { value: (), written: "1".to_owned(), origin: Origin::Given };
    let group = Upstream { servers: 2, max_fails: Some(each()), ..behind() };
    let fails = limit(&Facts { upstream: Some(group.clone()), ..proxy(512) }, "nginx.upstream.max_fails");
    assert_eq!((fails.subject.as_str(), fails.setting.as_str()), ("nginx", "upstream.max_fails"));
    assert_eq!(fails.remedy.map(|remedy| remedy.unit), Some(genkai_model::limit::RemedyUnit::Zero));
    let backend = limit(&Facts { upstream: Some(group), ..proxy(512) }, "nginx.upstream");
    let none_live = |sign: &genkai_model::limit::Sign| format!("{sign:?}").contains("none_live");
    assert!(!backend.signatures.iter().any(|one| none_live(&one.sign)), "that says nothing of what they do");
}

/// A server that has a cap and is in use is full: only where all were left alone, that is why.
#[test]
fn that_all_are_left_alone_is_told_apart_from_that_who_is_in_use_is_full() {
    let sign = |capped: bool, told: bool| {
        let max_fails = Some(SourcedValue { value: (), written: "1".to_owned(), origin: Origin::Given });
        let max_conns =
            capped.then(|| SourcedValue { value: vec![5, 5], written: "5".to_owned(), origin: Origin::Given });
        let group = Upstream { servers: 2, max_fails, max_conns, told, ..behind() };
        let fails = limit(&Facts { upstream: Some(group), ..proxy(512) }, "nginx.upstream.max_fails");
        fails.signatures.into_iter().map(|one| one.sign).collect::<Vec<_>>()
    };
    let none_live = || vec![Sign::Log("nginx.upstream.none_live".to_owned())];
    assert_eq!(sign(true, true), [Sign::Grew("nginx.refused_all_out_total".to_owned())]);
    assert_eq!([sign(true, false), sign(false, true), sign(false, false)], [none_live(), none_live(), none_live()]);
}

/// Clients that `max_conns` lets in, from where the first may be refused, and its formula.
fn max_conns(caps: &[u64], workers: u32, upstream: Upstream) -> ((f64, f64), String) {
    let written = caps.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let held = SourcedValue { value: caps.to_vec(), written, origin: Origin::Given };
    let upstream = Upstream { max_conns: Some(held), ..upstream };
    let max = limit(
        &Facts { workers: self::held(workers), upstream: Some(upstream), ..proxy(512) },
        "nginx.upstream.max_conns",
    );
    let Law::Slots { value, busy_cost, pools, soft, .. } = max.law else { panic!("{:?}", max.law) };
    let at = |slots: f64| pools * (slots / busy_cost + 1e-9).floor();
    ((at(value * soft), at(value)), max.formula)
}

#[test]
fn max_conns_counts_for_each_worker_without_a_zone() {
    let two = |shared| Upstream { servers: 2, shared, ..behind() };
    let none = max_conns(&[10, 20], 2, two(false));
    assert_eq!(none.0, (30.0, 60.0));
    assert_eq!(none.1, "2 servers: 10 + 20 = 30 connections in each of 2 workers (no zone: each counts alone)");
    assert_eq!(max_conns(&[8, 9], 3, two(true)).0, (17.0, 17.0));
    assert_eq!(max_conns(&[5, 6], 1, two(false)).0, (11.0, 11.0));
    let backup = max_conns(&[5, 6], 1, Upstream { servers: 1, ..behind() });
    assert_eq!(backup.1, "2 servers, 1 of them backup: 5 + 6 = 11 connections (1 worker)");
    let absent = vec![("127.0.0.1:7".to_owned(), true), ("127.0.0.1:8".to_owned(), false)];
    let gone = max_conns(&[5], 1, Upstream { servers: 2, absent, ..behind() });
    assert_eq!(gone.1, "1 server: 5 connections (1 worker); nobody listens at 127.0.0.1:7, 127.0.0.1:8");
}

#[test]
fn of_max_conns_behind_a_cache_no_number_of_clients_is_told() {
    let held = SourcedValue { value: vec![5, 5], written: "5, 5".to_owned(), origin: Origin::Given };
    let upstream = Upstream { servers: 2, max_conns: Some(held), ..behind() };
    let max =
        |cached| limit(&Facts { cached, upstream: Some(upstream.clone()), ..proxy(512) }, "nginx.upstream.max_conns");
    assert!(matches!(max(false).law, Law::Slots { .. }) && max(false).remedy.is_some());
    let behind = max(true);
    assert!(
        behind.law == Law::Unknown && behind.remedy.is_none() && behind.formula.contains("the cache"),
        "{behind:?}"
    );
}

#[test]
fn a_name_may_have_several_addresses() {
    let held = SourcedValue { value: vec![5], written: "5".into(), origin: Origin::Given };
    let upstream = Upstream { max_conns: Some(held), resolved: Some("app.example".into()), ..behind() };
    let max = limit(&Facts { upstream: Some(upstream), ..proxy(512) }, "nginx.upstream.max_conns");
    assert_eq!((max.law, max.remedy), (Law::Unknown, None));
    assert_eq!(
        max.formula,
        "1 server: 5 connections (1 worker), or more: each address of app.example has its own max_conns"
    );
}

#[test]
fn a_key_that_is_empty_limits_nobody() {
    let of_key = |keyed| {
        let facts = Facts { limit_conn: vec![ConnZone { keyed, ..zone("per") }], ..proxy(512) };
        of(&facts).into_iter().find(|limit| limit.id == "nginx.limit_conn")
    };
    assert_eq!(of_key(Keyed::Nothing), None);
    let depends = of_key(Keyed::Depends).unwrap();
    assert_eq!((depends.law, depends.remedy.is_none()), (Law::Unknown, true));
    assert!(
        depends
            .formula
            .ends_with("requests for which it is empty are not counted, and each value has a count of its own"),
        "{}",
        depends.formula
    );
}

#[test]
fn what_is_not_decided_has_no_number_and_says_why() {
    let only = ConnZone { only: Some("`if` at /x:3".into()), ..zone("per") };
    let led = ConnZone { refusal: Refusal::Elsewhere("@f (error_page at /x:4)".into()), ..zone("per") };
    for (zone, why) in [(only, "whether it counts these requests: `if` at /x:3"), (led, "those beyond it go to @f")] {
        let told = limit(&Facts { limit_conn: vec![zone], ..proxy(512) }, "nginx.limit_conn");
        assert_eq!((told.law, told.remedy), (Law::Unknown, None));
        assert!(told.formula.contains(why), "{}", told.formula);
    }
    let max_conns = Some(SourcedValue { value: vec![8], written: "8".into(), origin: Origin::Given });
    let other = Upstream { max_conns, only: Some("`$u` at /x:5 decides".into()), ..behind() };
    let told = limit(&Facts { others: vec![other], ..proxy(512) }, "nginx.upstream.max_conns.backend");
    assert!(told.law == Law::Unknown && told.formula.ends_with("which requests go there: `$u` at /x:5 decides"));
}

#[test]
fn one_worker_may_get_all_clients() {
    let facts = Facts { workers: held(2), uneven: true, ..proxy(64) };
    let slots = limit(&facts, "nginx.worker_connections");
    // Measured: with accept_mutex the first is refused when one worker is full.
    assert_eq!(clients(&slots), (62.0, 28.0));
    assert!(slots.formula.contains("not spread evenly"), "{}", slots.formula);
    let even = limit(&Facts { uneven: false, ..facts }, "nginx.worker_connections");
    assert!(
        even.formula.ends_with("spread evenly over 2 workers: one that gets more is full earlier"),
        "{}",
        even.formula
    );
}

#[test]
fn what_a_cache_answers_takes_one_connection() {
    let slots = limit(&Facts { cached: true, ..proxy(128) }, "nginx.worker_connections");
    // 128 - 2 from the cache; (120 - 2) / 2 to the upstream at the soft onset.
    assert_eq!(clients(&slots), (126.0, 59.0));
}

#[test]
fn every_message_that_is_recognised_belongs_to_a_limit() {
    let req = ReqZone {
        zone: "per".into(),
        key: "$uri".into(),
        keyed: Keyed::Counts,
        rate: held(5.0),
        burst: 1,
        at_once: 0,
        refusal: Refusal::Status(503),
        only: None,
    };
    let upstream = Upstream {
        max_conns: Some(SourcedValue { value: vec![1], written: "1".into(), origin: Origin::Given }),
        sockets: vec!["/run/php.sock".into()],
        ..behind()
    };
    let facts = Facts { limit_conn: vec![zone("per")], limit_req: vec![req], upstream: Some(upstream), ..proxy(512) };
    let limits: Vec<Limit> = of(&facts).into_iter().chain(accidents(&facts)).collect();
    // What answers a request itself is told apart from limits (answers.rs).
    let own = |name: &&str| *name == "nginx.forbidden" || name.starts_with("nginx.file.") || *name == "nginx.folder";
    for name in crate::nginx::evidence::known().filter(|name| !own(name)) {
        let of = |zone| Sign::Log(crate::nginx::evidence::signature::in_zone(name, zone));
        let signs = [Sign::Log(name.to_owned()), of("per"), of("/run/php.sock")];
        let owner = limits.iter().find(|limit| limit.signatures.iter().any(|s| signs.contains(&s.sign)));
        assert!(owner.is_some(), "{name} belongs to no limit");
    }
}

#[test]
fn a_backends_fault_is_not_nginx_s() {
    for id in ["nginx.upstream", "nginx.proxy_timeouts"] {
        let limit = limit(&proxy(512), id);
        assert_eq!((limit.subject.as_str(), limit.law, limit.remedy), ("backend", Law::Unknown, None));
    }
    let alone = of(&Facts { upstream: None, ..proxy(512) });
    assert!(alone.iter().all(|l| !l.id.starts_with("nginx.upstream") && l.subject != "backend"));
}

#[test]
fn every_limit_is_whole() {
    let facts = Facts {
        limit_conn: vec![zone("per")],
        upstream: Some(Upstream {
            max_conns: Some(SourcedValue { value: vec![8], written: "8".into(), origin: Origin::Given }),
            servers: 1,
            addresses: vec!["127.0.0.1:9".parse().unwrap()],
            ..behind()
        }),
        ..proxy(512)
    };
    let all = of(&facts);
    let mut ids: Vec<_> = all.iter().map(|l| l.id.clone()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all.len(), "ids are unique");
    for limit in all {
        assert!(!limit.signatures.is_empty() && !limit.formula.is_empty() && !limit.source.is_empty(), "{}", limit.id);
        assert!(limit.symptom.slow || !limit.symptom.errors.is_empty(), "{}", limit.id);
        // The record is JSON: what is written must be read back.
        let json = serde_json::to_string(&limit).unwrap();
        assert_eq!(serde_json::from_str::<Limit>(&json).unwrap(), limit);
    }
}

#[test]
fn a_second_s_worth_of_a_slowed_response_may_go_at_once() {
    let slowed = Facts {
        limit_rate: Some(SourcedValue { value: (20_000, 0), written: "20k".into(), origin: Origin::Given }),
        ..proxy(512)
    };
    let formula = limit(&slowed, "nginx.limit_rate").formula;
    assert!(formula.ends_with("100 kB take from 4.000 to 5.000 s"), "{formula}");
}

#[test]
fn the_time_of_a_kept_connection_is_a_limit_unless_none_is_kept() {
    let kept = |seconds| {
        let facts = Facts { keepalive_timeout: held(Span::from_secs(seconds)), ..proxy(512) };
        accidents(&facts).into_iter().find(|limit| limit.id == "nginx.keepalive_timeout")
    };
    let sign = kept(75).unwrap().signatures.remove(0).sign;
    assert_eq!(sign, Sign::Silent { after: 75.0 });
    assert_eq!(kept(0), None);
}
