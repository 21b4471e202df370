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

/// The end of a text, of at most `most` characters: what is left out ends with a word, where that leaves more than half of them, and never inside a
/// number.
pub fn end(text: &str, most: usize) -> &str {
    let count = text.chars().count();
    let Some((from, _)) = count.checked_sub(most).and_then(|skip| text.char_indices().nth(skip)) else { return text };
    let kept = &text[from..];
    if from == 0 || text[..from].ends_with(char::is_whitespace) {
        return kept;
    }
    match kept.find(char::is_whitespace) {
        Some(at) if (kept.len() - at) * 2 >= kept.len() => kept[at..].trim_start(),
        _ if text[..from].ends_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | ':' | ',')) => {
            kept.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | ','))
        }
        _ => kept,
    }
}

/// How much is kept of a word that goes on with `next`, bytes.
fn of_word(part: &str, next: char) -> usize {
    let in_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ':' | ',');
    // A unit belongs to its number.
    let whole = if next.is_ascii_alphanumeric() || in_number(next) { part.trim_end_matches(in_number) } else { part };
    let between = whole.rfind(BETWEEN).map_or(0, |at| at + 1);
    match () {
        () if between * 2 >= part.len() => between,
        () if whole.is_empty() => part.len(),
        () => whole.len(),
    }
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
    fn what_is_left_out_ends_with_a_word() {
        assert_eq!(end("exhausted in /srv/app.php on line 2048", 12), "on line 2048");
        assert_eq!(end("exhausted at 2048 connections", 14), "connections");
        assert_eq!(end("a:12345678", 4), "");
        assert_eq!((end("abcdef", 3), end("abc", 3), end("", 3)), ("def", "abc", ""));
    }

    #[test]
    fn a_long_word_is_cut_between_its_parts_and_no_number_is_cut() {
        assert_eq!(shortened("/var/www/html/index.html", 16), "/var/www/html/…");
        assert_eq!(shortened("abcdefghij", 4), "abcd…");
        assert_eq!(shortened("maxconn=12345", 10), "maxconn=…");
        assert_eq!(shortened("burst:10,000,000", 12), "burst…");
        assert_eq!(shortened("size=512M", 8), "size=…");
        assert_eq!(shortened("upstream127.0.0.1:80", 14), "upstream…");
        assert_eq!(shortened("    abcdefghij", 8), "    abcd…");
        assert_eq!(shortened("ßßßßßß", 2), "ßß…");
        assert_eq!(shortened("", 0), "");
    }
}
