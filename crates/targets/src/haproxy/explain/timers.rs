//! Settings that end something after a time.

use genkai_model::explain::Timer;
use genkai_model::limit::Origin;
use genkai_model::units::Span;

use crate::files::Requests;
use crate::haproxy::config::{Config, Found, Section};
use crate::haproxy::proxy::{self, mode};
use crate::haproxy::route::Route;
use crate::haproxy::settings::{
    Setting, TIMEOUT_CLIENT, TIMEOUT_CONNECT, TIMEOUT_HTTP_KEEP_ALIVE, TIMEOUT_HTTP_REQUEST, TIMEOUT_QUEUE,
    TIMEOUT_SERVER, TIMEOUT_TUNNEL, value, written, written_in,
};
use crate::settings::SourcedValue;

/// Each with what it ends in HTTP mode and, where that is something else, in TCP mode (where HAProxy answers nothing itself; empty:
/// there is no such timer), and what counts where it is not written (configuration manual 4.2).
const TIMERS: &[(Setting, [&str; 2], &str)] = &[
    (TIMEOUT_CLIENT, ["a client that neither takes nor sends a byte"; 2], "never"),
    (
        TIMEOUT_CONNECT,
        [
            "a server that does not accept: HAProxy answers 503 once its retries are used up",
            "a server that does not accept: HAProxy closes the connection once its retries are used up",
        ],
        "never",
    ),
    (
        TIMEOUT_SERVER,
        ["a server that is silent: HAProxy answers 504", "a server that is silent: HAProxy closes the connection"],
        "never",
    ),
    (
        TIMEOUT_QUEUE,
        [
            "a request that waits for a server: HAProxy answers 503",
            "a connection that waits for a server: HAProxy closes it",
        ],
        "like timeout connect",
    ),
    (
        TIMEOUT_TUNNEL,
        ["a tunnel (WebSocket) in which both sides are silent", "a connection in which both sides are silent"],
        "at the shorter of timeout client and timeout server",
    ),
    (TIMEOUT_HTTP_REQUEST, ["a request head that comes too slowly: HAProxy answers 408", ""], "like timeout client"),
    (TIMEOUT_HTTP_KEEP_ALIVE, ["a kept connection without a next request", ""], "like timeout http-request"),
];

/// Those of the way to servers.
const OF_SERVERS: [Setting; 4] = [TIMEOUT_CONNECT, TIMEOUT_SERVER, TIMEOUT_QUEUE, TIMEOUT_TUNNEL];

pub(super) fn of(config: &Config, requests: &Requests) -> Vec<Timer> {
    let Some(route) = Route::find(config, requests) else { return Vec::new() };
    let mode = mode(config, route.front) as usize;
    let reached = reached(config, &route);
    let told = TIMERS.iter().filter(|(_, ends, _)| !ends[mode].is_empty());
    let timers = told.flat_map(|(setting, ends, otherwise)| {
        let ends = ends[mode];
        if !OF_SERVERS.iter().any(|one| one.name == setting.name) {
            let held = written(config, setting, requests);
            return vec![timer(held, setting, ends.to_owned(), otherwise)];
        }
        of_servers(config, &reached, setting)
            .into_iter()
            .map(|(held, names)| {
                let of = (reached.len() > names.len()).then(|| format!("; so in {}", in_words(&names)));
                timer(held, setting, format!("{ends}{}", of.unwrap_or_default()), otherwise)
            })
            .collect()
    });
    timers.collect()
}

/// The sections whose servers these requests may reach; none where they reach no server: there is nothing that these could end.
fn reached<'c>(config: &'c Config, route: &Route<'c>) -> Vec<&'c Section> {
    // What chooses among backends does not matter to requests that HAProxy answers before.
    let chooses = |doubt: &&Found| ["use_backend", "use-server"].iter().any(|rule| doubt.is(rule));
    if route.is_served(config) == Some(false) || route.answered.is_some() && route.doubts.iter().all(chooses) {
        return Vec::new();
    }
    let computed =
        route.doubts.iter().any(|doubt| doubt.is("use_backend") && doubt.arg(0).is_some_and(|to| to.contains("%[")));
    let known = route.back.into_iter().chain(route.others.iter().copied());
    let any =
        config.sections().iter().filter(|section| computed && section.is_back() && !proxy::is_off(config, section));
    let mut all: Vec<&Section> = Vec::new();
    for section in known.chain(any).filter(|section| !proxy::servers(config, section).is_empty()) {
        if !all.contains(&section) {
            all.push(section);
        }
    }
    all
}

