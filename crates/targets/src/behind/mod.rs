//! What stands behind a product and was not started by genkai: found as processes by the sockets that the configuration names, looked at,
//! and never touched. Of a product that is known its own limits are read from its configuration; of any other those of its processes.

mod peer;

use std::collections::BTreeSet;
use std::time::Duration;

use genkai_model::limit::Limit;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;
use genkai_place::observation::Observation;

use self::peer::Peer;
use crate::product::Cost;

/// Most that are looked at: together they may not delay the other looks.
const MOST: usize = 8;

/// Everything behind a product.
#[derive(Debug, Default)]
pub struct Behind {
    peers: Vec<Peer>,
}

impl Behind {
    /// Whoever listens at `endpoints`, which may be nobody.
    pub fn find(endpoints: &[Endpoint], machine: &Machine, memory: u64) -> Behind {
        let all: BTreeSet<&Endpoint> = endpoints.iter().take(MOST).collect();
        let subject = |n: usize| if n == 0 { "backend".to_owned() } else { format!("backend{}", n + 1) };
        let peers = all.into_iter().enumerate();
        Behind { peers: peers.map(|(n, at)| Peer::find(at.clone(), subject(n), machine, memory)).collect() }
    }

    /// What caps them.
    pub fn limits(&self) -> Vec<Limit> {
        self.peers.iter().flat_map(Peer::limits).collect()
    }

    /// Whether one of them has a number of workers of which the time of a request makes a rate.
    pub fn has_workers(&self) -> bool {
        self.peers.iter().any(Peer::has_workers)
    }

    /// Processor time that they have had.
    pub fn processor(&self) -> Duration {
        self.peers.iter().map(Peer::processor).sum()
    }

    /// Takes over what a request costs when nothing else is asked.
    pub fn costs(&mut self, cost: Cost) {
        for peer in &mut self.peers {
            peer.costs(cost);
        }
    }

    /// Looks at them: a sample each of subject `backend`, `backend2` and so on.
    pub fn observe(&mut self) -> Observation {
        let mut seen = Observation::default();
        for peer in &mut self.peers {
            seen.merge(peer.observe());
        }
        seen
    }

    /// Who they are, and what of them cannot be seen: a sentence each.
    pub fn told(&self) -> Vec<String> {
        self.peers.iter().map(Peer::told).collect()
    }
}
