//! Caches compared: each pass from its own loads.

use genkai_model::event::Environment;
use serde_json::Value as Json;

use crate::broken::Judged;
use crate::effects::{self, Observations};
use crate::events::{Events, Line, Trial, all_failed, merged, rate, sum};
use crate::expected::Expected;
use crate::intervals::{self, ALPHA};
use crate::steady::{self, Steady};

/// What the events say of a comparison of caches.
pub(crate) fn expect(events: &Events, verdict: &Json, expected: &mut Expected) {
    let cores = events
        .head()
        .json
        .get("environment")
        .and_then(|told| serde_json::from_value::<Environment>(told.clone()).ok())
        .map_or(1.0, |told| told.server_time());
    for (i, pass) in verdict.get("passes").and_then(Json::as_array).into_iter().flatten().enumerate() {
        let list = |name: &str| pass.get(name).and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
        let (all, pairs) = (list("standings"), list("pairs"));
        let names: Vec<&Json> = all.iter().filter_map(|one| one.get("name")).collect();
        for (k, standing) in all.iter().enumerate() {
            let address = format!("/passes/{i}/standings/{k}");
            standings(&address, standing, (events, cores), expected);
            if let Some(name) = standing.get("name") {
                let (best, worst) = effects::certain_ranks(name, &names, pairs);
                expected.is(format!("{address}/best"), best, None);
                expected.is(format!("{address}/worst"), worst, None);
            }
        }
        for (k, pair) in pairs.iter().enumerate() {
            self::pair(&format!("/passes/{i}/pairs/{k}"), pair, all, events, expected);
        }
    }
}

/// The rates of two in the same rounds.
fn pair(address: &str, pair: &Json, all: &[Json], events: &Events, expected: &mut Expected) {
    let rates = |side: &str| -> Observations {
        let one = all.iter().find(|one| one.get("name") == pair.get(side));
        let rounds = one.and_then(|one| one.get("rounds")).and_then(Json::as_array).into_iter().flatten();
        let rate = |round: &Json| {
            let trial = events.trial_of(round.get("trial"))?;
            let number = trial.of("cache_pass").next()?.number("/round") as u32;
            Some(((number, 0), rate(&trial.ticks()))).filter(|(_, rate)| *rate > 0.0)
        };
        rounds.filter_map(rate).collect()
    };
    let ratio = effects::ratio(&rates("faster"), &rates("slower"), effects::shared(all.len()));
    expected.estimate(format!("{address}/ratio"), ratio, None);
}

fn standings(address: &str, standing: &Json, (events, cores): (&Events, f64), expected: &mut Expected) {
    let rounds: Vec<&Json> = standing.get("rounds").and_then(Json::as_array).into_iter().flatten().collect();
    let trials: Vec<Trial<'_>> = rounds.iter().filter_map(|round| events.trial_of(round.get("trial"))).collect();
    if trials.is_empty() || trials.len() != rounds.len() {
        return;
    }
    let ticks: Vec<&Line> = trials.iter().flat_map(Trial::ticks).collect();
    let passes: Vec<&Line> = trials.iter().flat_map(|trial| trial.of("cache_pass")).collect();
    let line = ticks.first().map(|tick| tick.number);
    let ok = sum(&ticks, "/ok");
    let requests = ok + all_failed(&ticks);
    let latency = merged(&ticks, "/latency");
    latency.expect(&format!("{address}/latency"), line, expected);
    for (name, value) in [
        ("requests", requests),
        ("connects", sum(&ticks, "/opened")),
        ("bytes_in", sum(&ticks, "/bytes_in")),
        ("bytes_out", sum(&ticks, "/bytes_out")),
    ] {
        expected.is(format!("{address}/{name}"), value, line);
    }
    let (slow_least, slow_most) = latency.from(1_000_000_000);
    let all = latency.count() as f64;
    expected.within(format!("{address}/within_second"), all - slow_most as f64, all - slow_least as f64, line);
    let seconds: f64 = ticks.iter().map(|tick| (tick.number("/to_us") - tick.number("/from_us")) / 1e6).sum();
    for (name, what) in [("received", "/bytes_in"), ("sent", "/bytes_out")] {
        expected.is(format!("{address}/flow/{name}"), sum(&ticks, what) / seconds.max(1e-9), line);
    }
    let busiest = |trial: &Trial<'_>| Judged::of(events, trial).map_or(0.0, |judged| judged.busiest_of_all());
    let client: Vec<f64> = trials.iter().map(busiest).collect();
    expected.is(format!("{address}/client"), client.iter().sum::<f64>() / client.len() as f64, line);
    settling(&format!("{address}/settling"), &trials, line, expected);
    cost(address, &trials, cores, expected);
    own_counts(address, standing, &passes, expected);
    rates(address, &trials, line, expected);
    crate::load::by_key(standing, (address, "errors"), ("errors", "kind"), &ticks, line, expected);
}

