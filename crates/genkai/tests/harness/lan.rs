//! Machines in network namespaces of their own, with clocks of their own, that are reached through ssh.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::servers::Guard;
use super::{descendants, signal, ssh, until};

const LONGEST: Duration = Duration::from_secs(90);

/// Four machines in network namespaces of their own, whose clocks are shifted, around one in which genkai and nginx are.
pub struct Lan {
    outer: Guard,
    dir: tempfile::TempDir,
}

/// By how much each machine's CLOCK_MONOTONIC is ahead, seconds.
pub const SHIFTS: [i32; 4] = [2, -2, 0, 1];

impl Drop for Lan {
    fn drop(&mut self) {
        // It waits for its child, whatever it is told but this.
        signal(self.outer.0.id(), "KILL");
    }
}

impl Lan {
    /// All of them, whose ssh servers are about to listen; none, which is noted, where no such namespaces can be made.
    pub fn start() -> Option<Lan> {
        if !possible() {
            genkai_tidy::noted::skipped("no namespaces of network and time can be made here");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let path = Path::new(env!("CARGO_BIN_EXE_genkai")).parent().unwrap();
        let (mut setup, mut hosts) =
            (String::from("ip link set lo up; ip addr add 10.97.0.1/32 dev lo\n"), String::new());
        for (n, shift) in (1..).zip(SHIFTS) {
            let address = format!("10.97.{n}.2");
            let more = format!("SetEnv PATH={}:/usr/bin:/bin", path.display());
            let config = ssh::prepare(dir.path(), &address, 22, &more);
            // A machine waits for its link, which the one around it makes.
            setup += &format!(
                "unshare --net --time --monotonic={shift} --fork --kill-child sh -c 'until ip link set e0 up 2>/dev/null; do sleep 0.02; \
                 done; ip link set lo up; ip addr add {address}/24 dev e0; ip route add default via 10.97.{n}.1; \
                 exec /usr/sbin/sshd -D -e -f {}' 2>/dev/null &\n\
                 until p=$(pgrep -P $! -f 'until ip link'); do sleep 0.02; done\n\
                 until ip link add v{n} type veth peer name e0 netns $p; do sleep 0.02; done\n\
                 ip addr add 10.97.{n}.1/24 dev v{n}; ip link set v{n} up\n",
                config.display()
            );
            hosts += &format!("Host m{n}\n  HostName {address}\n");
        }
        let root = dir.path().display();
        hosts += &format!(
            "Host *\n  IdentityFile {root}/client\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile {root}/known\n"
        );
        std::fs::write(dir.path().join("ssh_config"), hosts).unwrap();
        std::fs::write(dir.path().join("setup"), setup + "echo ready\nexec sleep 600\n").unwrap();
        let mut command = Command::new("unshare");
        // The end of the first process of a namespace of processes ends all of them.
        command
            .args(["--net", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child", "sh"])
            .arg(dir.path().join("setup"));
        let mut outer = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = [0; 6];
        outer.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
        assert_eq!(&line, b"ready\n");
        Some(Lan { outer: Guard(outer), dir })
    }

    /// Where its files are.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A program in the machine in the middle.
    pub fn inside(&self, program: &str) -> Command {
        let inner = until("the namespace", LONGEST, || descendants(self.outer.0.id()).first().copied());
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &inner.to_string(), "--"]).arg(program).stdin(Stdio::null());
        command
    }

    /// `genkai` in the middle, with servers' programs and the ssh of this network.
    pub fn genkai(&self, words: &str, out: &Path) -> Command {
        let mut command = self.inside(env!("CARGO_BIN_EXE_genkai"));
        command.env("PATH", with_servers()).args(words.split_whitespace()).arg("--out").arg(out);
        command.arg("--ssh").arg(format!("ssh -F {}", self.dir.path().join("ssh_config").display()));
        command
    }

    /// An nginx in the middle, which logs who asks it; all listen then.
    pub fn nginx(&self) -> Guard {
        let root = self.dir.path().display();
        let config = format!(
            "daemon off; master_process off; pid {root}/pid; error_log {root}/error.log; events {{ worker_connections 512; }}\n\
             http {{ client_body_temp_path {root}/a; proxy_temp_path {root}/b; fastcgi_temp_path {root}/c; \
             uwsgi_temp_path {root}/d; scgi_temp_path {root}/e;\nlog_format who '$remote_addr $arg_n'; access_log {root}/who who; \
             server {{ listen 10.97.0.1:80; return 200 hello; }} }}\n"
        );
        let file = self.dir.path().join("nginx.conf");
        std::fs::write(&file, config).unwrap();
        let mut command = self.inside("nginx");
        let guard = Guard(command.env("PATH", with_servers()).arg("-c").arg(&file).spawn().unwrap());
        let all: Vec<String> = (1..=SHIFTS.len()).map(|n| format!("10.97.{n}.2/22")).collect();
        for place in all.iter().map(String::as_str).chain(["10.97.0.1/80"]) {
            let listens = || {
                self.inside("bash").args(["-c", &format!("exec 3<>/dev/tcp/{place}")]).stderr(Stdio::null()).status()
            };
            until("everybody to listen", LONGEST, || listens().is_ok_and(|status| status.success()).then_some(()));
        }
        guard
    }
}

/// Where programs are found, servers among them.
fn with_servers() -> String {
    format!("{}:/usr/sbin", std::env::var("PATH").unwrap())
}

/// Whether namespaces of network and time can be made here.
fn possible() -> bool {
    let tried = Command::new("unshare").args(["--net", "--time", "--monotonic=1", "--fork", "true"]).status();
    tried.is_ok_and(|status| status.success())
}
