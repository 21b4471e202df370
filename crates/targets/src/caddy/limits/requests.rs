//! Limits on requests: how many at once each upstream gets, and how large they are.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Law, Limit, Remedy, Signature, Strength, Symptom};

use super::Facts;
use crate::caddy::evidence::{metrics, signature};
use crate::caddy::settings::{IDLE, MAX_CONNS_PER_HOST, MAX_SIZE, UNHEALTHY_REQUEST_COUNT};
use crate::limits::{errors, log, raised_onward, reached, valued};

/// `unhealthy_request_count`: an upstream with so many requests gets no more. When all have, Caddy answers 503, after it has
/// tried again for `lb_try_duration`.
pub(super) fn each_upstream(facts: &Facts) -> Option<Limit> {
    let held = facts.max_requests.as_ref().filter(|_| facts.count > 0 && facts.no_fails_allowed.is_none())?;
    let (each, all) = (held.value as f64, held.value.saturating_mul(facts.there()));
    let tried = facts.try_duration.value;
    let until = match tried.is_zero() {
        true => "further requests are answered 503 at once (no lb_try_duration)".to_owned(),
        false => format!("further requests try for {tried} (lb_try_duration), then 503"),
    };
    Some(Limit {
        caps: "requests that each upstream gets at once".to_owned(),
        law: match facts.are_told() {
            true => Law::Workers {
                workers: all as f64,
                queue: tried.is_zero().then_some(0.0),
                service: None,
                wait: (!tried.is_zero()).then(|| tried.as_secs_f64()),
            },
            false => Law::Unknown,
        },
        formula: facts.unless(&format!(
            "{} x {} = {all} requests at once; {until}{}",
            facts.counted(),
            held.value,
            facts.absent()
        )),
        source: "Caddy modules/caddyhttp/reverseproxy/hosts.go: Full; reverseproxy.go: provisionUpstream, tryAgain"
            .to_owned(),
        signatures: full(facts.there(), each, all as f64),
        symptom: Symptom { errors: vec![ErrorKind::Status503], slow: !tried.is_zero() },
        remedy: facts.are_told().then(|| Remedy {
            note: Some("or add upstreams: each brings as many; the backend must be able to take them".to_owned()),
            ..raised_onward(UNHEALTHY_REQUEST_COUNT.name)
        }),
        ..valued("caddy.unhealthy_request_count", "caddy", UNHEALTHY_REQUEST_COUNT.name, held)
    })
}

/// What shows that all upstreams have as many requests as each gets. That one of several has refuses nobody: another is asked then.
fn full(upstreams: u64, each: f64, all: f64) -> Vec<Signature> {
    let mut signs = match upstreams {
        0 | 1 => vec![reached(metrics::UPSTREAM_REQUESTS_MAX, each, Strength::Decisive)],
        _ => vec![
            reached(metrics::UPSTREAM_REQUESTS, all, Strength::Decisive),
            reached(metrics::UPSTREAM_REQUESTS_MAX, each, Strength::Consistent),
        ],
    };
    signs.push(log(signature::NO_UPSTREAM, Strength::Supports));
    signs
}

/// `max_conns_per_host`: a request beyond it waits for a connection, for ever as far as Caddy is concerned.
pub(super) fn connections(facts: &Facts) -> Option<Limit> {
    let held = facts.max_conns.as_ref().filter(|_| facts.count > 0)?;
    let (all, sum) = at_once(facts, held.value);
    let law = Law::Workers { workers: all as f64, queue: None, service: None, wait: None };
    let formula = match facts.multiplexed {
        true => format!(
            "{} connections to each upstream, each with as many requests at once (HTTP/2) as the upstream allows",
            held.value
        ),
        false => {
            format!("{sum}; further requests wait for a connection, for ever (no timeout ends that){}", facts.absent())
        }
    };
    Some(Limit {
        caps: "connections to each upstream at once; further requests wait for one".to_owned(),
        law: if facts.multiplexed || !facts.are_told() { Law::Unknown } else { law },
        formula: facts.unless(&formula),
        source: "Go net/http transport.go: queueForDial (MaxConnsPerHost); a request over HTTP/1.1 has a connection to itself"
            .to_owned(),
        signatures: vec![reached(metrics::UPSTREAM_REQUESTS_MAX, held.value as f64 + 1.0, Strength::Decisive)],
        symptom: Symptom { errors: vec![ErrorKind::Timeout], slow: true },
        remedy: facts.are_told().then(|| Remedy {
            note: Some("without it there is no limit; the backend must be able to take as many connections".to_owned()),
            ..raised_onward(MAX_CONNS_PER_HOST.name)
        }),
        ..valued("caddy.max_conns_per_host", "caddy", MAX_CONNS_PER_HOST.name, held)
    })
}

/// How many requests at once upstreams with `each` connections take, and why.
fn at_once(facts: &Facts, each: u64) -> (u64, String) {
    let all = each.saturating_mul(facts.there());
    match &facts.together {
        Some(policy) if facts.there() > 1 => {
            let sum = format!(
                "{each} requests at once of one client, or for one path: lb_policy {policy} gives them to one upstream, and those that wait \
                               stay with it; {all} to all {}",
                facts.counted()
            );
            (each, sum)
        }
        _ => {
            let sum = format!("{} x {each} = {all} requests at once", facts.counted());
            let uneven = format!(
                "{sum}; they are not spread evenly, so that from {each} on one may wait while another upstream has room"
            );
            (all, if facts.even || facts.there() < 2 { sum } else { uneven })
        }
    }
}

