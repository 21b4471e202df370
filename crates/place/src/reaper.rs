//! Does what this process owes when it dies without having had the chance to (SIGKILL, abort, out of memory, a second Ctrl-C): ends the
//! groups of its children, unmounts what it mounted, removes its private folders.
//!
//! The parent-death signal that [`super::process`] sets reaches only the child itself, not the worker processes it
//! starts; nginx's workers, for one, go on serving when their master is killed. So one small shell per genkai process
//! reads from a pipe what is owed; when the pipe ends while something is, genkai is gone and the shell does it.

use std::fmt;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock};

use crate::session;

/// Reads `+ DUTY` and `- DUTY`. Signals of a terminal and polite ends are not for it: it ends when its pipe does. Processes end
/// before what they use is unmounted, and that before folders go; a process that is slow to end holds the others up, so they are
/// tried for some seconds.
const SCRIPT: &str = r#"
trap '' HUP INT TERM QUIT
PATH="$PATH:/usr/sbin:/sbin:/usr/bin:/bin"
nl='
'
owed="$nl"
while IFS= read -r line; do
    duty="$nl${line#? }$nl"
    case $line in
        '+ '*) owed="$owed${line#+ }$nl" ;;
        '- '*) case $owed in *"$duty"*) owed="${owed%%"$duty"*}$nl${owed#*"$duty"}" ;; esac ;;
    esac
done
IFS="$nl"
set -f
each() {
    for duty in $owed; do
        case $duty in "$1 "*) "$1" "${duty#"$1 "}" ;; esac
    done
}
group() { kill -s KILL -- "-$1" 2>/dev/null; }
mount() { umount -l -- "$1" 2>/dev/null; }
folder() { rm -rf -- "$1" 2>/dev/null; [ ! -e "$1" ] || left=1; }
segments() { set +f; rm -f -- /dev/shm/"$1"* 2>/dev/null; set -f; }
each group
for try in 1 2 3 4 5 6 7 8 9 10; do
    left=''
    each mount
    each folder
    each segments
    [ -n "$left" ] || break
    sleep 0.5
done
"#;

/// Something that must not outlive this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cleanup {
    /// The processes of a group are to be killed.
    Group(u32),
    /// What is mounted there is to be unmounted.
    Mount(PathBuf),
    /// A folder of our own is to be removed, with all that is in it.
    Folder(PathBuf),
    /// Segments of shared memory whose names begin so are to be removed (shm_overview(7)).
    Segments(String),
}

impl fmt::Display for Cleanup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cleanup::Group(group) => write!(f, "group {group}"),
            Cleanup::Mount(path) => write!(f, "mount {}", path.display()),
            Cleanup::Folder(path) => write!(f, "folder {}", path.display()),
            Cleanup::Segments(prefix) => write!(f, "segments {prefix}"),
        }
    }
}

impl Cleanup {
    /// Whether it can be written in a line as it is; others are owed by nobody.
    fn is_plain(&self) -> bool {
        let plain = |path: &Path| path.is_absolute() && path.to_str().is_some_and(|text| !text.contains('\n'));
        match self {
            Cleanup::Group(_) => true,
            Cleanup::Mount(path) | Cleanup::Folder(path) => plain(path),
            Cleanup::Segments(prefix) => !prefix.is_empty() && !prefix.contains(['\n', '/']),
        }
    }
}

/// A duty that the reaper has taken over, until this is dropped: it was done then, or need not be.
#[derive(Debug)]
pub struct CleanupGuard(Cleanup);

impl CleanupGuard {
    /// Has it done should this process die.
    pub fn new(duty: Cleanup) -> CleanupGuard {
        tell('+', &duty);
        CleanupGuard(duty)
    }
}

impl Drop for CleanupGuard {
    fn drop(&mut self) {
        tell('-', &self.0);
    }
}

/// Its pipe; none when no shell could be started (the parent-death signal still holds then).
fn pipe() -> &'static Mutex<Option<ChildStdin>> {
    static PIPE: OnceLock<Mutex<Option<ChildStdin>>> = OnceLock::new();
    PIPE.get_or_init(|| Mutex::new(start()))
}

fn start() -> Option<ChildStdin> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT, "genkai-reaper"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
    // SAFETY: setsid is async-signal-safe. A session of its own keeps it out of the groups it watches and of Ctrl-C.
    unsafe {
        command.pre_exec(|| nix::unistd::setsid().map(drop).map_err(Into::into));
    }
    // Never waited for: it ends only after this process has.
    session::lead(&mut command).ok().and_then(|mut child| child.stdin.take())
}

fn tell(verb: char, duty: &Cleanup) {
    if !duty.is_plain() {
        return;
    }
    let mut pipe = pipe().lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(stdin) = pipe.as_mut()
        && writeln!(stdin, "{verb} {duty}").is_err()
    {
        *pipe = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell() -> std::process::Child {
        Command::new("/bin/sh").args(["-c", SCRIPT]).stdin(Stdio::piped()).spawn().unwrap()
    }

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
        let mut shell = shell();
        let mut stdin = shell.stdin.take().unwrap();
        for sleeper in &sleepers {
            writeln!(stdin, "+ {}", Cleanup::Group(sleeper.id())).unwrap();
        }
        for n in [0, 2, 2] {
            writeln!(stdin, "- {}", Cleanup::Group(sleepers[n].id())).unwrap();
        }
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

    #[test]
    fn folders_still_listed_are_removed_whatever_they_are_called() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["plain", "two words * $(x) 'y'", "plain longer", "kept"];
        let paths: Vec<PathBuf> = names.iter().map(|name| dir.path().join(name)).collect();
        for path in &paths {
            std::fs::create_dir_all(path.join("below")).unwrap();
        }
        let mut shell = shell();
        let mut stdin = shell.stdin.take().unwrap();
        for path in &paths {
            writeln!(stdin, "+ {}", Cleanup::Folder(path.clone())).unwrap();
        }
        writeln!(stdin, "- {}", Cleanup::Folder(paths[3].clone())).unwrap();
        // Unknown to it, and no path of it is touched.
        writeln!(stdin, "- {}\n+ {}", Cleanup::Folder(dir.path().join("pl")), Cleanup::Mount(paths[3].clone()))
            .unwrap();
        drop(stdin);
        assert!(shell.wait().unwrap().success());
        assert_eq!(paths.iter().map(|path| path.exists()).collect::<Vec<_>>(), [false, false, false, true]);
        let odd = |path: &str| !Cleanup::Folder(path.into()).is_plain();
        assert!(odd("a\nb") && odd("relative") && !Cleanup::Segments("a/../b".to_owned()).is_plain());
    }
}
