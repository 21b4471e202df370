//! Each cause on a real nginx: the right one is named, and none of the others.

mod bisection;
mod caches;
mod documents;
#[path = "../harness/mod.rs"]
mod harness;
mod own;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use genkai_model::error::ErrorKind;
use genkai_model::event::FinishedFile;
use genkai_model::finding::{Answer, Because, Caveat, Confidence, Evidence, Outcome, Rung};
use genkai_model::limit::{Law, Origin};
use harness::judged::{lifted, only_cause, proved, told};
use harness::servers::{scripted, serve};
use harness::{finish, genkai, machine, run};

#[test]
fn worker_connections() {
    let _machine = machine();
    let run = told(&genkai(
        "tune nginx --set worker_connections=64 --users 60 --spawn-rate 20 --backend-time 200ms --quick --quiet",
    ));
    let verdict = proved(&run, "nginx.worker_connections", "worker_connections");
    let cause = &verdict.causes[0];
    assert_eq!(cause.limit.value, "64");
    let predicted = cause.predicted.clients.unwrap();
    assert!(predicted.low >= 27.0 && predicted.high <= 31.0, "29..31 by the formula: {predicted:?}");
    assert!((26.0..=34.0).contains(&cause.broke.in_flight), "{}", run.story());
    let onward = verdict.proposal[0].onward.as_ref().expect("connections to the backend were counted");
    assert!((1.0..=32.0).contains(&onward.before.connections), "each client takes two of 64: {onward:?}");
    assert!(onward.after.connections > 32.0 && onward.after.looks > 0, "{onward:?}");
    assert!(
        run.says().join(" ").contains("Connections that nginx held to other servers, at most: "),
        "{}",
        run.story()
    );
    assert_eq!(verdict.proof.unwrap().failures[1], 0, "the proposal loses nothing");
}

#[test]
fn healthy_needs_no_change() {
    let _machine = machine();
    let run = told(&genkai(
        "tune nginx --set worker_connections=4096 --users 60 --spawn-rate 20 --backend-time 100ms --quick --quiet",
    ));
    assert_eq!(run.code, Some(0), "{}", run.story());
    let verdict = run.verdict();
    assert_eq!((verdict.outcome(), verdict.must_change()), (Outcome::Holds, Answer::No), "{}", run.story());
    assert_eq!(verdict.because(), Because::ObjectiveHolds);
    assert!(verdict.causes.is_empty() && verdict.proposal.is_empty(), "{}", run.story());
    assert_eq!(verdict.trials.iter().map(|t| t.failed).sum::<u64>(), 0);
}

#[test]
fn worker_rlimit_nofile() {
    let _machine = machine();
    let run = told(&genkai(
        "tune nginx --set worker_rlimit_nofile=60 --users 60 --spawn-rate 20 --backend-time 200ms --quick --pairs 0 --quiet",
    ));
    let verdict = lifted(&run, "nginx.worker_rlimit_nofile", "worker_rlimit_nofile");
    let cause = &verdict.causes[0];
    let predicted = cause.predicted.clients.unwrap();
    let seen = cause.broke.in_flight;
    assert!(
        seen >= predicted.low * 0.85 && seen <= predicted.high * 1.25,
        "{seen} against {predicted:?}\n{}",
        run.story()
    );
}

#[test]
fn client_max_body_size() {
    let _machine = machine();
    let run = told(&genkai(
        "tune nginx --set client_max_body_size=8k --body-size 20k --users 10 --spawn-rate 10 --backend-time 50ms --quick --pairs 0 --quiet",
    ));
    let verdict = lifted(&run, "nginx.client_max_body_size", "client_max_body_size");
    let errors = &verdict.causes[0].broke.errors;
    assert!(errors.iter().any(|e| e.kind == ErrorKind::Status413), "{}", run.story());
}

