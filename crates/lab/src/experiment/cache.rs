//! The comparison of caches as a plan.

use std::collections::BTreeMap;

use genkai_model::cache::{Caching, Contestant, RateSearch};
use genkai_model::content::{Content, Mix, Sizes};
use genkai_model::load::Load;
use genkai_model::objective::{Condition, Objective};
use genkai_model::plan::{Backend, ConfigSource, Plan, System};
use genkai_model::units::{Bytes, Span};

use super::{Size, procedure, users};

/// How much, how often: a comparison without contenders.
pub fn shape(size: Size) -> Caching {
    const MIB: u64 = 1 << 20;
    let (objects, requests, rounds, steps, hold) = match size {
        Size::Quick => (1_500, 500, 3, 2, Span::from_millis(600)),
        Size::Full => (15_000, 5_000, 5, 8, Span::from_secs(4)),
    };
    Caching {
        contenders: Vec::new(),
        // Their mean is 3.0 KB.
        content: Content { objects, sizes: Sizes::LogNormal { median: Bytes(2_700), sigma: 0.45 }, seed: 1 },
        mix: Mix::Sweep,
        requests,
        clients: 16,
        rate: None,
        rounds,
        memory: Bytes(64 * MIB),
        disk: Bytes(256 * MIB),
        search: Some(RateSearch { steps, hold }),
        access_times: size == Size::Full,
        seed: 1,
    }
}

/// Contenders of the quick size, of those that can run: one of each kind of store.
pub const QUICK: &[&str] =
    &["origin", "nginx", "apache-disk", "apache-socache", "squid-ufs", "squid-rock", "varnish-malloc", "haproxy"];

/// What must hold at the highest rate, unless the user says otherwise.
pub fn objective() -> Objective {
    Objective(vec![Condition::ErrorsBelow(0.001), Condition::LatencyBelow(0.99, Span::from_millis(100))])
}

/// Contenders of these names; one that is named again has a number: the same against itself.
pub fn contenders(names: &[String]) -> Vec<Contestant> {
    let mut all: Vec<Contestant> = Vec::new();
    for server in names {
        let before = all.iter().filter(|one| one.server == *server).count();
        let name = if before == 0 { server.clone() } else { format!("{server}#{}", before + 1) };
        all.push(Contestant { name, server: server.clone() });
    }
    all
}

/// The plan of a comparison.
pub fn plan(size: Size, caching: Caching, objective: Objective) -> Plan {
    let word = if size == Size::Quick { "quick" } else { "full" };
    let base = users(caching.clients, f64::from(caching.clients));
    Plan {
        cluster: None,
        contest: None,
        comparison: None,
        title: format!("reverse-proxy-cache ({word})"),
        system: System {
            product: "reverse-proxy-cache".to_owned(),
            program: None,
            config: ConfigSource::Generated,
            settings: BTreeMap::new(),
            backend: Backend::Kept,
            front: Default::default(),
            allow_remote: Vec::new(),
        },
        load: Load { timeout: Span::from_secs(10), ..base },
        objective,
        procedure: procedure(size),
        caching: Some(Box::new(caching)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_named_twice_runs_against_itself() {
        let names = ["a", "b", "a", "a"].map(str::to_owned);
        let all: Vec<(String, String)> = contenders(&names).into_iter().map(|one| (one.name, one.server)).collect();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(all, [pair("a", "a"), pair("b", "b"), pair("a#2", "a"), pair("a#3", "a")]);
    }
}
