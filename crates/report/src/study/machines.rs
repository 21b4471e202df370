//! The machines that made the loads of a run: said in the same place of every report.

use genkai_model::finding::{ProcessFinding, WorkerFinding};
use genkai_model::load::Way;

use crate::document::{Block, Part, Section};
use crate::{clean, figure};

/// Processes that were the limit of a load, in sentences.
pub(super) fn limited(all: &[ProcessFinding]) -> Vec<String> {
    let bad = all.iter().zip(1..).filter(|(one, _)| one.saturated > 0);
    let each = bad.map(|(one, number)| {
        format!(
            "Process {number} {} was the limit of {} of {} that it had a part in: it had no processor time left, or sent late.",
            whereabouts(&one.worst),
            one.saturated,
            figure::plural(one.loads.into(), "load", "loads")
        )
    });
    each.collect()
}

/// How well each process began with the others, how well its clock is known, and how busy it was; nothing where one machine made the loads.
pub(super) fn sections(all: &[ProcessFinding]) -> Vec<Section> {
    // Who was lost does not tell when it began.
    let Some(last) = last_began(all.iter().map(|one| &one.worst)) else { return Vec::new() };
    let skew = format!("in each load all processes that ended it had begun at most {last} after its start");
    let each = all.iter().zip(1..).map(|(one, number)| {
        let loads = figure::plural(one.loads.into(), "load", "loads");
        format!("process {number} {}: {loads}, {}", whereabouts(&one.worst), figures(&one.worst, &OVER_ALL))
    });
    let lines: Vec<String> = std::iter::once(skew).chain(each).collect();
    let facts = || [Block::facts(lines.iter().map(|line| ("on", line.clone())))];
    let lead = "The worst over all loads of the run.";
    let page = Section::page(Part::Environment, "processes", "Where the loads were made", lead).with(facts());
    vec![page, Section::terminal("Load generator").and_markdown().with(facts())]
}

/// The same of one load, as many lines.
pub(super) fn of_load(all: &[WorkerFinding]) -> Vec<String> {
    let skew = last_began(all).map(|last| format!("all processes had begun at most {last} after the start"));
    let each = all
        .iter()
        .zip(1..)
        .map(|(one, number)| format!("process {number} {}: {}", whereabouts(one), figures(one, &OF_ONE)));
    skew.into_iter().chain(each).collect()
}

/// How long after the start the last had begun at most, by what is known of its clock.
fn last_began<'a>(all: impl IntoIterator<Item = &'a WorkerFinding>) -> Option<String> {
    let each = all.into_iter().filter_map(|one| Some(one.began? + one.clock_uncertainty.unwrap_or(0.0)));
    each.reduce(f64::max).map(figure::seconds)
}

/// Whether it ran on the machine that genkai was started on, whose clock needs no comparison.
fn is_here(one: &WorkerFinding) -> bool {
    one.clock_uncertainty.is_none() && one.place == Way::HERE
}

fn whereabouts(one: &WorkerFinding) -> String {
    on(is_here(one), &one.place, one.node.as_deref())
}

/// `on load1`; `on this machine`.
pub(super) fn on(is_here: bool, place: &str, node: Option<&str>) -> String {
    if is_here {
        return "on this machine".to_owned();
    }
    let node = node.map(|node| format!(" (node {})", clean::line(node)));
    format!("on {}{}", clean::line(place), node.unwrap_or_default())
}

/// Words of figures: of a process that was lost, before a figure, and how long a clock moved.
struct Words {
    lost: &'static str,
    up_to: &'static str,
    during: &'static str,
}

const OF_ONE: Words = Words { lost: "lost", up_to: "", during: "until the end" };
const OVER_ALL: Words = Words { lost: "lost in each", up_to: "up to ", during: "in a load" };

fn figures(one: &WorkerFinding, words: &Words) -> String {
    let Words { lost, up_to, during } = words;
    let Some(began) = one.began else { return (*lost).to_owned() };
    let mut text = format!("began {up_to}{} after the start", figure::seconds(began));
    match one.clock_uncertainty {
        Some(within) => text += &format!(" (its clock known to {})", figure::seconds(within)),
        None if is_here(one) => text += " (our clock)",
        None => {}
    }
    if let Some(drift) = one.clock_drift {
        text += &format!(", moved by {up_to}{} against ours {during}", figure::seconds(drift));
    }
    if let Some(busiest) = one.busiest {
        text += &format!(", busiest thread {} of a core", figure::percent(busiest));
    }
    if let Some(late) = one.late_p99 {
        text += &format!(", sent late: p99 {up_to}{}", figure::seconds(late));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_process_is_named_and_how_well_all_began_is_told() {
        let worst = |place: &str, clock: Option<f64>| WorkerFinding {
            place: place.to_owned(),
            node: None,
            clock_uncertainty: clock,
            clock_drift: clock.map(|_| 0.000_004),
            began: Some(0.001),
            busiest: Some(0.99),
            late_p99: None,
        };
        let one = |place, clock, saturated| ProcessFinding { worst: worst(place, clock), loads: 8, saturated };
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
        let lost = WorkerFinding { began: None, clock_drift: None, busiest: None, ..worst("load2", None) };
        assert_eq!(figures(&lost, &OVER_ALL), "lost in each", "nothing is said of a clock that nobody asked");
        let unasked = figures(&worst("load2", None), &OF_ONE);
        assert_eq!(unasked, "began 1 ms after the start, busiest thread 99 % of a core", "nor here");
        assert!(sections(&[]).is_empty() && limited(&[]).is_empty());
    }

    #[test]
    fn a_process_is_on_this_machine_or_on_a_host() {
        let one = |place: &str, clock: Option<f64>| WorkerFinding {
            place: place.to_owned(),
            node: place.starts_with("pod ").then(|| "n-2".to_owned()),
            clock_uncertainty: clock,
            clock_drift: None,
            began: None,
            busiest: None,
            late_p99: None,
        };
        let all = [
            one("here", None),
            one("load1", Some(0.1)),
            one("here", Some(0.1)),
            one("a\u{1b}", None),
            one("pod 1", Some(0.1)),
        ];
        let told = of_load(&all);
        let places = ["this machine", "load1", "here", "a·", "pod 1 (node n-2)"];
        let expected: Vec<String> = (1..).zip(places).map(|(n, at)| format!("process {n} on {at}: lost")).collect();
        assert_eq!(told, expected);
    }
}
