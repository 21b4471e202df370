//! A program of ours on another machine, through the system's OpenSSH: its configuration, agents and jump hosts work, nothing listens
//! on a port, and nothing is left there.
//!
//! The program is the one that is there already where that is the same file (size and time of its last change, as packages and `rsync -t`
//! keep them); otherwise it is sent, into a folder that is removed when the connection ends.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::PlaceError;
use crate::process::{Child, Spawn};

/// ssh asks nothing, gives up a host that does not answer, and a connection that is dead after 2 to 3 seconds (ssh_config(5)). Every
/// process has a connection of its own, so that what cuts one does not cut all.
const OPTIONS: [&str; 6] = [
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=1",
    "ServerAliveCountMax=2",
    "ControlPath=none",
    "ForwardX11=no",
];
/// How long until the program is there: a slow link carries its 20 MB at 300 KB/s.
const SENT_WITHIN: Duration = Duration::from_secs(60);
/// How long ssh has to end, and to say why, once its output has ended.
const ENDED_WITHIN: Duration = Duration::from_secs(2);

/// A host, as ssh reaches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ssh {
    /// The program and its first arguments.
    pub command: Vec<String>,
    /// The host as ssh takes it.
    pub host: String,
}

/// A program of ours on a host, for as long as this is kept.
#[derive(Debug)]
pub struct Delivered {
    /// Where it is there.
    pub program: String,
    /// Its input ends when this is dropped: then what was sent is removed.
    _keeps: (ChildStdin, Child),
}

impl Ssh {
    /// The command that runs `script` there in the POSIX shell, whatever the user's shell is. The script holds no single quotes.
    pub fn run(&self, script: &str) -> Command {
        let mut command = Command::new(self.command.first().map_or("ssh", String::as_str));
        command.args(self.command.iter().skip(1)).arg("-T");
        command.args(OPTIONS.iter().flat_map(|option| ["-o", option]));
        command.arg("--").arg(&self.host).arg(format!("exec sh -c '{script}'"));
        command
    }

    /// Sees to it that `program` can be run there. `logs` is a folder for what ssh says.
    ///
    /// # Errors
    /// When the host cannot be reached, lets nobody in, is of another kind, or does not take the program.
    pub fn deliver(&self, program: &Path, logs: &Path) -> Result<Delivered, PlaceError> {
        let (size, changed) = std::fs::metadata(program).map(|m| (m.size(), m.mtime())).map_err(|e| self.own(&e))?;
        let log = logs.join(format!("ssh-{}.log", clean(&self.host)));
        let spawn = Spawn { name: format!("ssh {}", self.host), log: Some(log), ..Spawn::default() };
        let mut child = Child::conversing(self.run(&script(size, changed)), spawn)?;
        let (Some(input), Some(output)) = (child.take_stdin(), child.take_stdout()) else {
            return Err(self.error("ssh has no pipes".to_owned(), "this is a bug in genkai"));
        };
        match within(SENT_WITHIN, program.to_owned(), input, output) {
            Some(Ok((input, program))) => Ok(Delivered { program, _keeps: (input, child) }),
            Some(Err(Refusal::Kind(theirs))) => {
                let why = format!("it is {theirs}, and this genkai runs on {}", kind());
                Err(self.error(why, "load from machines of the same kind"))
            }
            Some(Err(Refusal::Ended)) => Err(self.ended(&mut child)),
            Some(Err(Refusal::Own(e))) => Err(self.own(&e)),
            None => {
                let why = format!("genkai was not there within {} s", SENT_WITHIN.as_secs());
                Err(self
                    .error(why, "put the same genkai there by other means, e.g. `rsync -t`, where its shell finds it"))
            }
        }
    }

    /// The error for an ssh that has ended, or is about to, from its last words.
    pub fn ended(&self, child: &mut Child) -> PlaceError {
        let deadline = Instant::now() + ENDED_WITHIN;
        while child.try_exited().is_none() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        let words = child.last_words();
        let (why, hint) = told(&words);
        let status = child.try_exited().map_or_else(String::new, |status| format!(" ({status})"));
        let why = if why.is_empty() { format!("ssh ended without a word{status}") } else { why };
        self.error(why, hint)
    }

    fn own(&self, e: &io::Error) -> PlaceError {
        self.error(format!("cannot read our own program: {e}"), "start genkai from a file that stays where it is")
    }

    fn error(&self, why: String, hint: &str) -> PlaceError {
        PlaceError::Host { host: self.host.clone(), why, hint: hint.to_owned() }
    }
}

/// Says what there is and, where that is not the program, takes it. It goes when its input ends.
fn script(size: u64, changed: i64) -> String {
    format!(
        "set -eu; g=$(command -v genkai || true); \
         if [ -n \"$g\" ] && [ \"$(stat -Lc \"%s %Y\" \"$g\")\" = \"{size} {changed}\" ]; \
         then echo \"genkai have $g\"; exec cat >/dev/null; fi; \
         echo \"genkai want $(uname -sm)\"; \
         d=$(mktemp -d \"${{TMPDIR:-/tmp}}/genkai-worker-XXXXXX\"); \
         trap \"rm -rf \\\"$d\\\"\" EXIT; trap \"exit 1\" HUP INT TERM; \
         head -c {size} >\"$d/genkai\"; chmod 700 \"$d/genkai\"; \"$d/genkai\" --version >/dev/null; \
         echo \"genkai kept $d/genkai\"; cat >/dev/null"
    )
}

/// Why a program did not get there.
enum Refusal {
    /// The machine is of this kind.
    Kind(String),
    /// ssh ended.
    Ended,
    /// Our own program cannot be read.
    Own(io::Error),
}

