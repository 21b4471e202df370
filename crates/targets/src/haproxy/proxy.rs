//! What HAProxy makes of a section: the values that count, with what they inherit, and its servers.
//!
//! This is the one place that decides it. Tests hold it against `show stat` of the running server, over generated configurations.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use genkai_model::limit::Origin;

use super::config::{Config, Found, Section};
use crate::files::names::table;
use crate::files::number::{self, leading};
use crate::settings::SourcedValue;

/// What a proxy speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Requests and responses.
    Http,
    /// Bytes: nothing is ever answered by HAProxy itself.
    Tcp,
}

/// How the server of a request is chosen, as far as it matters where some are full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Full servers are passed over: nothing waits as long as one has room.
    AnyWithRoom,
    /// Some are drawn, and it waits where those are full.
    Drawn,
    /// Something in the request decides (a header, a cookie): it waits for that server.
    ByKey,
    /// Something decides that these requests have in common (their source, their path): all of them go to one server.
    One(&'static str),
}

/// A server, with what `default-server` gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Server<'c> {
    /// Its line.
    pub found: &'c Found,
    /// How many servers the line stands for.
    pub count: u64,
    /// Requests that it gets at once when the backend is full; 0: any number.
    pub maxconn: u64,
    /// Those that it gets at once in any case; equal to `maxconn` where nothing is dynamic.
    pub minconn: u64,
    /// Requests that may wait for it alone; 0: any number.
    pub maxqueue: u64,
    /// Its share of requests; 0: none.
    pub weight: u64,
    /// Used only when all others are down.
    pub backup: bool,
    /// Not used at all.
    pub disabled: bool,
    /// Whether it is taken out while a health check of it fails.
    pub checked: bool,
    /// Whether TLS is spoken to it.
    pub encrypted: bool,
}

impl Server<'_> {
    /// Whether it takes requests as long as all live.
    pub fn is_used(&self) -> bool {
        !self.backup && !self.disabled && self.weight > 0
    }

    /// Requests that it gets at once when the backend has `load` of them and counts as full with `fullconn` (src/queue.c:
    /// `srv_dynamic_maxconn`).
    pub fn slots(&self, load: u64, fullconn: u64) -> u64 {
        match self.minconn == self.maxconn || load >= fullconn {
            true => self.maxconn,
            false => self.minconn.max(load.saturating_mul(self.maxconn) / fullconn.max(1)),
        }
    }
}

/// `mode` of a section; TCP where nobody says anything.
pub fn mode(config: &Config, section: &Section) -> Mode {
    match config.value(section, "mode").and_then(|f| f.arg(0)) {
        Some("http") => Mode::Http,
        _ => Mode::Tcp,
    }
}

/// Whether a section is switched off; `enabled` takes back what `defaults` say.
pub fn is_off(config: &Config, section: &Section) -> bool {
    let last = |s: &Section| config.inside(s).iter().rev().find(|f| f.is("disabled") || f.is("enabled"));
    config.lineage(section).find_map(last).is_some_and(|f| f.is("disabled"))
}

/// A number of a section that is written, as atol(3) reads it.
pub fn number(config: &Config, section: &Section, key: &str) -> Option<SourcedValue<u64>> {
    let found = config.value(section, key)?;
    let written = found.words.get(key.split(' ').count())?.value.clone();
    let value = u64::try_from(leading(&written)).unwrap_or(0);
    Some(SourcedValue { value, written, origin: origin(config, found) })
}

/// Where a line is.
pub fn origin(config: &Config, found: &Found) -> Origin {
    Origin::File { path: config.file(found.file).path.clone(), line: found.line }
}

/// `fullconn` of a section with servers: as written, else a tenth of the connections that the frontends before it may have
/// (src/proxy.c: `proxy_adjust_all_maxconn`), of which those without `maxconn` have that of the process.
pub fn fullconn(config: &Config, back: &Section, process: u64) -> u64 {
    if let Some(held) = number(config, back, "fullconn").filter(|held| held.value > 0) {
        return held.value;
    }
    let fronts = config.sections().iter().filter(|s| s.is_front() && !is_off(config, s));
    let sum: u64 = fronts
        .filter(|front| leads(config, front, back))
        .map(|front| number(config, front, "maxconn").map_or(0, |held| held.value))
        .map(|maxconn| if maxconn > 0 { maxconn } else { process })
        .fold(0, u64::saturating_add);
    sum.div_ceil(10).max(1)
}

/// Whether requests of `front` may reach `back`.
fn leads(config: &Config, front: &Section, back: &Section) -> bool {
    let default = config.value(front, "default_backend").and_then(|f| f.arg(0));
    let rules = config.inside(front).iter().filter(|f| f.is("use_backend")).filter_map(|f| f.arg(0));
    let own = default.is_none() && front == back;
    own || default.into_iter().chain(rules).any(|name| back.is_back() && name == back.name)
}

