//! What genkai knows of a VCL: its backends and the files it includes.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::lexer::{Token, tokens};
use crate::error::TargetError;
use crate::files::ConfigError;
use crate::files::entry::ENDLESS;
use crate::files::{File, FileId, read};

/// Files that include files, at most so many.
const MAX_FILES: usize = 200;
/// Where varnishd looks for what is included without a path (parameter vcl_path).
const FOLDERS: [&str; 2] = ["/etc/varnish", "/usr/share/varnish/vcl"];

/// A backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Backend {
    /// Its name.
    pub(super) name: String,
    /// Where its attributes begin: after the brace.
    pub(super) inside: usize,
    /// Its attributes.
    pub(super) attributes: Vec<Attribute>,
}

/// An attribute of a backend, `.host = "a";`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attribute {
    /// Its name.
    pub(super) name: String,
    /// Its value, without quotes.
    pub(super) value: String,
    /// All of it, from the point to the semicolon.
    pub(super) span: Range<usize>,
}

/// What a file declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A backend.
    Backend(Backend),
    /// An include: its bytes, and the files that it means.
    Include(Range<usize>, Vec<PathBuf>),
    /// A module (VMOD) that it uses: its name, and where that stands.
    Import(String, usize),
    /// The version of the language, e.g. `4.1`.
    Version(String),
    /// A subroutine that chooses where requests go: the backends or directors, each with whether a condition stands before.
    Choice(Vec<(String, bool)>),
}

/// A VCL with the files that it includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vcl {
    files: Vec<File<Item>>,
}

impl Vcl {
    /// Reads `main` and what it includes.
    ///
    /// # Errors
    /// A file that is missing, unreadable, too large, or that includes itself.
    pub fn read(main: &Path) -> Result<Vcl, TargetError> {
        let mut vcl = Vcl { files: Vec::new() };
        let mut open = BTreeSet::new();
        vcl.file(std::path::absolute(main).unwrap_or_else(|_| main.to_owned()), &mut open)?;
        Ok(vcl)
    }

    /// The files, the main one first.
    pub(super) fn files(&self) -> impl Iterator<Item = (FileId, &File<Item>)> {
        self.files.iter().enumerate().map(|(n, file)| (FileId(n), file))
    }

    /// Every backend, with its file.
    pub(super) fn backends(&self) -> impl Iterator<Item = (FileId, &File<Item>, &Backend)> {
        self.files().flat_map(|(id, file)| {
            file.tree.iter().filter_map(move |item| match item {
                Item::Backend(backend) => Some((id, file, backend)),
                _ => None,
            })
        })
    }

    /// The backend of a request that no condition sends elsewhere: the one that is set last without one, else that of the name
    /// `default`, else the first. None where a director chooses.
    pub(super) fn usual(&self) -> Option<&str> {
        let choices = self.files.iter().flat_map(|file| &file.tree).filter_map(|item| match item {
            Item::Choice(choices) => Some(choices),
            _ => None,
        });
        let mut choices = choices.flatten();
        let named = |name: &str| self.backends().map(|(.., one)| one.name.as_str()).find(|one| *one == name);
        if let Some((chosen, _)) = choices.rfind(|(_, conditional)| !conditional) {
            return named(chosen);
        }
        named("default").or_else(|| self.backends().map(|(.., one)| one.name.as_str()).next())
    }

    /// Whether conditions send requests elsewhere.
    pub(super) fn chooses(&self) -> bool {
        self.files.iter().flat_map(|file| &file.tree).any(|item| matches!(item, Item::Choice(_)))
    }

    /// The version of the language that the main file says.
    pub(super) fn version(&self) -> Option<&str> {
        self.files.first()?.tree.iter().find_map(|item| match item {
            Item::Version(version) => Some(version.as_str()),
            _ => None,
        })
    }

