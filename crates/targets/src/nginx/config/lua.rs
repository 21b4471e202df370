//! Where a block of Lua ends, by the rules of lua-nginx-module's own lexer (`util/gen-lexer-c`): braces count, except in
//! `--` comments, `[[long brackets]]`, `--[==[ long comments ]==]` and strings, which do not span lines.

use memchr::memmem;

/// Offset of the `}` that closes a block whose `{` is right before `start`; none when there is none.
pub(super) fn end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    let mut depth = 0usize;
    while let Some(&byte) = text.get(at) {
        let rest = &text[at..];
        at += match byte {
            b'{' => {
                depth += 1;
                1
            }
            b'}' if depth == 0 => return Some(at),
            b'}' => {
                depth -= 1;
                1
            }
            b'-' if rest.starts_with(b"--") => match long_bracket(&rest[2..]) {
                Some(level) => 2 + long_end(&rest[2..], level)?,
                None => memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
            },
            b'[' => match long_bracket(rest) {
                Some(level) => long_end(rest, level)?,
                None => 1,
            },
            b'"' | b'\'' => string(rest).unwrap_or(1),
            _ => 1,
        };
    }
    None
}

/// Number of `=` of the long bracket that `text` begins with.
fn long_bracket(text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(b"[")?;
    let level = rest.iter().take_while(|&&b| b == b'=').count();
    (rest.get(level) == Some(&b'[')).then_some(level)
}

/// Length of the long bracket that `text` begins with, its closing one included.
fn long_end(text: &[u8], level: usize) -> Option<usize> {
    let mut close = vec![b'='; level + 2];
    close[0] = b']';
    close[level + 1] = b']';
    let from = level + 2;
    memmem::find(&text[from..], &close).map(|at| from + at + close.len())
}

/// Length of the string that `text` begins with; none when it is not closed on its line.
fn string(text: &[u8]) -> Option<usize> {
    let quote = text[0];
    let mut at = 1;
    loop {
        match text.get(at)? {
            b'\n' => return None,
            b'\\' if *text.get(at + 1)? == b'\n' => return None,
            b'\\' => at += 2,
            b if *b == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::end;

    fn rest(lua: &str) -> Option<&str> {
        end(lua.as_bytes(), 0).map(|at| &lua[at..])
    }

    #[test]
    fn braces_count_only_as_code() {
        assert_eq!(rest("}x"), Some("}x"));
        assert_eq!(rest(" a = { 1, { 2 } } } tail"), Some("} tail"));
        assert_eq!(rest(" s = \"}\" t = '}' } tail"), Some("} tail"));
        assert_eq!(rest(" s = \"\\\"}\" } tail"), Some("} tail"));
        assert_eq!(rest(" -- } { \n } tail"), Some("} tail"));
        assert_eq!(rest(" s = [[ } ]] } tail"), Some("} tail"));
        assert_eq!(rest(" s = [==[ ]] } ]==] } tail"), Some("} tail"));
        assert_eq!(rest(" --[[ } \n } ]] } tail"), Some("} tail"));
        assert_eq!(rest(" --[=x } \n } tail"), Some("} tail"));
        assert_eq!(rest(" t[a[1]] = '}' } tail"), Some("} tail"));
    }

    #[test]
    fn a_string_ends_with_its_line() {
        // Not Lua, but the module's lexer goes on after the lone quote, and so must this one.
        assert_eq!(rest(" it's\n } tail"), Some("} tail"));
    }

    #[test]
    fn an_open_end_is_none() {
        for open in ["", " { }", " [[ } ", " --[[ } ", " \" } "] {
            let expected = if open == " \" } " { Some("} ") } else { None };
            assert_eq!(rest(open), expected, "{open:?}");
        }
    }
}
