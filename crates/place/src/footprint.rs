//! What a process and everything it started have used since they began, and what they have.

use procfs::page_size;

use crate::usage::{cpu_seconds, members};

/// Sums over a tree of processes. Processor time and bytes of those that have ended are not in them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Footprint {
    /// Processor time, seconds.
    pub cpu: f64,
    /// Resident memory, bytes; shared pages count for each process.
    pub rss: u64,
    /// The same with shared pages divided (`Pss` of smaps_rollup, proc(5)); none when one of them may not be looked into.
    pub pss: Option<u64>,
    /// Bytes fetched from storage (`read_bytes` of /proc/PID/io); none when one of them may not be looked into.
    pub read: Option<u64>,
    /// Bytes sent towards storage (`write_bytes`).
    pub written: Option<u64>,
}

/// The tree that begins with `root`.
pub fn of(root: u32) -> Footprint {
    let mut all = Footprint { pss: Some(0), read: Some(0), written: Some(0), ..Footprint::default() };
    for (process, stat) in members(root as i32) {
        all.cpu += cpu_seconds(&stat);
        all.rss += stat.rss * page_size();
        let io = process.io().ok();
        all.read = all.read.zip(io.as_ref()).map(|(sum, io)| sum + io.read_bytes);
        all.written = all.written.zip(io.as_ref()).map(|(sum, io)| sum + io.write_bytes);
        if let Some(sum) = all.pss {
            let rollup = process.smaps_rollup().ok();
            let own = rollup.and_then(|maps| maps.memory_map_rollup.into_iter().next());
            all.pss = own.and_then(|map| map.extension.map.get("Pss").copied()).map(|own| sum + own);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_used_something_and_shares_pages() {
        let text = "x".repeat(1 << 20);
        let mine = of(std::process::id());
        assert!(mine.cpu > 0.0 && mine.rss > text.len() as u64, "{mine:?}");
        assert!(mine.pss.is_none_or(|pss| pss > 0), "{mine:?}");
        assert_eq!(
            of(u32::MAX >> 2),
            Footprint { pss: Some(0), read: Some(0), written: Some(0), ..Footprint::default() }
        );
    }
}
