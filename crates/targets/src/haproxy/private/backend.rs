//! What is behind: kept, or replaced by one backend. What leads back into the same HAProxy follows its listeners in any case.

use std::net::SocketAddr;

use super::changes::{Changes, without};
use super::listen::Moved;
use super::{CopyError, own};
use crate::files::{Move, masked};
use crate::haproxy::config::{Config, Found, Section};
use crate::haproxy::limits::reached;
use crate::haproxy::proxy::first_parameter;
use crate::haproxy::route::Address;
use genkai_place::remote;

/// Parameters of a server that another backend does not have (the PROXY protocol, names that are resolved while it runs,
/// checks at another place), each with its number of values.
const DROPPED: &[(&str, usize)] = &[
    ("check-proto", 1),
    ("send-proxy", 0),
    ("send-proxy-v2", 0),
    ("send-proxy-v2-ssl", 0),
    ("send-proxy-v2-ssl-cn", 0),
    ("check-send-proxy", 0),
    ("proxy-v2-options", 1),
    ("proto", 1),
    ("resolvers", 1),
    ("resolve-prefer", 1),
    ("resolve-net", 1),
    ("resolve-opts", 1),
    ("init-addr", 1),
    ("socks4", 1),
    ("check-via-socks4", 0),
    ("source", 1),
    ("usesrc", 1),
    ("namespace", 1),
    ("port", 1),
    ("addr", 1),
    ("agent-check", 0),
    ("agent-port", 1),
    ("agent-addr", 1),
    ("agent-inter", 1),
    ("agent-send", 1),
];

/// Those of TLS.
const TLS: &[(&str, usize)] = &[
    ("ssl", 0),
    ("check-ssl", 0),
    ("verify", 1),
    ("verifyhost", 1),
    ("ca-file", 1),
    ("crl-file", 1),
    ("crt", 1),
    ("sni", 1),
    ("alpn", 1),
    ("npn", 1),
    ("ciphers", 1),
    ("ciphersuites", 1),
    ("ssl-min-ver", 1),
    ("ssl-max-ver", 1),
    ("check-sni", 1),
    ("check-alpn", 1),
    ("no-ssl", 0),
    ("no-verifyhost", 0),
];

/// What a certificate is held against.
const HELD_AGAINST: &[(&str, usize)] = &[("verify", 1), ("verifyhost", 1), ("ca-file", 1), ("crl-file", 1)];

/// Lines that ask the user's own application whether it is well (configuration manual 4.2): another backend answers otherwise and
/// would be taken for dead. Without them `check` is a TCP connect.
const CHECKS: &[&str] = &[
    "http-check",
    "tcp-check",
    "external-check",
    "option httpchk",
    "option tcp-check",
    "option external-check",
    "option ssl-hello-chk",
    "option smtpchk",
    "option ldap-check",
    "option mysql-check",
    "option pgsql-check",
    "option redis-check",
    "option spop-check",
];

/// Where servers are in the copy.
pub(super) struct Led<'a> {
    /// Listeners of the same HAProxy.
    pub(super) moved: &'a [Moved],
    /// What all others are; none: the user's.
    pub(super) backend: Option<SocketAddr>,
    /// That takes TLS: the name that it is told.
    pub(super) secured: Option<&'a str>,
    /// Those of the user's that have another in their place.
    pub(super) moves: &'a [Move],
    /// Hosts that may be reached though they are not this machine.
    pub(super) allowed: &'a [String],
}

/// Points every server to where it is now, and refuses those that leave this machine.
pub(super) fn redirect(config: &Config, changes: &mut Changes<'_>, led: &Led<'_>) -> Result<(), CopyError> {
    let secured = led.secured;
    let says = |found: &Found, what: &str| {
        found.name() == "default-server" && found.words.iter().any(|word| word.value == what)
    };
    // Those of a section hold there, those of `defaults` may hold anywhere.
    let before = |what: &str| {
        let defaults = config.sections().iter().filter(|section| section.kind == "defaults");
        defaults.flat_map(|section| config.inside(section)).any(|found| says(found, what))
    };
    let (encrypted, named) = (before("ssl"), before("sni"));
    // A copy of what stands there does not expect the header of the PROXY protocol.
    let told = |found: &Found| found.words.iter().any(|word| word.value.starts_with("send-proxy"));
    let tells = config.found().iter().any(|found| found.is("default-server") && told(found));
    for section in config.sections().iter().filter(|s| s.is_back() || s.kind == "defaults") {
        let here = |what: &str| config.inside(section).iter().any(|found| says(found, what));
        let to = led.backend.map(|at| Replacing {
            at,
            secured,
            is_said: encrypted || here("ssl"),
            is_named: named || here("sni"),
        });
        for found in config.inside(section) {
            match found.name() {
                "server" | "server-template" | "dispatch" => {
                    let moves = if tells || told(found) { &[] } else { led.moves };
                    let given = if to.is_some() { given(config, section, found) } else { Vec::new() };
                    server(config, changes, found, &given, &Led { moves, ..*led }, to.as_ref())?;
                }
                "default-server" if to.is_some() => {
                    let words: Vec<String> = found.words.iter().map(|w| w.value.clone()).collect();
                    match kept(&words, 1, secured.is_some()) {
                        kept if kept.len() > 1 => changes.set(found, &kept),
                        _ => changes.drop(found),
                    }
                }
                "source" => changes.drop(found),
                "use-fcgi-app" if to.is_some() => changes.drop(found),
                _ if to.is_some() && CHECKS.iter().any(|key| found.is(key)) => changes.drop(found),
                "filter" if to.is_some() && found.arg(0) == Some("spoe") => changes.drop(found),
                _ => {}
            }
        }
    }
    Ok(())
}

