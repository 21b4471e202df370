//! The machines that made the loads of a run: said in the same place of every report.

use genkai_model::finding::ProcessFinding;
use genkai_model::load::Way;

use crate::document::{Block, Part, Section};
use crate::{clean, figure};

/// Processes that were the limit of a load, in sentences.
pub(super) fn limited(all: &[ProcessFinding]) -> Vec<String> {
    let bad = all.iter().zip(1..).filter(|(one, _)| one.saturated > 0);
    let each = bad.map(|(one, number)| {
        format!(
            "Process {number} {} was the limit of {} of {} that it had a part in: it had no processor time left, or sent late.",
            whereabouts(one),
            one.saturated,
            figure::plural(one.loads.into(), "load", "loads")
        )
    });
    each.collect()
}

/// How well each process began with the others, how well its clock is known, and how busy it was; nothing where one machine made the loads.
pub(super) fn sections(all: &[ProcessFinding]) -> Vec<Section> {
    let Some(last) =
        all.iter().filter_map(|one| Some(one.began? + one.clock_uncertainty.unwrap_or(0.0))).reduce(f64::max)
    else {
        return Vec::new();
    };
    // Who was lost does not tell when it began.
    let skew =
        format!("in each load all processes that ended it had begun at most {} after its start", figure::seconds(last));
    let each =
        all.iter().zip(1..).map(|(one, number)| format!("process {number} {}: {}", whereabouts(one), process(one)));
    let lines: Vec<String> = std::iter::once(skew).chain(each).collect();
    let facts = || [Block::facts(lines.iter().map(|line| ("on", line.clone())))];
    let lead = "The worst over all loads of the run.";
    let page = Section::page(Part::Environment, "processes", "Where the loads were made", lead).with(facts());
    vec![page, Section::terminal("Load generator").and_markdown().with(facts())]
}

/// Whether it ran on the machine that genkai was started on, whose clock needs no comparison.
fn is_here(one: &ProcessFinding) -> bool {
    one.clock_uncertainty.is_none() && one.place == Way::HERE
}

/// `on load1`; `on this machine`.
fn whereabouts(one: &ProcessFinding) -> String {
    if is_here(one) {
        return "on this machine".to_owned();
    }
    let node = one.node.as_deref().map(|node| format!(" (node {})", clean::line(node)));
    format!("on {}{}", clean::line(&one.place), node.unwrap_or_default())
}

fn process(one: &ProcessFinding) -> String {
    let mut text = figure::plural(one.loads.into(), "load", "loads");
    match one.began {
        Some(began) => text += &format!(", began up to {} after the start", figure::seconds(began)),
        None => text += ", lost in each",
    }
    match one.clock_uncertainty {
        Some(within) => text += &format!(" (its clock known to {})", figure::seconds(within)),
        None if is_here(one) => text += " (our clock)",
        None => {}
    }
    if let Some(drift) = one.clock_drift {
        text += &format!(", moved by up to {} against ours in a load", figure::seconds(drift));
    }
    if let Some(busiest) = one.busiest {
        text += &format!(", busiest thread {} of a core", figure::percent(busiest));
    }
    if let Some(late) = one.late_p99 {
        text += &format!(", sent late: p99 up to {}", figure::seconds(late));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_process_is_named_and_how_well_all_began_is_told() {
        let one = |place: &str, clock: Option<f64>, saturated| ProcessFinding {
            place: place.to_owned(),
            node: None,
            loads: 8,
            saturated,
            clock_uncertainty: clock,
            clock_drift: clock.map(|_| 0.000_004),
            began: Some(0.001),
            busiest: Some(0.99),
            late_p99: None,
        };
        let all = [one("here", None, 0), one("load1\u{1b}[2J", Some(0.000_5), 3)];
        assert_eq!(
            limited(&all),
            [
                "Process 2 on load1·[2J was the limit of 3 of 8 loads that it had a part in: it had no processor time left, or sent late."
            ]
        );
        let shown = serde_json::to_string(&sections(&all)).unwrap();
        for part in [
            "in each load all processes that ended it had begun at most 1.5 ms after its start",
            "process 1 on this machine: 8 loads, began up to 1 ms after the start (our clock), busiest thread 99 % of a core",
            "(its clock known to 500 µs), moved by up to 4 µs against ours in a load",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        let lost = ProcessFinding { began: None, clock_drift: None, busiest: None, ..one("load2", None, 0) };
        assert_eq!(process(&lost), "8 loads, lost in each", "nothing is said of a clock that nobody asked");
        assert!(sections(&[]).is_empty() && limited(&[]).is_empty());
    }
}
