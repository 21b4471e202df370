//! shows: text, terminal, HTML, JSON, SVG.
//!
//! Takes a record and what analysis found in it, makes a [`Document`](document::Document) of it ([`study`]), and renders that: on a
//! terminal ([`text`]), as a page ([`html`]), as [`markdown`]. Beside it: live screens ([`live`]), a figure ([`svg`]) and files
//! ([`json`], [`csv`], [`jtl`], [`schema`]). Nothing here computes a statistic, decides a verdict, opens a file or reads the
//! environment: what is shown was found elsewhere, and where it goes is the caller's choice.

pub mod clean;
mod context;
pub mod csv;
pub mod document;
pub mod figure;
pub mod html;
pub mod json;
pub mod jtl;
pub mod live;
mod markdown;
pub mod schema;
pub mod study;
pub mod svg;
pub mod text;
mod unit;
pub mod words;

pub use markdown::markdown;