#[test]
fn limit_conn() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("nginx.conf");
    let config = "worker_processes 1;\nevents { worker_connections 1024; }\nhttp {\n  limit_conn_zone $binary_remote_addr zone=perip:1m;\n  \
        server {\n    listen 8080;\n    location / {\n      limit_conn perip 20;  # careful\n      proxy_pass http://127.0.0.1:9;\n    }\n  }\n}\n";
    std::fs::write(&file, config).unwrap();
    let run = told(
        genkai(
            "tune nginx --backend embedded --users 50 --spawn-rate 20 --backend-time 100ms --quick --pairs 0 --quiet",
        )
        .arg("--config")
        .arg(&file),
    );
    let verdict = lifted(&run, "nginx.limit_conn", "limit_conn");
    assert!(verdict.causes[0].broke.errors.iter().any(|e| e.kind == ErrorKind::Status503), "{}", run.story());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), config, "the user's file is as it was");
    let diff = run.record().end.unwrap().diff;
    assert!(diff.contains("-      limit_conn perip 20;  # careful"), "{diff}");
    let verdict = run.verdict();
    let Some(Rung::Proved(rung)) = verdict.ladder.as_ref().and_then(|ladder| ladder.rungs.first()) else {
        panic!("{}", run.story())
    };
    assert_eq!(rung.place, Some(Origin::File { path: file.clone(), line: 8 }), "{}", run.story());
    let finished = run.record().end.unwrap().files;
    let [FinishedFile { path, copy: Some(copy), .. }] = &finished[..] else { panic!("{finished:?}") };
    assert_eq!(path, &file);
    let text = std::fs::read_to_string(run.out.join(copy)).unwrap();
    let line = format!("limit_conn perip {};  # careful", rung.change.to);
    assert_eq!(text, config.replace("limit_conn perip 20;  # careful", &line), "all else is as it was");
    proposal_is_checked(&run.out, copy);
    // In the place that it is for, the product's own check takes it.
    std::fs::write(&file, text).unwrap();
    let pid = format!("pid {};", dir.path().join("pid").display());
    let check = std::process::Command::new("nginx").args(["-t", "-q", "-g", &pid, "-c"]).arg(&file).output().unwrap();
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
}

