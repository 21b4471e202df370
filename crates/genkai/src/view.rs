//! What the user's terminal can show, and the live view that suits it. The view never chooses what is measured.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::{AnsiColor, Style as Ansi};
use genkai_engine::StopFlag;
use genkai_model::event::Event;
use genkai_model::plan::Study;
use genkai_report::document::Document;
use genkai_report::live::{Lines, Screen, guard_panics, terminal_size};
use genkai_report::text::{self, Style};

use crate::cli::Colour;
use crate::keys::{self, Keys};

/// Columns when no terminal says otherwise.
const WIDTH: usize = 80;

/// Style of text on stdout.
pub(crate) fn stdout_style(colour: Colour) -> Style {
    let terminal = io::stdout().is_terminal();
    Style { color: coloured(colour, terminal), width: if terminal { width() } else { WIDTH } }
}

fn coloured(colour: Colour, terminal: bool) -> bool {
    match colour {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => terminal && !forbidden(),
    }
}

/// NO_COLOR (<https://no-color.org>: set and not empty) or a terminal without any ability.
fn forbidden() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty()) || dumb()
}

fn dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|t| t == "dumb")
}

fn width() -> usize {
    usize::from(terminal_size().0).clamp(20, 120)
}

/// The live view of a run.
pub(crate) enum View {
    /// A screen that is drawn again and again, and the keys that change it.
    Screen(Box<Screen<io::Stderr>>, Option<Keys>),
    /// Plain lines.
    Lines(Box<Lines<io::Stderr>>),
    /// Nothing.
    Quiet,
}

impl View {
    /// What suits a study, and stderr. A key can set `stop`.
    pub(crate) fn of(study: &Study, quiet: bool, colour: Colour, stop: &StopFlag) -> View {
        match study {
            Study::Latencies(_) | Study::Cache(_) => View::plain(quiet),
            _ => View::choose(quiet, colour, stop),
        }
    }

    /// What suits stderr.
    fn choose(quiet: bool, colour: Colour, stop: &StopFlag) -> View {
        if quiet {
            return View::Quiet;
        }
        if io::stderr().is_terminal() && !dumb() {
            guard_panics(keys::restore);
            let screen = Screen::new(io::stderr(), coloured(colour, true), terminal_size);
            return View::Screen(Box::new(screen), Keys::listen(stop));
        }
        View::Lines(Box::new(Lines::new(io::stderr())))
    }

    /// Plain lines, for what has no figures to draw while it runs.
    pub(crate) fn plain(quiet: bool) -> View {
        if quiet { View::Quiet } else { View::Lines(Box::new(Lines::new(io::stderr()))) }
    }

    /// Shows what happened. A view that cannot be written to (a closed pipe) is no reason to stop.
    pub(crate) fn event(&mut self, event: &Event) {
        match self {
            View::Screen(screen, keys) => {
                keys.iter().flat_map(Keys::pressed).for_each(|key| screen.key(key));
                screen.event(event);
            }
            View::Lines(lines) => lines.event(event),
            View::Quiet => {}
        }
    }

    /// Gives the terminal back.
    pub(crate) fn finish(self) {
        match self {
            View::Screen(screen, keys) => {
                drop(keys);
                screen.finish();
            }
            View::Lines(lines) => drop(lines.finish()),
            View::Quiet => {}
        }
    }
}

/// `error: ...` for stderr (the stream drops the colour where it is not wanted).
pub(crate) fn error(message: &str) -> String {
    let red = Ansi::new().bold().fg_color(Some(AnsiColor::Red.into()));
    format!("{red}error:{red:#} {message}")
}

/// Whether data was lost on its way to stdout.
static LOST: AtomicBool = AtomicBool::new(false);

/// Prints data to stdout; a reader that went away is not an error, a full disk is.
pub(crate) fn print(text: &str) {
    use std::io::Write;
    let mut out = io::stdout().lock();
    let end: &[u8] = if text.ends_with('\n') { b"" } else { b"\n" };
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.write_all(end)).and_then(|()| out.flush());
    if let Err(e) = printed
        && e.kind() != io::ErrorKind::BrokenPipe
    {
        LOST.store(true, Ordering::Relaxed);
        say(&error(&format!("cannot write to standard output: {e}\n  hint: free some space, or send it elsewhere")));
    }
}

/// Prints a document: in another form where that was asked for, else as text.
pub(crate) fn show(form: Option<String>, document: &Document, colour: Colour) {
    print(&form.unwrap_or_else(|| text::document(document, stdout_style(colour))));
}

/// Whether anything printed was lost.
pub(crate) fn lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// Says something on stderr; a terminal that went away is no reason to fail.
pub(crate) fn say(text: &str) {
    use std::io::Write;
    let _ = writeln!(anstream::stderr(), "{text}");
}
