//! Who makes the load's request over and over: a closed user, or a worker of the open model.

use std::rc::Rc;
use std::sync::Arc;

use super::exchange::Kept;
use super::fleet::Fleet;
use super::plan::Prepared;
use super::rider::Rider;
use crate::protocol::request::{Done, RequestClient, ScheduledRequest, Seat};

/// A rider and its request.
pub(crate) struct Client {
    rider: Rider,
    request: Arc<Prepared>,
}

impl Client {
    /// One who has no seat yet.
    pub(crate) fn new(fleet: &Rc<Fleet>, request: &Arc<Prepared>) -> Client {
        Client { rider: Rider::new(fleet), request: Arc::clone(request) }
    }
}

impl RequestClient for Client {
    fn seat(&mut self) -> &mut impl Seat {
        &mut self.rider
    }

    async fn make(&mut self, request: ScheduledRequest) -> Option<Done> {
        let core = Rc::clone(self.rider.core());
        let attempt = self.rider.attempt(request, &self.request, &mut Kept::default(), core.timeout).await?;
        let failed = core.ledger.borrow_mut().ended(request.planned, &attempt);
        self.rider.after();
        Some(Done { at: attempt.at, failed })
    }
}
