//! Messages to bytes.

use std::io::Write as _;

use super::WriteError;
use super::line::is_token;
use super::request::is_target;

/// What follows a head that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// No body and no framing field: requests without content, responses to which none belongs (1xx, 204, 304).
    None,
    /// A body of so many bytes: `Content-Length`.
    Known(u64),
    /// A chunked body: `Transfer-Encoding: chunked`.
    Chunked,
    /// A response body that lasts until close: no framing field.
    UntilClose,
}

/// Appends the head of an HTTP/1.1 request. `host` becomes the Host field, first as RFC 9110 section 7.2 recommends;
/// `fields` follow in order, then the framing field.
///
/// # Errors
/// When a part could not be read back as what it was. Nothing is appended then.
pub fn write_request<'a>(
    out: &mut Vec<u8>,
    method: &str,
    target: &str,
    host: &'a str,
    fields: impl IntoIterator<Item = (&'a str, &'a str)>,
    length: Length,
) -> Result<(), WriteError> {
    if !is_token(method.as_bytes()) {
        return Err(WriteError::Method);
    }
    if !is_target(target.as_bytes()) {
        return Err(WriteError::Target);
    }
    all_or_nothing(out, |out| {
        push(out, format_args!("{method} {target} HTTP/1.1\r\n"));
        write_field(out, "Host", host, &[])?;
        write_fields(out, fields, &["host", "content-length", "transfer-encoding"], length)
    })
}

/// Appends the head of an HTTP/1.1 response.
///
/// # Errors
/// When a part could not be read back as what it was. Nothing is appended then.
pub fn write_response<'a>(
    out: &mut Vec<u8>,
    status: u16,
    reason: &str,
    fields: impl IntoIterator<Item = (&'a str, &'a str)>,
    length: Length,
) -> Result<(), WriteError> {
    if !(100..=999).contains(&status) {
        return Err(WriteError::Status);
    }
    if !is_value(reason) {
        return Err(WriteError::Value);
    }
    all_or_nothing(out, |out| {
        push(out, format_args!("HTTP/1.1 {status} {reason}\r\n"));
        write_fields(out, fields, FRAMING, length)
    })
}

/// Fields that follow from the body.
const FRAMING: &[&str] = &["content-length", "transfer-encoding"];

fn write_fields<'a>(
    out: &mut Vec<u8>,
    fields: impl IntoIterator<Item = (&'a str, &'a str)>,
    reserved: &[&str],
    length: Length,
) -> Result<(), WriteError> {
    for (name, value) in fields {
        write_field(out, name, value, reserved)?;
    }
    match length {
        Length::None | Length::UntilClose => {}
        Length::Known(n) => push(out, format_args!("Content-Length: {n}\r\n")),
        Length::Chunked => push(out, format_args!("Transfer-Encoding: chunked\r\n")),
    }
    out.extend_from_slice(b"\r\n");
    Ok(())
}

fn write_field(out: &mut Vec<u8>, name: &str, value: &str, reserved: &[&str]) -> Result<(), WriteError> {
    if !is_token(name.as_bytes()) {
        return Err(WriteError::Name);
    }
    if !is_value(value) {
        return Err(WriteError::Value);
    }
    if reserved.iter().any(|one| name.eq_ignore_ascii_case(one)) {
        return Err(WriteError::Reserved);
    }
    push(out, format_args!("{name}: {value}\r\n"));
    Ok(())
}

fn is_value(value: &str) -> bool {
    !value.bytes().any(|c| matches!(c, b'\r' | b'\n' | 0))
}

fn push(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to memory");
}

fn all_or_nothing(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    let before = out.len();
    write(out).inspect_err(|_| out.truncate(before))
}
