//! Progress drawn in place on a terminal.

use std::io::{self, Write};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use genkai_model::event::{Event, What};
use ratatui::backend::Backend as _;
use ratatui::layout::{Rect, Size};
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::draw::{draw, room};
use super::surface::Surface;
use super::view::{Kind, News, View};

/// Microseconds of the run between two drawings of nothing but new figures.
const EVERY_US: u64 = 80_000;
/// Ends attributes, clears from the cursor down, shows the cursor (ECMA-48 SGR and ED; DECTCEM).
const RESTORE: &[u8] = b"\r\x1b[0m\x1b[J\x1b[?25h";

/// Whether some screen has hidden the cursor of the terminal.
static DRAWN: AtomicBool = AtomicBool::new(false);

/// Progress drawn in place: what is being tried, users, requests and failures a second, p99, the last log line. What is
/// worth keeping (steps, their ends, notes) scrolls by above. Restores the terminal in [`Screen::finish`] and when dropped;
/// for panics see [`guard_panics`]. Failure to write is not the run's failure: it goes on in silence.
pub struct Screen<W: Write> {
    terminal: Option<Terminal<Surface<W>>>,
    size: Box<dyn Fn() -> (u16, u16) + Send>,
    view: View,
    room: Size,
    drawn_us: Option<u64>,
    /// Whether the lines of `room` are reserved now.
    up: bool,
}

impl<W: Write> Screen<W> {
    /// A screen on `out`, which must be a terminal, in colours or without; `size` gives its columns and rows whenever it is asked (see
    /// [`terminal_size`]).
    pub fn new(out: W, color: bool, size: impl Fn() -> (u16, u16) + Send + 'static) -> Screen<W> {
        let options = TerminalOptions { viewport: Viewport::Fixed(Rect::new(0, 0, 0, 0)) };
        Screen {
            terminal: Terminal::with_options(Surface::new(out, color), options).ok(),
            size: Box::new(size),
            view: View::default(),
            room: Size::new(0, 0),
            drawn_us: None,
            up: false,
        }
    }

    /// Takes the next event of the run.
    pub fn event(&mut self, event: &Event) {
        let news = self.view.take(event);
        let keep: Vec<String> = news.iter().filter_map(kept).collect();
        let due = self.drawn_us.is_none_or(|t| event.at_us >= t + EVERY_US);
        let moves = match &event.what {
            What::Tick(_) | What::Log(_) => due,
            What::Sample(_) | What::Limits(_) => false,
            _ => true,
        };
        if moves || !keep.is_empty() {
            self.drawn_us = Some(event.at_us);
            self.attempt(|screen| screen.redraw(&keep));
        }
    }

    /// Takes a key: `-` and `+` change the time scale of a plain load, `a` lets it follow the load.
    pub fn key(&mut self, key: char) {
        if self.view.key(key) {
            self.attempt(|screen| screen.redraw(&[]));
        }
    }

    /// Writes a line of the caller's own above what is drawn.
    pub fn say(&mut self, text: &str) {
        let line = crate::clean::line(text);
        self.attempt(|screen| screen.redraw(std::slice::from_ref(&line)));
    }

    /// Removes what is drawn and restores the terminal; what was worth keeping stays.
    pub fn finish(mut self) {
        self.restore();
    }

    fn restore(&mut self) {
        self.attempt(|screen| {
            let Some(terminal) = &mut screen.terminal else { return Ok(()) };
            if screen.up {
                terminal.backend_mut().erase()?;
            }
            terminal.show_cursor()?;
            terminal.backend_mut().writer().flush()
        });
        self.terminal = None;
        self.up = false;
        DRAWN.store(false, Ordering::SeqCst);
    }

    fn attempt(&mut self, what: impl FnOnce(&mut Self) -> io::Result<()>) {
        if self.terminal.is_some() && what(self).is_err() {
            self.terminal = None;
        }
    }

    fn redraw(&mut self, keep: &[String]) -> io::Result<()> {
        let (columns, rows) = (self.size)();
        let wanted = room(columns, rows, &self.view);
        let Some(terminal) = &mut self.terminal else { return Ok(()) };
        if !keep.is_empty() || wanted != self.room || !self.up {
            if self.up {
                terminal.backend_mut().erase()?;
            }
            for line in keep {
                terminal.backend_mut().keep(line)?;
            }
            terminal.backend_mut().reserve(wanted)?;
            // Forgets what was drawn, so that all of it is drawn again.
            terminal.resize(Rect::new(0, 0, wanted.width, wanted.height))?;
            self.room = wanted;
            self.up = true;
            DRAWN.store(true, Ordering::SeqCst);
        }
        let view = &self.view;
        terminal.draw(|frame| draw(frame, view))?;
        terminal.backend_mut().flush()
    }
}

impl<W: Write> Drop for Screen<W> {
    fn drop(&mut self) {
        self.restore();
    }
}

/// News as a line to keep; log lines have a place of their own on the screen.
fn kept(news: &News) -> Option<String> {
    match news.kind {
        Kind::Step => Some(format!("> {}", news.text)),
        Kind::End | Kind::Note => Some(format!("  {}", news.text)),
        Kind::Log => None,
    }
}

/// Columns and rows of the terminal; 80 by 24 where it does not tell.
pub fn terminal_size() -> (u16, u16) {
    ratatui::crossterm::terminal::size().ok().filter(|(c, r)| *c > 0 && *r > 0).unwrap_or((80, 24))
}

/// Makes a panic restore the terminal on standard error before its message is written, if a screen is up, and whatever
/// `restore` does. Call once, at the start of the program; more calls do nothing.
pub fn guard_panics(restore: fn()) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            restore();
            if DRAWN.swap(false, Ordering::SeqCst) {
                let _ = io::stderr().write_all(RESTORE);
            }
            before(info);
        }));
    });
}
