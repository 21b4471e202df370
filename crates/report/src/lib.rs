//! shows: text, terminal, HTML, JSON, SVG.
//!
//! Takes a `Record` and the `Findings` that analysis made of it and puts them into words ([`says`]), a terminal
//! ([`text`], [`live`]), a page ([`html`]), a figure ([`svg`]) and files ([`json`], [`schema`]). Nothing here computes
//! a statistic, decides a verdict, opens a file or reads the environment: what is shown was found elsewhere, and where
//! it goes is the caller's choice.

pub mod clean;
pub mod csv;
pub mod figure;
pub mod html;
pub mod json;
pub mod jtl;
pub mod live;
pub mod markdown;
pub mod says;
mod scene;
pub mod schema;
pub mod svg;
pub mod text;
mod unit;
pub mod words;
