//! What genkai knows of a VCL: its backends and the files it includes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::lexer::{Kind, Token, closing, tokens};
use super::recv::{self, Handling, Step, Walk};
use crate::error::TargetError;
use crate::files::ConfigError;
use crate::files::entry::ENDLESS;
use crate::files::{Edit, File, FileId, Pair, Requests, edited, pairs, read};
use genkai_place::endpoint::Endpoint;

/// How many connections a backend takes at once.
pub(super) const CAP: &str = "max_connections";
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
    /// Whether it is `none`, which answers nothing.
    pub(super) is_none: bool,
}

impl Backend {
    /// Where it is: the path of a socket, or host and port.
    pub(super) fn place(&self) -> Option<String> {
        let of = |name: &str| self.attributes.iter().find(|one| one.name == name).map(|one| one.value.as_str());
        match (of("path"), of("host"), of("port")) {
            (Some(path), ..) => Some(path.to_owned()),
            (None, host, port) => Some(format!("{}:{}", host?, port.unwrap_or("80"))),
        }
    }
}

/// An attribute of a backend, `.host = "a";`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attribute {
    /// Its name.
    pub(super) name: String,
    /// Its value, without quotes; empty: it is a block, or nothing.
    pub(super) value: String,
    /// Whether that stands between quotes.
    pub(super) is_text: bool,
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
    /// Every name that the file has anywhere, as often as it has it.
    Words(BTreeMap<String, usize>),
    /// A subroutine, or a part of one: its name, and its statements.
    Sub(String, Vec<Step>),
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

    /// The same with another `.max_connections` of a backend that has one; no other byte differs. None: it has none.
    pub(super) fn with_cap(&self, name: &str, value: &str) -> Option<Vcl> {
        let (id, file, backend) = self.backends().find(|(_, _, one)| one.name == name)?;
        let span = &backend.attributes.iter().find(|one| one.name == CAP)?.span;
        let mut text = file.text[..span.start].to_vec();
        text.extend_from_slice(format!(".{CAP} = {value};").as_bytes());
        text.extend_from_slice(&file.text[span.end..]);
        let tree = items(&text, &file.path);
        let mut changed = self.clone();
        changed.files[id.0] = File::new(file.path.clone(), file.real.clone(), text, tree);
        Some(changed)
    }

    /// The same with edits, of which none touches an include. None where two overlap.
    pub(super) fn edited(&self, edits: &[Edit]) -> Option<Vcl> {
        let one = |(id, file): (FileId, &File<Item>)| match edited(file, id, edits).ok()? {
            None => Some(file.clone()),
            Some(text) => {
                let tree = items(&text, &file.path);
                Some(File::new(file.path.clone(), file.real.clone(), text, tree))
            }
        };
        Some(Vcl { files: self.files().map(one).collect::<Option<_>>()? })
    }

    /// Each file with what it is in another one, made from this one.
    pub(super) fn pairs<'a>(&'a self, edited: &'a Vcl) -> impl Iterator<Item = Pair<'a>> {
        pairs(&self.files, &edited.files)
    }

    /// The backend of these requests, and how they are given to it. None where a director chooses, or where what chooses is not evaluated; and of a part of a VCL, since
    /// others may choose too.
    pub(super) fn usual(&self, requests: &Requests) -> Option<(&str, Handling)> {
        self.version()?;
        let mut subs = BTreeMap::<&str, Vec<&[Step]>>::new();
        for item in self.items() {
            if let Item::Sub(name, steps) = item {
                subs.entry(name).or_default().push(steps);
            }
        }
        let elsewhere =
            subs.iter().any(|(name, all)| *name != "vcl_recv" && all.iter().any(|steps| recv::choose(steps)));
        let (to, handling) = Walk::usual(&subs, self.default(), requests).filter(|_| !elsewhere)?;
        let name = self.backends().map(|(.., one)| one.name.as_str()).find(|one| *one == to)?;
        Some((name, handling))
    }

    /// Where these requests may go: to the backend that is theirs, or, where that is not known, to any.
    pub(super) fn places(&self, requests: &Requests) -> Vec<Endpoint> {
        let usual = self.usual(requests).map(|(name, _)| name);
        let theirs = |backend: &&Backend| usual.is_none_or(|name| backend.name == name);
        let mut all: Vec<Endpoint> = Vec::new();
        for backend in self.backends().map(|(.., backend)| backend).filter(theirs) {
            let place = backend.place().and_then(|place| Endpoint::parse(&place));
            all.extend(place.filter(|place| !all.contains(place)));
        }
        all
    }

    /// What all files declare, each in the place where it is included.
    fn items(&self) -> Vec<&Item> {
        let (mut all, mut left) = (Vec::new(), (0..self.files.len()).collect::<BTreeSet<usize>>());
        self.items_of(0, &mut left, &mut all);
        all
    }

    fn items_of<'v>(&'v self, file: usize, left: &mut BTreeSet<usize>, all: &mut Vec<&'v Item>) {
        if !left.remove(&file) {
            return;
        }
        for item in &self.files[file].tree {
            all.push(item);
            let included = |path: &PathBuf| self.files.iter().position(|file| file.path == *path);
            for file in included_by(item).iter().filter_map(included) {
                self.items_of(file, left, all);
            }
        }
    }

    /// How often a name stands anywhere.
    pub(super) fn mentions(&self, name: &str) -> usize {
        let words = self.files.iter().flat_map(|file| &file.tree).filter_map(|item| match item {
            Item::Words(words) => words.get(name).copied(),
            _ => None,
        });
        words.sum()
    }

    /// The backend of requests for which nothing chooses one: that of the name `default`, else the first.
    pub(super) fn default(&self) -> Option<&str> {
        let mut names = self.items().into_iter().filter_map(|item| match item {
            Item::Backend(backend) => Some(backend.name.as_str()),
            _ => None,
        });
        let first = names.next();
        names.find(|name| *name == "default").or(first)
    }

    /// Whether conditions send requests elsewhere.
    pub(super) fn chooses(&self) -> bool {
        self.files
            .iter()
            .flat_map(|file| &file.tree)
            .any(|item| matches!(item, Item::Sub(_, steps) if recv::choose(steps)))
    }

    /// Whether there is any subroutine.
    pub(super) fn has_subroutines(&self) -> bool {
        self.files.iter().flat_map(|file| &file.tree).any(|item| matches!(item, Item::Sub(..)))
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
        let included: Vec<PathBuf> = tree.iter().flat_map(included_by).cloned().collect();
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

fn included_by(item: &Item) -> &[PathBuf] {
    match item {
        Item::Include(_, paths) => paths,
        _ => &[],
    }
}

/// What a text declares outside of any subroutine.
fn items(text: &[u8], path: &Path) -> Vec<Item> {
    let all = tokens(text);
    let mut words = BTreeMap::<String, usize>::new();
    all.iter().filter_map(Token::word).for_each(|word| *words.entry(word.to_owned()).or_default() += 1);
    let (mut found, mut depth, mut at) = (vec![Item::Words(words)], 0_usize, 0);
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
            Some((Item::Sub(all[1].word()?.to_owned(), recv::steps(&all[3..close])), close + 1))
        }
        "backend" if all.get(2)?.is(b'{') => {
            let close = closing(&all[2..])? + 2;
            let backend = Backend {
                name: all[1].word()?.to_owned(),
                inside: all[2].span.end,
                attributes: attributes(&all[3..close]),
                is_none: false,
            };
            Some((Item::Backend(backend), close + 1))
        }
        "backend" if all.get(2)?.word() == Some("none") => {
            let (name, inside) = (all[1].word()?.to_owned(), all[2].span.end);
            Some((Item::Backend(Backend { name, inside, attributes: Vec::new(), is_none: true }), 3))
        }
        _ => None,
    }
}

