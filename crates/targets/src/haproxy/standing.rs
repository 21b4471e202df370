//! A HAProxy that somebody else started: the configuration that it was started with.

use std::path::PathBuf;

use super::lifecycle::LOOKUP;
use crate::product::alike;
use crate::upstreams::Started;

/// Flags with a value that change what is in force: the most connections, a folder or prefix, names of peers.
const OTHERS: [&str; 4] = ["-n", "-N", "-C", "-L"];

/// Process `pid` as HAProxy's, or as a worker of its master.
pub(super) fn started(pid: u32) -> Option<Result<PathBuf, String>> {
    let started = Started::of(pid);
    LOOKUP.names.contains(&started.program.as_str()).then(|| alike(pid).and_then(|()| main(&started)))
}

/// Its one file.
fn main(started: &Started) -> Result<PathBuf, String> {
    if let Some(flag) = OTHERS.iter().find(|flag| started.words.iter().skip(1).any(|word| word == *flag)) {
        return Err(format!("it was started with {flag}, which a copy would not have"));
    }
    let words = &started.words;
    let given: Vec<&String> = words.windows(2).filter(|two| two[0] == "-f").map(|two| &two[1]).collect();
    match given[..] {
        [one] if !words.iter().any(|word| word == "--") => Ok(started.path(one)),
        [] => Err("its command line names no file (-f)".to_owned()),
        _ => Err("its configuration is in several files (-f), and a copy is made of one".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_is_read_and_what_else_decides_is_told() {
        let main = |line: &str| main(&Started::of_line(line));
        assert_eq!(
            main("/usr/sbin/haproxy -Ws -f /etc/haproxy/haproxy.cfg -p /run/h.pid"),
            Ok("/etc/haproxy/haproxy.cfg".into())
        );
        assert!(main("haproxy -f a.cfg -f b.cfg").unwrap_err().contains("several files"));
        assert!(main("haproxy -n 100 -f a.cfg").unwrap_err().contains("started with -n"));
        assert!(main("haproxy").is_err());
    }
}
