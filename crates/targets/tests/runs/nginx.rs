//! A real nginx: prepared, started, loaded to its limits, watched, killed, stopped.

use std::net::TcpListener;

use genkai_model::event::{Change, ServerState};
use genkai_model::limit::Origin;
use genkai_model::plan::ConfigSource;
use genkai_targets::nginx::evidence::{metrics, signature};
use genkai_targets::nginx::limits::Machine;
use genkai_targets::product::Prepared as _;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::stage::{Backend, Client, Stage, Watched, clients, environment, eventually, facts, get, hold, limit};

fn change(setting: &str, to: &str) -> Change {
    Change { product: "nginx".to_owned(), setting: setting.to_owned(), from: String::new(), to: to.to_owned() }
}

fn signal(pid: u32, signal: Signal) {
    kill(Pid::from_raw(pid as i32), signal).unwrap();
}

/// Whether it runs. (What lost its parent may stay a zombie for a while.)
fn alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

#[test]
fn a_generated_proxy_answers_and_leaves_nothing_behind() {
    let (stage, backend) = (Stage::new(), Backend::start());
    let nginx = stage.generated(backend.address(), &[("worker_processes", "2")]).unwrap();
    assert!(nginx.rewrites().is_empty() && nginx.version().contains('.'));
    let mut server = Watched::start(&nginx);
    assert_eq!(get(server.running.address(), "/"), Some(200));
    eventually("the request is counted", || server.metric(metrics::STUB_REQUESTS) == Some(1.0));
    assert_eq!(server.metric(metrics::WORKERS), Some(2.0));
    assert!(server.metric(metrics::RSS).unwrap() > 1e6);
    assert!(server.seen.states.is_empty(), "{:?}", server.seen.states);
    let pids: Vec<u32> = genkai_targets::nginx::evidence::workers(server.running.pid())
        .into_iter()
        .chain([server.running.pid()])
        .collect();
    assert_eq!(pids.len(), 3);
    assert!(server.running.stop().success());
    assert!(!pids.iter().any(|&pid| alive(pid)));
}

/// Fills a worker with as many clients as predicted, then asks for eight more. Gives what was seen, and what became of
/// the eight.
fn fill(worker_connections: &str) -> (Watched, Vec<Option<u16>>) {
    let (stage, backend) = (Stage::new(), Backend::start());
    let nginx = stage.generated(backend.address(), &[("worker_connections", worker_connections)]).unwrap();
    let slots = limit(&nginx, "nginx.worker_connections");
    assert_eq!((slots.value.as_str(), &slots.origin), (worker_connections, &Origin::Given));
    let fit = clients(&slots);
    let mut server = Watched::start(&nginx);
    let held = hold(&backend, server.running.address(), fit);
    let late: Vec<_> = (0..8).map(|_| Client::ask(server.running.address(), "/")).collect();
    let late = late.into_iter().flatten().map(Client::status).collect();
    assert_eq!(backend.inside(), fit, "none of them got through");
    assert!(server.metric(metrics::STUB_UNREACHABLE).unwrap() > 0.0, "no room for a look at the status page either");
    backend.hold(false);
    assert!(held.into_iter().all(|c| c.status() == Some(200)), "those inside are served");
    eventually("the status page is there again", || server.metric(metrics::STUB_DROPPED).is_some());
    (server, late)
}

#[test]
fn exactly_as_many_clients_as_predicted_fit_and_the_others_are_closed() {
    // Two listeners and the channel leave an even number of slots.
    let (mut server, late) = fill("65");
    assert_eq!(late, [None; 8]);
    server.await_lines(signature::WORKER_CONNECTIONS);
    assert_eq!(server.metric(metrics::STUB_DROPPED), Some(server.lines(signature::WORKER_CONNECTIONS) as f64));
}

#[test]
fn with_one_slot_left_a_client_gets_in_but_not_through() {
    let (mut server, late) = fill("64");
    assert!(late.contains(&Some(500)) && late.iter().all(|status| matches!(status, None | Some(500))), "{late:?}");
    server.await_lines(signature::WORKER_CONNECTIONS_UPSTREAM);
}

