//! What is counted: figures of a thread in an interval, handed over at its end, joined over threads and processes.

pub(crate) mod attempt;
pub(crate) mod figure;
pub(crate) mod flows;
pub(crate) mod join;
pub(crate) mod ledger;
pub(crate) mod merge;
pub(crate) mod open;
pub(crate) mod report;
pub(crate) mod tally;
