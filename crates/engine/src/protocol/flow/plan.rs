//! A scenario made ready: names to positions, expressions compiled, steps in a row.
//!
//! Loops become two operations, one that begins a round and one that goes back to it, so that a user is a position in a list and a
//! stack of rounds, whatever is nested in what.

use genkai_model::scenario::{self, Order, Scenario, Step, Think, Times};
use genkai_model::units::Spread;
use genkai_model::websocket::Deflate;
use genkai_wire::websocket::Kind;
use rand::Rng;
use rand_pcg::Pcg64Mcg;

use super::answer::Wanted;
use super::value::{Names, Value, Writer};
use crate::clock::Moment;
use crate::error::EngineError;
use crate::protocol::http2::scheme;
use crate::transport::endpoint::{HTTP1, HTTP2, Route};

/// A scenario made ready; the same for all threads.
#[derive(Debug)]
pub(crate) struct Plan {
    flows: Vec<Flow>,
    weights: u64,
    /// Variables of a user.
    pub(super) slots: usize,
    constants: Vec<(usize, Vec<Value>)>,
    tables: Vec<Table>,
    pub(super) targets: Vec<Target>,
    /// See [`Scenario::skip`].
    pub(super) skip: bool,
}

#[derive(Debug)]
pub(super) struct Flow {
    weight: u64,
    pub(super) steps: Vec<Op>,
}

#[derive(Debug)]
struct Table {
    slots: Vec<usize>,
    rows: Vec<Vec<Value>>,
    order: Order,
}

/// Where steps go.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) route: Route,
    /// HTTP/2, where requests speak it: the route, and most requests at once on a connection. WebSockets go by the other.
    pub(super) http2: Option<(Route, u32)>,
    pub(super) host: String,
    pub(super) base: String,
    pub(super) scheme: &'static str,
    /// `http://host:port`, to recognise a redirection to it.
    pub(super) origin: String,
}

/// One operation.
#[derive(Debug)]
pub(super) enum Op {
    Request(RequestStep),
    Connect(ConnectStep),
    Send(SendStep),
    Expect(ExpectStep),
    Think(Pause),
    /// A round of a loop, which ends before the position `end`.
    Begin {
        times: Rounds,
        slot: usize,
        end: usize,
    },
    /// Back to the loop that begins there.
    Back(usize),
}

#[derive(Debug)]
pub(super) struct RequestStep {
    pub(super) name: u32,
    pub(super) target: u32,
    pub(super) method: String,
    pub(super) path: Writer,
    pub(super) headers: Vec<(String, Writer)>,
    pub(super) body: Option<Writer>,
    pub(super) redirects: u8,
    pub(super) cookies: bool,
    pub(super) timeout: Option<Moment>,
    pub(super) wanted: Wanted,
}

#[derive(Debug)]
pub(super) struct ConnectStep {
    pub(super) name: u32,
    pub(super) target: u32,
    pub(super) path: Writer,
    pub(super) headers: Vec<(String, Writer)>,
    pub(super) subprotocols: Vec<String>,
    pub(super) deflate: Option<Deflate>,
}

#[derive(Debug)]
pub(super) struct SendStep {
    pub(super) name: u32,
    pub(super) payload: Writer,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) struct ExpectStep {
    pub(super) name: u32,
    pub(super) within: Option<Moment>,
    pub(super) search: bool,
    pub(super) wanted: Wanted,
}

#[derive(Debug)]
pub(super) enum Pause {
    Spread(Spread),
    Written(Writer),
}

/// How often a loop is done.
#[derive(Debug)]
pub(super) enum Rounds {
    Count(u64),
    Forever,
    Written(Writer),
    Over(Vec<Value>),
    Elements(usize),
}