#[test]
fn looking_at_a_full_server_hurts_nobody() {
    let (stage, backend) = (Stage::new(), Backend::start());
    let nginx = stage.generated(backend.address(), &[("worker_connections", "64")]).unwrap();
    let fit = clients(&limit(&nginx, "nginx.worker_connections"));
    let mut server = Watched::start(&nginx);
    let held = hold(&backend, server.running.address(), fit);
    for _ in 0..10 {
        server.look();
    }
    backend.hold(false);
    assert!(held.into_iter().all(|c| c.status() == Some(200)), "nobody was refused");
    eventually("it answers again", || server.metric(metrics::STUB_DROPPED).is_some());
    assert_eq!(server.metric(metrics::STUB_DROPPED), Some(0.0));
    assert!(server.seen.logs.is_empty(), "{:?}", server.seen.logs);
}

#[test]
fn descriptors_run_out_where_predicted() {
    let (stage, backend) = (Stage::new(), Backend::start());
    let settings = [("worker_rlimit_nofile", "60"), ("worker_connections", "512")];
    let nginx = stage.generated(backend.address(), &settings).unwrap();
    let machine = Machine::of(&environment());
    let base = facts(&nginx, &machine).base_descriptors();
    let fit = clients(&limit(&nginx, "nginx.worker_rlimit_nofile"));
    let mut server = Watched::start(&nginx);
    assert_eq!(server.metric(metrics::WORKER_FD_LIMIT), Some(60.0));
    eventually("an idle worker has as many as the formula says", || {
        server.metric(metrics::WORKER_FDS_MAX) == Some(base as f64)
    });
    let held = hold(&backend, server.running.address(), fit);
    server.look();
    assert_eq!(server.lines(signature::DESCRIPTORS_ACCEPT) + server.lines(signature::DESCRIPTORS_SOCKET), 0);
    let late: Vec<_> = (0..8).map(|_| Client::ask(server.running.address(), "/")).collect();
    server.await_lines(signature::DESCRIPTORS_ACCEPT);
    assert!(server.metric(metrics::WORKER_FDS_MAX) >= Some(59.0));
    backend.hold(false);
    drop((held, late));
}

#[test]
fn a_full_accept_queue_drops_and_says_so() {
    let (stage, backend) = (Stage::new(), Backend::start());
    let nginx = stage.generated(backend.address(), &[("listen.backlog", "4")]).unwrap();
    assert_eq!(limit(&nginx, "nginx.listen.backlog").formula.split(',').next(), Some("min(backlog 4"));
    let mut server = Watched::start(&nginx);
    assert_eq!(server.metric(metrics::LISTEN_DROPS), Some(0.0));
    let worker = genkai_targets::nginx::evidence::workers(server.running.pid())[0];
    signal(worker, Signal::SIGSTOP);
    let held: Vec<_> = (0..8).map(|_| Client::ask(server.running.address(), "/")).collect();
    assert_eq!(held.iter().flatten().count(), 5, "one more than the backlog is let in");
    assert_eq!(server.metric(metrics::ACCEPT_QUEUE), Some(5.0));
    let drops = server.metric(metrics::LISTEN_DROPS).unwrap();
    assert!(drops >= 3.0, "{drops}");
    assert_eq!(server.metric(metrics::LISTEN_DROPS), Some(drops), "looking adds none");
    signal(worker, Signal::SIGCONT);
    assert!(held.into_iter().flatten().all(|c| c.status() == Some(200)));
}

