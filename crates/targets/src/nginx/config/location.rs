//! Which `location` a path is in, by nginx's rules (`ngx_http_core_find_location`).

use super::Found;
use crate::files::pattern::Reads;

/// How a location is chosen.
pub(super) enum Rule {
    Exact,
    Prefix { last: bool },
    Regex { blind: bool },
    Named,
}

/// Rule and pattern of a location (`ngx_http_core_location`: the modifier may be glued to the pattern).
pub(super) fn rule(location: &Found<'_>) -> Option<(Rule, Vec<u8>)> {
    let values: Vec<&[u8]> = location.directive.args().iter().map(|w| &*w.value).collect();
    let (modifier, pattern) = match values[..] {
        [modifier, pattern] => (modifier, pattern),
        [one] => {
            let length = [&b"^~"[..], b"~*", b"=", b"~"].iter().find(|m| one.starts_with(m)).map_or(0, |m| m.len());
            one.split_at(length)
        }
        _ => return None,
    };
    let rule = match modifier {
        b"=" => Rule::Exact,
        b"^~" => Rule::Prefix { last: true },
        b"~" => Rule::Regex { blind: false },
        b"~*" => Rule::Regex { blind: true },
        b"" if pattern.starts_with(b"@") => Rule::Named,
        b"" => Rule::Prefix { last: false },
        _ => return None,
    };
    Some((rule, pattern.to_vec()))
}

/// The regular expression of a location, if it has one.
pub(super) fn expression(location: &Found<'_>) -> Option<String> {
    match rule(location) {
        Some((Rule::Regex { .. }, pattern)) => Some(String::from_utf8_lossy(&pattern).into_owned()),
        _ => None,
    }
}

/// Whether a regular expression is in a text; none: that cannot be told.
pub(super) fn matches(pattern: &[u8], path: &str, blind: bool) -> Option<bool> {
    Reads { blind, whole: false }.matches(std::str::from_utf8(pattern).ok()?, path)
}

/// The locations of `block` that serve `path`, outermost first. `unknown` says whether a regular expression matches of which that cannot be told.
pub(super) fn locate<'a>(block: &Found<'a>, path: &str, unknown: &mut dyn FnMut(&Found<'a>) -> bool) -> Vec<Found<'a>> {
    let locations: Vec<_> = block
        .inside()
        .into_iter()
        .filter(|f| f.directive.is("location"))
        .filter_map(|f| rule(&f).map(|(rule, pattern)| (f, rule, pattern)))
        .collect();
    let exact = locations.iter().find(|(_, rule, p)| matches!(rule, Rule::Exact) && p == path.as_bytes());
    if let Some((found, ..)) = exact {
        return vec![found.clone()];
    }
    let prefix = locations
        .iter()
        .filter(|(_, rule, p)| matches!(rule, Rule::Prefix { .. }) && path.as_bytes().starts_with(p))
        .max_by_key(|(.., p)| p.len());
    let nested = prefix.map(|(found, rule, _)| {
        let mut chain = vec![found.clone()];
        chain.extend(locate(found, path, unknown));
        (chain, matches!(rule, Rule::Prefix { last: true }))
    });
    // A regular expression wins over a prefix, but not over `^~`, nor over an exact or regular one nested in the prefix.
    let decided = |chain: &[Found<'a>]| {
        chain.iter().skip(1).any(|f| matches!(rule(f), Some((Rule::Exact | Rule::Regex { .. }, _))))
    };
    if let Some((chain, last)) = &nested
        && (*last || decided(chain))
    {
        return chain.clone();
    }
    for (found, rule, pattern) in &locations {
        let Rule::Regex { blind } = rule else { continue };
        if matches(pattern, path, *blind).unwrap_or_else(|| unknown(found)) {
            let mut chain = vec![found.clone()];
            chain.extend(locate(found, path, unknown));
            return chain;
        }
    }
    nested.map(|(chain, _)| chain).unwrap_or_default()
}

/// The location that makes nginx send a client to `path/`: it is called so, passes requests on, and no other has the path's own name
/// (`auto_redirect` of ngx_http_core_find_static_location).
pub(super) fn slash<'a>(block: &Found<'a>, path: &str) -> Option<Found<'a>> {
    let all = || block.inside().into_iter().filter(|f| f.directive.is("location"));
    let plain = |f: &Found<'_>| match rule(f) {
        Some((Rule::Exact | Rule::Prefix { .. }, pattern)) => Some(pattern),
        _ => None,
    };
    let own = all().any(|f| plain(&f).is_some_and(|pattern| pattern == path.as_bytes()));
    let with = format!("{path}/");
    let is =
        |f: &Found<'_>| plain(f).is_some_and(|pattern| pattern == with.as_bytes()) && f.config.pass_in(f).is_some();
    all().filter(|_| !own).find(is)
}