/// How the backend chooses servers for requests of one source for `target` (configuration manual 4.2, `balance`).
pub fn choice(config: &Config, back: &Section, target: &str) -> Choice {
    let lines = || config.inside(back).iter();
    if lines().any(|f| (f.is("stick on") || f.is("stick match")) && f.arg(1) != Some("src")) {
        return Choice::ByKey;
    }
    if lines().any(|f| f.is("stick on") || f.is("stick match")) {
        return Choice::One("source");
    }
    let balance = config.value(back, "balance");
    let word = balance.and_then(|f| f.arg(0)).unwrap_or("roundrobin");
    let (name, argument) = word.split_once('(').map_or((word, ""), |(name, rest)| (name, rest.trim_end_matches(')')));
    // Where a server has too much of the load, another one gets its requests.
    let bounded = number(config, back, "hash-balance-factor").is_some_and(|held| held.value > 0);
    let field = |name: &str| {
        let query = target.split_once('?').map_or("", |(_, query)| query);
        query.split('&').any(|field| field.split_once('=').is_some_and(|(key, _)| key == name))
    };
    match name {
        "roundrobin" | "static-rr" | "leastconn" | "first" => Choice::AnyWithRoom,
        "random" => Choice::Drawn,
        "source" if !bounded => Choice::One("source"),
        "uri" if !bounded => Choice::One("path"),
        "hdr" if !bounded && argument.eq_ignore_ascii_case("host") => Choice::One("host"),
        "url_param" => match balance.and_then(|f| f.arg(1)).is_some_and(field) {
            true if !bounded => Choice::One("parameter"),
            true => Choice::ByKey,
            // It is not there: they go round.
            false => Choice::AnyWithRoom,
        },
        _ => Choice::ByKey,
    }
}

/// The servers of a section, each with the `default-server` lines before it, those of `defaults` first.
pub fn servers<'c>(config: &'c Config, back: &'c Section) -> Vec<Server<'c>> {
    let mut lineage: Vec<&Section> = config.lineage(back).collect();
    lineage.reverse();
    let mut given: Vec<&Found> = Vec::new();
    let mut all = Vec::new();
    for section in lineage {
        for found in config.inside(section) {
            match found.name() {
                "default-server" => given.push(found),
                "server" | "server-template" if section.kind != "defaults" => all.push(server(found, &given)),
                _ => {}
            }
        }
    }
    all
}

/// Reads a server's line after the defaults given.
fn server<'c>(found: &'c Found, given: &[&'c Found]) -> Server<'c> {
    let lines = || given.iter().copied().chain([found]);
    let number = |key: &str| lines().filter_map(|line| parameter(line, key)).next_back().map_or(0, whole);
    // The later of two words counts, on the same line, too.
    let flag = |on: &str, off: &str| {
        let mut all = lines().flat_map(parameters);
        all.rfind(|(name, _)| *name == on || *name == off).is_some_and(|(name, _)| name == on)
    };
    let (written, minconn) = (number("maxconn"), number("minconn"));
    // src/cfgparse.c: check_config_validity.
    let maxconn = written.max(minconn);
    let weight = lines().filter_map(|line| parameter(line, "weight")).next_back().map_or(1, whole);
    Server {
        found,
        count: if found.name() == "server-template" { count(found) } else { 1 },
        maxconn,
        minconn: if minconn > 0 { minconn } else { maxconn },
        maxqueue: number("maxqueue"),
        weight,
        backup: flag("backup", "no-backup"),
        disabled: flag("disabled", "enabled"),
        checked: flag("check", "no-check"),
        encrypted: flag("ssl", "no-ssl"),
    }
}

fn whole(text: &str) -> u64 {
    u64::try_from(leading(text)).unwrap_or(0)
}

/// Parameters of servers with the number of words after each (srv_kw_list of HAProxy's source, 2.6 to 3.5).
pub static PARAMETERS: LazyLock<BTreeMap<&str, usize>> = LazyLock::new(|| {
    let table = table(include_str!("servers.txt"));
    table.filter_map(|(name, words)| Some((name, words.parse().ok()?))).collect()
});

/// Position of the first argument that is a parameter: `server NAME ADDRESS ...`, `server-template PREFIX COUNT ADDRESS ...`.
pub(crate) fn first_parameter(found: &Found) -> usize {
    match found.name() {
        "server" => 2,
        "server-template" => 3,
        _ => 0,
    }
}

impl Server<'_> {
    /// What HAProxy calls it; of a template each of those made of it (src/server.c: `_srv_parse_set_id_from_prefix`), of which there may be billions.
    pub fn names(&self) -> impl Iterator<Item = String> + use<'_> {
        let name = self.found.arg(0).unwrap_or_default();
        let range = self.found.arg(1).unwrap_or_default();
        let first = range.split_once('-').and_then(|(first, _)| number::count(first)).unwrap_or(1);
        let is_template = self.found.is("server-template");
        let last = if is_template { first.saturating_add(self.count) } else { first.saturating_add(1) };
        (first..last).map(move |n| if is_template { format!("{name}{n}") } else { name.to_owned() })
    }
}

