//! Chat rooms: the score, who could not enter, and where each missing message went.

mod backplane;
mod over;
mod place;
mod trail;

use genkai_model::finding::Outcome;
use genkai_model::finding::rooms::{RoomsFinding, RoomsRun};
use genkai_model::objective::Objective;
use genkai_model::record::{Record, Trial};
use genkai_model::rooms::{Attendance, Hops, RoomCount};

use crate::{client, window, workers};

/// What the trials with rooms of a record showed; none when there was not one.
pub fn findings(record: &Record) -> Option<RoomsFinding> {
    let objective = record.head.as_ref().map(|head| head.plan.objective.clone()).unwrap_or_default();
    let cluster = record.head.as_ref().and_then(|head| head.plan.cluster());
    let backplane = cluster.and_then(|cluster| cluster.backplane.subject());
    let judged =
        |trial: &Trial| trial.attendance.as_ref().map(|attendance| run(trial, attendance, &objective, backplane));
    let runs: Vec<RoomsRun> = record.trials.iter().filter_map(judged).collect();
    if runs.is_empty() {
        return None;
    }
    let full = |run: &&RoomsRun| is_full(run.score, run.planned, run.foreign);
    let smallest_full = runs.iter().filter(full).filter(|run| run.client.valid).map(|run| run.nodes).min();
    let invalid = runs.iter().any(|run| !run.client.valid);
    let outcome = match smallest_full {
        Some(_) => Outcome::Holds,
        None if invalid => Outcome::Invalid,
        None if record.end.as_ref().is_none_or(|end| end.interrupted) => Outcome::Unfinished,
        None => Outcome::Fails,
    };
    Some(RoomsFinding { runs, smallest_full, outcome })
}

/// Everything was heard where it should be, and only there.
fn is_full(score: u64, planned: u64, foreign: u64) -> bool {
    score == planned && planned > 0 && foreign == 0
}

fn run(trial: &Trial, attendance: &Attendance, objective: &Objective, backplane: Option<&str>) -> RoomsRun {
    let losses = place::losses(trial, attendance);
    let sum = |what: fn(&RoomCount) -> u64| attendance.rooms.iter().map(what).sum::<u64>();
    let latency = window::merge_some(&trial.ticks, |tick| tick.deliveries.as_ref().map(|all| &all.latency));
    let mut hops = Hops::default();
    trial.nodes.iter().for_each(|node| hops += node.hops);
    RoomsRun {
        trial: trial.number,
        nodes: trial.nodes.len() as u32,
        score: attendance.score(),
        planned: attendance.planned(),
        sent: sum(|room| room.sent),
        delivered: sum(|room| room.delivered),
        lost: sum(|room| room.lost),
        duplicated: sum(|room| room.duplicated),
        reordered: sum(|room| room.reordered),
        foreign: sum(|room| room.foreign),
        away: sum(|room| room.away),
        rooms: attendance.rooms.iter().map(|room| room.score).collect(),
        full: attendance.rooms.iter().map(|room| room.planned).max().unwrap_or(0),
        entered: sum(|room| u64::from(room.members)),
        never_entered: attendance.never_entered,
        entered_after: attendance.entered_after.clone(),
        refused: attendance.refused.clone(),
        cuts: attendance.cuts.clone(),
        missing: place::missing(trial, attendance),
        causes: backplane::causes(trial, &losses, backplane),
        losses,
        router: trial.router.clone(),
        hops,
        over: over::over(trial, attendance),
        latency: window::quantiles(&latency),
        lasted: trial.ended.as_ref().map_or(0.0, |ended| ended.lasted.as_secs_f64()),
        client: client::check(trial, objective, None).finding,
        workers: workers::findings(trial),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_to_all_rooms_is_no_full_score() {
        assert!(is_full(60, 60, 0));
        assert!(!is_full(60, 60, 1), "a server that sends everything to everybody");
        assert!(!is_full(59, 60, 0) && !is_full(0, 0, 0));
    }
}
