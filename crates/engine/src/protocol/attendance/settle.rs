//! What became of all messages, at the end.

use std::collections::BTreeMap;

use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::rooms::{Attendance, Cut, Loss, MOST_LOSSES, RoomCount, Rooms, Unsent};

use super::roster::Attendee;
use crate::clock::Moment;

/// Looks at all `attendees` of a load of `members` users in `rooms`, of which some may never have been started. When `hurry` says
/// that there is no time, messages that did not come are only counted as unnamed: which of them were due is not known.
pub(crate) fn settle(
    rooms: &Rooms,
    members: u32,
    mut attendees: Vec<Attendee>,
    hurry: impl Fn() -> bool,
) -> Attendance {
    attendees.sort_unstable_by_key(|attendee| attendee.number);
    let mut attendance = Attendance { entered_after: vec![0; rooms.retries as usize + 1], ..Attendance::default() };
    entries(&mut attendance, members, &attendees);
    let mut by_room: Vec<Vec<&Attendee>> = vec![Vec::new(); rooms.rooms as usize];
    for attendee in &attendees {
        by_room[attendee.room() as usize].push(attendee);
    }
    for (room, present) in (0..).zip(&by_room) {
        let seats = members / rooms.rooms + u32::from(room < members % rooms.rooms);
        let planned = u64::from(seats) * u64::from(rooms.messages);
        let count = settle_room(RoomCount { room, planned, ..RoomCount::default() }, present, &mut attendance, &hurry);
        attendance.rooms.push(count);
    }
    for number in 0..members {
        let found = attendees.binary_search_by_key(&number, |attendee| attendee.number);
        let sent = found.map_or(0, |at| attendees[at].sent.len() as u32);
        if sent < rooms.messages {
            attendance.unsent.push(Unsent { sender: number, first: sent, last: rooms.messages - 1 });
        }
    }
    attendance
}

/// Who entered, and how.
fn entries(attendance: &mut Attendance, members: u32, attendees: &[Attendee]) {
    let mut refused: BTreeMap<usize, (ErrorKind, u64)> = BTreeMap::new();
    let mut entered = 0;
    for attendee in attendees {
        for kind in &attendee.refused {
            refused.entry(kind.index()).or_insert((*kind, 0)).1 += 1;
        }
        if attendee.entered.is_some() {
            entered += 1;
            let attempts = attendee.refused.len().min(attendance.entered_after.len() - 1);
            attendance.entered_after[attempts] += 1;
        }
        if let Some((at, kind)) = attendee.cut {
            attendance.cuts.push(Cut { member: attendee.number, at_us: at / 1_000, kind });
        }
    }
    attendance.never_entered = u64::from(members) - entered;
    attendance.refused = refused.into_values().map(|(kind, count)| ErrorCount { kind, count }).collect();
}

fn settle_room(
    mut count: RoomCount,
    present: &[&Attendee],
    attendance: &mut Attendance,
    hurry: &impl Fn() -> bool,
) -> RoomCount {
    let entered = || present.iter().filter(|attendee| attendee.entered.is_some());
    let first = entered().min_by_key(|attendee| attendee.entered);
    count.first = first.map(|attendee| attendee.number);
    count.score = first.map_or(0, |attendee| attendee.seen.received);
    count.members = entered().count() as u32;
    count.sent = present.iter().map(|attendee| attendee.sent.len() as u64).sum();
    for receiver in entered() {
        count.delivered += receiver.seen.received;
        count.duplicated += receiver.seen.duplicated;
        count.reordered += receiver.seen.reordered;
        count.foreign += receiver.seen.foreign;
        let hurried = hurry();
        for sender in present {
            match hurried {
                false => compare(receiver, sender, &mut count, attendance),
                true => attendance.unnamed += receiver.seen.missing(sender.seat(), sender.sent.len()),
            }
        }
    }
    count
}

/// Which messages of `sender` were due at `receiver` and did not come.
fn compare(receiver: &Attendee, sender: &Attendee, count: &mut RoomCount, attendance: &mut Attendance) {
    if receiver.seen.has_all(sender.seat(), sender.sent.len()) {
        return;
    }
    let mut run: Option<Loss> = None;
    let apart = receiver.clock.apart(sender.clock);
    for (sequence, at) in (0..).zip(&sender.sent) {
        let missed = !receiver.seen.has(sender.seat(), sequence);
        match (missed, due(receiver, *at, apart)) {
            (true, Due::Present) => {
                count.lost += 1;
                let at_us = at / 1_000;
                match &mut run {
                    Some(loss) if loss.last + 1 == sequence => (loss.last, loss.to_us) = (sequence, at_us),
                    _ => {
                        name(run.take(), attendance);
                        let (receiver, sender) = (receiver.number, sender.number);
                        run = Some(Loss {
                            receiver,
                            sender,
                            first: sequence,
                            last: sequence,
                            from_us: at_us,
                            to_us: at_us,
                        });
                    }
                }
            }
            (true, Due::Away) => count.away += 1,
            _ => {}
        }
    }
    name(run, attendance);
}

enum Due {
    Early,
    Present,
    Away,
}

