//! `genkai tune` on configurations that lead to servers which somebody else started.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use genkai_model::event::What;
use genkai_model::finding::Confidence;
use genkai_model::limit::Origin;

use crate::harness;
use crate::harness::judged::{only_cause, told};
use crate::harness::servers::Guard;
use crate::harness::{Run, genkai, machine, run, until};

/// Four children. (A dynamic pool starts more of them only second by second, so that a change shows itself late.)
const FOUR: &str = "pm = static\npm.max_children = 4\n";

/// A pool of such children, whose script sleeps for a tenth of a second, started by these words; it ends with the test.
pub(crate) fn pool(dir: &Path, words: &[&str], children: &str) -> Guard {
    let root = dir.display();
    let config = format!(
        "[global]\nerror_log = {root}/fpm.log\n[www]\nlisten = {root}/$pool.sock\nlisten.mode = 0666\nuser = nobody\ngroup = nogroup\naccess.log = {root}/access.log\n\
         {children}"
    );
    std::fs::write(dir.join("fpm.conf"), config).unwrap();
    std::fs::write(dir.join("index.php"), "<?php usleep(100000); echo 'here';\n").unwrap();
    // Its children are nobody's.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(dir, open).unwrap();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args(["-F", "-R", "-y"]).arg(dir.join("fpm.conf")).stderr(Stdio::null());
    let guard = Guard(command.spawn().unwrap());
    until("php-fpm to listen", Duration::from_secs(30), || {
        std::os::unix::net::UnixStream::connect(dir.join("www.sock")).ok()
    });
    guard
}

/// What was noted of who stands behind.
pub(crate) fn noted(run: &Run) -> Vec<String> {
    let record = run.record();
    let notes = record.remarks.iter().filter_map(|event| match &event.what {
        What::Note(note) if note.text.starts_with("behind ") => Some(note.text.clone()),
        _ => None,
    });
    notes.collect()
}

/// nginx before it.
pub(crate) fn before_pool(dir: &Path) -> std::path::PathBuf {
    let root = dir.display();
    let nginx = format!(
        "events {{ }}\nhttp {{ server {{ listen 80; location / {{ fastcgi_param REQUEST_METHOD GET; fastcgi_param SCRIPT_NAME /index.php; \
         fastcgi_param SCRIPT_FILENAME {root}/index.php; fastcgi_pass unix:{root}/www.sock; }} }} }}\n"
    );
    std::fs::write(dir.join("nginx.conf"), nginx).unwrap();
    dir.join("nginx.conf")
}

/// That the pool's own queue is named where it is full for moments only, with the user's socket, and proved by its own setting.
#[test]
fn a_short_queue_of_the_pool_is_named_and_proved_on_a_copy() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    // What waits between two looks is no longer there: clients that were refused pause.
    let _pool = pool(dir.path(), &["php-fpm8.2"], "pm = static\npm.max_children = 3\nlisten.backlog = 16\n");
    before_pool(dir.path());
    std::fs::write(dir.path().join("index.php"), "<?php usleep(200000); echo 'here';\n").unwrap();
    let mut tune = genkai("tune nginx --users 40 --spawn-rate 6 --quick --quiet --pairs 0");
    let run = told(tune.args(["--objective", "errors < 0.1%"]).arg("--config").arg(dir.path().join("nginx.conf")));
    let verdict = only_cause(&run, "php-fpm.www.listen.backlog");
    assert_eq!(verdict.causes[0].confidence, Confidence::Proved, "{}", run.story());
    let change = &verdict.proposal[0].change;
    assert_eq!((change.setting.as_str(), change.from.as_str()), ("listen.backlog of [www]", "16"), "{}", run.story());
    assert_eq!(run.says().iter().filter(|says| says.contains("pool.sock")).count(), 0, "{:?}", run.says());
    let socket = format!("connect() to unix:{}/www.sock failed", dir.path().display());
    assert!(run.says().iter().any(|says| says.contains(&socket)), "{:?}", run.says());
}

