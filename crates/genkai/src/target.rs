//! Addresses that load goes to, and what carries it.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use genkai_model::transport::{Identity, Tls, Transport};
use genkai_place::remote::{self, Remote};

use crate::cli::TlsFlags;
use crate::{Failure, flags};

impl TlsFlags {
    /// The same without anything that only TLS has.
    pub(crate) fn none(&self) -> TlsFlags {
        TlsFlags { cacert: None, cert: None, key: None, insecure: false, no_resume: false }
    }

    /// Whether any is given.
    pub(crate) fn used(&self) -> bool {
        self.cacert.is_some() || self.cert.is_some() || self.insecure || self.no_resume
    }
}

/// The parts of an address that matter here.
#[derive(Debug)]
pub(crate) struct Target {
    /// Whether WebSocket is spoken.
    pub(crate) websocket: bool,
    /// Where connections go; none for a Unix socket.
    pub(crate) addresses: Vec<SocketAddr>,
    /// Host field, as in the address.
    pub(crate) host: String,
    /// Request target.
    pub(crate) path: String,
    way: Way,
}

#[derive(Debug)]
enum Way {
    Plain,
    Tls { name: String },
    Unix(PathBuf),
}

const FORMS: &str =
    "write the whole address, like http://127.0.0.1:8080/, https://, ws://, wss://, or unix:/run/app.sock:/path";

impl Target {
    /// Reads `url`. Hosts that are not this machine must be the one `allowed`.
    ///
    /// # Errors
    /// When it is no address, does not resolve, or must not be loaded.
    pub(crate) fn read(url: &str, allowed: &[String]) -> Result<Target, Failure> {
        if let Some(rest) = url.strip_prefix("unix:") {
            return Target::unix(rest, false);
        }
        if let Some(rest) = url.strip_prefix("ws+unix:") {
            return Target::unix(rest, true);
        }
        let Parts { port, tls, websocket, host, tail } = parts(url)?;
        local_only(url, allowed)?;
        let has_port = host.rsplit(']').next().unwrap_or(host).contains(':');
        let with_port = if has_port { host.to_owned() } else { format!("{host}:{port}") };
        let address = with_port
            .to_socket_addrs()
            .ok()
            .and_then(|mut all| all.next())
            .ok_or_else(|| Failure::environment(format!("{url}: `{host}` does not resolve")))?;
        let name = if has_port { host.rsplit_once(':').map_or(host, |(name, _)| name) } else { host };
        let name = name.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Target {
            websocket,
            addresses: vec![address],
            host: host.to_owned(),
            path: path(tail)?,
            way: if tls { Way::Tls { name } } else { Way::Plain },
        })
    }

    /// Host field and path of `url`, which is not looked up: where it leads does not matter.
    ///
    /// # Errors
    /// When it is no address.
    pub(crate) fn site(url: &str) -> Result<(String, String), Failure> {
        let unix = url.strip_prefix("unix:").or(url.strip_prefix("ws+unix:"));
        if let Some(rest) = unix {
            let target = Target::unix(rest, false)?;
            return Ok((target.host, target.path));
        }
        let Parts { host, tail, .. } = parts(url)?;
        if host.is_empty() {
            return Err(Failure::usage(format!("`{url}`: {FORMS}")));
        }
        Ok((host.to_owned(), path(tail)?))
    }

    /// `SOCKET` or `SOCKET:/PATH`.
    fn unix(rest: &str, websocket: bool) -> Result<Target, Failure> {
        let (socket, tail) = rest.split_once(':').unwrap_or((rest, "/"));
        if socket.is_empty() {
            return Err(Failure::usage(format!("`unix:{rest}`: {FORMS}")));
        }
        Ok(Target {
            websocket,
            addresses: Vec::new(),
            host: "localhost".to_owned(),
            path: path(tail)?,
            way: Way::Unix(PathBuf::from(socket)),
        })
    }

    /// Whether connections have TLS.
    pub(crate) fn is_tls(&self) -> bool {
        matches!(self.way, Way::Tls { .. })
    }

    /// What carries connections.
    ///
    /// # Errors
    /// When TLS flags are given and there is no TLS.
    pub(crate) fn transport(&self, flags: &TlsFlags) -> Result<Transport, Failure> {
        match &self.way {
            Way::Tls { name } => Ok(Transport::Tls(Tls {
                server_name: name.clone(),
                ca: flags.cacert.clone(),
                identity: flags
                    .cert
                    .clone()
                    .zip(flags.key.clone())
                    .map(|(certificate, key)| Identity { certificate, key }),
                insecure: flags.insecure,
                resume: !flags.no_resume,
            })),
            _ if flags.used() => Err(Failure::usage(
                "--cacert, --cert, --key, --insecure, --no-resume: the address must be https:// or wss://",
            )),
            Way::Plain => Ok(Transport::Tcp),
            Way::Unix(path) => Ok(Transport::Unix { path: path.clone() }),
        }
    }
}

