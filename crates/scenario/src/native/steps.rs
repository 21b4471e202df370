//! What a virtual user does, step by step.

use genkai_model::scenario::{Connect, Expect, Expected, Loop, Request, Send, Step, Think, Times};
use genkai_model::template::Template;
use genkai_model::websocket::Deflate;

use super::checks::{captures, checks};
use super::{Defaults, span, waits, whole};
use crate::builder::{self, Builder};
use crate::fault::Fault;
use crate::shape::meant;
use crate::yaml::{Node, Value};

pub(super) fn steps(node: Option<&Node>, builder: &mut Builder<'_>, defaults: &Defaults) -> Result<Vec<Step>, Fault> {
    node.map(Node::list).unwrap_or_default().iter().map(|node| step(node, builder, defaults)).collect()
}

fn step(node: &Node, builder: &mut Builder<'_>, defaults: &Defaults) -> Result<Step, Fault> {
    match node
        .map()
        .iter()
        .map(|(key, _)| key.name.as_str())
        .find(|key| ["request", "connect", "send", "expect", "think", "loop"].contains(key))
    {
        Some("request") => request(node, builder, defaults),
        Some("connect") => connect(node, builder, defaults),
        Some("send") => send(node, builder),
        Some("expect") => expect(node, builder),
        Some("think") => Ok(Step::Think(think(node.get("think").unwrap_or(node), builder))),
        _ => looped(node, builder, defaults),
    }
}

/// A path as a name: parameters may be secret, and too many.
pub(crate) fn without_query(path: &str) -> &str {
    path.split('?').next().unwrap_or(path)
}

/// What a step is counted as.
fn label(node: &Node, default: &str) -> String {
    node.text("name").unwrap_or(default).to_owned()
}

fn target(node: &Node, builder: &Builder<'_>) -> Result<u32, Fault> {
    let Some(given) = node.get("target") else { return Ok(0) };
    let name = given.scalar().unwrap_or_default();
    let all = || builder.scenario.targets.iter().map(|target| target.name.as_str());
    let unknown = || given.fault(format!("unknown target `{name}`"), meant(name, all()));
    all().position(|known| known == name).map(|n| n as u32).ok_or_else(unknown)
}

pub(super) fn headers(node: &Node, builder: &mut Builder<'_>) -> Vec<(String, Template)> {
    let fields = node.entries("headers");
    fields.iter().map(|(key, value)| (key.name.clone(), builder.template(value))).collect()
}

/// Own headers, and the defaults that are not among them.
pub(crate) fn with_defaults(
    mut own: Vec<(String, Template)>,
    defaults: &[(String, Template)],
) -> Vec<(String, Template)> {
    let given: Vec<String> = own.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    own.extend(defaults.iter().filter(|(name, _)| !given.contains(&name.to_ascii_lowercase())).cloned());
    own
}

pub(crate) fn add_header(headers: &mut Vec<(String, Template)>, name: &str, value: &str) {
    if !headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
        headers.push((name.to_owned(), Template::text(value)));
    }
}

fn request(node: &Node, builder: &mut Builder<'_>, defaults: &Defaults) -> Result<Step, Fault> {
    let line = node.text("request").unwrap_or_default().trim();
    let (method, path) = line.split_once(' ').unwrap_or((line, "/"));
    let place = node.get("request").map_or(node.place, |node| node.place);
    let name = label(node, &format!("{} {}", method.to_ascii_uppercase(), without_query(path.trim())));
    let mut path = builder::parse(path.trim(), place)?;
    builder.uses(&path, place);
    if let Some(query) = node.get("query") {
        path.push_text(if path.to_string().contains('?') { "&" } else { "?" });
        path.push(builder.form(query));
    }
    let mut headers = with_defaults(headers(node, builder), &defaults.headers);
    let bodies: Vec<&str> = ["body", "json", "form"].into_iter().filter(|key| node.has(key)).collect();
    let body = match bodies.as_slice() {
        [] => None,
        ["body"] => node.get("body").map(|body| builder.template(body)),
        ["json"] => {
            add_header(&mut headers, "Content-Type", "application/json");
            node.get("json").map(|json| builder.json(json)).transpose()?
        }
        ["form"] => {
            add_header(&mut headers, "Content-Type", "application/x-www-form-urlencoded");
            node.get("form").map(|form| builder.form(form))
        }
        _ => return Err(node.fault("a request has one of body, json, form", "keep one of them")),
    };
    Ok(Step::Request(Box::new(Request {
        name: builder.name(&name, place)?,
        target: target(node, builder)?,
        method: method.to_ascii_uppercase(),
        path,
        headers,
        body,
        redirects: node.get("redirects").map_or(defaults.redirects, |n| whole(n).min(20) as u8),
        cookies: defaults.cookies,
        timeout: node.get("timeout").and_then(span),
        captures: captures(node, builder)?,
        checks: node.get("check").map(|check| checks(check, &name, builder)).transpose()?.unwrap_or_default(),
    })))
}