/// A tune of nginx before it.
fn tune(dir: &Path) -> Command {
    let mut command = genkai("tune nginx --users 60 --spawn-rate 6 --think 200ms --quick --pairs 0");
    command.args(["--objective", "p99 < 500ms", "--config"]).arg(before_pool(dir));
    command
}

#[test]
fn a_pool_of_the_users_is_proved_on_a_copy_of_it_and_left_alone() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let _fpm = pool(dir.path(), &["php-fpm8.2"], FOUR);
    let run = told(&tune(dir.path()));
    // What lifting it once leaves is the machine's affair; where the first break is and what was changed follows from the files.
    let verdict = run.verdict();
    let cause = verdict.causes.first().unwrap_or_else(|| panic!("no cause\n{}", run.story()));
    assert_eq!(cause.limit.id, "php-fpm.www.pm.max_children", "{}", run.story());
    assert_eq!(cause.confidence, Confidence::Proved, "{}", run.story());
    let (path, line) = (dir.path().join("fpm.conf"), 10);
    assert_eq!(cause.limit.origin, Origin::File { path: path.clone(), line }, "{}", run.story());
    let change = &verdict.proposal[0].change;
    assert_eq!(change.setting, "pm.max_children", "{}", run.story());
    let diff = format!("-pm.max_children = 4\n+pm.max_children = {}\n", change.to);
    assert!(
        run.stdout.contains(&format!("+++ b{}\n", path.display())) && run.stdout.contains(&diff),
        "{}",
        run.story()
    );
    // A child writes more than its stack, and nothing stands behind it that anybody knows of.
    let price = verdict.proposal[0].price.unwrap_or_else(|| panic!("no price: {}", run.story()));
    assert!(price.memory.process.is_some_and(|bytes| bytes > 8192.0) && price.behind.is_none(), "{price:?}");
    let noted = noted(&run);
    assert!(noted.len() == 1 && noted[0].contains("php-fpm's pool www"), "{noted:?}");
    // Not one request of all this has come to the user's own pool.
    assert_eq!(std::fs::read_to_string(dir.path().join("access.log")).unwrap(), "");
}

/// That memory that scripts ask for is told as what it is, with its line and where the scripts are, and as nothing that a load does.
#[test]
fn what_scripts_may_not_have_is_named_by_the_setting_of_php_and_is_no_matter_of_load() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let _fpm = pool(
        dir.path(),
        &["php-fpm8.2"],
        &format!("{FOUR}php_value[memory_limit] = 16M\nphp_flag[log_errors] = off\n"),
    );
    before_pool(dir.path());
    let page = "<?php\nif (mt_rand(1, 4) == 1) { $x = str_repeat('x', 40 << 20); }\necho 'here';\n";
    std::fs::write(dir.path().join("index.php"), page).unwrap();
    let mut tune = genkai("tune nginx --users 4 --spawn-rate 4 --think 50ms --quick --pairs 0 --bisect 0");
    let run = told(tune.args(["--objective", "errors < 5%", "--config"]).arg(dir.path().join("nginx.conf")));
    let verdict = only_cause(&run, "php-fpm.www.memory_limit");
    let cause = &verdict.causes[0];
    let (path, line) = (dir.path().join("fpm.conf"), 11);
    assert_eq!(cause.limit.origin, Origin::File { path, line }, "{}", run.story());
    for part in ["with one user as with many", "index.php on line 2"] {
        assert!(run.says().iter().any(|says| says.contains(part)), "{part}\n{}", run.story());
    }
    assert!(verdict.proposal.is_empty(), "{}", run.story());
}

#[test]
fn a_pool_of_which_a_copy_would_be_another_is_named_with_its_place_and_why_it_is_not_tried() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let _fpm = pool(dir.path(), &["unshare", "--mount", "php-fpm8.2"], FOUR);
    let run = told(&tune(dir.path()));
    let verdict = only_cause(&run, "php-fpm.www.pm.max_children");
    let cause = &verdict.causes[0];
    assert_eq!(cause.confidence, Confidence::Likely, "{}", run.story());
    let (path, line) = (dir.path().join("fpm.conf"), 10);
    assert_eq!(cause.limit.origin, Origin::File { path, line }, "{}", run.story());
    let noted = noted(&run);
    assert!(noted.len() == 2 && noted[1].contains("it sees other files than genkai does"), "{noted:?}");
}

