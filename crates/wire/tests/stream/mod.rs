//! A connection that is short, pending or broken on command, and calls that are given up midway. Nothing waits and nothing
//! depends on time: who uses it polls by hand, so that every outcome can be had again.
#![allow(dead_code, reason = "each test uses its part")]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use proptest::prelude::*;

/// What the next call on a side of the connection comes to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// So many bytes at most.
    Bytes(usize),
    /// Not now.
    Pending,
}

/// How a connection ends before its time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Break {
    /// Whether on the way to the client.
    pub(crate) to_client: bool,
    /// After so many bytes on this way.
    pub(crate) after: usize,
    /// By a reset; otherwise this way is closed.
    pub(crate) reset: bool,
}

/// All that can happen to a connection.
#[derive(Clone, Debug)]
pub(crate) struct Fortune {
    client: Vec<Step>,
    server: Vec<Step>,
    /// Bytes that fit on the way.
    room: usize,
    /// Polls after which a call is given up, in turn.
    patience: Vec<usize>,
    pub(crate) ends: Option<Break>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => (1usize..4).prop_map(Step::Bytes),
        1 => (1usize..3000).prop_map(Step::Bytes),
        2 => Just(Step::Pending),
    ];
    // The last one lets it go on.
    (proptest::collection::vec(step, 0..12), 1usize..2000).prop_map(|(mut steps, bytes)| {
        steps.push(Step::Bytes(bytes));
        steps
    })
}

/// Anything; `ends` says whether the connection may break.
pub(crate) fn fortune(ends: bool) -> impl Strategy<Value = Fortune> {
    let ends = (any::<bool>(), 0usize..4000, any::<bool>())
        .prop_map(move |(to_client, after, reset)| ends.then_some(Break { to_client, after, reset }));
    let patience = proptest::collection::vec(1usize..6, 1..6);
    (steps(), steps(), prop_oneof![1usize..50, 50usize..5000], patience, ends)
        .prop_map(|(client, server, room, patience, ends)| Fortune { client, server, room, patience, ends })
}

/// One way.
struct Way {
    bytes: RefCell<VecDeque<u8>>,
    room: usize,
    passed: Cell<usize>,
    ends: Option<Break>,
    closed: Cell<bool>,
    /// Nobody reads any more.
    deaf: Cell<bool>,
}

/// One side of a connection.
pub(crate) struct Side {
    incoming: Rc<Way>,
    outgoing: Rc<Way>,
    steps: Vec<Step>,
    /// Reads and writes so far: each goes through the steps by itself, so that neither always meets the same ones.
    reads: Cell<usize>,
    writes: Cell<usize>,
    broken: Rc<Cell<bool>>,
}

/// Both sides of a connection: the client's, the server's.
pub(crate) fn pair(fortune: &Fortune) -> (Side, Side) {
    let way = |to_client| {
        let ends = fortune.ends.filter(|ends| ends.to_client == to_client);
        let (bytes, passed) = (RefCell::default(), Cell::new(0));
        Rc::new(Way { bytes, room: fortune.room, passed, ends, closed: Cell::new(false), deaf: Cell::new(false) })
    };
    let (there, back, broken) = (way(false), way(true), Rc::new(Cell::new(false)));
    let side = |incoming: &Rc<Way>, outgoing: &Rc<Way>, steps: &Vec<Step>| Side {
        incoming: Rc::clone(incoming),
        outgoing: Rc::clone(outgoing),
        steps: steps.clone(),
        reads: Cell::new(0),
        writes: Cell::new(0),
        broken: Rc::clone(&broken),
    };
    (side(&back, &there, &fortune.client), side(&there, &back, &fortune.server))
}

impl Side {
    fn step(&self, count: &Cell<usize>) -> Poll<usize> {
        let at = count.replace(count.get() + 1);
        match self.steps[at % self.steps.len()] {
            Step::Bytes(n) => Poll::Ready(n),
            Step::Pending => Poll::Pending,
        }
    }

    /// Reads some bytes; none when the peer has closed. What had arrived before a reset can still be read.
    pub(crate) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        poll_fn(|_| {
            let Poll::Ready(most) = self.step(&self.reads) else { return Poll::Pending };
            let mut bytes = self.incoming.bytes.borrow_mut();
            let n = most.min(buffer.len()).min(bytes.len());
            if n > 0 {
                bytes.drain(..n).zip(buffer.iter_mut()).for_each(|(byte, place)| *place = byte);
                return Poll::Ready(Ok(n));
            }
            match (self.broken.get(), self.incoming.closed.get()) {
                (true, _) => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
                (_, true) => Poll::Ready(Ok(0)),
                _ => Poll::Pending,
            }
        })
        .await
    }

    /// Writes some of `bytes`, of which there are some.
    pub(crate) async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        poll_fn(|_| {
            let Poll::Ready(most) = self.step(&self.writes) else { return Poll::Pending };
            let (way, mut on_the_way) = (&self.outgoing, self.outgoing.bytes.borrow_mut());
            if self.broken.get() || way.closed.get() || way.deaf.get() {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            let left = way.ends.map_or(usize::MAX, |ends| ends.after - way.passed.get());
            let n = most.min(bytes.len()).min(way.room - on_the_way.len().min(way.room)).min(left);
            on_the_way.extend(&bytes[..n]);
            way.passed.set(way.passed.get() + n);
            if n == left {
                let reset = way.ends.is_some_and(|ends| ends.reset);
                if reset { self.broken.set(true) } else { way.closed.set(true) }
            }
            if n > 0 { Poll::Ready(Ok(n)) } else { Poll::Pending }
        })
        .await
    }

    /// Reads some bytes, or writes some of `bytes`: how many, of which one is none unless the peer has closed.
    pub(crate) async fn read_or_write(&self, buffer: &mut [u8], bytes: &[u8]) -> io::Result<(usize, usize)> {
        let (mut read, mut write) = (pin!(self.read(buffer)), pin!(self.write(bytes)));
        poll_fn(|cx| match read.as_mut().poll(cx) {
            Poll::Ready(read) => Poll::Ready(read.map(|n| (n, 0))),
            Poll::Pending => write.as_mut().poll(cx).map(|written| written.map(|n| (0, n))),
        })
        .await
    }

    /// Closes: nothing more will come, and what the peer still sends will not arrive.
    pub(crate) fn close(&self) {
        self.outgoing.closed.set(true);
        self.incoming.deaf.set(true);
    }
}

/// Polls `future` so often, then gives it up.
fn attempt<T>(future: impl Future<Output = T>, polls: usize) -> Option<T> {
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    (0..polls).find_map(|_| match future.as_mut().poll(&mut cx) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    })
}

/// Lets two sides act in turn until both are done: `act` makes a call of the client (true) or of the server that is given up at
/// any moment and made again, and says whether that side has finished.
///
/// # Panics
/// When they get nowhere.
pub(crate) fn converse<S: Actor, T: Actor>(fortune: &Fortune, client: &mut S, server: &mut T) {
    let (mut client_done, mut server_done) = (false, false);
    let mut patience = fortune.patience.iter().cycle();
    for _ in 0..500_000 {
        let polls = *patience.next().expect("there is some");
        client_done = client_done || attempt(client.act(), polls).is_some();
        server_done = server_done || attempt(server.act(), polls).is_some();
        if client_done && server_done {
            return;
        }
    }
    panic!("they wait for each other: client done {client_done}, server done {server_done}");
}

/// Who acts on a side of a connection.
pub(crate) trait Actor {
    /// Goes on until its part is over. May be dropped at any moment and called again.
    fn act(&mut self) -> impl Future<Output = ()>;
}
