//! A connection's socket, as h2 wants to see it.
//!
//! h2 reads some thousand bytes at a time. Here each read fills the buffer of the thread, and h2 gets its portions from there:
//! one system call for the responses of many streams.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::fault::{self, Cut};
use super::pool::Pool;
use super::shared::SharedConnection;
use crate::protocol::connection::Connection;
use crate::transport::read::ReadOutcome;
use crate::transport::stream::Stream;

/// The first bytes of an answer in HTTP/1.
const HTTP1: &[u8] = b"HTTP/1.";

/// The socket of an open connection.
pub(super) struct View {
    connection: Rc<Connection>,
    shared: Rc<SharedConnection>,
    pool: Rc<Pool>,
}

impl View {
    /// `connection` must be open.
    pub(super) fn new(connection: Rc<Connection>, shared: Rc<SharedConnection>, pool: Rc<Pool>) -> View {
        View { connection, shared, pool }
    }

    fn stream(&self) -> io::Result<&Stream> {
        self.connection.stream.as_ref().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Fills the thread's buffer. None: the end of the stream.
    fn poll_fill(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let (stream, core) = (self.stream()?, &self.connection.core);
        loop {
            let mut guard = ready!(stream.poll_read_ready(cx));
            let mut buffer = core.buffer.borrow_mut();
            match stream.read(&mut buffer) {
                Ok(ReadOutcome { bytes: 0, .. }) => {
                    self.shared.was_cut(Cut::Eof);
                    return Poll::Ready(Ok(()));
                }
                Ok(ReadOutcome { bytes, emptied, waited }) => {
                    if emptied {
                        guard.clear_ready();
                    }
                    if self.shared.is_new() {
                        self.look_for_http1(&buffer[..bytes]);
                    }
                    let now = core.clock.now();
                    let mut ledger = core.ledger.borrow_mut();
                    ledger.read(bytes);
                    if let Some(waited) = waited {
                        ledger.received(now, waited);
                    }
                    self.shared.fetched(now.saturating_sub(waited.unwrap_or(0)), bytes);
                    return Poll::Ready(Ok(()));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => guard.clear_ready(),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    self.shared.was_cut(fault::cut(&e));
                    return Poll::Ready(Err(e));
                }
            }
        }
    }

    /// Writes by `write` when there is room.
    fn poll_put(
        &self,
        cx: &mut Context<'_>,
        mut write: impl FnMut(&Stream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        let stream = self.stream()?;
        loop {
            let mut guard = ready!(stream.poll_write_ready(cx));
            match write(stream) {
                Ok(n) => {
                    self.connection.core.ledger.borrow_mut().wrote(n);
                    return Poll::Ready(Ok(n));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => guard.clear_ready(),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    self.last_words(stream);
                    self.shared.was_cut(fault::cut(&e));
                    return Poll::Ready(Err(e));
                }
            }
        }
    }

    /// The connection broke under what was to be written. A server that does not speak HTTP/2 may have said so before.
    fn last_words(&self, stream: &Stream) {
        let mut buffer = self.connection.core.buffer.borrow_mut();
        if self.shared.is_new()
            && let Ok(ReadOutcome { bytes, .. }) = stream.read(&mut buffer)
        {
            self.look_for_http1(&buffer[..bytes]);
        }
    }

    /// Notes an answer in HTTP/1, which nothing else begins like.
    fn look_for_http1(&self, first: &[u8]) {
        if first.starts_with(HTTP1) {
            self.shared.was_cut(Cut::Http1);
            self.pool.instead.replace("it answered in HTTP/1".to_owned());
        }
    }
}

impl AsyncRead for View {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.shared.serve(&self.connection.core, out) {
            ready!(self.poll_fill(cx))?;
            self.shared.serve(&self.connection.core, out);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for View {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_put(cx, |stream| stream.write(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_put(cx, |stream| stream.write_vectored(parts))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream().is_ok_and(Stream::is_vectored)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.stream()?.is_flushed() {
            ready!(self.poll_put(cx, |stream| stream.write(&[])))?;
        }
        Poll::Ready(Ok(()))
    }

    /// The socket itself is closed by its connection.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}
