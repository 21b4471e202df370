//! The client against nginx.

use std::fs;
use std::process::Command;

use crate::product::case::{get, head, hold, post};
use crate::product::{Product, folder, on_a_port, render};
use genkai_model::error::ErrorKind;
use genkai_model::load::{Arrivals, Reuse};
use genkai_model::units::{Span, Spread};

const FILE: usize = 8_000;

fn nginx() -> Product {
    on_a_port(start)
}

fn start(port: u16) -> Result<Product, String> {
    let folder = folder();
    fs::create_dir(folder.path().join("www")).unwrap();
    fs::write(folder.path().join("www/file"), "a line of the file;\n".repeat(FILE / 20)).unwrap();
    let many: String = (0..200).map(|n| format!("add_header X-{n} {n};")).collect();
    let words = [("{PORT}", port.to_string()), ("{MANY}", many), ("{KILOBYTE}", "x".repeat(1024))];
    let words = words.each_ref().map(|(word, value)| (*word, value.as_str()));
    let config = render("nginx/nginx.conf", folder.path(), "nginx.conf", &words);
    let mut command = Command::new("/usr/sbin/nginx");
    command.arg("-e").arg("stderr").arg("-c").arg(config);
    Product::start(folder, &mut command, |_| Some(([127, 0, 0, 1], port).into()))
}

#[test]
fn what_nginx_answers() {
    let server = nginx();
    hold(
        &server,
        [
            get("/file", 6),
            head("/file?head", 6),
            get("/file?range", 4).header("Range", "bytes=0-9,20-29"),
            get("/file?known", 4).header("If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT"),
            get("/nothing", 4),
            // Refused, and the connection goes on.
            get("/absent", 4).fails(ErrorKind::Status4xx, 4),
            post("/file?post", 4, 20).fails(ErrorKind::Status4xx, 4),
            get("/unavailable", 4).fails(ErrorKind::Status503, 4),
            // Heads: many fields, long ones, and too much of either.
            get("/many", 4),
            get("/too-many", 4),
            get("/long", 4),
            get("/too-long", 2).fails(ErrorKind::TooLarge, 2).over(2),
            get("/file?cookie", 2).header("Cookie", &"x".repeat(9_000)).fails(ErrorKind::Status4xx, 2).over(2),
        ],
    );
}

#[test]
fn when_nginx_closes() {
    let server = nginx();
    hold(
        &server,
        [
            get("/three", 10).over(4),
            get("/closing", 3).over(3),
            get("/until-close", 3).header("Accept-Encoding", "gzip").over(3),
            get("/file?each", 3).with(|load| load.reuse = Reuse::PerRequest).over(3),
            get("/gone", 2).fails(ErrorKind::EofNew, 2).over(2),
        ],
    );
    let think = Spread::Constant(Span::from_millis(250));
    let seen = get("/idle", 3)
        .with(|load| load.arrivals = Arrivals::Users { count: 1, spawn_rate: 1.0, think })
        .over(3)
        .holds(&server);
    assert_eq!(seen.sum(|t| t.closed_idle), 2);
    let mut silent = genkai_model::histogram::empty();
    seen.ticks.iter().for_each(|tick| tick.kept_silent.add_to(&mut silent).unwrap());
    assert_eq!(silent.len(), 2, "each has the silence before its end");
    // Eight thousand bytes at a hundred a second.
    get("/drip", 2).timeout_ms(200).fails(ErrorKind::Timeout, 2).over(2).holds(&server);
}

#[test]
fn bodies_from_and_to_nginx() {
    let server = nginx();
    let seen = get("/gzip", 3).header("Accept-Encoding", "gzip").holds(&server);
    assert!(seen.sum(|t| t.bytes_in) < 3 * FILE as u64 / 2, "compressed and left so: {}", seen.sum(|t| t.bytes_in));
    hold(
        &server,
        [
            post("/continue", 3, 100_000).header("Expect", "100-continue"),
            post("/continue?plain", 3, 5_000_000),
            // Answered before the body is there: the answer counts, the connection with its rest unsent does not.
            post("/early", 2, 64 << 20).over(2),
            post("/early?small", 3, 100),
            post("/small", 2, 64 << 20).fails(ErrorKind::Status413, 2).over(2),
            post("/small?expected", 2, 2_000).header("Expect", "100-continue").fails(ErrorKind::Status413, 2).over(2),
        ],
    );
}
