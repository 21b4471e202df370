//! Comparisons of made-up systems whose truth is known, by the thousand, to see how often what is said of them is wrong. Every
//! draw comes from a seed, so the figures are the same on every machine.
#![allow(dead_code, unreachable_pub, reason = "each user takes its part")]

pub mod again;

use std::collections::BTreeMap;

use genkai_analysis::effect::{self, Paired};
use genkai_analysis::proof::Pairs;
use genkai_analysis::spending;
use genkai_analysis::statistics::ALPHA;
use genkai_model::finding::Call;
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

/// How often, of `times`, at least two of so many equal rivals are told apart, each compared with each over so many rounds, as caches and
/// servers of a comparison are.
pub fn equal_rivals(noise: Noise, rivals: usize, rounds: u32, times: u32) -> f64 {
    let mut random = Pcg64Mcg::seed_from_u64(37);
    let told = (0..times).filter(|_| {
        let mut all = vec![BTreeMap::new(); rivals];
        for round in 0..rounds {
            let drift = 0.3 * random.sample::<f64, _>(StandardNormal);
            for one in &mut all {
                one.insert(round, 1000.0 * (drift + 0.05 * noise.draw(&mut random)).exp());
            }
        }
        effect::each_with_each(&all.iter().collect::<Vec<_>>()).iter().any(effect::Match::is_certain)
    });
    told.count() as f64 / f64::from(times)
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
pub struct Counts {
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
pub fn families(noise: Noise, family: Family, times: u32) -> Counts {
    let mut random = Pcg64Mcg::seed_from_u64(31);
    let mut said = Counts::default();
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

/// What a system does that is proved against itself.
#[derive(Clone, Copy, Debug)]
pub enum Mood {
    /// Every trial fails, by a fraction that drifts from pair to pair and is spread a little within it.
    Steady,
    /// Every other trial fails at random, always by the same fraction: what two or three pairs are fooled by most easily.
    Moody,
    /// As moody, and how often it fails drifts from pair to pair.
    Drifting,
    /// Few requests fail, in bursts, so that a trial may or may not break.
    Bursts,
}

/// Each mood with its name.
pub const MOODS: [(Mood, &str); 4] = [
    (Mood::Steady, "always fails"),
    (Mood::Moody, "fails every other time"),
    (Mood::Drifting, "fails by turns"),
    (Mood::Bursts, "fails in bursts"),
];

/// Requests of a simulated proof trial.
const REQUESTS: u64 = 1500;

impl Mood {
    /// Both trials of a pair, alike: failed requests.
    fn pair(self, random: &mut Pcg64Mcg) -> (u64, u64) {
        let drift: f64 = random.random();
        let level = 0.3 * (0.3 * random.sample::<f64, _>(StandardNormal)).exp();
        let mut one = || match self {
            Mood::Steady => (REQUESTS as f64 * level * (0.05 * random.sample::<f64, _>(StandardNormal)).exp()) as u64,
            Mood::Moody => {
                if random.random::<bool>() {
                    REQUESTS * 3 / 10
                } else {
                    0
                }
            }
            Mood::Drifting => {
                if random.random::<f64>() < drift {
                    REQUESTS * 3 / 10
                } else {
                    0
                }
            }
            Mood::Bursts => 25 * (0..60).filter(|_| random.random::<f64>() < 0.01).count() as u64,
        };
        let before = one();
        (before, one().min(REQUESTS))
    }
}

/// What is said of proofs in which the proposal does nothing, as parts of all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Proved {
    /// The figure is called better or worse.
    pub differs: f64,
    /// The change is called proved: better, every baseline failed, every proposal held.
    pub proved: f64,
}

/// Judges `times` proofs of a change that does nothing, each until it is decided at a planned look.
pub fn proofs(mood: Mood, looks: &[u32], times: u32) -> Proved {
    let mut random = Pcg64Mcg::seed_from_u64(41);
    let (mut said, each) = (Proved::default(), 1.0 / f64::from(times));
    for _ in 0..times {
        let (call, apart) = proof(&mut random, mood, looks);
        said.differs += if matches!(call, Call::Better | Call::Worse) { each } else { 0.0 };
        said.proved += if call == Call::Better && apart { each } else { 0.0 };
    }
    said
}

/// One proof: what is said, and whether every baseline failed and every proposal held.
fn proof(random: &mut Pcg64Mcg, mood: Mood, looks: &[u32]) -> (Call, bool) {
    let mut seen = Pairs { figure: Paired::Failures(Vec::new()), outcomes: Vec::new(), condition: None };
    let mut call = Call::Missing;
    for number in 1..=looks[looks.len() - 1] {
        let (before, after) = mood.pair(random);
        if let Paired::Failures(pairs) = &mut seen.figure {
            pairs.push(((before, REQUESTS), (after, REQUESTS)));
        }
        seen.outcomes.push((before > 0, after > 0));
        if spending::is_look(looks, number) {
            call = seen.decide(looks).call;
            if effect::is_decided(call) {
                break;
            }
        }
    }
    (call, seen.outcomes.iter().all(|one| *one == (true, false)))
}
