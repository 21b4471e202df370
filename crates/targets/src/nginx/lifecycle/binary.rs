//! The nginx that is installed: where it is, which version, what it was built with.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::error::TargetError;
use crate::nginx::CALLED;
use genkai_place::oneshot::finish;
use genkai_place::process::Spawn;
use genkai_place::program;

/// Where it is when it was built by hand.
const BUILT: [&str; 3] = ["/usr/local/nginx/sbin", "/opt/nginx/sbin", "/usr/local/openresty/nginx/sbin"];

/// `nginx -V` answers at once.
const ANSWER: Duration = Duration::from_secs(10);

/// An installed nginx.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binary {
    path: PathBuf,
    version: String,
    arguments: Vec<String>,
}

impl Binary {
    /// Takes the nginx given, or finds one in `PATH` or where distributions put it, and asks for its version. `dir` takes
    /// what it prints.
    ///
    /// # Errors
    /// When there is none, or it does not say its version.
    pub fn find(given: Option<&Path>, dir: &Path) -> Result<Binary, TargetError> {
        let path = match given {
            Some(path) if path.is_file() => path.to_owned(),
            Some(path) => return Err(not_there(path)),
            None => program::find_also_in("nginx", &BUILT).ok_or_else(not_installed)?,
        };
        let mut command = Command::new(&path);
        command.arg("-V");
        let spawn = Spawn { name: "nginx -V".to_owned(), log: Some(dir.join("version.txt")), ..Spawn::default() };
        let said = finish(command, spawn, ANSWER)?.text;
        Binary::read(path.clone(), &said).ok_or_else(|| TargetError::not_it(CALLED, &path, "nginx -V", &said))
    }

    /// Reads what `nginx -V` prints.
    fn read(path: PathBuf, said: &str) -> Option<Binary> {
        let version = said.lines().find_map(|l| l.strip_prefix("nginx version: "))?;
        let version = version.split_ascii_whitespace().next()?;
        let version = version.strip_prefix("nginx/").unwrap_or(version).to_owned();
        let arguments = said.lines().find_map(|l| l.strip_prefix("configure arguments:")).unwrap_or_default();
        Some(Binary { path, version, arguments: words(arguments) })
    }

    /// The executable.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `1.22.1`; for a relative of nginx with its name, `openresty/1.21.4.1`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Major, minor, patch; zeros where it does not say.
    pub fn numbers(&self) -> (u32, u32, u32) {
        program::numbers(self.version.rsplit('/').next().unwrap_or_default())
    }

    /// What it was built with, as `nginx -V` lists it.
    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// Whether it was built with this option, e.g. `--with-http_stub_status_module`.
    pub fn has(&self, option: &str) -> bool {
        self.arguments.iter().any(|a| a == option)
    }

    /// Value of a build option, e.g. `--prefix`.
    pub fn value(&self, option: &str) -> Option<&str> {
        self.arguments.iter().find_map(|a| a.strip_prefix(option)?.strip_prefix('='))
    }
}

fn not_installed() -> TargetError {
    TargetError::missing(
        CALLED,
        "nginx is not installed: there is none in PATH or in /usr/sbin\n  hint: apt-get install nginx",
    )
}

fn not_there(path: &Path) -> TargetError {
    let hint = "apt-get install nginx, or leave --nginx out to use the installed one";
    TargetError::missing(CALLED, format!("there is no nginx at {}\n  hint: {hint}", path.display()))
}

/// Splits build options at spaces outside of single quotes (`--with-cc-opt='-g -O2'`).
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.extend(Some(std::mem::take(&mut word)).filter(|w| !w.is_empty())),
            c => word.push(c),
        }
    }
    words.extend(Some(word).filter(|w| !w.is_empty()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBIAN: &str = "nginx version: nginx/1.22.1\nbuilt with OpenSSL 3.0.11\nTLS SNI support enabled\n\
        configure arguments: --with-cc-opt='-g -O2 -fPIC' --prefix=/usr/share/nginx --with-http_stub_status_module\n";

    #[test]
    fn version_and_options_are_read() {
        let nginx = Binary::read("/usr/sbin/nginx".into(), DEBIAN).unwrap();
        assert_eq!((nginx.version(), nginx.numbers()), ("1.22.1", (1, 22, 1)));
        assert!(nginx.has("--with-http_stub_status_module") && !nginx.has("--with-stream"));
        assert_eq!(nginx.value("--prefix"), Some("/usr/share/nginx"));
        assert_eq!(nginx.value("--with-cc-opt"), Some("-g -O2 -fPIC"));
    }

    #[test]
    fn relatives_keep_their_name() {
        let said = "nginx version: openresty/1.21.4.1 (beta)\n";
        let relative = Binary::read("/x".into(), said).unwrap();
        assert_eq!((relative.version(), relative.numbers()), ("openresty/1.21.4.1", (1, 21, 4)));
        assert_eq!(Binary::read("/bin/true".into(), "hello\n"), None);
    }
}
