//! Steps of the server through itself by TLS: its listeners show certificates of the run, at other addresses, which must not be held against what the
//! user's file says of its own.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use genkai_model::event::Rewrite;

use super::backend::{host_and_port, parts, places, plain};
use super::changes::Changes;
use super::listen::{Moved, own};
use crate::apache::config::{Config, Edit, Found, lexer::quote};
use crate::files::pattern::Reads;

/// What a server's certificate is held against (mod_ssl), with what holds it against nothing.
const HELD_AGAINST: [(&str, &str, &str); 5] = [
    ("sslproxyverify", "SSLProxyVerify", "none"),
    ("sslproxycheckpeername", "SSLProxyCheckPeerName", "off"),
    ("sslproxycheckpeercn", "SSLProxyCheckPeerCN", "off"),
    ("sslproxycheckpeerexpire", "SSLProxyCheckPeerExpire", "off"),
    ("sslproxycarevocationcheck", "SSLProxyCARevocationCheck", "none"),
];

/// What virtual hosts say that is changed by nobody else here: the line of one can be read from a file of its own, with more behind it.
const ANCHORS: [&str; 5] = ["sslproxyengine", "proxypreservehost", "servername", "serveralias", "proxyvia"];

/// What is read besides the user's files.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// Behind them.
    pub(super) text: String,
    /// In them, each as a file of its own.
    pub(super) files: Vec<(PathBuf, String)>,
}

/// The steps of one virtual host, or of several that say nothing of TLS themselves: where each leads, and the scheme it is written with.
type Led = BTreeMap<SocketAddr, &'static str>;

/// Sections that take the certificates of the server's own listeners for what they are. Those of a virtual host that says something of its steps by TLS
/// itself stand in that: what it says holds in them, too (mod_ssl merges a `<Proxy>` with the server that it is of), and they count after the main
/// server's. All others are to be read after the user's files. Certificates of others are held against what they were.
pub(super) fn unverified(config: &Config, changes: &mut Changes<'_>, moved: &[Moved]) -> Steps {
    let (mut server, mut hosts): ((Led, Vec<String>), BTreeMap<usize, Led>) = Default::default();
    let mut wide = Vec::new();
    for place in places(config).into_iter().filter(|place| place.found.name != "proxypassreverse") {
        let Some(url) = place.found.arg(place.index).and_then(|arg| arg.strip_prefix(place.before)) else { continue };
        let Some((scheme, to)) = step(moved, url) else { continue };
        let said = said(config, place.found);
        let is_on = |line: &Found| line.arg(0).is_some_and(|word| word.eq_ignore_ascii_case("on"));
        let mut engine = config.named("sslproxyengine").filter(|found| found.is_global()).chain(said.iter().copied());
        // Where it is off, the step fails in the user's server as in the copy.
        if !engine.rfind(|found| found.name == "sslproxyengine").is_some_and(is_on) {
            continue;
        }
        let host = place.found.host();
        let sections = host.map(|host| patterns(config, host, url)).unwrap_or_default();
        let own =
            host.filter(|host| !(said.is_empty() && sections.is_empty()) && anchor(config, changes, *host).is_some());
        let is_new = match own {
            Some(host) => hosts.entry(host).or_default().insert(to, scheme).is_none(),
            None => {
                let is_new = server.0.insert(to, scheme).is_none();
                if is_new {
                    server.1.extend(said.into_iter().filter(is_kept).map(line));
                }
                is_new
            }
        };
        if is_new {
            wide.extend(sections.into_iter().filter(|_| own.is_some()).map(|section| (section, to, scheme)));
            changes.list(Rewrite {
                place: config.place(place.found),
                from: place.found.written(),
                to: format!("the certificate of {scheme}://{to}, which is this server itself, is not verified: it is another in the copy"),
            });
        }
    }
    sections(config, changes, moved);
    let mut files = Vec::new();
    for (n, (host, led)) in hosts.iter().enumerate() {
        let Some(anchor) = anchor(config, changes, *host) else { continue };
        let inside = |to: &SocketAddr| {
            let of = wide.iter().filter(|(section, at, _)| section.found.host() == Some(*host) && at == to);
            of.flat_map(|(section, ..)| section.lines.iter().copied()).filter(is_kept).map(line).collect::<String>()
        };
        let path = changes.dir.join(format!("conf/step-{:03}", n + 1));
        let text: String = led.iter().map(|(to, scheme)| section(scheme, to, &inside(to))).collect();
        files.push((path.clone(), line(anchor) + &text));
        changes.line(anchor, format!("Include {}", quote(&path.to_string_lossy())), false);
    }
    narrow(changes, &wide);
    let lines = server.1.concat();
    Steps { text: server.0.iter().map(|(to, scheme)| section(scheme, to, &lines)).collect(), files }
}

