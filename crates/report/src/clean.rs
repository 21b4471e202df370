//! Text from servers and files made safe to show: it must not steer a terminal, hide, or run on for ever.

use genkai_model::text;

/// Longest piece of foreign text that is shown, in characters.
pub const LONGEST: usize = 400;

/// One line of foreign text: control characters, line ends and invisible or direction-changing characters become
/// `·`, tabs become a space, and what is longer than [`LONGEST`] is cut with `…`.
pub fn line(text: &str) -> String {
    cut(text, LONGEST)
}

/// Words of genkai's own, in which each piece of foreign text is short already: as [`line`], but never cut.
pub fn whole(text: &str) -> String {
    text.chars().map(visible).collect()
}

/// As [`line`], with a bound of its own in characters; cut between words where it can be, and never inside a number.
pub fn cut(text: &str, longest: usize) -> String {
    text::shortened(text.trim_end(), longest).chars().map(visible).collect()
}

/// As [`cut`], but of what is too long both ends are shown: a message often ends with the place that it tells of.
pub fn ends(text: &str, longest: usize) -> String {
    let text = text.trim_end();
    let all = text.chars().count();
    if all <= longest {
        return whole(text);
    }
    let (first, last) = (longest - longest / 2, longest / 2);
    let kept = |part: &str| part.chars().map(visible).collect::<String>();
    format!("{}…{}", kept(text::beginning(text, first)), kept(text::end(text, last)))
}

/// What a log line says, without the time, severity, process and connection that servers write before it: of
/// `2025/11/21 12:22:54 [alert] 17#17: *5 no room` that is `no room`. A line of nothing else stays as it is.
pub fn message(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let end = match rest.strip_prefix('[') {
            Some(inner) => inner.find(']').map(|i| i + 2),
            None => Some(rest.find(char::is_whitespace).unwrap_or(rest.len())).filter(|end| stamp(&rest[..*end])),
        };
        match end.map(|end| rest[end..].trim_start()) {
            Some("") => return text,
            Some(next) => rest = next,
            None => return rest,
        }
    }
}

/// What a log line says in short: its [`message`] without the request that nginx appends to it (", client: ..., server:
/// ..., request: ...": ngx_http_log_error in nginx's src/http/ngx_http_request.c).
pub fn gist(text: &str) -> &str {
    let message = message(text);
    message.split_once(", client: ").map_or(message, |(said, _)| said)
}

/// Whether a word is a date, a time, a process or a connection number: `2025/11/21`, `12:22:54`, `17#17:`, `*5`.
fn stamp(word: &str) -> bool {
    let date = word.len() >= 10 && word.as_bytes()[4] == b'-' && word.as_bytes()[7] == b'-';
    word.contains(|c: char| c.is_ascii_digit())
        && word.chars().all(|c| c.is_ascii_digit() || "/:.,#*TZ+-".contains(c))
        && (date || word.contains(['/', ':', '#', '*']))
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
        assert_eq!((ends("abcdef", 3), ends("abc\x1b\n", 4)), ("ab…f".to_owned(), "abc·".to_owned()));
        assert_eq!(cut("if { sc_conn_cur(0) gt 40 }", 24), "if { sc_conn_cur(0) gt…");
    }

    #[test]
    fn a_message_is_what_follows_the_stamps() {
        let cases = [
            (
                "2026/11/21 12:22:54 [alert] 11665#11665: *546 512 worker_connections are not enough",
                "512 worker_connections are not enough",
            ),
            ("512 worker_connections are not enough", "512 worker_connections are not enough"),
            (
                "[Fri Nov 21 12:00:00 2025] [mpm_event:error] [pid 1:tid 2] AH00484: server reached",
                "AH00484: server reached",
            ),
            ("2025-11-21T12:00:00Z no room", "no room"),
            ("[21-Nov-2025 12:00:00] WARNING: pool", "WARNING: pool"),
            ("2025/11/21 12:00:00", "2025/11/21 12:00:00"),
            ("[unclosed", "[unclosed"),
            ("", ""),
        ];
        for (line, want) in cases {
            assert_eq!(message(line), want);
        }
    }

    #[test]
    fn the_gist_leaves_the_request_out() {
        let line = "2026/11/21 12:22:54 [error] 1#1: *5 upstream timed out (110: Connection timed out), client: 127.0.0.1, server: ";
        assert_eq!(gist(line), "upstream timed out (110: Connection timed out)");
        assert_eq!(
            gist("512 worker_connections are not enough, reusing"),
            "512 worker_connections are not enough, reusing"
        );
    }

    proptest! {
        #[test]
        fn a_message_is_the_end_of_its_line(text in "\\PC{0,60}|[\\[\\]0-9/:#* -]{0,40}") {
            prop_assert!(text.ends_with(message(&text)));
        }

        #[test]
        fn no_text_leaves_a_control_character(text in "\\PC*|[\\x00-\\xff]*") {
            let shown = line(&text);
            prop_assert!(!shown.chars().any(char::is_control));
            prop_assert!(shown.chars().count() <= LONGEST + 1);
        }
    }
}
