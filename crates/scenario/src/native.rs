//! genkai's own form.

use genkai_model::load::Spacing;
use genkai_model::scenario::{
    Capture, Check, Connect, Expect, Expected, Flow, Loop, Order, Request, Send, Source, Step, Table, Think, Times,
};
use genkai_model::stage::{self, Stage, Unit};
use genkai_model::template::Template;
use genkai_model::units::Span;
use genkai_model::websocket::Deflate;

use crate::builder::{Builder, Levels, MOST_RUNS};
use crate::data::{self, Reading};
use crate::fault::Fault;
use crate::form::{self, statuses};
use crate::shape::{self, Kind, Notes, nearest};
use crate::yaml::{Node, Value};
use crate::{Script, World};

/// What steps have in common.
struct Defaults {
    headers: Vec<(String, Template)>,
    cookies: bool,
    redirects: u8,
}

pub(crate) fn read(root: &Node, world: &World<'_>, notes: &mut Notes) -> Result<Script, Fault> {
    shape::check(root, &Kind::Object(&form::SCENARIO), "a scenario", notes)?;
    let mut builder = Builder::new(world);
    targets(root, &mut builder)?;
    builder.timeout = root.get("timeout").and_then(span);
    builder.objective = root.get("objective").and_then(Node::scalar).and_then(|text| text.parse().ok());
    builder.requests = root.get("requests").map(whole);
    builder.scenario.drain = root.get("drain").and_then(span).unwrap_or(builder.scenario.drain);
    variables(root, &mut builder)?;
    let levels = phases(root)?;
    let defaults = Defaults {
        headers: headers(root, &mut builder),
        cookies: root.get("cookies").and_then(Node::boolean).unwrap_or(true),
        redirects: root.get("redirects").map_or(0, |node| whole(node).min(20) as u8),
    };
    let flows = root.get("flows").map(Node::list).unwrap_or_default();
    for (n, node) in flows.iter().enumerate() {
        let name = node.get("name").and_then(Node::scalar).map_or_else(|| format!("flow {}", n + 1), str::to_owned);
        for (_, value) in &defaults.headers {
            builder.uses(value, node.place);
        }
        let steps = steps(node.get("steps"), &mut builder, &defaults)?;
        if !steps.iter().any(waits) {
            let hint = "add a request, or connect, send and expect";
            return Err(Fault::at(node.place, format!("`{name}` asks for nothing"), hint));
        }
        builder.flow(Flow { name, weight: node.get("weight").map_or(1, |n| whole(n).min(1_000_000) as u32), steps })?;
    }
    let title = root.get("title").and_then(Node::scalar).unwrap_or_default();
    builder.script(title, levels)
}

/// Whether a step takes some time of its own.
pub(crate) fn waits(step: &Step) -> bool {
    match step {
        Step::Request(_) | Step::Connect(_) | Step::Expect(_) => true,
        Step::Send(_) | Step::Think(_) => false,
        Step::Loop(inner) => inner.steps.iter().any(waits),
    }
}

fn span(node: &Node) -> Option<Span> {
    node.scalar()?.parse().ok()
}

pub(crate) fn whole(node: &Node) -> u64 {
    node.number().unwrap_or_default() as u64
}

