//! Passes whose host variables name: their values are replaced where these are known and one of them is of this configuration, else the host of
//! the pass is, and where neither can be done it is said.

use std::collections::BTreeSet;

use super::changes::Changes;
use super::listen::Own;
use crate::files::masked;
use crate::nginx::config::{Address, Config, Family, Found, Pass, Protocol, Target, authority};
use crate::nginx::remote::{sole, values};

/// How a backend takes the place of what variables name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// In each of their values: some are groups, or listeners of this nginx, or have more than a host.
    Values,
    /// In the pass.
    Whole,
    /// Not at all: what they name is not known, and may be a group.
    Kept,
}

/// A value of a variable, with its place.
type Leaf<'c> = (Found<'c>, String);

pub(super) struct Variables<'c> {
    config: &'c Config,
    /// Names of the groups of `http`, in lower case.
    groups: Vec<String>,
    resolver: bool,
}

impl<'c> Variables<'c> {
    pub(super) fn new(config: &'c Config) -> Self {
        let groups = config.upstreams().into_iter().filter(|group| group.family == Family::Http);
        let resolver = config.walk().iter().any(|f| f.directive.is("resolver") && !f.is_entry());
        Variables { config, groups: groups.map(|group| group.name.to_ascii_lowercase()).collect(), resolver }
    }

    /// How a backend takes the place of what this pass leads to.
    pub(super) fn by(&self, pass: &Pass<'_>) -> Way {
        let (whole, variable) = (pass.protocol != Protocol::Http || !pass.scheme.is_empty(), sole(&pass.authority));
        let unknown = if self.resolver || whole && self.groups.is_empty() { Way::Whole } else { Way::Kept };
        let Some(name) = variable else {
            // Without a resolver a name can only be that of a group, and the servers of groups are replaced.
            let literal: String = pass.authority.split('$').enumerate().map(|(i, part)| literal(i, part)).collect();
            return match literal.contains(|c: char| c.is_ascii_alphabetic()) {
                true if !self.resolver && !literal.starts_with("unix:") => Way::Values,
                _ if literal.contains(':') => Way::Whole,
                _ => unknown,
            };
        };
        match self.leaves(name, &mut BTreeSet::new()) {
            Some(leaves) if !whole || leaves.iter().any(|(_, value)| self.is_inner(value)) => Way::Values,
            Some(_) => Way::Whole,
            None => unknown,
        }
    }

    /// Whether a value is a group or a listener of this nginx.
    pub(super) fn is_inner(&self, value: &str) -> bool {
        self.groups.contains(&authority(value).to_ascii_lowercase())
            || address(value).is_some_and(|address| self.config.listener_at(&address).is_some())
    }

    /// What this pass may name; none: that is not known.
    pub(super) fn named(&self, pass: &Pass<'_>) -> Option<Vec<Leaf<'c>>> {
        self.leaves(sole(&pass.authority)?, &mut BTreeSet::new())
    }

    /// Every text that a variable may be, those of variables that it is made of too; none: that is not known.
    fn leaves(&self, name: &str, seen: &mut BTreeSet<String>) -> Option<Vec<Leaf<'c>>> {
        // A circle has none; two that are made of the same one have its texts.
        if !seen.insert(name.to_ascii_lowercase()) {
            return None;
        }
        let all = self.leaves_of(name, seen);
        seen.remove(&name.to_ascii_lowercase());
        all
    }

    fn leaves_of(&self, name: &str, seen: &mut BTreeSet<String>) -> Option<Vec<Leaf<'c>>> {
        let mut all = Vec::new();
        for (found, value) in values(self.config, name).into_iter().filter(|(_, value)| !value.is_empty()) {
            let host = authority(&value);
            // A host that something else decides is replaced as a whole where it is seen which part of the text it is.
            let apart = value.contains("://") || host.contains(':');
            match sole(&host).map(|name| self.leaves(name, seen)) {
                Some(Some(inner)) => all.extend(inner),
                Some(None) if !value.contains("://") => return None,
                None if host.contains('$') && !apart => return None,
                _ => all.push((found, value)),
            }
        }
        Some(all).filter(|all| !all.is_empty())
    }

    /// Changes values: what leads to a listener of this nginx follows it, what else a pass leads to by its values becomes `backend`.
    pub(super) fn change(&self, changes: &mut Changes<'_>, own: &Own<'_>, backend: Option<(&str, &str)>) {
        let passes = self.config.passes();
        let mut done = BTreeSet::new();
        for pass in passes.iter().filter(|pass| pass.target == Target::Variable) {
            let replaced = backend.filter(|_| takes(pass) && self.by(pass) == Way::Values);
            for (found, value) in self.named(pass).unwrap_or_default() {
                let moved = address(&value).and_then(|address| own.at(&address));
                let new = match (moved, replaced) {
                    (Some(new), _) => value.replacen(&authority(&value), &new.to.to_string(), 1),
                    (None, Some(backend)) if !self.is_inner(&value) => at(&value, backend),
                    _ => continue,
                };
                let mut args = found.args();
                if let Some(last) = args.last_mut().filter(|_| done.insert((found.file, found.directive.span.start))) {
                    *last = new;
                    changes.set(&found, &args);
                }
            }
        }
    }
}

