//! Who makes the load's request over and over, on a connection of its own.

use std::rc::Rc;

use super::message::Message;
use crate::protocol::connection::Connection;
use crate::protocol::core::Core;
use crate::protocol::request::{Channel, Done, RequestClient, ScheduledRequest};

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
    fn channel(&mut self) -> &mut impl Channel {
        &mut self.connection
    }

    async fn make(&mut self, request: ScheduledRequest) -> Option<Done> {
        let Client { connection, message } = self;
        let core = Rc::clone(connection.core());
        let attempt = connection.attempt(request, message, &mut message.reader(), core.timeout).await;
        let failed = core.ledger.borrow_mut().ended(request.planned, &attempt);
        let at = connection.after(&attempt).await;
        connection.keep_fresh(attempt.now);
        Some(Done { at, failed })
    }
}
