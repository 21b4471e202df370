//! Rooms shared with other nodes, as a node sees it: messages go out, members enter and leave rooms whose messages come back.

use genkai_wire::websocket::Kind;
use tokio::sync::mpsc::{Receiver, Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel};
use tokio::sync::oneshot;

/// Messages that may wait to be published.
const WAITING: usize = 16 * 1024;

/// The way to the other nodes.
pub(super) struct Backplane {
    outbox: Sender<Outward>,
    wishes: UnboundedSender<Wish>,
}

/// A message on its way to them.
pub(super) struct Outward {
    pub(super) room: String,
    pub(super) payload: Vec<u8>,
    pub(super) place: Option<u64>,
}

/// Whose messages are wanted.
pub(super) enum Wish {
    /// Somebody enters a room; told when its messages will be heard.
    Enter(String, oneshot::Sender<()>),
    /// Somebody has left.
    Leave(String),
}

impl Backplane {
    /// One, and where its messages and wishes arrive.
    pub(super) fn new() -> (Backplane, Receiver<Outward>, UnboundedReceiver<Wish>) {
        let (outbox, outward) = channel(WAITING);
        let (wishes, wished) = unbounded_channel();
        (Backplane { outbox, wishes }, outward, wished)
    }

    /// Publishes a message; false when too many wait.
    pub(super) fn publish(&self, room: &str, kind: Kind, data: &[u8], place: Option<u64>) -> bool {
        let mut payload = Vec::with_capacity(data.len() + 1);
        payload.push(if kind == Kind::Text { b't' } else { b'b' });
        payload.extend_from_slice(data);
        self.outbox.try_send(Outward { room: room.to_owned(), payload, place }).is_ok()
    }

    /// Returns when messages of `room` will be heard. To be answered by one [`leave`](Self::leave).
    pub(super) async fn enter(&self, room: &str) {
        let (done, heard) = oneshot::channel();
        let _ = self.wishes.send(Wish::Enter(room.to_owned(), done));
        // It fails only at the end of everything.
        let _ = heard.await;
    }

    /// Somebody who entered is gone.
    pub(super) fn leave(&self, room: &str) {
        let _ = self.wishes.send(Wish::Leave(room.to_owned()));
    }
}