/// A finished file that is not the one of the record, or that it does not know, is named.
fn proposal_is_checked(out: &std::path::Path, copy: &std::path::Path) {
    let check = || {
        let output = finish(genkai("report --check").arg(out), std::time::Duration::from_secs(60));
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (file, other) = (out.join(copy), out.join(copy).with_file_name("other.conf"));
    let text = std::fs::read(&file).unwrap();
    assert_eq!(check().0, Some(0), "{}", check().1);
    std::fs::write(&file, [&text[..], b"# mine\n"].concat()).unwrap();
    std::fs::write(&other, "").unwrap();
    let (code, said) = check();
    assert!(code == Some(1) && said.contains(&copy.display().to_string()) && said.contains("other.conf"), "{said}");
    std::fs::write(&file, text).unwrap();
    std::fs::remove_file(&other).unwrap();
    assert_eq!(check().0, Some(0), "as it was");
}

#[test]
fn a_full_backend_pool_is_not_nginx() {
    let _machine = machine();
    let run = told(genkai(
        "tune nginx --set worker_connections=1024 --users 60 --spawn-rate 20 --backend-time 100ms --backend-workers 5 --quick --quiet",
    )
    .args(["--objective", "errors < 0.1%, p99 < 500ms"]));
    assert_eq!(run.code, Some(1), "{}", run.story());
    let verdict = only_cause(&run, "backend.workers");
    assert_eq!(verdict.because(), Because::BackendIsLimit, "{}", run.story());
    assert_eq!(verdict.must_change(), Answer::No, "no setting of nginx helps\n{}", run.story());
    assert!(verdict.proposal.is_empty(), "{}", run.story());
}

#[test]
fn a_backend_that_is_slow_by_itself_is_not_nginx() {
    let _machine = machine();
    let run = told(
        genkai("tune nginx --users 50 --spawn-rate 25 --backend-time 700ms --quick --quiet")
            .args(["--objective", "p99 < 500ms"]),
    );
    assert_eq!(run.code, Some(1), "{}", run.story());
    let verdict = only_cause(&run, "backend.service_time");
    assert_eq!((verdict.must_change(), verdict.because()), (Answer::No, Because::BackendIsLimit), "{}", run.story());
    let says = run.says();
    assert!(says[0].starts_with("No: the backend alone takes 700 ms"), "{says:?}");
    assert!(says[0].contains("`p99 < 500ms` allows 500 ms"), "{says:?}");
}

#[test]
fn a_backend_of_the_users_that_is_slow_by_itself_is_asked_alone() {
    let _machine = machine();
    let (_origin, address) = serve("origin --listen 127.0.0.1:0 --service-time 400ms");
    let run = told(
        genkai("tune nginx --users 20 --spawn-rate 20 --quick --quiet")
            .args(["--objective", "p99 < 300ms", "--backend"])
            .arg(format!("http://{address}")),
    );
    let verdict = only_cause(&run, "backend.alone");
    assert_eq!((run.code, verdict.because()), (Some(1), Because::BackendIsLimit), "{}", run.story());
    assert!(verdict.causes[0].limit.formula.starts_with("asked "), "{}", run.story());
}

#[test]
fn a_backend_of_the_users_that_breaks_by_itself_is_named() {
    let _machine = machine();
    let (_origin, address) = serve("origin --listen 127.0.0.1:0 --service-time 100ms --workers 4");
    let run = told(
        genkai("tune nginx --users 60 --spawn-rate 20 --quick --quiet")
            .args(["--objective", "p99 < 500ms", "--backend"])
            .arg(format!("http://{address}")),
    );
    let verdict = only_cause(&run, "backend.by_itself");
    assert_eq!((run.code, verdict.because()), (Some(1), Because::BackendIsLimit), "{}", run.story());
    let says = run.says();
    assert!(
        says[0].starts_with("No: nginx is not the limit, the backend is: asked directly, without nginx"),
        "{says:?}"
    );
}

#[test]
fn a_backend_that_the_users_configuration_names_is_asked_by_itself_too() {
    let _machine = machine();
    let (_origin, address) = serve("origin --listen 127.0.0.1:0 --service-time 100ms --workers 4");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nginx.conf");
    let server = format!("server {{ listen 127.0.0.1:8080; location / {{ proxy_pass http://{address}; }} }}");
    std::fs::write(&file, format!("events {{}}\nhttp {{\n{server}\n}}\n")).unwrap();
    let run = told(
        genkai("tune nginx --users 60 --spawn-rate 20 --quick --quiet")
            .args(["--objective", "p99 < 500ms", "--config"])
            .arg(&file),
    );
    let verdict = only_cause(&run, "backend.by_itself");
    assert_eq!(verdict.because(), Because::BackendIsLimit, "{}", run.story());
}

#[test]
fn where_nothing_is_answered_nothing_is_said_to_have_held() {
    let _machine = machine();
    let (_guard, at) = serve("origin --service-time 60s");
    let run = told(&genkai(&format!("tune nginx --backend http://{at}/ --users 20 --spawn-rate 20 --quick --pairs 0")));
    let verdict = run.verdict();
    assert_eq!((verdict.outcome(), verdict.must_change()), (Outcome::Invalid, Answer::CannotTell), "{}", run.story());
    assert_eq!((verdict.because(), run.code), (Because::Unanswered, Some(4)), "{}", run.story());
    assert!(run.stdout.contains("no request was answered"), "{}", run.story());
    assert!(!run.stdout.contains("No change needed"), "{}", run.story());
}

#[test]
fn a_short_proxy_read_timeout_is_said_as_what_it_is() {
    let _machine = machine();
    let run = told(&genkai(
        "tune nginx --set proxy_read_timeout=1s --users 20 --spawn-rate 20 --backend-time 1500ms --quick --quiet",
    ));
    assert_eq!(run.code, Some(1), "{}", run.story());
    let verdict = only_cause(&run, "nginx.proxy_timeouts");
    assert_eq!((verdict.must_change(), verdict.because()), (Answer::No, Because::BackendIsLimit));
    assert_eq!(verdict.causes[0].confidence, Confidence::Likely, "it takes 1.5 s alone: {}", run.story());
    let says = run.says();
    assert!(says[0].starts_with("No:") && says[0].contains("slower than proxy_read_timeout = 1s"), "{says:?}");
    assert!(says[1].starts_with("From the start of the load on nginx answered 504"), "{says:?}");
    assert!(says[1].contains("its log says `upstream timed out"), "nginx wrote that line: {says:?}");
}

/// Says that it is over, also where what is between fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn processor_time_that_other_programs_take_is_never_nginx_limit() {
    let _machine = machine();
    let done = AtomicBool::new(false);
    let run = thread::scope(|scope| {
        // Two a core that never wait: together with them nothing else has most of the machine.
        for _ in 0..2 * thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let _ends = Ends(&done);
        run(&genkai("tune nginx --users 40 --spawn-rate 20 --backend-time 20ms --objective p99<22ms --quick --quiet"))
    });
    let verdict = run.verdict();
    assert!(verdict.causes.iter().all(|cause| !matches!(cause.limit.law, Law::Cpu { .. })), "{}", run.story());
    if verdict.outcome() == Outcome::Holds {
        return;
    }
    assert_eq!((run.code, verdict.outcome()), (Some(4), Outcome::Invalid), "{}", run.story());
    let said = verdict.because();
    assert!(matches!(said, Because::OtherPrograms | Because::ClientIsLimit), "{}", run.story());
    if said == Because::OtherPrograms {
        let says = run.says();
        assert!(says[0].contains("other programs used") && says[0].ends_with("nothing is said of nginx."), "{says:?}");
    }
}

