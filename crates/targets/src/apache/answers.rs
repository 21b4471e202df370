//! What httpd answers itself: access that is denied, rules that refuse or redirect, files, heads that are too large.

mod foreign;
mod served;

use std::net::Ipv4Addr;

use genkai_model::limit::Origin;
use genkai_model::load::{Request, host_sent};

use super::config::{Config, Found};
use super::evidence::signature;
use super::located::{located, placed};
use super::overrides::Overrides;
use super::route::Route;
use super::route::folder::{self, At, Rewritten};
use super::route::rewrite::{self, Asked, Sent};
use super::settings::REQUEST_READ_TIMEOUT;
use super::within::{Held, Within};
use crate::files::Requests;
use crate::product::{OwnAnswer, carries, head, on_line};
use served::served;

/// What may answer this request.
pub(super) fn own(config: &Config, route: &Route<'_>, request: &Request) -> Vec<OwnAnswer> {
    let requests = Requests::to(&request.host, &request.path);
    let overrides = Overrides::of(config, route, &requests);
    let mut all = too_large(config, route, request);
    all.extend(certificate(config, route));
    let foreign: Vec<OwnAnswer> =
        foreign::modules(config).into_iter().chain(foreign::files(config, &overrides)).collect();
    let open = foreign.iter().any(|one| one.guess);
    let asked = within(overrides.merged.as_ref().unwrap_or(config), route, request, &requests, open);
    all.extend(asked.into_iter().map(|one| OwnAnswer { certain: one.certain && !(open && one.of_path), ..one }));
    all.extend(foreign);
    all.extend(slow(config, route));
    all
}

/// What of a configuration with all that counts for a request may. `open`: whether something that is not known may, too.
fn within(config: &Config, route: &Route<'_>, request: &Request, requests: &Requests, open: bool) -> Vec<OwnAnswer> {
    let path = request.path.split('?').next().unwrap_or_default();
    let asked = Asked {
        host: host_sent(&request.host, route.is_tls(config)),
        path: &request.path,
        method: Some(&request.method),
    };
    let sent = rewrite::answers(config, route, asked);
    let mut all: Vec<OwnAnswer> = sent.iter().map(|sent| redirected(config, sent)).collect();
    let leads = route.pass(config, path).is_some() || route.rewritten(config, requests).is_some();
    let passed = leads && !sent.iter().any(|sent| sent.certain);
    let located = located(config, route, requests);
    let within = Within { config, route, request, path, passed, located };
    all.extend(required(&within));
    all.extend(compat(&within));
    let sure = !open && !sent.iter().any(|sent| sent.certain);
    let by_folder = if passed { Vec::new() } else { of_folder(&within, asked) };
    all.extend(by_folder.into_iter().map(|one| OwnAnswer { certain: one.certain && sure, ..one }));
    all.extend(served(&within, requests, open));
    all
}

/// A rule or a `Redirect` of a folder, which come after access is checked.
fn of_folder(within: &Within<'_>, asked: Asked<'_>) -> Vec<OwnAnswer> {
    let (config, route) = (within.config, within.route);
    let Some(place) = placed(config, route, &Requests::to(&within.request.host, &within.request.path)) else {
        return Vec::new();
    };
    let granted = required(within).is_none() && compat(within).is_none();
    let answer = match folder::rewritten(config, route, asked, At { file: &place.file, whole: &place.whole }) {
        Rewritten::Answered(found, status) => {
            let when = "its pattern and its conditions hold".to_owned();
            Some(OwnAnswer { certain: true, when, ..of(config, found, &[status]) })
        }
        _ => folder::redirected(config, route, &place.file, within.path).map(|sent| redirected(config, &sent)),
    };
    let forbidden = folder::engine(config, route, &place.file).map(|found| OwnAnswer {
        signature: Some(signature::RULES_FORBIDDEN.to_owned()),
        of_path: true,
        kind: "options",
        when: "`Options` there has neither FollowSymLinks nor SymLinksIfOwnerMatch, without which httpd has no rules"
            .to_owned(),
        ..of(config, found, &[403])
    });
    let answer = answer.map(|one| OwnAnswer { certain: one.certain && granted, ..one });
    answer.into_iter().chain(forbidden).collect()
}

fn of(config: &Config, found: &Found, statuses: &[u16]) -> OwnAnswer {
    let setting = found.words[0].value.clone();
    let origin = on_line(&config.file(found.file).path, found.line);
    OwnAnswer { statuses: statuses.to_vec(), ..OwnAnswer::of(&setting, found.args.join(" "), origin) }
}

