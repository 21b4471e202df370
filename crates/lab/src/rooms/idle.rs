//! The search: ever more requests held open, until it is known from how many on some are refused.

use genkai_analysis::idle_requests;
use genkai_model::idle_requests::IdleSearch;
use genkai_model::load::{Arrivals, Load, Stop};
use genkai_model::plan::Cluster;
use genkai_model::units::{Span, Spread};

use super::Run;
use crate::error::LabError;

/// Most trials: from one request to a million and back to one takes forty.
const TRIALS: u32 = 60;
/// Time over which the requests of a trial begin, at most, and as a part of the time that each is held: they are there at the same
/// time, but do not come in the same instant.
const RAMP: (Span, u64) = (Span::from_secs(1), 10);
/// After the last request should have been answered.
const SETTLE: Span = Span::from_secs(2);

impl Run<'_, '_, '_> {
    /// Trial after trial, each with the number that the record so far asks for.
    pub(super) fn search(&mut self, cluster: &Cluster, search: IdleSearch) -> Result<(), LabError> {
        let (nodes, mut before) = (cluster.nodes.first().copied().unwrap_or(1), None);
        for number in 1..=TRIALS {
            let Some(requests) =
                idle_requests::next(self.recorder.record()).filter(|_| !self.job.interrupt.is_stopped())
            else {
                break;
            };
            let changes = self.change("requests", before.replace(requests).unwrap_or(requests), requests);
            let load = load(&self.job.plan.load, requests, search.time);
            let (_, servers) = self.one(number, nodes, load, changes, cluster)?;
            self.told(number, servers)?;
        }
        Ok(())
    }
}

/// So many users, each with one request that is held for `time`.
fn load(plan: &Load, requests: u32, time: Span) -> Load {
    let longest = Span(time.0 + plan.timeout.0);
    let ramp = Span(RAMP.0.0.min(time.0 / RAMP.1).max(1));
    Load {
        arrivals: Arrivals::Users {
            count: requests,
            spawn_rate: f64::from(requests) / ramp.as_secs_f64(),
            think: Spread::Constant(longest),
        },
        stop: Stop { after: Span(ramp.0 + longest.0 + SETTLE.0), requests: Some(u64::from(requests)) },
        timeout: longest,
        ..plan.clone()
    }
}
