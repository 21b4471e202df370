//! Settings that end something after a time.

use genkai_model::explain::Timer;
use genkai_model::units::Span;

use crate::apache::config::Config;
use crate::apache::limits::{Facts, answers};
use crate::apache::settings::{
    KEEP_ALIVE_TIMEOUT, PROXY_PASS_ACQUIRE, PROXY_PASS_RETRY, REQUEST_READ_TIMEOUT, TIMEOUT, in_force, value,
};
use crate::files::Requests;

/// How a time is read.
type Read = fn(&str) -> Option<Span>;

fn milliseconds(text: &str) -> Option<Span> {
    value::interval(text, 1).map(Span::from_millis)
}

fn seconds(text: &str) -> Option<Span> {
    u64::try_from(value::atoi(text)).ok().map(Span::from_secs)
}

pub(super) fn of(config: &Config, facts: &Facts, requests: &Requests) -> Vec<Timer> {
    let silent = "a client or backend that neither takes nor sends a byte";
    let mut all = vec![facts.timeout.clone().map(Some).timer(TIMEOUT.name, silent)];
    if facts.keep_alive {
        let idle = facts.keep_alive_timeout.clone();
        all.push(idle.map(Some).timer(KEEP_ALIVE_TIMEOUT.name, "a kept connection without a next request"));
    }
    if let Some(upstream) = &facts.upstream {
        let (setting, time) = &facts.proxy_timeout;
        let tunnel = "a tunnel in which both sides are silent (where Timeout is longer, Timeout counts)";
        let answer = format!("a backend that is silent: Apache answers {}", answers(&upstream.scheme).0);
        all.push(time.clone().map(Some).timer(setting, if facts.websocket { tunnel } else { &answer }));
    }
    if config.has_module("reqtimeout_module") {
        let ends = "a request that comes too slowly: Apache answers 408";
        let times = in_force(config, &REQUEST_READ_TIMEOUT, requests).map(|()| None);
        all.push(times.timer(REQUEST_READ_TIMEOUT.name, ends));
    }
    let pass = [
        (
            PROXY_PASS_ACQUIRE,
            milliseconds as Read,
            "a request that waits for a connection of the pool: Apache answers 503",
        ),
        (PROXY_PASS_RETRY, seconds, "the time in which a backend that failed is not asked again"),
    ];
    let timer = |(setting, span, ends): (_, Read, &str)| {
        Some(in_force(config, &setting, requests).parsed(span)?.map(Some).timer(setting.name, ends))
    };
    // The members of a balancer have parameters of their own.
    let alone = facts.upstream.as_ref().is_some_and(|upstream| !upstream.balanced);
    all.extend(pass.into_iter().filter(|_| alone).filter_map(timer));
    all
}
