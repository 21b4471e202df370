//! UTF-8 (cases 6): Markus Kuhn's decoder stress test, cut and joined in every way.

use genkai_wire::websocket::{Decoder, Error, MAX_MESSAGE, Role};

use crate::decoded::{Decoded, check, hear, raw, text};

const VALID: &[&str] = &[
    "",
    "Hello-µ@ßöäüàá-UTF-8!!",
    "\u{3ba}\u{1f79}\u{3c3}\u{3bc}\u{3b5}",
    "\0",
    "\u{80}\u{800}\u{10000}",
    "\u{7f}\u{7ff}\u{ffff}\u{10ffff}",
    "\u{d7ff}\u{e000}\u{fffd}",
    // Non-characters are characters enough (6.22).
    "\u{fffe}\u{ffff}\u{1fffe}\u{1ffff}\u{10fffe}\u{fdd0}\u{fdef}",
];

const INVALID: &[&[u8]] = &[
    // 6.3, 6.4: surrogates in the middle.
    b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80\x65\x64\x69\x74\x65\x64",
    // 6.4.1: beyond the last code point.
    b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xf4\x90\x80\x80\x65\x64\x69\x74\x65\x64",
    // 6.6: cut sequences.
    b"\xce",
    b"\xce\xba\xe1",
    b"\xce\xba\xe1\xbd",
    b"\xce\xba\xe1\xbd\xb9\xcf",
    // 6.8: first sequence of five and six bytes.
    b"\xf8\x88\x80\x80\x80",
    b"\xfc\x84\x80\x80\x80\x80",
    // 6.10: last possible ones.
    b"\xf7\xbf\xbf\xbf",
    b"\xfb\xbf\xbf\xbf\xbf",
    b"\xfd\xbf\xbf\xbf\xbf\xbf",
    // 6.11.5
    b"\xf4\x90\x80\x80",
    // 6.12: unexpected continuations.
    b"\x80",
    b"\xbf",
    b"\x80\xbf\x80\xbf\x80\xbf",
    // 6.13: lonely starts.
    b"\xc0 \xc1 \xc2 ",
    b"\xe0 \xe1 ",
    b"\xf0 \xf1 ",
    b"\xf8 \xf9 ",
    b"\xfc \xfd ",
    // 6.14: last byte missing.
    b"\xc0",
    b"\xe0\x80",
    b"\xf0\x80\x80",
    b"\xf8\x80\x80\x80",
    b"\xdf",
    b"\xef\xbf",
    b"\xf7\xbf\xbf",
    // 6.15: joined.
    b"\xc0\xe0\x80\xf0\x80\x80\xf8\x80\x80\x80",
    // 6.16: impossible bytes.
    b"\xfe",
    b"\xff",
    b"\xfe\xfe\xff\xff",
    // 6.17 to 6.19: overlong.
    b"\xc0\xaf",
    b"\xe0\x80\xaf",
    b"\xf0\x80\x80\xaf",
    b"\xc1\xbf",
    b"\xe0\x9f\xbf",
    b"\xf0\x8f\xbf\xbf",
    b"\xc0\x80",
    b"\xe0\x80\x80",
    b"\xf0\x80\x80\x80",
    // 6.20, 6.21: surrogates, single and paired.
    b"\xed\xa0\x80",
    b"\xed\xad\xbf",
    b"\xed\xae\x80",
    b"\xed\xaf\xbf",
    b"\xed\xb0\x80",
    b"\xed\xbe\x80",
    b"\xed\xbf\xbf",
    b"\xed\xa0\x80\xed\xb0\x80",
    b"\xed\xaf\xbf\xed\xbf\xbf",
];

#[test]
fn valid_text_in_any_fragments() {
    for valid in VALID {
        check(&[raw(0x81, valid.as_bytes())], &Decoded::clean([text(valid)]));
        for at in 0..=valid.len() {
            let (a, b) = valid.as_bytes().split_at(at);
            check(
                &[raw(0x01, a), raw(0x89, b""), raw(0x80, b)],
                &Decoded::clean([crate::decoded::Output::Ping(Vec::new()), text(valid)]),
            );
        }
        let bytes: Vec<_> = valid.as_bytes().iter().map(|b| raw(0x00, &[*b])).collect();
        check(&[vec![raw(0x01, b"")], bytes, vec![raw(0x80, b"")]].concat(), &Decoded::clean([text(valid)]));
    }
}

#[test]
fn invalid_text_in_any_fragments() {
    for invalid in INVALID {
        assert!(std::str::from_utf8(invalid).is_err());
        check(&[raw(0x81, invalid)], &Decoded::failed([], Error::Utf8));
        for at in 0..=invalid.len() {
            let (a, b) = invalid.split_at(at);
            check(&[raw(0x01, a), raw(0x80, b)], &Decoded::failed([], Error::Utf8));
        }
    }
    assert_eq!(Error::Utf8.close_code(), 1007);
}

#[test]
fn it_fails_at_the_wrong_byte() {
    // 6.4.1 to 6.4.4: not at the end of the message, nor at the end of the frame.
    let bytes = raw(0x01, b"\xce\xba\xf4\x90\x80\x80 and more that never arrives");
    for end in 0..bytes.len() {
        let heard = hear(&mut Decoder::new(Role::Client, MAX_MESSAGE), [&bytes[..end]]);
        assert_eq!(heard.error.is_some(), end >= 2 + 4, "after {end} bytes");
    }
}

#[test]
fn binary_may_be_anything_and_each_text_begins_anew() {
    check(&[raw(0x82, b"\xff\xce")], &Decoded::clean([crate::decoded::binary(b"\xff\xce")]));
    // What is left of a binary message must not be taken for the beginning of a sequence.
    check(&[raw(0x82, b"\xce"), raw(0x81, b"\xba")], &Decoded::failed([crate::decoded::binary(b"\xce")], Error::Utf8));
    check(&[raw(0x81, b"a"), raw(0x01, b"\xce"), raw(0x80, b"\xba")], &Decoded::clean([text("a"), text("\u{3ba}")]));
}