impl Plan {
    /// What `scenario` says.
    ///
    /// # Errors
    /// When it cannot be done.
    pub(crate) fn read(scenario: &Scenario) -> Result<Plan, EngineError> {
        check(scenario).map_err(|why| EngineError::Load(why.to_owned()))?;
        let mut names = Names::default();
        let constants = scenario
            .variables
            .iter()
            .map(|variable| (names.slot(&variable.name), variable.values.iter().map(Value::of).collect()));
        let constants: Vec<_> = constants.collect();
        let tables: Vec<Table> = scenario.tables.iter().map(|table| Table::new(table, &mut names)).collect();
        let mut flows = Vec::with_capacity(scenario.flows.len());
        for flow in &scenario.flows {
            let mut steps = Vec::new();
            lower(&flow.steps, &mut steps, &mut names).map_err(EngineError::Load)?;
            flows.push(Flow { weight: flow.weight.into(), steps });
        }
        let targets: Result<Vec<Target>, EngineError> = scenario.targets.iter().map(Target::new).collect();
        let weights = flows.iter().map(|flow| flow.weight).sum();
        let skip = scenario.skip;
        Ok(Plan { flows, weights, slots: names.len(), constants, tables, targets: targets?, skip })
    }

    /// A flow, by weight.
    pub(super) fn choose(&self, random: &mut Pcg64Mcg) -> usize {
        let mut left = if self.weights > 1 { random.random_range(0..self.weights) } else { 0 };
        for (n, flow) in self.flows.iter().enumerate() {
            if left < flow.weight {
                return n;
            }
            left -= flow.weight;
        }
        0
    }

    /// How many flows there are.
    pub(super) fn flows(&self) -> usize {
        self.flows.len()
    }

    pub(super) fn flow(&self, n: usize) -> &Flow {
        &self.flows[n]
    }

    /// Fills the variables for the `run`-th run of thread `thread` of `threads`.
    pub(super) fn fill(
        &self,
        slots: &mut [Option<Value>],
        random: &mut Pcg64Mcg,
        (run, thread, threads): (u64, u64, u64),
    ) {
        slots.fill(None);
        for (slot, values) in &self.constants {
            slots[*slot] = values.get(pick(values.len(), random)).cloned();
        }
        for table in &self.tables {
            let row = match table.order {
                Order::Random => pick(table.rows.len(), random),
                // Each thread takes every so-manieth row: together, all in turn.
                Order::Sequence => ((run * threads + thread) % table.rows.len() as u64) as usize,
            };
            for (slot, value) in table.slots.iter().zip(&table.rows[row]) {
                slots[*slot] = Some(value.clone());
            }
        }
    }
}

fn pick(of: usize, random: &mut Pcg64Mcg) -> usize {
    if of > 1 { random.random_range(0..of) } else { 0 }
}

/// Why a scenario cannot be done, if so. Who wrote it has been told where, by who read it; this is for plans from elsewhere.
fn check(scenario: &Scenario) -> Result<(), &'static str> {
    let lists = scenario.variables.iter().any(|variable| variable.values.is_empty());
    let tables = scenario.tables.iter().any(|table| table.rows.iter().any(|row| row.len() != table.columns.len()));
    match scenario {
        _ if scenario.flows.iter().all(|flow| flow.weight == 0) => Err("the scenario has no flow with a weight"),
        _ if scenario.targets.is_empty() => Err("the scenario has no target"),
        _ if lists => Err("a variable of the scenario has no value"),
        _ if scenario.tables.iter().any(|table| table.rows.is_empty()) => Err("a table of the scenario has no rows"),
        _ if tables => Err("a table of the scenario has rows of another length than its columns"),
        _ if scenario.names.len() > scenario::MOST_STEPS => Err("the scenario measures too many steps"),
        _ if scenario.checks.len() > scenario::MOST_CHECKS => Err("the scenario has too many checks"),
        _ if scenario.flows.iter().any(|flow| !fits(&flow.steps, scenario)) => {
            Err("a step of the scenario refers to a target, name or check that is not there")
        }
        _ => Ok(()),
    }
}

/// Whether what steps refer to is there.
fn fits(steps: &[Step], scenario: &Scenario) -> bool {
    let name = |n: u32| (n as usize) < scenario.names.len();
    let target = |n: u32| (n as usize) < scenario.targets.len();
    let checks = |all: &[scenario::Check]| all.iter().all(|check| (check.name as usize) < scenario.checks.len());
    steps.iter().all(|step| match step {
        Step::Request(ask) => name(ask.name) && target(ask.target) && checks(&ask.checks),
        Step::Connect(dial) => name(dial.name) && target(dial.target),
        Step::Send(say) => name(say.name),
        Step::Expect(hear) => name(hear.name) && checks(&hear.checks),
        Step::Think(_) => true,
        Step::Loop(inner) => fits(&inner.steps, scenario),
    })
}

