//! What genkai reads from a configuration against what the server itself says of it, over generated configurations.
//!
//! A fixed sample runs by default; `GENKAI_DIFFERENTIAL=N` makes N of each product from the same seed, `GENKAI_DIFFERENTIAL_SEED` chooses
//! another. A product that is not installed is left out, with a word about it.

mod apache;
mod apache_hosts;
mod apache_members;
mod apache_said;
mod apache_ways;
mod held;
mod loads;
mod php_fpm;
mod random;
mod redis;
mod stock;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use genkai_model::explain::{Explanation, RemarkKind};
use genkai_model::limit::{Law, Limit};
use genkai_targets::catalog;
use genkai_targets::error::TargetError;
use genkai_targets::explain::Requests;

/// How many configurations of a product are made.
fn sample(short: u64) -> u64 {
    std::env::var("GENKAI_DIFFERENTIAL").ok().and_then(|n| n.parse().ok()).unwrap_or(short)
}

/// How many of those are started that are asked when they run: a quarter of what `GENKAI_DIFFERENTIAL` says.
fn started(short: u64) -> u64 {
    match sample(0) {
        0 => short,
        many => many / 4,
    }
}

/// How many systems are put under load for each kind of prediction: `GENKAI_DIFFERENTIAL_LOADS=N`.
fn loads(short: u64) -> u64 {
    std::env::var("GENKAI_DIFFERENTIAL_LOADS").ok().and_then(|n| n.parse().ok()).unwrap_or(short)
}

/// What they are made from.
fn seed() -> u64 {
    std::env::var("GENKAI_DIFFERENTIAL_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(20_261_123)
}

/// A backend that answers everything, with its mark.
fn backend() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.0 200 OK\r\nX-Backend: yes\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    address
}

fn is_installed(program: &str) -> bool {
    let there = std::env::var("PATH").unwrap_or_default().split(':').any(|dir| Path::new(dir).join(program).exists());
    if !there {
        genkai_tidy::noted::skipped(&format!("{program} is not installed"));
    }
    there
}

fn explained(product: &str, main: &Path, host: &str) -> Result<Explanation, TargetError> {
    catalog::explain(Some(product), main, &Requests::to(host, "/app/x"))
}

/// Whether genkai says that the server does not start: an error, or a remark in these words.
fn refused(explained: &Result<Explanation, TargetError>) -> Option<String> {
    match explained {
        Err(e) => Some(e.to_string()),
        Ok(e) => {
            let says = e.remarks.iter().find(|r| r.kind == RemarkKind::Unknown || r.text.contains("does not start"));
            says.map(|r| format!("{} {}", r.setting, r.text))
        }
    }
}

fn limit<'e>(explained: &'e Explanation, id: &str) -> Option<&'e Limit> {
    explained.limits.iter().find(|limit| limit.id == id)
}

/// Slots of a law in the unit of its clients.
fn slots(law: &Law) -> Option<f64> {
    match *law {
        Law::Slots { value, reserved, busy_cost, pools, .. } => Some(pools * (value - reserved) / busy_cost),
        Law::Workers { workers, .. } => Some(workers),
        Law::Backlog { value } => Some(value - 1.0),
        _ => None,
    }
}

/// Fails with the differences, the first of them whole.
fn agree(product: &str, made: u64, accepted: u64, differences: &[String]) {
    eprintln!("{product}: {made} configurations, {accepted} of them accepted, {} differences", differences.len());
    let shown: Vec<&str> = differences.iter().take(12).map(String::as_str).collect();
    assert!(differences.is_empty(), "{} of {made} differ:\n{}", differences.len(), shown.join("\n----\n"));
    assert!(accepted * 4 >= made, "too few configurations are accepted for the comparison to mean something");
}
