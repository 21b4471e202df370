//! `genkai tune haproxy` on a real HAProxy and a user's file.

use genkai_model::error::ErrorKind;
use genkai_model::finding::{Because, Confidence, Predicted};
use genkai_model::limit::Origin;
use genkai_place::authority;

use crate::harness::judged::{only_cause, told};
use crate::harness::servers::{free, scripted};
use crate::harness::{genkai, holds, machine, run};

const CONFIG: &str = "\
global
    chroot /var/lib/haproxy
    stats socket /run/haproxy/admin.sock mode 660 level admin
    daemon
    log /dev/log local0

userlist people
    user ada insecure-password hunter2

defaults
    log global
    mode http
    option httplog
    timeout connect 5s
    timeout client 50s
    timeout server 50s
    timeout queue 300ms

frontend www
    bind *:80 accept-proxy
    bind *:443 ssl crt /nonexistent.pem
    default_backend app

backend app
    # Whoever stands in for the application does not answer so.
    option httpchk GET /health
    http-check expect string alive
    default-server fall 1
    # few, on purpose
    server one 192.0.2.1:8080 maxconn 4 check send-proxy  # the application
";

#[test]
fn a_servers_maxconn_in_a_users_file_is_found_changed_and_shown() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("haproxy.cfg");
    let text = CONFIG.replace("    bind *:443 ssl crt /nonexistent.pem\n", "");
    std::fs::write(&file, &text).unwrap();
    let run = told(
        genkai(
            "tune haproxy --backend embedded --users 24 --spawn-rate 20 --backend-time 200ms --quick --quiet --pairs 0",
        )
        .arg("--config")
        .arg(&file),
    );
    let verdict = only_cause(&run, "haproxy.server.maxconn");
    assert_eq!((run.code, verdict.because()), (Some(1), Because::ProvedAndHolds), "{}", run.story());
    let limit = &verdict.causes[0].limit;
    let line = text.lines().position(|l| l.contains("maxconn 4")).unwrap() + 1;
    let place = Origin::File { path: file.clone(), line };
    assert_eq!((limit.value.as_str(), &limit.origin), ("4", &place), "{}", run.story());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "the user's file is as it was");
    let record = run.record();
    let diff = record.end.as_ref().unwrap().diff.clone();
    assert!(diff.contains("-    server one 192.0.2.1:8080 maxconn 4 check send-proxy  # the application"), "{diff}");
    assert!(diff.contains("check send-proxy  # the application\n"), "nothing else of the line changes: {diff}");
    let all = std::fs::read_to_string(run.out.join("run.jsonl")).unwrap();
    assert!(!all.contains("hunter2"), "a password is in the record");
}

#[test]
fn what_cannot_run_is_told_with_the_users_places() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("haproxy.cfg");
    let plain = CONFIG.replace("    bind *:443 ssl crt /nonexistent.pem\n", "");
    for (text, says) in [
        (CONFIG.to_owned(), format!("in {}:21: the certificate /nonexistent.pem does not exist", file.display())),
        (plain.replace("timeout server 50s", "timeout server soon"), format!("in {}:16", file.display())),
        ("defaults\n  mode http\n".to_owned(), "no `bind`".to_owned()),
        ("frontend f\n  bind :80 \"x\n".to_owned(), format!("{}:2: a quote", file.display())),
    ] {
        std::fs::write(&file, text).unwrap();
        let run = run(genkai("tune haproxy --backend embedded --users 5 --quiet").arg("--config").arg(&file));
        assert_eq!(run.code, Some(2), "{}", run.story());
        assert!(run.stderr.contains(&says), "{says}: {}", run.stderr);
    }
    std::fs::write(&file, plain).unwrap();
    let run = run(genkai("tune haproxy --users 5 --quiet").arg("--config").arg(&file));
    assert!(run.stderr.contains("192.0.2.1") && run.stderr.contains("not this machine"), "{}", run.stderr);
    assert_eq!(run.code, Some(2));
}

#[test]
fn a_file_with_tls_only_is_loaded_over_tls_and_its_key_never_leaves() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let papers = authority::make(dir.path()).unwrap();
    let file = dir.path().join("haproxy.cfg");
    // The path of the certificate is relative, as the user's folder has it.
    let text = "defaults\n  mode http\n  timeout connect 5s\n  timeout client 50s\n  timeout server 50s\n\nfrontend www\n  bind *:443 \
                ssl crt both.pem alpn http/1.1\n  default_backend app\n\nbackend app\n  server one 127.0.0.1:9 maxconn 20\n";
    std::fs::write(&file, text).unwrap();
    let flags = "--websocket --connections 30 --spawn-rate 60 --hold 3s --quick --pairs 0 --max-limits 1 --quiet";
    let run = told(
        genkai(&format!("tune haproxy --backend embedded --set timeout.queue=300ms {flags}"))
            .args(["--objective", "connects > 99.9%", "--config"])
            .arg(&file),
    );
    let verdict = only_cause(&run, "haproxy.server.maxconn");
    let predicted = verdict.causes[0].predicted.clients.unwrap();
    assert_eq!((predicted.low, predicted.high), (20.0, 20.0), "a tunnel holds its place: {}", run.story());
    let secured = verdict.trials[0].handshakes.as_ref().unwrap();
    assert!(secured.full + secured.resumed >= 20, "over TLS: {}", run.story());
    let key = std::fs::read_to_string(&papers.key).unwrap();
    assert!(!holds(&run.out, key.lines().nth(1).unwrap()), "the key is nowhere in {}", run.out.display());
}

