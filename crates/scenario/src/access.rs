//! Recorded access logs, in the common and the combined log format
//! (<https://httpd.apache.org/docs/2.4/logs.html#accesslog>: Apache's `common` and `combined`, nginx's `combined`).

use std::collections::HashMap;

/// One line of an access log, as far as it matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged<'t> {
    /// Method.
    pub method: &'t str,
    /// Request target, as the client wrote it.
    pub path: &'t str,
    /// Status of the response.
    pub status: u16,
    /// Bytes of its body; none for `-`.
    pub bytes: Option<u64>,
}

/// A recorded log, ready to be asked for again: paths became numbers, in the order in which they were seen first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Bytes of each object: the most that a whole response of it (200) had.
    pub sizes: Vec<u32>,
    /// Objects, in the order in which they were asked for.
    pub order: Vec<u32>,
    /// Lines that are no request for a whole object: other methods than GET, other statuses than 200 and 304.
    pub skipped: u64,
    /// Lines that are not in the format, and the number of the first, from 1.
    pub strange: (u64, usize),
}

/// Reads one line: `HOST IDENT USER [TIME] "METHOD TARGET PROTOCOL" STATUS BYTES`, and whatever follows. None when it is not that.
pub fn line(text: &str) -> Option<Logged<'_>> {
    // A user's name may have blanks; the time is the first thing in brackets.
    let (before, rest) = text.split_once('[')?;
    if before.split_ascii_whitespace().count() < 3 {
        return None;
    }
    let (_, rest) = rest.split_once("] \"")?;
    let (request, rest) = rest.split_at(closing(rest)?);
    let mut words = request.split(' ');
    let (method, path) = (words.next()?, words.next()?);
    // HTTP/0.9 has no protocol, and nothing has more than one.
    let protocol = words.next();
    if method.is_empty()
        || path.is_empty()
        || protocol.is_some_and(|p| !p.starts_with("HTTP/"))
        || words.next().is_some()
    {
        return None;
    }
    let mut after = rest.strip_prefix("\" ")?.split_ascii_whitespace();
    let status: u16 = after.next()?.parse().ok().filter(|status| (100..600).contains(status))?;
    let bytes = match after.next()? {
        "-" => None,
        number => Some(number.parse().ok()?),
    };
    Some(Logged { method, path, status, bytes })
}

/// Where the quote that ends a text is: `\"` is none.
fn closing(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|c| {
        let ends = c == b'"' && !escaped;
        escaped = c == b'\\' && !escaped;
        ends
    })
}

/// Reads a log, at most `most` requests of it.
pub fn recording(text: &str, most: usize) -> Recording {
    let (mut recording, mut numbers) = (Recording::default(), HashMap::new());
    for (n, text) in text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
        if recording.order.len() >= most {
            break;
        }
        match line(text) {
            None => {
                recording.strange.0 += 1;
                if recording.strange.0 == 1 {
                    recording.strange.1 = n + 1;
                }
            }
            Some(Logged { method: "GET", path, status: status @ (200 | 304), bytes }) => {
                let next = recording.sizes.len() as u32;
                let object = *numbers.entry(path).or_insert(next);
                if object == next {
                    recording.sizes.push(0);
                }
                let size = &mut recording.sizes[object as usize];
                if status == 200 {
                    *size = (*size).max(bytes.unwrap_or(0).min(u64::from(u32::MAX)) as u32);
                }
                recording.order.push(object);
            }
            Some(_) => recording.skipped += 1,
        }
    }
    recording
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const COMMON: &str = r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326"#;

    #[test]
    fn the_examples_of_the_manual_are_read() {
        let combined = format!(r#"{COMMON} "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)""#);
        for text in [COMMON, &combined] {
            let expected = Logged { method: "GET", path: "/apache_pb.gif", status: 200, bytes: Some(2326) };
            assert_eq!(line(text), Some(expected));
        }
        let quoted = r#"::1 - - [x] "GET /a\"b HTTP/1.1" 304 -"#;
        assert_eq!(line(quoted), Some(Logged { method: "GET", path: "/a\\\"b", status: 304, bytes: None }));
        for bad in
            ["", "a", r#"h - - [x] "GET / HTTP/1.1" 999 1"#, r#"h - - [x] "-" 400 0"#, r#"h - - [x] "GET / FTP" 200 1"#]
        {
            assert_eq!(line(bad), None, "{bad}");
        }
    }

    #[test]
    fn objects_are_numbered_as_they_come_and_have_their_largest_size() {
        let one = |method: &str, path: &str, status: u16, bytes: &str| {
            format!("h - - [t] \"{method} {path} HTTP/1.1\" {status} {bytes}\n")
        };
        let log = [
            one("GET", "/a", 200, "10"),
            one("GET", "/b", 304, "-"),
            one("POST", "/a", 200, "99"),
            "nonsense\n".to_owned(),
            one("GET", "/a", 200, "12"),
            one("GET", "/b", 200, "7"),
            one("GET", "/c", 404, "5"),
        ]
        .concat();
        let expected = Recording { sizes: vec![12, 7], order: vec![0, 1, 0, 1], skipped: 2, strange: (1, 4) };
        assert_eq!(recording(&log, 100), expected);
        assert_eq!(recording(&log, 2).order, [0, 1]);
    }

    proptest! {
        /// Whatever is written in the format is read back.
        #[test]
        fn what_is_written_is_read(
            host in "[0-9a-f.:]{1,20}", user in "[a-z -]{1,10}", method in "[A-Z]{1,7}", path in "/[!-~&&[^\"\\\\ ]]{0,40}",
            status in 100u16..600, bytes in proptest::option::of(any::<u64>()), tail in "( \"[a-z \\[\\]]{0,9}\"){0,2}",
        ) {
            prop_assume!(!user.trim().is_empty() && !user.contains('['));
            let size = bytes.map_or("-".to_owned(), |n| n.to_string());
            let text = format!("{host} - {user} [10/Oct/2000:13:55:36 -0700] \"{method} {path} HTTP/1.1\" {status} {size}{tail}");
            prop_assert_eq!(line(&text), Some(Logged { method: &method, path: &path, status, bytes }));
        }

        #[test]
        fn no_text_panics_and_every_line_counts_once(text in "([ -~]{0,60}\n){0,10}") {
            let all = recording(&text, usize::MAX);
            let lines = text.lines().filter(|line| !line.trim().is_empty()).count() as u64;
            prop_assert_eq!(all.order.len() as u64 + all.skipped + all.strange.0, lines);
            prop_assert!(all.order.iter().all(|n| (*n as usize) < all.sizes.len()));
        }
    }
}
