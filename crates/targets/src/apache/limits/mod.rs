//! The limits of an Apache configuration, as data: the setting, the law with its numbers, what proves it, how to lift it.
//!
//! [`Facts::of`] finds the values in force; [`of`] turns them into limits. Formulas come from httpd's source (file named with
//! each) and were checked by measurement; `analysis` evaluates them without knowing Apache.

mod absent;
mod again;
mod backend;
mod facts;
mod requests;
mod streams;
mod system;
mod workers;

#[cfg(test)]
mod tests;

pub use absent::Absent;
pub use again::Passes;
pub(super) use backend::answers;
pub use facts::{Facts, Upstream, handlers};
pub(crate) use facts::{most_servers, most_threads};
pub(super) use workers::DESCRIPTORS;

use genkai_model::limit::Limit;

/// What the running server may say of itself beside: messages of things that no configuration predicts.
pub(super) fn accidents(facts: &Facts) -> Vec<Limit> {
    system::accidents().into_iter().chain(workers::kept(facts)).collect()
}

/// Every limit of the configuration that `facts` describe, those that count clients first.
pub fn of(facts: &Facts) -> Vec<Limit> {
    let mut all = vec![workers::max_request_workers(facts), workers::nofile(facts)];
    all.extend(workers::threads_per_child(facts));
    all.extend(streams::workers(facts));
    all.extend([system::backlog(facts), system::cpu(facts)]);
    all.extend(requests::body(facts));
    all.extend(requests::rate(facts));
    all.extend(workers::scoreboard(facts));
    all.extend(workers::forked(facts));
    all.extend(workers::ended(facts));
    all.extend(facts.upstream.iter().flat_map(|upstream| backend::all(facts, upstream)));
    all
}
