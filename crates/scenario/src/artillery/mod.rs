//! Artillery's scripts, of the http and ws engines. What they do there they do here, with three differences, each for the better: messages
//! that come while nobody waits are queued instead of being lost, the time of every answer is measured, and an answer with status 400
//! or more that no expectation accepts is a failed request.

mod ensure;
mod form;
mod steps;

use genkai_model::load::Spacing;
use genkai_model::scenario::{Flow, Order, Table};
use genkai_model::stage::{Stage, Unit};
use genkai_model::template::Template;
use genkai_model::units::Span;

use crate::builder::{Builder, Levels, MOST_RUNS};
use crate::data::{self, Reading};
use crate::fault::Fault;
use crate::native::{delimiter, waits, whole};
use crate::shape::{self, Kind, Notes};
use crate::yaml::{Node, Value};
use crate::{Script, World};

/// What the steps of a script have in common.
pub(super) struct Common {
    headers: Vec<(String, Template)>,
    ws_headers: Vec<(String, Template)>,
    subprotocols: Vec<String>,
    deflate: bool,
    /// Captures that must be there, unless they say otherwise.
    strict: bool,
    /// `config.target`, for addresses that begin with it.
    target: String,
    /// Deviation of pauses: seconds, or a share of them.
    jitter: Option<(f64, bool)>,
}

pub(crate) fn read(mut root: Node, world: &World<'_>, notes: &mut Notes) -> Result<Script, Fault> {
    choose(&mut root, world)?;
    shape::check(&root, &Kind::Object(&form::SCRIPT), "an Artillery script", notes)?;
    let empty = Node { place: root.place, value: Value::Map(Vec::new()) };
    let config = root.get("config").unwrap_or(&empty);
    let at = |path: &[&str]| path.iter().try_fold(config, |node, name| node.get(name));
    let mut builder = Builder::new(world);
    let target = target(config, &mut builder)?;
    let seconds = at(&["timeout"]).or(at(&["http", "timeout"])).or(at(&["ws", "timeout"])).and_then(Node::number);
    builder.timeout = seconds.map(Span::from_secs_f64).filter(|span| span.0 > 0);
    let trusting = [at(&["tls", "rejectUnauthorized"]), at(&["ws", "rejectUnauthorized"])];
    builder.insecure = trusting.into_iter().flatten().any(|node| node.boolean() == Some(false));
    builder.objective = ensure::objective(config)?;
    variables(config, &mut builder)?;
    let levels = phases(config, &mut builder)?;
    let mut common = Common {
        headers: Vec::new(),
        ws_headers: headers(at(&["ws", "headers"]), &mut builder)?,
        subprotocols: texts(at(&["ws", "subprotocols"])),
        deflate: at(&["ws", "perMessageDeflate"]).and_then(Node::boolean).unwrap_or(false),
        strict: at(&["defaults", "strictCapture"])
            .or(at(&["http", "defaults", "strictCapture"]))
            .and_then(Node::boolean)
            .unwrap_or(true),
        target,
        jitter: jitter(at(&["defaults", "think", "jitter"]).or(at(&["http", "defaults", "think", "jitter"])))?,
    };
    for path in [&["http", "defaults", "headers"][..], &["defaults", "headers"]] {
        common.headers.extend(headers(at(path), &mut builder)?);
    }
    for (n, node) in root.items("scenarios").iter().enumerate() {
        scenario(n, node, &mut builder, &common, notes)?;
    }
    if at(&["http", "http2"]).and_then(Node::boolean) == Some(true) {
        builder.speak_http2();
    }
    builder.script("", levels)
}

fn scenario(n: usize, node: &Node, builder: &mut Builder<'_>, common: &Common, notes: &mut Notes) -> Result<(), Fault> {
    let name = node.text("name").map_or_else(|| format!("scenario {}", n + 1), str::to_owned);
    let flow = node.get("flow").unwrap_or(node);
    let talks = node.text("engine").is_some_and(|engine| engine != "http");
    shape::check(flow, if talks { &form::WS_STEPS } else { &form::HTTP_STEPS }, "flow", notes)?;
    for (_, value) in common.headers.iter().chain(&common.ws_headers) {
        builder.uses(value, node.place);
    }
    for own in ["$loopCount", "$loopElement"] {
        builder.defines(own);
    }
    let steps = if talks { steps::talk(flow, builder, common)? } else { steps::ask(flow, builder, common)? };
    if !steps.iter().any(waits) {
        return Err(flow.fault(format!("`{name}` sends nothing"), ""));
    }
    let weight = node.get("weight").map_or(1, |node| whole(node).min(1_000_000) as u32);
    builder.flow(Flow { name, weight, steps })
}

