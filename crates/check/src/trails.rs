//! Where messages of chat rooms went missing: each one followed through what the nodes told, by asking every node again for each.

use std::collections::BTreeMap;

use genkai_model::finding::rooms::Place;
use genkai_model::rooms::{
    Attendance, Ender, LOST, Loss, NodeReport, PASSED, PUBLISHED, RECEIVED, RETURNED, RouterReport, Traced,
};
use serde_json::{Value as Json, json};

/// How long after a router's end a connection that ended was ended by it, microseconds.
const TOGETHER_US: u64 = 2_000_000;

/// What was told after a run.
pub(crate) struct Evidence {
    /// By its members.
    pub(crate) attendance: Attendance,
    /// By its nodes.
    pub(crate) nodes: Vec<NodeReport>,
    /// By its router.
    pub(crate) router: Option<RouterReport>,
}

/// How many went missing at a place, and when the first and the last of them were sent.
#[derive(Default)]
struct Gone {
    count: u64,
    sent: Option<(u64, u64)>,
}

/// What went missing, by place and node.
#[derive(Default)]
struct Places(BTreeMap<(Place, Option<u32>), Gone>);

impl Places {
    fn add(&mut self, at: (Place, Option<u32>), count: u64, sent: Option<u64>) {
        if count == 0 {
            return;
        }
        let gone = self.0.entry(at).or_default();
        gone.count += count;
        if let Some(us) = sent {
            let (first, last) = gone.sent.unwrap_or((us, us));
            gone.sent = Some((first.min(us), last.max(us)));
        }
    }

    fn follow(&mut self, told: &Evidence, loss: &Loss) {
        let steps = u64::from(loss.last - loss.first).max(1);
        for (n, sequence) in (loss.first..=loss.last).enumerate() {
            // Messages of a sender are sent at an even pace.
            let sent = loss.from_us + n as u64 * (loss.to_us - loss.from_us) / steps;
            self.add(told.end(loss.receiver, loss.sender, sequence), 1, Some(sent));
        }
    }

    /// As a finding lists them: the most frequent place first.
    fn list(self) -> Json {
        let mut all: Vec<_> = self.0.into_iter().collect();
        all.sort_by_key(|(_, gone)| std::cmp::Reverse(gone.count));
        let told = |((place, node), gone): ((Place, Option<u32>), Gone)| {
            let mut told = json!({ "place": place, "count": gone.count });
            if let Some(node) = node {
                told["node"] = node.into();
            }
            if let Some((first, last)) = gone.sent {
                (told["from_us"], told["to_us"]) = (first.into(), last.into());
            }
            told
        };
        all.into_iter().map(told).collect()
    }
}

impl Evidence {
    /// Where all lost deliveries were lost.
    pub(crate) fn losses(&self) -> Json {
        let mut places = Places::default();
        self.attendance.losses.iter().for_each(|loss| places.follow(self, loss));
        places.add((Place::Unknown, None), self.attendance.unnamed, None);
        places.list()
    }

    /// Where the points went that each room's first member did not score.
    pub(crate) fn missing(&self) -> Json {
        let mut places = Places::default();
        for room in &self.attendance.rooms {
            let mine = self.attendance.losses.iter().filter(|loss| room.first == Some(loss.receiver));
            let mut found = 0;
            for loss in mine {
                places.follow(self, loss);
                found += u64::from(loss.last - loss.first) + 1;
            }
            places.add((Place::NeverSent, None), room.planned - room.sent, None);
            places.add((Place::ReceiverAway, None), (room.sent - room.score).saturating_sub(found), None);
        }
        places.list()
    }

    /// Where one message ended, and in which node.
    fn end(&self, receiver: u32, sender: u32, sequence: u32) -> (Place, Option<u32>) {
        if !self.nodes.iter().any(|node| node.traced) {
            return (Place::Unknown, None);
        }
        for node in self.nodes.iter().rev() {
            let mine = |one: &&genkai_model::rooms::Dropped| {
                (one.member, one.sender, one.sequence) == (receiver, sender, sequence)
            };
            if let Some(drop) = node.drops.iter().rev().find(mine) {
                return (if drop.slow { Place::WriteQueue } else { Place::ReceiverGone }, Some(node.node));
            }
        }
        let knows = |node: &'_ NodeReport| -> Vec<Traced> {
            node.messages.iter().filter(|one| (one.sender, one.sequence) == (sender, sequence)).copied().collect()
        };
        let seen: Vec<(&NodeReport, Traced)> =
            self.nodes.iter().flat_map(|node| knows(node).into_iter().map(move |one| (node, one))).collect();
        let first = [RECEIVED, RETURNED].iter().find_map(|hop| seen.iter().find(|(_, one)| one.hops & hop != 0));
        let Some((node, message)) = first else { return self.unseen(sender) };
        if message.hops & LOST != 0 {
            return (Place::InNode, Some(node.node));
        }
        if self.nodes.iter().all(|node| node.hops.published + node.hops.unpublished == 0) {
            return self.written(receiver, node, message);
        }
        let Some(home) = self.home(receiver) else { return self.in_dead_node() };
        let back = seen.iter().find(|(node, one)| node.node == home.node && one.hops & (RETURNED | PASSED) != 0);
        match back {
            Some((_, back)) => self.written(receiver, home, back),
            None if message.hops & PUBLISHED != 0 || message.hops & RECEIVED == 0 => (Place::InBackplane, None),
            None => (Place::ToBackplane, Some(node.node)),
        }
    }

    /// The node that a member entered; of several, the last.
    fn home(&self, member: u32) -> Option<&NodeReport> {
        self.nodes.iter().rev().find(|node| node.members.contains(&member))
    }

    /// No node that can be asked received it.
    fn unseen(&self, sender: u32) -> (Place, Option<u32>) {
        match self.home(sender) {
            _ if self.is_routed(sender) => (Place::InRouter, None),
            Some(node) if node.traced => (Place::BeforeNode, None),
            Some(node) => (Place::Unknown, Some(node.node)),
            None if self.nodes.iter().any(|node| !node.alive) => self.in_dead_node(),
            None => (Place::BeforeNode, None),
        }
    }

    fn in_dead_node(&self) -> (Place, Option<u32>) {
        let dead: Vec<u32> = self.nodes.iter().filter(|node| !node.alive).map(|node| node.node).collect();
        (Place::DeadNode, if dead.len() == 1 { Some(dead[0]) } else { None })
    }

    /// A node passed it on to all who were there.
    fn written(&self, receiver: u32, node: &NodeReport, message: &Traced) -> (Place, Option<u32>) {
        let all = self.nodes.iter().rev().flat_map(|node| node.gone.iter().rev());
        let gone = all.into_iter().find(|gone| gone.member == receiver);
        match gone.is_some_and(|gone| gone.at_us <= message.at_us) {
            true => (Place::ReceiverGone, Some(node.node)),
            false if self.is_routed(receiver) => (Place::InRouter, None),
            false => (Place::AfterNode, Some(node.node)),
        }
    }

    /// Whether the router ended a member's connection: it says so, or it was killed at about that time.
    fn is_routed(&self, member: u32) -> bool {
        let Some(router) = &self.router else { return false };
        let said = router.ended.iter().any(|ended| ended.member == member && ended.by == Ender::Router);
        let together = |at: u64| router.resets_us.iter().any(|reset| at.abs_diff(*reset) <= TOGETHER_US);
        said || self.attendance.cuts.iter().any(|cut| cut.member == member && together(cut.at_us))
    }
}
