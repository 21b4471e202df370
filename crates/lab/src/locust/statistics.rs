//! What Locust wants to know of a load: sums over a few seconds, times in milliseconds (`locust/stats.py`). The record has
//! what was measured; this is what a master can add to its own.

use std::collections::BTreeMap;

use genkai_model::error::ErrorKind;
use genkai_model::event::Tick;
use genkai_model::flows::StepCount;
use genkai_model::histogram;
use genkai_model::scenario::{Flow, Scenario, Step};
use hdrhistogram::Histogram;

use crate::locust_wire::stats::{Entry, Failures, Stats};
use crate::locust_wire::users::Users;

/// What Locust calls the sum of all.
const ALL: &str = "Aggregated";

/// The sums in the making.
pub(super) struct Sums {
    /// What Locust calls the method of each step that is measured.
    methods: Vec<String>,
    steps: BTreeMap<u32, (Entry, Histogram<u64>)>,
    all: (Entry, Histogram<u64>),
    errors: BTreeMap<String, Failures>,
    since: f64,
}

impl Sums {
    /// Of a load of `scenario` that begins at `since` (seconds of the epoch).
    pub(super) fn new(scenario: Option<&Scenario>, since: f64) -> Sums {
        let of = |scenario: &Scenario| (0..scenario.names.len()).map(|n| method(&scenario.flows, n as u32)).collect();
        let methods = scenario.map(of).unwrap_or_default();
        let all = (Entry::new(ALL, "", since), histogram::empty());
        Sums { methods, steps: BTreeMap::new(), all, errors: BTreeMap::new(), since }
    }

    /// Adds an interval that ends now, at `now` (seconds of the epoch).
    pub(super) fn add(&mut self, tick: &Tick, now: f64) {
        let lasted = tick.to_us.saturating_sub(tick.from_us) as f64 / 1e6;
        let seconds = Seconds { from: now - lasted, to: now };
        for step in tick.flows.iter().flat_map(|flows| &flows.steps) {
            let method = self.methods.get(step.position as usize).cloned().unwrap_or_default();
            let since = self.since;
            let new = || (Entry::new(&step.name, &method, since), histogram::empty());
            let (entry, times) = self.steps.entry(step.position).or_insert_with(new);
            count(entry, step, &seconds);
            let _ = step.took.add_to(times);
            count(&mut self.all.0, step, &seconds);
            let _ = step.took.add_to(&mut self.all.1);
        }
        self.all.0.total_content_length += tick.bytes_in;
        for failed in &tick.errors {
            let error = words(failed.kind);
            let new = || Failures {
                method: String::new(),
                name: "all steps".to_owned(),
                error: error.clone(),
                occurrences: 0,
                first_seen: Some(now),
                last_seen: Some(now),
            };
            let known = self.errors.entry(error.clone()).or_insert_with(new);
            known.occurrences += failed.count;
            known.last_seen = Some(now);
        }
    }

    /// What came together, for as many users as there are; the next sums begin at `now`.
    pub(super) fn take(&mut self, users: Users, now: f64) -> Stats {
        let all = (Entry::new(ALL, "", now), histogram::empty());
        let stats = Stats {
            stats: std::mem::take(&mut self.steps).into_values().map(finished).collect(),
            stats_total: finished(std::mem::replace(&mut self.all, all)),
            errors: std::mem::take(&mut self.errors),
            users,
        };
        self.since = now;
        stats
    }
}

/// The seconds of the epoch in which an interval lies.
struct Seconds {
    from: f64,
    to: f64,
}

impl Seconds {
    /// Adds `count` to the seconds, as if it were spread evenly: when in its interval a request came is not known.
    fn spread(&self, count: u64, to: &mut BTreeMap<u64, u64>) {
        let (first, last) = (self.from.max(0.0) as u64, (self.to - 1e-9).max(0.0) as u64);
        let all = last.saturating_sub(first) + 1;
        let mut before = 0;
        for n in 1..=all {
            let until = (u128::from(count) * u128::from(n) / u128::from(all)) as u64;
            if until > before {
                *to.entry(first + n - 1).or_default() += until - before;
            }
            before = until;
        }
    }
}

/// Counts how often a step was done in the seconds of an interval.
fn count(entry: &mut Entry, step: &StepCount, seconds: &Seconds) {
    let requests = step.ok + step.failed;
    if requests == 0 {
        return;
    }
    entry.num_requests += requests;
    entry.num_failures += step.failed;
    entry.last_request_timestamp = Some(seconds.to);
    seconds.spread(requests, &mut entry.num_reqs_per_sec);
    seconds.spread(step.failed, &mut entry.num_fail_per_sec);
}

/// With its times.
fn finished((entry, times): (Entry, Histogram<u64>)) -> Entry {
    let ms = |ns: u64| ns as f64 / 1e6;
    let mut response_times = BTreeMap::new();
    for one in times.iter_recorded() {
        *response_times.entry(bucket(ms(one.value_iterated_to()))).or_default() += one.count_at_value();
    }
    Entry {
        num_none_requests: entry.num_requests.saturating_sub(times.len()),
        total_response_time: times.mean() * times.len() as f64 / 1e6,
        max_response_time: if times.is_empty() { 0.0 } else { ms(times.max()) },
        min_response_time: (!times.is_empty()).then(|| ms(times.min())),
        response_times,
        ..entry
    }
}

