//! The client against Tomcat.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::product::case::{get, head, hold, post};
use crate::product::{Product, folder, render, said};
use genkai_model::error::ErrorKind;
use genkai_model::load::Arrivals;
use genkai_model::units::{Span, Spread};

/// Where the package tomcat10-common puts it.
const HOME: &str = "/usr/share/tomcat10";
/// Small enough to be compressed: what is sent by sendfile(2), from 48 KiB on, is not.
const FILE: usize = 40_000;

fn tomcat(idle: &str) -> Product {
    assert!(
        Path::new(HOME).join("bin/bootstrap.jar").exists(),
        "no Tomcat in {HOME}; `make packages-test` installs it"
    );
    let folder = folder();
    let base = folder.path();
    render("tomcat/server.xml", base, "conf/server.xml", &[("{IDLE}", idle)]);
    render("tomcat/web.xml", base, "conf/web.xml", &[]);
    render("tomcat/quirks.jsp", base, "www/quirks.jsp", &[]);
    for (name, times) in [("file.css", FILE / 20), ("large.css", 50_000)] {
        fs::write(base.join("www").join(name), "a line of the file;\n".repeat(times)).unwrap();
    }
    fs::create_dir(base.join("temp")).unwrap();
    let mut command = Command::new("java");
    // For a quick start: the first compiler only, one collector thread, the archive of classes.
    command.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx128m"]);
    command
        .arg("-Djava.security.egd=file:/dev/urandom")
        .arg(format!("-Djava.io.tmpdir={}", base.join("temp").display()));
    command.arg(format!("-Dcatalina.home={HOME}")).arg(format!("-Dcatalina.base={}", base.display()));
    command.args(["-cp", &format!("{HOME}/bin/bootstrap.jar:{HOME}/bin/tomcat-juli.jar")]);
    command.args(["org.apache.catalina.startup.Bootstrap", "start"]);
    // Starting ProtocolHandler ["http-nio-127.0.0.1-auto-1-40123"]
    Product::start(folder, &mut command, |output| said(output.split("Starting ProtocolHandler").nth(1)?, "-auto-1-"))
        .unwrap()
}

#[test]
fn what_tomcat_answers() {
    let server = tomcat("20000");
    hold(
        &server,
        [
            // The first one compiles the page.
            get("/quirks.jsp", 1).timeout_ms(30_000),
            get("/quirks.jsp?hello", 5),
            get("/quirks.jsp?more", 12).over(3),
            get("/quirks.jsp?chunks", 5),
            get("/quirks.jsp?trailers", 5).header("TE", "trailers"),
            head("/quirks.jsp?head", 5),
            get("/quirks.jsp?nothing", 5),
            get("/quirks.jsp?not-modified", 5),
            get("/quirks.jsp?many", 5),
            get("/file.css", 5),
            get("/large.css", 5),
            head("/file.css?head", 5),
            get("/file.css?known", 5).header("If-None-Match", "*"),
            get("/file.css?range", 5).header("Range", "bytes=0-9,20-29"),
            // Errors: the connection goes on, but for some statuses after which Tomcat closes.
            get("/absent", 5).fails(ErrorKind::Status4xx, 5),
            post("/file.css?post", 5, 10),
            get("/quirks.jsp?teapot", 5).fails(ErrorKind::Status4xx, 5),
            get("/quirks.jsp?error", 2).fails(ErrorKind::Status503, 2).over(2),
            get("/quirks.jsp?thrown", 2).fails(ErrorKind::Status500, 2).over(2),
            get("/quirks.jsp?thrown-late", 2).fails(ErrorKind::Truncated, 2).over(2),
            get("/quirks.jsp?closing", 3).over(3),
            // A page that writes less than it announced: Tomcat keeps the connection all the same.
            get("/quirks.jsp?short", 2).timeout_ms(300).fails(ErrorKind::Timeout, 2).over(2),
        ],
    );
    bodies(&server);
}

fn bodies(server: &Product) {
    let seen = get("/file.css?gzip", 5).header("Accept-Encoding", "gzip").holds(server);
    assert!(seen.sum(|t| t.bytes_in) < 5 * FILE as u64 / 4, "compressed and left so: {}", seen.sum(|t| t.bytes_in));
    hold(
        server,
        [
            post("/quirks.jsp?echo", 3, 3_000_000),
            post("/quirks.jsp?echo-expected", 3, 100_000).header("Expect", "100-continue"),
            // What it can swallow (maxSwallowSize) it does; more than that it leaves, and closes under it.
            post("/quirks.jsp?early-small", 5, 1_000),
            post("/quirks.jsp?early", 2, 64 << 20).over(2),
            post("/quirks.jsp?refused", 2, 64 << 20).fails(ErrorKind::Status413, 2).over(2),
            post("/quirks.jsp?refused-expected", 2, 1_000)
                .header("Expect", "100-continue")
                .fails(ErrorKind::Status413, 2)
                .over(2),
        ],
    );
}

#[test]
fn tomcat_closes_idle_connections() {
    let server = tomcat("50");
    let think = Spread::Constant(Span::from_millis(1_500));
    let load = get("/file.css", 2).with(|load| load.arrivals = Arrivals::Users { count: 1, spawn_rate: 1.0, think });
    assert_eq!(load.over(2).holds(&server).sum(|t| t.closed_idle), 1);
}
