//! What nginx gives PHP for a request beside what php-fpm's own files say (`fastcgi_param PHP_VALUE`), and what the folder of the scripts does.

use std::path::{Path, PathBuf};

use genkai_model::limit::{Limit, Origin};

use super::config::{Config, Found, Route};
use crate::files::Requests;
use crate::limits::php::{self, Passed};

/// Its limits for these requests.
pub(super) fn limits(config: &Config, requests: &Requests) -> Vec<Limit> {
    let Some(first) = config.route_of(requests) else { return Vec::new() };
    let again = config.through(&first).routes;
    let route = again.last().unwrap_or(&first);
    if route.pass().is_none_or(|pass| !pass.found.directive.is("fastcgi_pass")) {
        return Vec::new();
    }
    let params = route.inherited("fastcgi_param");
    let given = |name: &str| params.iter().rev().find(|found| found.arg(0).as_deref() == Some(name)).map(passed);
    php::passed(given, &folders(config, route, &params))
}

fn passed(found: &Found<'_>) -> Passed {
    let path = found.config.file(found.file).path.clone();
    Passed {
        by: found.arg(0).unwrap_or_default(),
        text: found.arg(1).unwrap_or_default(),
        origin: Origin::File { path, line: found.line() },
    }
}

/// The folder of the script, where the configuration names it, and the site's: PHP looks for a `.user.ini` from the one up to the other, which it must be
/// told (sapi/fpm/fpm/fpm_main.c: sapi_cgi_activate).
fn folders(config: &Config, route: &Route<'_>, params: &[Found<'_>]) -> Vec<PathBuf> {
    if !params.iter().any(|found| found.arg(0).as_deref() == Some("DOCUMENT_ROOT")) {
        return Vec::new();
    }
    let root = route.inherited("root").last().and_then(|found| found.arg(0)).filter(|path| !path.contains('$'));
    let root = root.map(|path| config.prefix().join(path));
    let named = params.iter().rev().find(|found| found.arg(0).as_deref() == Some("SCRIPT_FILENAME"));
    let script = named.and_then(|found| found.arg(1)).filter(|path| path.starts_with('/') && !path.contains('$'));
    let own = script.and_then(|path| Path::new(&path).parent().map(Path::to_owned));
    let mut all: Vec<PathBuf> = own.into_iter().chain(root).collect();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_to_php_counts_where_the_request_goes_and_what_a_script_cannot_change_before_the_rest() {
        let of = |server: &str, within: &str| {
            let text = format!(
                "http {{ server {{ listen 80;\n{server}\nlocation / {{\n{within}\nfastcgi_pass unix:/run/php.sock; }} }} }}"
            );
            let config = Config::of_text(Path::new("/n.conf"), text.into(), Path::new("/usr")).unwrap();
            let all = limits(&config, &Requests::to("", "/"));
            all.into_iter().map(|one| (one.setting, one.value, one.origin)).collect::<Vec<_>>()
        };
        let (few, more) =
            ("fastcgi_param PHP_VALUE \"memory_limit=16M\";", "fastcgi_param PHP_ADMIN_VALUE memory_limit=32M;");
        let at = |line| Origin::File { path: "/n.conf".into(), line };
        let told = |by: &str, value: &str, line| (format!("memory_limit ({by})"), value.to_owned(), at(line));
        assert_eq!(of(few, ""), [told("PHP_VALUE", "16M", 2)]);
        assert_eq!(of(few, "fastcgi_param SCRIPT_FILENAME /x.php;"), [], "a location that has some has no others");
        assert_eq!(
            of("", &format!("{few}{more}")),
            [told("PHP_ADMIN_VALUE", "32M", 4)],
            "the other one is not in force"
        );
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(".user.ini"), "memory_limit = 24M\n").unwrap();
        let root = format!("root {};", dir.path().display());
        assert_eq!(of(&root, ""), [], "PHP is not told of it");
        let sites = of(&root, "fastcgi_param DOCUMENT_ROOT $document_root;");
        assert_eq!(sites.len(), 1, "{sites:?}");
        let site = Origin::File { path: dir.path().join(".user.ini"), line: 1 };
        assert_eq!(sites[0].2, site);
        // As php-fpm 8.2 has it.
        let document = "fastcgi_param DOCUMENT_ROOT $document_root;";
        assert_eq!(of(&root, &format!("{document}{few}")).into_iter().map(|one| one.2).collect::<Vec<_>>(), [site]);
        assert_eq!(of(&root, &format!("{document}{more}")), [told("PHP_ADMIN_VALUE", "32M", 4)]);
    }
}
