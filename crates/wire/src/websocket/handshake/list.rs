//! Comma-separated lists in fields (RFC 9110 section 5.6.1, RFC 6455 section 9.1).

use std::borrow::Cow;

use crate::http1::fields;

/// Characters of a token (RFC 9110 section 5.6.2).
fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

/// Whether `text` is a token.
pub(super) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_token_char)
}

/// The values of all fields of this name in a head. One that is not UTF-8 counts as empty: no token has such bytes.
pub(super) fn values<'a>(head: &'a [u8], name: &'static str) -> impl Iterator<Item = &'a str> {
    let named = move |(field, _): &(&[u8], &[u8])| field.eq_ignore_ascii_case(name.as_bytes());
    fields(head).filter(named).map(|(_, value)| std::str::from_utf8(value).unwrap_or_default())
}

/// The elements of the lists in all fields of this name; empty elements are nothing.
pub(super) fn elements<'a>(head: &'a [u8], name: &'static str) -> impl Iterator<Item = &'a str> {
    let parts = values(head, name).flat_map(|value| value.split(','));
    parts.map(|element| element.trim_matches([' ', '\t'])).filter(|element| !element.is_empty())
}

/// Whether a list has this element, whatever its case.
pub(super) fn has(head: &[u8], name: &'static str, element: &str) -> bool {
    elements(head, name).any(|one| one.eq_ignore_ascii_case(element))
}

/// The value of a field that must be there once.
pub(super) fn single<'a>(head: &'a [u8], name: &'static str) -> Option<&'a str> {
    let mut values = values(head, name);
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

/// One extension of a Sec-WebSocket-Extensions field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Extension<'a> {
    pub(super) name: &'a str,
    parameters: Vec<(&'a str, Option<Cow<'a, str>>)>,
}

impl<'a> Extension<'a> {
    /// Its parameters, in order.
    pub(super) fn parameters(&self) -> impl Iterator<Item = (&'a str, Option<&str>)> {
        self.parameters.iter().map(|(name, value)| (*name, value.as_deref()))
    }
}

/// All extensions in a head, in order; `None` when they are malformed.
pub(super) fn extensions(head: &[u8]) -> Option<Vec<Extension<'_>>> {
    let mut all = Vec::new();
    for value in values(head, "sec-websocket-extensions") {
        let mut text = Text(value);
        text.spaces();
        // Empty elements are tolerated in lists, an empty field is none (RFC 9110 section 5.6.1.2).
        while !text.0.is_empty() {
            if !text.taken(',') {
                all.push(text.extension()?);
                if !text.0.is_empty() && !text.taken(',') {
                    return None;
                }
            }
        }
    }
    Some(all)
}

/// What is left to parse.
struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    fn spaces(&mut self) {
        self.0 = self.0.trim_start_matches([' ', '\t']);
    }

    /// Takes this character and white space after it, if it comes next.
    fn taken(&mut self, c: char) -> bool {
        let Some(rest) = self.0.strip_prefix(c) else { return false };
        self.0 = rest;
        self.spaces();
        true
    }

    fn token(&mut self) -> Option<&'a str> {
        let end = self.0.find(|c| !is_token_char(c)).unwrap_or(self.0.len());
        let (token, rest) = self.0.split_at(end);
        self.0 = rest;
        self.spaces();
        (!token.is_empty()).then_some(token)
    }

    /// `extension-token *( ";" extension-param )`.
    fn extension(&mut self) -> Option<Extension<'a>> {
        let mut extension = Extension { name: self.token()?, parameters: Vec::new() };
        while self.taken(';') {
            let name = self.token()?;
            let value = if self.taken('=') { Some(self.value()?) } else { None };
            extension.parameters.push((name, value));
        }
        Some(extension)
    }

    /// A token, or a quoted string that is one after unescaping (RFC 6455 section 9.1).
    fn value(&mut self) -> Option<Cow<'a, str>> {
        let Some(quoted) = self.0.strip_prefix('"') else { return self.token().map(Cow::Borrowed) };
        let mut value = String::new();
        let mut characters = quoted.char_indices();
        loop {
            match characters.next()? {
                (end, '"') => {
                    self.0 = &quoted[end + 1..];
                    self.spaces();
                    return is_token(&value).then_some(Cow::Owned(value));
                }
                (_, '\\') => value.push(characters.next()?.1),
                (_, c) => value.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(field: &str) -> Option<String> {
        let head = format!("HTTP/1.1 101 x\r\nSec-WebSocket-Extensions: {field}\r\n\r\n");
        let all = extensions(head.as_bytes())?;
        let text = all.iter().map(|one| {
            let parameters = one.parameters().map(|(name, value)| format!(" {name}={}", value.unwrap_or("-")));
            format!("{}{}", one.name, parameters.collect::<String>())
        });
        Some(text.collect::<Vec<_>>().join("|"))
    }

    #[test]
    fn extensions_as_they_may_be_written() {
        assert_eq!(parsed("").as_deref(), Some(""));
        assert_eq!(parsed("a").as_deref(), Some("a"));
        assert_eq!(parsed("a;b, a ; b = c;d ,e").as_deref(), Some("a b=-|a b=c d=-|e"));
        assert_eq!(parsed("a; b=\"10\"; c=\"\\1\\2\"").as_deref(), Some("a b=10 c=12"));
        assert_eq!(parsed(", a,, b,").as_deref(), Some("a|b"));
        for wrong in [
            "a;",
            "a b",
            "a; =c",
            "a; b=",
            "a; b=\"\"",
            "a; b=\"c d\"",
            "a; b=\"c",
            "a; b=\"c\\",
            ";",
            "a/b",
            "a;b=c d",
        ] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn lists_span_fields() {
        let head =
            b"GET / HTTP/1.1\r\nConnection: keep-alive\r\nCONNECTION: a ,, UPGRADE \r\nB: 1\r\nB: 2\r\nC: 3\r\n\r\n";
        assert!(has(head, "connection", "upgrade") && has(head, "connection", "keep-alive"));
        assert!(!has(head, "connection", "upgrad"));
        assert_eq!(elements(head, "connection").count(), 3);
        assert_eq!((single(head, "b"), single(head, "c"), single(head, "d")), (None, Some("3"), None));
    }
}
