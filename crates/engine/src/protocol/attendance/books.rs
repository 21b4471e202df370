//! The members of a load that several processes make: what each of them tells, and all of them put together.

use std::collections::BTreeMap;

use genkai_model::load::{Arrivals, Load, Protocol};
use genkai_model::rooms::{Attendance, Attended, Rooms};

use super::roster::{Attendee, Watch};
use super::seen::Seen;
use super::settle::settle;
use crate::clock::Moment;

/// What a process tells of a member.
pub(crate) fn told(attendee: Attendee) -> Attended {
    let Attendee { number, entered, cut, refused, sent, seen, .. } = attendee;
    let (reached, missing) = (seen.reached().to_vec(), seen.gaps());
    let (duplicated, reordered, foreign) = (seen.duplicated, seen.reordered, seen.foreign);
    Attended { number, entered, cut, refused, sent, reached, missing, duplicated, reordered, foreign }
}

/// The rooms of a load and how many members it has; none where it has no rooms.
pub(crate) fn rooms_of(load: &Load) -> Option<(&Rooms, u32)> {
    match (&load.protocol, load.arrivals) {
        (Protocol::WebSocket(websocket), Arrivals::Users { count, .. }) => Some((websocket.rooms.as_ref()?, count)),
        _ => None,
    }
}

/// Who was in the rooms of a load and received what, of all processes.
#[derive(Debug)]
pub struct Books {
    rooms: Rooms,
    members: u32,
    all: BTreeMap<u32, Attendee>,
}

impl Books {
    /// Of `load`; none where it has no rooms.
    pub fn of(load: &Load) -> Option<Books> {
        let (rooms, members) = rooms_of(load)?;
        Some(Books { rooms: rooms.clone(), members, all: BTreeMap::new() })
    }

    /// Takes what process number `process` tells of a member.
    ///
    /// # Errors
    /// When no member of the load can be like that, or it was told of before; nothing is taken then.
    pub fn take(&mut self, process: u16, one: Attended) -> Result<(), String> {
        let number = one.number;
        let (seats, messages) = (self.members.div_ceil(self.rooms.rooms), self.rooms.messages);
        let known = number < self.members && one.sent.len() <= messages as usize && !self.all.contains_key(&number);
        let seen = known.then(|| Seen::again(seats, messages, &one.reached, &one.missing)).flatten();
        let seen = seen.ok_or_else(|| format!("what it told of member {number} cannot be"))?;
        let mut attendee = Attendee::new(number, self.members, &self.rooms);
        attendee.seen = seen;
        attendee.clock = Watch { process, ..Watch::default() };
        (attendee.entered, attendee.cut, attendee.refused, attendee.sent) =
            (one.entered, one.cut, one.refused, one.sent);
        let seen = &mut attendee.seen;
        (seen.duplicated, seen.reordered, seen.foreign) = (one.duplicated, one.reordered, one.foreign);
        self.all.insert(number, attendee);
        Ok(())
    }

    /// What became of all messages. The clock of process number `n` may be wrong by `within[n]` nanoseconds at most: a message that was sent
    /// by a member of another process so near to when a member entered, or was cut off, counts as not due. `stopped`: somebody ended the load
    /// early, which processes hear one after the other; what was sent since the first of them sent nothing more is not due either. `hurry` as
    /// for one process.
    pub fn settle(mut self, within: &[u64], stopped: bool, hurry: impl Fn() -> bool) -> Attendance {
        let until = self.first_silence().filter(|_| stopped);
        for one in self.all.values_mut() {
            one.clock.within = within.get(usize::from(one.clock.process)).copied().unwrap_or(0);
            one.clock.until = until;
        }
        settle(&self.rooms, self.members, self.all.into_values().collect(), hurry)
    }

