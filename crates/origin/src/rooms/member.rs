//! A member of a room: its queue and its socket.

use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::rc::Rc;

use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::counters::Counters;
use super::outgoing::{BATCH, Content, Frame, Outgoing};
use super::trace::{Trace, Why};

/// Who is told of deliveries.
pub(super) struct Books<'a> {
    pub(super) counters: &'a Counters,
    pub(super) trace: &'a RefCell<Trace>,
}

/// How a member stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It gets what is sent.
    Present,
    /// It was too slow: what waits is lost, a close frame is on its way.
    Slow,
    /// Its socket has failed.
    Gone,
}

/// One connection in a room.
pub(super) struct Member {
    /// Who the client says it is.
    pub(super) number: Option<u32>,
    pub(super) stream: TcpStream,
    outgoing: RefCell<Outgoing>,
    standing: Cell<Standing>,
    /// Whether it is on the list of those to be flushed.
    dirty: Cell<bool>,
    /// Told when the socket takes no more, or the standing changes: from then on the connection's own task writes.
    pub(super) changed: Notify,
    /// Its place in the room.
    pub(super) seat: Cell<usize>,
}

impl Member {
    pub(super) fn new(stream: TcpStream, number: Option<u32>, queue: usize) -> Member {
        Member {
            number,
            stream,
            outgoing: RefCell::new(Outgoing::new(queue)),
            standing: Cell::new(Standing::Present),
            dirty: Cell::new(false),
            changed: Notify::new(),
            seat: Cell::new(usize::MAX),
        }
    }

    pub(super) fn standing(&self) -> Standing {
        self.standing.get()
    }

    /// Whether something waits to be written.
    pub(super) fn waits(&self) -> bool {
        !self.outgoing.borrow().is_empty()
    }

    /// Whether it must be put on the list of those to be flushed: not when it is there, or its task writes already.
    pub(super) fn must_be_listed(&self) -> bool {
        !self.dirty.replace(true)
    }

    /// Queues a message. False when there is no room: then the member is too slow.
    pub(super) fn offer(&self, frame: &Frame) -> bool {
        self.outgoing.borrow_mut().push(frame)
    }

    /// Queues a frame that is no delivery.
    pub(super) fn control(&self, bytes: impl Into<Rc<[u8]>>) {
        self.outgoing.borrow_mut().push_control(bytes.into());
    }

    /// Disconnects it for being slow: what waits is lost, `close` is the last it will get.
    pub(super) fn give_up(&self, close: Vec<u8>, books: &Books<'_>) {
        self.standing.set(Standing::Slow);
        books.counters.slow.add(1);
        let mut outgoing = self.outgoing.borrow_mut();
        outgoing.give_up(|frame| books.dropped(&frame, self.number, Why::Slow));
        outgoing.push_control(close.into());
        self.changed.notify_one();
    }

    /// Writes what waits, as far as the socket takes it. Whether all is written.
    ///
    /// # Errors
    /// When the socket has failed.
    pub(super) fn write(&self, books: &Books<'_>) -> io::Result<bool> {
        self.dirty.set(false);
        loop {
            let mut outgoing = self.outgoing.borrow_mut();
            if outgoing.is_empty() {
                return Ok(true);
            }
            let mut slices = [IoSlice::new(&[]); BATCH];
            let filled = outgoing.next(&mut slices);
            match self.stream.try_write_vectored(&slices[..filled]) {
                Ok(n) => outgoing.wrote(n, |frame| books.written(&frame)),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    // Stays marked: the connection's task waits for the socket and writes the rest.
                    self.dirty.set(true);
                    return Ok(false);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// The socket has failed.
    pub(super) fn fail(&self) {
        self.standing.set(Standing::Gone);
        self.changed.notify_one();
    }

    /// The connection has ended: what waits is lost.
    pub(super) fn end(&self, books: &Books<'_>) {
        let why = if self.standing.get() == Standing::Slow { Why::Slow } else { Why::Gone };
        self.outgoing.borrow_mut().end(|frame| books.dropped(&frame, self.number, why));
    }
}

impl Books<'_> {
    fn written(&self, frame: &Frame) {
        if let Content::Delivery(place) = frame.content {
            self.counters.written.add(1);
            if place.is_some() {
                self.trace.borrow_mut().written(place);
            }
        }
    }

    pub(super) fn dropped(&self, frame: &Frame, member: Option<u32>, why: Why) {
        if let Content::Delivery(place) = frame.content {
            let count = if why == Why::Slow { &self.counters.dropped_slow } else { &self.counters.dropped_gone };
            count.add(1);
            self.trace.borrow_mut().dropped(place, member, why);
        }
    }
}