/// Whether a message sent at `at` was due. A member that has entered is known to its server, so everything sent from then on
/// is; what was sent before may come or not. Where the clocks of both may be so far apart, what they cannot tell is not due.
fn due(receiver: &Attendee, at: Moment, apart: Moment) -> Due {
    match (receiver.entered, receiver.cut) {
        (Some(entered), _) if at < entered.saturating_add(apart) => Due::Early,
        (_, Some((cut, _))) if at >= cut.saturating_sub(apart) => Due::Away,
        _ if receiver.clock.until.is_some_and(|until| at >= until.saturating_sub(apart)) => Due::Away,
        _ => Due::Present,
    }
}

fn name(loss: Option<Loss>, attendance: &mut Attendance) {
    let Some(loss) = loss else { return };
    if attendance.losses.len() < MOST_LOSSES {
        attendance.losses.push(loss);
    } else {
        attendance.unnamed += loss.count();
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use genkai_model::units::Span;

    const MS: Moment = 1_000_000;

    /// Two rooms of which each member says three things.
    pub(in super::super) fn rooms() -> Rooms {
        Rooms {
            rooms: 2,
            messages: 3,
            every: Span::from_secs(1),
            retries: 2,
            pause: Span::from_secs(1),
            socketio: false,
        }
    }

    fn member(number: u32, entered: Option<Moment>, sent: &[Moment], received: &[(u32, u64)]) -> Attendee {
        let mut attendee = Attendee::new(number, 4, &rooms());
        (attendee.entered, attendee.sent) = (entered, sent.to_vec());
        for (sender, sequence) in received {
            attendee.receives(*sender, *sequence);
        }
        attendee
    }

    #[test]
    fn what_was_due_and_did_not_come_is_named() {
        // Room 0 has members 0 and 2, room 1 has 1 and 3; 3 never entered.
        let zero = member(0, Some(0), &[MS, 20 * MS, 40 * MS], &[(0, 0), (0, 1), (0, 2), (2, 0), (1, 0)]);
        let mut two = member(2, Some(10 * MS), &[11 * MS, 21 * MS, 31 * MS], &[(0, 2), (2, 0), (2, 2), (2, 1), (2, 1)]);
        two.refused = vec![ErrorKind::ConnectRefused];
        let mut one = member(1, Some(5 * MS), &[6 * MS], &[(1, 0)]);
        one.cut = Some((9 * MS, ErrorKind::Reset));
        let mut three = member(3, None, &[], &[]);
        three.refused = vec![ErrorKind::ConnectRefused; 3];
        let attendance = settle(&rooms(), 4, vec![two, zero, three, one], || false);
        let [blue, red] = attendance.rooms[..] else { panic!("two rooms") };
        assert_eq!((blue.first, blue.score, blue.members, blue.planned, blue.sent), (Some(0), 4, 2, 6, 6));
        assert_eq!((blue.delivered, blue.lost, blue.duplicated, blue.reordered, blue.foreign), (8, 3, 1, 1, 1));
        let loss = |receiver, sender, first, last, from: u64, to: u64| Loss {
            receiver,
            sender,
            first,
            last,
            from_us: from * 1_000,
            to_us: to * 1_000,
        };
        // Member 2 was not there for the first message of member 0.
        assert_eq!(attendance.losses, [loss(0, 2, 1, 2, 21, 31), loss(2, 0, 1, 1, 20, 20)]);
        assert_eq!((red.first, red.score, red.members, red.planned, red.sent, red.lost), (Some(1), 1, 1, 6, 1, 0));
        assert_eq!(attendance.cuts, [Cut { member: 1, at_us: 9_000, kind: ErrorKind::Reset }]);
        let unsent = |sender, first| Unsent { sender, first, last: 2 };
        assert_eq!(attendance.unsent, [unsent(1, 1), unsent(3, 0)]);
        assert_eq!((attendance.entered_after, attendance.never_entered), (vec![2, 1, 0], 1));
        assert_eq!(attendance.refused, [ErrorCount { kind: ErrorKind::ConnectRefused, count: 4 }]);
    }

    #[test]
    fn a_receiver_that_was_cut_off_is_away() {
        let mut zero = member(0, Some(0), &[MS], &[(0, 0)]);
        zero.cut = Some((15 * MS, ErrorKind::ClosedAbnormally));
        let two = member(2, Some(2 * MS), &[10 * MS, 20 * MS], &[(2, 0), (2, 1)]);
        let settled = |hurried: bool| settle(&rooms(), 4, vec![zero.clone(), two.clone()], || hurried);
        let attendance = settled(false);
        assert_eq!((attendance.rooms[0].lost, attendance.rooms[0].away, attendance.rooms[0].score), (1, 1, 1));
        assert_eq!(attendance.losses.len(), 1, "sent before the cut, and not received");
        let hurried = settled(true);
        assert_eq!(
            (hurried.rooms[0].lost, hurried.unnamed, hurried.losses.len()),
            (0, 3, 0),
            "who knows what was due? What was sent before a member entered, or after it was cut off, is among them"
        );
    }
}
