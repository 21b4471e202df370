//! Studies: what was found, as a [`Document`](crate::document::Document).
//!
//! Every sentence and figure of a report is written here, once.

mod cache;
mod claim;
pub(crate) mod compare;
pub(crate) mod comparison;
mod environment;
mod idle_requests;
mod latencies;
mod over_time;
mod rooms;
mod suite;
pub(crate) mod tune;

pub use cache::cache;
pub use claim::claims;
pub use compare::compare;
pub use idle_requests::idle_requests;
pub use latencies::latencies;
pub use rooms::rooms;
pub use suite::{sentences as suite_sentences, suite};
pub use tune::{About, Sentence, said, sentences, tune};
