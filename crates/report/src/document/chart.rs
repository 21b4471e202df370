//! Drawings: data, and every word around them.

use genkai_model::finding::Estimate;
use schemars::JsonSchema;
use serde::Serialize;

use super::table::Table;

/// A drawing without axes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "drawing", rename_all = "snake_case")]
pub enum Drawing {
    /// Figures with their intervals on one scale.
    Intervals {
        /// Whose they are.
        entries: Vec<Entry>,
    },
    /// What a change does to each figure, as factors.
    Effects {
        /// Within this of no effect nothing matters, as a fraction.
        margin: f64,
        /// The same in words.
        label: String,
        /// A row a figure.
        rows: Vec<Factor>,
    },
    /// Limits on one axis of clients.
    Tracks(Tracks),
    /// Gauges over time.
    Sparks {
        /// What there is.
        summary: String,
        /// Where the axis ends, seconds.
        last: f64,
        /// When it broke, seconds.
        broke: Option<f64>,
        /// One each.
        sparks: Vec<Spark>,
    },
    /// Rooms as cells.
    Rooms {
        /// The same in words.
        label: String,
        /// One a room.
        rooms: Vec<Room>,
        /// What the shades stand for, where they occur.
        legend: Vec<(u8, String)>,
    },
    /// The way of messages.
    Way {
        /// The same in words.
        label: String,
        /// In order.
        stations: Vec<Station>,
    },
}

impl Drawing {
    /// Figures with their intervals; none where nothing is known.
    pub fn intervals(entries: Vec<Entry>) -> Drawing {
        Drawing::Intervals { entries }
    }
}

/// Somebody's figures.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Entry {
    /// Who.
    pub name: String,
    /// One or two.
    pub marks: Vec<Interval>,
}

/// A figure with its interval.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Interval {
    /// None: it is not known.
    pub estimate: Option<Estimate>,
    /// Hollow for before and cold, filled for after and warm: they differ without colour.
    pub filled: bool,
    /// The figure in words.
    pub value: String,
}

impl Interval {
    /// A figure with its words.
    pub fn new(estimate: Option<Estimate>, filled: bool, value: String) -> Interval {
        Interval { estimate, filled, value }
    }
}

/// An effect on one figure.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Factor {
    /// What the figure is called.
    pub name: String,
    /// The factor.
    pub ratio: Estimate,
    /// What it means: `better`, `worse`, `same`, `cannot_tell`.
    pub call: String,
}

/// Limits on an axis of clients, and others beneath.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Tracks {
    /// The load asked for, where it is counted in clients.
    pub asked: Option<f64>,
    /// What the signs stand for.
    pub key: Option<TracksKey>,
    /// The limits.
    pub rows: Vec<LimitRow>,
    /// What the others are.
    pub more: Option<String>,
    /// The others, folded.
    pub others: Vec<LimitRow>,
}

/// What the signs of [`Tracks`] stand for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TracksKey {
    /// The bar.
    pub predicted: String,
    /// The diamond.
    pub seen: String,
    /// The line, where there is one.
    pub asked: Option<String>,
    /// The arrow.
    pub beyond: String,
}

/// A limit.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct LimitRow {
    /// Whose it is.
    pub subject: String,
    /// The setting with its value.
    pub setting: String,
    /// Whether it is what follows once the limit above is lifted.
    pub lifted: bool,
    /// Where it is predicted, in words.
    pub predicted: String,
    /// Where it was seen, in words.
    pub seen: String,
    /// Whether it was seen.
    pub met: bool,
    /// Whether the load reaches it.
    pub near: bool,
    /// The predicted range, clients.
    pub range: Option<(f64, f64)>,
    /// Where it was seen, clients.
    pub at: Option<f64>,
    /// How it is computed, or what it caps.
    pub notes: Vec<String>,
    /// What speaks for it.
    pub evidence: Vec<String>,
}

/// A gauge over time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Spark {
    /// Its name in the record.
    pub metric: String,
    /// Whose it is.
    pub subject: String,
    /// What it is called.
    pub name: String,
    /// What it did.
    pub words: String,
    /// Seconds and value.
    pub points: Vec<(f64, f64)>,
}

/// A room's score.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Room {
    /// How much is missing, in steps: 0 nothing, 4 most.
    pub step: u8,
    /// In words.
    pub title: String,
}

