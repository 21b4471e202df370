//! Properties: splits do not matter, nothing panics, what one role writes the other reads.

mod chunks;

use chunks::{write_chunk, write_last_chunk};
use genkai_wire::http1::{
    BodyDecoder, Ending, Error, Framing, Length, Progress, Received, RequestHead, ResponseHead, ResponseReader, fields,
    write_request, write_response,
};
use proptest::prelude::*;

/// How a response ended, fed in `slices` and then closed by the peer.
fn outcome<'a>(slices: impl IntoIterator<Item = &'a [u8]>, to_head: bool) -> Result<Ending, Error> {
    let mut reader = ResponseReader::new(to_head);
    let mut done = None;
    for slice in slices.into_iter().filter(|slice| !slice.is_empty()) {
        // What follows the end spoils the connection, in whichever piece it comes.
        done = match (done, reader.receive(slice)) {
            (Some(before), Err(Error::Surplus)) => Some(Received { persistent: false, ..before }),
            (before, Ok(Progress::More)) => before,
            (_, Ok(Progress::Done(received))) => Some(received),
            (_, Err(e)) => return Err(e),
        };
    }
    Ok(done.map_or_else(|| reader.close(), Ending::Done))
}

/// Content of a body fed in `slices`; whether it ended.
fn content<'a>(framing: Framing, slices: impl IntoIterator<Item = &'a [u8]>) -> Result<(Vec<u8>, bool), Error> {
    let mut decoder = BodyDecoder::new(framing);
    let mut all = Vec::new();
    for slice in slices {
        let mut at = 0;
        while at < slice.len() && !decoder.done() {
            let part = decoder.decode(&slice[at..])?;
            all.extend_from_slice(&slice[at + part.framing..][..part.data]);
            at += part.framing + part.data;
        }
    }
    Ok((all, decoder.done()))
}

/// `bytes` cut at `cuts` (taken modulo its length).
fn cut<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|c| c % (bytes.len() + 1)).collect();
    places.push(bytes.len());
    places.sort_unstable();
    let mut from = 0;
    places.into_iter().map(|to| &bytes[std::mem::replace(&mut from, to)..to]).collect()
}

fn token() -> impl Strategy<Value = String> {
    "[A-Za-z0-9!#$%&'*+.^_`|~-]{1,12}"
}

fn value() -> impl Strategy<Value = String> {
    // What OWS trimming gives back unchanged.
    "([!-~\u{e9}]([ -~\t]{0,20}[!-~])?)?"
}

fn free_fields() -> impl Strategy<Value = Vec<(String, String)>> {
    let reserved = ["content-length", "transfer-encoding", "host", "connection", "expect"];
    let name = token().prop_filter("reserved", move |n| !reserved.contains(&n.to_ascii_lowercase().as_str()));
    proptest::collection::vec((name, value()), 0..6)
}

fn pairs(fields: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    fields.iter().map(|(n, v)| (n.as_str(), v.as_str()))
}

/// Pieces that real and hostile messages are made of.
fn fragment() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"HTTP/1.1 200 OK\r\n".to_vec()),
        Just(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()),
        Just(b"HTTP/1.0 404 No\n".to_vec()),
        Just(b"GET / HTTP/1.1\r\nHost: a\r\n".to_vec()),
        Just(b"Content-Length: 5\r\n".to_vec()),
        Just(b"Content-Length: 6, 5\r\n".to_vec()),
        Just(b"Transfer-Encoding: chunked\r\n".to_vec()),
        Just(b"Connection: close\r\n".to_vec()),
        Just(b" folded\r\n".to_vec()),
        Just(b"\tclose\n".to_vec()),
        Just(b"5;x\r\nhello\r\n".to_vec()),
        Just(b"0\r\n\r\n".to_vec()),
        Just(b"0\r\nA: b\r\n\r\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"hello".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..8),
    ]
}

fn message() -> impl Strategy<Value = Vec<u8>> {
    let free = proptest::collection::vec(fragment(), 0..10).prop_map(|f| f.concat());
    let response = proptest::collection::vec(fragment(), 0..10)
        .prop_map(|f| [b"HTTP/1.1 200 OK\r\n".as_slice(), &f.concat()].concat());
    prop_oneof![free, response]
}

#[test]
fn every_split_of_real_responses() {
    let messages: &[&[u8]] = &[
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length:\r\n 5\r\nX: a\r\n\tb\r\n\r\nhello",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nA: b\r\n\r\n",
        b"HTTP/1.0 200\n\nuntil close",
        b"HTTP/1.1 204 No\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello",
        b"garbage",
    ];
    for message in messages {
        let whole = outcome([*message], false);
        for at in 0..=message.len() {
            let (a, b) = message.split_at(at);
            assert_eq!(outcome([a, b], false), whole, "{:?} at {at}", String::from_utf8_lossy(message));
        }
        assert_eq!(outcome(message.chunks(1), false), whole);
    }
}

