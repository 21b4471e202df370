//! A pool of workers that answered no more a second when all of it was busy than when less than half of it was, put down plainly once more.

use genkai_model::limit::{Law, Limit};
use serde_json::{Value as Json, json};

use crate::events::{Line, all_failed, merged, rate, sum};
use crate::instants::before;

/// That more of it would not have answered more; of a limit that nobody can try. `certain` is in microseconds.
pub(crate) fn no_faster(limit: &Limit, ticks: &[&Line], certain: f64) -> Option<Json> {
    let Law::Workers { workers, .. } = limit.law else { return None };
    let ticks = before(ticks, certain as u64);
    let busy = |least: f64| ticks.iter().position(|tick| tick.number("/in_flight") >= least);
    let (half, full) = (busy(workers / 2.0)?, busy(workers)?);
    let mut few: Vec<&Line> = Vec::new();
    for tick in ticks[..half].iter().rev() {
        few.push(tick);
        if is_enough(&few) {
            break;
        }
    }
    let all: Vec<&Line> =
        ticks[full + 1..].iter().copied().take_while(|tick| tick.number("/in_flight") >= workers).collect();
    let ended = sum(&all, "/ok") + all_failed(&all);
    let told = limit.remedy.is_none() && is_enough(&few) && is_enough(&all);
    if !told || all_failed(&few) > 0.0 || all_failed(&all) > 0.01 * ended {
        return None;
    }
    let times = merged(&few, "/service");
    let (mean, deviation) = times.moments();
    let answers = times.count() as f64;
    let at_once = mean * answers / lasted(&few);
    let [slow, fast] = [rate(&few), rate(&all)];
    let each = workers / fast;
    let flat = at_once <= workers / 2.0 && slow >= 0.8 * fast && mean + 2.0 * deviation / answers.sqrt() <= 0.75 * each;
    flat.then(|| json!({ "evidence": "no_faster", "few": at_once, "rate": slow, "most": workers, "full": fast }))
}

fn lasted(ticks: &[&Line]) -> f64 {
    ticks.iter().map(|tick| (tick.number("/to_us") - tick.number("/from_us")) / 1e6).sum()
}

/// Ten answers and a second.
fn is_enough(ticks: &[&Line]) -> bool {
    sum(ticks, "/ok") >= 10.0 && lasted(ticks) >= 0.99
}