/// An address taken apart.
struct Parts<'u> {
    port: u16,
    tls: bool,
    websocket: bool,
    host: &'u str,
    /// Path and query.
    tail: &'u str,
}

fn parts(url: &str) -> Result<Parts<'_>, Failure> {
    let bad = || Failure::usage(format!("`{url}`: {FORMS}"));
    let (scheme, rest) = url.split_once("://").ok_or_else(bad)?;
    let (port, tls, websocket) = match scheme.to_ascii_lowercase().as_str() {
        "http" => (80, false, false),
        "https" => (443, true, false),
        "ws" => (80, false, true),
        "wss" => (443, true, true),
        _ => return Err(bad()),
    };
    let (host, tail) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    nobody(host)?;
    Ok(Parts { port, tls, websocket, host, tail })
}

/// Refuses an authority that says who asks (RFC 3986, 3.2.1), without repeating who that is.
fn nobody(authority: &str) -> Result<(), Failure> {
    match authority.rsplit_once('@') {
        None => Ok(()),
        Some((_, host)) => Err(Failure::usage(format!(
            "a user and a password in an address (before `@{host}`) are not taken; give them as a header: -H \"Authorization: Basic ...\""
        ))),
    }
}

/// Refuses a URL whose host is not this machine, unless the user names that host.
pub(crate) fn local_only(url: &str, allowed: &[String]) -> Result<(), Failure> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or(rest);
    nobody(authority)?;
    let host = match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or(v6),
        None => authority.split(':').next().unwrap_or(authority),
    };
    let named = remote::check(host, allowed, || url.to_owned());
    named.map_err(|found| Failure::usage(Remote { replaceable: false, ..found }.to_string()))
}

/// Path and query of an address, without its fragment.
fn path(tail: &str) -> Result<String, Failure> {
    let tail = tail.split('#').next().unwrap_or_default();
    let path = if tail.starts_with('/') { tail.to_owned() } else { format!("/{tail}") };
    flags::path(&path)
}

#[cfg(test)]
mod tests {
    use genkai_model::exit::Exit;

    use super::*;

    fn read(url: &str) -> Target {
        Target::read(url, &[]).unwrap_or_else(|e| panic!("{url}: {}", e.message))
    }

    #[test]
    fn addresses_say_what_is_spoken_and_over_what() {
        let none = TlsFlags { cacert: None, cert: None, key: None, insecure: false, no_resume: false };
        for (url, websocket, port, host, path) in [
            ("http://127.0.0.1:81/a?b#c", false, 81, "127.0.0.1:81", "/a?b"),
            ("https://127.0.0.1", false, 443, "127.0.0.1", "/"),
            ("ws://localhost?x", true, 80, "localhost", "/?x"),
            ("WSS://[::1]:9/r", true, 9, "[::1]:9", "/r"),
        ] {
            let target = read(url);
            assert_eq!(
                (target.websocket, target.host.as_str(), target.path.as_str()),
                (websocket, host, path),
                "{url}"
            );
            assert_eq!(target.addresses[0].port(), port);
        }
        let Ok(Transport::Tls(tls)) = read("wss://[::1]:9/").transport(&none) else { panic!("it is TLS") };
        assert_eq!((tls.server_name.as_str(), tls.resume, tls.insecure), ("::1", true, false));
        let target = read("ws+unix:/run/a.sock:/chat");
        assert!(target.websocket && target.addresses.is_empty() && target.path == "/chat");
        assert!(matches!(target.transport(&none), Ok(Transport::Unix { path }) if path == *"/run/a.sock"));
        let careless = TlsFlags { insecure: true, ..none };
        assert!(read("http://127.0.0.1/").transport(&careless).is_err());
    }

    #[test]
    fn what_is_no_address_or_not_ours_is_refused() {
        for bad in ["127.0.0.1:80", "ftp://127.0.0.1/", "unix:", "http://", "wss://192.0.2.1/", "ws://192.0.2.1:80/"] {
            assert!(Target::read(bad, &[]).is_err(), "{bad}");
        }
        for with in ["http://user:pw@127.0.0.1:81/", "http://user@localhost", "http://a:b@192.0.2.1/"] {
            let refused = [Target::read(with, &[]).map(|_| ()), local_only(with, &[]), Target::site(with).map(|_| ())];
            for error in refused.map(|one| one.expect_err(with)) {
                let told = &error.message;
                assert!(
                    told.contains("are not taken; give them as a header") && !told.contains("pw"),
                    "{with}: {told}"
                );
                assert_eq!(error.exit, Exit::Usage);
            }
        }
        assert_eq!(read("http://127.0.0.1:81/a@b").path, "/a@b");
        let unknown = Target::read("ws://no-such-host.invalid/", &[]).unwrap_err();
        assert!(unknown.message.contains("does not resolve") && unknown.exit == Exit::Usage, "{}", unknown.message);
        assert!(Target::read("wss://192.0.2.1/", &["192.0.2.1".to_owned()]).is_ok());
    }
}
