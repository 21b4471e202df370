//! The drill's cases: faults that are put into a system on purpose, and what a diagnosis must say of each. This is the one list;
//! the test suite runs some of it.

mod apache;
mod behind;
mod caddy;
mod haproxy;
mod innocent;
mod kernel;
mod nginx;
mod rooms;
mod websocket;

/// One fault, or an innocent look-alike.
pub(crate) struct Case {
    /// Short name.
    pub(crate) name: &'static str,
    /// What is done to the system.
    pub(crate) fault: &'static str,
    /// Product under test, or [`ROOMS`].
    pub(crate) product: &'static str,
    /// Flags of `genkai tune`, or of `genkai experiment run rooms`, split at spaces.
    pub(crate) flags: &'static str,
    /// Flags with spaces in them, a word each.
    pub(crate) more: &'static [&'static str],
    /// `--objective`, where it is not the default.
    pub(crate) objective: Option<&'static str>,
    /// Configuration; `{backend}` is the address of what stands behind.
    pub(crate) config: Option<&'static str>,
    /// What stands behind.
    pub(crate) behind: Behind,
    /// Where genkai is run.
    pub(crate) inside: Inside,
    /// Whether another program takes all processor time there is.
    pub(crate) hog: bool,
    /// What must be said.
    pub(crate) expect: Expect,
    /// Why the break need not come where the formula puts it; empty: it must.
    pub(crate) off: &'static str,
}

/// What stands behind the product.
pub(crate) enum Behind {
    /// What the flags say (`--backend-...`).
    Flags,
    /// An origin of the user's with these flags.
    Origin(&'static str),
    /// The same behind a link with these flags.
    Link(&'static str, &'static str),
    /// Nobody: a port that refuses, named in the configuration.
    Nobody,
}

/// The limit of a control group, which is a reason for which a client is the limit, too.
pub(crate) const QUOTA: &str = "machine.cpu_quota";

/// The product of cases with chat rooms.
pub(crate) const ROOMS: &str = "rooms";

/// Where genkai is run.
pub(crate) enum Inside {
    /// As the drill.
    Here,
    /// In a network namespace of its own, with these settings under `/proc/sys/net`: path and value.
    Network(&'static [(&'static str, &'static str)]),
    /// In a control group that gets so many hundredths of one core.
    Quota(u32),
    /// The fault cannot be made without changing the machine: why.
    Nowhere(&'static str),
}

/// What must be said.
pub(crate) enum Expect {
    /// One of these limits is the cause, and no other.
    Cause(&'static [&'static str]),
    /// The objective holds.
    Holds,
    /// The client was the limit: nothing is said of the servers.
    Client,
    /// One of these limits, or that the client was the limit: both sides had no processor time.
    Crowded(&'static [&'static str]),
}

const PLAIN: Case = Case {
    name: "",
    fault: "",
    product: "nginx",
    flags: "",
    objective: None,
    more: &[],
    config: None,
    behind: Behind::Flags,
    inside: Inside::Here,
    hog: false,
    expect: Expect::Holds,
    off: "",
};

const AT_ONCE: &str = "all clients come at once: there is no level at which it begins";
const NO_NUMBER: &str = "no number predicts it: the law is unknown";
const SIZE: &str = "it counts bytes, not clients";
const SLOW: &str = "a time, not a number of clients";
const HANGS: &str = "who is not accepted hangs in the accept queue: that is seen only when it has lasted";
const PAGE: &str = "a page that takes too long is seen when it is there, and meanwhile more users have come";
const PATIENCE: &str = "requests wait first: it fails where the wait exceeds what is allowed, not where waiting begins";

/// A load whose level rises slowly enough for the break to show where it is.
macro_rules! rising {
    ($rest:literal) => {
        concat!("--users 160 --spawn-rate 20 --backend-time 200ms ", $rest)
    };
}
use rising;

/// Every case, in the order in which they are told.
pub(crate) fn all() -> impl Iterator<Item = &'static Case> {
    let proxies = [nginx::CASES, apache::CASES, haproxy::CASES, caddy::CASES, websocket::CASES];
    let others = [behind::CASES, rooms::CASES, kernel::CASES, innocent::CASES];
    proxies.into_iter().chain(others).flatten()
}
