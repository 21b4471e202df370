//! What HAProxy decides by its own port or address (`dst_port`, `dst`), at once or by variables and headers that are made of them.

use std::collections::BTreeSet;

use super::config::{Config, Found};
use super::route::{Address, Route};
use crate::files::Requests;
use crate::product::ByPort;

/// How samples of the two are called, and what a log format has for them (configuration manual 7.3.3 and 8.2.4).
const ADDRESS: ([&str; 2], &str) = (["dst", "fc_dst"], "%fi");
const PORT: ([&str; 2], &str) = (["dst_port", "fc_dst_port"], "%fp");

/// Samples of a header of the request, by which matches of its parts begin as well (`hdr_beg`, `hdr(x)`).
const HEADERS: [&str; 3] = ["hdr", "req.hdr", "req.fhdr"];

/// Rules that set a header of the request to a text.
const SETS: [&str; 2] = ["set-header", "add-header"];

/// Rules by which another thing is asked for, or another server.
const LEADS: [&str; 6] = ["set-path", "set-pathq", "set-uri", "set-query", "set-dst", "set-dst-port"];

/// The first line that decides so, in the frontend and the backend of these requests.
pub(super) fn by_port(config: &Config, requests: &Requests) -> Option<ByPort> {
    let route = Route::find(config, requests)?;
    let sections = std::iter::once(route.front).chain(route.back).chain(route.others.iter().copied());
    let all: Vec<&Found> = sections.flat_map(|section| config.inside(section)).collect();
    let first = |of| {
        let own = Own::of(of, &all);
        all.iter().copied().find(|found| own.decides(found))
    };
    if let Some(found) = first(ADDRESS) {
        return Some(ByPort { place: config.place(found), written: found.written(), ports: None, unsure: None });
    }
    let found = first(PORT)?;
    let port = |address: &Address| match address {
        Address::Inet { ports: Some(ports), .. } => Some(*ports.start()),
        _ => None,
    };
    let ports = route.bind.addresses.iter().find_map(port).into_iter().collect();
    Some(ByPort { place: config.place(found), written: found.written(), ports: Some(ports), unsure: None })
}

