//! What an origin really did, for who wants to know whether a load generator tells the truth about it.
//!
//! Of each request: when its last byte arrived at the kernel, and when its answer had been handed to the kernel. The first
//! is the kernel's own stamp (SO_TIMESTAMPING, software, at receive: Documentation/networking/timestamping.rst of Linux), so that a
//! request that waits in a socket while the origin is busy or stopped is known to wait. Both are CLOCK_REALTIME, nanoseconds since 1970.

use std::cell::{Cell, RefCell};
use std::io::{self, IoSliceMut, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use nix::sys::socket::sockopt::Timestamping;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, TimestampingFlag, recvmsg, setsockopt};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

/// Most requests kept, 16 bytes each: 64 MB. What comes after is counted.
const MOST: usize = 4_000_000;

/// The account of one origin.
#[derive(Debug)]
pub(super) struct Account {
    path: PathBuf,
    /// Arrived, answered.
    served: RefCell<Vec<(i64, i64)>>,
    /// Requests not kept, because there were too many.
    left_out: Cell<u64>,
    /// Requests without a stamp of the kernel: those of which the arrival is the instant of reading.
    unstamped: Cell<u64>,
    /// When the origin stood still: from, to.
    stalls: RefCell<Vec<(i64, i64)>>,
}

/// When bytes arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrival {
    at: i64,
    stamped: bool,
}

impl Account {
    /// To be written to `path`, which is made now, so that it is known to be possible.
    pub(super) fn new(path: &Path) -> io::Result<Account> {
        std::fs::File::create(path)?;
        Ok(Account {
            path: path.to_owned(),
            served: RefCell::default(),
            left_out: Cell::new(0),
            unstamped: Cell::new(0),
            stalls: RefCell::default(),
        })
    }

    /// A request that arrived then has been answered now.
    pub(super) fn answered(&self, arrival: Arrival) {
        self.unstamped.set(self.unstamped.get() + u64::from(!arrival.stamped));
        let mut served = self.served.borrow_mut();
        if served.len() < MOST { served.push((arrival.at, now())) } else { self.left_out.set(self.left_out.get() + 1) }
    }

    /// The origin stood still.
    pub(super) fn stalled(&self, from: i64, to: i64) {
        self.stalls.borrow_mut().push((from, to));
    }

    /// Writes the account: a line of JSON (`{"left_out":0,"unstamped":0,"stalls":[[from,to]]}`), then a line a request in order
    /// of their answers, `arrived answered`.
    pub(super) fn write(&self) -> io::Result<()> {
        let mut out = io::BufWriter::new(std::fs::File::create(&self.path)?);
        let head = serde_json::json!({
            "left_out": self.left_out.get(), "unstamped": self.unstamped.get(), "stalls": *self.stalls.borrow(),
        });
        writeln!(out, "{head}")?;
        for (arrived, answered) in self.served.borrow().iter() {
            writeln!(out, "{arrived} {answered}")?;
        }
        out.flush()
    }
}

/// Asks the kernel for stamps on a connection, or on every one that a listener takes from now on: they inherit it.
pub(super) fn stamp(socket: &impl AsFd) -> io::Result<()> {
    let flags = TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE;
    Ok(setsockopt(socket, Timestamping, &flags)?)
}

/// Reads once, with the kernel's stamp of the last byte.
pub(super) fn receive(socket: &impl AsRawFd, buffer: &mut [u8]) -> io::Result<(usize, Arrival)> {
    let mut control = nix::cmsg_space!([TimeSpec; 3]);
    let mut slices = [IoSliceMut::new(buffer)];
    let got = recvmsg::<()>(socket.as_raw_fd(), &mut slices, Some(&mut control), MsgFlags::empty())?;
    let stamp = got.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampsns(stamps) => Some(nanos(stamps.system)).filter(|at| *at > 0),
        _ => None,
    });
    Ok((got.bytes, Arrival { at: stamp.unwrap_or_else(now), stamped: stamp.is_some() }))
}

/// CLOCK_REALTIME, which is the clock of the kernel's stamps.
pub(super) fn now() -> i64 {
    clock_gettime(ClockId::CLOCK_REALTIME).map_or(0, nanos)
}

fn nanos(time: TimeSpec) -> i64 {
    time.tv_sec() * 1_000_000_000 + time.tv_nsec()
}
