//! What this machine has for load tests: everything `genkai doctor` looks at.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use genkai_model::machine::Machine;
use nix::sys::resource::{Resource, getrlimit};

use crate::group::{self, groups};
use crate::machine::{available, environment};
use crate::ports_in_use::ports_in_use;
use crate::process::{Child, Signal, Spawn};
use crate::program::find;

/// A server that a survey looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its program.
    pub program: &'static str,
    /// The flag with which it tells its version.
    pub version: &'static [&'static str],
    /// Whether genkai can put it under test: Debian's package of that name is recommended when no such server is installed.
    pub testable: bool,
}

/// How long a program may take to tell its version.
const WITHIN: Duration = Duration::from_secs(3);

/// Looks at this machine and at the servers of `known` installed on it. Programs are asked for their versions; nothing is changed.
pub fn survey(known: &[Known]) -> Machine {
    let seen = environment(BTreeMap::new());
    let (descriptors, descriptors_hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or_default();
    let file_nr = numbers("/proc/sys/fs/file-nr");
    let (groups, servers) = (groups(), servers(known));
    let testable = || known.iter().filter(|server| server.testable).map(|server| server.program);
    Machine {
        kernel: seen.kernel,
        os: seen.os,
        root: nix::unistd::geteuid().is_root(),
        cores: seen.cores,
        cpu_quota: group::cpu_quota().map(|quota| quota.cores),
        memory: seen.memory,
        available: available().unwrap_or(0),
        memory_limit: groups.iter().filter_map(|group| group.memory_limit()).min().filter(|limit| *limit < seen.memory),
        descriptors,
        descriptors_hard,
        nr_open: number("/proc/sys/fs/nr_open").unwrap_or_default(),
        files: (file_nr.first().copied().unwrap_or(0), file_nr.get(2).copied().unwrap_or(0)),
        ports: seen.ports,
        ports_listening: ports_in_use(&[]).by_listeners,
        somaxconn: number("/proc/sys/net/core/somaxconn").unwrap_or_default(),
        syn_backlog: number("/proc/sys/net/ipv4/tcp_max_syn_backlog").unwrap_or_default(),
        tcp_mem: three("/proc/sys/net/ipv4/tcp_mem"),
        rmem: three("/proc/sys/net/ipv4/tcp_rmem"),
        wmem: three("/proc/sys/net/ipv4/tcp_wmem"),
        page: procfs::page_size(),
        conntrack: number("/proc/sys/net/netfilter/nf_conntrack_count")
            .zip(number("/proc/sys/net/netfilter/nf_conntrack_max")),
        packages: if testable().any(|program| servers.contains_key(program)) {
            Vec::new()
        } else {
            testable().map(str::to_owned).collect()
        },
        servers,
    }
}

fn numbers(path: &str) -> Vec<u64> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().map_while(|word| word.parse().ok()).collect()
}

fn number(path: &str) -> Option<u64> {
    numbers(path).first().copied()
}

fn three(path: &str) -> [u64; 3] {
    numbers(path).try_into().unwrap_or_default()
}

fn servers(known: &[Known]) -> BTreeMap<String, String> {
    let said = |server: &Known| Some((server.program.to_owned(), version(&find(server.program)?, server.version)?));
    known.iter().filter_map(said).collect()
}

/// What a program says of its version: the first word with a number and a dot in the first line that has one.
fn version(program: &Path, flags: &[&str]) -> Option<String> {
    let dir = tempfile::Builder::new().prefix("genkai-version-").tempdir().ok()?;
    let log = dir.path().join("said");
    let mut command = Command::new(program);
    command.args(flags);
    let spawn = Spawn { name: program.display().to_string(), log: Some(log.clone()), ..Spawn::default() };
    let mut child = Child::spawn(command, spawn).ok()?;
    let deadline = std::time::Instant::now() + WITHIN;
    while child.try_exited().is_none() && std::time::Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.stop(Signal::SIGKILL, Duration::ZERO);
    numbered(&String::from_utf8_lossy(&fs::read(log).ok()?))
}

/// A word without the name before its version: `name-1.2.3`.
fn alone(word: &str) -> &str {
    match word.split_once('-') {
        Some((name, rest)) if !name.is_empty() && name.chars().all(char::is_alphabetic) => rest,
        _ => word,
    }
}

fn numbered(said: &str) -> Option<String> {
    let words = said.lines().take(5).flat_map(|line| line.split(|c: char| c.is_whitespace() || "/=,(".contains(c)));
    let is_version = |word: &&str| {
        let word = word.trim_start_matches('v');
        word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.')
    };
    let word = words.map(alone).find(is_version)?;
    Some(word.chars().filter(|c| !c.is_control()).take(40).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        for (said, version) in [
            ("nginx version: nginx/1.22.1\n", Some("1.22.1")),
            ("Server version: Apache/2.4.62 (Debian)\nServer built: 2024-10\n", Some("2.4.62")),
            ("HAProxy version 2.6.12-1+deb12u1 2023/12/16 - https://haproxy.org/\n", Some("2.6.12-1+deb12u1")),
            ("varnishd (varnish-7.1.1 revision 7cee)\n", Some("7.1.1")),
            ("Redis server v=7.0.15 sha=00000000:0\n", Some("7.0.15")),
            ("v18.19.0\n", Some("v18.19.0")),
            ("what?", None),
        ] {
            assert_eq!(numbered(said).as_deref(), version, "{said}");
        }
    }

    #[test]
    fn this_machine_is_seen_whole() {
        let seen = survey(&[Known { program: "sh", version: &["--version"], testable: false }]);
        assert!(seen.cores > 0 && seen.memory >= seen.available && seen.available > 0, "{seen:?}");
        assert!(seen.descriptors > 0 && seen.descriptors <= seen.descriptors_hard, "{seen:?}");
        assert!(seen.ports.0 < seen.ports.1 && seen.somaxconn > 0 && seen.files.1 > seen.files.0, "{seen:?}");
        assert!(seen.tcp_mem[2] > 0 && seen.rmem[2] > 0 && seen.page.is_power_of_two(), "{seen:?}");
        assert!(seen.cpu_quota.is_none_or(|quota| quota > 0.0));
    }
}
