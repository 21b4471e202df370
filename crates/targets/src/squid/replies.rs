//! What Squid does to answers: how large they may be (`reply_body_max_size`), and how fast what is not in the cache is read (delay pools). Measured on
//! 5.7.

use std::net::IpAddr;

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Law, Limit, Strength};

use super::access::Access;
use super::config::Config;
use super::evidence::{self, TOO_BIG};
use super::settings::{UNLIMITED, bytes, number};
use crate::files::entry::Entry;
use crate::limits::{SLOW, errors, log, reached};
use crate::product::OwnAnswer;

/// Those that may hold for clients at this address; none: nobody knows where.
pub(super) fn limits(config: &Config, client: Option<IpAddr>) -> Vec<Limit> {
    let access = Access { config, client };
    too_big(access).map(|most| largest(config, &most)).into_iter().chain(pool(access)).collect()
}

/// Pools that bound how fast clients are sent their answers, of which nothing else is told: those that their access lists may give requests to. A request
/// goes by the first that takes it (src/MessageDelayPools.cc; src/client_side.cc: ConnStateData::start). Measured on 5.7: without a line of such a list nobody's are slowed.
pub(super) fn of_clients<'c>(access: Access<'c>) -> Vec<&'c Entry> {
    let config = access.config;
    let count = config.value("client_delay_pools").and_then(|entry| number(&entry.value())).unwrap_or(0);
    let clients = (1..=count.min(MOST_POOLS)).map(|pool| {
        let is = move |entry: &&Entry| first_number(entry) == Some(pool);
        // Without parameters nothing is sent at all: a client of 5.7 waited for 20 seconds and more.
        let line = config.each("client_delay_parameters").filter(is).last().or(config.value("client_delay_pools"));
        (line, takes(access, "client_delay_access", is))
    });
    let named = config.each("response_delay_pool").map(|line| {
        let is = move |entry: &&Entry| entry.values.first() == line.values.first();
        (Some(line), takes(access, "response_delay_pool_access", is))
    });
    may_take(clients).into_iter().chain(may_take(named)).collect()
}

/// The lines of pools that may take requests: none after one that takes all.
fn may_take<'c>(pools: impl Iterator<Item = (Option<&'c Entry>, Option<bool>)>) -> Vec<&'c Entry> {
    let mut all = Vec::new();
    for (line, takes) in pools.filter(|(_, takes)| *takes != Some(false)) {
        all.extend(line);
        if takes == Some(true) {
            break;
        }
    }
    all
}

fn first_number(entry: &Entry) -> Option<u64> {
    entry.values.first().and_then(|word| number(word))
}

/// Whether a limit is told as an answer of Squid's own while it runs ([`own`]).
pub(super) fn is_own(limit: &Limit) -> bool {
    limit.setting == MOST
}

/// Lines of the log of answers that were too big, in the folder of a copy; empty where there is no such rule.
pub(super) fn log_lines(config: &Config, dir: &str) -> Vec<String> {
    let (mark, file) = (evidence::TOO_BIG_MARK, evidence::TOO_BIG_LOG);
    match config.each(MOST).next() {
        Some(_) => vec![
            format!("acl {mark} http_status 403"),
            format!("logformat {mark} %Ss %err_code"),
            format!("access_log stdio:{dir}/{file} logformat={mark} {mark}"),
        ],
        None => Vec::new(),
    }
}

/// Whether Squid is asked how full its pools are while a load runs.
pub(super) fn are_watched(config: &Config) -> bool {
    pool(Access { config, client: None }).is_some()
}

const MOST: &str = "reply_body_max_size";
/// No more pools than this are looked at.
const MOST_POOLS: u64 = 1000;

/// Of the lines whose ACLs all match the first counts (src/client_side_reply.cc: `checkMaxReplySize` by src/http/Stream; HttpReply.cc:
/// `calcMaxBodySize`).
fn too_big(access: Access<'_>) -> Option<Most<'_>> {
    let (mut sure, mut first) = (true, None);
    for line in access.config.each(MOST) {
        let (size, names) = sized(line)?;
        let holds = access.all(names);
        match (holds, size) {
            (Some(false), _) => continue,
            (Some(true), UNLIMITED) => break,
            _ => {}
        }
        sure &= holds.is_some();
        if size != UNLIMITED && first.is_none() {
            first = Some((line, size));
        }
        if holds == Some(true) {
            break;
        }
    }
    let (line, size) = first?;
    Some(Most { line, size, sure })
}

/// The rule that says how large an answer may be.
struct Most<'c> {
    line: &'c Entry,
    size: u64,
    /// Whether it is sure that it is the one that counts.
    sure: bool,
}

