//! The effective directives, in the order nginx reads them: includes are replaced by what they name.

use super::tree::Directive;
use super::{Config, FileId};

/// Blocks whose content is data: what looks like a directive in them is an entry.
const DATA: [&str; 7] = ["map", "geo", "types", "split_clients", "charset_map", "geoip2", "match"];

/// A block on the way to a directive.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// File in which it is written.
    pub file: FileId,
    /// The block's directive.
    pub directive: &'a Directive,
}

/// A directive in its context. A file included twice gives each of its directives twice, in different contexts.
#[derive(Clone, Debug)]
pub struct Found<'a> {
    /// The configuration it is in.
    pub config: &'a Config,
    /// File in which it is written.
    pub file: FileId,
    /// The directive.
    pub directive: &'a Directive,
    /// Enclosing blocks, outermost first, over include borders.
    pub blocks: Vec<Block<'a>>,
}

impl<'a> Found<'a> {
    /// Line (from 1) in its file.
    pub fn line(&self) -> usize {
        self.config.file(self.file).line(self.directive.span.start)
    }

    /// `path:line`.
    pub fn place(&self) -> String {
        self.config.file(self.file).place(self.directive.span.start)
    }

    /// Whether the enclosing blocks have exactly these names, outermost first.
    pub fn is_in(&self, path: &[&str]) -> bool {
        self.blocks.len() == path.len() && self.blocks.iter().zip(path).all(|(b, name)| b.directive.is(name))
    }

    /// Whether the outermost block has this name.
    pub fn is_under(&self, name: &str) -> bool {
        self.blocks.first().is_some_and(|b| b.directive.is(name))
    }

    /// Whether it is an entry of a `map`, `types` or the like, not a directive.
    pub fn is_entry(&self) -> bool {
        self.blocks.iter().any(|b| DATA.iter().any(|name| b.directive.is(name)))
    }

    /// Value of an argument (0 is the first after the name), as text.
    pub fn arg(&self, index: usize) -> Option<String> {
        self.directive.args().get(index).map(|w| w.text().into_owned())
    }

    /// Values of all arguments, as text.
    pub fn args(&self) -> Vec<String> {
        self.directive.args().iter().map(|w| w.text().into_owned()).collect()
    }

    /// The directive as written, for messages: from its name to its last argument.
    pub fn written(&self) -> String {
        let words = &self.directive.words;
        let span = words[0].span.start..words[words.len() - 1].span.end;
        String::from_utf8_lossy(&self.config.file(self.file).text[span]).into_owned()
    }

    /// The innermost enclosing block.
    pub fn parent(&self) -> Option<Found<'a>> {
        let (last, blocks) = self.blocks.split_last()?;
        Some(Found { config: self.config, file: last.file, directive: last.directive, blocks: blocks.to_vec() })
    }

    /// The directives right inside its block, includes followed.
    pub fn inside(&self) -> Vec<Found<'a>> {
        let mut blocks = self.blocks.clone();
        blocks.push(Block { file: self.file, directive: self.directive });
        let mut out = Vec::new();
        self.config.each(self.file, self.directive.directives(), &mut blocks, &mut |found| {
            out.push(found);
            false
        });
        out
    }
}

impl Config {
    /// Calls `visit` for each directive in order; it says whether to look into the directive's block.
    fn each<'a>(
        &'a self,
        file: FileId,
        directives: &'a [Directive],
        blocks: &mut Vec<Block<'a>>,
        visit: &mut dyn FnMut(Found<'a>) -> bool,
    ) {
        for directive in directives {
            let deeper = visit(Found { config: self, file, directive, blocks: blocks.clone() });
            if deeper && !directive.directives().is_empty() {
                blocks.push(Block { file, directive });
                self.each(file, directive.directives(), blocks, visit);
                blocks.pop();
            }
            for &target in self.included(directive) {
                self.each(target, &self.file(target).tree, blocks, visit);
            }
        }
    }

    /// Every directive in the order nginx reads them. An `include` is given itself, then what it names.
    pub fn walk(&self) -> Vec<Found<'_>> {
        let mut out = Vec::new();
        self.each(FileId::MAIN, &self.file(FileId::MAIN).tree, &mut Vec::new(), &mut |found| {
            out.push(found);
            true
        });
        out
    }

    /// The directives of the main context, includes followed.
    pub fn top(&self) -> Vec<Found<'_>> {
        let mut out = Vec::new();
        self.each(FileId::MAIN, &self.file(FileId::MAIN).tree, &mut Vec::new(), &mut |found| {
            out.push(found);
            false
        });
        out
    }

    /// Every directive called `name` whose enclosing blocks are exactly `path`, e.g. `find(&["events"],
    /// "worker_connections")`; an empty path is the main context.
    pub fn find(&self, path: &[&str], name: &str) -> Vec<Found<'_>> {
        self.walk().into_iter().filter(|f| f.directive.is(name) && f.is_in(path)).collect()
    }
}
