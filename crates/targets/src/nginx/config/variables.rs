//! Values of variables for the requests under test, as far as the configuration and the requests tell them
//! (ngx_http_variables.c, ngx_http_script.c).

use std::cell::Cell;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use super::headers::Headers;
use super::uri::path;
use super::{Config, Found};
use crate::files::pattern::Reads;

/// Variables that every request has, with the same value for all requests of one visitor to one address.
const FULL: [&str; 10] = [
    "binary_remote_addr",
    "realip_remote_addr",
    "proxy_add_x_forwarded_for",
    "server_addr",
    "server_port",
    "server_protocol",
    "http_host",
    "hostname",
    "nginx_version",
    "document_root",
];

/// Variables that every request has, with a value of its own.
const VARIES: [&str; 13] = [
    "request_id",
    "connection",
    "connection_requests",
    "connection_time",
    "remote_port",
    "msec",
    "time_local",
    "time_iso8601",
    "request_length",
    "request_time",
    "bytes_sent",
    "body_bytes_sent",
    "pid",
];

/// Variables that lead to variables may do so in a circle.
const DEPTH: usize = 9;

/// Variables looked up for one value; what needs more is not known.
const STEPS: usize = 1024;

/// A text of more bytes is not known.
const LENGTH: usize = 8 << 10;

/// Tests of files in an `if`, also with `!` before them.
const FILES: [&str; 4] = ["-f", "-d", "-e", "-x"];

/// Comparisons with a regular expression in an `if`, also with `!` before them.
const EXPRESSIONS: [&str; 2] = ["~", "~*"];

/// A value that may be more texts than that is not known.
const TEXTS: usize = 16;

/// What is known of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Every text that it may be; none: not known.
    pub texts: Option<Vec<String>>,
    /// Whether it is never empty.
    pub full: bool,
    /// Whether all requests of one visitor have the same.
    pub steady: bool,
}

impl Value {
    fn text(text: impl Into<String>) -> Value {
        Value::one_of(vec![text.into()])
    }

    fn one_of(mut texts: Vec<String>) -> Value {
        texts.sort();
        texts.dedup();
        let full = texts.iter().all(|text| !text.is_empty());
        Value { full, steady: true, texts: Some(texts).filter(|texts| texts.len() <= TEXTS) }
    }

    /// Something that may be empty, of which all requests of a visitor have the same.
    pub(super) fn unknown() -> Value {
        Value { texts: None, full: false, steady: true }
    }

    /// Its text, where it can be no other.
    pub fn constant(&self) -> Option<&str> {
        match self.texts.as_deref() {
            Some([one]) => Some(one),
            _ => None,
        }
    }

    /// One after the other.
    fn then(self, next: Value) -> Value {
        let both = self.texts.zip(next.texts).filter(|(these, those)| these.len() * those.len() <= TEXTS);
        let texts = both.map(|(these, those)| {
            these.iter().flat_map(|a| those.iter().map(move |b| format!("{a}{b}"))).collect::<Vec<_>>()
        });
        let texts = texts.filter(|texts| texts.iter().all(|text| text.len() <= LENGTH));
        Value { texts, full: self.full || next.full, steady: self.steady && next.steady }
    }

    /// One of these, which something decides that is the same for all requests of a visitor, or is not.
    fn any(values: Vec<Value>, steady: bool) -> Value {
        let texts: Option<Vec<Vec<String>>> = values.iter().map(|value| value.texts.clone()).collect();
        let texts = texts.map(|texts| texts.concat());
        let full = values.iter().all(|value| value.full);
        let value = texts.map_or(Value { texts: None, full, steady }, Value::one_of);
        let all_steady = values.iter().all(|value| value.steady);
        Value { steady: value.constant().is_some() || steady && all_steady, full, ..value }
    }
}

