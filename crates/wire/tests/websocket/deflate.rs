//! permessage-deflate (RFC 7692; cases 12 and 13).

use genkai_wire::websocket::deflate::{Agreed, Direction, Effort};
use genkai_wire::websocket::{Decoder, Encoder, Error, Event, Kind, MAX_MESSAGE, Role, Scratch};

use crate::decoded::{Decoded, Output, binary, hear, masked, raw, text};

const COMPRESSED_TEXT: u8 = 0xc1;

fn agreed(takeover: bool, window_bits: u8) -> Agreed {
    let direction = Direction { takeover, window_bits };
    Agreed { server: direction, client: direction }
}

fn client(agreed: &Agreed) -> Decoder {
    Decoder::new(Role::Client, MAX_MESSAGE).inflating(agreed)
}

fn server_encoder(agreed: &Agreed) -> Encoder {
    Encoder::new(Role::Server).deflating(agreed, Effort::default())
}

/// The frames of these messages, one by one.
fn encoded(encoder: &mut Encoder, messages: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut scratch = Scratch::default();
    let one = |message: &&[u8]| {
        let mut out = Vec::new();
        encoder.message(&mut out, Kind::Binary, message, 0x0102_0304, &mut scratch).unwrap();
        out
    };
    messages.iter().map(one).collect()
}

/// Bytes that compress little, and repeat after `period`.
fn noise(length: usize, period: usize) -> Vec<u8> {
    let mut state = 1u32;
    let mut step = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let pattern: Vec<u8> = (0..period).map(|_| step()).collect();
    pattern.iter().copied().cycle().take(length).collect()
}

#[test]
fn the_examples_of_the_rfc() {
    // RFC 7692 section 7.2.3.
    let cases: &[&[Vec<u8>]] = &[
        &[raw(COMPRESSED_TEXT, &[0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00])],
        &[raw(0x41, &[0xf2, 0x48, 0xcd]), raw(0x80, &[0xc9, 0xc9, 0x07, 0x00])],
        &[raw(COMPRESSED_TEXT, &[0x00, 0x05, 0x00, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00])],
        &[raw(COMPRESSED_TEXT, &[0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00])],
        &[raw(COMPRESSED_TEXT, &[0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00])],
    ];
    for frames in cases {
        // Twice: also the state after such a message must be in order.
        let twice = [frames.concat(), frames.concat()].concat();
        for takeover in [true, false] {
            for bits in [8, 9, 15] {
                let expected = Decoded::clean([text("Hello"), text("Hello")]);
                assert_eq!(hear(&mut client(&agreed(takeover, bits)), [twice.as_slice()]), expected);
                assert_eq!(hear(&mut client(&agreed(takeover, bits)), twice.chunks(1)), expected);
            }
        }
    }
    let shared = [
        raw(COMPRESSED_TEXT, &[0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]),
        raw(COMPRESSED_TEXT, &[0xf2, 0x00, 0x11, 0x00, 0x00]),
    ];
    let bytes = shared.concat();
    let heard = hear(&mut client(&agreed(true, 15)), [bytes.as_slice()]);
    assert_eq!(heard, Decoded::clean([text("Hello"), text("Hello")]));
    let heard = hear(&mut client(&agreed(false, 15)), [bytes.as_slice()]);
    assert_eq!(heard, Decoded::failed([text("Hello")], Error::Deflate), "the window is gone");
}

#[test]
fn a_window_outlives_messages_or_not() {
    let message = noise(2000, 2000);
    let [a, b] = &encoded(&mut server_encoder(&agreed(true, 15)), &[&message, &message])[..] else { panic!() };
    assert!(a.len() > 1900 && b.len() < 100, "{} {}", a.len(), b.len());
    let [a, b] = &encoded(&mut server_encoder(&agreed(false, 15)), &[&message, &message])[..] else { panic!() };
    assert_eq!(a, b);
}

#[test]
fn windows_are_as_small_as_agreed() {
    let message = noise(60_000, 5_000);
    for bits in 9..=15 {
        for takeover in [true, false] {
            let agreement = agreed(takeover, bits);
            let frames = encoded(&mut server_encoder(&agreement), &[&message, &message, b"end"]);
            // 2^bits - 262 is as far as zlib looks back.
            let far = (1 << bits) - 262 >= 5_000;
            assert_eq!(frames[0].len() < 10_000, far, "{bits}: {}", frames[0].len());
            let heard = hear(&mut client(&agreement), [frames.concat().as_slice()]);
            assert_eq!(heard, Decoded::clean([binary(&message), binary(&message), binary(b"end")]));
        }
    }
}

#[test]
fn a_window_of_eight_bits_sends_as_it_is() {
    let frames = encoded(&mut server_encoder(&agreed(true, 8)), &[b"aaaaaaaaaaaaaaaa"]);
    assert_eq!(frames, [raw(0x82, b"aaaaaaaaaaaaaaaa")]);
}

#[test]
fn only_from_the_threshold_on() {
    let effort = Effort { threshold: 10, level: 9 };
    let mut encoder = Encoder::new(Role::Server).deflating(&agreed(true, 15), effort);
    let frames = encoded(&mut encoder, &[b"aaaaaaaaa", b"aaaaaaaaaa", b""]);
    assert_eq!(frames.iter().map(|frame| frame[0]).collect::<Vec<_>>(), [0x82, 0xc2, 0x82]);
    let heard = hear(&mut client(&agreed(true, 15)), [frames.concat().as_slice()]);
    assert_eq!(heard, Decoded::clean([binary(b"aaaaaaaaa"), binary(b"aaaaaaaaaa"), binary(b"")]));
}

