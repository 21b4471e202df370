//! What passes requests to a server: a rule (`RewriteRule ... [P]`), a `ProxyPass`, or a handler (`SetHandler "proxy:URL"`), which mod_proxy asks for
//! the file's whole path. Measured on httpd 2.4.71 (`crates/targets/tests/asked/apache_ways.rs`).

use std::path::Path;

use genkai_model::load::host_sent;

use super::config::{Config, Found};
use super::located::{Kind, Located, by_folder, located, placed};
use super::overrides::Overrides;
use super::route::folder::{self, Rewritten};
use super::route::rewrite::{self, flags, has};
use super::route::{Pass, Route};
use super::within::{candidates, document};
use crate::files::Requests;

/// Where requests go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Goes<'c> {
    /// To a server.
    Passed(Pass<'c>),
    /// httpd answers itself, with a file.
    Nowhere,
    /// It does so by a handler of its own.
    Handled(&'c Found),
    /// This may pass them on, or lead to what does, and it is not followed.
    Untold(&'c Found),
}

/// A page may stand in the place of another one (`DirectoryIndex`, `FallbackResource`) so often.
const MOST: u32 = 8;

/// What passes these requests on; none: httpd answers itself, or that is not sure.
pub(super) fn pass<'c>(config: &'c Config, route: &Route<'_>, requests: &Requests) -> Option<Pass<'c>> {
    match goes(config, route, requests) {
        Goes::Passed(pass) => Some(pass),
        _ => None,
    }
}

/// Where these requests go: a rule comes before a `ProxyPass`, and that before any handler (mod_proxy.c: proxy_handler).
pub(super) fn goes<'c>(config: &'c Config, route: &Route<'_>, requests: &Requests) -> Goes<'c> {
    let overrides = Overrides::of(config, route, requests);
    if let Some(merged) = &overrides.merged {
        let own = overrides.files.first().map(|file| file.by);
        return outside(config, merged, own, gone(merged, route, requests, MOST));
    }
    match (gone(config, route, requests, MOST), overrides.unknown()) {
        // What is said in them may lead elsewhere.
        (Goes::Nowhere | Goes::Handled(_), Some(by)) => untold(config, by),
        (goes, _) => goes,
    }
}

/// The same by the lines of a configuration that was read with files of folders; what stands in these is told as what lets them count (`by`).
fn outside<'c>(config: &'c Config, merged: &Config, by: Option<&'c Found>, goes: Goes<'_>) -> Goes<'c> {
    let line = |found: &Found| {
        let at = merged.found().iter().position(|one| std::ptr::eq(one, found))?;
        config.found().get(at)
    };
    let untold = || by.map_or(Goes::Nowhere, Goes::Untold);
    match goes {
        Goes::Nowhere => Goes::Nowhere,
        Goes::Passed(pass) => line(pass.found).map_or_else(untold, |found| Goes::Passed(pass.of(found))),
        Goes::Handled(found) => line(found).map_or(by.map_or(Goes::Nowhere, Goes::Handled), Goes::Handled),
        Goes::Untold(found) => line(found).map_or_else(untold, Goes::Untold),
    }
}

fn gone<'c>(config: &'c Config, route: &Route<'_>, requests: &Requests, left: u32) -> Goes<'c> {
    let pass = route.rewritten(config, requests).or_else(|| route.pass(config, &requests.path));
    pass.map_or_else(|| handled(config, route, requests, left), Goes::Passed)
}

/// The URL that a handler passes requests to.
fn proxied(found: &Found) -> Option<&str> {
    found.arg(0)?.strip_prefix("proxy:")
}