/// Finds values of variables for requests.
#[derive(Clone, Debug)]
pub struct Variables<'a> {
    /// The server that answers.
    pub(super) server: Found<'a>,
    /// Whether they come by TLS.
    pub(super) tls: bool,
    /// Their Host header; none: any.
    pub(super) host: Option<String>,
    /// The path and its query as asked for.
    pub(super) target: String,
    /// The path that is looked for at present; none: not known.
    pub(super) uri: Option<String>,
    /// The query at present.
    pub(super) args: Option<String>,
    /// What `set` has set so far.
    pub(super) set: BTreeMap<String, Value>,
    /// What the last regular expression found: `$0`, `$1`, ...
    pub(super) captures: Vec<String>,
    /// Who sends them; none: anybody.
    pub(super) visitor: Option<Ipv4Addr>,
    /// All headers that they have beside Host; none: not known.
    pub(super) headers: Option<Headers>,
}

impl<'a> Variables<'a> {
    /// Those of requests for a target (a path that may have a query).
    pub(super) fn new(server: Found<'a>, tls: bool, host: Option<&str>, target: &str) -> Self {
        let (uri, args) = target.split_once('?').unwrap_or((target, ""));
        // With `merge_slashes off` they stay as they are.
        let merged = |server: &Found<'_>| {
            let scopes = [Some(server.clone()), server.parent()];
            let mut all = scopes.into_iter().flatten().flat_map(|block| block.inside());
            all.find(|f| f.directive.is("merge_slashes")).is_none_or(|f| f.arg(0).as_deref() != Some("off"))
        };
        let known = !uri.contains("//") || merged(&server);
        Variables {
            tls,
            host: host.map(|host| host.to_ascii_lowercase()),
            target: target.to_owned(),
            uri: path(uri).filter(|_| known),
            args: Some(args.to_owned()),
            set: BTreeMap::new(),
            captures: Vec::new(),
            visitor: None,
            headers: None,
            server,
        }
    }

    /// The same for requests of this visitor.
    pub fn of_visitor(mut self, visitor: Option<Ipv4Addr>) -> Self {
        self.visitor = visitor;
        self
    }

    /// The same for requests with these headers.
    pub fn sending(mut self, headers: Option<&[(String, String)]>) -> Self {
        self.headers = headers.map(Headers::of);
        self
    }

    fn config(&self) -> &'a Config {
        self.server.config
    }

    /// Whether the condition of an `if` holds; none: something else decides. Files are taken not to be there.
    pub(super) fn holds(&self, found: &Found<'_>) -> Option<bool> {
        let words = condition(found);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            [one] => self.over(one, |text| Some(!text.is_empty() && text != "0")),
            [test, _] if FILES.contains(&plain(test).1) => Some(plain(test).0),
            [one, "=", to] => self.equals(one, to),
            [one, "!=", to] => self.equals(one, to).map(|same| !same),
            [one, how, pattern] if EXPRESSIONS.contains(&plain(how).1) => {
                let (negated, how) = plain(how);
                let found = |text: &str| Some(captures(pattern, text, how == "~*")?.is_some());
                self.over(one, found).map(|found| found != negated)
            }
            _ => None,
        }
    }

    /// What is known of `$1` and the like once the condition of an `if` has been looked at.
    pub(super) fn looked_at(&mut self, found: &Found<'_>) {
        let words = condition(found);
        let [one, how, pattern] = &words[..] else { return };
        let (_, how) = plain(how);
        if !EXPRESSIONS.contains(&how) {
            return;
        }
        match self.value(one).constant().map(|text| captures(pattern, text, how == "~*")) {
            Some(Some(None)) => {}
            Some(Some(Some(found))) => self.matched(pattern, found),
            _ => self.matched(pattern, Vec::new()),
        }
    }

    /// A regular expression has matched, or may have; its groups with names are variables.
    pub(super) fn matched(&mut self, pattern: &str, captures: Vec<String>) {
        self.captures = captures;
        self.set.extend(groups(pattern).map(|name| (name, Value::unknown())));
    }

    /// What `set` does. `$args` is the query itself (`ngx_http_variable_set_args`).
    pub(super) fn assign(&mut self, variable: &str, value: Value) {
        match variable.trim_start_matches('$').to_ascii_lowercase() {
            name if name == "args" => self.args = value.constant().map(str::to_owned),
            name => {
                self.set.insert(name, value);
            }
        }
    }

    fn equals(&self, one: &str, to: &str) -> Option<bool> {
        let to = self.value(to);
        let to = to.constant()?;
        self.over(one, |text| Some(text == to))
    }

    /// What holds of every text that a value may be; none where they differ.
    fn over(&self, text: &str, holds: impl Fn(&str) -> Option<bool>) -> Option<bool> {
        let texts = self.value(text).texts?;
        let mut all: Vec<bool> = texts.iter().map(|text| holds(text)).collect::<Option<_>>()?;
        all.dedup();
        if let [one] = all[..] { Some(one) } else { None }
    }

    /// Whether a text is the path that is looked for.
    pub(super) fn is_path(&self, text: &str) -> bool {
        self.uri.as_deref().is_some_and(|path| self.value(text).constant() == Some(path))
    }

    /// The value of a text with variables.
    pub fn value(&self, text: &str) -> Value {
        self.evaluated(text, Room { depth: DEPTH, steps: &Cell::new(STEPS) })
    }

    fn evaluated(&self, text: &str, room: Room<'_>) -> Value {
        let values = parts(text).into_iter().map(|part| match part {
            Part::Literal(text) => Value::text(text),
            Part::Variable(name) => self.variable(&name.to_ascii_lowercase(), room),
        });
        values.fold(Value::text(""), Value::then)
    }

    /// The value of a variable (names have no case: this one is in lower case).
    fn variable(&self, name: &str, room: Room<'_>) -> Value {
        let Some(room) = room.inner() else { return Value::unknown() };
        if let Some(set) = self.set.get(name) {
            return set.clone();
        }
        let known = |text: Option<&str>, full| text.map_or(Value { texts: None, full, steady: true }, Value::text);
        if let Some(at) = name.parse::<usize>().ok().filter(|at| *at < 10) {
            // A group that the last expression does not have is empty (`r->ncaptures`). None are known of one that was not evaluated.
            let found = self.captures.get(at).map(String::as_str);
            return known(found.or(self.captures.first().map(|_| "")), false);
        }
        match name {
            "server_name" => self.server_name(),
            "remote_addr" => self.visitor.map_or(known(None, true), |ip| Value::text(ip.to_string())),
            "host" => known(self.host.as_deref(), true),
            "scheme" => Value::text(if self.tls { "https" } else { "http" }),
            "https" => Value::text(if self.tls { "on" } else { "" }),
            "request_method" => known(None, true),
            "request_uri" => Value::text(self.target.as_str()),
            "uri" | "document_uri" => known(self.uri.as_deref(), true),
            "args" | "query_string" => known(self.args.as_deref(), false),
            "is_args" => known(self.args.as_deref().map(|args| if args.is_empty() { "" } else { "?" }), false),
            _ if name.starts_with("arg_") => known(self.argument(&name[4..]), false),
            _ if name.starts_with("cookie_") => {
                known(self.headers.as_ref().and_then(|all| all.cookie(&name[7..])), false)
            }
            _ if FULL.contains(&name) => known(None, true),
            _ if name.starts_with("http_") => known(self.headers.as_ref().and_then(|all| all.field(&name[5..])), false),
            _ if VARIES.contains(&name) => Value { texts: None, full: true, steady: false },
            _ => self.defined(name, room),
        }
    }

    /// A field of the query; "" where there is none of that name (`ngx_http_arg`).
    fn argument(&self, name: &str) -> Option<&str> {
        let fields = self.args.as_deref()?.split('&').map(|field| field.split_once('=').unwrap_or((field, "")));
        Some(fields.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value))
    }

    /// The first name of the server; "" where it has none (`ngx_http_core_merge_srv_conf`).
    fn server_name(&self) -> Value {
        let named = self.server.inside().into_iter().find(|f| f.directive.is("server_name"));
        match named.and_then(|f| f.arg(0)) {
            Some(name) if name.contains('$') => Value { texts: None, full: true, steady: true },
            name => Value::text(name.unwrap_or_default()),
        }
    }

    /// A variable that a block of `http` defines, or a `set` that the request has not come by: that is empty.
    fn defined(&self, name: &str, room: Room<'_>) -> Value {
        let variable = format!("${name}");
        let is = |kind: &str| {
            let mut all = self.config().find(&["http"], kind).into_iter();
            all.rfind(|f| f.args().last().is_some_and(|last| last.eq_ignore_ascii_case(&variable)))
        };
        let set = |f: &Found<'_>| f.directive.is("set") && f.arg(0).is_some_and(|a| a.eq_ignore_ascii_case(&variable));
        if let Some(map) = is("map") {
            self.map(&map, room)
        } else if let Some(geo) = is("geo") {
            self.geo(&geo)
        } else if let Some(split) = is("split_clients") {
            let by = self.evaluated(&split.arg(0).unwrap_or_default(), room);
            let values = entries(&split).into_iter().map(|(_, value)| self.evaluated(&value, room));
            Value::any(values.collect(), by.steady)
        } else if self.config().walk().iter().any(set) {
            Value::text("")
        } else {
            Value::unknown()
        }
    }

    /// The entry of the source's value; where that is not known, what all entries may be.
    fn map(&self, map: &Found<'_>, room: Room<'_>) -> Value {
        let entries = entries(map);
        let special = |name: &str| entries.iter().any(|(key, _)| key == name);
        let default = entries.iter().rfind(|(key, _)| key == "default").map_or("", |(_, value)| value);
        let rows: Vec<_> =
            entries.iter().filter(|(key, _)| !["default", "hostnames", "volatile"].contains(&key.as_str())).collect();
        let source = self.evaluated(&map.arg(0).unwrap_or_default(), room);
        let named = |source: &str| {
            rows.iter().find(|(key, _)| key.strip_prefix('\\').unwrap_or(key).eq_ignore_ascii_case(source))
        };
        // The entry of a text: the same, else the first expression that finds something (`ngx_http_map_find`); none: that cannot be told.
        let row = |source: &str| match named(source) {
            Some(row) => Some(Some(*row)),
            None if special("hostnames") => None,
            None => first_match(&rows, source),
        };
        let decided = source.texts.as_ref().and_then(|texts| texts.iter().map(|text| row(text)).collect::<Option<_>>());
        let all = || rows.iter().map(|row| Some(*row)).chain([None]).collect();
        let values: Vec<Option<&(String, String)>> = decided.unwrap_or_else(all);
        let value = |row: Option<&(String, String)>| match row {
            Some((key, value)) if key.starts_with('~') && has_group(value) => Value::unknown(),
            row => self.evaluated(row.map_or(default, |(_, value)| value), room),
        };
        Value::any(values.into_iter().map(value).collect(), source.steady)
    }

    /// The value of the longest network that the visitor is in; where it is not known who that is, what it may be.
    fn geo(&self, geo: &Found<'_>) -> Value {
        let entries = entries(geo);
        let odd = ["ranges", "proxy", "proxy_recursive", "delete"];
        let by_peer = geo.args().len() == 1 || geo.arg(0).is_some_and(|a| a == "$remote_addr");
        let plain = by_peer && !entries.iter().any(|(key, _)| odd.contains(&key.as_str()));
        let default = entries.iter().rfind(|(key, _)| key == "default").map_or("", |(_, value)| value);
        let rows = entries.iter().filter(|(key, _)| key != "default" && !odd.contains(&key.as_str()));
        match self.visitor.filter(|_| plain) {
            Some(ip) => {
                let within = rows.filter_map(|(key, value)| Some((within(ip, key)?, value)));
                let found = within.max_by_key(|(length, _)| *length);
                Value::text(found.map_or(default, |(_, value)| value))
            }
            None => Value::any(rows.map(|(_, value)| value.as_str()).chain([default]).map(Value::text).collect(), true),
        }
    }
}

