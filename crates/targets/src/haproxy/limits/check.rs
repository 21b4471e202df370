//! Health checks: a server whose check fails gets no requests, whatever it would answer them.

use super::again::target;
use crate::haproxy::config::{Config, Found, Section};
use crate::haproxy::proxy::{self, Server, giving, parameter};
use crate::haproxy::route::Address;
use crate::haproxy::settings::value;
use crate::settings::SourcedValue;

/// Lines that say what a check asks, of which the last counts (configuration manual 4.2; src/check.c: proxy_parse_httpchk_opt and those beside it).
const KINDS: [&str; 10] = [
    HTTP,
    TCP,
    EXTERNAL,
    "option ssl-hello-chk",
    "option mysql-check",
    "option pgsql-check",
    "option redis-check",
    "option smtpchk",
    "option ldap-check",
    "option spop-check",
];
/// Those with rules of their own, and that which has a program ask.
const HTTP: &str = "option httpchk";
const TCP: &str = "option tcp-check";
const EXTERNAL: &str = "option external-check";
/// Lines that begin like a rule and are none.
const NO_RULES: [&str; 2] = ["http-check disable-on-404", "http-check send-state"];
/// Words of a rule that connects which have one after them (configuration manual 4.2, `http-check connect`, `tcp-check connect`).
const VALUED: [&str; 6] = ["port", "addr", "sni", "alpn", "proto", "comment"];

/// Milliseconds between two checks, and how many must fail, where nothing is written (configuration manual 5.2; src/server.c).
const INTER: u64 = 2_000;
const FALL: u64 = 3;
/// The least time between two checks for which all first checks are spread (include/haproxy/check-t.h: SRV_CHK_INTER_THRES).
const SPREAD_FROM: u64 = 1_000;

/// The health check of the servers in use.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The line that says what it asks, else that which switches it on.
    pub line: SourcedValue<()>,
    /// Whether it says nothing of whether requests can connect: it goes to another port or address than they do, or a program asks.
    pub elsewhere: bool,
}

impl Check {
    /// That of `used`, servers of `back`; none where none of them is checked.
    pub fn of(config: &Config, back: &Section, used: &[Server<'_>]) -> Option<Check> {
        let checked: Vec<&Server<'_>> = used.iter().filter(|server| server.checked).collect();
        let first = checked.first()?;
        let kind = config.last_of(back, &KINDS);
        let line: &Found = kind.or_else(|| proxy::giving(config, back, first, "check")).unwrap_or(first.found);
        let written = if kind.is_some() { line.written() } else { "check".to_owned() };
        let held = SourcedValue { value: (), written, origin: proxy::origin(config, line) };
        Some(Check { line: held, elsewhere: checked.iter().any(|server| !connects(config, back, server)) })
    }
}

/// Whether the check of a server connects to the address and port that requests connect to: where nobody listens there, it fails. A rule that names a
/// place goes before what the server's line says, which goes before its own (src/tcpcheck.c: tcpcheck_eval_connect).
pub(super) fn connects(config: &Config, back: &Section, server: &Server<'_>) -> bool {
    let said = |key: &str| giving(config, back, server, key).and_then(|line| parameter(line, key));
    // Another network, or another machine's.
    if ["namespace", "check-via-socks4"].iter().any(|key| said(key).is_some()) {
        return false;
    }
    let own = target(server).map(Address::parse);
    let is_port = |text: &str| {
        let is = |port: u16| matches!(&own, Some(Address::Inet { ports: Some(ports), .. }) if *ports == (port..=port));
        text.parse().is_ok_and(is)
    };
    let is_address = |text: &str| match (Address::parse(text), &own) {
        (Address::Inet { host, ports }, Some(Address::Inet { host: mine, ports: own })) => {
            host == *mine && (ports.is_none() || ports == *own)
        }
        _ => false,
    };
    let is_here = |port: Option<&str>, addr: Option<&str>| port.is_none_or(is_port) && addr.is_none_or(is_address);
    let (port, addr) = (said("port"), said("addr"));
    let family = match config.last_of(back, &KINDS) {
        Some(line) if line.is(EXTERNAL) => return false,
        Some(line) if line.is(HTTP) => ("http-check", HTTP),
        Some(line) if line.is(TCP) => ("tcp-check", TCP),
        _ => return is_here(port, addr),
    };
    let rules = connecting(config, back, family);
    // One that connects there is enough: all have to succeed.
    let is_one = |rule: &&Found| {
        let own = |key: &str| option(rule, key);
        own("via-socks4").is_none() && is_here(own("port").or(port), own("addr").or(addr))
    };
    if rules.is_empty() { is_here(port, addr) } else { rules.iter().any(is_one) }
}

/// The rules by which a check connects; none: it connects once, before anything else. Those of `defaults` count where the section itself has neither
/// the option nor a rule.
fn connecting<'c>(config: &'c Config, back: &'c Section, (name, option): (&str, &str)) -> Vec<&'c Found> {
    let is_rule = |found: &Found| found.name() == name && !NO_RULES.iter().any(|key| found.is(key));
    let has = |section: &&Section| config.inside(section).iter().any(|found| found.is(option) || is_rule(found));
    let lines = config.lineage(back).find(has).map(|section| config.inside(section)).unwrap_or_default();
    lines.iter().filter(|found| is_rule(found) && found.arg(0) == Some("connect")).collect()
}

/// The word after one of a rule that connects, empty where none comes after it; none: the rule has no such word.
fn option<'c>(rule: &'c Found, key: &str) -> Option<&'c str> {
    let mut words = rule.words.iter().skip(2).map(|word| word.value.as_str());
    while let Some(word) = words.next() {
        let value = if VALUED.contains(&word) { words.next().unwrap_or_default() } else { "" };
        if word == key {
            return Some(value);
        }
    }
    None
}

