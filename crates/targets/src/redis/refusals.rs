//! How many clients a Redis that somebody else started has refused: it counts them (`rejected_connections` of INFO, src/networking.c:
//! acceptCommonHandler) and writes no line about one. It is asked where there is room: who asks is a client, too, and takes nobody's place.

use std::sync::{Arc, Weak};
use std::time::Duration;

use genkai_place::endpoint::Endpoint;

use super::info::{field, told_by};
use crate::upstreams::{Counted, Refusals};

/// Between two looks at whether there is room.
const OFTEN: Duration = Duration::from_millis(20);
/// Between two questions.
const BETWEEN: Duration = Duration::from_millis(200);
/// Places that must be free: one for who asks, and one for a client that comes meanwhile.
const ROOM: u64 = 2;

/// Asked until what is returned is dropped: of a Redis at `at` that takes so many clients.
pub(super) fn counted(at: &Endpoint, most: u64) -> Refusals {
    let counted = Arc::new(Counted::default());
    // Without a count from before the load nothing that grew would be seen.
    let Some(refused) = refused(at, most) else { return Refusals::Untold };
    counted.tell(refused);
    let (theirs, at) = (Arc::downgrade(&counted), at.clone());
    std::thread::spawn(move || keep(&theirs, &at, most));
    Refusals::Counted(counted)
}

fn keep(counted: &Weak<Counted>, at: &Endpoint, most: u64) {
    loop {
        let told = refused(at, most);
        let Some(counted) = counted.upgrade() else { return };
        told.iter().for_each(|refused| counted.tell(*refused));
        drop(counted);
        std::thread::sleep(if told.is_some() { BETWEEN } else { OFTEN });
    }
}

/// How many it has refused; none where there is no room to ask, or it does not say.
fn refused(at: &Endpoint, most: u64) -> Option<u64> {
    let has = at.connections()?.accepted;
    (has.saturating_add(ROOM) <= most).then_some(())?;
    field(&told_by(at, &["stats"]).ok()?, "rejected_connections")?.parse().ok()
}
