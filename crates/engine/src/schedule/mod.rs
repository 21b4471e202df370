//! When requests and users are planned, and which thread makes them: pure functions of a load.

pub(crate) mod pacer;
pub(crate) mod profile;
pub(crate) mod share;
pub(crate) mod turns;
