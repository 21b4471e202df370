//! Servers of unlike speed, from their own counters: what each takes by itself, and what they answer together.

use crate::asked::TOLERANCE;
use crate::broken::Judged;
use crate::events::Line;
use crate::met::Place;
use crate::scan;

/// Of the last look at the servers before the break.
pub(crate) fn of(judged: &Judged<'_>) -> Place {
    let Some(limit) = judged.limits.iter().find(|limit| !limit.servers.is_empty()) else { return Place::Average };
    let end = match judged.onset {
        Some(onset) => onset.at_us,
        None => judged.trial.ticks().last().map_or(0, |tick| tick.number("/to_us") as u64),
    };
    let within = |line: &&Line| {
        line.text("/subject") == limit.subject && scan::since(&judged.trial, line).is_some_and(|at| at > 0 && at <= end)
    };
    let Some(look) = judged.trial.of("sample").filter(within).last() else { return Place::Untold };
    let seen = |name: &str| look.json.get("metrics")?.get(name)?.as_f64();
    let (mut times, mut counts) = (Vec::new(), Vec::new());
    for server in &limit.servers {
        let (Some(time), Some(count)) = (seen(&server.time), seen(&server.answers)) else { return Place::Untold };
        if count < 1.0 || server.failures.iter().any(|name| seen(name) != Some(0.0)) {
            return Place::Untold;
        }
        times.push(time);
        counts.push(count.min(512.0));
    }
    let number = times.len() as f64;
    let mean = times.iter().sum::<f64>() / number;
    let as_many = limit.servers.windows(2).all(|two| two[0].at_once.to_bits() == two[1].at_once.to_bits());
    let room = if as_many { 0.3 } else { TOLERANCE } * mean;
    let enough = counts.iter().all(|count| *count >= 10.0);
    if times.iter().all(|time| (time - mean).abs() + 0.001 <= room) && (enough || as_many) {
        return Place::Average;
    }
    if !enough || !as_many || times.iter().any(|time| *time <= 0.001) {
        return Place::Untold;
    }
    // What they answer together in the time of a place, all places full; what a millisecond less each would make of it; what chance may.
    let sum: f64 = times.iter().map(|time| time.recip()).sum();
    let rounded: f64 = times.iter().map(|time| (time - 0.001).recip()).sum();
    let variance: f64 = times.iter().zip(&counts).map(|(time, n)| 1.0 / (time * time * sum * sum * n)).sum();
    match rounded <= (1.0 + TOLERANCE) * sum && 4.0 * variance <= TOLERANCE * TOLERANCE {
        true => Place::Takes(number / sum),
        false => Place::Untold,
    }
}
