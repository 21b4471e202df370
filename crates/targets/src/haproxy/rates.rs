//! Rates that are counted in stick-tables, where a rule refuses by them (configuration manual 4.2, `stick-table`; 7.3.3, `sc_http_req_rate` and
//! those beside it): from which load of one key on it does.

use genkai_model::units::Span;

use super::config::{Config, Found, Section};
use super::settings::value;

/// What a counter counts, by the end of its fetches' names.
const COUNTED: [(&str, &str); 5] = [
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

/// `sc_http_req_rate(0) gt 20`.
fn of_one(config: &Config, home: &Section, words: &[&str]) -> Option<String> {
    let (fetch, rest) = words.split_first()?;
    let fetch = Fetch::of(fetch)?;
    let rest: Vec<&str> = rest.iter().copied().filter(|word| !matches!(*word, "-m" | "int" | "--")).collect();
    let (how, number) = match rest[..] {
        ["gt", number] => ("more than", number),
        ["ge", number] => ("at least", number),
        _ => return None,
    };
    let number: u64 = number.parse().ok()?;
    let (key, tracked) = match fetch.slot {
        Some(slot) => tracked(config, home, slot)?,
        None => ("src", None),
    };
    let table = fetch.table.or(tracked).unwrap_or(&home.name);
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
fn tracked<'c>(config: &'c Config, home: &Section, slot: &str) -> Option<(&'c str, Option<&'c str>)> {
    let action = format!("track-sc{slot}");
    let lines = config.lineage(home).flat_map(|section| config.inside(section));
    let mut all = lines.filter_map(|line| {
        let at = line.words.iter().position(|word| word.value == action)?;
        Some((line.words.get(at + 1)?.value.as_str(), line.option(at, "table").map(|word| word.value.as_str())))
    });
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// The period over which a table counts, milliseconds.
fn period(config: &Config, table: &str, counter: &str) -> Option<u64> {
    let sections = config.sections().iter().filter(|section| section.name == table);
    let lines = sections.flat_map(|section| config.inside(section)).filter(|line| line.is("stick-table"));
    let stored = lines.flat_map(|line| {
        let stores = line.words.iter().enumerate().filter(|(_, word)| word.value == "store");
        stores.filter_map(|(at, _)| line.words.get(at + 1)).flat_map(|word| word.value.split(','))
    });
    let found =
        stored.filter_map(|one| one.trim().strip_prefix(counter)?.strip_prefix('(')?.strip_suffix(')')).next()?;
    value::time(found).filter(|period| *period > 0)
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
}
