//! Whose requests are let in (`http_access` and the lists like it), as far as the number of a client's connections decides it.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Law, Limit, Origin};

use super::config::Config;
use crate::files::entry::Entry;
use crate::limits::{connections, errors};

/// Lists that every request goes through before its origin is asked, with what is so where a list has no line (src/cf.data.pre).
const LISTS: [(&str, bool); 3] = [("http_access", false), ("adapted_http_access", true), ("miss_access", true)];

/// What a list does to the requests of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// All are let in.
    All,
    /// Those of a client that has at most so many connections.
    UpTo(u64),
    /// None is.
    Nobody,
    /// More than the configuration decides.
    Open,
}

/// What may come of a request: it is let in, or refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct May {
    allow: bool,
    deny: bool,
}

impl May {
    fn certainly(self) -> Option<bool> {
        (self.allow != self.deny).then_some(self.allow)
    }
}

/// What a list does, where `otherwise` counts if it has no line.
fn admission(config: &Config, list: &str, otherwise: bool) -> Admission {
    let mut caps: Vec<u64> = rules(config, list).flat_map(|rule| caps(config, rule)).collect();
    caps.sort_unstable();
    let lets = |connections: u64| lets(config, list, otherwise, connections).certainly();
    // Between two caps nothing changes.
    let steps = std::iter::once(1).chain(caps.iter().map(|cap| cap + 1));
    let outcomes: Vec<Option<bool>> = steps.map(lets).collect();
    match outcomes.iter().position(|outcome| *outcome != Some(true)) {
        None => Admission::All,
        Some(0) if outcomes[0].is_some() => Admission::Nobody,
        Some(at) if at > 0 && outcomes[at].is_some() => Admission::UpTo(caps[at - 1]),
        Some(_) => Admission::Open,
    }
}

/// Lines of a list that allow or deny.
fn rules<'c>(config: &'c Config, list: &'c str) -> impl Iterator<Item = &'c Entry> {
    let acts = |rule: &&Entry| matches!(rule.values.first().map(String::as_str), Some("allow" | "deny"));
    config.each(list).filter(acts)
}

/// What the first line that matches says; where none does, the opposite of the last (src/acl/Checklist.cc: `calcImplicitAnswer`).
fn lets(config: &Config, list: &str, otherwise: bool, connections: u64) -> May {
    let (mut may, mut last) = (May::default(), !otherwise);
    for rule in rules(config, list) {
        last = rule.values[0] == "allow";
        let matches = matches(config, rule, connections);
        if matches != Some(false) {
            (may.allow, may.deny) = (may.allow || last, may.deny || !last);
        }
        if matches == Some(true) {
            return may;
        }
    }
    May { allow: may.allow || !last, deny: may.deny || last }
}

/// Whether all ACLs of a line match the requests of a client with so many connections.
fn matches(config: &Config, rule: &Entry, connections: u64) -> Option<bool> {
    let each = |name: &String| {
        let plain = name.trim_start_matches('!');
        acl(config, plain, connections).map(|holds| holds == (plain.len() == name.len()))
    };
    let all: Vec<Option<bool>> = rule.values[1..].iter().map(each).collect();
    match all.contains(&Some(false)) {
        true => Some(false),
        false => all.iter().all(Option::is_some).then_some(true),
    }
}

/// An ACL by its name; none where something else than the number of connections decides.
fn acl(config: &Config, name: &str, connections: u64) -> Option<bool> {
    if let Some(cap) = maxconn(config, name) {
        // src/acl/MaxConnection.cc: without the clients' database it matches nothing.
        let counted = config.sourced("client_db", |text| Some(text.to_owned())).value != "off";
        return Some(counted && connections > cap);
    }
    let everybody = |line: &Entry| line.values.get(1..).is_some_and(|rest| rest == ["src", "all"]);
    let mut lines = lines(config, name).peekable();
    let written = lines.peek().is_some();
    ((!written && name == "all") || lines.any(everybody)).then_some(true)
}

/// The lines of an ACL.
fn lines<'c>(config: &'c Config, name: &'c str) -> impl Iterator<Item = &'c Entry> {
    config.each("acl").filter(move |line| line.values.first().is_some_and(|first| first == name))
}

