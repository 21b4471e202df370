//! Rules that answer a request by its path: those of mod_rewrite that forbid or redirect, and `Redirect` of mod_alias.

use genkai_model::load::host_sent;

use super::{Route, expression, is_in, under};
use crate::apache::config::{Config, Found, Section};
use crate::files::Requests;
use crate::files::pattern::Reads;

/// A rule that answers.
#[derive(Debug)]
pub(in crate::apache) struct Sent<'c> {
    pub(in crate::apache) found: &'c Found,
    pub(in crate::apache) status: u16,
    /// Whether it surely does.
    pub(in crate::apache) certain: bool,
    /// How many conditions it has.
    pub(in crate::apache) conditions: usize,
    /// Where it sends the client; none: it refuses.
    pub(super) to: Option<&'c str>,
}

/// A request as far as rules look at it.
#[derive(Clone, Copy, Debug)]
pub(in crate::apache) struct Asked<'r> {
    pub(in crate::apache) host: &'r str,
    /// With its query.
    pub(in crate::apache) path: &'r str,
    /// None: it is not known.
    pub(in crate::apache) method: Option<&'r str>,
}

/// The rules that may answer this request, in order.
pub(in crate::apache) fn answers<'c>(config: &'c Config, route: &Route<'_>, request: Asked<'_>) -> Vec<Sent<'c>> {
    let path = request.path.split('?').next().unwrap_or_default();
    let mut all = rewriting(config, route, request);
    // mod_proxy looks at a path before mod_alias does (modules/proxy/mod_proxy.c: proxy_trans).
    if route.pass(config, path).is_none() && !all.iter().any(|sent| sent.certain) {
        all.extend(redirects(config, route, path));
    }
    all
}

/// Directives of the virtual host itself, or of the main server where there is none, outside of sections.
fn own<'c>(config: &'c Config, route: &Route<'_>, names: &[&str]) -> Vec<&'c Found> {
    let host = route.host;
    let is = |found: &&Found| {
        found.host() == host
            && found.context.len() == usize::from(host.is_some())
            && names.contains(&found.name.as_str())
    };
    config.found().iter().filter(is).collect()
}

/// A `RewriteRule` that may hold.
pub(super) struct Rule<'c> {
    pub(super) found: &'c Found,
    pub(super) flags: Vec<String>,
    /// What the path becomes; none: it stays.
    pub(super) to: Option<&'c str>,
    /// Whether its pattern and its conditions do; none: that is not known.
    pub(super) holds: Option<bool>,
    pub(super) conditions: usize,
}

impl Rule<'_> {
    pub(super) fn has(&self, names: &[&str]) -> bool {
        has(&self.flags, names)
    }

    /// The status that it answers with.
    pub(super) fn status(&self) -> Option<u16> {
        status(&self.flags, self.to)
    }

    pub(super) fn passes(&self) -> bool {
        self.has(&["p", "proxy"])
    }
}

/// Those of the virtual host itself, for the path as it was asked for; none where they are off. They stand alone (`RewriteOptions Inherit` is told as not
/// sure).
pub(super) fn rules<'c>(config: &'c Config, route: &Route<'_>, request: Asked<'_>) -> Vec<Rule<'c>> {
    let path = request.path.split('?').next().unwrap_or_default();
    let on = own(config, route, &["rewriteengine"]).pop();
    if !on.is_some_and(|found| found.arg(0).is_some_and(|value| value.eq_ignore_ascii_case("on"))) {
        return Vec::new();
    }
    let (mut all, mut before) = (Vec::new(), Vec::new());
    for found in own(config, route, &["rewritecond", "rewriterule"]) {
        if found.name == "rewritecond" {
            before.push(found);
            continue;
        }
        let conditions = std::mem::take(&mut before);
        let flags = flags(found);
        let holds = matches(found.arg(0).unwrap_or_default(), path, has(&flags, &["nc", "nocase"]))
            .and_then(|holds| if holds { all_hold(&conditions, config, route, request) } else { Some(false) });
        let to = found.arg(1).filter(|to| *to != "-");
        all.push(Rule { found, flags, to, holds, conditions: conditions.len() });
    }
    all
}

/// Rules of mod_rewrite that answer.
fn rewriting<'c>(config: &'c Config, route: &Route<'_>, request: Asked<'_>) -> Vec<Sent<'c>> {
    let mut sure = own(config, route, &["rewriteoptions"]).is_empty();
    let mut all = Vec::new();
    for rule in rules(config, route, request).into_iter().filter(|rule| rule.holds != Some(false)) {
        if let Some(status) = rule.status() {
            let certain = sure && rule.holds == Some(true);
            let to = rule.to.filter(|_| (300..400).contains(&status));
            all.push(Sent { found: rule.found, status, certain, conditions: rule.conditions, to });
            if certain {
                break;
            }
        } else if rule.to.is_some() || rule.has(&["l", "last", "end", "s", "skip", "c", "chain", "n", "next"]) {
            // The path is another one from here on, or rules are left out.
            sure = false;
        }
    }
    all
}