/// What Squid answers in the place of a larger one.
pub(super) fn own(config: &Config, client: Option<IpAddr>) -> Option<OwnAnswer> {
    let Most { line, size, .. } = too_big(Access { config, client })?;
    Some(OwnAnswer {
        statuses: vec![403],
        signature: Some(TOO_BIG.to_owned()),
        late: true,
        when: format!("an answer has a Content-Length above {size}"),
        ..OwnAnswer::of(MOST, line.value(), config.entries.origin(line))
    })
}

fn largest(config: &Config, Most { line, size, sure }: &Most<'_>) -> Limit {
    let depends = if *sure { "" } else { "; it depends on more than is in the file whose answers" };
    Limit {
        value: line.value(),
        origin: config.entries.origin(line),
        caps: "bytes of an answer: a larger one is refused with 403 (ERR_TOO_BIG)".to_owned(),
        law: Law::Unknown,
        formula: format!(
            "a Content-Length above {size} is answered 403; an answer that does not say how long it is ends there{depends}"
        ),
        source: "squid 5.7 src/cf.data.pre, reply_body_max_size; src/HttpReply.cc: calcMaxBodySize".to_owned(),
        signatures: vec![log(TOO_BIG, Strength::Decisive)],
        symptom: errors(&[ErrorKind::Status4xx]),
        ..Limit::named("squid.reply_body_max_size", "squid", MOST)
    }
}

/// The size of a line, and its ACLs: `SIZE [UNIT] [ACL ...]`; a size of 0 is none, and has no unit.
fn sized(line: &Entry) -> Option<(u64, &[String])> {
    let first = line.values.first()?;
    if first == "none" || first == "-1" || first.parse::<f64>().is_ok_and(|size| size == 0.0) {
        return Some((UNLIMITED, &line.values[1..]));
    }
    let words = line.values.len().min(2);
    let size = bytes(&line.values[..words].join(" "))?;
    Some((size, &line.values[words..]))
}

/// The first pool that takes the requests (src/DelayId.cc: `DelayId::DelayClient`), where it bounds what all clients at one address get.
fn pool(access: Access<'_>) -> Option<Limit> {
    let config = access.config;
    let pools = config.value("delay_pools").and_then(|entry| number(&entry.value()))?;
    let mut sure = true;
    for pool in 1..=pools.min(MOST_POOLS) {
        let takes = takes(access, "delay_access", |entry| first_number(entry) == Some(pool));
        if takes == Some(false) {
            continue;
        }
        sure &= takes.is_some();
        let of = |name: &'static str| {
            let named = move |entry: &&Entry| entry.values.first().and_then(|word| number(word)) == Some(pool);
            config.each(name).filter(named).last()
        };
        let bound = of("delay_class").and_then(|class| number(class.values.get(1)?)).and_then(|class| {
            let line = of("delay_parameters")?;
            Some((line, slowest(class, line)?))
        });
        if let Some((line, (rate, first))) = bound {
            return Some(bounded(access, (pool, line), (rate, first), sure));
        }
        if takes == Some(true) {
            return None;
        }
    }
    None
}

/// Whether requests go by a pool, by the lines of a list that are its own (`mine`): what the first says whose ACLs all match; without a line none does, after the
/// last the opposite of it is so (src/acl/Checklist.cc). Lines that name no ACL are passed over (src/acl/Gadgets.cc: aclParseAccessLine).
fn takes<'c>(access: Access<'c>, list: &'static str, mine: impl Fn(&&'c Entry) -> bool) -> Option<bool> {
    let mut last = true;
    // What is so of requests that a line above may have taken already.
    let mut open: Vec<bool> = Vec::new();
    for line in access.config.each(list).filter(mine) {
        let (Some(word), Some(names @ [_, ..])) = (line.values.get(1), line.values.get(2..)) else { continue };
        last = word == "allow";
        match access.all(names) {
            Some(true) => return open.iter().all(|one| *one == last).then_some(last),
            None => open.push(last),
            Some(false) => {}
        }
    }
    open.iter().all(|one| *one != last).then_some(!last)
}

