//! The client's side (RFC 6455 section 4.1).

use super::list::{elements, extensions, has, is_token, single};
use super::{HandshakeError, WriteError, accept, check_free, key};
use crate::http1::{self, Length, MAX_INTERIM, ResponseHead, write_request};
use crate::websocket::deflate::{self, Agreed, Settings};

/// What a client asks for. The same value may open any number of connections.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// Request target, e.g. `/chat?room=3`.
    pub target: &'a str,
    /// Host field: name, and port if it is not the usual one.
    pub host: &'a str,
    /// Further fields, e.g. Origin, Cookie, Authorization.
    pub fields: &'a [(&'a str, &'a str)],
    /// Subprotocols, best first.
    pub protocols: &'a [&'a str],
    /// Compression to offer.
    pub deflate: Option<Settings>,
}

impl Opening<'_> {
    /// Appends the request. `nonce`: 16 bytes, random for each connection.
    ///
    /// # Errors
    /// When it would not be read back as meant.
    pub fn write(&self, out: &mut Vec<u8>, nonce: [u8; 16]) -> Result<Handshake, WriteError> {
        check_free(self.fields)?;
        let unique = |(i, one): (usize, &&str)| is_token(one) && !self.protocols[..i].contains(one);
        if !self.protocols.iter().enumerate().all(unique) {
            return Err(WriteError::Protocol);
        }
        let (nonce, protocols) = (key(nonce), self.protocols.join(", "));
        let offer = self.deflate.map(|settings| settings.offer());
        let own = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Version", "13")];
        let fields = own.into_iter().chain([("Sec-WebSocket-Key", std::str::from_utf8(&nonce).unwrap_or_default())]);
        let fields = fields.chain((!protocols.is_empty()).then_some(("Sec-WebSocket-Protocol", protocols.as_str())));
        let fields = fields.chain(offer.as_deref().map(|offer| ("Sec-WebSocket-Extensions", offer)));
        let fields = fields.chain(self.fields.iter().copied());
        write_request(out, "GET", self.target, self.host, fields, Length::None)?;
        Ok(Handshake { accept: accept(&nonce), interim: 0, carry: Vec::new() })
    }

    /// Whether the head of a 101 is the answer to this (section 4.1, second list).
    fn check(&self, head: &[u8], expected: &[u8; 28]) -> Result<Agreement, HandshakeError> {
        if !single(head, "upgrade").is_some_and(|value| value.eq_ignore_ascii_case("websocket")) {
            return Err(HandshakeError::Upgrade);
        }
        if !has(head, "connection", "upgrade") {
            return Err(HandshakeError::Connection);
        }
        if single(head, "sec-websocket-accept").map(str::as_bytes) != Some(expected) {
            return Err(HandshakeError::Accept);
        }
        Ok(Agreement { protocol: self.protocol(head)?, deflate: self.extension(head)? })
    }

    /// The subprotocol chosen: none, or one of those asked for.
    fn protocol(&self, head: &[u8]) -> Result<Option<usize>, HandshakeError> {
        let mut chosen = elements(head, "sec-websocket-protocol");
        let Some(one) = chosen.next() else { return Ok(None) };
        let place = self.protocols.iter().position(|asked| *asked == one);
        if place.is_none() || chosen.next().is_some() { Err(HandshakeError::Protocol) } else { Ok(place) }
    }

    /// The compression agreed on: none, or what was offered.
    fn extension(&self, head: &[u8]) -> Result<Option<Agreed>, HandshakeError> {
        let all = extensions(head).ok_or(HandshakeError::Extension)?;
        match (&all[..], &self.deflate) {
            ([], _) => Ok(None),
            ([one], Some(offered)) if one.name == deflate::NAME => {
                offered.check(one.parameters()).map(Some).map_err(|_| HandshakeError::Extension)
            }
            _ => Err(HandshakeError::Extension),
        }
    }
}

/// A handshake under way: waits for the response. Holds no buffer unless the head was cut.
#[derive(Debug)]
pub struct Handshake {
    accept: [u8; 28],
    interim: u8,
    carry: Vec<u8>,
}

/// Where a handshake is after a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// More bytes must come; all of the slice is used.
    More,
    /// The WebSocket is open.
    Open {
        /// Bytes of the slice that belong to the response. **Those after them are frames.**
        used: usize,
        /// Head of the response, for [`fields`](crate::http1::fields).
        head: &'a [u8],
        /// What was agreed on.
        agreement: Agreement,
    },
    /// The server answered with something else: a redirection, 401, 426, 503...
    Refused {
        /// Bytes of the slice that belong to the head. Those after them are the body, see [`ResponseHead::framing`].
        used: usize,
        /// Head of the response, for [`fields`](crate::http1::fields).
        head: &'a [u8],
        /// The same, parsed.
        response: ResponseHead,
    },
}

/// What both sides agreed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// The subprotocol, as a place in [`Opening::protocols`].
    pub protocol: Option<usize>,
    /// Compression.
    pub deflate: Option<Agreed>,
}

impl Handshake {
    /// Takes bytes of the response; `opening` is what was asked for. Not to be called again after an answer other than
    /// [`Progress::More`].
    ///
    /// # Errors
    /// When the bytes are not HTTP, or a 101 that is not the answer.
    pub fn receive<'a>(&'a mut self, opening: &Opening<'_>, bytes: &'a [u8]) -> Result<Progress<'a>, HandshakeError> {
        let had = self.carry.len();
        if had > 0 {
            self.carry.extend_from_slice(bytes);
        }
        let carry = std::mem::take(&mut self.carry);
        let all = if had > 0 { &carry[..] } else { bytes };
        let (from, found) = self.advance(all)?;
        let Some(response) = found else {
            self.carry = all[from..].to_vec();
            return Ok(Progress::More);
        };
        let (end, accept) = (from + response.length, self.accept);
        // The head was not whole before, so it ends in the new slice.
        let used = end - had;
        self.carry = carry;
        let head = if had > 0 { &self.carry[from..end] } else { &bytes[from..end] };
        if response.status == 101 {
            return Ok(Progress::Open { used, head, agreement: opening.check(head, &accept)? });
        }
        Ok(Progress::Refused { used, head, response })
    }

    /// Skips interim responses (RFC 9110 section 15.2): where the next head begins, and that head if it is whole.
    fn advance(&mut self, bytes: &[u8]) -> Result<(usize, Option<ResponseHead>), HandshakeError> {
        let mut at = 0;
        while let Some(head) = ResponseHead::parse(&bytes[at..], false)? {
            if !head.interim() {
                return Ok((at, Some(head)));
            }
            at += head.length;
            self.interim += 1;
            if self.interim > MAX_INTERIM {
                return Err(http1::Error::TooManyInterim.into());
            }
        }
        Ok((at, None))
    }
}