/// The first entry of a `map` whose key is an expression that finds something; none: that cannot be told.
fn first_match<'m>(rows: &[&'m (String, String)], source: &str) -> Option<Option<&'m (String, String)>> {
    for row in rows {
        let Some(pattern) = row.0.strip_prefix('~') else { continue };
        let (blind, pattern) = pattern.strip_prefix('*').map_or((false, pattern), |pattern| (true, pattern));
        if captures(pattern, source, blind)?.is_some() {
            return Some(Some(row));
        }
    }
    Some(None)
}

/// Whether a text has what an expression has found in it: `$1`.
fn has_group(text: &str) -> bool {
    parts(text).iter().any(|part| matches!(part, Part::Variable(name) if name.parse::<u8>().is_ok()))
}

/// Key and value of each entry of a block of data, those of included files too.
fn entries(block: &Found<'_>) -> Vec<(String, String)> {
    let entry =
        |f: &Found<'_>| (String::from_utf8_lossy(f.directive.name()).into_owned(), f.arg(0).unwrap_or_default());
    block.inside().iter().map(entry).filter(|(key, _)| key != "include").collect()
}

/// Length of the network `text` if `ip` is in it.
fn within(ip: Ipv4Addr, text: &str) -> Option<u32> {
    let (network, length) = match text.split_once('/') {
        Some((network, length)) => (network, length.parse().ok().filter(|&n: &u32| n <= 32)?),
        None => (text, 32),
    };
    let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
    let network: Ipv4Addr = network.parse().ok()?;
    (u32::from(ip) & mask == u32::from(network) & mask).then_some(length)
}

