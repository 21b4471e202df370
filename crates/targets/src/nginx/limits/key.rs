//! Whether the key of a `limit_conn_zone` or `limit_req_zone` can be empty. "Requests with an empty key value are not accounted"
//! (ngx_http_limit_conn_module, ngx_http_limit_req_module): a limit by an empty key limits nobody.

use std::net::Ipv4Addr;

use crate::nginx::config::{Config, Found, Route};

/// What a key does with the requests under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyed {
    /// It is never empty: every request is counted.
    Counts,
    /// It is always empty: no request is counted.
    Nothing,
    /// It may be empty, or differ from request to request; the configuration does not say how often.
    Depends,
}

/// Variables that every request has, with the same value for all requests of one visitor to one address.
const FULL: [&str; 17] = [
    "binary_remote_addr",
    "remote_addr",
    "realip_remote_addr",
    "proxy_add_x_forwarded_for",
    "server_addr",
    "server_port",
    "server_protocol",
    "scheme",
    "host",
    "http_host",
    "hostname",
    "uri",
    "document_uri",
    "request_uri",
    "request_method",
    "nginx_version",
    "document_root",
];

/// Variables that lead to variables may do so in a circle.
const DEPTH: usize = 8;

/// A value, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    /// This text.
    Text(String),
    /// Some text that is not empty.
    Full,
    /// Nothing is known of it.
    Unknown,
}

/// Finds values of variables for the requests of a route.
pub(super) struct Keys<'a> {
    /// The configuration.
    pub(super) config: &'a Config,
    /// Where the requests go.
    pub(super) route: &'a Route<'a>,
    /// Who sends them; none: anybody.
    pub(super) visitor: Option<Ipv4Addr>,
}

impl Keys<'_> {
    /// What a zone with this key does.
    pub(super) fn of(&self, key: &str) -> Keyed {
        match self.text(key, 0) {
            Value::Text(text) if text.is_empty() => Keyed::Nothing,
            Value::Text(_) | Value::Full => Keyed::Counts,
            Value::Unknown => Keyed::Depends,
        }
    }

    /// The value of a text with variables.
    fn text(&self, text: &str, depth: usize) -> Value {
        let values: Vec<Value> = parts(text)
            .into_iter()
            .map(|part| match part {
                Part::Literal(text) => Value::Text(text.to_owned()),
                Part::Variable(name) => self.variable(name, depth),
            })
            .collect();
        let known: Option<String> =
            values.iter().map(|value| if let Value::Text(text) = value { Some(text.as_str()) } else { None }).collect();
        let full = |value: &Value| match value {
            Value::Text(text) => !text.is_empty(),
            Value::Full => true,
            Value::Unknown => false,
        };
        match known {
            Some(text) => Value::Text(text),
            None if values.iter().any(full) => Value::Full,
            None => Value::Unknown,
        }
    }

    fn variable(&self, name: &str, depth: usize) -> Value {
        if depth > DEPTH {
            return Value::Unknown;
        }
        match name {
            "server_name" => self.server_name(),
            "remote_addr" => self.visitor.map_or(Value::Full, |ip| Value::Text(ip.to_string())),
            _ if FULL.contains(&name) => Value::Full,
            _ => self.defined(name, depth),
        }
    }

    /// The first name of the server; "" where it has none (`ngx_http_core_merge_srv_conf`).
    fn server_name(&self) -> Value {
        let named = self.route.server.inside().into_iter().find(|f| f.directive.is("server_name"));
        match named.and_then(|f| f.arg(0)) {
            Some(name) if name.contains('$') => Value::Full,
            name => Value::Text(name.unwrap_or_default()),
        }
    }

    /// A variable that a block of `http` defines. One that is set by `set` depends on where the request goes.
    fn defined(&self, name: &str, depth: usize) -> Value {
        let variable = format!("${name}");
        let is = |kind: &str| {
            let mut all = self.config.find(&["http"], kind).into_iter();
            all.rfind(|f| f.args().last().is_some_and(|last| last.eq_ignore_ascii_case(&variable)))
        };
        if let Some(map) = is("map") {
            self.map(&map, depth)
        } else if let Some(geo) = is("geo") {
            self.geo(&geo)
        } else if let Some(split) = is("split_clients") {
            any(entries(&split).into_iter().map(|(_, value)| self.text(&value, depth + 1)).collect())
        } else {
            Value::Unknown
        }
    }

    /// The entry of the source's value; where that is not known, what all entries have in common.
    fn map(&self, map: &Found<'_>, depth: usize) -> Value {
        let entries = entries(map);
        let special = |name: &str| entries.iter().any(|(key, _)| key == name);
        let default = entries.iter().rfind(|(key, _)| key == "default").map_or("", |(_, value)| value);
        let rows = entries.iter().filter(|(key, _)| !["default", "hostnames", "volatile"].contains(&key.as_str()));
        let patterns = special("hostnames") || rows.clone().any(|(key, _)| key.starts_with('~'));
        let source = self.text(&map.arg(0).unwrap_or_default(), depth + 1);
        let named = |source: &str| {
            rows.clone().find(|(key, _)| key.strip_prefix('\\').unwrap_or(key).eq_ignore_ascii_case(source))
        };
        match source {
            Value::Text(source) if named(&source).is_some() || !patterns => {
                self.text(named(&source).map_or(default, |(_, value)| value), depth + 1)
            }
            _ => {
                let values = rows.clone().map(|(_, value)| value.as_str()).chain([default]);
                any(values.map(|value| self.text(value, depth + 1)).collect())
            }
        }
    }

    /// The value of the longest network that the visitor is in; where it is not known who that is, what all have in common.
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
                Value::Text(found.map_or(default, |(_, value)| value).to_owned())
            }
            None => {
                let values = rows.map(|(_, value)| value.as_str()).chain([default]);
                any(values.map(|value| Value::Text(value.to_owned())).collect())
            }
        }
    }
}

