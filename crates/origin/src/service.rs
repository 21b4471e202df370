//! How long each request is in service: drawn from a distribution, the same ones for the same seed.

use genkai_model::units::{Span, Spread};
use rand::SeedableRng;
use rand::distr::{Bernoulli, Distribution, Uniform};
use rand_distr::{Exp, LogNormal};
use rand_pcg::Pcg64Mcg;

/// No request takes longer, whatever is drawn (the tails of two of the distributions have no end): one hour.
pub const LONGEST: Span = Span::from_secs(3600);

/// Draws service times.
#[derive(Debug)]
pub struct Times {
    random: Pcg64Mcg,
    law: Law,
}

#[derive(Debug)]
enum Law {
    Constant(u64),
    Uniform(Uniform<u64>),
    Exponential(Exp<f64>),
    LogNormal(LogNormal<f64>),
    Bimodal([u64; 2], Bernoulli),
}

impl Times {
    /// Times spread so. Parameters that no distribution has (an exponential of mean zero) mean their constant limit.
    pub fn new(spread: Spread, seed: u64) -> Times {
        let law = match spread {
            Spread::Constant(time) => Law::Constant(time.0),
            Spread::Uniform(low, high) => {
                Uniform::new_inclusive(low.0, high.0).map_or(Law::Constant(low.0), Law::Uniform)
            }
            // The parameter of an exponential distribution is its rate, one over the mean.
            Spread::Exponential(mean) if mean.0 > 0 => {
                Exp::new(1.0 / mean.0 as f64).map_or(Law::Constant(mean.0), Law::Exponential)
            }
            // That of a log-normal is the mean of the logarithm: the logarithm of the median.
            Spread::LogNormal(median, sigma) if median.0 > 0 => {
                LogNormal::new((median.0 as f64).ln(), sigma).map_or(Law::Constant(median.0), Law::LogNormal)
            }
            Spread::Exponential(_) | Spread::LogNormal(..) => Law::Constant(0),
            Spread::Bimodal(usual, other, share) => Bernoulli::new(share)
                .map_or(Law::Constant(usual.0), |other_one| Law::Bimodal([usual.0, other.0], other_one)),
        };
        Times { random: Pcg64Mcg::seed_from_u64(seed), law }
    }

    /// Whether every time is zero.
    pub fn instant(&self) -> bool {
        matches!(self.law, Law::Constant(0))
    }

    /// The time of the next request, ns, at most [`LONGEST`].
    pub fn draw(&mut self) -> u64 {
        let nanos = match &self.law {
            Law::Constant(time) => *time,
            Law::Uniform(law) => law.sample(&mut self.random),
            Law::Exponential(law) => law.sample(&mut self.random) as u64,
            Law::LogNormal(law) => law.sample(&mut self.random) as u64,
            Law::Bimodal(times, law) => times[usize::from(law.sample(&mut self.random))],
        };
        nanos.min(LONGEST.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 100_000;

    fn sorted(spread: &str, seed: u64) -> Vec<u64> {
        let mut times = Times::new(spread.parse().unwrap(), seed);
        let mut drawn: Vec<u64> = (0..N).map(|_| times.draw()).collect();
        drawn.sort_unstable();
        drawn
    }

    fn quantile_ms(sorted: &[u64], q: f64) -> f64 {
        sorted[(q * sorted.len() as f64) as usize] as f64 / 1e6
    }

    /// Within a hundredth and a bit: the standard error of these quantiles at N draws is below 0.6 %.
    fn close(seen: f64, wanted: f64) {
        assert!((seen / wanted - 1.0).abs() < 0.02, "{seen}, wanted {wanted}");
    }

    #[test]
    fn quantiles_are_those_of_the_distribution() {
        let constant = sorted("50ms", 1);
        assert_eq!((constant[0], constant[N - 1]), (50_000_000, 50_000_000));
        let uniform = sorted("uniform(20ms,80ms)", 1);
        assert!(uniform[0] >= 20_000_000 && uniform[N - 1] <= 80_000_000);
        close(quantile_ms(&uniform, 0.5), 50.0);
        close(quantile_ms(&uniform, 0.9), 74.0);
        let exponential = sorted("exp(50ms)", 1);
        close(quantile_ms(&exponential, 0.5), 50.0 * std::f64::consts::LN_2);
        close(quantile_ms(&exponential, 0.95), 50.0 * 20f64.ln());
        let lognormal = sorted("lognormal(50ms,0.5)", 1);
        close(quantile_ms(&lognormal, 0.5), 50.0);
        close(quantile_ms(&lognormal, 0.841_344_7), 50.0 * 0.5f64.exp());
        let bimodal = sorted("bimodal(1ms,20ms,0.05)", 1);
        assert_eq!((bimodal[0], bimodal[N - 1]), (1_000_000, 20_000_000));
        close(bimodal.iter().filter(|time| **time == 1_000_000).count() as f64, 0.95 * N as f64);
    }

    #[test]
    fn a_seed_repeats_and_another_differs() {
        let draw = |seed| {
            let mut times = Times::new("exp(1ms)".parse().unwrap(), seed);
            (0..8).map(|_| times.draw()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn limits_of_parameters_do_no_harm() {
        for spread in ["0s", "exp(0s)", "lognormal(0s,1)"] {
            assert!(Times::new(spread.parse().unwrap(), 1).instant(), "{spread}");
        }
        assert_eq!(Times::new("uniform(3ms,3ms)".parse().unwrap(), 1).draw(), 3_000_000);
        assert!(Times::new("lognormal(1h,3)".parse().unwrap(), 1).draw() <= LONGEST.0);
        assert_eq!(Times::new("24h".parse().unwrap(), 1).draw(), LONGEST.0);
    }
}
