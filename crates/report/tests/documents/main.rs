//! Findings and live views as people and programs read them.

mod backends;
mod cache;
mod compare;
mod counted;
mod doctor;
mod figures;
mod files;
#[path = "../fixture/mod.rs"]
mod fixture;
mod latencies;
mod left;
mod live;
mod proofs;
mod removals;
mod suites;
mod tables;
mod uncertain;
mod unlike;
mod words;
