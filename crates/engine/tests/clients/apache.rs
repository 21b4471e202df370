//! The client against Apache.

use std::fs;
use std::process::Command;

use crate::product::case::{get, head, hold, post};
use crate::product::{Product, file, folder, on_a_port, render};
use genkai_model::error::ErrorKind;
use genkai_model::load::Arrivals;
use genkai_model::units::{Span, Spread};

const FILE: usize = 100_000;
const SCRIPTS: [&str; 13] = [
    "chunked",
    "echo",
    "no-content",
    "not-modified",
    "refused",
    "broken",
    "nph-bare",
    "nph-hints",
    "nph-extensions",
    "nph-folded",
    "nph-twice",
    "nph-short",
    "nph-silent",
];

fn apache(idle: &str) -> Product {
    on_a_port(|port| start(idle, port))
}

fn start(idle: &str, port: u16) -> Result<Product, String> {
    let folder = folder();
    for name in ["www", "cgi"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    for name in ["file", "gzip", "many", "old", "closing"] {
        fs::write(folder.path().join("www").join(name), "a line of the file;\n".repeat(FILE / 20)).unwrap();
    }
    for name in SCRIPTS {
        fs::copy(file("apache/cgi.sh"), folder.path().join("cgi").join(name)).unwrap();
    }
    let many: String = (0..200).map(|n| format!("Header set X-{n} {n}\n")).collect();
    let port_text = port.to_string();
    let words = [
        ("{PORT}", port_text.as_str()),
        ("{MODULES}", "/usr/lib/apache2/modules"),
        ("{MANY}", &many),
        ("{IDLE}", idle),
    ];
    let config = render("apache/apache.conf", folder.path(), "apache.conf", &words);
    let mut command = Command::new("/usr/sbin/apache2");
    command.arg("-DFOREGROUND").arg("-f").arg(config);
    Product::start(folder, &mut command, |_| Some(([127, 0, 0, 1], port).into()))
}

// One test: scripts are written, then executed, and no other thread may start a process in between.
#[test]
fn what_apache_answers() {
    let server = apache("5");
    hold(
        &server,
        [
            get("/file", 4),
            // The first request of a connection is no keep-alive request to Apache: five on each.
            get("/file?more", 11).over(3),
            head("/file?head", 4),
            head("/cgi/chunked?head", 3),
            get("/file?known", 4).header("If-Modified-Since", "Fri, 01 Jan 2038 00:00:00 GMT"),
            get("/absent", 4).fails(ErrorKind::Status4xx, 4),
            get("/many", 4),
            get("/file?cookie", 2).header("Cookie", &"x".repeat(9_000)).fails(ErrorKind::Status4xx, 2).over(2),
            get("/file?expect", 2).header("Expect", "miracles").fails(ErrorKind::Status4xx, 2).over(2),
            get("/closing", 3).over(3),
            // Answers as HTTP/1.0, to a request of HTTP/1.1.
            get("/old", 3).over(3),
        ],
    );
    scripts(&server);
    bodies(&server);
    drop(server);
    idle();
}

fn scripts(server: &Product) {
    hold(
        server,
        [
            get("/cgi/chunked", 3),
            get("/cgi/no-content", 4),
            get("/cgi/not-modified", 4),
            get("/cgi/refused", 4).fails(ErrorKind::Status4xx, 4),
            get("/cgi/broken", 2).fails(ErrorKind::Status500, 2).over(2),
            get("/cgi/nph-bare", 3).over(3),
            get("/cgi/nph-hints", 3).over(3),
            get("/cgi/nph-extensions", 3).over(3),
            get("/cgi/nph-folded", 1),
            get("/cgi/nph-twice", 2).over(2),
            get("/cgi/nph-short", 2).fails(ErrorKind::Truncated, 2).over(2),
            get("/cgi/nph-silent", 2).fails(ErrorKind::EofNew, 2).over(2),
        ],
    );
}

fn bodies(server: &Product) {
    let seen = get("/gzip", 3).header("Accept-Encoding", "gzip").holds(server);
    assert!(seen.sum(|t| t.bytes_in) < 3 * FILE as u64 / 4, "compressed and left so: {}", seen.sum(|t| t.bytes_in));
    let seen = post("/cgi/echo", 4, 300_000).holds(server);
    assert!(seen.sum(|t| t.bytes_in) > 4 * 300_000, "all of it, and back");
    hold(
        server,
        [
            post("/cgi/echo?expected", 4, 1_000).header("Expect", "100-continue"),
            post("/small", 2, 64 << 20).fails(ErrorKind::Status413, 2).over(2),
            post("/small?expected", 2, 2_000).header("Expect", "100-continue").fails(ErrorKind::Status413, 2).over(2),
            post("/small?enough", 4, 900),
        ],
    );
}

/// The server ends idle connections while their user thinks.
fn idle() {
    let server = apache("50ms");
    let think = Spread::Constant(Span::from_millis(250));
    let load = get("/file", 3).with(|load| load.arrivals = Arrivals::Users { count: 1, spawn_rate: 1.0, think });
    assert_eq!(load.over(3).holds(&server).sum(|t| t.closed_idle), 2);
}
