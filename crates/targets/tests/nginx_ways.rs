//! Where genkai says that a request goes, and which limit it meets there, against a running nginx, over generated servers: `rewrite`, `if`,
//! `return`, `try_files`, `error_page`, `internal`, named locations. Seeded; `GENKAI_DIFFERENTIAL` is how many servers there are.
//!
//! Each location has a `limit_req` with a status of its own that lets one request in, and a header that names it: the first request for a path
//! shows who answers, the second who refuses.

mod differential;
mod stage;

use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use genkai_model::limit::Origin;
use genkai_place::listener;
use genkai_place::process::{Child, Signal, Spawn};
use genkai_targets::nginx::config::{Config, Found, Refusal};
use genkai_targets::nginx::limits::{Facts, Machine, Reading};

use differential::{Draw, count};
use stage::{Backend, Client, environment, eventually};

const LOCATIONS: [&str; 12] = [
    "/",
    "/a/",
    "= /a/x",
    "~ \\.php$",
    "^~ /s/",
    "/in",
    "/in/",
    "@n1",
    "@n2",
    "~ /\\.(?!well-known).*",
    "~ \"^/([a-z])\\1\"",
    "~* ^/A/(?=Y)",
];
const TARGETS: [&str; 8] = ["/in", "/a/x", "/in/z", "/b.php", "@n1", "@n2", "/s/q?a=1", "/a/$arg_b"];
const ASKED: [&str; 14] = [
    "/",
    "/a/x",
    "/a/y?a=1",
    "/a/y?b=x",
    "/s/x.php",
    "/b.php",
    "/in",
    "/in/?a=1&b=y",
    "/zz?a=2",
    "/.well-known/x",
    "/.git/x",
    "/a//x",
    "/s/../in/%7a",
    "/%61/./y/",
];
const CONDITIONS: [&str; 14] = [
    "$uri ~ \"^/(?!a/)\"",
    "$request_uri ~* \"(?<=/)A(?!/x)\"",
    "$arg_a = 1",
    "$arg_a",
    "$uri ~ ^/(a|s)/",
    "$v = here",
    "$host != localhost",
    "$request_uri ~* \"B\"",
    "!-f $request_filename",
    "$scheme = https",
    "$arg_a = \"\"",
    "$arg_b != ''",
    "$V != \"\"",
    " $ARG_a ~ (.) ",
];

/// A change of the path.
fn rewrite(draw: &mut Draw) -> String {
    let pattern = draw.of(&["^", "^/a/(.*)$", "^/(in|zz)", "\\.php$", "^/s/", "^/(?!a|in|b)", "^/(.)\\1"]);
    let to = draw.of(&["/in", "/in/$1", "/b.php", "/s/q?c=1", "/a/x?", "/zz/$arg_a"]);
    format!("rewrite {pattern} {to} {};\n", draw.of(&["last", "break", "", "redirect", "last"]))
}

/// What ends a request in the phase of rewriting.
fn returned(draw: &mut Draw) -> &'static str {
    draw.of::<&'static str>(&[
        "return 404;\n",
        "return 200 x;\n",
        "return 418;\n",
        "return 301 /x;\n",
        "return 503;\n",
        "return 403 x;\n",
    ])
}

fn condition(draw: &mut Draw) -> String {
    let inside = match draw.below(5) {
        0 => returned(draw).to_owned(),
        1 | 2 => rewrite(draw),
        3 => "set $v here;\n".to_owned(),
        _ => "break;\n".to_owned(),
    };
    format!("if ({}) {{\n{inside}}}\n", draw.of(&CONDITIONS))
}

fn error_page(draw: &mut Draw) -> String {
    let how = draw.of(&["", "=", "=200", "=429", "=302"]);
    format!(
        "error_page {} {how} {};\n",
        draw.of(&["404", "418", "451 452 453", "404 503 454", "455 456 403"]),
        draw.of(&TARGETS)
    )
}

fn location(draw: &mut Draw, name: &str, number: usize, backend: SocketAddr) -> String {
    let mut text = format!("location {name} {{\nadd_header X-Location {number} always;\n");
    if draw.below(10) < 6 {
        let _ = writeln!(text, "limit_req zone=z{number};\nlimit_req_status {};", 451 + number);
    }
    for _ in 0..draw.below(3) {
        match draw.below(8) {
            0 | 1 => text += &rewrite(draw),
            2 | 3 => text += &condition(draw),
            4 => text += "set $v here;\n",
            5 => text += &error_page(draw),
            6 if !name.starts_with('@') => text += "internal;\n",
            _ => {}
        }
    }
    text += &match draw.below(8) {
        0 => returned(draw).to_owned(),
        1 | 2 => format!("try_files /none {};\n", if draw.below(4) == 0 { "=404" } else { *draw.of(&TARGETS) }),
        3 => String::new(),
        _ => format!("proxy_pass http://{backend};\n"),
    };
    text + "}\n"
}

/// A server and its port.
fn server(draw: &mut Draw, dir: &Path, backend: SocketAddr) -> (String, SocketAddr) {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let at = dir.display();
    let mut text = format!(
        "worker_processes 1;\npid {at}/pid;\nerror_log {at}/error.log crit;\nevents {{ }}\nhttp {{\naccess_log off;\n"
    );
    for module in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        let _ = writeln!(text, "{module}_temp_path {at}/{module};");
    }
    for number in 0..=LOCATIONS.len() {
        let _ = writeln!(text, "limit_req_zone $request_uri zone=z{number}:1m rate=1r/m;");
    }
    let _ = writeln!(text, "server {{\nlisten {address};\nserver_name localhost;\nroot {at}/none;\nset $v \"\";");
    for _ in 0..draw.below(3) {
        match draw.below(6) {
            0 => text += &rewrite(draw),
            1 => text += &condition(draw),
            2 => text += &error_page(draw),
            3 => {
                let number = LOCATIONS.len();
                let _ = writeln!(text, "limit_req zone=z{number};\nlimit_req_status {};", 451 + number);
            }
            _ => {}
        }
    }
    for (number, name) in LOCATIONS.iter().enumerate() {
        // Named ones must be there, as they are named elsewhere.
        if name.starts_with('@') || *name == "/" || draw.below(3) > 0 {
            text += &location(draw, name, number, backend);
        }
    }
    (text + "}\n}\n", address)
}

