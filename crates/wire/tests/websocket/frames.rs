//! Headers, lengths, masks, reserved bits and opcodes (cases 1 to 4, 9).

use genkai_wire::websocket::{
    Decoder, EncodeError, Encoder, Error, Event, Expected, Header, Kind, MAX_MESSAGE, Opcode, Role, Scratch,
};

use crate::decoded::{Decoded, Output, binary, check, hear, masked, raw, text, written};

#[test]
fn the_examples_of_the_rfc() {
    // RFC 6455 section 5.7.
    let client = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
    let hello = written(Role::Client, |encoder, out, scratch| {
        encoder.message(out, Kind::Text, b"Hello", 0x37fa_213d, scratch).unwrap();
    });
    assert_eq!(hello, client);
    assert_eq!(hear(&mut Decoder::new(Role::Server, 5), [&client[..]]), Decoded::clean([text("Hello")]));
    check(&[raw(0x81, b"Hello")], &Decoded::clean([text("Hello")]));
    check(&[raw(0x01, b"Hel"), raw(0x80, b"lo")], &Decoded::clean([text("Hello")]));
    check(&[raw(0x89, b"Hello")], &Decoded::clean([Output::Ping(b"Hello".to_vec())]));
    assert_eq!(raw(0x82, &[0; 256])[..4], [0x82, 0x7e, 0x01, 0x00]);
    assert_eq!(raw(0x82, &[0; 65536])[..10], [0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0]);
}

#[test]
fn lengths_at_every_border() {
    // Cases 1.1 and 1.2.
    for length in [0, 1, 124, 125, 126, 127, 128, 65535, 65536, 70_000] {
        let payload: Vec<u8> = (0..length).map(|i: u32| (i % 127) as u8).collect();
        for (kind, first) in [(Kind::Text, 0x81), (Kind::Binary, 0x82)] {
            let expected = Decoded::clean([Output::Message(kind, payload.clone())]);
            check(&[raw(first, &payload)], &expected);
            for role in [Role::Client, Role::Server] {
                let bytes = written(role, |encoder, out, scratch| {
                    encoder.message(out, kind, &payload, 77, scratch).unwrap();
                });
                let reader = if role == Role::Client { Role::Server } else { Role::Client };
                assert_eq!(hear(&mut Decoder::new(reader, MAX_MESSAGE), bytes.chunks(997)), expected);
            }
        }
    }
}

#[test]
fn lengths_that_are_too_long_for_what_they_say() {
    for (bytes, error) in [
        (&[0x82, 126, 0, 125][..], Error::Length),
        (&[0x82, 126, 0, 0], Error::Length),
        (&[0x82, 127, 0, 0, 0, 0, 0, 0, 0, 125], Error::Length),
        (&[0x82, 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff], Error::Length),
        (&[0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], Error::Length),
        (&[0x82, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], Error::Length),
        (&[0x82, 127, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], Error::TooBig),
    ] {
        assert_eq!(
            hear(&mut Decoder::new(Role::Client, MAX_MESSAGE), [bytes]),
            Decoded::failed([], error),
            "{bytes:x?}"
        );
        assert_eq!(hear(&mut Decoder::new(Role::Client, MAX_MESSAGE), bytes.chunks(1)), Decoded::failed([], error));
    }
    assert_eq!((Error::Length.close_code(), Error::TooBig.close_code()), (1002, 1009));
}

#[test]
fn masks_by_role() {
    let plain = raw(0x81, b"x");
    let client = masked(std::slice::from_ref(&plain));
    let (mut a, mut b) = (Decoder::new(Role::Client, 9), Decoder::new(Role::Server, 9));
    assert_eq!(hear(&mut a, [client.as_slice()]), Decoded::failed([], Error::Masked));
    assert_eq!(hear(&mut b, [plain.as_slice()]), Decoded::failed([], Error::Unmasked));
    assert_eq!(
        hear(&mut Decoder::new(Role::Server, 9), [&plain[..2]]).error,
        Some(Error::Unmasked),
        "at the second byte"
    );
}

#[test]
fn pings_and_pongs() {
    // Cases 2.1 to 2.11.
    let full: Vec<u8> = (0..125).map(|i| i | 0x80).collect();
    for payload in [&b""[..], b"Hello", &[0, 0xff, 0xfe], &full] {
        check(
            &[raw(0x89, payload), raw(0x8a, payload)],
            &Decoded::clean([Output::Ping(payload.to_vec()), Output::Pong(payload.to_vec())]),
        );
    }
    check(&[raw(0x89, &[0; 126])], &Decoded::failed([], Error::LongControl));
    let many: Vec<_> = (0..10).map(|i| raw(0x89, &[i])).collect();
    check(&many, &Decoded::clean((0..10).map(|i| Output::Ping(vec![i])).collect::<Vec<_>>()));
}

