//! CATALINA_BASE of the copy: the user's files by links, and folders of its own for whatever a Tomcat writes.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::{lchown, symlink};
use std::path::{Path, PathBuf};

use super::copied::Copied;
use crate::error::TargetError;
use crate::files::save;

/// What a Tomcat writes, what is mirrored by itself, and files of the copy's own: a link there would have them written into the user's.
const OWN: [&str; 8] = ["conf", "logs", "temp", "work", "server.xml", "gc.log", "out.log", "error.log"];

/// `server.xml` of the copy.
pub(super) fn file(base: &Path) -> PathBuf {
    base.join("server.xml")
}

/// Where its collector tells what it does.
pub(super) fn collector(base: &Path) -> PathBuf {
    base.join("gc.log")
}

/// Makes `base` of the folder `user`, with `copied` for its server.xml and pages compiled into `work`; all of it is `owner`'s.
///
/// # Errors
/// When it cannot be written, or the user's cannot be read.
pub(super) fn make(
    user: &Path,
    base: &Path,
    work: &Path,
    copied: &Copied,
    owner: Option<(u32, u32)>,
) -> Result<(), TargetError> {
    let made = || -> io::Result<()> {
        for entry in fs::read_dir(user)?.flatten() {
            let at = base.join(entry.file_name());
            let own = OWN.iter().any(|name| entry.file_name() == *name) || copied.apps.iter().any(|(_, to)| *to == at);
            if !own {
                link(&entry.path(), &at)?;
            }
        }
        mirror(&user.join("conf"), &base.join("conf"))?;
        for (from, to) in &copied.apps {
            fs::create_dir_all(to)?;
            for entry in fs::read_dir(from).into_iter().flatten().flatten().filter(|entry| !is_unpacked(&entry.path()))
            {
                link(&entry.path(), &to.join(entry.file_name()))?;
            }
        }
        for name in ["logs", "temp"] {
            fs::create_dir_all(base.join(name))?;
        }
        fs::create_dir_all(work)?;
        link(work, &base.join("work"))
    };
    made().map_err(TargetError::files(base))?;
    // Never through a link of the user's.
    match fs::remove_file(file(base)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(TargetError::files(base)(e)),
        _ => save(&file(base), &copied.text)?,
    }
    let given = owner.map_or(Ok(()), |owner| [base, work].into_iter().try_for_each(|folder| give(folder, owner)));
    given.map_err(TargetError::files(base))
}

/// Whether it is an archive that the user's Tomcat has unpacked beside it.
fn is_unpacked(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("war")) && path.with_extension("").is_dir()
}

/// Folders anew, files by links: Tomcat may write beside them.
fn mirror(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let (path, own) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() { mirror(&path, &own)? } else { link(&path, &own)? }
    }
    Ok(())
}

fn link(to: &Path, at: &Path) -> io::Result<()> {
    match symlink(to, at) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// Gives a folder with what is in it to a user and a group; what links lead to stays whose it is.
fn give(path: &Path, owner: (u32, u32)) -> io::Result<()> {
    lchown(path, Some(owner.0), Some(owner.1))?;
    if path.symlink_metadata()?.is_dir() {
        for entry in fs::read_dir(path)?.flatten() {
            give(&entry.path(), owner)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_reads_the_users_files_and_writes_into_none_of_their_folders() {
        let dir = tempfile::tempdir().unwrap();
        let (user, base) = (dir.path().join("user"), dir.path().join("base"));
        for folder in ["conf/Catalina/localhost", "lib", "logs", "work", "webapps/a", "webapps/c"] {
            fs::create_dir_all(user.join(folder)).unwrap();
        }
        for file in ["conf/web.xml", "conf/Catalina/localhost/x.xml", "webapps/a.war", "webapps/b.war", "logs/x.log"] {
            fs::write(user.join(file), "").unwrap();
        }
        fs::create_dir(&base).unwrap();
        let copied = Copied { text: b"<Server/>".to_vec(), apps: vec![(user.join("webapps"), base.join("apps0"))] };
        make(&user, &base, &dir.path().join("work"), &copied, None).unwrap();
        let leads = |path: &str| fs::read_link(base.join(path)).ok();
        assert_eq!(leads("conf/Catalina/localhost/x.xml"), Some(user.join("conf/Catalina/localhost/x.xml")));
        assert_eq!((leads("lib"), leads("work")), (Some(user.join("lib")), Some(dir.path().join("work"))));
        assert!(["conf", "conf/Catalina/localhost", "logs", "temp", "apps0"].iter().all(|path| leads(path).is_none()));
        let mut apps: Vec<_> = fs::read_dir(base.join("apps0")).unwrap().flatten().map(|e| e.file_name()).collect();
        apps.sort();
        assert_eq!(apps, ["a", "b.war", "c"]);
        assert!(!base.join("logs/x.log").exists());
    }

    #[test]
    fn what_has_the_name_of_a_file_of_the_copys_is_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let (user, base) = (dir.path().join("user"), dir.path().join("base"));
        for folder in ["conf", "apps0", "webapps/a"] {
            fs::create_dir_all(user.join(folder)).unwrap();
        }
        let files = ["server.xml", "gc.log", "out.log", "error.log"];
        for file in files {
            fs::write(user.join(file), "the user's").unwrap();
        }
        fs::create_dir(&base).unwrap();
        let copied = Copied { text: b"<Server/>".to_vec(), apps: vec![(user.join("webapps"), base.join("apps0"))] };
        make(&user, &base, &dir.path().join("work"), &copied, None).unwrap();
        for file in files {
            assert_eq!(fs::read_to_string(user.join(file)).unwrap(), "the user's", "{file}");
            assert!(fs::read_link(base.join(file)).is_err(), "{file}");
        }
        assert_eq!(fs::read_to_string(base.join("server.xml")).unwrap(), "<Server/>");
        assert_eq!(fs::read_dir(user.join("apps0")).unwrap().count(), 0);
        assert_eq!(fs::read_link(base.join("apps0/a")).unwrap(), user.join("webapps/a"));
    }
}
