//! Users of a worker, as Locust counts them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Users of each class, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Users {
    pub(crate) user_classes_count: BTreeMap<String, u32>,
    pub(crate) user_count: u64,
}

impl Users {
    pub(crate) fn of(classes: &BTreeMap<String, u32>) -> Users {
        let user_count = classes.values().copied().map(u64::from).sum();
        Users { user_classes_count: classes.clone(), user_count }
    }
}
