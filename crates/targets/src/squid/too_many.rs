//! Clients with too many connections (`acl NAME maxconn N` in the lists of [`access`]): which requests Squid refuses for it, the limit, and
//! how a private copy shows which refusals were for it.
//!
//! [`access`]: super::access

use std::net::IpAddr;

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Law, Limit, Origin, Remedy, RemedyUnit, Strength};

use super::access::{Access, Admission, Cap, LISTS};
use super::config::{Config, acl_setting};
use super::evidence::{DENIED_FOR_MAXCONN, FAILED_LOG, MARK};
use crate::files::entry::Entry;
use crate::limits::{connections, errors, log, raised};

/// What the lists leave of the requests of clients at `client` (none: nobody knows where), where that is fewer than all.
pub(super) fn limits(config: &Config, client: Option<IpAddr>) -> Vec<Limit> {
    let access = Access { config, client };
    let all = LISTS.into_iter().filter_map(|(list, otherwise)| limit(access, list, access.admission(list, otherwise)));
    let mut all: Vec<Limit> = all.collect();
    // An ACL that two lists name is one limit.
    all.dedup_by(|later, first| later.setting == first.setting && later.origin == first.origin);
    all
}

fn limit(access: Access<'_>, list: &'static str, admission: Admission) -> Option<Limit> {
    match admission {
        Admission::All => None,
        Admission::Nobody => Some(nobody(access, list)),
        Admission::UpTo(most) => {
            let (rule, cap) = capped(access, list).find(|(_, cap)| cap.most == most)?;
            let place = access.config.entries.place(rule);
            let formula = format!(
                "{most}: `{} {}` ({place}) refuses while a client has more than {most} connections; all clients of a load have one address",
                rule.name,
                rule.value()
            );
            Some(too_many(access, rule, cap, Some(formula)))
        }
        Admission::Open => {
            let (rule, cap) = capped(access, list).next()?;
            Some(too_many(access, rule, cap, None))
        }
    }
}

/// The rules of a list that name a cap, with it.
fn capped<'c>(access: Access<'c>, list: &'static str) -> impl Iterator<Item = (&'c Entry, Cap<'c>)> {
    access.rules(list).flat_map(move |rule| access.caps(rule).map(move |cap| (rule, cap)))
}

/// A list that lets nobody in.
fn nobody(access: Access<'_>, list: &'static str) -> Limit {
    let rule = access.rules(list).next();
    let default = || Origin::Default("squid 5.7 src/cf.data.pre: deny all where no line is".to_owned());
    Limit {
        value: rule.map_or_else(|| "none".to_owned(), Entry::value),
        origin: rule.map_or_else(default, |rule| access.config.entries.origin(rule)),
        caps: "requests that are let in: each is answered 403".to_owned(),
        law: connections(0.0, 1.0),
        formula: format!("0, as {list} lets no request in"),
        source: "squid 5.7 src/acl/Checklist.cc".to_owned(),
        symptom: errors(&[ErrorKind::Status4xx]),
        ..Limit::named(&format!("squid.{list}"), "squid", list)
    }
}

/// Where each of several workers has as much: who comes goes to any of them, so that one may be full while another has room.
pub(super) fn of_each(workers: u64) -> String {
    match workers {
        1 => String::new(),
        many => format!(
            ", of each of {many} workers: where all clients come to one of them there is no more, where they spread evenly {many} times that"
        ),
    }
}

/// Connections of one client, which each worker counts for itself: as many as one of them takes for certain, and all of them at most.
pub(super) fn of_client(most: f64, workers: u64) -> Law {
    let workers = workers as f64;
    let (value, soft) = (most * workers, 1.0 / workers);
    Law::Slots { value, reserved: 0.0, idle_cost: 1.0, busy_cost: 1.0, pools: 1.0, soft }
}

