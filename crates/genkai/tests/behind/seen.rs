//! What is seen of servers behind a proxy besides their own settings: php-fpm's status page and slow log, that it was started with more than its title
//! tells, what uvicorn says, and waits for a disk.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use genkai_model::finding::{Cause, Confidence, Evidence};
use genkai_model::limit::{Origin, Strength};

use crate::harness;
use crate::harness::judged::{only_cause, told};
use crate::harness::servers::Guard;
use crate::harness::{genkai, machine, until};

/// Longest wait for a server.
const LONGEST: Duration = Duration::from_secs(60);

/// A pool of three children, whose log is the system's and whose page takes longer than its slow log allows; it ends with the test.
fn pool(dir: &Path, words: &[&str], more: &str) -> Guard {
    let root = dir.display();
    let config = format!(
        "[global]\nerror_log = syslog\n[www]\nlisten = {root}/$pool.sock\nlisten.mode = 0666\nuser = nobody\ngroup = nogroup\npm = dynamic\n\
         pm.max_children = 3\npm.start_servers = 3\npm.min_spare_servers = 1\npm.max_spare_servers = 3\npm.status_path = /fpm-status\n\
         pm.status_listen = {root}/status.sock\nslowlog = {root}/slow.log\nrequest_slowlog_timeout = 1s\n{more}"
    );
    std::fs::write(dir.join("fpm.conf"), config).unwrap();
    std::fs::write(dir.join("index.php"), "<?php\nfunction waits() { usleep(1300000); }\nwaits(); echo 'here';\n")
        .unwrap();
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args(["-F", "-R", "-y"]).arg(dir.join("fpm.conf")).stderr(Stdio::null());
    let guard = Guard(command.spawn().unwrap());
    until("php-fpm to listen", LONGEST, || UnixStream::connect(dir.join("www.sock")).ok());
    guard
}

/// nginx before it.
fn before_pool(dir: &Path) -> PathBuf {
    let root = dir.display();
    let text = format!(
        "events {{ }}\nhttp {{ server {{ listen 80; location / {{ fastcgi_param REQUEST_METHOD GET; fastcgi_param SCRIPT_NAME /index.php; \
         fastcgi_param SCRIPT_FILENAME {root}/index.php; fastcgi_pass unix:{root}/www.sock; }} }} }}\n"
    );
    std::fs::write(dir.join("nginx.conf"), text).unwrap();
    dir.join("nginx.conf")
}

/// A tune of nginx before the pool: its only cause, and the run.
fn children(dir: &Path) -> (Cause, harness::Run) {
    let mut command = genkai("tune nginx --users 16 --spawn-rate 2 --think 200ms --quick --pairs 0");
    let run = told(command.args(["--objective", "p99 < 3s", "--config"]).arg(before_pool(dir)));
    (only_cause(&run, "php-fpm.www.pm.max_children").causes.remove(0), run)
}

/// The slow log's evidence, which explains and decides nothing.
fn slow(cause: &Cause) -> Option<&str> {
    cause.evidence.iter().find_map(|evidence| match evidence {
        Evidence::Log { signature, text, strength: Strength::Consistent, .. } if signature == "php-fpm.www.slow" => {
            Some(text.as_str())
        }
        _ => None,
    })
}

#[test]
fn the_status_page_tells_what_no_log_does_and_the_slow_log_where_children_are() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    // Of another mount namespace no copy is made.
    let _pool = pool(dir.path(), &["unshare", "--mount", "php-fpm8.2"], "");
    let (cause, run) = children(dir.path());
    assert_eq!(cause.confidence, Confidence::Likely, "{}", run.story());
    // php-fpm counts it once, a second or more after all were busy: that may be before what is taken for evidence.
    let text = std::fs::read_to_string(run.out.join("run.jsonl")).unwrap();
    assert!(text.contains("\"backend.max_children_reached_total\":1"), "its status page was asked");
    let place = format!("usleep() at {0}/index.php:2 of {0}/index.php", dir.path().display());
    assert_eq!(slow(&cause), Some(place.as_str()), "{:?}", cause.evidence);
    assert!(run.stdout.contains("status page /fpm-status"), "{}", run.story());
}

