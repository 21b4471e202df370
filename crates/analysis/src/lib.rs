//! Records to statements: what broke, why, what to change, and how sure that is.
//!
//! Everything here is a pure function of a [`Record`](genkai_model::record::Record): no file, socket or clock, no random
//! number that the plan's seed does not give, and no product known by name - a product's limits arrive as data ([`genkai_model::limit`]). The same
//! functions serve a live run (what to try next) and a record read back years later (the verdict), so that the two can
//! never disagree.
//!
//! Reading order: [`window`] (ticks added up), [`capacity`] (a limit's law against a load), [`diagnosis`] (when it broke
//! and which limit it was), [`client`] (was it the generator itself), [`tuning`] (what to try next, from the record
//! alone), [`bisection`] (which directives to leave out), [`rooms`] (chat rooms: where messages went), [`latencies`] (servers compared), [`compare`] (systems compared), [`effect`], [`spending`] and [`order`] (what all comparisons share), [`proof`] and [`statistics`] (before against after), [`verdict`] (all of it as [`findings`]).

pub mod bisection;
mod busy;
pub mod cache;
pub mod capacity;
pub mod claims;
pub mod client;
pub mod compare;
pub mod diagnosis;
pub mod doubts;
pub mod effect;
pub mod flows;
mod hidden;
pub mod idle_requests;
pub mod latencies;
pub mod machine;
pub mod order;
mod outpaced;
mod processes;
pub mod proof;
pub mod refusals;
pub mod rooms;
pub mod separation;
pub mod series;
mod sockets;
pub mod spending;
pub mod statements;
pub mod statistics;
pub mod steady;
mod stress;
pub mod suite;
pub mod summary;
pub mod tuning;
pub mod verdict;
pub mod window;
mod workers;

pub use verdict::findings;
