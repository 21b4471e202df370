//! A started httpd: until it answers, while it serves, until nothing of it is left.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::{Binary, command};
use crate::apache::evidence::{Watch, children};
use genkai_place::process::{Child, Spawn};
use genkai_place::tail::Tail;
use genkai_place::{PlaceError, process_tree, running};

/// Where a private copy's parts are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Folder of the copy.
    pub dir: PathBuf,
    /// Main configuration file of the copy.
    pub conf: PathBuf,
    /// Its error log.
    pub error_log: PathBuf,
    /// Listener that the load goes to.
    pub address: SocketAddr,
    /// The status page's listener.
    pub status: Option<SocketAddr>,
    /// Variables of its environment.
    pub environment: BTreeMap<String, String>,
    /// Soft limit on descriptors that it inherits.
    pub nofile: u64,
    /// Child processes that it starts with.
    pub children: u32,
}

/// A running httpd. Dropping it ends it.
pub type Running = running::Running<Watch>;

/// Starts httpd in the foreground on the cores given and waits until its children run and its listener accepts.
///
/// # Errors
/// [`PlaceError::Exited`] with its last words (a port that is taken among them), [`PlaceError::Silent`] when it does not
/// answer in 30 s.
pub fn start(binary: &Binary, site: &Site, cpus: Option<&[usize]>) -> Result<Running, PlaceError> {
    let output = site.dir.join("output.txt");
    let spawn = Spawn {
        name: "apache2".to_owned(),
        cpus: cpus.map(<[usize]>::to_vec),
        log: Some(output.clone()),
        nofile: Some(site.nofile),
        user: None,
    };
    // Output of an earlier start must not be mistaken for this one's last words.
    let _ = std::fs::remove_file(output);
    let tail = Tail::open(&site.error_log);
    let mut command = command(binary, &site.conf, &site.environment);
    command.args(["-D", "FOREGROUND"]);
    let mut child = Child::spawn(command, spawn)?;
    process_tree::ready(&mut child, site.address, site.children, children)?;
    let watch = Watch::new(child.pid(), site.address, site.status, tail);
    Ok(Running::new(child, site.address, watch))
}
