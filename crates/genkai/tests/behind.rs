//! `genkai tune` on configurations that lead to servers which somebody else started.

mod harness;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use genkai_model::event::What;
use genkai_model::finding::Confidence;
use genkai_model::limit::Origin;
use harness::judged::{only_cause, told};
use harness::servers::Guard;
use harness::{Run, genkai, machine, run, until};

/// A pool of four children, whose script sleeps for a tenth of a second; it ends with the test.
fn pool(dir: &Path) -> Guard {
    let root = dir.display();
    let config = format!(
        "[global]\nerror_log = {root}/fpm.log\n[www]\nlisten = {root}/$pool.sock\nlisten.mode = 0666\nuser = nobody\ngroup = nogroup\n\
         pm = dynamic\npm.max_children = 4\npm.start_servers = 2\npm.min_spare_servers = 1\npm.max_spare_servers = 3\n"
    );
    std::fs::write(dir.join("fpm.conf"), config).unwrap();
    std::fs::write(dir.join("index.php"), "<?php usleep(100000); echo 'here';\n").unwrap();
    // Its children are nobody's.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(dir, open).unwrap();
    let mut command = Command::new("php-fpm8.2");
    command.args(["-F", "-R", "-y"]).arg(dir.join("fpm.conf")).stderr(Stdio::null());
    let guard = Guard(command.spawn().unwrap());
    until("php-fpm to listen", Duration::from_secs(30), || {
        std::os::unix::net::UnixStream::connect(dir.join("www.sock")).ok()
    });
    guard
}

/// What was noted of who stands behind.
fn noted(run: &Run) -> Vec<String> {
    let record = run.record();
    let notes = record.remarks.iter().filter_map(|event| match &event.what {
        What::Note(note) if note.text.starts_with("behind ") => Some(note.text.clone()),
        _ => None,
    });
    notes.collect()
}

#[test]
fn a_pool_of_the_users_is_named_with_its_place() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let _fpm = pool(dir.path());
    let root = dir.path().display().to_string();
    let nginx = format!(
        "events {{ }}\nhttp {{ server {{ listen 80; location / {{ fastcgi_param REQUEST_METHOD GET; fastcgi_param SCRIPT_NAME /index.php; \
         fastcgi_param SCRIPT_FILENAME {root}/index.php; fastcgi_pass unix:{root}/www.sock; }} }} }}\n"
    );
    std::fs::write(dir.path().join("nginx.conf"), nginx).unwrap();
    let flags = "--users 60 --spawn-rate 6 --think 200ms --quick";
    let run = told(
        genkai(&format!("tune nginx {flags}"))
            .args(["--objective", "p99 < 500ms", "--config"])
            .arg(dir.path().join("nginx.conf")),
    );
    let verdict = only_cause(&run, "php-fpm.www.pm.max_children");
    let cause = &verdict.causes[0];
    assert_eq!(cause.confidence, Confidence::Likely, "{}", run.story());
    let (path, line) = (dir.path().join("fpm.conf"), 9);
    assert_eq!(cause.limit.origin, Origin::File { path, line });
    assert!(run.stdout.contains("pm.max_children of [www] = 4"), "{}", run.story());
    assert!(
        run.stdout.split_whitespace().collect::<String>().contains(&format!("{root}/fpm.conf:9")),
        "{}",
        run.story()
    );
    // 4 children of a tenth of a second are 40 requests a second; users who think for 200 ms ask for that when 12 are there, and wait
    // for 500 ms when 28 are.
    assert!((20.0..=40.0).contains(&cause.broke.level), "{}", run.story());
    let noted = noted(&run);
    assert!(noted.len() == 1 && noted[0].contains("php-fpm's pool www"), "{noted:?}");
}

#[test]
fn who_stands_behind_is_told_and_that_nobody_does() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let open = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (there, gone) = (open.local_addr().unwrap(), format!("{}/gone.sock", dir.path().display()));
    let haproxy = format!(
        "defaults\n  mode http\n  timeout connect 200ms\n  timeout client 5s\n  timeout server 200ms\nfrontend f\n  bind :80\n  default_backend b\n\
         backend b\n  server one {there}\n  server two unix@{gone}\n"
    );
    std::fs::write(dir.path().join("haproxy.cfg"), haproxy).unwrap();
    let run =
        run(genkai("tune haproxy --users 4 --spawn-rate 4 --quick --quiet --config")
            .arg(dir.path().join("haproxy.cfg")));
    let noted = noted(&run);
    let me = std::process::id();
    assert!(
        noted.iter().any(|text| text.contains(&format!("{there} is ")) && text.ends_with(&format!("process {me}"))),
        "{noted:?}"
    );
    assert!(noted.iter().any(|text| text.contains(&format!("nobody listens at unix:{gone}"))), "{noted:?}");
}
