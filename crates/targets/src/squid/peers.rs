//! The peers that requests go to (`cache_peer HOST parent PORT ...`): how many connections each takes, and where they are.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Law, Limit, Remedy, Strength};
use genkai_place::endpoint::Endpoint;

use super::config::{Config, MAX_CONN, cap};
use super::evidence::{self, SUBJECT, metrics};
use super::replies;
use crate::cache::answers::{self, logged};
use crate::cache::counters::Gauges;
use crate::files::entry::Entry;
use crate::limits::{backend, counted, errors, grew, raised_onward, reached, reached_of, valued};
use crate::settings::SourcedValue;

/// The part of the connections that may be open which is as good as all of them, where they are looked at now and then.
const NEARLY: f64 = 0.9;
/// The peers in force, and where those are that get no requests, as long as there are others: `nobody` says at which addresses nobody listens. A connect
/// that fails leaves the request to another peer, and after some (`connect-fail-limit`, 10) the peer is taken for dead (src/neighbors.cc:
/// peerConnectFailed, neighborUp; src/FwdState.cc).
fn there<'c>(config: &'c Config, nobody: &dyn Fn(SocketAddr) -> bool) -> (Vec<&'c Entry>, Vec<String>) {
    let place = |entry: &Entry| Some(format!("{}:{}", entry.values.first()?, entry.values.get(2)?));
    let is_absent = |entry: &&Entry| {
        let all = place(entry).map(|text| backend::loopback(&text)).unwrap_or_default();
        !all.is_empty() && all.into_iter().all(nobody)
    };
    let (absent, there): (Vec<_>, Vec<_>) = config.parents().into_iter().partition(is_absent);
    match there.is_empty() {
        true => (absent, Vec::new()),
        false => (there, absent.into_iter().filter_map(place).collect()),
    }
}

/// The numbers of these peers; none where one has none, which takes whatever the others do not.
fn caps(config: &Config, parents: &[&Entry]) -> Option<SourcedValue<Vec<u64>>> {
    let first = parents.first()?;
    let all: Vec<(&str, u64)> = parents.iter().map(|entry| cap(entry)).collect::<Option<_>>()?;
    let mut written: Vec<&str> = all.iter().map(|(written, _)| *written).collect();
    written.dedup();
    let value = all.iter().map(|(_, most)| *most).collect();
    Some(SourcedValue { value, written: written.join(", "), origin: config.entries.origin(first) })
}

/// Where they are; names that must be resolved are not among them.
pub(super) fn places(config: &Config) -> Vec<Endpoint> {
    let place = |entry: &&Entry| Endpoint::parse(&format!("{}:{}", entry.values.first()?, entry.values.get(2)?));
    config.parents().iter().filter_map(place).collect()
}

/// What the log calls a peer: its `name=`, else its host (src/cache_cf.cc: parse_peer).
fn name(entry: &Entry) -> Option<&str> {
    let named = entry.values.iter().rev().find_map(|word| word.strip_prefix("name="));
    named.or(entry.values.first().map(String::as_str))
}

/// The same of all peers.
pub(super) fn names(config: &Config) -> Vec<String> {
    config.parents().into_iter().filter_map(name).map(str::to_owned).collect()
}

/// Several peers, of which some answer with errors or not at all. A request is sent to another peer where it may be (src/FwdState.cc): the log has the last.
pub(super) fn answering(config: &Config) -> Vec<Limit> {
    let held = |entry: &&Entry| {
        let written = format!("{}:{}", entry.values.first()?, entry.values.get(2)?);
        Some((name(entry)?.to_owned(), SourcedValue { value: (), written, origin: config.entries.origin(entry) }))
    };
    let each: Vec<_> = config.parents().iter().filter_map(held).collect();
    let source = "squid 5.7 src/cf.data.pre, logformat: %<Hs and %<A, in a log of genkai's own";
    // Several workers have no such log.
    if config.workers().value > 1 {
        Vec::new()
    } else {
        answers::limits(SUBJECT, &each, source, |name| logged(SUBJECT, name), false)
    }
}

