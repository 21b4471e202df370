//! What httpd answers itself: access that is denied, rules that refuse or redirect, heads that are too large.

use std::net::Ipv4Addr;

use genkai_model::limit::Origin;
use genkai_model::load::{Request, host_sent};

use super::config::{Config, Found};
use super::evidence::signature;
use super::handler::{self, Goes};
use super::located::located;
use super::route::Route;
use super::route::rewrite::{self, Asked, Sent};
use super::settings::REQUEST_READ_TIMEOUT;
use super::within::Within;
use crate::files::Requests;
use crate::product::{OwnAnswer, carries, head, on_line};

/// What may answer this request.
pub(super) fn own(config: &Config, route: &Route<'_>, request: &Request) -> Vec<OwnAnswer> {
    let mut all = too_large(config, route, request);
    all.extend(certificate(config, route));
    let path = request.path.split('?').next().unwrap_or_default();
    let asked = Asked {
        host: host_sent(&request.host, route.is_tls(config)),
        path: &request.path,
        method: Some(&request.method),
    };
    let sent = rewrite::answers(config, route, asked);
    all.extend(sent.iter().map(|sent| redirected(config, sent)));
    let requests = Requests::to(&request.host, &request.path);
    let leads = route.pass(config, path).is_some() || route.rewritten(config, &requests).is_some();
    let passed = leads && !sent.iter().any(|sent| sent.certain);
    let located = located(config, route, &requests);
    let within = Within { config, route, request, path, passed, located };
    all.extend(required(&within));
    all.extend(compat(&within));
    all.extend(files(&within, &requests));
    all.extend(slow(config, route));
    all
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

/// Lines of the head, and how many there are (server/core.c; server/protocol.c: read_request_line, ap_get_mime_headers_core).
fn too_large(config: &Config, route: &Route<'_>, request: &Request) -> Vec<OwnAnswer> {
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
    match &words[..] {
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
        all => format!("none of {} grants access", all.join(", ")),
    };
    Some(OwnAnswer { statuses, signature, certain, when, ..of(within.config, first.found, &[]) })
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
    Some(OwnAnswer { signature, certain, when, ..of(within.config, one.found, &[403]) })
}

/// Files that httpd serves itself.
fn files(within: &Within<'_>, requests: &Requests) -> Option<OwnAnswer> {
    let found = within.route.of_host(within.config, &["documentroot"]).filter(|_| !within.passed)?;
    let handled = !within.in_force(&["sethandler", "addhandler"]).is_empty()
        || !matches!(handler::goes(within.config, within.route, requests), Goes::Nowhere);
    let when = "there is no such file, or it may not be read".to_owned();
    Some(OwnAnswer { certain: !handled, when, ..of(within.config, found, &[403, 404]) })
}

/// A request that does not come in time: without the directive, the module's own times are in force.
fn slow(config: &Config, route: &Route<'_>) -> Option<OwnAnswer> {
    let setting = &REQUEST_READ_TIMEOUT;
    let default = || OwnAnswer {
        statuses: vec![408],
        ..OwnAnswer::of(setting.directive, setting.default, Origin::Default(setting.source.to_owned()))
    };
    let found = route.of_host(config, &["requestreadtimeout"]);
    let when = "the head or the body of a request does not come in time".to_owned();
    let signature = Some(signature::REQUEST_SLOW.to_owned());
    let answer = found.map_or_else(default, |found| of(config, found, &[408]));
    config.has_module("reqtimeout_module").then_some(OwnAnswer { when, signature, ..answer })
}

#[cfg(test)]
mod tests {
    use super::*;

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
