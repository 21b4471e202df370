//! The members of a balancer: which of them get requests, and their parameters.

use std::collections::BTreeSet;

use crate::apache::config::{Config, Found};

/// A backend of a balancer (`BalancerMember`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// The directive.
    pub found: &'a Found,
    /// Its URL.
    pub url: String,
    /// Its `key=value`s, later ones last.
    values: Vec<(String, String)>,
}

impl Member<'_> {
    /// The value of a parameter: of several the last counts.
    pub fn parameter(&self, key: &str) -> Option<&str> {
        self.values.iter().rev().find(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| value.as_str())
    }

    /// The value that the directive itself has, and no `ProxySet`.
    pub(in crate::apache) fn own(&self, key: &str) -> Option<&str> {
        let named = |arg: &&String| arg.split_once('=').is_some_and(|(name, _)| name.eq_ignore_ascii_case(key));
        self.found.args.iter().rev().find(named)?.split_once('=').map(|(_, value)| value)
    }

    /// Whether its status has a letter switched on (mod_proxy.c: set_worker_param, `status=+H`).
    fn is(&self, letter: char) -> bool {
        let mut on = false;
        for status in self.values.iter().filter(|(name, _)| name.eq_ignore_ascii_case("status")).map(|(_, v)| v) {
            let (sign, letters) =
                status.strip_prefix('-').map_or((true, status.trim_start_matches('+')), |l| (false, l));
            on = if letters.to_ascii_uppercase().contains(letter) { sign } else { on };
        }
        on
    }

    /// Whether no error keeps requests from it (`status=+I`).
    pub(in crate::apache) fn ignores_errors(&self) -> bool {
        self.is('I')
    }

    /// Neither disabled nor stopped, nor failed a check of its health (PROXY_WORKER_NOT_USABLE_BITMAP), nor draining.
    fn is_usable(&self) -> bool {
        !['D', 'S', 'C', 'N'].into_iter().any(|letter| self.is(letter))
    }
}

/// Since when a log can be that of all virtual hosts, whatever logs they have of their own (`GlobalLog`).
pub(super) const GLOBAL_LOG: (u32, u32, u32) = (2, 4, 19);

/// Whether there are members of balancers to be told apart by what they answer, and this httpd can write that down.
pub fn answers_are_told(config: &Config) -> bool {
    config.named("balancermember").nth(1).is_some()
        && config.has_module("log_config_module")
        && config.version() >= GLOBAL_LOG
}

/// The members of the balancer that a URL names. None: it names no balancer.
pub fn members<'c>(config: &'c Config, url: &str) -> Option<Members<'c>> {
    Some(members_but(config, url, &|_| false)?.0)
}

/// The same where some are in error (`out`), and these. One that is told to ignore errors is asked all the same.
pub(in crate::apache) fn members_but<'c>(
    config: &'c Config,
    url: &str,
    out: &dyn Fn(&Member<'_>) -> bool,
) -> Option<(Members<'c>, Vec<Member<'c>>)> {
    let name = balancer(url)?;
    let mine: Vec<Member<'c>> = config.found().iter().filter_map(|found| member(found, &name)).collect();
    let set = |member: &Member<'c>| {
        let of =
            |found: &&Found| found.name == "proxyset" && section(found).is_some_and(|url| is_same(url, &member.url));
        let more = config.found().iter().filter(of).flat_map(|found| pairs(&found.args));
        let values = member.values.iter().cloned().chain(more).collect();
        Member { values, ..member.clone() }
    };
    let all: Vec<Member<'c>> = mine.iter().map(set).collect();
    let failing: Vec<Member<'c>> = all.iter().filter(|one| one.is_usable() && out(one)).cloned().collect();
    let among = |some: &[Member<'c>], one: &Member<'c>| some.iter().any(|f| std::ptr::eq(f.found, one.found));
    let takes = |one: &Member<'c>| one.is_usable() && (one.ignores_errors() || !among(&failing, one));
    let first = elected(&all, &takes);
    let further = all.iter().filter(|one| takes(one) && !among(&first, one));
    let tries = attempts(config, &name).unwrap_or(all.len() as u64) >= all.len().saturating_sub(1) as u64;
    let further = first.iter().all(|one| tries && !one.ignores_errors()).then(|| further.cloned().collect());
    Some((Members { first, further }, failing))
}

