//! What a decoder says, in a form that can be compared.

use genkai_wire::websocket::{
    Assembler, Decoder, Encoder, Error, Event, Header, Kind, MAX_MESSAGE, Opcode, Role, Scratch, mask,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Message(Kind, Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>, String),
}

/// All that was said, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub(crate) said: Vec<Output>,
    pub(crate) error: Option<Error>,
}

impl Decoded {
    pub(crate) fn clean(said: impl Into<Vec<Output>>) -> Decoded {
        Decoded { said: said.into(), error: None }
    }

    pub(crate) fn failed(said: impl Into<Vec<Output>>, error: Error) -> Decoded {
        Decoded { said: said.into(), error: Some(error) }
    }
}

pub(crate) fn text(text: &str) -> Output {
    Output::Message(Kind::Text, text.as_bytes().to_vec())
}

pub(crate) fn binary(bytes: &[u8]) -> Output {
    Output::Message(Kind::Binary, bytes.to_vec())
}

/// Feeds `slices` to `decoder`, each in a buffer of its own that is spoilt afterwards.
pub(crate) fn hear<'a>(decoder: &mut Decoder, slices: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
    let (mut scratch, mut assembler, mut said, mut error) =
        (Scratch::default(), Assembler::default(), Vec::new(), None);
    for slice in slices {
        let mut bytes = slice.to_vec();
        if let Err(found) = take(decoder, &mut bytes, &mut scratch, &mut assembler, &mut said) {
            assert!(error.is_none() || error == Some(found), "a failed decoder stays as it is");
            error = Some(found);
        }
    }
    Decoded { said, error }
}

fn take(
    decoder: &mut Decoder,
    bytes: &mut [u8],
    scratch: &mut Scratch,
    assembler: &mut Assembler,
    said: &mut Vec<Output>,
) -> Result<(), Error> {
    let (mut at, mut idle) = (0, 0);
    loop {
        let (used, event) = decoder.decode(&mut bytes[at..], scratch)?;
        at += used;
        idle = if used > 0 { 0 } else { idle + 1 };
        assert!(idle < 10_000, "events without end");
        match event {
            None => {
                assert_eq!(at, bytes.len(), "all bytes are used when there is nothing to say");
                return Ok(());
            }
            Some(Event::Data(chunk)) => {
                assert!(chunk.last || !chunk.data.is_empty(), "empty only at the end");
                said.extend(assembler.push(chunk).map(|m| Output::Message(m.kind, m.data.to_vec())));
            }
            Some(Event::Ping(payload)) => said.push(Output::Ping(payload.to_vec())),
            Some(Event::Pong(payload)) => said.push(Output::Pong(payload.to_vec())),
            Some(Event::Close(close)) => said.push(Output::Close(close.code, close.reason.to_owned())),
        }
    }
}

/// A frame with all bits as given: `first` is the first byte.
pub(crate) fn raw(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Header { last: true, compressed: false, opcode: Opcode::Text, mask: None, length: payload.len() as u64 }
        .write(&mut out);
    out[0] = first;
    out.extend_from_slice(payload);
    out
}

/// The same frames as a client sends them: `frames` are whole and not masked.
pub(crate) fn masked(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, frame) in frames.iter().enumerate() {
        let length = match frame[1] {
            127 => 10,
            126 => 4,
            _ => 2,
        };
        let key = [0x9a, i as u8, 0x42, 0xff];
        let at = out.len();
        out.extend_from_slice(&frame[..length]);
        out[at + 1] |= 0x80;
        out.extend_from_slice(&key);
        let payload = out.len();
        out.extend_from_slice(&frame[length..]);
        mask::apply(&mut out[payload..], key);
    }
    out
}

/// Both roles, whole and byte by byte, must hear `frames` as `expected`.
#[track_caller]
pub(crate) fn check(frames: &[Vec<u8>], expected: &Decoded) {
    for (role, bytes) in [(Role::Client, frames.concat()), (Role::Server, masked(frames))] {
        let whole = hear(&mut Decoder::new(role, MAX_MESSAGE), [bytes.as_slice()]);
        assert_eq!(whole, *expected, "{role:?} {:x?}", &bytes[..bytes.len().min(64)]);
        if bytes.len() < 2000 {
            let single = hear(&mut Decoder::new(role, MAX_MESSAGE), bytes.chunks(1));
            assert_eq!(single, *expected, "{role:?} byte by byte");
        }
    }
}

/// What `role` writes by `write`.
pub(crate) fn written(role: Role, write: impl FnOnce(&mut Encoder, &mut Vec<u8>, &mut Scratch)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut Encoder::new(role), &mut out, &mut Scratch::default());
    out
}
