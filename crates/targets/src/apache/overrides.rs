//! Files that count within a folder (`AccessFileName`, usually `.htaccess`), where `AllowOverride` lets them (server/request.c: ap_directory_walk;
//! server/config.c: ap_parse_htaccess). httpd reads them for each request that is for a file.

use std::path::{Path, PathBuf};

use super::config::{Config, Found};
use super::located::{Kind, placed};
use super::route::folder::plain;
use super::route::{Route, like};
use crate::files::Requests;

/// What such a file is called where nobody says anything.
const NAME: &str = ".htaccess";

/// One that is there.
#[derive(Clone, Debug)]
pub(super) struct Override<'c> {
    /// Its folder.
    folder: String,
    pub(super) path: PathBuf,
    /// What lets it count.
    pub(super) by: &'c Found,
    /// Whether that lets everything in it count.
    whole: bool,
}

/// Those on the way to the file of some requests, outermost first.
#[derive(Debug, Default)]
pub(super) struct Overrides<'c> {
    pub(super) files: Vec<Override<'c>>,
    /// The configuration with what they say; none where there are none, or what they say is not known.
    pub(super) merged: Option<Config>,
}

impl<'c> Overrides<'c> {
    /// None is asked where requests are passed on before anything is looked for.
    pub(super) fn of(config: &'c Config, route: &Route<'_>, requests: &Requests) -> Overrides<'c> {
        let path = requests.path.split('?').next().unwrap_or_default();
        if route.pass(config, path).is_some() || route.rewritten(config, requests).is_some() {
            return Overrides::default();
        }
        let place = placed(config, route, requests);
        // Where a rule may lead elsewhere, those of the path itself are the ones that are known of.
        let file = place.as_ref().map_or_else(|| unplaced(config, route, path), |place| place.file.clone());
        let is_folder = file.ends_with('/') || place.as_ref().is_some_and(|place| place.kind == Kind::Led);
        let names = names(config, route);
        let files: Vec<Override<'c>> =
            folders(&file, is_folder).into_iter().filter_map(|folder| there(config, route, folder, &names)).collect();
        let is_known = place.is_some() && !files.is_empty() && files.iter().all(|file| file.whole);
        let read = || {
            let all: Vec<(String, PathBuf)> = files.iter().map(|f| (f.folder.clone(), f.path.clone())).collect();
            config.with_folders(route.host, &all).ok()
        };
        let merged = if is_known { read() } else { None };
        Overrides { files, merged }
    }

    /// What lets the first of them count, where what they say is not known.
    pub(super) fn unknown(&self) -> Option<&'c Found> {
        self.files.first().filter(|_| self.merged.is_none()).map(|file| file.by)
    }

    /// Their paths, one after the other.
    pub(super) fn paths(&self) -> String {
        let all: Vec<String> = self.files.iter().map(|file| file.path.display().to_string()).collect();
        all.join(", ")
    }
}

/// The file of a path where it is not known whether that is the one that is looked for.
fn unplaced(config: &Config, route: &Route<'_>, path: &str) -> String {
    let root = route.of_host(config, &["documentroot"]).and_then(|found| found.arg(0)).unwrap_or_default();
    format!("{}{path}", config.root().join(root).display().to_string().trim_end_matches('/'))
}

/// What such files are called.
fn names<'c>(config: &'c Config, route: &Route<'_>) -> Vec<&'c str> {
    let found = route.of_host(config, &["accessfilename"]);
    found.map_or_else(|| vec![NAME], |found| found.args.iter().map(String::as_str).collect())
}

/// The folders of a file, outermost first.
fn folders(file: &str, is_folder: bool) -> Vec<&Path> {
    let mut all: Vec<&Path> = Path::new(file).ancestors().skip(usize::from(!is_folder)).collect();
    all.reverse();
    all
}

/// The first of these names that is there in a folder.
fn there<'c>(config: &'c Config, route: &Route<'_>, folder: &Path, names: &[&str]) -> Option<Override<'c>> {
    let path = names.iter().map(|name| folder.join(name)).find(|path| path.exists())?;
    let folder = folder.to_string_lossy().into_owned();
    let lets = |name: &'static str| in_force(config, route, &folder, name);
    let is_none = |found: &&Found| found.arg(0).is_some_and(|word| word.eq_ignore_ascii_case("none"));
    let by = lets("allowoverride").filter(|found| !is_none(found));
    // What is no plain file (a pipe would be waited for) is not read.
    let whole =
        path.is_file() && by.is_some_and(|found| found.arg(0).is_some_and(|word| word.eq_ignore_ascii_case("all")));
    let by = by.or_else(|| lets("allowoverridelist").filter(|found| !is_none(found)))?;
    Some(Override { folder, path, by, whole })
}