proptest! {
    #[test]
    fn splits_do_not_matter(bytes in message(), cuts in proptest::collection::vec(any::<usize>(), 0..6), to_head: bool) {
        let whole = outcome([bytes.as_slice()], to_head);
        prop_assert_eq!(outcome(cut(&bytes, &cuts), to_head), whole);
        prop_assert_eq!(outcome(bytes.chunks(1), to_head), whole);
    }

    #[test]
    fn splits_do_not_matter_to_bodies(bytes in message(), cuts in proptest::collection::vec(any::<usize>(), 0..6)) {
        for framing in [Framing::Chunked, Framing::Length(9), Framing::UntilClose, Framing::Empty] {
            prop_assert_eq!(content(framing, cut(&bytes, &cuts)), content(framing, [bytes.as_slice()]));
        }
    }

    #[test]
    fn a_prefix_says_the_same_or_not_yet(bytes in message()) {
        for at in 0..=bytes.len() {
            let (prefix, whole) = (ResponseHead::parse(&bytes[..at], false), ResponseHead::parse(&bytes, false));
            prop_assert!(prefix == Ok(None) || prefix == whole, "{:?} {:?}", prefix, whole);
            let (prefix, whole) = (RequestHead::parse(&bytes[..at]), RequestHead::parse(&bytes));
            prop_assert!(prefix == Ok(None) || prefix == whole, "{:?} {:?}", prefix, whole);
        }
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = outcome([bytes.as_slice()], false);
        let _ = RequestHead::parse(&bytes);
        let _ = fields(&bytes).count();
        let _ = content(Framing::Chunked, [bytes.as_slice()]);
    }

    #[test]
    fn requests_are_read_as_written(
        method in token(), target in "/[!-~]{0,20}", host in value(), given in free_fields(), length in 0u64..1 << 63, kind in 0..3,
    ) {
        let (length, framing) = match kind {
            0 => (Length::None, Framing::Empty),
            1 => (Length::Known(length), Framing::Length(length)),
            _ => (Length::Chunked, Framing::Chunked),
        };
        let mut out = Vec::new();
        write_request(&mut out, &method, &target, &host, pairs(&given), length).unwrap();
        let head = RequestHead::parse(&out).unwrap().unwrap();
        prop_assert_eq!(head.method, method.as_bytes());
        prop_assert_eq!(head.target, target.as_bytes());
        prop_assert_eq!(head.length, out.len());
        prop_assert_eq!(head.framing, framing);
        prop_assert!(head.persistent);
        let read: Vec<_> = fields(&out).skip(1).take(given.len()).collect();
        let wrote: Vec<_> = pairs(&given).map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect();
        prop_assert_eq!(read, wrote);
    }

    #[test]
    fn responses_are_read_as_written(
        status in 200u16..600, given in free_fields(), chunks in proptest::collection::vec("[a-z]{0,9}", 0..5), kind in 0..3,
        cuts in proptest::collection::vec(any::<usize>(), 0..6),
    ) {
        prop_assume!(status != 204 && status != 304);
        let body = chunks.concat();
        let length = match kind { 0 => Length::Known(body.len() as u64), 1 => Length::Chunked, _ => Length::UntilClose };
        let mut out = Vec::new();
        write_response(&mut out, status, "Some Reason", pairs(&given), length).unwrap();
        if length == Length::Chunked {
            for chunk in &chunks { write_chunk(&mut out, chunk.as_bytes()); }
            write_last_chunk(&mut out, pairs(&given));
        } else {
            out.extend_from_slice(body.as_bytes());
        }
        let received = Received { status, persistent: length != Length::UntilClose };
        prop_assert_eq!(outcome(cut(&out, &cuts), false), Ok(Ending::Done(received)));
        let head = ResponseHead::parse(&out, false).unwrap().unwrap();
        let (read, ended) = content(head.framing, [&out[head.length..]]).unwrap();
        prop_assert_eq!(read, body.into_bytes());
        prop_assert_eq!(ended, length != Length::UntilClose);
    }

    #[test]
    fn the_writer_writes_nothing_unreadable(method in "\\PC{0,6}", target in "\\PC{0,8}", name in ".{0,6}", value in "(?s).{0,6}") {
        let mut out = b"before".to_vec();
        match write_request(&mut out, &method, &target, "h", [(name.as_str(), value.as_str())], Length::None) {
            Ok(()) => {
                let head = RequestHead::parse(&out[6..]).expect("readable").expect("whole");
                prop_assert_eq!(head.length, out.len() - 6);
                prop_assert_eq!(fields(&out[6..]).count(), 2);
            }
            Err(_) => prop_assert_eq!(out, b"before"),
        }
    }
}
