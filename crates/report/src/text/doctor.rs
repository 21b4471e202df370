//! What a machine holds, for a terminal.

use genkai_model::machine::{Checkup, State};

use super::Style;
use super::page::Page;
use crate::document::Tone;
use crate::{clean, figure};

/// What `genkai doctor` found.
pub fn doctor(checkup: &Checkup, style: Style) -> String {
    let mut page = Page::new(style);
    let (machine, holds) = (&checkup.machine, &checkup.holds);
    page.labelled("machine", &format!("{}, {}", clean::line(&machine.os), clean::line(&machine.kernel)));
    let each = figure::count(holds.one_process);
    page.labelled("holds", &format!("{} idle connections, {each} in each process", figure::count(holds.all)));
    if let Some(asked) = checkup.asked {
        let asked = figure::count(asked);
        match &checkup.flags {
            Some(flags) => page.labelled("asked", &format!("{asked} fit: genkai load ws://... {flags}")),
            None => page.labelled("asked", &format!("{asked} do not fit")),
        }
    }
    for item in &checkup.items {
        page.gap();
        let (tone, word) = match item.state {
            State::Good => (Tone::Plain, "good"),
            State::Low => (Tone::Doubtful, "low"),
            State::Bad => (Tone::Bad, "too low"),
        };
        page.paragraph(tone, &format!("{}: {} ({word})", item.name, clean::line(&item.value)));
        page.labelled("means", &item.means);
        if let Some(raise) = &item.raise {
            let root = if raise.root && !machine.root { " (as root)" } else { "" };
            page.labelled("raise", &format!("{}{root}", raise.command));
            page.labelled("changes", &raise.changes);
        }
    }
    page.finish()
}
