//! Cases beside each other: a load on a real server mostly waits. Those that are judged by processor time come last, each alone.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::cases::Case;
use crate::run::Done;

/// Runs cases, so many at a time, and gives what came of them in their order. `kept` is called for one after the other.
///
/// # Errors
/// The first of either; cases that have begun then are run to their end, and no other is begun.
pub(crate) fn run(
    cases: &[&'static Case],
    jobs: usize,
    one: impl Fn(&'static Case) -> io::Result<Done<'static>> + Sync,
    kept: impl Fn(&Done<'static>) -> io::Result<()> + Sync,
) -> io::Result<Vec<Done<'static>>> {
    let (alone, beside): (Vec<_>, Vec<_>) = cases.iter().enumerate().partition(|(_, case)| case.alone());
    let done = Mutex::new(Vec::new());
    for (part, jobs) in [(beside, jobs), (alone, 1)] {
        let next = AtomicUsize::new(0);
        let worker = || -> io::Result<()> {
            while let Some((place, case)) = part.get(next.fetch_add(1, Ordering::Relaxed)) {
                let ended = one(case).and_then(|ended| {
                    let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    kept(&ended)?;
                    done.push((*place, ended));
                    Ok(())
                });
                if ended.is_err() {
                    next.store(part.len(), Ordering::Relaxed);
                    return ended;
                }
            }
            Ok(())
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(worker)).collect();
            workers
                .into_iter()
                .try_for_each(|worker| worker.join().unwrap_or_else(|_| Err(io::Error::other("a case panicked"))))
        })?;
    }
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    Ok(done.into_iter().map(|(_, done)| done).collect())
}
