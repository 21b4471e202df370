//! What a machine holds.

use genkai_model::machine::{Checkup, Item, Machine, PlaceCheckup, PlacesCheckup, State};

use crate::document::{Block, Document, Section, Tone};
use crate::{clean, figure};

/// What `genkai doctor` found.
pub fn doctor(checkup: &Checkup) -> Document {
    let (machine, holds) = (&checkup.machine, &checkup.holds);
    let each = figure::count(holds.one_process);
    let asked = checkup.asked.map(|asked| match &checkup.flags {
        Some(flags) => format!(
            "{} fit, if the server may open as many descriptors: genkai load ws://... {flags}",
            figure::count(asked)
        ),
        None => format!("{} do not fit", figure::count(asked)),
    });
    let facts = [
        ("machine", what(machine)),
        ("holds", format!("{} idle connections, {each} in each process", figure::count(holds.all))),
    ];
    let facts = Block::facts(facts.into_iter().chain(asked.map(|asked| ("asked", asked))));
    let items = checkup.items.iter().map(|one| item(one, machine.root));
    Document::plain(String::new(), [Section::terminal("").with([facts])].into_iter().chain(items).collect())
}

/// What `genkai doctor --on` found.
pub fn places(checkup: &PlacesCheckup) -> Document {
    let asked = checkup.asked.map(|asked| {
        let fits = if checkup.good { "fit" } else { "do not fit" };
        ("asked", format!("{} {fits}", figure::count(asked)))
    });
    let holds = format!("{} idle connections to one destination, by all of them", figure::count(checkup.holds));
    let facts = Block::facts([("holds", holds)].into_iter().chain(asked));
    let each = checkup.places.iter().map(place);
    Document::plain(String::new(), [Section::terminal("").with([facts])].into_iter().chain(each).collect())
}

/// Its system and kernel. An image need not say what it is of.
fn what(machine: &Machine) -> String {
    let all = [clean::line(&machine.os), clean::line(&machine.kernel)];
    all.into_iter().filter(|one| !one.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The memory that there is for connections: what is available, or what the control group allows where that is less.
fn memory(machine: &Machine) -> String {
    match machine.memory_limit.filter(|limit| *limit < machine.available) {
        Some(limit) => format!("{} of memory (control group)", figure::bytes(limit as f64)),
        None => format!("{} of memory available", figure::bytes(machine.available as f64)),
    }
}

fn place(one: &PlaceCheckup) -> Section {
    let (machine, holds) = (&one.machine, &one.holds);
    let word = if one.good { "good" } else { "too low" };
    let name = format!(
        "{}: {} ({word})",
        clean::line(&one.place),
        figure::plural(one.processes.into(), "process", "processes")
    );
    let quota = machine.cpu_quota.map(|quota| format!(" (control group {quota})")).unwrap_or_default();
    let cores = figure::plural(machine.cores.into(), "core", "cores");
    let has = format!("{cores}{quota}, {}", memory(machine));
    let tracked =
        holds.conntrack.map(|free| format!(", {} by the firewall's table", figure::count(free))).unwrap_or_default();
    let by = format!(
        "{} connections: {} by descriptors ({} each process), {} by local ports ({}-{}), {} by memory, {} by open files{tracked}",
        figure::count(holds.all),
        figure::count(holds.descriptors),
        figure::count(machine.descriptors_hard),
        figure::count(holds.ports),
        machine.ports.0,
        machine.ports.1,
        figure::count(holds.memory),
        figure::count(holds.files),
    );
    let part = one.part.map(|part| ("its part", format!("{} connections", figure::count(part))));
    let facts = [("machine", what(machine)), ("has", has), ("holds", by)].into_iter().chain(part);
    Section::terminal("")
        .with([Block::toned(if one.good { Tone::Plain } else { Tone::Bad }, name), Block::facts(facts)])
}

fn item(item: &Item, is_root: bool) -> Section {
    let (tone, word) = match item.state {
        State::Good => (Tone::Plain, "good"),
        State::Low => (Tone::Doubtful, "low"),
        State::Bad => (Tone::Bad, "too low"),
    };
    let raise = item.raise.iter().flat_map(|raise| {
        let root = if raise.root && !is_root { " (as root)" } else { "" };
        [("raise", format!("{}{root}", raise.command)), ("changes", raise.changes.clone())]
    });
    let facts = [("means", item.means.clone())].into_iter().chain(raise);
    let name = format!("{}: {} ({word})", item.name, clean::line(&item.value));
    Section::terminal("").with([Block::toned(tone, name), Block::facts(facts)])
}
