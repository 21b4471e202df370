//! Rates and connections at once that are counted in stick-tables, where a rule refuses by them (configuration manual 4.2, `stick-table`; 7.3.3,
//! `sc_http_req_rate`, `sc_conn_cur` and those beside it): from which load of one key on it does.

use genkai_model::limit::Law;

use genkai_model::units::Span;

use super::config::{Config, Found, Section};
use super::proxy::{Mode, mode};
use super::settings::value;
use crate::limits;

/// The counter of what is tracked at this moment; it has no period.
const AT_ONCE: &str = "conn_cur";

/// What a counter counts, by the end of its fetches' names.
const COUNTED: [(&str, &str); 6] = [
    (AT_ONCE, "connections"),
    ("http_req_rate", "requests"),
    ("http_err_rate", "answers 4xx or requests that are none"),
    ("http_fail_rate", "answers 5xx or failures of servers"),
    ("conn_rate", "connections"),
    ("sess_rate", "sessions"),
];

/// A fetch of a counter: `sc_http_req_rate(0,table)`, `sc1_conn_rate`, `src_http_req_rate(table)`.
struct Fetch<'w> {
    /// The name in the table.
    counter: &'static str,
    counted: &'static str,
    /// Which tracked key; none: the client's address.
    slot: Option<&'w str>,
    table: Option<&'w str>,
}

/// From which load of one key on the condition of a rule refuses, as a clause; none where it does not say so plainly.
pub(super) fn told(config: &Config, rule: &Found) -> Option<String> {
    let home = config.sections().iter().find(|section| config.inside(section).contains(rule))?;
    let words: Vec<&str> = rule.words.iter().map(|word| word.value.as_str()).collect();
    let at = words.iter().position(|word| *word == "if")?;
    let all: Vec<String> =
        comparisons(config, home, &words[at + 1..]).iter().filter_map(|words| of_one(config, home, words)).collect();
    (!all.is_empty()).then(|| all.join(", or "))
}

/// How many a rule lets through at once of one key that all clients of a load share, their address; none where its condition depends on more.
pub(super) fn at_once(config: &Config, rule: &Found) -> Option<Law> {
    let home = config.sections().iter().find(|section| config.inside(section).contains(rule))?;
    let words: Vec<&str> = rule.words.iter().map(|word| word.value.as_str()).collect();
    let condition = &words[words.iter().position(|word| *word == "if")? + 1..];
    let one = comparisons(config, home, condition);
    let [words] = &one[..] else { return None };
    // Nothing but this comparison, written there or as an ACL of one line.
    let alone = matches!(condition, [_]) || condition.first() == Some(&"{") && condition.len() == words.len() + 2;
    let counted = Counted::of(config, home, words).filter(|one| alone && one.fetch.counter == AT_ONCE)?;
    let by = tracking(config, home, counted.fetch.slot?)?;
    let stored = stores(config, counted.table).any(|one| one == AT_ONCE);
    let certain = !by.words.iter().any(|word| matches!(word.value.as_str(), "if" | "unless"));
    let before = stage(by) < stage(rule) || stage(by) == stage(rule) && (by.file, by.line) < (rule.file, rule.line);
    let most = if counted.more { counted.number } else { counted.number.checked_sub(1)? };
    (certain && before && stored && counted.key == "src").then(|| match of_requests(config, home, by) {
        // A kept connection is one.
        false => limits::connections(most as f64, 1.0),
        true => limits::at_once(most as f64, 1.0),
    })
}

/// Whether what a rule tracks is counted for each request: else for a connection, of the rules before there is a request and of all in a section that
/// passes bytes on.
fn of_requests(config: &Config, home: &Section, tracks: &Found) -> bool {
    stage(tracks) > 1 && mode(config, home) == Mode::Http
}

