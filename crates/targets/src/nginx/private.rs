//! A private copy of a configuration, which runs beside the original without touching anything of it.
//!
//! Everything that nginx would open to the outside or write to is moved into one folder and onto free loopback ports;
//! everything it only reads stays where it is, named by its absolute path (keys and passwords are never copied). Each file
//! keeps its line numbers, so that nginx's messages can be told in terms of the user's files. Every change is listed.

mod answers;
mod backend;
mod certificate;
mod changes;
mod contained;
mod listen;
mod output;
mod path;
mod variable;
mod write;

use std::net::SocketAddr;
use std::path::PathBuf;

use genkai_model::event::Rewrite;

pub(super) use answers::REJECTED;
pub(super) use contained::logging_into;
pub use listen::{At, Moved};
pub(super) use variable::unreplaced;

use changes::Changes;
use write::Written;

use super::config::{Address, Config, Found};
use crate::files::{CopyError, CopyOptions, renamed};
use genkai_place::port;

/// Path of the status page on its own port.
pub const STATUS_PATH: &str = "/genkai-status";

/// What is said of a configuration without an `http` block.
const NO_HTTP: &str = "the configuration has no http block: there is nothing to send requests to";

/// What is known of the nginx that a copy is for.
#[derive(Clone, Copy, Debug)]
pub struct Built<'a> {
    /// What `nginx -V` says after `configure arguments:`.
    pub configure: &'a str,
    /// Major, minor, patch; zeros where it does not say.
    pub version: (u32, u32, u32),
}

/// A private copy on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Private {
    /// Its folder.
    pub dir: PathBuf,
    /// Its main file, for `nginx -c`.
    pub main: PathBuf,
    /// Where it logs errors, of level `warn` at least.
    pub error_log: PathBuf,
    /// Its pid file.
    pub pid: PathBuf,
    /// The log of what servers behind answered with an error, where there are several to be told apart.
    pub answers: Option<PathBuf>,
    /// Each `listen`, in order, and where it went.
    pub moved: Vec<Moved>,
    /// Where the status page is, at [`STATUS_PATH`].
    pub status: Option<SocketAddr>,
    /// Everything that differs from the user's files.
    pub rewrites: Vec<Rewrite>,
    /// Each copy and its original.
    files: Vec<(PathBuf, PathBuf)>,
}

impl Private {
    /// Where a request to the user's `listen` at `place` (`path:line`) goes now, of several on a line to the one of this address; none for Unix
    /// sockets.
    pub fn address_of(&self, place: &str, address: Option<&Address>) -> Option<SocketAddr> {
        let is_it = |m: &&Moved| m.place == place && address.is_none_or(|address| m.address == *address);
        self.moved.iter().find(is_it).and_then(|m| match m.to {
            At::Inet(address) => Some(address),
            At::Unix(_) => None,
        })
    }

    /// A text in which places of the copy's listeners are told as the user's configuration has them.
    pub(super) fn as_written(&self, text: &str) -> String {
        self.moved.iter().fold(text.to_owned(), |text, moved| {
            replaced(&text, &moved.to.to_string(), &moved.address.reached().to_string())
        })
    }

    /// A message of nginx's with the copies' names replaced by the originals'. Line numbers are the same.
    pub fn translate(&self, message: &str) -> String {
        renamed(message, &self.files)
    }
}

/// Writes a private copy of `config` into `options.dir`: absolute, without characters that nginx reads as patterns or variables.
/// Of several listeners on one port it is `loaded` that keeps it, where ports are kept. With `status` a server with a status page is added. The
/// user's files are not touched.
///
/// # Errors
/// When there is no port, the folder cannot be written, or a file that is included twice needs two different changes.
pub fn build(
    config: &Config,
    loaded: Option<&Address>,
    options: CopyOptions<'_>,
    built: Built<'_>,
    status: bool,
) -> Result<Private, CopyError> {
    let dir = options.dir.to_owned();
    write::check(&dir)?;
    let mut changes = Changes::new(config, &dir);
    let mut ports = port::Ports::new((options.listen, options.kept), options.ports);
    let moved = listen::move_all(config, &mut changes, &mut ports, loaded, options.root)?;
    backend::redirect(config, &mut changes, &moved, (options.backend, options.secured), options.moves)?;
    if let Some(papers) = options.papers {
        certificate::replace(config, &mut changes, papers);
    }
    path::make_absolute(config, &mut changes, options.papers.is_some())?;
    output::redirect(config, &mut changes, options.root, built.configure)?;
    let told = answers::is_wanted(config, built.configure);
    if told {
        answers::add(config, &mut changes, built)?;
    }
    let status = if status { Some(status_page(config, &mut changes, &mut ports)?) } else { None };
    let Written { rewrites, files } = write::write(config, changes, &dir)?;
    Ok(Private {
        main: files[0].0.clone(),
        error_log: dir.join(output::ERROR_LOG),
        pid: dir.join(output::PID),
        answers: told.then(|| dir.join(answers::LOG)),
        moved,
        status,
        rewrites,
        files,
        dir,
    })
}

/// `text` with `new` for `old`, where no further digit or letter of a longer place follows.
fn replaced(text: &str, old: &str, new: &str) -> String {
    let mut rest = text;
    let mut all = String::new();
    while let Some((before, after)) = rest.split_once(old) {
        let longer = after.starts_with(|c: char| c.is_ascii_alphanumeric());
        all.push_str(before);
        all.push_str(if longer { old } else { new });
        rest = after;
    }
    all + rest
}

/// The `http` block.
fn http(config: &Config) -> Option<Found<'_>> {
    config.find(&[], "http").into_iter().find(|f| f.directive.is_block())
}

/// Adds a server with a status page. What `http` demands of every visitor is lifted for it.
fn status_page(
    config: &Config,
    changes: &mut Changes<'_>,
    ports: &mut port::Ports<'_>,
) -> Result<SocketAddr, CopyError> {
    let http = http(config).ok_or_else(|| CopyError::Refused(NO_HTTP.to_owned()))?;
    let address = SocketAddr::from(([127, 0, 0, 1], ports.free().map_err(CopyError::Port)?));
    let inherited = http.inside();
    let has = |names: &[&str]| inherited.iter().any(|f| names.iter().any(|n| f.directive.is(n)));
    let mut open = String::new();
    for (names, lifted) in [
        (&["auth_basic"][..], " auth_basic off;"),
        (&["allow", "deny"], " allow 127.0.0.1; deny all;"),
        (&["auth_request"], " auth_request off;"),
    ] {
        open.push_str(if has(names) { lifted } else { "" });
    }
    let text = format!(
        "server {{ listen {address}; server_name genkai; access_log off; \
         location = {STATUS_PATH} {{ stub_status;{open} }} }}"
    );
    let edit = config.insert_at_end(&http, &text)?;
    changes.add(&http, String::new(), text, edit);
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_as_it_is_written_and_no_part_of_a_longer_one() {
        let told = |text: &str| replaced(text, "127.0.0.1:4001", "127.0.0.1:81");
        assert_eq!(told("server 127.0.0.1:4001 (slow)"), "server 127.0.0.1:81 (slow)");
        assert_eq!(told("127.0.0.1:40015, 127.0.0.1:4001"), "127.0.0.1:40015, 127.0.0.1:81");
    }
}
