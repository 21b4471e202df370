//! Where the load of an experiment is made, and where its servers listen.

use std::net::Ipv4Addr;

use genkai_model::comparison::Runs;
use genkai_model::load::Scale;
use genkai_model::plan::{Plan, Study};

/// Where the load of a plan is made, and where the servers that it starts are reached.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placement {
    /// Processes and machines that make the load.
    pub scale: Scale,
    /// This machine's address at which servers listen; none: 127.0.0.1, which other machines do not reach.
    pub listen: Option<Ipv4Addr>,
}

impl Placement {
    /// The plan, its load made there, and all servers that clients reach listening there.
    pub fn of(&self, mut plan: Plan) -> Plan {
        plan.load.scale.clone_from(&self.scale);
        plan.system.front.listen = self.listen;
        if let Study::Compare(comparison) = &mut plan.study {
            for contender in &mut comparison.contenders {
                if let Runs::Server { system, .. } = &mut contender.runs {
                    system.front.listen = self.listen;
                }
            }
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Size, apache};

    #[test]
    fn all_that_is_compared_listens_where_it_is_reached() {
        let listen = Some(Ipv4Addr::new(10, 1, 2, 3));
        let placement = Placement { scale: Scale { processes: 3, ..Scale::default() }, listen };
        let plan = placement.of(apache::changes("changes", 500, Size::Quick).unwrap());
        assert_eq!((plan.load.scale.processes, plan.system.front.listen), (3, listen));
        let all = &plan.comparison().unwrap().contenders;
        let at = |runs: &Runs| match runs {
            Runs::Server { system, .. } => system.front.listen,
            Runs::Url(_) => None,
        };
        assert!(all.len() > 2 && all.iter().all(|one| at(&one.runs) == listen), "{all:?}");
    }
}
