//! A HAProxy that somebody else started: the configuration that it was started with.

use std::path::PathBuf;

use super::lifecycle::LOOKUP;
use crate::product::alike;
use crate::upstreams::Started;

/// Flags with a value that change what is in force: the most connections, the memory, a folder or prefix, names of peers.
const OTHERS: [&str; 5] = ["-n", "-N", "-m", "-C", "-L"];

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
        [one] if !words.iter().any(|word| word == "--") => without_variables(started.path(one)),
        [] => Err("its command line names no file (-f)".to_owned()),
        _ => Err("its configuration is in several files (-f), and a copy is made of one".to_owned()),
    }
}

/// The file, where nothing in it comes from the environment of its process (section 2.3 of the configuration manual), which a copy would not have.
fn without_variables(file: PathBuf) -> Result<PathBuf, String> {
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let used = text.lines().position(|line| line.split('#').next().unwrap_or_default().contains('$'));
    used.map_or(Ok(file), |line| Err(format!("line {} of its file uses a variable of its environment", line + 1)))
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
        for flag in ["-n", "-m"] {
            assert!(main(&format!("haproxy {flag} 100 -f a.cfg")).unwrap_err().contains("started with "), "{flag}");
        }
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("h.cfg");
        std::fs::write(&file, "global\n # $not\n maxconn \"$MAXCONN\"\n").unwrap();
        assert!(
            main(&format!("haproxy -f {}", file.display())).unwrap_err().contains("line 3 of its file uses a variable")
        );
        assert!(main("haproxy").is_err());
    }
}
