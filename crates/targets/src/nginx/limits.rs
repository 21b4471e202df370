//! The limits of an nginx configuration, as data: the setting, the law with its numbers, what proves it, how to lift it.
//!
//! [`Reading::facts`] finds the values in force in a configuration; [`of`] turns [`Facts`] into limits. Formulas come from nginx's source (file named with
//! each) and were checked by measurement; `analysis` evaluates them without knowing nginx.

mod clients;
mod facts;
mod key;
mod read;
mod requests;
mod system;
mod through;
mod upstream;

#[cfg(test)]
mod tests;

pub use facts::{Again, Aside, Besides, ConnZone, Facts, ReqZone, Serving, Upstream};
pub use genkai_place::caps::{Machine, online};
pub use key::Keyed;
pub use read::Reading;
pub(in crate::nginx) use read::{named, prefix};

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Limit, Symptom};

use super::config::Refusal;
use crate::limits::errors;

/// Every limit of the configuration that `facts` describe, those that count clients first.
pub fn of(facts: &Facts) -> Vec<Limit> {
    let mut all = vec![
        clients::worker_connections(facts),
        clients::worker_rlimit_nofile(facts),
        system::backlog(facts),
        system::cpu(facts),
    ];
    all.extend(requests::body(facts));
    all.extend(requests::limit_conn(facts));
    all.extend(requests::limit_req(facts));
    all.extend(requests::limit_rate(facts));
    all.extend(facts.upstream.iter().flat_map(|upstream| upstream::all(facts, upstream)));
    all.extend(facts.between.iter().filter_map(|upstream| upstream::max_conns_between(facts, upstream)));
    all.extend(upstream::max_conns_besides(facts));
    all.extend(facts.others.iter().filter_map(|upstream| upstream::max_conns(facts, upstream)));
    all
}

/// What the running server may say of itself beside: messages of things that no configuration predicts.
pub(super) fn accidents(facts: &Facts) -> Vec<Limit> {
    let told = system::accidents().into_iter().chain(clients::kept(facts));
    told.chain(facts.besides.iter().map(requests::besides)).collect()
}

/// What clients see of a refusal.
fn refusal(refusal: &Refusal) -> Symptom {
    let Refusal::Status(status) = *refusal else { return Symptom::default() };
    // 444 is nginx's own: it closes the connection without an answer.
    match ErrorKind::of_status(status) {
        _ if status == 444 => errors(&[ErrorKind::EofNew, ErrorKind::EofReused]),
        Some(kind) => errors(&[kind]),
        None => Symptom::default(),
    }
}