/// The number of an ACL, of which `formula` says what it comes to; none: more than the file decides.
fn too_many(access: Access<'_>, rule: &Entry, cap: Cap<'_>, formula: Option<String>) -> Limit {
    let Cap { name, most, line } = cap;
    let refusal = refusal(access.config, rule);
    let known = formula.is_some() && !refusal.kinds.is_empty();
    let workers = access.config.workers().value;
    Limit {
        value: most.to_string(),
        origin: access.config.entries.origin(line),
        caps: format!("connections of one client address; while it has more, each of its requests is {}", refusal.words),
        law: if known { of_client(most as f64, workers) } else { Law::Unknown },
        formula: formula.map(|formula| formula + &of_each(workers)).unwrap_or_else(|| {
            format!("it depends: {} looks at connections of a client, and at more that is not in the file", rule.name)
        }),
        source: "squid 5.7 src/acl/MaxConnection.cc: true while a client address has more than N connections; src/acl/Checklist.cc"
            .to_owned(),
        // Another refusal of Squid's is for something else.
        signatures: vec![log(DENIED_FOR_MAXCONN, Strength::Decisive)],
        symptom: errors(&refusal.kinds),
        remedy: known.then(|| Remedy {
            note: Some("all connections of this load come from one address; real visitors have one each".to_owned()),
            parts: workers as f64,
            ..raised(&acl_setting(name), RemedyUnit::Count, 1.0)
        }),
        ..Limit::named("squid.maxconn", "squid", &format!("acl {name} maxconn"))
    }
}

/// What a client sees of a refusal.
struct Refusal {
    kinds: Vec<ErrorKind>,
    words: String,
}

/// What `deny_info` makes of the refusals of a rule, by its last ACL (src/cf.data.pre, deny_info): 403 where it has none.
fn refusal(config: &Config, rule: &Entry) -> Refusal {
    let last = rule.values.last().map(|name| name.trim_start_matches('!'));
    let names = |line: &&Entry| line.values.get(1..).unwrap_or_default().iter().any(|name| Some(name.as_str()) == last);
    let page = config.each("deny_info").find(names).and_then(|line| line.values.first());
    let (code, page) = match page.map(|page| (page, page.split_once(':'))) {
        Some((_, Some((code, page)))) if code.parse::<u16>().is_ok() => (code.parse().ok(), page),
        Some((page, _)) => (None, page.as_str()),
        None => (None, ""),
    };
    if page == "TCP_RESET" {
        let kinds = vec![ErrorKind::Reset, ErrorKind::ResetReused, ErrorKind::EofNew, ErrorKind::EofReused];
        return Refusal { kinds, words: "answered by the end of its connection".to_owned() };
    }
    let status = code.unwrap_or(if page.contains("://") { 302 } else { 403 });
    Refusal { kinds: ErrorKind::of_status(status).into_iter().collect(), words: format!("answered {status}") }
}

/// What a private copy is given, so that Squid itself says which of its refusals were for too many connections.
pub(super) struct Marks<'c> {
    rules: Vec<&'c Entry>,
}

