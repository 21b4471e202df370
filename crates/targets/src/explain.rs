//! Explaining a configuration of any product: which it is, and who explains it.

use std::path::Path;

use genkai_model::event::Environment;
use genkai_model::explain::{Explanation, Remark, RemarkKind};
use genkai_model::limit::Origin;

use crate::local::caps::Machine;
use crate::local::machine;
use crate::product::ProductError;
use crate::{apache, nginx};

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
    let machine = Machine::of(&environment());
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

fn environment() -> Environment {
    machine::environment(Default::default())
}

/// Whose configuration a file looks like: nginx's directives end with `;` or braces, httpd's with the line. A file that cannot be
/// read is taken for nginx's, whose reader then says why.
pub fn guess(main: &Path) -> &'static str {
    let text = std::fs::read(main).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    let (mut nginx, mut apache) = (0_usize, 0_usize);
    for line in lines {
        match line.split(" #").next().unwrap_or(line).trim_end().ends_with([';', '{', '}']) {
            true => nginx += 1,
            false => apache += 1,
        }
    }
    if apache > nginx { "apache" } else { "nginx" }
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
        assert_eq!(guess(Path::new("/nonexistent")), "nginx");
    }
}
