//! A load as laws meet it.

/// From one end to the other.
pub(crate) type Ends = (f64, f64);

/// How long a place of several servers takes for a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    /// As long as a request takes on average.
    Average,
    /// So many seconds.
    Takes(f64),
    /// It is not told.
    Untold,
}

/// The load.
#[derive(Clone, Debug)]
pub(crate) struct Met {
    /// Users, or requests a second.
    pub(crate) level: f64,
    /// New users a second; none: requests come at a rate.
    pub(crate) spawn: Option<f64>,
    /// By how much a rate grows in a second.
    pub(crate) climb: f64,
    /// How long users pause, seconds.
    pub(crate) think: f64,
    /// Whether connections are kept.
    pub(crate) keeps: bool,
    /// How long a response takes, seconds.
    pub(crate) service: Option<f64>,
    /// How long it takes where nothing waits, seconds.
    pub(crate) alone: Option<f64>,
    /// How long one took before any limit made it wait, seconds.
    pub(crate) unloaded: Option<f64>,
    /// How long a response may take, seconds, and at which quantile that is judged.
    pub(crate) patience: (f64, f64),
    /// Most clients at once.
    pub(crate) most: f64,
    /// Bytes of a request's body.
    pub(crate) body: f64,
    /// Bytes of a WebSocket message.
    pub(crate) message: f64,
    /// Whether clients are WebSockets that stay open.
    pub(crate) tunnels: bool,
    /// The longest that an open WebSocket says nothing, seconds.
    pub(crate) silence: f64,
    /// Whether connections are counted, and no moment has all users of a second begin at once: not of what Locust makes.
    pub(crate) counted: bool,
    /// Whether requests come at random (Poisson).
    pub(crate) random: bool,
    /// How long a place of several servers takes.
    pub(crate) place: Place,
    /// Workers of each pool, and how long it tells that one takes, seconds.
    pub(crate) pools: Vec<(f64, Option<f64>)>,
}
