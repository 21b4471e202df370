//! What is said of configurations and of the machine without a load.

mod asked;
mod doctor;
#[path = "../harness/mod.rs"]
mod harness;
mod led;
mod texts;