fn redirected(config: &Config, sent: &Sent<'_>) -> OwnAnswer {
    let when = match (sent.certain, sent.conditions) {
        (true, _) => "every such request",
        (false, 0) => "its pattern holds",
        (false, _) => "its pattern and its conditions hold",
    };
    OwnAnswer { certain: sent.certain, when: when.to_owned(), ..of(config, sent.found, &[sent.status]) }
}

/// Lines of the head, and how many there are (server/core.c; server/protocol.c: read_request_line, ap_get_mime_headers_core). It is read before the
/// virtual host is known.
fn too_large(config: &Config, route: &Route<'_>, request: &Request) -> Vec<OwnAnswer> {
    let route = &route.unnamed(config);
    let (line, fields) = head(request);
    let longest = fields.iter().copied().max().unwrap_or(0);
    let of_one = |name: &'static str, default: u64, seen: u64, status: u16, what: &str| {
        let found = route.of_host(config, &[&name.to_ascii_lowercase()]);
        let most = found.map_or(Some(default), |found| found.arg(0)?.parse().ok())?;
        let default = || OwnAnswer::of(name, default.to_string(), Origin::Default("include/httpd.h".to_owned()));
        let answer = found.map_or_else(default, |found| of(config, found, &[]));
        // 0 fields is no limit; a line of 0 bytes is one.
        let over = seen > most && !(name == "LimitRequestFields" && most == 0);
        let when = format!("{what} {seen}, and at most {most} are taken");
        over.then(|| OwnAnswer { statuses: vec![status], certain: true, when, ..answer })
    };
    let found = [
        of_one("LimitRequestLine", 8190, line, 414, "bytes of the request line:"),
        of_one("LimitRequestFieldSize", 8190, longest, 400, "bytes of the longest header field:"),
        of_one("LimitRequestFields", 100, fields.len() as u64, 400, "header fields:"),
    ];
    found.into_iter().flatten().take(1).collect()
}

/// A listener that wants a certificate of the client's: the handshake ends, or 403.
fn certificate(config: &Config, route: &Route<'_>) -> Option<OwnAnswer> {
    let found = route.of_host(config, &["sslverifyclient"]).filter(|_| route.is_tls(config))?;
    let wants = found.arg(0).is_some_and(|value| value.eq_ignore_ascii_case("require"));
    let when = "the client shows no certificate".to_owned();
    wants.then(|| OwnAnswer { certain: true, when, ..of(config, found, &[]) })
}

/// What `Require` asks of these requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asks {
    Granted,
    Denied,
    /// A user, which they do not name.
    User,
    Unknown,
}

