//! HAProxy's configuration, read and edited without losing a byte.
//!
//! A [`Config`] is the text of one file (or of all `*.cfg` of a folder, as `-f FOLDER` reads them) and the lines that are in
//! force: `.if` is decided and variables are replaced in the order in which HAProxy does it (src/cfgparse.c:
//! `parse_cfg`). HAProxy has no includes. Questions go to [`Config::sections`] and [`Config::found`]; changes are [`Edit`]s.

mod condition;
pub mod lexer;
mod section;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub use crate::files::ConfigError;
pub use lexer::{Word, quote};
pub(crate) use section::KINDS as SECTIONS;
pub use section::Section;
pub(super) use section::from;

use crate::files::{self, edited, number, read};
pub use crate::files::{Edit, FileId};

/// One file of a configuration; its tree is the bytes of each line with content.
pub type File = files::File<Range<usize>>;

/// What decides how a configuration is read, besides its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Environment of the server.
    pub environment: BTreeMap<String, String>,
    /// Its version, for `version_atleast()`.
    pub version: (u32, u32, u32),
    /// What it is built with (`haproxy -vv`), for `feature()`.
    pub features: BTreeSet<String>,
}

/// The first version that can tell which rule ended a request, and what went wrong with the connection to a server.
const TELLS: (u32, u32, u32) = (2, 6, 0);

impl Reading {
    /// Whether its log can tell which rule ended a request, and what went wrong with the connection to a server.
    pub fn tells(&self) -> bool {
        self.version >= TELLS
    }

    /// In the environment of this process.
    pub fn here(version: (u32, u32, u32), features: BTreeSet<String>) -> Reading {
        let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        Reading { environment: std::env::vars_os().filter_map(text).collect(), version, features }
    }
}

/// A line in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its file.
    pub file: FileId,
    /// Line, from 1.
    pub line: usize,
    /// From its first word to the end of its last.
    pub span: Range<usize>,
    /// `no` or `default` before the keyword (configuration manual, `no option`).
    pub prefix: Option<Word>,
    /// Keyword and arguments.
    pub words: Vec<Word>,
}

impl Found {
    /// Its keyword.
    pub fn name(&self) -> &str {
        &self.words[0].value
    }

    /// An argument; 0 is the first.
    pub fn arg(&self, index: usize) -> Option<&str> {
        self.words.get(index + 1).map(|w| w.value.as_str())
    }

    /// Its words, a space between.
    pub fn written(&self) -> String {
        self.words.iter().map(|word| word.value.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Whether its words begin with those of `key`, e.g. `timeout client`.
    pub fn is(&self, key: &str) -> bool {
        let mut words = self.words.iter().map(|w| w.value.as_str());
        self.prefix.is_none() && key.split(' ').all(|part| words.next() == Some(part))
    }

    /// The argument after the word `key`, from the argument `from` on.
    pub fn option(&self, from: usize, key: &str) -> Option<&Word> {
        let at = self.words.iter().skip(from + 1).position(|w| w.value == key)? + from + 1;
        self.words.get(at + 1)
    }
}

/// A configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub(super) files: Vec<File>,
    found: Vec<Found>,
    sections: Vec<Section>,
    /// Lines that do not count, with the condition that is not so.
    skipped: Vec<(Found, String)>,
    reading: Reading,
}

impl Config {
    /// Reads a configuration: a file, or all `*.cfg` of a folder by name. Nothing is written.
    ///
    /// # Errors
    /// A file that is missing, unreadable, too large, or not HAProxy's syntax.
    pub fn read(main: &Path, reading: Reading) -> Result<Config, ConfigError> {
        let failed = ConfigError::read(main);
        let path = std::path::absolute(main).map_err(&failed)?;
        let mut paths = vec![path.clone()];
        if path.is_dir() {
            paths = read::glob(&path.join("*.cfg")).unwrap_or_default();
            // `.cfg` must follow the first dot of the name (src/haproxy.c: cfgfiles_expand_directories).
            let dots = |p: &PathBuf| p.file_name().map_or(0, |n| n.as_bytes().iter().filter(|b| **b == b'.').count());
            paths.retain(|p| dots(p) == 1);
        }
        let text = |path: PathBuf| {
            let text = read::bytes(&path).map_err(ConfigError::read(&path))?;
            Ok((path, text))
        };
        Config::of_texts(paths.into_iter().map(text).collect::<Result<_, _>>()?, reading)
    }

