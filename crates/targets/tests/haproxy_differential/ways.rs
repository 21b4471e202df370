//! Which server gets a request, by what genkai reads of conditions and rules, against a running HAProxy: each server is a frontend of the
//! same process that answers with its name.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use genkai_targets::files::Requests;
use genkai_targets::haproxy::config::{Config, Reading};
use genkai_targets::haproxy::route::Route;

use super::grammar::Random;
use super::{Running, SAMPLE, many, ports, taken, there};

const ASKED: [(&str, &str); 7] = [
    ("localhost", "/"),
    ("one.example", "/a/x.png?u=7"),
    ("Two.Example", "/a/"),
    ("two.example", "/b?u=8&v=1"),
    ("x.one.example", "/A/X.PNG"),
    ("other", "/c/d/a"),
    ("one.example:80", "/b"),
];
const CRITERIA: [&str; 29] = [
    "path /",
    "path /a/ /b",
    "path_beg /a",
    "path_beg -i /a /zz",
    "path_end .png",
    "path_sub x",
    "path_dir a",
    "path_reg -i ^/[ab]/",
    "path -m beg /b",
    "path,lower -m end .png",
    "hdr(host) -i one.example two.example",
    "hdr(host) localhost",
    "hdr_beg(host) x.",
    "hdr_end(host) .example",
    "hdr_dom(host) -i two",
    "req.hdr(Host) -m sub ne.ex",
    "method GET HEAD POST",
    "method PUT",
    "url_param(u) 7 9",
    "url_param(u) -m found",
    "req.hdr(host) -m found",
    "hdr(x-none) -m found",
    "path_dir c/d /A/",
    "path_dir b/ d/a",
    "hdr_dom(host) -i .Example",
    "hdr_dom(host) ne.example:80 one",
    "url_beg /a/x.png?",
    "always_true",
    "ssl_fc",
];
/// Names of the servers.
const SERVERS: [&str; 6] = ["b0/s0", "b0/s1", "b1/s0", "b1/s1", "b2/s0", "b2/s1"];

fn condition(random: &mut Random) -> String {
    let mut text = random.of(&["if", "if", "if", "unless"]).to_owned();
    for term in 0..1 + random.below(3) {
        if term > 0 && random.percent(40) {
            text += random.of(&[" or", " ||"]);
        }
        let not = if random.percent(25) { "!" } else { "" };
        let _ = match random.below(10) {
            0..=4 => write!(text, " {not}{{ {} }}", random.of(&CRITERIA)),
            5..=7 => write!(text, " {not}{}", random.of(&["x", "y"])),
            8 => write!(text, " {not}{}", random.of(&["TRUE", "FALSE", "METH_PUT", "HTTP_1.1"])),
            _ => write!(text, " {not}{{ src 10.0.0.0/8 }}"),
        };
    }
    text
}

fn acls(random: &mut Random) -> String {
    let mut text = String::new();
    for name in ["x", "y", "x"] {
        let _ = writeln!(text, "    acl {name} {}", random.of(&CRITERIA));
    }
    text
}

/// A rule of `http-request` that ends a request, or changes its path.
fn rule(random: &mut Random) -> String {
    let action = random.of(&[
        "deny",
        "return status 200",
        "redirect location /x",
        "allow",
        "set-path /b",
        "set-header x y",
        "set-header Host two.example",
        "set-query u=9",
        "tarpit",
    ]);
    format!("    http-request {action} {}\n", condition(random))
}

/// A line of a frontend by which HAProxy may refuse a connection, or answer, before the rules of requests.
fn before(random: &mut Random) -> String {
    match random.below(6) {
        0 => format!("    monitor-uri {}\n", random.of(&["/", "/b", "/a/x.png", "/a/x.png?u=7"])),
        1 => format!("    stats uri {}\n", random.of(&["/c", "/a/x", "/b?u"])),
        2 => format!("    tcp-request connection reject if {}\n", random.of(&["TRUE", "FALSE", "{ src 10.0.0.0/8 }"])),
        3 => "    tcp-request connection accept if TRUE\n    tcp-request connection reject\n".to_owned(),
        _ => {
            let action = random.of(&["reject", "accept"]);
            format!("    tcp-request content {action} {}\n", condition(random))
        }
    }
}

