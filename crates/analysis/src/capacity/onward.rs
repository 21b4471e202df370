//! Connections that a server holds to whatever stands behind it, without a change and with it, and what is known to be borne there.

use genkai_model::evidence::metric;
use genkai_model::finding::{Onward, OnwardLimit, OnwardPrice};
use genkai_model::limit::{Law, Limit};
use genkai_model::record::Trial;

use super::looks::{clients_at, during};

/// Subjects of limits that are no server's.
const NOBODY: [&str; 2] = ["kernel", "machine"];

/// What `subject` held in `before` and in `after`; none where nobody looked. What others bear is told of `product` alone, the one under test: all that
/// has limits but it is behind it; of another, what stands behind and what beside it is not known.
pub(crate) fn price(subject: &str, product: &str, before: &Trial, after: &Trial) -> Option<OnwardPrice> {
    let (before, seen) = (most(subject, before)?, most(subject, after)?);
    let mut known: Vec<OnwardLimit> = Vec::new();
    let behind = |limit: &&Limit| subject == product && limit.subject != product;
    for limit in after.limits.limits.iter().filter(behind).filter(|limit| !NOBODY.contains(&limit.subject.as_str())) {
        let Some(at_once) = at_once(&limit.law) else { continue };
        match known.iter_mut().find(|one| one.subject == limit.subject) {
            Some(tighter) if tighter.at_once <= at_once => {}
            Some(wider) => *wider = told(limit, at_once),
            None => known.push(told(limit, at_once)),
        }
    }
    Some(OnwardPrice { subject: subject.to_owned(), before, after: seen, known })
}

fn told(limit: &Limit, at_once: f64) -> OnwardLimit {
    OnwardLimit { subject: limit.subject.clone(), setting: limit.setting.clone(), value: limit.value.clone(), at_once }
}

/// The look with most connections while the load ran, the first of them.
fn most(subject: &str, trial: &Trial) -> Option<Onward> {
    let name = format!("{subject}.{}", metric::ONWARD);
    let loaded = during(trial, subject).filter(|(at, _)| *at > 0);
    let looks: Vec<(i64, f64)> = loaded.filter_map(|(at, sample)| Some((at, *sample.metrics.get(&name)?))).collect();
    let (at, connections) = looks.iter().copied().reduce(|most, look| if look.1 > most.1 { look } else { most })?;
    let clients = clients_at(trial, at.unsigned_abs());
    Some(Onward { trial: trial.number, looks: looks.len() as u32, clients, connections })
}

/// How many a law serves at once.
fn at_once(law: &Law) -> Option<f64> {
    match *law {
        Law::Slots { value, reserved, idle_cost, busy_cost, pools, .. } => {
            Some(pools * ((value - reserved) / idle_cost.max(busy_cost)).floor().max(0.0))
        }
        Law::Workers { workers, .. } => Some(workers),
        Law::Growing { most, .. } => Some(most),
        _ => None,
    }
}
