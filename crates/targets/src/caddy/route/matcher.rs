//! Matchers, as far as a request's host, path and kind decide them (modules/caddyhttp/matchers.go).

use crate::caddy::config::{Line, Word};
use crate::files::Requests;

use super::host_and_port;

/// Whether a matcher lets a request through; none where its text alone does not tell.
pub(super) type Lets = Option<bool>;

/// The matcher of a directive: its first argument, where that is one.
pub(in crate::caddy) fn matcher(line: &Line) -> Option<&str> {
    let first = line.arg(0)?.value.as_str();
    (first == "*" || first.starts_with(['/', '@'])).then_some(first)
}

/// Whether these words of a matcher (`path /a /b`, `host h`) let a request for `path` through.
fn one(words: &[Word], inside: &[Line], requests: &Requests, path: &str) -> Lets {
    let mut args = words.iter().skip(1).map(|word| word.value.as_str());
    match words.first()?.value.as_str() {
        "path" => args.map(|pattern| is_path(pattern, path)).fold(Some(false), or),
        "host" => Some(args.any(|host| is_host(host, &requests.host))),
        // Load has any method; a WebSocket begins with GET.
        "method" => requests.websocket.then(|| args.any(|method| method.eq_ignore_ascii_case("GET"))),
        "header" => header(&args.collect::<Vec<_>>(), requests),
        "not" if !inside.is_empty() => all(inside, requests, path).map(|lets| !lets),
        "not" => one(words.get(1..)?, &[], requests, path).map(|lets| !lets),
        _ => None,
    }
}

/// Whether the lines of a matcher's block do: all kinds must, and of one kind of `path`, `host` and `method` one line.
pub(super) fn all(lines: &[Line], requests: &Requests, path: &str) -> Lets {
    let mut kinds: Vec<(&str, Lets)> = Vec::new();
    for line in lines {
        let lets = one(&line.words, line.inside(), requests, path);
        match kinds.iter_mut().find(|(name, _)| *name == line.name() && ["path", "host", "method"].contains(name)) {
            Some((_, before)) => *before = or(*before, lets),
            None => kinds.push((line.name(), lets)),
        }
    }
    kinds.into_iter().map(|(_, lets)| lets).reduce(and).unwrap_or(Some(true))
}

/// Whether a named matcher does, which `line` defines.
pub(super) fn named(line: &Line, requests: &Requests, path: &str) -> Lets {
    match line.args() {
        [] => all(line.inside(), requests, path),
        words => one(words, line.inside(), requests, path),
    }
}

/// The paths that a named matcher has, all told. Those within `not` are none of its own.
pub(super) fn paths(line: &Line) -> Vec<&str> {
    let inside = line.inside().iter().filter(|_| line.args().is_empty()).map(|line| line.words.as_slice());
    let own =
        [line.args()].into_iter().chain(inside).filter(|words| words.first().is_some_and(|word| word.value == "path"));
    own.flat_map(|words| &words[1..]).map(|word| word.value.as_str()).collect()
}

fn or(one: Lets, other: Lets) -> Lets {
    match (one, other) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

fn and(one: Lets, other: Lets) -> Lets {
    or(one.map(|lets| !lets), other.map(|lets| !lets)).map(|lets| !lets)
}

/// Headers of which a plain request has none, and which requests for WebSockets have.
fn header(args: &[&str], requests: &Requests) -> Lets {
    let [name, value @ ..] = args else { return None };
    match (name.to_ascii_lowercase().as_str(), value) {
        ("upgrade", [value]) => Some(requests.websocket && value.trim_matches('*').eq_ignore_ascii_case("websocket")),
        ("connection", [value]) if value.to_ascii_lowercase().contains("upgrade") => Some(requests.websocket),
        _ => None,
    }
}

/// `MatchHost`: labels, of which `*` stands for one.
pub(super) fn is_host(pattern: &str, host: &str) -> bool {
    let host = host_and_port(host).0;
    let mut labels = host.split('.');
    let mut each =
        pattern.split('.').map(|label| labels.next().is_some_and(|l| label == "*" || l.eq_ignore_ascii_case(label)));
    each.all(|same| same) && labels.next().is_none()
}

/// `MatchPath`: whether `path` is meant by a pattern; none where that has placeholders or escapes.
pub(super) fn is_path(pattern: &str, path: &str) -> Lets {
    if pattern.contains('{') || pattern.contains('%') {
        return None;
    }
    let path = path.split('?').next().unwrap_or(path).to_ascii_lowercase();
    let path = path.trim_end_matches(['.', ' ']);
    let pattern = pattern.to_ascii_lowercase();
    Some(match (pattern.matches('*').count(), pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (2, Some(rest), Some(_)) if rest.ends_with('*') => path.contains(rest.trim_end_matches('*')),
        (1, Some(end), _) => path.ends_with(end),
        (1, _, Some(begin)) => path.starts_with(begin),
        _ => glob(pattern.as_bytes(), path.as_bytes()),
    })
}

/// Go's `path.Match`: `*` and `?` stand for anything but a slash. (Classes in brackets are taken as they are written.)
fn glob(pattern: &[u8], path: &[u8]) -> bool {
    match (pattern, path) {
        ([], []) => true,
        ([b'*', rest @ ..], _) if glob(rest, path) => true,
        ([b'*', ..], [first, tail @ ..]) => *first != b'/' && glob(pattern, tail),
        ([b'?', rest @ ..], [first, tail @ ..]) => *first != b'/' && glob(rest, tail),
        ([one, rest @ ..], [first, tail @ ..]) => one == first && glob(rest, tail),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_matched_as_caddy_does() {
        for (pattern, path, lets) in [
            ("/a", "/A", true),
            ("/a", "/a/b", false),
            ("/a/*", "/a/", true),
            ("/a/*", "/a", false),
            ("/a*", "/ab?x", true),
            ("*.php", "/x/y.php", true),
            ("*adm*", "/x/admin/y", true),
            ("/*/b", "/x/b", true),
            ("/*/b", "/x/y/b", false),
            ("/a/*/c*", "/a/x/cd", true),
            ("*", "/x", true),
        ] {
            assert_eq!(is_path(pattern, path), Some(lets), "{pattern} {path}");
        }
        assert_eq!(is_path("/{http.vars.x}", "/x"), None);
        assert!(is_host("*.a.example", "x.A.example:80") && !is_host("*.a.example", "y.x.a.example"));
    }
}
