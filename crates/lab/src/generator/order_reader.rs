//! How a worker process speaks to genkai, and what listens to it.

use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use genkai_engine::{Start, StopFlag};
use genkai_model::units::Span;

use super::protocol::{Report, Stamps, Task, Word, read, write};

/// How often it is looked whether the way to genkai is cut.
const LOOK: Duration = Duration::from_millis(250);

/// Where a worker speaks: from the thread that makes the load, and from the one that listens.
pub(super) struct MessageWriter<W> {
    output: Arc<Mutex<W>>,
    /// Set when nobody reads any more.
    pub(super) stop: StopFlag,
}

impl<W: Write> MessageWriter<W> {
    /// One that speaks there.
    pub(super) fn new(output: W) -> MessageWriter<W> {
        MessageWriter { output: Arc::new(Mutex::new(output)), stop: StopFlag::new() }
    }

    pub(super) fn say(&self, what: &Report) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        if write(&mut *output, what).is_err() {
            self.stop.stop();
        }
    }

    pub(super) fn another(&self) -> MessageWriter<W> {
        MessageWriter { output: self.output.clone(), stop: self.stop.clone() }
    }
}

/// What listens to genkai after the order.
pub(super) struct OrderReader<W> {
    voice: MessageWriter<W>,
    go: Sender<Start>,
    tasks: Sender<Task>,
    /// When something was heard last: CLOCK_MONOTONIC, nanoseconds.
    heard: Arc<AtomicI64>,
}

impl<W: Write + Send + 'static> OrderReader<W> {
    /// Listens on a thread of its own, until the input ends; the load stops when nothing is heard for as long as `leash`.
    pub(super) fn open(
        leash: Option<Span>,
        voice: &MessageWriter<W>,
        (go, tasks): (Sender<Start>, Sender<Task>),
        input: impl BufRead + Send + 'static,
    ) -> JoinHandle<()> {
        let reader = OrderReader { voice: voice.another(), go, tasks, heard: Arc::new(AtomicI64::new(Start::now().0)) };
        watch(leash, &reader.heard, &voice.stop);
        thread::spawn(move || reader.listen(input))
    }

    /// Until the input ends, which is the word to stop.
    fn listen(self, mut input: impl BufRead) {
        while let Ok(Some(word)) = read::<Word>(&mut input) {
            let received = Start::now().0;
            self.heard.store(received, Ordering::Relaxed);
            match word {
                // Fails when the load could not be made.
                Word::Start(at) => drop(self.go.send(Start(at))),
                Word::Do(task) => drop(self.tasks.send(task)),
                Word::Clock(asked) => {
                    self.voice.say(&Report::Clock(Stamps { asked, received, answered: Start::now().0 }));
                }
            }
        }
        self.voice.stop.stop();
    }
}

/// Stops the load when nothing is heard for as long as `leash`.
fn watch(leash: Option<Span>, heard: &Arc<AtomicI64>, stop: &StopFlag) {
    let Some(leash) = leash else { return };
    let (heard, stop) = (heard.clone(), stop.clone());
    thread::spawn(move || {
        while !stop.is_stopped() {
            thread::sleep(LOOK);
            let silent = Start::now().0.saturating_sub(heard.load(Ordering::Relaxed));
            if u64::try_from(silent).is_ok_and(|silent| silent > leash.0) {
                stop.stop();
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_who_hears_nothing_for_too_long_stops() {
        let (stop, heard) = (StopFlag::new(), Arc::new(AtomicI64::new(Start::now().0)));
        watch(Some(Span::from_millis(1)), &heard, &stop);
        let longest = std::time::Instant::now() + Duration::from_secs(60);
        while !stop.is_stopped() {
            assert!(std::time::Instant::now() < longest);
            thread::sleep(Duration::from_millis(5));
        }
    }
}
