//! From files to the directives in force, in the order in which httpd reads them.
//!
//! Conditions, `Define`, `LoadModule` and `Include` are obeyed where they stand, as httpd does while it reads (the
//! directives with `EXEC_ON_READ` in server/core.c and modules/core/mod_so.c); all others are listed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::macros::{Macro, Macros};
use super::modules::{self, STATIC};
use super::tree::Directive;
use super::{Config, File, FileId, Found, Reading, Section, Skipped, include};
use crate::files::ConfigError;
use crate::files::pattern::Reads;
use crate::files::read::{MAX_SIZE, bytes};

/// Files that include files (`AP_MAX_INCLUDE_DEPTH`, include/httpd.h).
const MAX_DEPTH: usize = 20;
/// Most inclusions, a file counted as often as it is included.
const MAX_INCLUSIONS: usize = 10_000;

struct Evaluation {
    config: Config,
    /// Texts that are not read from disk.
    texts: BTreeMap<PathBuf, Vec<u8>>,
    variables: BTreeMap<String, String>,
    macros: Macros,
    context: Vec<Section>,
    depth: usize,
    inclusions: usize,
}

/// Reads `main` and everything it includes; files in `texts` are taken from there.
pub(super) fn read(main: &Path, reading: Reading, texts: BTreeMap<PathBuf, Vec<u8>>) -> Result<Config, ConfigError> {
    let failed = ConfigError::read(main);
    let path = std::path::absolute(main).map_err(&failed)?;
    let config = Config {
        files: Vec::new(),
        found: Vec::new(),
        skipped: Vec::new(),
        uses: BTreeMap::new(),
        modules: STATIC.iter().map(|name| (*name).to_owned()).collect(),
        undefined: Vec::new(),
        variables: BTreeMap::new(),
        root: reading.root.clone(),
        reading,
    };
    let mut evaluation = Evaluation {
        config,
        texts,
        variables: BTreeMap::new(),
        macros: Macros::new(),
        context: Vec::new(),
        depth: 0,
        inclusions: 0,
    };
    let text = match evaluation.texts.get(main).or_else(|| evaluation.texts.get(&path)) {
        Some(text) => text.clone(),
        None => bytes(&path).map_err(failed)?,
    };
    let id = evaluation.add(path, text)?;
    evaluation.file(id)?;
    evaluation.config.variables = evaluation.variables;
    Ok(evaluation.config)
}

/// Reads further files, each of which counts within a folder.
pub(super) fn within(config: &Config, host: Option<usize>, files: &[(String, PathBuf)]) -> Result<Config, ConfigError> {
    let mut evaluation = Evaluation {
        config: config.clone(),
        texts: BTreeMap::new(),
        variables: config.variables.clone(),
        macros: Macros::new(),
        context: Vec::new(),
        depth: 0,
        inclusions: 0,
    };
    let section = |name: &str, args: Vec<String>, index: usize| Section { name: name.to_owned(), args, index };
    for (number, (folder, path)) in files.iter().enumerate() {
        let text = bytes(path).map_err(ConfigError::read(path))?;
        let id = evaluation.add(path.clone(), text)?;
        let around = host.map(|index| section("virtualhost", config.found[index].args.clone(), index));
        // It is no section of a file, so it has a place that none has.
        let own = section("directory", vec![folder.clone()], usize::MAX - number);
        evaluation.context = around.into_iter().chain([own]).collect();
        evaluation.file(id)?;
    }
    Ok(evaluation.config)
}

impl Evaluation {
    fn add(&mut self, path: PathBuf, text: Vec<u8>) -> Result<FileId, ConfigError> {
        if text.len() as u64 > MAX_SIZE {
            return Err(ConfigError::TooLarge(path));
        }
        let real = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        self.config.files.push(File::parse(path, real, text)?);
        Ok(FileId(self.config.files.len() - 1))
    }

    fn file(&mut self, id: FileId) -> Result<(), ConfigError> {
        let tree = self.config.files[id.0].tree.clone();
        self.all(id, &tree)
    }

    fn all(&mut self, id: FileId, directives: &[Directive]) -> Result<(), ConfigError> {
        directives.iter().try_for_each(|directive| self.one(id, directive))
    }

