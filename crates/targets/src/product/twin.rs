//! A product that stands behind another and was not started by genkai, run a second time from the same files, so that its settings can be
//! tried while the user's goes on untouched.

use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use genkai_model::event::{Change, Environment, Rewrite};
use genkai_model::limit::{Limit, Origin};
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;
use genkai_place::group;
use genkai_place::process::Child;

use super::{Cost, Served};
use crate::error::TargetError;
use crate::files::{Backup, Edited, Finished, Move};

/// Process `pid`, which listens at a place, as this product, to be run a second time from a folder. None: it is another product's. An error
/// says, in words, why it is not run a second time.
///
/// The last one: whether applications of the user's may be started a second time, with all that they do at start.
pub type TwinFn = fn(u32, &Endpoint, &Path, bool) -> Option<Result<Box<dyn Twin>, String>>;

/// A server of the user's, as genkai runs it again.
pub trait Twin: Debug {
    /// What people call it, in one word.
    fn product(&self) -> &'static str;

    /// Whom samples of it are of.
    fn subject(&self) -> &'static str {
        "copy"
    }

    /// The same which finds others where it looks for some, in a folder of its own: who is at a TCP address of the user's is then in a network
    /// namespace of its own, with its number in a file beside its socket, as [`led_by`] says.
    ///
    /// # Errors
    /// When it cannot be led to them; why, in words.
    fn led(&self, _moves: &[Move], _dir: &Path) -> Result<Box<dyn Twin>, TargetError> {
        Err(TargetError::usage(self.product(), "its copy asks whom its own files say, and is led to nobody else"))
    }

    /// Whether a setting is one of its own.
    fn is_setting(&self, setting: &str) -> bool;

    /// The same with settings changed, in a folder of its own, tested; it listens where this one does.
    ///
    /// # Errors
    /// When the product refuses it, or it cannot be written.
    fn with(&self, changes: &[Change], dir: &Path) -> Result<Box<dyn Twin>, TargetError>;

    /// Where the user's listens, and where this one does.
    fn places(&self) -> (&Endpoint, &Endpoint);

    /// Who it is, and where that stands, on a machine with so much memory (bytes).
    fn told(&self, machine: &Machine, memory: u64) -> String;

    /// What it has besides what the user's has.
    fn rewrite(&self) -> Rewrite;

    /// Its processes that may each ask others, at most; none: that is not a number of them.
    fn workers(&self) -> Option<u64> {
        None
    }

    /// Takes over what a request costs when nothing else is asked.
    fn costs(&mut self, cost: Cost);

    /// The user's files.
    fn files(&self) -> &dyn Edited;

    /// The value of a setting, and where it stands.
    ///
    /// # Errors
    /// When it is none of its own.
    fn value_of(&self, setting: &str) -> Result<(String, Origin), TargetError> {
        self.files().value_of(setting)
    }

    /// What caps it, with remedies. Metrics of its signs begin with `subject` and a dot.
    fn limits(&self, subject: &str, environment: &Environment) -> Vec<Limit>;

    /// Unified diff that changes make to the user's files.
    fn diff(&self, changes: &[Change]) -> String {
        self.files().diff(changes)
    }

    /// The files that changes make another, finished.
    fn finished(&self, changes: &[Change]) -> Vec<Finished> {
        self.files().finished(changes)
    }

    /// Writes changes into the user's files, all or none.
    ///
    /// # Errors
    /// When a file was changed by somebody else, or cannot be replaced.
    fn write_back(&self, changes: &[Change]) -> Result<Vec<Backup>, TargetError> {
        self.files().write_back(changes)
    }

    /// Starts it on the cores given and waits until it listens: its first process, and what is to be seen of it.
    /// Dropping the process ends it.
    ///
    /// # Errors
    /// When it does not; the message carries its last words.
    fn start(&self, cpus: Option<&[usize]>) -> Result<(Child, Box<dyn Served>), TargetError>;
}

/// The file beside a socket that has the number of whoever listens there.
pub(crate) fn led_by(socket: &Path) -> PathBuf {
    let mut path = socket.as_os_str().to_owned();
    path.push(".pid");
    path.into()
}

/// That process `pid` sees the files that this process sees.
///
/// # Errors
/// That it does not, in words.
pub(crate) fn same_files(pid: u32) -> Result<(), String> {
    let space = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
    if space(&pid.to_string()) == space("self") {
        return Ok(());
    }
    Err("it sees other files than genkai does (a mount namespace of its own, as in a container)".to_owned())
}

/// Whether what process `pid` has of the machine is what a child of this process has.
///
/// # Errors
/// What a child would have otherwise, in words.
pub(crate) fn alike(pid: u32) -> Result<(), String> {
    same_files(pid)?;
    let unit = group::unit(pid).map(|unit| format!(" of {unit}")).unwrap_or_default();
    let has = |what: &str| Err(format!("its control group{unit} has {what} that a copy would not have"));
    if group::quota_of(pid).is_some() {
        return has("a quota of processor time");
    }
    if group::memory_of(pid).is_some() {
        return has("a limit on memory");
    }
    if group::Own::of_process(pid).tasks().is_some() {
        return has("a limit on processes and threads");
    }
    Ok(())
}
