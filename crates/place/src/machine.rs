//! What this machine is: the environment that a record carries, and the cores there are.

use std::collections::BTreeMap;
use std::fs;

use genkai_model::event::Environment;
use nix::sys::resource::{Resource, getrlimit};

use crate::group;

/// The machine, for the head of a record. What cannot be read is empty or zero. `pinning` is the caller's to fill in.
pub fn environment(versions: BTreeMap<String, String>) -> Environment {
    let (descriptors, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or_default();
    Environment {
        kernel: kernel(),
        os: field(&read("/etc/os-release"), "PRETTY_NAME", '=').unwrap_or_default().trim_matches('"').to_owned(),
        cpu: processor(),
        cores: cores().len() as u32,
        memory: memory(),
        descriptors,
        ports: local_ports(),
        somaxconn: read("/proc/sys/net/core/somaxconn").trim().parse().unwrap_or_default(),
        versions,
        pinning: None,
        cpu_quota: group::cpu_quota().map(|quota| quota.cores),
    }
}

/// Local ports for outgoing connections, both ends included (`net.ipv4.ip_local_port_range`).
pub fn local_ports() -> (u16, u16) {
    let text = read("/proc/sys/net/ipv4/ip_local_port_range");
    let mut numbers = text.split_whitespace().map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// Hard limit on descriptors of this process: as many as a child can get without privilege.
pub fn hard_descriptors() -> u64 {
    getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(_, hard)| hard)
}

/// The cores this process may use, ascending (sched_getaffinity(2)): those of the whole process, even when the calling
/// thread is pinned to fewer.
pub fn cores() -> Vec<usize> {
    // SAFETY: an all-zero cpu_set_t is a valid empty set, and the kernel writes at most its size.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let pid = std::process::id() as libc::pid_t;
        if libc::sched_getaffinity(pid, size_of::<libc::cpu_set_t>(), &raw mut set) != 0 {
            return vec![0];
        }
        set
    };
    // SAFETY: the index is below the set's size.
    (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}

/// Those cores as the kernel wants them; numbers it cannot hold are left out.
pub(crate) fn cpu_set(cpus: &[usize]) -> libc::cpu_set_t {
    // SAFETY: an all-zero cpu_set_t is a valid empty set; indices are below its size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for &cpu in cpus.iter().filter(|&&cpu| cpu < libc::CPU_SETSIZE as usize) {
            libc::CPU_SET(cpu, &mut set);
        }
        set
    }
}

fn kernel() -> String {
    let Ok(name) = nix::sys::utsname::uname() else { return String::new() };
    [name.sysname(), name.release(), name.machine()].map(|part| part.to_string_lossy()).join(" ")
}

/// `model name` on x86, `Model`/`Hardware` on some ARM boards; others say nothing.
fn processor() -> String {
    let text = read("/proc/cpuinfo");
    ["model name", "Model", "Hardware"].iter().find_map(|name| field(&text, name, ':')).unwrap_or_default().to_owned()
}

/// Bytes; /proc/meminfo counts in kB (1024 bytes, proc(5)).
fn memory() -> u64 {
    meminfo("MemTotal").unwrap_or(0)
}

/// Memory that could be had now without swapping, bytes (`MemAvailable`, proc(5)).
pub fn available() -> Option<u64> {
    meminfo("MemAvailable")
}

fn meminfo(name: &str) -> Option<u64> {
    let text = read("/proc/meminfo");
    let kilobytes: u64 = field(&text, name, ':')?.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

fn field<'a>(text: &'a str, name: &str, separator: char) -> Option<&'a str> {
    let values = text.lines().filter_map(|line| line.split_once(separator));
    values.filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim()).next()
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_described() {
        let versions = BTreeMap::from([("nginx".to_owned(), "1.22.1".to_owned())]);
        let machine = environment(versions.clone());
        assert!(machine.kernel.starts_with("Linux "), "{}", machine.kernel);
        assert!(machine.memory > 16 << 20, "{}", machine.memory);
        let status = read("/proc/self/status");
        let mask = field(&status, "Cpus_allowed", ':').unwrap().replace(',', "");
        let allowed: u32 = mask.chars().map(|digit| digit.to_digit(16).unwrap().count_ones()).sum();
        assert_eq!(machine.cores, allowed);
        assert!(machine.descriptors > 0 && machine.somaxconn > 0);
        assert!(machine.ports.0 > 0 && machine.ports.0 < machine.ports.1, "{:?}", machine.ports);
        assert!(!machine.os.contains('"'), "{}", machine.os);
        assert_eq!(machine.versions, versions);
    }

    #[test]
    fn a_set_holds_exactly_its_cores() {
        let set = cpu_set(&[0, 5, 1_000_000]);
        // SAFETY: indices below the set's size.
        let held: Vec<usize> = (0..64).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect();
        assert_eq!(held, [0, 5]);
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "model\t: 85\nmodel name\t: Some CPU @ 2 GHz: fast\n";
        assert_eq!(field(text, "model name", ':'), Some("Some CPU @ 2 GHz: fast"));
        assert_eq!(field(text, "name", ':'), None);
    }
}
