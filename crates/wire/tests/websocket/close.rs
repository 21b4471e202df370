//! The closing handshake (cases 7).

use genkai_wire::websocket::{Close, Decoder, Error, MAX_MESSAGE, Role, code, is_sendable};

use crate::decoded::{Decoded, Output, check, hear, masked, raw, text, written};

fn close(code: u16, reason: &[u8]) -> Vec<u8> {
    raw(0x88, &[&code.to_be_bytes(), reason].concat())
}

fn closed(code: u16, reason: &str) -> Output {
    Output::Close(Some(code), reason.to_owned())
}

#[test]
fn nothing_counts_after_a_close() {
    // 7.1.1 to 7.1.6; what follows may even be nonsense.
    for then in [raw(0x81, b"late"), close(1000, b""), raw(0x89, b""), raw(0x01, b"\xff"), vec![0xff; 300]] {
        let bytes = [raw(0x81, b"Hello"), close(1000, b"bye"), then].concat();
        let expected = Decoded::clean([text("Hello"), closed(1000, "bye")]);
        assert_eq!(hear(&mut Decoder::new(Role::Client, MAX_MESSAGE), [bytes.as_slice()]), expected);
        assert_eq!(hear(&mut Decoder::new(Role::Client, MAX_MESSAGE), bytes.chunks(1)), expected);
    }
}

#[test]
fn payloads() {
    // 7.3.1 to 7.3.6, 7.5.1.
    check(&[raw(0x88, b"")], &Decoded::clean([Output::Close(None, String::new())]));
    check(&[raw(0x88, b"a")], &Decoded::failed([], Error::ClosePayload));
    check(&[close(1000, b"")], &Decoded::clean([closed(1000, "")]));
    check(&[close(1000, "Grüße".as_bytes())], &Decoded::clean([closed(1000, "Grüße")]));
    let longest = "*".repeat(123);
    check(&[close(1000, longest.as_bytes())], &Decoded::clean([closed(1000, &longest)]));
    check(&[close(1000, &[b'*'; 124])], &Decoded::failed([], Error::LongControl));
    check(&[close(1000, b"\xce\xba\xed\xa0\x80")], &Decoded::failed([], Error::Utf8));
    check(&[close(1000, b"\xce")], &Decoded::failed([], Error::Utf8));
}

#[test]
fn codes() {
    // 7.7.1 to 7.7.13, 7.9.1 to 7.9.9, 7.13.1, 7.13.2.
    for code in [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999] {
        check(&[close(code, b"why")], &Decoded::clean([closed(code, "why")]));
    }
    for code in [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535] {
        check(&[close(code, b"why")], &Decoded::failed([], Error::CloseCode(code)));
        assert_eq!(Error::CloseCode(code).close_code(), code::PROTOCOL_ERROR);
    }
}

#[test]
fn what_is_sent_may_be_sent() {
    // Every error has a code that may be on the wire, and every code that may be sent is understood.
    let errors = [
        Error::ReservedBit,
        Error::Opcode,
        Error::FragmentedControl,
        Error::LongControl,
        Error::Continuation,
        Error::Interleaved,
        Error::Unmasked,
        Error::Masked,
        Error::Length,
        Error::Utf8,
        Error::ClosePayload,
        Error::CloseCode(1005),
        Error::TooBig,
        Error::Deflate,
    ];
    assert!(errors.iter().all(|error| is_sendable(error.close_code())));
    for code in 0..=u16::MAX {
        let parsed = Close::parse(&code.to_be_bytes()).map(|close| close.code);
        assert_eq!(parsed, if is_sendable(code) { Ok(Some(code)) } else { Err(Error::CloseCode(code)) });
    }
}

#[test]
fn answers() {
    for payload in [&b""[..], &[0x03, 0xe8], &[0x0f, 0xa0, b'x']] {
        let received = Close::parse(payload).unwrap();
        let answer = written(Role::Server, |encoder, out, _| encoder.close(out, received.answer(), 0).unwrap());
        let heard = hear(&mut Decoder::new(Role::Client, 0), [answer.as_slice()]);
        assert_eq!(heard, Decoded::clean([Output::Close(received.code, String::new())]));
        assert_eq!(received.code_or_none(), received.code.unwrap_or(1005));
    }
}

#[test]
fn a_cut_close_is_no_close() {
    let bytes = masked(&[close(1000, b"bye")]);
    for end in 1..bytes.len() {
        let heard = hear(&mut Decoder::new(Role::Server, 0), [&bytes[..end]]);
        assert_eq!(heard, Decoded { said: Vec::new(), error: None });
    }
}