const OWN: &str = "\
# mine
worker_processes 1;
events { worker_connections 128; }
http {
    limit_conn_zone $binary_remote_addr zone=perip:1m;
    limit_req_zone $binary_remote_addr zone=slow:1m rate=1r/s;
    client_max_body_size 2k;
    server {
        listen 80;
        location / { limit_conn perip 3; proxy_pass http://127.0.0.1:9; }
        location /slow { limit_req zone=slow; limit_req_status 429; proxy_pass http://127.0.0.1:9; }
    }
}
";

#[test]
fn limits_set_on_purpose_refuse_and_are_recognised() {
    let (stage, backend) = (Stage::new(), Backend::start());
    let nginx = stage.own(OWN, Some(backend.address())).unwrap();
    let mut server = Watched::start(&nginx);
    let address = server.running.address();
    assert_eq!(Client::post(address, "/", 2048).unwrap().status(), Some(200));
    assert_eq!(Client::post(address, "/", 2049).unwrap().status(), Some(413));
    server.await_lines(signature::BODY_TOO_LARGE);

    backend.hold(true);
    let held: Vec<_> = (0..3).map(|_| Client::ask(address, "/").unwrap()).collect();
    eventually("three are with the backend", || backend.inside() == 3);
    assert_eq!(get(address, "/"), Some(503));
    server.await_lines("nginx.limit_conn.perip");
    backend.hold(false);
    assert!(held.into_iter().all(|c| c.status() == Some(200)));

    let statuses: Vec<_> = (0..3).map(|_| get(address, "/slow")).collect();
    assert!(statuses.contains(&Some(429)), "{statuses:?}");
    server.await_lines("nginx.limit_req.slow");
    assert_eq!(server.lines(signature::WORKER_CONNECTIONS), 0);
    let place = |id: &str| match limit(&nginx, id).origin {
        Origin::File { path, line } => (path.file_name().unwrap().to_str().unwrap().to_owned(), line),
        other => panic!("{id}: {other:?}"),
    };
    let file = || "nginx.conf".to_owned();
    assert_eq!(place("nginx.worker_connections"), (file(), 3));
    assert_eq!(place("nginx.client_max_body_size"), (file(), 7));
    assert_eq!(place("nginx.limit_conn"), (file(), 10));
}

#[test]
fn bodies_beyond_the_buffers_go_through_files_that_the_workers_can_write() {
    let (stage, backend) = (Stage::new(), Backend::start());
    let nginx = stage.generated(backend.address(), &[("client_max_body_size", "1m")]).unwrap();
    let server = Watched::start(&nginx);
    // client_body_buffer_size is 16k on 64-bit systems.
    assert_eq!(Client::post(server.running.address(), "/", 200_000).unwrap().status(), Some(200));
}

#[test]
fn processor_time_is_the_workers_own() {
    let (stage, backend) = (Stage::new(), Backend::start());
    let text = "worker_processes 1;\nevents {}\nhttp { access_log off; server { listen 80; location / { return 200 ok; } } }\n";
    let nginx = stage.own(text, Some(backend.address())).unwrap();
    let mut server = Watched::start(&nginx);
    let address = server.running.address();
    assert!(server.metric(metrics::WORKER_CPU_MAX).unwrap() < 0.1, "idle");
    eventually("it works", || {
        assert!((0..200).all(|_| get(address, "/") == Some(200)));
        server.metric(metrics::WORKER_CPU_MAX).unwrap() > 0.01
    });
    let seen = &server.seen.samples.last().unwrap().metrics;
    assert!(seen[metrics::WORKER_CPU_MAX] < 1.1 && seen[metrics::CPU] >= seen[metrics::WORKER_CPU_MAX], "{seen:?}");
    assert!(seen[metrics::WORKER_DEMAND_MAX] >= seen[metrics::WORKER_CPU_MAX], "{seen:?}");
}

#[test]
fn a_refusing_upstream_is_told_from_a_closing_one() {
    let stage = Stage::new();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut server = Watched::start(&stage.generated(closed, &[]).unwrap());
    assert_eq!(get(server.running.address(), "/"), Some(502));
    server.await_lines(signature::UPSTREAM_REFUSED);

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut server = Watched::start(&stage.generated(listener.local_addr().unwrap(), &[]).unwrap());
    let closing = std::thread::spawn(move || drop(listener.accept().unwrap()));
    assert_eq!(get(server.running.address(), "/"), Some(502));
    closing.join().unwrap();
    server.await_lines(signature::UPSTREAM_CLOSED);
}

#[test]
fn a_silent_upstream_is_a_timeout() {
    let (stage, backend) = (Stage::new(), Backend::start());
    let nginx = stage.generated(backend.address(), &[("proxy_read_timeout", "200ms")]).unwrap();
    let mut server = Watched::start(&nginx);
    backend.hold(true);
    assert_eq!(get(server.running.address(), "/"), Some(504));
    server.await_lines(signature::UPSTREAM_TIMEOUT);
    assert_eq!(limit(&nginx, "nginx.proxy_timeouts").value, "200ms");
}

#[test]
fn a_killed_worker_is_a_state_and_not_the_end() {
    let (stage, backend) = (Stage::new(), Backend::start());
    let mut server = Watched::start(&stage.generated(backend.address(), &[]).unwrap());
    server.look();
    let worker = genkai_targets::nginx::evidence::workers(server.running.pid())[0];
    signal(worker, Signal::SIGKILL);
    let detail = server.await_state(ServerState::WorkerDied);
    assert!(detail.starts_with(&format!("worker process {worker} ")), "{detail}");
    eventually("another takes its place", || get(server.running.address(), "/") == Some(200));
    server.look();
    assert_eq!(server.seen.states.len(), 1, "told once: {:?}", server.seen.states);
}

#[test]
fn a_killed_master_is_the_end_and_its_workers_are_not_left() {
    let (stage, backend) = (Stage::new(), Backend::start());
    let mut server = Watched::start(&stage.generated(backend.address(), &[]).unwrap());
    let workers = genkai_targets::nginx::evidence::workers(server.running.pid());
    signal(server.running.pid(), Signal::SIGKILL);
    let detail = server.await_state(ServerState::Died);
    assert!(detail.contains("signal: 9"), "{detail}");
    server.look();
    assert_eq!(server.seen.states.len(), 1, "told once: {:?}", server.seen.states);
    server.running.stop();
    assert!(!workers.iter().any(|&pid| alive(pid)));
}

#[test]
fn an_unknown_setting_and_a_wrong_value_are_refused_with_help() {
    let stage = Stage::new();
    let refused = |name: &str, value: &str| {
        let error = stage.generated("127.0.0.1:9".parse().unwrap(), &[(name, value)]).unwrap_err();
        assert!(error.is_usage(), "{error}");
        error.to_string()
    };
    assert!(refused("worker_conections", "512").contains("did you mean worker_connections?"));
    assert!(refused("worker_connections", "many").contains("a whole number"));
}

#[test]
fn a_broken_file_is_told_with_the_user_s_line() {
    let stage = Stage::new();
    let refused = |text: &str| {
        let error = stage.own(text, None).unwrap_err();
        assert!(error.is_usage(), "{error}");
        error.to_string()
    };
    let path = stage.file("nginx.conf", "").display().to_string();
    let syntax = refused("events {}\nhttp {\n  server { listen 80 \n}\n");
    assert!(syntax.contains(&format!("{path}:")), "{syntax}");
    let semantics = refused("events {}\nhttp {\n  server { listen 80;\n    proxy_pas http://127.0.0.1:9;\n  }\n}\n");
    assert!(semantics.contains("unknown directive \"proxy_pas\""), "{semantics}");
    assert!(semantics.contains(&format!("{path}:4")), "{semantics}");
    assert!(refused("events {}\n").contains("http block"));
    assert!(!stage.own("events {}\nhttp { }\n", None).unwrap_err().to_string().is_empty());
}

#[test]
fn a_line_of_the_user_s_keeps_its_number_below_a_setting_that_was_inserted() {
    let stage = Stage::new();
    let file = stage.file(
        "nginx.conf",
        "events {}\nhttp {\n  server {\n    listen 80;\n    client_max_body_size 3m;\n    return 200;\n  }\n}\n",
    );
    let settings = [("worker_rlimit_nofile", "900"), ("worker_connections", "300")];
    let nginx = stage.prepare(ConfigSource::File(file.clone()), None, &settings).unwrap();
    assert_eq!(nginx.value_of("worker_connections").unwrap(), ("300".to_owned(), Origin::Given));
    let (value, origin) = nginx.value_of("client_max_body_size").unwrap();
    assert_eq!((value.as_str(), origin), ("3m", Origin::File { path: file.clone(), line: 5 }));
    assert!(matches!(limit(&nginx, "nginx.client_max_body_size").origin, Origin::File { line: 5, .. }));
    assert_eq!(limit(&nginx, "nginx.worker_rlimit_nofile").origin, Origin::Given);
}

#[test]
fn a_variant_differs_by_its_changes_and_the_file_only_when_written() {
    let (stage, backend) = (Stage::new(), Backend::start());
    let nginx = stage.own(OWN, Some(backend.address())).unwrap();
    let changes = [change("worker_connections", "4096"), change("limit_conn.perip", "50")];
    let variant = nginx.with(&changes, &stage.folder()).unwrap();
    assert_eq!(limit(&variant, "nginx.worker_connections").value, "4096");
    assert_eq!(limit(&nginx, "nginx.worker_connections").value, "128");
    assert_ne!(variant.private_copy().address, nginx.private_copy().address);
    let server = Watched::start(&variant);
    assert_eq!(get(server.running.address(), "/"), Some(200));
    let diff = nginx.diff(&changes);
    assert!(diff.contains("-events { worker_connections 128; }\n+events { worker_connections 4096; }"), "{diff}");
    let path = stage.folder().with_file_name("nginx.conf");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), OWN, "untouched");
    let backups = nginx.write_back(&changes).unwrap();
    assert_eq!(std::fs::read_to_string(&backups[0].backup).unwrap(), OWN);
    let expected = OWN.replace("connections 128", "connections 4096").replace("perip 3", "perip 50");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
}

