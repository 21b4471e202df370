//! A program of ours on another machine, through the system's OpenSSH: its configuration, agents and jump hosts work, nothing listens
//! on a port, and nothing is left there.
//!
//! The program is the one that is there already where that is the same file (size and time of its last change, as packages and `rsync -t`
//! keep them); otherwise it is sent, into a folder that is removed when the connection ends.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::process::{Child, Spawn};
use crate::{PlaceError, tail};

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
/// How often the wish to stop is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(20);
/// How many lines that are not ours are kept, to say why there is no program.
const STRANGE_LINES: usize = 5;
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
    /// The command that runs `program` there with one argument.
    pub fn start(&self, program: &str, argument: &str) -> Command {
        self.run(&format!("echo; exec {} {argument}", word(program)))
    }

    /// The command that runs `script` there in the POSIX shell, whatever the user's shell is. The script holds no single quotes.
    fn run(&self, script: &str) -> Command {
        let mut command = Command::new(self.command.first().map_or("ssh", String::as_str));
        command.args(self.command.iter().skip(1)).arg("-T");
        command.args(OPTIONS.iter().flat_map(|option| ["-o", option]));
        command.arg("--").arg(&self.host).arg(format!("exec sh -c '{script}'"));
        command
    }

    /// Sees to it that `program` can be run there; none when `stopped` before it was. `logs` is a folder for what ssh says.
    ///
    /// # Errors
    /// When the host cannot be reached, lets nobody in, is of another kind, or does not take the program.
    pub fn deliver(
        &self,
        program: &Path,
        logs: &Path,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Delivered>, PlaceError> {
        let (size, changed) = std::fs::metadata(program).map(|m| (m.size(), m.mtime())).map_err(|e| self.own(&e))?;
        let log = logs.join(format!("ssh-{}.log", clean(&self.host)));
        let spawn = Spawn { name: format!("ssh {}", self.host), log: Some(log), ..Spawn::default() };
        let mut child = Child::conversing(self.run(&script(size, changed)), spawn)?;
        let (Some(input), Some(output)) = (child.take_stdin(), child.take_stdout()) else {
            return Err(self.error("ssh has no pipes", "this is a bug in genkai"));
        };
        match within(SENT_WITHIN, stopped, program.to_owned(), input, output) {
            Ok((input, program)) => Ok(Some(Delivered { program, _keeps: (input, child) })),
            Err(Refusal::Stopped) => Ok(None),
            Err(Refusal::Kind(theirs)) => {
                let why = format!("it is {theirs}, and this genkai runs on {}", kind());
                Err(self.error(&why, "load from machines of the same kind"))
            }
            Err(Refusal::Ended(said)) => Err(self.ended(&mut child, &said)),
            Err(Refusal::Own(e)) => Err(self.own(&e)),
            Err(Refusal::Late) => {
                let why = format!("genkai was not there within {} s", SENT_WITHIN.as_secs());
                let hint = "put the same genkai there by other means, e.g. `rsync -t`, where its shell finds it";
                Err(self.error(&why, hint))
            }
        }
    }

    /// The error for an ssh that has ended, or is about to, from its last words; `said` is what came instead of ours.
    fn ended(&self, child: &mut Child, said: &str) -> PlaceError {
        let deadline = Instant::now() + ENDED_WITHIN;
        while child.try_exited().is_none() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        let (why, hint) = told(&format!("{said}\n{}", child.last_words()));
        let status = child.try_exited().map_or_else(String::new, |status| format!(" ({status})"));
        let why = if why.is_empty() { format!("ssh ended without a word{status}") } else { why };
        self.error(&why, hint)
    }

    fn own(&self, e: &io::Error) -> PlaceError {
        self.error(&format!("cannot read our own program: {e}"), "start genkai from a file that stays where it is")
    }

    /// What others wrote is in it: nothing that a terminal obeys gets through.
    fn error(&self, why: &str, hint: &str) -> PlaceError {
        PlaceError::Host { host: self.host.clone(), why: tail::clean(why.as_bytes()), hint: hint.to_owned() }
    }
}

/// A word of the POSIX shell that is this text, whatever is in it. It has no quotes and no dollar of the text's own, so every shell passes
/// it on as it is: printf(1) makes the bytes from octal numbers.
fn word(text: &str) -> String {
    let bytes: String = text.bytes().map(|byte| format!("\\{byte:03o}")).collect();
    format!("\"$(printf \"{bytes}\")\"")
}

/// Says what there is and, where that is not the program, takes it. It goes when its input ends. (The first line ends what a login script may
/// have begun.)
fn script(size: u64, changed: i64) -> String {
    format!(
        "set -eu; echo; g=$(command -v genkai || true); \
         if [ -n \"$g\" ] && [ \"$(stat -Lc \"%s %Y\" \"$g\")\" = \"{size} {changed}\" ]; \
         then echo \"genkai have $g\"; exec cat >/dev/null; fi; \
         echo \"genkai want $(uname -sm)\"; \
         d=$(mktemp -d \"${{TMPDIR:-/tmp}}/genkai-worker-XXXXXX\"); \
         trap \"rm -rf \\\"\\$d\\\"\" EXIT; trap \"exit 1\" HUP INT TERM PIPE; \
         head -c {size} >\"$d/genkai\"; chmod 700 \"$d/genkai\"; \"$d/genkai\" --version >/dev/null; \
         echo \"genkai kept $d/genkai\"; cat >/dev/null"
    )
}

