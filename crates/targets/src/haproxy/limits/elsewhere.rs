//! Where else requests may go: other backends by rules, other servers by what chooses them.

use genkai_model::limit::{Signature, Strength};

use super::capacity::Capacity;
use crate::haproxy::config::{Config, Found, Section};
use crate::haproxy::evidence::{of_backend, signature};
use crate::haproxy::proxy::{Choice, choice};
use crate::haproxy::route::{Route, in_use};
use crate::limits::{log, reached, reached_of};

/// How a server is chosen for the requests of a route; none: it has no backend.
pub(super) fn spread(config: &Config, route: &Route<'_>, target: &str) -> Option<Choice> {
    let back = route.back?;
    Some(if route.chosen.is_some() { Choice::One("server") } else { choice(config, back, target) })
}

/// Capacities of other backends that requests may go to: where a rule makes the name, any.
pub(super) fn others(config: &Config, route: &Route<'_>, process: u64, target: &str) -> Vec<(String, Capacity)> {
    let of = |back: &&Section| {
        Some((back.name.clone(), Capacity::of(config, back, &in_use(config, back), process, target)?))
    };
    let made = |rule: &&Found| rule.arg(0).is_some_and(|name| name.contains("%["));
    let any = route.doubts.iter().any(|rule| rule.is("use_backend") && made(rule));
    let backs = config.sections().iter().filter(|section| section.is_back());
    let named = |back: &Section| route.others.iter().any(|other| other.name == back.name);
    let all = backs.filter(|back| any && !back.is_front() || named(back));
    all.filter(|back| route.back.is_none_or(|own| own.name != back.name)).filter_map(|back| of(&back)).collect()
}

/// The signs that requests wait for the servers of another backend than the one that is looked at.
pub(super) fn queued(backend: &str) -> Vec<Signature> {
    let metric = |what: &str| format!("haproxy.{}", of_backend(backend, what));
    vec![
        log(&signature::of_backend(signature::QUEUE_TIMEOUT, backend), Strength::Decisive),
        reached(&metric("queued"), 1.0, Strength::Supports),
        reached_of(&metric("server_sessions_max"), &metric("server_sessions_limit"), 1.0, Strength::Supports),
    ]
}

/// What more servers would bring.
pub(super) fn more_servers(spread: Option<Choice>) -> String {
    let able = "the backend must be able to take them";
    match spread {
        Some(Choice::One("server")) => {
            "further servers bring nothing here: `use-server` sends all of these requests to this one".to_owned()
        }
        Some(Choice::One(what)) => {
            format!("further servers bring nothing here: all requests of one {what} go to one server")
        }
        Some(Choice::ByKey) => {
            format!(
                "or add servers: something in each request decides for one, and only those whose it is can use what it brings; {able}"
            )
        }
        Some(Choice::AnyWithRoom | Choice::Drawn) | None => format!("or add servers: each brings as many; {able}"),
    }
}