    /// A configuration of texts whose files need not exist.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub fn of_texts(texts: Vec<(PathBuf, Vec<u8>)>, reading: Reading) -> Result<Config, ConfigError> {
        let mut config =
            Config { files: Vec::new(), found: Vec::new(), sections: Vec::new(), skipped: Vec::new(), reading };
        let mut variables: BTreeMap<String, Option<String>> = BTreeMap::new();
        for (path, text) in texts {
            if text.len() as u64 > read::MAX_SIZE {
                return Err(ConfigError::TooLarge(path));
            }
            config.add(path, text, &mut variables)?;
        }
        config.sections = section::all(&config.found);
        Ok(config)
    }

    fn add(
        &mut self,
        path: PathBuf,
        text: Vec<u8>,
        variables: &mut BTreeMap<String, Option<String>>,
    ) -> Result<(), ConfigError> {
        let id = FileId(self.files.len());
        let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let mut branches: Vec<Branch> = Vec::new();
        let (mut tree, mut at) = (Vec::new(), 0);
        for (number, line) in (1..).zip(text.split(|b| *b == b'\n')) {
            let start = at;
            at += line.len() + 1;
            let known = |name: &str| match variables.get(name) {
                Some(set) => set.clone(),
                None => self.reading.environment.get(name).cloned(),
            };
            let syntax = |what: &str| ConfigError::on_line(&path, number, what);
            let words = lexer::words(line, start, &known).map_err(|_| {
                syntax("a quote is never closed; close it on the same line, or escape it as \\' or \\\"")
            })?;
            let Some(first) = words.first() else { continue };
            tree.push(first.span.start..words[words.len() - 1].span.end);
            if first.value.starts_with('.') {
                let written = String::from_utf8_lossy(line).trim().to_owned();
                directive((number, &written), &words, &mut branches, &self.reading, &known)
                    .map_err(|what| syntax(&what))?;
                continue;
            }
            let Some(found) = found(id, number, words) else { continue };
            match branches.iter().find(|b| !b.counts) {
                Some(branch) => self.skipped.push((found, branch.condition.clone())),
                None => {
                    environment(&found, variables);
                    self.found.push(found);
                }
            }
        }
        if let Some(open) = branches.pop() {
            return Err(ConfigError::on_line(&path, open.line, ".if is never closed; add .endif"));
        }
        self.files.push(File::new(path, real, text, tree));
        Ok(())
    }

