//! Apache: generated configurations, and what the server says of them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use genkai_model::event::Environment;
use genkai_model::explain::RemarkKind;
use genkai_place::caps::Machine;
use genkai_targets::apache::config::{Config, Reading};
use genkai_targets::apache::limits::Facts;
use genkai_targets::apache::route::Route;
use genkai_targets::explain::Requests;

use super::apache_said::ServerDump;
use super::random::Random;
use super::{agree, explained, is_installed, limit, refused, sample, seed, slots};

const MODULES: &str = "/usr/lib/apache2/modules";

/// Directives of the whole server with values that are usual, at the edges, and wrong.
const SERVER: &[(&str, &[&str], &[&str])] = &[
    (
        "MaxRequestWorkers",
        &["100", "150", "155", "400", "1", "24", "26", "500", "64", "2000", "${N}"],
        &["0", "-5", "abc", "40x", "4294967396", "+75", "\" 75\"", "1 2"],
    ),
    ("MaxClients", &["50", "256", "300", "7"], &["x"]),
    ("ThreadsPerChild", &["25", "64", "10", "1", "30", "128", "7"], &["0", "-1", "25x", "", "200000"]),
    ("ThreadLimit", &["64", "20", "200", "1", "1000"], &["0", "200000", "x"]),
    ("ServerLimit", &["16", "4", "1", "3", "50", "7"], &["0", "30000", "300000", "-3", "x"]),
    ("StartServers", &["1", "2", "5", "16"], &["0", "x"]),
    ("MinSpareThreads", &["25", "75", "1"], &["0"]),
    ("MaxSpareThreads", &["75", "250", "10"], &["x"]),
    ("MinSpareServers", &["5", "1"], &["0"]),
    ("MaxSpareServers", &["10", "3"], &["x"]),
    ("MaxConnectionsPerChild", &["0", "1000"], &["x"]),
    ("AsyncRequestWorkerFactor", &["2", "1", "1.5", "0.5", "4", "0.01"], &["0", "-1", "x", "1x"]),
    ("ListenBacklog", &["511", "10", "1", "4096", "7x"], &["0", "-1", "x", "0x5"]),
];

/// Directives that a virtual host may have, too.
const HOST: &[(&str, &[&str], &[&str])] = &[
    ("Timeout", &["60", "5", "300", "2min", "500ms", "1h", "7s", "${N}"], &["x", "5 s", ""]),
    ("KeepAlive", &["On", "off", "ON", "Off", "On Off"], &["maybe", "1", ""]),
    (
        "KeepAliveTimeout",
        &["5", "500ms", "2s", "1min", "0", "0", "5sec", "1h", "2min30"],
        &["5x", "5S", "-1", "x", "5m"],
    ),
    ("ProxyTimeout", &["60", "5", "500ms", "2min", "7x"], &["0", "x", "-1"]),
    ("LimitRequestBody", &["0", "1024", "1073741824"], &["5k", "-1", "99999999999999999999"]),
    ("MaxKeepAliveRequests", &["100", "0", "7"], &["x"]),
];

const CONDITIONS: &[&str] = &[
    "IfModule mpm_event_module",
    "IfModule event.c",
    "IfModule mpm_worker_module",
    "IfModule worker.c",
    "IfModule prefork.c",
    "IfModule !prefork.c",
    "IfModule mpm_prefork_module",
    "IfModule mod_mpm_event.c",
    "IfModule !mod_proxy.c",
    "IfModule proxy_module",
    "IfModule mod_ssl.c",
    "IfDefine YES",
    "IfDefine !YES",
    "IfDefine NO",
    "IfVersion >= 2.4",
    "IfVersion < 2.4",
    "IfVersion = /^2\\.4/",
    "IfVersion ~ ^2\\.2",
    "IfVersion 2.4",
    "IfDirective KeepAlive",
    "IfDirective !SSLEngine",
    "IfDirective ThreadsPerChild",
    "IfSection VirtualHost",
    "IfFile /etc/passwd",
    "IfFile !/etc/passwd",
];

/// A configuration in a folder of its own.
struct Made {
    main: PathBuf,
    /// The name that is asked for, and the number of its virtual host.
    host: (String, usize),
    /// Where it listens.
    port: u16,
}

