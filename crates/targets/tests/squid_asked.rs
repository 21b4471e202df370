//! What genkai reads from a squid.conf against Squid: whether it starts (`squid -k parse`) over generated configurations, what a started one has
//! in force (`mgr:config`) and says of itself (`mgr:info`), and how many requests its peers take.

mod differential;
mod stage;

use std::fmt::Write as _;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use genkai_model::explain::{Explanation, RemarkKind};
use genkai_model::limit::Law;
use genkai_place::process::{Child, Signal, Spawn};
use genkai_targets::catalog;
use genkai_targets::explain::Requests;

use differential::{Draw, count, judged};
use stage::{Backend, Client, eventually, held};

/// Whether Squid is there.
fn installed() -> bool {
    let there = Path::new("/usr/sbin/squid").is_file();
    if !there {
        genkai_tidy::noted::skipped("squid is not installed");
    }
    there
}

fn explained(file: &Path) -> Explanation {
    catalog::explain(Some("squid"), file, &Requests::to("localhost", "/")).unwrap()
}

const NUMBERS: [&str; 11] = ["0", "1", "7", "64", "1000", "-1", "1k", "x", "0x10", "010", "99999999999"];
const SIZES: [&str; 12] =
    ["0", "8 MB", "512 KB", "1 GB", "100", "none", "-1", "1.5 MB", "8 XB", "4 kbytes", "x MB", "16 bytes"];
const TIMES: [&str; 11] = [
    "0",
    "30 seconds",
    "1 minute",
    "2 hours",
    "1.5 days",
    "7",
    "5 milliseconds",
    "1 fortnight",
    "x",
    "3 MINUTES",
    "1 y",
];
const FLAGS: [&str; 7] = ["on", "off", "enable", "disable", "yes", "ON", "1"];

/// Directives with one value, and what they take.
const DIRECTIVES: [(&str, &[&str]); 22] = [
    ("max_filedescriptors", &NUMBERS),
    ("max_filedesc", &NUMBERS),
    ("workers", &["0", "1", "2", "x", "0x2"]),
    ("client_ip_max_connections", &NUMBERS),
    ("forward_max_tries", &NUMBERS),
    ("connect_retries", &["0", "1", "x", "3k"]),
    ("cache_mem", &SIZES),
    ("maximum_object_size", &SIZES),
    ("maximum_object_size_in_memory", &SIZES),
    ("request_body_max_size", &SIZES),
    ("read_ahead_gap", &SIZES),
    ("quick_abort_min", &SIZES),
    ("read_timeout", &TIMES),
    ("request_timeout", &TIMES),
    ("connect_timeout", &TIMES),
    ("client_lifetime", &TIMES),
    ("pconn_timeout", &TIMES),
    ("client_persistent_connections", &FLAGS),
    ("server_persistent_connections", &FLAGS),
    ("half_closed_clients", &FLAGS),
    ("memory_pools", &FLAGS),
    ("no_such_directive", &["on"]),
];

fn written(draw: &mut Draw) -> String {
    let mut text = String::from("visible_hostname localhost\npinger_enable off\n");
    text += *draw.of(&[
        "http_port 127.0.0.1:61812 accel defaultsite=a no-vhost\n",
        "http_port 127.0.0.1:61812\n",
        "http_port 127.0.0.1:61812 accel vhost\n",
        "http_port 127.0.0.1:61812\n",
        "http_port 127.0.0.1:61812 defaultsite=a\n",
    ]);
    for _ in 0..draw.below(4) {
        let (name, values) = *draw.of(&DIRECTIVES);
        let _ = writeln!(text, "{name} {}", draw.of(values));
    }
    text
}