/// What a value is that may be any of these.
fn any(mut values: Vec<Value>) -> Value {
    values.dedup();
    let empty = |value: &Value| matches!(value, Value::Text(text) if text.is_empty());
    match &values[..] {
        [one] => one.clone(),
        _ if values.iter().any(|value| *value == Value::Unknown || empty(value)) => Value::Unknown,
        _ => Value::Full,
    }
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
mod tests {
    use std::path::Path;

    use super::*;

    fn keyed(http: &str, server: &str, key: &str, visitor: Option<Ipv4Addr>) -> Keyed {
        let text = format!("events {{}}\nhttp {{ {http} server {{ listen 80; {server} location / {{ }} }} }}\n");
        let config = Config::of_text(Path::new("/n.conf"), text.into(), Path::new("/usr")).unwrap();
        let route = config.route(Some("localhost"), "/").unwrap();
        Keys { config: &config, route: &route, visitor }.of(key)
    }

    #[test]
    fn a_server_without_a_name_has_an_empty_one() {
        assert_eq!(keyed("", "", "$server_name", None), Keyed::Nothing);
        assert_eq!(keyed("", "server_name \"\";", "$server_name", None), Keyed::Nothing);
        assert_eq!(keyed("", "server_name localhost;", "${server_name}", None), Keyed::Counts);
        assert_eq!(keyed("", "server_name $hostname;", "$server_name", None), Keyed::Counts);
        assert_eq!(keyed("", "", "$server_name$binary_remote_addr", None), Keyed::Counts);
        assert_eq!(keyed("", "", "x$server_name", None), Keyed::Counts);
    }

    #[test]
    fn what_the_client_sends_may_be_empty() {
        for key in ["$http_x_api_key", "$cookie_session", "$arg_id", "$remote_user", "$request_id", "$made_by_set"] {
            assert_eq!(keyed("", "", key, None), Keyed::Depends, "{key}");
        }
        for key in ["$binary_remote_addr", "$host", "$http_host$http_x", "constant"] {
            assert_eq!(keyed("", "", key, None), Keyed::Counts, "{key}");
        }
    }

    const LIST: &str = "geo $limited { default 1; 127.0.0.0/8 0; 127.0.0.9 1; }\n\
                        map $limited $limit_key { 0 \"\"; 1 $binary_remote_addr; }";

    #[test]
    fn an_allow_list_depends_on_who_comes() {
        assert_eq!(keyed(LIST, "", "$limit_key", None), Keyed::Depends);
        assert_eq!(keyed(LIST, "", "$limit_key", Some(Ipv4Addr::LOCALHOST)), Keyed::Nothing);
        assert_eq!(keyed(LIST, "", "$limit_key", Some(Ipv4Addr::new(127, 0, 0, 9))), Keyed::Counts);
        assert_eq!(keyed(LIST, "", "$limited", None), Keyed::Counts);
    }

    #[test]
    fn a_map_whose_values_agree_is_known() {
        let map = |rows: &str| keyed(&format!("map $http_a $b {{ {rows} }}"), "", "$b", None);
        assert_eq!(map("default x; a y;"), Keyed::Counts);
        assert_eq!(map("a y;"), Keyed::Depends);
        assert_eq!(map("default \"\"; a \"\";"), Keyed::Nothing);
        assert_eq!(keyed("map $b $b { default $b; }", "", "$b", None), Keyed::Depends);
    }
}
