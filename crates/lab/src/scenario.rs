//! A scenario whose users are sent to a server under test: where its targets lead then, by which request limits are looked up, how much its users
//! pause, and what is not known of it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use genkai_analysis::capacity::demand::mean;
use genkai_model::limit::{Law, Limit, Sign};
use genkai_model::load::{Body, Load, Request, host_sent};
use genkai_model::locust::Locust;
use genkai_model::record::Record;
use genkai_model::scenario::{self, Flow, Scenario, Step, Think, Times};
use genkai_model::template::{Part, Template};
use genkai_model::transport::Transport;
use genkai_model::units::Span;

/// A load that goes to the server at this address, as do all targets of its scenario. Its Host header is as clients send it.
pub fn aimed(load: &Load, address: SocketAddr, transport: Transport) -> Load {
    let mut load = load.clone();
    for target in load.scenario.iter_mut().flat_map(|scenario| &mut scenario.targets) {
        target.addresses = vec![address];
        target.transport = transport.clone();
    }
    load.request.host = host_sent(&load.request.host, matches!(transport, Transport::Tls(_))).to_owned();
    Load { addresses: vec![address], transport, ..load }
}

/// Most requests that are made one by one.
const MOST_ASKED: usize = 8;

/// Identity of the note in the record.
pub const NOTE: &str = "scenario";

/// What is not known of a load whose users do what a scenario says; none where they ask for one thing only.
pub fn told(load: &Load) -> Option<String> {
    if let Some(locust) = &load.locust {
        return Some(of_locust(locust, &load.request));
    }
    let scenario = load.scenario.as_ref()?;
    if scenario.talks() {
        return Some(format!(
            "limits are those of the WebSocket at `{}`; of what counts requests, or how connections come, no number can be told. The backend is \
             not asked by itself, and no directives are left out one by one",
            load.request.path
        ));
    }
    let mut asked = BTreeSet::new();
    scenario.flows.iter().for_each(|flow| paths(&flow.steps, &mut asked));
    if asked.len() < 2 {
        return None;
    }
    let (method, path) = (&load.request.method, &load.request.path);
    Some(format!(
        "limits, predictions and the first answer are those of `{method} {path}`: other requests of the scenario may meet other directives. The \
         backend is not asked by itself"
    ))
}

/// Known messages of servers that belong to no limit of the request by which limits were looked up.
pub fn unexplained(record: &Record, load: &Load) -> Option<String> {
    let mut all: BTreeMap<(&str, &str), (&str, u64)> = BTreeMap::new();
    for trial in &record.trials {
        let signs = || trial.limits.limits.iter().flat_map(|limit| &limit.signatures);
        let numbered = |name: &str| {
            signs().any(|one| match &one.sign {
                Sign::LogOther { before, after, .. } => name.starts_with(before) && name.ends_with(after),
                _ => false,
            })
        };
        let known: BTreeSet<&str> = signs()
            .filter_map(|one| match &one.sign {
                Sign::Log(name)
                | Sign::LoggedOnce(name)
                | Sign::LoggedUnserved(name)
                | Sign::LoggedGrown { name, .. } => Some(name.as_str()),
                _ => None,
            })
            .collect();
        for (_, line) in &trial.logs {
            let unknown = |name: &&str| !known.contains(name) && !numbered(name);
            let Some(name) = line.signature.as_deref().filter(unknown) else { continue };
            all.entry((&line.subject, name)).or_insert((&line.text, 0)).1 += line.count;
        }
    }
    let each: Vec<String> =
        all.iter().map(|((subject, _), (text, count))| format!("{subject} logged `{text}` ({count} times)")).collect();
    (!each.is_empty()).then(|| {
        let Request { method, path, .. } = &load.request;
        format!("{}: no limit of `{method} {path}`, but maybe of another request of the load", each.join("; "))
    })
}

