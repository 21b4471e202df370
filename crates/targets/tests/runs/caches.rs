//! Every cache on the real product: empty at first, then full, by its own counters and by the origin's log.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use genkai_model::cache::OwnCounts;
use genkai_model::units::Bytes;
use genkai_targets::apache::origin::{Files, Origin};
use genkai_targets::cache::{Budget, counts};
use genkai_targets::catalog::caches::CACHES;

const OBJECTS: u32 = 12;

fn body(n: u32, out: &mut Vec<u8>) -> bool {
    out.clear();
    out.extend_from_slice(format!("object {n} ").repeat(300).as_bytes());
    true
}

/// The body of `path`, asked for on a connection of its own.
fn get(address: SocketAddr, path: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    let end = all.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_else(|| panic!("no head from {path}"));
    assert!(all.starts_with(b"HTTP/1.1 200"), "{path}: {}", String::from_utf8_lossy(&all[..end]));
    all.split_off(end + 4)
}

#[test]
fn a_cold_cache_asks_the_origin_for_each_object_and_a_warm_one_for_none() {
    let dir = tempfile::tempdir().unwrap();
    let files = Files::write(&dir.path().join("origin"), "/o/", OBJECTS, body).unwrap().unwrap();
    let mut origin = Origin::start(files, std::net::Ipv4Addr::LOCALHOST, None).unwrap();
    // A run's folder may be deep; the path of a Unix socket has at most 107 bytes.
    let deep = dir.path().join("genkai-runs/2026-11-23-03-20-00-reverse-proxy-cache/work-x7Qk2p/caches/turn-2-of-3");
    let budget = Budget { memory: Bytes(32 << 20), disk: Bytes(128 << 20) };
    for preset in CACHES {
        let name = preset.name;
        if let Err(e) = preset.installed() {
            genkai_tidy::noted::skipped(&e.to_string());
            continue;
        }
        let mut cache = preset
            .start(name, origin.address(), std::net::Ipv4Addr::LOCALHOST, budget, None, &deep.join(name))
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut due = Vec::new();
        let began = std::time::Instant::now();
        let (zero, mut at_origin) = counts(Some(&mut cache), &mut || origin.served(), true).unwrap();
        for (hits, misses) in [(0, u64::from(OBJECTS)), (u64::from(OBJECTS), 0)] {
            let before = counts(Some(&mut cache), &mut || origin.served(), true).unwrap().0.unwrap();
            for n in 0..OBJECTS {
                body(n, &mut due);
                let came = get(cache.address(), &format!("/o/{n}"));
                // Some answer 1.1 requests in chunks.
                assert!(came.windows(due.len()).any(|part| part == due), "{name}: object {n}: {} bytes", came.len());
            }
            let (counted, served) = counts(Some(&mut cache), &mut || origin.served(), true).unwrap();
            let counted = counted.unwrap().since(before);
            assert_eq!(counted, OwnCounts { hits, misses }, "{name}, after {zero:?}");
            assert_eq!(served - at_origin, misses, "{name}: requests at the origin");
            at_origin = served;
        }
        let foot = cache.footprint();
        assert!(foot.cpu > 0.0 && foot.rss > 1 << 20, "{name}: {foot:?}");
        let entry = cache.entry().clone();
        assert!(!entry.version.is_empty() && entry.settings.len() > 3, "{name}: {entry:?}");
        eprintln!(
            "{name} {}: up after {}, {:?}, then {:?}",
            entry.version,
            entry.started,
            cache.store(),
            began.elapsed()
        );
    }
}