fn facts(config: &Config, path: &str, machine: &Machine) -> Facts {
    let route = config.route(Some("localhost"), path).unwrap();
    let origin = |_: &Found<'_>| Origin::Given;
    Reading {
        config,
        route,
        origin: &origin,
        version: (1, 22, 1),
        machine,
        status: None,
        visitor: Some([127, 0, 0, 1].into()),
        headers: None,
        body: (0, 0),
        absent: &|_| false,
    }
    .facts()
}

/// Status and the location that answered.
fn answer(address: SocketAddr, path: &str) -> (u16, Option<usize>) {
    let text = Client::ask(address, path).unwrap().text();
    let status = text.get(9..12).and_then(|status| status.parse().ok()).unwrap_or(0);
    let named = text.lines().find_map(|line| line.strip_prefix("X-Location: "));
    (status, named.and_then(|number| number.trim().parse().ok()))
}

/// Differences between what is read and what a running nginx does, and how many things were compared.
fn differences(text: &str, address: SocketAddr, dir: &Path, machine: &Machine) -> Option<(Vec<String>, usize)> {
    let file = dir.join("nginx.conf");
    std::fs::write(&file, text).unwrap();
    let tested = Command::new("nginx").args(["-t", "-q", "-p"]).arg(dir).arg("-c").arg(&file).output().unwrap();
    if !tested.status.success() {
        return None;
    }
    let config = Config::read(&file, Path::new("/usr/share/nginx")).unwrap();
    let mut command = Command::new("nginx");
    command.arg("-p").arg(dir).arg("-c").arg(&file).args(["-e", "stderr", "-g", "daemon off;"]);
    let mut master = Child::spawn(command, Spawn { name: "nginx".to_owned(), ..Spawn::default() }).unwrap();
    eventually("it listens", || listener::queue(address).is_some());
    let (mut all, mut compared) = (Vec::new(), 0);
    for path in ASKED {
        let (facts, route) = (facts(&config, path, machine), config.route(Some("localhost"), path).unwrap());
        let (first, second) = (answer(address, path), answer(address, path));
        let Some(way) = route.ways.first().filter(|way| route.doubts.is_empty() && way.lost.is_none()) else {
            // Whoever refuses is among the limits, as one of which it is not known whether it counts them.
            let zones: Vec<String> = facts.limit_req.iter().map(|zone| zone.zone.clone()).collect();
            let refuses = (451..=451 + LOCATIONS.len() as u16).contains(&second.0) && first.0 != second.0;
            let zone = format!("z{}", second.0.wrapping_sub(451));
            if !refuses || text.contains("error_page") {
                continue;
            }
            compared += 1;
            if !zones.contains(&zone) {
                all.push(format!("{path}: {zone} refuses, and genkai has only {zones:?}: {:?}", route.doubts));
            }
            continue;
        };
        let mut hold = |what: &str, read: String, seen: String| {
            compared += 1;
            if read != seen {
                all.push(format!("{path}: {what}: genkai {read}, nginx {seen}\n    first {first:?}, second {second:?}, {way_status:?}", way_status = way.status));
            }
        };
        let last = way.handler.iter().rfind(|block| block.directive.is("location"));
        let number = last.and_then(|l| {
            l.inside().iter().find(|f| f.directive.is("add_header")).and_then(|f| f.arg(1)?.parse::<usize>().ok())
        });
        if way.pass().is_some() {
            hold("who answers", format!("{number:?}"), format!("{:?}", first.1));
        }
        match facts.limit_req.first().map(|zone| &zone.refusal) {
            None => hold("nobody refuses", format!("{first:?}"), format!("{second:?}")),
            // An error page that is a file is not there.
            Some(Refusal::Status(_)) if second.0 == 404 && text.contains("error_page") => {}
            Some(Refusal::Status(status)) => hold("who refuses", status.to_string(), second.0.to_string()),
            Some(Refusal::Elsewhere(_)) => hold("it is not refused", "true".to_owned(), (second.0 < 429).to_string()),
        }
    }
    master.stop(Signal::SIGTERM, Duration::from_secs(5));
    Some((all, compared))
}

#[test]
fn requests_go_where_they_were_followed_and_meet_the_limits_there() {
    let machine = Machine::of(&environment());
    let backend = Backend::start();
    let mut draw = Draw::seeded(14);
    let (total, mut started, mut compared, mut wrong) = (count(25), 0, 0, Vec::new());
    for number in 0..total {
        let dir = tempfile::tempdir().unwrap();
        let (text, address) = server(&mut draw, dir.path(), backend.address());
        let Some((found, so_many)) = differences(&text, address, dir.path(), &machine) else { continue };
        (started, compared) = (started + 1, compared + so_many);
        if !found.is_empty() {
            wrong.push(format!("--- {number}\n{text}\n{}", found.join("\n")));
        }
    }
    println!(
        "{total} servers, {started} started, {compared} statements compared, {} servers with differences",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared >= 5 * started && 2 * started >= total, "{compared} statements of {started} servers say little");
}
