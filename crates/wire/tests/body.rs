//! Bodies and whole responses.

use genkai_wire::http1::{
    BodyDecoder, Ending, Error, Framing, MAX_CHUNK_LINE, MAX_HEAD, MAX_INTERIM, Part, Progress, Received,
    ResponseReader,
};

fn skip(framing: Framing, input: &[u8]) -> Result<(usize, bool), Error> {
    BodyDecoder::new(framing).skip(input)
}

fn receive(text: &str) -> Result<Progress, Error> {
    ResponseReader::new(false).receive(text.as_bytes())
}

const OK: Progress = Progress::Done(Received { status: 200, persistent: true });

#[test]
fn a_length_ends_where_it_says() {
    assert_eq!(skip(Framing::Length(3), b"abcdef"), Ok((3, true)));
    assert_eq!(skip(Framing::Length(3), b"ab"), Ok((2, false)));
    assert_eq!(skip(Framing::Empty, b"abc"), Ok((0, true)));
    assert_eq!(skip(Framing::UntilClose, b"abc"), Ok((3, false)));
    assert_eq!(skip(Framing::Length(i64::MAX as u64), b"abc"), Ok((3, false)));
}

#[test]
fn chunks_with_extensions_and_trailers() {
    let body = b"5;a=b;c=\"d;e\"\r\nhello\r\n00a \t\r\n, world!!!\r\n0\r\nX-Sum: 1\r\nContent-Length: 9\r\n\r\nnext";
    let end = body.len() - 4;
    assert_eq!(skip(Framing::Chunked, body), Ok((end, true)));
    let mut decoder = BodyDecoder::new(Framing::Chunked);
    assert_eq!(decoder.decode(body), Ok(Part { framing: 15, data: 5, done: false }));
    let mut content = Vec::new();
    let (mut at, mut decoder) = (0, BodyDecoder::new(Framing::Chunked));
    while !decoder.done() {
        let part = decoder.decode(&body[at..]).unwrap();
        content.extend_from_slice(&body[at + part.framing..][..part.data]);
        at += part.framing + part.data;
    }
    assert_eq!(content, b"hello, world!!!");
}

#[test]
fn chunk_nonsense_has_a_name() {
    let line = format!("1;{}\r\n", "x".repeat(MAX_CHUNK_LINE));
    let cases: &[(&[u8], Error)] = &[
        (b"\r\n", Error::ChunkSize),
        (b"-1\r\n", Error::ChunkSize),
        (b"0x5\r\n", Error::ChunkSize),
        (b" 5\r\n", Error::ChunkSize),
        (b"5 5\r\n", Error::ChunkSize),
        (b"8000000000000000\r\n", Error::ChunkSize),
        (b"fffffffffffffffff\r\n", Error::ChunkSize),
        (b"5\nhello", Error::ChunkSize),
        (b"5;a\nb\r\n", Error::ChunkEnd),
        (b"5\rhello", Error::ChunkEnd),
        (b"5\r\nhelloo\r\n", Error::ChunkEnd),
        (b"5\r\nhello\n", Error::ChunkEnd),
        (b"0\r\n folded\r\n\r\n", Error::ObsFold),
        (b"0\r\nA: b\r\n fol\0ded\r\n\r\n", Error::Nul),
        (b"0\r\nA b\r\n\r\n", Error::FieldName),
        (b"0\r\nA:\0\r\n\r\n", Error::Nul),
        (b"0\r\nA: b\rc\r\n\r\n", Error::BareCr),
        (line.as_bytes(), Error::ChunkLineTooLong),
    ];
    for (body, error) in cases {
        assert_eq!(skip(Framing::Chunked, body), Err(*error), "{:?}", String::from_utf8_lossy(body));
    }
    let folded = b"0\r\nA: b\r\n folded\r\n\tagain\r\nB: c\r\n\r\n";
    assert_eq!(skip(Framing::Chunked, folded), Ok((folded.len(), true)), "a trailer that goes on");
    assert_eq!(skip(Framing::Chunked, b"7fffffffffffffff\r\nabc"), Ok((21, false)), "2^63 - 1 is a size");
    let long = format!("0\r\nA: {}\r\n\r\n", "x".repeat(MAX_HEAD));
    assert_eq!(skip(Framing::Chunked, long.as_bytes()), Err(Error::HeadTooLong));
    let many = format!("0\r\n{}\r\n", "A: b\r\n".repeat(40_000));
    assert_eq!(skip(Framing::Chunked, many.as_bytes()), Ok((many.len(), true)), "as many trailers as fit");
}

#[test]
fn interim_responses_are_passed_over() {
    let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(receive(text), Ok(OK));
    let endless = "HTTP/1.1 100 Continue\r\n\r\n".repeat(usize::from(MAX_INTERIM) + 1);
    assert_eq!(receive(&endless), Err(Error::TooManyInterim));
    assert_eq!(receive(&"HTTP/1.1 100 Continue\r\n\r\n".repeat(usize::from(MAX_INTERIM))), Ok(Progress::More));
}

#[test]
fn an_upgrade_must_be_asked_for() {
    let text = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n";
    assert_eq!(receive(text), Err(Error::Unasked));
    let switched = Progress::Done(Received { status: 101, persistent: false });
    assert_eq!(ResponseReader::new(false).upgrading().receive(text.as_bytes()), Ok(switched));
}

#[test]
fn what_follows_a_response_is_no_part_of_it_and_spoils_the_connection() {
    let whole = |status: u16| Ok(Progress::Done(Received { status, persistent: false }));
    assert_eq!(receive("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab"), whole(200));
    assert_eq!(receive("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na\r\n"), whole(200));
    assert_eq!(receive("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nx"), whole(200));
    assert_eq!(receive("HTTP/1.1 204 No\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"), whole(204));
    let mut reader = ResponseReader::new(false);
    assert_eq!(reader.receive(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), Ok(OK));
    assert!(!reader.surplus());
    assert_eq!(reader.receive(b"x"), Err(Error::Surplus));
    let told = |text: &str| {
        let mut reader = ResponseReader::new(false);
        reader.receive(text.as_bytes()).unwrap();
        reader.surplus()
    };
    assert!(told("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab"));
    assert!(!told("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"));
    assert!(!told("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nab"), "not kept anyway");
}

#[test]
fn closing_means_what_was_seen_before() {
    let closed_after = |text: &str| {
        let mut reader = ResponseReader::new(false);
        assert_eq!(reader.receive(text.as_bytes()), Ok(Progress::More), "{text:?}");
        reader.close()
    };
    assert_eq!(closed_after(""), Ending::Nothing);
    assert_eq!(closed_after("HTTP/1.1 20"), Ending::Truncated);
    assert_eq!(closed_after("HTTP/1.1 100 Continue\r\n\r\n"), Ending::Truncated);
    assert_eq!(closed_after("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na"), Ending::Truncated);
    assert_eq!(closed_after("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"), Ending::Truncated);
    let whole = Ending::Done(Received { status: 200, persistent: false });
    assert_eq!(closed_after("HTTP/1.1 200 OK\r\nServer: old\r\n\r\nsome body"), whole);
    assert_eq!(closed_after("HTTP/1.1 200 OK\r\n\r\n"), whole);
}