fn value<'a>(random: &mut Random, good: &[&'a str], bad: &[&'a str]) -> &'a str {
    if random.one_in(40) { random.pick(bad) } else { random.pick(good) }
}

fn directive(random: &mut Random, from: &[(&str, &[&str], &[&str])], mpm: &str) -> String {
    loop {
        let (name, good, bad) = from[random.below(from.len())];
        let threads = name.contains("Thread") || name.starts_with("Async");
        let foreign =
            mpm == "prefork" && threads || mpm != "prefork" && name.ends_with("Servers") && name != "StartServers";
        let foreign = foreign || mpm == "worker" && name.starts_with("Async");
        if foreign && !random.one_in(150) {
            continue;
        }
        let name = match random.below(12) {
            0 => name.to_lowercase(),
            1 => name.to_uppercase(),
            _ => name.to_owned(),
        };
        return format!("{name} {}\n", value(random, good, bad));
    }
}

/// Lines for the whole server, some of them under conditions or in an included file.
fn server(random: &mut Random, mpm: &str, dir: &Path, depth: usize) -> String {
    let mut text = String::new();
    for _ in 0..1 + random.below(5) {
        match random.below(9) {
            0 | 1 if depth < 3 => {
                let condition = random.pick(CONDITIONS);
                let name = condition.split(' ').next().unwrap_or_default();
                let mpm = condition
                    .split(['_', '.', ' '])
                    .find(|w| ["event", "worker", "prefork"].contains(w))
                    .unwrap_or(mpm);
                text += &format!("<{condition}>\n{}</{name}>\n", server(random, mpm, dir, depth + 1));
            }
            2 if depth < 2 && random.one_in(2) => text += &used(random, mpm, dir, depth + 1),
            2 if depth < 2 => {
                let file = dir.join(format!("part{}.conf", random.below(1_000_000)));
                std::fs::write(&file, server(random, mpm, dir, depth + 1)).unwrap();
                let how = random.pick(&["Include", "IncludeOptional"]);
                text += &format!("{how} {}\n", file.display());
            }
            3 => {
                text += random.pick(&[
                    "Define N 75\n",
                    "Define N 9\n",
                    "UnDefine N\nDefine N 30\n",
                    "Define YES\n",
                    "# a comment \\\nTimeout 1\n",
                ])
            }
            4 | 5 => text += &directive(random, HOST, mpm),
            6 if random.one_in(3) => {
                text += random.pick(&["PidFile pid${N}\n", "DocumentRoot docs${N}\n", "DocumentRoot docs\n"])
            }
            _ => text += &directive(random, SERVER, mpm),
        }
    }
    text
}

/// A macro and its uses: part of what is written in it are values of its parameters.
fn used(random: &mut Random, mpm: &str, dir: &Path, depth: usize) -> String {
    let n = random.below(1_000);
    let body = server(random, mpm, dir, depth).replace("75", &format!("$a{n}")).replace(" 5\n", &format!(" %b{n}\n"));
    let parameters = format!("$a{n} %b{n} @c{n}");
    let mut text = format!("<Macro Part{n} {parameters}>\n{body}PidFile @c{n}\n</Macro>\n");
    for _ in 0..1 + random.below(2) {
        let name = random.pick(&["Part", "part", "PART"]);
        let first = random.pick(&["75", "9", "150"]);
        let values = if random.one_in(40) { first.to_owned() } else { format!("{first} 7 \"a pid\"") };
        text += &format!("Use {}{n} {values}\n", if random.one_in(60) { "Other" } else { name });
    }
    if random.one_in(10) { text + &format!("UndefMacro part{n}\n") } else { text }
}

fn pass(random: &mut Random) -> String {
    let mut text = "ProxyPass /app http://127.0.0.1:9/".to_owned();
    for _ in 0..random.below(3) {
        let (key, good, bad): (&str, &[&str], &[&str]) = [
            ("max", &["5", "1", "20", "40", "3x"][..], &["-1"][..]),
            ("MAX", &["4"], &["-1"]),
            ("smax", &["2"], &["2"]),
            ("timeout", &["5", "500ms", "2min"], &["0", "x"]),
            ("acquire", &["200", "1s"], &["0", "5x"]),
            ("retry", &["0", "5"], &["x"]),
            ("connectiontimeout", &["1", "500ms"], &["0"]),
        ][random.below(7)];
        text += &format!(" {key}={}", value(random, good, bad));
    }
    text + "\n"
}

fn make(number: u64, dir: &Path, port: u16) -> Made {
    let mut random = Random::of(seed(), number);
    let mpm = random.pick(&["event", "event", "worker", "prefork"]);
    let main = dir.join("httpd.conf");
    // Apache refuses a DocumentRoot that is not there.
    for number in ["", "9", "30", "50", "75", "150"] {
        std::fs::create_dir(dir.join(format!("docs{number}"))).unwrap();
    }
    let load = |name: &str| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n");
    let root = dir.display();
    let mut text = format!(
        "ServerRoot {root}\nPidFile {root}/pid\nErrorLog {root}/log\nDefaultRuntimeDir {root}\nDefine N 50\nServerName main\n\
         LogLevel info proxy:debug\n"
    );
    text += &match random.below(3) {
        0 => format!("Define {}\n<IfDefine USE_{}>\n{}</IfDefine>\n", "USE_IT", "IT", load(&format!("mpm_{mpm}"))),
        1 => format!("<IfModule !mpm_{mpm}_module>\n{}</IfModule>\n", load(&format!("mpm_{mpm}"))),
        _ => load(&format!("mpm_{mpm}")),
    };
    text += &["authz_core", "info", "status", "proxy", "proxy_http", "macro"].map(load).concat();
    if nix_root() {
        text += "User www-data\nGroup www-data\n";
    }
    text += &format!("Listen 127.0.0.1:{port}\n");
    text += &server(&mut random, mpm, dir, 0);
    let hosts = random.below(3);
    for host in 0..hosts {
        text += &format!("<VirtualHost *:{port}>\nServerName host{host}\n");
        for _ in 0..random.below(3) {
            let from = if random.one_in(60) { SERVER } else { HOST };
            text += &directive(&mut random, from, mpm);
        }
        text += &pass(&mut random);
        text += "</VirtualHost>\n";
    }
    if hosts == 0 {
        text += &pass(&mut random);
    }
    text += &server(&mut random, mpm, dir, 0);
    for page in ["info", "status"] {
        text += &format!("<Location /server-{page}>\nSetHandler server-{page}\n</Location>\n");
    }
    std::fs::write(&main, text).unwrap();
    // Who is asked for by another name gets the first.
    let asked = if hosts == 0 { 0 } else { random.below(hosts) };
    let host = if hosts == 0 { ("main".to_owned(), 0) } else { (format!("host{asked}"), asked + 1) };
    Made { main, host, port }
}

fn nix_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0)
}

