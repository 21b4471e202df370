//! What genkai reads from a configuration against what nginx makes of it, over generated configurations: whether it starts (`nginx -t`), and,
//! of one that runs, its processes, descriptors, sockets, and what is in force for a path. Seeded; `GENKAI_DIFFERENTIAL` is how many
//! configurations there are instead of the few of `make test`.

mod differential;
mod stage;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;

use genkai_model::explain::RemarkKind;
use genkai_model::limit::{Law, Origin};
use genkai_place::{
    listener,
    process::{Child, Signal, Spawn},
};
use genkai_targets::explain::Requests;
use genkai_targets::nginx::config::{Config, Found, Refusal};
use genkai_targets::nginx::evidence::workers;
use genkai_targets::nginx::limits::{Facts, Machine, Reading};

use differential::{Draw, count};
use stage::{Client, environment, eventually};

/// Sizes, times, numbers and flags, sound ones and others.
const SIZES: [&str; 12] = ["0", "1", "512", "4k", "8K", "1m", "2g", "1.5m", "-1", "8kb", "k", "99999999999999999999"];
const TIMES: [&str; 14] =
    ["0", "1", "30s", "500ms", "1m30s", "2h", "1d", "1M", "30s1m", "1y", "1.5s", "10x", "-5", "3m 20s"];
const NUMBERS: [&str; 9] = ["0", "1", "7", "64", "1000", "-1", "1k", "x", "4294967296"];
const FLAGS: [&str; 7] = ["on", "off", "ON", "Off", "yes", "1", "true"];

/// Directives with one value: where they may be (m main, e events, h http, s server, l location) and what they take.
const DIRECTIVES: [(&str, &str, &[&str]); 36] = [
    ("worker_processes", "m", &["1", "2", "auto", "x", "-2", "1k"]),
    ("worker_rlimit_nofile", "m", &NUMBERS),
    ("worker_shutdown_timeout", "m", &TIMES),
    ("worker_connections", "e", &["1", "2", "3", "5", "64", "512", "0", "x", "1k"]),
    ("multi_accept", "e", &FLAGS),
    ("accept_mutex", "e", &FLAGS),
    ("accept_mutex_delay", "e", &TIMES),
    ("client_body_timeout", "hsl", &TIMES),
    ("client_header_timeout", "hs", &TIMES),
    ("client_max_body_size", "hsl", &SIZES),
    ("client_body_buffer_size", "hsl", &SIZES),
    ("client_header_buffer_size", "hs", &SIZES),
    ("large_client_header_buffers", "hs", &["4 8k", "0 8k", "4 0", "2 1m", "4", "x 8k", "4 8z"]),
    ("keepalive_requests", "hsl", &NUMBERS),
    ("keepalive_timeout", "hsl", &["75s", "75s 60s", "0", "10 20 30", "x", "60s 500ms", "1m"]),
    ("keepalive_time", "hsl", &TIMES),
    ("limit_rate", "hsl", &SIZES),
    ("limit_rate_after", "hsl", &SIZES),
    ("limit_conn_dry_run", "hsl", &FLAGS),
    ("limit_req_dry_run", "hsl", &FLAGS),
    ("reset_timedout_connection", "hsl", &FLAGS),
    ("send_timeout", "hsl", &TIMES),
    ("sendfile", "hsl", &FLAGS),
    ("tcp_nodelay", "hsl", &FLAGS),
    ("tcp_nopush", "hsl", &FLAGS),
    ("proxy_buffering", "hsl", &FLAGS),
    ("proxy_connect_timeout", "hsl", &TIMES),
    ("proxy_read_timeout", "hsl", &TIMES),
    ("proxy_send_timeout", "hsl", &TIMES),
    ("proxy_request_buffering", "hsl", &FLAGS),
    ("proxy_next_upstream_tries", "hsl", &NUMBERS),
    ("proxy_next_upstream_timeout", "hsl", &TIMES),
    ("fastcgi_read_timeout", "hsl", &TIMES),
    ("limit_conn", "hsl", &["z 4", "z 4", "other 4"]),
    ("limit_req", "hsl", &["zone=r burst=4", "zone=r", "zone=other"]),
    ("no_such_directive", "hsl", &["on"]),
];

