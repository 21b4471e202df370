//! The dispatcher: planned arrivals are given to a protocol when they are due.

use std::rc::Rc;

use super::attendance::Attendee;
use super::core::Core;
use crate::clock::Moment;
use crate::schedule::pacer::{Arrival, Pacer};
use crate::transport::reactor::{spawn, yield_now};

/// Most arrivals in a row: when the schedule is ahead of the machine, the requests it made still get their turn.
const ARRIVALS: usize = 64;

/// What one thread does with its arrivals: users (closed model), or requests and messages (open model). What belongs to one
/// protocol, and to one load, is behind it.
pub(crate) trait Protocol {
    /// Takes up the `n`-th arrival of the thread, which is due; whether the load goes on.
    fn arrive(&self, n: usize, arrival: Arrival) -> bool;

    /// There will be no more arrivals.
    fn complete(&self) {}

    /// At the end of the load: members of chat rooms, where there are such.
    fn attendees(&self) -> Vec<Attendee> {
        Vec::new()
    }
}

/// Starts to give the arrivals of `pacer` to `protocol`; what is given back is for the end of the load.
pub(crate) fn start<P: Protocol + 'static>(core: &Rc<Core>, pacer: Pacer, protocol: P) -> Rc<dyn Protocol> {
    let protocol = Rc::new(protocol);
    spawn(dispatch(Rc::clone(core), pacer, Rc::clone(&protocol)));
    protocol
}

/// How often one whose turn comes when a held load goes on looks whether it does.
const LOOK: Moment = 20_000_000;

/// Waits for as long as the load is held.
async fn await_turn(core: &Core, arrival: Arrival) -> Arrival {
    loop {
        let (at, now) = (core.due(arrival.at), core.clock.now());
        if at <= now {
            return Arrival { at, ..arrival };
        }
        core.alarm.until(at.min(now + LOOK)).await;
    }
}

async fn dispatch<P: Protocol>(core: Rc<Core>, pacer: Pacer, protocol: Rc<P>) {
    // A rate is what it is at any time: only its end can wait.
    let held = pacer.is_of_users();
    let mut row = 0;
    for (n, arrival) in pacer.enumerate() {
        row = if core.clock.now() < arrival.at { 0 } else { row + 1 };
        if row >= ARRIVALS {
            row = 0;
            yield_now().await;
        }
        core.alarm.until(arrival.at).await;
        let arrival = if held { await_turn(&core, arrival).await } else { arrival };
        if !protocol.arrive(n, arrival) {
            break;
        }
    }
    protocol.complete();
}
