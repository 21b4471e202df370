//! Bytes of a WebSocket client, as its server takes them.
#![no_main]

use genkai_fuzz::check_splits;
use genkai_wire::websocket::Role;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((flags, bytes)) = data.split_first() else { return };
    check_splits(Role::Server, *flags, bytes);
});
