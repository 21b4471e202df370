//! One request and its response on a stream.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use genkai_model::error::ErrorKind;
use h2::client::ResponseFuture;
use h2::{RecvStream, SendStream};
use http::HeaderMap;

use super::fault;
use super::plan::Prepared;
use super::shared::SharedConnection;
use crate::clock::Moment;

/// Most of a body that h2 is given at once, octets.
const PART: usize = 256 * 1024;

/// How an exchange ended.
pub(crate) enum Outcome {
    /// With a response, read at that moment.
    Status(u16, Moment),
    /// Without one.
    Failed(ErrorKind),
    /// GOAWAY left the request out; whether it had been written.
    LeftOut {
        /// See above.
        written: bool,
    },
    /// The load is over.
    Over,
}

/// What is kept of a response.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Its header fields as HTTP/1.1 writes them, a line each.
    pub(crate) head: Vec<u8>,
    /// The beginning of its body.
    pub(crate) body: Vec<u8>,
    /// Most bytes of each.
    most: usize,
}

impl Kept {
    /// So many bytes of the head, and of the body; 0: nothing.
    pub(crate) fn at_most(most: usize) -> Kept {
        Kept { most, ..Kept::default() }
    }

    /// Forgets what it has.
    pub(crate) fn clear(&mut self) {
        self.head.clear();
        self.body.clear();
    }

    fn fields(&mut self, fields: &HeaderMap) {
        for (name, value) in fields {
            if self.head.len() + name.as_str().len() + value.len() + 4 <= self.most {
                for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                    self.head.extend_from_slice(part);
                }
            }
        }
    }

    fn data(&mut self, data: &[u8]) {
        let room = self.most - self.body.len();
        self.body.extend_from_slice(&data[..data.len().min(room)]);
    }
}

/// A stream.
pub(super) struct Exchange<'a> {
    request: &'a Prepared,
    shared: &'a SharedConnection,
    /// What of the body has not been sent, and from where on.
    sending: Option<(SendStream<Bytes>, u64)>,
    receiving: Receiving,
}

enum Receiving {
    Head(ResponseFuture),
    Body(u16, RecvStream),
}

impl<'a> Exchange<'a> {
    /// Hands the request to h2.
    pub(super) fn begin(request: &'a Prepared, shared: &'a SharedConnection) -> Result<Exchange<'a>, Outcome> {
        let bodiless = request.length() == 0;
        let mut send = shared.send.borrow_mut();
        let Some(sender) = send.as_mut() else { return Err(Outcome::LeftOut { written: false }) };
        let mut sent = sender.send_request(request.head(), bodiless);
        if sent.as_ref().is_err_and(|e| !(e.is_go_away() || e.is_reset() || e.is_io())) {
            // A stream waits to be opened, because the server still counts one that we have ended: only this handle must
            // wait for it.
            *sender = sender.clone();
            sent = sender.send_request(request.head(), bodiless);
        }
        drop(send);
        match sent {
            Ok((response, body)) => {
                shared.active.set(shared.active.get() + 1);
                let sending = (!bodiless).then_some((body, 0));
                Ok(Exchange { request, shared, sending, receiving: Receiving::Head(response) })
            }
            Err(e) => {
                shared.leave();
                Err(if fault::left_out(&e) {
                    Outcome::LeftOut { written: false }
                } else {
                    Outcome::Failed(shared.circumstances(false).kind(&e))
                })
            }
        }
    }

    /// Goes on as far as the server lets it.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, kept: &mut Kept) -> Poll<Outcome> {
        self.poll_sending(cx);
        loop {
            match &mut self.receiving {
                Receiving::Head(response) => match ready!(Pin::new(response).poll(cx)) {
                    Ok(response) => {
                        let (parts, body) = response.into_parts();
                        kept.fields(&parts.headers);
                        let status = parts.status.as_u16();
                        if body.is_end_stream() {
                            return Poll::Ready(self.done(status));
                        }
                        self.receiving = Receiving::Body(status, body);
                    }
                    Err(e) if fault::left_out(&e) => return Poll::Ready(Outcome::LeftOut { written: true }),
                    Err(e) => return Poll::Ready(Outcome::Failed(self.shared.circumstances(false).kind(&e))),
                },
                Receiving::Body(status, body) => {
                    let status = *status;
                    match ready!(poll_body(body, kept, cx)) {
                        Ok(()) => return Poll::Ready(self.done(status)),
                        Err(e) => return Poll::Ready(Outcome::Failed(self.shared.circumstances(true).kind(&e))),
                    }
                }
            }
        }
    }

    fn done(&self, status: u16) -> Outcome {
        self.shared.reused.set(true);
        Outcome::Status(status, self.shared.last_read.get())
    }

    /// Sends what of the body the server has room for. What goes wrong is told by the response.
    fn poll_sending(&mut self, cx: &mut Context<'_>) {
        let request = self.request;
        while let Some((stream, at)) = &mut self.sending {
            let left = usize::try_from(request.length() - *at).unwrap_or(usize::MAX);
            if stream.capacity() == 0 {
                stream.reserve_capacity(left.min(PART));
                match stream.poll_capacity(cx) {
                    Poll::Pending => return,
                    Poll::Ready(Some(Ok(_))) => {}
                    Poll::Ready(_) => {
                        self.sending = None;
                        return;
                    }
                }
            }
            let chunk = request.chunk(*at, stream.capacity());
            *at += chunk.len() as u64;
            let last = *at == request.length();
            if stream.send_data(chunk, last).is_err() || last {
                self.sending = None;
            }
        }
    }
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        self.shared.active.set(self.shared.active.get() - 1);
    }
}

/// Takes what comes of a body, to its end and that of its trailers.
fn poll_body(body: &mut RecvStream, kept: &mut Kept, cx: &mut Context<'_>) -> Poll<Result<(), h2::Error>> {
    while let Some(data) = ready!(body.poll_data(cx)) {
        let data = data?;
        kept.data(&data);
        if body.is_end_stream() {
            // Its room in the window is given back with the stream.
            return Poll::Ready(Ok(()));
        }
        body.flow_control().release_capacity(data.len())?;
    }
    body.poll_trailers(cx).map_ok(|_| ())
}
