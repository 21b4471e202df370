//! A private copy of a configuration, which runs beside the original without touching anything of it.
//!
//! Everything that httpd would open to the outside or write to is moved into one folder and onto free loopback ports;
//! everything it only reads stays where it is (relative paths still start at the user's `ServerRoot`; keys and passwords are
//! never copied). The copies keep their line numbers. A frame around them, `httpd.conf`, holds what must be so whatever the
//! user's files say, and a status page on a port of its own.

mod backend;
mod certificate;
mod changes;
mod levels;
mod listen;
mod output;
mod step;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use genkai_model::event::Rewrite;

pub use listen::Moved;

use super::config::{Config, Edit, Found, lexer::quote};
use super::route::{Route, answers_are_told, documents, errors_may_hide, is_url, listens};
use super::settings::UNVERIFIED;
use crate::files::{CopyError, CopyOptions, folders, numbered, renamed, save};
use changes::Changes;
use genkai_place::port;

/// Path of the status page on its own port.
pub const STATUS_PATH: &str = "/genkai-status";
/// The one error log, in the folder.
const ERROR_LOG: &str = "error.log";
/// The log of what members of balancers answered with an error, and of errors that clients got as good answers, in the folder.
const ANSWERS: &str = "answers.log";
/// Its lines ([`super::evidence`] reads them), with tabs, which httpd writes otherwise where they stand in a value: `%s` is the status before an
/// `ErrorDocument` and `%R` who answered then, `%L` is `-` where the error log has nothing of the request.
const ANSWERED: &str = "\"%s\\t%>s\\t%R\\t%L\\t%{BALANCER_WORKER_NAME}e\\t%{Location}o\"";
/// Subfolders: copies, access logs, caches, sockets and shared memory, mutexes.
const FOLDERS: [&str; 5] = ["conf", "logs", "cache", "run", "locks"];

/// A private copy on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Private {
    /// Its main file, for `apache2 -f`.
    pub main: PathBuf,
    /// Where it logs errors, of level `warn` at least.
    pub error_log: PathBuf,
    /// What members of balancers answered with an error, and errors that were sent as good answers; none where there are not several members and
    /// nothing hides errors, or this httpd cannot tell.
    pub answers: Option<PathBuf>,
    /// Where the load goes.
    pub address: SocketAddr,
    /// Where the status page is, at [`STATUS_PATH`]; none where httpd has no mod_status.
    pub status: Option<SocketAddr>,
    /// Everything that differs from the user's files.
    pub rewrites: Vec<Rewrite>,
    /// Each copy and its original.
    files: Vec<(PathBuf, PathBuf)>,
}

impl Private {
    /// A message of httpd's with the copies' names replaced by the originals', as `in FILE:LINE` where it names a line. Line
    /// numbers are the same.
    pub fn translate(&self, message: &str) -> String {
        renamed(message, &self.files)
    }
}

/// Writes a private copy of `config` into `options.dir`, with a status page from the folder of `modules`. The user's files are not touched.
///
/// # Errors
/// When there is no port, the folder cannot be written, requests would leave this machine, or a file that is included twice
/// needs two different changes.
pub fn build(
    config: &Config,
    route: &Route<'_>,
    options: CopyOptions<'_>,
    modules: &Path,
) -> Result<Private, CopyError> {
    let dir = options.dir.to_owned();
    let mut changes = Changes::new(config, &dir);
    let mut ports = port::Ports::new((options.listen, options.kept), options.ports);
    let moved = listen::move_all(config, &mut changes, &route.listen, &mut ports)?;
    let to = (options.backend, options.secured);
    backend::redirect(config, &mut changes, &moved, to, options.moves, options.allowed)?;
    let secured = secured(config, &mut changes, route, options.secured, modules);
    let mut steps = step::Steps::default();
    if let Some(papers) = options.papers {
        certificate::replace(config, &mut changes, papers);
        steps = step::unverified(config, &mut changes, &moved);
    }
    output::redirect(config, &mut changes, options.root);
    levels::of_hosts(config, &mut changes);
    let has_status = config.has_module("status_module") || modules.join("mod_status.so").exists();
    let status = if has_status {
        Some(SocketAddr::from(([127, 0, 0, 1], ports.free().map_err(CopyError::Port)?)))
    } else {
        None
    };
    let files: Vec<_> = config.files().map(|(id, file)| (numbered(&dir, id, file), file.path.clone())).collect();
    folders(&dir, &FOLDERS)?;
    for (path, text) in &steps.files {
        save(path, text.as_bytes())?;
    }
    output::rooms(config, &mut changes)?;
    includes(config, &mut changes, &files)?;
    for ((id, file), (copy, _)) in config.files().zip(&files) {
        let text = config.edited_text(id, &changes.edits)?;
        save(copy, text.as_deref().unwrap_or(&file.text))?;
    }
    let main = dir.join("httpd.conf");
    let is_logged = options.backend.is_none() && answers_are_told(config) || errors_may_hide(config);
    let answers = is_logged.then(|| dir.join(ANSWERS));
    let mut text = frame(config, &dir, &files[0].0, status, modules) + &secured + &steps.text;
    if let Some(log) = &answers {
        // Clients that are led elsewhere are answered 302.
        let least = if documents(config).any(|found| found.arg(1).is_some_and(is_url)) { 300 } else { 400 };
        let when = format!("\"expr=%{{REQUEST_STATUS}} -ge {least}\"");
        text += &format!("GlobalLog {} {ANSWERED} {when}\n", quote(&log.to_string_lossy()));
    }
    save(&main, text.as_bytes())?;
    let mine = |m: &&Moved| m.port == route.listen.port && m.ip == route.listen.ip;
    let twin = |m: &&Moved| m.port == route.listen.port;
    let address = moved.iter().find(mine).or(moved.iter().find(twin)).map_or(([127, 0, 0, 1], 0).into(), |m| m.to);
    let (error_log, rewrites) = (dir.join(ERROR_LOG), changes.rewrites);
    Ok(Private { main, error_log, answers, address, status, rewrites, files })
}

