//! Which messages of its room a member has heard: a bit each, so that memory does not grow.

/// Messages heard by one member.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    messages: u32,
    bits: Vec<u64>,
    /// By sender: number after the highest heard.
    reached: Vec<u32>,
    /// By sender: how many were heard.
    heard_of: Vec<u32>,
    pub(crate) heard: u64,
    pub(crate) duplicated: u64,
    pub(crate) reordered: u64,
    /// Heard, and not for this room.
    pub(crate) foreign: u64,
}

/// What a message was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// Heard for the first time; whether a later one of its sender was heard before.
    New {
        /// See above.
        reordered: bool,
    },
    /// Heard again.
    Again,
    /// Nobody was to send it.
    Foreign,
}

impl Seen {
    /// For a room of `seats` members that send `messages` each.
    pub(crate) fn new(seats: u32, messages: u32) -> Seen {
        let bits = (u64::from(seats) * u64::from(messages)).div_ceil(64) as usize;
        let none = vec![0; seats as usize];
        Seen { messages, bits: vec![0; bits], reached: none.clone(), heard_of: none, ..Seen::default() }
    }

    /// The member in `seat` said its message number `sequence`.
    #[inline]
    pub(crate) fn came(&mut self, seat: u32, sequence: u64) -> Came {
        let Some(reached) = self.reached.get_mut(seat as usize).filter(|_| sequence < u64::from(self.messages)) else {
            return self.foreign();
        };
        let sequence = sequence as u32;
        let at = u64::from(seat) * u64::from(self.messages) + u64::from(sequence);
        let (word, bit) = (&mut self.bits[(at / 64) as usize], 1 << (at % 64));
        if *word & bit != 0 {
            self.duplicated += 1;
            return Came::Again;
        }
        *word |= bit;
        self.heard += 1;
        self.heard_of[seat as usize] += 1;
        let reordered = sequence < *reached;
        self.reordered += u64::from(reordered);
        *reached = (*reached).max(sequence + 1);
        Came::New { reordered }
    }

    /// A message came that nobody was to send here.
    pub(crate) fn foreign(&mut self) -> Came {
        self.foreign += 1;
        Came::Foreign
    }

    /// Whether all of the first `sent` messages of the member in `seat` were heard: known without a look at each.
    pub(crate) fn has_all(&self, seat: u32, sent: usize) -> bool {
        let seat = seat as usize;
        let (reached, heard) = (self.reached.get(seat), self.heard_of.get(seat));
        reached == heard && reached.is_some_and(|reached| *reached as usize >= sent)
    }

    /// How many of the first `sent` messages of the member in `seat` were not heard, without a look at each.
    pub(crate) fn missing(&self, seat: u32, sent: usize) -> u64 {
        (sent as u64).saturating_sub(self.heard_of.get(seat as usize).copied().unwrap_or(0).into())
    }

    /// Whether it was heard.
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
                    Came::Foreign
                } else if !set.insert((seat, sequence)) {
                    Came::Again
                } else {
                    let reordered = highest[seat as usize] > Some(sequence);
                    highest[seat as usize] = highest[seat as usize].max(Some(sequence));
                    Came::New { reordered }
                };
                prop_assert_eq!(seen.came(seat, sequence), expected);
            }
            prop_assert_eq!(seen.heard, set.len() as u64);
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
        assert_eq!((seen.came(2, 0), seen.came(1, 3), seen.foreign), (Came::Foreign, Came::Foreign, 2));
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