/// The members of a balancer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members<'a> {
    /// Which take requests as long as all live.
    pub first: Vec<Member<'a>>,
    /// Which are given a request that none of those had a connection for within `acquire`: it failed there (503), and the member gets none for
    /// its `retry`, but where it is told to ignore errors (`status=+I`). Spares, the next `lbset`, hot standbys (mod_proxy.c: proxy_handler; measured
    /// on 2.4.71). None: it is given to nobody else.
    pub further: Option<Vec<Member<'a>>>,
}

/// How many times a request is given to a further member, where that is written (`maxattempts`); else as often as there are others.
fn attempts(config: &Config, name: &str) -> Option<u64> {
    let of = |found: &&Found| match found.name.as_str() {
        "proxyset" => section(found).or(found.arg(0)).and_then(balancer).is_some_and(|of| of == name),
        "proxypass" => found.args.iter().any(|word| balancer(word).is_some_and(|of| of == name)),
        _ => false,
    };
    let all = config.found().iter().filter(of).flat_map(|found| pairs(&found.args));
    let written = all.filter(|(key, _)| key.eq_ignore_ascii_case("maxattempts")).last()?.1;
    Some(written.parse().unwrap_or(0))
}

/// Of the first `lbset` that has any: the members that take requests, and for each one that is not a spare; where there is none its hot
/// standbys (modules/proxy/proxy_util.c: ap_proxy_balancer_get_best_worker).
fn elected<'c>(all: &[Member<'c>], takes: &dyn Fn(&Member<'c>) -> bool) -> Vec<Member<'c>> {
    let set = |member: &Member<'_>| member.parameter("lbset").and_then(|n| n.parse::<u8>().ok()).unwrap_or(0);
    let sets: BTreeSet<u8> = all.iter().map(set).collect();
    let of = |(wanted, standby): (u8, bool)| {
        let here = all.iter().filter(|m| set(m) == wanted && m.is('H') == standby);
        let (spares, others): (Vec<_>, Vec<_>) = here.partition(|m| m.is('R'));
        let (usable, unusable): (Vec<_>, Vec<_>) = others.into_iter().partition(|m| takes(m));
        let spares = spares.into_iter().filter(|m| takes(m)).take(unusable.len());
        usable.into_iter().chain(spares).cloned().collect::<Vec<_>>()
    };
    let mut groups = sets.into_iter().flat_map(|set| [(set, false), (set, true)]);
    groups.find_map(|group| Some(of(group)).filter(|some| !some.is_empty())).unwrap_or_default()
}

/// The name in `balancer://NAME/path`; it has no case.
fn balancer(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let name = rest.split(['/', '?']).next()?;
    scheme.eq_ignore_ascii_case("balancer").then(|| name.to_ascii_lowercase())
}

/// The URL of the innermost `<Proxy>` around a directive.
fn section(found: &Found) -> Option<&str> {
    found.context.iter().rev().find(|s| s.name == "proxy").and_then(|s| s.args.first()).map(String::as_str)
}

fn is_same(one: &str, other: &str) -> bool {
    one.trim_end_matches('/').eq_ignore_ascii_case(other.trim_end_matches('/'))
}

/// `BalancerMember [balancer://NAME] URL [key=value]...`, within `<Proxy balancer://NAME>` without the first.
fn member<'c>(found: &'c Found, name: &str) -> Option<Member<'c>> {
    let args = Some(found).filter(|f| f.name == "balancermember").map(|f| &f.args[..])?;
    let (of, rest) = match section(found) {
        Some(url) => (balancer(url)?, args),
        None => (balancer(args.first()?)?, &args[1..]),
    };
    let (url, rest) = rest.split_first()?;
    (of == name).then(|| Member { found, url: url.clone(), values: pairs(rest).collect() })
}

/// Words of the form `key=value`.
fn pairs(args: &[String]) -> impl Iterator<Item = (String, String)> {
    args.iter().filter_map(|a| a.split_once('=')).map(|(key, value)| (key.to_owned(), value.to_owned()))
}
