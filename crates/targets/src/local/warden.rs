//! Ends the children's groups when this process dies without having had the chance to (SIGKILL, abort, out of memory).
//!
//! The parent-death signal that [`super::process`] sets reaches only the child itself, not the worker processes it
//! starts; nginx's workers, for one, go on serving when their master is killed. So one small shell per genkai process
//! reads the groups that exist from a pipe; when the pipe ends while groups are left, genkai is gone and they are killed.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock};

/// Reads `+ GROUP` and `- GROUP`. Signals of a terminal and polite ends are not for it: it ends when its pipe does.
const SCRIPT: &str = r#"
trap '' HUP INT TERM QUIT
groups=' '
while read -r verb group; do
    case $verb in
        +) groups="$groups$group " ;;
        -) groups="${groups%% "$group" *} ${groups#* "$group" }" ;;
    esac
done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
"#;

/// Its pipe; none when no shell could be started (the parent-death signal still holds then).
fn pipe() -> &'static Mutex<Option<ChildStdin>> {
    static PIPE: OnceLock<Mutex<Option<ChildStdin>>> = OnceLock::new();
    PIPE.get_or_init(|| Mutex::new(start()))
}

fn start() -> Option<ChildStdin> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT, "genkai-warden"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
    // SAFETY: setsid is async-signal-safe. A session of its own keeps it out of the groups it watches and of Ctrl-C.
    unsafe {
        command.pre_exec(|| nix::unistd::setsid().map(drop).map_err(Into::into));
    }
    // Never waited for: it ends only after this process has.
    command.spawn().ok().and_then(|mut child| child.stdin.take())
}

fn tell(verb: char, group: u32) {
    let mut pipe = pipe().lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(stdin) = pipe.as_mut()
        && writeln!(stdin, "{verb} {group}").is_err()
    {
        *pipe = None;
    }
}

/// A group that must not outlive this process.
pub(super) fn watch(group: u32) {
    tell('+', group);
}

/// The group is gone; its number may be given to somebody else.
pub(super) fn forget(group: u32) {
    tell('-', group);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The script itself, with groups of real processes: those taken back live on, the others are killed at the end.
    #[test]
    fn only_groups_still_listed_are_killed_when_the_pipe_ends() {
        let mut sleepers: Vec<_> = (0..4)
            .map(|_| {
                let mut sleeper = Command::new("sleep");
                sleeper.arg("600").process_group(0).stdin(Stdio::null());
                sleeper.spawn().unwrap()
            })
            .collect();
        let mut shell = Command::new("/bin/sh").args(["-c", SCRIPT]).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = shell.stdin.take().unwrap();
        for sleeper in &sleepers {
            writeln!(stdin, "+ {}", sleeper.id()).unwrap();
        }
        writeln!(stdin, "- {}", sleepers[0].id()).unwrap();
        writeln!(stdin, "- {}", sleepers[2].id()).unwrap();
        drop(stdin);
        shell.wait().unwrap();
        assert!(!sleepers[1].wait().unwrap().success());
        assert!(!sleepers[3].wait().unwrap().success());
        for i in [0, 2] {
            assert_eq!(sleepers[i].try_wait().unwrap(), None, "sleeper {i} was taken back and must live");
            sleepers[i].kill().unwrap();
            sleepers[i].wait().unwrap();
        }
    }
}
