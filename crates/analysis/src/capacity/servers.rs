//! Several servers of which each has places of its own: unlike ones answer unlike shares of the requests once all places are taken, so the mean time
//! of all requests does not tell how many they answer together.

use genkai_model::limit::{Law, Limit, ServerPlaces};
use genkai_model::record::Trial;

use super::demand::Servers;
use super::{Demand, TOLERANCE};

/// Means are told to so many seconds.
const ROUNDED: f64 = 0.001;
/// How far from the mean of all a server's time may be where all are alike: so far, what they answer together is that of the mean within a
/// tenth (`n^2 / sum(t)` and `sum(1 / t)` differ by the square of it).
const ALIKE: f64 = 0.3;
/// Answers of each server without which nothing is known of it, and the most that its mean is of.
const FEWEST: f64 = 10.0;
const MOST: f64 = 512.0;

/// What `trial` tells, until so many microseconds, of the servers that a limit of its own names.
pub(crate) fn seen(trial: &Trial, until: Option<u64>, limits: &[Limit]) -> Servers {
    let Some(limit) = limits.iter().find(|limit| !limit.servers.is_empty()) else { return Servers::Alike };
    let end = until.or(trial.ticks.last().map(|tick| tick.to_us)).unwrap_or(0) as i64;
    let looks = trial.samples.iter().filter(|(at, sample)| (1..=end).contains(at) && sample.subject == limit.subject);
    let Some((_, look)) = looks.into_iter().next_back() else { return Servers::Unknown };
    let one = |server: &ServerPlaces| {
        let value = |name: &String| look.metrics.get(name).copied();
        let sound = server.failures.iter().all(|failed| value(failed) == Some(0.0));
        Some((value(&server.time)?, value(&server.answers)?)).filter(|_| sound)
    };
    let first = limit.servers[0].at_once;
    let even = limit.servers.iter().all(|server| (server.at_once - first).abs() < f64::EPSILON);
    let all: Option<Vec<(f64, f64)>> = limit.servers.iter().map(one).collect();
    all.map_or(Servers::Unknown, |all| of(&all, even))
}

/// Of servers with a mean time and a number of answers each, and as many places each or not.
fn of(all: &[(f64, f64)], even: bool) -> Servers {
    let count = all.len() as f64;
    let mean = all.iter().map(|(time, _)| time).sum::<f64>() / count;
    let far = all.iter().map(|(time, _)| (time - mean).abs()).fold(0.0, f64::max) + ROUNDED;
    let few = |least: f64| all.iter().any(|(_, answers)| *answers < least);
    if few(1.0) {
        return Servers::Unknown;
    }
    // So few answers tell nothing of times that are apart; of as many places each, times that are alike tell that none is slow.
    let alike = far <= mean * if even { ALIKE } else { TOLERANCE };
    if alike && (even || !few(FEWEST)) {
        return Servers::Alike;
    }
    if few(FEWEST) {
        return Servers::Unknown;
    }
    let together: f64 = all.iter().map(|(time, _)| 1.0 / time).sum();
    let most: f64 = all.iter().map(|(time, _)| 1.0 / (time - ROUNDED).max(0.0)).sum();
    // Times of one server vary by no more than they are long, as those of a queue with random service do.
    let error: f64 = all.iter().map(|(time, n)| (1.0 / time / together).powi(2) / n.min(MOST)).sum();
    let known = most <= together * (1.0 + TOLERANCE) && 2.0 * error.sqrt() <= TOLERANCE;
    if even && known { Servers::Unlike(count / together) } else { Servers::Unknown }
}

/// The load as `limit` meets it: how long a place of its servers takes, where that is another than a request's.
pub(super) fn met(limit: &Limit, demand: &Demand) -> Demand {
    // Where a part of the system tells how long it takes, all of them are that part.
    if limit.servers.is_empty() || demand.alone.is_some() || demand.servers == Servers::Alike {
        return *demand;
    }
    let takes = match (demand.servers, &limit.law) {
        (Servers::Unlike(time), Law::Workers { .. }) => Some(time),
        _ => None,
    };
    Demand { alone: takes, unloaded: takes, ..*demand }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_unlike_speed_answer_by_the_time_of_each() {
        let Servers::Unlike(time) = of(&[(0.05, 500.0), (0.25, 400.0)], true) else { panic!("unlike") };
        // 5 places each: 10 / time = 5 / 0.05 + 5 / 0.25 = 120 a second, and not 10 / 0.15 = 67.
        assert!((10.0 / time - 120.0).abs() < 1e-9, "{time}");
        assert_eq!(
            of(&[(0.05, 500.0), (0.25, 400.0)], false),
            Servers::Unknown,
            "how many places each has decides, too"
        );
    }

    #[test]
    fn what_is_noise_or_not_known_is_not_told_as_unlike() {
        assert_eq!(of(&[(0.1, 20.0), (0.12, 30.0), (0.09, 20.0)], true), Servers::Alike);
        assert_eq!(of(&[(0.1, 20.0), (0.12, 30.0), (0.09, 20.0)], false), Servers::Unknown);
        assert_eq!(of(&[(0.05, 40.0), (0.25, 40.0)], true), Servers::Unknown, "of so few answers means are noise");
        assert_eq!(of(&[(0.05, 400.0), (0.25, 4.0)], true), Servers::Unknown);
        assert_eq!(of(&[(0.1, 4.0), (0.11, 3.0)], true), Servers::Alike, "a quick ramp");
        assert_eq!(of(&[(0.1, 4.0), (0.11, 3.0)], false), Servers::Unknown);
        assert_eq!(of(&[(0.1, 4.0), (0.1, 0.0)], true), Servers::Unknown);
        assert_eq!(of(&[(0.001, 400.0), (0.002, 400.0)], true), Servers::Unknown, "told to a millisecond");
        assert_eq!(of(&[(0.0, 400.0), (0.0, 400.0)], true), Servers::Unknown);
    }
}