#[test]
fn a_copy_of_the_pool_has_both_at_places_of_its_own() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let _pool = pool(dir.path(), &["php-fpm8.2"], "");
    let mut command = genkai("tune nginx --users 16 --spawn-rate 2 --think 200ms --quick --pairs 0");
    let run = told(command.args(["--objective", "p99 < 3s", "--config"]).arg(before_pool(dir.path())));
    let cause = &run.verdict().causes[0];
    assert_eq!(
        (cause.limit.id.as_str(), cause.confidence),
        ("php-fpm.www.pm.max_children", Confidence::Proved),
        "{}",
        run.story()
    );
    assert!(slow(cause).is_some_and(|text| text.contains("usleep()")), "{:?}", cause.evidence);
    let text = std::fs::read_to_string(run.out.join("run.jsonl")).unwrap();
    assert!(text.contains("\"copy.max_children_reached_total\":1"), "its own status page was asked");
    // Not one request of all this has come to the user's own.
    assert_eq!(std::fs::read_to_string(dir.path().join("slow.log")).unwrap_or_default(), "");
}

/// That what all pools may have together is named where it is what a pool waits for, and neither the pool's own children, which it never has, nor
/// its queue.
#[test]
fn children_that_other_pools_hold_are_told_as_what_all_pools_may_have() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().display();
    let children = "listen.mode = 0666\nlisten.backlog = 8\nuser = nobody\ngroup = nogroup\npm = dynamic\npm.max_children = 10\n\
                    pm.start_servers = 2\npm.min_spare_servers = 1\npm.max_spare_servers = 3\n";
    let text = format!(
        "[global]\nprocess.max = 4\nerror_log = {root}/fpm.log\n[www]\nlisten = {root}/www.sock\n{children}[other]\nlisten = {root}/other.sock\n\
         {children}"
    );
    std::fs::write(dir.path().join("fpm.conf"), text).unwrap();
    std::fs::write(dir.path().join("index.php"), "<?php usleep(300000); echo 'here';\n").unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut fpm = Command::new("php-fpm8.2");
    fpm.args(["-F", "-R", "-y"]).arg(dir.path().join("fpm.conf")).stderr(Stdio::null());
    let _fpm = Guard(fpm.spawn().unwrap());
    until("php-fpm to listen", LONGEST, || UnixStream::connect(dir.path().join("www.sock")).ok());
    let mut tune = genkai("tune nginx --users 10 --spawn-rate 2 --think 200ms --quick --pairs 0");
    let run = told(tune.args(["--objective", "p99 < 1s", "--config"]).arg(before_pool(dir.path())));
    let cause = only_cause(&run, "php-fpm.www.process.max").causes.remove(0);
    assert_eq!(cause.confidence, Confidence::Likely, "{}", run.story());
    assert_eq!((cause.limit.setting.as_str(), cause.limit.value.as_str()), ("process.max", "4"));
    assert_eq!(cause.limit.origin, Origin::File { path: dir.path().join("fpm.conf"), line: 2 });
    // Whoever asks first has them.
    assert!(cause.limit.formula.starts_with("from 0 to 4 children"), "{}", cause.limit.formula);
    assert!(run.stdout.contains("raise process.max"), "{}", run.story());
    let said = std::fs::read_to_string(dir.path().join("fpm.log")).unwrap();
    assert!(said.contains("raising 'process.max'"), "php-fpm says so, too: {said}");
}