fn attributes(all: &[Token]) -> Vec<Attribute> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < all.len() {
        let end = at + end_of(&all[at..]);
        let last = &all[end.min(all.len() - 1)];
        if let [point, name, equals, value @ ..] = &all[at..end.min(all.len())]
            && point.is(b'.')
            && equals.is(b'=')
            && let (Some(name), Some(first)) = (name.word(), value.first().or(all.get(at + 3)))
        {
            let (is_text, span) = (first.text().is_some(), point.span.start..last.span.end);
            found.push(Attribute { name: name.to_owned(), value: written(value), is_text, span });
        }
        at = end + 1;
    }
    found
}

/// The value of an attribute as it is written, whatever it is: what is wrong in it must be seen. A time may have a space before its unit.
fn written(value: &[Token]) -> String {
    let one = |token: &Token| match &token.kind {
        Kind::Word(text) | Kind::Text(text) => text.clone(),
        Kind::Sign(sign) => char::from(*sign).to_string(),
    };
    match value {
        [first, ..] if first.is(b'{') => String::new(),
        [number, unit] if unit.word().is_some_and(|unit| unit.starts_with(char::is_alphabetic)) => {
            one(number) + &one(unit)
        }
        _ => value.iter().map(one).collect::<Vec<_>>().join(" "),
    }
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
    vec![found.unwrap_or_else(|| folders[0].join(name))]
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
            (vcl.usual(&Requests::to("localhost", "/a/b")).map(|(name, _)| name.to_owned()), vcl.chooses())
        };
        let told = |name: &str, chooses: bool| (Some(name.to_owned()), chooses);
        assert_eq!(usual("if (req.url == \"/healthz\") { set req.backend_hint = health; }"), told("web", true));
        assert_eq!(usual("if (req.url ~ \"^/a/\") { set req.backend_hint = health; }"), told("health", true));
        assert_eq!(usual("if (req.url ~ \"^/x\") { } else { set req.backend_hint = health; }"), told("health", true));
        assert_eq!(usual("if (req.http.host == \"b\") { set req.backend_hint = health; }"), told("web", true));
        assert_eq!(usual("set req.backend_hint = health;"), told("health", true));
        assert_eq!(usual("set req.backend_hint = director.backend();"), (None, true));
        for (recv, name) in [
            (
                "if (req.url ~ \"^/a/\") { set req.backend_hint = health; return (pass); } set req.backend_hint = web;",
                "health",
            ),
            (
                "if (req.url ~ \"^/x/\") { set req.backend_hint = health; return (pass); } set req.backend_hint = web;",
                "web",
            ),
            ("if (req.url ~ \"^/x\") { } else if (req.url == \"/\") { set req.backend_hint = health; }", "web"),
            ("if (req.http.X) { return (pass); } set req.http.Host = \"b\"; std.log(\"x\");", "web"),
            ("if (req.http.X) { set req.backend_hint = health; } set req.backend_hint = default;", "web"),
            (
                "if (req.url != \"/\") { { set req.backend_hint = health; } } elsif (req.http.X) { return (synth(403)); }",
                "health",
            ),
            ("call one; } sub one { if (req.url ~ \"^/a\") { return; } return (synth(403));", "web"),
        ] {
            assert_eq!(usual(recv).0.as_deref(), Some(name), "{recv}");
        }
        for unknown in [
            "if (req.http.X) { set req.backend_hint = health; return (pass); }",
            "if (req.http.X) { return (synth(403)); } set req.backend_hint = health;",
            "set req.backend_hint = health; return (synth(403));",
            "set req.url = \"/x\"; if (req.url ~ \"^/x\") { set req.backend_hint = health; }",
            "unset req.http.Host; if (req.http.host == \"b\") { set req.backend_hint = health; }",
            "std.rollback(req); if (req.url ~ \"^/x\") { set req.backend_hint = health; }",
            "if (req.http.X) { set req.url = \"/x\"; } if (req.url ~ \"^/x\") { set req.backend_hint = health; }",
            "include \"x.vcl\"; set req.backend_hint = health;",
            "} sub vcl_backend_fetch { set bereq.backend = health;",
            "call one; } sub one { call one; set req.backend_hint = health;",
            "if (req.method == \"POST\") { set req.backend_hint = health; }",
            "if (req.url ~ \"[.]png$\") { set req.backend_hint = health; }",
            "if (req.url ~ \"^/a\" && req.http.X) { set req.backend_hint = health; }",
        ] {
            assert_eq!(usual(unknown), (None, true), "{unknown}");
        }
        assert_eq!(usual(""), told("web", false));
    }

    #[test]
    fn what_is_included_counts_where_it_is_included() {
        let dir = tempfile::tempdir().unwrap();
        let (main, part) = (dir.path().join("default.vcl"), dir.path().join("part.vcl"));
        std::fs::write(&main, "vcl 4.1;\ninclude \"./part.vcl\";\nbackend web { .host = \"h\"; }\nsub vcl_recv { set req.backend_hint = web; }\n").unwrap();
        std::fs::write(&part, "backend api { .host = \"h\"; }\nsub vcl_recv { set req.backend_hint = api; }\n")
            .unwrap();
        let vcl = Vcl::read(&main).unwrap();
        assert_eq!(
            (vcl.default(), vcl.usual(&Requests::to("localhost", "/")).map(|(name, _)| name)),
            (Some("api"), Some("web"))
        );
        let alone = Vcl::read(&part).unwrap();
        assert_eq!(alone.usual(&Requests::to("localhost", "/")), None, "others may choose too");
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
        assert_eq!(all, [("default", first), ("nobody", vec![]), ("api", vec![("path", "/run/a.sock")])]);
        assert_eq!((vcl.version(), vcl.files().count()), (Some("4.1"), 2));
        std::fs::write(dir.path().join("more.vcl"), "include \"./default.vcl\";\n").unwrap();
        assert!(Vcl::read(&main).is_ok(), "a file that is there already is not read again");
        std::fs::remove_file(dir.path().join("more.vcl")).unwrap();
        assert!(Vcl::read(&main).unwrap_err().to_string().contains("more.vcl"));
    }
}
