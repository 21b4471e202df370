//! The request, rendered once.

use genkai_model::load::{Body, Raw, Request, Reuse};
use genkai_wire::http1::{Length, ResponseReader, WriteError, write_request};

/// Body bytes kept in memory; what a `Body::Size` has beyond them is sent from [`FILLER`], again and again.
const INLINE: u64 = 64 * 1024;

/// Filler of large bodies.
static FILLER: [u8; INLINE as usize] = [b'x'; INLINE as usize];

/// Methods that mean the same when they are processed twice (RFC 9110 section 9.2.2).
fn is_idempotent(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE")
}

/// A request as it goes over the wire.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// Head and the beginning of the body (all of it, unless it is filler).
    rendered: Vec<u8>,
    /// Bytes of filler after `rendered`.
    filler: u64,
    /// Whether it is a HEAD request: its response has no body.
    pub(crate) is_head: bool,
    /// Whether it means the same when it is processed twice.
    pub(crate) is_idempotent: bool,
    /// Whether its fields ask for an upgrade: 101 answers it then.
    pub(crate) upgrades: bool,
}

impl Message {
    /// Renders `request`. `Host` and the body's length are written here; `Connection: close` too when a connection is
    /// for one request, unless the caller gave a Connection header.
    pub(crate) fn render(request: &Request, reuse: Reuse) -> Result<Message, WriteError> {
        let given = request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let own_connection = request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("connection"));
        let upgrades = request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("upgrade"));
        let close = (reuse == Reuse::PerRequest && !own_connection).then_some(("Connection", "close"));
        let (length, inline, filler) = match &request.body {
            Body::Empty => (Length::None, &[][..], 0),
            Body::Text(text) => (Length::Known(text.len() as u64), text.as_bytes(), 0),
            Body::Bytes(Raw(bytes)) => (Length::Known(bytes.len() as u64), bytes.as_slice(), 0),
            Body::Size(n) => {
                let inline = (*n).min(INLINE);
                (Length::Known(*n), &FILLER[..inline as usize], n - inline)
            }
        };
        let mut rendered = Vec::with_capacity(512 + inline.len());
        write_request(&mut rendered, &request.method, &request.path, &request.host, given.chain(close), length)?;
        rendered.extend_from_slice(inline);
        let (is_head, is_idempotent) = (request.method == "HEAD", is_idempotent(&request.method));
        Ok(Message { rendered, filler, is_head, is_idempotent, upgrades })
    }

    /// Nothing yet.
    pub(crate) fn empty() -> Message {
        Message { rendered: Vec::new(), filler: 0, is_head: false, is_idempotent: false, upgrades: false }
    }

    /// What receives its response.
    pub(crate) fn reader(&self) -> ResponseReader {
        let reader = ResponseReader::new(self.is_head);
        if self.upgrades { reader.upgrading() } else { reader }
    }

    /// Becomes another request, keeping its memory.
    pub(crate) fn rewrite<'a>(
        &mut self,
        method: &str,
        path: &str,
        host: &'a str,
        fields: impl IntoIterator<Item = (&'a str, &'a str)>,
        body: Option<&str>,
    ) -> Result<(), WriteError> {
        self.rendered.clear();
        (self.filler, self.is_head, self.is_idempotent) = (0, method == "HEAD", is_idempotent(method));
        let length = body.map_or(Length::None, |body| Length::Known(body.len() as u64));
        write_request(&mut self.rendered, method, path, host, fields, length)?;
        self.rendered.extend_from_slice(body.unwrap_or_default().as_bytes());
        Ok(())
    }

    /// Length of all of it.
    pub(crate) fn len(&self) -> u64 {
        self.rendered.len() as u64 + self.filler
    }

    /// A run of bytes from `at`; empty only at the end.
    #[inline]
    pub(crate) fn from(&self, at: u64) -> &[u8] {
        let rendered = self.rendered.len() as u64;
        if at < rendered {
            return &self.rendered[at as usize..];
        }
        let left = (self.len() - at).min(INLINE);
        &FILLER[..left as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use genkai_wire::http1::{Framing, RequestHead, fields};

    fn request(body: Body) -> Request {
        let headers = vec![("Accept".to_owned(), "*/*".to_owned())];
        Request { method: "POST".into(), path: "/a".into(), host: "h".into(), headers, body }
    }

    #[test]
    fn a_large_body_is_as_long_as_it_says() {
        for size in [0, 1, INLINE - 1, INLINE, INLINE + 1, 5 * INLINE + 7] {
            let message = Message::render(&request(Body::Size(size)), Reuse::KeepAlive).unwrap();
            let mut all = Vec::new();
            while (all.len() as u64) < message.len() {
                all.extend_from_slice(message.from(all.len() as u64));
            }
            let head = RequestHead::parse(&all).unwrap().unwrap();
            assert_eq!(head.framing, Framing::Length(size));
            assert_eq!((all.len() - head.length) as u64, size);
            assert!(all[head.length..].iter().all(|c| *c == b'x'));
        }
    }

    #[test]
    fn a_body_of_bytes_goes_over_the_wire_as_it_is() {
        let bytes: Vec<u8> = (0..=255).rev().collect();
        let message = Message::render(&request(Body::from(bytes.clone())), Reuse::KeepAlive).unwrap();
        let head = RequestHead::parse(message.from(0)).unwrap().unwrap();
        assert_eq!(head.framing, Framing::Length(256));
        assert_eq!(&message.from(0)[head.length..], &bytes);
    }

    #[test]
    fn one_request_a_connection_says_close() {
        let closes = |request: &Request, reuse| {
            let message = Message::render(request, reuse).unwrap();
            let count = fields(message.from(0)).filter(|(n, _)| n.eq_ignore_ascii_case(b"connection")).count();
            (count, !RequestHead::parse(message.from(0)).unwrap().unwrap().persistent)
        };
        let mut request = request(Body::Empty);
        assert_eq!(closes(&request, Reuse::KeepAlive), (0, false));
        assert_eq!(closes(&request, Reuse::PerRequest), (1, true));
        request.headers.push(("connection".into(), "close, te".into()));
        assert_eq!(closes(&request, Reuse::PerRequest), (1, true));
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        let fails = |change: fn(&mut Request)| {
            let mut request = request(Body::Empty);
            change(&mut request);
            Message::render(&request, Reuse::KeepAlive).unwrap_err()
        };
        assert_eq!(fails(|r| r.method = "G T".into()), WriteError::Method);
        assert_eq!(fails(|r| r.path = "/a b".into()), WriteError::Target);
        assert_eq!(fails(|r| r.headers.push(("Host".into(), "b".into()))), WriteError::Reserved);
        assert_eq!(fails(|r| r.headers.push(("A".into(), "b\r\nC: d".into()))), WriteError::Value);
    }
}
