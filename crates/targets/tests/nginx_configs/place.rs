//! Private copies of the corpus, and the nginx that judges them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use genkai_targets::files::CopyOptions;
use genkai_targets::nginx::config::Config;
use genkai_targets::nginx::private::{self, Built, Private};

use super::{CASES, Case, lay_out};

pub(crate) fn root() -> bool {
    nix::unistd::geteuid().is_root()
}

pub(crate) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// A copy in a folder, with servers and certificates as the user has them.
pub(crate) fn copied<'a>(dir: &'a Path, ports: &'a mut dyn FnMut() -> io::Result<u16>) -> CopyOptions<'a> {
    CopyOptions {
        listen: std::net::Ipv4Addr::LOCALHOST,
        kept: false,
        dir,
        ports,
        backend: None,
        secured: None,
        moves: &[],
        allowed: &[],
        papers: None,
        root: root(),
    }
}

/// A folder that nginx's workers may enter, with the user's files in `etc` and the private copy in `run`.
pub(crate) struct Place {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) config: Config,
}

impl Place {
    pub(crate) fn new(case: &Case) -> Place {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let main = lay_out(case.name, &dir.path().join("etc"));
        if case.name == "tls" {
            certificate(&dir.path().join("etc/tls"));
        }
        fs::create_dir(dir.path().join("run")).unwrap();
        let config = Config::read(&main, Path::new(&nginx_prefix())).unwrap();
        Place { dir, config }
    }

    pub(crate) fn run_dir(&self) -> PathBuf {
        self.dir.path().join("run")
    }

    pub(crate) fn build(&self, backend: Option<SocketAddr>, root: bool) -> Private {
        let dir = self.run_dir();
        let mut ports = free_port;
        let options = CopyOptions { backend, root, ..copied(&dir, &mut ports) };
        let configure = nginx_configure();
        private::build(&self.config, None, options, built(&configure), true).unwrap()
    }
}

/// A key and certificate for nobody, of this test only.
pub(crate) fn certificate(dir: &Path) {
    fs::create_dir_all(dir).unwrap();
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=secure.example.com", "-keyout", "site.key", "-out", "site.pem"])
        .current_dir(dir)
        .output()
        .expect("openssl is installed (make test installs it)");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

pub(crate) fn nginx() -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("nginx");
    command.env("PATH", format!("{path}:/usr/sbin"));
    command
}

/// An nginx of today that was built so.
pub(crate) fn built(configure: &str) -> Built<'_> {
    Built { configure, version: (1, 22, 1) }
}

pub(crate) fn nginx_configure() -> String {
    let out = nginx().arg("-V").output().expect("nginx is installed (make test installs it)");
    String::from_utf8_lossy(&out.stderr).lines().find(|l| l.starts_with("configure")).unwrap().to_owned()
}

pub(crate) fn nginx_prefix() -> String {
    let configure = nginx_configure();
    let prefix = configure.split(' ').find_map(|a| a.strip_prefix("--prefix=")).unwrap();
    prefix.to_owned()
}

pub(crate) fn check(private: &Private) -> Output {
    nginx().args(["-t", "-e", "stderr", "-p"]).arg(&private.dir).arg("-c").arg(&private.main).output().unwrap()
}

/// Fails where a module is missing that the configuration loads.
pub(crate) fn needs_modules(case: &Case) {
    let dir = Path::new(&nginx_prefix()).join("modules");
    let missing: Vec<_> = case.modules.iter().filter(|m| !dir.join(m).exists()).collect();
    assert!(missing.is_empty(), "{}: {missing:?} not in {} (make test installs them)", case.name, dir.display());
}

/// Content of every file under a folder.
pub(crate) fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            all.insert(path.clone(), fs::read(&path).unwrap_or_default());
        }
    }
    all
}

/// The private copy, read again.
pub(crate) fn reread(private: &Private) -> Config {
    Config::read(&private.main, Path::new(&nginx_prefix())).unwrap()
}

pub(crate) fn case(name: &str) -> &'static Case {
    CASES.iter().find(|c| c.name == name).unwrap()
}
