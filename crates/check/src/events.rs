//! A record as what it is: lines of JSON, in groups.

use genkai_model::event::Event;
use serde_json::Value as Json;

use crate::distribution::Distribution;

/// A line of the record.
#[derive(Debug)]
pub(crate) struct Line {
    /// Its number, from 1.
    pub(crate) number: usize,
    /// The event.
    pub(crate) json: Json,
}

impl Line {
    /// A number in it; 0 where there is none.
    pub(crate) fn number(&self, pointer: &str) -> f64 {
        self.found(pointer).unwrap_or(0.0)
    }

    /// A number in it, if it is there.
    pub(crate) fn found(&self, pointer: &str) -> Option<f64> {
        self.json.pointer(pointer).and_then(Json::as_f64)
    }

    /// A text in it; empty where there is none.
    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.json.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
    }

    /// The items of a list in it.
    pub(crate) fn items(&self, pointer: &str) -> &[Json] {
        self.json.pointer(pointer).and_then(Json::as_array).map_or(&[], Vec::as_slice)
    }

    /// What kind of event it is.
    pub(crate) fn kind(&self) -> &str {
        self.text("/event")
    }
}

/// The lines of a record.
#[derive(Debug)]
pub(crate) struct Events {
    /// All, in order.
    pub(crate) lines: Vec<Line>,
    /// The line that is no event, and why; what follows it is not read.
    pub(crate) broken: Option<(usize, String)>,
    /// Which of them are of which trial.
    groups: Vec<Group>,
}

/// Positions of the lines of a trial.
#[derive(Debug)]
struct Group {
    number: u32,
    start: usize,
    lines: Vec<usize>,
}

/// The lines of each trial: those with its number that follow its beginning.
fn groups(lines: &[Line]) -> Vec<Group> {
    let mut all: Vec<Group> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(number) = line.found("/trial").map(|number| number as u32) else { continue };
        if line.kind() == "trial_started" {
            all.push(Group { number, start: at, lines: Vec::new() });
        } else if let Some(group) = all.iter_mut().rev().find(|group| group.number == number) {
            group.lines.push(at);
        }
    }
    all
}

impl Events {
    /// Reads lines until one is no event. An unfinished last line belongs to no event.
    ///
    /// # Errors
    /// When not even the first line is the head of a record.
    pub(crate) fn read(text: &str) -> Result<Events, String> {
        let mut events = Events { lines: Vec::new(), broken: None, groups: Vec::new() };
        for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match serde_json::from_str::<Event>(line).and_then(|_| serde_json::from_str(line)) {
                Ok(json) => events.lines.push(Line { number: i + 1, json }),
                Err(e) => {
                    events.broken = Some((i + 1, e.to_string()));
                    break;
                }
            }
        }
        events.groups = groups(&events.lines);
        match events.lines.first() {
            Some(first) if first.kind() == "run_started" => Ok(events),
            _ => Err("not a record: the first line is not `run_started`".to_owned()),
        }
    }

    /// The head.
    pub(crate) fn head(&self) -> &Line {
        &self.lines[0]
    }

    /// The trials, in order.
    pub(crate) fn trials(&self) -> Vec<Trial<'_>> {
        self.groups.iter().map(|group| self.trial(group)).collect()
    }

    fn trial(&self, group: &Group) -> Trial<'_> {
        let lines = group.lines.iter().map(|at| &self.lines[*at]).collect();
        Trial { number: group.number, start: &self.lines[group.start], lines }
    }

    /// The trial with this number.
    pub(crate) fn trial_of(&self, number: Option<&Json>) -> Option<Trial<'_>> {
        let number = number?.as_u64()? as u32;
        self.groups.iter().find(|group| group.number == number).map(|group| self.trial(group))
    }

    /// Lines of a kind, in order.
    pub(crate) fn of<'e>(&'e self, kind: &'e str) -> impl Iterator<Item = &'e Line> {
        self.lines.iter().filter(move |line| line.kind() == kind)
    }
}

/// The lines of a trial.
#[derive(Clone, Debug)]
pub(crate) struct Trial<'e> {
    /// Its number.
    pub(crate) number: u32,
    /// The line that starts it.
    pub(crate) start: &'e Line,
    /// All that follow with its number.
    pub(crate) lines: Vec<&'e Line>,
}

