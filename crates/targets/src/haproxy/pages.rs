//! What clients get in the place of HAProxy's own errors: a file that is sent as it is, whatever status its first line has, or a redirection
//! (configuration manual 4.2, 10; src/http_htx.c: proxy_check_errors).

use std::collections::BTreeMap;
use std::path::Path;

use super::config::{Config, Found, Section};
use super::route::Route;

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// The error's own status: HAProxy's page, or a text.
    Own,
    /// What a file has.
    File(String),
    /// A redirection: its status, and where to.
    Elsewhere(u16, String),
}

/// It, and the line that says so.
#[derive(Clone, Debug)]
pub(super) struct Page<'c> {
    pub(super) sent: Sent,
    pub(super) line: &'c Found,
}

/// Of the requests that go this way, by the status of the error. Those of the section with the servers come before those of the listener's
/// (src/http_ana.c: http_error_message), the last of a status before others.
pub(super) fn pages<'c>(config: &'c Config, route: &Route<'c>) -> BTreeMap<u16, Page<'c>> {
    let mut pages = BTreeMap::new();
    for section in route.back.into_iter().chain([route.front]) {
        for line in config.lineage(section).flat_map(|one| config.inside(one).iter().rev()) {
            for (status, sent) in of_line(config, line) {
                pages.entry(status).or_insert(Page { sent, line });
            }
        }
    }
    pages
}

/// The status that a file's first line has; none where it cannot be read from `folder`.
pub(super) fn status_of(file: &str, folder: &Path) -> Option<u16> {
    let text = std::fs::read(folder.join(file)).ok()?;
    let head = String::from_utf8_lossy(&text).into_owned();
    head.split_ascii_whitespace().nth(1)?.parse().ok().filter(|status| (100..600).contains(status))
}

fn of_line(config: &Config, line: &Found) -> Vec<(u16, Sent)> {
    let status = |at: usize| line.arg(at).and_then(|text| text.parse::<u16>().ok());
    let one = |sent: fn(&str) -> Sent| Some((status(0)?, sent(line.arg(1)?)));
    let single = if line.is("errorfile") {
        one(|file| Sent::File(file.to_owned()))
    } else if line.is("errorloc") || line.is("errorloc302") {
        one(|to| Sent::Elsewhere(302, to.to_owned()))
    } else if line.is("errorloc303") {
        one(|to| Sent::Elsewhere(303, to.to_owned()))
    } else if line.is("http-error") {
        reply(config, line)
    } else {
        None
    };
    if line.is("errorfiles") {
        let wanted: Vec<u16> = (1..).map_while(status).collect();
        let all = line.arg(0).map(|name| shared(config, name)).unwrap_or_default();
        return all.into_iter().filter(|(status, _)| wanted.is_empty() || wanted.contains(status)).collect();
    }
    single.into_iter().collect()
}

/// `http-error status STATUS ...`: with a file it is sent as it is, else with that status.
fn reply(config: &Config, line: &Found) -> Option<(u16, Sent)> {
    let words: Vec<&str> = (0..).map_while(|at| line.arg(at)).collect();
    let after = |word: &str| words.iter().position(|one| *one == word).and_then(|at| words.get(at + 1).copied());
    let status = after("status")?.parse().ok()?;
    let file = after("errorfile").map(|file| Sent::File(file.to_owned()));
    let of_section = || {
        let all = shared(config, after("errorfiles")?);
        all.into_iter().find(|(of, _)| *of == status).map(|(_, sent)| sent)
    };
    Some((status, file.or_else(of_section).unwrap_or(Sent::Own)))
}

/// Files of a section `http-errors NAME`, the last of a status alone.
fn shared(config: &Config, name: &str) -> BTreeMap<u16, Sent> {
    let is = |section: &&Section| section.kind == "http-errors" && section.name == name;
    let lines = config.sections().iter().filter(is).flat_map(|section| config.inside(section));
    let files = lines.filter(|line| line.is("errorfile"));
    files.filter_map(|line| Some((line.arg(0)?.parse().ok()?, Sent::File(line.arg(1)?.to_owned())))).collect()
}
