//! What a record says about itself that sentences need: the product's name, the unit of its load.

use genkai_model::event::RunStarted;
use genkai_model::finding::{Break, TrialFinding, Verdict};
use genkai_model::load::{Arrivals, Load};
use genkai_model::plan::Study;
use genkai_model::record::Record;
use genkai_model::units::{Range, Span, Spread};

use crate::figure;
use crate::unit::Unit;

/// Who was tested, and in which unit the load is counted.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) head: Option<&'a RunStarted>,
    /// Whether the record has no end: what came after it is not known.
    pub(crate) cut_off: bool,
    /// The largest level of a plain load that ended before it had risen to the one asked for.
    pub(crate) rose_to: Option<f64>,
}

impl<'a> Context<'a> {
    pub(crate) fn of(record: &'a Record) -> Context<'a> {
        Context { head: record.head.as_ref(), cut_off: record.end.is_none(), rose_to: None }
    }

    /// The same of a load that was judged.
    pub(crate) fn judged(record: &'a Record, verdict: &Verdict) -> Context<'a> {
        Context { rose_to: verdict.load.as_ref().and_then(|load| load.reached), ..Context::of(record) }
    }

    /// The product under test.
    pub(crate) fn product(&self) -> &'a str {
        self.head.map_or("the server", |h| h.plan.system.product.as_str())
    }

    /// Whether the load is users (closed) rather than a rate (open).
    pub(crate) fn closed(&self) -> bool {
        self.head.is_none_or(|h| matches!(h.plan.load.arrivals, Arrivals::Users { .. }))
    }

    /// Whether it is a plain load, which goes on to its end whatever is seen.
    pub(crate) fn is_plain(&self) -> bool {
        self.head.is_some_and(|head| head.plan.study == Study::Load)
    }

    /// The request by which limits are looked up, where the load makes others, too.
    pub(crate) fn one_of_several(&self) -> Option<String> {
        let load = &self.head?.plan.load;
        let several = load.scenario.is_some() || load.locust.is_some();
        several.then(|| format!("{} {}", load.request.method, load.request.path))
    }

    /// Unit of the load: `users`, `planned requests/s` (or messages), or `planned runs/s` of a scenario.
    pub(crate) fn unit(&self) -> &'static str {
        self.head.map_or("users", |h| unit(&h.plan.load))
    }

    /// What finishes or fails: requests, messages, openings of WebSockets. In chat rooms: what members say.
    pub(crate) fn counted(&self) -> &'static str {
        match self.head.map_or(Unit::Requests, |h| Unit::of(&h.plan.load.protocol)) {
            Unit::Deliveries => Unit::Messages.many(),
            unit => unit.many(),
        }
    }

    /// That nothing came of what is counted, as a clause.
    pub(crate) fn silence(&self) -> &'static str {
        match self.counted() {
            openings if openings == Unit::Openings.many() => "no WebSocket was opened",
            messages if messages == Unit::Messages.many() => "no message came back",
            _ => "no request succeeded",
        }
    }

    /// A load with its unit: `243 users`, `1,200 planned requests/s`.
    pub(crate) fn level(&self, level: f64) -> String {
        if self.closed() {
            let users = level.round().max(0.0) as u64;
            return figure::plural(users, "user", "users");
        }
        format!("{} {}", figure::number(level), self.unit())
    }

    /// The same without its unit.
    pub(crate) fn bare(&self, level: f64) -> String {
        if self.closed() { figure::whole(level) } else { figure::number(level) }
    }

    /// Connections that an open load may have.
    pub(crate) fn connections(&self) -> Option<u32> {
        match self.head?.plan.load.arrivals {
            Arrivals::Rate { connections, .. } => Some(connections),
            Arrivals::Users { .. } => None,
        }
    }

    /// Whether the load rises to its level.
    pub(crate) fn ramps(&self) -> bool {
        self.head.is_some_and(|head| match head.plan.load.arrivals {
            _ if !head.plan.load.stages.is_empty() => true,
            Arrivals::Users { count, spawn_rate, .. } => spawn_rate > 0.0 && spawn_rate < f64::from(count),
            Arrivals::Rate { ramp, .. } => ramp.0 > 0,
        })
    }

    /// When a break came: `at 243 users`, or `from the start of the load on`. Which of the first requests it was, an interval does not tell, and
    /// one that came later at the same load began then.
    pub(crate) fn when(&self, broke: &Break) -> String {
        let first = self.head.map_or(0.0, |head| 2.0 * head.plan.load.tick.as_secs_f64());
        if broke.level.round() <= 1.0 && broke.at <= first {
            return "from the start of the load on".to_owned();
        }
        format!("at {}{}", self.place(broke), self.later(broke))
    }

    /// When the failure was seen, where that was later, and with how many clients then.
    fn later(&self, broke: &Break) -> String {
        let Some(later) = broke.later else { return String::new() };
        let after = figure::seconds((later.at - broke.at).max(0.0));
        let clients = later.in_flight.round().max(0.0) as u64;
        match self.closed() {
            true if self.thinks() => format!(" (seen {after} later)"),
            true => format!(" (seen {after} later, with {})", self.level(later.level)),
            false => format!(" (seen {after} later, with {} at once)", figure::plural(clients, "client", "clients")),
        }
    }

    /// The load asked for, in [`Context::unit`]; none without a head.
    pub(crate) fn asked(&self) -> Option<f64> {
        self.head.map(|h| asked(&h.plan.load.arrivals))
    }

    /// The objective in the user's words.
    pub(crate) fn objective(&self) -> String {
        self.head.map_or_else(|| "the objective".to_owned(), |h| h.plan.objective.to_string())
    }

    /// Where a break came, in the user's unit and, where that differs, in clients: none were seen in flight at that instant, or users who
    /// think are not in flight, so that their number would say nothing.
    pub(crate) fn place(&self, broke: &Break) -> String {
        let level = self.level(broke.level) + fewer(broke);
        let clients = broke.in_flight.round().max(0.0) as u64;
        // What was seen later is told with the clients of that moment.
        if clients == 0 || self.thinks() || broke.later.is_some() || self.closed() && is_same(broke) {
            return level;
        }
        format!("{level} ({} at once)", figure::plural(clients, "client", "clients"))
    }

    /// Whether users pause between requests, or in WebSockets of a scenario, as far as it says.
    fn thinks(&self) -> bool {
        let scenario = self.head.and_then(|h| h.plan.load.scenario.as_ref());
        if scenario.is_some_and(|scenario| scenario.talks()) {
            return true;
        }
        let arrivals = self.head.map(|h| &h.plan.load.arrivals);
        matches!(arrivals, Some(Arrivals::Users { think, .. }) if *think != Spread::Constant(Span(0)))
    }
}

