//! Caddyfiles, read and edited without losing a byte.
//!
//! A [`Config`] is the text of the main file and of all that it imports, and what they say together: the global options and the
//! sites, with imports, snippets and variables of the environment put in, as Caddy does it (caddyconfig/caddyfile/parse.go).
//! Every word knows its file and its bytes there, so changes are [`Edit`]s of the user's text.

mod import;
pub mod lexer;
mod spans;
mod tree;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use crate::files::ConfigError;
pub use lexer::{Word, quote};
pub use tree::{Block, Line};

use crate::files::{self, edited, read};
pub use crate::files::{Edit, FileId};
use import::Snippets;

/// One file of a configuration. Its words know their places in it.
pub type File = files::File<()>;

/// Variables of the environment.
pub type Variables = BTreeMap<String, String>;

/// Those of this process, which a server that it starts inherits.
pub fn variables() -> Variables {
    let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    std::env::vars_os().filter_map(text).collect()
}

/// A site: where it listens, and its directives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The line with its first address.
    pub head: Line,
    /// Its addresses, without the commas between them.
    pub addresses: Vec<Word>,
    /// Its directives.
    pub lines: Vec<Line>,
}

impl Site {
    /// Whether it is a route with a name (`&(name)`, since 2.7), which other sites invoke.
    pub fn is_route(&self) -> bool {
        self.head.name().starts_with("&(")
    }

    /// It in a few words: its addresses.
    pub fn title(&self) -> String {
        self.addresses.iter().map(|word| word.value.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// A configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub(super) files: Vec<File>,
    /// The block of global options.
    global: Option<Line>,
    sites: Vec<Site>,
    variables: Variables,
}

/// Whether a configuration is one in Caddy's own format: an object of JSON.
fn is_json(text: &[u8]) -> bool {
    let mut bytes = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    bytes.next() == Some(&b'{') && bytes.next() == Some(&b'"')
}

impl Config {
    /// Reads a configuration with all files it imports. Nothing is written.
    ///
    /// # Errors
    /// A file that is missing, unreadable, too large, or not a Caddyfile.
    pub fn read(main: &Path, variables: Variables) -> Result<Config, ConfigError> {
        let path = std::path::absolute(main).map_err(ConfigError::read(main))?;
        let text = read::bytes(&path).map_err(ConfigError::read(main))?;
        Config::of_texts(vec![(path, text)], variables)
    }

    /// A configuration of texts, the main one first, whose files need not exist. Those which are imported and are not among them are
    /// read.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub fn of_texts(texts: Vec<(PathBuf, Vec<u8>)>, variables: Variables) -> Result<Config, ConfigError> {
        let mut texts = texts.into_iter();
        let Some((main, text)) = texts.next() else {
            return Ok(Config { files: Vec::new(), global: None, sites: Vec::new(), variables });
        };
        if is_json(&text) {
            let what = "this is a JSON configuration of Caddy's: genkai reads Caddyfiles only".to_owned();
            return Err(ConfigError::At { place: format!("{}:1", main.display()), what });
        }
        let mut loader = Loader { files: Vec::new(), texts: texts.collect(), variables: &variables, imported: 0 };
        let lines = loader.add(main, text)?;
        let (global, sites) = sites(&mut loader, lines)?;
        Ok(Config { files: loader.files, global, sites, variables })
    }

    /// All files, the main one first.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &File)> {
        self.files.iter().enumerate().map(|(i, f)| (FileId(i), f))
    }

    /// One file.
    pub fn file(&self, id: FileId) -> &File {
        &self.files[id.0]
    }

    /// The block of global options.
    pub fn global(&self) -> Option<&Line> {
        self.global.as_ref()
    }

    /// Every site, in order; routes with names among them.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// `path:line` of a line.
    pub fn place(&self, line: &Line) -> String {
        format!("{}:{}", self.file(line.file).path.display(), line.number)
    }

    /// What the user wrote on a line, without its block.
    pub(super) fn written(&self, line: &Line) -> String {
        let text = |word: &Word| String::from_utf8_lossy(&self.file(word.file).text[word.span.clone()]).into_owned();
        line.words.iter().map(text).collect::<Vec<_>>().join(" ")
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
        Config::of_texts(self.files().map(text).collect::<Result<_, ConfigError>>()?, self.variables.clone())
    }
}

/// The files while they are read.
struct Loader<'a> {
    files: Vec<File>,
    /// Texts that stand for files.
    texts: BTreeMap<PathBuf, Vec<u8>>,
    variables: &'a Variables,
    /// Imports so far, and the lines that they brought.
    imported: usize,
}

