//! The server's side (RFC 6455 section 4.2).

use super::accept::is_key;
use super::list::{elements, extensions, has, is_token, single};
use super::{Refusal, WriteError, accept, check_free};
use crate::http1::{Framing, Length, RequestHead, Version, write_response};
use crate::websocket::deflate::{self, Agreed, Settings};

/// A request to open a WebSocket that is in order.
#[derive(Clone, Copy, Debug)]
pub struct Upgrade<'a> {
    head: &'a [u8],
    /// Request target.
    pub target: &'a [u8],
    accept: [u8; 28],
}

impl<'a> Upgrade<'a> {
    /// Looks at a request; `bytes` is what `head` was parsed from. Bytes after the head are frames already, though a client
    /// should wait for the response.
    ///
    /// # Errors
    /// When it does not ask for a WebSocket, or not correctly (section 4.2.1).
    pub fn check(bytes: &'a [u8], head: &RequestHead<'a>) -> Result<Upgrade<'a>, Refusal> {
        let fields = &bytes[..head.length];
        let require = |condition: bool, otherwise: Refusal| if condition { Ok(()) } else { Err(otherwise) };
        require(has(fields, "upgrade", "websocket"), Refusal::Upgrade)?;
        require(has(fields, "connection", "upgrade"), Refusal::Connection)?;
        require(head.method == b"GET", Refusal::Method)?;
        require(head.version == Version::Http11, Refusal::Version)?;
        require(matches!(head.framing, Framing::Empty | Framing::Length(0)), Refusal::Body)?;
        require(single(fields, "sec-websocket-version") == Some("13"), Refusal::WebSocketVersion)?;
        let key = single(fields, "sec-websocket-key").map(str::as_bytes).filter(|key| is_key(key));
        let accept = accept(key.ok_or(Refusal::Key)?);
        require(elements(fields, "sec-websocket-protocol").all(is_token), Refusal::Protocol)?;
        require(extensions(fields).is_some(), Refusal::Extensions)?;
        Ok(Upgrade { head: fields, target: head.target, accept })
    }

    /// The subprotocols asked for, best first.
    pub fn protocols(&self) -> impl Iterator<Item = &'a str> {
        elements(self.head, "sec-websocket-protocol")
    }

    /// Appends the response that opens the WebSocket, with `protocol` if one is chosen, compression if `deflate` allows it
    /// and the client offers it, and further `fields`. Returns the compression agreed on.
    ///
    /// # Errors
    /// When the client would have to refuse it.
    pub fn accept(
        &self,
        out: &mut Vec<u8>,
        protocol: Option<&str>,
        deflate: Option<&Settings>,
        fields: &[(&str, &str)],
    ) -> Result<Option<Agreed>, WriteError> {
        check_free(fields)?;
        if protocol.is_some_and(|chosen| self.protocols().all(|asked| asked != chosen)) {
            return Err(WriteError::Protocol);
        }
        let (agreed, answer) = deflate.and_then(|settings| self.extension(settings)).unzip();
        let own = [("Upgrade", "websocket"), ("Connection", "Upgrade")];
        let proof = ("Sec-WebSocket-Accept", std::str::from_utf8(&self.accept).unwrap_or_default());
        let all = own.into_iter().chain([proof]);
        let all = all.chain(protocol.map(|protocol| ("Sec-WebSocket-Protocol", protocol)));
        let all = all.chain(answer.as_deref().map(|answer| ("Sec-WebSocket-Extensions", answer)));
        let all = all.chain(fields.iter().copied());
        write_response(out, 101, "Switching Protocols", all, Length::None)?;
        Ok(agreed)
    }

    /// The first offer of compression that is understood (RFC 7692 section 5.1: in the client's order of preference).
    fn extension(&self, settings: &Settings) -> Option<(Agreed, String)> {
        let offers = extensions(self.head).unwrap_or_default();
        let deflate = offers.iter().filter(|offer| offer.name == deflate::NAME);
        deflate.filter_map(|offer| settings.answer(offer.parameters()).ok()).next()
    }
}
