//! The trail of one message through the nodes, and the place where it ends.

use std::collections::{HashMap, HashSet};

use genkai_model::finding::rooms::Place;
use genkai_model::record::Trial;
use genkai_model::rooms::{
    Attendance, Dropped, Ender, LOST, NodeReport, PASSED, PUBLISHED, RECEIVED, RETURNED, RouterReport, Traced,
};

/// A connection that ended within so long of a router's end was ended by it, microseconds: the kernel resets all of them when it
/// is killed, and the generator may be late to notice.
const TOGETHER_US: u64 = 2_000_000;

/// What nodes told, so that it can be looked up.
pub(super) struct Trails<'a> {
    nodes: &'a [NodeReport],
    /// Which node a member entered.
    home: HashMap<u32, usize>,
    /// What each node knows of a message.
    seen: HashMap<(u32, u32), Vec<(usize, &'a Traced)>>,
    /// Deliveries lost in a node, by receiver, sender, number.
    drops: HashMap<(u32, u32, u32), (usize, &'a Dropped)>,
    /// Since when members are gone.
    gone: HashMap<u32, u64>,
    /// Nodes that ended before they could be asked, and where some members therefore are.
    dead: HashSet<usize>,
    /// Members whose connections the router ended.
    routed: HashSet<u32>,
}

impl<'a> Trails<'a> {
    pub(super) fn read(trial: &'a Trial, attendance: &Attendance) -> Trails<'a> {
        let mut trails = Trails {
            nodes: &trial.nodes,
            home: HashMap::new(),
            seen: HashMap::new(),
            drops: HashMap::new(),
            gone: HashMap::new(),
            dead: HashSet::new(),
            routed: trial.router.as_ref().map(|router| ended_by(router, attendance)).unwrap_or_default(),
        };
        for (at, node) in trial.nodes.iter().enumerate() {
            if !node.alive {
                trails.dead.insert(at);
            }
            for member in &node.members {
                trails.home.insert(*member, at);
            }
            for gone in &node.gone {
                trails.gone.insert(gone.member, gone.at_us);
            }
            for message in &node.messages {
                trails.seen.entry((message.sender, message.sequence)).or_default().push((at, message));
            }
            for drop in &node.drops {
                trails.drops.insert((drop.member, drop.sender, drop.sequence), (at, drop));
            }
        }
        trails
    }

    /// Where the message of `sender` with this number ended on its way to `receiver`, and in which node.
    pub(super) fn end(&self, receiver: u32, sender: u32, sequence: u32) -> (Place, Option<u32>) {
        if self.nodes.iter().all(|node| !node.traced) {
            return (Place::Unknown, None);
        }
        if let Some((at, drop)) = self.drops.get(&(receiver, sender, sequence)) {
            let place = if drop.slow { Place::WriteQueue } else { Place::ReceiverGone };
            return (place, self.number(*at));
        }
        let seen = self.seen.get(&(sender, sequence)).map(Vec::as_slice).unwrap_or_default();
        let with = |hop: u8| seen.iter().find(|(_, message)| message.hops & hop != 0);
        let Some((first, message)) = with(RECEIVED).or_else(|| with(RETURNED)) else { return self.unseen(sender) };
        if message.hops & LOST != 0 {
            return (Place::InNode, self.number(*first));
        }
        self.passed_on(receiver, *first, message, seen)
    }

    /// No node that can be asked received it.
    fn unseen(&self, sender: u32) -> (Place, Option<u32>) {
        match self.home.get(&sender) {
            _ if self.routed.contains(&sender) => (Place::InRouter, None),
            Some(at) if self.nodes[*at].traced => (Place::BeforeNode, None),
            Some(at) => (Place::Unknown, self.number(*at)),
            // A member that no living node knows was in one that is not.
            None if !self.dead.is_empty() => self.in_dead_node(),
            None => (Place::BeforeNode, None),
        }
    }

    /// In a node that ended: which, where only one did.
    fn in_dead_node(&self) -> (Place, Option<u32>) {
        let only = self.dead.iter().next().filter(|_| self.dead.len() == 1);
        (Place::DeadNode, only.and_then(|at| self.number(*at)))
    }

    /// The node `first` received it and did not lose it itself.
    fn passed_on(
        &self,
        receiver: u32,
        first: usize,
        message: &Traced,
        seen: &[(usize, &Traced)],
    ) -> (Place, Option<u32>) {
        let backplane = self.nodes.iter().any(|node| node.hops.published + node.hops.unpublished > 0);
        if !backplane {
            return self.written(receiver, first, message);
        }
        let Some(home) = self.home.get(&receiver) else {
            return self.in_dead_node();
        };
        if let Some((_, back)) = seen.iter().find(|(at, message)| at == home && message.hops & (RETURNED | PASSED) != 0)
        {
            return self.written(receiver, *home, back);
        }
        if message.hops & PUBLISHED != 0 || message.hops & RECEIVED == 0 {
            (Place::InBackplane, None)
        } else {
            (Place::ToBackplane, self.number(first))
        }
    }

    /// The node passed it on to all who were there, and lost nothing of it.
    fn written(&self, receiver: u32, at: usize, message: &Traced) -> (Place, Option<u32>) {
        let gone = self.gone.get(&receiver).is_some_and(|since| *since <= message.at_us);
        match gone {
            true => (Place::ReceiverGone, self.number(at)),
            false if self.routed.contains(&receiver) => (Place::InRouter, None),
            false => (Place::AfterNode, self.number(at)),
        }
    }

    fn number(&self, at: usize) -> Option<u32> {
        self.nodes.get(at).map(|node| node.node)
    }
}

/// Members whose connections a router ended: those that it names, and those that were cut off when it was killed.
fn ended_by(router: &RouterReport, attendance: &Attendance) -> HashSet<u32> {
    let named = router.ended.iter().filter(|ended| ended.by == Ender::Router).map(|ended| ended.member);
    let killed = |at: u64| router.resets_us.iter().any(|reset| at.abs_diff(*reset) <= TOGETHER_US);
    let cut = attendance.cuts.iter().filter(|cut| killed(cut.at_us)).map(|cut| cut.member);
    named.chain(cut).collect()
}
