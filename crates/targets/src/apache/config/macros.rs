//! `<Macro>` and `Use` (mod_macro): each use is read as a file of its own, whose lines have the numbers that they have in the definition.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use super::lexer::quote;
use super::tree::Directive;
use super::{Config, ConfigError, Edit, FileId, Found};
use crate::files::edited;

/// What is said of a change that several uses of a macro would need differently.
const SHARED: &str =
    "stands in a macro that is used more than once, on a line with a parameter; write it outside the macro";

/// A macro as it was defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Macro {
    /// Its file.
    pub(super) file: FileId,
    /// Names of its parameters, with their `$`, `%` or `@`.
    parameters: Vec<String>,
    /// From the end of its head to its closing line.
    body: Range<usize>,
}

/// Macros that are defined, by their names in lower case: mod_macro compares them without case.
pub(super) type Macros = BTreeMap<String, Macro>;

/// A use of a macro: the file in which it was defined, and where.
pub(in crate::apache) type Uses = BTreeMap<PathBuf, (FileId, usize)>;

impl Macro {
    /// The macro that a section defines.
    pub(super) fn new(config: &Config, found: &Found, directive: &Directive) -> Macro {
        let text = &config.file(found.file).text[directive.span.clone()];
        let close = text.windows(2).rposition(|two| two == b"</").unwrap_or(text.len());
        let start = directive.head.end;
        Macro {
            file: found.file,
            parameters: found.args.iter().skip(1).cloned().collect(),
            body: start..(directive.span.start + close).max(start),
        }
    }

    /// Where its body begins.
    pub(super) fn start(&self) -> usize {
        self.body.start
    }

    /// The text of a use. Every line of it has the number that it has in the definition's file.
    ///
    /// # Errors
    /// With another number of values than parameters.
    pub(super) fn used(&self, config: &Config, values: &[String]) -> Result<Vec<u8>, String> {
        if values.len() != self.parameters.len() {
            return Err(format!("{} values, and the macro takes {}", values.len(), self.parameters.len()));
        }
        let file = config.file(self.file);
        let before = file.line(self.body.start) - 1;
        let mut text = vec![b'\n'; before];
        text.extend(self.with(&file.text[self.body.clone()], values));
        Ok(text)
    }

    /// A text with values for parameters: where several names begin at one place, the longest (mod_macro.c: `next_substitution`). The value
    /// of a name with `@` is quoted.
    fn with(&self, text: &[u8], values: &[String]) -> Vec<u8> {
        let mut pairs: Vec<(&String, &String)> = self.parameters.iter().zip(values).collect();
        pairs.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        let mut out = Vec::with_capacity(text.len());
        let mut at = 0;
        while at < text.len() {
            let here = pairs.iter().find(|(name, _)| !name.is_empty() && text[at..].starts_with(name.as_bytes()));
            let Some((name, value)) = here else {
                out.push(text[at]);
                at += 1;
                continue;
            };
            let quoted = name.starts_with('@').then(|| quote(value));
            out.extend_from_slice(quoted.as_deref().unwrap_or(value).as_bytes());
            at += name.len();
        }
        out
    }
}

impl Config {
    /// Whether a file is a use of a macro: a text that is no file of the user's.
    pub(in crate::apache) fn is_use(&self, id: FileId) -> bool {
        self.is_named_use(&self.file(id).real)
    }

    /// The same of a file's name.
    pub(in crate::apache) fn is_named_use(&self, real: &std::path::Path) -> bool {
        self.uses.contains_key(real)
    }

    /// Edits of uses as edits of the files that define the macros; others as they are.
    ///
    /// # Errors
    /// When a line with a parameter is concerned whose macro is used more than once.
    pub(super) fn defined(&self, edits: &[Edit]) -> Result<Vec<Edit>, ConfigError> {
        edits.iter().map(|edit| self.in_definition(edit)).collect()
    }