    /// All files, the main one first.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &File)> {
        self.files.iter().enumerate().map(|(i, f)| (FileId(i), f))
    }

    /// One file.
    pub fn file(&self, id: FileId) -> &File {
        &self.files[id.0]
    }

    /// Every line in force, heads of sections among them.
    pub fn found(&self) -> &[Found] {
        &self.found
    }

    /// Every section, in order.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Lines that a condition takes out, each with the condition.
    pub fn skipped(&self) -> &[(Found, String)] {
        &self.skipped
    }

    /// What is in a section.
    pub fn inside(&self, section: &Section) -> &[Found] {
        &self.found[section.lines.start + 1..section.lines.end]
    }

    /// The section and the `defaults` that its values come from, the nearest first.
    pub(super) fn lineage<'c>(&'c self, section: &'c Section) -> impl Iterator<Item = &'c Section> {
        std::iter::successors(Some(section), |one| self.sections.get(one.defaults?))
    }

    /// The last line of a section that begins with `key` (words with one space between); where it has none, of the `defaults` that
    /// its values come from, and so on.
    pub fn value(&self, section: &Section, key: &str) -> Option<&Found> {
        self.lineage(section).find_map(|s| self.inside(s).iter().rev().find(|f| f.is(key)))
    }

    /// The same, where lines that begin with any of `keys` replace each other.
    pub fn last_of(&self, section: &Section, keys: &[&str]) -> Option<&Found> {
        let one = |found: &&Found| keys.iter().any(|key| found.is(key));
        self.lineage(section).find_map(|s| self.inside(s).iter().rev().find(one))
    }

    /// The line of all `global` sections that begins with `key` and counts: the last, or the first that is not zero where HAProxy
    /// takes no second one.
    pub fn global(&self, key: &str) -> Option<&Found> {
        let all =
            || self.sections.iter().filter(|s| s.kind == "global").flat_map(|s| self.inside(s)).filter(|f| f.is(key));
        let zero = |f: &&Found| f.arg(0).is_some_and(|text| number::leading(text) == 0);
        match section::FIRST_COUNTS.contains(&key) {
            true => all().find(|f| !zero(f)).or_else(|| all().next_back()),
            false => all().next_back(),
        }
    }

    /// What the user wrote in a span of a line's file.
    pub(super) fn text(&self, found: &Found, span: &Range<usize>) -> String {
        String::from_utf8_lossy(&self.file(found.file).text[span.clone()]).into_owned()
    }

    /// How it was read.
    pub(super) fn reading(&self) -> &Reading {
        &self.reading
    }

    /// `path:line` of a line.
    pub fn place(&self, found: &Found) -> String {
        format!("{}:{}", self.file(found.file).path.display(), found.line)
    }

    /// A file's text with the edits that concern it; none when none does.
    ///
    /// # Errors
    /// When two edits overlap.
    pub fn edited_text(&self, id: FileId, edits: &[Edit]) -> Result<Option<Vec<u8>>, ConfigError> {
        let file = self.file(id);
        edited(file, id, edits).map_err(|offset| {
            ConfigError::at(file.place(offset), "needs two different changes; apply them one after the other")
        })
    }

    /// The configuration with `edits` (all made against this one), read anew.
    ///
    /// # Errors
    /// When two edits overlap, or the result cannot be read.
    pub fn apply(&self, edits: &[Edit]) -> Result<Config, ConfigError> {
        let text = |(id, file): (FileId, &File)| {
            let text = self.edited_text(id, edits)?.unwrap_or_else(|| file.text.clone());
            Ok((file.path.clone(), text))
        };
        Config::of_texts(self.files().map(text).collect::<Result<_, ConfigError>>()?, self.reading.clone())
    }
}

/// An `.if` that is open.
struct Branch {
    line: usize,
    /// Whether the lines at hand count.
    counts: bool,
    /// Whether one of its branches counted already.
    done: bool,
    condition: String,
}