/// Rules that may lead this request elsewhere than its path says: to a server (`[P]`), or to another path, where what stands behind depends on the path.
/// They are not followed, but where it is sure to which server (`Route::rewritten`).
pub(in crate::apache) fn leading<'c>(config: &'c Config, route: &Route<'_>, requests: &Requests) -> Vec<&'c Found> {
    if route.rewritten(config, requests).is_some() {
        return Vec::new();
    }
    let proxied = |found: &Found| found.arg(0).is_some_and(|to| to.starts_with("proxy:"));
    let by_path = ["proxypass", "proxypassmatch"].iter().any(|name| config.named(name).next().is_some())
        || config.named("sethandler").any(proxied);
    let mut all: Vec<&Found> = moving(config, route, requests)
        .into_iter()
        .filter(|rule| by_path || rule.passes())
        .map(|rule| rule.found)
        .collect();
    all.extend(inner(config, route, requests).filter(|found| by_path || has(&flags(found), &["p", "proxy"])));
    all
}

/// Whether rules may make another path of this one, before it is known which file it is for; those of folders are looked at after that.
pub(in crate::apache) fn may_move(config: &Config, route: &Route<'_>, requests: &Requests) -> bool {
    !moving(config, route, requests).is_empty() || inner(config, route, requests).next().is_some()
}

/// Rules of the virtual host that may lead elsewhere.
fn moving<'c>(config: &'c Config, route: &Route<'_>, requests: &Requests) -> Vec<Rule<'c>> {
    let request = Asked { host: host_sent(&requests.host, route.is_tls(config)), path: &requests.path, method: None };
    if rewriting(config, route, request).iter().any(|sent| sent.certain) {
        return Vec::new();
    }
    let (mut all, mut is_moved) = (Vec::new(), false);
    for rule in rules(config, route, request) {
        // Behind a rule that may have changed it, the path is not known.
        let may_hold = is_moved || rule.holds != Some(false);
        if !may_hold || rule.status().is_some() {
            continue;
        }
        let is_sure = rule.holds == Some(true);
        let is_last = is_sure && !is_moved && rule.to.is_none() && rule.has(&["l", "last", "end"]);
        let passes = rule.passes();
        is_moved |= rule.to.is_some();
        if passes || rule.to.is_some() {
            all.push(rule);
        }
        if is_last || passes && is_sure {
            break;
        }
    }
    all
}

/// Rules within sections that may hold this request, and are not those of a plain folder (`folder.rs`): their patterns are held against what is left of
/// a path there, which is not followed.
fn inner<'c>(config: &'c Config, route: &Route<'_>, requests: &Requests) -> impl Iterator<Item = &'c Found> {
    let path = requests.path.split('?').next().unwrap_or_default();
    let elsewhere = |section: &Section| {
        let first = section.args.first().map_or("", String::as_str);
        match (section.name.as_str(), expression(section)) {
            ("location" | "locationmatch", Some(pattern)) => is_in(pattern, path) == Some(false),
            ("location", None) => !under(path, first),
            _ => false,
        }
    };
    let host = route.host;
    let is_on = config.named("rewriteengine").any(|found| found.arg(0).is_some_and(|v| v.eq_ignore_ascii_case("on")));
    config.named("rewriterule").filter(move |found| {
        let inside = found.context.iter().filter(|section| section.name != "virtualhost");
        let mine = found.host().is_none() || found.host() == host;
        let flags = flags(found);
        let leads = found.arg(1).is_some_and(|to| to != "-" && status(&flags, Some(to)).is_none());
        let is_folder = |s: &Section| s.name == "directory" && expression(s).is_none();
        let is_open = inside.clone().any(|section| !is_folder(section)) || inside.clone().count() > 1;
        is_on && mine && leads && is_open && !inside.clone().any(elsewhere)
    })
}

/// The flags of a rule, `[F,L]`.
pub(in crate::apache) fn flags(found: &Found) -> Vec<String> {
    let last = found.args.get(2).map_or("", String::as_str);
    let inside = last.trim_start_matches('[').trim_end_matches(']');
    inside.split(',').map(|flag| flag.trim().to_ascii_lowercase()).collect()
}

pub(in crate::apache) fn has(flags: &[String], names: &[&str]) -> bool {
    flags.iter().any(|flag| names.contains(&flag.split('=').next().unwrap_or_default()))
}

/// The status that flags give (modules/mappers/mod_rewrite.c: cmd_rewriterule_setflag); an absolute address redirects by itself.
pub(super) fn status(flags: &[String], to: Option<&str>) -> Option<u16> {
    if has(flags, &["f", "forbidden"]) {
        return Some(403);
    }
    if has(flags, &["g", "gone"]) {
        return Some(410);
    }
    if has(flags, &["p", "proxy"]) {
        return None;
    }
    let written = flags.iter().find_map(|flag| match flag.split_once('=') {
        Some(("r" | "redirect", "permanent")) => Some(301),
        Some(("r" | "redirect", "temp")) => Some(302),
        Some(("r" | "redirect", "seeother")) => Some(303),
        Some(("r" | "redirect", code)) => code.parse().ok(),
        _ => (flag == "r" || flag == "redirect").then_some(302),
    });
    let away = || to.is_some_and(|to| to.starts_with("http://") || to.starts_with("https://"));
    written.or_else(|| away().then_some(302))
}