/// What is not known of a load that Locust makes.
fn of_locust(locust: &Locust, request: &Request) -> String {
    let (file, version, window) = (locust.file.display(), &locust.version, Locust::WINDOW);
    let Request { method, path, .. } = request;
    format!(
        "Locust {version} makes the load ({file}). A user who makes no request for longer than it pauses and may wait counts as one without an answer: \
         where tasks wait by themselves (`sleep`), --think must hold that, too. All its times, counts and failures are Locust's: sums over windows of {window} of what ended in \
         them; times from sending, those of failed requests among them, rounded to two digits (to 1 ms below 100 ms). When failures began is known \
         to a second (on workers that others started to a window), when answers became slow to a window; the level at which failures began is the \
         most users that there may have been by then. Connections, \
         requests cut off at the end and how late requests were sent are not known; requests in flight are a mean (time of all that ended, by the \
         length of the window). Limits, predictions and the first answer are those of `{method} {path}`: the requests of {file} may meet other \
         directives. The backend is not asked by itself, and no directives are left out one by one"
    )
}

/// What the steps ask for, as it is written.
fn paths(steps: &[Step], all: &mut BTreeSet<String>) {
    for step in steps {
        match step {
            Step::Request(one) => {
                all.insert(format!("{} {} {} {:?}", one.target, one.method, one.path, one.body));
            }
            Step::Loop(inner) => paths(&inner.steps, all),
            _ => {}
        }
    }
}

/// The request by which limits are looked up and that is made once before any load: the first of the flow with the largest weight that asks for
/// something (GET or HEAD) and needs no value of a run; else the first that needs none.
pub fn first(scenario: &Scenario, usual: Request) -> Request {
    let mut flows: Vec<&Flow> = scenario.flows.iter().filter(|flow| flow.weight > 0).collect();
    flows.sort_by_key(|flow| Reverse(flow.weight));
    let mut all = Vec::new();
    flows.iter().for_each(|flow| requests(&flow.steps, &mut all));
    let target = &scenario.targets[0];
    if let Some(opens) = flows.iter().find_map(|flow| opened(scenario, &flow.steps)).filter(|_| all.is_empty()) {
        return opens;
    }
    let fixed = all.iter().filter_map(|one| fixed(scenario, one));
    let (asks, others): (Vec<Request>, Vec<Request>) = fixed.partition(|one| ["GET", "HEAD"].contains(&&*one.method));
    let path = if target.base.is_empty() { "/".to_owned() } else { target.base.clone() };
    let none = Request { host: target.host.clone(), path, ..usual };
    asks.into_iter().chain(others).next().unwrap_or(none)
}

/// Requests that can be made one by one before a load, in the order of the file, each once: GET or HEAD that need no value of a run.
pub fn asked(scenario: &Scenario) -> Vec<Request> {
    let mut all = Vec::new();
    scenario.flows.iter().filter(|flow| flow.weight > 0).for_each(|flow| requests(&flow.steps, &mut all));
    let mut once: Vec<Request> = Vec::new();
    for one in all.into_iter().filter_map(|one| fixed(scenario, one)) {
        if ["GET", "HEAD"].contains(&one.method.as_str()) && once.len() < MOST_ASKED && !once.contains(&one) {
            once.push(one);
        }
    }
    once
}

/// Their paths.
pub fn paths_asked(scenario: &Scenario) -> Vec<String> {
    asked(scenario).into_iter().map(|one| one.path).collect()
}

/// The fewest and the most bytes that bodies of its requests have: any number where one has a body.
pub fn bodies(scenario: &Scenario) -> (u64, u64) {
    let mut all = Vec::new();
    scenario.flows.iter().filter(|flow| flow.weight > 0).for_each(|flow| requests(&flow.steps, &mut all));
    (0, if all.iter().any(|one| one.body.is_some()) { u64::MAX } else { 0 })
}

fn requests<'s>(steps: &'s [Step], all: &mut Vec<&'s scenario::Request>) {
    for step in steps {
        match step {
            Step::Request(request) => all.push(request),
            Step::Loop(inner) => requests(&inner.steps, all),
            _ => {}
        }
    }
}

/// The handshake of the first WebSocket that is opened, if no run decides what it is.
fn opened(scenario: &Scenario, steps: &[Step]) -> Option<Request> {
    steps.iter().find_map(|step| match step {
        Step::Connect(one) => {
            let target = scenario.targets.get(one.target as usize)?;
            let path = one.path.0.iter().map(|part| if let Part::Text(text) = part { text.as_str() } else { "" });
            let path = format!("{}{}", target.base, path.collect::<String>());
            let (method, headers) = ("GET".to_owned(), Vec::new());
            Some(Request { method, path, host: target.host.clone(), headers, body: Body::Empty })
        }
        Step::Loop(inner) => opened(scenario, &inner.steps),
        _ => None,
    })
}

