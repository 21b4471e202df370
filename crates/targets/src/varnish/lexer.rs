//! The words of VCL: names, strings, signs; comments and inline C are passed over (lib/libvcc/vcc_lex.l, vcc_token.c).

use std::ops::Range;

/// A word of VCL with its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Range<usize>,
}

/// What a word is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or a number with its unit, e.g. `sub`, `3.5s`.
    Word(String),
    /// What stands between quotes.
    Text(String),
    /// Any other sign.
    Sign(u8),
}

impl Token {
    /// Whether it is this sign.
    pub(super) fn is(&self, sign: u8) -> bool {
        self.kind == Kind::Sign(sign)
    }

    /// The name that it is.
    pub(super) fn word(&self) -> Option<&str> {
        match &self.kind {
            Kind::Word(word) => Some(word),
            _ => None,
        }
    }

    /// The text that it is.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// What is passed over, and the long strings: how each begins and ends.
const LONG: [(&[u8], &[u8], bool); 6] = [
    (b"#", b"\n", false),
    (b"//", b"\n", false),
    (b"/*", b"*/", false),
    (b"C{", b"}C", false),
    (b"{\"", b"\"}", true),
    (b"\"\"\"", b"\"\"\"", true),
];

/// All words of a text. What is never closed goes on to its end.
pub(super) fn tokens(text: &[u8]) -> Vec<Token> {
    let (mut all, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let rest = &text[at..];
        let (kind, length) = match LONG.iter().find(|(begins, ..)| rest.starts_with(begins)) {
            Some((begins, ends, is_text)) => {
                let inside = &rest[begins.len()..];
                let end = memchr::memmem::find(inside, ends).unwrap_or(inside.len());
                let kind = is_text.then(|| Kind::Text(String::from_utf8_lossy(&inside[..end]).into_owned()));
                (kind, (begins.len() + end + ends.len()).min(rest.len()))
            }
            None => short(rest),
        };
        all.extend(kind.map(|kind| Token { kind, span: at..at + length }));
        at += length;
    }
    all
}

/// The word that a text begins with, and its length; none for space.
fn short(rest: &[u8]) -> (Option<Kind>, usize) {
    let is_word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    match rest[0] {
        b if b.is_ascii_whitespace() => (None, 1),
        b'"' => {
            let end = rest[1..].iter().position(|b| matches!(b, b'"' | b'\n')).unwrap_or(rest.len() - 1);
            (Some(Kind::Text(String::from_utf8_lossy(&rest[1..=end]).into_owned())), (end + 2).min(rest.len()))
        }
        b if b.is_ascii_alphanumeric() || b == b'_' => {
            let length = rest.iter().take_while(|b| is_word(b)).count();
            (Some(Kind::Word(String::from_utf8_lossy(&rest[..length]).into_owned())), length)
        }
        sign => (Some(Kind::Sign(sign)), 1),
    }
}

/// Where the brace that words begin with is closed.
pub(super) fn closing(all: &[Token]) -> Option<usize> {
    let mut depth = 0_usize;
    all.iter().position(|token| {
        depth = if token.is(b'{') { depth + 1 } else { depth - usize::from(token.is(b'}') && depth > 0) };
        depth == 0
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn comments_and_inline_code_are_passed_over() {
        let text = br#"a # backend x
// y
/* "z */ .host = "h#1"; {"long " text"} """more""" C{ int x; }C 3.5s"#;
        let all: Vec<Kind> = tokens(text).into_iter().map(|token| token.kind).collect();
        let (word, said) = (|w: &str| Kind::Word(w.to_owned()), |t: &str| Kind::Text(t.to_owned()));
        let expected = [
            word("a"),
            Kind::Sign(b'.'),
            word("host"),
            Kind::Sign(b'='),
            said("h#1"),
            Kind::Sign(b';'),
            said("long \" text"),
            said("more"),
            word("3.5s"),
        ];
        assert_eq!(all, expected);
    }

    proptest! {
        #[test]
        fn no_text_panics_and_spans_ascend(text in "[ab.\"{}#/*C\n ;]{0,40}") {
            let all = tokens(text.as_bytes());
            prop_assert!(all.windows(2).all(|two| two[0].span.end <= two[1].span.start));
            prop_assert!(all.iter().all(|one| one.span.end <= text.len() && !one.span.is_empty()));
        }
    }
}
