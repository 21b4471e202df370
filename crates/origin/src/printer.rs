//! Counts for whoever started a server: kept by the serving thread, printed by another, so that a reader that is slow to
//! take them never holds up a request.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Prints a line of counts every period until dropped, and then once more.
pub(crate) struct Printer {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Printer {
    /// Sets `stop` when nobody reads what it prints (a broken pipe is an end, not an error).
    pub(crate) fn start(
        every: Duration,
        line: impl Fn() -> String + Send + 'static,
        stop: Arc<AtomicBool>,
        mut out: impl Write + Send + 'static,
    ) -> Printer {
        let (end, ended) = channel();
        let print = move || {
            loop {
                let last = ended.recv_timeout(every) != Err(RecvTimeoutError::Timeout);
                let line = line();
                if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
                    stop.store(true, Ordering::Relaxed);
                    return;
                }
                if last {
                    return;
                }
            }
        };
        Printer { end: Some(end), thread: thread::Builder::new().name("stats".into()).spawn(print).ok() }
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        drop(self.end.take());
        // A reader that has stopped taking lines may hold the thread in a write for ever: only a finished or nearly
        // finished one is waited for.
        let Some(thread) = self.thread.take() else { return };
        for _ in 0..100 {
            if thread.is_finished() {
                let _ = thread.join();
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}
