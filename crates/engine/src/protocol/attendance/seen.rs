//! Which messages of its room a member has received: a bit each, so that memory does not grow.

/// Messages received by one member.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    messages: u32,
    bits: Vec<u64>,
    /// By sender: number after the highest received.
    reached: Vec<u32>,
    /// By sender: how many were received.
    received_of: Vec<u32>,
    pub(crate) received: u64,
    pub(crate) duplicated: u64,
    pub(crate) reordered: u64,
    /// Received, and not for this room.
    pub(crate) foreign: u64,
}

/// What a message was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoomMessage {
    /// Received for the first time; whether a later one of its sender was received before.
    New {
        /// See above.
        reordered: bool,
    },
    /// Received again.
    Again,
    /// Nobody was to send it.
    Foreign,
}

impl Seen {
    /// For a room of `seats` members that send `messages` each.
    pub(crate) fn new(seats: u32, messages: u32) -> Seen {
        let bits = (u64::from(seats) * u64::from(messages)).div_ceil(64) as usize;
        let none = vec![0; seats as usize];
        Seen { messages, bits: vec![0; bits], reached: none.clone(), received_of: none, ..Seen::default() }
    }

    /// The member in `seat` sent its message number `sequence`.
    #[inline]
    pub(crate) fn came(&mut self, seat: u32, sequence: u64) -> RoomMessage {
        let Some(reached) = self.reached.get_mut(seat as usize).filter(|_| sequence < u64::from(self.messages)) else {
            return self.foreign();
        };
        let sequence = sequence as u32;
        let at = u64::from(seat) * u64::from(self.messages) + u64::from(sequence);
        let (word, bit) = (&mut self.bits[(at / 64) as usize], 1 << (at % 64));
        if *word & bit != 0 {
            self.duplicated += 1;
            return RoomMessage::Again;
        }
        *word |= bit;
        self.received += 1;
        self.received_of[seat as usize] += 1;
        let reordered = sequence < *reached;
        self.reordered += u64::from(reordered);
        *reached = (*reached).max(sequence + 1);
        RoomMessage::New { reordered }
    }

    fn all_came(&mut self, seat: u32, sequences: std::ops::Range<u32>) {
        for sequence in sequences {
            self.came(seat, sequence.into());
        }
    }

    /// A message came that nobody was to send here.
    pub(crate) fn foreign(&mut self) -> RoomMessage {
        self.foreign += 1;
        RoomMessage::Foreign
    }

    /// Whether all of the first `sent` messages of the member in `seat` were received: known without a look at each.
    pub(crate) fn has_all(&self, seat: u32, sent: usize) -> bool {
        let seat = seat as usize;
        let (reached, received) = (self.reached.get(seat), self.received_of.get(seat));
        reached == received && reached.is_some_and(|reached| *reached as usize >= sent)
    }

    /// How many of the first `sent` messages of the member in `seat` were not received, without a look at each.
    pub(crate) fn missing(&self, seat: u32, sent: usize) -> u64 {
        (sent as u64).saturating_sub(self.received_of.get(seat as usize).copied().unwrap_or(0).into())
    }

    /// Of each sender, by seat: number after the highest received.
    pub(crate) fn reached(&self) -> &[u32] {
        &self.reached
    }

    /// Messages below those that were not received, in runs: seat of the sender, first, last.
    pub(crate) fn gaps(&self) -> Vec<(u32, u32, u32)> {
        let mut gaps: Vec<(u32, u32, u32)> = Vec::new();
        for (seat, (reached, received)) in (0..).zip(self.reached.iter().zip(&self.received_of)) {
            // Mostly, nothing is missing.
            let numbers = if reached == received { 0..0 } else { 0..*reached };
            for sequence in numbers.filter(|sequence| !self.has(seat, *sequence)) {
                match gaps.last_mut() {
                    Some((of, _, last)) if *of == seat && *last + 1 == sequence => *last = sequence,
                    _ => gaps.push((seat, sequence, sequence)),
                }
            }
        }
        gaps
    }

