//! Parts of URLs that requests are passed to.

use std::net::SocketAddr;

/// The port that a scheme has anyway (mod_proxy's `ap_proxy_port_of_scheme`, apr_uri_port_of_scheme); none: of this one no port is known.
pub(in crate::apache) fn usual_port(scheme: &str) -> Option<u16> {
    Some(match scheme.to_ascii_lowercase().as_str() {
        "http" | "ws" => 80,
        "https" | "wss" => 443,
        "ajp" => 8009,
        "fcgi" => 8000,
        "scgi" => 4000,
        _ => return None,
    })
}

/// An authority without the port that its scheme has anyway.
pub(in crate::apache) fn without_usual<'a>(scheme: &str, authority: &'a str) -> &'a str {
    let port = usual_port(scheme).map(|port| format!(":{port}"));
    port.and_then(|port| authority.strip_suffix(port.as_str())).unwrap_or(authority)
}

/// Scheme and authority of a URL.
pub fn authority(url: &str) -> (&str, &str) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    (scheme, rest.split(['/', '?']).next().unwrap_or(rest))
}

/// An authority without the user and password that a URL may have.
pub(in crate::apache) fn host(authority: &str) -> &str {
    authority.rsplit('@').next().unwrap_or(authority)
}

/// The address of a URL; without a port that of its scheme.
pub(in crate::apache) fn socket(url: &str) -> Option<SocketAddr> {
    let (scheme, name) = authority(url);
    let named = host(name).replace("localhost", "127.0.0.1");
    let bare = || Some(SocketAddr::new(named.trim_matches(['[', ']']).parse().ok()?, usual_port(scheme)?));
    let web = matches!(scheme, "http" | "https" | "ws" | "wss");
    named.parse().ok().or_else(|| bare().filter(|_| web))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_has_a_port_of_its_own() {
        let of = |url: &str| socket(url).map(|address| address.port());
        assert_eq!(
            (of("http://127.0.0.1/x"), of("wss://[::1]"), of("https://127.0.0.1:8/")),
            (Some(80), Some(443), Some(8))
        );
        assert_eq!((of("fcgi://127.0.0.1:9"), of("fcgi://127.0.0.1"), of("http://b")), (Some(9), None, None));
        assert_eq!(
            (without_usual("AJP", "a:8009"), without_usual("ajp", "a:80"), without_usual("h2c", "a:80")),
            ("a", "a:80", "a:80")
        );
    }
}
