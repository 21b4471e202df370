//! What a scenario would send, without sending it.

use std::collections::BTreeMap;

use genkai_model::http2::Http2;
use genkai_model::load::{Arrivals, Load, Spacing};
use genkai_model::plan::Plan;
use genkai_model::scenario::{Capture, Check, Scenario, Source, Step, Target, Think, Times};
use genkai_model::stage::Stage;
use genkai_model::template::{Form, Origin, Part, Template};
use serde_json::Value;

use crate::document::{Block, Document, Section, Tone};
use crate::{clean, figure};

/// Labels with a text beside each.
type Facts = Vec<(&'static str, String)>;

/// The scenario of a plan: targets, phases, and every step with the values of a first run. What is known only in a run, like
/// captured values, is shown as `{{name}}`.
pub fn script(plan: &Plan) -> Document {
    let Some(scenario) = &plan.load.scenario else {
        let nothing = Block::toned(Tone::Doubtful, "There is no scenario.");
        return Document::plain(String::new(), vec![Section::terminal("").with([nothing])]);
    };
    let mut facts: Facts = scenario.targets.iter().map(|one| ("target", target(one))).collect();
    facts.push(("objective", plan.objective.to_string()));
    facts.extend(levels(&plan.load, scenario));
    facts.extend(scenario.tables.iter().map(|table| {
        let rows = figure::plural(table.rows.len() as u64, "row", "rows");
        ("data", format!("{}: {rows} of {}", clean::line(&table.source), clean::line(&table.columns.join(", "))))
    }));
    let title = Block::toned(Tone::Strong, clean::line(&plan.title));
    let all: u32 = scenario.flows.iter().map(|flow| flow.weight).sum();
    let values = first(scenario);
    let flows = scenario.flows.iter().map(|flow| {
        let mut facts = Facts::new();
        Shown { scenario, values: &values }.steps(&flow.steps, &mut facts);
        let title = format!("{} (weight {} of {all})", clean::line(&flow.name), flow.weight);
        Section::terminal(&title).with([Block::facts(facts)])
    });
    let head = Section::terminal("").with([title, Block::facts(facts)]);
    let foot = Section::terminal("").with([Block::toned(Tone::Quiet, "Nothing was sent.")]);
    Document::plain(String::new(), [head].into_iter().chain(flows).chain([foot]).collect())
}

fn target(target: &Target) -> String {
    let addresses: Vec<String> = target.addresses.iter().map(ToString::to_string).collect();
    let (name, url) = (clean::line(&target.name), clean::line(&target.url));
    format!("{name}: {url} ({}{})", addresses.join(", "), spoken(target))
}

/// What is spoken there besides what every target speaks.
fn spoken(target: &Target) -> String {
    target.http2.map_or(String::new(), |Http2 { streams }| {
        format!("; HTTP/2, {} a connection", figure::plural(streams.into(), "user", "users"))
    })
}

fn levels(load: &Load, scenario: &Scenario) -> Facts {
    let unit = match load.arrivals {
        Arrivals::Users { .. } => "users".to_owned(),
        Arrivals::Rate { spacing, connections, .. } => {
            let spaced = if spacing == Spacing::Poisson { ", at random" } else { "" };
            let beyond = if scenario.skip { "left out beyond that" } else { "failed beyond that" };
            format!("runs begun a second{spaced}; at most {} at once, {beyond}", figure::count(connections.into()))
        }
    };
    let phase = |stage: &Stage| {
        let name = stage.name.as_deref().map_or(String::new(), |name| format!("{}: ", clean::line(name)));
        let level = match (stage.from, stage.to) {
            _ if stage.is_pause() => "pause".to_owned(),
            (from, to) if from == to => figure::number(to),
            (from, to) => format!("{} to {}", figure::number(from), figure::number(to)),
        };
        ("phase", format!("{name}{level} for {}", stage.lasts))
    };
    let then = format!("at most {} for runs that have begun; timeout {}", scenario.drain, load.timeout);
    load.stages.iter().map(phase).chain([("", unit), ("then", then)]).collect()
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

impl Shown<'_> {
    fn steps(&self, all: &[Step], facts: &mut Facts) {
        let target = |n: u32| self.scenario.targets.get(n as usize);
        for step in all {
            match step {
                Step::Request(request) => {
                    let address = self.address(target(request.target), &request.path);
                    facts.push(("request", format!("{} {address}", request.method)));
                    facts.extend(self.fields(&request.headers));
                    facts.extend(request.body.iter().map(|body| ("  body", self.text(body))));
                    facts.extend(self.wanted(&request.captures, &request.checks));
                }
                Step::Connect(connect) => {
                    facts.push(("connect", self.address(target(connect.target), &connect.path)));
                    facts.extend(self.fields(&connect.headers));
                    let names = clean::line(&connect.subprotocols.join(", "));
                    facts.extend((!names.is_empty()).then_some(("  subprotocol", names)));
                }
                Step::Send(send) => facts.push(("send", self.text(&send.payload))),
                Step::Expect(expect) => {
                    let search = if expect.search { "the first message that passes" } else { "the next message" };
                    let within = expect.within.map_or(String::new(), |span| format!(" within {span}"));
                    facts.push(("expect", format!("{search}{within}")));
                    facts.extend(self.wanted(&expect.captures, &expect.checks));
                }
                Step::Think(Think::Spread(spread)) => facts.push(("think", spread.to_string())),
                Step::Think(Think::Template(template)) => facts.push(("think", self.text(template))),
                Step::Loop(inner) => {
                    facts.push(("loop", format!("{}, as {}", self.times(&inner.times), clean::line(&inner.variable))));
                    self.steps(&inner.steps, facts);
                    facts.push(("end", "of the loop".to_owned()));
                }
            }
        }
    }

    fn times(&self, times: &Times) -> String {
        match times {
            Times::Count(n) => figure::plural(*n, "time", "times"),
            Times::Forever => "for ever".to_owned(),
            Times::Template(template) => format!("{} times", self.text(template)),
            Times::Over(values) if values.len() == 1 => "for one value".to_owned(),
            Times::Over(values) => format!("for each of {}", figure::plural(values.len() as u64, "value", "values")),
            Times::Elements(name) => format!("for each of {}", clean::line(name)),
        }
    }

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

    fn fields(&self, fields: &[(String, Template)]) -> Facts {
        let one = |(name, value): &(String, Template)| format!("{}: {}", clean::line(name), self.text(value));
        fields.iter().map(|field| ("  header", one(field))).collect()
    }

    fn wanted(&self, captures: &[Capture], checks: &[Check]) -> Facts {
        let capture = |capture: &Capture| {
            let from = match &capture.from {
                Source::Json(path) => format!("JSON {}", clean::line(path)),
                Source::Regex { pattern, .. } => format!("what matches {}", clean::line(pattern)),
                Source::Header(name) => format!("the header {}", clean::line(name)),
                Source::Body => "all of it".to_owned(),
            };
            let may = if capture.optional { ", if it is there" } else { "" };
            ("  capture", format!("{} from {from}{may}", clean::line(&capture.variable)))
        };
        let check = |check: &Check| {
            let name = self.scenario.checks.get(check.name as usize).map(|name| clean::line(name)).unwrap_or_default();
            ("  check", format!("{name}{}", if check.strict { " (or the run ends)" } else { "" }))
        };
        captures.iter().map(capture).chain(checks.iter().map(check)).collect()
    }
}
