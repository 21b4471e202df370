//! The limits of an HAProxy configuration, as data: the setting, the law with its numbers, what proves it, how to lift it.
//!
//! [`Facts::of`] finds the values in force; [`of`] turns them into limits. Formulas come from HAProxy's source (file named with
//! each) and were checked by measurement on 2.6; `analysis` evaluates them without knowing HAProxy.

mod absent;
mod again;
mod answer;
mod backend;
mod bound;
mod capacity;
mod check;
mod clients;
mod elsewhere;
mod facts;
mod observe;
mod several;
mod source;
mod system;

pub use again::Again;
pub(in crate::haproxy) use again::{leading_back, reached, ways};
pub(crate) use backend::queueing;
pub use capacity::Capacity;
pub use check::Check;
pub(super) use check::settled_after;
pub(crate) use clients::holding;
pub use facts::Facts;
pub use observe::Observed;
pub(super) use system::MEMORY;

use genkai_model::limit::Limit;

/// Limits that name the servers as what refuses requests, or breaks handshakes off.
pub(super) const BACKENDS: [&str; 2] = ["haproxy.backend", "haproxy.server.tls"];

/// Every limit of the configuration that `facts` describe, those that count clients first.
pub fn of(facts: &Facts) -> Vec<Limit> {
    let mut all = vec![clients::maxconn(facts), clients::nofile(facts)];
    all.extend(clients::sockets(facts));
    all.extend(clients::frontend(facts));
    all.extend(clients::secured(facts));
    all.extend(clients::bind(facts));
    all.extend(clients::rates(facts));
    all.extend(clients::silent(facts));
    all.extend(backend::server(facts));
    all.extend(backend::queue(facts));
    all.extend(backend::others(facts));
    all.extend(facts.again.iter().flat_map(Again::limits));
    all.extend(backend::sources(facts));
    all.extend([system::backlog(facts), system::cpu(facts), system::memory(facts)]);
    all.extend(backend::all(facts));
    all
}