impl Loader<'_> {
    fn path(&self, id: FileId) -> &Path {
        &self.files[id.0].path
    }

    fn place(&self, line: &Line) -> String {
        format!("{}:{}", self.path(line.file).display(), line.number)
    }

    /// The lines of a file that is imported by `line`: the same each time.
    fn read(&mut self, line: &Line, path: PathBuf) -> Result<Vec<Line>, ConfigError> {
        if let Some(known) = self.files.iter().position(|file| file.path == path) {
            return self.lines(FileId(known), &self.files[known]);
        }
        let text = match self.texts.remove(&path) {
            Some(text) => text,
            None => read::bytes(&path)
                .map_err(|e| ConfigError::at(self.place(line), format!("cannot import {}: {e}", path.display())))?,
        };
        self.add(path, text)
    }

    fn add(&mut self, path: PathBuf, text: Vec<u8>) -> Result<Vec<Line>, ConfigError> {
        if text.len() as u64 > read::MAX_SIZE {
            return Err(ConfigError::TooLarge(path));
        }
        let id = FileId(self.files.len());
        let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let file = File::new(path, real, text, Vec::new());
        let lines = self.lines(id, &file)?;
        self.files.push(file);
        Ok(lines)
    }

    fn lines(&self, id: FileId, file: &File) -> Result<Vec<Line>, ConfigError> {
        let syntax = |(offset, what)| ConfigError::at(file.place(offset), what);
        let known = |name: &str| self.variables.get(name).cloned();
        let tokens = lexer::tokens(id, &file.text, &known).map_err(syntax)?;
        tree::lines(id, tokens, &|offset| file.line(offset)).map_err(syntax)
    }
}

/// The global options and the sites. Snippets count for the lines after them; a site without braces is the only one.
fn sites(loader: &mut Loader<'_>, lines: Vec<Line>) -> Result<(Option<Line>, Vec<Site>), ConfigError> {
    let (mut global, mut sites, mut snippets) = (None, Vec::<Site>::new(), Snippets::new());
    // The next one last, each with how many imports it came through.
    let mut waiting: Vec<(usize, Line)> = lines.into_iter().rev().map(|line| (0, line)).collect();
    while let Some((depth, mut line)) = waiting.pop() {
        if line.name() == "import" {
            let lines = import::imported(loader, &snippets, &line, depth)?;
            waiting.extend(lines.into_iter().rev().map(|line| (depth + 1, line)));
            continue;
        }
        complete(&mut line, &mut waiting);
        if let Some(name) = line.name().strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            snippets.insert(name.to_owned(), line.inside().to_vec());
            continue;
        }
        let inside = match &line.block {
            Some(block) => block.lines.clone(),
            None => waiting.drain(..).rev().map(|(_, line)| line).collect(),
        };
        let inside = import::expand(loader, &snippets, &inside, depth)?;
        if line.words.is_empty() {
            if let Some(block) = &mut line.block {
                block.lines = inside;
            }
            global = global.or(Some(line));
        } else {
            let addresses = addresses(&line.words);
            sites.push(Site { head: line, addresses, lines: inside });
        }
    }
    Ok((global, sites))
}

/// Puts together a head that goes on after a comma, or whose brace stands on a line of its own.
fn complete(line: &mut Line, waiting: &mut Vec<(usize, Line)>) {
    while line.block.is_none() && line.words.last().is_some_and(|word| word.value.ends_with(',')) {
        let Some((_, next)) = waiting.pop() else { break };
        line.words.extend(next.words);
        line.block = next.block;
    }
    if line.block.is_none() && waiting.last().is_some_and(|(_, next)| next.words.is_empty()) {
        line.block = waiting.pop().and_then(|(_, next)| next.block);
    }
}