/// What Squid says of a configuration that it refuses; none where it would start.
fn refusal(file: &Path) -> Option<String> {
    let output = Command::new("squid").args(["-k", "parse", "-f"]).arg(file).output().unwrap();
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// One configuration: whether it was refused, and how the two differ.
fn compare(number: usize, text: &str, dir: &Path) -> (bool, Option<String>) {
    let file = dir.join(format!("{number}.conf"));
    fs::write(&file, text).unwrap();
    let wrong = [RemarkKind::Unknown, RemarkKind::Contradiction];
    let told: Vec<_> = explained(&file).remarks.into_iter().filter(|r| wrong.contains(&r.kind)).collect();
    let stops = told.iter().any(|remark| remark.text.contains("does not start"));
    let said = refusal(&file);
    let differs = (said.is_some() != stops).then(|| format!("--- {number}\n{text}\nsquid: {said:?}\ngenkai: {told:?}"));
    (said.is_some(), differs)
}

#[test]
fn what_keeps_squid_from_starting_is_told_and_nothing_else() {
    if !installed() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut draw = Draw::seeded(14);
    let total = count(48);
    let texts: Vec<String> = (0..total).map(|_| written(&mut draw)).collect();
    // Squid mostly waits while it reads a configuration.
    let (refused, wrong) = judged(total, 16, |number| compare(number, &texts[number], dir.path()));
    println!("{total} configurations, {refused} refused by Squid, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A Squid that runs, and its folder.
struct Squid {
    dir: tempfile::TempDir,
    child: Child,
    address: SocketAddr,
}

impl Squid {
    /// An accelerator with these directives.
    fn start(more: &str) -> Squid {
        let dir = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let at = dir.path().display();
        let text = format!(
            "http_port 127.0.0.1:{port} accel defaultsite=localhost no-vhost\nvisible_hostname localhost\npinger_enable off\n\
             netdb_filename none\npid_filename {at}/pid\ncache_log {at}/cache.log\naccess_log none\ncoredump_dir {at}\nhttp_access allow all\n\
             cache deny all\nshutdown_lifetime 0 seconds\ncachemgr_passwd none config\nlogformat asked %ts\n{more}"
        );
        // Rules of the case's own come in the place of that one.
        let text = match more.contains("http_access") {
            true => text.replacen("http_access allow all\n", "", 1),
            false => text,
        };
        fs::write(dir.path().join("squid.conf"), text).unwrap();
        let mut command = Command::new("squid");
        command.args(["-N", "-n", &format!("asked{port}"), "-f"]).arg(dir.path().join("squid.conf"));
        // What it writes into its folder it writes as its own user.
        command.env("TMPDIR", dir.path());
        let _ = Command::new("chmod").arg("777").arg(dir.path()).status();
        let child = Child::spawn(command, Spawn { name: "squid".to_owned(), ..Spawn::default() }).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        eventually("Squid listens", || std::net::TcpStream::connect(address).is_ok());
        Squid { dir, child, address }
    }

    fn explained(&self) -> Explanation {
        explained(&self.dir.path().join("squid.conf"))
    }
}

impl Drop for Squid {
    fn drop(&mut self) {
        self.child.stop(Signal::SIGTERM, Duration::from_secs(5));
    }
}

/// From where the first may be refused to where no more fit.
fn range(explained: &Explanation, id: &str) -> (usize, usize) {
    let limit = explained.limits.iter().find(|limit| limit.id == id).unwrap_or_else(|| panic!("no {id}"));
    let Law::Slots { value, reserved, busy_cost, pools, soft, .. } = limit.law else { panic!("{:?}", limit.law) };
    let at = |slots: f64| (pools * ((slots - reserved) / busy_cost + 1e-9).floor()) as usize;
    (at(value * soft), at(value))
}

fn peers(backends: &[Backend], caps: &[u32]) -> String {
    let peer = |(i, (backend, cap)): (usize, (&Backend, &u32))| {
        let port = backend.address().port();
        format!(
            "cache_peer 127.0.0.1 parent {port} 0 no-query no-digest originserver round-robin name=p{i} max-conn={cap}\n"
        )
    };
    backends.iter().zip(caps).enumerate().map(peer).collect()
}

#[test]
fn peers_and_clients_are_let_in_as_predicted() {
    if !installed() {
        return;
    }
    let mut seen = Vec::new();
    for (caps, more, id) in [
        (&[10][..], "server_persistent_connections off\n", "squid.max_conn"),
        (&[7], "server_persistent_connections off\n", "squid.max_conn"),
        (&[4, 9], "server_persistent_connections off\n", "squid.max_conn"),
        (&[5, 6, 7], "server_persistent_connections off\n", "squid.max_conn"),
        (&[500], "client_ip_max_connections 12\n", "squid.client_ip_max_connections"),
        (&[500], "client_ip_max_connections 0x10\n", "squid.client_ip_max_connections"),
        (&[500], "client_ip_max_connections 3\n", "squid.client_ip_max_connections"),
        (&[500], "acl m maxconn 6\nhttp_access deny m\nhttp_access allow all\n", "squid.maxconn"),
        (&[500], "acl m maxconn 9\nacl n maxconn 4\nhttp_access allow !n\n", "squid.maxconn"),
        (&[6, 2], "workers 1\nserver_persistent_connections off\n", "squid.max_conn"),
        (&[3], "client_persistent_connections off\nserver_persistent_connections off\n", "squid.max_conn"),
        (&[500], "max_filedescriptors 128\n", "squid.max_filedescriptors"),
        (&[500], "max_filedesc 200\n", "squid.max_filedescriptors"),
    ] {
        let backends: Vec<Backend> = caps.iter().map(|_| Backend::start()).collect();
        let squid = Squid::start(&(peers(&backends, caps) + more));
        let (low, high) = range(&squid.explained(), id);
        let held = held(&backends, squid.address, high + high / 10 + 2);
        let count = held.len();
        backends.iter().for_each(|backend| backend.hold(false));
        drop(held);
        seen.push((format!("{caps:?} {more}"), low, high, count));
    }
    for one in &seen {
        println!("{one:?}");
    }
    // Within a tenth: it has a few descriptors and connections of its own.
    let near = |(_, low, high, count): &&(String, usize, usize, usize)| {
        *count as f64 >= 0.9 * *low as f64 && *count as f64 <= 1.1 * *high as f64
    };
    let wrong: Vec<_> = seen.iter().filter(|one| !near(one)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What Squid says of itself (`mgr:info`), the number after these words.
fn says(squid: &Squid, words: &str) -> Option<u64> {
    let text = Client::ask(squid.address, "/squid-internal-mgr/info")?.text();
    let line = text.lines().find_map(|line| line.trim().strip_prefix(words))?;
    line.trim_start_matches(':').trim().parse().ok()
}

#[test]
fn descriptors_are_what_squid_says_it_has() {
    if !installed() {
        return;
    }
    let mut wrong = Vec::new();
    for value in ["", "0", "64", "100", "0x100", "1000", "-1", "90000000"] {
        let more = if value.is_empty() { String::new() } else { format!("max_filedescriptors {value}\n") };
        let squid = Squid::start(&more);
        let explained = squid.explained();
        let limit = explained.limits.iter().find(|limit| limit.id == "squid.max_filedescriptors").unwrap();
        let Law::Slots { value: read, .. } = limit.law else { panic!() };
        let seen = says(&squid, "Maximum number of file descriptors");
        if seen != Some(read as u64) {
            wrong.push(format!("max_filedescriptors {value:?}: genkai {read}, Squid {seen:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

const SPANS: [&str; 11] = [
    "30 seconds",
    "1 minute",
    "2 hours",
    "1.5 days",
    "3 MINUTES",
    "1 fortnight",
    "2 weeks",
    "90 second",
    "2.5 minutes",
    "1 decade",
    "1 month",
];
const NAMES: [&str; 10] = [
    "read_timeout",
    "request_timeout",
    "request_start_timeout",
    "client_idle_pconn_timeout",
    "server_idle_pconn_timeout",
    "client_lifetime",
    "connect_timeout",
    "peer_connect_timeout",
    "forward_timeout",
    "write_timeout",
];
/// Older names of two of them (src/cf.data.pre).
const OLD_NAMES: [&str; 2] = ["pconn_timeout", "persistent_request_timeout"];

/// A configuration that answers when it runs, some directives more than once.
fn runnable(draw: &mut Draw) -> String {
    // Where peers keep connections, how many clients they serve is a range.
    let mut text = String::from("server_persistent_connections off\n");
    for _ in 0..2 + draw.below(6) {
        let line = match draw.below(16) {
            0 => format!("client_ip_max_connections {}", draw.of(&["-1", "64", "0x10", "010", "7"])),
            1 => format!("max_filedescriptors {}", draw.of(&["0x100", "1000", "512", "0"])),
            2 => format!(
                "request_body_max_size {}",
                draw.of(&["8 MB", "512 KB", "1 GB", "0", "1.5 MB", "4 kbytes", "16 bytes"])
            ),
            3 => format!("{} {}", draw.of(&OLD_NAMES), draw.of(&SPANS)),
            _ => format!("{} {}", draw.of(&NAMES), draw.of(&SPANS)),
        };
        let _ = writeln!(text, "{line}");
    }
    for peer in 0..draw.below(3) {
        let cap = draw.of(&["5", "12", "007"]);
        let _ = writeln!(
            text,
            "cache_peer 127.0.0.1 parent {} 0 no-query no-digest originserver round-robin name=p{peer} max-conn={cap}",
            peer + 8
        );
    }
    text
}

/// The numbers after a word that begins a line of `mgr:config`, all of its lines.
fn in_force(dump: &str, name: &str) -> Vec<i64> {
    let lines = dump.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    lines.filter_map(|rest| rest.split_ascii_whitespace().next()?.parse().ok()).collect()
}

/// What genkai reads beside what a running Squid has in force (`mgr:config`), by name.
fn read_and_running(explained: &Explanation, dump: &str) -> Vec<(String, Option<f64>, Option<f64>)> {
    let running = |name: &str| in_force(dump, name).last().map(|number| *number as f64);
    let law = |id: &str| explained.limits.iter().find(|limit| limit.id == id).map(|limit| &limit.law);
    let slots = |id: &str| match law(id) {
        Some(Law::Slots { value, pools, .. }) => Some(value * pools),
        _ => None,
    };
    let timer = |name: &str| explained.timers.iter().find(|one| one.setting == name).and_then(|one| one.span);
    let mut all: Vec<_> =
        NAMES.map(|name| (name.to_owned(), timer(name).map(|span| span.as_secs_f64().trunc()), running(name))).to_vec();
    // One more is let in than the number says, and a negative one lets all in.
    let of_one = running("client_ip_max_connections").filter(|most| *most >= 0.0).map(|most| most + 1.0);
    all.push(("client_ip_max_connections".to_owned(), slots("squid.client_ip_max_connections"), of_one));
    let body = match law("squid.request_body_max_size") {
        Some(Law::BodySize { value }) => Some(*value),
        _ => None,
    };
    all.push(("request_body_max_size".to_owned(), body, running("request_body_max_size").filter(|bytes| *bytes > 0.0)));
    if let Some(descriptors) = running("max_filedescriptors").filter(|most| *most > 0.0) {
        all.push(("max_filedescriptors".to_owned(), slots("squid.max_filedescriptors"), Some(descriptors)));
    }
    let peers = dump.lines().filter(|line| line.starts_with("cache_peer "));
    let caps: Vec<f64> =
        peers.filter_map(|line| line.split_once("max-conn=")?.1.split(' ').next()?.parse().ok()).collect();
    all.push(("max-conn".to_owned(), slots("squid.max_conn"), (!caps.is_empty()).then(|| caps.iter().sum())));
    all
}

#[test]
fn what_a_running_squid_has_in_force_is_what_was_read() {
    if !installed() {
        return;
    }
    let mut draw = Draw::seeded(15);
    let total = count(16);
    let texts: Vec<String> = (0..total).map(|_| runnable(&mut draw)).collect();
    let (started, wrong) = judged(total, 4, |number| {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("squid.conf");
        fs::write(&file, format!("http_port 127.0.0.1:61812\nvisible_hostname localhost\n{}", texts[number])).unwrap();
        if refusal(&file).is_some() {
            return (false, None);
        }
        let squid = Squid::start(&texts[number]);
        let dump = Client::ask(squid.address, "/squid-internal-mgr/config").map(Client::text).unwrap_or_default();
        let all = read_and_running(&squid.explained(), &dump);
        let differ: Vec<_> = all.into_iter().filter(|(_, read, running)| read != running).collect();
        (true, (!differ.is_empty()).then(|| format!("--- {number}\n{}\ngenkai, Squid: {differ:?}", texts[number])))
    });
    println!("{total} configurations, {started} started, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(started * 4 >= total, "too few are accepted for the comparison to mean something");
}