/// The parameters of a server's line, each with the word after it; empty where it has none.
pub fn parameters(line: &Found) -> Vec<(&str, &str)> {
    let words = line.words.get(first_parameter(line) + 1..).unwrap_or_default();
    let (mut all, mut at) = (Vec::new(), 0);
    while let Some(name) = words.get(at).map(|w| w.value.as_str()) {
        let after = PARAMETERS.get(name).copied().unwrap_or(0);
        let value = words.get(at + 1).filter(|_| after > 0).map_or("", |w| w.value.as_str());
        all.push((name, value));
        at += 1 + after;
    }
    all
}

/// The last value of a parameter on a line.
pub fn parameter<'c>(line: &'c Found, key: &str) -> Option<&'c str> {
    parameters(line).into_iter().rfind(|(name, _)| *name == key).map(|(_, value)| value)
}

/// The line that gives a server its value of a parameter: its own, or the last `default-server` before it.
pub fn giving<'c>(config: &'c Config, back: &'c Section, server: &Server<'c>, key: &str) -> Option<&'c Found> {
    let has = |line: &&'c Found| parameter(line, key).is_some();
    let default = |s: &'c Section| {
        let own = s == back;
        let before = config.inside(s).iter().take_while(move |line| !own || *line != server.found);
        before.filter(|line| line.is("default-server")).filter(has).last()
    };
    Some(server.found).filter(has).or_else(|| config.lineage(back).find_map(default))
}

/// A parameter of servers as written, different values one after the other, with the place of the first; none where no server has it.
pub fn written(config: &Config, back: &Section, used: &[Server<'_>], key: &str) -> Option<(String, Origin)> {
    let mut lines = used.iter().filter_map(|s| giving(config, back, s, key)).peekable();
    let place = origin(config, lines.peek()?);
    let mut all: Vec<&str> = Vec::new();
    for value in lines.filter_map(|line| parameter(line, key)) {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    Some((all.join(", "), place))
}

/// `server-template PREFIX 3 ...` or `1-3` (src/server.c: `_srv_parse_tmpl_range`).
fn count(found: &Found) -> u64 {
    let range = found.arg(1).unwrap_or_default();
    let (first, last) = range.split_once('-').map_or(("1", range), |(first, last)| (first, last));
    let (first, last) = (number::count(first).unwrap_or(1), number::count(last).unwrap_or(1));
    last.saturating_add(1).saturating_sub(first).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::haproxy::config::Reading;

    fn read(text: &str) -> Config {
        Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap()
    }

    fn of(text: &str) -> Vec<(u64, u64, u64, bool)> {
        let config = read(text);
        let back = config.sections().iter().rfind(|s| s.is_back()).unwrap();
        servers(&config, back).iter().map(|s| (s.minconn, s.maxconn, s.maxqueue, s.is_used())).collect()
    }

    #[test]
    fn servers_take_what_default_server_said_before_them() {
        let text = "defaults\n default-server maxconn 10 maxqueue 5\ndefaults a\nbackend b from a\n server s 1:1\n default-server \
                    maxconn 7 disabled\n server t 1:1 enabled maxconn 8 maxconn 9\n default-server minconn 20\n server u 1:1 backup\n";
        assert_eq!(of(text), [(0, 0, 0, true), (9, 9, 0, true), (20, 20, 0, false)]);
        assert_eq!(
            of(&text.replace("defaults a\n", "defaults a from z\n").replace("defaults\n", "defaults z\n"))[1],
            (9, 9, 5, true)
        );
    }

    #[test]
    fn slots_grow_with_the_load() {
        let config = read("backend b\n server s 1:1 minconn 5 maxconn 60\n");
        let all = servers(&config, &config.sections()[0]);
        let slots = |load| all[0].slots(load, 1000);
        assert_eq!([0, 40, 100, 999, 1000, 5000].map(slots), [5, 5, 6, 59, 60, 60]);
    }

    #[test]
    fn a_full_backend_is_a_tenth_of_its_frontends() {
        let config = read(
            "defaults\n maxconn 95\nfrontend f\n default_backend b\nfrontend g\n maxconn 0\n use_backend b if x\nbackend b\nbackend c\n \
             fullconn 3\nlisten l\n",
        );
        let full = |name: &str| fullconn(&config, config.sections().iter().find(|s| s.name == name).unwrap(), 2000);
        assert_eq!((full("b"), full("c"), full("l")), (210, 3, 10));
    }

    #[test]
    fn what_is_disabled_can_be_enabled_again() {
        let config = read("defaults\n disabled\nfrontend f\nfrontend g\n enabled\n");
        let off = |at: usize| is_off(&config, &config.sections()[at]);
        assert_eq!((off(1), off(2)), (true, false));
    }
}