/// The time under which Locust counts it, milliseconds (`bucket_response_time`): two digits.
fn bucket(ms: f64) -> u64 {
    let whole = ms.round() as u64;
    let step = match whole {
        0..100 => 1,
        100..1_000 => 10,
        1_000..10_000 => 100,
        _ => 1_000,
    };
    (whole + step / 2) / step * step
}

/// A kind of failure in words: `connect refused`.
fn words(kind: ErrorKind) -> String {
    let name = serde_json::to_value(kind).ok();
    name.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default().replace('_', " ")
}

/// What Locust calls the method of what is measured under a name: the first step of that name.
fn method(flows: &[Flow], name: u32) -> String {
    fn find(steps: &[Step], name: u32) -> Option<String> {
        steps.iter().find_map(|step| match step {
            Step::Request(ask) if ask.name == name => Some(ask.method.clone()),
            Step::Connect(dial) if dial.name == name => Some("CONNECT".to_owned()),
            Step::Send(say) if say.name == name => Some("SEND".to_owned()),
            Step::Expect(hear) if hear.name == name => Some("RECEIVE".to_owned()),
            Step::Loop(inner) => find(&inner.steps, name),
            _ => None,
        })
    }
    flows.iter().find_map(|flow| find(&flow.steps, name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use genkai_model::error::ErrorCount;
    use genkai_model::flows::Flows;
    use genkai_model::histogram::Payload;
    use proptest::prelude::*;

    fn took(ms: &[u64]) -> Payload {
        let mut all = histogram::empty();
        ms.iter().for_each(|ms| all.record(ms * 1_000_000).unwrap());
        Payload::encode(&all)
    }

    fn tick(from_s: u64, to_s: u64, failed: u64, ms: &[u64]) -> Tick {
        let step = StepCount { position: 0, name: "front".to_owned(), ok: ms.len() as u64, failed, took: took(ms) };
        let errors = vec![ErrorCount { kind: ErrorKind::Timeout, count: failed }];
        let flows = Flows { steps: vec![step], ..Flows::default() };
        let (from_us, to_us) = (from_s * 1_000_000, to_s * 1_000_000);
        let errors = if failed > 0 { errors } else { Vec::new() };
        Tick { from_us, to_us, errors, bytes_in: 100, flows: Some(Box::new(flows)), ..Tick::default() }
    }

    fn sums() -> Sums {
        Sums { methods: vec!["GET".to_owned()], ..Sums::new(None, 1_000.0) }
    }

    #[test]
    fn what_is_told_is_what_came_since_the_last_time() {
        let mut sums = sums();
        sums.add(&tick(0, 1, 0, &[10, 20, 153]), 1_001.0);
        sums.add(&tick(1, 2, 2, &[30]), 1_002.0);
        let told = sums.take(Users::default(), 1_003.0);
        let [front] = &told.stats[..] else { panic!() };
        assert_eq!((front.name.as_str(), front.method.as_str()), ("front", "GET"));
        assert_eq!((front.num_requests, front.num_failures, front.num_none_requests), (6, 2, 2));
        assert_eq!(front.response_times, BTreeMap::from([(10, 1), (20, 1), (30, 1), (150, 1)]));
        assert!((front.total_response_time - 213.0).abs() < 1.0, "{}", front.total_response_time);
        assert_eq!(front.num_reqs_per_sec, BTreeMap::from([(1_000, 3), (1_001, 3)]));
        assert_eq!(front.num_fail_per_sec, BTreeMap::from([(1_001, 2)]));
        assert_eq!((told.stats_total.num_requests, told.stats_total.total_content_length), (6, 200));
        assert_eq!(told.errors.values().map(|one| one.occurrences).sum::<u64>(), 2);
        let after = sums.take(Users::default(), 1_006.0);
        assert!(after.stats.is_empty() && after.errors.is_empty() && after.stats_total.num_requests == 0);
        assert_eq!(after.stats_total.start_time, 1_003.0);
    }

    #[test]
    fn times_are_rounded_as_locust_does() {
        assert_eq!([0.4, 0.6, 99.4, 99.6, 147.0, 3_432.0, 58_760.0].map(bucket), [0, 1, 99, 100, 150, 3_400, 59_000]);
    }

    proptest! {
        /// Nothing is counted twice or lost, however it falls on seconds.
        #[test]
        fn seconds_add_up(from in 0.0f64..1e4, lasted in 0.0f64..20.0, count in 0u64..5_000) {
            let mut to = BTreeMap::new();
            Seconds { from, to: from + lasted }.spread(count, &mut to);
            prop_assert_eq!(to.values().sum::<u64>(), count);
            prop_assert!(to.keys().all(|second| (*second as f64) <= from + lasted && *second as f64 + 1.0 >= from));
        }
    }
}
