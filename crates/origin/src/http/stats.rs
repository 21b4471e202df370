//! Counts for whoever started the origin: kept by the serving thread, printed by another, so that a reader that is slow
//! to take them never holds up a request.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::pool::Counts;

/// The pool's counts, readable from any thread. Each is exact; together they may be a request apart.
#[derive(Debug, Default)]
pub(super) struct Counters {
    busy: AtomicU64,
    queued: AtomicU64,
    refused: AtomicU64,
    done: AtomicU64,
}

impl Counters {
    pub(super) fn set(&self, counts: Counts) {
        self.busy.store(counts.busy, Ordering::Relaxed);
        self.queued.store(counts.queued, Ordering::Relaxed);
        self.refused.store(counts.refused, Ordering::Relaxed);
        self.done.store(counts.done, Ordering::Relaxed);
    }

    /// A request that took no time.
    pub(super) fn one_done(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    fn line(&self, workers: Option<u32>) -> String {
        let [busy, queued, refused, done] =
            [&self.busy, &self.queued, &self.refused, &self.done].map(|count| count.load(Ordering::Relaxed));
        serde_json::json!({
            "busy": busy, "queued": queued, "workers": workers, "refused_total": refused, "done_total": done,
        })
        .to_string()
    }
}

/// Prints the counts every period until dropped, and then once more.
pub(super) struct Printer {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Printer {
    /// Sets `stop` when nobody reads what it prints (a broken pipe is an end, not an error).
    pub(super) fn start(
        every: Duration,
        workers: Option<u32>,
        counters: Arc<Counters>,
        stop: Arc<AtomicBool>,
        mut out: impl Write + Send + 'static,
    ) -> Printer {
        let (end, ended) = channel();
        let print = move || {
            loop {
                let last = ended.recv_timeout(every) != Err(RecvTimeoutError::Timeout);
                let line = counters.line(workers);
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
