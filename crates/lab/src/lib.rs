//! Runs trials: preflight, order of effects, interleaving, the search loop, the run directory, experiments.
//!
//! The lab decides nothing about causes ([`genkai_analysis`] does, from the record alone) and shows nothing (the caller
//! gets every [`Event`](genkai_model::event::Event) as it happens). It starts what a plan names, makes the load, writes
//! down what was seen, and leaves nothing running. Start reading at [`trial`], the story of one run.
//!
//! Servers are started on the thread that calls the lab and die with it (PR_SET_PDEATHSIG), so that thread must live as
//! long as the run.

mod answerer;
pub mod backend;
pub mod cache;
pub mod claims;
pub mod compare;
pub mod error;
pub mod experiment;
pub mod explain;
pub mod first;
pub mod folder;
pub mod generator;
mod handshakes;
mod headroom;
pub mod job;
pub mod latencies;
pub mod locust;
mod locust_wire;
mod measure;
pub mod observer;
pub mod pinning;
pub mod placement;
mod pod;
mod processor;
pub mod reach;
pub mod recorder;
pub mod redact;
mod rooms;
pub mod scenario;
pub mod size;
pub mod study;
pub mod system;
pub mod trial;
mod tune;
mod unstored;

pub use error::LabError;
pub use headroom::raise_descriptors;
