//! How many users there are when, of which class and at which worker: pure.

use std::collections::BTreeMap;

use genkai_model::locust::UserClass;

/// Users due `elapsed` seconds after the start, of `count` at `rate` a second: as Locust's master adds them, whole users each second
/// (`locust/dispatch.py`: `max(1, floor(spawn_rate))` at a time).
pub(super) fn due(elapsed: f64, rate: f64, count: u32) -> u32 {
    let at_once = rate.floor().clamp(1.0, f64::from(count.max(1)));
    let between = at_once / rate;
    let times = (elapsed / between).floor() + 1.0;
    (times * at_once).min(f64::from(count)) as u32
}

/// Users in the order in which they come: those of fixed number first, then each class in turn by its weight, at one worker after the other.
/// Nobody ever leaves.
#[derive(Clone, Debug)]
pub(super) struct Crowd<'c> {
    classes: &'c [UserClass],
    /// Of the smooth weighted round robin (as nginx balances): what each class is owed.
    owed: Vec<f64>,
    /// Users of each class.
    counts: Vec<u32>,
    workers: Vec<BTreeMap<String, u32>>,
    total: u32,
}

impl<'c> Crowd<'c> {
    /// Nobody yet, at so many workers.
    pub(super) fn new(classes: &'c [UserClass], workers: usize) -> Crowd<'c> {
        let none: BTreeMap<String, u32> = classes.iter().map(|class| (class.name.clone(), 0)).collect();
        let (owed, counts) = (vec![0.0; classes.len()], vec![0; classes.len()]);
        Crowd { classes, owed, counts, workers: vec![none; workers], total: 0 }
    }

    /// Users of all.
    pub(super) fn total(&self) -> u32 {
        self.total
    }

    /// Users of each class at each worker.
    pub(super) fn workers(&self) -> &[BTreeMap<String, u32>] {
        &self.workers
    }

    /// Adds users until there are `total`, or no class takes more.
    pub(super) fn grow(&mut self, total: u32) {
        while self.total < total {
            let Some(next) = self.next() else { return };
            self.counts[next] += 1;
            let at = self.total as usize % self.workers.len().max(1);
            if let Some(worker) = self.workers.get_mut(at) {
                *worker.entry(self.classes[next].name.clone()).or_default() += 1;
            }
            self.total += 1;
        }
    }

    /// The class of the next user.
    fn next(&mut self) -> Option<usize> {
        let lacks = |n: &usize| self.counts[*n] < self.classes[*n].fixed;
        let fixed = (0..self.classes.len()).filter(lacks).min_by_key(|n| self.counts[*n]);
        if fixed.is_some() {
            return fixed;
        }
        let weights = |class: &UserClass| if class.fixed > 0 { 0.0 } else { class.weight };
        let all: f64 = self.classes.iter().map(weights).sum();
        if all <= 0.0 {
            return None;
        }
        for (owed, class) in self.owed.iter_mut().zip(self.classes) {
            *owed += weights(class);
        }
        let open = (0..self.classes.len()).filter(|n| weights(&self.classes[*n]) > 0.0);
        let next = open.max_by(|a, b| self.owed[*a].total_cmp(&self.owed[*b]).then(b.cmp(a)))?;
        self.owed[next] -= all;
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn class(name: &str, weight: f64, fixed: u32) -> UserClass {
        UserClass { name: name.to_owned(), weight, fixed, pause: None }
    }

    #[test]
    fn users_come_in_whole_numbers_each_second() {
        let at = |elapsed| due(elapsed, 10.0, 35);
        assert_eq!([0.0, 0.9, 1.0, 2.5, 3.0, 60.0].map(at), [10, 10, 20, 30, 35, 35]);
        assert_eq!([0.0, 1.9, 2.0].map(|elapsed| due(elapsed, 0.5, 9)), [1, 1, 2], "one every two seconds");
        assert_eq!(due(0.0, 1e6, 300), 300, "all at once");
    }

    #[test]
    fn classes_get_their_weights_and_those_of_fixed_number_come_first() {
        let classes = [class("Buy", 1.0, 0), class("Look", 3.0, 0), class("Admin", 1.0, 2)];
        let mut crowd = Crowd::new(&classes, 2);
        crowd.grow(2);
        assert_eq!(crowd.counts, [0, 0, 2]);
        crowd.grow(42);
        assert_eq!((crowd.total(), &crowd.counts[..]), (42, &[10, 30, 2][..]));
        let users = |worker: &BTreeMap<String, u32>| worker.values().sum::<u32>();
        assert_eq!(crowd.workers().iter().map(users).collect::<Vec<_>>(), [21, 21]);
        let mut fixed = Crowd::new(&classes[2..], 1);
        fixed.grow(5);
        assert_eq!(fixed.total(), 2, "no class takes more");
    }

    proptest! {
        /// However it grows, nobody leaves, and classes are within a user of their weights.
        #[test]
        fn nobody_leaves_and_weights_hold(steps in proptest::collection::vec(1u32..40, 1..10), weights in proptest::collection::vec(1u32..9, 1..5)) {
            let classes: Vec<UserClass> =
                weights.iter().enumerate().map(|(n, weight)| class(&n.to_string(), f64::from(*weight), 0)).collect();
            let all: f64 = weights.iter().copied().map(f64::from).sum();
            let mut crowd = Crowd::new(&classes, 3);
            let mut total = 0;
            for step in steps {
                let before = crowd.workers().to_vec();
                total += step;
                crowd.grow(total);
                prop_assert_eq!(crowd.total(), total);
                for (was, is) in before.iter().zip(crowd.workers()) {
                    prop_assert!(was.iter().all(|(name, users)| is[name] >= *users));
                }
                for (count, weight) in crowd.counts.iter().zip(&weights) {
                    let share = f64::from(total) * f64::from(*weight) / all;
                    prop_assert!((f64::from(*count) - share).abs() <= classes.len() as f64, "{count} for {share}");
                }
            }
        }
    }
}
