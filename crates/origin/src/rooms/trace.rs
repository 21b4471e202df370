//! What became of each of the last messages in this node, for who asks afterwards.
//!
//! As text, a line each, fields separated by a space, times in microseconds of the system's monotonic clock (shared by all
//! processes of one machine):
//! * `m SENDER SEQUENCE HOPS QUEUED WRITTEN MICROS`: a message; HOPS as in [`Traced`](genkai_model::rooms::Traced); QUEUED
//!   members it was queued for, WRITTEN those whose socket took it;
//! * `d MEMBER SENDER SEQUENCE WHY MICROS`: a delivery that was lost; MEMBER is who the client said it is, or `-`; WHY is
//!   `slow` or `gone`;
//! * `j MEMBER` and `l MEMBER MICROS`: a member that entered, and one that left or was disconnected, if it said who it is;
//! * at last `end MESSAGES KEPT DROPS KEPT`: how many there were, and how many are above.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::time::Duration;

use genkai_wire::identity::{Identity, LENGTH};
use nix::time::{ClockId, clock_gettime};

/// Members kept.
const MEMBERS: usize = 1 << 20;
/// Lost deliveries kept.
const DROPS: usize = 1 << 18;

/// Why a delivery was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// Its member was disconnected for being slow.
    Slow,
    /// Its member was gone.
    Gone,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    sender: u32,
    sequence: u64,
    hops: u8,
    queued: u32,
    written: u32,
    micros: u64,
}

#[derive(Clone, Copy, Debug)]
struct Drop {
    member: Option<u32>,
    sender: u32,
    sequence: u64,
    why: Why,
    micros: u64,
}

/// A ring of messages.
#[derive(Debug)]
pub(super) struct Trace {
    ring: Vec<Entry>,
    capacity: usize,
    /// Messages so far: the next place.
    next: u64,
    drops: VecDeque<Drop>,
    dropped: u64,
    members: Vec<u32>,
    gone: Vec<(u32, u64)>,
}

impl Trace {
    /// Keeps `capacity` messages; none for 0.
    pub(super) fn new(capacity: usize) -> Trace {
        Trace {
            ring: Vec::new(),
            capacity,
            next: 0,
            drops: VecDeque::new(),
            dropped: 0,
            members: Vec::new(),
            gone: Vec::new(),
        }
    }

    /// A message was seen; its place, if it is traced.
    pub(super) fn message(&mut self, data: &[u8], hops: u8) -> Option<u64> {
        if self.capacity == 0 {
            return None;
        }
        let identity = Identity::read(data.first_chunk::<LENGTH>()?)?;
        let (sender, sequence) = (identity.connection, identity.sequence);
        let entry = Entry { sender, sequence, hops, queued: 0, written: 0, micros: micros() };
        let at = (self.next % self.capacity as u64) as usize;
        if at == self.ring.len() {
            self.ring.push(entry);
        } else {
            self.ring[at] = entry;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    /// A member entered.
    pub(super) fn joined(&mut self, member: u32) {
        if self.capacity > 0 && self.members.len() < MEMBERS {
            self.members.push(member);
        }
    }

    /// A member is not in its room any more.
    pub(super) fn left(&mut self, member: u32) {
        if self.capacity > 0 && self.gone.len() < MEMBERS {
            self.gone.push((member, micros()));
        }
    }

    fn entry(&mut self, place: Option<u64>) -> Option<&mut Entry> {
        let place = place.filter(|place| self.next - place <= self.capacity as u64)?;
        self.ring.get_mut((place % self.capacity as u64) as usize)
    }

    /// What else happened to the message at `place`.
    pub(super) fn hop(&mut self, place: Option<u64>, hop: u8) {
        if let Some(entry) = self.entry(place) {
            entry.hops |= hop;
        }
    }

    /// It was queued for so many members.
    pub(super) fn queued(&mut self, place: Option<u64>, members: u32) {
        if let Some(entry) = self.entry(place) {
            entry.queued = members;
        }
    }

    /// One of them has it.
    pub(super) fn written(&mut self, place: Option<u64>) {
        if let Some(entry) = self.entry(place) {
            entry.written += 1;
        }
    }

    /// One of them will not get it.
    pub(super) fn dropped(&mut self, place: Option<u64>, member: Option<u32>, why: Why) {
        let Some(&mut Entry { sender, sequence, .. }) = self.entry(place) else { return };
        if self.drops.len() == DROPS {
            self.drops.pop_front();
        }
        self.drops.push_back(Drop { member, sender, sequence, why, micros: micros() });
        self.dropped += 1;
    }

    /// The text.
    pub(super) fn text(&self) -> String {
        let mut text = String::with_capacity(self.ring.len() * 32 + 64);
        let split = if self.capacity == 0 { 0 } else { (self.next % self.capacity as u64) as usize };
        let (newer, older) = self.ring.split_at(split.min(self.ring.len()));
        for Entry { sender, sequence, hops, queued, written, micros } in older.iter().chain(newer) {
            let _ = writeln!(text, "m {sender} {sequence} {hops} {queued} {written} {micros}");
        }
        for Drop { member, sender, sequence, why, micros } in &self.drops {
            let member = member.map_or_else(|| "-".to_owned(), |member| member.to_string());
            let why = if *why == Why::Slow { "slow" } else { "gone" };
            let _ = writeln!(text, "d {member} {sender} {sequence} {why} {micros}");
        }
        for member in &self.members {
            let _ = writeln!(text, "j {member}");
        }
        for (member, micros) in &self.gone {
            let _ = writeln!(text, "l {member} {micros}");
        }
        let _ = writeln!(text, "end {} {} {} {}", self.next, self.ring.len(), self.dropped, self.drops.len());
        text
    }
}

/// The system's monotonic clock.
fn micros() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |now| Duration::from(now).as_micros() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use genkai_model::rooms::{PUBLISHED, RECEIVED};

    fn message(sender: u32, sequence: u64) -> [u8; LENGTH] {
        let mut text = [0; LENGTH];
        Identity { connection: sender, sequence, planned: 5 }.write(&mut text);
        text
    }

    fn lines(trace: &Trace) -> Vec<String> {
        let without_time = |line: &str| match line.rsplit_once(' ') {
            Some((rest, _)) if !line.starts_with("end") => rest.to_owned(),
            _ => line.to_owned(),
        };
        trace.text().lines().map(without_time).collect()
    }

    #[test]
    fn a_message_is_followed_and_the_oldest_forgotten() {
        let mut trace = Trace::new(2);
        let places: Vec<_> = (0..3).map(|n| trace.message(&message(7, n), RECEIVED)).collect();
        trace.queued(places[0], 9);
        trace.hop(places[1], PUBLISHED);
        trace.queued(places[2], 2);
        trace.written(places[2]);
        trace.dropped(places[2], Some(11), Why::Slow);
        trace.dropped(places[0], Some(12), Why::Gone);
        assert_eq!(lines(&trace), ["m 7 1 3 0 0", "m 7 2 1 2 1", "d 11 7 2 slow", "end 3 2 1 1"]);
    }

    #[test]
    fn what_is_no_message_of_a_load_is_not_traced() {
        let mut trace = Trace::new(2);
        assert_eq!((trace.message(b"hello", RECEIVED), trace.message(&[b'x'; 40], RECEIVED)), (None, None));
        let mut none = Trace::new(0);
        assert_eq!(none.message(&message(1, 1), RECEIVED), None);
        none.dropped(None, None, Why::Gone);
        assert_eq!(lines(&none), ["end 0 0 0 0"]);
    }
}