/// When a rule is looked at (configuration manual 4.2, `tcp-request`): one for connections before those of sessions, contents and requests.
fn stage(rule: &Found) -> u8 {
    match (rule.name(), rule.arg(0)) {
        ("tcp-request", Some("connection")) => 0,
        ("tcp-request", Some("session")) => 1,
        ("tcp-request", _) => 2,
        _ => 3,
    }
}

/// The comparisons that a condition names, those of ACLs by name among them. What is negated is left out.
fn comparisons<'c>(config: &'c Config, home: &'c Section, condition: &[&'c str]) -> Vec<Vec<&'c str>> {
    let (mut all, mut words) = (Vec::new(), condition.iter());
    let mut negated = false;
    while let Some(word) = words.next() {
        match *word {
            "!" => negated = !negated,
            "{" | "!{" => {
                let inner: Vec<&str> = words.by_ref().take_while(|word| **word != "}").copied().collect();
                all.extend((!negated && *word == "{").then_some(inner));
                negated = false;
            }
            name => {
                let lines = config.lineage(home).flat_map(|section| config.inside(section));
                let named = lines.filter(|line| !negated && line.is("acl") && line.arg(0) == Some(name));
                all.extend(named.map(|line| line.words[2..].iter().map(|word| word.value.as_str()).collect()));
                negated = false;
            }
        }
    }
    all
}

/// A counter of one key, compared with a number: `sc_http_req_rate(0) gt 20`.
struct Counted<'c> {
    fetch: Fetch<'c>,
    key: &'c str,
    table: &'c str,
    /// Whether there must be more than the number, and not only as many.
    more: bool,
    number: u64,
}

impl<'c> Counted<'c> {
    fn of(config: &'c Config, home: &'c Section, words: &[&'c str]) -> Option<Counted<'c>> {
        let (fetch, rest) = words.split_first()?;
        let fetch = Fetch::of(fetch)?;
        let rest: Vec<&str> = rest.iter().copied().filter(|word| !matches!(*word, "-m" | "int" | "--")).collect();
        let (more, number) = match rest[..] {
            ["gt", number] => (true, number),
            ["ge", number] => (false, number),
            _ => return None,
        };
        let (key, tracked) = match fetch.slot {
            Some(slot) => tracked(config, home, slot)?,
            None => ("src", None),
        };
        let table = fetch.table.or(tracked).unwrap_or(&home.name);
        Some(Counted { key, table, more, number: number.parse().ok()?, fetch })
    }
}

/// As a clause.
fn of_one<'c>(config: &'c Config, home: &'c Section, words: &[&'c str]) -> Option<String> {
    let Counted { fetch, key, table, more, number } = Counted::of(config, home, words)?;
    let how = if more { "more than" } else { "at least" };
    if fetch.counter == AT_ONCE {
        // Counted from the rule that tracks to the end of what it is looked at for.
        let request = fetch
            .slot
            .and_then(|slot| tracking(config, home, slot))
            .is_some_and(|rule| of_requests(config, home, rule));
        let counted = if request { "requests" } else { fetch.counted };
        return stores(config, table)
            .any(|one| one == AT_ONCE)
            .then(|| format!("{how} {number} {counted} of one {key} at once"));
    }
    let period = period(config, table, fetch.counter)?;
    let each = number as f64 / Span::from_millis(period).as_secs_f64();
    Some(format!(
        "{how} {number} {} of one {key} within {}: {} a second",
        fetch.counted,
        Span::from_millis(period),
        short(each)
    ))
}

