//! What the server that is installed here says of a configuration. What it says of this machine (a file, a name, a user, a module that is not there) is
//! nothing that it says of the configuration.

use std::path::Path;

use genkai_model::explain::{Asked, Explanation, RemarkKind};

use super::find;
use crate::error::{ErrorKind, TargetError};
use crate::explain::Requests;
use crate::files::masked;
use crate::product::{Answer, Entry, trusted};

/// Words with which servers say that something of this machine is not as the configuration wants it.
const OF_THE_MACHINE: &[&str] = &[
    "no such file",
    "does not exist",
    "is not a directory",
    "failed (2:",
    "failed (13:",
    "permission denied",
    "not permitted",
    "host not found",
    "could not resolve",
    "could not be resolved",
    "cannot resolve",
    "name or service not known",
    "temporary failure in name resolution",
    "getpwnam",
    "getgrnam",
    "cannot find user",
    "cannot find group",
    "cannot get uid",
    "cannot get gid",
    "bad user name",
    "bad group name",
    "cannot load",
    "unable to load",
    "unable to open",
    "failed to open",
    "unable to stat",
    "dlopen",
    "took longer than",
    "cannot assign requested address",
    "address already in use",
    "address family not supported",
];

/// Words with which servers say that they were built without what the configuration wants, or are too old for it.
const OF_THE_BUILD: &[&str] = &[
    "requires ngx_",
    "not compiled",
    "was not built",
    "built without",
    "compiled without",
    "not supported by this build",
    "not supported on this platform",
    "module not registered",
    "could not find vmod",
];

/// Words of a line that only says that others tell of errors.
const OF_OTHERS: &[&str] = &[
    "error(s) found in configuration",
    "fatal errors found in configuration",
    "failed to load configuration file",
    "failed to post process the configuration",
    "initialization failed",
];

/// Words by which a line is a warning: no file is refused for it.
const WARNS: &[&str] = &["warning: "];

/// What a line that says why a configuration is not taken speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Machine,
    /// What it was built with, or its version.
    Build,
    File,
}

/// What the product that is installed says of what was explained; none: it has no check of its own. Nothing is started, nothing of the user's is written.
pub fn asked(explained: &Explanation, main: &Path, requests: &Requests) -> Option<Asked> {
    let entry = find(&explained.product)?;
    let (ask, command) = entry.ask?;
    let answer = tempfile::Builder::new()
        .prefix("genkai-asked-")
        .tempdir()
        .map_err(|e| TargetError::machine(entry.called, format!("there is no folder for a private copy: {e}")));
    // Modules and scripts that it names are executed by the check.
    if let Err(why) = trusted(main) {
        return Some(open(&[], &why));
    }
    let answer = answer.and_then(|dir| ask(main, requests, dir.path()));
    let named = explained.remarks.iter().any(|remark| remark.kind == RemarkKind::Unknown);
    Some(match answer {
        Ok(answer) if named && entry.leaves_out && answer.verdict.is_ok() => {
            open(&[], "its private copy is made without what genkai does not know")
        }
        Ok(answer) => judged(entry, command, answer, named),
        Err(error) => open(&[], &error.without_hint()),
    })
}

/// `named`: it has what genkai knows to be no setting at all, too.
fn judged(entry: &Entry, command: &str, answer: Answer, named: bool) -> Asked {
    let by = format!("{} {}", entry.called, answer.version);
    let by = format!("{} ({command})", by.trim_end());
    let error = match answer.verdict {
        Ok(warnings) => return Asked::Taken { by, warnings: warnings.iter().map(|line| masked(line)).collect() },
        Err(error) => error,
    };
    let ErrorKind::Rejected(words) = &error.kind else { return open(&[], &error.without_hint()) };
    let all = reasons(words);
    let (of, unknown): (Vec<Of>, Vec<bool>) = all.iter().map(|line| of(line, entry.unknown)).unzip();
    // A line follows from another often enough: what is said of the file alone refuses it, and what genkai knows itself.
    let known = named && of.iter().zip(unknown).any(|(of, unknown)| unknown && *of != Of::Machine);
    let has = |one: Of| of.contains(&one);
    let open = |what: &str| open(&[format!("{what}:")], words);
    match (has(Of::Machine), has(Of::Build), has(Of::File)) {
        _ if known => Asked::Refused { by, words: lines(words) },
        (false, false, _) => Asked::Refused { by, words: lines(words) },
        (true, false, false) => open(&format!("what {by} says of it is of this machine")),
        (true, ..) => {
            open(&format!("some of what {by} says of it is of this machine, and the rest may follow from that"))
        }
        (false, true, false) => {
            open(&format!("{by} does not know all that is in it; another version, or one with other modules, may"))
        }
        (false, true, true) => {
            open(&format!("{by} does not know all that is in it, and the rest may follow from that"))
        }
    }
}

/// The lines that say why a configuration is not taken, in lower case; all, where none of them is more than a warning or a summary.
fn reasons(words: &str) -> Vec<String> {
    let lines = words.lines().filter(|line| !line.trim().is_empty());
    let all: Vec<String> = lines.map(str::to_lowercase).collect();
    let says = |line: &&String| !WARNS.iter().chain(OF_OTHERS).any(|word| line.contains(word));
    let reasons: Vec<String> = all.iter().filter(says).cloned().collect();
    if reasons.is_empty() { all } else { reasons }
}

