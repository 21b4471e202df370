//! Which of several listeners of the user's files the load goes to: what holds of one need not hold of another.

use std::net::SocketAddr;

use genkai_model::event::Rewrite;
use genkai_model::load::host_sent;
use genkai_targets::files::masked;

/// Identity of the note.
pub(super) const NOTE: &str = "listener";

/// Directives that make a server listen.
const DIRECTIVES: [&str; 4] = ["listen", "bind", "http_port", "https_port"];

/// Those of servers in whose files the port of a Host header says which listener is meant.
const BY_PORT: [&str; 2] = ["listen", "bind"];

/// What is to be said where a copy that differs so is asked at this address; none of one listener, or where it is none of the files.
pub(super) fn told(rewrites: &[Rewrite], address: SocketAddr) -> Option<String> {
    let all: Vec<&Rewrite> = rewrites.iter().filter(|one| is_listener(one)).collect();
    let asked = |one: &&&Rewrite| ports(&one.to).contains(&address.port());
    // A copy that is made anew for each start has another port then: the one that it has is asked.
    let mut kept = all.iter().filter(|one| !one.to.is_empty());
    let lone = kept.next().filter(|one| kept.next().is_none() && word(&one.to).ends_with("_port"));
    let asked = |one: &&&Rewrite| asked(one) || lone.is_some_and(|lone| lone == *one);
    let at: Vec<String> = all.iter().filter(asked).map(|one| written(one)).collect();
    let others: Vec<String> = all.iter().filter(|one| !asked(one)).map(|one| written(one)).collect();
    if at.is_empty() || others.is_empty() {
        return None;
    }
    let chosen = all.iter().all(|one| BY_PORT.contains(&&*word(&one.to)) || one.to.is_empty());
    let how = if chosen {
        "; a Host header with a port (`-H 'Host: NAME:PORT'`) asks one on it, the first that serves the name"
    } else {
        ""
    };
    Some(format!(
        "the load goes to {}, and to no other listener of the configuration: {}{how}",
        at.join(", "),
        others.join(", ")
    ))
}

/// What is to be said where the Host header that was given is not sent as it is.
pub(super) fn sent(host: &str, tls: bool) -> Option<String> {
    let sent = Some(host_sent(host, tls)).filter(|sent| *sent != host)?;
    let port = if tls { 443 } else { 80 };
    Some(format!(
        "the Host header is sent as `{sent}`, as clients of port {port} send it: the port of `{host}` says only which listener is asked"
    ))
}

/// A listener with its place.
fn written(rewrite: &Rewrite) -> String {
    match masked(&rewrite.from) {
        text if text.is_empty() => rewrite.place.clone(),
        text => format!("`{}` ({})", text.trim_end_matches([';', '{', ' ']), rewrite.place),
    }
}

/// Whether a difference is that of a listener. One that became one with another is none; Squid's copy leaves out those that are not asked, and
/// Caddy's sites are their addresses.
pub(super) fn is_listener(rewrite: &Rewrite) -> bool {
    let (from, to) = (word(&rewrite.from), word(&rewrite.to));
    if to.is_empty() {
        return from.ends_with("_port") && DIRECTIVES.contains(&&*from);
    }
    // A pool of php-fpm's listens for the server, not for clients.
    let pool = rewrite.to.split_whitespace().nth(1) == Some("=");
    DIRECTIVES.contains(&&*to) && !pool || to.starts_with("http://") || to.starts_with("https://")
}

/// The first word of a line.
fn word(text: &str) -> String {
    text.split_whitespace().next().unwrap_or_default().to_ascii_lowercase()
}

/// The ports in the words of a listener.
pub(super) fn ports(text: &str) -> Vec<u16> {
    let port = |word: &str| {
        let place = word.split_once("://").map_or(word, |(_, rest)| rest).split('/').next()?;
        place.rsplit_once(':')?.1.trim_end_matches(';').parse().ok()
    };
    text.split([' ', ',', '\t']).filter_map(port).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(rewrites: &[(&str, &str)]) -> Option<String> {
        let one = |(line, (from, to)): (usize, &(&str, &str))| Rewrite {
            place: format!("server.conf:{}", line + 1),
            from: (*from).to_owned(),
            to: (*to).to_owned(),
        };
        let all: Vec<Rewrite> = rewrites.iter().enumerate().map(one).collect();
        told(&all, ([127, 0, 0, 1], 4001).into())
    }

    #[test]
    fn the_listener_that_is_asked_is_told_where_there_are_others() {
        let of = |from: &str, line: u32| {
            format!("the load goes to `{from}` (server.conf:{line}), and to no other listener of the configuration: ")
        };
        let first =
            said(&[("bind :80", "bind 127.0.0.1:4001"), ("bind :81,:82", "bind 127.0.0.1:4002,127.0.0.1:4003")]);
        let how = "; a Host header with a port (`-H 'Host: NAME:PORT'`) asks one on it, the first that serves the name";
        assert_eq!(first.unwrap(), of("bind :80", 1) + "`bind :81,:82` (server.conf:2)" + how);
        let second = said(&[("http_port 3128", ""), ("http_port 80 accel", "http_port 127.0.0.1:4001 accel")]);
        assert_eq!(second.unwrap(), of("http_port 80 accel", 2) + "`http_port 3128` (server.conf:1)");
        let anew = said(&[("http_port 3128", ""), ("http_port 80 accel", "http_port 127.0.0.1:4009 accel")]);
        assert_eq!(anew.unwrap(), of("http_port 80 accel", 2) + "`http_port 3128` (server.conf:1)");
        let caddy = said(&[("a.example {", "https://a.example:4001 {"), ("http://:80", "http://:4002")]);
        assert_eq!(caddy.unwrap(), of("a.example", 1) + "`http://:80` (server.conf:2)");
    }

    #[test]
    fn a_port_that_clients_do_not_send_is_told() {
        let said = sent("a.example:80", false).unwrap();
        assert!(said.starts_with("the Host header is sent as `a.example`, as clients of port 80 send it"), "{said}");
        for (host, tls) in [("a.example:80", true), ("a.example:443", false), ("a.example:8080", false), ("a", false)] {
            assert_eq!(sent(host, tls), None, "{host}");
        }
        assert!(sent("[::1]:443", true).is_some_and(|said| said.contains("`[::1]`,")));
    }

    #[test]
    fn of_one_listener_nothing_is_told() {
        assert_eq!(said(&[("listen 80", "listen 127.0.0.1:4001")]), None);
        assert_eq!(said(&[("listen 80", "listen 127.0.0.1:4001"), ("listen [::]:80", "")]), None, "the same one");
        assert_eq!(
            said(&[
                ("listen 80", "listen 127.0.0.1:4001"),
                ("proxy_pass http://a:1", "proxy_pass http://127.0.0.1:4002")
            ]),
            None
        );
        let pool = ("listen = /run/php.sock", "listen = /run/x/php.sock");
        assert_eq!(said(&[("listen 80", "listen 127.0.0.1:4001"), pool]), None, "no client comes there");
        assert_eq!(
            said(&[("listen 80", "listen 127.0.0.1:4005"), ("listen 81", "listen 127.0.0.1:4006")]),
            None,
            "none of them"
        );
    }
}
