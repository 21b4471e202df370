//! Fragmentation (cases 5).

use genkai_wire::websocket::{Error, Kind, Role};

use crate::decoded::{Decoded, Output, binary, check, raw, text, written};

const TEXT: u8 = 0x01;
const MORE: u8 = 0x00;
const END: u8 = 0x80;
const PING: u8 = 0x89;

fn ping(payload: &[u8]) -> Output {
    Output::Ping(payload.to_vec())
}

#[test]
fn control_frames_are_whole() {
    // 5.1, 5.2, and close.
    for opcode in [0x8, 0x9, 0xa] {
        check(&[raw(opcode, b"frag"), raw(END, b"ment")], &Decoded::failed([], Error::FragmentedControl));
    }
}

#[test]
fn messages_in_fragments() {
    // 5.3 to 5.8, 5.19, 5.20.
    check(&[raw(TEXT, b"frag"), raw(END, b"ment")], &Decoded::clean([text("fragment")]));
    check(&[raw(0x02, b""), raw(MORE, b""), raw(END, b"")], &Decoded::clean([binary(b"")]));
    check(&[raw(TEXT, b""), raw(MORE, b"middle"), raw(END, b"")], &Decoded::clean([text("middle")]));
    let between = [raw(TEXT, b"a"), raw(PING, b"1"), raw(MORE, b"b"), raw(PING, b"2"), raw(0x8a, b"3"), raw(END, b"c")];
    check(&between, &Decoded::clean([ping(b"1"), ping(b"2"), Output::Pong(b"3".to_vec()), text("abc")]));
}

#[test]
fn a_close_between_fragments_ends_it() {
    let frames = [raw(TEXT, b"a"), raw(0x88, b""), raw(END, b"b")];
    check(&frames, &Decoded::clean([Output::Close(None, String::new())]));
}

#[test]
fn nothing_to_continue() {
    // 5.9 to 5.17.
    for first in [MORE, END] {
        for payload in [&b""[..], b"non-continuation"] {
            let then = raw(0x81, b"Hello");
            check(&[raw(first, payload), then.clone()], &Decoded::failed([], Error::Continuation));
            let whole = [raw(TEXT, b"frag"), raw(END, b"ment"), raw(first, payload), then];
            check(&whole, &Decoded::failed([text("fragment")], Error::Continuation));
        }
    }
}

#[test]
fn a_message_inside_a_message() {
    // 5.18.
    for first in [0x01, 0x02, 0x81, 0x82] {
        check(&[raw(TEXT, b"frag"), raw(first, b"ment")], &Decoded::failed([], Error::Interleaved));
    }
}

#[test]
fn many_small_fragments() {
    let mut frames = vec![raw(0x02, b"x")];
    frames.extend((0..500).map(|_| raw(MORE, b"y")));
    frames.push(raw(END, b"z"));
    let content = [b"x", "y".repeat(500).as_bytes(), b"z"].concat();
    check(&frames, &Decoded::clean([binary(&content)]));
}

#[test]
fn the_encoder_fragments() {
    let bytes = written(Role::Server, |encoder, out, scratch| {
        encoder.fragment(out, Kind::Text, "é".as_bytes().split_at(1).0, false, 0, scratch).unwrap();
        encoder.ping(out, b"p", 0).unwrap();
        encoder.fragment(out, Kind::Text, b"", false, 0, scratch).unwrap();
        encoder.fragment(out, Kind::Text, "é".as_bytes().split_at(1).1, true, 0, scratch).unwrap();
        encoder.message(out, Kind::Binary, b"next", 0, scratch).unwrap();
    });
    assert_eq!(
        bytes,
        [&[0x01, 1, 0xc3][..], &[0x89, 1, b'p'], &[0x00, 0], &[0x80, 1, 0xa9], &[0x82, 4, b'n', b'e', b'x', b't'],]
            .concat()
    );
}
