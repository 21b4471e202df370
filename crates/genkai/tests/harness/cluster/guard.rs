//! Ends containers whose test was killed: they have sessions and users of their own, and nobody else would.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// What it does when the test is gone: of each process that is still the one that was named (its start, as proc(5) has it), those it started
/// end, then itself; control groups are removed.
const SCRIPT: &str = "\
all=
while read -r kind what began; do all=\"$all $kind,$what,$began\"; done
for one in $all; do
    IFS=, read -r kind what began <<END
$one
END
    if [ $kind = process ] && [ \"$(cut -d ' ' -f 22 /proc/$what/stat 2>/dev/null)\" = \"$began\" ]; then
        kill -KILL $(cat /proc/$what/task/$what/children) $what 2>/dev/null
    fi
done
case $all in *group,*) sleep 0.5 ;; esac
for one in $all; do case $one in group,*) one=${one#*,}; rmdir ${one%,*} 2>/dev/null ;; esac; done
";

/// A process that waits for the end of the test.
pub(super) struct Guard(Child);

impl Guard {
    pub(super) fn start() -> Guard {
        // In a group of its own: whoever kills a test kills its group.
        let mut command = Command::new("bash");
        command.args(["-c", SCRIPT]).process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Guard(command.spawn().unwrap())
    }

    fn note(&mut self, line: &str) {
        self.0.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    }

    /// Has a process ended with the test, and those it started.
    pub(super) fn process(&mut self, pid: u32) {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        self.note(&format!("process {pid} {}\n", stat.split(' ').nth(21).unwrap()));
    }

    /// Has a control group removed after it.
    pub(super) fn group(&mut self, group: &Path) {
        self.note(&format!("group {} -\n", group.display()));
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