/// Of the buckets that clients at one address share the slowest: bytes a second, and bytes that it holds at most. Those of class 4 for users, and class
/// 5, go by more than the address.
fn slowest(class: u64, line: &Entry) -> Option<(u64, u64)> {
    let buckets = match class {
        1..=3 => class as usize,
        4 => 3,
        _ => 0,
    };
    let bucket = |word: &String| {
        let (restore, most) = word.split_once('/')?;
        Some((restore.parse().ok()?, most.parse().ok()?))
    };
    line.values.iter().skip(1).take(buckets).filter_map(bucket).min()
}

fn bounded(access: Access<'_>, (pool, line): (u64, &Entry), (rate, first): (u64, u64), sure: bool) -> Limit {
    let depends =
        if sure { "" } else { "; it depends on more than is in the file which requests go by it (delay_access)" };
    Limit {
        value: line.values.get(1..).unwrap_or_default().join(" "),
        origin: access.config.entries.origin(line),
        caps: format!("all answers from servers together are read at {rate} bytes a second (delay pool {pool})"),
        law: Law::Unknown,
        formula: format!(
            "{rate} bytes a second for all clients at one address, as those of a load are, after up to {first} at once; hits of the cache are not slowed{depends}"
        ),
        source: "squid 5.7 src/cf.data.pre, delay_parameters; src/delay_pools.cc".to_owned(),
        // A bucket is empty when more was there to be read than it let through.
        signatures: vec![reached(&evidence::empty(&pool.to_string()), 1.0, Strength::Decisive)],
        symptom: SLOW,
        ..Limit::named("squid.delay_parameters", "squid", &format!("delay_parameters {pool}"))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn told(text: &str) -> Vec<(String, String)> {
        let config = Config::of_text(Path::new("/x"), text.as_bytes().to_vec()).unwrap();
        let client = Some("127.0.0.1".parse().unwrap());
        limits(&config, client).into_iter().map(|limit| (limit.setting, limit.formula)).collect()
    }

    /// What 5.7 answered to bodies of one byte more and less.
    #[test]
    fn the_first_line_that_matches_says_how_large_an_answer_may_be() {
        let size = |text: &str| {
            let all = told(&format!("acl here src 10.0.0.1\nacl me src 127.0.0.1\nacl late time M\n{text}"));
            all.into_iter().next().map(|(_, formula)| formula)
        };
        let is = |formula: Option<String>, bytes: u64| {
            formula.is_some_and(|f| f.starts_with(&format!("a Content-Length above {bytes} is")))
        };
        assert!(is(size("reply_body_max_size 10 KB\n"), 10_240));
        assert!(is(size("reply_body_max_size 1000 bytes\n"), 1000));
        assert!(is(size("reply_body_max_size 10 KB here\nreply_body_max_size 15 KB all\n"), 15_360));
        assert_eq!(size("reply_body_max_size none me\nreply_body_max_size 10 KB\n"), None);
        assert_eq!((size("reply_body_max_size 0\n"), size("")), (None, None));
        let open = size("reply_body_max_size 10 KB late\nreply_body_max_size 15 KB\n");
        assert!(is(open.clone(), 10_240) && open.unwrap().contains("it depends"));
    }

    /// 60,000 bytes took a client of 5.7 three seconds and more with the first and the fourth, and some milliseconds with the others.
    #[test]
    fn pools_of_clients_count_where_a_line_gives_them_requests() {
        let count = |text: &str| {
            let config = Config::of_text(Path::new("/x"), text.as_bytes().to_vec()).unwrap();
            of_clients(Access { config: &config, client: Some("127.0.0.1".parse().unwrap()) }).len()
        };
        let client = "client_delay_pools 1\nclient_delay_parameters 1 20000 20000\n";
        assert_eq!(count(&format!("{client}client_delay_access 1 allow all\n")), 1);
        assert_eq!((count(client), count(&format!("{client}client_delay_access 1 deny all\n"))), (0, 0));
        assert_eq!(count(&format!("acl o src 10.0.0.1\n{client}client_delay_access 1 allow o\n")), 0);
        let named = "response_delay_pool slow individual-restore=20000 individual-maximum=20000\n";
        assert_eq!(count(&format!("{named}response_delay_pool_access slow allow all\n")), 1);
        assert_eq!((count(named), count(&format!("{named}response_delay_pool_access other allow all\n"))), (0, 0));
    }

    /// 60,000 bytes took a client of 5.7 two seconds and more where a pool is told, and some milliseconds where none is.
    #[test]
    fn the_first_line_that_matches_says_whether_a_pool_of_clients_takes_requests() {
        let acls = "acl o src 10.0.0.1\nacl me src 127.0.0.1\nacl late time M 00:00-00:01\n";
        let told = |text: String| {
            let config = Config::of_text(Path::new("/x"), format!("{acls}{text}").into_bytes()).unwrap();
            let all = of_clients(Access { config: &config, client: Some("127.0.0.1".parse().unwrap()) });
            all.iter().map(|line| line.values[0].clone()).collect::<Vec<_>>()
        };
        let one = |rules: &[&str]| {
            let lines: String = rules.iter().map(|rule| format!("client_delay_access 1 {rule}\n")).collect();
            let named: String = rules.iter().map(|rule| format!("response_delay_pool_access slow {rule}\n")).collect();
            let clients = told(format!("client_delay_pools 1\nclient_delay_parameters 1 20000 20000\n{lines}"));
            let named =
                told(format!("response_delay_pool slow individual-restore=20000 individual-maximum=20000\n{named}"));
            assert_eq!(clients.len(), named.len(), "{rules:?}");
            clients.len() == 1
        };
        assert!(one(&["allow all"]) && one(&["deny o", "allow all"]) && one(&["allow me", "deny all"]));
        assert!(!one(&["deny me", "allow all"]) && !one(&["deny all", "allow me"]) && !one(&["allow o"]));
        assert!(one(&["deny o"]), "the opposite of the last line");
        assert!(!one(&["allow"]), "a line without an ACL is none");
        assert!(one(&["deny late", "allow all"]) && one(&["allow late", "deny all"]), "something else decides");
        assert!(!one(&["deny late", "deny all"]) && !one(&["allow o", "deny late", "deny me"]));
        let two = "client_delay_pools 2\nclient_delay_parameters 2 9000 9000\nclient_delay_parameters 1 20000 20000\nclient_delay_access 2 allow all\n";
        assert_eq!(told(format!("{two}client_delay_access 1 allow all\n")), ["1"], "the first that takes them");
        assert_eq!(told(format!("{two}client_delay_access 1 deny all\n")), ["2"]);
        assert_eq!(told(format!("{two}client_delay_access 1 allow late\n")), ["1", "2"]);
        let bare = "client_delay_pools 1\nclient_delay_access 1 allow all\n";
        assert_eq!(
            told(bare.to_owned()),
            ["1"],
            "one without parameters lets nothing through: by the line that makes it"
        );
    }

    /// How long 60,000 bytes took two clients of 5.7.
    #[test]
    fn a_pool_bounds_those_that_it_takes() {
        let rate = |text: &str| {
            told(text).into_iter().next().map(|(setting, formula)| {
                (setting["delay_parameters ".len()..].to_owned(), formula.split(' ').next().unwrap().to_owned())
            })
        };
        let one = |pool: &str, rate: &str| Some((pool.to_owned(), rate.to_owned()));
        let first = "delay_pools 1\ndelay_class 1 1\ndelay_parameters 1 20000/40000\n";
        assert_eq!(rate(&format!("{first}delay_access 1 allow all\n")), one("1", "20000"));
        assert_eq!(rate(first), None, "without a line nobody's requests go by it");
        assert_eq!(
            rate(&format!("acl o src 10.0.0.1\n{first}delay_access 1 deny o\n")),
            one("1", "20000"),
            "the opposite of the last line"
        );
        let second = "delay_pools 1\ndelay_class 1 2\ndelay_access 1 allow all\n";
        assert_eq!(rate(&format!("{second}delay_parameters 1 -1/-1 5000/5000\n")), one("1", "5000"));
        assert_eq!(rate(&format!("{second}delay_parameters 1 none 5000/5000\n")), one("1", "5000"));
        assert_eq!(rate(&format!("{second}delay_parameters 1 none none\n")), None);
        assert_eq!(rate(second), None, "no parameters");
        let two = "delay_pools 2\ndelay_class 1 1\ndelay_class 2 1\ndelay_parameters 1 20000/20000\ndelay_parameters 2 9000/9000\n";
        assert_eq!(rate(&format!("{two}delay_access 1 deny all\ndelay_access 2 allow all\n")), one("2", "9000"));
        assert_eq!(rate(&format!("{two}delay_access 1 allow all\ndelay_access 2 allow all\n")), one("1", "20000"));
        assert_eq!(rate(&format!("delay_pools 0\n{}", &first["delay_pools 1\n".len()..])), None);
    }
}
