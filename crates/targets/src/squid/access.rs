//! Whose requests are let in (`http_access` and the lists like it), as far as the number of a client's connections decides it.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use super::config::Config;
use super::settings;
use crate::files::entry::Entry;

/// Lists that every request goes through before its origin is asked, with what is so where a list has no line (src/cf.data.pre).
pub(super) const LISTS: [(&str, bool); 3] =
    [("http_access", false), ("adapted_http_access", true), ("miss_access", true)];
/// ACLs that something else than connections and addresses decides, of which every combination is tried; with more it is open what a list does.
const UNKNOWN_MAX: usize = 12;

/// What a list does to the requests of one client, if it lets any of them in.
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

/// The lists of a configuration, and who asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access<'c> {
    /// The configuration.
    pub(super) config: &'c Config,
    /// The address that clients have; none: it is not known.
    pub(super) client: Option<IpAddr>,
}

impl<'c> Access<'c> {
    /// What a list does, where `otherwise` counts if it has no line. ACLs that something else decides hold or do not hold for a request, however many
    /// connections its client has: of all that they may be, those count under which a client with one connection is served.
    pub(super) fn admission(self, list: &'c str, otherwise: bool) -> Admission {
        let mut steps: Vec<u64> = self.rules(list).flat_map(|rule| self.caps(rule)).map(|cap| cap.most).collect();
        steps.sort_unstable();
        let unknown = self.unknown(list);
        if unknown.len() > UNKNOWN_MAX {
            return if steps.is_empty() { Admission::All } else { Admission::Open };
        }
        let admits = |connections, holds: &BTreeSet<&str>| {
            self.admits(list, otherwise, connections, &|name| holds.contains(name))
        };
        let mut outcomes = BTreeSet::new();
        for holds in subsets(&unknown).filter(|holds| admits(1, holds)) {
            // Between two caps nothing changes.
            outcomes.insert(steps.iter().copied().find(|most| !admits(most + 1, &holds)));
        }
        match (outcomes.len(), outcomes.first()) {
            (1, Some(None)) => Admission::All,
            (1, Some(Some(most))) => Admission::UpTo(*most),
            (0, _) => Admission::Nobody,
            _ => Admission::Open,
        }
    }

    /// Whether something else than connections decides whom a list lets in.
    pub(super) fn is_open(self, list: &'c str, otherwise: bool) -> bool {
        let unknown = self.unknown(list);
        let lets = |holds: BTreeSet<&str>| self.admits(list, otherwise, 1, &|name| holds.contains(name));
        unknown.len() > UNKNOWN_MAX
            || subsets(&unknown).map(lets).collect::<BTreeSet<_>>().len() > 1
            || self.admission(list, otherwise) == Admission::Open
    }

    /// Lines of a list that allow or deny. Squid passes over those that name no ACL (src/acl/Gadgets.cc: aclParseAccessLine).
    pub(super) fn rules(self, list: &'c str) -> impl Iterator<Item = &'c Entry> {
        let acts = |rule: &&Entry| {
            matches!(rule.values.first().map(String::as_str), Some("allow" | "deny")) && rule.values.len() > 1
        };
        self.config.each(list).filter(acts)
    }

    /// Whether a list lets a request in: what the first line that matches says; where none does, the opposite of the last
    /// (src/acl/Checklist.cc: `calcImplicitAnswer`). `holds`: of the ACLs that something else decides.
    fn admits(self, list: &'c str, otherwise: bool, connections: u64, holds: &dyn Fn(&str) -> bool) -> bool {
        let mut last = !otherwise;
        for rule in self.rules(list) {
            last = rule.values[0] == "allow";
            let matches = |name: &String| {
                let plain = name.trim_start_matches('!');
                let known = self.acl(plain, connections).unwrap_or_else(|| holds(plain));
                known == (plain.len() == name.len())
            };
            if rule.values[1..].iter().all(matches) {
                return last;
            }
        }
        !last
    }

    /// Whether all these ACLs match a request of a client with one connection; none: something else decides.
    pub(super) fn all(self, names: &'c [String]) -> Option<bool> {
        let of = |name: &'c String| {
            let plain = name.trim_start_matches('!');
            self.acl(plain, 1).map(|known| known == (plain.len() == name.len()))
        };
        let each: Vec<Option<bool>> = names.iter().map(of).collect();
        if each.contains(&Some(false)) { Some(false) } else { each.iter().all(Option::is_some).then_some(true) }
    }

