//! Regular expressions of configurations, matched by the library that servers match them with (PCRE2): look-arounds and back-references are
//! followed, and a class or a quantifier means here what it means there.

use pcre2::bytes::{Regex, RegexBuilder};

/// Steps that a match may take. A pattern that needs more is one of which nothing is told, and no reason to wait.
const STEPS: u32 = 1_000_000;

/// How a server compiles its patterns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    /// Whether letters of either case are the same.
    pub(crate) blind: bool,
    /// Whether `.` stands for the end of a line, too, and `$` for the end of the text alone.
    pub(crate) whole: bool,
}

impl Reads {
    /// Whether a pattern is in a text; none: the library takes no such pattern, or gives up.
    pub(crate) fn matches(self, pattern: &str, text: &str) -> Option<bool> {
        self.captures(pattern, text).map(|found| found.is_some())
    }

    /// What a pattern finds in a text, if anything: the whole, and its groups. None: as [`Reads::matches`].
    pub(crate) fn captures(self, pattern: &str, text: &str) -> Option<Option<Vec<String>>> {
        // The one case in which the two meanings of `$` differ.
        if self.whole && text.ends_with('\n') {
            return None;
        }
        let found = self.regex(pattern)?.captures(text.as_bytes()).ok()?;
        Some(found.map(|found| {
            let group = |at: usize| found.get(at).map_or(&b""[..], |group| group.as_bytes());
            (0..found.len()).map(|at| String::from_utf8_lossy(group(at)).into_owned()).collect()
        }))
    }

    /// Bytes are compared, as servers do: a pattern that wants characters says so itself (`(*UTF)`).
    fn regex(self, pattern: &str) -> Option<Regex> {
        let bounded = format!("(*LIMIT_MATCH={STEPS}){pattern}");
        RegexBuilder::new().caseless(self.blind).dotall(self.whole).build(&bounded).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_to_servers() {
        let cases = [
            (r"^/(?!index|remote)", "/apps", true),
            (r"^/(?!index|remote)", "/index.php", false),
            (r"/\.(?!well-known).*", "/.well-known/x", false),
            (r"/\.(?!well-known).*", "/.git/config", true),
            (r"(?<=/a)b", "/ab", true),
            (r"^/(a|b)/\1$", "/a/a", true),
            (r"^/(a|b)/\1$", "/a/b", false),
            // No set operations, no classes within classes, no ends of words: the crate `regex` has these.
            (r"^[a&&b]+$", "a&b", true),
            (r"^[^/[]+$", "ab", true),
            (r"^\<x$", "<x", true),
            // A possessive quantifier gives nothing back.
            (r"^a++a$", "aaa", false),
            (r"^\h$", "\t", true),
            (r"^/\Qa.b\E$", "/a.b", true),
            ("^/a$", "/a\n", true),
            (r"^.$", "ä", false),
            (r"(*UTF)^.$", "ä", true),
        ];
        for (pattern, text, found) in cases {
            assert_eq!(Reads::default().matches(pattern, text), Some(found), "{pattern} in {text:?}");
        }
        let of = |blind, whole, text: &str| Reads { blind, whole }.matches("^/A.$", text);
        assert_eq!((of(true, false, "/ab"), of(false, false, "/ab")), (Some(true), Some(false)));
        assert_eq!((of(true, true, "/a\nb"), of(true, true, "/a\n")), (Some(false), None));
        let groups = Reads::default().captures(r"^/(x)?(\w+)", "/ab").unwrap().unwrap();
        assert_eq!(groups, ["/ab", "", "ab"]);
    }

    #[test]
    fn of_what_the_library_refuses_or_gives_up_nothing_is_told() {
        let hard = format!("{}!", "a".repeat(40));
        for (pattern, text) in [("(", "x"), (r"\p{Nothing}", "x"), ("(?<n", "x"), ("^(a+)+$", hard.as_str())] {
            assert_eq!(Reads::default().matches(pattern, text), None, "{pattern}");
        }
    }
}