    fn in_definition(&self, edit: &Edit) -> Result<Edit, ConfigError> {
        let used = self.file(edit.file);
        let Some(defined) = self.uses.get(&used.real) else { return Ok(edit.clone()) };
        let file = self.file(defined.0);
        let lines = used.line(edit.from)..=used.line(edit.to);
        if lines.clone().all(|line| file.line_of(line) == used.line_of(line)) {
            let start = |line: usize| (file.nth_span(line).start, used.nth_span(line).start);
            let moved = |at: usize| {
                let (there, here) = start(used.line(at));
                there + at - here
            };
            return Ok(Edit::new(defined.0, &(moved(edit.from)..moved(edit.to)), edit.with.clone()));
        }
        let once = self.uses.values().filter(|other| *other == defined).count() == 1;
        if !once || lines.end() != lines.start() {
            return Err(ConfigError::at(used.place(edit.from), SHARED));
        }
        // Of the only use the line can be written as it is there.
        let text = edited(used, edit.file, std::slice::from_ref(edit)).ok().flatten().unwrap_or_default();
        let (line, grown) = (used.nth_span(*lines.start()), text.len() as i64 - used.text.len() as i64);
        let with = text[line.start..(line.end as i64 + grown) as usize].to_vec();
        Ok(Edit::new(defined.0, &file.nth_span(*lines.start()), with))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::apache::config::Reading;

    const TEXT: &str = "<Macro Lim $n $nn @name>\nServerLimit $n\nThreadsPerChild $nn\nPidFile @name\nTimeout 7\n</Macro>\nUSE lim 2 20 \"a b\"\n";

    fn read(text: &str) -> Result<Config, ConfigError> {
        let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
        Config::of_text(Path::new("/x/httpd.conf"), text.into(), reading)
    }

    fn found(config: &Config) -> Vec<(String, usize)> {
        config.found().iter().map(|f| (f.written(), f.line)).collect()
    }

    fn after(config: &Config, name: &str, value: &str) -> Result<String, ConfigError> {
        let one = config.named(name).next().unwrap();
        let changed = config.apply(&[one.set_arg(0, value).unwrap()])?;
        Ok(String::from_utf8(changed.file(FileId::MAIN).text.clone()).unwrap())
    }

    #[test]
    fn what_a_use_says_stands_where_the_macro_says_it() {
        let config = read(TEXT).unwrap();
        let said = ["ServerLimit 2", "ThreadsPerChild 20", "PidFile a b", "Timeout 7"];
        let wanted: Vec<(String, usize)> =
            said.iter().zip(2..).map(|(text, line)| ((*text).to_owned(), line)).collect();
        assert_eq!(found(&config)[2..], wanted, "the macro itself and its use come before");
        assert_eq!(config.place(&config.found()[2]), "/x/httpd.conf:2");
        assert_eq!(config.files().filter(|(id, _)| !config.is_use(*id)).count(), 1);
        let nested = format!("{TEXT}<Macro All $t>\nUse Lim 3 30 c\nTimeout $t\n</Macro>\nUse All 9\nUndefMacro lim\n");
        assert_eq!(found(&read(&nested).unwrap()).iter().filter(|(text, _)| text.starts_with("Timeout")).count(), 3);
        for wrong in ["Use Lim 2 20\n", "Use Other\n", "UndefMacro LIM\nUse Lim 1 1 1\n"] {
            let why = read(&format!("{TEXT}{wrong}")).unwrap_err().to_string();
            assert!(why.contains("/x/httpd.conf:") && why.contains("Use "), "{why}");
        }
    }

    #[test]
    fn what_is_changed_in_a_use_is_changed_in_the_macro() {
        let config = read(TEXT).unwrap();
        assert_eq!(after(&config, "timeout", "9").unwrap(), TEXT.replace("Timeout 7", "Timeout 9"));
        assert_eq!(after(&config, "serverlimit", "4").unwrap(), TEXT.replace("ServerLimit $n", "ServerLimit 4"));
        let twice = format!("{TEXT}Use Lim 3 30 d\n");
        let config = read(&twice).unwrap();
        assert_eq!(after(&config, "timeout", "9").unwrap(), twice.replace("Timeout 7", "Timeout 9"));
        let why = after(&config, "serverlimit", "4").unwrap_err().to_string();
        assert!(why.starts_with("/x/httpd.conf:2") && why.contains("used more than once"), "{why}");
    }
}
