//! Servers that refuse connections. Of a server that is not ours that is all that can be seen: a restart of a second looks like a death at
//! first, so it is only said to have died where it refused for long, up to the end.

use genkai_model::event::{ServerState, State};
use genkai_model::record::Trial;

use crate::window::US;

/// How long a server must refuse, up to the end of the load, to be called dead, seconds.
pub const LONG: f64 = 5.0;
/// How far apart looks are, seconds: a refusal that was seen may be older by as much.
const LOOKS: f64 = 1.0;
/// What older records say of a server that refuses: that it died, with this in the detail.
const STOPPED: &str = "stopped accepting connections";

/// A while in which a server refused connections.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    /// Which.
    pub(crate) subject: String,
    /// When it was seen, seconds into the load.
    pub(crate) from: f64,
    /// When it took connections again; none: not before the end.
    pub(crate) until: Option<f64>,
    /// Whether it lasted so long, to the end, that the server is dead.
    pub(crate) dead: bool,
}

/// Whether `state` tells that connections are refused, and no more.
fn refuses(state: &State) -> bool {
    let stopped = || state.detail.as_ref().is_some_and(|detail| detail.contains(STOPPED));
    state.state == ServerState::Refuses || state.state == ServerState::Died && stopped()
}

/// Whether `state` tells that the process is gone.
pub(crate) fn is_death(state: &State) -> bool {
    state.state == ServerState::Died && !refuses(state)
}

/// Every refusal during the load of `trial`.
pub(crate) fn of(trial: &Trial) -> Vec<Refusal> {
    let end = trial.ticks.last().map_or(0, |t| t.to_us) as f64 / US;
    let during = trial.states.iter().enumerate().filter(|(_, (at, state))| *at >= 0 && refuses(state));
    let refusal = |(i, (at, state)): (usize, &(i64, State))| {
        let back = |(_, later): &&(i64, State)| later.state == ServerState::Ready && later.subject == state.subject;
        let from = *at as f64 / US;
        let until = trial.states[i + 1..].iter().find(back).map(|(at, _)| *at as f64 / US);
        Refusal { subject: state.subject.clone(), from, until, dead: until.is_none() && end - from >= LONG - LOOKS }
    };
    during.map(refusal).collect()
}

/// The refusal in which a break that began `at` and was certain at `certain` (seconds) came.
pub(crate) fn around(trial: &Trial, at: f64, certain: f64) -> Option<Refusal> {
    of(trial).into_iter().find(|one| one.from - LOOKS <= certain && one.until.is_none_or(|until| at <= until))
}
