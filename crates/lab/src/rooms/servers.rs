//! The servers of one trial: Redis, nodes, router.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use genkai_model::event::Environment;
use genkai_model::limit::Limit;
use genkai_model::plan::{Backplane, Cluster, Fault};
use genkai_model::rooms::{Loss, NodeReport, RouterReport};
use genkai_model::units::Span;
use genkai_place::caps::Machine;
use genkai_place::kernel::Kernel;
use genkai_place::observation::Observation;
use genkai_targets::application::Place;
use genkai_targets::cores;
use genkai_targets::redis::Redis;
use genkai_targets::rooms::Settings;
use genkai_targets::router::{self, Router};

use super::drill::Act;
use super::node::Node;
use crate::error::LabError;
use crate::processor;

/// All that runs. Dropping it ends it, in the order of the fields.
pub(super) struct Servers {
    router: Option<Router>,
    nodes: Vec<Node>,
    redis: Option<Redis>,
    /// When the router was killed, microseconds since the load began.
    resets_us: Vec<u64>,
    kernel: Kernel,
}

impl Servers {
    /// Starts so many nodes and what stands behind and before them, with room for so many clients; nodes hold each request for `held`, or
    /// are of rooms.
    pub(super) fn start(
        cluster: &Cluster,
        held: Option<Span>,
        nodes: u32,
        clients: u32,
        place: &Place,
        cpus: Option<&[usize]>,
        dir: &Path,
    ) -> Result<Servers, LabError> {
        let mut redis = match cluster.backplane {
            Backplane::None => None,
            Backplane::Redis => Some(Redis::start(&cluster.redis, cpus, dir)?),
        };
        let lose = cluster.faults.iter().find_map(|fault| match fault {
            Fault::LoseEvery(every) => Some(*every),
            _ => None,
        });
        let settings = Settings {
            redis: redis.as_ref().map(Redis::url),
            member_queue: cluster.member_queue.0,
            trace: cluster.trace,
            lose_every: None,
        };
        let start = |number: u32| {
            let settings = Settings { lose_every: lose.filter(|_| number == 1), ..settings.clone() };
            Node::start(cluster, held, number, &settings, place, cpus, dir)
        };
        let nodes = (1..=nodes).map(start).collect::<Result<Vec<Node>, _>>();
        let nodes = nodes.map_err(|error| match redis.as_mut().and_then(|redis| redis.full(&error)) {
            Some(full) => LabError::Target(full),
            None => error,
        })?;
        let behind: Vec<SocketAddr> = nodes.iter().map(Node::address).collect();
        let before = |plan| Router::start(plan, clients, &behind, cpus, dir);
        let router = cluster.router.as_ref().map(before).transpose()?;
        Ok(Servers { redis, nodes, router, resets_us: Vec::new(), kernel: Kernel::new() })
    }

    /// Where clients go.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        match &self.router {
            Some(router) => router.addresses(),
            None => self.nodes.iter().map(Node::address).collect(),
        }
    }

    pub(super) fn observe(&mut self) -> Observation {
        let mut seen = Observation::default();
        for node in &mut self.nodes {
            seen.merge(node.observe());
        }
        if let Some(redis) = &mut self.redis {
            seen.merge(redis.observe());
        }
        if let Some(router) = &mut self.router {
            seen.merge(router.observe());
        }
        let listeners: Vec<_> =
            self.nodes.iter().map(Node::address).chain(self.router.iter().flat_map(Router::addresses)).collect();
        seen.samples.push(self.kernel.sample(&listeners));
        seen
    }

    /// What each node tells after a load in which `losses` were found.
    pub(super) fn reports(&mut self, losses: &[Loss]) -> Vec<NodeReport> {
        self.nodes.iter_mut().filter_map(|node| node.report(losses)).collect()
    }

    /// What the router tells.
    pub(super) fn router_report(&mut self) -> Option<RouterReport> {
        let report = self.router.as_mut()?.report();
        Some(RouterReport { resets_us: self.resets_us.clone(), ..report })
    }

    /// Does something to them on purpose, so long after the load began; what it was, in words.
    pub(super) fn disturb(&mut self, act: Act, since: Duration) -> Result<String, LabError> {
        Ok(match act {
            Act::KillNode => self.kill_last(),
            Act::CutSubscribers => self.cut_subscribers(),
            Act::FillRedis => self.fill_redis(),
            Act::FreezeRouter => {
                self.router.as_mut().map(Router::freeze).transpose()?;
                "the router stands still, on purpose".to_owned()
            }
            Act::ResetRouter => {
                self.resets_us.push(since.as_micros() as u64);
                self.router.as_mut().map(Router::reset).transpose()?;
                "the router was killed and started anew, on purpose".to_owned()
            }
        })
    }

    fn kill_last(&self) -> String {
        self.nodes.last().map(Node::kill).unwrap_or_default()
    }

    fn fill_redis(&mut self) -> String {
        let done = self.redis.as_mut().is_some_and(Redis::crowd_out);
        let what =
            if done { "was filled to maxclients, without a subscriber" } else { "could not be filled to maxclients" };
        format!("redis {what}, on purpose")
    }

    fn cut_subscribers(&mut self) -> String {
        let done = self.redis.as_mut().is_some_and(Redis::cut_subscribers);
        let what = if done { "closed the connections of all subscribers" } else { "did not answer" };
        format!("redis {what}, on purpose")
    }

    /// What can refuse or lose: the router's limits, the queues of listeners, Redis's.
    ///
    /// # Errors
    /// When Redis's lines are not its syntax.
    pub(super) fn limits(
        &self,
        cluster: &Cluster,
        clients: u32,
        environment: &Environment,
    ) -> Result<Vec<Limit>, LabError> {
        let (nodes, machine) = (self.nodes.len() as u32, Machine::of(environment));
        let router = cluster.router.as_ref().map(|plan| router::limits(plan, clients, nodes, &machine));
        let mut all = router.unwrap_or_default();
        all.push(cores::accept_queue(environment.somaxconn));
        if self.redis.is_some() {
            all.extend(Redis::limits(&cluster.redis, &machine, environment.memory)?);
        }
        processor::within_quota(&mut all, environment);
        Ok(all)
    }
}
