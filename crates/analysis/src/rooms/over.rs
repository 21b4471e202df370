//! A run over time: who was there, what was said and heard, and when what was said that never came.

use genkai_model::event::Tick;
use genkai_model::finding::rooms::Moment;
use genkai_model::record::Trial;
use genkai_model::rooms::{Attendance, Loss};

use crate::series::groups;
use crate::window::{self, US};

/// A moment for each tick, or for several together in a long run.
pub(super) fn over(trial: &Trial, attendance: &Attendance) -> Vec<Moment> {
    let groups = groups(&trial.ticks);
    let ends: Vec<u64> = groups.iter().filter_map(|ticks| Some(ticks.last()?.to_us)).collect();
    let mut lost = vec![0.0; ends.len()];
    for loss in &attendance.losses {
        spread(loss, &ends, &mut lost);
    }
    groups.iter().zip(lost).map(|(ticks, lost)| moment(ticks, lost)).collect()
}

/// Adds the messages of `loss` to the stretches in which they were sent: they were sent at a steady pace.
fn spread(loss: &Loss, ends: &[u64], lost: &mut [f64]) {
    let steps = (loss.count() - 1).max(1);
    for n in 0..loss.count() {
        let at = loss.from_us + n * (loss.to_us - loss.from_us) / steps;
        let place = ends.partition_point(|end| *end <= at).min(ends.len().saturating_sub(1));
        if let Some(lost) = lost.get_mut(place) {
            *lost += 1.0;
        }
    }
}

fn moment(ticks: &[Tick], lost: f64) -> Moment {
    let seconds: f64 = ticks.iter().map(window::length).sum();
    let rate = |n: f64| if seconds > 0.0 { n / seconds } else { 0.0 };
    let sum = |what: fn(&Tick) -> u64| ticks.iter().map(what).sum::<u64>() as f64;
    let latency = window::merge_some(ticks, |tick| tick.deliveries.as_ref().map(|all| &all.latency));
    let (from, to) = (ticks.first().map_or(0, |t| t.from_us), ticks.last().map_or(0, |t| t.to_us));
    Moment {
        at: (from as f64 + to as f64) / 2.0 / US,
        connections: ticks.last().map_or(0, |tick| tick.connections),
        sent: rate(sum(|tick| tick.messages.as_ref().map_or(0, |all| all.sent))),
        heard: rate(sum(|tick| tick.deliveries.as_ref().map_or(0, |all| all.count))),
        lost: rate(lost),
        p99: window::quantile(&latency, 0.99),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_fall_into_the_stretches_in_which_they_were_sent() {
        let loss = |first, last, from_us, to_us| Loss { receiver: 0, sender: 1, first, last, from_us, to_us };
        let mut lost = vec![0.0; 3];
        for loss in [loss(4, 4, 1_500, 1_500), loss(0, 2, 500, 2_500), loss(9, 9, 99_000, 99_000)] {
            spread(&loss, &[1_000, 2_000, 3_000], &mut lost);
        }
        assert_eq!(lost, [1.0, 2.0, 2.0], "what was sent after the last interval belongs to it");
        spread(&loss(0, 0, 1, 1), &[], &mut []);
    }
}
