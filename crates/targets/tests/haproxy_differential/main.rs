//! What genkai reads in a configuration of HAProxy, against what HAProxy says: whether it takes it (`haproxy -c`), and what a running
//! one has made of it (`show info`, `show stat`, `show servers conn`). Configurations are generated from seeds; `GENKAI_DIFFERENTIAL=2000` tries so many.

mod grammar;
mod times;
mod ways;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use genkai_model::explain::Explanation;
use genkai_place::caps::Machine;
use genkai_place::listener::queue;
use genkai_place::machine::environment;
use genkai_targets::catalog::explain;
use genkai_targets::files::Requests;
use genkai_targets::haproxy::config::{Config, Reading, Section};
use genkai_targets::haproxy::limits::Facts;
use genkai_targets::haproxy::proxy::{self, Mode};
use genkai_targets::haproxy::route::{Address, Route};
use genkai_targets::haproxy::settings::value;
use grammar::Maker;

/// Configurations of the fixed sample; every eighth of those that HAProxy takes is started.
const SAMPLE: u64 = 80;
const STARTED: usize = 8;

fn many() -> u64 {
    std::env::var("GENKAI_DIFFERENTIAL").ok().and_then(|text| text.parse().ok()).unwrap_or(SAMPLE)
}

fn there() -> bool {
    let found = Command::new("haproxy").arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !found {
        genkai_tidy::noted::skipped("haproxy is not installed");
    }
    found
}

/// Whether HAProxy takes a file, and what it says.
fn taken(path: &Path) -> (bool, String) {
    let out = Command::new("haproxy").args(["-c", "-f"]).arg(path).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    let alerts: Vec<&str> = said.lines().filter(|line| line.starts_with("[ALERT]")).collect();
    (out.status.success(), alerts.join("\n"))
}

/// What genkai says makes HAProxy refuse a file. (`haproxy -c` asks for no descriptors.)
fn refusals(explanation: &Explanation) -> Vec<String> {
    let remarks = explanation
        .remarks
        .iter()
        .filter(|r| r.text.ends_with("HAProxy does not start") && !r.text.contains("descriptors"));
    remarks.map(|r| format!("{} {}: {}", r.place.clone().unwrap_or_default(), r.setting, r.text)).collect()
}

#[test]
fn genkai_refuses_what_haproxy_refuses_and_nothing_else() {
    if !there() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (mut wrong, mut good) = (Vec::new(), 0);
    for seed in 0..many() {
        let path = dir.path().join(format!("{seed}.cfg"));
        let text = Maker::new(seed, (7000..7010).collect(), None).make();
        std::fs::write(&path, &text).unwrap();
        let (taken, said) = taken(&path);
        let refused = match explain(Some("haproxy"), &path, &Requests::default()) {
            Ok(explanation) => refusals(&explanation),
            Err(error) => vec![error.to_string()],
        };
        good += u64::from(taken);
        if taken != refused.is_empty() {
            wrong.push(format!("seed {seed}: taken: {taken}\n{said}\ngenkai: {refused:#?}"));
        }
    }
    println!("{} configurations, {good} of them taken by HAProxy", many());
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        many(),
        wrong[..wrong.len().min(20)].join("\n----\n")
    );
}

/// A HAProxy that runs until it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn start(path: &Path, socket: &Path) -> Option<Running> {
        let mut command = Command::new("haproxy");
        command.args(["-db", "-f"]).arg(path).stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = Running(command.spawn().unwrap());
        let until = Instant::now() + Duration::from_secs(10);
        while Instant::now() < until {
            if UnixStream::connect(socket).is_ok() {
                return Some(running);
            }
            if running.0.try_wait().unwrap().is_some() {
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("HAProxy neither starts nor ends: {}", path.display());
    }
}

