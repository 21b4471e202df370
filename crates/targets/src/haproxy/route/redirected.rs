//! Where a plain listener leads that only redirects to TLS.

use genkai_model::load::host_sent;

use super::{Address, Bind, Route, rules};
use crate::files::Requests;
use crate::haproxy::config::{Found, Section};

/// What stands for the name that a request came for.
const NAME: [&str; 2] = ["hdr(host)", "req.hdr(host)"];
/// What stands for its path and query ...
const TARGET: [&str; 3] = ["pathq", "url", "capture.req.uri"];
/// ... and options by which a redirect leads elsewhere.
const OTHERWISE: [&str; 2] = ["drop-query", "append-slash"];

impl<'c> Route<'c> {
    /// The line by which this plain listener does nothing but redirect requests to the same target over TLS under the same name, and the port there. What
    /// leads to another page is not followed: that would be another load.
    pub(super) fn secured(&self, requests: &Requests) -> Option<(&'c Found, u16)> {
        let sure = self.doubts.iter().all(|doubt| rules::final_action(doubt).is_none());
        let found = self.answered.filter(|_| sure && !self.bind.tls)?;
        Some((found, to_tls(found, requests)?))
    }

    /// Of the listeners with TLS the one that such a redirect leads to; none: that is not known.
    pub(super) fn led(&self, port: u16, mut all: Vec<(&'c Section, Bind<'c>)>) -> Option<(&'c Section, Bind<'c>)> {
        let hosts = |bind: &Bind<'_>| -> Vec<String> {
            let host =
                |address: &Address| if let Address::Inet { host, .. } = address { Some(host.clone()) } else { None };
            bind.addresses.iter().filter_map(host).collect()
        };
        // Where none is on that port, something before HAProxy leads to another.
        if all.iter().any(|(_, bind)| bind.is_on(port)) {
            all.retain(|(_, bind)| bind.is_on(port));
        }
        let own = hosts(&self.bind);
        let is_beside = |bind: &Bind<'_>| hosts(bind).iter().any(|host| own.contains(host));
        if let Some(same) = all.iter().position(|(front, _)| *front == self.front) {
            return Some(all.swap_remove(same));
        }
        if all.iter().any(|(_, bind)| is_beside(bind)) {
            all.retain(|(_, bind)| is_beside(bind));
        }
        // Who is reached by a name, DNS says.
        let first = all.first().map(|(front, _)| *front)?;
        all.iter().all(|(front, _)| *front == first).then(|| all.swap_remove(0))
    }
}

/// The port of TLS to which a rule redirects these requests, with the same name and target.
fn to_tls(rule: &Found, requests: &Requests) -> Option<u16> {
    let Some(("redirect", words)) = rules::final_action(rule) else { return None };
    let word = |at: usize| rule.words.get(words + at).map(|word| word.value.as_str());
    if rule.words.iter().any(|word| OTHERWISE.contains(&word.value.as_str())) {
        return None;
    }
    let host = host_sent(&requests.host, false);
    let target = if requests.path.is_empty() { "/" } else { &requests.path };
    let url = match (word(0)?, word(1)?) {
        ("scheme", "https") => format!("https://{host}{target}"),
        ("prefix", to) => made(to, host, target)? + target,
        ("location", to) => made(to, host, target)?,
        _ => return None,
    };
    let rest = url.strip_prefix("https://")?;
    let (authority, to) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, port)) => (name, port.parse().ok()?),
        None => (authority, 443),
    };
    let own = host.split(':').next().unwrap_or(host);
    let to = if to.is_empty() { "/" } else { to };
    (name.eq_ignore_ascii_case(own) && to == target).then_some(port)
}

/// A text with `%[...]` for these requests; none where one is not known.
fn made(text: &str, host: &str, target: &str) -> Option<String> {
    let (mut whole, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('%') {
        let (name, further) = after.strip_prefix('[')?.split_once(']')?;
        let name = name.to_ascii_lowercase();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        whole += before;
        whole += match name.as_str() {
            name if NAME.contains(&name) => host,
            name if TARGET.contains(&name) => target,
            "path" => path,
            "query" => query,
            _ => return None,
        };
        rest = further;
    }
    Some(whole + rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::haproxy::config::{Config, Reading};

    /// The frontend that requests come in by, and whether a redirect led there.
    fn asked(front: &str, more: &str, host: &str, path: &str) -> (String, bool) {
        let text = format!(
            "defaults\n mode http\nfrontend plain\n bind 10.0.0.1:80\n {front}\n default_backend b\n{more}backend b\n server s 127.0.0.1:1\n"
        );
        let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
        let route = Route::find(&config, &Requests::to(host, path)).unwrap();
        (route.front.name.clone(), route.redirect.is_some())
    }

    fn tls(name: &str, bind: &str) -> String {
        format!("frontend {name}\n bind {bind} ssl crt x\n default_backend b\n")
    }

    #[test]
    fn only_what_leads_to_the_same_page_over_tls_is_followed() {
        let followed = |path: &str, rule: &str| asked(rule, &tls("t", ":443"), "a.example", path).1;
        for (path, rule, expected) in [
            ("/blog/1?b=c", "http-request redirect scheme https code 301", true),
            ("/blog/1", "redirect scheme https if !{ ssl_fc }", true),
            ("/blog/1?b=c", "redirect scheme https drop-query", false),
            ("/blog/1", "http-request redirect prefix https://a.example", true),
            ("/blog/1", "http-request redirect prefix https://a.example/app", false),
            ("/blog/1", "http-request redirect location https://a.example/", false),
            ("/", "http-request redirect location https://a.example/", true),
            ("/blog/1?b=c", "http-request redirect location https://%[hdr(host)]%[capture.req.uri]", true),
            ("/blog/1?b=c", "http-request redirect location https://%[req.hdr(Host)]%[path]", false),
            ("/blog/1", "http-request redirect location https://%[hdr(host)]/app%[path]", false),
            ("/blog/1", "http-request redirect prefix https://b.example", false),
            ("/blog/1", "http-request redirect location https://%[var(txn.x)]%[path]", false),
        ] {
            assert_eq!(followed(path, rule), expected, "{path} {rule}");
        }
    }

    #[test]
    fn of_several_frontends_with_tls_the_one_it_leads_to_is_loaded_or_none() {
        let rule = "http-request redirect scheme https";
        let to = |more: &[String]| asked(rule, &more.concat(), "a.example", "/x");
        let (one, other) = (tls("one", "10.0.0.2:443"), tls("other", "10.0.0.1:443"));
        assert_eq!(to(&[one.clone(), other.clone()]), ("other".to_owned(), true), "the same address");
        assert_eq!(to(&[one.clone(), tls("third", "10.0.0.3:443")]), ("plain".to_owned(), false), "DNS says which");
        assert_eq!(to(&[tls("admin", ":8443"), one]), ("one".to_owned(), true), "the port");
        assert_eq!(to(&[tls("one", ":8443")]), ("one".to_owned(), true), "there is no other");
        assert_eq!(to(&[tls("admin", ":8443"), tls("api", ":9443")]), ("plain".to_owned(), false));
        let same = format!("{rule} unless {{ ssl_fc }}\n bind 10.0.0.9:443 ssl crt x");
        assert_eq!(asked(&same, &other, "a.example", "/x"), ("plain".to_owned(), true), "its own");
    }
}
