//! What a worker tells of its users every three seconds (`locust/stats.py`).

use std::collections::BTreeMap;

use rmpv::Value;
use serde::{Deserialize, Deserializer, Serialize};

use super::users::Users;

/// What users did since the last time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stats {
    pub(crate) stats: Vec<Entry>,
    pub(crate) stats_total: Entry,
    pub(crate) errors: BTreeMap<String, Failures>,
    #[serde(flatten)]
    pub(crate) users: Users,
}

/// One kind of request (`StatsEntry.serialize`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) method: String,
    pub(crate) last_request_timestamp: Option<f64>,
    pub(crate) start_time: f64,
    /// With those that failed.
    pub(crate) num_requests: u64,
    /// Those without a time: of a step that failed none is known.
    pub(crate) num_none_requests: u64,
    pub(crate) num_failures: u64,
    /// Milliseconds.
    pub(crate) total_response_time: f64,
    pub(crate) max_response_time: f64,
    pub(crate) min_response_time: Option<f64>,
    /// Bytes received, heads included. They are known of all steps together only.
    pub(crate) total_content_length: u64,
    /// Milliseconds, rounded to two digits, and how often.
    #[serde(deserialize_with = "rounded")]
    pub(crate) response_times: BTreeMap<u64, u64>,
    pub(crate) num_reqs_per_sec: BTreeMap<u64, u64>,
    pub(crate) num_fail_per_sec: BTreeMap<u64, u64>,
}

/// Requests that failed alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Failures {
    pub(crate) method: String,
    pub(crate) name: String,
    pub(crate) error: String,
    pub(crate) occurrences: u64,
    #[serde(default)]
    pub(crate) first_seen: Option<f64>,
    #[serde(default)]
    pub(crate) last_seen: Option<f64>,
}

impl Entry {
    /// Of nothing yet, from a moment on (seconds of the epoch).
    pub(crate) fn new(name: &str, method: &str, start_time: f64) -> Entry {
        Entry {
            name: name.to_owned(),
            method: method.to_owned(),
            last_request_timestamp: None,
            start_time,
            num_requests: 0,
            num_none_requests: 0,
            num_failures: 0,
            total_response_time: 0.0,
            max_response_time: 0.0,
            min_response_time: None,
            total_content_length: 0,
            response_times: BTreeMap::new(),
            num_reqs_per_sec: BTreeMap::new(),
            num_fail_per_sec: BTreeMap::new(),
        }
    }
}

/// Times as they are counted: whole milliseconds. Who rounds otherwise (`bucket_response_time` may be replaced) may send fractions.
fn rounded<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<u64, u64>, D::Error> {
    let Value::Map(pairs) = Value::deserialize(from)? else {
        return Err(serde::de::Error::custom("response_times is not a map"));
    };
    let mut all = BTreeMap::new();
    for (ms, count) in pairs {
        let (Some(ms), Some(count)) = (ms.as_f64(), count.as_u64()) else {
            return Err(serde::de::Error::custom("response_times does not hold numbers"));
        };
        *all.entry(ms.max(0.0).round() as u64).or_default() += count;
    }
    Ok(all)
}
