//! What a request meets in the JSON that Caddy makes of a Caddyfile (`caddy adapt`): servers, routes in order, matchers, handlers. Plain,
//! and nothing of genkai's.

use serde_json::Value;

/// Where a request ends in a server.
#[derive(Debug, Default)]
pub(crate) struct Met {
    /// The `reverse_proxy` handler that gets it.
    pub(crate) proxy: Option<Value>,
    /// Sizes that the body is held to.
    pub(crate) bodies: Vec<u64>,
    /// The server.
    pub(crate) server: Value,
}

/// What each server whose routes take requests to this host does with one of this method for this path.
pub(crate) fn met(adapted: &Value, method: &str, host: &str, path: &str) -> Vec<Met> {
    let servers = adapted.pointer("/apps/http/servers").and_then(Value::as_object);
    let each = servers.into_iter().flatten().filter_map(|(_, server)| {
        let mut walk = Walk { method, host, path: path.to_owned(), proxy: None, bodies: Vec::new(), taken: false };
        walk.routes(list(server, "routes"));
        walk.taken.then(|| Met { proxy: walk.proxy, bodies: walk.bodies, server: server.clone() })
    });
    each.collect()
}

struct Walk<'a> {
    method: &'a str,
    host: &'a str,
    path: String,
    proxy: Option<Value>,
    bodies: Vec<u64>,
    taken: bool,
}

fn list<'v>(of: &'v Value, name: &str) -> &'v [Value] {
    of.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'v>(of: &'v Value, name: &str) -> &'v str {
    of.get(name).and_then(Value::as_str).unwrap_or_default()
}

impl Walk<'_> {
    /// Whether one of these routes answered.
    fn routes(&mut self, routes: &[Value]) -> bool {
        let mut groups: Vec<String> = Vec::new();
        for route in routes {
            let group = text(route, "group");
            let sets = list(route, "match");
            if groups.iter().any(|one| one == group) || !(sets.is_empty() || sets.iter().any(|set| self.lets(set))) {
                continue;
            }
            self.taken = true;
            groups.extend((!group.is_empty()).then(|| group.to_owned()));
            if list(route, "handle").iter().any(|handler| self.handler(handler)) {
                return true;
            }
            if route.get("terminal").is_some_and(|terminal| *terminal == Value::Bool(true)) {
                return true;
            }
        }
        false
    }

    fn lets(&self, set: &Value) -> bool {
        set.as_object().into_iter().flatten().all(|(kind, what)| self.one(kind, what))
    }

    fn one(&self, kind: &str, what: &Value) -> bool {
        let words = || what.as_array().into_iter().flatten().filter_map(Value::as_str);
        match kind {
            "path" => words().any(|pattern| fits(&pattern.to_lowercase(), &self.path.to_lowercase())),
            "host" => words().any(|pattern| labels(&pattern.to_lowercase(), &self.host.to_lowercase())),
            "method" => words().any(|method| method == self.method),
            "not" => !what.as_array().into_iter().flatten().any(|set| self.lets(set)),
            "header" => false,
            other => panic!("a matcher that the grammar does not have: {other}"),
        }
    }

    fn handler(&mut self, handler: &Value) -> bool {
        match text(handler, "handler") {
            "subroute" => self.routes(list(handler, "routes")),
            "reverse_proxy" => {
                self.proxy = Some(handler.clone());
                true
            }
            "static_response" | "error" => true,
            "request_body" => {
                self.bodies.extend(handler.get("max_size").and_then(Value::as_u64));
                false
            }
            "rewrite" => {
                self.rewrite(handler);
                false
            }
            _ => false,
        }
    }

    fn rewrite(&mut self, how: &Value) {
        let uri = text(how, "uri");
        if !uri.is_empty() {
            self.path = uri.replace("{http.request.uri}", &self.path);
        }
        let prefix = text(how, "strip_path_prefix");
        if let Some(rest) = self.path.to_lowercase().strip_prefix(&prefix.to_lowercase()).filter(|_| !prefix.is_empty())
        {
            let from = self.path.len() - rest.len();
            self.path = format!("/{}", self.path[from..].trim_start_matches('/'));
        }
        let suffix = text(how, "strip_path_suffix");
        self.path = self.path.strip_suffix(suffix).unwrap_or(&self.path).to_owned();
        for one in list(how, "uri_substring") {
            self.path = self.path.replace(text(one, "find"), text(one, "replace"));
        }
    }
}

/// A pattern of a path: a star for anything, where it stands in the middle for anything but a slash.
fn fits(pattern: &str, path: &str) -> bool {
    let inner = pattern.trim_matches('*');
    match (pattern.starts_with('*'), pattern.ends_with('*'), inner.contains('*')) {
        (.., true) => {
            let (first, second): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), path.split('/').collect());
            let part = |(one, other): (&&str, &&str)| match one.split_once('*') {
                Some((begin, end)) => {
                    other.starts_with(begin) && other[begin.len()..].ends_with(end.trim_end_matches('*'))
                }
                None => one == other,
            };
            first.len() == second.len() && first.iter().zip(&second).all(part)
        }
        (true, true, _) => path.contains(inner),
        (true, false, _) => path.ends_with(inner),
        (false, true, _) => path.starts_with(inner),
        (false, false, _) => path == pattern,
    }
}

fn labels(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix("*.") {
        Some(domain) => host.split_once('.').is_some_and(|(_, rest)| rest == domain),
        None => pattern == host,
    }
}