#[test]
fn what_serves_nobody_is_refused_but_may_be_tried_as_a_change() {
    let (stage, backend) = (Stage::new(), Backend::start());
    let said = stage.generated(backend.address(), &[("worker_connections", "3")]).unwrap_err().to_string();
    assert!(said.contains("not one request could be served"), "{said}");
    let nginx = stage.generated(backend.address(), &[]).unwrap();
    let variant = nginx.with(&[change("worker_connections", "3")], &stage.folder()).unwrap();
    assert_eq!(limit(&variant, "nginx.worker_connections").value, "3");
}

#[test]
fn a_port_that_was_taken_meanwhile_is_replaced() {
    let (stage, backend) = (Stage::new(), Backend::start());
    let nginx = stage.generated(backend.address(), &[]).unwrap();
    let squatter = TcpListener::bind(nginx.private_copy().address).unwrap();
    let server = Watched::start(&nginx);
    assert_ne!(server.running.address(), squatter.local_addr().unwrap());
    assert_eq!(get(server.running.address(), "/"), Some(200));
    drop(server);
    let again = Watched::start(&nginx);
    assert_ne!(again.running.address(), squatter.local_addr().unwrap(), "the files have the other port");
    assert_eq!(get(again.running.address(), "/"), Some(200));
}

#[test]
fn every_process_stays_on_the_cores_given() {
    let (stage, backend) = (Stage::new(), Backend::start());
    let text = "worker_processes 2;\nworker_cpu_affinity auto;\nevents {}\nhttp { server { listen 80; location / { proxy_pass http://127.0.0.1:9; } } }\n";
    let nginx = stage.own(text, Some(backend.address())).unwrap();
    let core = genkai_place::machine::cores()[0];
    let running = nginx.start(Some(&[core])).unwrap();
    for pid in genkai_targets::nginx::evidence::workers(running.pid()).into_iter().chain([running.pid()]) {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let allowed = status.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned();
        assert_eq!(allowed, core.to_string(), "process {pid}");
    }
}

#[test]
fn two_run_side_by_side() {
    let (stage, backend) = (Stage::new(), Backend::start());
    let nginx = stage.generated(backend.address(), &[]).unwrap();
    let (one, two) = (nginx.start(None).unwrap(), nginx.with(&[], &stage.folder()).unwrap().start(None).unwrap());
    assert_eq!([one.address(), two.address()].map(|a| get(a, "/")), [Some(200); 2]);
}
