//! Requests that had waited for too long when a load ended.

use crate::asked::Asked;
use crate::events::Line;
use crate::scan;

/// Of errors: requests that had waited for longer than is patient while the load was held, when it ended; none where nobody noted it.
pub(crate) fn of(ticks: &[&Line], asked: &Asked) -> f64 {
    let noted = ticks.last().is_some_and(|tick| tick.json.get("waiting").is_some_and(serde_json::Value::is_object));
    if noted { scan::left(ticks, asked).0 } else { 0.0 }
}
