//! What Squid counts.

use std::collections::{BTreeMap, BTreeSet};

use genkai_model::cache::OwnCounts;
use genkai_model::evidence::metric;

use crate::cache::answers::{LogEntry, Outcome};
use crate::cache::counters::number;

/// Who it is in a record.
pub(super) const SUBJECT: &str = "squid";

/// Signature of the message that it has no descriptors left for clients (src/comm/TcpAcceptor.cc).
pub(super) const OUT_OF_DESCRIPTORS: &str = "squid-out-of-descriptors";

/// Signature of the message that a connection was closed, as its client has too many (`client_ip_max_connections`; src/comm/TcpAcceptor.cc).
pub(super) const TOO_MANY_OF_ADDRESS: &str = "squid-too-many-of-an-address";

/// The known message that a line of its log is.
pub(super) fn signature(line: &str) -> Option<&'static str> {
    let known = [
        ("Your cache is running out of filedescriptors", OUT_OF_DESCRIPTORS),
        (" attempting more than ", TOO_MANY_OF_ADDRESS),
    ];
    known.into_iter().find(|(words, _)| line.contains(words)).map(|(_, signature)| signature)
}

/// The log of failed answers that a private copy has beside the user's, and what marks a request there (a name of an ACL, of a note, of a format).
pub(super) const FAILED_LOG: &str = "genkai-failed.log";
pub(super) const MARK: &str = "genkai_refused";
/// Signature of a line of it: Squid itself refused the request (src/LogTags.cc: `TCP_DENIED`).
pub(super) const DENIED: &str = "squid-denied";
/// The same where it was for too many connections of the client.
pub(super) const DENIED_FOR_MAXCONN: &str = "squid-denied-for-maxconn";

/// What a line of the log of failed answers says, if Squid refused the request.
pub(super) fn refused(line: &str) -> Option<&'static str> {
    let note = line.strip_prefix("TCP_DENIED")?.split(' ').nth(1)?;
    Some(if note == "maxconn" { DENIED_FOR_MAXCONN } else { DENIED })
}

/// The log of answers that were too big, and what it is called by in a copy.
pub(super) const TOO_BIG_LOG: &str = "genkai-too-big.log";
pub(super) const TOO_BIG_MARK: &str = "genkai_too_big";
/// Signature of a line of it: an answer was larger than may be (src/err_type.h: `ERR_TOO_BIG`).
pub(super) const TOO_BIG: &str = "squid-reply-too-big";

/// What a line of that log says.
pub(super) fn too_big(line: &str) -> Option<&'static str> {
    (line.split(' ').nth(1)? == "ERR_TOO_BIG").then_some(TOO_BIG)
}

/// Its page of delay pools (cache manager, `mgr:delay`).
pub(super) const POOLS: &str = "/squid-internal-mgr/delay";

/// Whether a bucket of a pool is empty (1, else 0).
pub(super) fn empty(pool: &str) -> String {
    format!("squid.delay_pool.{pool}.empty")
}

/// What that page says of each pool: whether one of its buckets is empty (src/delay_pools.cc: `DelaySpec::stats`).
pub(super) fn pools(page: &str) -> Vec<(String, f64)> {
    let pool = |block: &str| {
        let number = block.lines().next()?.trim();
        let levels = block.lines().filter_map(|line| line.trim_start().strip_prefix("Current")?.split_once(": "));
        // As `LEVEL`, or `WHO:LEVEL` of each.
        let levels = levels.flat_map(|(_, levels)| levels.split(' ')).map(|one| one.rsplit(':').next().unwrap_or(one));
        let is_empty = levels.filter_map(|level| level.parse::<i64>().ok()).any(|level| level <= 0);
        Some((empty(number), f64::from(u8::from(is_empty))))
    };
    let mut all: BTreeMap<String, f64> = BTreeMap::new();
    // Each worker has pools of its own, of the same numbers.
    for (number, is_empty) in page.split("\nPool: ").skip(1).filter_map(pool) {
        let worst = all.entry(number).or_default();
        *worst = worst.max(is_empty);
    }
    all.into_iter().collect()
}

/// What its log has of each request: the status that the client got, that of the peer, how the request ended, why it failed, what its own error page says of
/// that, and the peer (src/cf.data.pre, logformat).
pub(super) const ANSWER: &str = "%>Hs|%<Hs|%Ss|%err_code|%{X-Squid-Error}<h|%<A";

