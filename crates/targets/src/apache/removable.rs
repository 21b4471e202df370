//! Directives in force for a request that may be left out: those of the server, of its virtual host, and of the sections that may hold it, but
//! for what makes it a server before this backend.

use super::config::{Config, Found, Section};
use super::route::{Route, under};
use crate::files::{Removable, Requests, removable};

/// Directives that stay, in lower case: where it listens and for whom, modules, processes, accounts, logs, what it passes requests to.
const KEPT: [&str; 49] = [
    "balancermember",
    "customlog",
    "define",
    "documentroot",
    "errorlog",
    "errorlogformat",
    "group",
    "include",
    "includeoptional",
    "listen",
    "listenbacklog",
    "loadfile",
    "loadmodule",
    "logformat",
    "loglevel",
    "maxclients",
    "maxconnectionsperchild",
    "maxrequestsperchild",
    "maxrequestworkers",
    "maxspareservers",
    "maxsparethreads",
    "minspareservers",
    "minsparethreads",
    "mutex",
    "namevirtualhost",
    "pidfile",
    "proxypass",
    "proxypassmatch",
    "proxypassreverse",
    "proxyrequests",
    "scoreboardfile",
    "serveradmin",
    "serveralias",
    "serverlimit",
    "servername",
    "serverpath",
    "serverroot",
    "sslcertificatechainfile",
    "sslcertificatefile",
    "sslcertificatekeyfile",
    "sslengine",
    "sslsessioncache",
    "startservers",
    "threadlimit",
    "threadsperchild",
    "transferlog",
    "typesconfig",
    "undefine",
    "user",
];

/// Directives, in lower case, that decide who may ask for what.
const PROTECTS: [&str; 20] = [
    "allow",
    "allowmethods",
    "deny",
    "order",
    "require",
    "satisfy",
    "sslcacertificatefile",
    "sslcacertificatepath",
    "sslproxycacertificatefile",
    "sslproxycacertificatepath",
    "sslproxycarevocationcheck",
    "sslproxycheckpeercn",
    "sslproxycheckpeerexpire",
    "sslproxycheckpeername",
    "sslproxyverify",
    "sslproxyverifydepth",
    "sslrequire",
    "sslrequiressl",
    "sslverifyclient",
    "sslverifydepth",
];
/// Beginnings of the names of further ones: `AuthType`, `AuthUserFile`...; of mod_security, mod_auth_openidc, mod_evasive, mod_qos.
const PROTECT: [&str; 5] = ["auth", "dos", "oidc", "qs_", "sec"];

/// Whether a rule that answers with this status turns away whom it meets.
fn turns_away(status: &str) -> bool {
    status.parse::<u16>().is_ok_and(|status| (400..500).contains(&status) || status == 503)
}

/// Whether it decides who may ask for what: by its name, or as a rule that forbids.
fn protects(found: &Found) -> bool {
    let forbids = |flags: &String| {
        let flags = flags.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        flags.split(',').map(str::trim).any(|flag| {
            let status = flag.strip_prefix("r=").or_else(|| flag.strip_prefix("redirect="));
            matches!(flag, "f" | "forbidden" | "g" | "gone") || status.is_some_and(turns_away)
        })
    };
    let refuses = |status: &String| status.eq_ignore_ascii_case("gone") || turns_away(status);
    let ruled = match found.name.as_str() {
        "rewriterule" => found.args.last().is_some_and(forbids),
        "redirect" | "redirectmatch" => found.args.first().is_some_and(refuses),
        _ => false,
    };
    let name = found.name.as_str();
    ruled || PROTECTS.contains(&name) || PROTECT.iter().any(|begin| name.starts_with(begin))
}

