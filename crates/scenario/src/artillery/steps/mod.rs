//! Steps of the http and ws engines.

mod checks;
mod request;

use genkai_model::scenario::{Expect, Loop, Send, Step, Think, Times};
use genkai_model::template::{Form, Origin, Part, Template};
use genkai_model::units::{Span, Spread};

use checks::{captures, matches};
use request::{connect, request};

use super::{Common, form, time};
use crate::builder::{self, Builder, resolve};
use crate::fault::Fault;
use crate::native::{waits, whole};
use crate::shape::{self, Kind, Notes};
use crate::yaml::{Node, Value};

const METHODS: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];

/// A template, with what is known of the environment put in.
pub(super) fn template(node: &Node, builder: &mut Builder<'_>) -> Result<Template, Fault> {
    let text = node.scalar().unwrap_or_default();
    let template = settled(builder::parse(text, node.place)?, builder);
    builder.uses(&template, node.place);
    Ok(template)
}

fn settled(mut template: Template, builder: &Builder<'_>) -> Template {
    resolve(&mut template, |name, way| match (name, way) {
        ("$processEnvironment" | "$env", [variable]) => (builder.world.environment)(variable),
        _ => None,
    });
    template
}

fn json(node: &Node, builder: &mut Builder<'_>) -> Result<Template, Fault> {
    builder.json(node).map(|template| settled(template, builder))
}

/// Steps of the http engine.
pub(super) fn ask(flow: &Node, builder: &mut Builder<'_>, common: &Common) -> Result<Vec<Step>, Fault> {
    let mut steps = Vec::new();
    for node in flow.list() {
        if let Some((method, asked)) = METHODS.iter().find_map(|method| node.get(method).map(|node| (*method, node))) {
            steps.push(request(method, asked, builder, common)?);
        } else if let Some(pause) = node.get("think") {
            steps.push(think(pause, builder, common)?);
        } else if node.has("loop") {
            steps.push(repeat(node, builder, |inner, builder| ask(inner, builder, common))?);
        }
    }
    Ok(steps)
}

/// Steps of the ws engine. The connection is opened before the first.
pub(super) fn talk(flow: &Node, builder: &mut Builder<'_>, common: &Common) -> Result<Vec<Step>, Fault> {
    let first = flow.list().first().and_then(|node| node.get("connect"));
    let mut steps = vec![connect(first, flow.place, builder, common)?];
    for (n, node) in flow.list().iter().enumerate() {
        if n > 0 && node.has("connect") {
            return Err(node.fault("`connect` must be the first step", "a virtual user has one connection"));
        }
    }
    steps.extend(said(flow, builder, common)?);
    Ok(steps)
}

fn said(flow: &Node, builder: &mut Builder<'_>, common: &Common) -> Result<Vec<Step>, Fault> {
    let mut steps = Vec::new();
    for node in flow.list() {
        let label = node.text("name");
        if let Some(message) = node.get("send") {
            let waited = message.has("payload") && (message.has("capture") || message.has("match"));
            if waited {
                shape::check(message, &Kind::Object(&form::WAITED), "send", &mut Notes::new())?;
            }
            let content = if waited { message.get("payload").unwrap_or(message) } else { message };
            let payload = match content.scalar() {
                Some(_) => template(content, builder)?,
                None => json(content, builder)?,
            };
            let name = builder.name(label.unwrap_or("send"), node.place)?;
            steps.push(Step::Send(Send { name, payload, binary: false }));
            if waited {
                steps.push(wait(message, &format!("{} answered", label.unwrap_or("send")), builder, common)?);
            }
        } else if let Some(message) = node.get("wait") {
            steps.push(wait(message, label.unwrap_or("wait"), builder, common)?);
        } else if let Some(pause) = node.get("think") {
            steps.push(think(pause, builder, common)?);
        } else if node.has("loop") {
            steps.push(repeat(node, builder, |inner, builder| said(inner, builder, common))?);
        } else if node.has("connect") && node.place != flow.list()[0].place {
            return Err(node.fault("`connect` must be the first step", "a virtual user has one connection"));
        }
    }
    Ok(steps)
}

fn wait(node: &Node, name: &str, builder: &mut Builder<'_>, common: &Common) -> Result<Step, Fault> {
    let captures = captures(node, builder, common)?;
    let checks = matches(node, name, builder)?;
    let name = builder.name(name, node.place)?;
    Ok(Step::Expect(Expect { name, within: None, search: false, captures, checks }))
}

fn think(node: &Node, builder: &mut Builder<'_>, common: &Common) -> Result<Step, Fault> {
    let Some(span) = node.scalar().and_then(time) else {
        return Ok(Step::Think(Think::Template(template(node, builder)?)));
    };
    let spread = match common.jitter {
        None => Spread::Constant(span),
        Some((by, share)) => {
            let by = if share { span.as_secs_f64() * by } else { by };
            let around = |seconds: f64| Span::from_secs_f64(seconds);
            Spread::Uniform(around(span.as_secs_f64() - by), around(span.as_secs_f64() + by))
        }
    };
    Ok(Step::Think(Think::Spread(spread)))
}

fn repeat(
    node: &Node,
    builder: &mut Builder<'_>,
    read: impl FnOnce(&Node, &mut Builder<'_>) -> Result<Vec<Step>, Fault>,
) -> Result<Step, Fault> {
    let over = node.get("over");
    let own = if over.is_some() { ["loopElement", "loopValue"] } else { ["loopValue", "loopElement"] };
    let variable = own.iter().find_map(|key| node.get(key)).and_then(Node::scalar);
    let variable = variable.unwrap_or(if over.is_some() { "$loopElement" } else { "$loopCount" }).to_owned();
    builder.defines(&variable);
    let times = match (over, node.get("count")) {
        (Some(Node { value: Value::List(list), .. }), _) => Times::Over(list.iter().map(Node::json).collect()),
        (Some(name), _) => {
            let name = name.scalar().unwrap_or_default();
            let name = name.trim_start_matches("{{").trim_end_matches("}}").trim().to_owned();
            let named =
                Template(vec![Part::Value { from: Origin::Variable(name.clone(), Vec::new()), form: Form::Plain }]);
            builder.uses(&named, node.place);
            Times::Elements(name)
        }
        (None, None) => Times::Forever,
        (None, Some(count)) => match count.number() {
            Some(n) if n < 0.0 => Times::Forever,
            Some(_) => Times::Count(whole(count)),
            None => Times::Template(template(count, builder)?),
        },
    };
    let inner = read(node.get("loop").unwrap_or(node), builder)?;
    if !inner.iter().any(waits) && !inner.iter().any(|step| matches!(step, Step::Think(_))) && times == Times::Forever {
        return Err(node.fault("a loop for ever that waits for nothing", "add a think"));
    }
    Ok(Step::Loop(Loop { times, variable, steps: inner }))
}