/// Errors of Squid's own that say that the peer did not answer (src/err_type.h).
const NO_ANSWER: [&str; 3] = ["ERR_ZERO_SIZE_OBJECT", "ERR_READ_ERROR", "ERR_READ_TIMEOUT"];
/// No connection: `errno` says whose fault that is (src/errorpage.cc: `ErrorState::BuildHttpReply`).
const NO_CONNECTION: &str = "ERR_CONNECT_FAIL";

/// Whether a connection failed before anything was sent to the peer: no local port was left (EADDRNOTAVAIL).
fn is_without_port(detail: &str) -> bool {
    errno(detail) == Some(nix::errno::Errno::EADDRNOTAVAIL as i32)
}

/// The number in `ERR_CONNECT_FAIL 111`, as a log has it; none where an error page says none (`reply_header_access`).
fn errno(detail: &str) -> Option<i32> {
    detail.strip_prefix(NO_CONNECTION)?.trim_start_matches("%20").trim().parse().ok()
}

/// A line of that log. An old copy that is given because the peer failed is told as such (`TCP_REFRESH_FAIL_OLD`, src/LogTags.cc).
pub(super) fn answer(line: &str) -> Option<LogEntry<'_>> {
    let [sent, gave, ended, why, detail, peer] = line.splitn(6, '|').collect::<Vec<_>>().try_into().ok()?;
    let (sent, gave) = (sent.parse::<u16>().ok()?, gave.parse::<u16>().unwrap_or(0));
    let refused = why == NO_CONNECTION && errno(detail).is_some() && !is_without_port(detail);
    let outcome = match gave {
        400.. => Some(Outcome::Failed),
        100.. => Some(Outcome::Answered),
        _ if sent >= 500 && (refused || NO_ANSWER.contains(&why)) => Some(Outcome::Unanswered),
        _ => None,
    };
    let failed = gave >= 500 || ended.contains("REFRESH_FAIL_OLD");
    let of = outcome.filter(|_| peer != "-").map(|outcome| (peer, outcome));
    // Where no peer is chosen (src/FwdState.cc), it says this of a read that never was (measured on 5.7).
    let unsent = sent == 502 && gave == 0 && peer == "-" && why == "ERR_READ_ERROR";
    Some(LogEntry { of, hidden: failed && (200..400).contains(&sent), unsent, portless: Some(is_without_port(detail)) })
}

/// Metrics of a running Squid.
pub(super) mod metrics {
    /// Connections to its peers that are open, of the worker that has most.
    pub(in crate::squid) const PEER_CONNECTIONS: &str = "squid.peer_connections";
    /// The same of those peers that it takes for alive.
    pub(in crate::squid) const LIVE_PEER_CONNECTIONS: &str = "squid.live_peer_connections";
    /// How many these may be (`max-conn`).
    pub(in crate::squid) const LIVE_PEER_MOST: &str = "squid.live_peer_most";
    /// Requests for which no connection to a peer was made, as no local port was left, cumulative.
    pub(in crate::squid) const PORTLESS: &str = "squid.without_local_port_total";
}

/// Its page of peers (cache manager, `mgr:server_list`).
pub(super) const PEERS: &str = "/squid-internal-mgr/server_list";

/// What that page says of how it is: `OPEN CONNS` of all parents, and of those whose `Status` is `Up` with their `max-conn`
/// (src/neighbors.cc: `dump_peers`, `dump_peer_options`), of the worker that has most, each of which writes a block of its own.
pub(super) fn gauges(page: &str) -> Vec<(String, f64)> {
    // One worker writes no blocks.
    let blocks = page.split("\nby kid").map(|block| block.split("\nParent ").skip(1).filter_map(peer).collect());
    let open = |block: &[Peer]| block.iter().map(|peer| peer.open).sum::<u64>();
    let busiest = blocks.filter(|block: &Vec<Peer>| !block.is_empty()).max_by_key(|block| open(block));
    let Some(busiest) = busiest else { return Vec::new() };
    let mut all = vec![(metrics::PEER_CONNECTIONS.to_owned(), open(&busiest) as f64)];
    let live: Vec<Peer> = busiest.into_iter().filter(|peer| peer.is_up).collect();
    let most: Option<u64> = live.iter().map(|peer| peer.most).sum();
    if let Some(most) = most.filter(|_| !live.is_empty()) {
        all.push((metrics::LIVE_PEER_CONNECTIONS.to_owned(), open(&live) as f64));
        all.push((metrics::LIVE_PEER_MOST.to_owned(), most as f64));
    }
    all.extend(down(page));
    all
}

