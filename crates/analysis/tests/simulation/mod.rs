//! Comparisons of made-up systems whose truth is known, by the thousand, to see how often what is said of them is wrong. Every
//! draw comes from a seed, so the figures are the same on every machine.
#![allow(dead_code, unreachable_pub, reason = "each user takes its part")]

use genkai_analysis::effect::{self, Paired};
use genkai_analysis::spending;
use genkai_analysis::statistics::ALPHA;
use genkai_model::comparison::Call;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Exp1, StandardNormal, StudentT};
use rand_pcg::Pcg64Mcg;

/// How a figure varies from block to block, on logarithms.
#[derive(Clone, Copy, Debug)]
pub enum Noise {
    /// Log-normal.
    Normal,
    /// Student's t with three degrees of freedom: now and then a block is far off.
    Heavy,
    /// Exponential: long to one side.
    Skewed,
}

/// Each kind of noise with its name.
pub const NOISES: [(Noise, &str); 3] =
    [(Noise::Normal, "log-normal"), (Noise::Heavy, "heavy tails (t, 3)"), (Noise::Skewed, "skewed (exponential)")];

impl Noise {
    fn draw(self, random: &mut Pcg64Mcg) -> f64 {
        match self {
            Noise::Normal => random.sample(StandardNormal),
            Noise::Heavy => StudentT::new(3.0).map_or(0.0, |t| t.sample(random)) / 3f64.sqrt(),
            Noise::Skewed => random.sample::<f64, _>(Exp1) - 1.0,
        }
    }
}

/// A pair of a block: what drifts is shared, the rest (a standard deviation of 5 %) is each one's own.
fn block(random: &mut Pcg64Mcg, noise: Noise, ratio: f64) -> (f64, f64) {
    let drift = 0.3 * random.sample::<f64, _>(StandardNormal);
    let one = |random: &mut Pcg64Mcg, factor: f64| 1000.0 * factor * (drift + 0.05 * noise.draw(random)).exp();
    (one(random, 1.0), one(random, ratio))
}

/// How often, of `times`, the interval that leaves `ALPHA` outside holds the true ratio, with so many blocks.
pub fn coverage(noise: Noise, blocks: usize, times: u32) -> f64 {
    let mut random = Pcg64Mcg::seed_from_u64(17);
    let truth = 1.2;
    let holds = (0..times).filter(|_| {
        let pairs = (0..blocks).map(|_| block(&mut random, noise, truth)).collect();
        let interval = Paired::Ratios(pairs).effect(ALPHA).expect("all are positive").interval;
        interval.low <= truth && truth <= interval.high
    });
    holds.count() as f64 / f64::from(times)
}

/// The same of the difference of failed fractions; failures come in bursts, so that a turn's requests are not independent.
pub fn coverage_of_failures(blocks: usize, times: u32) -> f64 {
    let mut random = Pcg64Mcg::seed_from_u64(23);
    let turn = |random: &mut Pcg64Mcg, mean: f64| {
        let bursts = (0..60).filter(|_| random.random::<f64>() < mean).count() as u64;
        (bursts * 25, 1500)
    };
    let holds = (0..times).filter(|_| {
        let pairs = (0..blocks).map(|_| (turn(&mut random, 0.10), turn(&mut random, 0.04))).collect();
        let interval = Paired::Failures(pairs).effect(ALPHA).expect("there are pairs").interval;
        interval.low <= -0.06 && -0.06 <= interval.high
    });
    holds.count() as f64 / f64::from(times)
}

/// A family of figures that are compared at each of several looks.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Figures.
    pub figures: usize,
    /// Pairs of contenders.
    pub pairs: usize,
    /// The true ratio of all of them.
    pub ratio: f64,
    /// Margin of equality.
    pub margin: f64,
}

/// What is said of families, as parts of all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said {
    /// At least one figure is called better or worse.
    pub differs: f64,
    /// At least one is called equal.
    pub same: f64,
    /// Every figure is decided.
    pub decided: f64,
    /// Blocks used, the mean.
    pub blocks: f64,
}

/// Planned looks of the simulated comparisons.
pub const LOOKS: [u32; 4] = [5, 8, 12, 16];

/// Judges `times` families, each until every figure is decided at a look, as a comparison is.
pub fn families(noise: Noise, family: Family, times: u32) -> Said {
    let mut random = Pcg64Mcg::seed_from_u64(31);
    let mut said = Said::default();
    let each = 1.0 / f64::from(times);
    for _ in 0..times {
        let (calls, blocks) = judged(&mut random, noise, family);
        let any = |wanted: fn(&Call) -> bool| if calls.iter().any(wanted) { each } else { 0.0 };
        said.differs += any(|call| matches!(call, Call::Better | Call::Worse));
        said.same += any(|call| *call == Call::Same);
        said.decided += if calls.iter().any(|call| matches!(call, Call::CannotTell { .. })) { 0.0 } else { each };
        said.blocks += f64::from(blocks) * each;
    }
    said
}

/// One family: every look is counted, so a figure that was called something once has been called that.
fn judged(random: &mut Pcg64Mcg, noise: Noise, family: Family) -> (Vec<Call>, u32) {
    let count = family.figures * family.pairs;
    let mut seen: Vec<Vec<(f64, f64)>> = vec![Vec::new(); count];
    let mut calls = vec![Call::Missing; count];
    for number in 1..=LOOKS[LOOKS.len() - 1] {
        for figure in &mut seen {
            figure.push(block(random, noise, family.ratio));
        }
        if !spending::is_look(&LOOKS, number) {
            continue;
        }
        let alpha = spending::part(&LOOKS, number, ALPHA).unwrap_or(ALPHA) / count as f64;
        let margin = effect::ratio_margin(family.margin);
        for (call, pairs) in calls.iter_mut().zip(&seen) {
            let effect = Paired::Ratios(pairs.clone()).effect(alpha);
            *call = effect::call(effect, 1.0, margin, true, |_| None);
        }
        if !calls.iter().any(|call| matches!(call, Call::CannotTell { .. })) {
            return (calls, number);
        }
    }
    (calls, LOOKS[LOOKS.len() - 1])
}
