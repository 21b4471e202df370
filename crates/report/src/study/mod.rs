//! Studies: what was found, as a [`Document`](crate::document::Document).
//!
//! Every sentence and figure of a report is written here, once.

mod cache;
mod check;
mod claim;
pub(crate) mod compare;
pub(crate) mod comparison;
mod doctor;
mod doubts;
mod environment;
mod explain;
mod idle_requests;
mod latencies;
mod machines;
mod over_time;
mod plan;
mod platforms;
mod rooms;
mod script;
mod suite;
pub(crate) mod tune;

pub use cache::cache;
pub use check::check;
pub use claim::claims;
pub use compare::compare;
pub use doctor::{doctor, places};
pub use doubts::doubts;
pub use explain::explain;
pub use idle_requests::idle_requests;
pub use latencies::latencies;
pub use plan::{compare_plan, plan, suite_length};
pub use platforms::platforms;
pub use rooms::rooms;
pub use script::script;
pub use suite::{sentences as suite_sentences, suite};
pub use tune::{About, Sentence, said, sentences, tune};
