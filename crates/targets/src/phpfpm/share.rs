//! What `process.max` leaves a pool: php-fpm's master starts no child of any pool beyond it (sapi/fpm/fpm/fpm_children.c: `fpm_children_make`).

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Law, Limit, Strength, Symptom};
use genkai_place::caps::Machine;

use super::limits::{self, Pool};
use crate::files::entry::Entries;
use crate::limits::{logged_once, reached, valued};
use crate::product::Cost;
use crate::settings::SourcedValue;
use crate::upstreams::placed;

/// Connections that wait for a child while all children that the master may have are there, the pool has fewer than its own `pm.max_children`, and
/// all that it has are busy; after its subject.
pub(super) const HELD: &str = "queued_at_process_max";
/// What php-fpm's own message is called.
pub(super) const SIGNATURE: &str = "php-fpm.process.max.reached";

/// What a pool has of the children of all pools, where it may be fewer than its own `pm.max_children`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Share {
    /// `process.max`.
    most: SourcedValue<u64>,
    /// Children that the pool has at least and at most.
    least: u64,
    top: u64,
    /// Its own `pm.max_children`.
    own: u64,
    /// Whether there are other pools.
    others: bool,
}

impl Share {
    /// That of the pool of this name; none where it has all that it may have.
    pub(super) fn of(config: &Entries, name: &str, machine: &Machine) -> Option<Share> {
        let names = super::config::pools(config);
        let pools: Vec<Pool> = names.iter().map(|name| Pool::of(config, name, machine)).collect();
        let number = names.iter().position(|one| *one == name)?;
        let most = limits::process_max(config).filter(|most| *most < limits::asked(&pools))?;
        let (least, top) = limits::shares(&pools, most)[number];
        let own = pools[number].children.as_ref()?.value;
        let entry = config.value_in("global", "process.max")?;
        let most = SourcedValue { value: most, written: entry.value(), origin: config.origin(entry) };
        Some(Share { most, least, top, own, others: pools.len() > 1 }).filter(|_| least < own)
    }

    /// Whether the pool may have all children of its own `pm.max_children`.
    pub(super) fn reaches_its_own(&self) -> bool {
        self.top == self.own
    }

    /// How it is called where it is told who stands there.
    pub(super) fn told(&self) -> String {
        let all = if self.others { " for all pools together" } else { "" };
        format!(", process.max {}{}{all}", self.most.written, placed(&self.most.origin))
    }

    /// Of `waiting` connections those that wait for what `process.max` does not give: the pool has so many children, of which so many are busy, and
    /// there are so many of all pools.
    pub(super) fn held(&self, waiting: u64, busy: u64, children: u64, all: u64) -> u64 {
        if all >= self.most.value && children < self.own && busy >= children { waiting } else { 0 }
    }

    /// It as a limit of the pool, whose own are `children`.
    pub(super) fn limit(&self, pool: &Pool, children: &Limit, cost: Option<Cost>, subject: &str) -> Limit {
        let is_certain = self.least == self.top;
        let feeds = cost.is_none_or(|cost| cost.feeds(self.top as f64));
        let strength = |fed: Strength| if feeds { fed } else { Strength::Consistent };
        let law = match children.law {
            Law::Workers { queue, wait, .. } if is_certain => {
                let service = cost.map(|cost| cost.service.as_secs_f64().max(1e-6));
                Law::Workers { workers: self.top as f64, queue, service, wait }
            }
            _ => Law::Unknown,
        };
        let whose = if self.others { "all pools together" } else { "the pool" };
        Limit {
            caps: format!(
                "children of {whose}, of which [{}] has {}, and not its pm.max_children {}; to lift it, raise process.max{}, as far as processors and \
                 memory reach",
                pool.name,
                if self.others { "what the others leave" } else { "all" },
                self.own,
                placed(&self.most.origin)
            ),
            law,
            formula: self.formula(cost),
            source:
                "php.net/manual/install.fpm.configuration#process.max; sapi/fpm/fpm/fpm_children.c: fpm_children_make"
                    .to_owned(),
            signatures: vec![
                reached(&format!("{subject}.{HELD}"), 1.0, strength(Strength::Decisive)),
                // It is said once in a master's life, of whichever pool.
                logged_once(SIGNATURE, strength(Strength::Supports)),
            ],
            symptom: Symptom { errors: vec![ErrorKind::Status504, ErrorKind::Timeout], slow: true },
            ..valued(&format!("php-fpm.{}.process.max", pool.name), "php-fpm", "process.max", &self.most)
        }
    }