impl<'c> Marks<'c> {
    /// Those of a configuration whose clients are at `client`.
    pub(super) fn of(config: &'c Config, client: Option<IpAddr>) -> Marks<'c> {
        let access = Access { config, client };
        let caps = |(list, otherwise): &(&'static str, bool)| {
            matches!(access.admission(list, *otherwise), Admission::UpTo(_) | Admission::Open)
        };
        let rules = LISTS.into_iter().filter(caps).flat_map(|(list, _)| capped(access, list));
        // Where the ACL is negated, the rule refuses for something else.
        let rules = rules.filter(|(rule, cap)| rule.values.iter().any(|name| name == cap.name)).map(|(rule, _)| rule);
        Marks { rules: rules.collect() }
    }

    /// Whether no rule refuses for it.
    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// What stands for a rule that refuses for it; none: it stays as it is. The mark holds always, and is set where all before it held; the last
    /// ACL stays the last, by which `deny_info` goes.
    pub(super) fn marked(&self, rule: &Entry, written: &str) -> Option<String> {
        let is_ours = self.rules.iter().any(|one| std::ptr::eq(*one, rule)) && rule.values[0] == "deny";
        let last = rule.values.last().filter(|_| is_ours)?;
        Some(format!("{written} {MARK} {last}"))
    }

    /// Lines before all rules.
    pub(super) fn before(&self) -> Vec<String> {
        if self.is_empty() { Vec::new() } else { vec![format!("acl {MARK} annotate_transaction {MARK}=maxconn")] }
    }

    /// A log of failed answers, in the folder of the copy.
    pub(super) fn log(&self, dir: &str) -> Vec<String> {
        if self.is_empty() {
            return Vec::new();
        }
        vec![
            format!("acl {MARK}_failed http_status 400-599"),
            format!("logformat {MARK} %Ss/%03>Hs %note{{{MARK}}}"),
            format!("access_log stdio:{dir}/{FAILED_LOG} logformat={MARK} {MARK}_failed"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::files::{Configuration, Requests};

    fn config(text: &str) -> Config {
        Config::of_text(Path::new("/x/squid.conf"), text.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn the_acl_is_the_limit_where_it_is_written() {
        let text = "acl toomany maxconn 12\nhttp_access deny toomany\nhttp_access allow all\n";
        let config = config(text);
        let [limit] = &limits(&config, None)[..] else { panic!() };
        assert_eq!((limit.setting.as_str(), limit.value.as_str()), ("acl toomany maxconn", "12"));
        assert_eq!(limit.origin, Origin::File { path: "/x/squid.conf".into(), line: 1 });
        assert_eq!(limit.law, connections(12.0, 1.0));
        let setting = limit.remedy.as_ref().map(|remedy| remedy.setting.clone()).unwrap();
        let raised = config.set(&setting, "64", &Requests::default()).unwrap();
        assert_eq!(raised.entries.files()[0].text, text.replace("12", "64").into_bytes());
        assert_eq!(raised.value_of(&setting, &Requests::default()).unwrap().0, "64");
        assert!(config.set("acl.other.maxconn", "64", &Requests::default()).is_err());
        assert!(config.set(&setting, "0", &Requests::default()).is_err(), "Squid refuses it");
    }

    #[test]
    fn what_a_client_gets_is_what_deny_info_says() {
        let kinds = |info: &str| {
            let text = format!("acl m maxconn 3\n{info}\nhttp_access deny m\nhttp_access allow all\n");
            let limit = limits(&config(&text), None).remove(0);
            (limit.symptom.errors, limit.law == Law::Unknown)
        };
        assert_eq!(kinds(""), (vec![ErrorKind::Status4xx], false));
        assert_eq!(kinds("deny_info 503:ERR_X m"), (vec![ErrorKind::of_status(503).unwrap()], false));
        assert_eq!(kinds("deny_info ERR_X other"), (vec![ErrorKind::Status4xx], false));
        assert!(kinds("deny_info TCP_RESET m").0.contains(&ErrorKind::Reset));
        assert_eq!(kinds("deny_info 303:http://a/ m"), (vec![], true), "a redirect is no failure");
    }

    #[test]
    fn lines_are_read_as_squid_reads_them() {
        let all = |rules: &str| {
            limits(&config(&format!("acl TooMany maxconn 3\nacl here src 10.0.0.1\nacl here\n{rules}")), None)
        };
        let [one] = &all("http_access deny toomany\nhttp_access allow all\n")[..] else { panic!("names have no case") };
        assert_eq!(
            (one.value.as_str(), one.signatures.len()),
            ("3", 1),
            "another refusal of Squid's is for something else"
        );
        assert!(all("http_access deny\nhttp_access allow all\n").is_empty(), "a line without an ACL is passed over");
        assert!(
            all("http_access deny here\nhttp_access allow all\n").is_empty(),
            "a line without a value adds nothing"
        );
    }

    #[test]
    fn refusals_are_marked_where_they_are_made() {
        let config = config("acl m maxconn 3\nhttp_access deny m !a\nhttp_access allow !m\nhttp_access allow all\n");
        let marks = Marks::of(&config, None);
        let marked: Vec<_> = config.each("http_access").map(|rule| marks.marked(rule, &config.written(rule))).collect();
        let expected = format!("http_access deny m !a {MARK} !a");
        assert_eq!(marked, [Some(expected), None, None]);
        let plain = "http_access allow all\n";
        assert!(Marks::of(&super::tests::config(plain), None).log("/d").is_empty());
    }
}
