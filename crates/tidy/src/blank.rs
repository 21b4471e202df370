//! Blanks parts of Rust source: what is left keeps its bytes' positions, so that lines can be counted and told.

/// Where a piece of source ends that starts at `at`, and what it is.
enum Piece {
    Comment(usize),
    Text(usize),
    Code(usize),
}

/// The source with comments blanked, and the same with strings blanked too.
pub(crate) fn blanked(source: &str) -> (String, String) {
    let bytes = source.as_bytes();
    let (mut kept, mut code) = (bytes.to_vec(), bytes.to_vec());
    let mut at = 0;
    while at < bytes.len() {
        at = match piece(bytes, at) {
            Piece::Comment(end) => {
                blank(&mut kept[at..end]);
                blank(&mut code[at..end]);
                end
            }
            Piece::Text(end) => {
                blank(&mut code[at..end]);
                end
            }
            Piece::Code(end) => end,
        };
    }
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("whole characters are blanked");
    (text(kept), text(code))
}

/// Spaces instead of everything but line ends.
pub(crate) fn blank(bytes: &mut [u8]) {
    bytes.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
}

fn piece(bytes: &[u8], at: usize) -> Piece {
    let rest = &bytes[at..];
    match rest[0] {
        b'/' if rest.starts_with(b"//") => {
            Piece::Comment(at + rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len()))
        }
        b'/' if rest.starts_with(b"/*") => Piece::Comment(at + nested_comment(rest)),
        b'"' => Piece::Text(at + quoted(rest, b'"')),
        b'\'' => character(rest).map_or(Piece::Code(at + 1), |length| Piece::Text(at + length)),
        b'r' if at == 0 || !is_word(bytes[at - 1]) || raw_prefix(bytes, at) => {
            raw(rest).map_or(Piece::Code(at + 1), |length| Piece::Text(at + length))
        }
        _ => Piece::Code(at + 1),
    }
}

/// Whether the letter before `at` is the `b` or `c` of a raw string.
fn raw_prefix(bytes: &[u8], at: usize) -> bool {
    matches!(bytes[at - 1], b'b' | b'c') && (at < 2 || !is_word(bytes[at - 2]))
}

pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn nested_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    at
}

fn quoted(rest: &[u8], end: u8) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != end {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// The length of a character literal; none is a lifetime.
fn character(rest: &[u8]) -> Option<usize> {
    let first = *rest.get(1)?;
    if first == b'\\' {
        return Some(quoted(rest, b'\''));
    }
    let length = match first {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    };
    (rest.get(1 + length) == Some(&b'\'')).then_some(length + 2)
}

/// The length of a raw string; none is a raw identifier or a word that starts with r.
fn raw(rest: &[u8]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|&&b| b == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return None;
    }
    let end = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
    let body = 2 + hashes;
    let length = rest[body..].windows(end.len()).position(|window| window == end)?;
    Some(body + length + end.len())
}

/// Where each item that is compiled for tests only starts and ends.
pub(crate) fn test_items(code: &str) -> Vec<(usize, usize)> {
    const MARK: &str = "#[cfg(test)]";
    let mut items = Vec::new();
    let mut from = 0;
    while let Some(found) = code[from..].find(MARK) {
        let start = from + found;
        let end = item_end(code.as_bytes(), start + MARK.len());
        items.push((start, end));
        from = end;
    }
    items
}

/// Where the item ends that starts at `at`, attributes first: after its block or its semicolon.
fn item_end(code: &[u8], mut at: usize) -> usize {
    let mut depth = 0usize;
    let mut block = false;
    while at < code.len() {
        match code[at] {
            b'{' | b'(' | b'[' => {
                block |= code[at] == b'{' && depth == 0;
                depth += 1;
            }
            b'}' | b')' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && block && code[at] == b'}' {
                    return at + 1;
                }
            }
            b';' if depth == 0 => return at + 1,
            _ => {}
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_blanked_and_lifetimes_are_not() {
        let source = "let a = \"x // y\"; // gone\nfn f<'a>(c: char) { c == '\"' || c == '\\'' } /* a /* b */ c */ let b = r#\"q\"w\"#;\n";
        let (kept, code) = blanked(source);
        assert_eq!((kept.len(), code.len()), (source.len(), source.len()));
        assert!(kept.contains("x // y") && !kept.contains("gone") && !kept.contains("b */"), "{kept}");
        assert!(code.contains("fn f<'a>(c: char) { c ==") && !code.contains('"') && !code.contains("x //"), "{code}");
    }

    #[test]
    fn items_for_tests_end_with_their_block_or_semicolon() {
        let code =
            "#[cfg(test)]\nmod tests;\nfn a() {}\n#[cfg(test)]\n#[rustfmt::skip]\nmod b {\n fn c() {}\n}\nfn d() {}\n";
        let items: Vec<&str> = test_items(code).into_iter().map(|(start, end)| &code[start..end]).collect();
        assert_eq!(items.len(), 2, "{items:?}");
        assert!(items[0].ends_with("mod tests;") && items[1].ends_with("fn c() {}\n}"), "{items:?}");
    }
}
