//! Scheduled requests, and who makes them.

use std::rc::Rc;

use genkai_model::load::Reuse;

use super::core::Core;
use crate::clock::Moment;
use crate::transport::deadline::Slot;

/// One request to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScheduledRequest {
    /// When it was planned.
    pub(crate) planned: Moment,
    /// Whether nothing but the generator could delay its beginning: the write, or where no connection is open the attempt
    /// to connect.
    pub(crate) prompt: bool,
}

impl ScheduledRequest {
    /// The first of a user or connection. A load of new connections is judged by how promptly it asks for them; one that keeps them opens
    /// each but once, often many in one moment, which says little about the rest.
    pub(crate) fn first(core: &Core, planned: Moment) -> ScheduledRequest {
        ScheduledRequest { planned, prompt: core.reuse == Reuse::PerRequest }
    }
}

/// How a request went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    /// When it ended, and the next could be made.
    pub(crate) at: Moment,
    /// Whether it failed, by status or otherwise.
    pub(crate) failed: bool,
}

/// A connection, or a place on one that others share, as the loop of its client sees it.
pub(crate) trait Channel {
    /// What the thread shares.
    fn core(&self) -> &Rc<Core>;

    /// What others know it by.
    fn slot(&self) -> &Rc<Slot>;

    /// Whether a request could be written now, as far as is known.
    fn is_open(&self) -> bool;

    /// Waits until `at`.
    async fn rest(&mut self, at: Moment);

    /// Waits until a request is handed over; none when it is of no further use.
    async fn await_hand_over(&mut self) -> Option<Moment>;
}

/// What makes the requests of one user or worker, one at a time.
pub(crate) trait RequestClient {
    /// Where it makes them.
    fn channel(&mut self) -> &mut impl Channel;

    /// Makes one request and counts how it went; none when the load ended meanwhile.
    async fn make(&mut self, request: ScheduledRequest) -> Option<Done>;
}
