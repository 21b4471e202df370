//! Products as they run: started from a private copy, watched, changed and stopped.

mod absent;
mod apache;
mod cache_copies;
mod caches;
mod caddy;
mod nginx;
#[path = "../nginx_configs/mod.rs"]
mod nginx_configs;
mod nginx_copies;
#[path = "../stage/mod.rs"]
mod stage;
mod wordpress;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What files of a folder say, but for those of a private copy.
fn texts(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.ends_with("private") {
        } else if path.is_dir() {
            all.extend(texts(&path));
        } else {
            all.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    all
}

/// Waits for the end of a process.
fn gone(pid: u32) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while Path::new(&format!("/proc/{pid}")).exists() {
        assert!(Instant::now() < deadline, "process {pid} lives on");
        std::thread::sleep(Duration::from_millis(10));
    }
}
