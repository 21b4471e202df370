//! What stands behind the caches: httpd with files, and pages to try rules of HTTP on.

use std::fs::{self, File};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use genkai_model::setting::Setting;

use crate::apache::cache::httpd;
use crate::apache::lifecycle;
use crate::cache::{Budget, Cache, Sandbox, Setup, Start};
use crate::error::TargetError;
use genkai_place::footprint::Footprint;
use genkai_place::scratch::Scratch;
use genkai_place::{account, pagecache};

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
    /// It is started, looked at and ended as a cache is.
    httpd: Cache,
    served: u64,
    files: Files,
}

/// The files of an origin.
#[derive(Debug)]
pub struct Files {
    root: PathBuf,
    scratch: Scratch,
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
        Ok(Some(Files { root, scratch }))
    }

    /// The document root.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

impl Origin {
    /// Starts httpd on the files; it listens at `listen`.
    ///
    /// # Errors
    /// When it is missing or does not start.
    pub fn start(files: Files, listen: Ipv4Addr, cpus: Option<&[usize]>) -> Result<Origin, TargetError> {
        let (name, store, dir) = ("origin", "", files.scratch.path());
        let program = lifecycle::find(None, dir)?;
        let start = Start {
            name,
            store,
            program: &program,
            backend: None,
            moves: &[],
            allowed: &[],
            budget: Budget::USUAL,
            cpus,
            dir,
            listen,
        };
        let httpd = Cache::start(&start, &|at| setup(at, &files.root))?;
        Ok(Origin { httpd, served: 0, files })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.httpd.address()
    }

    /// Its version.
    pub fn version(&self) -> &str {
        &self.httpd.entry().version
    }

    /// What its configuration says, line by line.
    pub fn settings(&self) -> &[Setting] {
        &self.httpd.entry().settings
    }

    /// Requests that it has answered since its start, as far as its log has them.
    pub fn served(&mut self) -> u64 {
        // One that has ended tells no more.
        self.served = self.httpd.count().map_or(self.served, |counts| counts.misses);
        self.served
    }

    /// What its processes have used.
    pub fn footprint(&self) -> Footprint {
        self.httpd.footprint()
    }

    /// Its files.
    pub fn files(&self) -> pagecache::Files {
        pagecache::of(&self.files.root)
    }

    /// Has the kernel let go of its files.
    pub fn forget(&self) {
        pagecache::evict(&self.files.root);
    }
}

fn setup(at: &Sandbox<'_>, root: &Path) -> Result<Setup, TargetError> {
    let (dir, files) = (at.dir.display(), root.display());
    let mut text = format!(
        "LogFormat \"%>s\" short\nCustomLog {dir}/access.log short\nDocumentRoot {files}\n<Directory {files}>\n    \
         Require all granted\n</Directory>\nHeader set {MADE} %t\nHeader set {SEEN} expr=%{{req:X-Probe}}\n\
         <Directory {files}/o>\nHeader set Cache-Control max-age=3600\n</Directory>\n"
    );
    for (name, words) in PAGES {
        text.push_str(&format!("<Directory {files}/{name}>\n{words}</Directory>\n"));
    }
    let mut setup = httpd(at, &["headers"], &text, |_| Some(false))?;
    for one in &mut setup.settings {
        one.value = one.value.replace(&*root.to_string_lossy(), "./htdocs");
    }
    Ok(setup)
}