/// A configuration with a few directives, most of them sound and where they belong. Listens on nothing that is tested by `-t`.
fn written(draw: &mut Draw, dir: &Path) -> String {
    let mut blocks: BTreeMap<char, String> = BTreeMap::new();
    for _ in 0..draw.below(5) {
        let (name, places, values) = *draw.of(&DIRECTIVES);
        let anywhere = draw.below(12) == 0;
        let place =
            if anywhere { *draw.of(&['m', 'e', 'h', 's', 'l']) } else { draw.of(places.as_bytes()).to_owned().into() };
        let value = draw.of(values);
        let _ = writeln!(blocks.entry(place).or_default(), "{name} {value};");
    }
    let of = |place: char| blocks.get(&place).cloned().unwrap_or_default();
    let listens: String =
        (0..1 + draw.below(4)).fold(String::new(), |all, i| all + &format!("listen 127.0.0.1:{};", 61_000 + i));
    let pid = dir.display();
    format!(
        "pid {pid}/pid;\nerror_log {pid}/error.log;\n{}events {{\n{}}}\nhttp {{\naccess_log off;\nlimit_conn_zone $host zone=z:1m;\n\
         limit_req_zone $host zone=r:1m rate=5r/s;\n{}server {{\n{listens}\n{}location / {{\n{}proxy_pass http://127.0.0.1:9;\n}}\n}}\n}}\n",
        of('m'),
        of('e'),
        of('h'),
        of('s'),
        of('l')
    )
}