/// Why a program did not get there.
enum Refusal {
    /// The machine is of this kind.
    Kind(String),
    /// ssh ended; what came from there that is not ours.
    Ended(String),
    /// Our own program cannot be read.
    Own(io::Error),
    /// It took too long.
    Late,
    /// Nobody wants it any more.
    Stopped,
}

/// Sends the program if it is wanted; the connection's input and where the program is.
fn within(
    limit: Duration,
    stopped: &dyn Fn() -> bool,
    program: PathBuf,
    input: ChildStdin,
    output: ChildStdout,
) -> Result<(ChildStdin, String), Refusal> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || drop(tell.send(send(&program, input, output))));
    let deadline = Instant::now() + limit;
    loop {
        match told.recv_timeout(LOOK) {
            Ok(sent) => return sent,
            Err(_) if stopped() => return Err(Refusal::Stopped),
            Err(_) if Instant::now() >= deadline => return Err(Refusal::Late),
            Err(_) => {}
        }
    }
}

/// The next line of ours; `strange` keeps the last that are not: what a login script prints, or who stands in a shell's place.
fn ours(output: &mut impl BufRead, strange: &mut VecDeque<String>) -> Result<String, Refusal> {
    loop {
        let mut line = Vec::new();
        match output.read_until(b'\n', &mut line) {
            Ok(read) if read > 0 => {}
            _ => return Err(Refusal::Ended(Vec::from(std::mem::take(strange)).join("\n"))),
        }
        let line = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(&line)).into_owned();
        if let Some(said) = line.strip_prefix("genkai ") {
            return Ok(said.to_owned());
        }
        strange.push_back(line);
        if strange.len() > STRANGE_LINES {
            strange.pop_front();
        }
    }
}

fn send(program: &Path, mut input: ChildStdin, output: ChildStdout) -> Result<(ChildStdin, String), Refusal> {
    let (mut output, mut strange) = (BufReader::new(output), VecDeque::new());
    let said = ours(&mut output, &mut strange)?;
    if let Some(there) = said.strip_prefix("have ") {
        return Ok((input, there.to_owned()));
    }
    let theirs = said.strip_prefix("want ").unwrap_or(&said);
    if theirs != kind() {
        return Err(Refusal::Kind(theirs.to_owned()));
    }
    let mut file = File::open(program).map_err(Refusal::Own)?;
    let sent = io::copy(&mut file, &mut input).and_then(|_| input.flush());
    let said = ours(&mut output, &mut strange)?;
    match said.strip_prefix("kept ") {
        Some(there) if sent.is_ok() => Ok((input, there.to_owned())),
        _ => Err(Refusal::Ended(said)),
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
    const KNOWN: [(&str, &str, &str); 13] = [
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
        ("failed to create", "genkai cannot be put there", "set TMPDIR there to a folder that its user may write"),
    ];
    let with = |sign: &str| words.lines().rev().map(str::trim).find(|line| !line.is_empty() && line.contains(sign));
    let last = with("").unwrap_or_default();
    let known = KNOWN.iter().find_map(|(sign, why, hint)| Some((with(sign)?, why, hint)));
    match known {
        Some((line, why, hint)) => (format!("{why}: {line}"), hint),
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

    /// What a shell on this machine makes of the command.
    fn run_here(command: &Command) -> String {
        let script = command.get_args().last().unwrap();
        let out = std::process::Command::new("sh").arg("-c").arg(script).output().unwrap();
        String::from_utf8(out.stdout).unwrap()
    }

    #[test]
    fn a_program_is_found_whatever_its_folder_is_called() {
        let dir = tempfile::tempdir().unwrap();
        for odd in
            ["plain", "it's", "two words", "\"$(touch x)`y`\"", "back\\slash\\'", "100%s\\n", "ümlaut", "!!;&|*?"]
        {
            let folder = dir.path().join(odd);
            std::fs::create_dir(&folder).unwrap();
            let program = folder.join("genkai");
            std::os::unix::fs::symlink("/bin/echo", &program).unwrap();
            assert_eq!(run_here(&ssh(&["ssh"]).start(program.to_str().unwrap(), "worker")), "\nworker\n", "{odd}");
        }
    }

    #[test]
    fn what_a_host_says_obeys_no_terminal() {
        let error = ssh(&["ssh"]).error("it is \u{1b}]0;mine\u{7}Linux\r\n", "look").to_string();
        assert!(error.starts_with("load1: it is \u{fffd}]0;mine\u{fffd}Linux"), "{error}");
        assert!(!error.contains(['\u{1b}', '\u{7}', '\r']), "{error}");
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
            ("This account is currently not available.\nCould not chdir to /none\n", "no shell: This account is"),
            ("sh: 1: /tmp/genkai-worker-a/genkai: Permission denied\n", "may not be run there"),
            ("a\nsomething new\n\n", "something new"),
        ] {
            let (said, hint) = told(words);
            assert!(said.contains(why) && !hint.is_empty(), "{words}: {said}");
        }
    }
}