/// What a line speaks of; whether it has the words for a setting that the product does not know.
fn of(line: &str, unknown: &str) -> (Of, bool) {
    let has = |all: &[&str]| all.iter().any(|word| line.contains(word));
    let strange = !unknown.is_empty() && line.contains(&unknown.to_lowercase());
    let of = match (has(OF_THE_MACHINE), strange || has(OF_THE_BUILD)) {
        (true, _) => Of::Machine,
        (false, true) => Of::Build,
        (false, false) => Of::File,
    };
    (of, strange)
}

fn open(before: &[String], words: &str) -> Asked {
    Asked::Open { why: before.iter().cloned().chain(lines(words)).collect() }
}

fn lines(words: &str) -> Vec<String> {
    words.lines().map(str::trim).filter(|line| !line.is_empty()).map(masked).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(words: &str, named: bool) -> Asked {
        judge_of("nginx", words, named)
    }

    fn judge_of(product: &'static str, words: &str, named: bool) -> Asked {
        let answer =
            Answer { version: "1.2".to_owned(), verdict: Err(TargetError::rejected(product, words.to_owned())) };
        judged(find(product).unwrap(), "`nginx -t`", answer, named)
    }

    #[test]
    fn what_another_user_can_write_has_nothing_executed() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("nginx.conf");
        std::fs::write(&main, "events {}\nload_module /nosuch.so;\n").unwrap();
        std::fs::set_permissions(&main, std::fs::Permissions::from_mode(0o666)).unwrap();
        let explained = Explanation {
            product: "nginx".to_owned(),
            files: Vec::new(),
            limits: Vec::new(),
            predictions: Vec::new(),
            timers: Vec::new(),
            remarks: Vec::new(),
            server: None,
            led: None,
        };
        let Some(Asked::Open { why }) = asked(&explained, &main, &Requests::to("", "/")) else { panic!() };
        assert!(why[0].contains("another user can write"), "{why:?}");
    }

    #[test]
    fn what_is_said_of_the_machine_or_the_build_is_not_said_of_the_file() {
        let refused = judge("invalid number of connections \"0\" in /x:8\n\n", false);
        let words = vec!["invalid number of connections \"0\" in /x:8".to_owned()];
        assert_eq!(refused, Asked::Refused { by: "nginx 1.2 (`nginx -t`)".to_owned(), words });
        for words in [
            "host not found in upstream \"a\" in /x:3",
            "getpwnam(\"a\") failed in /x:1",
            "DocumentRoot '/nosuch' is not a directory, or is not readable",
            "cannot load certificate \"/a\": BIO_new_file() failed",
            "unknown directive \"brotli\" in /x:6",
            "the \"ssl\" parameter requires ngx_http_ssl_module in /x:6",
        ] {
            assert!(matches!(judge(words, false), Asked::Open { .. }), "{words}");
        }
        let known = judge("unknown directive \"workr_processes\" in /x:6", true);
        assert!(matches!(known, Asked::Refused { .. }), "genkai knows that it is none, too");
    }
    /// Whether it is refused; else the first words of why that is open.
    fn open_of(product: &'static str, words: &str, named: bool) -> Option<String> {
        match judge_of(product, words, named) {
            Asked::Refused { .. } => None,
            Asked::Open { why } => Some(why[0].clone()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_typo_that_genkai_knows_refuses_whatever_product_says_so() {
        let typo = "syntax error in /x:3: Invalid command 'KeepAliveTimout', perhaps misspelled or defined by a module not included in the \
                    server configuration";
        assert_eq!(open_of("apache", typo, true), None);
        let why = open_of("apache", typo, false).unwrap();
        assert!(why.contains("does not know all that is in it; another version"), "{why}");
    }

    #[test]
    fn lines_are_judged_one_by_one() {
        let (machine, file) =
            ("parsing [/x:2] : 'user' : cannot find user id for 'nosuch'", "parsing [/x:5] : 'clint' is no timeout");
        let summary = "Error(s) found in configuration file : /x\nFatal errors found in configuration.";
        let of = |lines: &[&str]| open_of("haproxy", &lines.join("\n"), false);
        let why = of(&[machine, summary]).unwrap();
        assert!(why.contains("what HAProxy 1.2") && why.contains("says of it is of this machine:"), "{why}");
        let why = of(&[machine, file, summary]).unwrap();
        assert!(why.starts_with("some of what"), "{why}");
        assert_eq!(of(&[file, summary]), None);
        let map = "parsing [/x:9] : error detected: failed to open pattern file <allowed.lst>";
        assert!(of(&[map, summary]).unwrap().contains("is of this machine:"));
        // A warning refuses nothing.
        let warned = [
            "AH00112: Warning: DocumentRoot [/nosuch] does not exist",
            "syntax error in /x:3: Timeout takes one argument",
        ];
        assert_eq!(of(&warned), None);
    }
}
