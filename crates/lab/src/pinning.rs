//! Which cores serve and which make load, so that one side's work is not the other's wait.

use genkai_model::event::Pinning;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

/// Cores this process may use, in order.
pub fn cores() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else { return vec![0] };
    (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).collect()
}

/// Shares `cores` out: a quarter, at least one, makes load; the rest serves. With a single core nothing can be pinned
/// apart.
pub fn share(cores: &[usize]) -> Option<Pinning> {
    if cores.len() < 2 {
        return None;
    }
    let client = (cores.len() / 4).max(1);
    let (servers, client) = cores.split_at(cores.len() - client);
    Some(Pinning { servers: servers.to_vec(), client: client.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_never_overlap_and_use_every_core() {
        assert_eq!(share(&[3]), None);
        for n in 2..40 {
            let all: Vec<usize> = (0..n).collect();
            let p = share(&all).unwrap();
            assert!(!p.client.is_empty() && !p.servers.is_empty());
            assert_eq!([p.servers, p.client].concat(), all);
        }
    }
}
