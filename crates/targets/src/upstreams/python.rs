//! A configuration that is a Python file, as far as it can be read without running it: names that are given a plain number or a quoted text
//! once, at the beginning of a line. Whatever else is written of a name, its value is not known.

use std::path::Path;

use crate::files::ConfigError;
use crate::files::entry::{Entries, Entry, Line, Syntax};

/// The syntax.
struct Assignments;

impl Syntax for Assignments {
    fn line(&self, line: &[u8]) -> Result<Line, &'static str> {
        let text = String::from_utf8_lossy(line);
        let Some((name, value)) = text.split_once('=').filter(|(_, value)| !value.starts_with('=')) else {
            return Ok(Line::Nothing);
        };
        // `workers += 1` and an assignment inside a block are assignments, too, of a value that is not known.
        let plain = name.trim_end_matches(['+', '-', '*', '/', '%', '|', '&']).trim();
        let known = name == plain || name.trim_end() == plain && !text.starts_with([' ', '\t']);
        let is_name = !plain.is_empty() && plain.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let value = if known { literal(value) } else { None };
        Ok(if is_name { Line::Entry(plain.to_owned(), value.into_iter().collect()) } else { Line::Nothing })
    }

    fn include(&self, _: &Entry) -> Option<std::path::PathBuf> {
        None
    }
}

/// A whole number, or a text in quotes, with a comment behind it.
fn literal(value: &str) -> Option<String> {
    let value = value.trim();
    if let Some(quote) = value.chars().next().filter(|c| ['"', '\''].contains(c)) {
        let (text, rest) = value[1..].split_once(quote)?;
        let over = rest.trim().is_empty() || rest.trim().starts_with('#');
        return (over && !text.contains('\\')).then(|| text.to_owned());
    }
    let value = value.split('#').next().unwrap_or_default().trim();
    (!value.is_empty() && value.bytes().all(|b| b.is_ascii_digit())).then(|| value.to_owned())
}

/// Reads a file.
///
/// # Errors
/// A file that is missing, unreadable or too large.
pub(super) fn read(path: &Path) -> Result<Entries, ConfigError> {
    Entries::read(path, &Assignments)
}

/// The only assignment of a name; an error is one of which the value is not known: where it stands.
pub(super) fn assigned<'e>(config: &'e Entries, name: &str) -> Option<Result<&'e Entry, String>> {
    let all: Vec<&Entry> = config.all().iter().filter(|entry| entry.name == name).collect();
    let last = all.last()?;
    Some(if all.len() == 1 && !last.values.is_empty() { Ok(last) } else { Err(config.place(last)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_plain_and_said_once_is_known() {
        let text = "import os\nworkers = 4  # enough\nbind='127.0.0.1:80'\nthreads = os.cpu_count()\nif x == 3:\n    backlog = 5\n\
                    timeout = 3\ntimeout = 4\nkeepalive=2\nkeepalive += 1\n";
        let config = Entries::of_text(Path::new("/g.py"), text.as_bytes().to_vec(), &Assignments).unwrap();
        let known = |name: &str| assigned(&config, name).map(|found| found.map(|e| (e.value(), e.line)));
        assert_eq!(known("workers"), Some(Ok(("4".to_owned(), 2))));
        assert_eq!(known("bind"), Some(Ok(("127.0.0.1:80".to_owned(), 3))));
        assert_eq!(known("threads"), Some(Err("/g.py:4".to_owned())));
        assert_eq!(known("backlog"), Some(Err("/g.py:6".to_owned())));
        assert_eq!(known("timeout"), Some(Err("/g.py:8".to_owned())));
        assert_eq!(known("keepalive"), Some(Err("/g.py:10".to_owned())));
        assert_eq!((known("x"), known("worker_class")), (None, None));
    }
}
