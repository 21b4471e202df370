//! Who makes the load's request over and over, on a connection of its own.

use std::rc::Rc;

use super::message::Message;
use crate::clock::Moment;
use crate::protocol::connection::Connection;
use crate::protocol::core::Core;
use crate::protocol::request::{Done, RequestClient, ScheduledRequest};
use crate::transport::deadline::Slot;

/// A connection and its request.
pub(crate) struct Client {
    connection: Connection,
    message: Rc<Message>,
}

impl Client {
    /// One whose connection is not open yet.
    pub(crate) fn new(core: &Rc<Core>, message: &Rc<Message>) -> Client {
        Client { connection: Connection::new(Rc::clone(core)), message: Rc::clone(message) }
    }
}

impl RequestClient for Client {
    fn core(&self) -> &Rc<Core> {
        self.connection.core()
    }

    fn slot(&self) -> &Rc<Slot> {
        self.connection.slot()
    }

    fn is_open(&self) -> bool {
        self.connection.is_open()
    }

    async fn make(&mut self, request: ScheduledRequest) -> Option<Done> {
        let core = Rc::clone(self.core());
        let mut reader = self.message.reader();
        let attempt = self.connection.attempt(request, &self.message, &mut reader, core.timeout).await;
        let failed = core.ledger.borrow_mut().ended(request.planned, &attempt);
        let at = self.connection.after(&attempt).await;
        self.connection.keep_fresh(attempt.now);
        Some(Done { at, failed })
    }

    async fn rest(&mut self, at: Moment) {
        self.connection.rest(at).await;
    }

    async fn await_hand_over(&mut self) -> Option<Moment> {
        self.connection.await_hand_over().await
    }
}