fn targets(root: &Node, builder: &mut Builder<'_>) -> Result<(), Fault> {
    let mut all: Vec<(String, String)> = Vec::new();
    match (root.get("target"), root.get("targets")) {
        (Some(_), Some(both)) => {
            return Err(Fault::at(both.place, "both `target` and `targets`", "keep one of them"));
        }
        (Some(one), None) => all.push(("target".to_owned(), one.scalar().unwrap_or_default().to_owned())),
        (None, Some(some)) => {
            all.extend(
                some.map().iter().map(|(key, url)| (key.name.clone(), url.scalar().unwrap_or_default().to_owned())),
            );
        }
        (None, None) => {}
    }
    for (name, url) in builder.world.targets {
        match name {
            Some(name) => match all.iter_mut().find(|(known, _)| known == name) {
                Some((_, known)) => known.clone_from(url),
                None => return Err(Fault::whole(format!("there is no target `{name}`"), "see its `targets`")),
            },
            None if all.is_empty() => all.push(("target".to_owned(), url.clone())),
            None => all[0].1.clone_from(url),
        }
    }
    if all.is_empty() {
        return Err(Fault::at(
            root.place,
            "there is no target",
            "add `target: http://127.0.0.1:8080`, or give --target",
        ));
    }
    for (name, url) in all {
        // Two names may have one address: each is a target of its own.
        let n = builder.target(&name, &url) as usize;
        if builder.scenario.targets[n].name != name {
            let target = builder.scenario.targets[n].clone();
            builder.scenario.targets.push(genkai_model::scenario::Target { name, ..target });
        }
    }
    Ok(())
}

fn variables(root: &Node, builder: &mut Builder<'_>) -> Result<(), Fault> {
    for (key, node) in root.get("variables").map(Node::map).unwrap_or_default() {
        let values: Vec<_> = node.each().iter().map(Node::json).collect();
        if values.is_empty() {
            return Err(Fault::at(node.place, format!("`{}` has no value", key.name), "give at least one"));
        }
        builder.variable(&key.name, values);
    }
    for node in root.get("data").map(Node::each).unwrap_or_default() {
        let text = |name: &str| node.get(name).and_then(Node::scalar);
        let file = text("file").unwrap_or_default();
        let columns = node.get("columns").map(|columns| {
            columns.list().iter().map(|one| one.scalar().unwrap_or_default().to_owned()).collect::<Vec<_>>()
        });
        let delimiter = delimiter(node)?;
        let order = if text("order") == Some("random") { Order::Random } else { Order::Sequence };
        let reading = Reading { file, place: node.place, columns, skip_first: false, delimiter };
        let (columns, rows) = data::rows(builder, &reading)?;
        builder.knows(&columns);
        builder.scenario.tables.push(Table { source: file.to_owned(), columns, rows, order, cast: false });
    }
    Ok(())
}

pub(crate) fn delimiter(node: &Node) -> Result<u8, Fault> {
    let Some(given) = node.get("delimiter") else { return Ok(b',') };
    match given.scalar().map(str::as_bytes) {
        Some([one]) => Ok(*one),
        Some(b"\\t" | b"tab") => Ok(b'\t'),
        _ => Err(Fault::at(given.place, "`delimiter` must be one character", "e.g. \";\"")),
    }
}

fn phases(root: &Node) -> Result<Levels, Fault> {
    let nodes = root.get("phases").map(Node::list).unwrap_or_default();
    let place = root.get("phases").map_or(root.place, |node| node.place);
    let (mut stages, mut unit, mut at) = (Vec::new(), None, 0.0);
    for node in nodes {
        let name = node.get("name").and_then(Node::scalar).map(str::to_owned);
        let lasts = node.get("for").and_then(span);
        let of: Vec<&str> = ["users", "rate", "count", "pause"].into_iter().filter(|key| node.has(key)).collect();
        let [of] = of.as_slice() else {
            return Err(Fault::at(
                node.place,
                "a phase has one of users, rate, count, pause",
                "e.g. {users: 0..50, for: 10s}",
            ));
        };
        let value = node.get(of).unwrap_or(node);
        let lasts = match (*of, lasts) {
            ("pause", None) => span(value).unwrap_or_default(),
            ("pause", Some(_)) => {
                return Err(Fault::at(node.place, "a pause has its duration already", "remove `for`"));
            }
            (_, Some(lasts)) => lasts,
            (_, None) => return Err(Fault::at(node.place, "a phase needs `for`", "e.g. for: 10s")),
        };
        let its = if *of == "users" { Unit::Users } else { Unit::Rate };
        if *of != "pause" && *unit.get_or_insert(its) != its {
            let what = "this phase is of a rate and another of users, or the other way round";
            return Err(Fault::at(node.place, what, "make them two files, or say all of them alike"));
        }
        let (from, to) = match *of {
            "pause" => (0.0, 0.0),
            "count" => {
                let rate = whole(value) as f64 / lasts.as_secs_f64().max(1e-9);
                (rate, rate)
            }
            _ => {
                let (_, from, to) = value.scalar().and_then(stage::levels).unwrap_or((None, Some(at), at));
                // A level alone is held: unlike on the command line, a phase says what it goes from.
                (from.unwrap_or(to), to)
            }
        };
        at = to;
        stages.push(Stage { lasts, from, to, name });
    }
    let spacing = match root.get("spacing").and_then(Node::scalar) {
        Some("poisson") => Spacing::Poisson,
        _ => Spacing::Uniform,
    };
    let most = root.get("most").map_or(MOST_RUNS, |node| whole(node).min(u32::MAX.into()) as u32);
    Ok(Levels { stages, unit: unit.unwrap_or(Unit::Users), spacing, most, place })
}

