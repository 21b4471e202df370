//! Estimates with 95 % intervals: means of few repeats (Student), geometric means and ratios (Student on logarithms),
//! differences of means (Welch), fractions (Clopper and Pearson), and differences of fractions (Newcombe).
//!
//! The repeats of a run are few (3 to 6 pairs), so the spread *between* trials decides: requests within one trial share
//! one server, one warm-up, one moment of the machine, and are no independent observations. Failures are counted by request all the same
//! where the spread between trials is told by the requests, too ([`failures_difference`]). Where the trials show no
//! spread at all (no failure in any of them), the spread is unknown and not zero: then the pooled count of requests
//! gives the width that even independent requests would have.

use genkai_model::finding::Estimate;
use genkai_model::units::Range;
use statrs::distribution::{Beta, ContinuousCDF, StudentsT};

/// Probability left outside of an interval, both sides together.
pub const ALPHA: f64 = 0.05;

/// Half-width of the Student interval of a mean, in standard errors: the quantile `1 - ALPHA / 2` of Student's t with
/// `n - 1` degrees of freedom. None for fewer than two observations, which have no spread.
pub fn student(n: usize) -> Option<f64> {
    student_at(n, ALPHA)
}

/// The same with `alpha` left outside.
pub fn student_at(n: usize, alpha: f64) -> Option<f64> {
    quantile(n.checked_sub(1)? as f64, alpha)
}

/// The quantile `1 - alpha / 2` of Student's t. None without degrees of freedom.
fn quantile(freedom: f64, alpha: f64) -> Option<f64> {
    StudentsT::new(0.0, 1.0, freedom).ok().map(|t| t.inverse_cdf(1.0 - alpha / 2.0))
}

