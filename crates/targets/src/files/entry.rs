//! Lines of a configuration that is made of names and values, with the files it includes: what php-fpm, Redis and Squid have in common.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::{ConfigError, Edit, File, FileId, edited, read};

/// What is said of files that include themselves, or more files than any configuration has.
pub(crate) const ENDLESS: &str = "files are included without end (does one include itself?)";
/// Files that include files, at most so deep; most inclusions.
const MAX_DEPTH: usize = 10;
const MAX_INCLUSIONS: usize = 1_000;

/// A line with a name and what it is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its file.
    pub file: FileId,
    /// Line, from 1.
    pub line: usize,
    /// Its bytes, without space around.
    pub span: Range<usize>,
    /// The section it is in; empty: none.
    pub section: String,
    /// Its name.
    pub name: String,
    /// What it is set to, word by word where the syntax has words.
    pub values: Vec<String>,
}

impl Entry {
    /// Its values as one text.
    pub fn value(&self) -> String {
        self.values.join(" ")
    }
}

/// A syntax: a line to a section, a name with values, or nothing.
pub(crate) trait Syntax {
    /// Reads one line without its end.
    ///
    /// # Errors
    /// What is wrong with it.
    fn line(&self, line: &[u8]) -> Result<Line, &'static str>;

    /// The pattern of files that an entry includes.
    fn include(&self, entry: &Entry) -> Option<PathBuf>;

    /// Where the comment of a line begins; its length where it has none.
    fn comment(&self, line: &str) -> usize {
        line.len()
    }

    /// The section of the first line, where an included file goes on in the section of the line that includes it, and what follows that line in the
    /// one that was opened last; none: each file has sections of its own.
    fn flowing(&self) -> Option<&'static str> {
        None
    }

    /// Whether an included file may be missing.
    fn may_miss(&self) -> bool {
        false
    }

    /// Whether the line (without its end) goes on in the next one.
    fn goes_on(&self, _line: &[u8]) -> bool {
        false
    }
}

/// What a line is.
pub(crate) enum Line {
    /// A comment, or empty.
    Nothing,
    /// The head of a section.
    Section(String),
    /// A name with its values.
    Entry(String, Vec<String>),
}

/// A configuration: its files, and its entries in the order in which they count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    files: Vec<File<Range<usize>>>,
    all: Vec<Entry>,
}

impl Entries {
    /// Reads `main` and what it includes. Nothing is written.
    ///
    /// # Errors
    /// A file that is missing, unreadable, too large, not the syntax, or that includes itself.
    pub(crate) fn read(main: &Path, syntax: &impl Syntax) -> Result<Entries, ConfigError> {
        let path = std::path::absolute(main).unwrap_or_else(|_| main.to_owned());
        let text = read::bytes(&path).map_err(ConfigError::read(main))?;
        Reader::new(syntax).whole(path, text)
    }

    /// The entries of one text, whose file need not exist; includes are followed.
    ///
    /// # Errors
    /// As [`Entries::read`].
    pub(crate) fn of_text(path: &Path, text: Vec<u8>, syntax: &impl Syntax) -> Result<Entries, ConfigError> {
        Reader::new(syntax).whole(path.to_owned(), text)
    }

    /// The same with the line `text` in the place of an entry, whose comment stays; for none at the end of the main file. No other byte
    /// differs. Files are those that were read, whatever is on disk now.
    ///
    /// # Errors
    /// As [`Entries::read`].
    pub(crate) fn with_line(
        &self,
        entry: Option<&Entry>,
        text: String,
        syntax: &impl Syntax,
    ) -> Result<Entries, ConfigError> {
        let main = &self.files[FileId::MAIN.0];
        let edit = match entry {
            Some(Entry { file, span, .. }) => {
                let line = String::from_utf8_lossy(&self.files[file.0].text[span.clone()]);
                let end = span.start + line[..syntax.comment(&line)].trim_end().len();
                Edit::new(*file, &(span.start..end), text)
            }
            None => main.line_at_end(FileId::MAIN, &text),
        };
        // One edit overlaps with no other.
        self.edited(std::slice::from_ref(&edit), syntax)
    }