fn steps(node: Option<&Node>, builder: &mut Builder<'_>, defaults: &Defaults) -> Result<Vec<Step>, Fault> {
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
    node.get("name").and_then(Node::scalar).unwrap_or(default).to_owned()
}

fn target(node: &Node, builder: &Builder<'_>) -> Result<u32, Fault> {
    let Some(given) = node.get("target") else { return Ok(0) };
    let name = given.scalar().unwrap_or_default();
    let all = || builder.scenario.targets.iter().map(|target| target.name.as_str());
    all().position(|known| known == name).map(|n| n as u32).ok_or_else(|| {
        let hint = nearest(name, all()).map_or(format!("known: {}", all().collect::<Vec<_>>().join(", ")), |near| {
            format!("did you mean `{near}`?")
        });
        Fault::at(given.place, format!("unknown target `{name}`"), hint)
    })
}

fn headers(node: &Node, builder: &mut Builder<'_>) -> Vec<(String, Template)> {
    let fields = node.get("headers").map(Node::map).unwrap_or_default();
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
    let line = node.get("request").and_then(Node::scalar).unwrap_or_default().trim();
    let (method, path) = line.split_once(' ').unwrap_or((line, "/"));
    let place = node.get("request").map_or(node.place, |node| node.place);
    let name = label(node, &format!("{} {}", method.to_ascii_uppercase(), without_query(path.trim())));
    let mut path = crate::builder::parse(path.trim(), place)?;
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
        _ => return Err(Fault::at(node.place, "a request has one of body, json, form", "keep one of them")),
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
    let subprotocols = node.get("subprotocols").map(Node::list).unwrap_or_default();
    let headers = headers(node, builder);
    Ok(Step::Connect(Box::new(Connect {
        name: builder.name(&name, node.place)?,
        target: target(node, builder)?,
        path,
        headers: with_defaults(headers, &defaults.headers),
        subprotocols: subprotocols.iter().filter_map(Node::scalar).map(str::to_owned).collect(),
        deflate: node.get("deflate").and_then(Node::boolean).unwrap_or(false).then_some(Deflate::Takeover),
    })))
}