/// That a number of PHP's that the pool has not is told as what gives it, with its line, or as somebody else's.
#[test]
fn what_scripts_may_not_have_by_another_number_than_the_pools_is_no_limit_of_the_pool() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let _fpm = pool(dir.path(), &["php-fpm8.2"], "php_value[memory_limit] = 32M\n");
    let nginx = before_pool(dir.path());
    let greedy = |first: &str| {
        let page =
            format!("<?php {first}\nif (mt_rand(1, 4) == 1) {{ $x = str_repeat('x', 40 << 20); }}\necho 'here';\n");
        std::fs::write(dir.path().join("index.php"), page).unwrap();
        let mut tune = genkai("tune nginx --users 4 --spawn-rate 4 --think 50ms --quick --pairs 0 --bisect 0");
        told(tune.args(["--objective", "errors < 5%", "--config"]).arg(&nginx))
    };
    let run = greedy("ini_set('memory_limit', '24M');");
    only_cause(&run, "php-fpm.www.memory_limit.otherwise");
    for part in ["25165824 bytes", "another than that of the configuration", "32M", "ini_set"] {
        assert!(run.says().iter().any(|says| says.contains(part)), "{part}\n{}", run.story());
    }
    let text = std::fs::read_to_string(&nginx).unwrap();
    let passed = "\nfastcgi_param PHP_VALUE 'memory_limit=16M';\nfastcgi_pass";
    std::fs::write(&nginx, text.replacen("fastcgi_pass", passed, 1)).unwrap();
    let run = greedy("");
    let verdict = only_cause(&run, "php.PHP_VALUE.memory_limit");
    let origin = Origin::File { path: nginx.clone(), line: 3 };
    assert_eq!((&verdict.causes[0].limit.origin, &*verdict.causes[0].limit.value), (&origin, "16M"), "{}", run.story());
}

#[test]
fn a_pool_that_was_started_with_words_that_its_title_hides_is_not_copied() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let _pool = pool(dir.path(), &["php-fpm8.2", "-d", "memory_limit=24M"], "");
    let (cause, run) = children(dir.path());
    assert_eq!(cause.confidence, Confidence::Likely, "{}", run.story());
    let hidden = "bytes of words, which are others than its title tells";
    let says = |record: &str| record.matches(hidden).count();
    assert!(says(&run.story()) >= 2, "of the pool, and why no copy is made: {}", run.story());
}

/// uvicorn with an application of 100 ms on a Unix socket, whose messages go to a file; it ends with the test.
fn uvicorn(dir: &Path, words: &str) -> Guard {
    let app = "import asyncio\nasync def app(scope, receive, send):\n    if scope['type'] != 'http': return\n    await asyncio.sleep(0.1)\n    await \
               send({'type': 'http.response.start', 'status': 200, 'headers': [(b'content-length', b'4')]})\n    await send({'type': \
               'http.response.body', 'body': b'here'})\n";
    std::fs::write(dir.join("app.py"), app).unwrap();
    let (socket, log) = (dir.join("u.sock"), std::fs::File::create(dir.join("u.log")).unwrap());
    let mut command = Command::new("/usr/bin/python3");
    command
        .args(["-m", "uvicorn", "--lifespan", "off", "--no-access-log"])
        .args(words.split_whitespace())
        .arg("--uds")
        .arg(&socket);
    let guard = Guard(command.arg("app:app").current_dir(dir).stdout(Stdio::null()).stderr(log).spawn().unwrap());
    until("uvicorn to listen", LONGEST, || UnixStream::connect(&socket).ok());
    guard
}

#[test]
fn what_uvicorn_refuses_is_named_by_its_own_setting() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let _uvicorn = uvicorn(dir.path(), "--limit-concurrency 12");
    let text = format!(
        "events {{ }}\nhttp {{ server {{ listen 80; location / {{ proxy_pass http://unix:{}/u.sock; }} }} }}\n",
        dir.path().display()
    );
    let nginx = dir.path().join("nginx.conf");
    std::fs::write(&nginx, text).unwrap();
    let mut tune = genkai("tune nginx --users 30 --spawn-rate 4 --quick --pairs 0 --bisect 0");
    let run = told(tune.args(["--objective", "errors < 1%", "--config"]).arg(&nginx));
    let verdict = only_cause(&run, "backend.uvicorn.limit-concurrency");
    assert_eq!(verdict.causes[0].confidence, Confidence::Likely, "{}", run.story());
    assert_eq!(verdict.causes[0].limit.value, "12", "{}", run.story());
    assert!(run.story().contains("Exceeded concurrency limit"), "{}", run.story());
}
