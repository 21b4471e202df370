//! Objects that are made up: their paths, sizes and bytes, and the order in which they are asked for. All of it follows from numbers,
//! so that who writes the files and who checks the answers need not talk.

use genkai_model::content::{Content, Mix, Pages, Sizes};
use rand::seq::SliceRandom;
use rand::{RngCore, SeedableRng};
use rand_distr::{Distribution, LogNormal, Zipf};
use rand_pcg::Pcg64Mcg;

/// Folder of the objects, as a path begins.
pub const FOLDER: &str = "/o/";

/// Smallest object, bytes: with fewer, two objects could be alike.
pub const SMALLEST: u32 = 16;
/// Largest object, bytes.
pub const LARGEST: u32 = 8 << 20;

/// Golden-ratio steps keep the seeds of neighbours apart.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The path of object `n`.
pub fn path(n: u32) -> String {
    format!("{FOLDER}{n}")
}

/// Bytes of object `n`.
pub fn size(content: &Content, n: u32) -> u32 {
    let bytes = match &content.sizes {
        Sizes::Listed(all) => all.get(n as usize).copied().unwrap_or(SMALLEST),
        Sizes::LogNormal { median, sigma } => {
            let spread = LogNormal::new((median.0.max(1) as f64).ln(), sigma.clamp(0.0, 4.0));
            // Another stream than the object's bytes.
            spread.map_or(SMALLEST, |spread| spread.sample(&mut random(!content.seed, n)) as u32)
        }
    };
    bytes.clamp(SMALLEST, LARGEST)
}

/// Object `n`, in place of what `out` held. Random bytes: nothing on the way can make them smaller.
pub fn fill(content: &Content, n: u32, out: &mut Vec<u8>) {
    out.clear();
    out.resize(size(content, n) as usize, 0);
    random(content.seed, n).fill_bytes(out);
}

fn random(seed: u64, n: u32) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(seed ^ u64::from(n + 1).wrapping_mul(STEP))
}

/// Numbers of objects in the order in which they are asked for.
pub fn order(pages: &Pages) -> Vec<u32> {
    let mut random = Pcg64Mcg::seed_from_u64(pages.seed);
    let mut objects: Vec<u32> = (0..pages.content.objects).collect();
    objects.shuffle(&mut random);
    objects.truncate(pages.distinct.clamp(1, pages.content.objects.max(1)) as usize);
    match &pages.mix {
        Mix::Sweep => {
            objects.truncate(pages.requests as usize);
            objects
        }
        Mix::Recorded(all) => all.iter().copied().take(pages.requests as usize).collect(),
        Mix::Zipf { exponent } => {
            let ranks = Zipf::new(objects.len().max(1) as f64, exponent.clamp(0.0, 10.0));
            let one = |_| {
                let rank = ranks.as_ref().map_or(1.0, |ranks| ranks.sample(&mut random));
                objects[(rank as usize).clamp(1, objects.len()) - 1]
            };
            (0..pages.requests).map(one).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use genkai_model::units::Bytes;

    use super::*;

    fn pages(mix: Mix, distinct: u32, requests: u32) -> Pages {
        let sizes = Sizes::LogNormal { median: Bytes(2_700), sigma: 0.45 };
        Pages { content: Content { objects: 2_000, sizes, seed: 7 }, mix, distinct, requests, seed: 3 }
    }

    #[test]
    fn a_sweep_asks_for_each_once_and_the_same_in_every_pass() {
        let all = order(&pages(Mix::Sweep, 500, 500));
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 500);
        assert_eq!(all, order(&pages(Mix::Sweep, 500, 500)));
        assert_eq!(all[..100], order(&pages(Mix::Sweep, 500, 100)), "a shorter one is its beginning");
        assert_ne!(all, order(&Pages { seed: 4, ..pages(Mix::Sweep, 500, 500) }));
    }

    #[test]
    fn zipf_prefers_few_and_a_record_is_kept() {
        let all = order(&pages(Mix::Zipf { exponent: 1.0 }, 2_000, 20_000));
        let most = all.iter().filter(|n| **n == all[0] || **n == order(&pages(Mix::Sweep, 2_000, 1))[0]).count();
        let first = order(&pages(Mix::Sweep, 2_000, 1))[0];
        let share = all.iter().filter(|n| **n == first).count() as f64 / 20_000.0;
        // 1 / H(2000) = 0.122
        assert!((0.10..0.15).contains(&share) && most > 0, "{share}");
        let recorded = Mix::Recorded(vec![5, 5, 1]);
        assert_eq!(order(&pages(recorded, 2_000, 100)), [5, 5, 1]);
    }

    #[test]
    fn objects_are_of_the_size_asked_for_and_unlike_each_other() {
        let content = pages(Mix::Sweep, 1, 1).content;
        let mean = (0..2_000).map(|n| f64::from(size(&content, n))).sum::<f64>() / 2_000.0;
        assert!((2_800.0..3_200.0).contains(&mean), "{mean}");
        let (mut a, mut b) = (Vec::new(), Vec::new());
        fill(&content, 1, &mut a);
        fill(&content, 2, &mut b);
        assert_ne!(a[..SMALLEST as usize], b[..SMALLEST as usize]);
        fill(&content, 1, &mut b);
        assert_eq!(a, b);
        let listed = Content { sizes: Sizes::Listed(vec![3, 4_000]), ..content };
        assert_eq!([0, 1, 2].map(|n| size(&listed, n)), [SMALLEST, 4_000, SMALLEST]);
    }
}
