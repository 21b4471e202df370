//! A program that finds another server where it looks for one: in a mount namespace of its own, where a Unix socket is another one, or in a
//! network namespace of its own, which it shares with that server. Nothing of the machine is changed; both end with their processes.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program;

/// Puts each pair's second path in the place of its first, then executes what follows `--`.
const MOUNT: &str =
    "while [ \"$1\" != -- ]; do mount --bind \"$2\" \"$1\" || exit 125; shift 2; done; shift; exec \"$@\"";
/// Makes loopback usable, then executes the rest.
const LOOPBACK: &str = "ip link set lo up || exit 125; exec \"$@\"";

/// What of it this process can do.
///
/// # Errors
/// What is missing, in words.
pub fn possible() -> Result<(), String> {
    if !nix::unistd::geteuid().is_root() {
        return Err(
            "whoever asks it can be led to a copy only in namespaces of its own, which root may make".to_owned()
        );
    }
    let needed = ["unshare", "nsenter", "mount", "ip", "setpriv"];
    if let Some(name) = needed.into_iter().find(|name| program::find(name).is_none()) {
        return Err(format!("`{name}`, by which whoever asks it is led to a copy, is not in PATH"));
    }
    // Root of a container may lack the right to.
    let tried = Command::new("unshare").args(["--net", "--mount", "true"]).stderr(Stdio::null()).status();
    match tried.is_ok_and(|status| status.success()) {
        true => Ok(()),
        false => Err("namespaces, in which whoever asks it is led to a copy, cannot be made here".to_owned()),
    }
}

/// Whether a server at this address can be stood in for by one in a network of its own: that has loopback alone.
pub fn is_inner(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

/// Whether a process is in another network namespace than this one.
pub fn has_other_network(pid: u32) -> bool {
    is_apart(pid, "net")
}

/// Whether a process sees other files than this one, as in a container. A mount namespace of its own is not enough: services get one in which some
/// folders are hidden or cannot be written, and all others are the same.
pub fn has_other_files(pid: u32) -> bool {
    let file = |path: PathBuf| fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
    let same = |path: &str| {
        let theirs = file(PathBuf::from(format!("/proc/{pid}/root{path}")));
        theirs.is_some() && theirs == file(path.into())
    };
    is_apart(pid, "mnt") && !["/", "/etc"].iter().all(|path| same(path))
}

fn is_apart(pid: u32, kind: &str) -> bool {
    let space = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/{kind}")).ok();
    space(&pid.to_string()).is_some_and(|theirs| Some(theirs) != space("self"))
}

/// The same program as this user and group, and no more than these may.
pub fn as_user(command: &Command, (user, group): (u32, u32)) -> Command {
    let mut outer = Command::new("setpriv");
    outer.args([format!("--reuid={user}"), format!("--regid={group}"), "--clear-groups".to_owned(), "--".to_owned()]);
    wrapped(outer, command)
}

/// The same program in a network namespace of its own.
pub fn alone(command: &Command) -> Command {
    let mut outer = Command::new("unshare");
    outer.args(["--net", "--", "sh", "-c", LOOPBACK, "sh"]);
    wrapped(outer, command)
}

/// The same program with other Unix sockets in the places of some: pairs of what it looks for and what it finds.
pub fn with_sockets(command: &Command, pairs: &[(PathBuf, PathBuf)]) -> Command {
    let mut outer = Command::new("unshare");
    outer.args(["--mount", "--propagation", "private", "--", "sh", "-c", MOUNT, "sh"]);
    for (from, to) in pairs {
        outer.arg(from).arg(to);
    }
    outer.arg("--");
    wrapped(outer, command)
}

/// The same program in the network namespace of the process whose number this file says.
///
/// # Errors
/// When the file says none.
pub fn beside(command: &Command, file: &Path) -> io::Result<Command> {
    let pid: u32 = fs::read_to_string(file)?.trim().parse().map_err(io::Error::other)?;
    let mut outer = Command::new("nsenter");
    outer.arg(format!("--net=/proc/{pid}/ns/net")).arg("--");
    Ok(wrapped(outer, command))
}

/// `outer`, which executes `command` in the end.
fn wrapped(mut outer: Command, command: &Command) -> Command {
    outer.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        outer.current_dir(dir);
    }
    outer
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn another_socket_is_found_where_one_is_looked_for() {
        if possible().is_err() {
            return genkai_tidy::noted::skipped("no namespaces can be made here");
        }
        let dir = tempfile::tempdir().unwrap();
        let [from, to] = ["user", "copy"].map(|name| dir.path().join(name));
        let listeners = [&from, &to].map(|path| UnixListener::bind(path).unwrap());
        let code =
            "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(9).decode())";
        let mut command = Command::new("python3");
        command.args(["-c", code]).arg(&from);
        let say =
            |listener: &UnixListener, text: &str| listener.accept().unwrap().0.write_all(text.as_bytes()).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| say(&listeners[1], "copy"));
            let said = with_sockets(&command, &[(from.clone(), to.clone())]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&said.stdout), "copy\n", "{said:?}");
            scope.spawn(|| say(&listeners[0], "user"));
            assert_eq!(
                String::from_utf8_lossy(&command.output().unwrap().stdout),
                "user\n",
                "nobody else sees another"
            );
        });
    }

    #[test]
    fn a_network_of_its_own_is_shared_by_whoever_enters_it() {
        if possible().is_err() {
            return genkai_tidy::noted::skipped("no namespaces can be made here");
        }
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        let mut sleep = Command::new("sleep");
        let mut first = alone(sleep.arg("60")).spawn().unwrap();
        let space = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).unwrap();
        let mine = space("self");
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while space(&first.id().to_string()) == mine {
            assert!(std::time::Instant::now() < deadline, "it stays in this one");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        fs::write(&file, format!("{}\n", first.id())).unwrap();
        let mut link = Command::new("readlink");
        let said = beside(link.arg("/proc/self/ns/net"), &file).unwrap().output().unwrap();
        let theirs = space(&first.id().to_string());
        first.kill().unwrap();
        first.wait().unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), theirs.to_string_lossy());
        assert!(beside(&sleep, &dir.path().join("none")).is_err());
    }
}
