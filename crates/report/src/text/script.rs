//! What a scenario would send, without sending it.

use std::collections::BTreeMap;

use genkai_model::http2::Http2;
use genkai_model::load::{Arrivals, Load, Spacing};
use genkai_model::plan::Plan;
use genkai_model::scenario::{Capture, Check, Flow, Scenario, Source, Step, Target, Think, Times};
use genkai_model::template::{Form, Origin, Part, Template};
use genkai_model::units::Span;
use serde_json::Value;

use super::Style;
use super::page::Page;
use crate::document::Tone;
use crate::{clean, figure};

/// The scenario of a plan: targets, phases, and every step with the values of a first run. What is known only in a run, like
/// captured values, is shown as `{{name}}`.
pub fn script(plan: &Plan, style: Style) -> String {
    let mut page = Page::new(style);
    let load = &plan.load;
    let Some(scenario) = &load.scenario else {
        page.paragraph(Tone::Doubtful, "There is no scenario.");
        return page.finish();
    };
    page.paragraph(Tone::Strong, &clean::line(&plan.title));
    for target in &scenario.targets {
        let addresses: Vec<String> = target.addresses.iter().map(ToString::to_string).collect();
        page.labelled(
            "target",
            &format!(
                "{}: {} ({}{})",
                clean::line(&target.name),
                clean::line(&target.url),
                addresses.join(", "),
                spoken(target)
            ),
        );
    }
    page.labelled("objective", &plan.objective.to_string());
    levels(&mut page, load, scenario);
    for table in &scenario.tables {
        let rows = figure::plural(table.rows.len() as u64, "row", "rows");
        page.labelled(
            "data",
            &format!("{}: {rows} of {}", clean::line(&table.source), clean::line(&table.columns.join(", "))),
        );
    }
    let all: u32 = scenario.flows.iter().map(|flow| flow.weight).sum();
    let values = first(scenario);
    for flow in &scenario.flows {
        show(&mut page, flow, all, &Shown { scenario, values: &values });
    }
    page.gap();
    page.paragraph(Tone::Quiet, "Nothing was sent.");
    page.finish()
}

/// What is spoken there besides what every target speaks.
fn spoken(target: &Target) -> String {
    target.http2.map_or(String::new(), |Http2 { streams }| {
        format!("; HTTP/2, {} a connection", figure::plural(streams.into(), "user", "users"))
    })
}

fn levels(page: &mut Page, load: &Load, scenario: &Scenario) {
    let unit = match load.arrivals {
        Arrivals::Users { .. } => "users".to_owned(),
        Arrivals::Rate { spacing, connections, .. } => {
            let spaced = if spacing == Spacing::Poisson { ", at random" } else { "" };
            let beyond = if scenario.skip { "left out beyond that" } else { "failed beyond that" };
            format!("runs begun a second{spaced}; at most {} at once, {beyond}", figure::count(connections.into()))
        }
    };
    for stage in &load.stages {
        let name = stage.name.as_deref().map_or(String::new(), |name| format!("{}: ", clean::line(name)));
        let level = match (stage.from, stage.to) {
            _ if stage.is_pause() => "pause".to_owned(),
            (from, to) if from == to => figure::number(to),
            (from, to) => format!("{} to {}", figure::number(from), figure::number(to)),
        };
        page.labelled("phase", &format!("{name}{level} for {}", stage.lasts));
    }
    page.labelled("", &unit);
    let Span(drain) = scenario.drain;
    page.labelled("then", &format!("at most {} for runs that have begun; timeout {}", Span(drain), load.timeout));
}

/// Values of a first run.
fn first(scenario: &Scenario) -> BTreeMap<String, Value> {
    let constants = scenario.variables.iter().filter_map(|one| Some((one.name.clone(), one.values.first()?.clone())));
    let rows = scenario.tables.iter().filter_map(|table| Some((table, table.rows.first()?)));
    let cells =
        rows.flat_map(|(table, row)| table.columns.iter().cloned().zip(row.iter().map(|cell| cell.clone().into())));
    constants.chain(cells).collect()
}

/// What showing steps needs.
struct Shown<'a> {
    scenario: &'a Scenario,
    values: &'a BTreeMap<String, Value>,
}

fn show(page: &mut Page, flow: &Flow, all: u32, shown: &Shown<'_>) {
    page.heading(&format!("{} (weight {} of {all})", clean::line(&flow.name), flow.weight));
    steps(page, &flow.steps, shown);
}

