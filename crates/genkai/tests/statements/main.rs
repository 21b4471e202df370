//! What is stated follows from the record: each figure, each word, of today and of earlier versions.

mod contradictions;
mod figures;
#[path = "../harness/mod.rs"]
mod harness;
mod mutations;
mod records;
mod said;
#[path = "../../../analysis/tests/world/mod.rs"]
mod world;
