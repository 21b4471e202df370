//! Directives that are left out where nothing is named: what heals, and what only means something else.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use genkai_model::finding::{Answer, Because, Bisected, BisectionEnd};

use crate::harness::servers::{free, nginx, scripted};
use crate::harness::{Run, genkai, machine, run};

#[test]
fn a_fast_answer_that_is_another_page_is_no_healing() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let [port] = free();
    let slow = "x".repeat(1500);
    // Each time another: what stays of a page tells which it is.
    let pages = format!(
        "server {{ listen 127.0.0.1:{port}; location = /slow {{ limit_rate 500; return 200 '{slow} $request_id'; }} location / {{ return 200 'fast \
         $request_id'; }} }}"
    );
    let _behind = nginx(dir.path(), &pages, port);
    let nginx = format!(
        "events {{ }}\nhttp {{\n server {{\n  listen 8080;\n  etag off;\n  location / {{\n   rewrite ^/$ /slow break;\n   proxy_pass \
         http://127.0.0.1:{port};\n  }}\n }}\n}}\n"
    );
    let caddy = format!(
        "http://:80 {{\n\trewrite / /slow?from={{path}}\n\theader X-A b\n\treverse_proxy 127.0.0.1:{port} {{\n\t\theader_up X-B c\n\t}}\n}}\n"
    );
    for (product, text) in [("nginx", nginx), ("caddy", caddy)] {
        let front = dir.path().join(product);
        std::fs::write(&front, text).unwrap();
        let flags = "--users 6 --spawn-rate 6 --hold 4s --quick --pairs 0 --quiet --objective";
        let run = run(genkai(&format!("tune {product} {flags}")).args(["p99 < 800ms", "--config"]).arg(&front));
        let verdict = run.verdict();
        let found = verdict.bisection.as_ref().unwrap_or_else(|| panic!("nothing was left out: {}", run.story()));
        assert!(found.named.is_empty() && found.altered > 0 && found.compared, "{found:?}\n{}", run.story());
        assert_eq!(found.ended, BisectionEnd::Nothing, "{}", run.story());
        assert_ne!(verdict.because(), Because::DirectivesNamed, "{}", run.story());
    }
}

/// Answers each request with 500 after `wait`, on a port of its own; but for those that genkai follows before the load, so that nothing tells that it
/// always does.
fn failing(wait: Duration) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = move |mut stream: TcpStream| {
        // One that is given up is nobody's.
        let mut request = [0; 4096];
        let n = stream.read(&mut request).unwrap_or(0);
        let followed = String::from_utf8_lossy(&request[..n]).to_ascii_lowercase().contains("x-genkai-followed");
        std::thread::sleep(wait);
        let status = if followed { "200 OK" } else { "500 No" };
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno\n");
        let _ = stream.write_all(answer.as_bytes());
    };
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    port
}

/// nginx before a backend that fails by itself, after `wait`: directives are left out for so long at most.
fn innocent(wait: Duration, budget: &str) -> (Run, Bisected) {
    let dir = tempfile::tempdir().unwrap();
    let front = dir.path().join("front.conf");
    let text = format!(
        "events {{ }}\nhttp {{\n gzip on;\n sendfile on;\n server {{\n  listen 8080;\n  add_header X-A b;\n  location / {{\n   proxy_read_timeout \
         5s;\n   proxy_pass http://127.0.0.1:{};\n  }}\n }}\n}}\n",
        failing(wait)
    );
    std::fs::write(&front, &text).unwrap();
    let flags = format!("--users 6 --spawn-rate 6 --hold 2s --quick --pairs 0 --bisect {budget} --quiet");
    let run = run(genkai(&format!("tune nginx {flags}")).args(["--objective", "errors < 1%", "--config"]).arg(&front));
    let verdict = run.verdict();
    let found = verdict.bisection.clone().unwrap_or_else(|| panic!("nothing was left out: {}", run.story()));
    assert!(found.named.is_empty() && verdict.proposal.is_empty(), "{}", run.story());
    assert_eq!((run.code, verdict.must_change()), (Some(1), Answer::CannotTell), "{}", run.story());
    assert_eq!(std::fs::read_to_string(&front).unwrap(), text);
    (run, found)
}

#[test]
fn where_no_directive_is_the_cause_none_is_named_and_that_is_said() {
    let _machine = machine();
    let (run, found) = innocent(Duration::ZERO, "30s");
    assert!(found.tried > 0 && found.ended == BisectionEnd::Nothing, "{}", run.story());
    let said = "None of the sets that were left out made it hold: the cause may be what stands behind";
    assert!(run.says().iter().any(|text| text.contains(said)), "{}", run.story());
}

