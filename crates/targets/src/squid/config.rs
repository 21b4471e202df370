//! Squid's configuration: a directive and its words a line, `#` begins a comment, `\` at the end goes on in the next line, `include
//! PATTERN` (src/cache_cf.cc: `parseOneConfigFile`; src/ConfigParser.cc). Of most directives the last one counts.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::error::TargetError;
use crate::files::ConfigError;
use crate::files::Edit;
use crate::files::entry::{Entries, Entry, Line, Syntax};
use crate::settings::SourcedValue;
use genkai_model::limit::Origin;

use super::settings;

/// The syntax.
struct Lines;

impl Syntax for Lines {
    fn line(&self, line: &[u8]) -> Result<Line, &'static str> {
        let text = String::from_utf8_lossy(line);
        let mut words = words(&text).into_iter();
        let Some(name) = words.next() else { return Ok(Line::Nothing) };
        Ok(Line::Entry(name, words.collect()))
    }

    fn include(&self, entry: &Entry) -> Option<PathBuf> {
        (entry.name == "include").then(|| PathBuf::from(entry.value().trim_matches('"')))
    }

    fn comment(&self, line: &str) -> usize {
        comment(line)
    }

    fn goes_on(&self, line: &[u8]) -> bool {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        line.ends_with(b"\\") && !line.trim_ascii_start().starts_with(b"#")
    }
}

/// The words of a line, up to a comment; one in double quotes may have spaces, and keeps its quotes.
fn words(text: &str) -> Vec<String> {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let (mut all, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in joined[..comment(&joined)].chars() {
        quoted ^= c == '"';
        if !c.is_ascii_whitespace() || quoted {
            word.push(c);
        } else if !word.is_empty() {
            all.push(std::mem::take(&mut word));
        }
    }
    all.extend(Some(word).filter(|word| !word.is_empty()));
    all
}

/// Where the comment of a line begins; its end where it has none.
fn comment(text: &str) -> usize {
    let (mut quoted, mut between) = (false, true);
    for (at, c) in text.char_indices() {
        if c == '#' && between && !quoted {
            return at;
        }
        quoted ^= c == '"';
        between = c.is_ascii_whitespace();
    }
    text.len()
}

/// A configuration of Squid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Its lines.
    pub entries: Entries,
}

impl Config {
    /// Reads `main` and what it includes.
    ///
    /// # Errors
    /// A file that is missing, unreadable, too large, or that includes itself.
    pub fn read(main: &Path) -> Result<Config, ConfigError> {
        Ok(Config { entries: Entries::read(main, &Lines)? })
    }

    /// A configuration of a text whose file need not exist.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub fn of_text(path: &Path, text: Vec<u8>) -> Result<Config, ConfigError> {
        Ok(Config { entries: Entries::of_text(path, text, &Lines)? })
    }

    /// The last directive of a name.
    pub fn value(&self, name: &str) -> Option<&Entry> {
        self.entries.all().iter().rev().find(|entry| settings::canonical(&entry.name) == name)
    }

    /// Every directive of a name.
    pub fn each<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.entries.all().iter().filter(move |e| e.name == name)
    }

    /// The value of a directive as `read` understands it; where it does not, or it is not written: the default.
    pub(super) fn sourced<T: Default>(&self, name: &str, read: fn(&str) -> Option<T>) -> SourcedValue<T> {
        let entry = self.value(name).filter(|entry| read(&entry.value()).is_some());
        let written = entry.map_or_else(|| settings::default(name).to_owned(), Entry::value);
        let default = || Origin::Default(settings::SOURCE.to_owned());
        let origin = entry.map_or_else(default, |entry| self.entries.origin(entry));
        SourcedValue { value: read(&written).unwrap_or_default(), written, origin }
    }

    /// Whether Squid counts the connections of each client (`client_db`): without, nothing that asks for their number matches.
    pub(super) fn counts_clients(&self) -> bool {
        let held = self.sourced("client_db", |text| text.split_ascii_whitespace().next().map(str::to_owned));
        // src/cache_cf.cc: parse_onoff.
        !matches!(&*held.value, "off" | "disable")
    }

    /// The same with another value of a directive; where it is not written, at the end.
    ///
    /// # Errors
    /// What is left cannot be read.
    pub(super) fn with(&self, setting: &str, value: &str) -> Result<Config, ConfigError> {
        let text = format!("{setting} {value}");
        Ok(Config { entries: self.entries.with_line(self.value(setting), text, &Lines)? })
    }

    /// The same with edits.
    ///
    /// # Errors
    /// When two overlap, or what is left cannot be read.
    pub(super) fn edited(&self, edits: &[Edit]) -> Result<Config, ConfigError> {
        Ok(Config { entries: self.entries.edited(edits, &Lines)? })
    }

    /// A directive as it is written, without line ends.
    pub fn written(&self, entry: &Entry) -> String {
        std::iter::once(entry.name.clone()).chain(entry.values.iter().cloned()).collect::<Vec<_>>().join(" ")
    }
}

