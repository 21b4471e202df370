//! What the targets have in common.

use genkai_wire::websocket::deflate::{Agreed, Direction};
use genkai_wire::websocket::{Assembler, Decoder, Error, Event, Kind, Role, Scratch};

/// Largest message in the targets: more than a scratch buffer, little enough to be quick.
pub const MAX: u64 = 100_000;

/// Something a peer said, in a form that can be compared.
#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    /// A whole message.
    Message(Kind, Vec<u8>),
    /// A control frame: opcode and payload.
    Control(u8, Vec<u8>),
}

/// All that was said, and how it ended.
pub type Decoded = (Vec<Output>, Option<Error>);

/// Feeds `slices` to `decoder`, each in a buffer of its own, and checks on the way what must hold for every event.
pub fn hear<'a>(decoder: &mut Decoder, slices: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
    let (mut scratch, mut assembler, mut said) = (Scratch::default(), Assembler::default(), Vec::new());
    for slice in slices {
        let (mut bytes, mut at, mut idle) = (slice.to_vec(), 0, 0);
        loop {
            let (used, event) = match decoder.decode(&mut bytes[at..], &mut scratch) {
                Ok(found) => found,
                Err(error) => return (said, Some(error)),
            };
            at += used;
            idle = if used > 0 { 0 } else { idle + 1 };
            // A byte of input makes at most about 1032 bytes of output, 16 KiB of which are an event.
            assert!(idle < 1000, "events without end");
            match event {
                None => {
                    assert_eq!(at, bytes.len(), "all used when there is nothing to say");
                    break;
                }
                Some(Event::Data(chunk)) => {
                    assert!(chunk.last || !chunk.data.is_empty());
                    if let Some(message) = assembler.push(chunk) {
                        assert!(message.data.len() as u64 <= MAX);
                        assert!(message.kind == Kind::Binary || std::str::from_utf8(message.data).is_ok());
                        said.push(Output::Message(message.kind, message.data.to_vec()));
                    }
                }
                Some(Event::Ping(payload)) => said.push(Output::Control(9, payload.to_vec())),
                Some(Event::Pong(payload)) => said.push(Output::Control(10, payload.to_vec())),
                Some(Event::Close(close)) => {
                    said.push(Output::Control(
                        8,
                        [&close.code_or_none().to_be_bytes(), close.reason.as_bytes()].concat(),
                    ));
                }
            }
        }
    }
    (said, None)
}

/// A decoder of the kind the flags ask for: bit 0 compression, bit 1 without takeover.
pub fn decoder(role: Role, flags: u8) -> Decoder {
    let direction = Direction { takeover: flags & 2 == 0, window_bits: 15 };
    let decoder = Decoder::new(role, MAX);
    if flags & 1 == 0 { decoder } else { decoder.inflating(&Agreed { server: direction, client: direction }) }
}

/// The outcome must not depend on how the bytes are cut.
pub fn check_splits(role: Role, flags: u8, bytes: &[u8]) {
    let whole = hear(&mut decoder(role, flags), [bytes]);
    let (a, b) = bytes.split_at(bytes.len() / 3);
    for cut in [
        hear(&mut decoder(role, flags), [a, b]),
        hear(&mut decoder(role, flags), bytes.chunks(1)),
        hear(&mut decoder(role, flags), bytes.chunks(7)),
    ] {
        assert_eq!(cut, whole);
    }
}
