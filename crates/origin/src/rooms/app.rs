//! The application of the server comparison, spoken by all its servers (apps/README.md): a client of `/app` says what is to
//! be done in a line of text.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use genkai_wire::websocket::Kind;
use nix::time::{ClockId, clock_gettime};

use super::outgoing::encoded;

/// The room of all who are connected to the application; no name of a chat room begins with a slash.
pub(super) const ROOM: &str = "/app";
/// Largest message that is sent, bytes.
const LARGEST: usize = 64 << 20;

/// Delays of messages between their senders and the server, and what was given last.
#[derive(Debug, Default)]
pub(super) struct App {
    count: Cell<u64>,
    sum: Cell<u64>,
    longest: Cell<u64>,
    /// Kept so that making it is no part of what is measured.
    given: RefCell<Option<Given>>,
}

/// A message of so many bytes.
#[derive(Debug)]
struct Given {
    kind: Kind,
    size: usize,
    frame: Rc<[u8]>,
}

/// What a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    /// A message of so many bytes for everybody.
    Broadcast(usize),
    /// The message was sent at this instant.
    Stamp(u64),
    /// Counts since they were cleared.
    Report,
    Clear,
    /// One message of this kind and size.
    Give(Kind, usize),
    /// How many bytes the message has.
    Take(usize),
}

/// What is answered.
pub(super) enum Reply {
    /// A text for all who are connected.
    Everybody(Vec<u8>),
    /// Frames for who asked, whatever already waits for it.
    Sender(Vec<Rc<[u8]>>),
}

/// None for what is no wish.
fn wish(kind: Kind, data: &[u8]) -> Option<Wish> {
    if kind == Kind::Binary || data.starts_with(b"take ") {
        return Some(Wish::Take(data.len()));
    }
    let size = |word: &str| word.parse().ok().map(|size: usize| size.min(LARGEST));
    let mut words = std::str::from_utf8(data).ok()?.split(' ');
    match words.next()? {
        "broadcast" => words.next().and_then(size).map(Wish::Broadcast),
        "stamp" => words.next()?.parse().ok().map(Wish::Stamp),
        "report" => Some(Wish::Report),
        "clear" => Some(Wish::Clear),
        "give" => {
            let kind = if words.next()? == "binary" { Kind::Binary } else { Kind::Text };
            words.next().and_then(size).map(|size| Wish::Give(kind, size))
        }
        _ => None,
    }
}

impl App {
    /// What a message says is to be done.
    pub(super) fn reply(&self, kind: Kind, data: &[u8]) -> Reply {
        let now = monotonic();
        let frame = |text: String| encoded(Kind::Text, text.as_bytes());
        let text = |text: String| Reply::Sender(vec![frame(text)]);
        match wish(kind, data) {
            Some(Wish::Stamp(sent)) => {
                self.count(now.saturating_sub(sent));
                Reply::Sender(Vec::new())
            }
            Some(Wish::Broadcast(size)) => {
                let head = format!("broadcast {} ", monotonic());
                let mut text = vec![b'.'; size.max(head.len())];
                text[..head.len()].copy_from_slice(head.as_bytes());
                Reply::Everybody(text)
            }
            Some(Wish::Give(kind, size)) => {
                let payload = self.payload(kind, size);
                Reply::Sender(vec![frame(format!("giving {}", monotonic())), payload])
            }
            Some(Wish::Report) => {
                text(format!("report {} {} {} 0", self.count.get(), self.sum.get(), self.longest.get()))
            }
            Some(Wish::Clear) => {
                [&self.count, &self.sum, &self.longest].into_iter().for_each(|cell| cell.set(0));
                text("cleared".to_owned())
            }
            Some(Wish::Take(size)) => text(format!("took {size}")),
            None => text("what?".to_owned()),
        }
    }

    fn count(&self, delay: u64) {
        self.count.set(self.count.get() + 1);
        self.sum.set(self.sum.get() + delay);
        self.longest.set(self.longest.get().max(delay));
    }

    fn payload(&self, kind: Kind, size: usize) -> Rc<[u8]> {
        let mut given = self.given.borrow_mut();
        match &*given {
            Some(last) if (last.kind, last.size) == (kind, size) => Rc::clone(&last.frame),
            _ => {
                let frame = encoded(kind, &vec![b'.'; size]);
                *given = Some(Given { kind, size, frame: Rc::clone(&frame) });
                frame
            }
        }
    }
}

/// The machine's monotonic clock, ns.
fn monotonic() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |now| Duration::from(now).as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes() {
        let text = |words: &str| wish(Kind::Text, words.as_bytes());
        assert_eq!(text("broadcast 64"), Some(Wish::Broadcast(64)));
        assert_eq!(text("broadcast 99999999999"), Some(Wish::Broadcast(LARGEST)));
        assert_eq!(text("stamp 123456789012345 ......."), Some(Wish::Stamp(123_456_789_012_345)));
        assert_eq!((text("report"), text("clear")), (Some(Wish::Report), Some(Wish::Clear)));
        assert_eq!(text("give binary 1000"), Some(Wish::Give(Kind::Binary, 1000)));
        assert_eq!(text("give text 1000"), Some(Wish::Give(Kind::Text, 1000)));
        assert_eq!(text("take ....."), Some(Wish::Take(10)));
        assert_eq!(wish(Kind::Binary, b"report"), Some(Wish::Take(6)));
        for nonsense in ["", "give", "give text", "give text -1", "stamp", "stamp x", "broadcast", "hello"] {
            assert_eq!(text(nonsense), None, "{nonsense}");
        }
    }
}