/// How settings call the number of connections to a peer: of all lines that have one.
pub(super) const MAX_CONN: &str = "cache_peer.max-conn";
/// The word of a line before it.
const WORD: &str = "max-conn=";

/// The number of connections that a line of a peer has, as written and as it counts; none: no cap.
pub(super) fn cap(entry: &Entry) -> Option<(&str, u64)> {
    let written = entry.values.iter().rev().find_map(|word| word.strip_prefix(WORD))?;
    settings::number(written).filter(|most| *most > 0).map(|most| (written, most))
}

/// No peer has a number that could be changed.
pub(super) fn no_cap() -> TargetError {
    let hint = "add max-conn=N to the cache_peer of a copy of the file";
    TargetError::usage("Squid", format!("no `cache_peer ... parent` has a `max-conn`\n  hint: {hint}"))
}

impl Config {
    /// The lines of peers that answer.
    pub(super) fn parents(&self) -> Vec<&Entry> {
        self.each("cache_peer").filter(|e| e.values.get(1).is_some_and(|kind| kind == "parent")).collect()
    }

    /// Those of them whose number can be changed, in their order.
    fn capped(&self) -> Vec<&Entry> {
        self.parents().into_iter().filter(|entry| cap(entry).is_some()).collect()
    }

    /// What is in force of [`MAX_CONN`]; none: no peer has a cap.
    pub(super) fn max_conn(&self) -> Option<SourcedValue<()>> {
        let capped = self.capped();
        let mut written: Vec<&str> = capped.iter().filter_map(|entry| Some(cap(entry)?.0)).collect();
        written.dedup();
        let origin = self.entries.origin(capped.first()?);
        Some(SourcedValue { value: (), written: written.join(", "), origin })
    }

    /// How many workers there are, at least one.
    pub(super) fn workers(&self) -> SourcedValue<u64> {
        self.sourced("workers", settings::number).map(|workers| workers.max(1))
    }

    /// The configuration with another number of connections to each peer that has one; no other byte differs.
    pub(super) fn with_max_conn(&self, value: &str) -> Result<Config, TargetError> {
        if value.parse::<u32>().ok().filter(|most| *most > 0).is_none() {
            let what = format!("`{} {value}` is not valid: it takes a number, at least 1", MAX_CONN);
            return Err(TargetError::usage("Squid", what));
        }
        let count = self.capped().len();
        if count == 0 {
            return Err(no_cap());
        }
        (0..count).try_fold(self.clone(), |config, nth| {
            let entry = config.capped()[nth];
            let file = &config.entries.files()[entry.file.0].text;
            let line = String::from_utf8_lossy(&file[entry.span.clone()]).into_owned();
            let line = line[..comment(&line)].trim_end();
            let at = line.rfind(WORD).map_or(line.len(), |at| at + WORD.len());
            let end = line[at..].find(|c: char| c.is_ascii_whitespace()).map_or(line.len(), |n| at + n);
            let text = format!("{}{value}{}", &line[..at], &line[end..]);
            Ok(Config { entries: config.entries.with_line(Some(entry), text, &Lines)? })
        })
    }
}

/// How settings call the number of `acl NAME maxconn N`.
pub(super) fn acl_setting(name: &str) -> String {
    format!("acl.{name}.maxconn")
}