    /// The names of ACLs in a list that something else decides.
    fn unknown(self, list: &'c str) -> Vec<&'c str> {
        let names = self.config.each(list).flat_map(|rule| rule.values.get(1..).unwrap_or_default());
        let names = names.map(|name| name.trim_start_matches('!'));
        let unknown: BTreeSet<&str> = names.filter(|name| self.acl(name, 1).is_none()).collect();
        unknown.into_iter().collect()
    }

    /// An ACL by its name; none where something else than the number of connections decides.
    fn acl(self, name: &str, connections: u64) -> Option<bool> {
        if let Some(cap) = self.cap(name) {
            // src/acl/MaxConnection.cc: without the clients' database it matches nothing.
            let counted = self.config.counts_clients();
            return Some(counted && connections > cap.most);
        }
        let lines: Vec<&Entry> = self.config.acl(name).collect();
        let kind = lines.first().and_then(|line| line.values.get(1)).map(String::as_str);
        match kind {
            Some("src") => {
                self.is_from(lines.iter().flat_map(|line| line.values.get(2..).unwrap_or_default()).map(String::as_str))
            }
            // Requests of a load are for what stands behind.
            Some("method") if lines.iter().all(|line| line.values.get(2..).is_some_and(|all| all == ["CONNECT"])) => {
                Some(false)
            }
            Some(_) => None,
            // Those that are there without a line (src/cf.data.pre: acl, DEFAULT).
            None => match name {
                "all" => Some(true),
                "localhost" => self.is_from(["127.0.0.1/32", "::1"].into_iter()),
                "manager" | "CONNECT" => Some(false),
                _ => None,
            },
        }
    }

    /// Whether clients have one of these addresses; none: that is not known.
    fn is_from<'a>(self, addresses: impl Iterator<Item = &'a str>) -> Option<bool> {
        let all: Vec<&str> = addresses.collect();
        if all.contains(&"all") {
            return Some(true);
        }
        let client = self.client?;
        let within: Vec<Option<bool>> = all.iter().map(|text| contains(text, client)).collect();
        match within.contains(&Some(true)) {
            true => Some(true),
            false => within.iter().all(Option::is_some).then_some(false),
        }
    }

    /// Connections that one client may have before `acl NAME maxconn N` matches.
    pub(super) fn cap(self, name: &str) -> Option<Cap<'c>> {
        let line = self.config.cap_of(name)?;
        Some(Cap { name: line.values.first()?, most: settings::number(line.values.get(2)?)?, line })
    }

    /// The caps that a line names.
    pub(super) fn caps(self, rule: &'c Entry) -> impl Iterator<Item = Cap<'c>> {
        rule.values[1..].iter().filter_map(move |name| self.cap(name.trim_start_matches('!')))
    }
}

/// An `acl NAME maxconn N`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cap<'c> {
    /// Its name.
    pub(super) name: &'c str,
    /// Its number.
    pub(super) most: u64,
    /// Its line.
    pub(super) line: &'c Entry,
}

/// Every set of these names.
fn subsets<'a>(names: &'a [&'a str]) -> impl Iterator<Item = BTreeSet<&'a str>> {
    let of =
        move |bits: u32| names.iter().enumerate().filter(move |(at, _)| bits >> at & 1 == 1).map(|(_, name)| *name);
    (0..1_u32 << names.len()).map(move |bits| of(bits).collect())
}

/// Whether an address, a network or a range of addresses has `ip` in it; none where `text` is none of them.
fn contains(text: &str, ip: IpAddr) -> Option<bool> {
    if let Some((first, last)) = text.split_once('-') {
        let (first, last): (IpAddr, IpAddr) = (first.parse().ok()?, last.parse().ok()?);
        return Some(first.is_ipv4() == ip.is_ipv4() && first <= ip && ip <= last);
    }
    let (network, length) = text.split_once('/').map_or((text, None), |(network, length)| (network, Some(length)));
    let (bits, network): (u32, IpAddr) = (if ip.is_ipv4() { 32 } else { 128 }, network.parse().ok()?);
    let number = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => u128::from(u32::from(ip)),
        IpAddr::V6(ip) => u128::from(ip),
    };
    let length: u32 = length.map_or(Some(bits), |length| length.parse().ok())?;
    // A mask written as an address is not read.
    let rest = bits.saturating_sub(length);
    let same = rest >= 128 || number(network) >> rest == number(ip) >> rest;
    Some(network.is_ipv4() == ip.is_ipv4() && same)
}

