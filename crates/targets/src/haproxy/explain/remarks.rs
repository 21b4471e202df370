//! What is wrong with a configuration, or is not what it seems.

use std::collections::BTreeMap;

use genkai_model::explain::{Remark, RemarkKind};

use super::values::{self, key};
use crate::explain::{place, remark};
use crate::files::Requests;
use crate::files::names::{nearest, table};
use crate::haproxy::config::{Config, Found, Section};
use crate::haproxy::limits::{Facts, ways};
use crate::haproxy::proxy::{Mode, giving, mode, parameter, servers};
use crate::haproxy::route::Route;
use crate::haproxy::settings::{HTTP_REUSE, TABLE, value};

/// Keywords of `global` and of proxies with the sections that take them (HAProxy 2.6's own list, `haproxy -dKcfg`, and the keyword
/// tables of the source up to 3.5; `removed`: of versions before 2.6).
static KEYWORDS: &str = include_str!("directives.txt");
/// What `timeout` is followed by, with the side that it needs (src/proxy.c: `proxy_parse_timeout`).
const TIMEOUTS: &[(&str, Side)] = &[
    ("client", Side::Front),
    ("client-fin", Side::Front),
    ("client-hs", Side::Front),
    ("http-request", Side::Either),
    ("http-keep-alive", Side::Either),
    ("tarpit", Side::Either),
    ("connect", Side::Back),
    ("server", Side::Back),
    ("server-fin", Side::Back),
    ("queue", Side::Back),
    ("check", Side::Back),
    ("tunnel", Side::Back),
];

/// The side of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Front,
    Back,
    Either,
}

pub(super) fn of(config: &Config, facts: &Facts, requests: &Requests) -> Vec<Remark> {
    let mut all = names(config);
    all.extend(values::refused(config));
    all.extend(clamps(facts));
    all.extend(contradictions(config, facts, requests));
    all.extend(without_effect(config, facts, requests));
    all.extend(skipped(config));
    all.extend(unsure(config, requests));
    all.sort();
    all.dedup();
    all
}

/// Keywords that HAProxy does not have (it does not start), and those in a section that cannot use them (it warns and goes on).
fn names(config: &Config) -> Vec<Remark> {
    let known: BTreeMap<&str, &str> = table(KEYWORDS).collect();
    let before = config.sections().first().map_or(config.found().len(), |s| s.lines.start);
    let orphan = |found: &Found| {
        let text = "stands in no section: HAProxy does not start".to_owned();
        remark(RemarkKind::Unknown, Some(config.place(found)), &key(found), text, None)
    };
    let mut out: Vec<Remark> = config.found()[..before].iter().map(orphan).collect();
    for section in config.sections() {
        let kind = section.kind.as_str();
        if !matches!(kind, "global" | "defaults" | "frontend" | "listen" | "backend") {
            continue;
        }
        for found in config.inside(section) {
            let say = |kind, text: String, hint| {
                out.push(remark(kind, Some(config.place(found)), &key(found), text, hint));
            };
            match known.get(found.name()) {
                None => unknown(found, say),
                Some(sections) => misplaced(section, found, sections, say),
            }
        }
    }
    out
}

fn unknown(found: &Found, mut say: impl FnMut(RemarkKind, String, Option<String>)) {
    let near = nearest(found.name(), table(KEYWORDS).map(|(n, _)| n));
    let text = "there is no such keyword: HAProxy does not start".to_owned();
    say(RemarkKind::Unknown, text, near.map(|n| format!("did you mean {n}?")));
}

