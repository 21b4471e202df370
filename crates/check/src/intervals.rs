//! Intervals by the textbook: Student's t, Clopper and Pearson, Newcombe, Welch, all by bisection of the incomplete beta function.

/// An estimate with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    /// Best estimate.
    pub(crate) value: f64,
    /// Lower end.
    pub(crate) low: f64,
    /// Upper end.
    pub(crate) high: f64,
    /// Observations.
    pub(crate) n: u32,
}

/// Failed and finished requests of one trial.
pub(crate) type Counts = (f64, f64);

/// What an interval leaves outside where nothing else is said.
pub(crate) const ALPHA: f64 = 0.05;

/// The logarithm of the gamma function: Stirling's series, shifted to where it is exact to 13 digits.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 20.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let series = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3)) + 1.0 / (1260.0 * x.powi(5)) - 1.0 / (1680.0 * x.powi(7));
    shift + (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series
}

/// The regularised incomplete beta function, by Lentz's method on its continued fraction (Abramowitz and Stegun, 26.5.8).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    let whole = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let (mut c, mut d) = (1.0, 1.0 / whole(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for part in [even, odd] {
            d = 1.0 / whole(1.0 + part * d);
            c = whole(1.0 + part / c);
            change *= c * d;
        }
        fraction *= change;
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    (front.exp() * fraction / a).min(1.0)
}

/// How likely `some` or more of `all` are, each with this chance by itself (the upper tail of a binomial distribution).
pub(crate) fn as_many(some: f64, all: f64, chance: f64) -> f64 {
    if chance <= 0.0 { 0.0 } else { incomplete_beta(chance, some, all - some + 1.0) }
}

/// Where a function that rises reaches a value, between two ends.
fn bisect(mut low: f64, mut high: f64, reached: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = low.midpoint(high);
        if reached(middle) { high = middle } else { low = middle }
    }
    low.midpoint(high)
}

/// Student's t with `freedom` degrees: so many standard errors leave `alpha` outside, both sides together. None without freedom.
pub(crate) fn student(freedom: f64, alpha: f64) -> Option<f64> {
    // Both tails of t are the beta function of f / (f + t^2); told by logarithms of t, which spans many magnitudes.
    let outside = |t: f64| incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5);
    (freedom > 0.0).then(|| bisect(-20.0, 300.0, |ln| outside(ln.exp()) <= alpha).exp())
}

/// Mean and standard deviation.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    (mean, (squares / (n - 1.0)).sqrt())
}

/// The mean of two values or more, with Student's interval.
pub(crate) fn mean(values: &[f64], alpha: f64) -> Option<Interval> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let (mean, deviation) = moments(values);
    let half = student(n as f64 - 1.0, alpha)? * deviation / (n as f64).sqrt();
    Some(Interval { value: mean, low: mean - half, high: mean + half, n: n as u32 })
}

/// The geometric mean, with Student's interval on logarithms: a factor of a million million each way at most.
pub(crate) fn geometric(values: &[f64], alpha: f64) -> Option<Interval> {
    let logs: Vec<f64> = values.iter().map(|x| x.ln()).collect();
    mean(&logs, alpha).filter(|e| e.value.is_finite()).map(raised)
}

/// How many times the geometric mean of `before` that of `after` is, by Welch on logarithms. None for fewer than two of either.
pub(crate) fn factor(before: &[f64], after: &[f64], alpha: f64) -> Option<Interval> {
    let side = |values: &[f64]| {
        let (mean, deviation) = moments(&values.iter().map(|x| x.ln()).collect::<Vec<_>>());
        let n = values.len() as f64;
        (values.len() > 1 && mean.is_finite()).then_some((mean, deviation * deviation / n, n - 1.0))
    };
    let ((a, va, na), (b, vb, nb)) = (side(before)?, side(after)?);
    let all = va + vb;
    let error = if all > 0.0 { student(all * all / (va * va / na + vb * vb / nb), alpha)? * all.sqrt() } else { 0.0 };
    let n = before.len().min(after.len()) as u32;
    Some(raised(Interval { value: b - a, low: b - a - error, high: b - a + error, n }))
}

fn raised(e: Interval) -> Interval {
    let most = 1e12_f64.ln();
    let (low, high) = (e.low.max(e.value - most), e.high.min(e.value + most));
    Interval { value: e.value.exp(), low: low.exp(), high: high.exp(), n: e.n }
}

/// The part of failures of a count, exactly (Clopper, Pearson).
fn exact((bad, all): Counts, alpha: f64) -> (f64, f64) {
    if all <= 0.0 {
        return (0.0, 1.0);
    }
    let bad = bad.min(all);
    let at = |a: f64, b: f64, p: f64| bisect(0.0, 1.0, |x| incomplete_beta(x, a, b) >= p);
    let low = if bad == 0.0 { 0.0 } else { at(bad, all - bad + 1.0, alpha / 2.0) };
    let high = if bad == all { 1.0 } else { at(bad + 1.0, all - bad, 1.0 - alpha / 2.0) };
    (low, high)
}

