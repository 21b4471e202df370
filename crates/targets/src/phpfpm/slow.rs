//! The slow log of a pool: of each request that takes longer than `request_slowlog_timeout`, where its script is in that moment
//! (sapi/fpm/fpm/fpm_php_trace.c):
//!
//! ```text
//! [25-Nov-2026 20:00:00]  [pool www] pid 4711
//! script_filename = /srv/index.php
//! [0x00007f0a1c213080] mysqli_query() /srv/lib/db.php:12
//! [0x00007f0a1c213020] page() /srv/index.php:4
//! ```

use std::path::PathBuf;

use genkai_place::tail::Tail;

/// It, followed from where it ended.
#[derive(Debug)]
pub(super) struct SlowLog {
    log: Tail,
    /// `[pool www] `, as the head of an entry has it.
    pool: String,
    entry: Entry,
}

/// How far an entry has been read.
#[derive(Debug)]
enum Entry {
    /// None is.
    None,
    /// Its head has come.
    Begun,
    /// Its script is known.
    Script(String),
}

impl SlowLog {
    /// That of a pool.
    pub(super) fn open(path: PathBuf, pool: &str) -> SlowLog {
        SlowLog { log: Tail::open(path), pool: format!("[pool {pool}] "), entry: Entry::None }
    }

    /// Where requests of the pool were that have become slow since: `mysqli_query() at /srv/lib/db.php:12 of /srv/index.php`.
    pub(super) fn places(&mut self) -> Vec<String> {
        let lines = self.log.lines();
        lines.iter().filter_map(|line| self.line(line)).collect()
    }

    fn line(&mut self, line: &str) -> Option<String> {
        // A head ends the entry before, whose trace may never have come.
        if line.contains(" [pool ") && !line.starts_with("[0x") {
            self.entry = if line.contains(&self.pool) { Entry::Begun } else { Entry::None };
            return None;
        }
        if let Some(script) = line.strip_prefix("script_filename = ") {
            if matches!(self.entry, Entry::Begun) {
                self.entry = Entry::Script(script.to_owned());
            }
            return None;
        }
        // The innermost call comes first; the others say how it was come to.
        let (_, call) = line.split_once("] ").filter(|_| line.starts_with("[0x"))?;
        let Entry::Script(script) = std::mem::replace(&mut self.entry, Entry::None) else { return None };
        let (function, place) = call.split_once(' ').unwrap_or((call, ""));
        Some(format!("{function} at {place} of {script}"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn of_each_slow_request_of_the_pool_the_innermost_call_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("slow.log");
        let mut file = std::fs::File::create(&path).unwrap();
        let mut slow = SlowLog::open(path, "www");
        let entry = |pool: &str, call: &str| {
            format!(
                "\n[25-Nov-2026 20:00:00]  [pool {pool}] pid 7\nscript_filename = /srv/a.php\n[0x00007f] {call}\n[0x00007e] page() /srv/a.php:4\n"
            )
        };
        write!(file, "{}{}", entry("www", "usleep() /srv/lib.php:2"), entry("other", "sleep() /srv/x.php:1")).unwrap();
        assert_eq!(slow.places(), ["usleep() at /srv/lib.php:2 of /srv/a.php"]);
        // One whose trace failed, and one of another pool's after it.
        let (failed, _) = entry("www", "").split_once("[0x").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        write!(file, "{failed}{}", entry("other", "sleep() /srv/x.php:1")).unwrap();
        assert!(slow.places().is_empty());
        // In the middle of an entry.
        let text = entry("www", "curl_exec() /srv/b.php:3");
        let (head, rest) = text.split_at(text.find("[0x").unwrap());
        write!(file, "{head}").unwrap();
        assert!(slow.places().is_empty());
        write!(file, "{rest}").unwrap();
        assert_eq!(slow.places(), ["curl_exec() at /srv/b.php:3 of /srv/a.php"]);
    }
}
