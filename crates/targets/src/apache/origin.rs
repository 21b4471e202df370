//! What stands behind the caches: httpd with files, and pages to try rules of HTTP on.

use std::fs::{self, File};
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use genkai_model::setting::Setting;

use crate::apache::cache::{MODULES, frame, httpd};
use crate::cache::counters::Lines;
use crate::cache::ground::run;
use crate::cache::listed;
use crate::error::TargetError;
use crate::product::Program;
use genkai_place::footprint::{self, Footprint};
use genkai_place::process::{Child, Signal, Spawn};
use genkai_place::scratch::Scratch;
use genkai_place::{PlaceError, account, machine, pagecache, port, ready};

/// It binds sockets and answers.
const READY_WITHIN: Duration = Duration::from_secs(20);
/// Another process may take a port that was free a moment ago.
const ATTEMPTS: u32 = 3;
/// How old its files are: one that was changed a moment ago has a weak entity tag (server/util_etag.c of httpd).
const AGE: Duration = Duration::from_secs(86_400);

/// Folders of pages for rules, each with what its responses say. All responses name the moment at which they were made, and the value
/// of the request's field `X-Probe`.
const PAGES: [(&str, &str); 5] = [
    ("vary", "Header merge Vary X-Probe\nHeader set Cache-Control max-age=3600\n"),
    ("no-store", "Header set Cache-Control no-store\n"),
    ("private", "Header set Cache-Control \"private, max-age=3600\"\n"),
    ("short", "Header set Cache-Control max-age=1\nHeader unset ETag\nHeader unset Last-Modified\nFileETag None\n"),
    ("long", "Header set Cache-Control max-age=3600\n"),
];

/// Field of a response that says when the origin made it.
pub const MADE: &str = "X-Made";
/// Field of a response that repeats the request's `X-Probe`.
pub const SEEN: &str = "X-Seen";
/// Text of the pages for rules.
pub const PAGE: &str = "0123456789abcdef0123456789abcdef\n";

/// A running origin. Dropping it ends it; its files go with it.
#[derive(Debug)]
pub struct Origin {
    child: Child,
    address: SocketAddr,
    version: String,
    settings: Vec<Setting>,
    served: Lines,
    files: PathBuf,
    _room: Scratch,
}

/// The files of an origin, before it is started.
#[derive(Debug)]
pub struct Files {
    scratch: Scratch,
    root: PathBuf,
}

impl Files {
    /// Makes the document root in `dir`: one file for each of `objects`, whose bytes `fill` writes, below `folder` of a path. None when
    /// `fill` says that nobody wants them any more.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write(
        dir: &Path,
        folder: &str,
        objects: u32,
        mut fill: impl FnMut(u32, &mut Vec<u8>) -> bool,
    ) -> Result<Option<Files>, TargetError> {
        let scratch = Scratch::make(dir, account::unprivileged().is_some(), "genkai-origin-")?;
        let root = scratch.path().join("htdocs");
        let into = root.join(folder.trim_matches('/'));
        fs::create_dir_all(&into).map_err(TargetError::files(&into))?;
        let (mut body, modified) = (Vec::new(), SystemTime::now() - AGE);
        let one = |path: &Path, body: &[u8]| {
            let mut file = File::create(path)?;
            file.write_all(body)?;
            file.set_modified(modified)
        };
        for n in 0..objects {
            if !fill(n, &mut body) {
                return Ok(None);
            }
            let path = into.join(n.to_string());
            one(&path, &body).map_err(TargetError::files(&path))?;
        }
        for (name, _) in PAGES {
            let path = root.join(name);
            fs::create_dir_all(&path)
                .and_then(|()| one(&path.join("page"), PAGE.as_bytes()))
                .map_err(TargetError::files(&path))?;
        }
        // So that the kernel can let go of them whenever it is to.
        pagecache::sync(&root);
        Ok(Some(Files { scratch, root }))
    }

    /// The document root.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

