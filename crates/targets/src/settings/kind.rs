//! What a setting accepts, and how its value is written.

use crate::files::number::{count, size};

/// What a setting accepts.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A whole number within bounds, both allowed.
    Count(u64, u64),
    /// Bytes within bounds, both allowed, also with `k` or `m`.
    Size(u64, u64),
    /// Bytes up to so many, also with `k`, `m` or `g`: written out, where a product takes plain numbers only.
    Bytes(u64),
    /// Whole seconds, also with `s`: written as a plain number.
    Seconds,
    /// One of these words, in any case.
    Word(&'static [&'static str]),
    /// Words on one line; the product itself checks them.
    Line,
    /// So many words at least and at most; the product itself checks them.
    Words(usize, usize),
    /// A form of the product's own: whether it accepts these words, and what it accepts, in words.
    Form(fn(&[&str]) -> bool, &'static str),
}

impl Kind {
    /// The words of a value as the product wants them written; none when it does not accept them.
    pub fn written(&self, words: &[&str]) -> Option<Vec<String>> {
        let given = || words.iter().map(|&word| word.to_owned()).collect();
        let one = |text: String| vec![text];
        match (*self, words) {
            (Kind::Count(least, most), [text]) => within(count(text), least, most).map(|n| one(n.to_string())),
            (Kind::Size(..), [text]) if text.ends_with(['g', 'G']) => None,
            (Kind::Size(least, most), [text]) => within(size(text), least, most).map(|_| given()),
            (Kind::Bytes(most), [text]) => within(size(text), 0, most).map(|n| one(n.to_string())),
            (Kind::Seconds, [text]) => count(text.strip_suffix('s').unwrap_or(text)).map(|n| one(n.to_string())),
            (Kind::Word(allowed), [text]) => {
                allowed.iter().find(|word| word.eq_ignore_ascii_case(text)).map(|word| one((*word).to_owned()))
            }
            (Kind::Line, [text]) => (!text.trim().is_empty() && !text.chars().any(char::is_control)).then(given),
            (Kind::Words(least, most), _) => (least..=most).contains(&words.len()).then(given),
            (Kind::Form(accepts, _), _) => accepts(words).then(given),
            _ => None,
        }
    }

    /// What it accepts, in words.
    pub fn allowed(&self) -> String {
        match *self {
            Kind::Count(least, most) => format!("a whole number from {least} to {most}"),
            Kind::Size(least, most) => format!("bytes from {least} to {most}, also as 8k or 1m"),
            Kind::Bytes(most) => format!("bytes from 0 to {most}, also as 8k or 1m"),
            Kind::Seconds => "whole seconds, such as 60".to_owned(),
            Kind::Word(&[one, other]) => format!("{one} or {other}"),
            Kind::Word(words) => format!("one of {}", words.join(", ")),
            Kind::Line => "words on one line".to_owned(),
            Kind::Words(least, most) if least == most => format!("{least} word{}", if least == 1 { "" } else { "s" }),
            Kind::Words(least, most) => format!("{least} to {most} words"),
            Kind::Form(_, allowed) => allowed.to_owned(),
        }
    }
}

/// A number within bounds, both allowed.
pub(crate) fn within(number: Option<u64>, least: u64, most: u64) -> Option<u64> {
    number.filter(|n| (least..=most).contains(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_bounds_and_are_written_as_products_want_them() {
        let written = |kind: Kind, text: &str| kind.written(&[text]).map(|words| words.join(" "));
        let some = |text: &str| Some(text.to_owned());
        assert_eq!((written(Kind::Count(1, 9), "9"), written(Kind::Count(1, 9), "10")), (some("9"), None));
        assert_eq!((Kind::Count(1, 9).written(&["1", "2"]), written(Kind::Count(1, 9), "007")), (None, some("7")));
        assert_eq!((written(Kind::Size(1, 9000), "8k"), written(Kind::Size(1, 9000), "0")), (some("8k"), None));
        assert_eq!(written(Kind::Size(1, u64::MAX), "1g"), None);
        assert_eq!((written(Kind::Bytes(1 << 40), "1m"), written(Kind::Bytes(100), "1k")), (some("1048576"), None));
        assert_eq!((written(Kind::Seconds, "60s"), written(Kind::Seconds, "1m")), (some("60"), None));
        let flag = Kind::Word(&["On", "Off"]);
        assert_eq!(
            (written(flag, "ON"), written(flag, "maybe"), flag.allowed()),
            (some("On"), None, "On or Off".to_owned())
        );
        assert_eq!((written(Kind::Line, "a b"), written(Kind::Line, "a\nLoadModule b")), (some("a b"), None));
        assert_eq!((Kind::Words(1, 2).written(&[]), written(Kind::Words(1, 1), "a")), (None, some("a")));
        assert_eq!(written(Kind::Form(|words| words == ["x"], "x"), "y"), None);
    }
}
