//! What caps requests, as data.

use genkai_model::limit::{Law, Limit, Origin, Symptom};

use super::settings::THREADS;

/// Every limit of a Varnish with default threads.
pub(super) fn of() -> Vec<Limit> {
    let (pools, most) = THREADS;
    vec![Limit {
        value: most.to_string(),
        origin: Origin::Default("varnish 7.1 include/tbl/params.h".to_owned()),
        caps: "requests at once; idle kept connections hold no thread".to_owned(),
        law: Law::Workers { workers: f64::from(most) * f64::from(pools), queue: None, service: None, wait: None },
        formula: format!("thread_pools ({pools}) x thread_pool_max {most}"),
        source: "varnish 7.1 bin/varnishd/cache/cache_wrk.c".to_owned(),
        symptom: Symptom { errors: Vec::new(), slow: true },
        ..Limit::named("varnish.thread_pool_max", "varnish", "thread_pool_max")
    }]
}