/// A file that listens with TLS, with this in its `global`, and the folder that it lies in.
fn secured(global: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    authority::make(dir.path()).unwrap();
    let file = dir.path().join("haproxy.cfg");
    let text = format!(
        "global\n  {global}\ndefaults\n  mode http\n  timeout connect 5s\n  timeout client 50s\n  timeout server 50s\n\n\
         frontend www\n  bind *:443 ssl crt both.pem\n  default_backend app\n\nbackend app\n  server one 127.0.0.1:9\n"
    );
    std::fs::write(&file, text).unwrap();
    (dir, file)
}

#[test]
fn tls_connections_beyond_their_cap_hang_and_are_named() {
    let _machine = machine();
    let (_dir, file) = secured("maxsslconn 20");
    let flags = "--backend embedded --users 40 --spawn-rate 8 --timeout 2s --quick --pairs 0 --max-limits 1 --quiet";
    let run = told(genkai(&format!("tune haproxy {flags}")).arg("--config").arg(&file));
    let verdict = only_cause(&run, "haproxy.maxsslconn");
    let told = &verdict.causes[0];
    assert_eq!(told.predicted.clients.map(|range| (range.low, range.high)), Some((20.0, 20.0)), "{}", run.story());
    assert_eq!(told.limit.origin, Origin::File { path: file, line: 2 }, "{}", run.story());
    let broke = verdict.trials[0].errors.iter().map(|e| e.kind).collect::<Vec<_>>();
    assert!(broke.contains(&ErrorKind::TlsTimeout), "{broke:?} {}", run.story());
}

#[test]
fn tls_connections_that_come_too_fast_are_haproxys_maxsslrate() {
    let _machine = machine();
    let (_dir, file) = secured("maxsslrate 30");
    let load = "--backend embedded --backend-time 10ms --rate 60 --ramp 6s --new-connections --connections 400";
    let flags = "--quick --pairs 0 --max-limits 1 --bisect 0 --quiet";
    let run = told(
        genkai(&format!("tune haproxy {load} {flags}"))
            .args(["--objective", "errors < 0.1%, p99 < 700ms", "--config"])
            .arg(&file),
    );
    let verdict = only_cause(&run, "haproxy.maxsslrate");
    assert_eq!(verdict.causes[0].limit.origin, Origin::File { path: file, line: 2 }, "{}", run.story());
    assert_eq!(verdict.causes[0].confidence, Confidence::Proved, "{}", run.story());
}

#[test]
fn a_server_that_its_check_finds_gone_does_not_count_for_maxconn() {
    let _machine = machine();
    let (_one, one) = scripted("fixed --time 0.1");
    let [gone] = free();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("haproxy.cfg");
    let text = format!(
        "defaults\n  mode http\n  timeout connect 1s\n  timeout client 20s\n  timeout server 20s\n  timeout queue 500ms\nfrontend f\n  \
         bind 127.0.0.1:80\n  default_backend b\nbackend b\n  balance leastconn\n  server a {one} maxconn 10\n  \
         server z 127.0.0.1:{gone} maxconn 10 check inter 300ms\n"
    );
    std::fs::write(&file, text).unwrap();
    let run = told(
        genkai("tune haproxy --users 90 --spawn-rate 12 --quick --quiet --pairs 0 --max-limits 1")
            .arg("--config")
            .arg(&file),
    );
    let verdict = only_cause(&run, "haproxy.server.maxconn");
    let cause = &verdict.causes[0];
    assert_eq!(cause.predicted.clients.map(|range| (range.low, range.high)), Some((10.0, 10.0)), "{}", run.story());
    assert!(cause.limit.formula.contains(&format!("; nobody listens at 127.0.0.1:{gone}")), "{}", run.story());
    assert_eq!(cause.confidence, Confidence::Proved, "{}", run.story());
}