fn misplaced(
    section: &Section,
    found: &Found,
    sections: &str,
    mut say: impl FnMut(RemarkKind, String, Option<String>),
) {
    let kind = section.kind.as_str();
    if sections == "removed" {
        let text = "was removed before HAProxy 2.6: it does not start".to_owned();
        return say(RemarkKind::Unknown, text, None);
    }
    if !sections.split(',').any(|s| s == kind) {
        let proxy = sections.split(',').any(|s| s != "global");
        let belongs = Some(format!("it belongs into {}", sections.replace(',', ", ")));
        let (kind, text) = if kind == "global" || !proxy || kind == "defaults" {
            (RemarkKind::Unknown, "is not allowed here: HAProxy does not start".to_owned())
        } else {
            (RemarkKind::Ignored, format!("is ignored: a {kind} has no use for it"))
        };
        return say(kind, text, belongs);
    }
    if found.name() != "timeout" {
        return;
    }
    match TIMEOUTS.iter().find(|(name, _)| Some(*name) == found.arg(0)) {
        None => {
            let near = nearest(found.arg(0).unwrap_or_default(), TIMEOUTS.iter().map(|(n, _)| *n));
            let text = "there is no such timeout: HAProxy does not start".to_owned();
            say(RemarkKind::Unknown, text, near.map(|n| format!("did you mean timeout {n}?")));
        }
        Some((_, side)) => {
            let fits = match side {
                Side::Front => kind != "backend",
                Side::Back => kind != "frontend",
                Side::Either => true,
            };
            if !fits {
                let other = if kind == "backend" { "frontend" } else { "backend" };
                let hint = Some(format!("it belongs into the {other}, or into defaults"));
                say(RemarkKind::Ignored, format!("is ignored: a {kind} has no use for it"), hint);
            }
        }
    }
}

/// Values that are not what is written.
fn clamps(facts: &Facts) -> Vec<Remark> {
    let mut out = Vec::new();
    if facts.backlog.value > facts.somaxconn && place(&facts.backlog.origin).is_some() {
        let text =
            format!("{} is taken as {}: net.core.somaxconn of this machine", facts.backlog.value, facts.somaxconn);
        let hint = format!("sysctl net.core.somaxconn={}", facts.backlog.value);
        out.push(remark(RemarkKind::Clamped, place(&facts.backlog.origin), "backlog", text, Some(hint)));
    }
    let room = facts.nofile.value.saturating_sub(facts.own) / 2;
    if let Some(place) = place(&facts.nofile.origin).filter(|_| room < facts.maxconn.value && !facts.strict) {
        let text = format!(
            "leaves room for {room} connections, not for maxconn {}: beyond them accept(2) fails",
            facts.maxconn.value
        );
        let hint = format!("write {}, or leave ulimit-n out: HAProxy computes it", facts.needed());
        out.push(remark(RemarkKind::Clamped, Some(place), "ulimit-n", text, Some(hint)));
    }
    if let Some(held) = facts.front_maxconn.as_ref().filter(|held| held.value > facts.maxconn.value) {
        let text = format!(
            "{} of `{}` is never reached: the process takes {} in all",
            held.value, facts.front, facts.maxconn.value
        );
        let hint = Some(format!("maxconn {} in global", held.value));
        out.push(remark(RemarkKind::Clamped, place(&held.origin), "frontend.maxconn", text, hint));
    }
    out
}

