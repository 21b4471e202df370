//! Explaining a configuration from its text: what all products have in common.

use std::path::{Path, PathBuf};

use genkai_model::explain::{Explanation, Remark, RemarkKind, Timer};
use genkai_model::limit::{Limit, Origin};

pub use crate::files::Requests;
use crate::files::entry::{Entries, Entry};
use crate::files::masked;
use genkai_place::caps::Machine;

/// What is to be explained, and where.
#[derive(Debug)]
pub struct Explain<'a> {
    /// The main file, or folder.
    pub main: &'a Path,
    /// The requests that are looked at.
    pub requests: &'a Requests,
    /// The machine.
    pub machine: &'a Machine,
    /// Its memory in bytes.
    pub memory: u64,
}

/// What a configuration of `product` says, which was read from `files`. Secrets in values are masked.
pub(crate) fn explanation(
    product: &str,
    files: impl Iterator<Item = PathBuf>,
    mut limits: Vec<Limit>,
    timers: Vec<Timer>,
    remarks: Vec<Remark>,
) -> Explanation {
    for limit in &mut limits {
        limit.value = masked(&limit.value);
    }
    let (product, files) = (product.to_owned(), files.collect());
    Explanation { product, files, limits, predictions: Vec::new(), timers, remarks, server: None, led: None }
}

/// Statuses that a server in front gives where what it asks fails.
const OF_FAILURES: [u16; 5] = [408, 500, 502, 503, 504];

/// Says of the server's own errors what clients get in their place, wherever a timer or a limit speaks of them. `gets`: what they get in the place of a
/// status, with what says so; none: that status.
pub(crate) fn in_place_of_errors(
    mut of: Explanation,
    product: &str,
    gets: impl Fn(u16) -> Option<String>,
) -> Explanation {
    let gets: Vec<(u16, String)> = OF_FAILURES.into_iter().filter_map(|status| Some((status, gets(status)?))).collect();
    let said = of.timers.iter_mut().map(|timer| &mut timer.ends);
    for text in said.chain(of.limits.iter_mut().map(|limit| &mut limit.formula)) {
        let more: Vec<String> = gets
            .iter()
            .filter(|(status, _)| is_answer(text, *status))
            .map(|(status, gets)| format!("; in the place of {product}'s {status} clients get {gets}"))
            .collect();
        text.push_str(&more.concat());
    }
    of
}

/// Whether a sentence speaks of this status as an answer.
fn is_answer(text: &str, status: u16) -> bool {
    ["answers ", "answered ", "with ", "(", "then ", "or "].iter().any(|before| {
        let after = text.split(&format!("{before}{status}")).nth(1);
        let is_number = |after: &str| after.starts_with(|c: char| c.is_alphanumeric() || c == '.');
        after.is_some_and(|after| !is_number(after) && !after.starts_with(" descriptors"))
    })
}

/// What is to be said of a setting.
pub(crate) fn remark(
    kind: RemarkKind,
    place: Option<String>,
    setting: &str,
    text: String,
    hint: Option<String>,
) -> Remark {
    Remark { kind, place, setting: setting.to_owned(), text, hint }
}

/// What is to be said of an entry.
pub(crate) fn about(all: &Entries, entry: &Entry, kind: RemarkKind, text: String, hint: Option<String>) -> Remark {
    remark(kind, Some(all.place(entry)), &entry.name, text, hint)
}

/// `path:line` of a value; none where it is written nowhere.
pub(crate) fn place(origin: &Origin) -> Option<String> {
    match origin {
        Origin::File { path, line } => Some(format!("{}:{line}", path.display())),
        _ => None,
    }
}

/// For the tests of products: the names of the limits that `explain` tells of a configuration.
#[cfg(test)]
pub(crate) fn limits_of(
    explain: fn(&Explain<'_>) -> Result<Explanation, crate::error::TargetError>,
    text: &str,
) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let main = dir.path().join("server.conf");
    std::fs::write(&main, text).unwrap();
    let machine = Machine::of(&Default::default());
    let what = Explain { main: &main, requests: &Requests::to("", "/"), machine: &machine, memory: 1 << 30 };
    explain(&what).unwrap().limits.into_iter().map(|limit| limit.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_an_answer_where_it_is_spoken_of_as_one() {
        for text in [
            "haproxy answers 503",
            "refuses (503 after the retries), or",
            "tries for 5s, then 503",
            "answered with 503",
        ] {
            assert!(is_answer(text, 503), "{text}");
        }
        for text in ["503 - 9", "maxconn 503", "answers 5030", "answers 504"] {
            assert!(!is_answer(text, 503), "{text}");
        }
    }
}
