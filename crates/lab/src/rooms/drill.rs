//! What goes wrong on purpose, and when.

use std::time::Duration;

use genkai_model::plan::Fault;

/// How long the router stands still before it is killed, so that something is on its way through it.
const STILL: Duration = Duration::from_millis(600);

/// One thing to do to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Kill the last node.
    KillNode,
    /// Have Redis close the connections of its subscribers.
    CutSubscribers,
    /// The same, with others in their places.
    FillRedis,
    /// Let the router stand still.
    FreezeRouter,
    /// Kill the router and start it anew.
    ResetRouter,
}

/// What is still to be done, by time since the load began.
pub(super) struct Drill(Vec<(Duration, Act)>);

impl Drill {
    /// Of these faults. (Messages that a node loses are its own affair.)
    pub(super) fn new(faults: &[Fault]) -> Drill {
        let mut acts: Vec<(Duration, Act)> = Vec::new();
        for fault in faults {
            match *fault {
                Fault::KillNode(at) => acts.push((at.duration(), Act::KillNode)),
                Fault::CutSubscribers(at) => acts.push((at.duration(), Act::CutSubscribers)),
                Fault::FillRedis(at) => acts.push((at.duration(), Act::FillRedis)),
                Fault::ResetRouter(at) => {
                    acts.extend([(at.duration(), Act::FreezeRouter), (at.duration() + STILL, Act::ResetRouter)]);
                }
                Fault::LoseEvery(_) => {}
            }
        }
        acts.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        Drill(acts)
    }

    /// The next thing to do, if it is time.
    pub(super) fn due(&mut self, now: Duration) -> Option<Act> {
        self.0.pop_if(|(at, _)| *at <= now).map(|(_, act)| act)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use genkai_model::units::Span;

    #[test]
    fn acts_come_in_order_when_it_is_time() {
        let faults =
            [Fault::KillNode(Span::from_millis(900)), Fault::LoseEvery(3), Fault::ResetRouter(Span::from_millis(500))];
        let mut drill = Drill::new(&faults);
        let mut due = |ms| drill.due(Duration::from_millis(ms));
        assert_eq!((due(499), due(500), due(500)), (None, Some(Act::FreezeRouter), None));
        assert_eq!((due(5000), due(5000), due(5000)), (Some(Act::KillNode), Some(Act::ResetRouter), None));
    }
}
