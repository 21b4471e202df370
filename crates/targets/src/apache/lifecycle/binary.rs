//! The httpd that is installed: where it is, which version, where it looks for things.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::apache::CALLED;
use crate::error::TargetError;
use genkai_place::oneshot::finish;
use genkai_place::process::Spawn;
use genkai_place::program;

/// Where it is when it was built by hand.
const BUILT: [&str; 2] = ["/usr/local/apache2/bin", "/opt/apache2/bin"];
/// What distributions call it.
const NAMES: [&str; 2] = ["apache2", "httpd"];
/// Where distributions put its modules.
const MODULES: [&str; 4] =
    ["/usr/lib/apache2/modules", "/usr/lib64/httpd/modules", "/usr/lib/httpd/modules", "/usr/local/apache2/modules"];
/// `apache2 -V` answers at once.
const ANSWER: Duration = Duration::from_secs(10);

/// An installed httpd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binary {
    path: PathBuf,
    version: String,
    root: PathBuf,
}

impl Binary {
    /// Takes the httpd given, or finds one in `PATH` or where distributions put it, and asks for its version. `dir` takes
    /// what it prints.
    ///
    /// # Errors
    /// When there is none, or it does not say its version.
    pub fn find(given: Option<&Path>, dir: &Path) -> Result<Binary, TargetError> {
        let path = match given {
            Some(path) if path.is_file() => path.to_owned(),
            Some(path) => return Err(not_there(path)),
            None => NAMES.iter().find_map(|name| program::find_also_in(name, &BUILT)).ok_or_else(not_installed)?,
        };
        let mut command = Command::new(&path);
        // An empty configuration: it must not read (and complain about) the packaged one.
        command.args(["-V", "-f", "/dev/null"]);
        let spawn = Spawn { name: "apache2 -V".to_owned(), log: Some(dir.join("version.txt")), ..Spawn::default() };
        let said = finish(command, spawn, ANSWER)?.text;
        Binary::read(path.clone(), &said).ok_or_else(|| TargetError::not_it(CALLED, &path, "-V", &said))
    }

    /// Reads what `-V` prints.
    fn read(path: PathBuf, said: &str) -> Option<Binary> {
        let version = said.lines().find_map(|l| l.strip_prefix("Server version: Apache/"))?;
        let version = version.split_ascii_whitespace().next()?.to_owned();
        let root = said.lines().find_map(|l| l.trim().strip_prefix("-D HTTPD_ROOT="));
        let root = PathBuf::from(root.map_or("/etc/apache2", |r| r.trim_matches('"')));
        Some(Binary { path, version, root })
    }

    /// The executable.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `2.4.71`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Major, minor, patch; zeros where it does not say.
    pub fn numbers(&self) -> (u32, u32, u32) {
        program::numbers(&self.version)
    }

    /// Where relative paths start without a `ServerRoot` (`HTTPD_ROOT`).
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of its modules.
    pub fn modules(&self) -> Option<PathBuf> {
        let beside = self.path.ancestors().nth(2).map(|prefix| prefix.join("modules"));
        let usual = MODULES.iter().map(PathBuf::from);
        usual.chain(beside).chain([self.root.join("modules")]).find(|folder| folder.join("mod_status.so").exists())
    }
}

fn not_installed() -> TargetError {
    let what = "Apache is not installed: there is no apache2 or httpd in PATH or in /usr/sbin";
    TargetError::missing(CALLED, format!("{what}\n  hint: apt-get install apache2-bin"))
}

fn not_there(path: &Path) -> TargetError {
    let hint = "apt-get install apache2-bin, or leave --apache out to use the installed one";
    TargetError::missing(CALLED, format!("there is no Apache at {}\n  hint: {hint}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_and_root_are_read() {
        let said = "Server version: Apache/2.4.71 (Debian)\nServer built:   x\n -D HTTPD_ROOT=\"/etc/apache2\"\n";
        let binary = Binary::read("/x".into(), said).unwrap();
        assert_eq!((binary.version(), binary.numbers()), ("2.4.71", (2, 4, 71)));
        assert_eq!(binary.root(), Path::new("/etc/apache2"));
        assert_eq!(Binary::read("/bin/true".into(), "hello\n"), None);
    }
}
