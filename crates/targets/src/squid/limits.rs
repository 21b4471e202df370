//! What caps connections and objects, as data.

use genkai_model::limit::{Law, Limit, Origin, Symptom};

use super::settings::{ROCK_LARGEST, Settings, Store};
use crate::cache::largest;

/// Every limit of these settings with so many descriptors.
pub(super) fn of(settings: &Settings, descriptors: u64) -> Vec<Limit> {
    let mut all = vec![max_filedescriptors(descriptors)];
    if settings.store == Store::Rock {
        all.push(largest(
            "squid.rock.max_size",
            "cache_dir max-size",
            ROCK_LARGEST,
            "squid 5.7 src/cf.data.pre, cache_dir",
        ));
    }
    all
}

/// Squid accepts while `max - used - opening >= reserved` (src/comm/TcpAcceptor.cc), and reserves min(100, max / 4) (src/comm.cc).
fn max_filedescriptors(descriptors: u64) -> Limit {
    let reserved = 100.min(descriptors / 4);
    let (value, kept) = (descriptors as f64, reserved as f64);
    Limit {
        value: descriptors.to_string(),
        origin: Origin::Default("0, the soft limit on descriptors (src/cf.data.pre)".to_owned()),
        caps: "descriptors: one a client, another one to the origin".to_owned(),
        law: Law::Slots { value, reserved: kept, idle_cost: 1.0, busy_cost: 2.0, pools: 1.0, soft: 1.0 },
        formula: format!("({descriptors} - {reserved} reserved) / 2 for requests that go to the origin"),
        source: "squid 5.7 src/comm/TcpAcceptor.cc:248, src/comm.cc:1253".to_owned(),
        symptom: Symptom { errors: Vec::new(), slow: true },
        ..Limit::named("squid.max_filedescriptors", "squid", "max_filedescriptors")
    }
}