/// What is said behind the level of a break that fewer may have been too many for.
pub(crate) fn fewer(broke: &Break) -> &'static str {
    if broke.or_fewer { " or fewer" } else { "" }
}

/// What the level of a load counts.
pub(crate) fn unit(load: &Load) -> &'static str {
    match load.arrivals {
        Arrivals::Users { .. } => "users",
        Arrivals::Rate { .. } if load.scenario.is_some() => "planned runs/s",
        Arrivals::Rate { .. } => match Unit::of(&load.protocol) {
            Unit::Requests => "planned requests/s",
            Unit::Openings => "planned openings/s",
            Unit::Messages | Unit::Deliveries => "planned messages/s",
        },
    }
}

/// The level that arrivals rise to: users, or requests a second.
pub(crate) fn asked(arrivals: &Arrivals) -> f64 {
    match arrivals {
        Arrivals::Users { count, .. } => f64::from(*count),
        Arrivals::Rate { per_second, .. } => *per_second,
    }
}

/// Whether users are clients: there were about as many of both when it broke, so that one number says it.
fn is_same(broke: &Break) -> bool {
    (broke.in_flight - broke.level).abs() <= 0.02 * broke.level
}

/// How many clients there were when it broke.
pub(crate) fn clients_at(broke: &Break) -> f64 {
    if is_same(broke) { broke.level } else { broke.in_flight }
}

/// From so many times where it may begin on, the end of a range is no place where something is to be expected.
const WIDE: f64 = 10.0;

/// Whether a range only says where something may begin, as workers do whose queue is long.
pub(crate) fn is_wide(range: Range) -> bool {
    range.high >= WIDE * range.low.max(1.0)
}

/// Clients, whole: `239-255 clients`, `4 clients and more`.
pub(crate) fn clients(range: Range) -> String {
    match is_wide(range) {
        true => format!("{} clients and more", figure::whole(range.low)),
        false => format!("{} clients", figure::range(range, figure::whole)),
    }
}

/// A load, whole: `40-50 users`, `10 users and more`.
pub(crate) fn levels(range: Range, unit: &str) -> String {
    match is_wide(range) {
        true => format!("{} {unit} and more", figure::whole(range.low)),
        false => format!("{} {unit}", figure::range(range, figure::whole)),
    }
}

/// Where something should bite: `at 40-50 users`, `from the first request on`.
pub(crate) fn bites(range: Range, unit: &str) -> String {
    if range.high == 0.0 {
        return "from the first request on".to_owned();
    }
    format!("at {} {unit}", figure::range(range, figure::level))
}

/// `12 of 3,400 requests failed`.
pub(crate) fn failed(context: Context<'_>, trial: &TrialFinding) -> String {
    format!("{} of {} {} failed", figure::count(trial.failed), figure::count(trial.finished), context.counted())
}

/// `2,345 of 12,000 requests failed (19.5 %)`; the percentage where it is not zero.
pub(crate) fn failed_of(context: Context<'_>, trial: &TrialFinding) -> String {
    let base = failed(context, trial);
    if trial.failed == 0 || trial.finished == 0 {
        return base;
    }
    format!("{base} ({})", figure::percent(trial.failed as f64 / trial.finished as f64))
}