fn facts(made: &Made) -> Facts {
    let reading = Reading {
        root: made.main.parent().unwrap().to_owned(),
        environment: [].into(),
        defines: [].into(),
        version: (2, 4, 71),
    };
    let config = Config::read(&made.main, reading).unwrap();
    Facts::of(&config, &Requests::to(&made.host.0, "/app/x"), &Machine::of(&Environment::default()))
}

/// A path of the whole server as genkai reads it, from the server's root.
fn place(made: &Made, name: &str) -> Option<String> {
    let root = made.main.parent().unwrap();
    let reading = Reading { root: root.to_owned(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
    let config = Config::read(&made.main, reading).unwrap();
    let found = Route::global(&config, &[name])?;
    Some(config.root().join(found.arg(0)?).display().to_string())
}

/// What is not the same.
struct Differences {
    all: Vec<String>,
}

impl Differences {
    fn same<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, genkai: T, apache: T) {
        if genkai != apache {
            self.all.push(format!("{what}: genkai {genkai:?}, Apache {apache:?}"));
        }
    }
}

const WORKERS: &[&str] = &["maxrequestworkers", "maxclients"];

fn seconds(text: Option<&str>, default: u64) -> u64 {
    let Some(text) = text else { return default };
    text.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
}

/// What genkai says of it against `-t`.
fn compared(made: &Made, said: &ServerDump) -> Vec<String> {
    let mut differences = Differences { all: Vec::new() };
    let genkai = explained("apache", &made.main, &made.host.0);
    let refuses = refused(&genkai);
    if refuses.is_some() != said.refused.is_some() {
        return vec![format!("starts: genkai {refuses:?}, Apache {:?}", said.refused)];
    }
    let (Ok(genkai), None) = (genkai, &said.refused) else { return Vec::new() };
    let facts = facts(made);
    let prefork = facts.mpm.name() == "prefork";
    let (workers, servers, threads) = if prefork { (256, 256, 1) } else { (400, 16, 25) };
    let threads = if prefork { 1 } else { said.in_force(&["threadsperchild"], threads) };
    let workers = said.in_force(WORKERS, workers);
    differences.same("threads", facts.threads() as i64, threads);
    differences.same("workers", facts.workers() as i64, workers);
    differences.same("children", facts.children() as i64, workers / threads);
    differences.same("ServerLimit", facts.servers() as i64, said.in_force(&["serverlimit"], servers));
    differences.same("ListenBacklog", i64::from(facts.backlog.value), said.in_force(&["listenbacklog"], 511));
    let told = limit(&genkai, "apache.MaxRequestWorkers").or_else(|| limit(&genkai, "apache.ServerLimit"));
    differences.same("the limit", told.and_then(|l| slots(&l.law)).map(f64::round), Some(workers as f64));
    let host = made.host.1;
    // A host whose time is 0 has the server's.
    let whole = |name: &str, default| match seconds(said.last(host, &[name]), default) {
        0 => seconds(said.last(0, &[name]), default),
        own => own,
    };
    differences.same("Timeout", facts.timeout.value.0 / 1_000_000_000, whole("timeout", 60));
    let keep = said.last(host, &["keepalive"]).is_none_or(|v| !v.to_lowercase().starts_with("off"));
    differences.same("KeepAlive", facts.keep_alive, keep);
    let body = said.last(host, &["limitrequestbody"]).map_or(1 << 30, |v| v.parse().unwrap_or(0));
    differences.same("LimitRequestBody", facts.body.value, body);
    for (name, running) in
        [("documentroot", "Main DocumentRoot"), ("errorlog", "Main ErrorLog"), ("pidfile", "PidFile")]
    {
        let (mine, theirs) = (place(made, name), said.runs_with(running));
        if mine.is_some() {
            differences.same(running, mine, theirs);
        }
    }
    // What httpd changes is told, and nothing else is said to be changed.
    for (names, name) in [
        (WORKERS, "MaxRequestWorkers"),
        (&["threadsperchild"], "ThreadsPerChild"),
        (&["serverlimit"], "ServerLimit"),
        (&["threadlimit"], "ThreadLimit"),
    ] {
        let clamped = genkai.remarks.iter().any(|r| r.kind == RemarkKind::Clamped && r.setting == name);
        let text: Vec<_> = genkai.remarks.iter().filter(|r| r.setting == name).collect();
        let warned = names.iter().any(|n| said.changed.contains_key(*n));
        if clamped != warned && said.last(0, names).is_some() {
            differences
                .all
                .push(format!("{name} is changed: genkai {clamped} {text:?}, Apache {warned} {:?}", said.changed));
        }
    }
    differences.all
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status();
        let end = Instant::now() + Duration::from_secs(5);
        while self.0.try_wait().is_ok_and(|ended| ended.is_none()) {
            if Instant::now() > end {
                let _ = self.0.kill();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn page(port: u16, host: &str, path: &str) -> Option<String> {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text)
}

fn after<'t>(text: &'t str, mark: &str) -> Option<&'t str> {
    let rest = text.split_once(mark)?.1.trim_start();
    Some(&rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())])
}