/// MariaDB with an empty folder for data, which takes ten connections; it ends with the test.
pub(crate) fn database(dir: &Path) -> Guard {
    let (root, data) = (dir.display(), dir.join("data"));
    std::fs::create_dir(&data).unwrap();
    std::fs::write(dir.join("my.cnf"), "[client]\n[mysqld]\nmax-connections = 10\n").unwrap();
    let mut command = Command::new("mariadbd");
    command.arg(format!("--defaults-file={root}/my.cnf")).arg(format!("--datadir={}", data.display()));
    command.arg(format!("--socket={root}/db.sock")).arg(format!("--pid-file={root}/db.pid"));
    command.args(["--user=root", "--skip-grant-tables", "--skip-networking"]);
    let log = std::fs::File::create(dir.join("db.log")).unwrap();
    let guard = Guard(command.stdout(Stdio::null()).stderr(log).spawn().unwrap());
    let socket = dir.join("db.sock");
    until("MariaDB to listen", Duration::from_secs(60), || std::os::unix::net::UnixStream::connect(&socket).ok());
    // Everybody may come.
    std::fs::set_permissions(socket, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    guard
}

#[test]
fn the_database_of_the_pool_is_named_where_it_takes_no_more_connections() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().display().to_string();
    let _database = database(dir.path());
    // So many that it is not they who are too few.
    let _fpm = pool(dir.path(), &["php-fpm8.2"], "pm = static\npm.max_children = 32\n");
    let page = format!(
        "<?php mysqli_report(MYSQLI_REPORT_OFF); $db = @new mysqli('localhost', 'root', '', '', 0, '{root}/db.sock');\n\
         if ($db->connect_errno) {{ http_response_code(500); exit('no database'); }}\n$db->query('select sleep(0.1)'); echo 'here';\n"
    );
    std::fs::write(dir.path().join("index.php"), page).unwrap();
    let mut command = genkai("tune nginx --users 80 --spawn-rate 8 --think 200ms --quick --pairs 0");
    command.args(["--objective", "errors < 5%", "--config"]).arg(before_pool(dir.path()));
    let run = told(&command);
    let verdict = only_cause(&run, "beyond.MariaDB.max_connections");
    let cause = &verdict.causes[0];
    assert_eq!(cause.confidence, Confidence::Likely, "{}", run.story());
    let (path, line) = (dir.path().join("my.cnf"), 3);
    assert_eq!(cause.limit.origin, Origin::File { path, line }, "{}", run.story());
    let noted = noted(&run);
    assert!(noted.iter().any(|text| text.contains("/db.sock is MariaDB, max_connections 10")), "{noted:?}");
    // Its error log says so, too.
    assert!(run.story().contains("(Too many connections)"), "{}", run.story());
}

/// An application that opens a connection for each request, by TCP to this port: the code sees `db`, and fails with an exception.
fn connecting(dir: &Path, port: u16, ask: &str) -> Guard {
    let app = format!(
        "import http.server, os, socket, socketserver, struct\n\
         class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):\n    request_queue_size = 512\n    daemon_threads = True\n\
         class Asked(http.server.BaseHTTPRequestHandler):\n    def log_message(self, *_): pass\n    def do_GET(self):\n        \
         status = 500\n        try:\n            with socket.create_connection(('127.0.0.1', {port})) as db:\n                ask(db)\n                \
         status = 200\n        except Exception: pass\n        self.send_response(status)\n        self.send_header('Content-Length', '0')\n        \
         self.end_headers()\n{ask}\nServer('{}/app.sock', Asked).serve_forever()\n",
        dir.display()
    );
    std::fs::write(dir.join("app.py"), app).unwrap();
    let guard = Guard(Command::new("python3").arg(dir.join("app.py")).stderr(Stdio::null()).spawn().unwrap());
    let socket = dir.join("app.sock");
    until("the application to listen", Duration::from_secs(30), || {
        std::os::unix::net::UnixStream::connect(&socket).ok()
    });
    guard
}