/// Connections that one client may have before `acl NAME maxconn N` matches: the last line counts.
fn maxconn(config: &Config, name: &str) -> Option<u64> {
    let line = lines(config, name).last().filter(|line| line.values.get(1).is_some_and(|kind| kind == "maxconn"))?;
    line.values.get(2)?.parse().ok()
}

/// The caps that a line names.
fn caps(config: &Config, rule: &Entry) -> Vec<u64> {
    rule.values[1..].iter().filter_map(|name| maxconn(config, name.trim_start_matches('!'))).collect()
}

/// What the lists leave of the requests, where that is fewer than all.
pub(super) fn limits(config: &Config) -> Vec<Limit> {
    LISTS.into_iter().filter_map(|(list, otherwise)| limit(config, list, admission(config, list, otherwise))).collect()
}

fn limit(config: &Config, list: &str, admission: Admission) -> Option<Limit> {
    let capped = |rule: &&Entry| !caps(config, rule).is_empty();
    let (rule, fit, formula) = match admission {
        Admission::UpTo(most) => (
            rules(config, list).find(|rule| caps(config, rule).contains(&most)),
            Some(most),
            format!("{most}: `acl ... maxconn {most}` in {list}; all clients of a load have one address"),
        ),
        Admission::Nobody => (rules(config, list).next(), Some(0), format!("0, as {list} lets no request in")),
        Admission::Open => (
            Some(rules(config, list).find(capped)?),
            None,
            format!("it depends: {list} looks at connections of a client, and at more that is not in the file"),
        ),
        Admission::All => return None,
    };
    let default = || Origin::Default("squid 5.7 src/cf.data.pre: deny all where no line is".to_owned());
    Some(Limit {
        value: rule.map_or_else(|| "none".to_owned(), Entry::value),
        origin: rule.map_or_else(default, |rule| config.entries.origin(rule)),
        caps: match fit {
            Some(0) => "requests that are let in: each is answered 403".to_owned(),
            _ => "connections of one client address; while it has more, its requests are answered 403".to_owned(),
        },
        law: fit.map_or(Law::Unknown, |fit| connections(fit as f64, 1.0)),
        formula,
        source: "squid 5.7 src/acl/Checklist.cc; src/acl/MaxConnection.cc".to_owned(),
        symptom: errors(&[ErrorKind::Status4xx]),
        ..Limit::named(&format!("squid.{list}"), "squid", list)
    })
}

/// The first line of each list of which the configuration alone does not tell whom it lets in.
pub(super) fn open(config: &Config) -> impl Iterator<Item = &Entry> {
    let open = |(list, otherwise): &(&str, bool)| admission(config, list, *otherwise) == Admission::Open;
    LISTS.into_iter().filter(open).filter_map(|(list, _)| rules(config, list).next())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn lists_are_followed_as_far_as_connections_decide_them() {
        let of = |text: &str| {
            let config = Config::of_text(Path::new("/x"), text.as_bytes().to_vec()).unwrap();
            admission(&config, "http_access", false)
        };
        let acls = "acl m maxconn 6\nacl n maxconn 3\nacl here src 127.0.0.1\nacl world src all\n";
        for (rules, expected) in [
            ("allow all", Admission::All),
            ("allow world", Admission::All),
            ("", Admission::Nobody),
            ("deny all|allow all", Admission::Nobody),
            ("deny m|allow all", Admission::UpTo(6)),
            ("deny m|deny n|allow all", Admission::UpTo(3)),
            ("deny m", Admission::UpTo(6)),
            ("allow !m", Admission::UpTo(6)),
            ("deny m n|allow all", Admission::UpTo(6)),
            ("allow all|deny m", Admission::All),
            ("allow here|deny all", Admission::Open),
            ("deny m here|allow all", Admission::Open),
            ("allow here|deny m|allow all", Admission::Open),
            ("deny here|deny m|allow all", Admission::Open),
            ("deny m|allow here|deny all", Admission::Open),
        ] {
            let rules = rules.split('|').filter(|rule| !rule.is_empty()).map(|rule| format!("http_access {rule}\n"));
            let text = format!("{acls}{}", rules.collect::<String>());
            assert_eq!(of(&text), expected, "{text}");
        }
        let uncounted = format!("client_db off\n{acls}http_access deny m\nhttp_access allow all\n");
        assert_eq!(of(&uncounted), Admission::All, "nobody counts the clients' connections");
    }
}
