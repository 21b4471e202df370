//! The file that httpd takes a path for (server/core.c: core_translate; server/request.c: ap_directory_walk; mod_alias). Measured on httpd 2.4.71
//! (`crates/targets/tests/asked/apache_ways.rs`).

use std::path::Path;

use genkai_model::load::host_sent;

use super::config::{Config, Found};
use super::route::folder::{At, Rewritten, rewritten};
use super::route::{Route, is_in, rewrite, under};
use crate::files::Requests;

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    /// A file, and more was asked for than its name.
    Beyond,
    /// Nothing does. What comes after the first name that is not there is left over.
    Missing,
    /// A folder that is asked for with its slash.
    Folder,
    /// A folder without its slash: the client is led there (301).
    Led,
    /// The folder of the site is not on this machine.
    Untold,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Located {
    /// Its whole path, without what is left over of the one that was asked for (PATH_INFO).
    pub(super) file: String,
    pub(super) kind: Kind,
    /// The same with what is left over.
    pub(super) whole: String,
    /// Whether the name of the file is known, where the folder is not on this machine.
    is_named: bool,
}

impl Located {
    /// The name by which sections choose files; of a folder it is empty. None: not known.
    pub(super) fn name(&self) -> Option<&str> {
        self.file.rsplit('/').next().filter(|_| self.is_named)
    }
}

/// The file of these requests; none: a rule, or something else that is not followed, may make another one of their path.
pub(super) fn located(config: &Config, route: &Route<'_>, requests: &Requests) -> Option<Located> {
    let first = placed(config, route, requests)?;
    match by_folder(config, route, requests, &first) {
        Rewritten::Stays | Rewritten::Answered(..) => Some(first),
        _ => None,
    }
}

/// What the rules of its folders do with a request for a file.
pub(super) fn by_folder<'c>(config: &'c Config, route: &Route<'_>, requests: &Requests, at: &Located) -> Rewritten<'c> {
    let asked =
        rewrite::Asked { host: host_sent(&requests.host, route.is_tls(config)), path: &requests.path, method: None };
    rewritten(config, route, asked, At { file: &at.file, whole: &at.whole })
}

/// The file that these requests are for before the rules of its folders are looked at.
pub(super) fn placed(config: &Config, route: &Route<'_>, requests: &Requests) -> Option<Located> {
    let path = requests.path.split('?').next().unwrap_or_default();
    // What httpd makes of such paths is not followed.
    let odd = ["%", "//", "/./", "/../"].iter().any(|part| path.contains(part))
        || path.ends_with("/.")
        || path.ends_with("/..");
    if odd || !path.starts_with('/') || leads(config, path) || rewrite::may_move(config, route, requests) {
        return None;
    }
    let absolute = |folder: &str| config.root().join(folder).to_string_lossy().trim_end_matches('/').to_owned();
    match alias(config, route, path) {
        Some(found) => {
            let [prefix, target] = [0, 1].map(|at| found.arg(at).unwrap_or_default());
            let rest = path.strip_prefix(prefix.trim_end_matches('/'))?;
            (found.context.len() == usize::from(found.host().is_some())).then(|| walked(&absolute(target), rest))
        }
        None => {
            let root = route.of_host(config, &["documentroot"]).and_then(|found| found.arg(0));
            Some(walked(&root.map(absolute).unwrap_or_default(), path))
        }
    }
}

/// The alias of a path: those of the virtual host come first (mod_alias.c: merge_alias_dir_config).
fn alias<'c>(config: &'c Config, route: &Route<'_>, path: &str) -> Option<&'c Found> {
    let of = |host: Option<usize>| {
        let mut all = config.named("alias").filter(move |found| found.host() == host && found.args.len() > 1);
        all.find(|found| found.arg(0).is_some_and(|prefix| under(path, prefix) && path.starts_with(prefix)))
    };
    route.host.and_then(|host| of(Some(host))).or_else(|| of(None))
}

/// Whether something else than an `Alias` before it may lead to another file.
fn leads(config: &Config, path: &str) -> bool {
    config.found().iter().any(|found| {
        let first = found.arg(0).unwrap_or_default();
        match found.name.as_str() {
            // In a section it has one argument.
            "alias" => found.args.len() == 1,
            "aliasmatch" | "scriptaliasmatch" => is_in(first, path) != Some(false),
            "scriptalias" => under(path, first),
            "userdir" => path.starts_with("/~"),
            "options" => found.args.iter().any(|word| word.trim_start_matches('+').eq_ignore_ascii_case("multiviews")),
            name => name.starts_with("virtualdocumentroot") || name.starts_with("virtualscriptalias"),
        }
    })
}

/// As far as there are folders.
fn walked(begin: &str, rest: &str) -> Located {
    let whole = format!("{begin}{rest}");
    let of = |file: String, kind: Kind| Located { file, kind, whole: whole.clone(), is_named: true };
    let folder = Path::new(begin);
    if !folder.is_dir() {
        let name = rest.trim_start_matches('/');
        return match folder.is_file() && name.is_empty() {
            true => of(begin.to_owned(), Kind::File),
            // A single name is the file's, whether or not there is one.
            false => Located {
                file: whole.clone(),
                kind: Kind::Untold,
                whole,
                is_named: !name.is_empty() && !name.contains('/'),
            },
        };
    }
    let mut file = begin.to_owned();
    let mut names = rest.split('/').skip(1);
    while let Some(name) = names.next() {
        file = format!("{file}/{name}");
        if name.is_empty() {
            return of(file, Kind::Folder);
        }
        let path = Path::new(&file);
        if !path.is_dir() {
            let kind = match (path.exists(), names.next()) {
                (true, None) => Kind::File,
                (true, Some(_)) => Kind::Beyond,
                (false, _) => Kind::Missing,
            };
            return of(file, kind);
        }
    }
    of(file, Kind::Led)
}
