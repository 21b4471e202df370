//! `genkai tune caddy` and `genkai explain` on a real Caddy and a user's files.

mod harness;

use genkai_model::finding::Because;
use genkai_model::limit::Origin;
use harness::judged::{only_cause, told};
use harness::{genkai, machine, run};

const CONFIG: &str = "\
# The shop
{
\temail ops@example.com
}

(app) {
\treverse_proxy 192.0.2.1:8080 {
\t\theader_up X-Token {$CADDY_TEST_TOKEN:hunter2}
\t\ttransport http {
\t\t\tmax_conns_per_host {args.0}   # few, on purpose
\t\t}
\t}
}

http://localhost, shop.example {
\timport app 4
\tlog {
\t\toutput file /var/log/caddy/shop.log
\t}
}
";

#[test]
fn the_connections_to_an_upstream_are_found_changed_and_shown() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("Caddyfile");
    std::fs::write(&file, CONFIG).unwrap();
    let run = told(
        genkai(
            "tune caddy --backend embedded --users 24 --spawn-rate 20 --backend-time 200ms --quick --quiet --pairs 0",
        )
        .arg("--config")
        .arg(&file),
    );
    let verdict = only_cause(&run, "caddy.max_conns_per_host");
    assert_eq!((run.code, verdict.because), (Some(1), Because::ProvedAndHolds), "{}", run.story());
    let limit = &verdict.causes[0].limit;
    let line = CONFIG.lines().position(|l| l.contains("max_conns_per_host")).unwrap() + 1;
    let place = Origin::File { path: file.clone(), line };
    assert_eq!((limit.value.as_str(), &limit.origin), ("4", &place), "{}", run.story());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), CONFIG, "the user's file is as it was");
    let diff = run.record().end.as_ref().unwrap().diff.clone();
    assert!(diff.contains("-\timport app 4\n+\timport app "), "the argument is changed where it is given: {diff}");
}

#[test]
fn a_caddyfile_is_explained_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("Caddyfile");
    std::fs::write(&file, CONFIG.replace("max_conns_per_host", "max_cons_per_host")).unwrap();
    let explained = run(genkai("explain --plain").arg(&file));
    for says in ["did you mean max_conns_per_host?", "local ports x 1 upstream", "response_header_timeout"] {
        assert!(explained.stdout.contains(says), "{says}: {}", explained.story());
    }
    assert_eq!(explained.code, Some(1), "{}", explained.story());
    let stock = std::path::Path::new("/etc/caddy/Caddyfile");
    if stock.exists() {
        let explained = run(genkai("explain --plain").arg(stock));
        assert_eq!(explained.code, Some(0), "the distribution's file has no remark: {}", explained.story());
    }
}