/// A limit for users who open WebSockets as a scenario says. One that each of them has open all the time takes a slot, or a worker, for as long;
/// what counts requests, or how connections come, has no number then.
pub fn of_sockets(limit: Limit, scenario: &Scenario) -> Limit {
    let begins = |flow: &Flow| matches!(flow.steps.first(), Some(Step::Connect(_)));
    let always = scenario.flows.iter().filter(|flow| flow.weight > 0).all(begins);
    let law = match limit.law {
        Law::Slots { .. } if always => return limit,
        Law::Workers { workers, .. } if always => {
            Law::Slots { value: workers, reserved: 0.0, idle_cost: 1.0, busy_cost: 1.0, pools: 1.0, soft: 1.0 }
        }
        Law::Slots { .. }
        | Law::Workers { .. }
        | Law::Growing { .. }
        | Law::Rate { .. }
        | Law::NewConnections { .. }
        | Law::Handshakes { .. }
        | Law::Backlog { .. } => Law::Unknown,
        _ => return limit,
    };
    let formula = match law {
        Law::Unknown => {
            format!("cannot tell for WebSockets that are opened as a scenario says; otherwise: {}", limit.formula)
        }
        _ => format!("an open WebSocket takes one for as long as it is open: {}", limit.formula),
    };
    Limit { law, formula, ..limit }
}

/// A request as it is sent, if no run decides what it is.
fn fixed(scenario: &Scenario, request: &scenario::Request) -> Option<Request> {
    let target = scenario.targets.get(request.target as usize)?;
    let fields = request.headers.iter().map(|(name, value)| Some((name.clone(), text(value)?)));
    let fields: Vec<(String, String)> = fields.collect::<Option<_>>()?;
    let (hosts, headers): (Vec<_>, Vec<_>) =
        fields.into_iter().partition(|(name, _)| name.eq_ignore_ascii_case("host"));
    let body = match &request.body {
        Some(body) => Body::Text(text(body)?),
        None => Body::Empty,
    };
    Some(Request {
        method: request.method.clone(),
        path: format!("{}{}", target.base, text(&request.path)?),
        host: hosts.into_iter().next().map_or_else(|| target.host.clone(), |(_, host)| host),
        headers,
        body,
    })
}

/// A template without values.
fn text(template: &Template) -> Option<String> {
    let parts = template.0.iter().map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        Part::Value { .. } => None,
    });
    parts.collect()
}

/// What a user pauses for each request, in the mean over all flows by their weights.
///
/// # Errors
/// When that is decided by values that only a run has; why.
pub fn pause(scenario: &Scenario) -> Result<Span, String> {
    let (mut seconds, mut asked) = (0.0, 0.0);
    for flow in &scenario.flows {
        let one = sum(&flow.steps)?;
        seconds += f64::from(flow.weight) * one.0;
        asked += f64::from(flow.weight) * one.1;
    }
    if asked == 0.0 {
        return Err("no flow makes a request".to_owned());
    }
    Ok(Span::from_secs_f64(seconds / asked))
}

