//! When the kernel had it: software receive stamps (SO_TIMESTAMPING, Documentation/networking/timestamping.rst of Linux).
//!
//! What a response took ends, for its user, when it has arrived. A generator that shares its core with others, or has many responses to look at,
//! reads it later, and would count that as the server's time. With stamps it knows how long a response lay in the socket.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd};

use nix::sys::socket::sockopt::Timestamping;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, TimestampingFlag, cmsg_space, recvmsg, setsockopt};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

use crate::clock::Moment;

/// Asks for stamps on a socket. What the kernel does not give is not counted.
pub(crate) fn ask(socket: &impl AsFd) -> io::Result<()> {
    let flags = TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE;
    Ok(setsockopt(socket, Timestamping, &flags)?)
}

/// Room for one message with three stamps (`struct scm_timestamping64`), aligned as the kernel's headers are (cmsg(3)). On the stack:
/// [`nix::cmsg_space!`] takes it from the heap, for every read.
#[repr(C, align(8))]
struct Control([u8; cmsg_space::<[TimeSpec; 3]>()]);

/// Reads once: bytes, and how long the last of them had been there, where the kernel says so.
pub(crate) fn receive(socket: &impl AsRawFd, buffer: &mut [u8]) -> io::Result<(usize, Option<Moment>)> {
    let mut control = Control([0; cmsg_space::<[TimeSpec; 3]>()]);
    let mut slices = [IoSliceMut::new(buffer)];
    let got = recvmsg::<()>(socket.as_raw_fd(), &mut slices, Some(&mut control.0), MsgFlags::empty())?;
    let stamp = got.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampsns(stamps) => Some(nanos(stamps.system)).filter(|at| *at > 0),
        _ => None,
    });
    let waited = stamp.map(|stamp| now().saturating_sub(stamp).max(0) as Moment);
    Ok((got.bytes, waited))
}

/// CLOCK_REALTIME, which is the clock of the stamps.
fn now() -> i64 {
    clock_gettime(ClockId::CLOCK_REALTIME).map_or(0, nanos)
}

fn nanos(time: TimeSpec) -> i64 {
    time.tv_sec() * 1_000_000_000 + time.tv_nsec()
}