    /// When the first of several processes had sent its last message; none of one alone, whose members all end at once.
    fn first_silence(&self) -> Option<Moment> {
        let mut last: BTreeMap<u16, Moment> = BTreeMap::new();
        for one in self.all.values() {
            let sent = last.entry(one.clock.process).or_default();
            *sent = one.sent.iter().copied().fold(*sent, Moment::max);
        }
        last.values().copied().min().filter(|_| last.len() > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::settle::tests::rooms;
    use super::*;
    use genkai_model::error::ErrorKind;
    use genkai_model::websocket::WebSocket;

    const MS: u64 = 1_000_000;

    /// Two rooms, four members, three messages each.
    fn books() -> Books {
        let rooms = rooms();
        let protocol = Protocol::WebSocket(WebSocket { rooms: Some(rooms), ..WebSocket::default() });
        Books::of(&Load { protocol, ..Load::users(4, 1.0) }).unwrap()
    }

    fn member(number: u32, entered: u64, sent: &[u64], received: &[(u32, u64)]) -> Attendee {
        let books = books();
        let mut one = Attendee::new(number, books.members, &books.rooms);
        (one.entered, one.sent) = (Some(entered * MS), sent.iter().map(|ms| ms * MS).collect());
        for (sender, sequence) in received {
            one.receives(*sender, *sequence);
        }
        one
    }

    #[test]
    fn processes_tell_what_one_would_have_known() {
        let mut one = member(1, 5, &[6, 8], &[(1, 0), (1, 0), (3, 2), (0, 0)]);
        one.cut = Some((9 * MS, ErrorKind::Reset));
        let mut three = Attendee::new(3, 4, &books().rooms);
        three.refused = vec![ErrorKind::ConnectRefused; 3];
        let all = [
            member(0, 0, &[1, 20, 40], &[(0, 0), (0, 1), (0, 2), (2, 0)]),
            one,
            member(2, 10, &[11, 21, 31], &[(0, 2), (2, 0), (2, 2), (2, 1)]),
            three,
        ];
        let alone = settle(&books().rooms, 4, all.to_vec(), || false);
        assert!(alone.losses.len() > 1 && alone.rooms[0].lost > 0, "{alone:?}");
        let mut parts = books();
        for (process, attendee) in [1, 0, 1, 0].into_iter().zip(all) {
            // As it travels.
            let line = serde_json::to_string(&told(attendee)).unwrap();
            parts.take(process, serde_json::from_str(&line).unwrap()).unwrap();
        }
        assert_eq!(parts.settle(&[0, 0], false, || false), alone);
    }

    #[test]
    fn what_clocks_leave_open_is_not_lost() {
        // Member 2 of the other process entered at 10 ms, and was cut off at 30 ms.
        let sent = [11, 15, 29];
        let lost = |process: u16, within: u64| {
            let mut two = member(2, 10, &[], &[]);
            two.cut = Some((30 * MS, ErrorKind::Reset));
            let mut books = books();
            books.take(0, told(member(0, 0, &sent, &[(0, 0), (0, 1), (0, 2)]))).unwrap();
            books.take(process, told(two)).unwrap();
            let found = books.settle(&[0, within * MS], false, || false);
            (found.rooms[0].lost, found.rooms[0].away)
        };
        assert_eq!((lost(1, 0), lost(1, 2), lost(0, 2)), ((3, 0), (1, 1), (3, 0)));
    }

    #[test]
    fn what_was_sent_while_processes_were_stopped_one_by_one_is_not_lost() {
        // The members of process 1 were stopped after 15 ms, those of process 0 went on until 29 ms; the message of 11 ms did not come.
        let lost = |stopped: bool| {
            let mut books = books();
            books.take(0, told(member(0, 0, &[11, 15, 29], &[(0, 0), (0, 1), (0, 2), (2, 0), (2, 1)]))).unwrap();
            books.take(1, told(member(2, 0, &[12, 14], &[(2, 0), (2, 1)]))).unwrap();
            let found = books.settle(&[0, 0], stopped, || false);
            (found.rooms[0].lost, found.rooms[0].away)
        };
        assert_eq!((lost(false), lost(true)), ((3, 0), (1, 2)));
    }

    #[test]
    fn what_cannot_be_is_not_taken() {
        let good = told(member(0, 0, &[1], &[(0, 0)]));
        let mut books = books();
        books.take(0, good.clone()).unwrap();
        for wrong in [
            good.clone(),
            Attended { number: 4, ..good.clone() },
            Attended { number: 1, sent: vec![1; 4], ..good.clone() },
            Attended { number: 1, reached: vec![9, 9], ..good.clone() },
        ] {
            assert!(books.take(1, wrong).is_err());
        }
        assert!(Books::of(&Load::users(4, 1.0)).is_none());
    }
}