/// Lays the chosen environment over the configuration.
fn choose(root: &mut Node, world: &World<'_>) -> Result<(), Fault> {
    let Some(name) = world.chosen else { return Ok(()) };
    let environments = root.get("config").and_then(|config| config.get("environments"));
    let Some(over) = environments.and_then(|all| all.get(name)).cloned() else {
        let known: Vec<&str> =
            environments.map(Node::map).unwrap_or_default().iter().map(|(key, _)| key.name.as_str()).collect();
        let what = format!("there is no environment `{name}` under config.environments");
        return Err(root.fault(what, format!("known: {}", known.join(", "))));
    };
    if let Value::Map(map) = &mut root.value
        && let Some((_, config)) = map.iter_mut().find(|(key, _)| key.name == "config")
    {
        config.overlay(&over);
    }
    Ok(())
}

fn target(config: &Node, builder: &mut Builder<'_>) -> Result<String, Fault> {
    let given = builder.world.targets.iter().map(|(_, url)| url.clone()).next();
    let own = config.text("target").map(str::to_owned);
    let url = given.or(own).ok_or_else(|| config.fault("`config` has no `target`", "add it, or give --target"))?;
    builder.target("target", &url);
    builder.variable("target", vec![url.clone().into()]);
    builder.variable("$environment", vec![builder.world.chosen.unwrap_or_default().into()]);
    Ok(url)
}

fn variables(config: &Node, builder: &mut Builder<'_>) -> Result<(), Fault> {
    for (key, node) in config.entries("variables") {
        let values: Vec<_> = node.each().iter().map(Node::json).collect();
        if values.is_empty() {
            return Err(node.fault(format!("`{}` has no value", key.name), "give at least one"));
        }
        builder.variable(&key.name, values);
    }
    for node in config.each_of("payload") {
        let file = node.text("path").unwrap_or_default();
        let columns = node.get("fields").map(|_| texts(node.get("fields")));
        let all = node.is("loadAll").unwrap_or(false);
        if columns.is_none() && !all {
            return Err(node.fault("`payload` needs `fields`", "name its columns: fields: [a, b]"));
        }
        let order = if node.text("order") == Some("sequence") { Order::Sequence } else { Order::Random };
        let skip_first = node.is("skipHeader").unwrap_or(false);
        let reading = Reading { file, place: node.place, columns, skip_first, delimiter: delimiter(node)? };
        let (columns, rows) = data::rows(builder, &reading)?;
        let cast = node.is("cast").unwrap_or(true);
        if all {
            let Some(name) = node.text("name") else {
                return Err(node.fault("`loadAll` needs `name`", "the variable that holds all rows"));
            };
            let row = |row: &Vec<String>| {
                columns
                    .iter()
                    .cloned()
                    .zip(row.iter().map(|cell| cell.clone().into()))
                    .collect::<serde_json::Map<_, _>>()
            };
            builder
                .variable(name, vec![rows.iter().map(row).map(serde_json::Value::Object).collect::<Vec<_>>().into()]);
        } else {
            builder.knows(&columns);
            builder.scenario.tables.push(Table { source: file.to_owned(), columns, rows, order, cast });
        }
    }
    Ok(())
}

