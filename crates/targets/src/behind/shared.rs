//! What a private copy has together with the server of the user's that it is a copy of: connections of a database that both ask. Those that the user's
//! processes keep while nobody asks them are missing in the copy, which is then refused what the user's server is not.

use std::path::Path;

use genkai_place::caps::Machine;
use genkai_place::endpoint::{Endpoint, Listener, held};
use genkai_place::usage::Tree;

use super::second::Second;
use crate::catalog;

/// A server that takes so many connections and no more, of which the user's processes hold some.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shared {
    /// Who it is, and where, in words.
    who: String,
    /// Connections that it takes.
    most: u64,
    /// Those that are open, whoever has them.
    open: u64,
    /// Those that the user's processes have, and how many of these have any.
    held: u64,
    holders: u64,
}

impl Shared {
    /// Those of which processes of the user's hold connections, where `twin` is to be a copy of their server; none of which a copy can be made in
    /// `dir`, too.
    pub(super) fn find(twin: &Second, machine: &Machine, memory: u64, dir: &Path) -> Vec<Shared> {
        let Listener::Process(first) = twin.places().0.listener() else { return Vec::new() };
        let processes: Vec<u32> = Tree::new(first).sample().processes.iter().map(|one| one.pid).collect();
        let holders = |at: &Endpoint| processes.iter().filter(|pid| held(&[**pid]).contains_key(at)).count() as u64;
        let found = |(at, held): (Endpoint, u64)| {
            let Listener::Process(pid) = at.listener() else { return None };
            let served = catalog::serves(pid, &at, machine, memory)?.ok()?;
            let most = served.sessions()?;
            if matches!(Second::part(&at, &dir.join("store")), Some(Ok(_))) {
                return None;
            }
            let open = at.connections_of(pid).map_or(held, |all| all.accepted.max(held));
            let (told, holders) = (served.told(), holders(&at).max(1));
            let who = format!("{} at {at}", told.split(';').next().unwrap_or_default());
            Some(Shared { who, most, open, held, holders })
        };
        held(&processes).into_iter().filter_map(found).collect()
    }

    /// Connections that the copy takes, where each of its processes comes to as many as one of the user's.
    fn wanted(&self, workers: Option<u64>) -> u64 {
        workers.map_or(self.held, |workers| (workers * self.held).div_ceil(self.holders))
    }

    /// Both numbers in words, where there are not as many connections as `workers` of a copy may want beside those that are open.
    fn beyond(&self, workers: Option<u64>) -> Option<String> {
        let wanted = self.wanted(workers);
        (self.open + wanted > self.most).then(|| {
            format!(
                "processes of the server that runs hold {} of the {} connections of {} while nobody asks them ({} are open in all), and those of a \
                 copy may want {wanted} more",
                self.held, self.most, self.who, self.open
            )
        })
    }

    /// Why there is to be no copy of the user's server.
    pub(super) fn refuses(&self, twin: &Second) -> Option<String> {
        let why = self.beyond(twin.workers())?;
        Some(format!("{why}: it would be refused what your server is not. The load goes to your server"))
    }

    /// What is to be said of a copy that is there all the same, with settings of which more processes come.
    pub(super) fn told(&self, twin: &Second) -> Option<String> {
        let why = self.beyond(twin.workers())?;
        Some(format!(
            "{} of yours and a private copy of it ask the same server: {why}. What that refuses the copy here it may not refuse your server alone, and a \
             change that was tried with so many may do more than it did here.",
            twin.product()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_short_of_what_the_users_processes_hold() {
        let shared = Shared { who: "MariaDB".to_owned(), most: 20, open: 9, held: 8, holders: 4 };
        // Two connections each.
        assert_eq!(shared.wanted(Some(4)), 8);
        assert_eq!((shared.beyond(Some(5)), shared.beyond(Some(6)).is_some()), (None, true));
        // Whose processes are not counted wants as many as the user's have.
        assert_eq!((shared.wanted(None), shared.beyond(None)), (8, None));
        let said = shared.beyond(Some(6)).unwrap();
        assert!(
            said.contains("hold 8 of the 20 connections of MariaDB") && said.ends_with("may want 12 more"),
            "{said}"
        );
    }
}
