//! Missing messages by the place where they went missing.

use std::collections::{BTreeMap, HashMap};

use genkai_model::finding::rooms::{Place, Placed};
use genkai_model::record::Trial;
use genkai_model::rooms::{Attendance, Loss};

use super::trail::Trails;

/// Counts by place.
#[derive(Default)]
struct Places(BTreeMap<(Place, Option<u32>), Placed>);

impl Places {
    fn add(&mut self, place: Place, node: Option<u32>, count: u64, at: Option<(u64, u64)>) {
        if count == 0 {
            return;
        }
        let placed =
            self.0.entry((place, node)).or_insert(Placed { place, node, count: 0, from_us: None, to_us: None });
        placed.count += count;
        if let Some((from, to)) = at {
            placed.from_us = Some(placed.from_us.map_or(from, |before| before.min(from)));
            placed.to_us = Some(placed.to_us.map_or(to, |before| before.max(to)));
        }
    }

    fn list(self) -> Vec<Placed> {
        let mut all: Vec<Placed> = self.0.into_values().collect();
        all.sort_by_key(|placed| std::cmp::Reverse(placed.count));
        all
    }

    /// Every message of `loss`, where it ended.
    fn follow(&mut self, loss: &Loss, trails: &Trails<'_>) {
        let steps = u64::from(loss.last - loss.first).max(1);
        for sequence in loss.first..=loss.last {
            let (place, node) = trails.end(loss.receiver, loss.sender, sequence);
            // Messages of a sender are sent at a steady pace: the instants between are on the line.
            let part = u64::from(sequence - loss.first) * (loss.to_us - loss.from_us) / steps;
            let at = loss.from_us + part;
            self.add(place, node, 1, Some((at, at)));
        }
    }
}

/// Where all lost deliveries were lost. Those beyond what is named are of an unknown place.
pub(super) fn losses(trial: &Trial, attendance: &Attendance) -> Vec<Placed> {
    let trails = Trails::read(trial, attendance);
    let mut places = Places::default();
    for loss in &attendance.losses {
        places.follow(loss, &trails);
    }
    places.add(Place::Unknown, None, attendance.unnamed, None);
    places.list()
}

/// Where the points went that are missing from the score.
pub(super) fn missing(trial: &Trial, attendance: &Attendance) -> Vec<Placed> {
    let trails = Trails::read(trial, attendance);
    let mut places = Places::default();
    let firsts: HashMap<u32, u32> = attendance.rooms.iter().filter_map(|room| Some((room.first?, room.room))).collect();
    let mut found = vec![0; attendance.rooms.len()];
    for loss in attendance.losses.iter().filter(|loss| firsts.contains_key(&loss.receiver)) {
        places.follow(loss, &trails);
        found[firsts[&loss.receiver] as usize] += loss.count();
    }
    for (room, found) in attendance.rooms.iter().zip(found) {
        let unsent = room.planned - room.sent;
        places.add(Place::NeverSent, None, unsent, None);
        // What was sent, not heard, and not lost on the way, was sent while the first entrant was not there.
        places.add(Place::ReceiverAway, None, (room.sent - room.score).saturating_sub(found), None);
    }
    places.list()
}