    fn formula(&self, cost: Option<Cost>) -> String {
        let Share { least, top, others, .. } = *self;
        let most = &self.most.written;
        if least < top {
            return format!(
                "from {least} to {top} children: process.max {most} counts those of all pools, and who asks first has them; how many the others hold is not known"
            );
        }
        let called = format!("{top} children");
        let rates = cost.map_or_else(|| limits::rates(top), |cost| cost.in_words(top as f64, &called));
        let rest = if others { format!("; process.max {most} counts those of all pools") } else { String::new() };
        format!("{rates}{rest}")
    }
}

/// Whether a line of php-fpm's log is its message that no pool may have a child more.
pub(super) fn is_reached(line: &str) -> bool {
    line.contains("WARNING: The maximum number of processes has been reached. ")
        && line.ends_with("raising 'process.max'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phpfpm::config;

    /// The share of `www` beside another pool.
    fn share(global: &str, www: &str, other: &str) -> Option<Share> {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("php-fpm.conf");
        let text = format!("[global]\n{global}\n[www]\nlisten = 9000\n{www}\n[other]\nlisten = 9001\n{other}\n");
        std::fs::write(&main, text).unwrap();
        Share::of(&config::read(&main).unwrap(), "www", &Machine::of(&Default::default()))
    }

    #[test]
    fn a_pool_has_a_share_only_where_others_may_keep_it_from_its_own_children() {
        let (ten, two) = ("pm = dynamic\npm.max_children = 10", "pm = static\npm.max_children = 2");
        assert_eq!(share("", ten, ten), None);
        assert_eq!(share("process.max = 20", ten, ten), None);
        // Whoever asks first.
        let both = share("process.max = 4", ten, ten).unwrap();
        assert_eq!((both.least, both.top, both.reaches_its_own()), (0, 4, false));
        let either = share("process.max = 12", ten, ten).unwrap();
        assert_eq!((either.least, either.top, either.reaches_its_own()), (2, 10, true));
        // The other's stay.
        let certain = share("process.max = 5", ten, two).unwrap();
        assert_eq!((certain.least, certain.top), (3, 5), "it may have begun before the other did");
        // Its own are all there from the start.
        assert_eq!(share("process.max = 4", two, ten), None);
    }

    #[test]
    fn who_waits_is_held_by_it_only_where_no_child_may_come() {
        let share = share("process.max = 4", "pm = dynamic\npm.max_children = 10", "pm = static\npm.max_children = 10")
            .unwrap();
        assert_eq!(share.held(7, 2, 2, 4), 7);
        assert_eq!(share.held(7, 1, 2, 4), 0, "one of its children is idle");
        assert_eq!(share.held(7, 2, 2, 3), 0, "another one may come");
        assert_eq!(share.held(7, 10, 10, 12), 0, "it has all of its own");
        assert!(share.told().ends_with("php-fpm.conf:2) for all pools together"), "{}", share.told());
    }

    #[test]
    fn its_message_is_php_fpms() {
        let line = "[27-Nov-2026 00:10:11] WARNING: The maximum number of processes has been reached. Please review your configuration and consider raising 'process.max'";
        assert!(is_reached(line) && !is_reached(&line.replace("WARNING", "NOTICE")));
        assert!(!is_reached(
            "[27-Nov-2026 00:10:11] WARNING: [pool www] server reached pm.max_children setting (5), consider raising it"
        ));
    }
}
