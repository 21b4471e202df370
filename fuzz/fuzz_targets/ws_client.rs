//! Bytes of a WebSocket server, as its client takes them.
#![no_main]

use genkai_fuzz::check_splits;
use genkai_wire::websocket::Role;
use genkai_wire::websocket::deflate::Settings;
use genkai_wire::websocket::handshake::{HandshakeError, Opening, Progress};
use libfuzzer_sys::fuzz_target;

/// How the handshake ended, and how many bytes it used.
fn opened<'a>(slices: impl IntoIterator<Item = &'a [u8]>) -> Result<Option<(u16, usize)>, HandshakeError> {
    let opening =
        Opening { target: "/", host: "a", fields: &[], protocols: &["a", "b"], deflate: Some(Settings::default()) };
    let mut handshake = opening.write(&mut Vec::new(), *b"the sample nonce").expect("legal");
    let mut before = 0;
    for slice in slices {
        match handshake.receive(&opening, slice)? {
            Progress::More => before += slice.len(),
            Progress::Open { used, .. } => return Ok(Some((101, before + used))),
            Progress::Refused { used, response, .. } => return Ok(Some((response.status, before + used))),
        }
    }
    Ok(None)
}

fuzz_target!(|data: &[u8]| {
    let Some((flags, bytes)) = data.split_first() else { return };
    if flags & 4 == 0 {
        return check_splits(Role::Client, *flags, bytes);
    }
    let whole = opened([bytes]);
    let (a, b) = bytes.split_at(bytes.len() / 3);
    assert_eq!(opened([a, b]), whole);
    if bytes.len() < 1000 {
        assert_eq!(opened(bytes.chunks(1)), whole);
    }
    if let Ok(Some((101, used))) = whole {
        check_splits(Role::Client, *flags, &bytes[used..]);
    }
});
