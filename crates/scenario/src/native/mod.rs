//! genkai's own form.

mod checks;
mod phases;
mod steps;
mod targets;

use genkai_model::scenario::{Flow, Order, Step, Table};
use genkai_model::template::Template;
use genkai_model::units::Span;

pub(crate) use checks::regex;
pub(crate) use steps::{add_header, with_defaults, without_query};

use phases::phases;
use steps::{headers, steps};
use targets::targets;

use crate::builder::Builder;
use crate::data::{self, Reading};
use crate::fault::Fault;
use crate::form;
use crate::shape::{self, Kind, Notes};
use crate::yaml::Node;
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
    builder.objective = root.text("objective").and_then(|text| text.parse().ok());
    builder.requests = root.get("requests").map(whole);
    builder.scenario.drain = root.get("drain").and_then(span).unwrap_or(builder.scenario.drain);
    variables(root, &mut builder)?;
    let levels = phases(root)?;
    let defaults = Defaults {
        headers: headers(root, &mut builder),
        cookies: root.is("cookies").unwrap_or(true),
        redirects: root.get("redirects").map_or(0, |node| whole(node).min(20) as u8),
    };
    let flows = root.items("flows");
    for (n, node) in flows.iter().enumerate() {
        let name = node.text("name").map_or_else(|| format!("flow {}", n + 1), str::to_owned);
        for (_, value) in &defaults.headers {
            builder.uses(value, node.place);
        }
        let steps = steps(node.get("steps"), &mut builder, &defaults)?;
        if !steps.iter().any(waits) {
            let hint = "add a request, or connect, send and expect";
            return Err(node.fault(format!("`{name}` sends nothing"), hint));
        }
        builder.flow(Flow { name, weight: node.get("weight").map_or(1, |n| whole(n).min(1_000_000) as u32), steps })?;
    }
    let title = root.text("title").unwrap_or_default();
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

fn variables(root: &Node, builder: &mut Builder<'_>) -> Result<(), Fault> {
    for (key, node) in root.entries("variables") {
        let values: Vec<_> = node.each().iter().map(Node::json).collect();
        if values.is_empty() {
            return Err(node.fault(format!("`{}` has no value", key.name), "give at least one"));
        }
        builder.variable(&key.name, values);
    }
    for node in root.each_of("data") {
        let file = node.text("file").unwrap_or_default();
        let columns = node.get("columns").map(|columns| {
            columns.list().iter().map(|one| one.scalar().unwrap_or_default().to_owned()).collect::<Vec<_>>()
        });
        let delimiter = delimiter(node)?;
        let order = if node.text("order") == Some("random") { Order::Random } else { Order::Sequence };
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
        _ => Err(given.fault("`delimiter` must be one character", "e.g. \";\"")),
    }
}
