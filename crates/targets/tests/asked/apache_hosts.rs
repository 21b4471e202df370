//! Which virtual host answers for a name: generated listeners, addresses, names and aliases, against `-D DUMP_VHOSTS` (the default of each
//! address) and a running Apache, whose hosts say who they are.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use genkai_targets::apache::config::{Config, Reading};
use genkai_targets::apache::route::Route;
use genkai_targets::explain::Requests;

use super::loads::{Server, free};
use super::random::Random;
use super::{agree, is_installed, seed, started};

const MODULES: &str = "/usr/lib/apache2/modules";
const NAMES: [&str; 5] = ["one.example", "two.example", "www.one.example", "localhost", "a.two.example"];
const ALIASES: [&str; 6] = ["*.one.example", "www.*", "w?w.one.example", "b.example ONE.example", "*", "?.two.example"];
const ASKED: [&str; 9] = [
    "localhost",
    "one.example",
    "WWW.one.example",
    "two.example",
    "a.two.example",
    "www.other",
    "b.example",
    "nobody",
    "one.example:8080",
];

fn made(random: &mut Random, dir: &Path, ports: [u16; 2]) -> String {
    let load = |name: &str| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n");
    let modules = ["mpm_event", "authz_core", "alias"].map(load).concat();
    let user = if nix::unistd::geteuid().is_root() { "User www-data\nGroup www-data\n" } else { "" };
    let root = dir.display();
    let mut text = format!(
        "ServerRoot {root}\nPidFile {root}/pid\nErrorLog {root}/log\nDefaultRuntimeDir {root}\nServerName {}\n{modules}{user}StartServers \
         1\nRedirect /who http://v0/\n",
        random.pick(&NAMES)
    );
    for port in ports {
        text += &format!("Listen 127.0.0.1:{port}\n");
    }
    for number in 1..=random.below(5) {
        let port = ports[random.below(2)];
        let address = match random.below(6) {
            0 => format!("127.0.0.1:{port}"),
            1 => format!("_default_:{port}"),
            2 => format!("127.0.0.1:{} *:{}", ports[0], ports[1]),
            3 => format!("127.0.0.2:{port}"),
            _ => format!("*:{port}"),
        };
        text += &format!("<VirtualHost {address}>\n");
        if random.below(5) > 0 {
            let form = random.pick(&["", "", ":8080"]);
            text += &format!("ServerName {}{form}\n", random.pick(&NAMES));
        }
        if random.below(2) == 0 {
            text += &format!("ServerAlias {}\n", random.pick(&ALIASES));
        }
        text += &format!("Redirect /who http://v{number}/\n</VirtualHost>\n");
    }
    text
}

/// Who answers: the number of the virtual host; 0: the main server.
fn who(port: u16, host: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    write!(stream, "GET /who HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text.split_once("Location: http://v")?.1.split('/').next()?.to_owned())
}

/// Lines of `-D DUMP_VHOSTS` that name a place in the file: those of hosts that answer.
fn listed(main: &Path) -> Vec<usize> {
    let out = Command::new("apache2").arg("-t").arg("-f").arg(main).args(["-D", "DUMP_VHOSTS"]).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let of = |line: &str| line.rsplit_once(':')?.1.trim_end_matches(')').parse().ok();
    text.lines().filter_map(of).collect()
}

fn differences(random: &mut Random, dir: &Path) -> (Vec<String>, String) {
    let (main, ports) = (dir.join("httpd.conf"), [free().port(), free().port()]);
    let text = made(random, dir, ports);
    std::fs::write(&main, &text).unwrap();
    let reading = Reading { root: dir.to_owned(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
    let config = Config::read(&main, reading).unwrap();
    let _server = Server::start("apache2", &["-f", main.to_str().unwrap(), "-D", "FOREGROUND"]);
    let end = Instant::now() + Duration::from_secs(60);
    while who(ports[1], "x").is_none() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    let (mut all, listed) = (Vec::new(), listed(&main));
    for host in ASKED {
        let route = Route::find(&config, &Requests::to(host, "/who")).unwrap();
        let mine = config.found().iter().rfind(|f| f.name == "redirect" && f.host() == route.host);
        let mine =
            mine.and_then(|f| f.arg(1)).map(|url| url.trim_start_matches("http://v").trim_end_matches('/').to_owned());
        let theirs = who(route.listen.port, host);
        if mine != theirs {
            all.push(format!("{host} at {}: genkai {mine:?}, Apache {theirs:?}", route.listen.port));
        }
        if let Some(at) = route.host.map(|at| config.found()[at].line).filter(|line| !listed.contains(line)) {
            all.push(format!("{host}: the host of line {at} is not among those of DUMP_VHOSTS {listed:?}"));
        }
    }
    (all, text)
}

#[test]
fn the_virtual_host_that_answers_is_the_one_that_was_read() {
    if !is_installed("apache2") {
        return;
    }
    let (count, mut wrong) = (started(6), Vec::new());
    for number in 0..count {
        let mut random = Random::of(seed() + 5, number);
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let (found, text) = differences(&mut random, dir.path());
        if !found.is_empty() {
            wrong.push(format!("number {number}\n{}\n{text}", found.join("\n")));
        }
    }
    agree("virtual hosts of apache", count, count, &wrong);
}