impl Table {
    fn new(table: &scenario::Table, names: &mut Names) -> Table {
        Table {
            slots: table.columns.iter().map(|column| names.slot(column)).collect(),
            rows: table.rows.iter().map(|row| row.iter().map(|cell| value(cell, table.cast)).collect()).collect(),
            order: table.order,
        }
    }
}

/// A cell as a value.
fn value(cell: &str, cast: bool) -> Value {
    let known = serde_json::from_str::<serde_json::Value>(cell).ok();
    // Only what is written back as it was: `007` and `1e3` stay text.
    let same = |json: &serde_json::Value| {
        let written = json.to_string();
        (json.is_number() || json.is_boolean()) && written == cell
    };
    known.filter(|json| cast && same(json)).map_or_else(|| Value::text(cell), |json| Value::of(&json))
}

impl Target {
    fn new(target: &scenario::Target) -> Result<Target, EngineError> {
        let scheme = scheme(&target.transport);
        let route = |spoken| Route::to(&target.addresses, &target.transport, spoken);
        let http2 = target.http2.map(|http2| route(HTTP2).map(|route| (route, http2.streams.max(1)))).transpose()?;
        Ok(Target {
            route: route(HTTP1)?,
            http2,
            scheme,
            host: target.host.clone(),
            base: target.base.clone(),
            origin: format!("{scheme}://{}", target.host),
        })
    }
}

/// Appends the operations of `steps`.
fn lower(steps: &[Step], out: &mut Vec<Op>, names: &mut Names) -> Result<(), String> {
    for step in steps {
        let op = match step {
            Step::Request(ask) => Op::Request(RequestStep {
                name: ask.name,
                target: ask.target,
                method: ask.method.clone(),
                path: Writer::new(&ask.path, names),
                headers: headers(&ask.headers, names),
                body: ask.body.as_ref().map(|body| Writer::new(body, names)),
                redirects: ask.redirects,
                cookies: ask.cookies,
                timeout: ask.timeout.map(|span| span.0),
                wanted: Wanted::new(&ask.captures, &ask.checks, names)?,
            }),
            Step::Connect(dial) => Op::Connect(ConnectStep {
                name: dial.name,
                target: dial.target,
                path: Writer::new(&dial.path, names),
                headers: headers(&dial.headers, names),
                subprotocols: dial.subprotocols.clone(),
                deflate: dial.deflate,
            }),
            Step::Send(say) => Op::Send(SendStep {
                name: say.name,
                payload: Writer::new(&say.payload, names),
                kind: if say.binary { Kind::Binary } else { Kind::Text },
            }),
            Step::Expect(hear) => Op::Expect(ExpectStep {
                name: hear.name,
                within: hear.within.map(|span| span.0),
                search: hear.search,
                wanted: Wanted::new(&hear.captures, &hear.checks, names)?,
            }),
            Step::Think(Think::Spread(spread)) => Op::Think(Pause::Spread(*spread)),
            Step::Think(Think::Template(template)) => Op::Think(Pause::Written(Writer::new(template, names))),
            Step::Loop(inner) => {
                let begin = out.len();
                let (times, slot) = (rounds(&inner.times, names), names.slot(&inner.variable));
                out.push(Op::Begin { times, slot, end: 0 });
                lower(&inner.steps, out, names)?;
                out.push(Op::Back(begin));
                let after = out.len();
                if let Op::Begin { end, .. } = &mut out[begin] {
                    *end = after;
                }
                continue;
            }
        };
        out.push(op);
    }
    Ok(())
}

fn headers(fields: &[(String, genkai_model::template::Template)], names: &mut Names) -> Vec<(String, Writer)> {
    fields.iter().map(|(name, value)| (name.clone(), Writer::new(value, names))).collect()
}

fn rounds(times: &Times, names: &mut Names) -> Rounds {
    match times {
        Times::Count(n) => Rounds::Count(*n),
        Times::Forever => Rounds::Forever,
        Times::Template(template) => Rounds::Written(Writer::new(template, names)),
        Times::Over(values) => Rounds::Over(values.iter().map(Value::of).collect()),
        Times::Elements(name) => Rounds::Elements(names.slot(name)),
    }
}
