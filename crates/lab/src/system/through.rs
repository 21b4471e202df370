//! What requests through the product cost those behind it, and whom these ask.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use genkai_model::load::Load;
use genkai_place::caps::online;
use genkai_place::endpoint::{self, Endpoint};
use genkai_place::usage::Tree;
use genkai_targets::behind::Behind;
use genkai_targets::product::{Cost, Prepared};

use crate::error::LabError;
use crate::first;

/// Between two looks at where servers have connections to, and looks until it is asked again which processes there are.
const BETWEEN: Duration = Duration::from_millis(3);
const LOOKS: u32 = 50;

/// What one request after the other through a product shows.
pub(super) struct Through {
    /// What one takes; none where that was not measured.
    pub(super) cost: Option<Cost>,
    /// Where the processes behind had connections to.
    pub(super) beyond: BTreeSet<Endpoint>,
    /// Whether it was answered well.
    pub(super) answered: bool,
}

/// What the load's request costs those behind the product when nothing else is asked (none where it cannot be asked, or has no `workers` to
/// cost anything), and where they go with it themselves.
pub(super) fn through(
    product: &dyn Prepared,
    load: &Load,
    cpus: Option<&[usize]>,
    behind: &Behind,
    workers: bool,
) -> Result<Through, LabError> {
    let running = product.start(cpus)?;
    let load = &Load { transport: product.transport(), ..load.clone() };
    // With a handshake the time of an answer is not that of the workers.
    let workers = workers && load.transport.is_tcp();
    let firsts = behind.firsts().into_iter().chain(running.beside()).collect();
    // What it takes to get warm (pages are compiled, connections are made) is no cost of a request.
    let (warm, beyond) = watched(firsts, || first::took(load, running.address()));
    let used = || behind.processor() + running.processor();
    let (before, answered) = (used(), warm.as_ref().is_some_and(|took| !took.is_empty()));
    let took = warm.filter(|_| workers).and_then(|_| first::took(load, running.address()));
    let processor = used().saturating_sub(before);
    running.stop();
    let cost = |took: Vec<Duration>| {
        let service = took.iter().min().copied()?;
        Some(Cost { service, processor: processor / took.len() as u32, cores: f64::from(online()) })
    };
    Ok(Through { cost: took.and_then(cost), beyond, answered })
}

/// What is done, and where the processes that these began have connections to meanwhile.
fn watched<T>(firsts: Vec<u32>, what: impl FnOnce() -> T) -> (T, BTreeSet<Endpoint>) {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut seen = BTreeSet::new();
            while !over.load(Ordering::Relaxed) {
                let trees = firsts.iter().flat_map(|first| Tree::new(*first).sample().processes);
                let all: Vec<u32> = trees.map(|one| one.pid).collect();
                // Who is asked for a moment only is met in one look of many.
                for _ in 0..LOOKS {
                    seen.extend(endpoint::reached(&all));
                    thread::sleep(BETWEEN);
                }
            }
            seen
        });
        let done = what();
        over.store(true, Ordering::Relaxed);
        (done, watch.join().unwrap_or_default())
    })
}
