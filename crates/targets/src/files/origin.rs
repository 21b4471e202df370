//! Where a line of the configuration that runs was written: in which of the user's files, on which line, or nowhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use genkai_model::event::Rewrite;
use genkai_model::limit::Origin;
use regex::Regex;
use similar::{DiffOp, TextDiff};

use super::{Edit, File, Pair};

/// Lines of each file after the settings were applied, with the user's line each came from (0-based); none: it is new.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Origins {
    files: BTreeMap<PathBuf, Vec<Option<usize>>>,
}

impl Origins {
    /// From the user's configuration to the one with settings applied.
    pub(crate) fn new<'a>(pairs: impl IntoIterator<Item = Pair<'a>>) -> Origins {
        let changed = pairs.into_iter().filter(|pair| pair.before != pair.after);
        Origins { files: changed.map(|pair| (pair.path.to_owned(), lines(pair.before, pair.after))).collect() }
    }

    /// From a file to what `edits` (of this file, none overlapping) made of it at `path`: exact, where [`Origins::new`] compares.
    pub(crate) fn edited<D>(&mut self, path: &Path, file: &File<D>, edits: &[Edit]) {
        let mut edits: Vec<&Edit> = edits.iter().collect();
        edits.sort_by_key(|e| (e.from, e.to));
        let (mut lines, mut at, mut begins) = (Vec::new(), 0, true);
        let mut piece = |text: &[u8], origin: &dyn Fn(usize) -> Option<usize>| {
            for (i, byte) in text.iter().enumerate() {
                if begins {
                    lines.push(origin(i));
                }
                begins = *byte == b'\n';
            }
        };
        for edit in edits {
            let start = at;
            piece(&file.text[at..edit.from], &|i| Some(file.line(start + i) - 1));
            // What replaces a line stands for it; what is put in stands for nothing.
            let replaced = (edit.to > edit.from).then(|| file.line(edit.from) - 1);
            piece(&edit.with, &|_| replaced);
            at = edit.to;
        }
        piece(&file.text[at..], &|i| Some(file.line(at + i) - 1));
        self.files.insert(path.to_owned(), lines);
    }

    /// The user's line (from 1) of a line of the edited file; none when a setting put it there.
    pub(crate) fn line(&self, path: &Path, line: usize) -> Option<usize> {
        match self.files.get(path) {
            Some(lines) => lines.get(line.saturating_sub(1)).copied().flatten().map(|at| at + 1),
            None => Some(line),
        }
    }

    /// The origin of what is on this line.
    pub(crate) fn of(&self, path: &Path, line: usize) -> Origin {
        self.line(path, line).map_or(Origin::Given, |line| Origin::File { path: path.to_owned(), line })
    }

    /// A difference of the private copy with its place in the user's file.
    pub(crate) fn rewrite(&self, rewrite: Rewrite) -> Rewrite {
        let Some((path, line)) = rewrite.place.rsplit_once(':') else { return rewrite };
        match line.parse().ok().and_then(|line| self.line(Path::new(path), line)) {
            Some(line) => Rewrite { place: format!("{path}:{line}"), ..rewrite },
            None => rewrite,
        }
    }

    /// A message of nginx's with the user's line numbers at each ` in FILE:LINE` (files already the user's).
    pub(crate) fn translate(&self, message: &str) -> String {
        let Ok(place) = Regex::new(r" in (\S+):(\d+)") else { return message.to_owned() };
        let translated = place.replace_all(message, |found: &regex::Captures<'_>| {
            let (path, line) = (Path::new(&found[1]), found[2].parse().unwrap_or(0));
            match self.line(path, line) {
                Some(line) => format!(" in {}:{line}", &found[1]),
                None => format!(" in a setting given for {}", &found[1]),
            }
        });
        translated.into_owned()
    }
}

/// For each line of `after`, the line of `before` that it is, or that it replaces.
fn lines(before: &[u8], after: &[u8]) -> Vec<Option<usize>> {
    let diff = TextDiff::from_lines(before, after);
    let mut lines = Vec::new();
    for op in diff.ops() {
        match *op {
            DiffOp::Equal { old_index, len, .. } => lines.extend((old_index..old_index + len).map(Some)),
            DiffOp::Insert { new_len, .. } => lines.extend(std::iter::repeat_n(None, new_len)),
            DiffOp::Delete { .. } => {}
            // A changed line keeps its place; what was changed on it is told apart by the caller.
            DiffOp::Replace { old_index, old_len, new_len, .. } => {
                lines.extend((0..new_len).map(|i| (i < old_len).then_some(old_index + i)));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "/etc/nginx/nginx.conf";

    fn origins(before: &str, after: &str) -> Origins {
        let path = Path::new(PATH);
        Origins::new([Pair { path, real: path, before: before.as_bytes(), after: after.as_bytes() }])
    }

    #[test]
    fn lines_are_the_user_s_whatever_was_inserted_above() {
        let origins = origins("a 1;\nb 2;\nc 3;\n", "a 1;\nnew 0;\nb 9;\nc 3;\n");
        let path = Path::new(PATH);
        assert_eq!(origins.line(path, 1), Some(1));
        assert_eq!(origins.line(path, 4), Some(3));
        assert!(matches!(origins.of(path, 4), Origin::File { line: 3, .. }));
        // `b 2` became `new 0` and `b 9`: one of the two is new.
        let new = [2, 3].map(|line| origins.line(path, line));
        assert!(new.contains(&None) && new.contains(&Some(2)), "{new:?}");
        assert_eq!(origins.line(Path::new("/etc/nginx/other.conf"), 7), Some(7));
    }

    #[test]
    fn edits_move_lines_by_what_they_put_in() {
        let file = File::new(PATH.into(), PATH.into(), b"a\n  b 1\nc\nd\n".to_vec(), Vec::<()>::new());
        let id = crate::files::FileId::MAIN;
        let edit = |from: usize, to: usize, with: &str| Edit::new(id, &(from..to), with);
        let mut origins = Origins::default();
        // A section in front, two lines after the first, another word for `b 1`, nothing for `c`.
        origins.edited(
            Path::new("/x"),
            &file,
            &[edit(2, 2, "n\nm\n"), edit(0, 0, "g\n\n"), edit(4, 7, "B"), edit(8, 9, "")],
        );
        let lines: Vec<Option<usize>> = (1..=8).map(|line| origins.line(Path::new("/x"), line)).collect();
        // g, empty, a, n, m, B, (c), d
        assert_eq!(lines, [None, None, Some(1), None, None, Some(2), Some(3), Some(4)]);
    }

    #[test]
    fn messages_name_the_user_s_lines() {
        let origins = origins("a 1;\nb 2;\n", "x 0;\na 1;\nb 2;\n");
        let said = |line| origins.translate(&format!("unknown directive \"b\" in /etc/nginx/nginx.conf:{line}"));
        assert_eq!(said(3), "unknown directive \"b\" in /etc/nginx/nginx.conf:2");
        assert_eq!(said(1), "unknown directive \"b\" in a setting given for /etc/nginx/nginx.conf");
        assert_eq!(origins.translate("no place"), "no place");
    }
}