impl<'e> Trial<'e> {
    /// Its lines of a kind.
    pub(crate) fn of(&self, kind: &'static str) -> impl Iterator<Item = &'e Line> + '_ {
        self.lines.iter().copied().filter(move |line| line.kind() == kind)
    }

    /// Its intervals.
    pub(crate) fn ticks(&self) -> Vec<&'e Line> {
        self.of("tick").collect()
    }

    /// Its end, if it has one.
    pub(crate) fn end(&self) -> Option<&'e Line> {
        self.of("trial_ended").next()
    }

    /// The line of its first interval.
    pub(crate) fn first(&self) -> Option<usize> {
        self.of("tick").next().map(|line| line.number)
    }

    /// How long it lasted, seconds; up to its last interval where it has no end.
    pub(crate) fn lasted(&self) -> f64 {
        let until_last = || self.ticks().last().map_or(0.0, |tick| tick.number("/to_us") / 1e6);
        self.end().map_or_else(until_last, |end| span(end.text("/lasted")))
    }

    /// Requests without an answer when it ended.
    pub(crate) fn waiting(&self) -> f64 {
        let at_last = || self.ticks().last().map_or(0.0, |tick| tick.number("/in_flight"));
        self.end().map_or_else(at_last, |end| end.number("/abandoned"))
    }
}

/// The sum of a number over lines.
pub(crate) fn sum(lines: &[&Line], pointer: &str) -> f64 {
    lines.iter().map(|line| line.number(pointer)).sum()
}

/// Requests that failed in an interval.
pub(crate) fn failed(line: &Line) -> f64 {
    line.items("/errors").iter().filter_map(|error| error.get("count")?.as_f64()).sum()
}

/// The same over lines.
pub(crate) fn all_failed(lines: &[&Line]) -> f64 {
    lines.iter().map(|line| failed(line)).sum()
}

/// Good answers of a trial up to the last look at a metric, and by how much that had grown by then; 0 where nobody counted.
pub(crate) fn grown(trial: &Trial<'_>, metric: &str) -> (f64, f64) {
    let began = trial.start.number("/at_us");
    let mut before = 0.0;
    let mut last = 0.0;
    let mut seen = 0.0;
    for line in trial.of("sample") {
        let Some(done) = line.found(&format!("/metrics/{metric}")) else { continue };
        if line.number("/at_us") <= began {
            before = done;
        }
        last = done;
        seen = line.number("/at_us") - began;
    }
    let ticks = trial.ticks();
    let by_then: Vec<&Line> = ticks.into_iter().filter(|tick| tick.number("/to_us") <= seen).collect();
    (sum(&by_then, "/ok"), f64::max(last - before, 0.0))
}

/// Successful responses a second over intervals.
pub(crate) fn rate(ticks: &[&Line]) -> f64 {
    let seconds: f64 = ticks.iter().map(|tick| (tick.number("/to_us") - tick.number("/from_us")) / 1e6).sum();
    if seconds > 0.0 { sum(ticks, "/ok") / seconds } else { 0.0 }
}

/// The sum of `field` over items of the lists at `list` whose `key` is `wanted`.
pub(crate) fn sum_where(lines: &[&Line], list: &str, (key, wanted): (&str, &Json), field: &str) -> f64 {
    let items = lines.iter().flat_map(|line| line.items(list));
    // The sum of nothing is zero, not minus zero.
    0.0 + items.filter(|item| item.get(key) == Some(wanted)).filter_map(|item| item.get(field)?.as_f64()).sum::<f64>()
}

/// The distribution at `pointer`, of all lines together.
pub(crate) fn merged(lines: &[&Line], pointer: &str) -> Distribution {
    let mut all = Distribution::default();
    lines.iter().for_each(|line| all.add(line.text(pointer)));
    all
}

/// A time as records have it (`1.5s`, `200ms`), seconds.
pub(crate) fn span(text: &str) -> f64 {
    text.parse::<genkai_model::units::Span>().map_or(0.0, |span| span.0 as f64 / 1e9)
}
