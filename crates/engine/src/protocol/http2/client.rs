//! Who makes the load's request over and over: a closed user, or a worker of the open model.

use std::rc::Rc;
use std::sync::Arc;

use super::exchange::Kept;
use super::plan::Prepared;
use super::pool::Pool;
use super::requester::Requester;
use crate::protocol::request::{Channel, Done, RequestClient, ScheduledRequest};

/// A requester and its request.
pub(crate) struct Client {
    requester: Requester,
    request: Arc<Prepared>,
}

impl Client {
    /// One who has no stream yet.
    pub(crate) fn new(pool: &Rc<Pool>, request: &Arc<Prepared>) -> Client {
        Client { requester: Requester::new(pool), request: Arc::clone(request) }
    }
}

impl RequestClient for Client {
    fn channel(&mut self) -> &mut impl Channel {
        &mut self.requester
    }

    async fn make(&mut self, request: ScheduledRequest) -> Option<Done> {
        let core = Rc::clone(self.requester.core());
        let attempt = self.requester.attempt(request, &self.request, &mut Kept::default(), core.timeout).await?;
        let failed = core.ledger.borrow_mut().ended(request.planned, &attempt);
        self.requester.after();
        Some(Done { at: attempt.at, failed })
    }
}
