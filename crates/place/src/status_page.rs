//! Reading a server's status page, which must not hold up the observer.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::Instant;

/// Reads to the end of the stream or to `most` bytes (a little more may come).
///
/// # Errors
/// The stream's, or `TimedOut` when it has not ended by `until`.
pub fn read_until(stream: &mut TcpStream, most: usize, until: Instant) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(most.min(4096));
    let mut chunk = [0; 4096];
    while bytes.len() < most {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut chunk)? {
            0 => break,
            n => bytes.extend_from_slice(&chunk[..n]),
        }
    }
    Ok(bytes)
}