fn part((bad, all): Counts) -> f64 {
    if all > 0.0 { bad / all } else { 0.0 }
}

fn pooled(trials: &[Counts]) -> Counts {
    trials.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// The part of failures over trials: the wider of Student's interval of their parts, and the exact one of all together.
pub(crate) fn failures(trials: &[Counts]) -> Option<Interval> {
    let parts: Vec<f64> = trials.iter().map(|one| part(*one)).collect();
    let e = mean(&parts, ALPHA)?;
    let (low, high) = exact(pooled(trials), ALPHA);
    Some(Interval { low: e.low.min(low).clamp(0.0, 1.0), high: e.high.max(high).clamp(0.0, 1.0), ..e })
}

/// What the part of failures changed by, over pairs: what Student's interval and that of requests which fail at random have in common, each
/// with half of what is left outside; and no less than Newcombe's ("square and add") of all together.
pub(crate) fn failures_differ(pairs: &[(Counts, Counts)], alpha: f64) -> Option<Interval> {
    let changes: Vec<f64> = pairs.iter().map(|(a, b)| part(*b) - part(*a)).collect();
    let e = mean(&changes, alpha / 2.0)?;
    let (before, after): (Vec<Counts>, Vec<Counts>) = pairs.iter().copied().unzip();
    let (low, high) = differ(pooled(&before), pooled(&after), alpha);
    let reach = (e.high - e.value).min(at_random(&before, &after, alpha / 2.0)?);
    let (own_low, own_high) = (e.value - reach, e.value + reach);
    Some(Interval { low: own_low.min(low).clamp(-1.0, 1.0), high: own_high.max(high).clamp(-1.0, 1.0), ..e })
}

/// How far the difference may be from what was seen where requests fail at random: t times the standard error of binomial parts, with chi
/// squared by its degrees of freedom as their dispersion, which is at least 1.
fn at_random(before: &[Counts], after: &[Counts], alpha: f64) -> Option<f64> {
    let freedom = (before.len() + after.len()) as f64 - 2.0;
    let side = |trials: &[Counts]| {
        let p = part(pooled(trials));
        let spread = p * (1.0 - p);
        let asked: Vec<&Counts> = trials.iter().filter(|(_, all)| *all > 0.0 && spread > 0.0).collect();
        let chi: f64 = asked.iter().map(|(bad, all)| (bad - all * p).powi(2) / (all * spread)).sum();
        let error: f64 = asked.iter().map(|(_, all)| spread / all).sum();
        (chi, error / (trials.len() as f64).powi(2))
    };
    let ((chi, error), (more, further)) = (side(before), side(after));
    Some(student(freedom, alpha)? * (((chi + more) / freedom).max(1.0) * (error + further)).sqrt())
}

/// The interval of what a part changed by, of two counts (Newcombe's "square and add" on exact ends).
pub(crate) fn differ(before: Counts, after: Counts, alpha: f64) -> (f64, f64) {
    let (p, q) = (part(before), part(after));
    let ((pl, ph), (ql, qh)) = (exact(before, alpha), exact(after, alpha));
    let low = q - p - ((q - ql).powi(2) + (ph - p).powi(2)).sqrt();
    (low, q - p + ((qh - q).powi(2) + (p - pl).powi(2)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, by: f64) {
        assert!((a - b).abs() <= by, "{a} is not {b}");
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
        for (freedom, alpha, t) in [(1.0, 0.05, 12.706), (4.0, 0.01, 4.604), (10.0, 0.002, 4.144), (30.0, 0.05, 2.042)]
        {
            near(student(freedom, alpha).unwrap(), t, 1e-3);
        }
        // Of one degree the tail is the arc tangent: far out, t is 2 / (pi alpha).
        near(student(1.0, 1e-6).unwrap() * 1e-6 * std::f64::consts::PI / 2.0, 1.0, 1e-6);
        assert_eq!(student(0.0, 0.05), None);
    }

    #[test]
    fn intervals_are_those_that_were_published() {
        // R: t.test(extra ~ group, paired = TRUE) on the sleep data of Student.
        let extra = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let e = mean(&extra, ALPHA).unwrap();
        near(e.low, 0.700_114_2, 1e-6);
        near(e.high, 2.459_885_8, 1e-6);
        // R: binom.test(1, 10)$conf.int; Newcombe, Statistics in Medicine 17 (1998), 857-872, table I, method 5.
        let (low, high) = exact((1.0, 10.0), ALPHA);
        near(low, 0.002_528_579, 1e-8);
        near(high, 0.445_016_1, 1e-6);
        near(exact((81.0, 263.0), ALPHA).0, 0.2527, 1e-4);
        near(exact((0.0, 1000.0), ALPHA).1, 3.69 / 1000.0, 1e-5);
    }
}
