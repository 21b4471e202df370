//! The limits of a Caddyfile, as data: the setting, the law with its numbers, what proves it, how to lift it.
//!
//! [`Facts::of`] finds the values in force; [`of`] turns them into limits. Formulas come from Caddy's source and Go's (file named
//! with each) and were checked by measurement on 2.6.2; `analysis` evaluates them without knowing Caddy.

mod absent;
mod authorities;
mod backend;
mod facts;
mod requests;
mod system;

pub use absent::Absent;
pub use facts::Facts;
pub(super) use facts::{each, fails, is_encrypted};

use genkai_model::limit::Limit;

/// Every limit of the configuration that `facts` describe, those that count clients first.
pub fn of(facts: &Facts) -> Vec<Limit> {
    let mut all = vec![system::descriptors(facts)];
    all.extend(requests::each_upstream(facts));
    all.extend(requests::connections(facts));
    all.extend(backend::authorities(facts));
    all.extend(requests::body(facts));
    all.extend([system::backlog(facts), system::cpu(facts)]);
    all.extend(backend::all(facts));
    all
}

/// What bites at no load that could be told beforehand.
pub(super) fn accidents(facts: &Facts) -> Vec<Limit> {
    requests::kept(facts).into_iter().collect()
}