/// What it answers. A process that is allowed few sessions a second lets its socket wait, too.
fn ask(socket: &Path, command: &str) -> String {
    let once = || {
        let mut stream = UnixStream::connect(socket).ok()?;
        writeln!(stream, "{command}").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        Some(text).filter(|text| !text.is_empty())
    };
    for _ in 0..20 {
        if let Some(text) = once() {
            return text;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    String::new()
}

fn ports(many: usize) -> Vec<u16> {
    let held: Vec<TcpListener> = (0..many).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    held.iter().map(|one| one.local_addr().unwrap().port()).collect()
}

type Row = BTreeMap<String, String>;

fn rows(text: &str) -> Vec<Row> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().trim_start_matches("# ").split(',').collect();
    let row = |line: &str| names.iter().zip(line.split(',')).map(|(n, v)| ((*n).to_owned(), v.to_owned())).collect();
    lines.filter(|line| line.contains(',')).map(row).collect()
}

/// What is compared, with its name: what genkai reads, and what HAProxy says.
struct Compared<'a> {
    wrong: &'a mut Vec<String>,
    seen: &'a mut BTreeMap<&'static str, u64>,
    seed: u64,
}

impl Compared<'_> {
    fn same(&mut self, what: &'static str, of: &str, mine: impl ToString, theirs: &str) {
        *self.seen.entry(what).or_default() += 1;
        let mine = mine.to_string();
        if mine != theirs {
            self.wrong.push(format!("seed {}: {what} of {of}: genkai {mine}, HAProxy {theirs}", self.seed));
        }
    }

    fn info(&mut self, facts: &Facts, config: &Config, info: &str) {
        let said =
            |name: &str| info.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(": ")).unwrap_or("?").to_owned();
        self.same("Maxconn", "process", facts.maxconn.value, &said("Maxconn"));
        self.same("Maxsock", "process", facts.needed(), &said("Maxsock"));
        self.same("Nbthread", "process", facts.threads.value, &said("Nbthread"));
        for (name, key) in
            [("ConnRateLimit", "maxconnrate"), ("SessRateLimit", "maxsessrate"), ("SslRateLimit", "maxsslrate")]
        {
            let mine = config.global(key).and_then(|f| value::whole(f.arg(0)?)).unwrap_or(0);
            self.same(name, "process", mine, &said(name));
        }
        let written = config.global("ulimit-n").and_then(|f| value::whole(f.arg(0)?)).filter(|n| *n > 0);
        self.same("Ulimit-n", "process", written.unwrap_or_else(|| facts.needed()), &said("Ulimit-n"));
    }

    /// What the kernel says of the listener that requests come to.
    fn backlog(&mut self, facts: &Facts, config: &Config) {
        let Some(route) = Route::find(config, &Requests::default()) else { return };
        let port = |address: &Address| match address {
            Address::Inet { ports: Some(ports), .. } => Some(*ports.start()),
            _ => None,
        };
        let Some(port) = route.bind.addresses.first().and_then(port) else { return };
        let theirs = queue(([127, 0, 0, 1], port).into()).map_or(0, |queue| queue.backlog).to_string();
        self.same("backlog", &port.to_string(), facts.backlog.value.min(facts.somaxconn), &theirs);
    }

    /// The servers of a backend by name and address, those of templates one by one.
    fn addresses(&mut self, config: &Config, section: &Section, conn: &str) {
        let mut mine = Vec::new();
        for server in proxy::servers(config, section).iter().filter(|_| section.is_back()) {
            let word = |at: usize| server.found.arg(at).unwrap_or_default().to_owned();
            let (name, template) = (word(0), server.found.name() == "server-template");
            mine.extend((1..=server.count).map(|n| match template {
                true => format!("{name}{n} {}", word(2)),
                false => format!("{name} {}", word(1)),
            }));
        }
        let of = format!("{}/", section.name);
        let theirs = conn.lines().filter_map(|line| {
            let fields: Vec<&str> = line.strip_prefix(&of)?.split_ascii_whitespace().collect();
            Some(format!("{} {}:{}", fields.first()?, fields.get(2)?, fields.get(3)?))
        });
        self.same("addresses", &section.name, mine.join(", "), &theirs.collect::<Vec<_>>().join(", "));
    }

    fn section(&mut self, config: &Config, section: &Section, process: u64, stat: &[Row]) {
        let row = |server: &str| stat.iter().find(|r| r["pxname"] == section.name && r["svname"] == server);
        let mode = if proxy::mode(config, section) == Mode::Http { "http" } else { "tcp" };
        let off = proxy::is_off(config, section);
        self.same(
            "on",
            &section.name,
            !off,
            &row(if section.is_front() { "FRONTEND" } else { "BACKEND" }).is_some().to_string(),
        );
        if off {
            return;
        }
        if let Some(row) = row("FRONTEND").filter(|_| section.is_front()) {
            let maxconn = proxy::number(config, section, "maxconn").map(|held| held.value).filter(|n| *n > 0);
            self.same("frontend slim", &section.name, maxconn.unwrap_or(process), &row["slim"]);
            let rate =
                config.value(section, "rate-limit sessions").and_then(|f| value::unsigned(f.arg(1)?)).unwrap_or(0);
            self.same("rate_lim", &section.name, rate, &row["rate_lim"]);
            self.same("mode", &section.name, mode, &row["mode"]);
        }
        if let Some(row) = row("BACKEND").filter(|_| section.is_back()) {
            self.same("backend slim", &section.name, proxy::fullconn(config, section, process), &row["slim"]);
            self.same("mode", &section.name, mode, &row["mode"]);
            self.servers(config, section, stat);
        }
    }

    fn servers(&mut self, config: &Config, section: &Section, stat: &[Row]) {
        let all = proxy::servers(config, section);
        let theirs: Vec<&Row> = stat
            .iter()
            .filter(|r| r["pxname"] == section.name && !["FRONTEND", "BACKEND"].contains(&r["svname"].as_str()))
            .collect();
        let mine = all.iter().flat_map(|s| std::iter::repeat_n(s, s.count as usize)).collect::<Vec<_>>();
        self.same("servers", &section.name, mine.len(), &theirs.len().to_string());
        for (mine, theirs) in mine.into_iter().zip(theirs) {
            let name = format!("{}/{}", section.name, theirs["svname"]);
            let some = |n: u64| if n > 0 { n.to_string() } else { String::new() };
            self.same("server slim", &name, some(mine.maxconn), &theirs["slim"]);
            self.same("qlimit", &name, some(mine.maxqueue), &theirs["qlimit"]);
            self.same("bck", &name, u8::from(mine.backup), &theirs["bck"]);
            self.same("maintenance", &name, mine.disabled, &theirs["status"].starts_with("MAINT").to_string());
            self.same("weight", &name, mine.weight, &theirs["weight"]);
        }
    }
}

