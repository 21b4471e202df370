//! Settings that end something after a time.

use genkai_model::explain::Timer;
use genkai_model::units::Span;

use crate::apache::config::Config;
use crate::apache::limits::Facts;
use crate::apache::route::Scope;
use crate::apache::settings::{effective, value};
use crate::held::Held;

pub(super) fn of(config: &Config, facts: &Facts, scope: &Scope) -> Vec<Timer> {
    let mut all = vec![timer("Timeout", &facts.timeout, "a client or backend that neither takes nor sends a byte")];
    if facts.keep_alive {
        all.push(timer("KeepAliveTimeout", &facts.keep_alive_timeout, "a kept connection without a next request"));
    }
    if facts.upstream.is_some() {
        let (setting, held) = &facts.proxy_timeout;
        let tunnel = "a tunnel in which both sides are silent (where Timeout is longer, Timeout counts)";
        let answer = "a backend that is silent: Apache answers 502";
        all.push(timer(setting, held, if facts.websocket { tunnel } else { answer }));
    }
    if config.has_module("reqtimeout_module")
        && let Ok(held) = effective(config, "RequestReadTimeout", scope)
    {
        all.push(Timer {
            setting: "RequestReadTimeout".to_owned(),
            value: held.written,
            origin: held.origin,
            span: None,
            ends: "a request that comes too slowly: Apache answers 408".to_owned(),
        });
    }
    for (name, ends) in [
        ("ProxyPass.acquire", "a request that waits for a connection of the pool: Apache answers 503"),
        ("ProxyPass.retry", "the time in which a backend that failed is not asked again"),
    ] {
        let held = effective(config, name, scope).ok().filter(|_| facts.upstream.is_some());
        let plain = if name == "ProxyPass.acquire" { 1 } else { 1_000 };
        all.extend(held.and_then(|h| {
            let span = Span::from_millis(value::interval(&h.written, plain)?);
            Some(timer(name, &Held { value: span, written: h.written, origin: h.origin }, ends))
        }));
    }
    all
}

fn timer(setting: &str, held: &Held<Span>, ends: &str) -> Timer {
    Timer {
        setting: setting.to_owned(),
        value: held.written.clone(),
        origin: held.origin.clone(),
        span: Some(held.value),
        ends: ends.to_owned(),
    }
}