/// A station on the way of messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Station {
    /// What happens there.
    pub name: String,
    /// What passed it.
    pub count: String,
    /// What is counted.
    pub unit: String,
    /// What was lost before it or in it; none: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

/// A chart with axes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// The same for who cannot see it.
    pub description: String,
    /// Its numbers.
    pub numbers: Table,
    /// What is drawn.
    pub plot: Plot,
}

/// What a chart draws.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "plot", rename_all = "snake_case")]
pub enum Plot {
    /// From round to round, a line a contender.
    Trend(Trend),
    /// A figure of each of a few cases.
    Steps(Steps),
    /// Over time.
    Time(Time),
}

/// A figure from round to round.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Trend {
    /// What is counted along the axis: `round`.
    pub step: String,
    /// The last of them.
    pub last: f64,
    /// Of the values.
    pub unit: String,
    /// A line a contender.
    pub lines: Vec<Series>,
}

/// A contender's line.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Series {
    /// Whose it is.
    pub name: String,
    /// Its place in the legend.
    pub tone: usize,
    /// Step and value; none where there was no answer.
    pub points: Vec<(f64, Option<f64>)>,
    /// Rings around points: step, value, and what they stand for in the same unit.
    pub rings: Vec<(f64, f64, f64)>,
}

/// A figure of each of a few cases.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Steps {
    /// What the cases are.
    pub x: String,
    /// What the figure is.
    pub y: String,
    /// Where its axis ends.
    pub most: Option<f64>,
    /// One a case.
    pub points: Vec<StepPoint>,
}

/// A point of [`Steps`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StepPoint {
    /// The case.
    pub x: String,
    /// The figure.
    pub y: f64,
    /// Whether that is as it should be.
    pub good: bool,
    /// What stands beside it.
    pub label: Option<String>,
}

/// Lines over time, log lines beneath.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Time {
    /// Where the axis ends, seconds.
    pub last: f64,
    /// One above the other.
    pub panes: Vec<Pane>,
    /// Log lines by what they say.
    pub lanes: Vec<Lane>,
    /// Something that happened at one moment.
    pub mark: Option<When>,
    /// Whether there is a legend.
    pub legend: bool,
}

/// A drawing area of a time chart.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Pane {
    /// Its height, pixels, where there is room, and where it is narrow.
    pub height: (u32, u32),
    /// The axis on the left, and one on the right where there is another.
    pub axes: Vec<Axis>,
    /// The lines.
    pub traces: Vec<Trace>,
}

/// A value axis.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Axis {
    /// What it measures.
    pub name: String,
    /// Where it ends, if that is fixed.
    pub most: Option<f64>,
    /// How many steps it has.
    pub steps: u8,
}

/// A line of a time chart.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Trace {
    /// Its name.
    pub name: String,
    /// Its colour, by name.
    pub tone: String,
    /// How it is drawn.
    pub dash: Dash,
    /// Which axis of its pane it belongs to: 0 left, 1 right.
    pub axis: usize,
    /// How dark the area beneath is; 0: none.
    pub area: f64,
    /// Whether values hold for a whole interval.
    pub stepped: bool,
    /// What follows a value beside the pointer.
    pub unit: String,
    /// Seconds and value.
    pub points: Vec<(f64, Option<f64>)>,
}

impl Trace {
    /// A plain line on the left axis, without a unit.
    pub fn new(name: &str, tone: &str, dash: Dash, points: Vec<(f64, Option<f64>)>) -> Trace {
        let (name, tone) = (name.to_owned(), tone.to_owned());
        Trace { name, tone, dash, axis: 0, area: 0.0, stepped: false, unit: String::new(), points }
    }
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dash {
    /// Unbroken.
    Solid,
    /// Long dashes.
    Dashed,
    /// Dots.
    Dotted,
    /// Fine dots, thinner.
    Fine,
}

/// Log lines that say the same.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Lane {
    /// Who wrote them, and how severe they are.
    pub name: String,
    /// The severity.
    pub level: String,
    /// When they came.
    pub marks: Vec<LaneMark>,
}

/// Log lines of one moment.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LaneMark {
    /// When, seconds.
    pub at: f64,
    /// How many.
    pub count: u64,
    /// What they say.
    pub text: String,
}

/// A moment with its words.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct When {
    /// Seconds.
    pub at: f64,
    /// What happened.
    pub words: String,
}