/// What bites at no load that could be told beforehand.
pub(super) fn accidents(facts: &Facts) -> Vec<Limit> {
    clients::kept(facts).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use genkai_model::limit::{Ceiling, Law, Origin, Sign, Signature, Strength};

    use super::*;
    use crate::files::Requests;
    use crate::haproxy::config::{Config, Reading};
    use crate::haproxy::evidence::aggregate;
    use genkai_place::caps::Machine;

    /// Limits of a configuration on a machine of two cores, for WebSockets or not.
    fn told(text: &str, websocket: bool) -> Vec<Limit> {
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
        let requests = Requests { websocket, ..Requests::default() };
        super::of(&Facts::of(&config, None, &requests, &machine, 1 << 30))
    }

    fn law(text: &str, id: &str) -> Option<Law> {
        told(text, false).into_iter().find(|limit| limit.id == id).map(|limit| limit.law)
    }

    const HTTP: &str = "defaults\n mode http\n timeout connect 1s\n timeout client 9s\n timeout server 9s\n";

    fn with(front: &str, back: &str) -> String {
        format!("{HTTP}frontend f\n bind :80\n default_backend b\n{front}backend b\n{back}")
    }

    #[test]
    fn a_check_is_named_only_where_servers_had_not_failed_requests_before_it_did() {
        let grown = |limit: &Limit| -> Vec<bool> {
            let grew = |one: &Signature| match &one.sign {
                Sign::LoggedGrown { metric, grew, .. } if metric == "haproxy.failed_answers_total" => Some(*grew),
                _ => None,
            };
            limit.signatures.iter().filter_map(grew).collect()
        };
        let all = told(&with("", " option httpchk GET /h\n server s1 1:1 check\n"), false);
        let find = |id: &str| all.iter().find(|limit| limit.id == id).unwrap();
        assert_eq!(grown(find("haproxy.check")), [false, false]);
        let answers = find("haproxy.server.answers.checked");
        assert_eq!((grown(answers), answers.subject.as_str()), (vec![true, true], "backend"));
        assert!(answers.caps.contains("`option httpchk GET /h` failed"), "{}", answers.caps);
        let unchecked = told(&with("", " server s1 1:1\n"), false);
        assert!(unchecked.iter().all(|limit| !limit.id.contains("check")));
    }

    #[test]
    fn values_come_from_defaults_of_defaults() {
        let text = "defaults base\n mode http\n maxconn 100\n timeout client 1s\ndefaults special from base\n timeout queue 2s\n\
                    frontend f1 from special\n bind :80\n default_backend b1\nbackend b1 from special\n server s1 1:1 maxconn 20\n";
        let connections =
            Law::Slots { value: 100.0, reserved: 0.0, idle_cost: 1.0, busy_cost: 1.0, pools: 1.0, soft: 1.0 };
        assert_eq!(law(text, "haproxy.frontend.maxconn"), Some(connections));
        let waits = Law::Workers { workers: 20.0, queue: None, service: None, wait: Some(2.0) };
        assert_eq!(law(text, "haproxy.server.maxconn"), Some(waits));
    }

    #[test]
    fn servers_that_differ_are_added_up_and_maxqueue_does_not_refuse_who_can_go_elsewhere() {
        let text = with(
            "",
            " default-server maxconn 10 maxqueue 5\n server s1 1:1\n server s2 1:2 maxconn 15\n timeout queue 400ms\n",
        );
        let law = law(&text, "haproxy.server.maxconn");
        assert_eq!(law, Some(Law::Workers { workers: 25.0, queue: None, service: None, wait: Some(0.4) }));
    }

    #[test]
    fn minconn_is_what_a_server_gets_while_the_backend_is_far_from_full() {
        let text = with("", " fullconn 1000\n server s1 1:1 minconn 5 maxconn 60\n timeout queue 20s\n");
        let law = law(&text, "haproxy.server.minconn");
        assert_eq!(law, Some(Law::Growing { least: 5.0, most: 60.0, full: Some(1000.0), wait: Some(20.0) }));
    }

    #[test]
    fn a_listener_has_a_maxconn_of_its_own() {
        let text = with("", "").replace("bind :80", "bind :80 maxconn 9");
        let connections =
            Law::Slots { value: 9.0, reserved: 0.0, idle_cost: 1.0, busy_cost: 1.0, pools: 1.0, soft: 1.0 };
        assert_eq!(law(&text, "haproxy.bind.maxconn"), Some(connections));
    }

    #[test]
    fn where_something_else_decides_there_is_no_number_and_the_reason() {
        let text = with(" use_backend c if { src 10.0.0.0/8 }\n", " server s1 1:1 maxconn 5\n")
            + "backend c\n server s2 1:1 maxconn 7\n";
        let limits = told(&text, false);
        for id in ["haproxy.server.maxconn", "haproxy.server.maxconn.c"] {
            let limit = limits.iter().find(|limit| limit.id == id).unwrap();
            assert_eq!((&limit.law, limit.remedy.is_none()), (&Law::Unknown, true), "{id}");
            assert!(limit.formula.ends_with("`use_backend` at /x:9 decides"), "{}", limit.formula);
        }
        let answered = with(" http-request return status 200\n", " server s1 1:1 maxconn 5\n");
        assert_eq!(law(&answered, "haproxy.server.maxconn"), None, "no request reaches a server");
    }

    #[test]
    fn the_remedy_is_for_each_server() {
        let limits = told(&with("", " server s1 1:1 maxconn 5\n server-template t 1-2 a:1 maxconn 5\n"), false);
        let parts = |id: &str| limits.iter().find(|l| l.id == id).and_then(|l| Some(l.remedy.as_ref()?.parts));
        assert_eq!((parts("haproxy.server.maxconn"), parts("haproxy.maxconn")), (Some(3.0), Some(1.0)));
    }

    #[test]
    fn which_of_several_servers_it_is_has_a_name_an_address_and_a_line() {
        let ids = |text: &str| {
            let all = told(text, false)
                .into_iter()
                .filter(|limit| limit.id.contains(".slow.") || limit.id.contains(".refuses."));
            all.map(|limit| (limit.id, limit.value, limit.origin)).collect::<Vec<_>>()
        };
        let two = ids(&with("", " server a 127.0.0.1:1\n server b 127.0.0.1:2\n"));
        let names: Vec<&str> = two.iter().map(|(id, ..)| id.as_str()).collect();
        let server = |what: &str, name: &str| format!("haproxy.server.{what}.{name}");
        let expected =
            [("refuses", "a"), ("refuses", "b"), ("slow", "a"), ("slow", "b")].map(|(what, name)| server(what, name));
        assert_eq!(names, expected);
        assert_eq!((two[1].1.as_str(), &two[1].2), ("127.0.0.1:2", &Origin::File { path: "/x".into(), line: 11 }));
        assert!(ids(&with("", " server a 127.0.0.1:1\n")).is_empty(), "the only one is the backend");
        let tcp = with("", " server a 127.0.0.1:1\n server b 127.0.0.1:2\n").replace("mode http", "mode tcp");
        assert!(ids(&tcp).iter().all(|(id, ..)| !id.contains("slow")), "no time is told in TCP mode");
    }

    #[test]
    fn the_time_of_a_kept_connection_is_that_for_a_request_where_it_has_none() {
        let kept = |front: &str| {
            let config = Config::of_texts(vec![("/x".into(), with(front, "").into())], Reading::default()).unwrap();
            let machine = Machine {
                descriptors: 1024,
                descriptors_hard: 1024,
                descriptors_ceiling: Ceiling { value: 1024.0, by: String::new() },
                online: 2,
                cores: 2,
                somaxconn: 4096,
                ports: (1, 2),
            };
            let facts = Facts::of(&config, None, &Requests::default(), &machine, 1 << 30);
            accidents(&facts).into_iter().map(|limit| (limit.setting, limit.value)).collect::<Vec<_>>()
        };
        let told = |setting: &str, value: &str| vec![(setting.to_owned(), value.to_owned())];
        assert_eq!(
            kept(" timeout http-keep-alive 300\n timeout http-request 2s\n"),
            told("timeout.http-keep-alive", "300")
        );
        assert_eq!(kept(" timeout http-request 2s\n"), told("timeout.http-request", "2s"));
        assert_eq!(kept(""), told("timeout.client", "9s"));
        assert!(kept(" mode tcp\n").is_empty());
    }

    #[test]
    fn in_tcp_mode_nothing_is_answered() {
        let text = with("", " server s1 1:1 maxconn 5\n timeout queue 2s\n").replace("mode http", "mode tcp");
        for limit in told(&text, true) {
            let said = format!("{} {} {:?}", limit.caps, limit.formula, limit.symptom.errors);
            assert!(!["408", "502", "503", "504"].iter().any(|status| said.contains(status)), "{said}");
        }
        assert!(told(&text.replace("mode tcp", "mode http"), true).iter().any(|limit| limit.formula.contains("503")));
    }

    #[test]
    fn tls_connections_have_a_cap_of_their_own() {
        let text = |bind: &str, server: &str| {
            format!(
                "global\n maxconn 60\n maxsslconn 25\ndefaults\n mode http\nfrontend f\n bind :1{bind}\n default_backend b\nbackend b\n \
                 server s 127.0.0.1:2{server}\n"
            )
        };
        let cap =
            |text: &str| told(text, false).into_iter().find(|limit| limit.id == "haproxy.maxsslconn").map(|l| l.law);
        let law =
            |busy_cost| Law::Slots { value: 25.0, reserved: 0.0, idle_cost: 1.0, busy_cost, pools: 1.0, soft: 1.0 };
        assert_eq!(cap(&text("", "")), None, "no TLS");
        assert_eq!(cap(&text(" ssl crt /x", "")), Some(law(1.0)));
        assert_eq!(
            cap(&text(" ssl crt /x", " ssl verify none")),
            Some(law(2.0)),
            "the connection to the server counts, too"
        );
        let mixed = text(" ssl crt /x", "\n server t 127.0.0.1:3 ssl verify none");
        assert_eq!(cap(&mixed), Some(Law::Unknown), "one of the two servers is spoken to in clear");
        let most = |text: &str| {
            let limit = told(text, false).into_iter().find(|limit| limit.id == "haproxy.maxsslconn").unwrap();
            limit.remedy.and_then(|remedy| remedy.ceiling).map(|ceiling| ceiling.value)
        };
        assert_eq!(most(&text(" ssl crt /x", "")), Some(60.0));
        assert_eq!(most(&text(" ssl crt /x", " ssl verify none")), Some(120.0), "two of each of 60 clients");
    }

    #[test]
    fn servers_of_one_address_share_its_ports() {
        let text = |servers: &str| with("", servers);
        let ports = |servers: &str| {
            let all = told(&text(servers), false).into_iter();
            all.filter(|limit| limit.id == "haproxy.server.ports").map(|limit| limit.formula).collect::<Vec<_>>()
        };
        assert_eq!(ports(" server a 127.0.0.1:1\n server b 127.0.0.1:1\n"), ["28232 local ports x 1 server"]);
        assert_eq!(ports(" server a 127.0.0.1:1\n server b 127.0.0.1:2\n"), ["28232 local ports x 2 servers"]);
    }

    #[test]
    fn a_server_that_is_connected_to_from_a_range_of_ports_gets_as_many_connections() {
        let ids = |servers: &str| {
            let all = told(&with("", servers), false).into_iter();
            all.filter(|limit| ["haproxy.server.ports", "haproxy.server.source"].contains(&limit.id.as_str()))
                .map(|limit| (limit.id, limit.law != Law::Unknown))
                .collect::<Vec<_>>()
        };
        let one = |id: &str, is_known| vec![(id.to_owned(), is_known)];
        let range = " source 127.0.0.1:41000-41005";
        assert_eq!(ids(&format!(" server a 127.0.0.1:1{range}\n")), one("haproxy.server.source", true));
        let two = format!(" default-server{range}\n server a 127.0.0.1:1\n server b 127.0.0.1:2\n");
        assert_eq!(ids(&two), one("haproxy.server.source", false));
        let mixed = format!(" server a 127.0.0.1:1{range}\n server b 127.0.0.1:2\n");
        assert_eq!(ids(&mixed), one("haproxy.server.ports", true), "the other one takes any port");
    }

    #[test]
    fn rates_of_connections_have_numbers_and_metrics_of_their_own() {
        let text = with(" rate-limit sessions 30\n", "")
            .replace("defaults", "global\n maxconnrate 50\n maxsessrate 40\n maxsslrate 20\ndefaults");
        let rates = |text: &str| -> Vec<Limit> {
            told(text, false).into_iter().filter(|l| matches!(l.law, Law::NewConnections { .. })).collect()
        };
        let plain = rates(&text).len();
        let rates = rates(&text.replace(":80", ":443 ssl crt /x"));
        let settings: Vec<(&str, f64)> = rates
            .iter()
            .map(|l| (l.setting.as_str(), if let Law::NewConnections { value } = l.law { value } else { 0.0 }))
            .collect();
        assert_eq!(
            settings,
            [("maxconnrate", 50.0), ("rate-limit.sessions", 30.0), ("maxsessrate", 40.0), ("maxsslrate", 20.0)]
        );
        let signs: BTreeSet<String> = rates.iter().map(|l| format!("{:?}", l.signatures)).collect();
        assert_eq!((signs.len(), plain), (4, 3), "that of TLS counts no other connections");
    }

    #[test]
    fn every_signature_that_is_read_belongs_to_a_limit() {
        let text = with("", " server s1 127.0.0.1:1 maxconn 5\n");
        let queue = with("", " balance source\n server s1 127.0.0.1:1 maxconn 5 maxqueue 5\n");
        let all = [told(&text, true), told(&text.replace("mode http", "mode tcp"), false), told(&queue, false)];
        let limits: Vec<Limit> = all.concat();
        let known: BTreeSet<&str> = limits
            .iter()
            .flat_map(|limit| &limit.signatures)
            .filter_map(|signature| if let Sign::Log(name) = &signature.sign { Some(name.as_str()) } else { None })
            .collect();
        let states = "CcSsPRIDULKk-".chars().flat_map(|cause| "RQCHDLT-".chars().map(move |at| format!("{cause}{at}")));
        let sessions = states.flat_map(|state| {
            ["200", "101", "503", "-"].map(|status| format!("session {state} status={status} queue=0 node=s target=/"))
        });
        let messages =
            ["reached process FD limit", "reached system FD limit", "no free ports", "has no server available!"];
        for line in sessions.chain(messages.map(str::to_owned)) {
            if let Some(signature) = &aggregate([line.as_str()])[0].signature {
                assert!(known.contains(signature.as_str()), "{line}: {signature} belongs to no limit");
            }
        }
    }

    fn beside(rules: &str, back: &str, server: &str) -> String {
        format!(
            "defaults\n mode http\nfrontend f\n bind :80\n{rules} default_backend b\nbackend b\n{back} server s1 127.0.0.1:1 maxconn 5\n{server}"
        )
    }

    #[test]
    fn more_servers_bring_something_only_where_requests_come_to_them() {
        let note = |back: &str, server: &str| {
            let all = told(&beside("", back, server), false);
            let limit = all.into_iter().find(|limit| limit.id == "haproxy.server.maxconn").unwrap();
            limit.remedy.and_then(|remedy| remedy.note).unwrap()
        };
        let two = " server s2 127.0.0.1:2 maxconn 5\n";
        assert!(note("", two).contains("each brings as many"));
        for (balance, what) in [("source", "source"), ("uri", "path"), ("hdr(host)", "host")] {
            for servers in ["", two] {
                let said_so = note(&format!(" balance {balance}\n"), servers);
                let said = format!("further servers bring nothing here: all requests of one {what} go to one server");
                assert_eq!(said_so, said, "{balance}");
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
        let all = told(&beside(" use_backend spare if { nbsrv(b) lt 1 }\n", "", spare), false);
        assert_eq!(signs(&all, "haproxy.server.maxconn"), ["haproxy.refused.sQ"]);
        assert_eq!(signs(&all, "haproxy.server.maxconn.spare"), ["haproxy.refused.sQ.spare"]);
        let made = told(&beside(" use_backend %[path,map(/m)]\n", "", spare), false);
        assert_eq!(signs(&made, "haproxy.server.maxconn.spare"), ["haproxy.refused.sQ.spare"], "it may be any");
    }
}