/// Which of several peers get no requests because they do not answer (`Status`; src/neighbors.cc: `neighborUp`), where all workers say the same.
fn down(page: &str) -> Vec<(String, f64)> {
    let mut seen: BTreeMap<String, BTreeSet<bool>> = BTreeMap::new();
    for peer in page.split("\nParent ").skip(1).filter_map(peer) {
        seen.entry(peer.name).or_default().insert(peer.is_up);
    }
    let several = seen.len() > 1;
    let agreed = seen.into_iter().filter(|(_, ups)| several && ups.len() == 1);
    agreed.map(|(name, ups)| (metric::of_down(SUBJECT, &name), f64::from(u8::from(ups.contains(&false))))).collect()
}

/// A peer on that page.
struct Peer {
    name: String,
    open: u64,
    is_up: bool,
    /// None: as many as come.
    most: Option<u64>,
}

fn peer(text: &str) -> Option<Peer> {
    let of = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'));
    let name = text.lines().next()?.trim_start().strip_prefix(':')?.trim().to_owned();
    let most =
        of("Flags").and_then(|flags| flags.split(' ').find_map(|word| word.strip_prefix("max-conn=")?.parse().ok()));
    Some(Peer { name, open: of("OPEN CONNS")?.trim().parse().ok()?, is_up: of("Status")?.trim() == "Up", most })
}

/// Its page of counters (cache manager, `mgr:counters`).
pub(super) const PAGE: &str = "/squid-internal-mgr/counters";

