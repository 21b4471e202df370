//! What nginx makes of errors and of itself: errors and refusals of its own that are sent as good answers, and a `stream` server of the same configuration, behind the server
//! under load or before it.

use std::path::Path;

use genkai_model::event::What;
use genkai_model::finding::{Because, Caveat};

use crate::harness::judged::told;
use crate::harness::servers::scripted;
use crate::harness::{Run, genkai, machine};

/// A tune of nginx with this in `http`, and this in `stream` where that is not empty.
fn tuned(dir: &Path, http: &str, stream: &str, flags: &str) -> Run {
    let file = dir.join("nginx.conf");
    let (module, stream) = match stream {
        "" => ("", String::new()),
        stream => ("load_module /usr/lib/nginx/modules/ngx_stream_module.so;\n", format!("stream {{\n{stream}\n}}\n")),
    };
    let text = format!("{module}events {{ worker_connections 512; }}\n{stream}http {{\n{http}\n}}\n");
    std::fs::write(&file, text).unwrap();
    told(genkai(&format!("tune nginx --spawn-rate 20 --quick --pairs 0 {flags} --config")).arg(&file))
}

#[test]
fn good_answers_that_hide_a_full_upstream_are_told() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("nginx.conf");
    let config = |hides: &str| {
        format!(
            "events {{ worker_connections 512; }}\nhttp {{\n  upstream app {{ server 127.0.0.1:9 max_conns=5; }}\n  server {{\n    \
             listen 8080;\n    location / {{ proxy_pass http://app; {hides} }}\n    location = /sorry {{ return 200 sorry; }}\n  }}\n}}\n"
        )
    };
    let answered = |hides: &str, users: u32| {
        std::fs::write(&file, config(hides)).unwrap();
        let flags = "--backend embedded --backend-time 1ms --spawn-rate 20 --quick --quiet";
        let run = told(genkai(&format!("tune nginx {flags} --users {users} --config")).arg(&file));
        let verdict = run.verdict();
        let few = verdict.caveats.iter().find_map(|caveat| match caveat {
            Caveat::AnsweredBefore { responses, served, .. } => Some((*responses, *served)),
            _ => None,
        });
        assert_eq!((run.code, verdict.because()), (Some(0), Because::ObjectiveHolds), "{}", run.story());
        (few, run)
    };
    let (few, run) = answered("error_page 502 =200 /sorry;", 40);
    let (responses, served) = few.unwrap_or_else(|| panic!("{}", run.story()));
    assert!(served > 0 && served < responses / 2, "{}", run.story());
    let says = run.says();
    assert!(says[0].contains("the backend answered only") && !says[0].contains("No change needed"), "{says:?}");
    // A backend of which genkai counts nothing: nginx's own log of failures tells.
    let (_full, full) = scripted("fixed --time 0.05");
    std::fs::write(&file, config("error_page 502 =200 /sorry;").replace("127.0.0.1:9", &full)).unwrap();
    let run = told(genkai("tune nginx --spawn-rate 20 --quick --quiet --users 40 --config").arg(&file));
    let hidden = run.verdict().caveats.iter().find_map(|caveat| match caveat {
        Caveat::HiddenErrors { responses, hidden, .. } => Some((*responses, *hidden)),
        _ => None,
    });
    let (responses, hidden) = hidden.unwrap_or_else(|| panic!("{}", run.story()));
    assert!(
        hidden > responses / 2 && run.says()[0].contains("good answers were sent in the place of an error"),
        "{}",
        run.story()
    );
    let (few, run) = answered("", 2);
    assert_eq!(few, None, "what goes to the backend whole is not told of: {}", run.story());
}

#[test]
fn refusals_of_its_own_that_are_sent_as_good_answers_are_told() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let (_backend, backend) = scripted("fixed --time 0.05");
    for limit in ["limit_conn few 10;", "limit_req zone=slow;"] {
        let http = format!(
            "limit_conn_zone $server_port zone=few:1m;\nlimit_req_zone $server_port zone=slow:1m rate=20r/s;\nserver {{ listen 80;\n\
             location / {{ {limit} error_page 503 =200 @sorry; proxy_pass http://{backend}; }}\nlocation @sorry {{ return 200 sorry; }} }}"
        );
        let run = tuned(dir.path(), &http, "", "--users 40");
        let hidden = run.verdict().caveats.iter().find_map(|caveat| match caveat {
            Caveat::HiddenErrors { responses, hidden, .. } => Some((*responses, *hidden)),
            _ => None,
        });
        let (responses, hidden) = hidden.unwrap_or_else(|| panic!("{limit} {}", run.story()));
        assert!(hidden > responses / 2, "{limit} {}", run.story());
        assert!(run.says()[0].contains("good answers were sent in the place of an error"), "{}", run.story());
    }
}

