//! Sections: where each begins, and which `defaults` its values come from (src/cfgparse-listen.c: `cfg_parse_listen`).

use std::ops::Range;

use super::Found;

/// A section: its head and the lines below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// `global`, `defaults`, `frontend`, ...
    pub kind: String,
    /// Its name; empty where it has none.
    pub name: String,
    /// Positions among [`Config::found`]: of the head, then of what is in it.
    pub lines: Range<usize>,
    /// The `defaults` section that its values come from, as position among [`Config::sections`].
    pub defaults: Option<usize>,
}

impl Section {
    /// Whether it takes connections of clients (PR_CAP_FE).
    pub fn is_front(&self) -> bool {
        matches!(self.kind.as_str(), "frontend" | "listen")
    }

    /// Whether it has servers (PR_CAP_BE).
    pub fn is_back(&self) -> bool {
        matches!(self.kind.as_str(), "backend" | "listen")
    }

    /// `frontend www`.
    pub fn title(&self) -> String {
        if self.name.is_empty() { self.kind.clone() } else { format!("{} {}", self.kind, self.name) }
    }
}

/// Keywords of `global` of which HAProxy takes no second line once the first has said something else than 0 ("already specified.
/// Continuing.", src/cfgparse-global.c).
pub(super) const FIRST_COUNTS: [&str; 8] =
    ["maxconn", "maxconnrate", "maxsessrate", "maxsslrate", "maxpipes", "fd-hard-limit", "ulimit-n", "tune.maxaccept"];

/// Keywords that begin a section (REGISTER_CONFIG_SECTION in HAProxy's source).
pub(crate) const KINDS: &[&str] = &[
    "global",
    "defaults",
    "frontend",
    "backend",
    "listen",
    "userlist",
    "peers",
    "mailers",
    "resolvers",
    "cache",
    "program",
    "http-errors",
    "ring",
    "log-forward",
    "log-profile",
    "fcgi-app",
    "crt-store",
    "traces",
    "namespace_list",
    "acme",
    "healthcheck",
];

/// Every section, in order.
pub(super) fn all(found: &[Found]) -> Vec<Section> {
    let mut all: Vec<Section> = Vec::new();
    for (at, line) in found.iter().enumerate() {
        if line.prefix.is_some() || !KINDS.contains(&line.name()) {
            continue;
        }
        if let Some(before) = all.last_mut() {
            before.lines.end = at;
        }
        let kind = line.name().to_owned();
        let name = line.arg(0).filter(|name| kind != "defaults" || *name != "from").unwrap_or_default().to_owned();
        let defaults = defaults(&all, &kind, line);
        all.push(Section { kind, name, lines: at..found.len(), defaults });
    }
    all
}

/// The `defaults` that a section inherits from: the one that it names, else the last before it, which `defaults` themselves do not.
fn defaults(before: &[Section], kind: &str, line: &Found) -> Option<usize> {
    let last = |wanted: Option<&str>| {
        before.iter().rposition(|s| s.kind == "defaults" && wanted.is_none_or(|name| s.name == name))
    };
    match (kind, from(line)) {
        ("frontend" | "backend" | "listen" | "defaults", Some(name)) => last(Some(name)),
        ("frontend" | "backend" | "listen", None) => last(None),
        _ => None,
    }
}

/// The name after `from` in the head of a section.
pub(in crate::haproxy) fn from(head: &Found) -> Option<&str> {
    head.option(0, "from").map(|word| word.value.as_str())
}