/// The address of the clients of one that listens there: on loopback they are this machine (a load takes other addresses of 127.0.0.0/8 only
/// where the ports of one do not do).
pub(super) fn client(listen: IpAddr) -> Option<IpAddr> {
    listen.is_loopback().then_some(IpAddr::V4(Ipv4Addr::LOCALHOST))
}

/// The first line of each list of which the configuration alone does not tell whom it lets in.
pub(super) fn open(config: &Config) -> impl Iterator<Item = &Entry> {
    let access = Access { config, client: None };
    LISTS
        .into_iter()
        .filter(move |(list, otherwise)| access.is_open(list, *otherwise))
        .filter_map(move |(list, _)| access.rules(list).next())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const ACLS: &str =
        "acl m maxconn 6\nacl n maxconn 3\nacl here src 127.0.0.1\nacl world src all\nacl port port 80 443\n";

    fn of(rules: &str, client: Option<IpAddr>) -> Admission {
        let rules = rules.split('|').filter(|rule| !rule.is_empty()).map(|rule| format!("http_access {rule}\n"));
        let text = format!("{ACLS}{}", rules.collect::<String>());
        let config = Config::of_text(Path::new("/x"), text.into_bytes()).unwrap();
        Access { config: &config, client }.admission("http_access", false)
    }

    #[test]
    fn lists_are_followed_as_far_as_connections_decide_them() {
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
            ("allow here|deny all", Admission::All),
            ("deny m here|allow all", Admission::Open),
            ("allow here|deny m|allow all", Admission::Open),
            // Whom another rule refuses is refused at any load.
            ("deny here|deny m|allow all", Admission::UpTo(6)),
            ("deny m|allow here|deny all", Admission::UpTo(6)),
            (
                "deny !port|deny CONNECT !port|allow localhost manager|deny manager|deny m|allow here|deny all",
                Admission::UpTo(6),
            ),
        ] {
            assert_eq!(of(rules, None), expected, "{rules}");
        }
        let text = format!("client_db off\n{ACLS}http_access deny m\nhttp_access allow all\n");
        let config = Config::of_text(Path::new("/x"), text.into_bytes()).unwrap();
        let uncounted = Access { config: &config, client: None }.admission("http_access", false);
        assert_eq!(uncounted, Admission::All, "nobody counts the clients' connections");
    }

    #[test]
    fn who_asks_decides_rules_by_address() {
        let local = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
        assert_eq!(of("allow here|deny m|allow all", local), Admission::All);
        assert_eq!(of("allow localhost|deny m|allow all", local), Admission::All);
        assert_eq!(of("deny m here|allow all", local), Admission::UpTo(6));
        let ip = IpAddr::V4(Ipv4Addr::new(10, 1, 2, 3));
        assert_eq!(of("allow localhost|deny m|allow all", Some(ip)), Admission::UpTo(6));
        let within = ["10.0.0.0/8", "10.1.2.0-10.1.2.9", "10.1.2.3", "0.0.0.0/0", "10.1.2.4", "::/0", "host.example"];
        let expected = [Some(true), Some(true), Some(true), Some(true), Some(false), Some(false), None];
        assert_eq!(within.map(|text| contains(text, ip)), expected);
    }

    #[test]
    fn what_else_decides_is_told() {
        let open = |rules: &str| {
            let config = Config::of_text(Path::new("/x"), format!("{ACLS}{rules}").into_bytes()).unwrap();
            super::open(&config).count()
        };
        assert_eq!((open("http_access allow here\n"), open("http_access deny m\nhttp_access allow all\n")), (1, 0));
        assert_eq!(open("http_access deny m here\nhttp_access allow all\n"), 1);
    }
}