/// A section of one step.
fn section(scheme: &str, to: &SocketAddr, lines: &str) -> String {
    let off = HELD_AGAINST.map(|(_, name, off)| format!("  {name} {off}\n")).concat();
    format!("<Proxy \"{scheme}://{to}\">\n  SSLProxyEngine on\n{lines}{off}</Proxy>\n")
}

/// Whether a line is no matter of whom a certificate is held against.
fn is_kept(found: &&Found) -> bool {
    found.name != "sslproxyengine" && !HELD_AGAINST.iter().any(|(name, ..)| *name == found.name)
}

/// A line of a virtual host that others can be read behind.
fn anchor<'c>(config: &'c Config, changes: &Changes<'_>, host: usize) -> Option<&'c Found> {
    let taken = |found: &Found| changes.edits.iter().any(|one| one.file == found.file && one.from == found.head.start);
    let own = |found: &&Found| found.context.len() == 1 && found.host() == Some(host) && !found.section;
    ANCHORS.iter().find_map(|name| config.named(name).filter(own).find(|found| !taken(found)))
}

/// A section of a virtual host whose pattern takes a step in, and holds its certificate against something.
struct Pattern<'c> {
    found: &'c Found,
    /// It, as a regular expression of Apache's.
    regex: String,
    /// What it says, without what stands in sections of its own.
    lines: Vec<&'c Found>,
}

/// Those of a virtual host that take this URL in; mod_proxy.c (`proxysection`, `proxy_walk`).
fn patterns<'c>(config: &'c Config, host: usize, url: &str) -> Vec<Pattern<'c>> {
    let all = config.found().iter().enumerate().filter(|(_, found)| found.section && found.host() == Some(host));
    let of = |(index, found): (usize, &'c Found)| {
        let regex = match (found.name.as_str(), found.arg(0)?) {
            ("proxymatch", pattern) => pattern.to_owned(),
            ("proxy", pattern) if pattern.contains(['*', '?']) && !pattern.contains(['[', '\\']) => {
                let part = |c: char| match c {
                    '*' => ".*".to_owned(),
                    '?' => ".".to_owned(),
                    c => escaped(&c.to_string()),
                };
                format!("^{}$", pattern.chars().map(part).collect::<String>())
            }
            ("proxy", begin) if parts(plain(begin)).is_none_or(|(_, authority, _)| authority.is_empty()) => {
                format!("^{}", escaped(begin))
            }
            _ => return None,
        };
        let inside = |one: &&Found| one.context.last().is_some_and(|section| section.index == index);
        let lines: Vec<&Found> = config.found().iter().filter(inside).collect();
        let holds = lines.iter().any(|one| HELD_AGAINST.iter().any(|(name, ..)| *name == one.name));
        let takes = Reads { blind: false, whole: true }.matches(&regex, url) == Some(true);
        (holds && takes && !lines.iter().any(|one| one.section)).then_some(Pattern { found, regex, lines })
    };
    all.filter_map(of).collect()
}

/// A text as a regular expression that finds it alone.
fn escaped(text: &str) -> String {
    let one = |c: char| if c.is_alphanumeric() || c == '/' || c == ':' { c.to_string() } else { format!("\\{c}") };
    text.chars().map(one).collect()
}

/// Such sections without the steps that they took in: what they say of these is in the sections of these.
fn narrow(changes: &mut Changes<'_>, wide: &[(Pattern<'_>, SocketAddr, &str)]) {
    let mut done: BTreeMap<usize, (&Pattern<'_>, Vec<String>)> = BTreeMap::new();
    for (section, to, scheme) in wide {
        let key = section.found as *const Found as usize;
        done.entry(key).or_insert((section, Vec::new())).1.push(escaped(&format!("{scheme}://{to}")));
    }
    for (Pattern { found, regex, .. }, without) in done.into_values() {
        let text = format!("^(?!(?:{})(?:/|$))(?s:.*?)(?:{regex})", without.join("|"));
        let ends = changes.config.file(found.file);
        let closing = memchr::memmem::rfind(&ends.text[found.span.clone()], b"</").map(|at| found.span.start + at);
        let end = closing.and_then(|from| Some(from..from + memchr::memchr(b'>', &ends.text[from..])? + 1));
        changes.line(found, format!("<ProxyMatch {}>", quote(&text)), true);
        if let Some(end) = end.filter(|_| found.name == "proxy") {
            changes.edit(ends, Edit::new(found.file, &end, "</ProxyMatch>"));
        }
    }
}

/// Where a URL leads by TLS, if it leads back into the same httpd.
fn step(moved: &[Moved], url: &str) -> Option<(&'static str, SocketAddr)> {
    let (scheme, authority, _) = parts(url)?;
    let scheme = ["https", "wss"].into_iter().find(|known| scheme.eq_ignore_ascii_case(known))?;
    let (host, port) = host_and_port(scheme, authority);
    Some((scheme, own(moved, host, port)?))
}

/// What the virtual host of a directive says itself of TLS to others.
fn said<'c>(config: &'c Config, of: &Found) -> Vec<&'c Found> {
    let Some(host) = of.host() else { return Vec::new() };
    let own =
        |found: &&Found| found.name.starts_with("sslproxy") && found.context.len() == 1 && found.host() == Some(host);
    config.found().iter().filter(own).collect()
}

