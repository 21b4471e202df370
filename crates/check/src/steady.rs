//! From when on a load is steady: MSER-5. Observations are averaged by fives; of all cuts in the first half, the one after which the mean is
//! known best.

use crate::events::{Line, merged};

/// What a series says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steady {
    /// Steady from this observation on.
    From(usize),
    /// Nowhere in its first half.
    Never,
    /// Fewer than four fives.
    Short,
}

fn cut(values: &[f64]) -> Steady {
    let fives: Vec<f64> = values.chunks_exact(5).map(|five| five.iter().sum::<f64>() / 5.0).collect();
    if fives.len() < 4 {
        return Steady::Short;
    }
    let mut best = (f64::INFINITY, 0);
    for from in 0..fives.len() - 2 {
        let rest = &fives[from..];
        let n = rest.len() as f64;
        let mean = rest.iter().sum::<f64>() / n;
        let error = rest.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n * n);
        if error < best.0 {
            best = (error, from);
        }
    }
    if best.1 <= fives.len() / 2 { Steady::From(best.1 * 5) } else { Steady::Never }
}

/// Where the rate and the mean latency of intervals are both steady.
pub(crate) fn of(ticks: &[&Line]) -> Steady {
    let seconds = |tick: &Line| ((tick.number("/to_us") - tick.number("/from_us")) / 1e6).max(1e-9);
    let rates: Vec<f64> = ticks.iter().map(|tick| tick.number("/ok") / seconds(tick)).collect();
    let mut last = 0.0;
    let mut latencies = Vec::new();
    for tick in ticks {
        let all = merged(&[tick], "/latency");
        if all.count() > 0 {
            last = all.sum() / all.count() as f64 * 1e9;
        }
        latencies.push(last);
    }
    match (cut(&rates), cut(&latencies)) {
        (Steady::From(a), Steady::From(b)) => Steady::From(a.max(b)),
        (Steady::Never, _) | (_, Steady::Never) => Steady::Never,
        _ => Steady::Short,
    }
}