#[test]
fn a_search_whose_time_is_over_says_what_is_left() {
    let _machine = machine();
    let (run, found) = innocent(Duration::from_millis(300), "1s");
    assert_eq!(found.ended, BisectionEnd::Unfinished, "{}", run.story());
    let said = format!(
        "before any set was found without which it holds: each of the {} may still be the cause",
        found.directives
    );
    assert!(run.says().iter().any(|text| text.contains(&said)), "{}", run.story());
}

/// Whoever a server turns away with 401 or 403 is kept out, in whatever words: what lets requests pass is named, and not proposed.
#[test]
fn what_turns_requests_away_is_not_proposed_to_be_taken_out() {
    let _machine = machine();
    let (_server, server) = scripted("fixed --time 0.005");
    let nginx = format!(
        "events {{ }}\nhttp {{\n server {{\n  listen 8080;\n  set $turned 0;\n  if ($http_x_token != abc) {{ set $turned 1; }}\n  \
         if ($turned = 1) {{ return 403; }}\n  location / {{ proxy_pass http://{server}; }}\n }}\n}}\n"
    );
    let haproxy = format!(
        "defaults\n mode http\n timeout connect 1s\n timeout client 9s\n timeout server 9s\nfrontend f\n bind 127.0.0.1:80\n use_backend denied if !{{ \
         hdr(x-token) abc }}\n default_backend b\nbackend denied\n http-request deny deny_status 401\nbackend b\n server s {server}\n"
    );
    let caddy = format!(
        "http://:80 {{\n\t@guest not header X-Token abc\n\thandle @guest {{\n\t\trespond \"no\" 403\n\t}}\n\treverse_proxy {server}\n}}\n"
    );
    let dir = tempfile::tempdir().unwrap();
    for (product, text) in [("nginx", nginx), ("haproxy", haproxy), ("caddy", caddy)] {
        let file = dir.path().join(product);
        std::fs::write(&file, text).unwrap();
        let flags = "--users 6 --spawn-rate 6 --hold 2s --quick --pairs 0 --quiet --config";
        let run = run(genkai(&format!("tune {product} {flags}")).arg(&file));
        let verdict = run.verdict();
        assert_eq!(verdict.because(), Because::AccessControl, "{}", run.story());
        assert!(verdict.must_change() == Answer::CannotTell && verdict.proposal.is_empty(), "{}", run.story());
        assert!(run.says()[0].contains("may protect something"), "{}", run.story());
    }
}

/// One that is opened, and on which a message comes back, tells what lets none be opened, or none through.
#[test]
fn what_lets_no_websocket_through_is_named() {
    let _machine = machine();
    let caddy = "http://:80 {\n\theader X-A b\n\trequest_header -Upgrade\n\treverse_proxy 127.0.0.1:9 {\n\t\theader_up X-B c\n\t}\n}\n";
    let haproxy = "defaults\n mode http\n timeout connect 1s\n timeout client 9s\n timeout server 9s\nfrontend f\n bind 127.0.0.1:80\n http-request \
                   set-header X-A b\n http-response set-status 404\n default_backend b\nbackend b\n server s 127.0.0.1:9\n";
    let dir = tempfile::tempdir().unwrap();
    for (product, text, line) in
        [("caddy", caddy, "request_header -Upgrade"), ("haproxy", haproxy, "http-response set-status 404")]
    {
        let file = dir.path().join(product);
        std::fs::write(&file, text).unwrap();
        let flags =
            "--backend embedded --websocket --users 6 --spawn-rate 6 --hold 2s --quick --pairs 0 --quiet --config";
        let run = run(genkai(&format!("tune {product} {flags}")).arg(&file));
        let verdict = run.verdict();
        let found = verdict.bisection.as_ref().unwrap_or_else(|| panic!("nothing was left out: {}", run.story()));
        let named: Vec<&str> = found.named.iter().map(|one| one.text.as_str()).collect();
        assert_eq!((named, found.ended), (vec![line], BisectionEnd::Proved), "{}", run.story());
        assert_eq!(verdict.because(), Because::DirectivesNamed, "{}", run.story());
        assert!(
            run.says()[0].contains("a WebSocket is opened, and a message on it comes back within"),
            "{}",
            run.story()
        );
    }
}