/// What nginx says of a configuration that it refuses; none where it would start.
fn refusal(dir: &Path, file: &Path) -> Option<String> {
    let output = Command::new("nginx").arg("-t").arg("-p").arg(dir).arg("-c").arg(file).output().unwrap();
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn what_keeps_nginx_from_starting_is_told_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("nginx.conf");
    let mut draw = Draw::seeded(12);
    let (total, mut refused, mut wrong) = (count(100), 0, Vec::new());
    for number in 0..total {
        let text = written(&mut draw, dir.path());
        fs::write(&file, &text).unwrap();
        let requests = Requests::to("localhost", "/");
        let explained = genkai_targets::catalog::explain(Some("nginx"), &file, &requests).unwrap();
        let told: Vec<_> = explained.remarks.iter().filter(|r| r.kind == RemarkKind::Unknown).collect();
        let said = refusal(dir.path(), &file);
        refused += usize::from(said.is_some());
        if said.is_some() == told.is_empty() {
            wrong.push(format!("--- {number}\n{text}\nnginx: {said:?}\ngenkai: {told:?}"));
        }
    }
    println!("{total} configurations, {refused} refused by nginx, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A configuration that runs, with nested blocks that set the same things again.
struct Running {
    text: String,
    port: u16,
    /// Paths to be asked for.
    paths: Vec<String>,
}

/// Directives for one level of a path: each is set with a probability of a third.
fn level(draw: &mut Draw) -> String {
    let mut text = String::new();
    if draw.below(3) == 0 {
        let _ = writeln!(text, "client_max_body_size {};", draw.of(&["1", "300", "1k", "2K", "1m", "0"]));
    }
    if draw.below(3) == 0 {
        let _ = writeln!(text, "limit_rate {};", draw.of(&["0", "100k", "2m", "9000k"]));
    }
    if draw.below(3) == 0 {
        let (burst, delay) = (1 + draw.below(6), *draw.of(&["nodelay", "delay=9"]));
        let _ =
            writeln!(text, "limit_req zone={} burst={burst} {delay};", draw.of(&["named", "empty", "name", "path"]));
    }
    if draw.below(4) == 0 {
        let _ = writeln!(text, "limit_req_status {};", draw.of(&["429", "503", "509"]));
    }
    if draw.below(8) == 0 {
        let _ = writeln!(text, "limit_req_dry_run on;");
    }
    text
}

fn runnable(draw: &mut Draw, dir: &Path, backend: SocketAddr) -> Running {
    let ports: Vec<u16> = {
        let free: Vec<TcpListener> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        free.iter().map(|l| l.local_addr().unwrap().port()).collect()
    };
    let at = dir.display();
    let (workers, connections) = (1 + draw.below(3), 64 + draw.below(200));
    let mut text = format!(
        "worker_processes {workers};\npid {at}/pid;\nerror_log {at}/error.log {};\n",
        draw.of(&["warn", "error"])
    );
    if draw.below(2) == 0 {
        let _ = writeln!(text, "worker_rlimit_nofile {};", 200 + draw.below(900));
    }
    // Else nginx waits five seconds for the rest of a body that it has refused (`ngx_http_finalize_connection`), whether or not its client has gone.
    let _ = write!(text, "events {{ worker_connections {connections}; }}\nhttp {{\nlingering_timeout 50ms;\n");
    for module in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        let _ = writeln!(text, "{module}_temp_path {at}/{module};");
    }
    for (zone, key) in
        [("named", "$binary_remote_addr"), ("empty", "$http_absent"), ("name", "$server_name"), ("path", "$uri")]
    {
        let _ = writeln!(text, "limit_req_zone {key} zone={zone}:1m rate=1r/m;");
    }
    let _ = writeln!(
        text,
        "log_format rate '$request_uri $limit_rate';\naccess_log {at}/{} rate;",
        *draw.of(&["a.log", "error.log"])
    );
    text += &level(draw);
    let mut paths = Vec::new();
    for (i, port) in ports.iter().take(1 + draw.below(3)).enumerate() {
        let options = match draw.below(4) {
            0 => format!(" backlog={}", 10 + draw.below(300)),
            1 => " reuseport".to_owned(),
            _ => String::new(),
        };
        let _ = write!(text, "server {{\nlisten 127.0.0.1:{port}{options};\n");
        text += *draw.of(&["", "server_name localhost;\n", "server_name \"\";\n"]);
        if draw.below(3) == 0 {
            let _ = writeln!(text, "access_log {at}/server-{i}.log rate;");
        }
        text += &level(draw);
        for name in ["/", "/a/", "/a/b/", "= /exact", "^~ /static/", "~ \\.php$"] {
            if name != "/" && draw.below(2) == 0 {
                continue;
            }
            let _ = writeln!(text, "location {name} {{\n{}proxy_pass http://{backend};\n}}", level(draw));
        }
        text += "}\n";
    }
    text += "}\n";
    paths.extend(["/", "/a/", "/a/b/c", "/exact", "/static/x.php", "/a/x.php"].map(str::to_owned));
    Running { text, port: ports[0], paths }
}

fn facts(config: &Config, path: &str, machine: &Machine) -> Facts {
    let route = config.route(Some("localhost"), path).unwrap();
    let origin = |_: &Found<'_>| Origin::Given;
    let visitor = Some([127, 0, 0, 1].into());
    Reading {
        config,
        route,
        origin: &origin,
        version: (1, 22, 1),
        machine,
        status: None,
        visitor,
        headers: None,
        body: (0, 0),
        absent: &|_| false,
    }
    .facts()
}

/// What the access logs say of a request beside its path.
fn logged(dir: &Path, path: &str) -> Option<String> {
    let logs = fs::read_dir(dir).unwrap().flatten().filter(|e| e.path().extension().is_some_and(|e| e == "log"));
    let texts: Vec<String> = logs.filter_map(|log| fs::read_to_string(log.path()).ok()).collect();
    texts.iter().flat_map(|text| text.lines()).find_map(|line| Some(line.strip_prefix(path)?.trim().to_owned()))
}

/// Differences between what is read from a running configuration and what it does.
fn differences(running: &Running, dir: &Path, machine: &Machine) -> Vec<String> {
    let file = dir.join("nginx.conf");
    fs::write(&file, &running.text).unwrap();
    let config = Config::read(&file, Path::new("/usr/share/nginx")).unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], running.port));
    let mut command = Command::new("nginx");
    command.arg("-p").arg(dir).arg("-c").arg(&file).args(["-e", "stderr", "-g", "daemon off;"]);
    let mut master = Child::spawn(command, Spawn { name: "nginx".to_owned(), ..Spawn::default() }).unwrap();
    let first = facts(&config, "/", machine);
    eventually("its workers run", || workers(master.pid()).len() as u32 == first.workers.value);
    eventually("it listens", || listener::queue(address).is_some());
    let mut all = Vec::new();
    let mut hold = |what: &str, read: String, seen: String| {
        if read != seen {
            all.push(format!("{what}: genkai {read}, nginx {seen}"));
        }
    };
    for worker in workers(master.pid()) {
        let limits = fs::read_to_string(format!("/proc/{worker}/limits")).unwrap();
        let nofile = limits.lines().find_map(|l| l.strip_prefix("Max open files")).unwrap();
        let soft = nofile.split_ascii_whitespace().next().unwrap();
        hold("descriptors of a worker", first.nofile.value.to_string(), soft.to_owned());
        let open = || fs::read_dir(format!("/proc/{worker}/fd")).unwrap().count() as u64;
        // The ends of the channels come one by one.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(2);
        while open() != first.base_descriptors() && std::time::Instant::now() < deadline {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        hold("descriptors that are open", first.base_descriptors().to_string(), open().to_string());
    }
    let queue = listener::queue(address).unwrap().backlog;
    hold("length of the accept queue", first.backlog.value.min(first.somaxconn).to_string(), queue.to_string());
    for path in &running.paths {
        let facts = facts(&config, path, machine);
        let rate = facts.limit_rate.as_ref().map_or(0, |held| held.value.0);
        // Requests that are not counted do not take from what is asked for later.
        let body = facts.body.value;
        if body > 0 {
            let status = Client::announce(address, path, body + 1).unwrap().status();
            hold(&format!("{path}: a body of {}", body + 1), "Some(413)".to_owned(), format!("{status:?}"));
        }
        let once = format!("{path}?rate");
        let status = Client::ask(address, &once).unwrap().status();
        let limits = genkai_targets::nginx::limits::of(&facts);
        let refuses = limits.iter().find(|l| l.id.starts_with("nginx.limit_req"));
        if status == Some(200) {
            eventually("it is logged", || logged(dir, &once).is_some());
            hold(&format!("{path}: limit_rate"), rate.to_string(), logged(dir, &once).unwrap_or_default());
        }
        let statuses: Vec<_> = (0..12).map(|_| Client::ask(address, path).unwrap().status()).collect();
        let refused = statuses.iter().flatten().find(|status| **status != 200).copied();
        // Several paths share a zone, so that it may be used up already; whether any is refused says what is in force.
        let read = match refuses {
            Some(limit) if limit.law == Law::Unknown => {
                refused.filter(|s| Refusal::Status(*s) == facts.limit_req[0].refusal)
            }
            Some(_) => match facts.limit_req[0].refusal {
                Refusal::Status(status) => Some(status),
                Refusal::Elsewhere(_) => None,
            },
            None => None,
        };
        hold(&format!("{path}: a status that refuses"), format!("{read:?}"), format!("{refused:?}"));
    }
    master.stop(Signal::SIGTERM, std::time::Duration::from_secs(5));
    all
}

#[test]
fn what_runs_is_what_was_read() {
    let machine = Machine::of(&environment());
    let backend = stage::Backend::start();
    let mut draw = Draw::seeded(13);
    let (total, mut wrong) = (count(3), Vec::new());
    for number in 0..total {
        let dir = tempfile::tempdir().unwrap();
        let running = runnable(&mut draw, dir.path(), backend.address());
        let found = differences(&running, dir.path(), &machine);
        if !found.is_empty() {
            wrong.push(format!("--- {number}\n{}\n{}", running.text, found.join("\n")));
        }
    }
    println!("{total} configurations run, {} with differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
