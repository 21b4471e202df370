//! Text from servers and files made safe to show: it must not steer a terminal, hide, or run on for ever.

/// Longest piece of foreign text that is shown, in characters.
pub const LONGEST: usize = 400;

/// One line of foreign text: control characters, line ends and invisible or direction-changing characters become
/// `·`, tabs become a space, and what is longer than [`LONGEST`] is cut with `…`.
pub fn line(text: &str) -> String {
    cut(text, LONGEST)
}

/// As [`line`], with a bound of its own in characters.
pub fn cut(text: &str, longest: usize) -> String {
    let mut out = String::with_capacity(text.len().min(longest * 4));
    for (i, c) in text.trim_end().chars().enumerate() {
        if i == longest {
            out.push('…');
            break;
        }
        out.push(visible(c));
    }
    out
}

fn visible(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.is_control() => '·',
        // zero-width, direction marks and overrides, line/paragraph separators, isolates, byte-order mark, tags
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => '·',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_steers_a_terminal() {
        assert_eq!(line("a\x1b[31mred\x07\r\n"), "a·[31mred·");
        assert_eq!(line("tab\there"), "tab here");
        assert_eq!(line("\u{202e}txt.exe"), "·txt.exe");
        assert_eq!(cut("abcdef", 3), "abc…");
    }

    proptest! {
        #[test]
        fn no_text_leaves_a_control_character(text in "\\PC*|[\\x00-\\xff]*") {
            let shown = line(&text);
            prop_assert!(!shown.chars().any(char::is_control));
            prop_assert!(shown.chars().count() <= LONGEST + 1);
        }
    }
}
