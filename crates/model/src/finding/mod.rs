//! What a record means: statements with their evidence attached. Made by `analysis` only; reports only show them.

mod answer;
mod bisection;
pub mod cache;
mod cause;
pub mod claim;
mod client;
pub mod comparison;
mod counted;
mod decision;
mod effect;
mod estimate;
pub mod idle_requests;
mod ladder;
pub mod latencies;
mod predicted;
mod price;
mod proof;
pub mod rooms;
mod series;
mod trial;
mod verdict;

pub use answer::{Answer, Because, Outcome};
pub use bisection::{Bisected, BisectionEnd};
pub use cause::{
    Again, Against, Break, Candidate, Cause, Confidence, Counterfactual, Evidence, Failures, Later, MoreTries, Moved,
    Scale, Seen, Unanswered, Unchanged,
};
pub use client::{ClientCheck, ClientLimit, LateOver};
pub use counted::{CountedTrial, Counts};
pub use decision::{Answered, Decision, Pairing, Stop};
pub use effect::{Call, Effect, RankedPair};
pub use estimate::{Estimate, OneSided, Quantiles};
pub use ladder::{Ladder, MeasuredRung, MetAt, PredictedRung, ProvedRung, Rung, RungLimit, Together};
pub use predicted::{Predicted, ProcessorUse};
pub use price::{
    DescriptorPrice, DescriptorsAlone, GrewServing, MeasuredPrice, MemoryPrice, Onward, OnwardLimit, OnwardPrice,
    Price, Taken, TestedPrice,
};
pub use proof::{Decided, Proof, ProposedChange, Rule, TrialVerdict};
pub use series::{Findings, Point, Series};
pub use trial::{
    DisconnectFinding, FlowFinding, HandshakeFinding, ProcessFinding, StepFinding, TrialFinding, WorkerFinding,
};
pub use verdict::{Answers, Caveat, SCHEMA, Smaller, TriedValue, Verdict};