impl Origin {
    /// Starts httpd on the files.
    ///
    /// # Errors
    /// When it is missing or does not start.
    pub fn start(files: Files, cpus: Option<&[usize]>) -> Result<Origin, TargetError> {
        let dir = files.scratch.path();
        let binary = super::find(None, dir)?;
        if let Some((uid, gid)) = account::unprivileged() {
            chown(dir, Some(uid), Some(gid)).map_err(TargetError::files(dir))?;
        }
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let port = port::free().map_err(TargetError::files(dir))?;
            let address = SocketAddr::from(([127, 0, 0, 1], port));
            let conf = dir.join("httpd.conf");
            let text = render(&binary, address, dir, &files.root);
            fs::write(&conf, &text).map_err(TargetError::files(&conf))?;
            let (succeeded, said) = run(httpd(binary.path(), &conf, &["-t"]), &dir.join("check.txt"), None)?;
            if !succeeded {
                return Err(TargetError::command("origin", "apache2 -t", said));
            }
            match launch(&binary, &conf, address, dir, cpus) {
                Ok(child) => {
                    let served = Lines::of(dir.join("access.log"), |_| Some(false));
                    let (version, settings) = (binary.version().to_owned(), listed(&text, dir));
                    return Ok(Origin {
                        child,
                        address,
                        version,
                        settings,
                        served,
                        files: files.root,
                        _room: files.scratch,
                    });
                }
                Err(e @ PlaceError::Exited { .. }) => last = Some(e),
                Err(e) => return Err(e.into()),
            }
        }
        Err(last.map_or_else(|| TargetError::not_installed("apache2", "apache2-bin"), TargetError::from))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// What its configuration says, line by line.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// Requests that it has answered since its start, as far as its log has them.
    pub fn served(&mut self) -> u64 {
        self.served.count().misses
    }

    /// What its processes have used.
    pub fn footprint(&self) -> Footprint {
        footprint::of(self.child.pid())
    }

    /// Its files.
    pub fn files(&self) -> pagecache::Files {
        pagecache::of(&self.files)
    }

    /// Has the kernel let go of its files.
    pub fn forget(&self) {
        pagecache::evict(&self.files);
    }

    /// Ends it.
    pub fn stop(mut self) {
        self.child.stop(Signal::SIGTERM, Duration::from_secs(2));
    }
}

fn launch(
    binary: &Program,
    conf: &Path,
    address: SocketAddr,
    dir: &Path,
    cpus: Option<&[usize]>,
) -> Result<Child, PlaceError> {
    let spawn = Spawn {
        name: "origin".to_owned(),
        cpus: cpus.map(<[usize]>::to_vec),
        log: Some(dir.join("output.txt")),
        nofile: Some(machine::hard_descriptors()),
        user: account::unprivileged(),
    };
    let mut child = Child::spawn(httpd(binary.path(), conf, &["-D", "FOREGROUND"]), spawn)?;
    ready::connectable(address, READY_WITHIN, &mut child)?;
    Ok(child)
}

fn render(binary: &Program, address: SocketAddr, dir: &Path, root: &Path) -> String {
    let modules: Vec<&str> = MODULES.into_iter().chain(["headers"]).collect();
    let mut text = frame(binary, &modules, &address.to_string(), dir);
    let (at, root) = (dir.display(), root.display());
    text.push_str(&format!(
        "LogFormat \"%>s\" short\nCustomLog {at}/access.log short\nDocumentRoot {root}\n<Directory {root}>\n    \
         Require all granted\n</Directory>\nHeader set {MADE} %t\nHeader set {SEEN} expr=%{{req:X-Probe}}\n\
         <Directory {root}/o>\nHeader set Cache-Control max-age=3600\n</Directory>\n"
    ));
    for (name, words) in PAGES {
        text.push_str(&format!("<Directory {root}/{name}>\n{words}</Directory>\n"));
    }
    text
}