/// How long it may take at most, milliseconds, until a server is out whose check has failed from the beginning. It begins as one of which one failure is
/// enough (src/server.c: "up, but will fall down at first failure"), unless `init-state` says otherwise; the first checks of all servers are spread
/// over the shortest of their intervals, or over its own where that is longer (src/check.c: start_checks, start_check_task).
pub(super) fn out_after(config: &Config, back: &Section, server: &Server<'_>) -> u64 {
    let all = config.sections().iter().filter(|section| section.is_back());
    let checked = all.flat_map(|section| proxy::servers(config, section).into_iter().map(move |one| (section, one)));
    let firsts = checked.filter(|(_, one)| one.checked).map(|(section, one)| Pace::of(config, section, &one).first());
    let shortest = firsts.filter(|first| *first >= SPREAD_FROM).min().unwrap_or(0);
    let pace = Pace::of(config, back, server);
    let said = |key: &str| config.global(key).and_then(|line| line.arg(0));
    // Newer versions move them by so many percent at random, too.
    let moved = pace.first() / 100 * said("spread-checks").and_then(value::whole).unwrap_or(0).min(50);
    let most = said("max-spread-checks").and_then(value::time).filter(|most| *most > 0);
    (pace.first().max(shortest) + moved).min(most.unwrap_or(u64::MAX)).saturating_add(pace.rest())
}

/// Milliseconds after which the first checks of all servers have been made, at most, and until they have an answer; none: nothing is checked.
pub(crate) fn settled_after(config: &Config) -> Option<(u64, u64)> {
    let all = config.sections().iter().filter(|section| section.is_back() && !proxy::is_off(config, section));
    let checked = all.flat_map(|section| proxy::servers(config, section).into_iter().map(move |one| (section, one)));
    let each = checked.filter(|(_, one)| one.checked && !one.disabled).map(|(section, server)| {
        let (pace, made) = (Pace::of(config, section, &server), out_after(config, section, &server));
        // One more interval is what its answer may take.
        (made, made.saturating_add(pace.inter.saturating_mul(pace.fall)))
    });
    each.reduce(|one, other| (one.0.max(other.0), one.1.max(other.1)))
}

/// How often a server is checked (configuration manual 5.2: `inter`, `fastinter`, `fall`, `init-state`).
struct Pace {
    inter: u64,
    fast: Option<u64>,
    fall: u64,
    /// Whether it takes `fall` failures at the beginning, too (3.1 and later).
    fully: bool,
}

