//! Which module uses which, and where they go in circles.

use std::collections::{BTreeMap, BTreeSet};

use crate::blank::is_word;
use crate::source::Source;

type Path = Vec<String>;

/// Modules beside each other in one folder of which each is used by the next, round and round.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Circle {
    /// The crate, or the folder in it.
    pub place: String,
    /// Who is part of it.
    pub modules: BTreeSet<String>,
}

/// What a crate's modules are and which names they bring in.
struct Tree {
    /// Each module with the names that it imports: where they come from.
    imports: BTreeMap<Path, BTreeMap<String, Path>>,
}

/// The circles in a crate, in every folder of it. What a folder's own file (`mod.rs`, `lib.rs`) uses and defines counts for nothing
/// among those in the folder.
pub fn circles(sources: &[Source]) -> Vec<Circle> {
    let tree = Tree::of(sources);
    let mut edges: BTreeMap<Path, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for source in sources {
        for target in paths(&source.code, &source.module) {
            let target = tree.home(&target, 0);
            let common = source.module.iter().zip(&target).take_while(|(a, b)| a == b).count();
            if let (Some(from), Some(to)) = (source.module.get(common), target.get(common)) {
                let folder = edges.entry(source.module[..common].to_vec()).or_default();
                folder.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    let room = sources.first().map_or("", |source| source.room.as_str());
    let place = |folder: &Path| [&[room.to_owned()], folder.as_slice()].concat().join("/");
    edges
        .iter()
        .flat_map(|(folder, edges)| knots(edges).into_iter().map(|k| Circle { place: place(folder), modules: k }))
        .collect()
}

impl Tree {
    fn of(sources: &[Source]) -> Tree {
        let mut imports: BTreeMap<Path, BTreeMap<String, Path>> = BTreeMap::new();
        for source in sources {
            // Folders without a file of their own cannot be: but a test's module may be their only parent.
            imports.entry(source.module.clone()).or_default();
        }
        let mut tree = Tree { imports };
        for source in sources {
            let names = tree.imported(source);
            tree.imports.insert(source.module.clone(), names);
        }
        tree
    }

    /// The names that `use` brings into a module, with their paths.
    fn imported(&self, source: &Source) -> BTreeMap<String, Path> {
        let mut names = BTreeMap::new();
        for start in words(&source.code, "use") {
            let rest = source.code[start + 3..].trim_start();
            let Some(end) = rest.find(';') else { continue };
            for path in leaves(&rest[..end]) {
                let Some(full) = self.absolute(&path, &source.module) else { continue };
                if let Some(name) = full.last() {
                    names.insert(name.clone(), full);
                }
            }
        }
        names
    }

    /// A path as written in a module, from the crate's root; none leads out of the crate.
    fn absolute(&self, path: &Path, module: &Path) -> Option<Path> {
        match path.first()?.as_str() {
            "crate" | "super" | "self" => Some(rooted(path, module)),
            first => {
                let child = [module.as_slice(), &[first.to_owned()]].concat();
                self.imports.contains_key(&child).then(|| [module.as_slice(), path].concat())
            }
        }
    }

    /// The module where what a path names is defined.
    fn home(&self, path: &Path, depth: usize) -> Path {
        let mut at = 0;
        while at < path.len() && self.imports.contains_key(&path[..=at]) {
            at += 1;
        }
        let module = path[..at].to_vec();
        let import = path.get(at).and_then(|name| self.imports.get(&module)?.get(name));
        match import {
            Some(from) if depth < 8 && from != path => {
                self.home(&[from.as_slice(), &path[at + 1..]].concat(), depth + 1)
            }
            _ => module,
        }
    }
}

/// `crate::`, `super::` and `self::` taken off.
fn rooted(path: &[String], module: &[String]) -> Path {
    let mut base = match path[0].as_str() {
        "crate" => Path::new(),
        _ => module.to_vec(),
    };
    let supers = path.iter().skip_while(|name| *name == "self").take_while(|name| *name == "super").count();
    base.truncate(base.len().saturating_sub(supers));
    base.extend(path.iter().skip_while(|name| matches!(name.as_str(), "crate" | "super" | "self")).cloned());
    base
}

/// Every path in the code that starts at the crate, above or at this module.
fn paths(code: &str, module: &[String]) -> Vec<Path> {
    let starts = ["crate", "super", "self"].into_iter().flat_map(|word| words(code, word));
    let written = starts.filter(|&at| !code[..at].trim_end().ends_with("::") && code[at..].contains("::"));
    let found = written.flat_map(|at| leaves(&code[at..]));
    found.filter(|path| path.len() > 1).map(|path| rooted(&path, module)).collect()
}

/// Where a word stands by itself.
fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = code.as_bytes();
    code.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = at == 0 || !is_word(bytes[at - 1]);
        before && !bytes.get(at + word.len()).is_some_and(|&b| is_word(b))
    })
}

