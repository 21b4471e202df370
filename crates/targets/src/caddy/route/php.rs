//! Whether `php_fastcgi` passes a request on: it is short for directives that look for files, rewrite the path to one of them, and pass what ends in
//! `.php` on (modules/caddyhttp/reverseproxy/fastcgi/caddyfile.go: parsePHPFastCGI).

use std::path::Path;

use crate::caddy::config::Line;

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Php {
    /// It is passed on.
    Asked,
    /// It is not: another directive has it.
    Not,
    /// What decides is not known here.
    Unsure,
}

/// By the path of a request, and the folder of its files (none: not known).
pub(super) fn asked(line: &Line, path: &str, root: Option<&str>) -> Php {
    let own = |name: &str| line.option(name).and_then(|line| line.arg(0)).map(|word| word.value.as_str());
    // Other files, or other endings, than by default.
    if line.option("try_files").is_some() || line.option("split").is_some() {
        return Php::Unsure;
    }
    // It is looked for as it is decoded.
    if path.contains('%') {
        return Php::Unsure;
    }
    // What is not there is rewritten to another script at most.
    if is_script(path) {
        return Php::Asked;
    }
    let root = own("root").or(root).map(Path::new).filter(|root| root.is_absolute() && root.is_dir());
    let index = own("index").unwrap_or("index.php");
    let Some(root) = root.filter(|_| index != "off" && !path.contains(".php/") && !path.contains("..")) else {
        return Php::Unsure;
    };
    let within = |path: &str| root.join(path.trim_matches('/'));
    let (itself, inside) = (within(path), within(path).join(index));
    // A folder without its slash is redirected to the one with it.
    if !path.ends_with('/') && inside.is_file() {
        return Php::Unsure;
    }
    let found = [itself, inside, root.join(index)].into_iter().find(|file| file.is_file());
    match found {
        Some(file) if is_script(&file.to_string_lossy()) => Php::Asked,
        _ => Php::Not,
    }
}

/// In any case of letters (modules/caddyhttp/matchers.go: MatchPath).
fn is_script(path: &str) -> bool {
    path.to_ascii_lowercase().ends_with(".php")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caddy::config::{Config, Variables};

    /// Asked of Caddy 2.6.2, with such files.
    #[test]
    fn what_is_passed_on_is_decided_by_the_path_and_the_files() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_str().unwrap();
        for file in ["index.php", "a.css", "blog/index.php", "pages/x.html"] {
            std::fs::create_dir_all(dir.path().join(file).parent().unwrap()).unwrap();
            std::fs::write(dir.path().join(file), "").unwrap();
        }
        let of = |inside: &str, path: &str, root: Option<&str>| {
            let text = format!(":80 {{\n\tphp_fastcgi h:1 {{\n{inside}\n\t}}\n}}\n");
            let config = Config::of_texts(vec![("/x".into(), text.into())], Variables::new()).unwrap();
            asked(&config.sites()[0].lines[0], path, root)
        };
        for (path, expected) in [
            ("/", Php::Asked),
            ("/index.php", Php::Asked),
            ("/nosuch.php", Php::Asked),
            ("/any/permalink", Php::Asked),
            ("/pages/", Php::Asked),
            ("/a.css", Php::Not),
            ("/pages/x.html", Php::Not),
            ("/blog/", Php::Asked),
            ("/blog", Php::Unsure),
            ("/index.php/x", Php::Unsure),
        ] {
            assert_eq!(of("", path, Some(root)), expected, "{path}");
        }
        assert_eq!((of("", "/", None), of("", "/x.php", None)), (Php::Unsure, Php::Asked));
        assert_eq!((of("", "/", Some("www")), of("index off", "/", Some(root))), (Php::Unsure, Php::Unsure));
        assert_eq!(of("try_files {path} app.php", "/x.php", Some(root)), Php::Unsure);
        assert_eq!(of(&format!("root {root}"), "/", None), Php::Asked);
        std::fs::remove_file(dir.path().join("index.php")).unwrap();
        assert_eq!((of("", "/", Some(root)), of("", "/any", Some(root))), (Php::Not, Php::Not));
    }
}