#[test]
fn sizes_around_the_output_buffer_in_every_level() {
    for level in [0, 1, 6, 9, 200] {
        for size in [1, 100, 16_383, 16_384, 16_385, 32_768, 100_000] {
            let (zeros, noise) = (vec![0; size], noise(size, size));
            for takeover in [true, false] {
                let effort = Effort { level, threshold: 0 };
                let agreement = agreed(takeover, 15);
                let mut encoder = Encoder::new(Role::Client).deflating(&agreement, effort);
                let bytes = encoded(&mut encoder, &[&zeros, &noise, &zeros]).concat();
                let mut server = Decoder::new(Role::Server, size as u64).inflating(&agreement);
                let expected = Decoded::clean([binary(&zeros), binary(&noise), binary(&zeros)]);
                assert_eq!(hear(&mut server, bytes.chunks(5000)), expected, "{level} {size}");
            }
        }
    }
}

#[test]
fn empty_fragments_of_a_compressed_message() {
    let pieces: &[&[&[u8]]] = &[&[b"", b""], &[b"a", b"", b""], &[b"", b"", b"b"], &[b"abc", b"abc", b""]];
    for takeover in [true, false] {
        let agreement = agreed(takeover, 15);
        let (mut encoder, mut scratch, mut out) = (server_encoder(&agreement), Scratch::default(), Vec::new());
        for message in pieces.iter().chain(pieces) {
            for (i, piece) in message.iter().enumerate() {
                let last = i + 1 == message.len();
                encoder.fragment(&mut out, Kind::Binary, piece, last, 0, &mut scratch).unwrap();
                if !last {
                    encoder.ping(&mut out, b"", 0).unwrap();
                }
            }
        }
        let mut heard = hear(&mut client(&agreement), out.chunks(1));
        heard.said.retain(|said| *said != Output::Ping(Vec::new()));
        let expected: Vec<Output> = pieces.iter().chain(pieces).map(|pieces| binary(&pieces.concat())).collect();
        assert_eq!(heard, Decoded::clean(expected));
    }
}

#[test]
fn plain_messages_in_between_leave_the_window_alone() {
    let mut encoder = server_encoder(&agreed(true, 15));
    let mut frames = encoded(&mut encoder, &[b"Hello", b"Hello"]);
    frames.insert(1, raw(0x81, b"in between"));
    let heard = hear(&mut client(&agreed(true, 15)), [frames.concat().as_slice()]);
    assert_eq!(heard, Decoded::clean([binary(b"Hello"), text("in between"), binary(b"Hello")]));
}

#[test]
fn bombs_do_not_go_off() {
    let bomb = vec![0; 50_000_000];
    let frames = encoded(&mut server_encoder(&agreed(true, 15)), &[&bomb]).concat();
    assert!(frames.len() < 100_000);
    let mut decoder = Decoder::new(Role::Client, 1_000_000).inflating(&agreed(true, 15));
    let (mut scratch, mut bytes, mut at, mut seen) = (Scratch::default(), frames, 0, 0);
    let error = loop {
        match decoder.decode(&mut bytes[at..], &mut scratch) {
            Ok((used, Some(Event::Data(chunk)))) => {
                (at, seen) = (at + used, seen + chunk.data.len());
                assert!(chunk.data.len() <= 16 * 1024);
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => break error,
        }
    };
    assert_eq!(error, Error::TooBig);
    assert!((900_000..=1_000_000).contains(&seen), "{seen}");
}

#[test]
fn unused_bytes_are_as_they_were() {
    let message = vec![b'x'; 1_000_000];
    let plain = encoded(&mut server_encoder(&agreed(true, 15)), &[&message]);
    let original = masked(&plain);
    let mut decoder = Decoder::new(Role::Server, MAX_MESSAGE).inflating(&agreed(true, 15));
    let (mut scratch, mut bytes, mut at, mut total) = (Scratch::default(), original.clone(), 0, 0);
    while let (used, Some(Event::Data(chunk))) = decoder.decode(&mut bytes[at..], &mut scratch).unwrap() {
        (at, total) = (at + used, total + chunk.data.len());
        assert_eq!(bytes[at..], original[at..]);
    }
    assert_eq!((at, total), (original.len(), message.len()));
}

#[test]
fn the_bit_only_where_it_belongs() {
    let hello = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
    let with = |frames: &[Vec<u8>]| hear(&mut client(&agreed(true, 15)), [frames.concat().as_slice()]);
    let reserved = Decoded::failed([], Error::ReservedBit);
    assert_eq!(with(&[raw(0x41, &hello[..3]), raw(0xc0, &hello[3..])]), reserved, "on a continuation");
    assert_eq!(with(&[raw(0xc9, b"")]), reserved, "on a ping");
    assert_eq!(with(&[raw(0xc8, b"")]), reserved, "on a close");
    assert_eq!(with(&[raw(0xe1, &hello)]), reserved, "with another");
    assert_eq!(with(&[raw(0x81, b"plain")]), Decoded::clean([text("plain")]));
    let without = hear(&mut Decoder::new(Role::Client, 99), [raw(0xc1, &hello).as_slice()]);
    assert_eq!(without, reserved, "not agreed on");
}

#[test]
fn what_comes_out_is_checked() {
    let mut encoder = server_encoder(&agreed(true, 15));
    let mut frame = encoded(&mut encoder, &[b"a\xffb"]).concat();
    frame[0] = COMPRESSED_TEXT;
    assert_eq!(hear(&mut client(&agreed(true, 15)), frame.chunks(1)), Decoded::failed([], Error::Utf8));
    let garbage = raw(COMPRESSED_TEXT, &[0xff; 20]);
    assert_eq!(hear(&mut client(&agreed(true, 15)), [garbage.as_slice()]), Decoded::failed([], Error::Deflate));
    assert_eq!(Error::Deflate.close_code(), 1007);
}
