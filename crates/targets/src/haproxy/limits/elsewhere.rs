//! Where else requests may go: other backends by rules, other servers by what chooses them.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Limit, Signature, Strength, Symptom};

use super::Facts;
use super::answer::answer;
use super::backend::unsure;
use super::capacity::Capacity;
use crate::haproxy::config::{Config, Section};
use crate::haproxy::evidence::{of_backend, signature};
use crate::haproxy::proxy::{Choice, choice};
use crate::haproxy::route::{Route, in_use};
use crate::haproxy::settings::SERVER_MAXCONN;
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
    let made = |rule: &&crate::haproxy::config::Found| rule.arg(0).is_some_and(|name| name.contains("%["));
    let any = route.doubts.iter().any(|rule| rule.is("use_backend") && made(rule));
    let backs = config.sections().iter().filter(|section| section.is_back() && !section.is_front());
    let all = backs.filter(|back| any || route.others.iter().any(|other| other.name == back.name));
    all.filter(|back| route.back.is_none_or(|own| own.name != back.name)).filter_map(|back| of(&back)).collect()
}

/// Their limits: no number says how many requests go there.
pub(super) fn limits(facts: &Facts) -> impl Iterator<Item = Limit> {
    let what = if facts.http { "requests" } else { "connections" };
    facts.others.iter().map(move |(name, held)| Limit {
        value: held.written.clone(),
        origin: held.origin.clone(),
        caps: format!("{what} that the servers of `{name}` get at once; further ones wait in HAProxy's queue"),
        formula: format!("{}{}", held.formula.replace("requests", what), unsure(facts)),
        symptom: Symptom { errors: vec![answer(facts, ErrorKind::Status503)], slow: true },
        signatures: queued(name),
        source: "HAProxy configuration manual 5.2, `maxconn`; 4.2, `use_backend`".to_owned(),
        ..Limit::named(&format!("haproxy.server.maxconn.{name}"), "haproxy", SERVER_MAXCONN.name)
    })
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
pub(super) fn more_servers(facts: &Facts) -> String {
    let able = "the backend must be able to take them";
    match facts.spread {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Requests;
    use crate::haproxy::config::Reading;
    use genkai_model::limit::{Ceiling, Sign};
    use genkai_place::caps::Machine;

    fn told(text: &str) -> Vec<Limit> {
        let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
        let machine = Machine {
            descriptors: 1024,
            descriptors_hard: 20_000,
            descriptors_ceiling: Ceiling { value: 20_000.0, by: "hard RLIMIT_NOFILE".to_owned() },
            online: 2,
            cores: 2,
            somaxconn: 4096,
            ports: (32_768, 60_999),
        };
        super::super::of(&Facts::of(&config, None, &Requests::default(), &machine, 1 << 30))
    }

    fn with(rules: &str, back: &str, server: &str) -> String {
        format!(
            "defaults\n mode http\nfrontend f\n bind :80\n{rules} default_backend b\nbackend b\n{back} server s1 127.0.0.1:1 maxconn 5\n{server}"
        )
    }

    #[test]
    fn more_servers_bring_something_only_where_requests_come_to_them() {
        let note = |back: &str, server: &str| {
            let all = told(&with("", back, server));
            let limit = all.into_iter().find(|limit| limit.id == "haproxy.server.maxconn").unwrap();
            limit.remedy.and_then(|remedy| remedy.note).unwrap()
        };
        let two = " server s2 127.0.0.1:2 maxconn 5\n";
        assert!(note("", two).contains("each brings as many"));
        for (balance, what) in [("source", "source"), ("uri", "path"), ("hdr(host)", "host")] {
            for servers in ["", two] {
                let told = note(&format!(" balance {balance}\n"), servers);
                let said = format!("further servers bring nothing here: all requests of one {what} go to one server");
                assert_eq!(told, said, "{balance}");
            }
        }
        assert!(note(" use-server s1 if TRUE\n", two).contains("`use-server` sends all"));
        assert!(note(" balance hdr(x)\n", two).contains("only those whose it is"));
    }

    #[test]
    fn what_waits_in_one_backend_is_no_sign_of_another() {
        let signs = |limits: &[Limit], id: &str| -> Vec<String> {
            let limit = limits.iter().find(|limit| limit.id == id).unwrap();
            let log = |one: &Signature| match &one.sign {
                Sign::Log(name) if one.strength == Strength::Decisive => Some(name.clone()),
                _ => None,
            };
            limit.signatures.iter().filter_map(log).collect()
        };
        let spare = "backend spare\n server s2 127.0.0.1:2 maxconn 7\n";
        let all = told(&with(" use_backend spare if { nbsrv(b) lt 1 }\n", "", spare));
        assert_eq!(signs(&all, "haproxy.server.maxconn"), ["haproxy.refused.sQ"]);
        assert_eq!(signs(&all, "haproxy.server.maxconn.spare"), ["haproxy.refused.sQ.spare"]);
        let made = told(&with(" use_backend %[path,map(/m)]\n", "", spare));
        assert_eq!(signs(&made, "haproxy.server.maxconn.spare"), ["haproxy.refused.sQ.spare"], "it may be any");
    }
}