#[test]
fn connections_too_few_for_the_rate_are_the_clients_limit() {
    let _machine = machine();
    let run = run(&genkai("tune nginx --rate 1000 --ramp 2s --connections 50 --backend-time 300ms --quick --quiet"));
    assert_eq!(run.code, Some(4), "{}", run.story());
    let verdict = run.verdict();
    assert_eq!((verdict.outcome(), verdict.because()), (Outcome::Invalid, Because::ClientIsLimit), "{}", run.story());
    assert!(verdict.causes.is_empty(), "{}", run.story());
    let says = run.says();
    assert!(says[0].contains("all its 50 connections were busy"), "{says:?}");
}

/// A configuration of `product` with two servers, and what `tune` says of it.
fn two_servers(product: &str, text: &str, servers: [&str; 2]) -> (harness::Run, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("two.conf");
    std::fs::write(&file, text.replace("{one}", servers[0]).replace("{two}", servers[1])).unwrap();
    let mut tune = genkai(&format!("tune {product} --users 30 --spawn-rate 10 --quick --quiet"));
    (told(tune.arg("--config").arg(&file)), file)
}

/// That server `name` of line `line` gave the answers that failed.
fn answered_by(run: &harness::Run, id: &str, (file, line): (&std::path::Path, usize)) {
    let verdict = only_cause(run, id);
    assert_eq!((run.code, verdict.because()), (Some(1), Because::BackendIsLimit), "{}", run.story());
    let cause = &verdict.causes[0];
    assert_eq!(cause.limit.origin, Origin::File { path: file.to_owned(), line }, "{}", run.story());
    assert!(cause.confidence >= Confidence::Likely && verdict.proposal.is_empty(), "{}", run.story());
    let all = cause.evidence.iter().any(|e| matches!(e, Evidence::Answered { failed, of, .. } if failed == of));
    assert!(all, "the other never fails: {}", run.story());
}

const WELL: &str = "fixed --time 0.02";
const ILL: &str = "errors --share 0.3 --status 500 --time 0.02 --seed 3";

const TWO_OF_HAPROXY: &str = "defaults\n  mode http\n  timeout connect 1s\n  timeout client 9s\n  timeout server 9s\nfrontend f\n  bind \
                              127.0.0.1:80\n  default_backend b\nbackend b\n  server one {one}\n  server two {two}\n";

#[test]
fn the_server_of_haproxy_that_answers_with_errors_is_named() {
    let _machine = machine();
    let ((_well, well), (_ill, ill)) = (scripted(WELL), scripted(ILL));
    let (run, file) = two_servers("haproxy", TWO_OF_HAPROXY, [&well, &ill]);
    answered_by(&run, "haproxy.server.answers.two", (&file, 11));
    assert!(run.says().iter().any(|says| says.contains("server two gave")), "{}", run.story());
}

/// Of its own logs it has none for these requests.
const TWO_OF_NGINX: &str = "events { }\nhttp {\n  access_log /dev/null;\n  upstream u {\n    server {one};\n    server {two};\n  }\n  server {\n    \
                            listen 80;\n    access_log off;\n    location / { proxy_pass http://u; }\n  }\n}\n";