/// The directives that may be left out for these requests, in the order in which they are written.
pub(super) fn all(config: &Config, requests: &Requests) -> Vec<Removable> {
    let Some(route) = Route::find(config, requests) else { return Vec::new() };
    let path = requests.path.split('?').next().unwrap_or_default();
    let holds = |found: &Found| {
        let host = found.host();
        (host.is_none() || host == route.host) && found.context.iter().all(|section| may_hold(section, path))
    };
    let free = config.found().iter().filter(|found| !found.section && !is_kept(found) && holds(found));
    let of = |found: &Found| {
        let one = Removable::of(found.file, config.file(found.file), &found.span, &found.written());
        one.protecting(protects(found))
    };
    let mut all = removable::once(free.map(of));
    all.sort_by_key(|one| (one.file, one.line));
    all
}

/// Whether it stays: by its name, or because it passes requests on.
fn is_kept(found: &Found) -> bool {
    let passes = match found.name.as_str() {
        "rewriterule" => found.args.last().is_some_and(|flags| {
            let flags = flags.trim_start_matches('[').trim_end_matches(']');
            flags.split(',').any(|flag| matches!(flag.trim().to_ascii_lowercase().as_str(), "p" | "proxy"))
        }),
        "sethandler" => found.arg(0).is_some_and(|to| to.starts_with("proxy:")),
        _ => false,
    };
    passes || KEPT.contains(&found.name.as_str())
}

/// Whether a section may hold requests for this path: all but a `Location` elsewhere.
fn may_hold(section: &Section, path: &str) -> bool {
    let first = section.args.first().map_or("", String::as_str);
    section.name != "location" || first == "~" || under(path, first)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::config::Reading;
    use super::*;

    #[test]
    fn what_is_on_the_way_may_be_left_out() {
        let text = "Listen 80\nTimeout 9\n<VirtualHost *:80>\n ServerName a\n ProxyPass / http://127.0.0.1:1/\n <Location />\n  Require all \
                    granted\n </Location>\n <Location /other>\n  Require all denied\n </Location>\n RewriteRule ^/x http://127.0.0.1:1/ [P]\n\
                    </VirtualHost>\n<VirtualHost *:80>\n ServerName b\n TraceEnable off\n</VirtualHost>\n";
        let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 62) };
        let config = Config::of_text(Path::new("/a"), text.as_bytes().to_vec(), reading).unwrap();
        let all = all(&config, &Requests::to("a", "/"));
        let told: Vec<(usize, &str)> = all.iter().map(|one| (one.line, one.written.as_str())).collect();
        assert_eq!(told, [(2, "Timeout 9"), (7, "Require all granted")]);
        assert_eq!(all.iter().map(|one| one.protects).collect::<Vec<_>>(), [false, true]);
        let left = config.apply(&all.into_iter().map(|one| one.edit).collect::<Vec<_>>()).unwrap();
        assert_eq!(super::all(&left, &Requests::to("a", "/")), []);
    }

    #[test]
    fn what_keeps_somebody_out_protects() {
        let text = "Listen 80\n<Location />\n AuthType Basic\n AuthName x\n AuthBasicProvider file\n Require valid-user\n Order deny,allow\n Deny from \
                    all\n Satisfy any\n RewriteRule ^/x - [F,L]\n RewriteRule ^/y /z [L]\n Redirect 403 /q\n Redirect /old /new\n RewriteRule ^/w - [R=429]\n Redirect 503 /v\n QS_ClientEventPerSecLimit 5\n SSLVerifyClient \
                    require\n SecRuleEngine On\n SSLProxyVerify require\n Header set A b\n</Location>\nProxyPass / http://127.0.0.1:1/\n";
        let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 62) };
        let config = Config::of_text(Path::new("/a"), text.as_bytes().to_vec(), reading).unwrap();
        let all = all(&config, &Requests::to("a", "/"));
        let open: Vec<&str> = all.iter().filter(|one| !one.protects).map(|one| one.written.as_str()).collect();
        assert_eq!(open, ["RewriteRule ^/y /z [L]", "Redirect /old /new", "Header set A b"]);
        assert!(all.iter().filter(|one| one.protects).count() > 8, "{all:?}");
    }
}
