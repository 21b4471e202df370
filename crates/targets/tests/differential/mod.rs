//! Drawing configurations from a seed, the same every time.

#![allow(dead_code, reason = "each test file uses a part of this")]

use std::sync::Mutex;
use std::thread;

/// A sequence of numbers that look random (splitmix64: Steele, Lea and Flood, OOPSLA 2014).
pub(crate) struct Draw(u64);

impl Draw {
    /// One that begins with this seed.
    pub(crate) fn seeded(seed: u64) -> Draw {
        Draw(seed)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % end as u64) as usize
    }

    /// One of these.
    pub(crate) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// How many configurations: so many in `make test`, else what `GENKAI_DIFFERENTIAL` says.
pub(crate) fn count(usual: usize) -> usize {
    std::env::var("GENKAI_DIFFERENTIAL").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Judges every number below `total`, so many at once: how many were taken (accepted, refused: what `judge` counts), and what differs.
pub(crate) fn judged(
    total: usize,
    at_once: usize,
    judge: impl Fn(usize) -> (bool, Option<String>) + Sync,
) -> (usize, Vec<String>) {
    let (next, found) = (Mutex::new(0..total), Mutex::new((0, Vec::new())));
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let Some(number) = next.lock().unwrap().next() else { break };
                    let (taken, differs) = judge(number);
                    let mut found = found.lock().unwrap();
                    found.0 += usize::from(taken);
                    found.1.extend(differs);
                }
            });
        }
    });
    found.into_inner().unwrap()
}