/// The paths of a use tree, or of a path in an expression: as far as it goes.
fn leaves(text: &str) -> Vec<Path> {
    let mut all = Vec::new();
    tree(text.as_bytes(), 0, &Path::new(), &mut all);
    all
}

/// Reads one tree at `at`; where it ends.
fn tree(text: &[u8], mut at: usize, prefix: &Path, all: &mut Vec<Path>) -> usize {
    let mut path = prefix.clone();
    loop {
        at = blanks(text, at);
        match text.get(at) {
            Some(b'{') => return branches(text, at + 1, &path, all),
            Some(b) if is_word(*b) => {
                let end = at + text[at..].iter().take_while(|b| is_word(**b)).count();
                path.push(String::from_utf8_lossy(&text[at..end]).into_owned());
                at = end;
            }
            _ => {}
        }
        let next = blanks(text, at);
        if !text[next..].starts_with(b"::") {
            break;
        }
        at = next + 2;
    }
    if path.last().is_some_and(|name| name == "self") && path.len() > 1 {
        path.pop();
    }
    all.push(path);
    at
}

/// Reads trees between braces.
fn branches(text: &[u8], mut at: usize, prefix: &Path, all: &mut Vec<Path>) -> usize {
    while at < text.len() {
        at = blanks(text, at);
        match text.get(at) {
            Some(b'}') => return at + 1,
            Some(b',') => at += 1,
            // `*`, and the new name after `as`, which stands in the way of nothing.
            Some(b'*') => {
                all.push(prefix.clone());
                at += 1;
            }
            _ if text[at..].starts_with(b"as ") => {
                at = blanks(text, at + 3);
                at += text[at..].iter().take_while(|b| is_word(**b)).count();
            }
            Some(b) if is_word(*b) || *b == b'{' => at = tree(text, at, prefix, all),
            _ => return at,
        }
    }
    at
}

fn blanks(text: &[u8], at: usize) -> usize {
    at + text[at..].iter().take_while(|b| b.is_ascii_whitespace()).count()
}

/// Groups of two or more that reach each other.
fn knots(edges: &BTreeMap<String, BTreeSet<String>>) -> Vec<BTreeSet<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> = edges.keys().map(|from| (from, reached(edges, from))).collect();
    let mut found = BTreeSet::new();
    for (from, to) in &reach {
        let mutual = to.iter().filter(|other| reach.get(*other).is_some_and(|back| back.contains(from)));
        let knot: BTreeSet<String> = mutual.map(|name| (*name).clone()).chain([(*from).clone()]).collect();
        if knot.len() > 1 {
            found.insert(knot);
        }
    }
    found.into_iter().collect()
}

fn reached<'a>(edges: &'a BTreeMap<String, BTreeSet<String>>, from: &String) -> BTreeSet<&'a String> {
    let mut seen = BTreeSet::new();
    let mut front: Vec<&String> = edges[from].iter().collect();
    while let Some(name) = front.pop() {
        if seen.insert(name) {
            front.extend(edges.get(name).into_iter().flatten());
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(module: &[&str], code: &str) -> Source {
        Source {
            path: String::new(),
            room: "house".to_owned(),
            module: module.iter().map(|&name| name.to_owned()).collect(),
            text: code.to_owned(),
            kept: code.to_owned(),
            code: code.to_owned(),
            lines: 0,
        }
    }

    fn found(sources: &[Source]) -> Vec<String> {
        circles(sources)
            .iter()
            .map(|c| format!("{}: {}", c.place, c.modules.iter().cloned().collect::<Vec<_>>().join(" ")))
            .collect()
    }

    #[test]
    fn a_circle_is_found_however_it_is_written() {
        let house = [
            source(&[], "pub use b::{Thing, Other as Name};"),
            source(&["a"], "use crate::{\n    Thing,\n    c::x,\n};"),
            source(&["b"], "fn f() { crate::c::g::<u8>() }"),
            source(&["c"], "use super::a;"),
            source(&["d"], "use crate::a::X;"),
        ];
        assert_eq!(found(&house), ["house: a b c"]);
    }

    #[test]
    fn arrows_inside_a_folder_count_there_and_its_own_file_does_not() {
        let house = [
            source(&["a"], "mod x; mod y; use self::x::X; pub(crate) use y::Y;"),
            source(&["a", "x"], "use super::Y;"),
            source(&["a", "y"], "use crate::a::x::X;"),
            source(&["b"], "use crate::a::Y;"),
        ];
        assert_eq!(found(&house), ["house/a: x y"]);
    }
}
