//! Progress as plain lines, for a pipe or a log: one a step, about one every two seconds of load.

use std::io::Write;

use genkai_model::event::{Event, What};

use super::view::{Kind, View};
use crate::figure;

/// Microseconds of load between two lines of figures.
const EVERY_US: u64 = 2_000_000;

/// Plain progress lines. Failure to write is not the run's failure: it goes on in silence.
pub struct Lines<W: Write> {
    out: W,
    view: View,
    told_us: Option<u64>,
    broken: bool,
}

impl<W: Write> Lines<W> {
    /// Lines written to `out`, each ending with a newline and flushed.
    pub fn new(out: W) -> Lines<W> {
        Lines { out, view: View::default(), told_us: None, broken: false }
    }

    /// Takes the next event of the run.
    pub fn event(&mut self, event: &Event) {
        for news in self.view.take(event) {
            let indent = if news.kind == Kind::Step { "" } else { "  " };
            self.say(&format!("{indent}{}", news.text));
        }
        match &event.what {
            What::TrialStarted(_) => self.told_us = None,
            What::Tick(tick) if self.told_us.is_none_or(|t| tick.to_us >= t + EVERY_US) => {
                self.told_us = Some(tick.to_us);
                self.say(&format!("  {}", self.view.figures().join(", ")));
            }
            _ => {}
        }
    }

    /// Writes a line of the caller's own, with the time before it.
    pub fn say(&mut self, text: &str) {
        if self.broken {
            return;
        }
        let clock = figure::clock(self.view.at_us);
        let written = writeln!(self.out, "[{clock}] {}", crate::clean::line(text)).and_then(|()| self.out.flush());
        self.broken = written.is_err();
    }

    /// Nothing is left to undo; gives the writer back.
    pub fn finish(self) -> W {
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_borne_in_silence() {
        let mut lines = Lines::new(Closed);
        lines.say("one");
        lines.say("two");
        assert!(lines.broken);
    }
}