/// When loads had settled, and the rate from there on.
fn settling(address: &str, trials: &[Trial<'_>], line: Option<usize>, expected: &mut Expected) {
    let (mut afters, mut rates, mut never, mut short) = (Vec::new(), Vec::new(), 0.0, 0.0);
    for trial in trials {
        let ticks = trial.ticks();
        match steady::of(&ticks) {
            Steady::From(at) => {
                afters.push(ticks.get(at).map_or(0.0, |tick| tick.number("/from_us") / 1e6));
                rates.push(rate(&ticks[at..]));
            }
            Steady::Never => never += 1.0,
            Steady::Short => short += 1.0,
        }
    }
    for (name, count) in [("settled", afters.len() as f64), ("never", never), ("short", short)] {
        expected.is(format!("{address}/{name}"), count, line);
    }
    afters.sort_by(f64::total_cmp);
    expected.is(format!("{address}/after"), afters.get(afters.len() / 2).copied(), line);
    expected.estimate(format!("{address}/rate"), intervals::geometric(&rates, ALPHA), line);
}

/// What requests cost, the means over rounds; and how busy the servers were.
fn cost(address: &str, trials: &[Trial<'_>], cores: f64, expected: &mut Expected) {
    let passes: Vec<(&Line, f64, f64)> = trials
        .iter()
        .filter_map(|trial| {
            let ticks = trial.ticks();
            let seconds = ticks.iter().map(|tick| (tick.number("/to_us") - tick.number("/from_us")) / 1e6).sum();
            Some((trial.of("cache_pass").next()?, (sum(&ticks, "/ok") + all_failed(&ticks)).max(1.0), seconds))
        })
        .collect();
    let line = passes.first().map(|(pass, ..)| pass.number);
    let side = |pass: &Line, name: &str| -> Vec<Json> {
        let of = |one: &&Json| one.get("side").and_then(Json::as_str) == Some(name);
        pass.items("/spent").iter().filter(of).cloned().collect()
    };
    let cpu = |pass: &Line, name: &str| -> f64 {
        0.0 + side(pass, name).iter().filter_map(|one| one.get("cpu_us")?.as_f64()).sum::<f64>() / 1e6
    };
    // The origin alone has no cache beside it.
    let subject = |pass: &Line, field: &str| -> Option<f64> {
        let first = side(pass, "cache").into_iter().chain(side(pass, "origin")).next()?;
        first.get(field)?.as_f64()
    };
    let mean = |of: &dyn Fn(&Line, f64) -> Option<f64>| -> Option<f64> {
        let all: Option<Vec<f64>> = passes.iter().map(|(pass, requests, _)| of(pass, *requests)).collect();
        all.filter(|all| !all.is_empty()).map(|all| all.iter().sum::<f64>() / all.len() as f64)
    };
    let figures = [
        ("cpu", mean(&|pass, requests| Some(cpu(pass, "cache") / requests))),
        ("origin_cpu", mean(&|pass, requests| Some(cpu(pass, "origin") / requests))),
        ("read", mean(&|pass, requests| Some(subject(pass, "read")? / requests))),
        ("written", mean(&|pass, requests| Some(subject(pass, "written")? / requests))),
        ("memory", mean(&|pass, _| subject(pass, "pss").or(subject(pass, "rss"))).or(Some(0.0))),
        ("page_cache", mean(&|pass, _| pass.found("/store_resident"))),
        ("store", mean(&|pass, _| pass.found("/store_bytes"))),
        ("device_read", mean(&|pass, _| pass.found("/device/read"))),
        ("device_written", mean(&|pass, _| pass.found("/device/written"))),
    ];
    for (name, value) in figures {
        expected.is(format!("{address}/cost/{name}"), value, line);
    }
    let all =
        |pass: &Line| pass.items("/spent").iter().filter_map(|one| one.get("cpu_us")?.as_f64()).sum::<f64>() / 1e6;
    let busy = passes.iter().map(|(pass, _, seconds)| all(pass) / seconds.max(1e-6) / cores).sum::<f64>();
    expected.is(format!("{address}/busy"), busy / passes.len().max(1) as f64, line);
}

/// What caches and the origin counted themselves.
fn own_counts(address: &str, standing: &Json, passes: &[&Line], expected: &mut Expected) {
    let line = passes.first().map(|pass| pass.number);
    expected.is(format!("{address}/origin"), sum(passes, "/origin"), line);
    if standing.get("own").is_some_and(Json::is_object) {
        expected.is(format!("{address}/own/hits"), sum(passes, "/own/hits"), line);
        expected.is(format!("{address}/own/misses"), sum(passes, "/own/misses"), line);
    }
}

/// The rate of each round, and their geometric mean.
fn rates(address: &str, trials: &[Trial<'_>], line: Option<usize>, expected: &mut Expected) {
    let all: Vec<f64> = trials.iter().map(|trial| rate(&trial.ticks())).collect();
    for (i, (rate, trial)) in all.iter().zip(trials).enumerate() {
        expected.is(format!("{address}/rounds/{i}/rate"), *rate, trial.first());
        expected.is(format!("{address}/rounds/{i}/trial"), f64::from(trial.number), Some(trial.start.number));
        let pass = trial.of("cache_pass").next();
        expected.is(format!("{address}/rounds/{i}/round"), pass.and_then(|pass| pass.found("/round")), trial.first());
    }
    expected.estimate(format!("{address}/rate"), intervals::geometric(&all, ALPHA), line);
}