    fn file(&mut self, path: PathBuf, open: &mut BTreeSet<PathBuf>) -> Result<(), TargetError> {
        let text = read::bytes(&path).map_err(ConfigError::read(&path))?;
        if text.len() as u64 > read::MAX_SIZE {
            return Err(ConfigError::TooLarge(path).into());
        }
        let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if !open.insert(real.clone()) || self.files.len() >= MAX_FILES {
            return Err(ConfigError::at(path.display().to_string(), ENDLESS).into());
        }
        let tree = items(&text, &path);
        let included: Vec<PathBuf> = tree.iter().flat_map(included).cloned().collect();
        self.files.push(File::new(path, real.clone(), text, tree));
        for path in included {
            if !self.files.iter().any(|file| file.path == path) {
                self.file(path, open)?;
            }
        }
        open.remove(&real);
        Ok(())
    }
}

fn included(item: &Item) -> &[PathBuf] {
    match item {
        Item::Include(_, paths) => paths,
        _ => &[],
    }
}

/// What a text declares outside of any subroutine.
fn items(text: &[u8], path: &Path) -> Vec<Item> {
    let all = tokens(text);
    let (mut found, mut depth, mut at) = (Vec::new(), 0_usize, 0);
    while let Some(token) = all.get(at) {
        let taken = if depth == 0 { item(&all[at..], path) } else { None };
        if let Some((item, length)) = taken {
            found.push(item);
            at += length;
            continue;
        }
        depth = if token.is(b'{') { depth + 1 } else { depth.saturating_sub(usize::from(token.is(b'}'))) };
        at += 1;
    }
    found
}

/// What words begin with, and how many are its own.
fn item(all: &[Token], path: &Path) -> Option<(Item, usize)> {
    match all.first()?.word()? {
        "vcl" => Some((Item::Version(all.get(1)?.word()?.to_owned()), 2)),
        "import" => Some((Item::Import(all.get(1)?.word()?.to_owned(), all[1].span.start), 2)),
        "include" => {
            let end = all.iter().position(|token| token.is(b';'))?;
            let name = all[..end].iter().find_map(Token::text)?;
            let glob = all[..end].iter().any(|token| token.word() == Some("glob"));
            let span = all[0].span.start..all[end].span.end;
            Some((Item::Include(span, resolved(name, glob, path)), end + 1))
        }
        "sub" if all.get(2)?.is(b'{') => {
            let close = closing(&all[2..])? + 2;
            let choices = choices(&all[3..close]);
            (!choices.is_empty()).then_some((Item::Choice(choices), close + 1))
        }
        "backend" if all.get(2)?.is(b'{') => {
            let close = closing(&all[2..])? + 2;
            let backend = Backend {
                name: all[1].word()?.to_owned(),
                inside: all[2].span.end,
                attributes: attributes(&all[3..close]),
            };
            Some((Item::Backend(backend), close + 1))
        }
        _ => None,
    }
}

/// Where the brace that words begin with is closed.
fn closing(all: &[Token]) -> Option<usize> {
    let mut depth = 0_usize;
    all.iter().position(|token| {
        depth = if token.is(b'{') { depth + 1 } else { depth - usize::from(token.is(b'}') && depth > 0) };
        depth == 0
    })
}

/// What `set req.backend_hint = NAME` in a subroutine's body sets, and whether that stands in a condition.
fn choices(all: &[Token]) -> Vec<(String, bool)> {
    let (mut found, mut depth) = (Vec::new(), 0_usize);
    for (at, token) in all.iter().enumerate() {
        depth = if token.is(b'{') { depth + 1 } else { depth.saturating_sub(usize::from(token.is(b'}'))) };
        if token.word() == Some("req.backend_hint") && at > 0 && all[at - 1].word() == Some("set") {
            let to = all.get(at + 2).and_then(Token::word).unwrap_or_default();
            found.push((to.to_owned(), depth > 0));
        }
    }
    found
}

fn attributes(all: &[Token]) -> Vec<Attribute> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < all.len() {
        let end = at + end_of(&all[at..]);
        if let [point, name, equals, value, ..] = &all[at..=end.min(all.len() - 1)]
            && point.is(b'.')
            && equals.is(b'=')
            && let Some(name) = name.word()
        {
            let value = value.text().or(value.word()).unwrap_or_default().to_owned();
            let span = point.span.start..all[end.min(all.len() - 1)].span.end;
            found.push(Attribute { name: name.to_owned(), value, span });
        }
        at = end + 1;
    }
    found
}

