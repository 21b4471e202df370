//! `import`: lines of files and of snippets put in its place (caddyconfig/caddyfile/parse.go: `doImport`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::tree::Line;
use super::{ConfigError, Loader, Word};
use crate::files::read;

/// Imports within imports, at most so deep.
const MAX_DEPTH: usize = 20;

/// What is wrong with imports that bring too much.
const ENDLESS: &str = "imports without end (does one import itself?)";
/// Lines that imports stand for, all told, at most so many.
const MAX_LINES: usize = 100_000;

/// Snippets by name, as they are written.
pub(super) type Snippets = BTreeMap<String, Vec<Line>>;

/// The lines with every `import` replaced by what it stands for.
pub(super) fn expand(
    loader: &mut Loader<'_>,
    snippets: &Snippets,
    lines: &[Line],
    depth: usize,
) -> Result<Vec<Line>, ConfigError> {
    let mut all = Vec::new();
    for line in lines {
        if line.name() == "import" {
            let lines = imported(loader, snippets, line, depth)?;
            all.extend(expand(loader, snippets, &lines, depth + 1)?);
            continue;
        }
        let mut line = line.clone();
        if let Some(block) = &mut line.block {
            block.lines = expand(loader, snippets, &block.lines, depth)?;
        }
        all.push(line);
    }
    Ok(all)
}

/// What an `import` stands for: a snippet, or else the files of a pattern, as they are written but for its arguments.
pub(super) fn imported(
    loader: &mut Loader<'_>,
    snippets: &Snippets,
    line: &Line,
    depth: usize,
) -> Result<Vec<Line>, ConfigError> {
    let syntax = |loader: &Loader<'_>, what: &str| ConfigError::at(loader.place(line), what);
    let Some(what) = line.arg(0).filter(|word| !word.value.is_empty()) else {
        return Err(syntax(loader, "import names nothing; name a file or a snippet"));
    };
    if depth >= MAX_DEPTH {
        return Err(syntax(loader, ENDLESS));
    }
    let lines = match snippets.get(&what.value) {
        Some(lines) => lines.clone(),
        None => {
            let mut lines = Vec::new();
            for path in matching(loader, line, &what.value)? {
                lines.extend(loader.read(line, path)?);
            }
            lines
        }
    };
    let given = Given { args: &line.args()[1..], block: line.inside() };
    let lines = given.put(&lines);
    loader.imported += 1;
    lines.iter().for_each(|line| line.all(&mut |_| loader.imported += 1));
    if loader.imported > MAX_LINES {
        return Err(syntax(loader, ENDLESS));
    }
    Ok(lines)
}

/// The files of a pattern, relative to the file that imports; one without wildcards must be there.
fn matching(loader: &Loader<'_>, line: &Line, pattern: &str) -> Result<Vec<PathBuf>, ConfigError> {
    let folder = loader.path(line.file).parent().unwrap_or(Path::new("/")).to_owned();
    let pattern = folder.join(pattern);
    if !pattern.to_string_lossy().contains(['*', '?', '[']) {
        return Ok(vec![pattern]);
    }
    // Go's Glob matches hidden files, which Caddy then leaves out where the pattern begins with `*`; glob(3) never does.
    Ok(read::glob(&pattern).unwrap_or_default())
}

/// What an `import` gives to the lines that come in its place.
struct Given<'a> {
    args: &'a [Word],
    block: &'a [Line],
}

impl Given<'_> {
    fn put(&self, lines: &[Line]) -> Vec<Line> {
        let mut all = Vec::new();
        for line in lines {
            if line.words.len() == 1 && line.name() == "{block}" {
                all.extend_from_slice(self.block);
                continue;
            }
            let mut line = line.clone();
            line.words = line.words.iter().flat_map(|word| self.word(word)).collect();
            if let Some(block) = &mut line.block {
                block.lines = self.put(&block.lines);
            }
            all.push(line);
        }
        all
    }

    /// A word with its arguments: `{args.0}` and `{args[0]}` in it, or `{args[:]}` alone. A word that is nothing but an argument
    /// is that argument, where it was written.
    fn word(&self, word: &Word) -> Vec<Word> {
        if let Some(range) = word.value.strip_prefix("{args[").and_then(|rest| rest.strip_suffix("]}"))
            && let Some((from, to)) = range.split_once(':')
        {
            let bound = |text: &str, open| if text.is_empty() { Some(open) } else { text.parse::<usize>().ok() };
            let (from, to) = (bound(from, 0), bound(to, self.args.len()));
            return from.zip(to).and_then(|(from, to)| self.args.get(from..to)).unwrap_or_default().to_vec();
        }
        let mut value = word.value.clone();
        for (index, arg) in self.args.iter().enumerate() {
            for name in [format!("{{args.{index}}}"), format!("{{args[{index}]}}")] {
                if value == name {
                    return vec![arg.clone()];
                }
                value = value.replace(&name, &arg.value);
            }
        }
        vec![Word { value, ..word.clone() }]
    }
}
