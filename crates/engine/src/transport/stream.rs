//! Bytes to and from a server: a TCP or Unix socket, with TLS or without.
//!
//! Both kinds of socket are read and written by the same calls; TLS is an option beside the socket, so plain connections pay a
//! predictable branch for it and nothing else. Readiness is the socket's in any case.

use std::cell::RefCell;
use std::io::{self, IoSlice, Write};
use std::task::{Context, Poll};

use genkai_model::error::ErrorKind;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::Socket;

use super::reactor::{Guard, Source};
use super::read::ReadOutcome;
use super::stamp;
use super::tls::{self, Step, Tls};

/// An open connection.
pub(crate) struct Stream {
    socket: Source<Socket>,
    tls: Option<Box<RefCell<Tls>>>,
    /// Whether the kernel stamps what arrives.
    stamped: bool,
}

impl Stream {
    /// Without TLS.
    pub(crate) fn plain(socket: Source<Socket>, stamped: bool) -> Stream {
        let stamped = stamped && stamp::ask(socket.get_ref()).is_ok();
        Stream { socket, tls: None, stamped }
    }

    /// With TLS, whose handshake is to be [`secure`](Stream::secure)d.
    pub(crate) fn secured(socket: Source<Socket>, tls: Tls) -> Stream {
        Stream { socket, tls: Some(Box::new(RefCell::new(tls))), stamped: false }
    }

    #[inline]
    pub(crate) fn poll_read_ready(&self, cx: &Context<'_>) -> Poll<Guard<'_>> {
        self.socket.poll_read_ready(cx)
    }

    #[inline]
    pub(crate) fn poll_write_ready(&self, cx: &Context<'_>) -> Poll<Guard<'_>> {
        self.socket.poll_write_ready(cx)
    }

    /// Reads once. [`io::ErrorKind::WouldBlock`] when there is nothing.
    #[inline]
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<ReadOutcome> {
        if let Some(tls) = &self.tls {
            return tls.borrow_mut().read(self.socket.get_ref(), buffer);
        }
        if self.stamped {
            let (bytes, waited) = stamp::receive(self.socket.get_ref(), buffer)?;
            return Ok(ReadOutcome { bytes, emptied: bytes < buffer.len(), waited });
        }
        // By rustix, which makes the system call itself: libc's is a cancellation point of threads and pays for that each time.
        let (bytes, _) = recv(self.socket.get_ref(), &mut *buffer, RecvFlags::empty())?;
        Ok(ReadOutcome { bytes, emptied: bytes < buffer.len(), waited: None })
    }

    /// Writes some of `bytes`. With TLS, bytes count as written when they are encrypted; they have left when the stream
    /// [is flushed](Stream::is_flushed), and writing nothing only sends what is left.
    #[inline]
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match &self.tls {
            None => Ok(send(self.socket.get_ref(), bytes, SendFlags::NOSIGNAL)?),
            Some(tls) => tls.borrow_mut().write(self.socket.get_ref(), bytes),
        }
    }

    /// Writes some of `parts`, together. With TLS, some of the first only.
    pub(crate) fn write_vectored(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match &self.tls {
            None => self.socket.get_ref().write_vectored(parts),
            Some(tls) => {
                let first = parts.iter().find(|part| !part.is_empty()).map_or(&[][..], |part| part);
                tls.borrow_mut().write(self.socket.get_ref(), first)
            }
        }
    }

    /// Whether writing many parts together is one system call.
    pub(crate) fn is_vectored(&self) -> bool {
        self.tls.is_none()
    }

    /// The protocol agreed on by ALPN (RFC 7301), empty when the server chose none; none without TLS.
    pub(crate) fn agreed(&self) -> Option<Vec<u8>> {
        self.tls.as_ref().map(|tls| tls.borrow().agreed())
    }

    /// Whether everything written has been given to the kernel.
    #[inline]
    pub(crate) fn is_flushed(&self) -> bool {
        self.tls.as_ref().is_none_or(|tls| tls.borrow().is_flushed())
    }

    /// Goes on with the TLS handshake; ready when it is done, with whether a session was resumed.
    pub(crate) fn poll_secure(&self, cx: &Context<'_>) -> Poll<Result<bool, ErrorKind>> {
        let Some(tls) = &self.tls else { return Poll::Ready(Ok(false)) };
        let mut tls = tls.borrow_mut();
        loop {
            let step = tls.advance(self.socket.get_ref());
            let ready = match step {
                Ok(Step::Done { resumed }) => return Poll::Ready(Ok(resumed)),
                Ok(Step::Read) => self.socket.poll_read_ready(cx),
                Ok(Step::Write) => self.socket.poll_write_ready(cx),
                Err(e) => return Poll::Ready(Err(tls::fault(&e).unwrap_or(ErrorKind::TlsClosed))),
            };
            // Nothing was there: what readiness was known of is used up.
            match ready {
                Poll::Ready(mut guard) => {
                    if tls.take_blocked() {
                        guard.clear_ready();
                    }
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Says that nothing more will be sent, as far as that is possible without waiting (TLS: close_notify, RFC 8446 section
    /// 6.1).
    pub(crate) fn close_notify(&self) {
        if let Some(tls) = &self.tls {
            tls.borrow_mut().close_notify(self.socket.get_ref());
        }
    }
}