/// What is made of the server's own port, or of its address.
struct Own {
    samples: [&'static str; 2],
    format: &'static str,
    /// Names of variables, and of headers in lower case.
    variables: BTreeSet<String>,
    headers: BTreeSet<String>,
}

impl Own {
    fn of((samples, format): ([&'static str; 2], &'static str), all: &[&Found]) -> Own {
        let mut own = Own { samples, format, variables: BTreeSet::new(), headers: BTreeSet::new() };
        // What is made of what is made: each turn finds one more, or is the last.
        while all.iter().any(|found| own.learns(found)) {}
        own
    }

    /// Whether a rule makes one more of what is known.
    fn learns(&mut self, found: &Found) -> bool {
        let words = words(found);
        let rule = words.iter().position(|word| word.starts_with("set-var(") || word.starts_with("set-var-fmt("));
        if let Some(at) = rule {
            let name = words[at].split(['(', ',', ')']).nth(1).unwrap_or_default();
            let value = value(&words, at + 1);
            let is_made = if words[at].starts_with("set-var(") {
                value.first().is_some_and(|sample| self.is_own(sample))
            } else {
                value.iter().any(|text| self.within(text))
            };
            return is_made && self.variables.insert(name.to_owned());
        }
        let sets =
            |words: &[&str]| words.first() == Some(&"http-request") && words.get(1).is_some_and(|w| SETS.contains(w));
        let Some(name) = words.get(2).filter(|_| sets(&words)) else { return false };
        value(&words, 3).iter().any(|text| self.within(text)) && self.headers.insert(name.to_ascii_lowercase())
    }

    /// Whether a sample is made of it: by its name, or as an argument of one of its converters.
    fn is_own(&self, sample: &str) -> bool {
        let name = sample.split([',', '(']).next().unwrap_or_default().trim();
        let mut inner = sample.split(['(', ',', ')']).map(str::trim);
        let base = HEADERS
            .iter()
            .any(|known| name == *known || name.strip_prefix(known).is_some_and(|rest| rest.starts_with('_')));
        let header = inner.clone().nth(1).unwrap_or_default().to_ascii_lowercase();
        self.samples.contains(&name)
            || inner.any(|part| self.variables.contains(part))
            || base && self.headers.contains(&header)
    }

    /// Whether a text has a sample of it: `%[dst_port,map(/x)]`, `%fp`.
    fn within(&self, text: &str) -> bool {
        text.split("%[").skip(1).any(|sample| self.is_own(sample.split(']').next().unwrap_or(sample)))
            || text.contains(self.format)
    }

    /// Whether the condition of a line, or what it chooses, is made of it.
    fn decides(&self, found: &Found) -> bool {
        let words = words(found);
        // What follows a brace is what a condition asks for.
        let asked = words
            .iter()
            .zip(words.iter().skip(1))
            .any(|(before, word)| matches!(*before, "{" | "!{") && self.is_own(word));
        let leads = words.get(1).is_some_and(|rule| LEADS.contains(rule));
        asked
            || match found.name() {
                "acl" => words.get(2).is_some_and(|sample| self.is_own(sample)),
                "use_backend" | "use-server" | "default_backend" => words.iter().any(|text| self.within(text)),
                "http-request" | "tcp-request" if leads => {
                    value(&words, 2).iter().any(|text| self.within(text) || self.is_own(text))
                }
                _ => false,
            }
    }
}

fn words(found: &Found) -> Vec<&str> {
    found.words.iter().map(|word| word.value.as_str()).collect()
}

/// What a rule sets: its words from there to its condition.
fn value<'w, 'f>(words: &'w [&'f str], from: usize) -> &'w [&'f str] {
    let rest = words.get(from..).unwrap_or_default();
    let end = rest.iter().position(|word| matches!(*word, "if" | "unless")).unwrap_or(rest.len());
    &rest[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::haproxy::config::Reading;

    fn line(front: &str) -> Option<(String, Option<Vec<u16>>)> {
        let text = format!(
            "frontend a\n bind :8080\n {front}\n default_backend x\nfrontend b\n bind :81\n acl y dst_port 81\nbackend x\n server s 127.0.0.1:9\n"
        );
        let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
        by_port(&config, &Requests::to("x", "/")).map(|by| (by.place.rsplit(':').next().unwrap().to_owned(), by.ports))
    }

    #[test]
    fn what_is_decided_by_the_servers_own_port_is_found_and_what_is_told_others_is_not() {
        let at = Some(("3".to_owned(), Some(vec![8080])));
        for front in ["acl p dst_port 80", "use_backend x if { dst_port 80 }", "use_backend %[dst_port,map(/x)]"] {
            assert_eq!(line(front), at, "{front}");
        }
        let at = Some(("4".to_owned(), Some(vec![8080])));
        for front in [
            "http-request set-var(txn.p) dst_port\n acl p var(txn.p) 80",
            "tcp-request connection set-var(sess.p) dst_port\n use_backend x if { var(sess.p) 80 }",
            "http-request set-var-fmt(txn.p) x%[dst_port]\n use_backend %[var(txn.p)]",
            "http-request set-header X-Port %[dst_port]\n acl p hdr(x-port) 80",
            "http-request set-header X-Port %fp\n http-request deny if !{ req.hdr(X-Port) 80 }",
            "http-request set-header X-Port %[dst_port]\n acl p hdr_beg(x-port) 8",
        ] {
            assert_eq!(line(front), at, "{front}");
        }
        let far = "http-request set-var(txn.p) dst_port\n http-request set-var(txn.q) str(x),concat(,txn.p)\n acl p var(txn.q) x80";
        assert_eq!(line(far), Some(("5".to_owned(), Some(vec![8080]))));
        assert_eq!(line("http-request set-path /%[dst_port]%[path]"), Some(("3".to_owned(), Some(vec![8080]))));
        let none = line("http-request deny unless { dst 10.0.0.1 }");
        assert_eq!(none, Some(("3".to_owned(), None)), "no copy has that address");
        for front in [
            "http-request set-header X-Forwarded-Port %[dst_port]",
            "acl full dst_conn gt 5",
            "acl dst path_beg /dst/",
            "use_backend dst-pool if { hdr(host) dst.example.com }",
            "log-format dst",
            "http-request set-header X-Port %[dst_port]\n acl p hdr(x-other) 80",
            "http-request set-var(txn.p) dst_port\n http-request set-header X-Port %[var(txn.p)]",
            "http-response set-header X-Port %[dst_port]\n acl p hdr(x-port) 80",
        ] {
            assert_eq!(line(front), None, "{front}");
        }
    }
}