fn asks(found: &Found, request: &Request) -> Asks {
    let words: Vec<String> = found.args.iter().map(|arg| arg.to_ascii_lowercase()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (not, words) = words.strip_prefix(&["not"]).map_or((false, &words[..]), |rest| (true, rest));
    let plain = match words {
        ["all", "granted"] | ["local"] => Asks::Granted,
        ["all", "denied"] => Asks::Denied,
        ["valid-user" | "user" | "group" | "ldap-user" | "file-owner", ..] => match carries(request, "authorization") {
            true => Asks::Unknown,
            false => Asks::User,
        },
        ["ip", addresses @ ..] => {
            let known: Option<Vec<bool>> = addresses.iter().map(|address| holds(address)).collect();
            known.map_or(Asks::Unknown, |all| if all.contains(&true) { Asks::Granted } else { Asks::Denied })
        }
        ["method", methods @ ..] => match methods.iter().any(|method| method.eq_ignore_ascii_case(&request.method)) {
            true => Asks::Granted,
            false => Asks::Denied,
        },
        _ => Asks::Unknown,
    };
    match plain {
        Asks::Granted if not => Asks::Denied,
        Asks::Denied if not => Asks::Granted,
        _ if not => Asks::Unknown,
        plain => plain,
    }
}

/// Whether an address (`10`, `10.1.`, `10.0.0.0/8`, `10.0.0.0/255.0.0.0`) is this machine's; none: not known.
fn holds(address: &str) -> Option<bool> {
    if address.contains(':') {
        return Some(false);
    }
    let (base, mask) = address.split_once('/').map_or((address, None), |(base, mask)| (base, Some(mask)));
    let parts = base.trim_end_matches('.').split('.').count() as u32;
    let padded = (parts..4).fold(base.trim_end_matches('.').to_owned(), |text, _| text + ".0");
    let base = u32::from(padded.parse::<Ipv4Addr>().ok()?);
    let mask = match mask.map(|mask| (mask.parse::<u32>(), mask.parse::<Ipv4Addr>())) {
        None => u32::MAX.checked_shl(32 - 8 * parts).unwrap_or(0),
        Some((Ok(bits), _)) if bits <= 32 => u32::MAX.checked_shl(32 - bits).unwrap_or(0),
        Some((_, Ok(mask))) => u32::from(mask),
        Some(_) => return None,
    };
    Some(base & mask == u32::from(Ipv4Addr::LOCALHOST) & mask)
}

/// The `Require` in force: of the innermost section that has any; one that grants is enough (mod_authz_core).
fn required(within: &Within<'_>) -> Option<OwnAnswer> {
    let group = within.in_force(&["require"]);
    let first = group.first()?;
    let nested = first.found.context.iter().any(|section| section.name.starts_with("require"));
    let asked: Vec<Asks> = group.iter().map(|one| asks(one.found, within.request)).collect();
    if !nested && asked.contains(&Asks::Granted) {
        return None;
    }
    // Each of a `RequireAll` must grant: of those that do none is why it is refused.
    let joined = |found: &Found| {
        let mut joining = found.context.iter().filter(|section| section.name.starts_with("require"));
        joining
            .next()
            .filter(|section| section.name == "requireall" && joining.next().is_none())
            .map(|section| section.index)
    };
    let own = joined(first.found);
    if own.is_some() && group.iter().all(|one| joined(one.found) == own) {
        return required_all(within, &group, &asked);
    }
    let certain = !nested && !asked.contains(&Asks::Unknown) && group.iter().all(|one| one.sure);
    let (statuses, signature) = match (asked.contains(&Asks::User), nested) {
        (true, false) => (vec![401], None),
        (false, false) => (vec![403], Some(signature::DENIED.to_owned())),
        (_, true) => (vec![401, 403], Some(signature::DENIED.to_owned())),
    };
    let place = |found: &Found| format!("`{}` ({})", found.written(), within.config.place(found));
    let all: Vec<String> = group.iter().map(|one| place(one.found)).collect();
    let when = match &all[..] {
        [_] => "it does not grant access".to_owned(),
        all if nested => format!("{} together do not grant access", all.join(", ")),
        all => format!("none of {} grants access", all.join(", ")),
    };
    Some(OwnAnswer { statuses, signature, certain, of_path: true, when, ..of(within.config, first.found, &[]) })
}

/// A `RequireAll` with all that is asked: what refuses is one of those that do not surely grant; none where all grant.
fn required_all(within: &Within<'_>, group: &[Held<'_>], asked: &[Asks]) -> Option<OwnAnswer> {
    let refusing: Vec<&Found> =
        group.iter().zip(asked).filter(|(_, asks)| **asks != Asks::Granted).map(|(one, _)| one.found).collect();
    let denied = group.iter().zip(asked).find(|(_, asks)| **asks == Asks::Denied);
    let first = denied.map(|(one, _)| one.found).or(refusing.first().copied())?;
    let certain = denied.is_some_and(|(one, _)| one.sure) && refusing.len() == 1;
    let place = |found: &&Found| format!("`{}` ({})", found.written(), within.config.place(found));
    let when = match &refusing[..] {
        [_] => "it does not grant access, which all of its `RequireAll` must".to_owned(),
        all => format!("one of {} does not grant access", all.iter().map(place).collect::<Vec<_>>().join(", ")),
    };
    let statuses = if asked.contains(&Asks::User) { vec![401, 403] } else { vec![403] };
    let signature = Some(signature::DENIED.to_owned());
    Some(OwnAnswer { statuses, signature, certain, of_path: true, when, ..of(within.config, first, &[]) })
}

/// `Deny` of mod_access_compat.
fn compat(within: &Within<'_>) -> Option<OwnAnswer> {
    let group = within.in_force(&["deny"]);
    let of_us = |found: &Found| match found.args.get(1).map(|arg| arg.to_ascii_lowercase()).as_deref() {
        Some("all") => Some(true),
        Some(address) => holds(address),
        None => Some(false),
    };
    let one = group.iter().find(|one| of_us(one.found) != Some(false))?;
    let alone = within.in_force(&["allow"]).is_empty();
    let certain = one.sure && of_us(one.found) == Some(true) && alone;
    let signature = Some(signature::DENIED_COMPAT.to_owned());
    let when = "its client's address is refused".to_owned();
    Some(OwnAnswer { signature, certain, of_path: true, when, ..of(within.config, one.found, &[403]) })
}

