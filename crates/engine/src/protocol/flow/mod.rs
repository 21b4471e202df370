//! Flows of a scenario: what virtual users do instead of sending one request over and over.
//!
//! Reading order: [`plan`] (a scenario made ready: names to positions, expressions compiled), [`value`] (variables and
//! templates), [`user`] (one virtual user going through steps), [`http`] and [`websocket`] (its steps over the connections and
//! sessions of any other load), [`seats`] and [`attend`] (users who come and go as somebody says), [`answer`] (captures and checks), [`cookies`].
//!
//! What is measured: a step is planned when its user came to it (the end of the step before, and of pauses); the first, when its
//! run was planned. Requests, openings of WebSockets and messages that are waited for count as requests of the load; a message
//! that is only sent does not. A message waited for is timed from the last one sent (or from when waiting began), to
//! its arrival.
//!
//! A run ends early when a request fails otherwise than by its status or a check, when something to capture is missing, or
//! when a strict check does not hold: what follows would be about nothing. Its user begins anew, not sooner than
//! [`FAILURE_PACE`](genkai_model::load::FAILURE_PACE) after the run began.

mod answer;
mod attend;
mod cookies;
mod http;
mod plan;
mod seats;
mod user;
mod value;
mod websocket;

pub(crate) use attend::follow;
pub(crate) use plan::Plan;
pub(crate) use user::Users;