/// Mean and standard deviation (n - 1 in the denominator). None for no values; no deviation for one.
pub fn moments(values: &[f64]) -> Option<(f64, Option<f64>)> {
    if values.is_empty() {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    Some((mean, (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt())))
}

/// The mean of `values` with its Student interval. None for fewer than two values.
pub fn mean(values: &[f64]) -> Option<Estimate> {
    mean_at(values, ALPHA)
}

/// The same with `alpha` left outside of its interval. Of `m` intervals with `ALPHA / m` each, all hold together with the
/// confidence that one has with `ALPHA` (Bonferroni).
pub fn mean_at(values: &[f64], alpha: f64) -> Option<Estimate> {
    let (mean, deviation) = moments(values)?;
    let half = quantile(values.len() as f64 - 1.0, alpha)? * deviation? / (values.len() as f64).sqrt();
    Some(Estimate { value: mean, interval: Range { low: mean - half, high: mean + half }, n: values.len() as u32 })
}

/// The geometric mean of `values` with its interval: Student's on their logarithms. Times of few repeats are spread about
/// evenly by factors, seldom by differences. Ratios of pairs make their mean ratio. None for fewer than two values, or one
/// that is not positive.
pub fn geometric(values: &[f64], alpha: f64) -> Option<Estimate> {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    mean_at(&logs, alpha).filter(|e| e.value.is_finite()).map(exponential)
}

/// How many times as large `after` is as `before`, in the geometric mean, the values not being paired: the interval of Welch
/// (Biometrika 34, 1947) on their logarithms. None for fewer than two values on a side, or one that is not positive.
pub fn factor(before: &[f64], after: &[f64], alpha: f64) -> Option<Estimate> {
    let side = |values: &[f64]| {
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let (mean, deviation) = moments(&logs)?;
        let n = values.len() as f64;
        Some((mean, deviation?.powi(2) / n, n - 1.0)).filter(|_| mean.is_finite())
    };
    let ((a, va, dfa), (b, vb, dfb)) = (side(before)?, side(after)?);
    let variance = va + vb;
    let freedom = variance.powi(2) / (va.powi(2) / dfa + vb.powi(2) / dfb);
    let half = if variance > 0.0 { quantile(freedom, alpha)? * variance.sqrt() } else { 0.0 };
    let (value, n) = (b - a, before.len().min(after.len()) as u32);
    Some(exponential(Estimate { value, interval: Range { low: value - half, high: value + half }, n }))
}

/// Widest interval on logarithms, either way from its middle: a factor of 10^12, which excludes nothing. A wider one (Student's of two
/// observations, with little left out) has ends that no number and no file holds.
const WIDEST: f64 = 27.631_021_115_928_547;

fn exponential(e: Estimate) -> Estimate {
    let low = e.interval.low.max(e.value - WIDEST).exp();
    let high = e.interval.high.min(e.value + WIDEST).exp();
    Estimate { value: e.value.exp(), interval: Range { low, high }, n: e.n }
}

/// Mean of `after - before` over pairs, with its Student interval, which leaves `alpha` outside. None for fewer than two pairs.
pub fn paired(pairs: &[(f64, f64)], alpha: f64) -> Option<Estimate> {
    mean_at(&pairs.iter().map(|(before, after)| after - before).collect::<Vec<_>>(), alpha)
}

/// The interval of a fraction by Clopper and Pearson (Biometrika 26, 1934), "exact": `hits` of `n` trials. Never of
/// zero width; for no hits the upper end is `1 - (alpha / 2)^(1/n)`, about 3.7 / n at 0.05. All of `0..=1` for no trials.
pub fn clopper_pearson(hits: u64, n: u64, alpha: f64) -> Range {
    if n == 0 {
        return Range { low: 0.0, high: 1.0 };
    }
    let hits = hits.min(n);
    let (x, rest) = (hits as f64, (n - hits) as f64);
    let beta = |a: f64, b: f64, p: f64| Beta::new(a, b).map_or(f64::NAN, |d| d.inverse_cdf(p));
    let low = match hits {
        0 => 0.0,
        _ if hits == n => (alpha / 2.0).powf(1.0 / n as f64),
        _ => beta(x, rest + 1.0, alpha / 2.0),
    };
    let high = match hits {
        0 => 1.0 - (alpha / 2.0).powf(1.0 / n as f64),
        _ if hits == n => 1.0,
        _ => beta(x + 1.0, rest, 1.0 - alpha / 2.0),
    };
    Range { low, high }
}

/// The interval of `after - before` of two fractions from the intervals of each: Newcombe's "square and add" (Statistics
/// in Medicine 17, 1998, method 10), here on Clopper-Pearson ends.
pub fn newcombe(before: (f64, Range), after: (f64, Range)) -> Range {
    let difference = after.0 - before.0;
    let down = ((after.0 - after.1.low).powi(2) + (before.1.high - before.0).powi(2)).sqrt();
    let up = ((after.1.high - after.0).powi(2) + (before.0 - before.1.low).powi(2)).sqrt();
    Range { low: difference - down, high: difference + up }
}

/// Counts of one trial: failed and finished requests.
pub type Counts = (u64, u64);

fn fraction((hits, n): Counts) -> f64 {
    if n == 0 { 0.0 } else { hits as f64 / n as f64 }
}

fn pooled(trials: &[Counts], alpha: f64) -> (f64, Range) {
    let sum = trials.iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    (fraction(sum), clopper_pearson(sum.0, sum.1, alpha))
}

fn hull(a: Range, b: Range) -> Range {
    Range { low: a.low.min(b.low), high: a.high.max(b.high) }
}

/// What two intervals around the same value have in common.
fn common(a: Range, b: Range) -> Range {
    Range { low: a.low.max(b.low), high: a.high.min(b.high) }
}

fn clamp(range: Range, low: f64, high: f64) -> Range {
    Range { low: range.low.clamp(low, high), high: range.high.clamp(low, high) }
}

/// The fraction of failures over repeats: the mean of the trials' fractions; its interval is the wider of Student's over
/// the trials and Clopper-Pearson's over the pooled counts. None for fewer than two trials.
pub fn failures(trials: &[Counts]) -> Option<Estimate> {
    let fractions: Vec<f64> = trials.iter().map(|t| fraction(*t)).collect();
    let estimate = mean(&fractions)?;
    let interval = clamp(hull(estimate.interval, pooled(trials, ALPHA).1), 0.0, 1.0);
    Some(Estimate { interval, ..estimate })
}

/// The difference of failure fractions over pairs of (before, after), with `alpha` left outside of its interval. None for fewer than two pairs.
///
/// Two intervals hold it, each with half of `alpha`, so what both hold does with all of it (Bonferroni): Student's over the differences of the
/// pairs, which knows of nothing but them, and the one over requests ([`by_requests`]). It is never narrower than Newcombe's over the pooled counts.
pub fn failures_difference(pairs: &[(Counts, Counts)], alpha: f64) -> Option<Estimate> {
    let fractions: Vec<(f64, f64)> = pairs.iter().map(|(b, a)| (fraction(*b), fraction(*a))).collect();
    let estimate = paired(&fractions, alpha / 2.0)?;
    let (before, after): (Vec<Counts>, Vec<Counts>) = pairs.iter().copied().unzip();
    let half = by_requests(&before, &after, alpha / 2.0)?;
    let requests = Range { low: estimate.value - half, high: estimate.value + half };
    let both = common(estimate.interval, requests);
    let interval = clamp(hull(both, newcombe(pooled(&before, alpha), pooled(&after, alpha))), -1.0, 1.0);
    Some(Estimate { interval, ..estimate })
}

/// Half the width of the interval of a difference of failure fractions where requests fail at random, with a chance that may vary from trial
/// to trial: a binomial model of each side with a dispersion that the trials of both tell (Pearson's, never below that of independent
/// requests), and Student's t with its degrees of freedom (McCullagh and Nelder, Generalized Linear Models, 2nd edition 1989, section 4.5).
fn by_requests(before: &[Counts], after: &[Counts], alpha: f64) -> Option<f64> {
    let freedom = (before.len() + after.len()).checked_sub(2)? as f64;
    let (mut pearson, mut variance) = (0.0, 0.0);
    for trials in [before, after] {
        let (failed, all) = trials.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let chance = fraction((failed, all));
        let each = chance * (1.0 - chance);
        for (failed, all) in trials.iter().copied().filter(|(_, all)| *all > 0 && each > 0.0) {
            let all = all as f64;
            pearson += (failed as f64 - all * chance).powi(2) / (all * each);
            variance += each / all / (trials.len() as f64).powi(2);
        }
    }
    let dispersion = (pearson / freedom).max(1.0);
    Some(quantile(freedom, alpha)? * (dispersion * variance).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, by: f64) {
        assert!((a - b).abs() <= by, "{a} is not {b} within {by}");
    }

    #[test]
    fn student_quantiles_as_in_the_tables() {
        for (n, t) in [(2, 12.706), (3, 4.303), (4, 3.182), (5, 2.776), (6, 2.571), (11, 2.228), (31, 2.042)] {
            near(student(n).unwrap(), t, 6e-4);
        }
        assert_eq!(student(1), None);
        assert_eq!(student(0), None);
    }

    #[test]
    fn stricter_quantiles_as_in_the_tables() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2: columns 0.99, 0.995 and 0.999 at 4, 10 and 30 degrees of freedom.
        let table = [(5, [3.747, 4.604, 7.173]), (11, [2.764, 3.169, 4.144]), (31, [2.457, 2.750, 3.385])];
        for (n, row) in table {
            for (alpha, t) in [0.02, 0.01, 0.002].into_iter().zip(row) {
                near(student_at(n, alpha).unwrap(), t, 1.1e-3);
            }
        }
    }

    #[test]
    fn moments_as_certified() {
        // NIST Statistical Reference Datasets, univariate summary statistics: NumAcc1 to NumAcc4, certified mean and deviation.
        let around = |centre: f64| {
            let pairs = (0..500).flat_map(|_| [centre - 0.1, centre + 0.1]);
            std::iter::once(centre).chain(pairs).collect::<Vec<f64>>()
        };
        let all = [
            (vec![10_000_001.0, 10_000_003.0, 10_000_002.0], 10_000_002.0, 1.0),
            (around(1.2), 1.2, 0.1),
            (around(1_000_000.2), 1_000_000.2, 0.1),
            (around(10_000_000.2), 10_000_000.2, 0.1),
        ];
        for (values, mean, deviation) in all {
            let (m, d) = moments(&values).unwrap();
            near(m / mean, 1.0, 1e-13);
            near(d.unwrap() / deviation, 1.0, 1e-7);
        }
    }

    #[test]
    fn sleep_data_of_student() {
        // Student, Biometrika 6 (1908): extra hours of sleep with two drugs; R: t.test(extra ~ group, paired = TRUE)
        // gives a mean difference of 1.58 with the 95 % interval 0.7001142..2.4598858.
        let one = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let two = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let pairs: Vec<(f64, f64)> = one.into_iter().zip(two).collect();
        let e = paired(&pairs, ALPHA).unwrap();
        near(e.value, 1.58, 1e-9);
        near(e.interval.low, 0.7001142, 1e-6);
        near(e.interval.high, 2.4598858, 1e-6);
    }

    #[test]
    fn geometric_means_and_ratios() {
        let e = geometric(&[1.0, 10.0, 100.0], ALPHA).unwrap();
        near(e.value, 10.0, 1e-9);
        // On logarithms to the base of 10: 1 with a standard error of 1/sqrt(3), and t(2) = 4.3027.
        near(e.interval.high.log10(), 1.0 + 4.302_653 / 3f64.sqrt(), 1e-5);
        near(e.interval.low * e.interval.high, 100.0, 1e-6);
        assert!(geometric(&[1.0], ALPHA).is_none() && geometric(&[1.0, 0.0], ALPHA).is_none());
        let wider = geometric(&[1.0, 10.0, 100.0], ALPHA / 10.0).unwrap();
        assert!(wider.interval.high > e.interval.high && wider.interval.low < e.interval.low);
    }

    #[test]
    fn an_interval_of_two_observations_ends_somewhere() {
        let e = geometric(&[0.001, 10.0], 1e-9).unwrap();
        assert!(e.interval.low > 0.0 && e.interval.high.is_finite(), "{e:?}");
        near(e.interval.high / e.value, 1e12, 1.0);
    }

    #[test]
    fn welch_on_the_sleep_data() {
        // R: t.test(extra ~ group) on Student's data, Welch: difference 1.58, interval -0.2054832..3.3654832.
        let one = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0].map(f64::exp);
        let two = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4].map(f64::exp);
        let e = factor(&one, &two, ALPHA).unwrap();
        near(e.value.ln(), 1.58, 1e-9);
        near(e.interval.low.ln(), -0.205_483_2, 1e-5);
        near(e.interval.high.ln(), 3.365_483_2, 1e-5);
        assert_eq!(factor(&[2.0, 2.0], &[4.0, 4.0], ALPHA).unwrap().interval, Range { low: 2.0, high: 2.0 });
    }

    #[test]
    fn clopper_pearson_as_published() {
        // R: binom.test(x, n)$conf.int
        for (x, n, low, high) in [
            (0, 10, 0.0, 0.3084971),
            (10, 10, 0.6915029, 1.0),
            (1, 10, 0.002528579, 0.4450161),
            (5, 10, 0.1870860, 0.8129140),
            // R. G. Newcombe, Statistics in Medicine 17 (1998), 857-872, table I, method 5.
            (81, 263, 0.2527, 0.3676),
            (15, 148, 0.0578, 0.1617),
            (0, 20, 0.0, 0.1684),
            (1, 29, 0.0009, 0.1776),
        ] {
            let r = clopper_pearson(x, n, ALPHA);
            near(r.low, low, 1e-4);
            near(r.high, high, 1e-4);
        }
        near(clopper_pearson(0, 1000, ALPHA).high, 3.69 / 1000.0, 1e-5);
        assert_eq!(clopper_pearson(0, 0, ALPHA), Range { low: 0.0, high: 1.0 });
    }

    #[test]
    fn newcombe_agrees_with_a_worked_example() {
        // With exact ends the interval must hold Newcombe's score interval (56/70 against 48/80: 0.0524..0.3339).
        let (a, b) = ((56.0 / 70.0, clopper_pearson(56, 70, ALPHA)), (48.0 / 80.0, clopper_pearson(48, 80, ALPHA)));
        let r = newcombe(b, a);
        assert!(r.low <= 0.0524 && r.low > 0.03, "{r:?}");
        assert!(r.high >= 0.3339 && r.high < 0.36, "{r:?}");
    }

    /// The score interval (E. B. Wilson, Journal of the American Statistical Association 22, 1927), on which Newcombe's method stands.
    fn wilson(hits: f64, n: f64) -> (f64, Range) {
        let (z, p) = (1.959_964_f64, hits / n);
        let (middle, half) = (2.0 * hits + z * z, z * (z * z + 4.0 * hits * (1.0 - p)).sqrt());
        let of = |x: f64| x / (2.0 * (n + z * z));
        (p, Range { low: of(middle - half), high: of(middle + half) })
    }

    #[test]
    fn square_and_add_as_published() {
        // R. G. Newcombe, Statistics in Medicine 17 (1998), 873-890, table II, method 10, without continuity correction.
        let table = [
            ((56.0, 70.0), (48.0, 80.0), 0.0524, 0.3339),
            ((9.0, 10.0), (3.0, 10.0), 0.1705, 0.8090),
            ((6.0, 7.0), (2.0, 7.0), 0.0582, 0.8062),
            ((5.0, 56.0), (0.0, 29.0), -0.0381, 0.1926),
            ((0.0, 10.0), (0.0, 20.0), -0.1611, 0.2775),
            ((0.0, 10.0), (0.0, 10.0), -0.2775, 0.2775),
            ((10.0, 10.0), (0.0, 20.0), 0.6791, 1.0),
            ((10.0, 10.0), (0.0, 10.0), 0.6075, 1.0),
        ];
        for ((a, m), (b, n), low, high) in table {
            let r = newcombe(wilson(b, n), wilson(a, m));
            near(r.low, low, 1e-4);
            near(r.high, high, 1e-4);
        }
    }

    #[test]
    fn no_failures_are_no_certainty() {
        let after = failures(&[(0, 1000); 3]).unwrap();
        assert_eq!((after.value, after.interval.low), (0.0, 0.0));
        near(after.interval.high, 3.69 / 3000.0, 1e-5);
        let nothing = failures_difference(&[((0, 1000), (0, 1000)); 3], ALPHA).unwrap();
        assert!(nothing.interval.low < 0.0 && nothing.interval.high > 0.0, "{nothing:?}");
        let clear = failures_difference(&[((300, 1000), (0, 1000)); 3], ALPHA).unwrap();
        assert!(clear.interval.high < -0.2 && clear.interval.low > -0.4 && clear.interval.low < -0.3, "{clear:?}");
    }

    /// SplitMix64 (Steele, Lea, Flood 2014), for draws that are the same on every machine.
    struct Draws(u64);
    impl Draws {
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        }
        fn normal(&mut self) -> f64 {
            let (a, b) = (1.0 - self.uniform(), self.uniform());
            (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
        }
    }

    #[test]
    fn paired_interval_covers_the_truth_in_95_of_100() {
        let mut draws = Draws(7);
        for pairs in [3, 6] {
            let covered = (0..4000)
                .filter(|_| {
                    let sample: Vec<(f64, f64)> = (0..pairs)
                        .map(|_| {
                            let shared = 10.0 * draws.normal();
                            (shared + draws.normal(), shared + 2.0 + draws.normal())
                        })
                        .collect();
                    let i = paired(&sample, ALPHA).unwrap().interval;
                    i.low <= 2.0 && 2.0 <= i.high
                })
                .count();
            near(covered as f64 / 4000.0, 0.95, 0.012);
        }
    }

    /// How often of 2,000 the interval of six pairs, with this left outside, excludes that both fail as often; each turn has so many requests.
    fn told_apart(chances: impl Fn(&mut Draws) -> (f64, f64), requests: u64, alpha: f64) -> f64 {
        let mut draws = Draws(23);
        let count =
            |draws: &mut Draws, p: f64| ((0..requests).filter(|_| draws.uniform() < p).count() as u64, requests);
        let differs = |_: &usize| {
            let pairs: Vec<(Counts, Counts)> = (0..6)
                .map(|_| {
                    let (before, after) = chances(&mut draws);
                    (count(&mut draws, before), count(&mut draws, after))
                })
                .collect();
            let i = failures_difference(&pairs, alpha).unwrap().interval;
            i.low > 0.0 || i.high < 0.0
        };
        (0..2000).filter(differs).count() as f64 / 2000.0
    }

    #[test]
    fn failures_at_random_are_told_apart_by_the_requests_of_all_blocks() {
        // What is left outside where several figures and looks share it.
        let strict = ALPHA / 10.0;
        let found = told_apart(|_| (0.05, 0.10), 350, strict);
        assert!(found > 0.87, "5 % and 10 % of 2,100 requests each; blocks alone tell 0.82: {found}");
    }

    #[test]
    fn what_varies_from_block_to_block_or_turn_to_turn_is_no_difference() {
        let varies = |draws: &mut Draws, by: f64| (0.08 + by * (draws.uniform() - 0.5)).clamp(0.0, 1.0);
        let same = told_apart(|_| (0.08, 0.08), 200, ALPHA);
        let blocks = told_apart(
            |draws| {
                let p = varies(draws, 0.12);
                (p, p)
            },
            200,
            ALPHA,
        );
        let turns = told_apart(|draws| (varies(draws, 0.12), varies(draws, 0.12)), 200, ALPHA);
        let wide = told_apart(|draws| (varies(draws, 0.4), varies(draws, 0.4)), 200, ALPHA);
        for share in [same, blocks, turns, wide] {
            assert!(share <= 0.06, "{same} {blocks} {turns} {wide}: 5 % are promised");
        }
    }

    #[test]
    fn failure_interval_covers_rare_failures() {
        let mut draws = Draws(11);
        let p = 0.002;
        let covered = (0..1500)
            .filter(|_| {
                let counts: Vec<Counts> =
                    (0..3).map(|_| ((0..300).filter(|_| draws.uniform() < p).count() as u64, 300)).collect();
                let i = failures(&counts).unwrap().interval;
                i.low <= p && p <= i.high
            })
            .count();
        assert!(covered as f64 / 1500.0 >= 0.95, "covered {covered} of 1500");
    }
}
