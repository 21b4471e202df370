//! Steps of the server through itself by TLS: its listeners show certificates of the run, at other addresses, which must not be held against what the
//! user's file says of its own.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use genkai_model::event::Rewrite;

use super::backend::{host_and_port, parts, places, plain};
use super::changes::Changes;
use super::listen::{Moved, own};
use crate::apache::config::{Config, Found, lexer::quote};

/// What a server's certificate is held against (mod_ssl), with what holds it against nothing.
const HELD_AGAINST: [(&str, &str, &str); 5] = [
    ("sslproxyverify", "SSLProxyVerify", "none"),
    ("sslproxycheckpeername", "SSLProxyCheckPeerName", "off"),
    ("sslproxycheckpeercn", "SSLProxyCheckPeerCN", "off"),
    ("sslproxycheckpeerexpire", "SSLProxyCheckPeerExpire", "off"),
    ("sslproxycarevocationcheck", "SSLProxyCARevocationCheck", "none"),
];

/// Sections that take the certificates of the server's own listeners for what they are, to be read after the user's files; what else a virtual host says
/// of its steps by TLS holds in them, too (mod_ssl merges a `<Proxy>` of the server with the server's alone). Certificates of others are held against what
/// they were.
pub(super) fn unverified(config: &Config, changes: &mut Changes<'_>, moved: &[Moved]) -> String {
    let mut steps: BTreeMap<SocketAddr, (&'static str, Vec<String>)> = BTreeMap::new();
    for place in places(config).into_iter().filter(|place| place.found.name != "proxypassreverse") {
        let Some(url) = place.found.arg(place.index).and_then(|arg| arg.strip_prefix(place.before)) else { continue };
        let Some((scheme, to)) = step(moved, url) else { continue };
        let said = said(config, place.found);
        let is_on = |line: &Found| line.arg(0).is_some_and(|word| word.eq_ignore_ascii_case("on"));
        let mut engine = config.named("sslproxyengine").filter(|found| found.is_global()).chain(said.iter().copied());
        // Where it is off, the step fails in the user's server as in the copy.
        if !engine.rfind(|found| found.name == "sslproxyengine").is_some_and(is_on) || steps.contains_key(&to) {
            continue;
        }
        let is_kept = |found: &&Found| {
            found.name != "sslproxyengine" && !HELD_AGAINST.iter().any(|(name, ..)| *name == found.name)
        };
        let lines = said.into_iter().filter(is_kept).map(line).collect();
        changes.list(Rewrite {
            place: config.place(place.found),
            from: place.found.written(),
            to: format!("the certificate of {scheme}://{to}, which is this server itself, is not verified: it is another in the copy"),
        });
        steps.insert(to, (scheme, lines));
    }
    sections(config, changes, moved);
    let section = |(to, (scheme, lines)): (&SocketAddr, &(&str, Vec<String>))| {
        let off = HELD_AGAINST.map(|(_, name, off)| format!("  {name} {off}\n")).concat();
        format!("<Proxy \"{scheme}://{to}\">\n  SSLProxyEngine on\n{}{off}</Proxy>\n", lines.concat())
    };
    steps.iter().map(section).collect()
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
            let text = unverified(&config, &mut changes, &[Moved { ip: None, port: 8443, to }]);
            (text, changes.rewrites.into_iter().map(|rewrite| rewrite.to).collect::<Vec<_>>())
        };
        let step = "ProxyPass / https://localhost:8443/";
        let (text, told) = of(&format!(
            "SSLProxyEngine on\nSSLProxyVerify require\nSSLProxyMachineCertificateFile \"/a b.pem\"\n{step}"
        ));
        let expected = "<Proxy \"https://127.0.0.1:40000\">\n  SSLProxyEngine on\n  SSLProxyMachineCertificateFile \"/a b.pem\"\n  SSLProxyVerify none\n  \
                        SSLProxyCheckPeerName off\n  SSLProxyCheckPeerCN off\n  SSLProxyCheckPeerExpire off\n  SSLProxyCARevocationCheck none\n</Proxy>\n";
        assert_eq!((text.as_str(), told.len()), (expected, 1), "{told:?}");
        for other in [
            "SSLProxyEngine on\nProxyPass / https://localhost:9443/",
            step,
            "SSLProxyEngine on\nProxyPass / http://localhost:8443/",
        ] {
            assert_eq!(of(other), (String::new(), Vec::new()), "{other}");
        }
        let own = "<Proxy https://localhost:8443>\nSSLProxyVerify require\n</Proxy>\n<Proxy https://localhost:9443>\nSSLProxyVerify require\n</Proxy>";
        let (_, told) = of(&format!("SSLProxyEngine on\n{own}\n{step}"));
        assert_eq!(told.last().map(String::as_str), Some("SSLProxyVerify none"));
        assert_eq!(told.len(), 2, "{told:?}");
    }
}