fn contradictions(config: &Config, facts: &Facts, requests: &Requests) -> Vec<Remark> {
    let mut out = Vec::new();
    let mut say = |place: Option<String>, setting: &str, text: String, hint: String| {
        out.push(remark(RemarkKind::Contradiction, place, setting, text, Some(hint)));
    };
    if facts.needed() > facts.nofile.value && facts.strict {
        let text = format!(
            "{} connections need {} descriptors, and there are {} (at most {}: {}): HAProxy does not start",
            facts.maxconn.value,
            facts.needed(),
            facts.nofile.value,
            facts.nofile_ceiling.value,
            facts.nofile_ceiling.by
        );
        let room = facts.nofile.value.saturating_sub(facts.own) / 2;
        match place(&facts.nofile.origin) {
            Some(at) => say(Some(at), "ulimit-n", text, "leave it out: HAProxy asks for what maxconn needs".to_owned()),
            None => {
                say(place(&facts.maxconn.origin), "maxconn", text, format!("write at most {room}, or raise ulimit -n"))
            }
        }
    }
    if let Some((asked, hard)) = facts.beyond.filter(|_| facts.strict) {
        let at = config.global("fd-hard-limit").map(|found| config.place(found));
        let text = format!("{hard} is below the {asked} descriptors that it asks for: HAProxy does not start");
        say(at, "fd-hard-limit", text, format!("write at least {asked}, or leave maxconn and ulimit-n out"));
    }
    if facts.threads.value > facts.cores && place(&facts.threads.origin).is_some() {
        let text = format!("{} threads share {} cores: they make each other wait", facts.threads.value, facts.cores);
        say(place(&facts.threads.origin), "nbthread", text, "leave it out: HAProxy takes one a core".to_owned());
    }
    let Some(route) = Route::find(config, requests) else { return out };
    for server in route.servers(config) {
        let number =
            |key: &str| value::whole(parameter(route.back.and_then(|back| giving(config, back, &server, key))?, key)?);
        if let (Some(min), Some(max)) = (number("minconn"), number("maxconn").filter(|max| *max > 0))
            && min > max
        {
            let text = format!("{min} is above maxconn {max} of the same server: the server gets {min}");
            say(Some(config.place(server.found)), "server.minconn", text, format!("write at most {max}"));
        }
    }
    missing_timeouts(config, &route, &mut say);
    out
}

/// HAProxy warns of these and goes on without a bound: what is silent stays for ever and keeps its slot.
fn missing_timeouts(config: &Config, route: &Route<'_>, say: &mut impl FnMut(Option<String>, &str, String, String)) {
    let sides =
        [(Some(route.front), "timeout client"), (route.back, "timeout connect"), (route.back, "timeout server")];
    for (section, key) in sides {
        let Some(section) = section.filter(|s| config.value(s, key).is_none()) else { continue };
        let head = &config.found()[section.lines.start];
        let text = format!(
            "is missing in `{}`: who is silent keeps its connection for ever, of a number that is capped",
            section.title()
        );
        say(Some(config.place(head)), key, text, format!("{key} 30s"));
    }
}

/// What another setting, or its absence, makes pointless.
fn without_effect(config: &Config, facts: &Facts, requests: &Requests) -> Vec<Remark> {
    let mut out = Vec::new();
    let mut say = |found: &Found, setting: &str, text: String, hint: Option<&str>| {
        let hint = hint.map(str::to_owned);
        out.push(remark(RemarkKind::Ignored, Some(config.place(found)), setting, text, hint));
    };
    for section in config.sections() {
        again(config, section, &mut say);
        for found in in_tcp_mode(config, section) {
            let text = format!("has no effect: `{}` is in TCP mode", section.title());
            say(found, found.name(), text, Some("mode http"));
        }
    }
    let low = |f: &&Found| f.arg(0).and_then(value::whole).is_some_and(|n| n < facts.needed());
    if let Some(found) = config.global("ulimit-n").filter(low).filter(|_| facts.nofile.value >= facts.needed()) {
        let text =
            format!("has no effect: the process has {} already, and HAProxy never lowers that", facts.nofile.value);
        say(found, "ulimit-n", text, Some("leave it out: HAProxy asks for what maxconn needs"));
    }
    let Some(back) = Route::find(config, requests).and_then(|route| route.back) else { return out };
    let servers = servers(config, back);
    // Servers that a remark is not sure about: none, or what resolvers find.
    if servers.is_empty() {
        return out;
    }
    let grows = servers.iter().any(|s| s.minconn != s.maxconn);
    let capped = servers.iter().any(|s| s.maxconn > 0);
    if let Some(found) = config.value(back, "fullconn").filter(|_| !grows) {
        let text =
            "has no effect: no server has a minconn below its maxconn, and only that grows with the load towards it"
                .to_owned();
        say(found, "fullconn", text, Some("server ... minconn N maxconn M"));
    }
    // One line of `defaults` may count for several sections that requests reach.
    let elsewhere = |found: &Found| {
        let (ways, is_told) = ways(config, Route::find(config, requests).as_ref(), requests);
        let waits = |back: &Section| config.value(back, "timeout queue") == Some(found) && is_capped(config, back);
        let reached = ways.iter().flat_map(|way| way.back.into_iter().chain(way.others.iter().copied()));
        !is_told || reached.into_iter().any(waits)
    };
    if let Some(found) = config.value(back, "timeout queue").filter(|found| !capped && !elsewhere(found)) {
        let text = format!("has no effect: no server of `{}` has a maxconn, so nothing ever waits", back.title());
        say(found, "timeout queue", text, Some("server ... maxconn N"));
    }
    out
}

