//! uvicorn, from its command line (uvicorn/main.py): an event loop in each of its processes.

use genkai_model::limit::Origin;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;

use super::Started;
use super::known::{Caps, Known, Part};
use crate::files::number::count;
use crate::product::Served;
use crate::settings::SourcedValue;

const PRODUCT: &str = "uvicorn";
const SOURCE: &str = "uvicorn.org/settings; uvicorn/main.py";

/// Process `pid` as uvicorn's first.
pub(super) fn serves(pid: u32, at: &Endpoint, _: &Machine, _: u64) -> Option<Result<Box<dyn Served>, String>> {
    let started = Started::of(pid);
    (started.name() == PRODUCT).then(|| of(&started, at).map(|known| Box::new(known) as Box<dyn Served>))
}

fn of(started: &Started, at: &Endpoint) -> Result<Known, String> {
    let given = |flag: &str, default: u64| match started.value(&[flag]) {
        Some(text) => count(text).map(|n| SourcedValue::plain(n, started.given())).ok_or(format!("{flag} is `{text}`")),
        None => Ok(SourcedValue::plain(default, Origin::Default(SOURCE.to_owned()))),
    };
    let mut workers = given("--workers", 1)?;
    if let Some(n) = started.variable("WEB_CONCURRENCY").filter(|_| matches!(workers.origin, Origin::Default(_))) {
        let held = count(&n).map(|n| SourcedValue::plain(n, started.variable_of("WEB_CONCURRENCY")));
        workers = held.ok_or(format!("WEB_CONCURRENCY is `{n}`"))?;
    }
    let part = |setting, held, caps| Part { setting, held, caps, made: String::new(), source: SOURCE };
    let mut parts = vec![part("workers", workers, Caps::Loops)];
    if started.value(&["--limit-concurrency"]).is_some() {
        parts.push(part("limit-concurrency", given("--limit-concurrency", 0)?, Caps::Refused));
    }
    parts.push(part("backlog", given("--backlog", 2048)?, Caps::Queue));
    Ok(Known {
        product: PRODUCT,
        told: PRODUCT.to_owned(),
        parts,
        keeps: true,
        threads: None,
        socket: at.socket(),
        cost: None,
    })
}
