//! A few lines of a terminal to draw on, at the cursor, without knowing where on the terminal the cursor is.
//!
//! ratatui's inline viewport asks the terminal for the cursor's row, through standard output and with raw mode; standard
//! output is data here, and a terminal left in raw mode is a nuisance. This surface only ever moves relative to its own
//! first line, where the cursor rests between draws, so nothing has to be asked and nothing but the cursor's visibility
//! has to be restored. When the terminal is made narrower its lines reflow, but the cursor stays with its text: clearing
//! from there downwards removes them all.

use std::io::{self, Write};

use ratatui::backend::{Backend, IntoCrossterm, WindowSize};
use ratatui::buffer::Cell;
use ratatui::crossterm::cursor::{Hide, MoveDown, MoveRight, MoveUp, Show};
use ratatui::crossterm::queue;
use ratatui::crossterm::style::{Attribute, Print, SetAttribute, SetForegroundColor};
use ratatui::crossterm::terminal::{Clear, ClearType};
use ratatui::layout::{Position, Size};
use ratatui::style::Modifier;

/// Lines at the cursor of `out`.
pub(super) struct Surface<W: Write> {
    out: W,
    color: bool,
    size: Size,
    at: Position,
}

impl<W: Write> Surface<W> {
    pub(super) fn new(out: W, color: bool) -> Surface<W> {
        Surface { out, color, size: Size::new(0, 0), at: Position::new(0, 0) }
    }

    /// Makes room for `size` below the cursor, scrolling if need be; the cursor rests on the first of the lines.
    pub(super) fn reserve(&mut self, size: Size) -> io::Result<()> {
        self.size = size;
        self.at = Position::new(0, 0);
        for _ in 1..size.height {
            queue!(self.out, Print("\r\n"))?;
        }
        if size.height > 1 {
            queue!(self.out, MoveUp(size.height - 1))?;
        }
        queue!(self.out, Print("\r"))
    }

    /// Removes the lines and everything below them.
    pub(super) fn erase(&mut self) -> io::Result<()> {
        self.rest()?;
        queue!(self.out, SetAttribute(Attribute::Reset), Clear(ClearType::FromCursorDown))
    }

    /// Writes a line for good, above what is reserved next. Only between `erase` and `reserve`.
    pub(super) fn keep(&mut self, text: &str) -> io::Result<()> {
        queue!(self.out, Print(text), Print("\r\n"))
    }

    pub(super) fn writer(&mut self) -> &mut W {
        &mut self.out
    }

    fn go(&mut self, x: u16, y: u16) -> io::Result<()> {
        if (x, y) == (self.at.x, self.at.y) {
            return Ok(());
        }
        queue!(self.out, Print("\r"))?;
        if y > self.at.y {
            queue!(self.out, MoveDown(y - self.at.y))?;
        } else if y < self.at.y {
            queue!(self.out, MoveUp(self.at.y - y))?;
        }
        if x > 0 {
            queue!(self.out, MoveRight(x))?;
        }
        self.at = Position::new(x, y);
        Ok(())
    }

    fn rest(&mut self) -> io::Result<()> {
        self.go(0, 0)
    }
}

impl<W: Write> Backend for Surface<W> {
    type Error = io::Error;

    fn draw<'a, I: Iterator<Item = (u16, u16, &'a Cell)>>(&mut self, content: I) -> io::Result<()> {
        let mut style = None;
        for (x, y, cell) in content {
            self.go(x, y)?;
            if style != Some((cell.fg, cell.modifier)) {
                style = Some((cell.fg, cell.modifier));
                queue!(self.out, SetAttribute(Attribute::Reset))?;
                if self.color {
                    queue!(self.out, SetForegroundColor(cell.fg.into_crossterm()))?;
                }
                for (modifier, attribute) in [(Modifier::BOLD, Attribute::Bold), (Modifier::DIM, Attribute::Dim)] {
                    if cell.modifier.contains(modifier) {
                        queue!(self.out, SetAttribute(attribute))?;
                    }
                }
            }
            queue!(self.out, Print(cell.symbol()))?;
            let width = unicode_width::UnicodeWidthStr::width(cell.symbol());
            self.at.x += u16::try_from(width.max(1)).unwrap_or(1);
        }
        queue!(self.out, SetAttribute(Attribute::Reset))
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        queue!(self.out, Hide)
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        queue!(self.out, Show)
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(self.at)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let p = position.into();
        self.go(p.x, p.y)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.erase()
    }

    fn clear_region(&mut self, region: ratatui::backend::ClearType) -> io::Result<()> {
        use ratatui::backend::ClearType as Region;
        match region {
            Region::All => self.erase(),
            Region::AfterCursor => queue!(self.out, Clear(ClearType::FromCursorDown)),
            Region::CurrentLine => queue!(self.out, Clear(ClearType::CurrentLine)),
            Region::UntilNewLine => queue!(self.out, Clear(ClearType::UntilNewLine)),
            // What is above the first line is not this surface's.
            Region::BeforeCursor => Ok(()),
        }
    }

    fn size(&self) -> io::Result<Size> {
        Ok(self.size)
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size, pixels: Size::new(0, 0) })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.rest()?;
        self.out.flush()
    }
}
