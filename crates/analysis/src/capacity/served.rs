//! Memory that grows with the requests that a server has served, and not with its clients (a leak, a heap that fills): what a setting takes is not
//! told from it.

use genkai_model::evidence::metric;
use genkai_model::finding::{GrewServing, MeasuredPrice};
use genkai_model::record::Trial;

use super::looks::{clients_at, during};

/// From which part of the most clients on their number is the same.
const SAME: f64 = 0.99;
/// Fewest looks with the same clients, requests served between them, and bytes that are called growth.
const LOOKS: usize = 4;
const REQUESTS: f64 = 10.0;
const GROWTH: f64 = (1u64 << 20) as f64;
/// The least part of the growth that comes in each half of the looks: it goes on.
const GOES_ON: f64 = 0.25;
/// From which part of a difference on that would come of the requests alone, it says nothing of the setting.
const PART: f64 = 0.5;

/// A look: requests served by then, clients, memory.
#[derive(Clone, Copy)]
struct Look {
    served: f64,
    clients: f64,
    memory: f64,
}

/// The first of `trials` that shows that the difference in `price` may come of the requests that had been served in `after`.
pub(crate) fn explains<'t>(
    price: &MeasuredPrice,
    subject: &str,
    after: &'t Trial,
    trials: impl Iterator<Item = &'t Trial>,
) -> Option<GrewServing> {
    let difference = price.after.memory - price.before.memory;
    let served = by_most(subject, after);
    let found = std::iter::once(after).chain(trials).find(|trial| is_of(difference, served, subject, trial))?;
    Some(GrewServing { trial: found.number })
}

/// Whether `trial` shows that a `difference` in memory may come of `served` requests alone.
pub(super) fn is_of(difference: f64, served: f64, subject: &str, trial: &Trial) -> bool {
    let grows = per_request(&looks(trial, subject));
    difference > 0.0 && grows.is_some_and(|bytes| bytes * served >= difference * PART)
}

/// Requests that had been served by the last look with most clients.
pub(super) fn by_most(subject: &str, trial: &Trial) -> f64 {
    let of_all = looks(trial, subject);
    let most = of_all.iter().map(|look| look.clients).fold(0.0, f64::max);
    of_all.iter().rfind(|look| look.clients >= most).map_or(0.0, |look| look.served)
}

fn looks(trial: &Trial, subject: &str) -> Vec<Look> {
    let name = format!("{subject}.{}", metric::PSS);
    let look = |(at, sample): (i64, &genkai_model::evidence::Sample)| {
        let us = u64::try_from(at).ok()?;
        let served: u64 = trial.ticks.iter().filter(|tick| tick.to_us <= us).map(|tick| tick.ok).sum();
        let memory = *sample.metrics.get(&name)?;
        Some(Look { served: served as f64, clients: clients_at(trial, us), memory })
    };
    during(trial, subject).filter_map(look).filter(|look| look.clients > 0.0).collect()
}

/// Bytes that each request leaves, where memory grew all the time while the clients stayed as many as they ever were.
fn per_request(looks: &[Look]) -> Option<f64> {
    let most = looks.iter().map(|look| look.clients).fold(0.0, f64::max);
    let same: Vec<&Look> = looks.iter().filter(|look| look.clients >= most * SAME).collect();
    if same.len() < LOOKS {
        return None;
    }
    let [first, middle, last] = [0, same.len() / 2, same.len() - 1].map(|i| same[i]);
    let (grown, served) = (last.memory - first.memory, last.served - first.served);
    let goes_on = middle.memory - first.memory >= grown * GOES_ON && last.memory - middle.memory >= grown * GOES_ON;
    (goes_on && grown >= GROWTH && served >= REQUESTS).then(|| grown / served)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(served: f64, clients: f64, memory: f64) -> Look {
        Look { served, clients, memory: memory * GROWTH }
    }

    #[test]
    fn only_what_goes_on_growing_under_the_same_clients_grows_with_requests() {
        let ramp = [look(0.0, 1.0, 1.0), look(10.0, 5.0, 10.0)];
        let then = |memory: [f64; 4]| {
            let held = memory.iter().enumerate().map(|(i, memory)| look(50.0 + 50.0 * i as f64, 10.0, *memory));
            per_request(&ramp.iter().copied().chain(held).collect::<Vec<_>>())
        };
        assert_eq!(then([20.0, 23.0, 26.0, 29.0]), Some(9.0 * GROWTH / 150.0));
        assert_eq!(then([20.0, 20.1, 20.2, 20.3]), None, "next to nothing");
        assert_eq!(then([20.0, 29.0, 29.0, 29.0]), None, "once, and not again");
        assert_eq!(per_request(&ramp), None, "the clients came, too");
    }
}
