//! Values with which Caddy does not start (modules/caddyhttp/reverseproxy/caddyfile.go, caddyconfig/httpcaddyfile/serveroptions.go).

use std::collections::BTreeSet;

use genkai_model::explain::{Remark, RemarkKind};

use crate::caddy::config::{Config, Line};
use crate::caddy::route::{bound, upstreams};
use crate::caddy::settings::value;
use crate::explain::remark;

/// Options that take a time.
const TIMES: [&str; 20] = [
    "lb_try_duration",
    "lb_try_interval",
    "fail_duration",
    "health_interval",
    "health_timeout",
    "unhealthy_latency",
    "dial_timeout",
    "dial_fallback_delay",
    "response_header_timeout",
    "expect_continue_timeout",
    "read_timeout",
    "write_timeout",
    "tls_timeout",
    "keepalive",
    "keepalive_interval",
    "read_body",
    "read_header",
    "write",
    "idle",
    "stream_timeout",
];
/// Options that take a whole number.
const NUMBERS: [&str; 7] = [
    "max_fails",
    "unhealthy_request_count",
    "lb_retries",
    "health_port",
    "keepalive_idle_conns",
    "keepalive_idle_conns_per_host",
    "max_conns_per_host",
];
/// Options that take a size.
const SIZES: [&str; 6] =
    ["max_buffer_size", "read_buffer", "write_buffer", "max_response_header", "max_header_size", "max_size"];
/// Options without a value.
const BARE: [&str; 2] = ["buffer_requests", "buffer_responses"];
/// Options that a `reverse_proxy` has once.
const ONCE: [&str; 3] = ["lb_policy", "transport", "dynamic"];
/// Ways of choosing an upstream (modules/caddyhttp/reverseproxy/selectionpolicies.go, 2.6 to 2.11).
const POLICIES: [&str; 12] = [
    "random",
    "random_choose",
    "least_conn",
    "round_robin",
    "weighted_round_robin",
    "first",
    "ip_hash",
    "client_ip_hash",
    "uri_hash",
    "query",
    "header",
    "cookie",
];

/// What is defined twice, so that Caddy does not start: addresses of two sites at one listener, and options for the same servers.
pub(super) fn twice(config: &Config) -> Vec<Remark> {
    let mut seen = BTreeSet::new();
    let tell = |line: &Line, what: String| {
        remark(
            RemarkKind::Unknown,
            Some(config.place(line)),
            what.as_str(),
            "stands here a second time: Caddy does not start".to_owned(),
            None,
        )
    };
    let mut all = Vec::new();
    for site in config.sites() {
        let own: BTreeSet<(&str, Vec<String>)> =
            site.addresses.iter().map(|word| (word.value.as_str(), bound(config, site))).collect();
        all.extend(
            own.iter().find(|one| seen.contains(*one)).map(|(address, _)| tell(&site.head, (*address).to_owned())),
        );
        seen.extend(own);
    }
    let servers = config.global().into_iter().flat_map(Line::inside).filter(|line| line.is("servers"));
    let mut known = BTreeSet::new();
    all.extend(
        servers
            .filter(|line| !known.insert(line.arg(0).map(|word| &word.value)))
            .map(|line| tell(line, config.written(line))),
    );
    all
}

/// What is to be said of a line in a block of this kind.
pub(super) fn of(config: &Config, block: &str, line: &Line) -> Vec<Remark> {
    let tell = |line: &Line, what: String| {
        let text = format!("{what}: Caddy does not start");
        remark(RemarkKind::Unknown, Some(config.place(line)), line.name(), text, None)
    };
    let mut all: Vec<Remark> = Vec::new();
    if ["reverse_proxy", "transport", "timeouts", "servers"].contains(&block) {
        all.extend(wrong(line).map(|what| tell(line, what)));
    }
    if block == "site" && line.is("request_body") {
        all.extend(line.inside().iter().filter_map(|line| Some(tell(line, wrong(line)?))));
    }
    if block == "site" && line.is("reverse_proxy") {
        for name in ONCE {
            let again = line.inside().iter().filter(|one| one.name() == name).nth(1);
            all.extend(again.map(|again| tell(again, "stands here a second time".to_owned())));
        }
        all.extend(schemes(line).map(|what| tell(line, what)));
    }
    all
}

/// What is wrong with an option's value.
fn wrong(line: &Line) -> Option<String> {
    let words: Vec<&str> = line.args().iter().map(|word| word.value.as_str()).collect();
    let takes = |right: fn(&str) -> bool, what: &str| match words[..] {
        [] => Some(format!("needs {what}")),
        [one] if right(one) => None,
        [one] => Some(format!("takes {what}, not `{one}`")),
        [_, more, ..] => Some(format!("takes {what}; `{more}` is one word too many")),
    };
    match line.name() {
        "keepalive" if words == ["off"] => None,
        "lb_policy" => takes(|_| true, "the name of a policy")
            .filter(|_| words.len() != 2 && words.len() != 3)
            .or_else(|| policy(&words)),
        name if TIMES.contains(&name) => takes(is_time, "a time with its unit, such as 10s"),
        name if NUMBERS.contains(&name) => takes(is_number, "a whole number"),
        name if SIZES.contains(&name) => takes(|text| value::size(text).is_some(), "a size, such as 10MB"),
        name if BARE.contains(&name) && !words.is_empty() => Some("takes no value".to_owned()),
        _ => None,
    }
}

fn policy(words: &[&str]) -> Option<String> {
    let name = words.first()?;
    let text = match *name {
        name if !POLICIES.contains(&name) => format!("there is no policy `{name}`"),
        "header" | "query" if words.len() < 2 => format!("the policy `{name}` needs the name of one"),
        _ => return None,
    };
    Some(text)
}

/// Go's `time.ParseDuration`, with days: a sign may stand before it.
fn is_time(text: &str) -> bool {
    value::time(text.strip_prefix(['-', '+']).unwrap_or(text)).is_some()
}

/// Go's `strconv.Atoi`.
fn is_number(text: &str) -> bool {
    text.parse::<i64>().is_ok()
}

/// What is wrong with the schemes of upstreams: those after one with a scheme must have the same.
fn schemes(proxy: &Line) -> Option<String> {
    let mut common = "";
    for word in upstreams(proxy) {
        let text = word.value.as_str();
        let scheme = match text.split_once("://") {
            Some((scheme, _)) => scheme,
            None if text.starts_with("unix+h2c/") => "h2c",
            None => "",
        };
        if !common.is_empty() && scheme != common {
            return Some(format!("`{text}` must have the scheme of the upstreams before it, {common}://"));
        }
        common = scheme;
    }
    None
}