/// `request_body { max_size }`. The proxy learns of it while it sends the body on, so that 2.6 answers 502, not 413.
pub(super) fn body(facts: &Facts) -> Option<Limit> {
    let limit = crate::limits::body("caddy", MAX_SIZE.name, facts.body.as_ref()?, signature::BODY)?;
    Some(Limit {
        formula: format!(
            "{}; a larger one is cut off where it is read (reverse_proxy, php_fastcgi; not by file_server): 413, or 502 of 2.6's reverse_proxy",
            limit.formula
        ),
        source:
            "Caddy modules/caddyhttp/requestbody/requestbody.go (http.MaxBytesReader); reverseproxy.go: statusError"
                .to_owned(),
        symptom: errors(&[ErrorKind::Status413, ErrorKind::Status502]),
        ..limit
    })
}

/// How long a connection is kept for a next request.
pub(super) fn kept(facts: &Facts) -> Option<Limit> {
    let held = &facts.idle;
    let source = "Go net/http server.go: Server.IdleTimeout; Caddy modules/caddyhttp/app.go";
    (!held.value.is_zero()).then(|| crate::limits::kept("caddy", IDLE.name, held, source))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::net::SocketAddr;

    use genkai_model::limit::Sign;
    use genkai_place::caps::Machine;

    use super::*;
    use crate::caddy::config::{Config, Variables};
    use crate::files::Requests;

    #[test]
    fn one_of_several_upstreams_that_has_as_many_as_it_gets_says_next_to_nothing() {
        let strengths =
            |upstreams| full(upstreams, 8.0, 8.0 * upstreams as f64).into_iter().map(|one| (one.sign, one.strength));
        let is = |metric: &str, value| Sign::Reached { metric: metric.to_owned(), value };
        let [alone, several] = [1, 2].map(|n| strengths(n).collect::<Vec<_>>());
        assert!(alone.contains(&(is(metrics::UPSTREAM_REQUESTS_MAX, 8.0), Strength::Decisive)), "{alone:?}");
        assert!(several.contains(&(is(metrics::UPSTREAM_REQUESTS_MAX, 8.0), Strength::Consistent)), "{several:?}");
        assert!(several.contains(&(is(metrics::UPSTREAM_REQUESTS, 16.0), Strength::Decisive)), "{several:?}");
    }

    /// 2.6.2 served as many at once as told, two upstreams of which one was absent.
    #[test]
    fn an_upstream_at_whose_address_nobody_listens_counts_only_where_it_is_not_held_for_down() {
        let told = |inside: &str, absent: &[u16], running: Option<&str>| {
            let text = |to: &str| {
                format!(
                    "http://:80 {{\n\treverse_proxy {to} {{\n\t\tunhealthy_request_count 5\n\t\tmax_fails 1\n\t\ttransport http {{\n\t\t\tmax_conns_per_host 7\n\t\t}}\n\t\t{inside}\n\t}}\n}}\n"
                )
            };
            let read = |text: String| Config::of_texts(vec![("/x".into(), text.into())], Variables::new()).unwrap();
            let own = "127.0.0.1:1 localhost:2";
            let (config, copy) = (read(text(own)), read(text(running.unwrap_or(own))));
            let machine = Machine::of(&genkai_place::machine::environment(BTreeMap::new()));
            let nobody = |address: SocketAddr| absent.contains(&address.port());
            let facts = Facts::without(&config, Some(&copy), &Requests::to("localhost", "/"), &machine, &nobody);
            let all = super::super::of(&facts);
            ["caddy.unhealthy_request_count", "caddy.max_conns_per_host"].map(|id| {
                let limit = all.iter().find(|limit| limit.id == id).unwrap();
                assert_eq!(limit.remedy.is_some(), limit.law != Law::Unknown);
                let Law::Workers { workers, .. } = limit.law else { return None };
                assert_eq!(limit.formula.contains("nobody listens"), workers < 10.0, "{}", limit.formula);
                Some(workers)
            })
        };
        let (both, one, untold) = ([Some(10.0), Some(14.0)], [Some(5.0), Some(7.0)], [None, None]);
        for down in ["fail_duration 5s", "health_uri /up", "health_path /up\n\t\thealth_fails 1"] {
            assert_eq!((told(down, &[], None), told(down, &[2], None)), (both, one), "{down}");
            assert_eq!(told(down, &[1, 2], None), both, "then it is not that which stops a load");
            assert_eq!(told(down, &[1, 3], Some("127.0.0.1:3 localhost:2")), both, "something else is in its place");
        }
        for asked in
            ["", "lb_try_duration 1s", "health_uri /up\n\t\thealth_port 9", "health_uri /up\n\t\thealth_fails 3"]
        {
            assert_eq!((told(asked, &[], None), told(asked, &[2], None)), (both, untold), "{asked}");
        }
    }
}
