//! Bytes of a server: a response and what follows it.
#![no_main]

use genkai_wire::http1::{BodyDecoder, Ending, Error, Framing, Progress, Received, ResponseHead, ResponseReader, fields};
use libfuzzer_sys::fuzz_target;

/// To what the bytes are a response: bit 0, to HEAD; bit 1, to a request that asks for an upgrade.
fn reader(flags: u8) -> ResponseReader {
    let reader = ResponseReader::new(flags & 1 != 0);
    if flags & 2 != 0 { reader.upgrading() } else { reader }
}

fn outcome<'a>(slices: impl IntoIterator<Item = &'a [u8]>, flags: u8) -> Result<Ending, Error> {
    let (mut reader, mut done) = (reader(flags), None);
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

fn content<'a>(framing: Framing, slices: impl IntoIterator<Item = &'a [u8]>) -> Result<(Vec<u8>, bool), Error> {
    let (mut decoder, mut all) = (BodyDecoder::new(framing), Vec::new());
    for slice in slices {
        let mut at = 0;
        while at < slice.len() && !decoder.done() {
            let part = decoder.decode(&slice[at..])?;
            assert!(part.framing + part.data > 0, "no progress");
            all.extend_from_slice(&slice[at + part.framing..][..part.data]);
            at += part.framing + part.data;
        }
    }
    Ok((all, decoder.done()))
}

fuzz_target!(|data: &[u8]| {
    let Some((flags, bytes)) = data.split_first() else { return };
    let to_head = flags & 1 != 0;
    let whole = outcome([bytes], *flags);
    let (a, b) = bytes.split_at(bytes.len() / 3);
    assert_eq!(outcome([a, b], *flags), whole);
    if bytes.len() < 1000 {
        assert_eq!(outcome(bytes.chunks(1), *flags), whole);
    }
    if let Ok(Some(head)) = ResponseHead::parse(bytes, to_head) {
        assert!(head.length <= bytes.len() && (100..=999).contains(&head.status));
        let _ = fields(&bytes[..head.length]).count();
        let body = &bytes[head.length..];
        assert_eq!(content(head.framing, [body]), content(head.framing, body.chunks(1)));
    }
    assert_eq!(content(Framing::Chunked, [bytes]), content(Framing::Chunked, bytes.chunks(1)));
});