    fn one(&mut self, id: FileId, directive: &Directive) -> Result<(), ConfigError> {
        let found = self.found(id, directive);
        let Some(inside) = &directive.inside else { return self.plain(found) };
        if found.name == "macro" {
            // What is in it counts where it is used.
            let name = found.arg(0).unwrap_or_default().to_ascii_lowercase();
            self.macros.insert(name, Macro::new(&self.config, &found, directive));
            self.config.found.push(found);
            return Ok(());
        }
        match self.condition(&found) {
            Some(true) => self.all(id, inside),
            Some(false) => {
                self.skip(&found, inside);
                Ok(())
            }
            None => {
                let section =
                    Section { name: found.name.clone(), args: found.args.clone(), index: self.config.found.len() };
                self.config.found.push(found);
                self.context.push(section);
                let done = self.all(id, inside);
                self.context.pop();
                done
            }
        }
    }

    fn found(&mut self, id: FileId, directive: &Directive) -> Found {
        let file = &self.config.files[id.0];
        let line = file.line(directive.head.start);
        let place = format!("{}:{line}", file.path.display());
        let args = directive.words[1..].iter().map(|w| self.resolved(&w.value, &place)).collect();
        Found {
            file: id,
            line,
            name: directive.name(),
            words: directive.words.clone(),
            args,
            span: directive.span.clone(),
            head: directive.head.clone(),
            section: directive.inside.is_some(),
            context: self.context.clone(),
            includes: Vec::new(),
        }
    }

    /// A word with its `${NAME}`s replaced (server/core.c: `ap_resolve_env`); those that nothing defines stay.
    fn resolved(&mut self, word: &str, place: &str) -> String {
        let mut out = String::new();
        let mut rest = word;
        while let Some(start) = rest.find("${") {
            let Some(end) = rest[start..].find('}') else { break };
            let name = &rest[start + 2..start + end];
            out.push_str(&rest[..start]);
            let known = self.variables.get(name).or_else(|| self.config.reading.environment.get(name));
            match known {
                Some(value) => out.push_str(value),
                None => {
                    out.push_str(&rest[start..=start + end]);
                    if !name.contains(':') {
                        self.config.undefined.push((name.to_owned(), place.to_owned()));
                    }
                }
            }
            rest = &rest[start + end + 1..];
        }
        out + rest
    }

    /// Whether a conditional section counts; none for other sections.
    fn condition(&self, found: &Found) -> Option<bool> {
        let first = found.arg(0).unwrap_or_default();
        let (negated, name) = first.strip_prefix('!').map_or((false, first), |rest| (true, rest));
        let is = match found.name.as_str() {
            "ifmodule" => self.config.modules.contains(&modules::identifier(name)),
            "ifdefine" => self.variables.contains_key(name) || self.config.reading.defines.contains(name),
            "iffile" => self.path(name).exists(),
            "ifdirective" | "ifsection" => self.has_directive(name),
            "ifversion" => return Some(version(&found.args, self.config.reading.version)),
            _ => return None,
        };
        Some(is != negated)
    }

    /// Whether a module that is loaded brings a directive or section of that name (server/core.c: `test_ifdirective_section`).
    fn has_directive(&self, name: &str) -> bool {
        let named = |known: &str| known.eq_ignore_ascii_case(name);
        modules::directives().any(|(known, by)| named(known) && modules::any_loaded(by, &self.config.modules))
    }

    fn skip(&mut self, found: &Found, inside: &[Directive]) {
        fn collect(file: &File, inside: &[Directive], out: &mut Vec<(String, usize)>) {
            for directive in inside {
                out.push((directive.name(), file.line(directive.head.start)));
                collect(file, directive.inside.as_deref().unwrap_or_default(), out);
            }
        }
        let mut directives = Vec::new();
        collect(&self.config.files[found.file.0], inside, &mut directives);
        let condition = format!("<{}>", found.written());
        self.config.skipped.push(Skipped { file: found.file, line: found.line, condition, directives });
    }

    fn plain(&mut self, mut found: Found) -> Result<(), ConfigError> {
        let first = found.arg(0).unwrap_or_default().to_owned();
        match found.name.as_str() {
            "define" => {
                self.variables.insert(first, found.arg(1).unwrap_or_default().to_owned());
            }
            "undefine" => {
                self.variables.remove(&first);
            }
            "loadmodule" => {
                self.config.modules.insert(first);
            }
            "serverroot" => self.config.root = PathBuf::from(first),
            "include" | "includeoptional" => return self.include(found, &first),
            "use" => return self.use_macro(found, &first),
            "undefmacro" => {
                self.macros.remove(&first.to_ascii_lowercase());
            }
            _ => {}
        }
        found.includes.clear();
        self.config.found.push(found);
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.config.root.join(name)
    }

