//! Where several workers have the sockets by which they speak with one another: a folder that is compiled in (`DEFAULT_STATEDIR`), which no directive
//! moves and which the package gives to the account that Squid runs as (src/ipc/Port.cc: Ipc::Port::MakeAddr; src/Makefile.am).

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::unistd::{AccessFlags, Uid, access};

use crate::error::TargetError;
use genkai_place::account;

/// The folder, and the account that may write into it.
#[derive(Debug)]
pub(super) struct Sockets {
    folder: PathBuf,
    /// Where genkai is root and the folder is somebody's: who (user and group).
    pub(super) user: Option<(u32, u32)>,
}

impl Sockets {
    /// Those of a program that is to have so many `workers`.
    ///
    /// # Errors
    /// When the folder is not there, or its workers could not make their sockets in it.
    pub(super) fn of(program: &Path, workers: &str) -> Result<Sockets, TargetError> {
        let said = Command::new(program).arg("-v").output().map_err(TargetError::files(program))?;
        let folder = folder(&String::from_utf8_lossy(&said.stdout));
        writer(&folder, Uid::effective().is_root())
            .map(|user| Sockets { folder: folder.clone(), user })
            .map_err(|why| {
                let hint = "make it for the account that Squid runs as, as its package does, or leave `workers` out in a copy";
                let what = format!(
                    "`workers {workers}`: Squid's workers have sockets in {}, {why} (Squid would say `commBind Cannot bind socket` in its \
                     cache.log, and listen nowhere)\n  hint: {hint}",
                    folder.display()
                );
                TargetError::usage("Squid", what)
            })
    }

    /// The sockets of a service (`-n`) with so many processes beside the first and the coordinator: they stay where these are killed.
    pub(super) fn of_service(&self, service: &str, kids: u64) -> Vec<PathBuf> {
        let kids = (1..=kids).map(|kid| format!("{service}-kid-{kid}.ipc"));
        kids.chain([format!("{service}-coordinator.ipc")]).map(|name| self.folder.join(name)).collect()
    }
}

/// As `squid -v` tells how it was built.
fn folder(said: &str) -> PathBuf {
    let built = |option: &str| {
        let words = said.split(['\'', ' ', '\n']);
        words.filter_map(|word| word.strip_prefix(option)).next().map(PathBuf::from)
    };
    let state = built("--localstatedir=").or_else(|| built("--prefix=").map(|prefix| prefix.join("var")));
    state.unwrap_or_else(|| "/usr/local/squid/var".into()).join("run/squid")
}

/// Who is to run Squid so that it can write into its folder (none: whoever it is anyhow), or why nobody can.
fn writer(folder: &Path, root: bool) -> Result<Option<(u32, u32)>, String> {
    let held = folder.metadata().map_err(|e| match e.kind() {
        ErrorKind::NotFound => "which is not there".to_owned(),
        _ => format!("which cannot be looked at: {e}"),
    })?;
    let refused = || Err("where they may not make any (Permission denied)".to_owned());
    match (root, held.uid()) {
        (false, _) if access(folder, AccessFlags::W_OK).is_err() => refused(),
        (false, _) => Ok(None),
        (true, 0) if held.mode() & 0o002 == 0 && account::unprivileged().is_some() => refused(),
        (true, 0) => Ok(None),
        (true, owner) => Ok(Some((owner, held.gid()))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_folder_is_the_one_that_was_built_in() {
        let debian = "Squid Cache: Version 5.7\nconfigure options:  '--build=x' '--prefix=/usr' '--localstatedir=/var' '--libdir=y'\n";
        assert_eq!(folder(debian), Path::new("/var/run/squid"));
        assert_eq!(folder("configure options:  '--prefix=/opt/squid'\n"), Path::new("/opt/squid/var/run/squid"));
        assert_eq!(
            folder("Squid Cache: Version 6.6\nconfigure options:\n"),
            Path::new("/usr/local/squid/var/run/squid")
        );
    }

    #[test]
    fn whoever_the_folder_belongs_to_is_asked_to_write_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("squid");
        assert_eq!(writer(&path, true), Err("which is not there".to_owned()));
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let held = path.metadata().unwrap();
        match Uid::effective().is_root() {
            true => {
                assert!(writer(&path, true).unwrap_err().contains("Permission denied"), "servers do not run as root");
                account::give(&path, 65_534, 65_534).unwrap();
                assert_eq!(writer(&path, true), Ok(Some((65_534, 65_534))));
            }
            false => {
                assert_eq!(writer(&path, true), Ok(Some((held.uid(), held.gid()))));
                assert_eq!(writer(&path, false), Ok(None));
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o555)).unwrap();
                assert!(writer(&path, false).is_err());
            }
        }
    }
}