/// Sends the program if it is wanted; the connection's input and where the program is. None: it took too long.
fn within(
    limit: Duration,
    program: PathBuf,
    input: ChildStdin,
    output: ChildStdout,
) -> Option<Result<(ChildStdin, String), Refusal>> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || drop(tell.send(send(&program, input, output))));
    told.recv_timeout(limit).ok()
}

fn send(program: &Path, mut input: ChildStdin, output: ChildStdout) -> Result<(ChildStdin, String), Refusal> {
    let mut lines = BufReader::new(output).lines();
    let mut next = || loop {
        // What a login script prints is not ours.
        let line = lines.next().and_then(Result::ok).ok_or(Refusal::Ended)?;
        if let Some(said) = line.strip_prefix("genkai ") {
            return Ok(said.to_owned());
        }
    };
    let said = next()?;
    if let Some(there) = said.strip_prefix("have ") {
        return Ok((input, there.to_owned()));
    }
    let theirs = said.strip_prefix("want ").unwrap_or(&said);
    if theirs != kind() {
        return Err(Refusal::Kind(theirs.to_owned()));
    }
    let mut file = File::open(program).map_err(Refusal::Own)?;
    io::copy(&mut file, &mut input).and_then(|_| input.flush()).map_err(|_| Refusal::Ended)?;
    match next()?.strip_prefix("kept ") {
        Some(there) => Ok((input, there.to_owned())),
        None => Err(Refusal::Ended),
    }
}

/// This machine, as `uname -sm` says it.
fn kind() -> String {
    let word = |part: Option<&str>| part.unwrap_or_default().to_owned();
    nix::sys::utsname::uname()
        .map(|all| format!("{} {}", word(all.sysname().to_str()), word(all.machine().to_str())))
        .unwrap_or_default()
}

/// Letters and digits of a host's name.
fn clean(host: &str) -> String {
    host.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// What ssh, or the shell there, said last, in one clause; and what to do.
fn told(words: &str) -> (String, &'static str) {
    const KNOWN: [(&str, &str, &str); 12] = [
        ("Could not resolve hostname", "its name is not known", "correct it, or name the host in ~/.ssh/config"),
        (
            "REMOTE HOST IDENTIFICATION HAS CHANGED",
            "its host key is not the one that was known",
            "find out why; then `ssh-keygen -R HOST`",
        ),
        (
            "Host key verification failed",
            "its host key is not known, or has changed",
            "log in once by hand (`ssh HOST`) and look at the key",
        ),
        (
            "Permission denied (",
            "it lets nobody in with the keys there are",
            "`ssh -o BatchMode=yes HOST true` must work without a question",
        ),
        (
            "Too many authentication failures",
            "it lets nobody in with the keys there are",
            "name the key in ~/.ssh/config (IdentitiesOnly)",
        ),
        ("Connection refused", "no ssh server listens there", "start sshd, or name its port in ~/.ssh/config"),
        ("No route to host", "there is no way to it", "correct the address"),
        ("Network is unreachable", "there is no way to it", "correct the address"),
        ("timed out", "it does not answer", "correct the address, or look whether a firewall drops it"),
        ("No space left on device", "it has no space for genkai", "free some, or set TMPDIR there"),
        ("currently not available", "its user has no shell", "use another user"),
        ("nologin", "its user has no shell", "use another user"),
    ];
    let last = words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let known = KNOWN.iter().find(|(sign, ..)| words.contains(sign));
    match known {
        Some((_, why, hint)) => (format!("{why}: {last}"), hint),
        None if last.contains("genkai: ") && last.contains("ermission denied") => (
            format!("genkai may not be run there: {last}"),
            "its folder is mounted noexec: set TMPDIR there to another one",
        ),
        None => (last.to_owned(), "`ssh HOST true` shows more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ssh(command: &[&str]) -> Ssh {
        Ssh { command: command.iter().map(|&word| word.to_owned()).collect(), host: "load1".to_owned() }
    }

    #[test]
    fn the_script_is_one_argument_without_quotes_of_its_own() {
        let command = ssh(&["ssh", "-F", "file"]).run(&script(5, 7));
        let all: Vec<_> = command.get_args().map(|one| one.to_string_lossy().into_owned()).collect();
        assert_eq!((&all[..3], command.get_program()), (&["-F", "file", "-T"].map(str::to_owned)[..], "ssh".as_ref()));
        let last = all.last().unwrap();
        assert!(last.starts_with("exec sh -c '") && last.matches('\'').count() == 2, "{last}");
        assert_eq!(all[all.len() - 2], "load1");
        assert_eq!(all[all.len() - 3], "--");
    }

    #[test]
    fn what_ssh_says_is_a_reason_and_what_to_do() {
        for (words, why) in [
            ("ssh: Could not resolve hostname nix: Name or service not known\r\n", "its name is not known: ssh: Could"),
            ("root@10.0.0.2: Permission denied (publickey).\n", "lets nobody in"),
            ("Host key verification failed.\n", "host key"),
            ("ssh: connect to host 10.0.0.2 port 22: Connection refused\n", "no ssh server listens there"),
            ("ssh: connect to host 10.0.0.2 port 22: Connection timed out\n", "does not answer"),
            ("head: error writing 'standard output': No space left on device\n", "no space"),
            ("This account is currently not available.\n", "no shell"),
            ("sh: 1: /tmp/genkai-worker-a/genkai: Permission denied\n", "may not be run there"),
            ("a\nsomething new\n\n", "something new"),
        ] {
            let (said, hint) = told(words);
            assert!(said.contains(why) && !hint.is_empty(), "{words}: {said}");
        }
    }
}