/// Seconds of pauses, and requests, of one run of these steps.
fn sum(steps: &[Step]) -> Result<(f64, f64), String> {
    let (mut seconds, mut asked) = (0.0, 0.0);
    for step in steps {
        let (more, requests) = match step {
            Step::Request(_) => (0.0, 1.0),
            Step::Think(Think::Spread(spread)) => (mean(spread), 0.0),
            Step::Think(Think::Template(text)) => {
                return Err(format!(
                    "`think: {text}`: how long users pause is not known before, so no load can be foretold\n  hint: write a time"
                ));
            }
            Step::Loop(inner) => {
                let (more, requests) = sum(&inner.steps)?;
                let times = match &inner.times {
                    Times::Count(times) => *times as f64,
                    Times::Over(values) => values.len() as f64,
                    // All else is nothing beside it.
                    Times::Forever => return Ok((more, requests)),
                    Times::Template(_) | Times::Elements(_) if more > 0.0 => {
                        return Err("a loop with pauses is done as often as a value says, so no load can be foretold\n  hint: write \
                                    a number"
                            .to_owned());
                    }
                    Times::Template(_) | Times::Elements(_) => 1.0,
                };
                (times * more, times * requests)
            }
            Step::Connect(_) | Step::Send(_) | Step::Expect(_) => (0.0, 0.0),
        };
        seconds += more;
        asked += requests;
    }
    Ok((seconds, asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(flows: serde_json::Value) -> Scenario {
        let targets = serde_json::json!([{ "name": "a", "url": "http://a/b", "host": "a", "base": "/b" }]);
        let all = serde_json::json!({ "targets": targets, "flows": flows, "names": ["n"], "drain": "0s" });
        serde_json::from_value(all).unwrap()
    }

    fn request(method: &str, path: &str) -> serde_json::Value {
        serde_json::json!({ "do": "request", "name": 0, "target": 0, "method": method, "path": path })
    }

    fn think(time: &str) -> serde_json::Value {
        serde_json::json!({ "do": "think", "spread": time })
    }

    #[test]
    fn limits_are_looked_up_by_a_request_that_needs_no_run() {
        let usual = Load::users(1, 1.0).request;
        let of = |flows| {
            let Request { method, path, host, .. } = first(&scenario(flows), usual.clone());
            (method, path, host)
        };
        let all = |one: &str, two: &str, three: &str| (one.to_owned(), two.to_owned(), three.to_owned());
        let light = serde_json::json!({ "name": "l", "weight": 1, "steps": [request("GET", "/light")] });
        let heavy = serde_json::json!({ "name": "h", "weight": 3, "steps": [request("POST", "/in"), request("GET", "/{{id}}"), request("GET", "/x")] });
        assert_eq!(of(serde_json::json!([light, heavy])), all("GET", "/b/x", "a"));
        let posts = serde_json::json!({ "name": "p", "weight": 1, "steps": [request("GET", "/{{id}}"), request("POST", "/in")] });
        assert_eq!(of(serde_json::json!([posts])), all("POST", "/b/in", "a"));
        let none = serde_json::json!({ "name": "p", "weight": 1, "steps": [request("GET", "/{{id}}")] });
        assert_eq!(of(serde_json::json!([none])), all("GET", "/b", "a"));
    }

    #[test]
    fn what_can_be_asked_one_by_one_is_asked_once() {
        let steps = [
            request("GET", "/a"),
            request("POST", "/in"),
            request("GET", "/{{id}}"),
            request("HEAD", "/h"),
            request("GET", "/a"),
        ];
        let some = serde_json::json!({ "name": "s", "weight": 1, "steps": steps });
        let never = serde_json::json!({ "name": "n", "weight": 0, "steps": [request("GET", "/never")] });
        let many: Vec<_> = (0..20).map(|n| request("GET", &format!("/{n}"))).collect();
        let many = serde_json::json!({ "name": "m", "weight": 1, "steps": many });
        assert_eq!(paths_asked(&scenario(serde_json::json!([some, never]))), ["/b/a", "/b/h"]);
        assert_eq!(asked(&scenario(serde_json::json!([many]))).len(), MOST_ASKED);
    }

    #[test]
    fn pauses_are_counted_for_each_request() {
        let of = |steps: serde_json::Value| {
            let flow = serde_json::json!({ "name": "f", "weight": 2, "steps": steps });
            pause(&scenario(serde_json::json!([flow]))).map(|span| span.as_secs_f64())
        };
        let near =
            |seen: Result<f64, String>, right: f64| assert!((seen.clone().unwrap() - right).abs() < 1e-9, "{seen:?}");
        let get = || request("GET", "/");
        near(of(serde_json::json!([get(), think("1s"), get(), think("uniform(1s,3s)")])), 1.5);
        let round = |times: serde_json::Value| serde_json::json!({ "do": "loop", "times": times, "variable": "i", "steps": [get(), think("2s")] });
        near(of(serde_json::json!([get(), get(), round(serde_json::json!({ "count": 2 }))])), 1.0);
        near(of(serde_json::json!([get(), get(), round(serde_json::json!("forever"))])), 2.0);
        let elements = serde_json::json!({ "elements": "ids" });
        assert!(of(serde_json::json!([get(), round(elements)])).unwrap_err().contains("as often as a value says"));
        let unknown = serde_json::json!({ "do": "think", "template": "{{pause}}" });
        assert!(of(serde_json::json!([get(), unknown])).unwrap_err().contains("{{pause}}"));
        assert!(of(serde_json::json!([think("1s")])).unwrap_err().contains("no flow makes a request"));
    }
}
