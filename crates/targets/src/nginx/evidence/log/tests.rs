//! Lines as nginx writes them, and lines that only look so.

use super::*;
use genkai_place::log_lines::{TEXT_MAX, UNKNOWN_MAX};
use proptest::prelude::*;

/// Lines as nginx 1.22.1 wrote them, with the signature each one is.
const SEEN: &[(&str, &str, Option<&str>)] = &[
    (
        "2026/11/21 11:00:00 [alert] 123#123: 64 worker_connections are not enough",
        "alert",
        Some(signature::WORKER_CONNECTIONS),
    ),
    (
        "2026/11/21 11:00:00 [alert] 123#123: *45 65 worker_connections are not enough while connecting to upstream, client: 127.0.0.1, server: , request: \"GET / HTTP/1.1\", upstream: \"http://127.0.0.1:9/\", host: \"x\"",
        "alert",
        Some(signature::WORKER_CONNECTIONS_UPSTREAM),
    ),
    (
        "2026/11/21 11:00:00 [warn] 123#123: 512 worker_connections are not enough, reusing connections",
        "warn",
        Some(signature::WORKER_CONNECTIONS_REUSING),
    ),
    (
        "2026/11/21 11:00:00 [crit] 123#123: accept4() failed (24: Too many open files)",
        "crit",
        Some(signature::DESCRIPTORS_ACCEPT),
    ),
    (
        "2026/11/21 11:00:00 [alert] 9#9: *7 socket() failed (24: Too many open files) while connecting to upstream, client: 127.0.0.1",
        "alert",
        Some(signature::DESCRIPTORS_SOCKET),
    ),
    (
        "2026/11/21 11:00:00 [crit] 9#9: *7 open() \"/srv/index.html\" failed (24: Too many open files), client: 127.0.0.1",
        "crit",
        Some(signature::DESCRIPTORS_OTHER),
    ),
    (
        "2026/11/21 11:00:00 [error] 9#9: *7 connect() failed (111: Connection refused) while connecting to upstream, client: 127.0.0.1",
        "error",
        Some(signature::UPSTREAM_REFUSED),
    ),
    (
        "2026/11/21 11:00:00 [crit] 9#9: *7 connect() to unix:/run/a.sock failed (13: Permission denied) while connecting to upstream, client: 127.0.0.1",
        "crit",
        Some(signature::UPSTREAM_UNREACHABLE),
    ),
    (
        "2026/11/21 11:00:00 [crit] 9#9: *7 connect() to unix:/run/a.sock failed (2: No such file or directory) while connecting to upstream, client: 127.0.0.1",
        "crit",
        Some(signature::UPSTREAM_UNREACHABLE),
    ),
    (
        "2026/11/21 11:00:00 [error] 9#9: *8 no live upstreams while connecting to upstream, client: 127.0.0.1",
        "error",
        Some(signature::UPSTREAM_NONE_LIVE),
    ),
    (
        "2026/11/21 11:00:00 [crit] 9#9: *8 connect() to 127.0.0.1:80 failed (99: Cannot assign requested address) while connecting to upstream, client: 127.0.0.1",
        "crit",
        Some(signature::UPSTREAM_PORTS),
    ),
    (
        "2026/11/21 11:00:00 [error] 9#9: *8 connect() to unix:/run/php.sock failed (11: Resource temporarily unavailable) while connecting to upstream, client: 127.0.0.1",
        "error",
        Some("backend.queue_full./run/php.sock"),
    ),
    (
        "2026/11/21 11:00:00 [error] 9#9: *8 upstream timed out (110: Connection timed out) while reading response header from upstream, client: 127.0.0.1",
        "error",
        Some(signature::UPSTREAM_TIMEOUT),
    ),
    (
        "2026/11/21 11:00:00 [error] 9#9: *8 upstream timed out (110: Connection timed out) while connecting to upstream, client: 127.0.0.1",
        "error",
        Some(signature::UPSTREAM_CONNECT_TIMEOUT),
    ),
    (
        "2026/11/21 11:00:00 [error] 9#9: *8 upstream prematurely closed connection while reading response header from upstream, client: 127.0.0.1",
        "error",
        Some(signature::UPSTREAM_CLOSED),
    ),
    (
        "2026/11/21 11:00:00 [error] 9#9: *8 recv() failed (104: Connection reset by peer) while reading response header from upstream, client: 127.0.0.1",
        "error",
        Some(signature::UPSTREAM_CLOSED),
    ),
    (
        "2026/11/21 11:00:00 [error] 9#9: *8 client intended to send too large body: 1200000 bytes, client: 127.0.0.1",
        "error",
        Some(signature::BODY_TOO_LARGE),
    ),
    (
        "2026/11/21 11:00:00 [error] 9#9: *8 limiting connections by zone \"per\", client: 127.0.0.1",
        "error",
        Some("nginx.limit_conn.per"),
    ),
    (
        "2026/11/21 11:00:00 [error] 9#9: *8 limiting connections, dry run, by zone \"per\", client: 127.0.0.1",
        "error",
        None,
    ),
    (
        "2026/11/21 11:00:00 [error] 9#9: *8 limiting requests, excess: 5.220 by zone \"one\", client: 127.0.0.1",
        "error",
        Some("nginx.limit_req.one"),
    ),
    (
        "2026/11/21 11:00:00 [warn] 9#9: *8 delaying request, excess: 0.220, by zone \"one\", client: 127.0.0.1",
        "warn",
        Some("nginx.limit_req_delay.one"),
    ),
    ("2026/11/21 11:00:00 [alert] 1#1: worker process 77 exited on signal 9", "alert", Some(signature::WORKER_DIED)),
    (
        "2026/11/26 09:10:11 [error] 1#1: *8 FastCGI sent in stderr: \"PHP message: PHP Fatal error:  Allowed memory size of 16777216 bytes exhausted (tried to allocate 41947136 bytes) in /srv/mem.php on line 1\" while reading response header from upstream, client: 127.0.0.1",
        "error",
        Some("php.memory_limit.16777216"),
    ),
    (
        "2026/11/26 09:10:11 [error] 1#1: *8 FastCGI sent in stderr: \"no live upstreams\" while reading response header from upstream, client: 127.0.0.1",
        "error",
        None,
    ),
    ("nginx: [emerg] bind() to 127.0.0.1:80 failed (98: Address already in use)", "emerg", None),
    ("a module that prints what it likes", "", None),
];

