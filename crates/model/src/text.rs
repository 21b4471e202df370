//! Texts of others that are too long to be told whole.

/// Characters after which a long word may be cut.
const BETWEEN: [char; 9] = ['/', ',', ';', '&', '?', '=', '|', ')', '}'];

/// A text, or its [`beginning`] with `…` where it has more than `most` characters.
pub fn shortened(text: &str, most: usize) -> String {
    let begun = beginning(text, most);
    if begun.len() == text.len() { text.to_owned() } else { format!("{begun}…") }
}

/// The beginning of a text, of at most `most` characters. What is left out begins with a word; where that would leave out half of them or more, with
/// a part of a word; never inside a number, which would be another one.
pub fn beginning(text: &str, most: usize) -> &str {
    let Some((end, next)) = text.char_indices().nth(most) else { return text };
    let kept = &text[..end];
    let (words, part) = kept.char_indices().rfind(|(_, c)| c.is_whitespace()).map_or(("", kept), |(at, c)| {
        let word = at + c.len_utf8();
        (kept[..at].trim_end(), &kept[word..])
    });
    match () {
        () if next.is_whitespace() || part.is_empty() => kept.trim_end(),
        () if words.trim_start().len() * 2 >= end => words,
        () => &kept[..kept.len() - part.len() + of_word(part, next)],
    }
}

/// How much is kept of a word that goes on with `next`, bytes.
fn of_word(part: &str, next: char) -> usize {
    let between = part.rfind(BETWEEN).map_or(0, |at| at + 1);
    if between * 2 >= part.len() {
        return between;
    }
    let in_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ':');
    let whole = if in_number(next) { part.trim_end_matches(in_number).len() } else { part.len() };
    if whole > 0 { whole } else { part.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_begins_with_a_word() {
        assert_eq!(shortened("a rule of 40 at once", 11), "a rule of…");
        assert_eq!(shortened("a rule of 40 at once", 12), "a rule of 40…");
        assert_eq!(shortened("a rule of 40", 12), "a rule of 40");
        assert_eq!(shortened("see /etc/nginx/nginx.conf", 20), "see /etc/nginx/…");
        assert_eq!(shortened("in the file /etc/nginx/nginx.conf", 20), "in the file…");
    }

    #[test]
    fn a_long_word_is_cut_between_its_parts_and_no_number_is_cut() {
        assert_eq!(shortened("/var/www/html/index.html", 16), "/var/www/html/…");
        assert_eq!(shortened("abcdefghij", 4), "abcd…");
        assert_eq!(shortened("maxconn=12345", 10), "maxconn=…");
        assert_eq!(shortened("upstream127.0.0.1:80", 14), "upstream…");
        assert_eq!(shortened("    abcdefghij", 8), "    abcd…");
        assert_eq!(shortened("ßßßßßß", 2), "ßß…");
        assert_eq!(shortened("", 0), "");
    }
}