/// A tune of nginx before it, whose only cause must be this limit of what it connects to, at this place.
fn is_named(dir: &Path, id: &str, path: &Path, line: usize) -> Run {
    std::fs::set_permissions(dir, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    std::fs::set_permissions(dir.join("app.sock"), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let text = format!(
        "events {{ }}\nhttp {{ server {{ listen 80; location / {{ proxy_pass http://unix:{}/app.sock; }} }} }}\n",
        dir.display()
    );
    std::fs::write(dir.join("nginx.conf"), text).unwrap();
    let mut command = genkai("tune nginx --users 80 --spawn-rate 8 --think 200ms --quick --pairs 0");
    command.args(["--objective", "errors < 5%", "--config"]).arg(dir.join("nginx.conf"));
    let run = told(&command);
    let verdict = only_cause(&run, id);
    let cause = &verdict.causes[0];
    assert_eq!(cause.confidence, Confidence::Likely, "{}", run.story());
    assert_eq!(cause.limit.origin, Origin::File { path: path.to_owned(), line }, "{}", run.story());
    run
}

/// A port that is free now.
pub(crate) fn port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Waits until somebody listens there.
pub(crate) fn listens(what: &str, port: u16) {
    until(what, Duration::from_secs(60), || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
}

#[test]
fn postgresql_is_named_where_it_takes_no_more_connections() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let (root, port) = (dir.path().display().to_string(), port());
    std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    // It does not run as root.
    let programs = std::fs::read_dir("/usr/lib/postgresql").unwrap().flatten().map(|entry| entry.path().join("bin"));
    let programs = programs.max().unwrap();
    let nobody = |program: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]).arg(programs.join(program));
        command.stdout(Stdio::null()).current_dir("/");
        command
    };
    let made =
        nobody("initdb").args(["-A", "trust", "-U", "app", "--no-sync", "-D"]).arg(dir.path().join("data")).status();
    assert!(made.unwrap().success());
    let config = dir.path().join("data/postgresql.conf");
    std::fs::write(
        &config,
        format!("port = {port}\nmax_connections = 13 # and 3 of them for superusers\nunix_socket_directories = ''\n"),
    )
    .unwrap();
    let log = std::fs::File::create(dir.path().join("pg.log")).unwrap();
    let mut command = nobody("postgres");
    command.args(["-D", &format!("{root}/data")]).stderr(log);
    let _postgres = Guard(command.spawn().unwrap());
    listens("PostgreSQL to listen", port);
    let roles = "CREATE ROLE visitor LOGIN";
    let asked = format!(
        "def say(db, kind, text):\n    db.sendall(kind + struct.pack('!i', len(text) + 4) + text)\ndef until_ready(db):\n    \
        file = db.makefile('rb')\n    while True:\n        kind, length = struct.unpack('!ci', file.read(5))\n        file.read(length - 4)\n        \
        if kind == b'E': raise OSError\n        if kind == b'Z': return\ndef ask(db, user=b'visitor', text=b'select pg_sleep(0.1)'):\n    \
        say(db, b'', struct.pack('!i', 196608) + b'user\\0' + user + b'\\0database\\0postgres\\0\\0')\n    until_ready(db)\n    \
        say(db, b'Q', text + b'\\0')\n    until_ready(db)\nwith socket.create_connection(('127.0.0.1', {port})) as db: ask(db, b'app', b'{roles}')\n"
    );
    let _app = connecting(dir.path(), port, &asked);
    let run = is_named(dir.path(), "beyond.PostgreSQL.max_connections", &config, 2);
    let noted = noted(&run);
    assert!(noted.iter().any(|text| text.contains(" is PostgreSQL, max_connections 13")), "{noted:?}");
}

