//! A started nginx: until it answers, while it serves, until nothing of it is left.

use std::net::SocketAddr;
use std::path::PathBuf;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::Binary;
use super::check::command;
use crate::nginx::evidence::{StubPage, Watch};
use genkai_place::process::{Child, Spawn};
use genkai_place::{PlaceError, process_tree, running};

/// Where a private copy's parts are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Folder of the copy; relative paths start here.
    pub prefix: PathBuf,
    /// Main configuration file of the copy.
    pub conf: PathBuf,
    /// Error log of the main context.
    pub error_log: PathBuf,
    /// Listener that the load goes to.
    pub address: SocketAddr,
    /// The status page, where nginx was built with it.
    pub page: Option<StubPage>,
    /// Soft limit on descriptors that it inherits.
    pub nofile: u64,
    /// Workers that its configuration asks for.
    pub workers: u32,
    /// Descriptors of a worker from which on another connection could hurt clients.
    pub crowded: u64,
}

/// A running nginx. Dropping it ends it.
pub type Running = running::Running<Watch>;

/// Starts nginx on the cores given and waits until its workers run and its listener accepts.
///
/// # Errors
/// [`PlaceError::Exited`] with its last words (a port that is taken among them), [`PlaceError::Silent`] when it does not
/// answer in 30 s.
pub fn start(binary: &Binary, site: &Site, cpus: Option<&[usize]>) -> Result<Running, PlaceError> {
    let spawn = Spawn {
        name: "nginx".to_owned(),
        cpus: cpus.map(<[usize]>::to_vec),
        log: Some(site.prefix.join("output.txt")),
        nofile: Some(site.nofile),
        user: None,
    };
    // Output of an earlier start must not be mistaken for this one's last words.
    let _ = std::fs::remove_file(site.prefix.join("output.txt"));
    let tail = genkai_place::tail::Tail::open(&site.error_log);
    let mut command = command(binary, &site.prefix, &site.conf);
    command.args(["-g", "daemon off; master_process on;"]);
    let mut child = Child::spawn(command, spawn)?;
    let workers = process_tree::ready(&mut child, site.address, site.workers, crate::nginx::evidence::workers)?;
    if let Some(cpus) = cpus {
        pin(&workers, cpus);
    }
    let watch = Watch::new(child.pid(), site.address, site.page.clone(), site.crowded, tail);
    Ok(Running::new(child, site.address, watch))
}

/// Puts workers back on the cores that the servers have: `worker_cpu_affinity` may have moved them off.
fn pin(workers: &[u32], cpus: &[usize]) {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        let _ = set.set(cpu);
    }
    for &worker in workers {
        let _ = sched_setaffinity(Pid::from_raw(worker as i32), &set);
    }
}

/// Process ids of the workers that live.
pub fn workers(running: &Running) -> Vec<u32> {
    crate::nginx::evidence::workers(running.pid())
}
