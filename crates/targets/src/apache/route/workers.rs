//! The workers of mod_proxy: each has the connections to an address and their parameters, whoever made it. Measured on httpd 2.4.71.

use super::{Pass, Route, without_usual};
use crate::apache::config::{Config, Found};

/// A worker, which is no member of a balancer.
#[derive(Clone, Debug)]
pub struct Worker<'c> {
    /// Its URL, without a socket's path (`unix:PATH|`).
    name: String,
    /// Whether `$1` stands for any text in it (proxy_util.c: ap_proxy_strcmp_ematch).
    pattern: bool,
    /// By which it was made: a `ProxyPass`, a `<Proxy>`, or the first `ProxySet` in that.
    pub found: &'c Found,
    /// Its parameters, each with the directive that says it, in the order in which they are read.
    values: Vec<(String, String, &'c Found)>,
}

impl<'c> Worker<'c> {
    /// A parameter, and the directive that has it: of several the last counts (mod_proxy.c: set_worker_param).
    pub fn parameter(&self, key: &str) -> Option<(&'c Found, &str)> {
        let mut last = self.values.iter().rev();
        last.find(|(name, ..)| name.eq_ignore_ascii_case(key)).map(|(_, value, found)| (*found, value.as_str()))
    }

    /// Whether the requests of a URL may be its own (proxy_util.c: worker_matches).
    fn takes(&self, url: &str) -> bool {
        let whole = self.pattern && authority(&self.name).contains('$') || self.name.len() >= authority(url).len();
        let begins = if self.pattern { is_like(url, &self.name) } else { url.starts_with(&self.name) };
        self.name.len() <= url.len() && whole && begins
    }

    fn add(&mut self, found: &'c Found, first: usize) {
        let words = found.args.iter().skip(first).filter_map(|word| word.split_once('='));
        self.values.extend(words.map(|(key, value)| (key.to_owned(), value.to_owned(), found)));
    }
}

/// Scheme and authority: up to the path.
fn authority(url: &str) -> &str {
    let begin = url.find("://").map_or(0, |at| at + 3);
    url[begin..].find('/').map_or(url, |at| &url[..begin + at])
}

/// Whether a URL begins as a name does in which `$1` stands for any text.
fn is_like(url: &str, name: &str) -> bool {
    let is_reference = |text: &str| text.starts_with('$') && text[1..].starts_with(|c: char| c.is_ascii_digit());
    let Some(first) = name.chars().next() else { return true };
    if is_reference(name) {
        let after = &name[2..];
        return after.is_empty() || url.char_indices().map(|(at, _)| at).any(|at| is_like(&url[at..], after));
    }
    url.strip_prefix(first).is_some_and(|rest| is_like(rest, &name[first.len_utf8()..]))
}

/// A URL as workers are named (proxy_util.c: ap_proxy_define_worker_ex): without a socket, scheme and host in lower case, without the port that the
/// scheme has anyway. None for what is no worker's: `!`, a balancer.
fn named(url: &str) -> Option<String> {
    let url = match url.get(..5).is_some_and(|begin| begin.eq_ignore_ascii_case("unix:")) {
        true => url.split_once('|')?.1,
        false => url,
    };
    let (scheme, rest) = url.split_once(':')?;
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (scheme, host) = (scheme.to_ascii_lowercase(), host.to_ascii_lowercase());
    if scheme == "balancer" {
        return None;
    }
    let host = if host.is_empty() { "localhost" } else { without_usual(&scheme, &host) };
    Some(format!("{scheme}://{host}{path}"))
}

/// The longest that takes a URL; of two of the same length the first (proxy_util.c: ap_proxy_get_worker_ex).
fn longest<'w, 'c>(all: impl Iterator<Item = &'w Worker<'c>>, url: &str) -> Option<&'w Worker<'c>>
where
    'c: 'w,
{
    let takes = all.filter(|worker| worker.takes(url));
    takes.reduce(|best, one| if one.name.len() > best.name.len() { one } else { best })
}