#[test]
fn redis_is_named_where_it_takes_no_more_clients() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let port = port();
    let config = dir.path().join("redis.conf");
    std::fs::write(
        &config,
        format!("port {port}\nbind 127.0.0.1\nmaxclients 8\nsave \"\"\ndir {}\n", dir.path().display()),
    )
    .unwrap();
    let mut command = Command::new("redis-server");
    let _redis = Guard(command.arg(&config).stdout(Stdio::null()).spawn().unwrap());
    listens("Redis to listen", port);
    // Nothing is there to be had: it is waited for.
    let asked =
        "def ask(db):\n    db.sendall(b'BLPOP nothing 0.1\\r\\n')\n    if db.recv(100)[:1] != b'*': raise OSError\n";
    let _app = connecting(dir.path(), port, asked);
    let run = is_named(dir.path(), "beyond.Redis.maxclients", &config, 3);
    let noted = noted(&run);
    assert!(noted.iter().any(|text| text.contains(" is Redis, maxclients 8")), "{noted:?}");
}

/// httpd of the user's, with four workers that pass requests on to an application of a tenth of a second; both end with the test.
fn httpd(dir: &Path) -> (Guard, Guard, u16) {
    let (root, port) = (dir.display(), port());
    let application = gunicorn(dir, "-w 16");
    let modules = ["mpm_worker", "authz_core", "proxy", "proxy_http"]
        .map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"))
        .concat();
    let config = format!(
        "ServerRoot {root}\nListen 127.0.0.1:{port}\nServerName localhost\nPidFile {root}/httpd.pid\nErrorLog {root}/httpd.log\n{modules}\
         User www-data\nGroup www-data\nStartServers 1\nServerLimit 1\nThreadsPerChild 4\nThreadLimit 64\nMinSpareThreads 1\n\
         MaxSpareThreads 4\nMaxRequestWorkers 4\nProxyPass / unix:{root}/g.sock|http://localhost/\n"
    );
    std::fs::write(dir.join("httpd.conf"), config).unwrap();
    std::fs::set_permissions(dir, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    std::fs::set_permissions(dir.join("g.sock"), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let mut command = Command::new("apache2");
    command.arg("-f").arg(dir.join("httpd.conf")).args(["-D", "FOREGROUND"]).stderr(Stdio::null());
    let guard = Guard(command.spawn().unwrap());
    listens("httpd to listen", port);
    (guard, application, port)
}

#[test]
fn an_httpd_of_the_users_is_proved_on_a_copy_of_it_and_left_alone() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let (_httpd, _application, port) = httpd(dir.path());
    let nginx = dir.path().join("nginx.conf");
    let text = format!(
        "events {{ }}\nhttp {{ server {{ listen 80; location / {{ proxy_pass http://127.0.0.1:{port}; }} }} }}\n"
    );
    std::fs::write(&nginx, text).unwrap();
    let mut command = genkai("tune nginx --users 30 --spawn-rate 8 --think 200ms --quick --pairs 0");
    let run = told(command.args(["--objective", "p99 < 300ms", "--config"]).arg(&nginx));
    let verdict = run.verdict();
    let cause = verdict.causes.first().unwrap_or_else(|| panic!("no cause\n{}", run.story()));
    assert!(["apache.MaxRequestWorkers", "apache.ThreadsPerChild"].contains(&&*cause.limit.id), "{}", run.story());
    assert_eq!(cause.confidence, Confidence::Proved, "{}", run.story());
    assert!(
        matches!(&cause.limit.origin, Origin::File { path, .. } if path.ends_with("httpd.conf")),
        "{}",
        run.story()
    );
    let noted = noted(&run);
    assert!(noted.iter().any(|text| text.contains("what is asked there goes to a private copy of it")), "{noted:?}");
    assert!(run.stdout.contains("-MaxRequestWorkers 4\n"), "{}", run.story());
}

/// gunicorn before an application that sleeps for a tenth of a second, with these words; it ends with the test.
fn gunicorn(dir: &Path, words: &str) -> Guard {
    let app = "import time\ndef app(environ, start):\n    time.sleep(0.1)\n    start('200 OK', [('Content-Length', '4')])\n    return [b'here']\n";
    std::fs::write(dir.join("app.py"), app).unwrap();
    let socket = dir.join("g.sock");
    let mut command = Command::new("gunicorn");
    command.args(words.split_whitespace()).arg("app:app").arg("-b").arg(format!("unix:{}", socket.display()));
    let guard = Guard(command.current_dir(dir).stderr(Stdio::null()).spawn().unwrap());
    until("gunicorn to listen", Duration::from_secs(60), || std::os::unix::net::UnixStream::connect(&socket).ok());
    guard
}

/// nginx before it.
fn before_gunicorn(dir: &Path) -> std::path::PathBuf {
    let text = format!(
        "events {{ }}\nhttp {{ server {{ listen 80; location / {{ proxy_pass http://unix:{}/g.sock; }} }} }}\n",
        dir.display()
    );
    std::fs::write(dir.join("nginx.conf"), text).unwrap();
    dir.join("nginx.conf")
}

#[test]
fn workers_of_an_application_server_are_named_with_where_they_are_set() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("gunicorn.conf.py"), "# as it is\nworkers = 3\n").unwrap();
    let _gunicorn = gunicorn(dir.path(), "");
    let flags = "--users 60 --spawn-rate 8 --think 200ms --quick";
    let run = told(
        genkai(&format!("tune nginx {flags}"))
            .args(["--objective", "p99 < 500ms", "--config"])
            .arg(before_gunicorn(dir.path())),
    );
    let verdict = only_cause(&run, "backend.gunicorn.workers");
    let cause = &verdict.causes[0];
    assert_eq!(cause.confidence, Confidence::Likely, "{}", run.story());
    assert_eq!(cause.limit.origin, Origin::File { path: dir.path().join("gunicorn.conf.py"), line: 2 });
    assert!(run.stdout.contains("gunicorn (workers = 3"), "{}", run.story());
    // 3 workers of a tenth of a second are 30 requests a second; users who think for 200 ms ask for that when 9 are there, and wait for
    // 500 ms when 21 are.
    assert!((15.0..=32.0).contains(&cause.broke.level), "{}", run.story());
}