/// By a handler, or as another page.
fn handled<'c>(config: &'c Config, route: &Route<'_>, requests: &Requests, left: u32) -> Goes<'c> {
    let Some(left) = left.checked_sub(1) else { return Goes::Nowhere };
    let first = placed(config, route, requests);
    if is_redirected(config, route, requests, first.as_ref()) {
        return Goes::Nowhere;
    }
    match first.as_ref().map(|first| by_folder(config, route, requests, first)) {
        // The client is led to the folder with its slash before anything else is asked (mod_dir.c: fixup_dir).
        Some(Rewritten::Again(_) | Rewritten::Passed(_)) if first.as_ref().is_some_and(|at| at.kind == Kind::Led) => {
            return Goes::Nowhere;
        }
        Some(Rewritten::Again(path)) => return gone(config, route, &instead(requests, path), left),
        Some(Rewritten::Passed(pass)) => return Goes::Passed(pass),
        Some(Rewritten::Untold(found)) => return by_rule(config, found),
        // What answers is told apart (answers.rs).
        Some(Rewritten::Answered(..)) => return Goes::Nowhere,
        Some(Rewritten::Stays) | None => {}
    }
    let located = located(config, route, requests);
    let kind = located.as_ref().map(|located| located.kind);
    if kind == Some(Kind::Led) {
        return Goes::Nowhere;
    }
    if let Some(located) = located.as_ref().filter(|_| kind == Some(Kind::Folder))
        && let Some(goes) = index(config, route, requests, located, left)
    {
        return goes;
    }
    let all = candidates(config, route, requests, "sethandler");
    if let [(found, true)] = all[..] {
        if let Some(url) = proxied(found) {
            return Goes::Passed(Pass::handled(found, url, file(config, route, requests, located)));
        }
    } else if let Some((found, _)) = all.iter().find(|(found, _)| proxied(found).is_some()) {
        return Goes::Untold(found);
    }
    let is_default = |found: &Found| found.arg(0).is_some_and(|name| ["none", "default-handler"].contains(&name));
    if let Some((found, _)) = all.iter().find(|(found, sure)| *sure && !is_default(found)) {
        return Goes::Handled(found);
    }
    if kind == Some(Kind::File) {
        return Goes::Nowhere;
    }
    match kind {
        Some(Kind::Beyond) => Goes::Nowhere,
        _ => fallback(config, route, requests, kind, left),
    }
    .or_by(|| missing(config, route, requests))
}

/// Whether a rule or a `Redirect` surely answers before any handler does.
fn is_redirected(config: &Config, route: &Route<'_>, requests: &Requests, at: Option<&Located>) -> bool {
    let host = host_sent(&requests.host, route.is_tls(config));
    let asked = rewrite::Asked { host, path: &requests.path, method: None };
    let path = requests.path.split('?').next().unwrap_or_default();
    let by_folder = at.and_then(|at| folder::redirected(config, route, &at.file, path));
    rewrite::answers(config, route, asked).iter().chain(&by_folder).any(|sent| sent.certain)
}

impl<'c> Goes<'c> {
    /// Where httpd answers itself, where its answer leads.
    fn or_by(self, further: impl FnOnce() -> Goes<'c>) -> Goes<'c> {
        if self == Goes::Nowhere { further() } else { self }
    }
}

/// The page of the error where there is no such file, which a handler may have.
fn missing<'c>(config: &'c Config, route: &Route<'_>, requests: &Requests) -> Goes<'c> {
    let page = |status| {
        document(config, route, requests, status).filter(|found| found.arg(1).is_some_and(|to| to.starts_with('/')))
    };
    [404, 403].into_iter().find_map(page).map_or(Goes::Nowhere, |found| untold(config, found))
}

/// The file that a handler asks for. Where it is not sure, that of the path.
fn file(config: &Config, route: &Route<'_>, requests: &Requests, located: Option<Located>) -> String {
    let path = || {
        let root = route.of_host(config, &["documentroot"]).and_then(|found| found.arg(0)).unwrap_or_default();
        format!("{}{}", root.trim_end_matches('/'), requests.path.split('?').next().unwrap_or_default())
    };
    located.map_or_else(path, |located| located.file)
}

/// The same requests for another path.
fn instead(requests: &Requests, path: String) -> Requests {
    Requests { path, ..requests.clone() }
}

/// Where nobody can tell, whether any handler could have them.
fn untold<'c>(config: &Config, found: &'c Found) -> Goes<'c> {
    let any = config.named("sethandler").any(|handler| proxied(handler).is_some());
    if any { Goes::Untold(found) } else { Goes::Nowhere }
}

