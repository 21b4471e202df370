//! What both forms of scenario files are made into, while it is being made.

use std::collections::BTreeSet;
use std::path::Path;

use genkai_model::http2::{Http2, STREAMS};
use genkai_model::load::{Arrivals, Spacing};
use genkai_model::objective::Objective;
use genkai_model::scenario::{Check, Expected, Flow, MOST_CHECKS, MOST_STEPS, Scenario, Target, Variable};
use genkai_model::stage::{self, Stage, Unit};
use genkai_model::template::{Form, Origin, Part, Template};
use genkai_model::units::{Span, Spread};

use crate::fault::{Fault, Place};
use crate::shape::meant;
use crate::yaml::{Node, Value};
use crate::{Script, World};

/// Most runs at once when nothing else is said.
pub(crate) const MOST_RUNS: u32 = 1_000;

/// A script in the making.
pub(crate) struct Builder<'a> {
    pub(crate) world: &'a World<'a>,
    pub(crate) scenario: Scenario,
    pub(crate) objective: Option<Objective>,
    pub(crate) timeout: Option<Span>,
    pub(crate) insecure: bool,
    pub(crate) requests: Option<u64>,
    /// Variables that are there in every flow.
    known: BTreeSet<String>,
    /// Variables that the flow being read defines.
    own: BTreeSet<String>,
    /// Variables that it uses, and where.
    used: Vec<(String, Place)>,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(world: &'a World<'a>) -> Builder<'a> {
        let scenario = Scenario {
            targets: Vec::new(),
            variables: Vec::new(),
            tables: Vec::new(),
            flows: Vec::new(),
            names: Vec::new(),
            checks: Vec::new(),
            drain: Span::from_secs(30),
            skip: false,
        };
        Builder {
            world,
            scenario,
            objective: None,
            timeout: None,
            insecure: false,
            requests: None,
            known: BTreeSet::new(),
            own: BTreeSet::new(),
            used: Vec::new(),
        }
    }

    /// Adds a target, unless one with this address is there; its position.
    pub(crate) fn target(&mut self, name: &str, url: &str) -> u32 {
        if let Some(known) = self.scenario.targets.iter().position(|target| target.url == url) {
            return known as u32;
        }
        self.another(name, url, None)
    }

    /// Adds a target; its position.
    pub(crate) fn another(&mut self, name: &str, url: &str, http2: Option<Http2>) -> u32 {
        self.scenario.targets.push(Target {
            name: name.to_owned(),
            url: url.to_owned(),
            addresses: Vec::new(),
            transport: Default::default(),
            http2,
            host: String::new(),
            base: String::new(),
        });
        self.scenario.targets.len() as u32 - 1
    }

    /// Requests to all targets that take such are HTTP/2.
    pub(crate) fn speak_http2(&mut self) {
        for target in self.scenario.targets.iter_mut().filter(|target| !opens_websockets(&target.url)) {
            target.http2 = Some(Http2 { streams: STREAMS });
        }
    }

    /// The position of a step's name.
    pub(crate) fn name(&mut self, name: &str, place: Place) -> Result<u32, Fault> {
        if let Some(known) = self.scenario.names.iter().position(|known| known == name) {
            return Ok(known as u32);
        }
        if self.scenario.names.len() >= MOST_STEPS {
            let hint = "give steps that do the same the same `name`";
            return Err(Fault::at(place, format!("more than {MOST_STEPS} steps with names of their own"), hint));
        }
        self.scenario.names.push(name.to_owned());
        Ok(self.scenario.names.len() as u32 - 1)
    }

    /// A check of the step called `of`.
    pub(crate) fn check(
        &mut self,
        of: &str,
        about: &str,
        what: Expected,
        strict: bool,
        place: Place,
    ) -> Result<Check, Fault> {
        let name = format!("{of}: {about}");
        let known = self.scenario.checks.iter().position(|known| *known == name);
        let position = known.unwrap_or(self.scenario.checks.len());
        if known.is_none() {
            if position >= MOST_CHECKS {
                return Err(Fault::at(place, format!("more than {MOST_CHECKS} checks"), ""));
            }
            self.scenario.checks.push(name);
        }
        Ok(Check { name: position as u32, what, strict })
    }

    /// A template that was found to be one.
    pub(crate) fn template(&mut self, node: &Node) -> Template {
        let template: Template = node.scalar().and_then(|text| text.parse().ok()).unwrap_or_default();
        self.uses(&template, node.place);
        template
    }

    pub(crate) fn uses(&mut self, template: &Template, place: Place) {
        self.used.extend(template.variables().map(|name| (name.to_owned(), place)));
    }

    /// A variable that is there in every flow.
    pub(crate) fn variable(&mut self, name: &str, values: Vec<serde_json::Value>) {
        self.known.insert(name.to_owned());
        self.scenario.variables.push(Variable { name: name.to_owned(), values });
    }

    pub(crate) fn knows(&mut self, names: &[String]) {
        self.known.extend(names.iter().cloned());
    }

    /// A variable that the flow being read defines.
    pub(crate) fn defines(&mut self, name: &str) {
        self.own.insert(name.to_owned());
    }

    /// Ends a flow: every variable that it uses must be there.
    pub(crate) fn flow(&mut self, flow: Flow) -> Result<(), Fault> {
        let own = std::mem::take(&mut self.own);
        for (name, place) in std::mem::take(&mut self.used) {
            if !self.known.contains(&name) && !own.contains(&name) {
                let all = || self.known.iter().chain(&own).map(String::as_str);
                let hint = match all().next() {
                    None => "define it under `variables`, or capture it".to_owned(),
                    Some(_) => meant(&name, all()),
                };
                return Err(Fault::at(place, format!("unknown variable `{name}`"), hint));
            }
        }
        self.scenario.flows.push(flow);
        Ok(())
    }

    /// JSON with places for values.
    pub(crate) fn json(&mut self, node: &Node) -> Result<Template, Fault> {
        let mut out = Template::default();
        self.json_into(node, &mut out)?;
        self.uses(&out, node.place);
        Ok(out)
    }

    fn json_into(&mut self, node: &Node, out: &mut Template) -> Result<(), Fault> {
        match &node.value {
            Value::List(list) => {
                out.push_text("[");
                for (n, one) in list.iter().enumerate() {
                    out.push_text(if n > 0 { "," } else { "" });
                    self.json_into(one, out)?;
                }
                out.push_text("]");
            }
            Value::Map(map) => {
                out.push_text("{");
                for (n, (key, one)) in map.iter().enumerate() {
                    out.push_text(if n > 0 { "," } else { "" });
                    self.quoted(&key.name, key.place, out)?;
                    out.push_text(":");
                    self.json_into(one, out)?;
                }
                out.push_text("}");
            }
            Value::Scalar(..) => match node.json() {
                serde_json::Value::String(text) => match parse(&text, node.place)? {
                    template if template.sole().is_some() => out.push(template.written(Form::Json)),
                    _ => self.quoted(&text, node.place, out)?,
                },
                other => out.push_text(&other.to_string()),
            },
        }
        Ok(())
    }

    /// A JSON string with places inside.
    fn quoted(&mut self, text: &str, place: Place, out: &mut Template) -> Result<(), Fault> {
        out.push_text("\"");
        written(parse(text, place)?, Form::Quoted, out);
        out.push_text("\"");
        Ok(())
    }

    /// `name=value&...`, as HTML forms are sent.
    pub(crate) fn form(&mut self, node: &Node) -> Template {
        let mut out = Template::default();
        for (n, (key, value)) in node.map().iter().enumerate() {
            let mut name = if n > 0 { "&".to_owned() } else { String::new() };
            Form::Form.write(&mut name, &key.name);
            out.push_text(&(name + "="));
            written(self.template(value), Form::Form, &mut out);
        }
        out
    }

    /// Files are looked for where the scenario is.
    pub(crate) fn file(&self, name: &str, place: Place) -> Result<String, Fault> {
        (self.world.read)(Path::new(name)).map_err(|e| {
            Fault::at(place, format!("`{name}` cannot be read: {e}"), "its path begins at the scenario's folder")
        })
    }

    /// The script, with its load.
    pub(crate) fn script(self, title: &str, levels: Levels) -> Result<Script, Fault> {
        let Levels { stages, unit, spacing, most, place } = levels;
        let peak = stage::peak(&stages);
        if peak == 0.0 || stage::lasting(&stages).0 == 0 {
            return Err(Fault::at(
                place,
                "the phases make no load",
                "give one of them users or a rate, and a duration",
            ));
        }
        if stages.len() > stage::MOST_STAGES {
            return Err(Fault::at(place, format!("more than {} phases", stage::MOST_STAGES), ""));
        }
        if self.scenario.flows.iter().all(|flow| flow.weight == 0) {
            return Err(Fault::whole("there is no flow to be taken", "give one of `flows` a weight"));
        }
        let arrivals = match unit {
            Unit::Users => Arrivals::Users { count: peak.ceil() as u32, spawn_rate: 1e6, think: Spread::default() },
            Unit::Rate => Arrivals::Rate { per_second: peak, ramp: Span(0), spacing, connections: most },
        };
        Ok(Script {
            title: title.to_owned(),
            scenario: self.scenario,
            arrivals,
            stages,
            timeout: self.timeout.unwrap_or(Span::from_secs(10)),
            objective: self.objective,
            requests: self.requests,
            insecure: self.insecure,
            notes: Vec::new(),
        })
    }
}

