//! A head seen before.

use super::{Error, ResponseHead};

/// Longer heads are not remembered.
const LONGEST: usize = 4 * 1024;

/// Remembers the last response head. A server that is asked for one thing over and over answers with one head over and
/// over (its Date changes once a second), and the same bytes mean the same.
#[derive(Debug, Default)]
pub struct Memo {
    bytes: Vec<u8>,
    last: Option<(bool, ResponseHead)>,
}

impl Memo {
    /// As [`ResponseHead::parse`].
    ///
    /// # Errors
    /// Those of [`ResponseHead::parse`].
    #[inline]
    pub fn parse(&mut self, bytes: &[u8], to_head: bool) -> Result<Option<ResponseHead>, Error> {
        if let Some((for_head, head)) = self.last
            && for_head == to_head
            && bytes.starts_with(&self.bytes)
        {
            return Ok(Some(head));
        }
        self.learn(bytes, to_head)
    }

    #[cold]
    fn learn(&mut self, bytes: &[u8], to_head: bool) -> Result<Option<ResponseHead>, Error> {
        let parsed = ResponseHead::parse(bytes, to_head)?;
        if let Some(head) = parsed.filter(|head| head.length <= LONGEST) {
            self.bytes.clear();
            self.bytes.extend_from_slice(&bytes[..head.length]);
            self.last = Some((to_head, head));
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADS: [&[u8]; 6] = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\n",
    ];

    proptest! {
        /// Whatever was seen before, and however much of a head is there.
        #[test]
        fn it_never_says_anything_else_than_the_parser(
            seen in proptest::collection::vec((0..HEADS.len(), any::<bool>(), 0usize..60, any::<bool>()), 1..30)
        ) {
            let mut memo = Memo::default();
            for (which, to_head, cut, body) in seen {
                let mut bytes = HEADS[which].to_vec();
                bytes.truncate(if body { bytes.len() } else { cut });
                if body {
                    bytes.extend_from_slice(b"hello HTTP/1.1");
                }
                prop_assert_eq!(memo.parse(&bytes, to_head), ResponseHead::parse(&bytes, to_head));
            }
        }
    }

    #[test]
    fn a_long_head_is_not_kept() {
        let mut memo = Memo::default();
        let long = format!("HTTP/1.1 204 No Content\r\nX: {}\r\n\r\n", "x".repeat(2 * LONGEST));
        assert!(memo.parse(long.as_bytes(), false).unwrap().is_some());
        assert!(memo.bytes.is_empty());
    }
}
