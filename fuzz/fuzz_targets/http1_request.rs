//! Bytes of a client: a request, which may ask for a WebSocket.
#![no_main]

use genkai_wire::http1::{Framing, RequestHead, ResponseHead, fields};
use genkai_wire::websocket::deflate::Settings;
use genkai_wire::websocket::handshake::Upgrade;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let whole = RequestHead::parse(bytes);
    for end in [bytes.len() / 2, bytes.len().saturating_sub(1)] {
        let prefix = RequestHead::parse(&bytes[..end]);
        assert!(prefix == Ok(None) || prefix == whole, "an answer stays");
    }
    let Ok(Some(head)) = whole else { return };
    assert!(head.length <= bytes.len() && head.framing != Framing::UntilClose);
    let _ = fields(&bytes[..head.length]).count();
    let mut out = Vec::new();
    match Upgrade::check(bytes, &head) {
        Ok(upgrade) => {
            let protocol = upgrade.protocols().last();
            let agreed = upgrade.accept(&mut out, protocol, Some(&Settings::default()), &[]);
            let agreed = agreed.expect("what the client asked for can be written");
            assert!(agreed.is_none_or(|agreed| (8..=15).contains(&agreed.client.window_bits)));
        }
        Err(refusal) => refusal.write(&mut out),
    }
    let response = ResponseHead::parse(&out, false).expect("legal").expect("whole");
    assert!(matches!(response.status, 101 | 400 | 405 | 426));
});
