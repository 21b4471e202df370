//! A load that changes its level: stages, one after the other.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Span, UnitError};

/// A part of a load in which its level (users, or arrivals a second) changes evenly. Equal ends hold it; zero is a pause;
/// where a stage does not begin at the level at which the one before ended, the level jumps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stage {
    /// How long it lasts.
    pub lasts: Span,
    /// Level at its beginning.
    pub from: f64,
    /// Level at its end.
    pub to: f64,
    /// What people call it, e.g. `warm up`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Most stages of a load.
pub const MOST_STAGES: usize = 1_000;

/// What a level counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Users (closed model).
    Users,
    /// Arrivals a second (open model).
    Rate,
}

/// Stages as people write them: `10s:0..500, 30s:500, 5s:2000..2000, 10s:0`. Each is `TIME:LEVEL`, which goes evenly from
/// where the stage before ended to the level, as k6 has it; or `TIME:FROM..TO`; or `TIME:pause`. Levels with `/s` are
/// arrivals a second, others users.
#[derive(Clone, Debug, PartialEq)]
pub struct Stages {
    /// What their levels count.
    pub unit: Unit,
    /// The stages; at least one lasts longer than zero, and at least one level is above it.
    pub stages: Vec<Stage>,
}

impl Stage {
    /// Whether nothing is planned in it.
    pub fn is_pause(&self) -> bool {
        self.from == 0.0 && self.to == 0.0
    }
}

/// The highest level of `stages`.
pub fn peak(stages: &[Stage]) -> f64 {
    stages.iter().flat_map(|stage| [stage.from, stage.to]).fold(0.0, f64::max)
}

/// How long `stages` last together.
pub fn lasting(stages: &[Stage]) -> Span {
    Span(stages.iter().fold(0, |sum, stage| sum.saturating_add(stage.lasts.0)))
}

/// A level as people write it, whether it is a rate, and what it is.
fn level(text: &str) -> Option<(bool, f64)> {
    let (number, rate) = text.strip_suffix("/s").map_or((text, false), |number| (number, true));
    let number: f64 = number.trim().parse().ok()?;
    (0.0..=1e7).contains(&number).then_some((rate, number))
}

/// The levels of a stage as people write them: their unit (none where zero or a pause leaves it open), the first (none: where
/// the stage before ended), the last.
pub fn levels(text: &str) -> Option<(Option<Unit>, Option<f64>, f64)> {
    if text.trim() == "pause" {
        return Some((None, Some(0.0), 0.0));
    }
    let (from, to) = match text.trim().split_once("..") {
        None => (None, text.trim()),
        Some((from, to)) => (Some(from.trim()), to.trim()),
    };
    let (rate, to) = level(to)?;
    let from = match from {
        None => None,
        Some(from) => Some(level(from.strip_suffix("/s").unwrap_or(from)).map(|(_, from)| from)?),
    };
    let unit = match from.unwrap_or_default().max(to) {
        _ if rate => Some(Unit::Rate),
        0.0 => None,
        _ => Some(Unit::Users),
    };
    Some((unit, from, to))
}

impl FromStr for Stages {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Stages, UnitError> {
        let bad = |seen: &str| UnitError {
            seen: seen.trim().to_owned(),
            what: "list of stages",
            example: "\"10s:0..500, 30s:500, 10s:0\" (users), \"30s:0..100/s\" (a rate) or \"5s:pause\"",
        };
        let (mut unit, mut stages, mut at) = (None, Vec::new(), 0.0);
        for part in text.split(',') {
            let (lasts, rest) = part.split_once(':').ok_or_else(|| bad(part))?;
            let lasts: Span = lasts.parse().map_err(|_| bad(part))?;
            let (its, from, to) = levels(rest).ok_or_else(|| bad(part))?;
            if its.is_some() && unit.is_some() && its != unit {
                return Err(bad(text));
            }
            unit = unit.or(its);
            stages.push(Stage { lasts, from: from.unwrap_or(at), to, name: None });
            at = to;
        }
        let unit = unit.unwrap_or(Unit::Users);
        if unit == Unit::Users && stages.iter().any(|stage: &Stage| stage.from.fract() + stage.to.fract() != 0.0) {
            return Err(bad(text));
        }
        let nothing = lasting(&stages).0 == 0 || peak(&stages) == 0.0 || stages.len() > MOST_STAGES;
        if nothing { Err(bad(text)) } else { Ok(Stages { unit, stages }) }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "{name} ")?;
        }
        match self {
            _ if self.is_pause() => write!(f, "{}:pause", self.lasts),
            Stage { lasts, from, to, .. } => write!(f, "{lasts}:{from}..{to}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Vec<(u64, f64, f64)> {
        let stages: Stages = text.parse().unwrap_or_else(|e| panic!("{e}"));
        stages.stages.iter().map(|s| (s.lasts.0 / 1_000_000_000, s.from, s.to)).collect()
    }

    #[test]
    fn a_level_is_reached_from_where_the_last_stage_ended() {
        let expected = [(10, 0.0, 500.0), (30, 500.0, 500.0), (5, 2000.0, 2000.0), (2, 0.0, 0.0), (10, 0.0, 7.0)];
        assert_eq!(read("10s:500, 30s:500,5s:2000..2000,2s:pause, 10s:7"), expected);
        let rate: Stages = "10s:0.5/s, 1m:1..20/s, 5s:pause".parse().unwrap();
        assert_eq!(rate.unit, Unit::Rate);
        assert_eq!((peak(&rate.stages), lasting(&rate.stages)), (20.0, Span::from_secs(75)));
    }

    #[test]
    fn nonsense_is_refused_with_an_example() {
        for bad in ["", "10s", "10s:", "x:5", "10s:-1", "10s:0.5", "10s:5,5s:5/s", "10s:0", "0s:5", "10s:1..", "1s:inf"]
        {
            let error = bad.parse::<Stages>().unwrap_err().to_string();
            assert!(error.contains("30s:500"), "{bad}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read(parts in proptest::collection::vec((1u64..90, 0u32..500, 0u32..500), 1..9)) {
            let stages: Vec<Stage> = parts.into_iter().map(|(seconds, from, to)| {
                Stage { lasts: Span::from_secs(seconds), from: from.into(), to: to.into(), name: None }
            }).collect();
            prop_assume!(peak(&stages) > 0.0);
            let shown: Vec<String> = stages.iter().map(Stage::to_string).collect();
            prop_assert_eq!(shown.join(", ").parse::<Stages>().unwrap().stages, stages);
        }

        #[test]
        fn no_text_panics(text in "[0-9smh:., /pause]{0,24}") {
            let _ = text.parse::<Stages>();
        }
    }
}
