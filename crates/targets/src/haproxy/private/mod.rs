//! A private copy of a configuration, which runs beside the original without touching anything of it.
//!
//! Everything that HAProxy would open to the outside, write to or send away is moved into one folder, onto free loopback ports,
//! or left out (peers, mailers, log servers); everything it only reads stays where it is. The copy adds a statistics socket and
//! a log of its own, so its lines move: messages are told in terms of the user's files.

mod backend;
mod changes;
mod listen;
mod output;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use genkai_model::event::Rewrite;
use genkai_model::limit::Origin;

use super::config::{Config, FileId, Found};
use super::evidence::Names;
use super::route::{Address, Route};
use crate::files::{CopyError, CopyOptions, Edit, Origins, flat, folders, renamed, save};
use crate::product::on_line;
use changes::Changes;
use genkai_place::port;
use genkai_place::scratch::Scratch;

/// A private copy on disk.
#[derive(Clone, Debug)]
pub struct Private {
    /// What to give with `-f`: a folder with the copies.
    pub(crate) config: PathBuf,
    /// Where relative paths start: the folder of the user's file.
    pub(crate) folder: PathBuf,
    /// Where the load goes.
    pub(crate) address: SocketAddr,
    /// The sections that the load goes through.
    pub(crate) names: Names,
    /// Everything that differs from the user's files.
    pub(crate) rewrites: Vec<Rewrite>,
    /// The copies as HAProxy reads them.
    pub(crate) running: Config,
    /// Each copy and its original.
    files: Vec<(PathBuf, PathBuf)>,
    /// Lines of the copies to lines of the originals.
    origins: Origins,
    /// Sockets: in the folder for temporary files, because the path of one has at most 107 bytes (unix(7)).
    sockets: Scratch,
}

impl Private {
    /// The statistics socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.sockets.path().join("stats")
    }

    /// Where a line of the copy that runs is written in the user's files.
    pub(crate) fn place(&self, found: &Found) -> Origin {
        let copy = &self.running.file(found.file).path;
        let original = self.files.iter().find(|(mine, _)| mine == copy).map(|(_, users)| users);
        match (original, self.origins.line(copy, found.line)) {
            (Some(path), Some(line)) => on_line(path, line),
            _ => Origin::Given,
        }
    }

    /// A message of HAProxy's (`parsing [FILE:LINE] : ...`) as ` in FILE:LINE: ...` of the user's files.
    pub(crate) fn translate(&self, message: &str) -> String {
        let place = regex::Regex::new(r"(?:parsing )?\[(/[^\]]+?):(\d+)\] ?").expect("pattern is a constant");
        renamed(&self.origins.translate(&place.replace_all(message, " in $1:$2")), &self.files)
    }
}

/// Writes a private copy of `config` into `options.dir`. The user's files are not touched.
///
/// # Errors
/// When there is no port, the folder cannot be written, or requests would leave this machine.
pub(crate) fn build(config: &Config, route: &Route<'_>, options: CopyOptions<'_>) -> Result<Private, CopyError> {
    let sockets = Scratch::short("genkai-haproxy-").map_err(CopyError::write(std::env::temp_dir()))?;
    let mut changes = Changes::new(config, options.dir);
    let mut ports = port::Ports::new((options.listen, options.kept), options.ports);
    let papers = options.papers;
    let moved = listen::move_all(config, &mut changes, &route.bind, &mut ports, sockets.path(), papers)?;
    let (backend, secured, moves, allowed) = (options.backend, options.secured, options.moves, options.allowed);
    backend::redirect(config, &mut changes, &backend::Led { moved: &moved, backend, secured, moves, allowed })?;
    output::redirect(config, &mut changes, options.root, &sockets.path().join("stats"));
    let folder = options.dir.join("conf");
    folders(options.dir, &["conf"])?;
    let (mut files, mut texts) = (Vec::new(), Vec::new());
    for (id, file) in config.files() {
        // In a folder HAProxy reads only files with `.cfg` after the first dot (src/haproxy.c: cfgfiles_expand_directories).
        let name = flat(&file.path.to_string_lossy()).replace('.', "_");
        let copy = folder.join(format!("{:03}-{name}.cfg", id.0));
        let text = config.edited_text(id, &changes.edits)?.unwrap_or_else(|| file.text.clone());
        save(&copy, &text)?;
        files.push((copy.clone(), file.path.clone()));
        texts.push((copy, text));
    }
    let address = listen::address(&moved, &route.bind);
    let mut origins = Origins::default();
    for ((id, file), (copy, _)) in config.files().zip(&texts) {
        let mine: Vec<Edit> = changes.edits.iter().filter(|e| e.file == id).cloned().collect();
        origins.edited(copy, file, &mine);
    }
    let main = &config.file(FileId::MAIN).path;
    Ok(Private {
        folder: main.parent().filter(|p| p.is_dir()).unwrap_or(Path::new("/")).to_owned(),
        address,
        names: Names {
            front: route.front.name.clone(),
            back: route.back.map_or_else(|| route.front.name.clone(), |s| s.name.clone()),
        },
        rewrites: changes.rewrites,
        running: Config::of_texts(texts, config.reading().clone())?,
        config: folder,
        files,
        origins,
        sockets,
    })
}

/// Where a connection to an address of the user's arrives, if it leads back into the same HAProxy.
fn own<'m>(moved: &'m [listen::Moved], address: &Address) -> Option<&'m listen::Moved> {
    moved.iter().find(|m| m.is(address))
}