fn steps(page: &mut Page, all: &[Step], shown: &Shown<'_>) {
    let target = |n: u32| shown.scenario.targets.get(n as usize);
    for step in all {
        match step {
            Step::Request(request) => {
                page.labelled(
                    "request",
                    &format!("{} {}", request.method, shown.address(target(request.target), &request.path)),
                );
                shown.fields(page, &request.headers);
                if let Some(body) = &request.body {
                    page.labelled("  body", &shown.text(body));
                }
                shown.wanted(page, &request.captures, &request.checks);
            }
            Step::Connect(connect) => {
                page.labelled("connect", &shown.address(target(connect.target), &connect.path));
                shown.fields(page, &connect.headers);
                if !connect.subprotocols.is_empty() {
                    page.labelled("  subprotocol", &clean::line(&connect.subprotocols.join(", ")));
                }
            }
            Step::Send(send) => page.labelled("send", &shown.text(&send.payload)),
            Step::Expect(expect) => {
                let search = if expect.search { "the first message that passes" } else { "the next message" };
                let within = expect.within.map_or(String::new(), |span| format!(" within {span}"));
                page.labelled("expect", &format!("{search}{within}"));
                shown.wanted(page, &expect.captures, &expect.checks);
            }
            Step::Think(Think::Spread(spread)) => page.labelled("think", &spread.to_string()),
            Step::Think(Think::Template(template)) => page.labelled("think", &shown.text(template)),
            Step::Loop(inner) => {
                let times = match &inner.times {
                    Times::Count(n) => figure::plural(*n, "time", "times"),
                    Times::Forever => "for ever".to_owned(),
                    Times::Template(template) => format!("{} times", shown.text(template)),
                    Times::Over(values) => {
                        format!("for each of {}", figure::plural(values.len() as u64, "value", "values"))
                    }
                    Times::Elements(name) => format!("for each of {}", clean::line(name)),
                };
                page.labelled("loop", &format!("{times}, as {}", clean::line(&inner.variable)));
                steps(page, &inner.steps, shown);
                page.labelled("end", "of the loop");
            }
        }
    }
}

impl Shown<'_> {
    fn text(&self, template: &Template) -> String {
        let mut out = String::new();
        for part in &template.0 {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Value { from, form } => match self.value(from) {
                    Some(Value::String(text)) => form.write(&mut out, &text),
                    Some(value) if *form == Form::Json => out.push_str(&value.to_string()),
                    Some(value) => form.write(&mut out, &value.to_string()),
                    None => out.push_str(&format!("{{{{{from}}}}}")),
                },
            }
        }
        clean::line(&out)
    }

    fn value(&self, from: &Origin) -> Option<Value> {
        let Origin::Variable(name, way) = from else { return None };
        let mut value = self.values.get(name)?;
        for step in way {
            value = match value {
                Value::Array(list) => list.get(step.parse::<usize>().ok()?)?,
                other => other.get(step)?,
            };
        }
        Some(value.clone())
    }

    fn address(&self, target: Option<&Target>, path: &Template) -> String {
        let (host, base) = target.map_or(("", ""), |target| (target.host.as_str(), target.base.as_str()));
        let path = self.text(path);
        let slash = if path.starts_with('/') || base.ends_with('/') { "" } else { "/" };
        format!("{}{slash}{path}", clean::line(&format!("{host}{base}")))
    }

    fn fields(&self, page: &mut Page, fields: &[(String, Template)]) {
        for (name, value) in fields {
            page.labelled("  header", &format!("{}: {}", clean::line(name), self.text(value)));
        }
    }

    fn wanted(&self, page: &mut Page, captures: &[Capture], checks: &[Check]) {
        for capture in captures {
            let from = match &capture.from {
                Source::Json(path) => format!("JSON {}", clean::line(path)),
                Source::Regex { pattern, .. } => format!("what matches {}", clean::line(pattern)),
                Source::Header(name) => format!("the header {}", clean::line(name)),
                Source::Body => "all of it".to_owned(),
            };
            let may = if capture.optional { ", if it is there" } else { "" };
            page.labelled("  capture", &format!("{} from {from}{may}", clean::line(&capture.variable)));
        }
        for check in checks {
            let name = self.scenario.checks.get(check.name as usize).map(|name| clean::line(name)).unwrap_or_default();
            page.labelled("  check", &format!("{name}{}", if check.strict { " (or the run ends)" } else { "" }));
        }
    }
}
