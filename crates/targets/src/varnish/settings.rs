//! What can be set, by Varnish's own words: parameters (`-p`), and where objects are (`-s`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use genkai_model::units::Bytes;

use crate::cache::ground::run;
use crate::error::TargetError;

/// How objects are kept (`-s`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// In memory of the process.
    Malloc(Bytes),
    /// In a file that is mapped into memory; the kernel decides what stays there.
    File(PathBuf, Bytes),
}

impl Storage {
    /// As `-s` has it.
    pub(super) fn argument(&self) -> String {
        match self {
            Storage::Malloc(size) => format!("malloc,{}", size.0),
            Storage::File(path, size) => format!("file,{},{}", path.display(), size.0),
        }
    }
}

/// The setting that is `-s`; all others are parameters.
pub(super) const STORAGE: &str = "storage";
/// Its default (varnishd(1): `-s default`, which is malloc with 100 MB).
pub(super) const DEFAULT_STORAGE: &str = "malloc,100m";

/// `thread_pools` (default 2) and `thread_pool_max` (default 5000) of Varnish 7.1 (include/tbl/params.h).
pub(super) const THREADS: (u32, u32) = (2, 5000);

/// Settings given on top of a VCL.
pub(super) type Given = BTreeMap<String, String>;

/// Arguments of varnishd that make them.
pub(super) fn arguments(given: &Given) -> Vec<String> {
    let one = |(name, value): (&String, &String)| match name.as_str() {
        STORAGE => ["-s".to_owned(), value.clone()],
        _ => ["-p".to_owned(), format!("{name}={value}")],
    };
    given.iter().flat_map(one).collect()
}

/// Whether a storage is in memory: others write where the user says.
pub(super) fn is_storage(value: &str) -> bool {
    ["malloc,", "default,"].iter().any(|kind| value.starts_with(kind)) || ["malloc", "default"].contains(&value)
}

/// Every parameter of the program with its default, as it prints them (`varnishd -x parameter`).
///
/// # Errors
/// When it cannot be asked.
pub(super) fn parameters(program: &Path) -> Result<BTreeMap<String, String>, TargetError> {
    let dir = tempfile::tempdir().map_err(TargetError::files(std::env::temp_dir()))?;
    let mut command = Command::new(program);
    command.args(["-x", "parameter"]);
    Ok(read(&run(command, &dir.path().join("parameters.txt"), None)?.1))
}

/// Reads what it prints: a name, its underline, and a line `* Default: 5000`.
fn read(printed: &str) -> BTreeMap<String, String> {
    let (mut all, mut name, mut before) = (BTreeMap::new(), "", "");
    for line in printed.lines() {
        if line.starts_with('~') {
            name = before;
        }
        if let Some(value) = line.trim().strip_prefix("* Default: ").filter(|_| !name.is_empty()) {
            let value = value.split(" (").next().unwrap_or(value);
            all.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
        before = line.trim();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_they_are_printed() {
        let printed = "\n.. _ref_param_a:\n\naccept_filter\n~~~~~~~~~~~~~\n\n\t* Units: bool\n\t* Default: on (if it can)\n\nb\n~\n\t* Default: 5000\n";
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(read(printed).into_iter().collect::<Vec<_>>(), [pair("accept_filter", "on"), pair("b", "5000")]);
    }

    #[test]
    fn parameters_and_storage_are_arguments() {
        let given = Given::from([("storage".to_owned(), "malloc,1m".to_owned()), ("a".to_owned(), "2".to_owned())]);
        assert_eq!(arguments(&given), ["-p", "a=2", "-s", "malloc,1m"]);
        assert!(is_storage("malloc,1m") && !is_storage("file,/etc/x,1g"));
    }
}