#[test]
fn known_messages_are_recognised() {
    for (line, level, signature) in SEEN {
        let entry = classify(line);
        assert_eq!((entry.level, entry.signature.as_deref()), (*level, *signature), "{line}");
    }
}

#[test]
fn a_request_cannot_forge_evidence() {
    // What is missing is said to be, and no more.
    let missing = Some(signature::FILE_MISSING);
    for (forged, own) in [
        (
            "2026/11/21 11:00:00 [error] 9#9: *8 open() \"/srv/64 worker_connections are not enough\" failed (2: No such file or directory), client: 127.0.0.1",
            missing,
        ),
        (
            "2026/11/21 11:00:00 [error] 9#9: *8 \"/srv/limiting requests, excess: 1/index.html\" is not found (2: No such file or directory)",
            missing,
        ),
        (
            "2026/11/21 11:00:00 [error] 9#9: *8 open() \"/srv/a\" failed (2: No such file), client: 1.2.3.4, request: \"GET /a failed (24: HTTP/1.1\"",
            missing,
        ),
        (
            "2026/11/21 11:00:00 [info] 9#9: *8 client sent invalid method while reading client request line, client: 1.2.3.4, request: \"no live upstreams\"",
            None,
        ),
    ] {
        assert_eq!(classify(forged).signature.as_deref(), own, "{forged}");
    }
}

#[test]
fn lines_alike_become_one_with_a_count() {
    let storm: Vec<String> = (0..1000)
        .map(|i| format!("2026/11/21 11:00:00 [alert] 1#1: *{i} 64 worker_connections are not enough"))
        .chain(
            (0..3)
                .map(|i| format!("2026/11/21 11:00:01 [error] 1#1: *{i} strange thing number {i}, client: 10.0.0.{i}")),
        )
        .collect();
    let lines = aggregate(storm.iter().map(String::as_str));
    assert_eq!(lines.len(), 2);
    assert_eq!((lines[0].count, lines[0].signature.as_deref()), (1000, Some(signature::WORKER_CONNECTIONS)));
    assert!(lines[0].text.contains("*0 "), "the first line is kept: {}", lines[0].text);
    assert_eq!((lines[1].count, lines[1].level.as_str(), lines[1].signature.as_deref()), (3, "error", None));
}

#[test]
fn kinds_of_unknown_lines_are_bounded_and_none_is_lost() {
    let many: Vec<String> =
        (0..100).map(|i| format!("2026/11/21 11:00:00 [info] 1#1: {}", "x".repeat(i + 1))).collect();
    let lines = aggregate(many.iter().map(String::as_str));
    assert_eq!(lines.len(), UNKNOWN_MAX + 1);
    assert_eq!(lines.iter().map(|l| l.count).sum::<u64>(), 100);
}

proptest! {
    #[test]
    fn any_line_is_accepted(text in "\\PC{0,600}|[\\x00-\\x1f -~é\\[\\]#*:]{0,80}") {
        let lines = aggregate([text.as_str()]);
        for line in &lines {
            prop_assert!(line.text.chars().count() <= TEXT_MAX);
            prop_assert!(!line.text.chars().any(char::is_control));
            prop_assert_eq!(line.count, 1);
        }
    }
}