    /// The same with edits, all made against this one. Files are those that were read, whatever is on disk now.
    ///
    /// # Errors
    /// When two of them overlap; as [`Entries::read`].
    pub(crate) fn edited(&self, edits: &[Edit], syntax: &impl Syntax) -> Result<Entries, ConfigError> {
        let text = |(at, file): (usize, &File<Range<usize>>)| {
            let overlap = |offset| {
                ConfigError::at(file.place(offset), "needs two different changes; apply them one after the other")
            };
            // One that is included twice is one file.
            let is_here = |edit: &&Edit| self.files[edit.file.0].path == file.path;
            let here: Vec<Edit> =
                edits.iter().filter(is_here).map(|edit| Edit { file: FileId(at), ..edit.clone() }).collect();
            let text = edited(file, FileId(at), &here).map_err(overlap)?;
            Ok((file.path.clone(), text.unwrap_or_else(|| file.text.clone())))
        };
        let texts: BTreeMap<PathBuf, Vec<u8>> =
            self.files.iter().enumerate().map(text).collect::<Result<_, ConfigError>>()?;
        let main = self.main().to_owned();
        let first = texts.get(&main).cloned().unwrap_or_default();
        Reader { texts, ..Reader::new(syntax) }.whole(main, first)
    }

    /// The files, the main one first.
    pub fn files(&self) -> &[File<Range<usize>>] {
        &self.files
    }

    /// Where they are.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|file| file.path.as_path())
    }

    /// Every entry, in the order in which they count.
    pub fn all(&self) -> &[Entry] {
        &self.all
    }

    /// The last entry of a name in a section.
    pub fn value_in(&self, section: &str, name: &str) -> Option<&Entry> {
        self.all.iter().rev().find(|entry| entry.section == section && entry.name == name)
    }

    /// Of entries that count once those that a later one of the same name takes the place of, each with that one's place.
    pub(crate) fn replaced(&self, once: impl Fn(&Entry) -> bool) -> Vec<(&Entry, String)> {
        let mut last: BTreeMap<&str, &Entry> = BTreeMap::new();
        let all = self.all.iter().filter(|entry| once(entry));
        all.filter_map(|entry| Some((last.insert(&entry.name, entry)?, self.place(entry)))).collect()
    }

    /// The last entry of a name, which counts where a name has one value.
    pub fn last(&self, name: &str) -> Option<&Entry> {
        self.all.iter().rev().find(|entry| entry.name == name)
    }

    /// The main file.
    pub fn main(&self) -> &Path {
        &self.files[FileId::MAIN.0].path
    }

    /// `path:line` of an entry.
    pub fn place(&self, entry: &Entry) -> String {
        format!("{}:{}", self.files[entry.file.0].path.display(), entry.line)
    }

    /// The line of an entry as it is written, with its comment, without space around.
    pub(crate) fn written(&self, entry: &Entry) -> String {
        String::from_utf8_lossy(&self.files[entry.file.0].text[entry.span.clone()]).into_owned()
    }

    /// Its origin.
    pub(crate) fn origin(&self, entry: &Entry) -> genkai_model::limit::Origin {
        genkai_model::limit::Origin::File { path: self.files[entry.file.0].path.clone(), line: entry.line }
    }
}

struct Reader<'s, S> {
    syntax: &'s S,
    entries: Entries,
    /// Files that are being read, by their real path.
    open: BTreeSet<PathBuf>,
    inclusions: usize,
    /// The section that the line before opened or was in.
    section: String,
    /// Files with the text to take for them.
    texts: BTreeMap<PathBuf, Vec<u8>>,
}

