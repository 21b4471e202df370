//! What follows from records: statistics, causes, comparisons, and what cannot be told.

mod cache;
mod caveats;
mod client;
mod compare;
mod diagnosis;
mod latencies;
mod left;
mod record;
mod rooms;
#[path = "../story/mod.rs"]
mod story;
#[path = "../world/mod.rs"]
mod world;