/// The directive of a folder that is merged last: of the longest `<Directory>` that holds it, a virtual host's after the server's.
fn in_force<'c>(config: &'c Config, route: &Route<'_>, folder: &str, name: &'static str) -> Option<&'c Found> {
    let rank = |found: &Found| {
        let of = plain(found, route)?.args.first().filter(|of| is_below(folder, of))?;
        Some((of.trim_end_matches('/').len(), found.host().is_some()))
    };
    config
        .named(name)
        .filter_map(|found| Some((rank(found)?, found)))
        .max_by_key(|(rank, _)| *rank)
        .map(|(_, found)| found)
}

/// Whether a folder is one that a `<Directory>` names, or below it: each name may be a pattern.
fn is_below(folder: &str, of: &str) -> bool {
    let parts = |path: &str| path.trim_end_matches('/').split('/').map(str::to_owned).collect::<Vec<_>>();
    let (folder, of) = (parts(folder), parts(of));
    of.len() <= folder.len() && of.iter().zip(&folder).all(|(pattern, name)| like(pattern, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apache::config::Reading;

    fn config(text: &str) -> Config {
        let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
        Config::of_text(Path::new("/x/httpd.conf"), format!("Listen 80\n{text}").into(), reading).unwrap()
    }

    #[test]
    fn only_what_is_allowed_to_count_does() {
        let dir = tempfile::tempdir().unwrap();
        let site = dir.path().join("www/site");
        std::fs::create_dir_all(site.join("a")).unwrap();
        std::fs::write(site.join(".htaccess"), "Options None\n").unwrap();
        std::fs::write(site.join("a/.htaccess"), "Options None\n").unwrap();
        std::fs::write(site.join("a/other"), "Options None\n").unwrap();
        let root = dir.path().display().to_string();
        let of = |lines: &str, path: &str| {
            let config = config(&format!("DocumentRoot {root}/www/site\n{}", lines.replace("ROOT", &root)));
            let requests = Requests::to("x", path);
            let route = Route::find(&config, &requests).unwrap();
            let all = Overrides::of(&config, &route, &requests);
            let names = all.files.iter().map(|f| f.path.strip_prefix(&site).unwrap().display().to_string());
            (names.collect::<Vec<_>>().join(" "), all.merged.is_some())
        };
        let both = (".htaccess a/.htaccess".to_owned(), true);
        let none = (String::new(), false);
        let folder = |of: &str, what: &str| format!("<Directory {of}>\n{what}\n</Directory>\n");
        let all = folder("ROOT/www", "AllowOverride All");
        assert_eq!(of("", "/a/x"), none, "nothing is allowed by default");
        assert_eq!(of(&all, "/a/x"), both);
        assert_eq!(of(&all, "/a/"), both);
        assert_eq!(of(&all, "/x/y"), (".htaccess".to_owned(), true));
        assert_eq!(of(&folder("ROOT/*", "AllowOverride All"), "/a/x"), both);
        assert_eq!(of(&folder("ROOT/other", "AllowOverride All"), "/a/x"), none);
        let inner = folder("ROOT/www/site/a", "AllowOverride None");
        assert_eq!(of(&format!("{inner}{all}"), "/a/x"), (".htaccess".to_owned(), true), "the longest counts");
        assert_eq!(of(&folder("/", "AllowOverride FileInfo"), "/a/x"), (both.0.clone(), false), "not all of it");
        assert_eq!(of(&folder("/", "AllowOverride None\nAllowOverrideList Redirect"), "/a/x"), (both.0, false));
        assert_eq!(of(&format!("{all}ProxyPass / http://127.0.0.1:9/\n"), "/a/x"), none, "no file is looked for");
        assert_eq!(of(&format!("AccessFileName none other\n{all}"), "/a/x"), ("a/other".to_owned(), true));
        std::fs::remove_file(site.join(".htaccess")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(site.join(".htaccess")).status().unwrap().success());
        assert_eq!(
            of(&all, "/x/y"),
            (".htaccess".to_owned(), false),
            "nobody writes into it, and it is not waited for"
        );
    }
}