/// What stands in place of the user's servers.
struct Replacing<'a> {
    at: SocketAddr,
    /// It takes TLS: the name that it is told.
    secured: Option<&'a str>,
    /// Whether the servers take TLS by a `default-server`.
    is_said: bool,
    /// Whether one says what they are told as their name.
    is_named: bool,
}

/// Words of a server, from one on without parameters that another backend does not have; those of TLS stay where that takes it.
fn kept(words: &[String], from: usize, secured: bool) -> Vec<String> {
    let words = without(words, from, DROPPED);
    if secured { words } else { without(&words, from, TLS) }
}

impl Replacing<'_> {
    /// The words of a server with the address at `at`.
    fn put(&self, words: &[String], at: usize) -> Vec<String> {
        let mut words = kept(words, at + 1, self.secured.is_some());
        words[at] = self.at.to_string();
        let is_said = self.is_said || words.iter().any(|word| word == "ssl");
        if self.secured.is_some() && !is_said {
            words.extend(["ssl", "verify", "none"].map(str::to_owned));
        }
        let is_named = self.is_named || words.iter().any(|word| word == "sni");
        if let Some(name) = self.secured.filter(|name| !name.is_empty() && !is_named) {
            // What checks ask is told the name of its own (configuration manual 5.2, `check-sni`).
            words.extend(["sni".to_owned(), format!("str({name})"), "check-sni".to_owned(), name.to_owned()]);
        }
        words
    }
}

/// What the `default-server` lines before a server give it, those of `defaults` first: where another backend stands in for the others, they lose what
/// that does not have, and what leads through itself has it as before.
fn given(config: &Config, section: &Section, server: &Found) -> Vec<String> {
    let mut lineage: Vec<&Section> = config.lineage(section).collect();
    lineage.reverse();
    let lines = lineage.into_iter().flat_map(|section| config.inside(section));
    let before = lines.take_while(|line| !std::ptr::eq(*line, server)).filter(|line| line.is("default-server"));
    before.flat_map(|line| line.words[1..].iter().map(|word| word.value.clone())).collect()
}

