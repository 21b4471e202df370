//! What the tasks of one thread share: clock, timers, counters, buffers, the end of the load.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

use genkai_model::error::ErrorKind;
use genkai_model::load::{Load, Reuse};
use genkai_wire::http1::Memo;
use genkai_wire::websocket::Scratch;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::clock::{Clock, Moment};
use crate::hold::{Hold, Pauses};
use crate::measure::ledger::Ledger;
use crate::transport::alarm::Alarm;
use crate::transport::deadline::Deadlines;
use crate::transport::dial::Sources;
use crate::transport::endpoint::{Endpoint, Route};

/// Bytes read at once. One buffer serves all connections of a thread: it is filled and used between two waits.
const BUFFER: usize = 64 * 1024;

/// Everything the tasks of one thread share.
pub(crate) struct Core {
    pub(crate) clock: Clock,
    pub(crate) alarm: Rc<Alarm>,
    pub(crate) deadlines: Rc<Deadlines>,
    /// Whether the load is held, and was.
    hold: Hold,
    pauses: RefCell<(u32, Pauses)>,
    pub(crate) ledger: RefCell<Ledger>,
    pub(crate) buffer: RefCell<Box<[u8]>>,
    /// The last response head.
    pub(crate) heads: RefCell<Memo>,
    /// Whether the kernel is asked when bytes arrived.
    pub(crate) stamps: bool,
    pub(crate) reuse: Reuse,
    /// Whether the server keeps a connection open that was to be closed, without a word of it.
    pub(crate) stays_open: Cell<bool>,
    /// Whether a request is made again that met the end of a kept connection.
    pub(crate) retry: bool,
    /// Deadline of connecting, and of a response from its request's first byte.
    pub(crate) timeout: Moment,
    /// How long what was asked may be without an answer before that counts ([`Load::patience`]).
    pub(crate) patience: Moment,
    /// Where the load's connections go.
    pub(crate) endpoint: Rc<Endpoint>,
    /// Where connections come from.
    pub(crate) sources: Sources,
    pub(crate) seed: u64,
    /// Whether the load is over and connections are being closed.
    ending: Cell<bool>,
    /// Until when echoes of what was sent are waited for, once the load is over.
    drained: Cell<Moment>,
    /// Connections that wait for such echoes.
    draining: Cell<usize>,
    /// Open connections that end by a closing handshake: WebSocket, HTTP/2.
    sessions: Cell<usize>,
    /// What WebSocket codecs share.
    pub(crate) scratch: RefCell<Scratch>,
    /// Where frames are encoded.
    pub(crate) out: RefCell<Vec<u8>>,
    /// The next message.
    pub(crate) payload: RefCell<Vec<u8>>,
    random: RefCell<Pcg64Mcg>,
}

impl Core {
    /// For the thread of this number, which makes `load` along `route`. Must be called within the thread's event loop.
    pub(crate) fn new(
        load: &Load,
        thread: u32,
        route: &Route,
        ledger: Ledger,
        (clock, hold): (Clock, Hold),
    ) -> io::Result<Rc<Core>> {
        let deadlines = Rc::new(Deadlines::default());
        let ledger = ledger.watching(Rc::clone(&deadlines), load.patience().0);
        Ok(Rc::new(Core {
            clock,
            alarm: Rc::new(Alarm::new(clock)?),
            deadlines,
            hold,
            pauses: RefCell::default(),
            ledger: RefCell::new(ledger),
            buffer: RefCell::new(vec![0; BUFFER].into_boxed_slice()),
            heads: RefCell::default(),
            stamps: load.kernel_timestamps,
            reuse: load.reuse,
            stays_open: Cell::new(false),
            retry: load.retry,
            timeout: load.timeout.0,
            patience: load.patience().0,
            endpoint: Rc::new(Endpoint::new(route, thread as usize)),
            sources: Sources::new(route.sources.clone(), thread as usize),
            seed: load.seed,
            ending: Cell::new(false),
            drained: Cell::new(0),
            draining: Cell::new(0),
            sessions: Cell::new(0),
            scratch: RefCell::default(),
            out: RefCell::default(),
            payload: RefCell::default(),
            random: RefCell::new(Pcg64Mcg::seed_from_u64(load.seed ^ u64::from(thread) << 40)),
        }))
    }

    /// Follows the wish to hold the load; gives when its end is due where that has changed.
    pub(crate) fn look_at_hold(&self, end: Moment) -> Option<Moment> {
        let version = self.hold.version();
        let mut known = self.pauses.borrow_mut();
        (known.0 != version).then(|| {
            *known = (version, self.hold.pauses());
            known.1.due(end)
        })
    }

    /// When what is planned for `planned` is due, as far as is known.
    pub(crate) fn due(&self, planned: Moment) -> Moment {
        self.pauses.borrow().1.due(planned)
    }

    /// A masking key (RFC 6455 section 5.3).
    #[inline]
    pub(crate) fn random_key(&self) -> u32 {
        self.random.borrow_mut().random()
    }

    /// A nonce (RFC 6455 section 4.1, item 7).
    pub(crate) fn random_bytes(&self) -> [u8; 16] {
        self.random.borrow_mut().random()
    }

    /// Whether the load is over and connections are being closed.
    #[inline]
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.get()
    }

    /// The load is over: whoever waits is woken to close its connection; before, echoes that are on their way may come for `grace`.
    pub(crate) fn end(&self, grace: Moment) {
        let now = self.clock.now();
        self.ledger.borrow_mut().end(now);
        self.drained.set(now.saturating_add(grace));
        self.ending.set(true);
        self.deadlines.wake_all();
    }

    /// Until when a connection that is to be closed may wait for echoes.
    pub(crate) fn drains_until(&self) -> Moment {
        if self.is_ending() { self.drained.get() } else { self.clock.now().saturating_add(self.patience) }
    }

    /// Connections that wait for echoes before they are closed.
    pub(crate) fn draining(&self) -> usize {
        self.draining.get()
    }

    /// A connection began to wait for echoes before it is closed (1), or waits no more (-1).
    pub(crate) fn count_draining(&self, by: isize) {
        self.draining.set(self.draining.get().saturating_add_signed(by));
    }

    /// Open connections that end by a closing handshake.
    pub(crate) fn sessions(&self) -> usize {
        self.sessions.get()
    }

    /// A connection was opened that ends by a closing handshake (1), or has ended (-1): WebSocket, HTTP/2.
    pub(crate) fn count_session(&self, by: isize) {
        self.sessions.set(self.sessions.get().saturating_add_signed(by));
    }

    /// Takes up a request, if there may be another.
    #[inline]
    pub(crate) fn claim(&self) -> bool {
        self.ledger.borrow_mut().claim(self.clock.now())
    }

    /// Takes up a user's next request at `now`, if there may be another; `paced` is whether the user waited for it because the last one failed.
    #[inline]
    pub(crate) fn claim_after(&self, now: Moment, paced: bool) -> bool {
        let mut ledger = self.ledger.borrow_mut();
        let claimed = ledger.claim(now);
        if claimed && paced {
            ledger.paced(now);
        }
        claimed
    }

    /// A request that was taken up has not been sent, for want of room to wait.
    pub(crate) fn dropped(&self, planned: Moment) {
        self.ledger.borrow_mut().failed(self.clock.now(), planned, ErrorKind::Dropped);
    }
}