/// The name of the ACL whose number a setting is.
pub(super) fn acl_of(setting: &str) -> Option<&str> {
    setting.strip_prefix("acl.")?.strip_suffix(".maxconn")
}

/// Where the word with this number is in a line.
fn word(line: &str, number: usize) -> Option<Range<usize>> {
    let mut words = line[..comment(line)].split_ascii_whitespace().filter(|word| *word != "\\");
    let word = words.nth(number)?;
    let start = word.as_ptr() as usize - line.as_ptr() as usize;
    Some(start..start + word.len())
}

impl Config {
    /// The lines of an ACL.
    pub(super) fn acl<'c>(&'c self, name: &str) -> impl Iterator<Item = &'c Entry> {
        self.each("acl").filter(move |line| line.values.first().is_some_and(|first| first.eq_ignore_ascii_case(name)))
    }

    /// The line of an `acl NAME maxconn`: the last one counts.
    pub(super) fn cap_of(&self, name: &str) -> Option<&Entry> {
        self.acl(name).last().filter(|line| line.values.get(1).is_some_and(|kind| kind == "maxconn"))
    }

    /// The same, as it must be there.
    pub(super) fn maxconn(&self, name: &str) -> Result<&Entry, TargetError> {
        self.cap_of(name).ok_or_else(|| TargetError::usage("Squid", format!("there is no `acl {name} maxconn N`")))
    }

    /// The configuration with another number in an `acl NAME maxconn`; no other byte differs.
    pub(super) fn with_maxconn(&self, name: &str, value: &str) -> Result<Config, TargetError> {
        let entry = self.maxconn(name)?;
        if value.parse::<i32>().ok().filter(|most| *most > 0).is_none() {
            let what = format!("`acl {name} maxconn {value}` is not valid: it takes a number, at least 1");
            return Err(TargetError::usage("Squid", what));
        }
        let file = &self.entries.files()[entry.file.0].text;
        let line = String::from_utf8_lossy(&file[entry.span.clone()]).into_owned();
        let line = line[..comment(&line)].trim_end();
        let at = word(line, 3).unwrap_or(line.len()..line.len());
        let text = format!("{}{value}{}", &line[..at.start], &line[at.end..]);
        Ok(Config { entries: self.entries.with_line(Some(entry), text, &Lines)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{Configuration, Requests};

    const TEXT: &str = "# c\nhttp_port 80 accel \\\n   defaultsite=a # here\nacl x src \"/a b\"\ncache_mem 8 MB\n  cache_mem 16 MB # two\n";

    fn config(text: &str) -> Config {
        Config::of_text(Path::new("/x/squid.conf"), text.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn clients_are_not_counted_in_each_way_of_saying_so() {
        let counts = ["", "client_db on\n", "client_db enable\n", "client_db off\n", "client_db disable\n"]
            .map(|text| config(text).counts_clients());
        assert_eq!(counts, [true, true, true, false, false]);
    }

    #[test]
    fn lines_go_on_and_comments_end_them() {
        let config = config(TEXT);
        let all: Vec<(usize, String)> = config.entries.all().iter().map(|e| (e.line, config.written(e))).collect();
        let line = |n: usize, text: &str| (n, text.to_owned());
        let expected = [
            line(2, "http_port 80 accel defaultsite=a"),
            line(4, "acl x src \"/a b\""),
            line(5, "cache_mem 8 MB"),
            line(6, "cache_mem 16 MB"),
        ];
        assert_eq!(all, expected);
        assert_eq!(config.value("cache_mem").map(Entry::value).as_deref(), Some("16 MB"));
    }

    #[test]
    fn a_setting_changes_one_line_and_no_other_byte() {
        let before = config(TEXT);
        let after = before.set("cache_mem", "32 MB", &Requests::default()).unwrap();
        assert_eq!(after.entries.files()[0].text, TEXT.replace("cache_mem 16 MB", "cache_mem 32 MB").into_bytes());
        let added = before.set("workers", "2", &Requests::default()).unwrap();
        assert_eq!(added.entries.files()[0].text, format!("{TEXT}workers 2\n").into_bytes());
        assert!(before.diff(&added).contains("+workers 2\n"));
    }
}
