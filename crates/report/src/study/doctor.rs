//! What a machine holds.

use genkai_model::machine::{Checkup, Item, State};

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
        ("machine", format!("{}, {}", clean::line(&machine.os), clean::line(&machine.kernel))),
        ("holds", format!("{} idle connections, {each} in each process", figure::count(holds.all))),
    ];
    let facts = Block::facts(facts.into_iter().chain(asked.map(|asked| ("asked", asked))));
    let items = checkup.items.iter().map(|one| item(one, machine.root));
    Document::plain(String::new(), [Section::terminal("").with([facts])].into_iter().chain(items).collect())
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
