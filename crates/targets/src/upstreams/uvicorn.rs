//! uvicorn, from its command line (uvicorn/main.py): an event loop in each of its processes.

use genkai_model::limit::Origin;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;

use super::Started;
use super::database::{Database, Refusals};
use super::known::{Caps, Known, Part};
use crate::files::number::count;
use crate::product::Served;
use crate::settings::SourcedValue;

const PRODUCT: &str = "uvicorn";
const SOURCE: &str = "uvicorn.org/settings; uvicorn/main.py";
/// What it says when it refuses (uvicorn/protocols/http/h11_impl.py).
const REFUSED: &[&str] = &["Exceeded concurrency limit"];

/// Process `pid` as uvicorn's first.
pub(super) fn serves(pid: u32, at: &Endpoint, machine: &Machine, _: u64) -> Option<Result<Box<dyn Served>, String>> {
    let started = Started::of(pid);
    (started.name() == PRODUCT).then(|| {
        let known = of(&started, at)?.under(machine.somaxconn);
        Ok(match known.parts.iter().any(|part| part.caps == Caps::Refused) {
            // It refuses in the moment in which there is one too many.
            true => {
                let log = started.errors();
                // What its limit of connections shows is shown by their number, too.
                let refusals = log.map(|log| Refusals::Logged { log, says: REFUSED, each: false });
                Database::of(known, at, refusals.unwrap_or(Refusals::Untold))
            }
            false => Box::new(known),
        })
    })
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
    let mut parts = vec![part("workers", workers, Caps::Loops(None))];
    if started.value(&["--limit-concurrency"]).is_some() {
        parts.push(part("limit-concurrency", given("--limit-concurrency", 0)?, Caps::Refused));
    }
    parts.push(part("backlog", given("--backlog", 2048)?, Caps::Queue(None)));
    Ok(Known {
        product: PRODUCT,
        told: PRODUCT.to_owned(),
        parts,
        keeps: true,
        threads: None,
        socket: at.socket(),
        cost: None,
        says: &[],
        says_of: None,
    })
}

#[cfg(test)]
mod tests {
    use genkai_model::limit::Strength;

    use super::*;

    #[test]
    fn which_of_several_processes_has_a_connection_is_not_seen() {
        let at = Endpoint::parse("127.0.0.1:8000").unwrap();
        let strongest = |line: &str| {
            let known = of(&Started::of_line(line), &at).unwrap();
            let limit = known.limits("backend").into_iter().find(|one| one.setting == "limit-concurrency").unwrap();
            assert!(limit.formula.ends_with("3 are served"), "{}", limit.formula);
            limit.signatures.iter().map(|one| one.strength).max().unwrap()
        };
        assert_eq!(strongest("uvicorn a:b --limit-concurrency 4"), Strength::Supports);
        assert_eq!(strongest("uvicorn a:b --limit-concurrency 4 --workers 2"), Strength::Consistent);
    }
}
