//! What the origin answers: heads made once a second, and a body that is never in memory as a whole.

use std::cell::RefCell;
use std::io::IoSlice;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use genkai_wire::http1::{Length, Version, write_response};

/// Length of the piece of text that bodies repeat.
const PIECE: usize = 64 * 1024;
/// Pieces given to one write call: 512 KiB, more than a socket buffer takes at once.
pub(super) const PIECES: usize = 8;

/// What happens to a connection after an answer, as its head says it (RFC 9112, 9.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// It stays, as is usual in HTTP/1.1.
    Keep,
    /// It stays because an HTTP/1.0 client asked for it.
    KeepOld,
    /// It ends.
    Close,
}

impl Then {
    pub(super) fn after(version: Version, persistent: bool) -> Then {
        match (persistent, version) {
            (false, _) => Then::Close,
            (true, Version::Http11) => Then::Keep,
            (true, Version::Http10) => Then::KeepOld,
        }
    }

    fn field(self) -> Option<(&'static str, &'static str)> {
        match self {
            Then::Keep => None,
            Then::KeepOld => Some(("Connection", "keep-alive")),
            Then::Close => Some(("Connection", "close")),
        }
    }
}

/// The answer to every request that is served.
pub(super) struct Page {
    length: u64,
    piece: Box<[u8]>,
    heads: RefCell<Heads>,
}

/// Heads of one second, by [`Then`].
struct Heads {
    second: u64,
    heads: [Rc<[u8]>; 3],
}

impl Page {
    pub(super) fn new(length: u64) -> Page {
        let piece = b"genkai origin: a body of this size, and nothing in it to read.\n".iter().copied().cycle();
        Page { length, piece: piece.take(PIECE).collect(), heads: RefCell::new(Heads::new(0, length)) }
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Head of the 200 answer, with the date of now.
    pub(super) fn head(&self, then: Then) -> Rc<[u8]> {
        let second = seconds();
        let mut heads = self.heads.borrow_mut();
        if heads.second != second {
            *heads = Heads::new(second, self.length);
        }
        Rc::clone(&heads.heads[then as usize])
    }

    /// Puts the body from `offset` to `end` (as much of it as fits) into `slices`; how many were used.
    pub(super) fn body<'a>(&'a self, mut offset: u64, end: u64, slices: &mut [IoSlice<'a>]) -> usize {
        let mut used = 0;
        while offset < end && used < slices.len() {
            let rest = &self.piece[(offset % PIECE as u64) as usize..];
            let some = &rest[..rest.len().min(usize::try_from(end - offset).unwrap_or(usize::MAX))];
            slices[used] = IoSlice::new(some);
            offset += some.len() as u64;
            used += 1;
        }
        used
    }
}

impl Heads {
    fn new(second: u64, length: u64) -> Heads {
        let head = |then| head(second, 200, "OK", then, length).into();
        Heads { second, heads: [head(Then::Keep), head(Then::KeepOld), head(Then::Close)] }
    }
}

/// A whole answer that is not the page: a status and its reason as text (none of it for HEAD).
pub(super) fn short(status: u16, reason: &str, then: Then, to_head: bool) -> Vec<u8> {
    let text = format!("{status} {reason}\n");
    let mut bytes = head(seconds(), status, reason, then, text.len() as u64);
    if !to_head {
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

fn head(second: u64, status: u16, reason: &str, then: Then, length: u64) -> Vec<u8> {
    let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(second));
    let fields = [("Date", date.as_str()), ("Content-Type", "text/plain"), ("X-Served-By", "genkai-origin")];
    let mut bytes = Vec::with_capacity(256);
    write_response(&mut bytes, status, reason, fields.into_iter().chain(then.field()), Length::Known(length))
        .expect("constant fields are valid");
    bytes
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(page: &Page, mut offset: u64, step: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while offset < page.length() {
            let mut slices = [IoSlice::new(&[]); 3];
            let used = page.body(offset, page.length(), &mut slices);
            // As a socket that takes at most `step` bytes a call.
            let taken: Vec<u8> = slices[..used].iter().flat_map(|slice| slice.iter().copied()).collect();
            let taken = &taken[..taken.len().min(step as usize)];
            bytes.extend_from_slice(taken);
            offset += taken.len() as u64;
        }
        bytes
    }

    #[test]
    fn a_body_is_the_same_however_it_is_cut() {
        for length in [0, 1, PIECE as u64 - 1, PIECE as u64, 5 * PIECE as u64 + 17] {
            let page = Page::new(length);
            let whole = gathered(&page, 0, u64::MAX);
            assert_eq!(whole.len() as u64, length);
            assert_eq!(gathered(&page, 0, 1000), whole);
        }
    }
}