fn connect(node: &Node, builder: &mut Builder<'_>, defaults: &Defaults) -> Result<Step, Fault> {
    let given = node.get("connect");
    let path = given.map_or_else(|| Template::text("/"), |path| builder.template(path));
    let name = label(node, &format!("connect {}", without_query(&path.to_string())));
    let subprotocols = node.items("subprotocols");
    let headers = headers(node, builder);
    Ok(Step::Connect(Box::new(Connect {
        name: builder.name(&name, node.place)?,
        target: target(node, builder)?,
        path,
        headers: with_defaults(headers, &defaults.headers),
        subprotocols: subprotocols.iter().filter_map(Node::scalar).map(str::to_owned).collect(),
        deflate: node.is("deflate").unwrap_or(false).then_some(Deflate::Takeover),
    })))
}

fn send(node: &Node, builder: &mut Builder<'_>) -> Result<Step, Fault> {
    let payload = match node.get("send") {
        Some(given) if given.scalar().is_some() => {
            builder::parse(given.scalar().unwrap_or_default(), given.place)?;
            builder.template(given)
        }
        Some(given) => builder.json(given)?,
        None => Template::default(),
    };
    let name = label(node, "send");
    let binary = node.is("binary").unwrap_or(false);
    Ok(Step::Send(Send { name: builder.name(&name, node.place)?, payload, binary }))
}

fn expect(node: &Node, builder: &mut Builder<'_>) -> Result<Step, Fault> {
    let name = label(node, "expect");
    let checks = match node.get("expect") {
        Some(text) if text.scalar().is_some() => {
            let what = Expected::Contains(builder.template(text));
            vec![builder.check(&name, "contains", what, false, text.place)?]
        }
        Some(check) => checks(check, &name, builder)?,
        None => Vec::new(),
    };
    if let Some(bad) = node.get("expect").and_then(|check| check.get("status").or(check.get("header"))) {
        return Err(bad.fault("a message has no status and no header fields", "check what it holds"));
    }
    Ok(Step::Expect(Expect {
        name: builder.name(&name, node.place)?,
        within: node.get("within").and_then(span),
        search: node.is("search").unwrap_or(false),
        captures: captures(node, builder)?,
        checks,
    }))
}

fn think(node: &Node, builder: &mut Builder<'_>) -> Think {
    match node.scalar().map(str::parse) {
        Some(Ok(spread)) => Think::Spread(spread),
        _ => Think::Template(builder.template(node)),
    }
}

fn looped(node: &Node, builder: &mut Builder<'_>, defaults: &Defaults) -> Result<Step, Fault> {
    let variable = node.text("as").unwrap_or("loop").to_owned();
    builder.defines(&variable);
    let times = match node.get("loop") {
        Some(Node { value: Value::List(list), .. }) => Times::Over(list.iter().map(Node::json).collect()),
        Some(given) => match given.scalar().unwrap_or_default() {
            "forever" => Times::Forever,
            text => text.parse().map_or_else(|_| Times::Template(builder.template(given)), Times::Count),
        },
        None => Times::Forever,
    };
    let inner = steps(node.get("steps"), builder, defaults)?;
    if !inner.iter().any(waits) && !inner.iter().any(|step| matches!(step, Step::Think(_))) {
        return Err(node.fault("a loop that waits for nothing", "add a request, an expect or a think"));
    }
    Ok(Step::Loop(Loop { times, variable, steps: inner }))
}