    /// The same again, from what [`reached`](Seen::reached) and [`gaps`](Seen::gaps) told; none where no room of so many seats can have told that.
    pub(crate) fn again(seats: u32, messages: u32, reached: &[u32], gaps: &[(u32, u32, u32)]) -> Option<Seen> {
        let mut seen = Seen::new(seats, messages);
        if reached.len() != seats as usize || reached.iter().any(|one| *one > messages) {
            return None;
        }
        let mut gaps = gaps.iter().copied().peekable();
        for (seat, reached) in (0..seats).zip(reached.iter().copied()) {
            let mut next = 0;
            while let Some((_, first, last)) = gaps.next_if(|(of, _, _)| *of == seat) {
                // In order, and below the highest that was received.
                if first < next || last < first || last.checked_add(1)? >= reached {
                    return None;
                }
                seen.all_came(seat, next..first);
                next = last + 1;
            }
            seen.all_came(seat, next..reached);
        }
        gaps.next().is_none().then_some(seen)
    }

    /// Whether it was received.
    pub(crate) fn has(&self, seat: u32, sequence: u32) -> bool {
        let at = u64::from(seat) * u64::from(self.messages) + u64::from(sequence);
        self.bits.get((at / 64) as usize).is_some_and(|word| word & (1 << (at % 64)) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn it_knows_what_a_list_knows(came in proptest::collection::vec((0u32..5, 0u64..40), 0..300)) {
            let mut seen = Seen::new(5, 33);
            let (mut set, mut highest) = (HashSet::new(), [None; 5]);
            for (seat, sequence) in came {
                let expected = if sequence >= 33 {
                    RoomMessage::Foreign
                } else if !set.insert((seat, sequence)) {
                    RoomMessage::Again
                } else {
                    let reordered = highest[seat as usize] > Some(sequence);
                    highest[seat as usize] = highest[seat as usize].max(Some(sequence));
                    RoomMessage::New { reordered }
                };
                prop_assert_eq!(seen.came(seat, sequence), expected);
            }
            prop_assert_eq!(seen.received, set.len() as u64);
            for (seat, sequence) in (0..5).flat_map(|seat| (0..33).map(move |n| (seat, n))) {
                prop_assert_eq!(seen.has(seat, sequence), set.contains(&(seat, u64::from(sequence))));
            }
            let again = Seen::again(5, 33, seen.reached(), &seen.gaps()).unwrap();
            prop_assert_eq!((&again.bits, &again.reached, &again.received_of), (&seen.bits, &seen.reached, &seen.received_of));
            for (seat, sent) in (0..5).flat_map(|seat| (0..=33).map(move |n| (seat, n))) {
                let all = (0..sent).all(|sequence| set.contains(&(seat, sequence)));
                // It may not know, but it is never wrong.
                prop_assert!(all || !seen.has_all(seat, sent as usize));
            }
        }
    }

    #[test]
    fn what_no_room_can_have_told_is_not_taken() {
        assert!(Seen::again(2, 3, &[3, 0], &[(0, 0, 1)]).is_some_and(|seen| seen.received == 1 && seen.has(0, 2)));
        type Gaps = &'static [(u32, u32, u32)];
        let wrong: [(&[u32], Gaps); 7] = [
            (&[3], &[]),
            (&[3, 4], &[]),
            (&[3, 3], &[(0, 1, 2)]),
            (&[3, 3], &[(0, 1, 0)]),
            (&[3, 3], &[(2, 0, 0)]),
            (&[3, 3], &[(1, 0, 0), (0, 0, 0)]),
            (&[3, 3], &[(0, 1, u32::MAX)]),
        ];
        for (reached, gaps) in wrong {
            assert!(Seen::again(2, 3, reached, gaps).is_none(), "{reached:?} {gaps:?}");
        }
    }

    #[test]
    fn a_stranger_is_nobody() {
        let mut seen = Seen::new(2, 3);
        assert_eq!((seen.came(2, 0), seen.came(1, 3), seen.foreign), (RoomMessage::Foreign, RoomMessage::Foreign, 2));
    }

    #[test]
    fn who_was_wholly_heard_is_known() {
        let mut seen = Seen::new(2, 3);
        assert!(seen.has_all(1, 0) && !seen.has_all(1, 1) && !seen.has_all(2, 0));
        for sequence in [0, 2] {
            seen.came(1, sequence);
        }
        assert!(!seen.has_all(1, 3));
        seen.came(1, 1);
        assert!(seen.has_all(1, 3) && !seen.has_all(0, 1));
    }
}
