//! Slots that clients take: as many each, or from so many to so many where the configuration does not decide it.

use genkai_model::limit::Law;

use crate::settings::SourcedValue;

/// What a client takes whose request is in flight, the fewest and the most; an idle one takes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Takes {
    /// Where it needs no upstream, if that may be.
    pub(crate) fewest: u64,
    /// Where it needs all that it may.
    pub(crate) most: u64,
}

impl Takes {
    /// So many in any case.
    pub(crate) fn always(number: u64) -> Takes {
        Takes { fewest: number, most: number }
    }

    /// Of several ways that a request may take.
    pub(crate) fn of(ways: impl IntoIterator<Item = Takes>) -> Option<Takes> {
        let both =
            |one: Takes, other: Takes| Takes { fewest: one.fewest.min(other.fewest), most: one.most.max(other.most) };
        ways.into_iter().reduce(both)
    }

    /// What a formula says of it behind its number; nothing where it is always the same.
    pub(crate) fn said(self, noun: &str) -> String {
        let Takes { fewest, most } = self;
        if fewest == most {
            return String::new();
        }
        format!("; a client takes from {fewest} to {most} {noun}, and what decides that is not in the configuration")
    }
}

/// Pools of slots.
pub(crate) struct Slots {
    /// Of each pool.
    pub(crate) value: f64,
    /// Of these, never a client's.
    pub(crate) reserved: f64,
    /// What a client takes.
    pub(crate) takes: Takes,
    /// Pools.
    pub(crate) pools: f64,
    /// Whether one pool may get all clients.
    pub(crate) uneven: bool,
    /// Which part of a pool may be taken before clients suffer.
    pub(crate) free: f64,
    /// Connections to servers behind that stay open without a client.
    pub(crate) kept: Option<Kept>,
}

/// Connections to several servers that are kept for a next request: whoever is sent to one server does not find those to the others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    /// The most that a pool keeps.
    pub(crate) most: u64,
    /// Servers.
    pub(crate) servers: u64,
}

impl Kept {
    /// How many clients of `cost` find room among `room` for certain: as many are kept as may be, or as many to each server as there are clients.
    fn sure(self, room: f64, cost: f64) -> f64 {
        let (most, others) = (self.most as f64, self.servers.saturating_sub(1) as f64);
        ((room - most) / cost).max(room / (cost + others))
    }
}

impl Slots {
    /// The law: it counts the cheapest clients, and clients suffer from where the dearest ones find no more.
    pub(crate) fn law(&self) -> Law {
        let Slots { value, reserved, takes, pools, uneven, free, kept } = *self;
        let (most, room) = (takes.most as f64, free * value - reserved);
        // What is kept makes them dearer, too.
        let most = kept.filter(|_| room > 0.0).map_or(most, |kept| room / kept.sure(room, most));
        let dearest = most / takes.fewest as f64 * if uneven { pools } else { 1.0 };
        let soft =
            if dearest > 1.0 && value > 0.0 { ((free * value - reserved) / dearest + reserved) / value } else { free };
        Law::Slots { value, reserved, idle_cost: 1.0, busy_cost: takes.fewest as f64, pools, soft }
    }
}

/// How many descriptors clients find, in the words of a formula: `(100 descriptors - 8 of its own) / 2`.
pub(crate) fn descriptors(value: &SourcedValue<u64>, own: u64, takes: Takes) -> String {
    format!("({} descriptors - {own} of its own) / {}{}", value.value, takes.fewest, takes.said("descriptors"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_clients_that_take_one_or_two_the_law_holds_for_both() {
        let slots =
            |takes, uneven| Slots { value: 100.0, reserved: 8.0, takes, pools: 2.0, uneven, free: 1.0, kept: None };
        let soft = |takes, uneven| match slots(takes, uneven).law() {
            Law::Slots { busy_cost, soft, .. } => (busy_cost, (soft * 100.0 - 8.0) / busy_cost),
            law => panic!("{law:?}"),
        };
        assert_eq!(soft(Takes::always(2), false), (2.0, 46.0));
        let (cost, from) = soft(Takes { fewest: 1, most: 2 }, false);
        assert!(cost == 1.0 && (from - 46.0).abs() < 1e-9, "92 of the cheapest, 46 of the dearest: {from}");
        let (_, from) = soft(Takes::always(1), true);
        assert!((from - 46.0).abs() < 1e-9, "one pool's share: {from}");
        let kept = |most, servers| {
            let slots = Slots { kept: Some(Kept { most, servers }), ..slots(Takes::always(2), false) };
            let Law::Slots { soft, .. } = slots.law() else { panic!() };
            (soft * 100.0 - 8.0) / 2.0
        };
        let near = |is: f64, wanted: f64| (is - wanted).abs() < 1e-9;
        assert!(near(kept(12, 6), 40.0), "(92 - 12) / 2");
        assert!(near(kept(90, 2), 92.0 / 3.0), "a client with its own, and one that the other server keeps");
        let ways = [Takes::always(2), Takes::always(1)];
        assert_eq!(Takes::of(ways), Some(Takes { fewest: 1, most: 2 }));
        assert_eq!((Takes::of([]), Takes::always(2).said("x")), (None, String::new()));
    }
}
