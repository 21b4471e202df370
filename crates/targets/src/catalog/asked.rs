//! What the server that is installed here says of a configuration. What it says of this machine (a file, a name, a user, a module that is not there) is
//! nothing that it says of the configuration.

use std::path::Path;

use genkai_model::explain::{Asked, Explanation, RemarkKind};

use super::find;
use crate::error::{ErrorKind, TargetError};
use crate::explain::Requests;
use crate::files::masked;
use crate::product::{Answer, Entry};

/// Words with which servers say that something of this machine is not as the configuration wants it.
const OF_THE_MACHINE: &[&str] = &[
    "no such file",
    "does not exist",
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
    "not included in the server configuration",
];

/// What the product that is installed says of what was explained; none: it has no check of its own. Nothing is started, nothing of the user's is written.
pub fn asked(explained: &Explanation, main: &Path, requests: &Requests) -> Option<Asked> {
    let entry = find(&explained.product)?;
    let (ask, command) = entry.ask?;
    let answer = tempfile::Builder::new()
        .prefix("genkai-asked-")
        .tempdir()
        .map_err(|e| TargetError::machine(entry.called, format!("there is no folder for a private copy: {e}")));
    let answer = answer.and_then(|dir| ask(main, requests, dir.path()));
    let named = explained.remarks.iter().any(|remark| remark.kind == RemarkKind::Unknown);
    Some(match answer {
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
    let has = |all: &[&str]| {
        let words = words.to_lowercase();
        all.iter().any(|one| words.contains(one))
    };
    let strange = !entry.unknown.is_empty() && words.contains(entry.unknown) && !named;
    if has(OF_THE_MACHINE) {
        return open(&[format!("what {by} says of it is of this machine:")], words);
    }
    if has(OF_THE_BUILD) || strange {
        return open(
            &[format!("{by} does not know all that is in it; another version, or one with other modules, may:")],
            words,
        );
    }
    Asked::Refused { by, words: lines(words) }
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
        let answer =
            Answer { version: "1.2".to_owned(), verdict: Err(TargetError::rejected("nginx", words.to_owned())) };
        judged(find("nginx").unwrap(), "`nginx -t`", answer, named)
    }

    #[test]
    fn what_is_said_of_the_machine_or_the_build_is_not_said_of_the_file() {
        let refused = judge("invalid number of connections \"0\" in /x:8\n\n", false);
        let words = vec!["invalid number of connections \"0\" in /x:8".to_owned()];
        assert_eq!(refused, Asked::Refused { by: "nginx 1.2 (`nginx -t`)".to_owned(), words });
        for words in [
            "host not found in upstream \"a\" in /x:3",
            "getpwnam(\"a\") failed in /x:1",
            "cannot load certificate \"/a\": BIO_new_file() failed",
            "unknown directive \"brotli\" in /x:6",
            "the \"ssl\" parameter requires ngx_http_ssl_module in /x:6",
        ] {
            assert!(matches!(judge(words, false), Asked::Open { .. }), "{words}");
        }
        let known = judge("unknown directive \"workr_processes\" in /x:6", true);
        assert!(matches!(known, Asked::Refused { .. }), "genkai knows that it is none, too");
    }
}
