//! The site: its files, its installation, and that it answers.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::Setup;
use crate::error::TargetError;
use crate::wordpress::places::unwritten;
use genkai_place::usage::Tree;

/// The site's title; the front page must show it.
pub const TITLE: &str = "A site under genkai";

/// The posts on the front page: as many as WordPress shows there by default (`posts_per_page`, 10).
pub(in crate::wordpress) const POSTS: u32 = 10;

/// Longest answer that is read: the front page has about 60 KB.
const LARGEST: u64 = 8 << 20;

/// How long one request may take while warming; the first compiles all of WordPress.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Requests in a row whose cost is measured.
const TIMED: usize = 9;

/// At most so many requests at once while warming.
const WARM_AT_ONCE: u32 = 16;

/// Writes the document root - links to the package's files, a configuration and a content folder of its own - and the
/// installer. Nothing of the package is changed or copied.
///
/// PHP resolves links, so that WordPress would take the package's folder (with Debian's configuration) for its own;
/// `prepend.php`, run before every script, defines `ABSPATH` first.
pub(super) fn write(setup: &Setup) -> Result<(), TargetError> {
    let (places, programs) = (setup.places, setup.programs);
    let entries = fs::read_dir(&programs.wordpress).map_err(unwritten(&programs.wordpress))?;
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name != "wp-config.php" && name != "wp-content" && name != ".htaccess" {
            link(&entry.path(), &places.site().join(name))?;
        }
    }
    let content = places.site().join("wp-content");
    for folder in ["mu-plugins", "plugins", "uploads", "languages"] {
        let folder = content.join(folder);
        fs::create_dir_all(&folder).map_err(unwritten(&folder))?;
    }
    link(&programs.wordpress.join("wp-content/themes"), &content.join("themes"))?;
    places.write("site/wp-config.php", include_str!("../php/wp-config.php"))?;
    places.write("site/wp-content/mu-plugins/genkai.php", include_str!("../php/genkai.php"))?;
    places.write("install.php", include_str!("../php/install.php"))?;
    places.write("php.ini", &crate::wordpress::settings::php(places))?;
    places.write("prepend.php", &prepend(setup))?;
    Ok(())
}

fn link(from: &Path, to: &Path) -> Result<(), TargetError> {
    symlink(from, to).map_err(unwritten(to))
}

/// What every script knows first. Paths hold neither quotes nor backslashes (`Places::make` sees to that).
fn prepend(setup: &Setup) -> String {
    format!(
        "<?php\ndefine('ABSPATH', '{}/');\ndefine('GENKAI_DATABASE', 'localhost:{}');\n\
         define('GENKAI_PASSWORD', '');\ndefine('GENKAI_THEME', '{}');\n\
         define('GENKAI_TITLE', '{TITLE}');\ndefine('GENKAI_POSTS', {POSTS});\n\
         define('GENKAI_WAITS', {});\n",
        setup.places.site().display(),
        setup.places.socket().display(),
        setup.programs.theme.replace(['\'', '\\'], ""),
        setup.settings.waits.duration().as_micros(),
    )
}

/// Runs WordPress's installer and writes the posts.
pub(super) fn install(setup: &Setup) -> Result<(), TargetError> {
    let mut command = setup.programs.command(&setup.programs.php);
    command.arg("-c").arg(setup.places.file("php.ini")).arg(setup.places.file("install.php"));
    command.current_dir(setup.places.root());
    setup.run(command, "the WordPress installer", "install.log")
}

/// Asks for the front page until every child of the pool has WordPress compiled and its caches filled, and checks each
/// answer.
///
/// # Errors
/// An answer that is not status 200 with the site's title, in words.
pub(in crate::wordpress) fn warm(address: SocketAddr, children: u32) -> Result<(), String> {
    check(address)?;
    thread::scope(|scope| {
        let twice = || check(address).and_then(|()| check(address));
        let threads: Vec<_> = (0..children.min(WARM_AT_ONCE)).map(|_| scope.spawn(twice)).collect();
        let results = threads.into_iter().map(|t| t.join().unwrap_or_else(|_| Err("the request panicked".to_owned())));
        results.fold(Ok(()), Result::and)
    })
}

/// What one request for the front page costs on an otherwise idle host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::wordpress) struct Cost {
    /// From the connection to the last byte: the median of [`TIMED`] in a row.
    pub(in crate::wordpress) service: Duration,
    /// Processor time of all the backend's processes, their mean.
    pub(in crate::wordpress) cpu: Duration,
}

impl Cost {
    /// Measures it on servers that are warm.
    ///
    /// # Errors
    /// As [`warm`].
    pub(in crate::wordpress) fn measure(address: SocketAddr, pids: [u32; 3]) -> Result<Cost, String> {
        let mut trees = pids.map(Tree::new);
        let began = Instant::now();
        trees.iter_mut().for_each(|tree| drop(tree.sample()));
        let mut times = Vec::with_capacity(TIMED);
        for _ in 0..TIMED {
            let from = Instant::now();
            check(address)?;
            times.push(from.elapsed());
        }
        times.sort();
        let wall = began.elapsed().as_secs_f64();
        let cores: f64 = trees.iter_mut().map(|tree| tree.sample().cpu).sum();
        Ok(Cost { service: times[TIMED / 2], cpu: Duration::from_secs_f64(cores * wall / TIMED as f64) })
    }
}

fn check(address: SocketAddr) -> Result<(), String> {
    let (status, body) = fetch(address, "/", ANSWER_WITHIN).map_err(|e| e.to_string())?;
    match (status, body.contains(TITLE)) {
        (200, true) => Ok(()),
        (200, false) => Err(format!("the front page lacks the title `{TITLE}`: {}", beginning(&body))),
        _ => Err(format!("GET / was answered {status}: {}", beginning(&body))),
    }
}

/// The first words of a page, for a message.
fn beginning(body: &str) -> String {
    body.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect()
}

/// One GET over HTTP/1.0 (RFC 1945: the end of the connection ends the body), for checks before the load starts.
///
/// # Errors
/// When no whole answer comes in time, or it is larger than 8 MiB.
fn fetch(address: SocketAddr, path: &str, within: Duration) -> io::Result<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&address, within)?;
    stream.set_read_timeout(Some(within))?;
    stream.set_write_timeout(Some(within))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut bytes = Vec::new();
    stream.take(LARGEST).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let status = text.strip_prefix("HTTP/1.").and_then(|t| t.get(2..5)).and_then(|code| code.parse().ok());
    match (status, text.split_once("\r\n\r\n")) {
        (Some(status), Some((_, body))) if (bytes.len() as u64) < LARGEST => Ok((status, body.to_owned())),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "the answer is not a whole HTTP response")),
    }
}
