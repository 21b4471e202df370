//! HAProxy as a cache of small objects before one origin.

use std::fmt::Write as _;
use std::process::Command;

use genkai_model::cache::OwnCounts;

use super::evidence::Stat;
use crate::cache::counters::Counters;
use crate::cache::{Sandbox, Setup, largest, listed};
use crate::error::TargetError;
use genkai_place::account;
use genkai_place::scratch::Scratch;

/// Bytes of the megabytes that `total-max-size` counts in.
const MB: u64 = 1 << 20;
/// Largest `total-max-size` (configuration manual, section 6.2.1).
const MOST: u64 = 4095;
/// The statistics socket in its folder.
const SOCKET: &str = "s";
/// Name of the frontend.
const FRONTEND: &str = "web";

/// Objects in shared memory. The cache takes no object larger than 1/256 of its size and keeps none longer than 60 s by default
/// (`max-object-size`, `max-age`): the latter would empty it in the middle of a run.
pub(crate) fn setup(at: &Sandbox<'_>) -> Result<Setup, TargetError> {
    // The path of a Unix socket is short, that of a run's folder need not be.
    let folder = Scratch::short("genkai-haproxy-").map_err(TargetError::files(std::env::temp_dir()))?;
    if let Some((uid, gid)) = account::unprivileged() {
        account::give(folder.path(), uid, gid).map_err(TargetError::files(folder.path()))?;
    }
    let mut text = String::new();
    let size = (at.budget.memory.0 / MB).clamp(1, MOST);
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\
# A cache, written by genkai.
global
    stats socket {} mode 600 level admin
defaults
    mode http
    timeout connect 5s
    timeout client 50s
    timeout server 50s
cache objects
    total-max-size {size}
    max-age 3600
frontend {FRONTEND}
    bind {}
    http-request cache-use objects
    http-response cache-store objects
    default_backend site
backend site
    server origin {}
",
        folder.path().join(SOCKET).display(),
        at.listen,
        at.origin()
    );
    let file = at.write("haproxy.cfg", &text)?;
    let haproxy = |flag: &str| {
        let mut command = Command::new(at.program.path());
        command.arg(flag).arg("-f").arg(&file);
        command
    };
    let limit = largest(
        "haproxy.cache.max_object_size",
        "max-object-size",
        size * MB / 256,
        "HAProxy configuration manual, section 6.2.1: 1/256 of total-max-size by default",
    );
    let settings = listed(&text, folder.path());
    let counters = Counters::Socket { folder, name: SOCKET, ask: "show stat", read: counts };
    let setup = Setup::new(haproxy("-c"), haproxy("-db"), counters);
    Ok(Setup { settings, limits: vec![limit], ..setup })
}

/// `cache_lookups` and `cache_hits` of the frontend (management manual 9.1).
fn counts(answer: &str) -> Option<OwnCounts> {
    let stat = Stat::read(answer);
    let row = stat.row(FRONTEND, "FRONTEND")?;
    let (lookups, hits) = (row.get("cache_lookups"), row.get("cache_hits"));
    Some(OwnCounts { hits, misses: lookups.checked_sub(hits)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookups_that_found_nothing_are_misses() {
        let table = "# pxname,svname,stot,cache_lookups,cache_hits,\nweb,FRONTEND,9,8,3,\nsite,BACKEND,5,0,0,\n";
        assert_eq!(counts(table), Some(OwnCounts { hits: 3, misses: 5 }));
        assert_eq!(counts(""), None);
    }
}
