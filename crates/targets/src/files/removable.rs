//! Directives that may be left out of a configuration.

use std::ops::Range;

use genkai_model::event::Directive;
use genkai_model::limit::Origin;
use genkai_model::text::shortened;

use super::{Edit, File, FileId, masked};

/// Longest text of a directive that is told.
const LONGEST: usize = 160;

/// A directive that may be left out, in a configuration with settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removable {
    /// As it is written, on one line; of a block its head.
    pub written: String,
    /// Its file.
    pub file: FileId,
    /// Its line there, from 1.
    pub line: usize,
    /// What leaves it out. All other lines keep their numbers.
    pub edit: Edit,
    /// Whether it decides who may ask for what.
    pub protects: bool,
}

impl Removable {
    /// The directive at `span` of `file`, of which `written` is told.
    pub(crate) fn of<T>(id: FileId, file: &File<T>, span: &Range<usize>, written: &str) -> Removable {
        let lines = file.text[span.clone()].iter().filter(|byte| **byte == b'\n').count();
        let words: Vec<&str> = written.split_whitespace().collect();
        let edit = Edit::new(id, span, "\n".repeat(lines));
        Removable { written: words.join(" "), file: id, line: file.line(span.start), edit, protects: false }
    }

    /// The same, of which is known whether it decides who may ask for what.
    pub(crate) fn protecting(self, protects: bool) -> Removable {
        Removable { protects, ..self }
    }

    /// How it is told, from `origin`: no secrets, not too long.
    pub(crate) fn told(&self, origin: Origin) -> Directive {
        let text = masked(&self.written);
        Directive { text: shortened(&text, LONGEST), origin, protects: self.protects }
    }
}

/// Those of `all` that are not there already: a file may be included more than once.
pub(crate) fn once(all: impl IntoIterator<Item = Removable>) -> Vec<Removable> {
    let mut once: Vec<Removable> = Vec::new();
    for one in all {
        if !once.iter().any(|other| other.edit == one.edit) {
            once.push(one);
        }
    }
    once
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_leaves_its_lines() {
        let text = b"a;\nif (x) {\n  b;\n}\nc;\n".to_vec();
        let file: File<()> = File::new("/f".into(), "/f".into(), text, Vec::new());
        let one = Removable::of(FileId::MAIN, &file, &(3..18), "if\n  (x)");
        assert_eq!((one.written.as_str(), one.line), ("if (x)", 2));
        let left = crate::files::edited(&file, FileId::MAIN, &[one.edit]).unwrap().unwrap();
        assert_eq!(String::from_utf8_lossy(&left), "a;\n\n\n\nc;\n");
    }

    #[test]
    fn secrets_are_not_told() {
        let file: File<()> = File::new("/f".into(), "/f".into(), Vec::new(), Vec::new());
        let one = Removable::of(FileId::MAIN, &file, &(0..0), "proxy_set_header Authorization \"Basic aHVudGVyMg==\"");
        assert_eq!(one.told(Origin::Given).text, "proxy_set_header Authorization ***");
    }
}