/// The words of an `if`, without its brackets, which may be words of their own (`ngx_http_rewrite_if_condition`).
fn condition(found: &Found<'_>) -> Vec<String> {
    let mut words = found.args();
    match words.first_mut() {
        Some(first) if first == "(" => drop(words.remove(0)),
        Some(first) => *first = first.strip_prefix('(').unwrap_or(first).to_owned(),
        None => {}
    }
    match words.last_mut() {
        Some(last) if last == ")" => drop(words.pop()),
        Some(last) => *last = last.strip_suffix(')').unwrap_or(last).to_owned(),
        None => {}
    }
    words
}

/// Whether a test has `!` before it, and the test without.
fn plain(test: &str) -> (bool, &str) {
    test.strip_prefix('!').map_or((false, test), |test| (true, test))
}

/// The names of the groups of a regular expression, in lower case: `(?<name>`, `(?P<name>`, `(?'name'`.
fn groups(pattern: &str) -> impl Iterator<Item = String> {
    pattern.split("(?").skip(1).filter_map(|rest| {
        let name = rest.trim_start_matches('P').strip_prefix(['<', '\''])?.split(['>', '\'']).next()?;
        let word = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        word.then(|| name.to_ascii_lowercase())
    })
}

/// What one evaluation may still do.
#[derive(Clone, Copy)]
struct Room<'r> {
    depth: usize,
    steps: &'r Cell<usize>,
}

impl Room<'_> {
    /// That of a variable within; none: too deep, or too much.
    fn inner(self) -> Option<Self> {
        self.steps.set(self.steps.get().checked_sub(1)?);
        Some(Room { depth: self.depth.checked_sub(1)?, ..self })
    }
}

/// What a regular expression finds in a text, if anything: the whole, and its groups. None: that cannot be told.
pub(super) fn captures(pattern: &str, text: &str, blind: bool) -> Option<Option<Vec<String>>> {
    Reads { blind, whole: false }.captures(pattern, text)
}

/// A part of a text.
enum Part<'t> {
    Literal(&'t str),
    Variable(&'t str),
}

/// A text in parts: `$name` and `${name}` are variables (`ngx_http_script_compile`).
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        all.extend(Some(Part::Literal(before)).filter(|_| at > 0));
        let word = |text: &str| text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let (name, next) = match after.strip_prefix('{') {
            Some(inner) => inner.split_once('}').unwrap_or((inner, "")),
            None => after.split_at(word(after)),
        };
        all.push(Part::Variable(name));
        rest = next;
    }
    all.extend(Some(Part::Literal(rest)).filter(|_| !rest.is_empty()));
    all
}

#[cfg(test)]
mod tests;