/// Whether a pattern, `!` before it for not, is in a text; none: that cannot be told.
pub(super) fn matches(pattern: &str, text: &str, blind: bool) -> Option<bool> {
    let (not, pattern) = pattern.strip_prefix('!').map_or((false, pattern), |pattern| (true, pattern));
    Some(Reads { blind, whole: true }.matches(pattern, text)? != not)
}

/// Whether conditions hold, of which `[OR]` joins one to the next; none: not known.
fn all_hold(conditions: &[&Found], config: &Config, route: &Route<'_>, request: Asked<'_>) -> Option<bool> {
    joined(conditions, |found| holds(found, config, route, request))
}

/// The same by what is known of each.
pub(super) fn joined(conditions: &[&Found], holds: impl Fn(&Found) -> Option<bool>) -> Option<bool> {
    let (mut all, mut any) = (Some(true), Some(false));
    for found in conditions {
        let holds = holds(found);
        any = either(any, holds);
        if !has(&flags(found), &["or", "ornext"]) {
            all = either(all.map(|b| !b), any.map(|b| !b)).map(|b| !b);
            any = Some(false);
        }
    }
    all
}

/// Of two of which one is enough.
fn either(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

/// Whether one condition holds; none: something else decides it than the request and the configuration.
pub(super) fn holds(found: &Found, config: &Config, route: &Route<'_>, request: Asked<'_>) -> Option<bool> {
    let name = found.arg(0)?.strip_prefix("%{")?.strip_suffix('}')?;
    let value = value(name, config, route, request)?;
    let (blind, pattern) = (has(&flags(found), &["nc", "nocase"]), found.arg(1)?);
    let (not, plain) = pattern.strip_prefix('!').map_or((false, pattern), |pattern| (true, pattern));
    match plain.chars().next() {
        Some('=') => {
            let same = if blind { value.eq_ignore_ascii_case(&plain[1..]) } else { value == plain[1..] };
            Some(same != not)
        }
        Some('-' | '<' | '>') => None,
        _ => matches(pattern, &value, blind),
    }
}

/// What a variable of mod_rewrite stands for; none: that is not known.
pub(super) fn value(name: &str, config: &Config, route: &Route<'_>, request: Asked<'_>) -> Option<String> {
    Some(match name {
        "HTTPS" => if route.is_tls(config) { "on" } else { "off" }.to_owned(),
        "REQUEST_URI" => request.path.split('?').next()?.to_owned(),
        "QUERY_STRING" => request.path.split_once('?').map_or("", |(_, query)| query).to_owned(),
        "REQUEST_METHOD" => request.method?.to_owned(),
        "HTTP_HOST" => request.host.to_owned(),
        "SERVER_NAME" => request.host.split(':').next()?.to_owned(),
        _ => return None,
    })
}

/// `Redirect` and its kind (modules/mappers/mod_alias.c).
pub(super) const REDIRECTS: [&str; 4] = ["redirect", "redirectpermanent", "redirecttemp", "redirectmatch"];

/// Those of the virtual host, then those of the server: the first whose path holds.
fn redirects<'c>(config: &'c Config, route: &Route<'_>, path: &str) -> Option<Sent<'c>> {
    let own = own(config, route, &REDIRECTS).into_iter();
    let global =
        config.found().iter().filter(|f| route.host.is_some() && f.is_global() && REDIRECTS.contains(&f.name.as_str()));
    redirecting(own.chain(global), path)
}

/// The first of these whose path holds.
pub(super) fn redirecting<'c>(all: impl Iterator<Item = &'c Found>, path: &str) -> Option<Sent<'c>> {
    let mut all = all;
    all.find_map(|found| {
        let code = |word: &str| match word {
            "permanent" => Some(301),
            "temp" => Some(302),
            "seeother" => Some(303),
            "gone" => Some(410),
            number => number.parse().ok(),
        };
        let (status, rest) = match (found.name.as_str(), found.arg(0).and_then(code)) {
            ("redirect" | "redirectmatch", Some(code)) => (code, &found.args[1..]),
            ("redirectpermanent", _) => (301, &found.args[..]),
            _ => (302, &found.args[..]),
        };
        let of = rest.first()?;
        let holds = if found.name == "redirectmatch" { matches(of, path, false) } else { Some(under(path, of)) };
        (holds != Some(false)).then_some(Sent {
            found,
            status,
            certain: holds == Some(true),
            conditions: 0,
            to: rest.get(1).map(String::as_str),
        })
    })
}
