//! A real server of others, started privately: a folder, a port and a process group of its own, all gone with the test.
#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod case;

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tempfile::TempDir;

/// Longest wait for a server to start (a JVM on a busy machine), or to write what it has done to its log.
const LONG: Duration = Duration::from_secs(40);

/// A running server. Its access log has a line for each request: `PORT-OF-THE-CLIENT STATUS METHOD TARGET`.
pub(crate) struct Product {
    pub(crate) address: SocketAddr,
    folder: TempDir,
    child: Child,
}

/// The file `name` beside the tests.
pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers").join(name)
}

/// A folder that servers may enter which give up root.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("it is ours");
    folder
}

/// Copies `name` into `folder`, with `{FOLDER}` and the `words` in it replaced.
pub(crate) fn render(name: &str, folder: &Path, to: &str, words: &[(&str, &str)]) -> PathBuf {
    let mut text = fs::read_to_string(file(name)).expect(name);
    text = text.replace("{FOLDER}", folder.to_str().expect("text"));
    for (word, value) in words {
        text = text.replace(word, value);
    }
    let path = folder.join(to);
    fs::create_dir_all(path.parent().expect("in the folder")).expect("a folder");
    fs::write(&path, text).expect("a file");
    path
}

/// For servers that cannot choose a port themselves: starts one on a port that was free a moment ago, and if somebody else
/// was quicker on another.
pub(crate) fn on_a_port(start: impl Fn(u16) -> Result<Product, String>) -> Product {
    let mut tries = 0;
    loop {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").port();
        match start(port) {
            Ok(product) => return product,
            Err(said) if said.contains("in use") && tries < 5 => tries += 1,
            Err(said) => panic!("{said}"),
        }
    }
}

/// The address after `mark` in what a server said.
pub(crate) fn said(output: &str, mark: &str) -> Option<SocketAddr> {
    let port = output.split(mark).nth(1)?.split(|c: char| !c.is_ascii_digit()).next()?;
    Some(SocketAddr::from(([127, 0, 0, 1], port.parse().ok()?)))
}

impl Product {
    /// Starts `command`, which must stay in the foreground, and waits until `found` gives an address from what it said,
    /// and that can be connected to.
    ///
    /// # Errors
    /// When the server ends or does not start, with what it said.
    pub(crate) fn start(
        folder: TempDir,
        command: &mut Command,
        found: impl Fn(&str) -> Option<SocketAddr>,
    ) -> Result<Product, String> {
        let output = folder.path().join("output");
        let file = File::create(&output).expect("a file");
        command.stdout(file.try_clone().expect("a descriptor")).stderr(file).process_group(0);
        let died_with_us = || Ok(nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?);
        // SAFETY: prctl(2) is a system call and nothing else.
        unsafe { command.pre_exec(died_with_us) };
        let program = command.get_program().to_owned();
        let child = command.spawn().unwrap_or_else(|e| panic!("{program:?}: {e}; `make packages-test` installs it"));
        let address = SocketAddr::from(([0; 4], 0));
        let mut product = Product { address, folder, child };
        let deadline = Instant::now() + LONG;
        loop {
            let said = fs::read_to_string(&output).unwrap_or_default();
            let ended = product.child.try_wait().expect("our child");
            if ended.is_some() || Instant::now() > deadline {
                return Err(format!("{program:?} did not start ({ended:?}): {said}"));
            }
            if let Some(address) = found(&said).filter(|address| TcpStream::connect(address).is_ok()) {
                product.address = address;
                return Ok(product);
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Its folder.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What it has said so far.
    pub(crate) fn output(&self) -> String {
        fs::read_to_string(self.path().join("output")).unwrap_or_default()
    }

    /// Waits until its output `holds`; whether it did in time.
    pub(crate) fn says(&self, holds: impl Fn(&str) -> bool) -> bool {
        let deadline = Instant::now() + LONG / 8;
        while !holds(&self.output()) {
            if Instant::now() > deadline {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
        true
    }

    /// Connections on which at least `requests` for `target` came, by its access log; waits for the log.
    pub(crate) fn connections(&self, target: &str, requests: u64) -> Result<usize, String> {
        let deadline = Instant::now() + LONG / 8;
        loop {
            let log = fs::read_to_string(self.path().join("access.log")).unwrap_or_default();
            let words = log.lines().map(|line| line.split(' ').collect::<Vec<_>>());
            let ports: Vec<String> = words.filter(|w| w.get(3) == Some(&target)).map(|w| w[0].to_owned()).collect();
            if ports.len() as u64 >= requests {
                return Ok(ports.into_iter().collect::<BTreeSet<_>>().len());
            }
            if Instant::now() > deadline {
                return Err(format!("the server logged {} of {requests} requests for {target}", ports.len()));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Product {
    fn drop(&mut self) {
        let group = Pid::from_raw(i32::try_from(self.child.id()).expect("a process id"));
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.child.wait();
    }
}
