//! The same system compared with itself, turn by turn: turns of a run are alike, or their time and their place in the block make them
//! different. Nothing that is said to differ does.

use genkai_analysis::effect::{self, Paired};
use genkai_analysis::spending;
use genkai_analysis::statistics::ALPHA;
use genkai_model::figure::Figure;
use rand::{Rng, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64Mcg;

/// What makes the turns of one system differ.
#[derive(Clone, Copy, Debug)]
pub enum Habit {
    /// Chance alone.
    None,
    /// The machine gets slower from turn to turn, a lot.
    Drifts,
    /// A turn is like the one before it: a slow state lasts for a while.
    Lasts,
    /// The first turn of a block is slower than the others.
    First,
    /// The last turn is faster, and the first one slower.
    Place,
    /// A turn is either fast or slow, nothing between.
    Modes,
}

/// Each habit.
pub const HABITS: [Habit; 6] = [Habit::None, Habit::Drifts, Habit::Lasts, Habit::First, Habit::Place, Habit::Modes];

/// Turns of a block: the first contender, the other, and the first once more.
const TURNS: usize = 3;

/// The orders of the blocks.
pub type Orders = fn(usize, u64, u32) -> Vec<usize>;

/// How often, of `times`, something is called better or worse of a system beside itself, until the last of `looks` or, as a comparison does,
/// until every figure is decided.
pub fn alike(habit: Habit, looks: &[u32], times: u32, orders: Orders) -> f64 {
    let mut random = Pcg64Mcg::seed_from_u64(43);
    let told = (0..times).filter(|seed| one(&mut random, habit, looks, u64::from(*seed), orders));
    told.count() as f64 / f64::from(times)
}

/// One comparison: whether anything differs.
fn one(random: &mut Pcg64Mcg, habit: Habit, looks: &[u32], seed: u64, orders: Orders) -> bool {
    let figures = Figure::ALL.iter().filter(|(figure, _)| !figure.is_fraction()).count();
    let mut seen: Vec<Vec<(f64, f64)>> = vec![Vec::new(); figures];
    let (mut state, mut number) = (0.0, 0);
    for block in 1..=looks[looks.len() - 1] {
        let mut turns = [[0.0; TURNS]; 8];
        for (place, who) in orders(TURNS, seed, block).into_iter().enumerate() {
            number += 1;
            state = 0.9 * state + 0.1 * random.sample::<f64, _>(StandardNormal);
            for figure in turns.iter_mut().take(figures) {
                figure[who] = 1000.0 * log(random, habit, place, f64::from(number), state).exp();
            }
        }
        seen.iter_mut().zip(turns).for_each(|(pairs, turn)| pairs.push((turn[0], turn[1])));
        if spending::is_look(looks, block) {
            let alpha = spending::part(looks, block, ALPHA).unwrap_or(ALPHA) / Figure::ALL.len() as f64;
            let effects = seen.iter().filter_map(|pairs| Paired::Ratios(pairs.clone()).told(alpha));
            let (told, open) = effects.fold((false, false), |(told, open), effect| {
                let margin = effect::ratio_margin(0.05);
                let same = margin.low <= effect.interval.low && effect.interval.high <= margin.high;
                let differs = effect::excludes(effect, 1.0) && !same;
                (told || differs, open || !differs && !same)
            });
            if told || !open {
                return told;
            }
        }
    }
    false
}

/// The logarithm of a figure of a turn.
fn log(random: &mut Pcg64Mcg, habit: Habit, place: usize, number: f64, state: f64) -> f64 {
    let noise = 0.03 * random.sample::<f64, _>(StandardNormal);
    noise
        + match habit {
            Habit::None => 0.0,
            Habit::Drifts => 0.05 * number,
            Habit::Lasts => state,
            Habit::First => [0.3, 0.0, 0.0][place],
            Habit::Place => [0.2, 0.0, -0.2][place],
            Habit::Modes => 0.3 * f64::from(u8::from(random.random::<bool>())),
        }
}