/// What a setting of the way to servers is, as it is written, in which of the sections.
fn of_servers<'c>(
    config: &'c Config,
    reached: &[&'c Section],
    setting: &Setting,
) -> Vec<(Option<SourcedValue<()>>, Vec<&'c str>)> {
    let mut all: Vec<(Option<SourcedValue<()>>, Vec<&str>)> = Vec::new();
    for section in reached {
        let held = written_in(config, section, setting);
        let text = |one: &Option<SourcedValue<()>>| one.as_ref().map(|value| value.written.clone());
        match all.iter_mut().find(|(known, _)| text(known) == text(&held)) {
            Some((_, names)) => names.push(&section.name),
            None => all.push((held, vec![&section.name])),
        }
    }
    all
}

fn in_words(names: &[&str]) -> String {
    match names {
        [one] => format!("backend {one}"),
        all => format!("backends {}", all.join(", ")),
    }
}

fn timer(held: Option<SourcedValue<()>>, setting: &Setting, ends: String, otherwise: &str) -> Timer {
    match held {
        Some(time) => {
            let span = value::lenient_time(&time.written).map(|(milliseconds, _)| Span::from_millis(milliseconds));
            time.map(|()| span).timer(setting.directive, &ends)
        }
        None => Timer {
            setting: setting.directive.to_owned(),
            value: "not set".to_owned(),
            origin: Origin::Default("HAProxy configuration manual 4.2: there is none".to_owned()),
            span: None,
            ends: format!("{ends}; not set, it ends {otherwise}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::haproxy::config::Reading;

    #[test]
    fn where_no_request_reaches_a_server_no_server_has_timers() {
        let told = |rules: &str| {
            let text = format!(
                "defaults\n mode http\nfrontend f\n bind :80\n{rules} default_backend b\nbackend b\n server s 127.0.0.1:1\n"
            );
            let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
            let requests = Requests::to("localhost", "/");
            let served = Route::find(&config, &requests).unwrap().is_served(&config);
            let all = of(&config, &requests);
            (served, all.iter().any(|timer| timer.setting == "timeout server"), all.len())
        };
        assert_eq!(told(""), (Some(true), true, 7));
        assert_eq!(told(" http-request return status 200\n"), (Some(false), false, 3));
        assert_eq!(told(" http-request deny if { path_reg ^/(?!api) }\n"), (Some(false), false, 3));
        assert_eq!(told(" http-request deny if { path_reg ^/(?=api) }\n"), (Some(true), true, 7));
        assert_eq!(told(" http-request deny if { src 10.0.0.0/8 }\n"), (None, true, 7));
    }

    /// A map, or a condition that is not decided, chooses: each backend's own counts, and none is "not set" that is.
    #[test]
    fn where_a_rule_chooses_the_backend_each_has_its_own_timers() {
        let told = |rules: &str| {
            let text = format!(
                "defaults\n mode http\n timeout connect 5s\n timeout server 40s\nfrontend f\n bind :80\n{rules}backend b\n server s 127.0.0.1:1\n\
                 backend slow\n timeout server 300s\n server s 127.0.0.1:2\n"
            );
            let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
            let all = of(&config, &Requests::to("localhost", "/"));
            let of = |name: &str| {
                let these = all.iter().filter(|timer| timer.setting == name);
                these.map(|timer| (timer.value.clone(), timer.ends.clone())).collect::<Vec<_>>()
            };
            (of("timeout connect"), of("timeout server"))
        };
        let silent = "a server that is silent: HAProxy answers 504";
        let each = |names: [&str; 2], times: [&str; 2]| {
            [0, 1].map(|at| (times[at].to_owned(), format!("{silent}; so in backend {}", names[at]))).to_vec()
        };
        let (connect, server) = told(" use_backend %[req.hdr(host),lower,map(/nowhere/hosts.map,b)]\n");
        assert_eq!((connect.len(), &*connect[0].0), (1, "5s"));
        assert_eq!(server, each(["b", "slow"], ["40s", "300s"]));
        let (_, server) = told(" use_backend slow if { src 10.0.0.0/8 }\n default_backend b\n");
        assert_eq!(server, each(["b", "slow"], ["40s", "300s"]));
        assert_eq!(told(" default_backend b\n").1, [("40s".to_owned(), silent.to_owned())]);
        let (connect, server) = told(" http-request return status 200\n use_backend %[path,map(/nowhere)]\n");
        assert!(connect.is_empty() && server.is_empty(), "HAProxy answers it itself");
    }
}
