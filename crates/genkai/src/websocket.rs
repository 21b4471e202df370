//! How flags become WebSocket load.

use genkai_model::load::{Arrivals, Body, Load, Protocol, Spacing};
use genkai_model::units::Bytes;
use genkai_model::websocket::{Deflate, Message, SMALLEST_MESSAGE, WebSocket};

use crate::Failure;
use crate::cli::{DeflateFlag, LoadFlags, WebSocketFlags};
use crate::flags::positive;

/// Connections of the open model when nothing else is said.
const CONNECTIONS: u32 = 100;
/// Bytes of a message when nothing else is said.
const SIZE: Bytes = Bytes(64);

/// What the flags need where an address says what is spoken.
pub(crate) const NEEDS: &str = "the address must be ws:// or wss://";

impl WebSocketFlags {
    /// Refuses these flags for other protocols; `needs` is what they need.
    pub(crate) fn must_be_unused(&self, needs: &str) -> Result<(), Failure> {
        let used = [
            ("--message-size", self.message_size.is_some()),
            ("--message-rate", self.message_rate.is_some()),
            ("--binary", self.binary),
            ("--subprotocol", !self.subprotocol.is_empty()),
            ("--deflate", self.deflate.is_some()),
            ("--ping", self.ping.is_some()),
        ];
        match used.into_iter().find(|(_, used)| *used) {
            Some((flag, _)) => Err(Failure::usage(format!("{flag}: {needs}"))),
            None => Ok(()),
        }
    }
}

/// A message that cannot carry who sent it.
pub(crate) fn too_small(size: u64) -> Failure {
    Failure::usage(format!(
        "--message-size {size}: must be at least {SMALLEST_MESSAGE} bytes, because a message carries its identity"
    ))
}

/// The load that flags describe.
///
/// # Errors
/// When values make no sense, or not together.
pub(crate) fn load(flags: &LoadFlags, own: &WebSocketFlags, at_once: f64) -> Result<Load, Failure> {
    if flags.rate.is_some() {
        return Err(Failure::usage("--rate: counts requests; use --message-rate for messages"));
    }
    if flags.method.is_some() || flags.body.is_some() || flags.body_size.is_some() {
        return Err(Failure::usage("--method, --body, --body-size: have no effect on WebSockets"));
    }
    if flags.new_connections && (flags.connections.is_some() || own.message_rate.is_some()) {
        return Err(Failure::usage("--new-connections: works with --users only; each message then opens a WebSocket"));
    }
    let mut load = flags.closed().load(at_once, 1)?;
    load.request.body = Body::Empty;
    let held = flags.connections.is_some() && own.message_rate.is_none();
    if own.ping.is_some() && !held {
        return Err(Failure::usage("--ping: works on idle connections only: --connections without --message-rate"));
    }
    if held && (own.message_size.is_some() || own.binary) {
        return Err(Failure::usage(
            "--connections: the connections are idle; to send messages add --message-rate, or use --users",
        ));
    }
    if own.message_rate.is_none() && (flags.ramp.is_some() || flags.poisson) {
        return Err(Failure::usage("--ramp, --poisson: need --message-rate (the open model)"));
    }
    let size = own.message_size.unwrap_or(SIZE).0;
    if size < SMALLEST_MESSAGE {
        return Err(too_small(size));
    }
    let open_rate = flags.spawn_rate.map(|rate| positive("--spawn-rate", rate)).transpose()?;
    load.arrivals = match (own.message_rate, flags.connections, load.arrivals) {
        (Some(rate), connections, _) => Arrivals::Rate {
            per_second: positive("--message-rate", rate)?,
            ramp: flags.ramp.unwrap_or_default(),
            spacing: if flags.poisson { Spacing::Poisson } else { Spacing::Uniform },
            connections: connections.unwrap_or(CONNECTIONS),
        },
        (None, Some(count), Arrivals::Users { spawn_rate, think, .. }) => Arrivals::Users { count, spawn_rate, think },
        (None, _, users) => users,
    };
    load.protocol = Protocol::WebSocket(WebSocket {
        message: (!held).then_some(Message { size, binary: own.binary }),
        subprotocols: own.subprotocol.clone(),
        deflate: own.deflate.map(|how| match how {
            DeflateFlag::Takeover => Deflate::Takeover,
            DeflateFlag::NoTakeover => Deflate::NoTakeover,
        }),
        ping: own.ping,
        open_rate: open_rate.filter(|_| own.message_rate.is_some()),
        rooms: None,
    });
    Ok(load)
}