/// `client_http.requests` and `client_http.hits` (src/StatCounters.h). The page itself was asked for `before` times, and each of those
/// is a request that was no hit.
pub(super) fn counts(page: &str, before: u64) -> Option<OwnCounts> {
    let (requests, hits) = (number(page, "client_http.requests")?, number(page, "client_http.hits")?);
    Some(OwnCounts { hits, misses: requests.checked_sub(hits)?.checked_sub(before)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_connections_are_those_of_the_busiest_worker() {
        // Written by 5.7.
        let is = |status: &str, open: u32| {
            format!(
                "\nParent     : o\nHost       : 127.0.0.1/17514/0\nFlags      : no-query max-conn=9 originserver\nAddress[0] : 127.0.0.1\n\
                 Status     : {status}\nFETCHES    : 29\nOPEN CONNS : {open}\nAVG RTT    : 0 msec\n"
            )
        };
        let peer = |open| is("Up", open);
        let head = "HTTP/1.1 200 OK\r\n\r\n";
        let named = |all: [f64; 3]| {
            let names = [metrics::PEER_CONNECTIONS, metrics::LIVE_PEER_CONNECTIONS, metrics::LIVE_PEER_MOST];
            names.map(str::to_owned).into_iter().zip(all).collect::<Vec<_>>()
        };
        assert_eq!(gauges(&format!("{head}{}{}", peer(9), peer(2))), named([11.0, 11.0, 18.0]));
        let workers = format!("{head}by kid1 {{\n{}}} by kid1\n\nby kid2 {{\n{}}} by kid2\n\n", peer(5), peer(7));
        assert_eq!(gauges(&workers), named([7.0, 7.0, 9.0]));
        let dead = format!("{head}{}{}", peer(9), is("Down", 0));
        assert_eq!(gauges(&dead), named([9.0, 9.0, 9.0]), "who is dead takes none");
        assert_eq!(gauges(&format!("{head}{}", is("Down", 0))), named([0.0, 0.0, 0.0])[..1]);
        assert!(gauges("HTTP/1.1 403 Forbidden\r\n\r\n").is_empty());
        let other = |status: &str| is(status, 0).replace(": o\n", ": p\n");
        let down = |page: &str| {
            let told =
                gauges(page).into_iter().filter_map(|(name, value)| Some((metric::down(&name)?.1.to_owned(), value)));
            told.collect::<Vec<_>>()
        };
        let one = |value: f64| vec![("o".to_owned(), 0.0), ("p".to_owned(), value)];
        assert_eq!(down(&format!("{head}{}{}", is("Up", 3), other("Down"))), one(1.0));
        assert_eq!(down(&format!("{head}{}{}", is("Up", 3), other("Up"))), one(0.0));
        let split = format!(
            "{head}by kid1 {{\n{}{}}} by kid1\n\nby kid2 {{\n{}{}}} by kid2\n\n",
            is("Up", 3),
            other("Down"),
            is("Up", 2),
            other("Up")
        );
        assert_eq!(down(&split), [("o".to_owned(), 0.0)], "workers do not agree on it");
    }

    #[test]
    fn peers_are_told_by_what_they_gave() {
        // Written by 5.7.
        let of = |line| answer(line).unwrap();
        let by = |peer, outcome, hidden| LogEntry {
            of: Some((peer, outcome)),
            hidden,
            unsent: false,
            portless: Some(false),
        };
        let nobodys = LogEntry { of: None, hidden: false, unsent: false, portless: Some(false) };
        assert_eq!(of("503|503|TCP_MISS|-|-|b"), by("b", Outcome::Failed, false));
        assert_eq!(of("200|200|TCP_MISS|-|-|a"), by("a", Outcome::Answered, false));
        assert_eq!(
            of("502|-|TCP_MISS|ERR_ZERO_SIZE_OBJECT|ERR_ZERO_SIZE_OBJECT%200|127.0.0.1"),
            by("127.0.0.1", Outcome::Unanswered, false)
        );
        assert_eq!(of("503|-|TCP_MISS|ERR_CONNECT_FAIL|ERR_CONNECT_FAIL%20111|c"), by("c", Outcome::Unanswered, false));
        let unsent = LogEntry { unsent: true, ..nobodys };
        assert_eq!(
            of("502|-|TCP_MISS|ERR_READ_ERROR|ERR_READ_ERROR%200|-"),
            unsent,
            "all peers were full, or held to be dead"
        );
        assert_eq!(of("200|-|TCP_MEM_HIT|-|-|-"), nobodys);
        let portless = LogEntry { portless: Some(true), ..nobodys };
        assert_eq!(
            of("503|-|TCP_MISS|ERR_CONNECT_FAIL|ERR_CONNECT_FAIL%2099|c"),
            portless,
            "no port of its own was left"
        );
        assert_eq!(of("503|-|TCP_MISS|ERR_CONNECT_FAIL|-|c"), nobodys, "whose fault it was is not said");
        assert_eq!(of("200|503|TCP_REFRESH_FAIL_OLD|-|-|a"), by("a", Outcome::Failed, true));
        assert_eq!(answer("garbage"), None);
    }

    #[test]
    fn pools_that_let_nothing_through_are_told() {
        // Written by 5.7.
        let page = "HTTP/1.1 200 OK\r\n\r\nDelay pools configured: 2\n\nPool: 1\n\tClass: 3\n\n\tAggregate:\n\t\tMax: 40000\n\t\tRestore: \
                    40000\n\t\tCurrent: 20000\n\n\tNetwork:\n\t\tMax: 30000\n\t\tRestore: 30000\n\t\tCurrent: 0:10000\n\n\tIndividual:\n\t\tMax: \
                    20000\n\t\tRestore: 20000\n\t\tCurrent [Network 0]: 1:0\n\nPool: 2\n\tClass: 2\n\n\tAggregate:\n\t\tDisabled.\n\n\tIndividual:\n\
                    \t\tMax: 20000\n\t\tRestore: 20000\n\t\tCurrent: Not used yet.\n\n";
        assert_eq!(pools(page), [(empty("1"), 1.0), (empty("2"), 0.0)]);
        assert_eq!(pools(&page.replace("1:0\n", "1:7\n")), [(empty("1"), 0.0), (empty("2"), 0.0)]);
        assert!(pools("HTTP/1.1 403 Forbidden\r\n\r\n").is_empty());
        let other = page.replace("1:0\n", "1:7\n");
        assert_eq!(pools(&format!("{page}{other}")), pools(page), "one worker's is empty");
        assert_eq!(
            (too_big("TCP_DENIED_REPLY ERR_TOO_BIG"), too_big("TCP_DENIED ERR_ACCESS_DENIED")),
            (Some(TOO_BIG), None)
        );
    }

    #[test]
    fn refusals_are_told_from_failures_of_others() {
        // Written by 5.7.
        assert_eq!(refused("TCP_DENIED/403 maxconn"), Some(DENIED_FOR_MAXCONN));
        assert_eq!(refused("TCP_DENIED/403 -"), Some(DENIED));
        assert_eq!((refused("TCP_MISS/502 -"), refused("")), (None, None));
        let closed = "2026/11/26 00:27:23| WARNING: 127.0.0.1:45826 attempting more than 12 connections.";
        assert_eq!(signature(closed), Some(TOO_MANY_OF_ADDRESS));
    }

    #[test]
    fn questions_for_the_counters_do_not_count() {
        let page = "sample_time = 1\nclient_http.requests = 9\nclient_http.hits = 3\nserver.http.requests = 3\n";
        assert_eq!(counts(page, 2), Some(OwnCounts { hits: 3, misses: 4 }));
        assert_eq!((counts("", 0), counts(page, 7)), (None, None));
    }
}
