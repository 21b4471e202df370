//! The words of genkai: plan, event, evidence, limit, finding, record, exit code, units.
//!
//! Every other crate speaks these words and none of them is a rule: nothing here opens a file or a socket, reads a
//! clock, or computes a figure that a report could show. A formula belongs in `analysis`, a sentence in `report`.
//!
//! Reading order: [`plan`] (what will be done), [`load`] (what is sent), [`event`] (what was seen), [`evidence`]
//! (what servers showed), [`limit`] (what caps a server), [`record`] (one run), [`finding`] (what it means).

pub mod cache;
pub mod claim;
pub mod cluster;
pub mod command;
pub mod comparison;
pub mod content;
pub mod error;
pub mod event;
pub mod evidence;
pub mod exit;
pub mod explain;
pub mod figure;
pub mod finding;
pub mod flows;
pub mod histogram;
pub mod http2;
pub mod idle_requests;
pub mod latencies;
pub mod limit;
pub mod load;
pub mod locust;
pub mod machine;
pub mod objective;
pub mod plan;
pub mod platforms;
pub mod record;
pub mod rooms;
pub mod scenario;
pub mod seal;
pub mod setting;
pub mod stage;
pub mod statement;
pub mod suite;
pub mod summary;
pub mod system;
pub mod template;
pub mod text;
pub mod transport;
pub mod units;
pub mod websocket;