    fn include(&mut self, found: Found, name: &str) -> Result<(), ConfigError> {
        let place = self.config.place(&found);
        let optional = found.name == "includeoptional";
        let paths = match include::files(&self.path(name)) {
            Ok(paths) => paths,
            Err(_) if optional => Vec::new(),
            Err(why) => return Err(not_included(&place, name, why)),
        };
        self.deeper(&place)?;
        let mut ids = Vec::new();
        for path in paths {
            self.counted(&place)?;
            ids.push(self.opened(path, &place, name)?);
        }
        self.inside(found, ids)
    }

    /// What an include names, or what a macro is where it is used.
    fn inside(&mut self, mut found: Found, ids: Vec<FileId>) -> Result<(), ConfigError> {
        found.includes.clone_from(&ids);
        self.config.found.push(found);
        self.depth += 1;
        let done = ids.into_iter().try_for_each(|id| self.file(id));
        self.depth -= 1;
        done
    }

    fn deeper(&self, place: &str) -> Result<(), ConfigError> {
        let what = format!("files are included more than {MAX_DEPTH} deep (does one include itself?)");
        if self.depth == MAX_DEPTH { Err(ConfigError::at(place, what)) } else { Ok(()) }
    }

    fn counted(&mut self, place: &str) -> Result<(), ConfigError> {
        self.inclusions += 1;
        let what = format!("more than {MAX_INCLUSIONS} files are included; narrow the pattern");
        if self.inclusions > MAX_INCLUSIONS { Err(ConfigError::at(place, what)) } else { Ok(()) }
    }

    fn use_macro(&mut self, found: Found, name: &str) -> Result<(), ConfigError> {
        let place = self.config.place(&found);
        let failed = |why: String| ConfigError::at(&place, format!("Use {name}: {why}"));
        let known = self.macros.get(&name.to_ascii_lowercase()).cloned();
        let known = known.ok_or_else(|| failed(format!("no <Macro {name}> is defined before it")))?;
        self.deeper(&place)?;
        self.counted(&place)?;
        let text = known.used(&self.config, found.args.get(1..).unwrap_or_default()).map_err(failed)?;
        let path = self.config.file(known.file).path.clone();
        let id = FileId(self.config.files.len());
        // A name that no file has: the use is none.
        let real = path.join(format!("<Macro> {}", id.0));
        self.config.uses.insert(real.clone(), (known.file, known.start()));
        self.config.files.push(File::parse(path, real, text)?);
        self.inside(found, vec![id])
    }

    fn opened(&mut self, path: PathBuf, place: &str, name: &str) -> Result<FileId, ConfigError> {
        let failed = |e: std::io::Error| not_included(place, name, format!("{}: {e}", path.display()));
        let real = fs::canonicalize(&path).map_err(failed)?;
        if let Some(known) = self.config.files.iter().position(|f| f.real == real) {
            return Ok(FileId(known));
        }
        let text = match self.texts.get(&path) {
            Some(text) => text.clone(),
            None => bytes(&path).map_err(failed)?,
        };
        self.add(path, text)
    }
}

/// An included file that cannot be read, or a pattern without `Optional` that names nothing.
fn not_included(place: &str, name: &str, why: String) -> ConfigError {
    ConfigError::at(place, format!("Include {name}: {why}; correct it, or write IncludeOptional"))
}

/// `IfVersion [[!]operator] version` (modules/metadata/mod_version.c); `~ REGEX` and `= /REGEX/` look at the whole version.
fn version(args: &[String], have: (u32, u32, u32)) -> bool {
    let (operator, wanted) = match args {
        [version] => ("=", version.as_str()),
        [operator, version, ..] => (operator.as_str(), version.as_str()),
        [] => return false,
    };
    let (negated, operator) = operator.strip_prefix('!').map_or((false, operator), |rest| (true, rest));
    let between = wanted.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
    if let Some(pattern) = between.or((operator == "~").then_some(wanted)) {
        let whole = format!("{}.{}.{}", have.0, have.1, have.2);
        return Reads::default().matches(pattern, &whole).unwrap_or(false) != negated;
    }
    let mut parts = wanted.split('.').map(|n| n.parse().unwrap_or(0));
    let wanted: (u32, u32, u32) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    let is = match operator {
        "=" | "==" => have == wanted,
        ">" => have > wanted,
        ">=" => have >= wanted,
        "<" => have < wanted,
        "<=" => have <= wanted,
        _ => false,
    };
    is != negated
}