/// Local ports towards the peers. Which of several a request goes to is the peers' selection: then no number is told.
pub(super) fn ports(config: &Config, range: (u16, u16)) -> Option<Limit> {
    let places =
        config.parents().iter().map(|entry| (entry.values.first(), entry.values.get(2))).collect::<BTreeSet<_>>();
    let ports = backend::Ports {
        id: "squid.peer.ports",
        way: "Squid to its peers",
        addresses: places.len() as u64,
        noun: "peer",
        range,
        signature: "",
        answer: ErrorKind::Status503,
    };
    let limit = ports.limit()?;
    let signatures = vec![grew(metrics::PORTLESS, Strength::Decisive)];
    let law = if places.len() == 1 { limit.law } else { Law::Unknown };
    Some(Limit { law, signatures, ..limit })
}

/// Which pages of Squid's are read while a load runs: how many connections to its peers are open, and which are dead, where they have a cap or are several; how
/// full its delay pools are. None where who asks would be one of the connections of a client that are counted.
pub(super) fn pages(config: &Config) -> Vec<(&'static str, Gauges)> {
    let counts = |entry: &Entry| entry.values.get(1).is_some_and(|kind| kind == "maxconn");
    let counted = config.value("client_ip_max_connections").is_some() || config.each("acl").any(counts);
    let peers = caps(config, &config.parents()).is_some() || config.parents().len() > 1;
    let peers = peers.then_some((evidence::PEERS, evidence::gauges as Gauges));
    let pools = replies::are_watched(config).then_some((evidence::POOLS, evidence::pools as Gauges));
    peers.into_iter().chain(pools).filter(|_| !counted).collect()
}