#[test]
fn a_server_that_is_killed_under_load_is_gone() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let mut gunicorn = gunicorn(dir.path(), "-w 2");
    let config = before_gunicorn(dir.path());
    let run = std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            run(genkai("tune nginx --users 8 --spawn-rate 8 --think 200ms --hold 60s --pairs 0")
                .args(["--objective", "errors < 0.1%", "--config"])
                .arg(&config))
        });
        // Its workers have connections when there is load: nobody asks four at once before.
        let socket = dir.path().join("g.sock").display().to_string();
        let at_work = || {
            let all = std::fs::read_to_string("/proc/net/unix").unwrap();
            (all.lines().filter(|line| line.ends_with(&socket)).count() >= 4).then_some(())
        };
        until("a load on it", Duration::from_secs(60), at_work);
        let first = gunicorn.0.id();
        let all = genkai_place::usage::Tree::new(first).sample().processes;
        for one in all.iter().map(|one| one.pid) {
            harness::signal(one, "KILL");
        }
        gunicorn.0.wait().unwrap();
        run.join().unwrap()
    });
    assert_eq!(run.verdict().because(), genkai_model::finding::Because::ServerDied, "{}", run.story());
    assert!(run.stdout.contains("gunicorn died"), "{}", run.story());
    assert!(!run.stdout.contains("refuse"), "{}", run.story());
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

#[test]
fn whose_processes_may_not_be_looked_at_is_said() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let open = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let there = open.local_addr().unwrap();
    let haproxy = format!(
        "defaults\n  mode http\n  timeout connect 200ms\n  timeout client 5s\n  timeout server 200ms\nfrontend f\n  bind :8080\n  default_backend b\n\
         backend b\n  server one {there}\n"
    );
    let config = dir.path().join("haproxy.cfg");
    std::fs::write(&config, haproxy).unwrap();
    // The listener is this test's, which is root's.
    let mut command = Command::new("setpriv");
    command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups", env!("CARGO_BIN_EXE_genkai")]);
    command.args("tune haproxy --users 2 --spawn-rate 2 --quick --config".split(' ')).arg(&config);
    command.arg("--out").arg(dir.path().join("out")).current_dir(dir.path()).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    let said = format!("the processes that listen at {there} belong to another user");
    assert!(text.contains(&said), "{text}");
}