/// A rule that is not followed, where it could lead to a server.
fn by_rule<'c>(config: &Config, found: &'c Found) -> Goes<'c> {
    let by_path = ["proxypass", "proxypassmatch"].iter().any(|name| config.named(name).next().is_some());
    let passes = has(&flags(found), &["p", "proxy"]);
    if by_path || passes { Goes::Untold(found) } else { untold(config, found) }
}

/// The page of a folder (mod_dir.c: fixup_dir): the first that is there.
fn index<'c>(
    config: &'c Config,
    route: &Route<'_>,
    requests: &Requests,
    folder: &Located,
    left: u32,
) -> Option<Goes<'c>> {
    let all = candidates(config, route, requests, "directoryindex");
    if let Some((unsure, _)) = all.first().filter(|(_, sure)| !sure) {
        return Some(untold(config, unsure));
    }
    // All of the section that is merged last count.
    let first = all.first().map(|(found, _)| *found);
    let beside = |found: &&Found| first.is_some_and(|first| first.context == found.context);
    let named: Vec<&str> =
        config.named("directoryindex").filter(beside).flat_map(|f| &f.args).map(String::as_str).collect();
    let path = requests.path.split('?').next().unwrap_or_default();
    let names = if first.is_some() { named } else { vec!["index.html"] };
    if let Some((found, _)) = all.first().filter(|_| names.iter().any(|name| name.starts_with('/'))) {
        return Some(untold(config, found));
    }
    let name = names.into_iter().find(|name| Path::new(&folder.file).join(name).is_file())?;
    Some(handled(config, route, &instead(requests, format!("{path}{name}")), left))
}

/// What stands in the place of a page that is not there (mod_dir.c: fixup_dflt).
fn fallback<'c>(config: &'c Config, route: &Route<'_>, requests: &Requests, kind: Option<Kind>, left: u32) -> Goes<'c> {
    let all = candidates(config, route, requests, "fallbackresource");
    let Some((found, sure)) = all.first() else { return Goes::Nowhere };
    match found.arg(0) {
        Some("disabled") if *sure => Goes::Nowhere,
        Some(path) if *sure && path.starts_with('/') && matches!(kind, Some(Kind::Missing | Kind::Folder)) => {
            handled(config, route, &instead(requests, path.to_owned()), left)
        }
        _ => untold(config, found),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::apache::config::Reading;

    /// As httpd 2.4.71 answers.
    #[test]
    fn the_handler_is_that_of_the_section_that_is_merged_last() {
        let url = |text: &str| {
            let reading =
                Reading { root: "/e".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
            let config = Config::of_text(Path::new("/x"), format!("Listen 80\n{text}").into(), reading).unwrap();
            let requests = Requests::to("x", "/x.php");
            let route = Route::find(&config, &requests)?;
            Some(pass(&config, &route, &requests)?.url)
        };
        let (to, one) = ("SetHandler proxy:http://h:1\n", Some("http://h:1".to_owned()));
        let within = |section: &str, more: &str| {
            url(&format!("<{section}>\n{to}</{}>\n{more}", section.split(' ').next().unwrap()))
        };
        assert_eq!(url(to), one);
        assert_eq!(within("Location /", ""), one);
        assert_eq!(within("Location /y", ""), None);
        assert_eq!(within("Location /", "<Location /x.php>\nSetHandler none\n</Location>\n"), None);
        assert_eq!(within("FilesMatch \\.php$", ""), one);
        assert_eq!(within("FilesMatch \\.html$", ""), None);
        assert_eq!(within("FilesMatch \\.php$", "<Location />\nSetHandler none\n</Location>\n"), None);
        assert_eq!(within("FilesMatch \\.php$", "Alias /x.php /y.html\n"), None, "another file: not sure");
        assert_eq!(within("If \"true\"", ""), None, "not sure");
        assert_eq!(url(&format!("{to}ProxyPass / http://h:2/\n")).as_deref(), Some("http://h:2/"));
        assert_eq!(url(&format!("{to}ProxyPass /x.php !\nProxyPass / http://h:2/\n")), one);
        assert_eq!(url("SetHandler proxy:balancer://b\n").as_deref(), Some("balancer://b"));
    }
}
