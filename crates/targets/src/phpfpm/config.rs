//! php-fpm's configuration: INI sections (`[global]`, one a pool) of `key = value`, `include = PATTERN`
//! (sapi/fpm/fpm/fpm_conf.c; the scanner is PHP's own, Zend/zend_ini_scanner.l).

use std::fmt;
use std::path::{Component, Path, PathBuf};

use genkai_place::bound::is_same;
use genkai_place::endpoint::Endpoint;

use crate::files::entry::{Entries, Entry, Line, Syntax};
use crate::files::{ConfigError, read};

/// The syntax.
pub(super) struct Ini;

impl Syntax for Ini {
    fn line(&self, line: &[u8]) -> Result<Line, &'static str> {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.is_empty() || text.starts_with(';') {
            return Ok(Line::Nothing);
        }
        if let Some(rest) = text.strip_prefix('[') {
            let (name, _) = rest.split_once(']').ok_or("a section is never closed; add the ]")?;
            return Ok(Line::Section(name.trim().to_owned()));
        }
        // Without `=` it is no key, whatever its words are.
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        Ok(Line::Entry(key(name.trim()), vec![value_of(value)?]))
    }

    fn comment(&self, line: &str) -> usize {
        let mut quote = None;
        let begins = |(at, c): (usize, char)| match (c, quote) {
            ('"' | '\'', None) => {
                quote = Some(c);
                None
            }
            (c, Some(open)) => {
                quote = (c != open).then_some(open);
                None
            }
            (';', None) => Some(at),
            _ => None,
        };
        line.char_indices().find_map(begins).unwrap_or(line.len())
    }

    /// The pool that is being read is one variable for all files (fpm_conf.c: current_wp); before any it is the master's.
    fn flowing(&self) -> Option<&'static str> {
        Some("global")
    }

    /// A pattern that names nothing is warned of, a file too.
    fn may_miss(&self) -> bool {
        true
    }

    fn include(&self, entry: &Entry) -> Option<PathBuf> {
        (entry.name == "include").then(|| PathBuf::from(entry.value()))
    }
}

/// A key, which has no case but for what stands in brackets (fpm_conf.c: strcasecmp).
fn key(name: &str) -> String {
    let (name, rest) = name.split_at(name.find('[').unwrap_or(name.len()));
    name.to_lowercase() + rest
}

/// A value without its quotes and the comment behind it.
fn value_of(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    for quote in ['"', '\''] {
        if let Some(rest) = text.strip_prefix(quote) {
            let (value, _) = rest.split_once(quote).ok_or("a quote is never closed; close it on the same line")?;
            return Ok(value.to_owned());
        }
    }
    Ok(text.split(';').next().unwrap_or_default().trim().to_owned())
}

/// Reads `main` and what it includes. A file that is a pool's alone will do.
///
/// # Errors
/// A file that is missing, unreadable, too large, not php-fpm's syntax, or that includes itself.
pub fn read(main: &Path) -> Result<Entries, ConfigError> {
    Entries::read(main, &Ini)
}

/// What is included and is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Missing {
    /// As it is written.
    pub(super) pattern: String,
    /// `path:line`.
    pub(super) place: String,
    /// Whether php-fpm does not start with it: a pattern of files in a folder that is not there, which glob(3) cannot open; of what names no file
    /// otherwise it warns, and goes on without (fpm_conf.c: fpm_conf_ini_parser_include; asked of `php-fpm -t`, 8.2).
    pub(super) is_refused: bool,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "include = {} ({})", self.pattern, self.place)
    }
}

/// What is included and is not there.
pub(super) fn missing(config: &Entries) -> Vec<Missing> {
    let is_pattern = |part: &Component<'_>| part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
    let mut all = Vec::new();
    for file in config.files() {
        let folder = file.path.parent().unwrap_or(Path::new("/"));
        for span in &file.tree {
            let Ok(Line::Entry(name, values)) = Ini.line(&file.text[span.clone()]) else { continue };
            let pattern = folder.join(values.join(" "));
            if name == "include" && read::glob(&pattern).is_none_or(|found| found.is_empty()) {
                // The folder in which glob(3) looks first.
                let literal: PathBuf = pattern.components().take_while(|one| !is_pattern(one)).collect();
                let is_refused = literal != pattern && !literal.exists();
                all.push(Missing { pattern: values.join(" "), place: file.place(span.start), is_refused });
            }
        }
    }
    all
}

