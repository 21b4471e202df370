//! The client against Node's `http` and `net`.

use std::process::Command;

use crate::product::case::{get, head, hold, post};
use crate::product::{Product, file, folder, said};
use genkai_model::error::ErrorKind;
use genkai_model::load::Arrivals;
use genkai_model::units::{Span, Spread};

fn node(idle_ms: u32) -> Product {
    let folder = folder();
    let mut command = Command::new("node");
    command.arg(file("node/quirks.js")).arg(folder.path().join("access.log")).arg(idle_ms.to_string());
    Product::start(folder, &mut command, |output| said(output, "listening on port ")).unwrap()
}

#[test]
fn what_node_answers() {
    hold(
        &node(5_000),
        [
            get("/plain", 5),
            get("/plain?more", 12).over(3),
            get("/length", 5),
            get("/chunks", 5),
            get("/trailers", 5),
            get("/hints", 5),
            get("/gzip", 5).header("Accept-Encoding", "gzip"),
            head("/plain?head", 5),
            head("/chunks?head", 5),
            get("/nothing", 5),
            get("/not-modified", 5),
            get("/reset-content", 5),
            get("/teapot", 5).fails(ErrorKind::Status4xx, 5),
            get("/absent", 5).fails(ErrorKind::Status4xx, 5),
            get("/many", 5),
            get("/too-many", 5),
            get("/long", 5),
            get("/too-long", 2).fails(ErrorKind::TooLarge, 2).over(2),
            get("/folded", 1),
            // A byte more than its length says (a length in characters): the response counts, its connection is not used again.
            get("/characters", 2).over(2),
        ],
    );
}

#[test]
fn when_node_closes() {
    let server = node(5_000);
    hold(
        &server,
        [
            get("/closing", 3).over(3),
            get("/until-close", 3).over(3),
            get("/extensions", 3).over(3),
            get("/old", 3).over(3),
            get("/half", 2).fails(ErrorKind::Truncated, 2).over(2),
            get("/half-chunk", 2).fails(ErrorKind::Truncated, 2).over(2),
            get("/never", 2).timeout_ms(100).fails(ErrorKind::Timeout, 2).over(2),
        ],
    );
    let impatient = node(50);
    let think = Spread::Constant(Span::from_millis(2_000));
    let load = get("/plain", 2).with(|load| load.arrivals = Arrivals::Users { count: 1, spawn_rate: 1.0, think });
    assert_eq!(load.over(2).holds(&impatient).sum(|t| t.closed_idle), 1);
}

#[test]
fn bodies_to_node() {
    hold(
        &node(5_000),
        [
            post("/echo", 3, 3_000_000),
            post("/echo?expected", 3, 100_000).header("Expect", "100-continue"),
            post("/refusing", 2, 100).header("Expect", "100-continue").fails(ErrorKind::Status4xx, 2).over(2),
            post("/early", 2, 64 << 20).over(2),
            post("/deaf", 2, 64 << 20).fails(ErrorKind::Status413, 2).over(2),
            post("/rude", 2, 64 << 20).fails(ErrorKind::Status413, 2).over(2),
        ],
    );
}