/// Every include names the copies now. Where it stands for several files, a list of them takes its place.
fn includes(config: &Config, changes: &mut Changes<'_>, files: &[(PathBuf, PathBuf)]) -> Result<(), CopyError> {
    let mut lists = 0;
    // A use of a macro is read as a file of its own.
    let reads = ["include", "includeoptional", "use"];
    for found in config.found().iter().filter(|f| reads.contains(&f.name.as_str())) {
        let line = |id: &super::config::FileId| format!("Include {}", quote(&files[id.0].0.to_string_lossy()));
        let text = match &found.includes[..] {
            [] => String::new(),
            [one] => line(one),
            many => {
                lists += 1;
                let list = changes.dir.join(format!("conf/list-{lists:03}"));
                let lines: Vec<String> = many.iter().map(line).collect();
                save(&list, (lines.join("\n") + "\n").as_bytes())?;
                format!("Include {}", quote(&list.to_string_lossy()))
            }
        };
        let same = |e: &Edit| e.file == found.file && e.from == found.head.start;
        if !changes.edits.iter().any(same) {
            changes.line(found, text, false);
        }
    }
    Ok(())
}

/// What it takes to pass requests on by TLS in the virtual host that they come to, where the configuration does not say so itself (another virtual
/// host's does not count: `SSLProxyEngine` is of the server, a virtual host or a `<Proxy>`, whose URL is another one now). No certificate is verified
/// then, unless this virtual host says which ones are.
fn secured(
    config: &Config,
    changes: &mut Changes<'_>,
    route: &Route<'_>,
    name: Option<&str>,
    modules: &Path,
) -> String {
    let engine = route.of_host(config, &["sslproxyengine"]);
    let on = engine.is_some_and(|found| found.arg(0).is_some_and(|word| word.eq_ignore_ascii_case("on")));
    if name.is_none() || on {
        return String::new();
    }
    // What the virtual host says itself goes before what is said for the server.
    if let Some(off) = engine.filter(|found| found.host().is_some()) {
        changes.set_one(off, 0, "On".to_owned());
    }
    let file = modules.join("mod_ssl.so");
    let load = match config.has_module("ssl_module") {
        true => String::new(),
        false => format!("LoadModule ssl_module {}\n", quote(&file.to_string_lossy())),
    };
    let verifies = ["sslproxyverify", "sslproxycacertificatefile", "sslproxycacertificatepath"];
    let is_verified = route.of_host(config, &verifies).is_some();
    load + if is_verified { "SSLProxyEngine On\n" } else { UNVERIFIED }
}

/// Whether clients may come by TLS.
fn takes_tls(config: &Config) -> bool {
    let engine =
        |found: &Found| found.name == "sslengine" && found.arg(0).is_none_or(|word| !word.eq_ignore_ascii_case("off"));
    config.found().iter().any(engine) || listens(config).iter().any(|listen| listen.https)
}

/// What stands around the copies.
fn frame(config: &Config, dir: &Path, copy: &Path, status: Option<SocketAddr>, modules: &Path) -> String {
    let path = |name: &str| quote(&dir.join(name).to_string_lossy()).into_owned();
    let mut text = format!(
        "# Written by genkai around a private copy.\nDefaultRuntimeDir {}\nServerName localhost\nInclude {}\n\
         PidFile {}\nErrorLog {}\n",
        path("run"),
        quote(&copy.to_string_lossy()),
        path("httpd.pid"),
        path(ERROR_LOG),
    );
    if !config.found().iter().any(|f| f.is_global() && matches!(f.name.as_str(), "customlog" | "transferlog")) {
        text.push_str(&format!("TransferLog {}\n", path("logs/access.log")));
    }
    text.push_str(&levels::lines(config));
    let Some(status) = status else { return text };
    let loaded = |module: &str| config.has_module(module);
    if !loaded("status_module") {
        let file = modules.join("mod_status.so");
        text.push_str(&format!("LoadModule status_module {}\n", quote(&file.to_string_lossy())));
    }
    let line = |module: &str, line: &str| if loaded(module) { format!("  {line}\n") } else { String::new() };
    // In a Location it counts before any ProxyPass of the server's.
    let inside = [
        line("proxy_module", "  ProxyPass !"),
        line("authz_core_module", "  Require all granted"),
        "    SetHandler server-status\n".to_owned(),
    ];
    text.push_str(&format!(
        "ExtendedStatus On\nListen {status}\n<VirtualHost {status}>\n  ServerName genkai\n{}{}  <Location \
         {STATUS_PATH}>\n{}  </Location>\n</VirtualHost>\n",
        line("ssl_module", "SSLEngine Off"),
        line("rewrite_module", "RewriteEngine Off"),
        inside.concat(),
    ));
    text
}
