//! permessage-deflate: messages there and back, and compressed bytes that nobody compressed.
#![no_main]

use genkai_fuzz::{MAX, Output, check_splits, hear};
use genkai_wire::websocket::deflate::{Agreed, Direction, Effort};
use genkai_wire::websocket::{Decoder, Encoder, Header, Kind, Opcode, Role, Scratch};
use libfuzzer_sys::fuzz_target;

/// The byte between messages, and the one between fragments.
const MESSAGE: u8 = b'\n';
const FRAGMENT: u8 = b'|';

fn there_and_back(setting: [u8; 2], bytes: &[u8]) {
    let direction = Direction { takeover: setting[0] & 1 == 0, window_bits: 8 + setting[0] / 2 % 8 };
    let agreed = Agreed { server: direction, client: direction };
    let effort = Effort { level: setting[1] % 10, threshold: usize::from(setting[1] / 10) };
    let (mut encoder, mut scratch) = (Encoder::new(Role::Server).deflating(&agreed, effort), Scratch::default());
    let (mut out, mut expected) = (Vec::new(), Vec::new());
    for message in bytes.split(|c| *c == MESSAGE) {
        let fragments: Vec<&[u8]> = message.split(|c| *c == FRAGMENT).collect();
        for (i, fragment) in fragments.iter().enumerate() {
            let last = i + 1 == fragments.len();
            encoder.fragment(&mut out, Kind::Binary, fragment, last, 0, &mut scratch).expect("in order");
        }
        expected.push(Output::Message(Kind::Binary, fragments.concat()));
    }
    for size in [1, 100, out.len()] {
        let mut decoder = Decoder::new(Role::Client, MAX).inflating(&agreed);
        let (said, error) = hear(&mut decoder, out.chunks(size));
        assert!(error.is_none() && said == expected, "{error:?}");
    }
}

/// `bytes` as compressed messages of a server.
fn garbage(flags: u8, bytes: &[u8]) {
    let mut frames = Vec::new();
    for message in bytes.split(|c| *c == MESSAGE) {
        let opcode = if flags & 2 == 0 { Opcode::Binary } else { Opcode::Text };
        let length = message.len() as u64;
        Header { last: true, compressed: true, opcode, mask: None, length }.write(&mut frames);
        frames.extend_from_slice(message);
    }
    check_splits(Role::Client, 1 | (flags & 2), &frames);
}

fuzz_target!(|data: &[u8]| {
    let [choice, a, b, bytes @ ..] = data else { return };
    if choice & 1 == 0 { there_and_back([*a, *b], bytes) } else { garbage(*a, bytes) }
});
