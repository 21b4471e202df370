//! What a worker is doing, in Locust's words (`locust/runners.py`).

/// States of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    /// It waits for a test.
    Ready,
    /// Users begin.
    Spawning,
    /// All users that were asked for are there.
    Running,
    /// A test ends.
    Cleanup,
}

impl State {
    /// All of them, by number.
    const ALL: [State; 4] = [State::Ready, State::Spawning, State::Running, State::Cleanup];

    /// The one of a number.
    pub(crate) fn of(number: u8) -> State {
        State::ALL.get(usize::from(number)).copied().unwrap_or(State::Ready)
    }

    /// As Locust writes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            State::Ready => "ready",
            State::Spawning => "spawning",
            State::Running => "running",
            State::Cleanup => "cleanup",
        }
    }
}
