//! Conditions of `.if` and `.elif` (configuration manual 2.4; src/cfgcond.c).

use super::Reading;
use genkai_place::program::numbers;

/// Whether a condition holds; none for what cannot be told without running HAProxy (it is then taken for false).
pub(super) fn holds(text: &str, reading: &Reading, environment: &dyn Fn(&str) -> Option<String>) -> Option<bool> {
    let mut parser = Parser { rest: text.trim(), reading, environment, depth: 0 };
    let value = parser.any()?;
    parser.rest.is_empty().then_some(value)
}

/// Parentheses may be nested so deep (src/cfgcond.c).
const MAX_DEPTH: usize = 64;

struct Parser<'a> {
    rest: &'a str,
    reading: &'a Reading,
    environment: &'a dyn Fn(&str) -> Option<String>,
    depth: usize,
}

impl Parser<'_> {
    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest.strip_prefix(token);
        self.rest = found.unwrap_or(self.rest).trim_start();
        found.is_some()
    }

    fn any(&mut self) -> Option<bool> {
        let mut value = self.all()?;
        while self.eat("||") {
            value |= self.all()?;
        }
        Some(value)
    }

    fn all(&mut self) -> Option<bool> {
        let mut value = self.term()?;
        while self.eat("&&") {
            value &= self.term()?;
        }
        Some(value)
    }

    fn term(&mut self) -> Option<bool> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let value = if self.eat("!") {
            !self.term()?
        } else if self.eat("(") {
            let value = self.any()?;
            self.eat(")").then_some(value)?
        } else {
            self.plain()?
        };
        self.depth -= 1;
        Some(value)
    }

    /// A number (0: false), or a predicate with its arguments.
    fn plain(&mut self) -> Option<bool> {
        let length = self.rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest.trim_start();
        if let Ok(number) = word.parse::<i64>() {
            return Some(number != 0);
        }
        if word.is_empty() {
            return self.rest.is_empty().then_some(false);
        }
        let inside = self.rest.strip_prefix('(')?;
        let (arguments, rest) = inside.split_once(')')?;
        self.rest = rest.trim_start();
        let arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
        self.predicate(word, &arguments)
    }

    fn predicate(&self, name: &str, arguments: &[&str]) -> Option<bool> {
        let first = *arguments.first()?;
        let second = || arguments.get(1).copied();
        match name {
            "defined" => Some((self.environment)(first).is_some()),
            "feature" => Some(self.reading.features.contains(&first.to_ascii_uppercase())),
            "streq" => Some(first == second()?),
            "strneq" => Some(first != second()?),
            "strstr" => Some(first.contains(second()?)),
            "version_atleast" => Some(self.reading.version >= numbers(first)),
            "version_before" => Some(self.reading.version < numbers(first)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_evaluated_as_haproxy_does() {
        let reading = Reading {
            version: (2, 6, 12),
            features: ["OPENSSL".to_owned()].into(),
            environment: [("A".to_owned(), "1".to_owned())].into(),
        };
        let environment = |name: &str| reading.environment.get(name).cloned();
        for (text, expected) in [
            ("", Some(false)),
            ("1", Some(true)),
            ("0", Some(false)),
            ("defined(A) && !defined(B)", Some(true)),
            ("version_atleast(2.4) && (version_before(2.6) || feature(OPENSSL))", Some(true)),
            ("streq(yes,no) || strneq(a,b)", Some(true)),
            ("version_atleast(2.8)", Some(false)),
            ("openssl_version_atleast(1.1.1)", None),
            ("defined(A", None),
            ("((((", None),
        ] {
            assert_eq!(holds(text, &reading, &environment), expected, "{text}");
        }
    }
}