/// Whether a server of a section has a `maxconn`.
fn is_capped(config: &Config, back: &Section) -> bool {
    servers(config, back).iter().any(|server| server.maxconn > 0)
}

/// Lines on requests of a section that sees none (src/cfgparse.c, check_config_validity: a warning).
fn in_tcp_mode<'c>(config: &'c Config, section: &'c Section) -> impl Iterator<Item = &'c Found> {
    let bytes = (section.is_front() || section.is_back()) && mode(config, section) == Mode::Tcp;
    let switches = || config.inside(section).iter().any(|f| f.words.iter().any(|word| word.value == "switch-mode"));
    let lines = if bytes && !switches() { config.inside(section) } else { &[] };
    let keys = ["http-request", "http-response", "http-after-response", "redirect", "monitor-uri", "stats"];
    lines.iter().filter(move |found| keys.iter().any(|key| found.is(key)))
}

/// A limit that is set twice in one section: the later one counts, but for some of `global`.
fn again(config: &Config, section: &Section, say: &mut impl FnMut(&Found, &str, String, Option<&str>)) {
    let mut seen: BTreeMap<&str, &Found> = BTreeMap::new();
    let single =
        |f: &Found| TABLE.settings.iter().find(|s| f.is(s.directive) && s.name != HTTP_REUSE.name).map(|s| s.directive);
    for found in config.inside(section) {
        let Some(keyword) = single(found).filter(|_| !matches!(found.name(), "server" | "default-server")) else {
            continue;
        };
        let Some(before) = seen.insert(keyword, found) else { continue };
        let counts = if section.kind == "global" { config.global(keyword) } else { config.value(section, keyword) };
        match counts {
            Some(counts) if counts == before => {
                let text = format!("was set at {}: HAProxy takes no second one", config.place(before));
                say(found, keyword, text, None);
                seen.insert(keyword, before);
            }
            _ => say(before, keyword, format!("is set again at {}: the later one counts", config.place(found)), None),
        }
    }
}

/// Limits that a condition takes out.
fn skipped(config: &Config) -> Vec<Remark> {
    let limits = config.skipped().iter().filter(|(found, _)| TABLE.find(&key(found)).is_some());
    let say = |(found, condition): &(Found, String)| {
        let text = format!("does not count: `{condition}` is not so here");
        remark(RemarkKind::Ignored, Some(config.place(found)), &key(found), text, None)
    };
    limits.map(say).collect()
}

/// Rules on the way of these requests that more than the configuration decides.
fn unsure(config: &Config, requests: &Requests) -> Vec<Remark> {
    let Some(route) = Route::find(config, requests).filter(|route| route.answered.is_none()) else { return Vec::new() };
    let say = |rule: &&Found| {
        let text = match rule.name() {
            "use_backend" | "use-server" => {
                "decides where requests go by more than this file: which servers get them, and how many"
            }
            _ => {
                "may keep requests from the servers, and more than this file decides which: the limits count only those that it lets through"
            }
        };
        let words = rule.words.iter().map(|word| word.value.as_str());
        let words: Vec<&str> = words.take_while(|word| !matches!(*word, "if" | "unless")).take(3).collect();
        remark(RemarkKind::Unsure, Some(config.place(rule)), &words.join(" "), text.to_owned(), None)
    };
    route.doubts.iter().map(say).collect()
}