#[test]
fn the_server_of_an_upstream_that_answers_with_errors_is_named() {
    let _machine = machine();
    let ((_well, well), (_ill, ill)) = (scripted(WELL), scripted(ILL));
    let (run, file) = two_servers("nginx", TWO_OF_NGINX, [&well, &ill]);
    answered_by(&run, &format!("nginx.server.answers.{ill}"), (&file, 6));
    assert!(run.says().iter().any(|says| says.contains(&format!("server {ill} gave"))), "{}", run.story());
}

#[test]
fn the_failing_server_of_an_upstream_that_is_not_asked_in_turn_is_named() {
    let _machine = machine();
    let ((_well, well), (_ill, ill)) = (scripted(WELL), scripted(ILL));
    let text = TWO_OF_NGINX.replace("upstream u {", "upstream u { least_conn;");
    let (run, file) = two_servers("nginx", &text, [&well, &ill]);
    answered_by(&run, &format!("nginx.server.answers.{ill}"), (&file, 6));
    let told =
        |says: &String| says.contains(&format!("server {ill} gave")) && says.contains("of a share of the requests");
    assert!(run.says().iter().any(told), "{}", run.story());
}

/// The load ends two seconds after its beginning, when few of its answers have come, or none.
#[test]
fn one_of_several_servers_that_takes_seconds_is_named() {
    let _machine = machine();
    for time in ["1.5", "3"] {
        let ((_well, well), (_slow, slow)) = (scripted(WELL), scripted(&format!("fixed --time {time}")));
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("slow.conf");
        std::fs::write(&file, TWO_OF_NGINX.replace("{one}", &well).replace("{two}", &slow)).unwrap();
        let mut tune = genkai("tune nginx --users 20 --spawn-rate 10 --objective p99<500ms --quick --quiet");
        let run = told(tune.arg("--config").arg(&file));
        let verdict = only_cause(&run, &format!("nginx.server.slow.{slow}"));
        assert_eq!((run.code, verdict.because()), (Some(1), Because::BackendIsLimit), "{}", run.story());
    }
}

/// A virtual host with a log of its own, of which httpd writes nothing of who answered.
const TWO_OF_APACHE: &str = "LoadModule mpm_event_module {modules}/mod_mpm_event.so\nLoadModule authz_core_module {modules}/mod_authz_core.so\nLoadModule \
                             proxy_module {modules}/mod_proxy.so\nLoadModule proxy_http_module {modules}/mod_proxy_http.so\nLoadModule \
                             proxy_balancer_module {modules}/mod_proxy_balancer.so\nLoadModule slotmem_shm_module \
                             {modules}/mod_slotmem_shm.so\nLoadModule lbmethod_byrequests_module \
                             {modules}/mod_lbmethod_byrequests.so\nListen 80\n<VirtualHost *:80>\n  CustomLog /dev/null \"%>s\"\n  <Proxy \
                             balancer://app>\n    BalancerMember http://{one}\n    BalancerMember http://{two}/\n  </Proxy>\n  ProxyPass / \
                             balancer://app/\n</VirtualHost>\n";

#[test]
fn the_member_of_a_balancer_that_answers_with_errors_is_named() {
    let _machine = machine();
    let ((_well, well), (_ill, ill)) = (scripted(WELL), scripted(ILL));
    let text = TWO_OF_APACHE.replace("{modules}", "/usr/lib/apache2/modules");
    let (run, file) = two_servers("apache", &text, [&well, &ill]);
    answered_by(&run, &format!("apache.server.answers.http://{ill}"), (&file, 13));
}

#[test]
fn the_upstream_of_caddy_that_answers_with_errors_is_named() {
    let _machine = machine();
    let ((_well, well), (_ill, ill)) = (scripted(WELL), scripted(ILL));
    let (run, file) = two_servers("caddy", ":80 {\n\treverse_proxy {one} {two}\n}\n", [&well, &ill]);
    answered_by(&run, &format!("caddy.server.answers.{ill}"), (&file, 2));
}

