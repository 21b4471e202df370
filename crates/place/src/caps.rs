//! What this machine lets a server have.

use std::fs;

use genkai_model::event::Environment;
use genkai_model::limit::Ceiling;
use nix::sys::resource::{Resource, getrlimit};

/// linux/capability.h.
pub(crate) const CAP_SYS_RESOURCE: u32 = 24;

/// Caps that a server started by this process meets.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Soft limit on descriptors that a child inherits.
    pub descriptors: u64,
    /// Hard limit on descriptors that a child inherits.
    pub descriptors_hard: u64,
    /// The most descriptors that a server can give its workers.
    pub descriptors_ceiling: Ceiling,
    /// What `worker_processes auto` counts: cores online, whether or not they may be used.
    pub online: u32,
    /// Cores that the servers may use.
    pub cores: u32,
    /// net.core.somaxconn.
    pub somaxconn: u32,
    /// Local ports for outgoing connections, first and last.
    pub ports: (u16, u16),
}

impl Machine {
    /// The same for a server that inherits a soft limit of so many descriptors.
    pub fn inheriting(environment: &Environment, descriptors: u64) -> Machine {
        Machine { descriptors, ..Machine::of(environment) }
    }

    /// Reads what the environment does not hold already.
    pub fn of(environment: &Environment) -> Machine {
        let (soft, hard) =
            getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((environment.descriptors, environment.descriptors));
        let pinned = environment.pinning.as_ref().map(|p| p.servers.len() as u32);
        Machine {
            descriptors: soft,
            descriptors_hard: hard,
            descriptors_ceiling: ceiling(hard),
            online: online(),
            cores: pinned.unwrap_or(environment.cores).max(1),
            somaxconn: environment.somaxconn,
            ports: environment.ports,
        }
    }
}

/// Soft limit on descriptors that a server started now inherits.
pub fn descriptors() -> u64 {
    getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft)
}

/// A server's master raises the limit of its workers with setrlimit(2): beyond the hard limit only with CAP_SYS_RESOURCE,
/// never beyond fs.nr_open.
fn ceiling(hard: u64) -> Ceiling {
    let most = fs::read_to_string("/proc/sys/fs/nr_open").ok().and_then(|text| text.trim().parse::<u64>().ok());
    match most {
        Some(most) if may_raise() && most > hard => Ceiling { value: most as f64, by: format!("fs.nr_open {most}") },
        _ => Ceiling { value: hard as f64, by: format!("hard RLIMIT_NOFILE {hard}") },
    }
}

/// Whether this process (and so a server that it starts) has CAP_SYS_RESOURCE: proc(5), `CapEff`.
fn may_raise() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> CAP_SYS_RESOURCE & 1 == 1)
}

/// What `worker_processes auto` stands for here: sysconf(_SC_NPROCESSORS_ONLN), which nginx asks (src/os/unix/ngx_posix_init.c).
pub fn online() -> u32 {
    // SAFETY: a plain call without pointers.
    let cores = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u32::try_from(cores).unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ceiling_can_be_had() {
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        let ceiling = ceiling(hard);
        assert!(ceiling.value >= hard as f64);
        // A shell in our place may set it.
        let script = format!("ulimit -Hn {0} && ulimit -Sn {0} && ulimit -n", ceiling.value);
        let said = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), ceiling.value.to_string(), "{said:?}");
    }
}