#[test]
fn a_limit_req_that_delays_by_milliseconds_is_not_why_responses_are_slow() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let delayed = |backend: &str, rate: u32, burst: u32| {
        let (_backend, backend) = scripted(backend);
        let file = dir.path().join("nginx.conf");
        let text = format!(
            "events {{ worker_connections 512; }}\nhttp {{\nlimit_req_zone $server_port zone=slow:1m rate={rate}r/s;\nserver {{ listen 80;\n\
             location / {{ limit_req zone=slow burst={burst}; proxy_pass http://{backend}; }} }}\n}}\n"
        );
        std::fs::write(&file, text).unwrap();
        let mut tune = genkai("tune nginx --spawn-rate 10 --users 60 --quick --pairs 0 --max-limits 1");
        let run = told(tune.args(["--objective", "errors < 5%, p95 < 500ms", "--config"]).arg(&file));
        let record = run.record();
        let mut names = record.trials[0].logs.iter().filter_map(|(_, line)| line.signature.as_deref());
        let logged = names.any(|name| name.starts_with("nginx.limit_req_delay"));
        assert!(logged, "nobody was delayed: {}", run.story());
        run.verdict().causes.iter().any(|cause| cause.limit.id == "nginx.limit_req")
    };
    // One request at a time, 20 ms each; two that come within 5 ms wait 5 ms for their turn, and nobody more than 40.
    assert!(!delayed("lock --held 0.02", 200, 8));
    assert!(delayed("fixed --time 0.02", 20, 200));
}

#[test]
fn what_a_stream_server_of_its_own_closes_is_not_the_backends() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let (_backend, backend) = scripted("fixed --time 0.05");
    let http = "server { listen 80; location / { proxy_pass http://127.0.0.1:7081; } }";
    let stream = format!(
        "limit_conn_zone $server_port zone=few:1m;\nserver {{ listen 127.0.0.1:7081; limit_conn few 10; proxy_pass {backend}; }}"
    );
    let run = tuned(dir.path(), http, &stream, "--users 40");
    let verdict = run.verdict();
    let first = &verdict.causes.first().unwrap_or_else(|| panic!("{}", run.story())).limit;
    assert_eq!((first.id.as_str(), first.subject.as_str()), ("nginx.limit_conn.few", "nginx"), "{}", run.story());
    let record = run.record();
    let limits = record.remarks.iter().find_map(|event| match &event.what {
        What::Limits(all) => Some(&all.limits),
        _ => None,
    });
    let all = limits.cloned().unwrap_or_default();
    let values: Vec<_> = all.iter().filter(|limit| limit.id == "nginx.upstream").map(|limit| &limit.value).collect();
    assert!(values.iter().all(|value| *value == "127.0.0.1:7081"), "{values:?}");
}

#[test]
fn a_stream_server_by_which_clients_come_and_the_load_does_not_is_told() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let (_backend, backend) = scripted("fixed --time 0.01");
    let http =
        format!("server {{ listen 127.0.0.1:7083 proxy_protocol; location / {{ proxy_pass http://{backend}; }} }}");
    let stream = "limit_conn_zone $server_port zone=few:1m;\nserver { listen 127.0.0.1:7082; limit_conn few 5; proxy_pass 127.0.0.1:7083; \
                  proxy_protocol on; }";
    let run = tuned(dir.path(), &http, stream, "--users 10");
    let place = format!("`limit_conn few 5` at {}:5", dir.path().join("nginx.conf").display());
    assert!(
        run.record().remarks.iter().any(|event| match &event.what {
            What::Note(note) =>
                note.text.contains("by a stream server of the same nginx") && note.text.contains(&place),
            _ => false,
        }),
        "{}",
        run.story()
    );
}

/// Failures are no answers in time, and no messages that came back: who asks for these alone is told that there were none.
#[test]
fn where_nothing_succeeds_nothing_is_said_to_have_held() {
    let _machine = machine();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nginx.conf");
    let upgrade =
        "proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;";
    let server = format!("server {{ listen 8080; location / {{ {upgrade} proxy_pass http://127.0.0.1:9; }} }}");
    std::fs::write(&file, format!("events {{}}\nhttp {{\n{server}\n}}\n")).unwrap();
    let users = "--users 20 --spawn-rate 20 --think 100ms --quick --pairs 0 --bisect 0";
    for (load, objective, said) in [
        ("", "p99 < 300ms", "no request succeeded"),
        ("--websocket", "disconnects < 0.1%, delivered > 99%", "no WebSocket was opened"),
    ] {
        let words = format!("tune nginx {users} {load}");
        let run = told(genkai(&words).args(["--objective", objective, "--config"]).arg(&file));
        let verdict = run.verdict();
        assert_eq!((verdict.because(), run.code), (Because::Unanswered, Some(4)), "{}", run.story());
        let answer = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(answer.contains(&format!("Cannot tell: {said}")) && !answer.contains(" held"), "{}", run.story());
    }
}
