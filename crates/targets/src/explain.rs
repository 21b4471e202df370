//! Explaining a configuration of any product: which it is, and who explains it.

use std::path::Path;

use genkai_model::explain::{Explanation, Remark, RemarkKind};
use genkai_model::limit::Origin;

use crate::product::ProductError;
use crate::{apache, haproxy, nginx, phpfpm, redis, squid, trafficserver, varnish};
use genkai_place::caps::Machine;
use genkai_place::machine;

/// Products whose configurations are explained.
pub const EXPLAINED: [&str; 7] = ["nginx", "apache", "haproxy", "squid", "varnish", "php-fpm", "redis"];

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
/// The product is none of those that are explained, or a file cannot be read or understood.
pub fn explain(product: Option<&str>, main: &Path, requests: &Requests) -> Result<Explanation, ProductError> {
    let environment = machine::environment(Default::default());
    let machine = Machine::of(&environment);
    let (host, path) = (requests.host.clone(), requests.path.clone());
    if product.is_none() && main.is_dir() && guess(main) == "haproxy" && !has_cfg(main) {
        return Err(ProductError::Folder { path: main.to_owned() });
    }
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
            let scope = haproxy::route::Scope { host, path };
            Ok(haproxy::explain::explain(main, &scope, requests.websocket, &machine, environment.memory)?)
        }
        "squid" => Ok(squid::explain::explain(main, &machine)?),
        "varnish" => Ok(varnish::explain::explain(main, &machine)?),
        "php-fpm" => Ok(phpfpm::explain(main, &machine, environment.memory)?),
        "redis" => Ok(redis::explain::explain(main, &machine, environment.memory)?),
        other => Err(ProductError::NotExplained { name: other.to_owned() }),
    }
}

/// Whether a folder has files that HAProxy reads of one.
fn has_cfg(folder: &Path) -> bool {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.into_iter().any(|file| file.path().extension().is_some_and(|extension| extension == "cfg"))
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
        return if trafficserver::recipe::is(main) { "trafficserver" } else { "haproxy" };
    }
    match main.file_name().and_then(|name| name.to_str()) {
        Some(name) if name.ends_with(".vcl") => return "varnish",
        Some("records.config") => return "trafficserver",
        _ => {}
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
    let first = |line: &str| line.split_ascii_whitespace().next().unwrap_or_default().to_owned();
    // VCL says its version before anything else; Squid has a port and who may use it.
    if lines().next().is_some_and(|line| first(&line) == "vcl" && line.contains(';')) {
        return "varnish";
    }
    let accelerator = ["http_port", "http_access", "cache_peer", "cache_mem", "cache_dir"];
    if lines().any(|line| accelerator.contains(&first(&line).as_str()) && !line.ends_with([';', '{'])) {
        return "squid";
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
    if lines().any(|line| names.contains(&first(&line).as_str()) && !line.ends_with(';')) {
        return "redis";
    }
    let ended = lines().filter(|line| line.ends_with([';', '{', '}'])).count();
    if lines().count() > 2 * ended { "apache" } else { "nginx" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_explained_is_told_with_what_is() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("records.config"), "").unwrap();
        let requests = Requests { host: "localhost".to_owned(), path: "/".to_owned(), websocket: false };
        let said = explain(None, dir.path(), &requests).unwrap_err();
        let expected = "genkai does not explain configurations of `trafficserver`; it explains those of: nginx, apache, haproxy, \
                        squid, varnish, php-fpm, redis";
        assert_eq!((said.to_string().as_str(), said.is_usage()), (expected, true));
        for product in EXPLAINED {
            let known = explain(Some(product), &dir.path().join("gone.conf"), &requests);
            assert!(!matches!(known, Err(ProductError::NotExplained { .. })), "{product}");
        }
    }

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
        assert_eq!(looks("# c\nhttp_port 80 accel\nhttp_access allow all\n"), "squid");
        assert_eq!(looks("# c\nvcl 4.1;\nbackend a none;\n"), "varnish");
        assert_eq!(looks("global\n\nlisten a # b\n  bind :80\n"), "haproxy");
        assert_eq!((guess(Path::new("/nonexistent")), guess(Path::new("/x/a.vcl"))), ("nginx", "varnish"));
        std::fs::write(dir.path().join("records.config"), "").unwrap();
        assert_eq!(guess(dir.path()), "trafficserver");
    }
}