/// The workers that one server makes (none: the main one, else a virtual host), and each `ProxyPass` whose worker was there before, with who made that.
fn made<'c>(config: &'c Config, host: Option<usize>) -> (Vec<Worker<'c>>, Vec<(Pass<'c>, &'c Found)>) {
    let (mut all, mut shared): (Vec<Worker<'c>>, Vec<_>) = (Vec::new(), Vec::new());
    let place = |all: &[Worker<'c>], name: &str, pattern: bool| {
        let found = longest(all.iter().filter(|worker| worker.pattern == pattern), name)?;
        all.iter().position(|worker| std::ptr::eq(worker, found))
    };
    for (index, found) in config.found().iter().enumerate().filter(|(_, found)| found.host() == host) {
        let within = found.context.iter().rev().find(|s| s.name == "proxy" || s.name == "proxymatch");
        if let Some(pass) = Pass::read(found) {
            let Some(name) = named(&pass.url) else { continue };
            match place(&all, &name, pass.pattern) {
                Some(at) => shared.push((pass, all[at].found)),
                None => {
                    let mut worker = Worker { name, pattern: pass.pattern, found, values: Vec::new() };
                    worker.add(found, pass.index + 1);
                    all.push(worker);
                }
            }
        } else if found.section && matches!(found.name.as_str(), "proxy" | "proxymatch") {
            let Some(name) = found.arg(0).filter(|url| url.contains(':')).and_then(named) else { continue };
            let is_inner = |f: &&Found| f.name == "proxyset" && f.context.last().is_some_and(|s| s.index == index);
            let inner: Vec<&Found> = config.found().iter().filter(is_inner).collect();
            let Some(by) = inner.first().copied().or(Some(found).filter(|found| found.args.len() > 1)) else {
                continue;
            };
            let pattern = found.name == "proxymatch";
            let at = place(&all, &name, pattern).unwrap_or_else(|| {
                all.push(Worker { name, pattern, found: by, values: Vec::new() });
                all.len() - 1
            });
            inner.into_iter().for_each(|set| all[at].add(set, 0));
            // What stands in its head is read when it ends (mod_proxy.c: proxysection).
            all[at].add(found, 1);
        } else if found.name == "proxyset" && within.is_none() {
            let at = found
                .arg(0)
                .and_then(named)
                .and_then(|name| place(&all, &name, false).or_else(|| place(&all, &name, true)));
            at.into_iter().for_each(|at| all[at].add(found, 1));
        }
    }
    (all, shared)
}

/// Each `ProxyPass` whose worker another directive made before, which is passed over with its parameters (AH01145, AH01146).
pub fn shared(config: &Config) -> Vec<(Pass<'_>, &Found)> {
    let hosts = config.found().iter().enumerate().filter(|(_, found)| found.section && found.name == "virtualhost");
    let servers = std::iter::once(None).chain(hosts.map(|(index, _)| Some(index)));
    servers.flat_map(|host| made(config, host).1).collect()
}

impl<'a> Route<'a> {
    /// The worker that has the requests for a path which this pass holds: the main server's come before the virtual host's
    /// (mod_proxy.c: merge_proxy_config). None: httpd's own for all that have none, without a parameter.
    pub fn worker<'c>(&self, config: &'c Config, pass: &Pass<'_>, path: &str) -> Option<Worker<'c>> {
        let url = named(&pass.asked(path)?)?;
        let own = self.host.map(|host| made(config, Some(host)).0);
        let all: Vec<Worker<'c>> = made(config, None).0.into_iter().chain(own.into_iter().flatten()).collect();
        longest(all.iter(), &url).cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::apache::config::Reading;
    use crate::apache::handler;
    use crate::files::Requests;

    fn most(text: &str) -> Option<String> {
        let reading = Reading { root: "/e".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
        let text = format!("Listen 80\nDocumentRoot /run\n{text}");
        let config = Config::of_text(Path::new("/x/httpd.conf"), text.into(), reading).unwrap();
        let requests = Requests::to("x", "/app/x");
        let route = Route::find(&config, &requests)?;
        let pass = handler::pass(&config, &route, &requests)?;
        Some(route.worker(&config, &pass, "/app/x")?.parameter("max")?.1.to_owned())
    }

    /// What a backend that counts who is there at once saw of 12 clients of httpd 2.4.71.
    #[test]
    fn a_handler_has_the_worker_whose_url_begins_its_own() {
        let handled = |more: &str| most(&format!("<Location />\nSetHandler \"proxy:http://h:1\"\n</Location>\n{more}"));
        let three = Some("3".to_owned());
        assert_eq!(handled(""), None, "httpd's own");
        assert_eq!(handled("<Proxy \"http://h:1\">\nRequire all granted\n</Proxy>\n"), None, "no worker is made");
        assert_eq!(handled("<Proxy \"http://h:1\">\nProxySet timeout=9 max=3\n</Proxy>\n"), three);
        assert_eq!(handled("<Proxy \"HTTP://H:1/\">\nProxySet max=3\n</Proxy>\n"), three);
        assert_eq!(
            handled("<Proxy http://h:1 max=4>\nProxySet max=3\n</Proxy>\n").as_deref(),
            Some("4"),
            "its head ends it"
        );
        assert_eq!(handled("<Proxy http://h:1 retry=0>\n</Proxy>\nProxySet http://h:1 max=3\n"), three);
        let two =
            |first: &str, second: &str| handled(&format!("<Proxy {first}>\n</Proxy>\n<Proxy {second}>\n</Proxy>\n"));
        let short = "http://h:1 max=3";
        assert_eq!(two("http://h:1/app max=2", short), three, "it is asked for a file");
        assert_eq!(two("http://h:1/run max=2", short).as_deref(), Some("2"));
        assert_eq!(
            two(short, "http://h:1/app max=2").as_deref(),
            Some("2"),
            "no other is made: it begins as the first"
        );
        assert_eq!(handled("<Proxy http://h:12 max=2>\n</Proxy>\n"), None, "another port");
        assert_eq!(handled("<Location /other>\nProxyPass http://h:1/ max=3\n</Location>\n"), three);
        assert_eq!(handled("<ProxyMatch \"http://h:1\">\nProxySet max=3\n</ProxyMatch>\n"), three);
        let host = |inner: &str| {
            handled(&format!("<Proxy http://h:1 max=3>\n</Proxy>\n<VirtualHost *:80>\n{inner}</VirtualHost>\n"))
        };
        assert_eq!(host(""), three);
        assert_eq!(host("<Proxy http://h:1 max=2>\n</Proxy>\n"), three, "the main server's come first");
    }

    #[test]
    fn a_pass_has_the_worker_that_is_there() {
        let three = Some("3".to_owned());
        assert_eq!(most("<Proxy http://h:1>\nProxySet max=3\n</Proxy>\nProxyPass / http://h:1/ max=5\n"), three);
        assert_eq!(
            most("ProxyPass / http://h:1/ max=3\n<Proxy http://h:1>\nProxySet max=5\n</Proxy>\n"),
            three,
            "another"
        );
        assert_eq!(most("ProxyPass / http://h:1/ max=5\n<Proxy http://h:1/>\nProxySet max=3\n</Proxy>\n"), three);
        assert_eq!(most("ProxyPass / http://h:1/ max=5\nProxySet http://h:1/ max=3\n"), three);
        assert_eq!(most("ProxyPass / http://h:1/ max=5\n<Proxy http://h:1/app max=3>\n</Proxy>\n"), three);
        assert_eq!(most("ProxyPassMatch ^/(.*)$ http://h:1/$1 max=3\n"), three);
        assert_eq!(most("ProxyPassMatch ^(/.*)$ http://h:1$1 max=3\n<Proxy http://h:1 max=5>\n</Proxy>\n"), three);
        assert_eq!(most("ProxyPass /app http://h:1/ max=5\nProxyPassMatch ^/(.*)$ http://h:1/$1 max=3\n"), three);
        let both =
            "ProxyPass /zz http://h:1/ max=3\n<VirtualHost *:80>\nProxyPass / http://h:1/ max=5\n</VirtualHost>\n";
        assert_eq!(most(both), three, "the main server's come first");
    }

    #[test]
    fn names_are_those_of_urls() {
        let of = |url: &str| named(url).unwrap_or_default();
        assert_eq!(of("unix:/run/a.sock|fcgi://LocalHost/var"), "fcgi://localhost/var");
        assert_eq!(of("unix:/run/a.sock|http:"), "http://localhost");
        assert_eq!((of("HTTP://A:80/b").as_str(), of("http://a:8080").as_str()), ("http://a/b", "http://a:8080"));
        assert_eq!((named("!"), named("balancer://x")), (None, None));
    }
}
