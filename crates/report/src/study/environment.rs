//! Where and how a run was made: what is needed to judge its figures, and to run it again.

use genkai_model::event::{Environment, Event, Rewrite, RunStarted, What};
use genkai_model::load::{Load, Reuse};
use genkai_model::record::Record;

use crate::document::{Block, Cell, Line, Mark, Part, Section, Style, Table};
use crate::{clean, figure, words};

/// What is told of a plan beside the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Versions and the one load with its objective.
    Load,
    /// Versions only: there were several loads.
    Versions,
    /// Nothing: the study says it all.
    Nothing,
}

/// The section of a record; none where the record has no head.
pub(super) fn of(record: &Record, asked: Asked) -> Option<Section> {
    let notes = record.remarks.iter().filter_map(note).map(clean::whole).collect();
    record.head.as_ref().map(|head| section(head, notes, asked))
}

/// The section: the command, the machine, what the run noted, and what the private copy differs in.
pub(super) fn section(head: &RunStarted, notes: Vec<String>, asked: Asked) -> Section {
    let lead = "What is needed to judge the figures, and to run it again.";
    let command = Line { mark: Mark::None, text: shell(&head.command) };
    let command = Block::Code { label: "Command line".to_owned(), lines: vec![command] };
    let copy = rewritten(&head.rewrites)
        .block()
        .map(|table| [Block::heading("Changed in the private copy, so that it runs beside the real one"), table]);
    let section = Section::page(Part::Environment, "environment", "Environment", lead);
    section.with([command, Block::facts(facts(head, asked))]).with(Block::notes(notes)).with(copy.into_iter().flatten())
}

fn note(event: &Event) -> Option<&str> {
    if let What::Note(note) = &event.what { Some(&note.text) } else { None }
}

fn facts(head: &RunStarted, asked: Asked) -> Vec<(&'static str, String)> {
    let environment = &head.environment;
    let mut all = vec![("Started", figure::date(&head.started))];
    if asked == Asked::Load {
        all.push(("Must hold", head.plan.objective.to_string()));
        all.extend(load(&head.plan.load));
    }
    if asked != Asked::Nothing {
        all.push(("Versions", versions(environment)));
    }
    all.extend(machine(environment));
    all
}

fn load(load: &Load) -> [(&'static str, String); 2] {
    let request = &load.request;
    let kept = if load.reuse == Reuse::KeepAlive { "kept alive" } else { "a new one for each request" };
    let text = match &load.scenario {
        Some(scenario) => format!("those of the scenario ({}), timeout {}", scenario.names.join(", "), load.timeout),
        None => format!("{} {} (Host: {}), timeout {}", request.method, request.path, request.host, load.timeout),
    };
    let label = if load.scenario.is_some() { "Requests" } else { "Request" };
    [(label, clean::line(&text)), ("Connections", kept.to_owned())]
}

fn versions(environment: &Environment) -> String {
    let all: Vec<String> = environment.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
    if all.is_empty() { "none recorded".to_owned() } else { clean::line(&all.join(", ")) }
}

fn machine(environment: &Environment) -> [(&'static str, String); 4] {
    let cores = words::cores(environment);
    let (low, high) = environment.ports;
    let descriptors = figure::count(environment.descriptors);
    let backlog = figure::count(environment.somaxconn.into());
    [
        ("System", clean::line(&format!("{}, {}", environment.os, environment.kernel))),
        (
            "Processor",
            clean::line(&format!("{}, {cores}; {}", environment.cpu, words::pinning(environment.pinning.as_ref()))),
        ),
        ("Memory", figure::bytes(environment.memory as f64)),
        ("Limits", format!("{descriptors} descriptors, local ports {low}–{high}, somaxconn {backlog}")),
    ]
}

/// The command line as one would type it.
fn shell(command: &[String]) -> String {
    let plain =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c));
    let quoted = |word: &String| if plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) };
    command.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// What a private copy differs in from the user's files.
pub(super) fn rewritten(rewrites: &[Rewrite]) -> Table {
    let row = |one: &Rewrite| [&one.place, &one.from, &one.to].map(|text| Cell::styled(Style::Code, clean::line(text)));
    Table::new("Changed in the private copy", &["place", "yours", "as it ran"], rewrites.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_typed_again() {
        let words = ["genkai", "tune", "--title", "it's a test", ""].map(str::to_owned);
        assert_eq!(shell(&words), "genkai tune --title 'it'\\''s a test' ''");
    }
}
