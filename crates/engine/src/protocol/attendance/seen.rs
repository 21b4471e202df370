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
            for (seat, sent) in (0..5).flat_map(|seat| (0..=33).map(move |n| (seat, n))) {
                let all = (0..sent).all(|sequence| set.contains(&(seat, sequence)));
                // It may not know, but it is never wrong.
                prop_assert!(all || !seen.has_all(seat, sent as usize));
            }
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
