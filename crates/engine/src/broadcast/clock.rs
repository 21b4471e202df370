//! Delays between the clock of a server and that of its clients, which may be on another machine.

use genkai_model::latencies::steps::ServerClock;

use super::BroadcastError;

/// From when the server says that it sent until the message came here; `asked`: when it was asked to, here. At least a nanosecond: what the
/// clocks hide may be all of it.
pub(super) fn delay(clock: ServerClock, asked: Option<u64>, said: u64, came: u64) -> Result<u64, BroadcastError> {
    let sent = said.saturating_add_signed(clock.offset_ns);
    let early = asked.is_some_and(|asked| sent.saturating_add(clock.within_ns) < asked);
    if early || sent > came.saturating_add(clock.within_ns) {
        return Err(BroadcastError::Clock { asked: asked.unwrap_or(0), said: sent, came });
    }
    Ok(came.saturating_sub(sent).max(1))
}

/// By how much the clock is wrong at the least, if a message came before it was sent or was sent before it was asked for.
pub(super) fn wrong(clock: ServerClock, asked: Option<u64>, said: u64, came: u64) -> u64 {
    let sent = said.saturating_add_signed(clock.offset_ns);
    sent.saturating_sub(came).max(asked.map_or(0, |asked| asked.saturating_sub(sent)))
}

/// An instant of ours as the server is told it: of its own clock, and earlier by what that may be wrong, so that no delay is below zero.
pub(super) fn stamp(clock: ServerClock, now: u64) -> u64 {
    now.saturating_add_signed(clock.offset_ns.saturating_neg()).saturating_sub(clock.within_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_clock_needs_no_margin() {
        let same = ServerClock::default();
        assert_eq!(delay(same, Some(10), 12, 30).unwrap(), 18);
        assert_eq!(stamp(same, 77), 77);
        for (asked, said, came) in [(10, 9, 30), (10, 31, 30)] {
            assert!(matches!(delay(same, Some(asked), said, came), Err(BroadcastError::Clock { .. })));
        }
    }

    #[test]
    fn another_clock_is_reckoned_with_and_trusted_as_far_as_it_is_known() {
        let ahead = ServerClock { offset_ns: 2_000, within_ns: 50 };
        // The server's 100 is our 2,100.
        assert_eq!(delay(ahead, Some(2_090), 100, 2_130).unwrap(), 30);
        assert_eq!(delay(ahead, Some(2_149), 100, 2_160).unwrap(), 60, "asked after it was sent: the clocks' error");
        assert_eq!(delay(ahead, None, 100, 2_080).unwrap(), 1, "received before it was sent: the clocks' error");
        assert_eq!([wrong(ahead, Some(2_149), 100, 2_160), wrong(ahead, None, 100, 2_080)], [49, 20], "which is told");
        assert_eq!(wrong(ahead, Some(2_090), 100, 2_130), 0);
        assert!(delay(ahead, Some(2_151), 100, 2_160).is_err() && delay(ahead, None, 100, 2_049).is_err());
        assert_eq!(stamp(ahead, 2_130), 80, "its 130, less what is not known");
        let behind = ServerClock { offset_ns: -2_000, within_ns: 50 };
        assert_eq!(delay(behind, None, 5_000, 3_400).unwrap(), 400);
        assert_eq!(stamp(behind, 3_400), 5_350);
    }
}
