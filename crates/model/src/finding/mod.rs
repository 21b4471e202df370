//! What a record means: statements with their evidence attached. Made by `analysis` only; reports only show them.

mod cause;
mod client;
mod predicted;
mod proof;
mod series;
mod trial;
mod verdict;

pub use cause::{Against, Break, Candidate, Cause, Confidence, Counterfactual, Evidence, Moved, Scale};
pub use client::{ClientCheck, ClientLimit};
pub use predicted::Predicted;
pub use proof::{Decided, Estimate, Judged, Proof, ProposedChange, Rule};
pub use series::{Findings, Point, Series};
pub use trial::{DisconnectFinding, FlowFinding, HandshakeFinding, Quantiles, StepFinding, TrialFinding};
pub use verdict::{Answer, Because, Caveat, Outcome, SCHEMA, Verdict};