fn make(random: &mut Random, front: u16, servers: &[u16]) -> String {
    let mut text = format!(
        "global\n    maxconn 100\ndefaults\n    mode http\n    timeout connect 5s\n    timeout client 5s\n    timeout server 5s\n    timeout \
         tarpit 10ms\nfrontend f\n    bind 127.0.0.1:{front}\n"
    );
    text += &acls(random);
    if random.percent(30) {
        text += &before(random);
    }
    for _ in 0..random.below(2) {
        text += &rule(random);
    }
    for _ in 0..random.below(4) {
        let to = random.below(3);
        let _ = writeln!(text, "    use_backend b{to} {}", condition(random));
    }
    text += "    default_backend b0\n";
    for back in 0..3 {
        let _ = writeln!(text, "backend b{back}");
        text += &acls(random);
        if random.percent(20) {
            text += &rule(random);
        }
        for _ in 0..random.below(3) {
            let to = random.below(2);
            let _ = writeln!(text, "    use-server s{to} {}", condition(random));
        }
        let _ = writeln!(text, "    {}", random.of(&["balance roundrobin", "balance first", "option allbackups"]));
        for server in 0..2 {
            let rest = random.of(&["", "", " backup", " weight 0", " disabled"]);
            let _ = writeln!(text, "    server s{server} 127.0.0.1:{}{rest}", servers[back * 2 + server]);
        }
    }
    for (name, port) in SERVERS.iter().zip(servers) {
        let _ = write!(
            text,
            "frontend {}\n    bind 127.0.0.1:{port}\n    http-request return status 200 content-type text/plain string \"{name}\"\n",
            name.replace('/', "-")
        );
    }
    text
}

/// The name of the server that answers, or the status where none does.
fn answer(to: SocketAddr, host: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    // A connection that is refused takes no request.
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let _ = stream.write_all(request.as_bytes());
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body).trim();
    if SERVERS.contains(&body) { body.to_owned() } else { text.get(9..12).unwrap_or_default().to_owned() }
}

#[test]
fn requests_reach_the_servers_that_were_read() {
    if !there() {
        return;
    }
    let dir = tempfile::Builder::new().prefix("genkai-hw-").tempdir().unwrap();
    let (mut wrong, mut compared, mut open) = (Vec::new(), 0, 0);
    for seed in 0..if many() > SAMPLE { many() / 2 } else { 8 } {
        let (mut random, all) = (Random(seed + 1000), ports(8));
        let (path, socket) = (dir.path().join("x.cfg"), dir.path().join("s"));
        let _ = std::fs::remove_file(&socket);
        let text = make(&mut random, all[0], &all[1..7]).replacen(
            "global\n",
            &format!("global\n    stats socket {}\n", socket.display()),
            1,
        );
        std::fs::write(&path, &text).unwrap();
        assert!(taken(&path).0, "{}\n{text}", taken(&path).1);
        let config = Config::read(&path, Reading::here((2, 6, 12), ["OPENSSL".to_owned()].into())).unwrap();
        let _running = Running::start(Path::new(&path), &socket).expect("it starts");
        let to = SocketAddr::from(([127, 0, 0, 1], all[0]));
        for (host, path) in ASKED {
            let route = Route::find(&config, &Requests::to(host, path)).unwrap();
            if !route.doubts.is_empty() {
                open += 1;
                continue;
            }
            let back = route.back.map(|back| back.name.clone()).unwrap_or_default();
            let mut may: Vec<String> = route
                .servers(&config)
                .iter()
                .map(|s| format!("{back}/{}", s.found.arg(0).unwrap_or_default()))
                .collect();
            if route.answered.is_some() {
                may.clear();
            }
            let seen = answer(to, host, path);
            let reached = SERVERS.contains(&seen.as_str());
            compared += 1;
            if reached == may.is_empty() || reached && !may.contains(&seen) {
                wrong.push(format!("seed {seed}: {host} {path}: genkai {may:?}, HAProxy {seen}\n{text}"));
            }
        }
    }
    println!("{compared} requests compared, {open} not decided");
    assert!(compared >= open, "{compared} requests compared say little beside {open} that are not decided");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong[..wrong.len().min(5)].join("\n----\n"));
}