/// A request that does not come in time: without the directive, the module's own times are in force. For the head those of the first virtual host of the
/// address are, for the body those of the one that the Host header names (modules/filters/mod_reqtimeout.c: reqtimeout_init, reqtimeout_before_body).
fn slow(config: &Config, route: &Route<'_>) -> Vec<OwnAnswer> {
    let setting = &REQUEST_READ_TIMEOUT;
    let default = || OwnAnswer {
        statuses: vec![408],
        ..OwnAnswer::of(setting.directive, setting.default, Origin::Default(setting.source.to_owned()))
    };
    let of = |route: &Route<'_>| route.of_host(config, &["requestreadtimeout"]);
    let one = |found: Option<&Found>, kind: &'static str, what: &str| OwnAnswer {
        kind,
        when: format!("{what} of a request does not come in time"),
        signature: Some(signature::REQUEST_SLOW.to_owned()),
        ..found.map_or_else(default, |found| self::of(config, found, &[408]))
    };
    let (head, body) = (of(&route.unnamed(config)), of(route));
    match config.has_module("reqtimeout_module") {
        true if head == body => vec![one(head, "", "the head or the body")],
        true => vec![one(head, "head", "the head"), one(body, "body", "the body")],
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use genkai_model::load::Load;

    use super::*;
    use crate::apache::config::Reading;

    /// What may answer a request for `path` to x.example: setting, line, statuses, and whether it is certain.
    fn all(lines: &str, path: &str, headers: &[(&str, usize)]) -> Vec<(String, String, Vec<u16>, bool)> {
        let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
        let text = format!("Listen 80\n{lines}\n");
        let config = Config::of_text(Path::new("/x"), text.into(), reading).unwrap();
        let headers = headers.iter().map(|(name, bytes)| ((*name).to_owned(), "x".repeat(*bytes))).collect();
        let request =
            Request { path: path.to_owned(), host: "x.example".to_owned(), headers, ..Load::users(1, 1.0).request };
        let route = Route::find(&config, &Requests::to("x.example", path)).unwrap();
        let of = |one: OwnAnswer| (one.named(), one.when, one.statuses, one.certain);
        own(&config, &route, &request).into_iter().map(of).collect()
    }

    #[test]
    fn of_folders_the_longest_counts_wherever_it_stands() {
        let folder = |of: &str, what: &str| format!("<Directory {of}>\nRequire all {what}\n</Directory>\n");
        let required = |lines: &str| {
            let all = all(&format!("DocumentRoot /srv/www\n{lines}"), "/secret/x", &[]);
            all.into_iter().find(|(named, ..)| named.starts_with("`Require")).map(|(named, ..)| named)
        };
        let denied = folder("/srv/www/secret", "denied") + &folder("/srv/www", "granted");
        assert_eq!(required(&denied).as_deref(), Some("`Require all denied` (/x:4)"));
        let granted = folder("/srv/www/secret", "granted") + &folder("/srv/www", "denied");
        assert_eq!(required(&granted), None);
    }

    #[test]
    fn of_what_all_must_grant_the_one_that_does_not_is_named() {
        let required = |inside: &str| {
            let lines =
                format!("<Location />\n<RequireAll>\nRequire all granted\n{inside}\n</RequireAll>\n</Location>");
            let all = all(&lines, "/x", &[]);
            all.into_iter()
                .find(|(named, ..)| named.starts_with("`Require"))
                .map(|(named, when, _, certain)| (named, when, certain))
        };
        let alone = "it does not grant access, which all of its `RequireAll` must".to_owned();
        let of = |named: &str, certain| Some((format!("`{named}` (/x:5)"), alone.clone(), certain));
        assert_eq!(required("Require not ip 127.0.0.1"), of("Require not ip 127.0.0.1", true));
        assert_eq!(required("Require not env bad"), of("Require not env bad", false));
        assert_eq!(required("Require not ip 10.0.0.0/8"), None);
        // One of two that grants is enough.
        let two = required("Require not ip 127.0.0.1\n</RequireAll>\n<RequireAll>\nRequire all granted").unwrap();
        assert!(!two.2 && two.1.ends_with("together do not grant access"), "{two:?}");
        let (_, when, certain) = required("Require not env bad\nRequire host a").unwrap();
        assert!(!certain && when.starts_with("one of `Require not env bad` (/x:5), `Require host a` (/x:6)"), "{when}");
    }

    #[test]
    fn what_is_read_before_the_name_is_the_first_hosts_of_the_address() {
        let hosts = |first: &str, named: &str| {
            format!(
                "LoadModule reqtimeout_module /x.so\n<VirtualHost *:80>\n{first}\n</VirtualHost>\n<VirtualHost *:80>\nServerName \
                 x.example\n{named}\n</VirtualHost>"
            )
        };
        let limited = |lines: &str| {
            let all = all(lines, "/", &[("X", 300)]);
            all.into_iter().any(|(named, ..)| named.starts_with("`LimitRequestFieldSize 200`"))
        };
        let limit = "LimitRequestFieldSize 200";
        assert!(limited(&hosts(limit, "")) && !limited(&hosts("", limit)) && limited(limit));
        let slow = |lines: &str| {
            let all = all(lines, "/", &[]).into_iter().filter(|(named, ..)| named.starts_with("`RequestReadTimeout"));
            all.map(|(named, when, ..)| format!("{named} {}", when.split(" of ").next().unwrap())).collect::<Vec<_>>()
        };
        let (first, named) = ("RequestReadTimeout header=1", "RequestReadTimeout body=2");
        assert_eq!(
            slow(&hosts(first, named)),
            ["`RequestReadTimeout header=1` (/x:4) the head", "`RequestReadTimeout body=2` (/x:8) the body"]
        );
        assert_eq!(slow(&hosts(first, "")).len(), 2, "the named one has the usual times");
        assert_eq!(slow(&format!("LoadModule reqtimeout_module /x.so\n{named}")).len(), 1);
    }

    #[test]
    fn a_file_that_is_not_there_is_told_for_certain_only_where_nothing_else_may_answer() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("there.html"), "x").unwrap();
        let root = dir.path().display();
        let missing = |lines: &str, path: &str| {
            let all = all(&format!("DocumentRoot {root}\n{lines}"), path, &[]);
            all.into_iter()
                .find(|(named, _, statuses, _)| named.contains("DocumentRoot") && statuses[..] == [404])
                .map(|one| one.3)
        };
        assert_eq!(missing("", "/none"), Some(true));
        assert_eq!(missing("", "/there.html"), None, "it is there");
        assert_eq!(missing("", "/"), Some(false), "a folder");
        let handler =
            "<FilesMatch \\.php$>\nSetHandler application/x-httpd-php\n</FilesMatch>\nDirectoryIndex there.html";
        assert_eq!(missing(handler, "/none"), Some(true));
        assert_eq!(missing(handler, "/none.php"), None, "PHP says so");
        std::fs::write(dir.path().join("index.php"), "x").unwrap();
        assert_eq!(missing(&handler.replace("there.html", "index.php"), "/"), None);
        assert_eq!(missing("LoadModule security2_module /x.so", "/none"), Some(false));
        let rule = format!(
            "<Directory {root}>\nRewriteEngine On\nRewriteCond %{{HTTP_COOKIE}} x\nRewriteRule . /there.html\n</Directory>"
        );
        assert_eq!(missing(&rule, "/none"), Some(false), "it may be another file");
        std::fs::write(dir.path().join(".htaccess"), "Unheard Of\n").unwrap();
        assert_eq!(missing("", "/none"), Some(true), "it does not count");
        assert_eq!(missing(&format!("<Directory {root}>\nAllowOverride All\n</Directory>"), "/none"), Some(false));
    }

    #[test]
    fn addresses_are_compared_as_httpd_does() {
        for (address, here) in [
            ("127.0.0.1", Some(true)),
            ("127", Some(true)),
            ("127.0.", Some(true)),
            ("127.0.0.0/8", Some(true)),
            ("127.0.0.0/255.0.0.0", Some(true)),
            ("10", Some(false)),
            ("10.1.2.3", Some(false)),
            ("0.0.0.0/0", Some(true)),
            ("::1", Some(false)),
            ("example.org", None),
        ] {
            assert_eq!(holds(address), here, "{address}");
        }
    }
}
