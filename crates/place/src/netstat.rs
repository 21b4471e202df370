//! What the kernel counts of TCP in this network namespace since boot, all sockets together: /proc/net/netstat.

use std::fs;

/// The counters at one moment.
#[derive(Debug)]
pub(crate) struct Netstat(String);

impl Netstat {
    /// Reads them; none is known where they cannot be read.
    pub(crate) fn now() -> Netstat {
        Netstat(fs::read_to_string("/proc/net/netstat").unwrap_or_default())
    }

    /// A counter of the group TcpExt by its name there.
    pub(crate) fn tcp(&self, name: &str) -> Option<f64> {
        counter(&self.0, "TcpExt:", name)
    }
}

/// A counter of a line of names, then one of values, both led by `group`.
fn counter(text: &str, group: &str, name: &str) -> Option<f64> {
    let mut lines = text.lines().filter(|line| line.starts_with(group));
    let at = lines.next()?.split_whitespace().position(|word| word == name)?;
    lines.next()?.split_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_by_name() {
        let text = "TcpExt: A ListenOverflows ListenDrops\nTcpExt: 1 22 333\nIpExt: ListenDrops\nIpExt: 4\n";
        assert_eq!(counter(text, "TcpExt:", "ListenDrops"), Some(333.0));
        assert_eq!(counter(text, "TcpExt:", "Missing"), None);
        assert_eq!(counter("", "TcpExt:", "ListenDrops"), None);
    }
}
