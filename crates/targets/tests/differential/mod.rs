//! Drawing configurations from a seed, the same every time.

#![allow(dead_code, reason = "each test file uses a part of this")]

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
