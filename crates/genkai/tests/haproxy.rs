//! `genkai tune haproxy` on a real HAProxy and a user's file.

mod harness;

use genkai_model::finding::Because;
use genkai_model::limit::Origin;
use harness::judged::{only_cause, told};
use harness::{genkai, machine, run};

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
    assert_eq!((run.code, verdict.because), (Some(1), Because::ProvedAndHolds), "{}", run.story());
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
    for (text, says) in [
        (CONFIG.to_owned(), format!("in {}:21", file.display())),
        (CONFIG.replace("timeout server 50s", "timeout server soon"), format!("in {}:16", file.display())),
        ("defaults\n  mode http\n".to_owned(), "no `bind`".to_owned()),
        ("frontend f\n  bind :80 \"x\n".to_owned(), format!("{}:2: a quote", file.display())),
    ] {
        std::fs::write(&file, text).unwrap();
        let run = run(genkai("tune haproxy --backend embedded --users 5 --quiet").arg("--config").arg(&file));
        assert_eq!(run.code, Some(2), "{}", run.story());
        assert!(run.stderr.contains(&says), "{says}: {}", run.stderr);
    }
    std::fs::write(&file, CONFIG).unwrap();
    let run = run(genkai("tune haproxy --users 5 --quiet").arg("--config").arg(&file));
    assert!(run.stderr.contains("192.0.2.1") && run.stderr.contains("not this machine"), "{}", run.stderr);
    assert_eq!(run.code, Some(2));
}