/// `.if`, `.elif`, `.else`, `.endif`; messages (`.notice`) are nothing to us.
fn directive(
    (line, written): (usize, &str),
    words: &[Word],
    branches: &mut Vec<Branch>,
    reading: &Reading,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<(), String> {
    let rest: Vec<&str> = words[1..].iter().map(|w| w.value.as_str()).collect();
    let text = rest.join(" ");
    let holds = || condition::holds(&text, reading, environment).unwrap_or(false);
    let orphan = |name: &str| format!("{name} without .if; remove it, or add the .if");
    match words[0].value.as_str() {
        ".if" => {
            let counts = holds();
            branches.push(Branch { line, counts, done: counts, condition: written.to_owned() });
        }
        ".elif" => {
            let branch = branches.last_mut().ok_or_else(|| orphan(".elif"))?;
            branch.counts = !branch.done && holds();
            branch.done |= branch.counts;
            written.clone_into(&mut branch.condition);
        }
        ".else" => {
            let branch = branches.last_mut().ok_or_else(|| orphan(".else"))?;
            branch.counts = !branch.done;
            branch.condition = format!("the .else of {}", branch.condition);
        }
        ".endif" => drop(branches.pop().ok_or_else(|| orphan(".endif"))?),
        ".notice" | ".warning" | ".alert" | ".diag" => {}
        other => {
            return Err(format!("unknown directive {other}; there are .if, .elif, .else, .endif, .notice, .warning"));
        }
    }
    Ok(())
}

/// A line with its prefix taken apart; none for a prefix alone.
fn found(file: FileId, line: usize, mut words: Vec<Word>) -> Option<Found> {
    let span = words[0].span.start..words[words.len() - 1].span.end;
    let prefixed = matches!(words[0].value.as_str(), "no" | "default") && words.len() > 1;
    let prefix = prefixed.then(|| words.remove(0));
    (!words.is_empty()).then_some(Found { file, line, span, prefix, words })
}

/// `setenv`, `presetenv` and `unsetenv` count for the lines after them.
fn environment(found: &Found, variables: &mut BTreeMap<String, Option<String>>) {
    let name = found.arg(0).unwrap_or_default().to_owned();
    let value = || Some(found.arg(1).unwrap_or_default().to_owned());
    match found.name() {
        "setenv" => drop(variables.insert(name, value())),
        "presetenv" => drop(variables.entry(name).or_insert_with(value)),
        "unsetenv" => {
            for word in &found.words[1..] {
                variables.insert(word.value.clone(), None);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Result<Config, ConfigError> {
        let reading = Reading { version: (2, 6, 12), ..Reading::default() };
        Config::of_texts(vec![("/x/haproxy.cfg".into(), text.as_bytes().to_vec())], reading)
    }

    #[test]
    fn sections_inherit_from_the_defaults_before_them() {
        let text = "global\n maxconn 9\ndefaults a\n timeout client 1s\n timeout server 2s\nfrontend f\n bind :80\n timeout client 3s\n\
                    defaults b\n no option httplog\nbackend g from a\nbackend h\n";
        let config = config(text).unwrap();
        let section = |name: &str| config.sections().iter().find(|s| s.name == name).unwrap();
        let value = |s: &str, key: &str| config.value(section(s), key).and_then(|f| f.arg(1).map(str::to_owned));
        assert_eq!(value("f", "timeout client").as_deref(), Some("3s"));
        assert_eq!(value("g", "timeout server").as_deref(), Some("2s"));
        assert_eq!(value("h", "timeout server"), None);
        assert_eq!(config.global("maxconn").and_then(|f| f.arg(0)), Some("9"));
        let negated = &config.inside(section("b"))[0];
        assert!(negated.prefix.is_some() && negated.name() == "option" && !negated.is("option httplog"));
    }

    #[test]
    fn defaults_inherit_from_defaults() {
        let text = "defaults base\n maxconn 100\n timeout queue 1s\ndefaults from base\n timeout queue 2s\nfrontend f\n bind :80\n\
                    defaults plain\nfrontend g\nfrontend h from base\n maxconn 7\n";
        let config = config(text).unwrap();
        let section = |name: &str| config.sections().iter().find(|s| s.name == name).unwrap();
        let value = |s: &str, key: &str| config.value(section(s), key).map(|f| f.words.last().unwrap().value.clone());
        assert_eq!(
            (value("f", "maxconn").as_deref(), value("f", "timeout queue").as_deref()),
            (Some("100"), Some("2s"))
        );
        assert_eq!((value("g", "maxconn"), value("h", "maxconn").as_deref()), (None, Some("7")));
    }

    #[test]
    fn a_second_maxconn_of_the_process_does_not_count() {
        let config =
            config("global\n maxconn 0\n maxconn 9\n tune.bufsize 1\nglobal\n maxconn 7\n tune.bufsize 2\n").unwrap();
        assert_eq!(config.global("maxconn").and_then(|f| f.arg(0)), Some("9"));
        assert_eq!(config.global("tune.bufsize").and_then(|f| f.arg(0)), Some("2"));
    }

    #[test]
    fn conditions_and_variables_count_where_they_stand() {
        let text =
            "global\n setenv N 5\n.if defined(N) && version_atleast(2.4)\n maxconn \"$N\"\n.else\n maxconn 7\n.endif\n";
        let config = config(text).unwrap();
        assert_eq!(config.global("maxconn").and_then(|f| f.arg(0)), Some("5"));
        assert_eq!(config.skipped().len(), 1);
        assert_eq!(config.skipped()[0].0.line, 6);
    }

    #[test]
    fn what_is_not_its_syntax_is_told_with_its_place() {
        for (text, says) in [
            ("global\n log \"x\n", ":2: a quote"),
            (".endif\n", ":1: .endif without .if"),
            (".if 1\n", "never closed"),
            (".iff 1\n", "unknown directive .iff"),
        ] {
            let error = config(text).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