#[test]
fn reserved_bits() {
    // Cases 3.1 to 3.7: also after a good message, and on every kind of frame.
    for rsv in 1..=7 {
        for opcode in [0x1, 0x2, 0x8, 0x9, 0xa] {
            let bad = raw(0x80 | rsv << 4 | opcode, b"");
            check(&[raw(0x81, b"ok"), bad.clone(), raw(0x89, b"")], &Decoded::failed([text("ok")], Error::ReservedBit));
            check(&[raw(0x01, b"ok"), bad], &Decoded::failed([], Error::ReservedBit));
        }
    }
}

#[test]
fn reserved_opcodes() {
    // Cases 4.1 and 4.2.
    for opcode in (0x3..=0x7).chain(0xb..=0xf) {
        for payload in [&b""[..], b"reserved"] {
            let frames = [raw(0x82, b"ok"), raw(0x80 | opcode, payload), raw(0x89, b"")];
            check(&frames, &Decoded::failed([binary(b"ok")], Error::Opcode));
        }
    }
}

#[test]
fn messages_are_bounded() {
    let limit = |max, frames: &[Vec<u8>]| hear(&mut Decoder::new(Role::Client, max), [frames.concat().as_slice()]);
    assert_eq!(limit(5, &[raw(0x82, b"12345")]), Decoded::clean([binary(b"12345")]));
    assert_eq!(limit(5, &[raw(0x82, b"123456")]), Decoded::failed([], Error::TooBig));
    assert_eq!(limit(5, &[raw(0x02, b"123"), raw(0x80, b"45")]), Decoded::clean([binary(b"12345")]));
    assert_eq!(limit(5, &[raw(0x02, b"123"), raw(0x80, b"456")]), Decoded::failed([], Error::TooBig));
    assert_eq!(
        limit(0, &[raw(0x82, b""), raw(0x89, b"x")]),
        Decoded::clean([binary(b""), Output::Ping(b"x".to_vec())])
    );
    // Refused by the header alone, before the payload has to be read.
    assert_eq!(limit(5, &[raw(0x82, b"123456")[..2].to_vec()]).error, Some(Error::TooBig));
}

#[test]
fn payloads_stay_where_they_are() {
    let mut bytes = masked(&[raw(0x82, b"zero copy"), raw(0x89, b"ping")]);
    let range = bytes.as_ptr_range();
    let (mut decoder, mut scratch, mut at) = (Decoder::new(Role::Server, 100), Scratch::default(), 0);
    for expected in [&b"zero copy"[..], b"ping"] {
        let (used, event) = decoder.decode(&mut bytes[at..], &mut scratch).unwrap();
        at += used;
        let (Some(Event::Ping(data)) | Some(Event::Data(genkai_wire::websocket::Chunk { data, .. }))) = event else {
            panic!("{event:?}")
        };
        assert_eq!(data, expected);
        assert!(range.contains(&data.as_ptr()));
    }
}

#[test]
fn idle_connections_are_small() {
    assert!(size_of::<Decoder>() <= 56, "{}", size_of::<Decoder>());
    assert!(size_of::<Encoder>() <= 16, "{}", size_of::<Encoder>());
}

#[test]
fn what_must_not_be_sent_is_not() {
    let mut out = b"before".to_vec();
    let (mut encoder, mut scratch) = (Encoder::new(Role::Server), Scratch::default());
    assert_eq!(encoder.ping(&mut out, &[0; 126], 0), Err(EncodeError::LongControl));
    encoder.fragment(&mut out, Kind::Text, b"a", false, 0, &mut scratch).unwrap();
    let before = out.clone();
    assert_eq!(encoder.message(&mut out, Kind::Text, b"b", 0, &mut scratch), Err(EncodeError::Unfinished));
    assert_eq!(encoder.fragment(&mut out, Kind::Binary, b"b", true, 0, &mut scratch), Err(EncodeError::Unfinished));
    for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000] {
        assert_eq!(encoder.close(&mut out, Some((code, "")), 0), Err(EncodeError::CloseCode(code)));
    }
    assert_eq!(encoder.close(&mut out, Some((1000, &"x".repeat(124))), 0), Err(EncodeError::LongControl));
    assert_eq!((&out, encoder.is_closed()), (&before, false));
    encoder.close(&mut out, Some((1000, &"x".repeat(123))), 0).unwrap();
    let before = out.clone();
    assert_eq!(encoder.close(&mut out, None, 0), Err(EncodeError::Closed));
    assert_eq!(encoder.pong(&mut out, b"", 0), Err(EncodeError::Closed));
    assert_eq!(encoder.fragment(&mut out, Kind::Text, b"", true, 0, &mut scratch), Err(EncodeError::Closed));
    assert_eq!(out, before);
    assert!(encoder.is_closed());
}

#[test]
fn a_header_is_whole_or_not_yet() {
    let expected = Expected { masked: true, in_message: false, compression: true };
    for length in [0, 125, 126, 65535, 65536, i64::MAX as u64] {
        let header = Header { last: false, compressed: true, opcode: Opcode::Binary, mask: Some([1, 2, 3, 4]), length };
        let mut out = Vec::new();
        header.write(&mut out);
        assert_eq!(Header::parse(&out, expected), Ok(Some((header, out.len()))));
        for end in 0..out.len() {
            assert_eq!(Header::parse(&out[..end], expected), Ok(None));
        }
    }
}
