//! Whether the good answers of a trial are much longer or shorter in the end than at first, from its intervals.

use genkai_model::load::{Load, Protocol};
use serde_json::{Value as Json, json};

use crate::events::{Line, Trial, failed, sum};

/// What the first, or the last, intervals have.
#[derive(Default)]
struct Sum {
    good: f64,
    bad: f64,
    bytes: f64,
    under_way: f64,
    level: f64,
}

impl Sum {
    fn add(&mut self, tick: &Line) {
        self.good += tick.number("/ok");
        self.bad += failed(tick);
        self.bytes += tick.number("/bytes_in");
        self.under_way = self.under_way.max(tick.number("/in_flight"));
    }

    /// Enough answers, and four for each that is under way: part of whose bytes may be here and not the rest.
    fn has(&self, least: f64, before: f64) -> bool {
        self.good >= least && self.good >= 4.0 * self.under_way.max(before)
    }

    /// Bytes of an answer, unless more than one in a hundred failed.
    fn each(&self) -> Option<f64> {
        let all = self.good + self.bad;
        (self.bad <= 0.01 * all && self.bytes > 0.0).then(|| self.bytes / all)
    }

    fn told(&self) -> Json {
        json!({ "count": self.good, "bytes": self.each(), "level": self.level })
    }
}

/// The caveat that they are, of a trial that held.
pub(crate) fn answers(trial: &Trial<'_>) -> Option<Json> {
    let load: Load = serde_json::from_value(trial.start.json.get("load")?.clone()).ok()?;
    if load.scenario.is_some() || load.locust.is_some() || load.pages.is_some() || load.protocol != Protocol::Http1 {
        return None;
    }
    let ticks = trial.ticks();
    let (mut first, mut used) = (Sum::default(), 0);
    for tick in &ticks {
        first.add(tick);
        first.level = tick.number("/level");
        used += 1;
        if first.has(50.0, 0.0) {
            break;
        }
    }
    let least = (sum(&ticks, "/ok") / 10.0).floor().max(50.0);
    let mut last = Sum { level: ticks.last()?.number("/level"), ..Sum::default() };
    let mut whole = false;
    for n in (used..ticks.len()).rev() {
        last.add(ticks[n]);
        whole = last.has(least, ticks[n - 1].number("/in_flight"));
        if whole {
            break;
        }
    }
    let (a, b) = (first.each()?, last.each()?);
    let unlike = whole && first.has(50.0, 0.0) && (a > 2.0 * b || b > 2.0 * a);
    unlike.then(
        || json!({ "caveat": "answers_changed", "trial": trial.number, "first": first.told(), "last": last.told() }),
    )
}