/// Phases (`phases.ts` of Artillery's runner): ramps in steps of a second there, without steps here; the same number arrives.
fn phases(config: &Node, builder: &mut Builder<'_>) -> Result<Levels, Fault> {
    let nodes = config.items("phases");
    let place = config.get("phases").map_or(config.place, |node| node.place);
    let (mut stages, mut most, mut mode) = (Vec::new(), None, None);
    for node in nodes {
        let number = |name: &str| node.get(name).and_then(Node::number);
        let lasts = |name: &str| node.text(name).and_then(time);
        let (lasts, from, to) = match (lasts("pause"), lasts("duration")) {
            (Some(pause), None) => (pause, 0.0, 0.0),
            (Some(_), Some(_)) => return Err(node.fault("both `pause` and `duration`", "keep one of them")),
            (None, None) => return Err(node.fault("a phase needs `duration`", "e.g. duration: 60")),
            (None, Some(lasts)) => {
                let seconds = lasts.as_secs_f64().max(1e-9);
                match (number("arrivalRate"), number("rampTo"), number("arrivalCount")) {
                    (None, None, Some(count)) => (lasts, count / seconds, count / seconds),
                    (Some(rate), None, None) => (lasts, rate, rate),
                    // Without `arrivalRate` the ramp begins at nothing.
                    (rate, Some(to), None) => (lasts, rate.unwrap_or(0.0), to),
                    _ => {
                        let hint = "arrivalRate, with rampTo if it changes; or arrivalCount";
                        return Err(node.fault("this phase does not say how many arrive", hint));
                    }
                }
            }
        };
        if let Some(cap) = node.get("maxVusers").map(whole) {
            if most.is_some_and(|most| most != cap) {
                return Err(node.fault("`maxVusers` differs from another phase's", "give all phases the same"));
            }
            most = Some(cap);
        }
        if let Some(its) = node.text("mode") {
            if mode.is_some_and(|mode| mode != its) {
                return Err(node.fault("`mode` differs from another phase's", "give all phases the same"));
            }
            mode = Some(its);
        }
        stages.push(Stage { lasts, from, to, name: node.text("name").map(str::to_owned) });
    }
    if most.is_some() && !nodes.iter().all(|node| node.has("maxVusers") || node.has("pause")) {
        return Err(Fault::at(place, "some phases have `maxVusers` and some have not", "give all phases the same"));
    }
    builder.scenario.skip = most.is_some();
    let spacing = if mode == Some("poisson") { Spacing::Poisson } else { Spacing::Uniform };
    let most = most.map_or(MOST_RUNS, |most| most.min(u32::MAX.into()) as u32);
    Ok(Levels { stages, unit: Unit::Rate, spacing, most, place })
}

/// Numbers are seconds, text is read as the npm package `ms` does.
pub(super) fn time(text: &str) -> Option<Span> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    let (number, unit) = (text[..split].trim(), text[split..].trim().to_ascii_lowercase());
    let unit = match unit.as_str() {
        "" | "s" | "sec" | "secs" | "second" | "seconds" => "s",
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => "ms",
        "m" | "min" | "mins" | "minute" | "minutes" => "m",
        "h" | "hr" | "hrs" | "hour" | "hours" => "h",
        _ => return None,
    };
    format!("{number}{unit}").parse().ok()
}

fn texts(node: Option<&Node>) -> Vec<String> {
    node.map(Node::each).unwrap_or_default().iter().filter_map(Node::scalar).map(str::to_owned).collect()
}

fn headers(node: Option<&Node>, builder: &mut Builder<'_>) -> Result<Vec<(String, Template)>, Fault> {
    let fields = node.map(Node::map).unwrap_or_default();
    fields.iter().map(|(key, value)| Ok((key.name.clone(), steps::template(value, builder)?))).collect()
}

/// `10%` or a time.
fn jitter(node: Option<&Node>) -> Result<Option<(f64, bool)>, Fault> {
    let Some(node) = node else { return Ok(None) };
    let text = node.scalar().unwrap_or_default().trim();
    let share =
        text.strip_suffix('%').and_then(|share| share.trim().parse::<f64>().ok()).map(|share| (share / 100.0, true));
    // Without a unit, milliseconds (`engine_util.js` of Artillery's core).
    let plain = text.parse::<f64>().ok().map(|ms| (ms / 1e3, false));
    match share
        .or(plain)
        .or_else(|| time(text).map(|span| (span.as_secs_f64(), false)))
        .filter(|(by, _)| (0.0..=1e6).contains(by))
    {
        Some(jitter) => Ok(Some(jitter)),
        None => {
            Err(node.fault(format!("`jitter` must be a share or a duration, not `{text}`"), "e.g. \"20%\" or 500ms"))
        }
    }
}
