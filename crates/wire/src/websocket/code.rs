//! Codes of close frames: section 7.4.1 of RFC 6455 and the IANA registry of WebSocket close codes.

/// Done.
pub const NORMAL: u16 = 1000;
/// A server goes down, a client navigates away.
pub const GOING_AWAY: u16 = 1001;
/// Violation of the protocol.
pub const PROTOCOL_ERROR: u16 = 1002;
/// A kind of data that is not accepted.
pub const UNSUPPORTED: u16 = 1003;
/// Never on the wire: a close frame without code.
pub const NONE: u16 = 1005;
/// Never on the wire: the connection ended without a close frame.
pub const ABNORMAL: u16 = 1006;
/// Data that is not what it claims to be, e.g. text that is not UTF-8.
pub const INVALID_DATA: u16 = 1007;
/// Against the policy of the endpoint.
pub const POLICY: u16 = 1008;
/// Message too big.
pub const TOO_BIG: u16 = 1009;
/// The client needs an extension that the server did not agree to.
pub const EXTENSION: u16 = 1010;
/// The server cannot fulfil the request.
pub const INTERNAL: u16 = 1011;
/// The service restarts.
pub const RESTART: u16 = 1012;
/// The service is overloaded.
pub const TRY_LATER: u16 = 1013;
/// A gateway got an invalid response from upstream.
pub const BAD_GATEWAY: u16 = 1014;
/// Never on the wire: TLS failed.
pub const TLS: u16 = 1015;