/// One server, and what was `given` to it before, where that is lost.
fn server(
    config: &Config,
    changes: &mut Changes<'_>,
    found: &Found,
    given: &[String],
    led: &Led<'_>,
    to: Option<&Replacing<'_>>,
) -> Result<(), CopyError> {
    // `dispatch ADDRESS` has nothing before it.
    let at = first_parameter(found).max(1);
    let Some(written) = found.words.get(at).map(|w| w.value.clone()) else { return Ok(()) };
    // The copy keeps the root of all.
    let reached = reached(config, &written);
    let address = Address::parse(&reached);
    let mut words: Vec<String> = found.words.iter().map(|w| w.value.clone()).collect();
    match (own(led.moved, &address), to) {
        (Some(own), _) => {
            words[at].clone_from(&own.to);
            words.splice(at + 1..at + 1, given.iter().cloned());
            if own.recertified {
                // It shows another certificate than what the user's file has it held against.
                words = without(&words, at + 1, HELD_AGAINST);
                words.extend(["verify", "none"].map(str::to_owned));
            }
        }
        (None, Some(backend)) => words = backend.put(&words, at),
        (None, None) => {
            words[at] = reached.to_string();
            if let Some(to) = Move::to(led.moves, &reached) {
                words[at] = to.socket().map_or_else(|| to.to_string(), |path| format!("unix@{path}"));
                changes.set(found, &words);
                return Ok(());
            }
            let Address::Inet { host, .. } = &address else {
                if reached != written {
                    changes.set(found, &words);
                }
                return Ok(());
            };
            let written = || masked(&config.text(found, &found.span));
            let place = || format!("{}: `{}`", config.place(found), written());
            remote::check(host, led.allowed, place).map_err(CopyError::Remote)?;
        }
    }
    changes.set(found, &words);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::haproxy::config::{FileId, Reading};

    const CONFIG: &str = "\
global
    external-check
defaults
    mode http
    option httpchk GET /health
    option redispatch
backend b
    http-check expect string alive
    option external-check
    external-check command /bin/true
    server s 127.0.0.1:1 check inter 1s
backend c
    mode tcp
    option tcp-check
    tcp-check send PING
    option mysql-check user me
    option redis-check
    option smtpchk
    option ssl-hello-chk
    server t 127.0.0.1:2 check
";

    fn redirected(backend: Option<SocketAddr>) -> (String, Vec<String>) {
        let config = Config::of_texts(vec![("/x".into(), CONFIG.into())], Reading::default()).unwrap();
        let mut changes = Changes::new(&config, std::path::Path::new("/"));
        let led = Led { moved: &[], backend, secured: None, moves: &[], allowed: &[] };
        redirect(&config, &mut changes, &led).unwrap();
        let text = config.edited_text(FileId::MAIN, &changes.edits).unwrap();
        let text = text.map_or_else(|| CONFIG.to_owned(), |text| String::from_utf8(text).unwrap());
        (text, changes.rewrites.into_iter().map(|r| r.from).collect())
    }

    #[test]
    fn another_backend_is_checked_by_a_connect_only() {
        let (text, rewrites) = redirected(Some(SocketAddr::from(([127, 0, 0, 1], 9))));
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        let kept = ["global", "external-check", "defaults", "mode http", "option redispatch", "backend b"];
        assert_eq!(&lines[..6], kept);
        assert_eq!(
            lines[6..],
            ["server s 127.0.0.1:9 check inter 1s", "backend c", "mode tcp", "server t 127.0.0.1:9 check"]
        );
        assert_eq!(rewrites.len(), 12, "each is told: {rewrites:?}");
        assert!(rewrites.iter().any(|from| from == "http-check expect string alive"), "{rewrites:?}");
    }

    #[test]
    fn the_users_own_backend_is_checked_as_ever() {
        assert_eq!(redirected(None), (CONFIG.to_owned(), Vec::new()));
    }

    #[test]
    fn a_socket_is_looked_for_below_the_root_that_haproxy_changes_to() {
        let text =
            "global\n  chroot /jail/\nbackend b\n  server s /run/app.sock\n  server t 127.0.0.1:1\n  server u abns@x\n";
        let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
        let mut changes = Changes::new(&config, std::path::Path::new("/"));
        let led = Led { moved: &[], backend: None, secured: None, moves: &[], allowed: &[] };
        redirect(&config, &mut changes, &led).unwrap();
        let text = String::from_utf8(config.edited_text(FileId::MAIN, &changes.edits).unwrap().unwrap()).unwrap();
        assert!(
            text.contains("server s unix@/jail/run/app.sock\n  server t 127.0.0.1:1\n  server u abns@x\n"),
            "{text}"
        );
    }

    #[test]
    fn only_what_is_moved_goes_elsewhere() {
        let at = |text: &str| genkai_place::endpoint::Endpoint::parse(text).unwrap();
        let moves = [
            Move { from: at("127.0.0.1:1"), to: at("127.0.0.1:40000") },
            Move { from: at("unix:/run/a.sock"), to: at("unix:/x/pool.sock") },
        ];
        let led = |text: &str| {
            let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
            let mut changes = Changes::new(&config, std::path::Path::new("/"));
            let led = Led { moved: &[], backend: None, secured: None, moves: &moves, allowed: &[] };
            redirect(&config, &mut changes, &led).unwrap();
            changes.rewrites.into_iter().map(|r| r.to).collect::<Vec<_>>()
        };
        let backend =
            "backend b\n  server s localhost:1 check maxconn 4\n  server t 127.0.0.1:2\n  server u unix@/run/a.sock\n";
        assert_eq!(led(backend), ["server s 127.0.0.1:40000 check maxconn 4", "server u unix@/x/pool.sock"]);
        let header = "backend b\n  server s 127.0.0.1:1 send-proxy-v2\n";
        assert_eq!(led(header), [""; 0], "a copy of what is there does not expect the header");
        let everywhere = "defaults\n  default-server send-proxy\nbackend b\n  server s 127.0.0.1:1\n";
        assert_eq!(led(everywhere), [""; 0]);
    }
}