/// A rate with three digits at most behind the point.
fn short(rate: f64) -> String {
    let text = format!("{rate:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl<'w> Fetch<'w> {
    fn of(word: &'w str) -> Option<Fetch<'w>> {
        let (name, arguments) =
            word.split_once('(').map_or((word, ""), |(name, rest)| (name, rest.trim_end_matches(')')));
        let (counter, counted) = *COUNTED.iter().find(|(counter, _)| name.ends_with(counter))?;
        let owner = name.strip_suffix(counter)?.strip_suffix('_')?;
        let mut arguments = arguments.split(',').map(str::trim).filter(|argument| !argument.is_empty());
        let slot = match owner {
            "src" => None,
            "sc" => Some(arguments.next()?),
            _ => Some(owner.strip_prefix("sc").filter(|n| matches!(*n, "0" | "1" | "2"))?),
        };
        Some(Fetch { counter, counted, slot, table: arguments.next() })
    }
}

/// What a rule tracks in this slot, and in which table; none where none does, or several do by different keys.
fn tracked<'c>(config: &'c Config, home: &'c Section, slot: &str) -> Option<(&'c str, Option<&'c str>)> {
    let action = format!("track-sc{slot}");
    let mut all = trackers(config, home, slot).filter_map(|line| {
        let at = line.words.iter().position(|word| word.value == action)?;
        Some((line.words.get(at + 1)?.value.as_str(), line.option(at, "table").map(|word| word.value.as_str())))
    });
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// The rules that track in this slot.
fn trackers<'c>(config: &'c Config, home: &'c Section, slot: &str) -> impl Iterator<Item = &'c Found> {
    let action = format!("track-sc{slot}");
    let lines = config.lineage(home).flat_map(|section| config.inside(section));
    lines.filter(move |line| line.words.iter().any(|word| word.value == action))
}

/// The one rule that tracks in this slot; none where several do.
fn tracking<'c>(config: &'c Config, home: &'c Section, slot: &str) -> Option<&'c Found> {
    let mut all = trackers(config, home, slot);
    all.next().filter(|_| all.next().is_none())
}

/// The period over which a table counts, milliseconds.
fn period(config: &Config, table: &str, counter: &str) -> Option<u64> {
    let found = stores(config, table)
        .filter_map(|one| one.strip_prefix(counter)?.strip_prefix('(')?.strip_suffix(')'))
        .next()?;
    value::time(found).filter(|period| *period > 0)
}

/// What a table stores: `conn_cur`, `http_req_rate(10s)`.
fn stores<'c>(config: &'c Config, table: &str) -> impl Iterator<Item = &'c str> {
    let sections = config.sections().iter().filter(move |section| section.name == table);
    let lines = sections.flat_map(|section| config.inside(section)).filter(|line| line.is("stick-table"));
    lines.flat_map(|line| {
        let stores = line.words.iter().enumerate().filter(|(_, word)| word.value == "store");
        stores.filter_map(|(at, _)| line.words.get(at + 1)).flat_map(|word| word.value.split(',')).map(str::trim)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::haproxy::config::Reading;

    fn of(lines: &str) -> Option<String> {
        let text = format!(
            "defaults\n mode http\nbackend per_ip\n stick-table type ip size 1m expire 1m store http_req_rate(10s),conn_rate(3s)\n\
             frontend f\n bind :80\n{lines}"
        );
        let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
        let rule = config.found().iter().rev().find(|found| found.name().ends_with("-request")).unwrap();
        told(&config, rule)
    }

    #[test]
    fn the_load_is_told_at_which_a_counted_rate_refuses() {
        let track = " http-request track-sc0 src table per_ip\n";
        let deny = |condition: &str| of(&format!("{track} http-request deny deny_status 429 if {condition}\n"));
        let told = Some("more than 20 requests of one src within 10s: 2 a second".to_owned());
        assert_eq!(deny("{ sc_http_req_rate(0) gt 20 }"), told);
        assert_eq!(deny("{ sc0_http_req_rate gt 20 }"), told);
        assert_eq!(deny("{ sc_http_req_rate(0,per_ip) -m int gt 20 }"), told);
        let at_least = deny("{ src_conn_rate(per_ip) ge 10 }").unwrap();
        assert_eq!(at_least, "at least 10 connections of one src within 3s: 3.333 a second");
        let named = format!(" acl fast sc_http_req_rate(0) gt 20\n{track} http-request deny if fast\n");
        assert_eq!(of(&named), told);
        let key =
            " http-request track-sc1 hdr(X-User) table per_ip\n http-request deny if { sc_http_req_rate(1) gt 5 }\n";
        assert_eq!(of(key).unwrap(), "more than 5 requests of one hdr(X-User) within 10s: 0.5 a second");
    }

    #[test]
    fn nothing_is_told_of_what_is_not_a_rate_that_refuses() {
        let track = " http-request track-sc0 src table per_ip\n";
        let deny = |condition: &str| of(&format!("{track} http-request deny if {condition}\n"));
        for condition in [
            "{ path /x }",
            "!{ sc_http_req_rate(0) gt 20 }",
            "! { sc_http_req_rate(0) gt 20 }",
            "{ sc_http_req_rate(0) lt 20 }",
            "{ sc_http_req_rate(1) gt 20 }",
            "{ sc_http_err_rate(0) gt 20 }",
            "{ sc_http_req_rate(0) gt 1:20 }",
        ] {
            assert_eq!(deny(condition), None, "{condition}");
        }
    }

    fn at_once_of(lines: &str) -> (Option<String>, Option<Law>) {
        let text = format!(
            "defaults\n mode http\nbackend per_ip\n stick-table type ip size 1m store conn_cur\nfrontend f\n bind :80\n{lines}"
        );
        let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
        let ends = |found: &&Found| found.words.iter().any(|word| ["deny", "reject", "tarpit"].contains(&&*word.value));
        let rule = config.found().iter().rev().find(ends).unwrap();
        (told(&config, rule), super::at_once(&config, rule))
    }

    #[test]
    fn what_is_let_through_at_once_of_one_address_is_a_law() {
        let words = |text: &str| Some(text.to_owned());
        let track = " http-request track-sc0 src table per_ip\n";
        let tarpit =
            at_once_of(&format!("{track} http-request tarpit deny_status 429 if {{ sc_conn_cur(0) gt 40 }}\n"));
        assert_eq!(tarpit, (words("more than 40 requests of one src at once"), Some(limits::at_once(40.0, 1.0))));
        let connection = " tcp-request connection track-sc0 src table per_ip\n";
        let reject = at_once_of(&format!("{connection} tcp-request connection reject if {{ sc0_conn_cur ge 26 }}\n"));
        assert_eq!(reject, (words("at least 26 connections of one src at once"), Some(limits::connections(25.0, 1.0))));
        let content = " tcp-request content track-sc0 src table per_ip\n tcp-request content reject if { sc_conn_cur(0) gt 40 }\n";
        assert_eq!(at_once_of(content).1, Some(limits::at_once(40.0, 1.0)));
        let bytes = at_once_of(&format!(" mode tcp\n{content}"));
        assert_eq!(bytes, (words("more than 40 connections of one src at once"), Some(limits::connections(40.0, 1.0))));
        let named = at_once_of(&format!(" acl many sc_conn_cur(0) gt 7\n{connection} http-request deny if many\n"));
        assert_eq!(named.1, Some(limits::connections(7.0, 1.0)));
    }

    #[test]
    fn no_law_is_told_where_more_decides() {
        let deny = " http-request deny if { sc_conn_cur(0) gt 40 }";
        let track = " http-request track-sc0 src table per_ip";
        for lines in [
            format!("{track}\n{deny} {{ path /x }}\n"),
            format!("{track}\n{deny} or {{ path /x }}\n"),
            format!("{track} if {{ path /x }}\n{deny}\n"),
            format!("{deny}\n{track}\n"),
            format!(" http-request track-sc0 hdr(X-User) table per_ip\n{deny}\n"),
            format!("{track}\n http-request deny if !{{ sc_conn_cur(0) gt 40 }}\n"),
            format!(" http-request track-sc0 src table other\n{deny}\n"),
            format!("{deny}\n"),
        ] {
            assert_eq!(at_once_of(&lines).1, None, "{lines}");
        }
    }
}
