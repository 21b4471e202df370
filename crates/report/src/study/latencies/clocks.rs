//! What clients on other machines leave open: delays are between the server's clock and theirs.

use genkai_model::finding::RankedPair;
use genkai_model::finding::latencies::{CaseFinding, LatencyFinding, LatencyStanding, LatencyWorker};
use genkai_model::latencies::Case;
use genkai_model::load::Way;

use crate::document::{Block, Part, Section, Table};
use crate::study::machines;
use crate::{clean, figure};

/// ` on load1`; nothing for a process of this machine.
pub(super) fn at(place: Option<&str>) -> String {
    place.filter(|place| *place != Way::HERE).map_or_else(String::new, |place| format!(" on {}", clean::line(place)))
}

/// ` ± 0.1 ms`: by how much clocks may make a figure wrong, beside its interval.
pub(super) fn wrong(standing: &LatencyStanding) -> String {
    standing.clock_uncertainty.map_or_else(String::new, |one| format!(" ± {}", figure::seconds(one)))
}

/// `, clocks ± 0.1 ms`: the same behind an interval.
pub(super) fn beside(standing: &LatencyStanding) -> String {
    standing.clock_uncertainty.map_or_else(String::new, |one| format!(", clocks ± {}", figure::seconds(one)))
}

/// Behind the figures of a case.
pub(super) fn each(case: &CaseFinding) -> String {
    let worst = case.standings.iter().filter_map(|one| one.clock_uncertainty).reduce(f64::max);
    let text =
        |worst| format!("; each may be wrong by up to {} for the clocks of other machines", figure::seconds(worst));
    worst.map_or_else(String::new, text)
}

/// By how much the figures of two may have been moved against each other.
pub(super) fn between(pair: &RankedPair) -> String {
    pair.clock_uncertainty.map_or_else(|| "–".to_owned(), |both| format!("± {}", figure::seconds(both)))
}

/// What that means for a case.
pub(super) fn said(case: Case, uncertainty: f64, undecided: u32) -> String {
    let open = match undecided {
        0 => String::new(),
        1 => " One pair of servers that differs by its figures is not told apart for that.".to_owned(),
        many => format!(" {many} pairs of servers that differ by their figures are not told apart for that."),
    };
    format!(
        "{case}: delays are between the server's clock and those of other machines, which may make a figure wrong by up to {}.{open}",
        figure::seconds(uncertainty)
    )
}

/// The processes that had the clients, where there were several.
pub(super) fn processes(finding: &LatencyFinding) -> Option<Section> {
    let row = |(one, number): (&LatencyWorker, u32)| {
        let told = |seconds: Option<f64>, none: &str| seconds.map_or_else(|| none.to_owned(), figure::seconds);
        [
            format!("{number}, {}", whereabouts(one)),
            figure::count(one.clients.into()),
            told(one.clock_uncertainty, "the server's clock"),
            told(one.clock_drift, "–"),
            figure::percent(one.busy),
        ]
    };
    let head = ["process", "clients of each server", "its clock known to", "moved in a round by", "busiest round"];
    let compared = finding.processes.iter().any(|one| one.clock_uncertainty.is_some());
    let lead = match compared {
        true => {
            "Delays are told by the server's clock: that of each other machine was asked before every round and after it."
        }
        false => "Delays are told by the server's clock, which is that of every process.",
    };
    let table = Table::new("Processes", &head, finding.processes.iter().zip(1..).map(row)).figures();
    let section = Section::page(Part::Environment, "processes", "Where the clients were", lead);
    (!finding.processes.is_empty()).then(|| section.with(table.block()))
}

/// The same in short.
pub(super) fn in_short(finding: &LatencyFinding) -> Option<Section> {
    let one = |(one, number): (&LatencyWorker, u32)| {
        let clients = figure::plural(one.clients.into(), "client", "clients");
        let clock = match (one.clock_uncertainty, one.clock_drift) {
            (Some(known), Some(moved)) => format!(
                ", its clock known to {}, moved by up to {} in a round",
                figure::seconds(known),
                figure::seconds(moved)
            ),
            _ => String::new(),
        };
        let busy = figure::percent(one.busy);
        (
            "process",
            format!("{number} {}: {clients} of each server{clock}, busy {busy} of its busiest round", whereabouts(one)),
        )
    };
    let facts: Vec<_> = finding.processes.iter().zip(1..).map(one).collect();
    (!facts.is_empty()).then(|| Section::terminal("").and_markdown().with([Block::facts(facts)]))
}

fn whereabouts(one: &LatencyWorker) -> String {
    machines::on(one.place == Way::HERE, &one.place, one.node.as_deref())
}