#[test]
fn an_error_of_haproxy_that_is_sent_as_a_good_answer_is_told() {
    let _machine = machine();
    let (_slow, slow) = scripted("fixed --time 0.05");
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("sorry.http"), "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nsorry\n").unwrap();
    let file = dir.path().join("haproxy.cfg");
    let text = format!(
        "defaults\n  mode http\n  timeout connect 1s\n  timeout client 9s\n  timeout server 9s\n  timeout queue 10ms\n  errorfile 503 {}\n\
         frontend f\n  bind 127.0.0.1:80\n  default_backend b\nbackend b\n  server s {slow} maxconn 2\n",
        dir.path().join("sorry.http").display()
    );
    std::fs::write(&file, text).unwrap();
    let run = told(genkai("tune haproxy --spawn-rate 20 --quick --quiet --users 40 --config").arg(&file));
    let hidden = run.verdict().caveats.iter().find_map(|caveat| match caveat {
        Caveat::HiddenErrors { responses, hidden, .. } => Some((*responses, *hidden)),
        _ => None,
    });
    let (responses, hidden) = hidden.unwrap_or_else(|| panic!("{}", run.story()));
    assert!(hidden > responses / 2 && hidden <= responses, "{}", run.story());
    assert!(run.says()[0].contains("good answers were sent in the place of an error"), "{}", run.story());
}

#[test]
fn where_all_servers_of_haproxy_answer_with_errors_none_of_them_is_the_one() {
    let _machine = machine();
    let ((_one, one), (_two, two)) = (scripted(ILL), scripted(&ILL.replace("seed 3", "seed 5")));
    let (run, _) = two_servers("haproxy", TWO_OF_HAPROXY, [&one, &two]);
    let verdict = only_cause(&run, "haproxy.server.answers");
    assert_eq!((run.code, verdict.because()), (Some(1), Because::BackendIsLimit), "{}", run.story());
}

#[test]
fn an_upstream_that_refuses_is_not_nginx() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let file = dir.path().join("nginx.conf");
    let config = format!(
        "events {{ }}\nhttp {{\n  server {{\n    listen 80;\n    location / {{ proxy_pass http://{closed}; }}\n  }}\n}}\n"
    );
    std::fs::write(&file, config).unwrap();
    let run = told(genkai("tune nginx --users 20 --spawn-rate 20 --quick --quiet").arg("--config").arg(&file));
    assert_eq!(run.code, Some(1), "{}", run.story());
    let verdict = run.verdict();
    assert_eq!(verdict.causes.len(), 1, "{}", run.story());
    let cause = &verdict.causes[0];
    assert_eq!((cause.limit.id.as_str(), cause.limit.fault), ("nginx.upstream.address", true), "{}", run.story());
    assert!(cause.broke.errors.iter().any(|e| e.kind == ErrorKind::Status502), "{}", run.story());
    assert!(verdict.proposal.is_empty(), "{}", run.story());
}

#[test]
fn a_worker_without_processor_time() {
    let _machine = machine();
    // A regular expression that backtracks: some 2^12 steps of the worker's time for each request, in nginx alone.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("nginx.conf");
    let config = "worker_processes 1;\nevents { worker_connections 1024; }\nhttp {\n  server {\n    listen 8080;\n    \
                  location ~ \"^/(a|aa)+$\" { return 204; }\n    location / { proxy_pass http://127.0.0.1:9; }\n  }\n}\n";
    std::fs::write(&file, config).unwrap();
    let run = told(genkai("tune nginx --backend embedded --backend-time 1ms --backend-body 1k --users 100 --spawn-rate 50 --quick --quiet")
        .args(["--path", &format!("/{}!", "a".repeat(24)), "--objective", "errors < 0.1%, p99 < 200ms"])
        .arg("--config")
        .arg(&file));
    assert_eq!(run.code, Some(1), "{}", run.story());
    let verdict = only_cause(&run, "nginx.cpu");
    assert_eq!(verdict.because(), Because::CpuIsLimit, "{}", run.story());
}

#[test]
fn a_short_listen_backlog() {
    let _machine = machine();
    let run = told(
        genkai(
            "tune nginx --set listen.backlog=4 --set worker_connections=4096 --users 600 --spawn-rate 100000 \
         --backend-time 20ms --new-connections --quick --pairs 0 --quiet",
        )
        .args(["--objective", "errors < 0.1%, p99 < 700ms"]),
    );
    lifted(&run, "nginx.listen.backlog", "listen.backlog");
}
