//! Heads: what is accepted, what is refused, and by which name.

use genkai_wire::http1::{Error, Framing, MAX_HEAD, RequestHead, ResponseHead, Version, fields};

fn response(head: &str) -> Result<Option<ResponseHead>, Error> {
    ResponseHead::parse(head.as_bytes(), false)
}

fn framing(fields: &str) -> Result<Framing, Error> {
    response(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n")).map(|head| head.expect("a whole head").framing)
}

fn persistent(version: &str, connection: &str) -> bool {
    let head = format!("{version} 200 OK\r\nContent-Length: 0\r\n{connection}\r\n");
    response(&head).expect("valid").expect("whole").persistent
}

#[test]
fn a_usual_response() {
    let text = "HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Length: 5\r\n\r\nhello";
    let head = response(text).unwrap().unwrap();
    assert_eq!(head.status, 200);
    assert_eq!(head.version, Version::Http11);
    assert_eq!(&text[head.length..], "hello");
    assert_eq!(head.framing, Framing::Length(5));
    assert!(head.persistent);
    let all: Vec<_> = fields(&text.as_bytes()[..head.length]).skip(1).collect();
    assert_eq!(all, [(&b"Content-Length"[..], &b"5"[..])]);
}

#[test]
fn fields_start_after_the_start_line() {
    let text = b"HTTP/1.1 200 OK\r\nServer:  nginx \t\r\nX:\r\n\r\n";
    let all: Vec<_> = fields(text).collect();
    assert_eq!(all, [(&b"Server"[..], &b"nginx"[..]), (b"X", b"")]);
    let request = b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(fields(request).collect::<Vec<_>>(), [(&b"Host"[..], &b"a"[..])]);
}

#[test]
fn what_servers_send_and_the_rfc_lets_pass() {
    assert_eq!(response("HTTP/1.1 200\n\n").unwrap().unwrap().status, 200, "no reason, lone LF");
    assert_eq!(response("HTTP/1.1 404 \r\n\r\n").unwrap().unwrap().status, 404);
    assert_eq!(framing("Content-Length: 5\r\ncontent-length: 5\r\n"), Ok(Framing::Length(5)));
    assert_eq!(framing("Content-Length: 5, 5\r\n"), Ok(Framing::Length(5)));
    assert_eq!(framing("Transfer-Encoding: gzip, chunked\r\n"), Ok(Framing::Chunked));
    assert_eq!(framing("Transfer-Encoding: gzip\r\ntransfer-encoding:CHUNKED\r\n"), Ok(Framing::Chunked));
    assert_eq!(framing("Transfer-Encoding: gzip\r\n"), Ok(Framing::UntilClose));
    assert_eq!(framing(""), Ok(Framing::UntilClose));
    assert_eq!(response("HTTP/1.7 200 OK\r\n\r\n").unwrap().unwrap().version, Version::Http11);
}

#[test]
fn statuses_without_a_body() {
    for status in [100, 101, 103, 204, 304] {
        let head = response(&format!("HTTP/1.1 {status} X\r\nContent-Length: 7\r\n\r\n")).unwrap().unwrap();
        assert_eq!(head.framing, Framing::Empty, "{status}");
        assert_eq!(head.interim(), status == 100 || status == 103);
    }
    let head = ResponseHead::parse(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", true).unwrap().unwrap();
    assert_eq!(head.framing, Framing::Empty);
    assert!(head.persistent);
}

#[test]
fn persistence_by_version_and_option() {
    assert!(persistent("HTTP/1.1", ""));
    assert!(!persistent("HTTP/1.0", ""));
    assert!(persistent("HTTP/1.0", "Connection: Keep-Alive\r\n"));
    assert!(!persistent("HTTP/1.1", "Connection: foo, CLOSE\r\n"));
    assert!(!persistent("HTTP/1.1", "Connection: keep-alive\r\nConnection: close\r\n"), "close wins");
    assert!(!response("HTTP/1.1 200 OK\r\n\r\n").unwrap().unwrap().persistent, "until close");
    assert!(!response("HTTP/1.1 101 Switching\r\n\r\n").unwrap().unwrap().persistent);
}

#[test]
fn a_folded_line_of_a_response_means_what_it_means_on_one_line() {
    let folded = "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\t\r\nContent-Length:\r\n 3\r\nConnection: foo,\n\tclose\r\n\r\n";
    let head = response(folded).unwrap().unwrap();
    assert_eq!((head.framing, head.persistent, head.length), (Framing::Length(3), false, folded.len()));
    for cut in 0..folded.len() {
        assert_eq!(response(&folded[..cut]), Ok(None), "{:?} may still go on", &folded[..cut]);
    }
    let names: Vec<&[u8]> = fields(folded.as_bytes()).map(|(name, _)| name).collect();
    assert_eq!(names, [&b"X"[..], b"Content-Length", b"Connection"], "what comes after a fold is seen");
}

#[test]
fn nonsense_in_responses_has_a_name() {
    let cases: &[(&str, Error)] = &[
        ("SSH-2.0-OpenSSH\r\n", Error::NotHttp),
        ("HTTP/2 200 OK\r\n\r\n", Error::NotHttp),
        ("HTTP/1.1 20 OK\r\n\r\n", Error::StatusLine),
        ("HTTP/1.1 099 OK\r\n\r\n", Error::StatusLine),
        ("HTTP/1.1 2000 OK\r\n\r\n", Error::StatusLine),
        ("HTTP/1.x 200 OK\r\n\r\n", Error::StatusLine),
        ("HTTP/1.1  200 OK\r\n\r\n", Error::StatusLine),
        ("HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n", Error::BareCr),
        ("HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n", Error::Nul),
        ("HTTP/1.1 200 OK\r\n folded\r\n\r\n", Error::ObsFold),
        ("HTTP/1.1 200 OK\r\nA: b\r\n fol\0ded\r\n\r\n", Error::Nul),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 2\r\n\r\n", Error::ContentLength),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked,\r\n chunked\r\n\r\n", Error::TransferEncoding),
        ("HTTP/1.1 200 OK\r\nA : b\r\n\r\n", Error::FieldName),
        ("HTTP/1.1 200 OK\r\n: b\r\n\r\n", Error::FieldName),
        ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", Error::FieldName),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", Error::ContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", Error::ContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n", Error::ContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0x10\r\n\r\n", Error::ContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1,\r\n\r\n", Error::ContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\n", Error::ContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n", Error::ContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", Error::ContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n", Error::ContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", Error::TwoFramings),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 1\r\n\r\n", Error::TwoFramings),
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Error::TransferEncoding),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n\r\n", Error::TransferEncoding),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", Error::TransferEncoding),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked;x=y\r\n\r\n", Error::TransferEncoding),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: \x0bchunked\r\n\r\n", Error::TransferEncoding),
    ];
    for (text, error) in cases {
        assert_eq!(response(text), Err(*error), "{text:?}");
    }
}

