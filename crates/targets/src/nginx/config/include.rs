//! Reading a configuration with all that it includes, as nginx does (`ngx_conf_include`): relative to the main file's
//! folder, patterns by glob(3) in its order, a pattern without a match is fine, a missing file is not.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::tree::Directive;
use super::{Config, File, FileId};
use crate::files::ConfigError;
use crate::files::read::{bytes, glob, is_match};

pub use crate::files::read::MAX_SIZE;
/// Most inclusions, a file counted as often as it is included.
pub const MAX_INCLUSIONS: usize = 10_000;

/// What each include argument stands for. The argument alone decides: all are relative to one folder.
pub(super) type Includes = BTreeMap<Vec<u8>, Vec<FileId>>;

/// Where files are read.
enum Source {
    /// This machine's disk.
    Disk,
    /// Files as nginx printed them elsewhere (`nginx -T`), by their names.
    Printed(BTreeMap<PathBuf, Vec<u8>>),
}

struct Reader {
    source: Source,
    files: Vec<File>,
    includes: Includes,
    conf_prefix: PathBuf,
    inclusions: usize,
    /// Files being read now, outermost first.
    stack: Vec<FileId>,
}

/// An include directive, for messages and to find what it names.
struct Include {
    from: FileId,
    line: usize,
    value: Vec<u8>,
}

/// Reads `main` and everything it includes. `prefix`: where nginx's relative paths start (`nginx -V`, `--prefix=`).
pub(super) fn read(main: &Path, prefix: &Path) -> Result<Config, ConfigError> {
    let path = std::path::absolute(main).map_err(ConfigError::read(main))?;
    whole(Source::Disk, path, prefix)
}

/// Reads `main` and everything it includes out of files that nginx printed elsewhere. What is no file among them does not exist.
pub(super) fn printed(main: &Path, files: BTreeMap<PathBuf, Vec<u8>>, prefix: &Path) -> Result<Config, ConfigError> {
    whole(Source::Printed(files), main.to_owned(), prefix)
}

fn whole(source: Source, path: PathBuf, prefix: &Path) -> Result<Config, ConfigError> {
    let text = source.bytes(&path).map_err(ConfigError::read(&path))?;
    let conf_prefix = path.parent().unwrap_or(Path::new("/")).to_owned();
    let here = matches!(source, Source::Disk);
    let mut reader =
        Reader { source, files: Vec::new(), includes: Includes::new(), conf_prefix, inclusions: 0, stack: Vec::new() };
    let id = reader.add(path, text)?;
    reader.follow(id)?;
    Ok(Config {
        files: reader.files,
        includes: reader.includes,
        prefix: prefix.to_owned(),
        conf_prefix: reader.conf_prefix,
        here,
    })
}

impl Source {
    fn bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self {
            Source::Disk => bytes(path),
            Source::Printed(files) => files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into()),
        }
    }

    /// The path with every symlink resolved; what was printed elsewhere has none that can be followed.
    fn real(&self, path: &Path) -> io::Result<PathBuf> {
        match self {
            Source::Disk => fs::canonicalize(path),
            Source::Printed(_) => Ok(path.to_owned()),
        }
    }

    fn glob(&self, pattern: &Path) -> Option<Vec<PathBuf>> {
        match self {
            Source::Disk => glob(pattern),
            Source::Printed(files) => {
                let all = files.keys().filter(|path| is_match(pattern, path));
                Some(all.cloned().collect())
            }
        }
    }
}

impl Reader {
    fn add(&mut self, path: PathBuf, text: Vec<u8>) -> Result<FileId, ConfigError> {
        if text.len() as u64 > MAX_SIZE {
            return Err(ConfigError::TooLarge(path));
        }
        let real = self.source.real(&path).unwrap_or_else(|_| path.clone());
        self.files.push(File::parse(path, real, text)?);
        Ok(FileId(self.files.len() - 1))
    }

    /// Follows the includes of a file that was read.
    fn follow(&mut self, id: FileId) -> Result<(), ConfigError> {
        self.stack.push(id);
        for include in includes(&self.files[id.0], id) {
            let targets = match self.includes.get(&include.value) {
                Some(known) => known.clone(),
                None => self.resolve(&include)?,
            };
            for target in targets {
                self.enter(target, &include)?;
            }
        }
        self.stack.pop();
        Ok(())
    }

    fn enter(&mut self, target: FileId, include: &Include) -> Result<(), ConfigError> {
        let from = self.files[include.from.0].path.clone();
        if self.stack.contains(&target) {
            let path = self.files[target.0].path.display();
            let what = format!("{path} includes itself through this line; remove one of the includes");
            return Err(ConfigError::on_line(&from, include.line, what));
        }
        self.inclusions += 1;
        if self.inclusions > MAX_INCLUSIONS {
            let counted = "files are included (each counted as often as it is); narrow the pattern";
            return Err(ConfigError::on_line(&from, include.line, format!("more than {MAX_INCLUSIONS} {counted}")));
        }
        self.follow(target)
    }

    /// Reads the files that an include names and remembers them.
    fn resolve(&mut self, include: &Include) -> Result<Vec<FileId>, ConfigError> {
        let full = self.conf_prefix.join(OsStr::from_bytes(&include.value));
        let from = self.files[include.from.0].path.clone();
        let line = include.line;
        let paths = if include.value.iter().any(|b| b"*?[".contains(b)) {
            let what = || format!("cannot list {}: a folder cannot be read", full.display());
            self.source.glob(&full).ok_or_else(|| ConfigError::on_line(&from, line, what()))?
        } else {
            vec![full]
        };
        let mut ids = Vec::new();
        for path in paths {
            let failed = |source: std::io::Error| {
                let hint = "correct the include, or make the file readable";
                ConfigError::on_line(&from, line, format!("cannot read {}: {source}; {hint}", path.display()))
            };
            let real = self.source.real(&path).map_err(failed)?;
            let known = self.files.iter().position(|f| f.real == real).map(FileId);
            ids.push(match known {
                Some(id) => id,
                None => {
                    let text = self.source.bytes(&path).map_err(failed)?;
                    self.add(path, text)?
                }
            });
        }
        self.includes.insert(include.value.clone(), ids.clone());
        Ok(ids)
    }
}

/// The include directives of one file, in order.
fn includes(file: &File, id: FileId) -> Vec<Include> {
    fn collect(directives: &[Directive], file: &File, id: FileId, out: &mut Vec<Include>) {
        for directive in directives {
            if let Some(value) = target(directive) {
                out.push(Include { from: id, line: file.line(directive.span.start), value: value.to_vec() });
            }
            collect(directive.directives(), file, id, out);
        }
    }
    let mut out = Vec::new();
    collect(&file.tree, file, id, &mut out);
    out
}

/// What a directive includes, if it is an include.
pub(super) fn target(directive: &Directive) -> Option<&[u8]> {
    match directive.args() {
        [only] if directive.is("include") && !directive.is_block() => Some(&only.value),
        _ => None,
    }
}
