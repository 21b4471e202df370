//! The limits of an HAProxy configuration, as data: the setting, the law with its numbers, what proves it, how to lift it.
//!
//! [`Facts::of`] finds the values in force; [`of`] turns them into limits. Formulas come from HAProxy's source (file named with
//! each) and were checked by measurement on 2.6; `analysis` evaluates them without knowing HAProxy.

mod backend;
mod clients;
mod facts;
mod system;

pub(crate) use backend::queueing;
pub(crate) use clients::holding;
pub use facts::Facts;

use genkai_model::limit::Limit;

/// Every limit of the configuration that `facts` describe, those that count clients first.
pub fn of(facts: &Facts) -> Vec<Limit> {
    let mut all = vec![clients::maxconn(facts), clients::nofile(facts)];
    all.extend(clients::frontend(facts));
    all.extend(clients::rate(facts));
    all.extend(backend::server(facts));
    all.extend([system::backlog(facts), system::cpu(facts), system::memory(facts)]);
    all.extend(backend::all(facts));
    all
}
