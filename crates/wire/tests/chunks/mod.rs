//! A chunked body as bytes (RFC 9112 section 7.1).

use std::io::Write;

/// Appends one chunk. Nothing for empty `data`: that would end the body.
pub(crate) fn write_chunk(out: &mut Vec<u8>, data: &[u8]) {
    if !data.is_empty() {
        write!(out, "{:x}\r\n", data.len()).unwrap();
        out.extend_from_slice(data);
        out.extend_from_slice(b"\r\n");
    }
}

/// Appends the end, with trailer fields if any.
pub(crate) fn write_last_chunk<'a>(out: &mut Vec<u8>, trailers: impl IntoIterator<Item = (&'a str, &'a str)>) {
    out.extend_from_slice(b"0\r\n");
    for (name, value) in trailers {
        write!(out, "{name}: {value}\r\n").unwrap();
    }
    out.extend_from_slice(b"\r\n");
}
