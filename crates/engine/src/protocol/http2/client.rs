//! Who makes the load's request over and over: a closed user, or a worker of the open model.

use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use super::exchange::Kept;
use super::fleet::Fleet;
use super::plan::Prepared;
use super::rider::Rider;
use crate::clock::Moment;
use crate::protocol::core::Core;
use crate::protocol::request::{Done, RequestClient, ScheduledRequest};
use crate::transport::deadline::Slot;

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
    fn core(&self) -> &Rc<Core> {
        self.rider.core()
    }

    fn slot(&self) -> &Rc<Slot> {
        self.rider.slot()
    }

    fn is_open(&self) -> bool {
        self.rider.is_open()
    }

    async fn make(&mut self, request: ScheduledRequest) -> Option<Done> {
        let core = Rc::clone(self.core());
        let attempt = self.rider.attempt(request, &self.request, &mut Kept::default(), core.timeout).await?;
        let failed = core.ledger.borrow_mut().ended(request.planned, &attempt);
        self.rider.after();
        Some(Done { at: attempt.at, failed })
    }

    async fn rest(&mut self, at: Moment) {
        self.core().alarm.until(at).await;
    }

    async fn await_hand_over(&mut self) -> Option<Moment> {
        let slot = self.rider.slot();
        poll_fn(|cx| {
            if let Some(planned) = slot.handed.take() {
                return Poll::Ready(Some(planned));
            }
            slot.attend(cx.waker());
            Poll::Pending
        })
        .await
    }
}