#[test]
fn a_running_haproxy_has_the_values_that_genkai_reads() {
    if !there() {
        return;
    }
    let dir = tempfile::Builder::new().prefix("genkai-hd-").tempdir().unwrap();
    let machine = Machine::of(&environment(BTreeMap::new()));
    let every = if many() > SAMPLE { 1 } else { STARTED };
    let (mut wrong, mut seen, mut started) = (Vec::new(), BTreeMap::new(), 0);
    for seed in (0..many()).step_by(every) {
        let (path, socket) = (dir.path().join("x.cfg"), dir.path().join("s"));
        let _ = std::fs::remove_file(&socket);
        let text = Maker::new(seed, ports(10), Some(socket.display().to_string())).make();
        std::fs::write(&path, &text).unwrap();
        if !taken(&path).0 {
            continue;
        }
        let reading = Reading::here((2, 6, 12), ["OPENSSL".to_owned()].into());
        let config = Config::read(&path, reading).unwrap();
        let facts = Facts::of(&config, None, &Requests::default(), &machine, 1 << 30);
        let running = Running::start(&path, &socket);
        let mut compared = Compared { wrong: &mut wrong, seen: &mut seen, seed };
        // Where genkai says that the descriptors do not do.
        let enough = facts.starts();
        compared.same("starts", "process", enough, &running.is_some().to_string());
        if running.is_none() {
            continue;
        }
        started += 1;
        compared.info(&facts, &config, &ask(&socket, "show info"));
        let stat = rows(&ask(&socket, "show stat"));
        let conn = ask(&socket, "show servers conn");
        compared.backlog(&facts, &config);
        for section in config.sections().iter().filter(|s| s.is_front() || s.is_back()) {
            compared.section(&config, section, facts.maxconn.value, &stat);
            if section.is_back() && !proxy::is_off(&config, section) {
                compared.addresses(&config, section, &conn);
            }
        }
    }
    println!("{started} started, compared: {seen:?}");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}