impl<'s, S: Syntax> Reader<'s, S> {
    fn new(syntax: &'s S) -> Self {
        let section = syntax.flowing().unwrap_or_default().to_owned();
        let (entries, open, texts) = (Entries::default(), BTreeSet::new(), BTreeMap::new());
        Reader { syntax, entries, open, inclusions: 0, section, texts }
    }

    /// A main file with what it includes.
    fn whole(mut self, path: PathBuf, text: Vec<u8>) -> Result<Entries, ConfigError> {
        self.file(path, text, 0)?;
        Ok(self.entries)
    }

    fn file(&mut self, path: PathBuf, text: Vec<u8>, depth: usize) -> Result<(), ConfigError> {
        if text.len() as u64 > read::MAX_SIZE {
            return Err(ConfigError::TooLarge(path));
        }
        let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let id = FileId(self.entries.files.len());
        self.entries.files.push(File::new(path.clone(), real.clone(), text.clone(), Vec::new()));
        self.open.insert(real.clone());
        let flows = self.syntax.flowing().is_some();
        let outside = if flows { String::new() } else { std::mem::take(&mut self.section) };
        let mut tree = Vec::new();
        for (number, start, line) in lines(&text, |line| self.syntax.goes_on(line)) {
            let blank = |b: &&u8| b.is_ascii_whitespace();
            let from = start + line.iter().take_while(blank).count();
            let to = (start + line.len()).saturating_sub(line.iter().rev().take_while(blank).count()).max(from);
            let what = |what: &'static str| ConfigError::on_line(&path, number, what);
            match self.syntax.line(line).map_err(what)? {
                Line::Nothing => {}
                Line::Section(name) => self.section = name,
                Line::Entry(name, values) => {
                    tree.push(from..to);
                    let section = self.section.clone();
                    let entry = Entry { file: id, line: number, span: from..to, section, name, values };
                    self.entry(entry, depth)?;
                }
            }
        }
        if !flows {
            self.section = outside;
        }
        self.entries.files[id.0].tree = tree;
        self.open.remove(&real);
        Ok(())
    }

    /// Takes an entry, or the files that it includes: what they hold counts where it stands.
    fn entry(&mut self, entry: Entry, depth: usize) -> Result<(), ConfigError> {
        let Some(pattern) = self.syntax.include(&entry) else {
            self.entries.all.push(entry);
            return Ok(());
        };
        let place = self.entries.place(&entry);
        let folder = self.entries.files[entry.file.0].path.parent().map(Path::to_owned).unwrap_or_default();
        let pattern = folder.join(pattern);
        let wild = pattern.to_string_lossy().contains(['*', '?', '[']);
        let paths = if wild { read::glob(&pattern).unwrap_or_default() } else { vec![pattern] };
        for path in paths {
            self.inclusions += 1;
            let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
            if depth >= MAX_DEPTH || self.inclusions > MAX_INCLUSIONS || self.open.contains(&real) {
                return Err(ConfigError::at(place, ENDLESS));
            }
            let text = match self.texts.get(&path) {
                Some(text) => text.clone(),
                None if self.syntax.may_miss() && !path.exists() => continue,
                None => read::bytes(&path).map_err(ConfigError::read(&path))?,
            };
            self.file(path, text, depth + 1)?;
        }
        Ok(())
    }
}

/// Number (from 1), first byte and bytes of each line; one that goes on ends where the last of it does.
fn lines(text: &[u8], goes_on: impl Fn(&[u8]) -> bool) -> Vec<(usize, usize, &[u8])> {
    let (mut all, mut open, mut at) = (Vec::new(), None, 0);
    for (number, line) in (1..).zip(text.split(|b| *b == b'\n')) {
        let (first, start) = open.take().unwrap_or((number, at));
        let end = at + line.len();
        at = end + 1;
        if goes_on(line) && at < text.len() {
            open = Some((first, start));
        } else {
            all.push((first, start, &text[start..end]));
        }
    }
    all
}