#[test]
fn heads_are_bounded() {
    let long = format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "x".repeat(MAX_HEAD));
    assert_eq!(response(&long), Err(Error::HeadTooLong));
    assert_eq!(response(&long[..MAX_HEAD - 1]), Ok(None), "not yet certain");
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(40_000));
    assert!(many.len() < MAX_HEAD && response(&many).unwrap().is_some(), "as many fields as fit");
    assert!(Error::HeadTooLong.exceeds() && !Error::NotHttp.exceeds(), "whose limit it is");
}

#[test]
fn a_usual_request() {
    let text = b"POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-Continue\r\n\r\nabc";
    let head = RequestHead::parse(text).unwrap().unwrap();
    assert_eq!((head.method, head.target), (&b"POST"[..], &b"/a?b=c"[..]));
    assert_eq!(head.framing, Framing::Length(3));
    assert!(head.persistent && head.expects_continue);
    assert_eq!(&text[head.length..], b"abc");
    let old = RequestHead::parse(b"\r\nGET / HTTP/1.0\r\n\r\n").unwrap().unwrap();
    assert!(!old.persistent);
    assert_eq!((old.length, old.framing), (20, Framing::Empty));
}

#[test]
fn nonsense_in_requests_has_a_name() {
    let cases: &[(&[u8], Error)] = &[
        (b"\x16\x03\x01\0\0", Error::NotHttp),
        (b"\0", Error::NotHttp),
        (b"GET /\r\n\r\n", Error::RequestLine),
        (b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", Error::RequestLine),
        (b"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", Error::RequestLine),
        (b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", Error::RequestLine),
        (b"GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", Error::RequestLine),
        (b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", Error::RequestLine),
        (b"GET / HTTP/1.10\r\nHost: a\r\n\r\n", Error::RequestLine),
        (b"G@T / HTTP/1.1\r\nHost: a\r\n\r\n", Error::RequestLine),
        (b"GET / HTTP/1.1\r\n\r\n", Error::Host),
        (b"GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", Error::Host),
        (b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", Error::TransferEncoding),
        (b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", Error::TransferEncoding),
        (b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n", Error::TwoFramings),
    ];
    for (text, error) in cases {
        assert_eq!(RequestHead::parse(text), Err(*error), "{:?}", String::from_utf8_lossy(text));
    }
}