impl Pace {
    fn of(config: &Config, back: &Section, server: &Server<'_>) -> Pace {
        let said = |key: &str| giving(config, back, server, key).and_then(|line| parameter(line, key));
        let time = |key: &str| said(key).and_then(value::lenient_time).map(|(millis, _)| millis);
        Pace {
            inter: time("inter").unwrap_or(INTER),
            fast: time("fastinter").filter(|millis| *millis > 0),
            fall: said("fall").and_then(value::whole).unwrap_or(FALL).max(1),
            fully: said("init-state") == Some("fully-up"),
        }
    }

    /// Milliseconds for which the first check is spread: a server that one more failure takes out is in between (src/check.c: srv_getinter).
    fn first(&self) -> u64 {
        if self.fall == 1 || self.fully { self.inter } else { self.between() }
    }

    /// Milliseconds after the first failure.
    fn rest(&self) -> u64 {
        if self.fully { self.between().saturating_mul(self.fall - 1) } else { 0 }
    }

    fn between(&self) -> u64 {
        self.fast.unwrap_or(self.inter)
    }
}

#[cfg(test)]
mod tests {
    use genkai_model::limit::Origin;

    use super::*;
    use crate::haproxy::config::Reading;

    fn of(back: &str) -> Option<(String, usize, bool)> {
        of_all(&format!("backend b\n{back}"))
    }

    fn of_all(text: &str) -> Option<(String, usize, bool)> {
        let config = Config::of_texts(vec![("/x".into(), text.to_owned().into())], Reading::default()).unwrap();
        let section = config.sections().iter().find(|section| section.kind == "backend").unwrap();
        let used: Vec<Server<'_>> = proxy::servers(&config, section).into_iter().filter(Server::is_used).collect();
        let check = Check::of(&config, section, &used)?;
        let Origin::File { line, .. } = check.line.origin else { panic!("not in a file") };
        Some((check.line.written, line, check.elsewhere))
    }

    #[test]
    fn a_check_is_what_the_section_asks_of_servers_that_are_checked() {
        let told = |text: &str, line, elsewhere| Some((text.to_owned(), line, elsewhere));
        assert_eq!(of(" option httpchk GET /h\n server s 1:1\n"), None, "it is not switched on");
        assert_eq!(of(" option httpchk GET /h\n server s 1:1 check\n"), told("option httpchk GET /h", 2, false));
        let two = " option httpchk GET /h\n option tcp-check\n server s 1:1 check\n";
        assert_eq!(of(two), told("option tcp-check", 3, false), "the last one counts");
        let inherited = "defaults\n option httpchk GET /h\nbackend b\n option mysql-check\n server s 1:1 check\n";
        assert_eq!(of_all(inherited), told("option mysql-check", 4, false), "the nearest one counts");
        let inherited = "defaults\n option tcp-check\n option httpchk GET /h\nbackend b\n server s 1:1 check\n";
        assert_eq!(of_all(inherited), told("option httpchk GET /h", 3, false));
        assert_eq!(of(" default-server check\n server s 1:1\n"), told("check", 2, false));
        assert_eq!(of(" default-server check\n server s 1:1 no-check\n"), None);
        assert_eq!(of(" server s 1:1\n server t 1:1 check port 81\n"), told("check", 3, true));
        let program = " option external-check\n external-check command /x\n server s 1:1 check\n";
        assert_eq!(of(program), told("option external-check", 2, true), "a program asks");
    }

    /// Whether the check of the last server of a file connects to where requests do, and how long it may take at most until it is out.
    fn last(text: &str) -> (bool, u64) {
        let config = Config::of_texts(vec![("/x".into(), text.to_owned().into())], Reading::default()).unwrap();
        let section = config.sections().iter().rfind(|section| section.is_back()).unwrap();
        let server = proxy::servers(&config, section).pop().unwrap();
        (connects(&config, section, &server), out_after(&config, section, &server))
    }

