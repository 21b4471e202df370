//! When passes had settled.

use genkai_model::finding::cache::Settling;
use genkai_model::record::Trial;

use crate::statistics::{self, ALPHA};
use crate::steady::{self, Steady};
use crate::window::{Tally, US};

/// Of all passes of a contender, cold or warm.
pub(super) fn of<'t>(trials: impl Iterator<Item = &'t Trial>) -> Settling {
    let mut found = Settling::default();
    let (mut afters, mut rates) = (Vec::new(), Vec::new());
    for trial in trials {
        match steady::of(&trial.ticks) {
            Steady::From(at) => {
                found.settled += 1;
                afters.push(since(trial, at));
                rates.push(Tally::of(&trial.ticks[at..]).rate());
            }
            Steady::Never => found.never += 1,
            Steady::TooShort => found.short += 1,
        }
    }
    afters.sort_by(f64::total_cmp);
    Settling { after: afters.get(afters.len() / 2).copied(), rate: statistics::geometric(&rates, ALPHA), ..found }
}

/// Seconds until a load had settled; none: it never did, or was too short to tell.
pub(super) fn after(trial: &Trial) -> Option<f64> {
    match steady::of(&trial.ticks) {
        Steady::From(at) => Some(since(trial, at)),
        Steady::Never | Steady::TooShort => None,
    }
}

fn since(trial: &Trial, at: usize) -> f64 {
    trial.ticks.get(at).map_or(0.0, |tick| tick.from_us as f64 / US)
}