/// The pools, in the order in which they are first met.
pub fn pools(config: &Entries) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for entry in config.all() {
        let name = entry.section.as_str();
        if name != "global" && !name.is_empty() && !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// The pool that listens at `endpoint`.
pub(super) fn pool_at(config: &Entries, endpoint: &Endpoint) -> Option<String> {
    let names = pools(config);
    names.iter().find(|name| listens(config, name, endpoint)).map(|name| (*name).to_owned())
}

/// Whether the pool's `listen` is this place: `/path`, `port`, `address:port`; `$pool` stands for its name (fpm_conf.c).
fn listens(config: &Entries, name: &str, endpoint: &Endpoint) -> bool {
    let Some(entry) = config.value_in(name, "listen") else { return false };
    let listen = entry.value().replace("$pool", name);
    match endpoint {
        Endpoint::Unix(path) => is_same(Path::new(&listen), path),
        Endpoint::Tcp(address) => {
            let port = |text: &str| text.parse() == Ok(address.port());
            match listen.rsplit_once(':') {
                None => port(&listen),
                Some((host, number)) => {
                    let host = host.trim_matches(['[', ']']);
                    let every = ["", "*", "0.0.0.0", "::"].contains(&host);
                    port(number) && (every || host.parse() == Ok(address.ip()) || host == "localhost")
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_quotes_comments_and_includes() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("php-fpm.conf");
        std::fs::create_dir(dir.path().join("pool.d")).unwrap();
        std::fs::write(&main, "; c\n[global]\nPid = /run/x.pid ; where\ninclude=pool.d/*.conf\ninclude = gone.conf\n")
            .unwrap();
        std::fs::write(
            dir.path().join("pool.d/www.conf"),
            "[www]\npm=static\nenv[A] = \"x ; y\"\npm.max_children = 7\n",
        )
        .unwrap();
        let config = super::read(&main).unwrap();
        assert_eq!(pools(&config), ["www"]);
        let told: Vec<String> = missing(&config).iter().map(Missing::to_string).collect();
        assert_eq!(told, [format!("include = gone.conf ({}:5)", main.display())]);
        let value = |section: &str, key: &str| config.value_in(section, key).map(Entry::value);
        assert_eq!(value("global", "pid").as_deref(), Some("/run/x.pid"));
        assert_eq!(value("www", "env[A]").as_deref(), Some("x ; y"));
        assert_eq!(config.value_in("www", "pm.max_children").map(|e| e.line), Some(4));
        std::fs::write(&main, "include = php-fpm.conf\n").unwrap();
        assert!(super::read(&main).unwrap_err().to_string().contains("without end"));
    }

    #[test]
    fn what_is_included_goes_on_in_the_pool_that_includes_it_and_a_pool_goes_on_behind_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("php-fpm.conf");
        std::fs::write(dir.path().join("more.conf"), "pm.max_children = 9\n[b]\npm.max_children = 2\n").unwrap();
        let text = "log_limit = 2000\n[a]\nlisten = 9001\npm.max_children = 4\ninclude = more.conf\nlisten = 9002\n";
        std::fs::write(&main, text).unwrap();
        let config = super::read(&main).unwrap();
        let value = |section: &str, key: &str| config.value_in(section, key).map(Entry::value);
        // As `php-fpm -tt` tells them (8.2).
        let asked = [("global", "log_limit", "2000"), ("a", "pm.max_children", "9"), ("a", "listen", "9001")];
        for (section, key, expected) in
            asked.into_iter().chain([("b", "pm.max_children", "2"), ("b", "listen", "9002")])
        {
            assert_eq!(value(section, key).as_deref(), Some(expected), "{section} {key}");
        }
        assert_eq!(pools(&config), ["a", "b"]);
    }

    #[test]
    fn the_pool_of_a_socket_is_found_by_every_path_that_leads_there() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        std::fs::create_dir(root.join("run")).unwrap();
        std::os::unix::fs::symlink(root.join("run"), root.join("var-run")).unwrap();
        std::os::unix::fs::symlink(root.join("run/8.2.sock"), root.join("run/php.sock")).unwrap();
        std::fs::write(root.join("run/8.2.sock"), "").unwrap();
        for (listen, asked) in [
            ("run/8.2.sock", "var-run/8.2.sock"),
            ("run/8.2.sock", "run/php.sock"),
            ("var-run/8.2.sock", "run/8.2.sock"),
        ] {
            let text = format!("[other]\nlisten = {0}/run/other.sock\n[www]\nlisten = {0}/{listen}\n", root.display());
            let config = Entries::of_text(Path::new("/p.conf"), text.into_bytes(), &Ini).unwrap();
            assert_eq!(
                pool_at(&config, &Endpoint::Unix(root.join(asked))).as_deref(),
                Some("www"),
                "{listen} by {asked}"
            );
            assert_eq!(pool_at(&config, &Endpoint::Unix(root.join("run/gone.sock"))), None);
        }
    }

    #[test]
    fn a_pattern_in_a_folder_that_is_not_there_is_refused_and_what_names_nothing_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().display();
        let main = dir.path().join("php-fpm.conf");
        // As `php-fpm -t` answers (8.2): "Unable to globalize", else "Nothing matches the include pattern".
        let asked = [("gone/*.conf", true), ("gone/x.conf", false), ("*.gone", false), ("gone/*/x.conf", true)];
        for (pattern, is_refused) in asked {
            std::fs::write(&main, format!("include = {root}/{pattern}\n[www]\npm = static\n")).unwrap();
            let found = missing(&read(&main).unwrap());
            assert_eq!(found.iter().map(|one| one.is_refused).collect::<Vec<_>>(), [is_refused], "{pattern}");
        }
    }
}
