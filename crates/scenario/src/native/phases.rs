//! How much load, over time.

use genkai_model::load::Spacing;
use genkai_model::stage::{self, Stage, Unit};

use super::{span, whole};
use crate::builder::{Levels, MOST_RUNS};
use crate::fault::Fault;
use crate::yaml::Node;

pub(super) fn phases(root: &Node) -> Result<Levels, Fault> {
    let nodes = root.items("phases");
    let place = root.get("phases").map_or(root.place, |node| node.place);
    let (mut stages, mut unit, mut at) = (Vec::new(), None, 0.0);
    for node in nodes {
        let name = node.text("name").map(str::to_owned);
        let lasts = node.get("for").and_then(span);
        let of: Vec<&str> = ["users", "rate", "count", "pause"].into_iter().filter(|key| node.has(key)).collect();
        let [of] = of.as_slice() else {
            return Err(node.fault("a phase has one of users, rate, count, pause", "e.g. {users: 0..50, for: 10s}"));
        };
        let value = node.get(of).unwrap_or(node);
        let lasts = match (*of, lasts) {
            ("pause", None) => span(value).unwrap_or_default(),
            ("pause", Some(_)) => {
                return Err(node.fault("a pause already has its duration", "remove `for`"));
            }
            (_, Some(lasts)) => lasts,
            (_, None) => return Err(node.fault("a phase needs `for`", "e.g. for: 10s")),
        };
        let its = if *of == "users" { Unit::Users } else { Unit::Rate };
        if *of != "pause" && *unit.get_or_insert(its) != its {
            let what = "phases of users and phases of a rate cannot be mixed";
            return Err(node.fault(what, "split the file in two, or give all phases the same kind"));
        }
        let (from, to) = match *of {
            "pause" => (0.0, 0.0),
            "count" => {
                let rate = whole(value) as f64 / lasts.as_secs_f64().max(1e-9);
                (rate, rate)
            }
            _ => {
                let (_, from, to) = value.scalar().and_then(stage::levels).unwrap_or((None, Some(at), at));
                // A level alone is held: unlike on the command line, a phase says what it goes from.
                (from.unwrap_or(to), to)
            }
        };
        at = to;
        stages.push(Stage { lasts, from, to, name });
    }
    let spacing = match root.text("spacing") {
        Some("poisson") => Spacing::Poisson,
        _ => Spacing::Uniform,
    };
    let most = root.get("most").map_or(MOST_RUNS, |node| whole(node).min(u32::MAX.into()) as u32);
    Ok(Levels { stages, unit: unit.unwrap_or(Unit::Users), spacing, most, place })
}
