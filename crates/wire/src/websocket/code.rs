//! Codes of close frames that are named here (RFC 6455 section 7.4.1).

/// Done.
pub const NORMAL: u16 = 1000;
/// Violation of the protocol.
pub const PROTOCOL_ERROR: u16 = 1002;
/// Never on the wire: a close frame without code.
pub const NONE: u16 = 1005;
/// Never on the wire: the connection ended without a close frame.
pub const ABNORMAL: u16 = 1006;
/// Data that is not what it claims to be, e.g. text that is not UTF-8.
pub const INVALID_DATA: u16 = 1007;
/// Message too big.
pub const TOO_BIG: u16 = 1009;