fn send(node: &Node, builder: &mut Builder<'_>) -> Result<Step, Fault> {
    let payload = match node.get("send") {
        Some(given) if given.scalar().is_some() => {
            crate::builder::parse(given.scalar().unwrap_or_default(), given.place)?;
            builder.template(given)
        }
        Some(given) => builder.json(given)?,
        None => Template::default(),
    };
    let name = label(node, "send");
    let binary = node.get("binary").and_then(Node::boolean).unwrap_or(false);
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
        return Err(Fault::at(bad.place, "a message has no status and no header fields", "check what it holds"));
    }
    Ok(Step::Expect(Expect {
        name: builder.name(&name, node.place)?,
        within: node.get("within").and_then(span),
        search: node.get("search").and_then(Node::boolean).unwrap_or(false),
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
    let variable = node.get("as").and_then(Node::scalar).unwrap_or("loop").to_owned();
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
        return Err(Fault::at(node.place, "a loop that waits for nothing", "add a request, an expect or a think"));
    }
    Ok(Step::Loop(Loop { times, variable, steps: inner }))
}

fn captures(node: &Node, builder: &mut Builder<'_>) -> Result<Vec<Capture>, Fault> {
    let mut all = Vec::new();
    for (key, node) in node.get("capture").map(Node::map).unwrap_or_default() {
        let text = |name: &str| node.get(name).and_then(Node::scalar).map(str::to_owned);
        let from = match (text("json"), text("regex"), text("header"), node.has("body")) {
            (Some(json), None, None, false) => Source::Json(json),
            (None, Some(pattern), None, false) => regex(pattern, node)?,
            (None, None, Some(name), false) => Source::Header(name),
            (None, None, None, true) => Source::Body,
            _ => {
                return Err(Fault::at(
                    node.place,
                    "a capture has one of json, regex, header, body",
                    "e.g. {json: /token}",
                ));
            }
        };
        builder.defines(&key.name);
        let optional = node.get("optional").and_then(Node::boolean).unwrap_or(false);
        all.push(Capture { variable: key.name.clone(), from, optional });
    }
    Ok(all)
}

/// A regular expression with its group.
pub(crate) fn regex(pattern: String, node: &Node) -> Result<Source, Fault> {
    let groups = regex::Regex::new(&pattern).map_or(1, |regex| regex.captures_len());
    let group = node.get("group").map_or(u64::from(groups > 1), whole) as u32;
    if group as usize >= groups {
        return Err(Fault::at(
            node.place,
            format!("there is no group {group} in `{pattern}`"),
            "put it in parentheses",
        ));
    }
    Ok(Source::Regex { pattern, group })
}

fn checks(node: &Node, of: &str, builder: &mut Builder<'_>) -> Result<Vec<Check>, Fault> {
    let strict = node.get("strict").and_then(Node::boolean).unwrap_or(false);
    let mut all = Vec::new();
    for (key, value) in node.map() {
        if value.is_null() {
            continue;
        }
        let mut add = |about: String, what: Expected, builder: &mut Builder<'_>| {
            all.push(builder.check(of, &about, what, strict, key.place)?);
            Ok::<(), Fault>(())
        };
        let texts: Vec<&str> = value.each().iter().filter_map(Node::scalar).collect();
        match key.name.as_str() {
            "status" => {
                let ranges = texts.iter().filter_map(|text| statuses(text)).collect();
                add(format!("status {}", texts.join(", ")), Expected::Status(ranges), builder)?;
            }
            "contains" => {
                for one in value.each() {
                    let text = builder.template(one);
                    add(format!("contains `{text}`"), Expected::Contains(text), builder)?;
                }
            }
            "matches" => add(format!("matches `{}`", texts.concat()), Expected::Matches(texts.concat()), builder)?,
            "exists" => {
                for text in &texts {
                    add(format!("{text} exists"), Expected::Exists(Source::Json((*text).to_owned())), builder)?;
                }
            }
            "latency" => {
                let most = span(value).unwrap_or_default();
                add(format!("latency < {most}"), Expected::Within(most), builder)?;
            }
            "json" => {
                for (path, wanted) in value.map() {
                    let fits = (form::JSON.read)(&path.name);
                    fits.map_err(|why| {
                        Fault::at(
                            path.place,
                            format!("`{}` is not a place in JSON{why}", path.name),
                            format!("write it like {}", form::JSON.example),
                        )
                    })?;
                    let text = builder.template(wanted);
                    add(
                        format!("{} = {text}", path.name),
                        Expected::Equals(Source::Json(path.name.clone()), text),
                        builder,
                    )?;
                }
            }
            "header" => {
                for (name, wanted) in value.map() {
                    let text = builder.template(wanted);
                    add(format!("{}: {text}", name.name), Expected::HeaderContains(name.name.clone(), text), builder)?;
                }
            }
            _ => {}
        }
    }
    Ok(all)
}
