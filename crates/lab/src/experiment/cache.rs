//! The comparison of caches as a plan.

use genkai_model::cache::{Caching, Contender, RateSearch};
use genkai_model::content::{Content, Mix, Sizes};
use genkai_model::load::Load;
use genkai_model::objective::{Bound, Condition, Objective};
use genkai_model::plan::{Plan, Study, System};
use genkai_model::units::{Bytes, Span};
use genkai_targets::cache::Budget;

use super::{Size, procedure, users};

/// How much, how often: a comparison without contenders.
pub fn shape(size: Size) -> Caching {
    let (objects, requests, rounds, steps, hold, precision) = match size {
        Size::Quick => (1_500, 500, 3, 2, Span::from_millis(300), 1.2),
        Size::Full => (15_000, 5_000, 5, 4, Span::from_millis(1_500), 1.06),
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
        memory: Budget::USUAL.memory,
        disk: Budget::USUAL.disk,
        search: Some(RateSearch { steps, hold, precision }),
        access_times: size == Size::Full,
        seed: 1,
    }
}

/// Contenders of the quick size, of those that can run: one of each kind of store.
pub const QUICK: &[&str] =
    &["origin", "nginx", "apache-disk", "apache-socache", "squid-ufs", "squid-rock", "varnish-malloc", "haproxy"];

/// What must hold at the highest rate, unless the user says otherwise.
pub fn objective() -> Objective {
    Objective(vec![
        Condition::ErrorsBelow(Bound::excluding(0.001)),
        Condition::LatencyBelow(0.99, Bound::excluding(Span::from_millis(100))),
    ])
}

/// Contenders of these names; one that is named again has a number: the same against itself.
pub fn contenders(names: &[String]) -> Vec<Contender> {
    let mut all: Vec<Contender> = Vec::new();
    for server in names {
        let before = all.iter().filter(|one| one.server == *server).count();
        let name = if before == 0 { server.clone() } else { format!("{server}#{}", before + 1) };
        all.push(Contender { name, server: server.clone() });
    }
    all
}

/// A cache until it listens and its figures are read, seconds: Squid makes its store, Varnish compiles.
const START: f64 = 0.35;
/// What somebody used, read before and after a load, seconds; and an object of the origin, looked at in the page cache.
const LOOK: (f64, f64) = (0.1, 10e-6);
/// Requests a second of a pass, cold and warm, as slow caches on one core have them.
const PASSES: (f64, f64) = (2_000.0, 6_000.0);
/// Loads of a search beyond the two that it takes at least.
const FARTHER: f64 = 1.0;

/// About how long a comparison takes: what it is made of, at the speed of a small machine.
pub fn lasts(plan: &Caching) -> Span {
    let requests = f64::from(plan.requests);
    let look = LOOK.0 + f64::from(plan.content.objects) * LOOK.1;
    let asked = |per_second: f64| plan.rate.map_or(requests / per_second, |rate| requests / rate) + look;
    let passes = START + look + asked(PASSES.0) + asked(PASSES.1);
    let searches = plan.search.map_or(0.0, |search| {
        let hold = search.hold.as_secs_f64();
        (2.0 + FARTHER) * (hold + LOOK.0 + START + look + hold.min(f64::from(plan.content.objects) / PASSES.0))
    });
    let turns = f64::from(plan.rounds) * plan.contenders.len() as f64;
    let mounts = if plan.access_times { f64::from(plan.rounds) * 3.0 * (asked(PASSES.1) + LOOK.0) + 5.0 } else { 0.0 };
    Span::from_secs_f64(turns * (passes + searches) + mounts)
}

/// The plan of a comparison.
pub fn plan(size: Size, caching: Caching, objective: Objective) -> Plan {
    let base = users(caching.clients, f64::from(caching.clients));
    let load = Load { timeout: Span::from_secs(10), ..base };
    let title = format!("reverse-proxy-cache ({})", size.word());
    let system = System::generated("reverse-proxy-cache");
    Plan { study: Study::Cache(Box::new(caching)), ..Plan::of(title, system, load, objective, procedure(size)) }
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