/// What is told of `server.maxconn` for a load on two servers with so many places each, which take so many seconds.
fn of_two(balance: &str, times: [f64; 2], maxconn: [u32; 2], load: &str) -> (Predicted, String) {
    let servers = times.map(|time| scripted(&format!("fixed --time {time}")));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("haproxy.cfg");
    let text = format!(
        "defaults\n  mode http\n  timeout connect 1s\n  timeout client 20s\n  timeout server 20s\n  timeout queue 500ms\nfrontend f\n  \
         bind 127.0.0.1:80\n  default_backend b\nbackend b\n  balance {balance}\n  server a {} maxconn {}\n  \
         server z {} maxconn {}\n",
        servers[0].1, maxconn[0], servers[1].1, maxconn[1]
    );
    std::fs::write(&file, text).unwrap();
    let flags = "--quick --quiet --pairs 0 --max-limits 1 --bisect 0";
    let run = told(genkai(&format!("tune haproxy {load} {flags}")).arg("--config").arg(&file));
    let verdict = run.verdict();
    let told = verdict.predictions.iter().find(|one| one.limit == "haproxy.server.maxconn").unwrap().clone();
    (told, run.story())
}

#[test]
fn of_servers_of_unlike_speed_the_time_of_each_is_what_counts() {
    let _machine = machine();
    // 4 / 0.04 + 4 / 0.2 = 120 a second; by the mean of both, asked as often, it would be 67. A server that is full is passed over, by turns too.
    let (told, story) = of_two("roundrobin", [0.04, 0.2], [4, 4], "--rate 250 --ramp 30s --connections 500");
    let rate = told.rate.unwrap_or_else(|| panic!("{told:?} {story}"));
    assert!((85.0..=125.0).contains(&rate.high), "{rate:?} {story}");
    let (told, story) = of_two("leastconn", [0.04, 0.2], [3, 6], "--rate 250 --ramp 12s --connections 500");
    assert_eq!((told.rate, told.users), (None, None), "how many go to which is not known: {story}");
    assert_eq!(told.clients.map(|clients| clients.low), Some(9.0), "{story}");
}

#[test]
fn of_servers_of_one_speed_it_is_the_time_of_all() {
    let _machine = machine();
    let (told, story) = of_two("roundrobin", [0.1, 0.1], [4, 4], "--rate 200 --ramp 10s --connections 400");
    let rate = told.rate.unwrap_or_else(|| panic!("{told:?} {story}"));
    assert!((60.0..=82.0).contains(&rate.high), "{rate:?} {story}");
}

#[test]
fn a_silent_tunnel_ends_by_a_time_that_is_named() {
    let _machine = machine();
    let run = told(
        genkai("tune haproxy --tls --websocket --set timeout.tunnel=1s --connections 10 --spawn-rate 50 --hold 2s --quick --pairs 0 --quiet")
            .args(["--objective", "disconnects < 0.1%"]),
    );
    let verdict = only_cause(&run, "haproxy.idle");
    assert_eq!((run.code, verdict.because()), (Some(1), Because::ProvedAndHolds), "{}", run.story());
    let cause = &verdict.causes[0];
    assert_eq!((cause.limit.setting.as_str(), cause.limit.value.as_str()), ("timeout.tunnel", "1s"), "{}", run.story());
    assert!(verdict.proposal[0].change.to.ends_with('s'), "a time with its unit: {:?}", verdict.proposal);
}

/// A second step through the same HAProxy works in the copy as in the user's: with the header of the PROXY protocol, by TLS that is held against a
/// certificate, in whose place the copy shows another, and with a certificate of its own; also where a `default-server` says so and another backend is in
/// the place of the others.
#[test]
fn what_leads_through_itself_is_told_alike_in_the_copy() {
    let _machine = machine();
    let (_server, server) = scripted("fixed --time 0.02");
    let dir = tempfile::tempdir().unwrap();
    let papers = authority::make(dir.path()).unwrap();
    let (authority, both) = (papers.authority.display(), papers.both.display());
    let socket = dir.path().join("inner").display().to_string();
    let shown = format!("ssl crt {both} verify required ca-file {authority}");
    for (given, leads, takes) in [
        ("", "send-proxy-v2".to_owned(), "accept-proxy".to_owned()),
        ("", format!("ssl verify required ca-file {authority} verifyhost else.example"), format!("ssl crt {both}")),
        ("", format!("ssl verify none crt {both}"), shown.clone()),
        ("default-server", format!("ssl verify none crt {both} send-proxy-v2"), format!("accept-proxy {shown}")),
    ] {
        let file = dir.path().join("haproxy.cfg");
        let (given, leads) =
            if given.is_empty() { (String::new(), leads) } else { (format!("  {given} {leads}\n"), String::new()) };
        let text = format!(
            "defaults\n  mode http\n  timeout connect 1s\n  timeout client 9s\n  timeout server 9s\nfrontend outer\n  bind 127.0.0.1:80\n  \
             default_backend hop\nbackend hop\n{given}  server x unix@{socket} {leads}\nfrontend inner\n  bind unix@{socket} {takes}\n  \
             default_backend b\nbackend b\n  server s {server}\n"
        );
        std::fs::write(&file, text).unwrap();
        for backend in ["", " --backend embedded"] {
            let run = told(
                genkai(&format!("tune haproxy --users 5 --spawn-rate 20 --quick --quiet{backend} --config")).arg(&file),
            );
            assert_eq!((run.code, run.verdict().because()), (Some(0), Because::ObjectiveHolds), "{}", run.story());
        }
    }
}