/// The addresses of a head: words, less the commas behind them.
fn addresses(words: &[Word]) -> Vec<Word> {
    let each = words.iter().map(|word| Word { value: word.value.trim_end_matches(',').to_owned(), ..word.clone() });
    each.filter(|word| !word.value.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(texts: &[(&str, &str)]) -> Config {
        let texts = texts.iter().map(|(path, text)| (PathBuf::from(path), text.as_bytes().to_vec())).collect();
        Config::of_texts(texts, Variables::from([("PORT".to_owned(), "81".to_owned())])).unwrap()
    }

    #[test]
    fn json_is_no_caddyfile() {
        let of = |text: &str| Config::of_texts(vec![("/c".into(), text.into())], Variables::new());
        let json = of("{\n \"apps\": {\"http\": {}}\n}\n").unwrap_err().to_string();
        assert!(json.starts_with("/c:1: this is a JSON configuration"), "{json}");
        assert!(of("{\n\tadmin off\n}\n:80 {\n}\n").is_ok() && of("{\n}\n:80 {\n}\n").is_ok());
    }

    /// All lines of a site with their depth.
    fn shown(lines: &[Line]) -> String {
        let each = |line: &Line| {
            let words: Vec<&str> = line.words.iter().map(|w| w.value.as_str()).collect();
            let inside = line.block.as_ref().map_or_else(String::new, |b| format!(" {{{}}}", shown(&b.lines)));
            words.join(" ") + &inside
        };
        lines.iter().map(each).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn sites_options_and_snippets_are_told_apart() {
        let config = config(&[(
            "/etc/caddy/Caddyfile",
            "# c\n{\n\tadmin off\n}\n(log) {\n\theader X {args.0}\n\tencode {args[1]}\n}\na.example,\nb.example {\n\timport log \
             one gzip\n\thandle /x {\n\t\trespond \"}\"\n\t}\n}\n:{$PORT}\n{\n\treverse_proxy h:1\n}\n",
        )]);
        assert_eq!(config.global().map(|g| shown(g.inside())).unwrap(), "admin off");
        let of = |site: &Site| (site.title(), shown(&site.lines));
        let expected = "header X one; encode gzip; handle /x {respond }}";
        assert_eq!(of(&config.sites()[0]), ("a.example, b.example".to_owned(), expected.to_owned()));
        assert_eq!(of(&config.sites()[1]), (":81".to_owned(), "reverse_proxy h:1".to_owned()));
        // An argument is where it was written.
        let word = &config.sites()[0].lines[0].words[2];
        assert_eq!(&config.file(FileId::MAIN).text[word.span.clone()], b"one");
    }

    #[test]
    fn files_are_imported_where_they_stand() {
        let config = config(&[
            ("/etc/caddy/Caddyfile", "import sites/a\n:82 {\n\timport sites/b x\n}\n"),
            ("/etc/caddy/sites/a", "a.example {\n\trespond a\n}\n"),
            ("/etc/caddy/sites/b", "respond {args.0}\n"),
        ]);
        let all: Vec<String> = config.sites().iter().map(|s| format!("{}: {}", s.title(), shown(&s.lines))).collect();
        assert_eq!(all, ["a.example: respond a", ":82: respond x"]);
        assert_eq!(config.files().count(), 3);
        assert_eq!(config.place(&config.sites()[0].lines[0]), "/etc/caddy/sites/a:2");
    }

    #[test]
    fn a_site_alone_needs_no_braces() {
        let config = config(&[("/x", "localhost\n\nreverse_proxy h:1 {\n\tlb_policy first\n}\n")]);
        assert_eq!(config.sites()[0].title(), "localhost");
        assert_eq!(shown(&config.sites()[0].lines), "reverse_proxy h:1 {lb_policy first}");
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_place() {
        let said =
            |text: &str| Config::of_texts(vec![("/x".into(), text.into())], Variables::new()).unwrap_err().to_string();
        assert!(said("a {\n b\n").starts_with("/x:1: this brace is never closed"), "{}", said("a {\n b\n"));
        assert!(said("a {\n}\n}\n").starts_with("/x:3: this brace closes nothing"));
        assert!(said("a {\n import gone\n}\n").starts_with("/x:2: cannot import /gone"));
        assert!(said("(a) {\n import a\n}\n:1 {\n import a\n}\n").contains("imports without end"));
    }

    #[test]
    fn what_is_without_end_is_refused() {
        let many: String =
            (0..15).map(|n| format!("(a{n}) {{\n{}}}\n", format!("\timport a{}\n", n + 1).repeat(10))).collect();
        for (text, why) in [
            ("(a) {\n\timport a\n}\n:80 {\n\timport a\n}\n".to_owned(), "without end"),
            (
                "(a) {\n\timport a {\n\t\t{block}\n\t\t{block}\n\t}\n}\n:80 {\n\timport a {\n\t\tx\n\t}\n}\n"
                    .to_owned(),
                "without end",
            ),
            (format!("{many}(a15) {{\n\tencode gzip\n}}\n:80 {{\n\timport a0\n}}\n"), "without end"),
            (format!(":80 {{\n{}{}}}\n", "route {\n".repeat(100_000), "}\n".repeat(100_000)), "blocks within"),
        ] {
            let refused = Config::of_texts(vec![("/x".into(), text.into())], Variables::new()).unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
