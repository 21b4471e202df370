//! What Locust says of a failed request, as a kind of failure: what its words name for certain, and nothing else.

use genkai_model::error::ErrorKind;

/// Words of an exception, and what they stand for; the first that are in it count. (requests, urllib3, geventhttpclient and Python's own
/// exceptions, as `repr` writes them: locust 2.47, `locust/clients.py` and `contrib/fasthttp.py`.)
const WORDS: &[(&str, ErrorKind)] = &[
    ("[Errno 111]", ErrorKind::ConnectRefused),
    ("ConnectionRefusedError", ErrorKind::ConnectRefused),
    ("[Errno 99]", ErrorKind::PortsExhausted),
    ("[Errno 24]", ErrorKind::DescriptorsExhausted),
    ("ConnectTimeout", ErrorKind::ConnectTimeout),
    ("[Errno 110]", ErrorKind::ConnectTimeout),
    ("RemoteDisconnected", ErrorKind::Eof),
    ("connection closed", ErrorKind::Eof),
    ("[Errno 104]", ErrorKind::Reset),
    ("ConnectionResetError", ErrorKind::Reset),
    ("BrokenPipeError", ErrorKind::Reset),
    ("IncompleteRead", ErrorKind::Truncated),
    ("ReadTimeout", ErrorKind::Timeout),
    ("timed out", ErrorKind::Timeout),
];

/// The kind of failure that an exception's text names.
pub(super) fn kind(error: &str) -> ErrorKind {
    if let Some(kind) = status(error) {
        return kind;
    }
    WORDS.iter().find(|(words, _)| error.contains(words)).map_or(ErrorKind::Unnamed, |(_, kind)| *kind)
}

/// The status of `HTTPError('500 Server Error: ...')`, and of what FastHttpUser says alike.
fn status(error: &str) -> Option<ErrorKind> {
    let rest = error.split_once("HTTPError(")?.1.trim_start_matches(['\'', '"']);
    let digits = rest.get(..3).filter(|_| !rest[3..].starts_with(|c: char| c.is_ascii_digit()))?;
    ErrorKind::of_status(digits.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_words_name_is_named() {
        let all = [
            ("HTTPError('500 Server Error: Internal Server Error for url: /')", ErrorKind::Status500),
            ("HTTPError('503 Server Error: Service Temporarily Unavailable for url: /a')", ErrorKind::Status503),
            ("HTTPError('404 Client Error: Not Found for url: /b')", ErrorKind::Status4xx),
            (
                "ConnectionError(ProtocolError('Connection aborted.', RemoteDisconnected('Remote end closed connection without response')))",
                ErrorKind::Eof,
            ),
            (
                "ConnectionError(ProtocolError('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer')))",
                ErrorKind::Reset,
            ),
            ("ConnectionRefusedError(111, 'Connection refused')", ErrorKind::ConnectRefused),
            (
                "ReadTimeout(ReadTimeoutError(\"HTTPConnectionPool: Read timed out. (read timeout=1)\"))",
                ErrorKind::Timeout,
            ),
            ("CatchResponseError('the basket is empty')", ErrorKind::Unnamed),
            ("HTTPError('5000')", ErrorKind::Unnamed),
            ("", ErrorKind::Unnamed),
        ];
        for (text, expected) in all {
            assert_eq!(kind(text), expected, "{text}");
        }
    }
}