/// Connections to the peers that answer: a peer with so many open is not chosen, idle ones included (src/neighbors.cc: `peerHTTPOkay`). A kept
/// connection is used again, so that a peer of N has as many as clients were busy at once; from N on none is chosen, until one of them is
/// closed: measured on 5.7, ten kept ones of ten left 92 % of the requests of 10 users unserved, nine of nine all of 9 users'. Squid asks a peer
/// for its digest, too, on a connection that it keeps. Each worker counts alone. Peers at whose address nobody listens (`nobody`) do not count.
pub(super) fn limit(config: &Config, nobody: &dyn Fn(SocketAddr) -> bool) -> Option<Limit> {
    let (parents, absent) = there(config, nobody);
    let held = caps(config, &parents)?;
    let (sum, most) = (held.value.iter().sum::<u64>(), held.value.iter().copied().max().unwrap_or(0));
    let (workers, count) = (config.workers().value, held.value.len() as u64);
    let kept = config.sourced("server_persistent_connections", |text| Some(text.to_owned())).value != "off";
    let digest = config.parents().iter().any(|entry| !entry.values.iter().any(|word| word == "no-digest"));
    let chosen = config
        .each("cache_peer_access")
        .any(|entry| entry.values.get(1..) != Some(&["allow".to_owned(), "all".to_owned()]));
    let cached = config.each("cache").next().is_none_or(|rule| rule.values != ["deny", "all"]);
    // The largest is the last that can be full of idle ones; where a request may not use each peer, it may be the smallest that is left to it.
    let fewest = held.value.iter().copied().min().unwrap_or(0);
    let sure = match (kept, chosen) {
        (true, true) => fewest.saturating_sub(1 + u64::from(digest)),
        (true, false) => most.saturating_sub(1 + u64::from(digest)),
        (false, true) => fewest,
        (false, false) => sum,
    };
    let high = (sum * workers) as f64;
    let slots =
        Law::Slots { value: high, reserved: 0.0, idle_cost: 0.0, busy_cost: 1.0, pools: 1.0, soft: sure as f64 / high };
    let written: Vec<String> = held.value.iter().map(u64::to_string).collect();
    let remedy = Remedy {
        note: Some(
            "or `server_persistent_connections off`: idle kept ones count; the peers must be able to take as many"
                .to_owned(),
        ),
        parts: (count * workers) as f64,
        ..raised_onward(MAX_CONN)
    };
    Some(Limit {
        caps: "connections to the peers at once; beyond it requests are answered with 502, or with an old copy that is kept".to_owned(),
        law: if chosen { Law::Unknown } else { slots },
        formula: [
            format!("{} connections to {}", written.join(" + "), counted(count, "peer")),
            if workers > 1 { format!(" in each of {workers} workers") } else { String::new() },
            if kept { ", idle ones included, which take no request once so many are open".to_owned() } else { String::new() },
            // A request may be one of those that only a peer may have that is not there.
            if kept && (absent.is_empty() || !chosen) {
                format!(
                    ": for certain {sure} requests at once{}",
                    if digest { " (Squid keeps one that it asked for a digest)" } else { "" }
                )
            } else {
                String::new()
            },
            backend::nobody_at(&absent),
            if cached { "; what the cache answers takes none".to_owned() } else { String::new() },
            if chosen {
                "; it depends: cache_peer_access says which request may use which peer".to_owned()
            } else {
                String::new()
            },
        ]
        .concat(),
        source: "squid 5.7 src/neighbors.cc: peerHTTPOkay (max_conn), src/FwdState.cc".to_owned(),
        // Connections that are not kept come and go between two looks.
        signatures: vec![
            reached(metrics::PEER_CONNECTIONS, sum as f64, Strength::Decisive),
            reached(metrics::PEER_CONNECTIONS, NEARLY * sum as f64, Strength::Supports),
            // So it is, too, where all peers are held to be dead.
            grew(&answers::unsent(SUBJECT), Strength::Supports),
            // A peer that is taken for dead gets none (src/neighbors.cc: neighborUp).
            reached_of(metrics::LIVE_PEER_CONNECTIONS, metrics::LIVE_PEER_MOST, 1.0, Strength::Decisive),
            reached_of(metrics::LIVE_PEER_CONNECTIONS, metrics::LIVE_PEER_MOST, NEARLY, Strength::Supports),
        ],
        symptom: errors(&[ErrorKind::Status502, ErrorKind::Status503]),
        // Without a law nothing says what another number does.
        remedy: (!chosen).then_some(remedy),
        ..valued("squid.max_conn", "squid", "cache_peer max-conn", &held)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::limits::goes_direct;
    use super::*;
    use crate::files::{Configuration, Requests};

    fn config(text: &str) -> Config {
        Config::of_text(Path::new("/x"), text.as_bytes().to_vec()).unwrap()
    }

    fn peer(host: &str, more: &str) -> String {
        format!("cache_peer {host} parent 80 0 no-query originserver no-digest {more}\n")
    }

    #[test]
    fn peers_take_so_many_connections() {
        let port = "http_port 80 accel defaultsite=a\n";
        let clients = |text: &str| {
            let config = config(&format!("{port}{text}"));
            limit(&config, &|_| false).filter(|_| !goes_direct(&config)).and_then(|limit| match limit.law {
                Law::Slots { value, soft, .. } => Some((value * soft, value)),
                _ => None,
            })
        };
        let ten = peer("a", "max-conn=10");
        // Measured: without kept connections 10 users, 0 failed, 11 users, 14 % failed.
        let off = "server_persistent_connections off\n";
        assert_eq!(clients(&(ten.clone() + off)), Some((10.0, 10.0)));
        assert_eq!(clients(&ten), Some((9.0, 10.0)), "ten kept ones take no request");
        assert_eq!(
            clients(&ten.replace(" no-digest", "")),
            Some((8.0, 10.0)),
            "one is kept that was asked for a digest"
        );
        assert_eq!(clients(&(ten.clone() + &peer("b", "max-conn=5"))), Some((9.0, 15.0)), "both are full at ten");
        let two = ten.clone() + &peer("b", "max-conn=5") + "workers 2\n" + off;
        let (low, high) = clients(&two).unwrap();
        assert!((low - 15.0).abs() < 1e-9 && high == 30.0, "{low} {high}");
        assert_eq!(clients(&(ten.clone() + &peer("b", "") + off)), None);
        assert_eq!(clients(&(ten.clone() + off + "http_port 81\n")), None, "a forward proxy goes direct");
        assert!(clients(&(ten.clone() + off + "http_port 81\nnever_direct allow all\n")).is_some());
        assert_eq!(clients(&(ten.clone() + off + "cache_peer_access a allow some\n")), None);
        assert_eq!(
            (pages(&config(&ten)).len(), pages(&config(&(ten + "client_ip_max_connections 9\n"))).len()),
            (1, 0)
        );
    }

    #[test]
    fn where_a_request_may_not_use_each_peer_the_smallest_is_what_is_certain() {
        let two = peer("a", "max-conn=5") + &peer("b", "max-conn=3") + "http_port 80 accel defaultsite=a\n";
        let said = |text: &str| limit(&config(text), &|_| false).unwrap().formula;
        assert!(said(&two).contains("for certain 4 requests"), "{}", said(&two));
        // Measured on 5.7 with what only b may take: 2 at once hold, 3 are refused once three are kept.
        let static_ones = "acl static urlpath_regex ^/static/\ncache_peer_access a deny static\ncache_peer_access b allow static\ncache_peer_access b deny all\n";
        let one = two + static_ones;
        assert!(said(&one).contains("for certain 2 requests"), "{}", said(&one));
    }

    /// Measured on 5.7: with one of two peers absent, as many requests at once were served as the other takes.
    #[test]
    fn a_peer_at_whose_address_nobody_listens_takes_no_connections() {
        let of = |peers: &[(&str, &str)], more: &str, absent: &[u16]| {
            let line = |(at, more): &(&str, &str)| {
                let (host, port) = at.split_once(':').unwrap();
                format!("cache_peer {host} parent {port} 0 no-query originserver no-digest name=p{port} {more}\n")
            };
            let text = peers.iter().map(line).collect::<String>() + "server_persistent_connections off\n" + more;
            let limit = limit(&config(&text), &|address| absent.contains(&address.port()))?;
            let high = if let Law::Slots { value, .. } = limit.law { Some(value) } else { None };
            Some((high, limit.formula))
        };
        let two = [("127.0.0.1:1", "max-conn=5"), ("localhost:2", "max-conn=3")];
        let all = |absent: &[u16]| of(&two, "", absent).unwrap();
        assert_eq!(all(&[]).0, Some(8.0));
        assert_eq!(all(&[1]).0, Some(3.0));
        let (high, formula) = all(&[2]);
        assert_eq!(high, Some(5.0));
        assert!(formula.starts_with("5 connections to 1 peer; nobody listens at localhost:2"), "{formula}");
        assert_eq!(all(&[1, 2]).0, Some(8.0), "then it is not that which stops a load");
        let open = [("127.0.0.1:1", "max-conn=5"), ("127.0.0.1:2", "")];
        assert_eq!((of(&open, "", &[]), of(&open, "", &[2]).unwrap().0), (None, Some(5.0)));
        let chosen = "server_persistent_connections on\ncache_peer_access p1 deny all\n";
        assert!(of(&two, chosen, &[]).unwrap().1.contains("for certain 2"));
        let (high, formula) = of(&two, chosen, &[2]).unwrap();
        assert!(high.is_none() && !formula.contains("for certain"), "a request may be for nobody: {formula}");
    }

    #[test]
    fn the_number_is_changed_of_each_and_no_other_byte() {
        let text = "cache_peer  a parent 80 0 max-conn=9  no-query # mine\ncache_peer b parent 81 0 no-query\ncache_peer c parent 82 0 \\\n  \
                    max-conn=3\nhttp_port 1 accel\n";
        let (before, requests) = (config(text), Requests::default());
        let after = before.set(MAX_CONN, "64", &requests).unwrap();
        let expected = text.replace("max-conn=9", "max-conn=64").replace("max-conn=3", "max-conn=64");
        assert_eq!(String::from_utf8(after.entries.files()[0].text.clone()).unwrap(), expected);
        assert_eq!((before.value_of(MAX_CONN, &requests).unwrap().0.as_str(), places(&before).len()), ("9, 3", 0));
        assert_eq!(places(&config("cache_peer 127.0.0.1 parent 80 0\ncache_peer localhost parent 81 0\n")).len(), 2);
        for (text, value) in [(text, "x"), (text, "0"), ("http_port 1 accel\n", "5")] {
            assert!(config(text).set(MAX_CONN, value, &requests).is_err(), "{value}");
        }
    }

    #[test]
    fn local_ports_are_told_of_one_peer() {
        let of = |text: &str| ports(&config(text), (40_000, 40_005));
        let one = of("cache_peer 127.0.0.1 parent 9 0 originserver\n").unwrap();
        assert!(matches!(one.law, Law::Slots { value: 6.0, .. }), "{:?}", one.law);
        assert_eq!(one.signatures, [grew(metrics::PORTLESS, Strength::Decisive)]);
        let two = "cache_peer 127.0.0.1 parent 9 0 originserver name=a\ncache_peer 127.0.0.1 parent 8 0 originserver name=b\n";
        assert_eq!(of(two).unwrap().law, Law::Unknown, "which of them a request goes to is not known");
        assert_eq!(of("http_port 80\n"), None);
    }
}
