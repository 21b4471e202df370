//! A real ssh server on loopback with keys of its own, and a configuration for `ssh` that leads to it.

use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
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
    sent: PathBuf,
    port: u16,
    /// Takes connections and never says a word.
    silent: TcpListener,
}

/// What the sessions of a server are like.
pub struct Sessions<'a> {
    /// Whether genkai is found in them where it is found here.
    pub has: bool,
    /// The name of the folder below the server's own in which they make folders for a time.
    pub folder: &'a str,
    /// Programs that are found before the system's: names and texts of scripts.
    pub programs: &'a [(&'a str, &'a str)],
    /// Options of a file system of memory that stands in the place of the folder; none: it is a plain one.
    pub mount: Option<&'a str>,
    /// Further lines of sshd_config(5).
    pub config: &'a str,
}

impl Default for Sessions<'_> {
    fn default() -> Self {
        Sessions { has: false, folder: "sent", programs: &[], mount: None, config: "" }
    }
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

/// Where sessions find programs.
fn path(dir: &Path, sessions: &Sessions<'_>) -> String {
    let programs = dir.join("programs");
    std::fs::create_dir(&programs).unwrap();
    for (name, text) in sessions.programs {
        let file = programs.join(name);
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let mine = Path::new(env!("CARGO_BIN_EXE_genkai")).parent().unwrap();
    let mine = if sessions.has { format!("{}:", mine.display()) } else { String::new() };
    format!("{}:{mine}/usr/bin:/bin", programs.display())
}

impl Sshd {
    /// A server in whose sessions genkai is found where it is found here (`has`), or not at all; folders that sessions make for a time are
    /// below [`Sshd::sent`].
    pub fn start(has: bool) -> Sshd {
        Sshd::with(&Sessions { has, ..Sessions::default() })
    }

    /// A server with such sessions.
    pub fn with(sessions: &Sessions<'_>) -> Sshd {
        let dir = tempfile::tempdir().unwrap();
        // Users without rights go through it to the keys that they are let in with.
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let ([port], silent) = (free(), TcpListener::bind("127.0.0.1:0").unwrap());
        let sent = dir.path().join(sessions.folder);
        std::fs::create_dir(&sent).unwrap();
        let config =
            format!("SetEnv PATH={} \"TMPDIR={}\"\n{}", path(dir.path(), sessions), sent.display(), sessions.config);
        let config = prepare(dir.path(), "127.0.0.1", port, &config);
        let mut command = match sessions.mount {
            None => Command::new("/usr/sbin/sshd"),
            Some(options) => {
                let script =
                    format!("mount -t tmpfs -o {options} none '{}' && exec /usr/sbin/sshd \"$@\"", sent.display());
                let mut command = Command::new("unshare");
                command.args(["--mount", "sh", "-c", &script, "sh"]);
                command
            }
        };
        command.args(["-D", "-e", "-f"]).arg(config).stdin(Stdio::null()).stderr(Stdio::null());
        let guard = Guard(command.spawn().unwrap());
        until("sshd to listen", LONGEST, || TcpStream::connect(("127.0.0.1", port)).ok());
        let sshd = Sshd { _guard: guard, dir, sent, port, silent };
        sshd.write_config();
        sshd
    }

    fn write_config(&self) {
        let root = self.dir.path().display();
        let port = self.port;
        let host = |name: &str, more: &str| format!("Host {name}\n  HostName 127.0.0.1\n  Port {port}\n{more}");
        let public = std::fs::read_to_string(self.dir.path().join("client.pub")).unwrap();
        std::fs::write(self.dir.path().join("changed"), format!("[127.0.0.1]:{port} {public}")).unwrap();
        let good = format!("  IdentityFile {root}/client\n  UserKnownHostsFile {root}/known\n");
        let text = [
            host("load1 load2", &good),
            host("stranger", &format!("  IdentityFile {root}/host\n  UserKnownHostsFile {root}/known\n")),
            host("unknown", &format!("  IdentityFile {root}/client\n  UserKnownHostsFile {root}/none\n")),
            host("changed", &format!("  IdentityFile {root}/client\n  UserKnownHostsFile {root}/changed\n")),
            host("shell-less", &format!("  User nobody\n{good}")),
            "Host closed\n  HostName 127.0.0.1\n  Port 1\n".to_owned(),
            format!("Host silent\n  HostName 127.0.0.1\n  Port {}\n", self.silent.local_addr().unwrap().port()),
            "Host *\n  IdentitiesOnly yes\n  StrictHostKeyChecking yes\n  IdentityAgent none\n".to_owned(),
        ];
        std::fs::write(self.dir.path().join("ssh_config"), text.concat()).unwrap();
    }

    /// The ssh that knows this server.
    pub fn ssh(&self) -> String {
        format!("ssh -F {}", self.dir.path().join("ssh_config").display())
    }

    /// The same by way of another port, where something passes connections on to this server.
    pub fn ssh_by(&self, listening: &str) -> String {
        let port = listening.rsplit_once(':').unwrap().1;
        format!("{} -o Port={port} -o HostKeyAlias=[127.0.0.1]:{}", self.ssh(), self.port)
    }

    /// Where it listens.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// A program that leads to this server and lets no worker begin: the session is there and says nothing.
    pub fn stalling(&self) -> String {
        let file = self.dir.path().join("stalling");
        let text = format!("case \"$*\" in *\" worker'\") exec sleep 600;; esac\nexec {} \"$@\"\n", self.ssh());
        std::fs::write(&file, text).unwrap();
        format!("sh {}", file.display())
    }

    /// Where sessions put what they keep for a time.
    pub fn sent(&self) -> PathBuf {
        self.sent.clone()
    }
}