/// What genkai says of it against the server when it runs.
fn asked(made: &Made) -> Vec<String> {
    let mut differences = Differences { all: Vec::new() };
    let facts = facts(made);
    let mut command = Command::new("apache2");
    command.arg("-f").arg(&made.main).args(["-D", "FOREGROUND"]).stdout(Stdio::null()).stderr(Stdio::null());
    // It ends its whole process group with itself.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let running = Running(command.spawn().unwrap());
    let end = Instant::now() + Duration::from_secs(60);
    let settled = |text: &String| {
        let all = Some(
            after(text, "BusyWorkers: ")?.parse::<u64>().ok()? + after(text, "IdleWorkers: ")?.parse::<u64>().ok()?,
        )?;
        (all == facts.workers()).then_some(all)
    };
    let mut last = String::new();
    let workers = loop {
        last = page(made.port, &made.host.0, "/server-status?auto").unwrap_or(last);
        if let Some(all) = settled(&last) {
            // More may come a moment later.
            std::thread::sleep(Duration::from_millis(300));
            last = page(made.port, &made.host.0, "/server-status?auto").unwrap_or_default();
            break settled(&last).unwrap_or(all + 1);
        }
        if Instant::now() > end {
            break 0;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    if workers == 0 {
        differences.all.push(format!("workers: genkai {}, the running Apache: {last}", facts.workers()));
    }
    let info = page(made.port, &made.host.0, "/server-info?server").unwrap_or_default();
    let told = |mark: &str| after(&info, mark).and_then(|n| n.parse::<u64>().ok());
    let (timeout, idle) = (told("connection: "), info.split_once("keep-alive: ").and_then(|(_, rest)| after(rest, "")));
    // With a Timeout of 0 it gives up on a page that does not go out at once.
    if facts.timeout.value.0 > 0 || timeout.is_some() {
        differences.same("Timeout of the running server", Some(facts.timeout.value.0 / 1_000_000_000), timeout);
        let mine = Some(facts.keep_alive_timeout.value.0 / 1_000_000_000);
        differences.same("KeepAliveTimeout", mine, idle.and_then(|n| n.parse().ok()));
    }
    drop(running);
    let log = std::fs::read_to_string(made.main.with_file_name("log")).unwrap_or_default();
    let pool =
        log.lines().filter(|l| l.contains("AH00930") && l.contains("(127.0.0.1:9)")).find_map(|l| after(l, " max="));
    if let (Some(max), Some(upstream)) = (pool, &facts.upstream) {
        let genkai = upstream.max[0].as_ref().map_or(facts.threads(), |max| max.value);
        // Several passes share a backend, and the first names its pool.
        let alone = log.lines().filter(|l| l.contains("AH00925") && l.contains("127.0.0.1:9/")).count()
            <= facts.children() as usize;
        if alone && made.host.1 <= 1 {
            differences.same("connections of a child to the backend", Some(genkai), max.parse().ok());
        }
    }
    differences.all
}

/// A copy that starts all its children at once, and ends none for having nothing to do, so that they can be counted.
fn with_all_children(made: &Made) {
    let text = std::fs::read_to_string(&made.main).unwrap();
    let more = "<IfModule prefork.c>\nMaxSpareServers 5000\n</IfModule>\n<IfModule !prefork.c>\nMaxSpareThreads 50000\n</IfModule>\n\
                StartServers 400\nLogLevel info proxy:debug\n";
    std::fs::write(&made.main, text + more).unwrap();
}

#[test]
fn apache_reads_generated_configurations_as_genkai_does() {
    if !is_installed("apache2") {
        return;
    }
    let (made, mut accepted, mut started, mut differences) = (sample(120), 0, 0, Vec::new());
    for number in 0..made {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let one = make(number, dir.path(), port);
        let said = ServerDump::of(&one.main);
        let mut all = compared(&one, &said);
        if said.refused.is_none() {
            accepted += 1;
            let small = said.in_force(WORKERS, 400) <= 400;
            if number % 20 == 0 && small && all.is_empty() {
                started += 1;
                with_all_children(&one);
                all.extend(asked(&one));
            }
        }
        if !all.is_empty() {
            let text = std::fs::read_to_string(&one.main).unwrap();
            let parts = std::fs::read_dir(dir.path())
                .unwrap()
                .flatten()
                .filter(|f| f.file_name().to_string_lossy().starts_with("part"));
            let parts: String = parts
                .map(|f| format!("== {}\n{}", f.path().display(), std::fs::read_to_string(f.path()).unwrap()))
                .collect();
            differences.push(format!("number {number}, host {:?}\n{}\n{text}{parts}", one.host, all.join("\n")));
        }
    }
    eprintln!("apache: {started} of them were started");
    agree("apache", made, accepted, &differences);
}
