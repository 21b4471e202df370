//! Users of a worker, as Locust counts them.

use std::collections::BTreeMap;

use serde::Serialize;

/// Users of each class, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Users {
    pub(super) user_classes_count: BTreeMap<String, u32>,
    pub(super) user_count: u64,
}

impl Users {
    pub(super) fn of(classes: &BTreeMap<String, u32>) -> Users {
        let user_count = classes.values().copied().map(u64::from).sum();
        Users { user_classes_count: classes.clone(), user_count }
    }
}