fn line(found: &Found) -> String {
    let words: String = found.args.iter().map(|arg| format!(" {}", quote(arg))).collect();
    format!("  {}{words}\n", found.words[0].value)
}

/// What the user's own sections of such a step hold the certificate against: they are read after the server's.
fn sections(config: &Config, changes: &mut Changes<'_>, moved: &[Moved]) {
    for found in config.found() {
        let Some((.., off)) = HELD_AGAINST.iter().find(|(name, ..)| *name == found.name) else { continue };
        let section = found.context.iter().find(|section| section.name == "proxy");
        let url = section.and_then(|section| section.args.first());
        if url.is_some_and(|url| step(moved, plain(url)).is_some()) {
            changes.set_one(found, 0, (*off).to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::apache::config::Reading;

    #[test]
    fn only_its_own_certificate_is_not_verified() {
        let of = |inside: &str| {
            let text = format!(
                "Listen 80\nListen 8443\nSSLProxyCACertificateFile /ca.pem\n<VirtualHost *:80>\n{inside}\n</VirtualHost>\n"
            );
            let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
            let config = Config::of_text(Path::new("/x/httpd.conf"), text.into(), reading).unwrap();
            let mut changes = Changes::new(&config, Path::new("/d"));
            let to = SocketAddr::from(([127, 0, 0, 1], 40000));
            let Steps { text, files } = unverified(&config, &mut changes, &[Moved { ip: None, port: 8443, to }]);
            let text = files.into_iter().map(|(_, text)| text).chain([text]).collect::<String>();
            (text, changes.rewrites.into_iter().map(|rewrite| rewrite.to).collect::<Vec<_>>())
        };
        let step = "ProxyPass / https://localhost:8443/";
        let (text, told) = of(&format!(
            "SSLProxyEngine on\nSSLProxyVerify require\nSSLProxyMachineCertificateFile \"/a b.pem\"\n{step}"
        ));
        let expected = "  SSLProxyEngine on\n<Proxy \"https://127.0.0.1:40000\">\n  SSLProxyEngine on\n  SSLProxyVerify none\n  \
                        SSLProxyCheckPeerName off\n  SSLProxyCheckPeerCN off\n  SSLProxyCheckPeerExpire off\n  SSLProxyCARevocationCheck none\n</Proxy>\n";
        assert_eq!((text.as_str(), told.len()), (expected, 1), "{told:?}");
        for other in [
            "SSLProxyEngine on\nProxyPass / https://localhost:9443/",
            step,
            "SSLProxyEngine on\nProxyPass / http://localhost:8443/",
        ] {
            assert_eq!(of(other), (String::new(), Vec::new()), "{other}");
        }
        // A pattern of the virtual host's counts after what is said of the server: the step is taken out of it, with what else it says of it kept.
        let star = "<Proxy *>\nSSLProxyVerify require\nRequire all granted\n</Proxy>";
        let (text, told) = of(&format!("SSLProxyEngine on\n{star}\n{step}"));
        let section =
            "<Proxy \"https://127.0.0.1:40000\">\n  SSLProxyEngine on\n  Require all granted\n  SSLProxyVerify none\n";
        assert!(text.starts_with("  SSLProxyEngine on\n") && text.contains(section), "{text}");
        let narrowed = r"ProxyMatch ^(?!(?:https://127\.0\.0\.1:40000)(?:/|$))(?s:.*?)(?:^.*$)";
        assert_eq!(told.last().map(|text| text.trim_matches(['<', '>']).replace('"', "")), Some(narrowed.to_owned()));
        let others = "<ProxyMatch ^http:>\nSSLProxyVerify require\n</ProxyMatch>";
        assert_eq!(of(&format!("SSLProxyEngine on\n{others}\n{step}")).1.len(), 1, "it is not taken in");
        // What another virtual host says of the same step is its own.
        let other = "SSLProxyEngine on\nSSLProxyMachineCertificateFile /a.pem\n";
        let two = format!(
            "{other}{step}\n</VirtualHost>\n<VirtualHost *:80>\nServerName b\nSSLProxyEngine on\nSSLProxyMachineCertificateFile /b.pem\n{step}"
        );
        let (text, told) = of(&two);
        assert_eq!((text.matches("<Proxy ").count(), text.contains(".pem"), told.len()), (2, false, 2), "{text}");
        let own = "<Proxy https://localhost:8443>\nSSLProxyVerify require\n</Proxy>\n<Proxy https://localhost:9443>\nSSLProxyVerify require\n</Proxy>";
        let (_, told) = of(&format!("SSLProxyEngine on\n{own}\n{step}"));
        assert_eq!(told.last().map(String::as_str), Some("SSLProxyVerify none"));
        assert_eq!(told.len(), 2, "{told:?}");
    }
}
