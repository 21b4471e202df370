//! How far another machine's clock is from ours, by exchanges of four stamps.
//!
//! We ask at `asked`, it hears that at `received` and answers at `answered` (its clock), we hear the answer at `heard`. The offset is
//! ((received - asked) + (answered - heard)) / 2, and it is wrong by half of the round trip at most, whatever the two ways
//! took (RFC 5905, section 8). The exchange with the least round trip bounds it most tightly.

use genkai_model::event::WorkerClock;

use super::protocol::Stamps;

/// One exchange, nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    stamps: Stamps,
    /// Our clock when the answer was heard.
    heard: i64,
}

impl Exchange {
    /// An exchange whose answer was heard at this instant of our clock.
    pub(super) fn new(stamps: Stamps, heard: i64) -> Exchange {
        Exchange { stamps, heard }
    }

    /// Its clock less ours.
    fn offset(&self) -> i64 {
        let Stamps { asked, received, answered } = self.stamps;
        (received.saturating_sub(asked) / 2).saturating_add(answered.saturating_sub(self.heard) / 2)
    }

    /// Time on the way, there and back.
    fn round_trip(&self) -> u64 {
        let Stamps { asked, received, answered } = self.stamps;
        let all = self.heard.saturating_sub(asked).saturating_sub(answered.saturating_sub(received));
        u64::try_from(all).unwrap_or_default()
    }
}

/// What exchanges say of a clock; none without any.
pub(super) fn read(exchanges: &[Exchange]) -> Option<WorkerClock> {
    let best = exchanges.iter().min_by_key(|one| one.round_trip())?;
    // Both halves of the offset are rounded.
    let uncertainty_ns = best.round_trip().div_ceil(2) + 1;
    Some(WorkerClock { offset_ns: best.offset(), uncertainty_ns, drift_ns: None })
}

/// The same clock with what exchanges after the load say of it.
pub(super) fn again(before: WorkerClock, after: &[Exchange]) -> WorkerClock {
    let drift_ns = read(after).map(|after| after.offset_ns.saturating_sub(before.offset_ns));
    WorkerClock { drift_ns, ..before }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exchange(asked: i64, offset: i64, [there, busy, back]: [u32; 3]) -> Exchange {
        let received = asked + i64::from(there) + offset;
        let answered = received + i64::from(busy);
        Exchange::new(Stamps { asked, received, answered }, answered - offset + i64::from(back))
    }

    proptest! {
        /// However unequal the ways are, the offset is as near as is said.
        #[test]
        fn the_offset_is_within_its_uncertainty(
            asked in 0..1i64 << 50,
            offset in -(1i64 << 50)..1 << 50,
            ways in prop::collection::vec(prop::array::uniform3(0u32..1 << 30), 1..9),
        ) {
            let all: Vec<Exchange> = ways.iter().map(|way| exchange(asked, offset, *way)).collect();
            let clock = read(&all).unwrap();
            prop_assert!(clock.offset_ns.abs_diff(offset) <= clock.uncertainty_ns, "{clock:?}");
            let least = ways.iter().map(|[there, _, back]| u64::from(*there) + u64::from(*back)).min().unwrap();
            prop_assert_eq!(clock.uncertainty_ns, least.div_ceil(2) + 1);
        }
    }

    #[test]
    fn drift_is_the_change_of_the_offset() {
        let before = read(&[exchange(10, 5_000, [4, 1, 4])]).unwrap();
        assert_eq!(again(before, &[exchange(99, 5_200, [2, 0, 2])]).drift_ns, Some(200));
        assert_eq!(again(before, &[]).drift_ns, None);
    }
}
