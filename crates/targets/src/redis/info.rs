//! What a Redis tells of itself (`INFO`).

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use genkai_place::endpoint::Endpoint;
use socket2::{Domain, SockAddr, Socket, Type};

use super::line::{Line, PATIENCE};

/// What it tells of itself in these sections (`INFO SECTION`).
///
/// # Errors
/// Why it does not, in words.
pub(super) fn told_by(at: &Endpoint, sections: &[&str]) -> Result<String, String> {
    let no = |e: std::io::Error| format!("it cannot be asked (INFO): {e}");
    match at {
        Endpoint::Tcp(address) => told(Line::open(*address).map_err(no)?, sections),
        Endpoint::Unix(path) => told(Line::on(connected(path).map_err(no)?), sections),
    }
}

/// A connection to a Unix socket on which nothing is waited for longer than [`PATIENCE`]: a queue that is full refuses it at once
/// (connect(2): EAGAIN), where a call that blocks waits without an end.
pub(super) fn connected(path: &Path) -> io::Result<UnixStream> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.connect_timeout(&SockAddr::unix(path)?, PATIENCE)?;
    let stream = UnixStream::from(OwnedFd::from(socket));
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// What it tells in these sections.
fn told(mut line: Line<impl std::io::Read + std::io::Write>, sections: &[&str]) -> Result<String, String> {
    let mut ask = |section: &&str| match line.ask(&format!("INFO {section}")) {
        None => Err("it does not answer".to_owned()),
        Some(answer) if answer.starts_with("-NOAUTH") => Err("it tells nothing without a password".to_owned()),
        Some(answer) if answer.starts_with('-') => Err(format!("it does not tell (INFO {section})")),
        Some(answer) => Ok(answer),
    };
    sections.iter().map(&mut ask).collect()
}

/// What it tells under a name.
pub(super) fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}