/// How the load of a script goes.
pub(crate) struct Levels {
    pub(crate) stages: Vec<Stage>,
    pub(crate) unit: Unit,
    pub(crate) spacing: Spacing,
    pub(crate) most: u32,
    pub(crate) place: Place,
}

/// Whether an address is of WebSockets, which are opened by HTTP/1.1.
pub(crate) fn opens_websockets(url: &str) -> bool {
    ["ws://", "wss://", "ws+unix:"].iter().any(|scheme| url.starts_with(scheme))
}

/// Adds a template whose text and values are written in `form`.
fn written(template: Template, form: Form, out: &mut Template) {
    for part in template.0 {
        out.push(Template(vec![match part {
            Part::Text(text) => {
                let mut formed = String::new();
                form.write(&mut formed, &text);
                Part::Text(formed)
            }
            Part::Value { from, .. } => Part::Value { from, form },
        }]));
    }
}

pub(crate) fn parse(text: &str, place: Place) -> Result<Template, Fault> {
    text.parse().map_err(|e| Fault::at(place, format!("{e}"), "write a value as {{name}}"))
}

/// Replaces variables by text that is known already.
pub(crate) fn resolve(template: &mut Template, mut known: impl FnMut(&str, &[String]) -> Option<String>) {
    for part in &mut template.0 {
        if let Part::Value { from: Origin::Variable(name, way), form } = part
            && let Some(value) = known(name, way)
        {
            let mut text = String::new();
            form.write(&mut text, &value);
            *part = Part::Text(text);
        }
    }
}
