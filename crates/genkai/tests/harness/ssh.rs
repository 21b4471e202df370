//! A real ssh server on loopback with keys of its own, and a configuration for `ssh` that leads to it.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::servers::{Guard, free};
use super::until;

const LONGEST: Duration = Duration::from_secs(60);

/// The server, its keys and the client's configuration.
pub struct Sshd {
    _guard: Guard,
    dir: tempfile::TempDir,
    port: u16,
}

/// Makes a key pair without a passphrase.
pub fn key(dir: &Path, name: &str) -> PathBuf {
    let file = dir.join(name);
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&file).status().unwrap();
    assert!(made.success());
    file
}

/// What an ssh server needs in `dir`: its key, a client's that it lets in, and the client's knowledge of it at `port` of `address`.
pub fn prepare(dir: &Path, address: &str, port: u16, more: &str) -> PathBuf {
    if !dir.join("host").exists() {
        key(dir, "host");
        key(dir, "client");
        // sshd(8) wants the folder for the process without privileges.
        let _ = std::fs::create_dir_all("/run/sshd");
    }
    let root = dir.display();
    let config = dir.join(format!("sshd_config-{address}"));
    let text = format!(
        "Port {port}\nListenAddress {address}\nHostKey {root}/host\nAuthorizedKeysFile {root}/client.pub\nPidFile none\nUsePAM no\n\
         StrictModes no\nPermitRootLogin yes\n{more}\n"
    );
    std::fs::write(&config, text).unwrap();
    let public = std::fs::read_to_string(dir.join("host.pub")).unwrap();
    let known = dir.join("known");
    let before = std::fs::read_to_string(&known).unwrap_or_default();
    let name = if port == 22 { address.to_owned() } else { format!("[{address}]:{port}") };
    std::fs::write(&known, format!("{before}{name} {public}")).unwrap();
    config
}

impl Sshd {
    /// A server in whose sessions genkai is found where it is found here (`has`), or not at all; folders that sessions make for a time are
    /// below [`Sshd::sent`].
    pub fn start(has: bool) -> Sshd {
        let dir = tempfile::tempdir().unwrap();
        let [port] = free();
        let sent = dir.path().join("sent");
        std::fs::create_dir(&sent).unwrap();
        let mine = Path::new(env!("CARGO_BIN_EXE_genkai")).parent().unwrap();
        let path = if has { format!("{}:/usr/bin:/bin", mine.display()) } else { "/usr/bin:/bin".to_owned() };
        let config = prepare(dir.path(), "127.0.0.1", port, &format!("SetEnv PATH={path} TMPDIR={}", sent.display()));
        let mut command = Command::new("/usr/sbin/sshd");
        command.args(["-D", "-e", "-f"]).arg(config).stdin(Stdio::null()).stderr(Stdio::null());
        let guard = Guard(command.spawn().unwrap());
        until("sshd to listen", LONGEST, || TcpStream::connect(("127.0.0.1", port)).ok());
        let sshd = Sshd { _guard: guard, dir, port };
        sshd.write_config();
        sshd
    }

    fn write_config(&self) {
        let root = self.dir.path().display();
        let port = self.port;
        let host = |name: &str, more: &str| format!("Host {name}\n  HostName 127.0.0.1\n  Port {port}\n{more}");
        let good = format!("  IdentityFile {root}/client\n  UserKnownHostsFile {root}/known\n");
        let text = [
            host("load1 load2", &good),
            host("stranger", &format!("  IdentityFile {root}/host\n  UserKnownHostsFile {root}/known\n")),
            host("unknown", &format!("  IdentityFile {root}/client\n  UserKnownHostsFile {root}/none\n")),
            "Host closed\n  HostName 127.0.0.1\n  Port 1\n".to_owned(),
            "Host *\n  IdentitiesOnly yes\n  StrictHostKeyChecking yes\n  IdentityAgent none\n".to_owned(),
        ];
        std::fs::write(self.dir.path().join("ssh_config"), text.concat()).unwrap();
    }

    /// The ssh that knows this server.
    pub fn ssh(&self) -> String {
        format!("ssh -F {}", self.dir.path().join("ssh_config").display())
    }

    /// Where sessions put what they keep for a time.
    pub fn sent(&self) -> PathBuf {
        self.dir.path().join("sent")
    }
}