    /// Each as HAProxy 2.6 did it, where nobody listened at the server's port and somebody at 81.
    #[test]
    fn a_check_connects_to_the_servers_own_place_unless_something_leads_it_elsewhere() {
        let of = |inside: &str, parameters: &str| {
            last(&format!("backend b\n{inside} server s 127.0.0.1:1 check {parameters}\n")).0
        };
        assert!(of("", "") && of("", "port 1") && of("", "addr 127.0.0.1") && of("", "check-ssl verify none"));
        assert!(!of("", "port 81") && !of("", "addr 127.0.0.2") && !of(" default-server port 81\n", ""));
        assert!(of(" default-server port 81\n", "port 1"), "the server's own word counts");
        assert!(!of("", "namespace other") && !of("", "check-via-socks4 socks4 127.0.0.1:9"));
        let http = " option httpchk GET /h\n";
        assert!(of(http, "") && of(&format!("{http} http-check connect\n"), ""));
        assert!(of(&format!("{http} http-check connect ssl comment port\n"), ""));
        assert!(!of(&format!("{http} http-check connect port 81\n"), ""));
        assert!(!of(&format!("{http} http-check connect addr 127.0.0.2\n"), ""));
        let both = format!("{http} http-check connect port 81\n http-check send meth GET\n http-check connect\n");
        assert!(of(&both, ""), "one of the two connects to where requests do");
        assert!(of(&format!("{http} http-check connect port 1\n"), "port 81"), "the rule's word counts");
        assert!(!of(&format!("{http} http-check connect ssl\n"), "port 81"), "a rule without one has the server's");
        assert!(!of(" option tcp-check\n tcp-check connect port 81\n", ""));
        assert!(
            of(&format!("{http} tcp-check connect port 81\n"), ""),
            "rules of another kind of check are none of its own"
        );
        assert!(!of(" option external-check\n external-check command /bin/true\n", ""), "a program asks");
    }

    /// The same.
    #[test]
    fn rules_of_defaults_count_where_the_section_has_none() {
        let of = |defaults: &str, inside: &str| {
            let http = "defaults\n option httpchk GET /h\n http-check connect port 81\n";
            last(&format!("{http}{defaults}backend b\n{inside} server s 127.0.0.1:1 check\n")).0
        };
        assert!(!of("", ""));
        assert!(!of(" http-check send meth GET\n http-check expect status 200\n", " http-check disable-on-404\n"));
        assert!(of("", " option httpchk\n"), "the option again begins anew");
        assert!(of("", " option tcp-check\n"));
        assert!(of("", " http-check send meth GET\n"), "rules of its own count alone");
    }

    /// 2.6.12 called the second of two down after 0.4 s with `inter 1s fall 9`, 0.8 s with `inter 20s fastinter 2s`, 4 s with `inter 8s fastinter 2s fall 1` and
    /// 10 s with `inter 20s`; and one with `inter 900ms` after 8 s beside one of another backend with `inter 16s`, after 1.5 s with `max-spread-checks 3s`.
    #[test]
    fn one_failure_is_enough_at_the_beginning_and_comes_within_an_interval() {
        let of = |parameters: &str| {
            last(&format!(
                "backend b\n server r 127.0.0.1:1 check {parameters}\n server s 127.0.0.1:2 check {parameters}\n"
            ))
            .1
        };
        assert_eq!([of(""), of("fall 9"), of("inter 1s fall 9"), of("inter 500")], [2_000, 2_000, 1_000, 500]);
        assert_eq!(
            [of("inter 20s"), of("inter 20s fastinter 2s"), of("inter 20s fastinter 2s fall 1")],
            [20_000, 2_000, 20_000]
        );
        assert_eq!(
            [of("inter 2s init-state fully-up"), of("inter 8s fastinter 1s init-state fully-up")],
            [6_000, 10_000]
        );
        let other = |global: &str| {
            last(&format!("{global}backend a\n server r 127.0.0.1:1 check inter 1m\nbackend b\n default-server inter 900ms\n server s 127.0.0.1:2 check\n"))
                .1
        };
        assert_eq!([other(""), other("global\n max-spread-checks 3s\n")], [60_000, 3_000], "those of all are spread");
        assert_eq!(other("global\n spread-checks 20\n"), 60_180);
    }
}