/// Whether a backend takes the place of what a pass leads to.
pub(super) fn takes(pass: &Pass<'_>) -> bool {
    !matches!(pass.protocol, Protocol::Stream | Protocol::Memcached)
}

/// A sentence for each pass of `http` that leads where it did though a backend was given.
pub(in crate::nginx) fn unreplaced(config: &Config) -> Vec<String> {
    let variables = Variables::new(config);
    let passes = config.passes();
    let kept = passes.iter().filter(|pass| pass.target == Target::Variable && takes(pass));
    kept.filter(|pass| variables.by(pass) == Way::Kept).map(sentence).collect()
}

fn sentence(pass: &Pass<'_>) -> String {
    format!(
        "`{}` at {} is not replaced by the backend that was given: which server its variable names is decided by each request, or by a script; \
         requests that it passes on go where they would without that backend, or to a group of the file, whose servers are replaced",
        masked(&pass.found.written()),
        pass.found.place()
    )
}

/// A value with another host, and its scheme where it has one.
fn at(value: &str, (scheme, backend): (&str, &str)) -> String {
    let host = authority(value);
    let start = value.find("://").map_or(0, |at| at + 3);
    let rest = &value[start + host.len()..];
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    format!("{}{backend}{rest}", if start > 0 { scheme } else { "" })
}

/// The address in a value; a name alone may be that of a group.
fn address(value: &str) -> Option<Address> {
    let host = authority(value);
    let address = Address::parse(&host, false, 80).filter(|_| host.contains(':'));
    address.map(|(address, _)| address)
}

/// What of a part of a text after a `$`, or of its first part, is no variable.
fn literal(index: usize, part: &str) -> &str {
    let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match part.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        _ if index == 0 => part,
        Some((_, rest)) => rest,
        None => part.trim_start_matches(name),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn values_are_replaced_where_groups_are_among_them_and_what_nobody_knows_is_told() {
        let groups = "upstream blue { server 127.0.0.1:9; }";
        let way = |http: &str, pass: &str| {
            let text = format!("events {{}} http {{ {http} server {{ listen 81; location / {{ {pass} }} }} }}");
            let config = Config::of_text(Path::new("/n.conf"), text.into(), Path::new("/usr")).unwrap();
            let way = Variables::new(&config).by(config.passes().last().unwrap());
            assert_eq!(way == Way::Kept, !unreplaced(&config).is_empty(), "{pass}");
            way
        };
        let set = |value: &str, pass: &str| format!("set $up {value}; proxy_pass {pass};");
        for pass in ["http://$up", "http://${up}", "http://$up$request_uri", "http://$up/x"] {
            assert_eq!(way("", &set("127.0.0.1:9", pass)), Way::Whole, "{pass}");
            assert_eq!(way(groups, &set("127.0.0.1:9", pass)), Way::Whole, "{pass}");
            assert_eq!(way(groups, &set("blue", pass)), Way::Values, "{pass}");
            assert_eq!(way("", &set("127.0.0.1:81", pass)), Way::Values, "its own listener: {pass}");
        }
        assert_eq!(way("", &set("http://127.0.0.1:9/x", "$up")), Way::Values);
        assert_eq!(way("", &set("$host:9", "http://$up")), Way::Whole);
        assert_eq!(
            way(groups, "set $color blue; proxy_pass http://my-$color;"),
            Way::Values,
            "a name is that of a group"
        );
        assert_eq!(way(groups, "proxy_pass http://127.0.0.1:$arg_port;"), Way::Whole);
        assert_eq!(way("", "proxy_pass http://$arg_up;"), Way::Whole);
        assert_eq!(way(groups, "proxy_pass http://$arg_up;"), Way::Kept);
        assert_eq!(way("", "proxy_pass $arg_up;"), Way::Kept);
        let circle = "set $a $b; set $b $a; proxy_pass $a;";
        assert_eq!(way("", circle), Way::Kept);
    }
}
