//! The command line: bad input, and what is installed beside the program.

mod bad;
#[path = "../harness/mod.rs"]
mod harness;
mod installed;
