//! A private copy of a Caddyfile, which runs beside the original without touching anything of it.
//!
//! It is one file: what the user's files say together, with imports, snippets and variables put in. Listeners go to free loopback
//! ports, the administration endpoint to a socket of our own, certificates and storage into one folder; logs come to us. Of
//! what could reach another machine or write somewhere only what is known not to is kept ([`allowed`]).

mod allowed;
mod answers;
mod listen;
mod options;
mod proxy;
mod sites;
mod text;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use genkai_model::event::Rewrite;

use super::config::{Config, FileId, Line, Variables, Word, quote};
use super::evidence::Hidden;
use super::route::{Route, answers_are_told};
use crate::files::{CopyError, CopyOptions, Move, folders, save};
use genkai_place::authority::TlsMaterial;
use genkai_place::port;
use genkai_place::scratch::Scratch;
use listen::Moved;

/// A private copy on disk.
#[derive(Clone, Debug)]
pub struct Private {
    /// The Caddyfile.
    pub(crate) config: PathBuf,
    /// Where relative paths start: the folder of the user's file.
    pub(crate) folder: PathBuf,
    /// Where the load goes.
    pub(crate) address: SocketAddr,
    /// What upstreams answered with an error; none where there are not several to be told apart.
    pub(crate) answers: Option<PathBuf>,
    /// Everything that differs from the user's files.
    pub(crate) rewrites: Vec<Rewrite>,
    /// The copy as Caddy reads it.
    pub(crate) running: Config,
    /// The user's file and line of each of its lines.
    origins: Vec<Option<(PathBuf, usize)>>,
    /// Its sockets: in the folder for temporary files, because the path of one has at most 107 bytes (unix(7)).
    sockets: Scratch,
}

impl Private {
    /// Its text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.running.file(FileId::MAIN).text).into_owned()
    }

    /// The administration endpoint.
    pub(crate) fn socket(&self) -> PathBuf {
        self.sockets.path().join("admin")
    }

    /// A message of Caddy's about `FILE:LINE` of the copy, as ` in FILE:LINE: ...` of the user's files.
    pub(crate) fn translate(&self, message: &str) -> String {
        let copy = regex::escape(&self.config.to_string_lossy());
        let place = regex::Regex::new(&format!(r"{copy}:(\d+)(?: - Error during parsing)?")).expect("a path, escaped");
        let translated = place.replace_all(message, |found: &regex::Captures<'_>| {
            let line = found[1].parse::<usize>().unwrap_or(0);
            match self.origins.get(line.wrapping_sub(1)) {
                Some(Some((path, line))) => format!(" in {}:{line}", path.display()),
                _ => "in the private copy".to_owned(),
            }
        });
        translated.trim_start().to_owned()
    }
}

/// Writes a private copy of `config` into `options.dir`. The user's files are not touched.
///
/// # Errors
/// When there is no port, the folder cannot be written, requests would leave this machine, or a directive is unknown, so that nobody
/// can say what it reaches.
pub(crate) fn build(config: &Config, route: &Route<'_>, options: CopyOptions<'_>) -> Result<Private, CopyError> {
    let sockets = Scratch::short("genkai-caddy-").map_err(CopyError::write(std::env::temp_dir()))?;
    let mut ports = port::Ports::new((options.listen, options.kept), options.ports);
    let moved = listen::moved(config, (options.listen, &mut || ports.free()))?;
    let mut copy = Copy {
        config,
        moved: &moved,
        backend: options.backend,
        secured: options.secured,
        moves: options.moves,
        allowed: options.allowed,
        papers: options.papers,
        rewrites: Vec::new(),
    };
    let mut out = text::Text::default();
    let storage = options.dir.join("storage");
    copy.options(&mut out, &sockets.path().join("admin"), &storage, Hidden::of(route.site).may_be());
    let answers = (options.backend.is_none() && answers_are_told(config)).then(|| options.dir.join("answers.log"));
    let own = answers.as_deref().map(answers::lines).unwrap_or_default();
    copy.sites(&mut out, &own)?;
    let rewrites = copy.rewrites;
    folders(options.dir, &["conf", "storage"])?;
    let file = options.dir.join("conf/Caddyfile");
    save(&file, out.text.as_bytes())?;
    let main = &config.file(FileId::MAIN).path;
    Ok(Private {
        folder: main.parent().filter(|p| p.is_dir()).unwrap_or(Path::new("/")).to_owned(),
        address: (moved.ip, moved.port(route.site, &route.address).unwrap_or_default()).into(),
        rewrites,
        answers,
        running: Config::of_texts(vec![(file.clone(), out.text.into_bytes())], Variables::new())?,
        config: file,
        origins: out.origins.into_iter().map(|at| at.map(|(id, line)| (config.file(id).path.clone(), line))).collect(),
        sockets,
    })
}

/// A copy while it is made.
struct Copy<'a> {
    config: &'a Config,
    moved: &'a Moved,
    backend: Option<SocketAddr>,
    /// That takes TLS, and is told this name.
    secured: Option<&'a str>,
    moves: &'a [Move],
    allowed: &'a [String],
    /// What stands in for certificates of the user's.
    papers: Option<&'a TlsMaterial>,
    rewrites: Vec<Rewrite>,
}

impl Copy<'_> {
    /// Tells that a line has other words, or none.
    fn tell(&mut self, line: &Line, to: String) {
        let rewrite = Rewrite { place: self.config.place(line), from: self.config.written(line), to };
        if rewrite.from != rewrite.to && !self.rewrites.contains(&rewrite) {
            self.rewrites.push(rewrite);
        }
    }

    /// Leaves a line out.
    fn drop(&mut self, line: &Line) {
        self.tell(line, String::new());
    }

    /// The line with other words. Those that stay are told as the user wrote them: what a variable stands for may be a secret.
    fn with(&mut self, line: &Line, words: &[String]) -> Line {
        let written: BTreeMap<&str, String> = line
            .words
            .iter()
            .map(|word| (word.value.as_str(), self.config.written(&Line { words: vec![word.clone()], ..head(line) })))
            .collect();
        let shown = |word: &String| written.get(word.as_str()).cloned().unwrap_or_else(|| quote(word));
        self.tell(line, words.iter().map(shown).collect::<Vec<_>>().join(" "));
        let word = |value: &String| Word { value: value.clone(), quoted: false, file: line.file, span: 0..0 };
        Line { words: words.iter().map(word).collect(), ..line.clone() }
    }

    /// The line with the lines of its block that `keep` lets through, the others told.
    fn keeping(&mut self, line: &Line, keep: impl Fn(&Line) -> bool) -> Line {
        let mut kept = line.clone();
        if let Some(block) = &mut kept.block {
            block.lines.retain(&keep);
        }
        line.inside().iter().filter(|inner| !keep(inner)).for_each(|inner| self.drop(inner));
        kept
    }
}

/// A line without its words and its block.
fn head(line: &Line) -> Line {
    Line { words: Vec::new(), block: None, ..*line }
}

/// The words of a line as texts.
fn texts(line: &Line) -> Vec<String> {
    line.words.iter().map(|word| word.value.clone()).collect()
}
