//! Explaining a configuration of any product: which it is, and who explains it.

use std::path::Path;

use genkai_model::explain::{Explanation, Remark, RemarkKind};
use genkai_model::limit::Origin;

use crate::local::caps::Machine;
use crate::local::machine;
use crate::product::ProductError;
use crate::{apache, haproxy, nginx, phpfpm, redis};

/// The requests that are looked at: they decide which virtual server and path count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requests {
    /// Host header.
    pub host: String,
    /// Request target.
    pub path: String,
    /// Whether they open WebSocket connections.
    pub websocket: bool,
}

/// Explains the configuration `main` of a product; none: as its text looks. Reads files, starts nothing.
///
/// # Errors
/// The product is unknown, or a file cannot be read or understood.
pub fn explain(product: Option<&str>, main: &Path, requests: &Requests) -> Result<Explanation, ProductError> {
    let environment = machine::environment(Default::default());
    let machine = Machine::of(&environment);
    let (host, path) = (requests.host.clone(), requests.path.clone());
    match product.unwrap_or_else(|| guess(main)) {
        "nginx" => {
            let scope = nginx::settings::Scope { host: Some(host), path };
            Ok(nginx::explain::explain(main, &scope, &machine)?)
        }
        "apache" => {
            let scope = apache::route::Scope { host, path };
            Ok(apache::explain::explain(main, &scope, requests.websocket, &machine)?)
        }
        "haproxy" => {
            Ok(haproxy::explain::explain(main, &haproxy::route::Scope { host, path }, &machine, environment.memory)?)
        }
        "php-fpm" => Ok(phpfpm::explain(main, &machine, environment.memory)?),
        "redis" => Ok(redis::explain::explain(main, &machine, environment.memory)?),
        other => Err(ProductError::Unknown { name: other.to_owned() }),
    }
}

/// What is to be said of a setting.
pub(crate) fn remark(
    kind: RemarkKind,
    place: Option<String>,
    setting: &str,
    text: String,
    hint: Option<String>,
) -> Remark {
    Remark { kind, place, setting: setting.to_owned(), text, hint }
}

/// `path:line` of a value; none where it is written nowhere.
pub(crate) fn place(origin: &Origin) -> Option<String> {
    match origin {
        Origin::File { path, line } => Some(format!("{}:{line}", path.display())),
        _ => None,
    }
}

/// Whose configuration a file looks like. Sections of HAProxy stand alone at a line's beginning; nginx's directives end with `;`
/// or braces, httpd's with the line. A file that cannot be read is taken for nginx's, whose reader then says why.
pub fn guess(main: &Path) -> &'static str {
    if main.is_dir() {
        return "haproxy";
    }
    let text = std::fs::read(main).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let plain = |line: &str| line.split(" #").next().unwrap_or(line).trim_end().to_owned();
    let lines = || text.lines().filter(|l| !l.trim().is_empty() && !l.trim().starts_with('#')).map(plain);
    let section = |line: &String| {
        let mut words = line.split_ascii_whitespace();
        let heads = ["global", "defaults", "frontend", "backend", "listen", "userlist", "peers", "resolvers"];
        words.next().is_some_and(|w| heads.contains(&w)) && words.count() <= 3 && !line.ends_with([';', '{'])
    };
    if lines().any(|line| section(&line)) {
        return "haproxy";
    }
    // Sections in brackets are php-fpm's. Redis's names are in lower case, and some are in every file of it.
    if lines().any(|line| line.starts_with('[') && line.ends_with(']')) {
        return "php-fpm";
    }
    let names = [
        "maxclients",
        "tcp-backlog",
        "databases",
        "dbfilename",
        "appendonly",
        "maxmemory",
        "requirepass",
        "protected-mode",
    ];
    if lines()
        .any(|line| names.contains(&line.split_ascii_whitespace().next().unwrap_or_default()) && !line.ends_with(';'))
    {
        return "redis";
    }
    let ended = lines().filter(|line| line.ends_with([';', '{', '}'])).count();
    if lines().count() > 2 * ended { "apache" } else { "nginx" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_told_by_how_their_lines_end() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x.conf");
        let looks = |text: &str| {
            std::fs::write(&file, text).unwrap();
            guess(&file)
        };
        assert_eq!(
            looks("# c\nuser www-data; # who\nevents {\n worker_connections 1;\n}\nlog_format a\n 'b';\n"),
            "nginx"
        );
        assert_eq!(looks("Listen 80\n<VirtualHost *:80>\n RewriteRule ^/{a} /b;\n</VirtualHost>\n"), "apache");
        assert_eq!(looks("# c\nglobal\n  daemon\nfrontend f\n  bind :80\n"), "haproxy");
        assert_eq!(looks("; c\n[www]\npm = static\n"), "php-fpm");
        assert_eq!(looks("# c\nport 6379\nmaxclients 10\n"), "redis");
        assert_eq!(looks("global\n\nlisten a # b\n  bind :80\n"), "haproxy");
        assert_eq!(guess(Path::new("/nonexistent")), "nginx");
    }
}
