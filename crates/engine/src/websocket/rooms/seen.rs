//! Which messages of its room a member has heard: a bit each, so that memory does not grow.

/// Messages heard by one member.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    messages: u32,
    bits: Vec<u64>,
    /// By sender: number after the highest heard.
    reached: Vec<u32>,
    pub(crate) heard: u64,
    pub(crate) duplicated: u64,
    pub(crate) reordered: u64,
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
        Seen { messages, bits: vec![0; bits], reached: vec![0; seats as usize], ..Seen::default() }
    }

    /// The member in `seat` said its message number `sequence`.
    #[inline]
    pub(crate) fn came(&mut self, seat: u32, sequence: u64) -> Came {
        let Some(reached) = self.reached.get_mut(seat as usize).filter(|_| sequence < u64::from(self.messages)) else {
            return Came::Foreign;
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
        let reordered = sequence < *reached;
        self.reordered += u64::from(reordered);
        *reached = (*reached).max(sequence + 1);
        Came::New { reordered }
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
        }
    }

    #[test]
    fn a_stranger_is_nobody() {
        assert_eq!(Seen::new(2, 3).came(2, 0), Came::Foreign);
    }
}
