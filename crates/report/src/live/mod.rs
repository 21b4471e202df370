//! Progress as it happens: [`Screen`] draws in place on a terminal, [`Lines`] writes plain lines for a pipe.
//!
//! Both take the events of a run through `event` and end with `finish`. Neither reads a clock or the environment: time
//! is the events' own, and the caller says where to write and how large the terminal is.

mod dashboard;
mod directives;
mod draw;
mod lines;
mod load;
mod pen;
mod scale;
mod screen;
mod slice;
mod surface;
mod view;

pub use lines::Lines;
pub use screen::{Screen, guard_panics, terminal_size};