/// Where a statement ends: at its semicolon, or with the braces that it has instead.
fn end_of(all: &[Token]) -> usize {
    for (at, token) in all.iter().enumerate() {
        if token.is(b';') {
            return at;
        }
        if token.is(b'{') {
            let close = at + closing(&all[at..]).unwrap_or(all.len() - at - 1);
            let more = all.get(close + 1).is_some_and(|token| token.is(b';'));
            return close + usize::from(more);
        }
    }
    all.len() - 1
}

/// The files that an include means, as varnishd finds them.
fn resolved(name: &str, glob: bool, path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let near = name.starts_with("./") || name.starts_with('/');
    let folders = if near { vec![folder.to_owned()] } else { FOLDERS.map(PathBuf::from).to_vec() };
    let candidates = folders.iter().map(|folder| folder.join(name));
    if glob {
        return candidates.flat_map(|pattern| read::glob(&pattern).unwrap_or_default()).collect();
    }
    let found = candidates.clone().find(|path| path.is_file());
    vec![found.unwrap_or_else(|| folder.join(name))]
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"vcl 4.1;
import std;
# backend gone { .host = "x"; }
probe p { .url = "/"; }
backend default {
    .host = "127.0.0.1";
    .probe = { .url = "/a"; .interval = 5s; }
    .port = "8080"; .max_connections = 300;
}
backend nobody none;
sub vcl_recv { if (req.url ~ "backend x {") { return (pass); } }
include "./more.vcl";
"#;

    #[test]
    fn the_backend_of_most_requests_is_known_where_no_director_chooses() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("default.vcl");
        let usual = |recv: &str| {
            let backends = "vcl 4.1;\nbackend web { .host = \"h\"; }\nbackend health { .host = \"h\"; }\n";
            std::fs::write(&main, format!("{backends}sub vcl_recv {{ {recv} return (pass); }}\n")).unwrap();
            let vcl = Vcl::read(&main).unwrap();
            (vcl.usual().map(str::to_owned), vcl.chooses())
        };
        let told = |name: &str, chooses: bool| (Some(name.to_owned()), chooses);
        assert_eq!(usual("if (req.url == \"/healthz\") { set req.backend_hint = health; }"), told("web", true));
        assert_eq!(usual("set req.backend_hint = health;"), told("health", true));
        assert_eq!(usual("set req.backend_hint = director.backend();"), (None, true));
        assert_eq!(usual(""), told("web", false));
    }

    #[test]
    fn backends_and_includes_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("default.vcl");
        std::fs::write(&main, TEXT).unwrap();
        std::fs::write(dir.path().join("more.vcl"), "backend api { .path = \"/run/a.sock\"; }\n").unwrap();
        let vcl = Vcl::read(&main).unwrap();
        let all: Vec<(&str, Vec<(&str, &str)>)> = vcl
            .backends()
            .map(|(_, _, one)| {
                let pairs = one.attributes.iter().map(|a| (a.name.as_str(), a.value.as_str()));
                (one.name.as_str(), pairs.collect())
            })
            .collect();
        let first = vec![("host", "127.0.0.1"), ("probe", ""), ("port", "8080"), ("max_connections", "300")];
        assert_eq!(all, [("default", first), ("api", vec![("path", "/run/a.sock")])]);
        assert_eq!((vcl.version(), vcl.files().count()), (Some("4.1"), 2));
        std::fs::write(dir.path().join("more.vcl"), "include \"./default.vcl\";\n").unwrap();
        assert!(Vcl::read(&main).is_ok(), "a file that is there already is not read again");
        std::fs::remove_file(dir.path().join("more.vcl")).unwrap();
        assert!(Vcl::read(&main).unwrap_err().to_string().contains("more.vcl"));
    }
}
