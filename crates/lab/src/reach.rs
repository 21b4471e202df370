//! Whether somebody listens where a load is to go. A load on a closed port measures nothing, and says so only after its
//! whole duration; one on a server that does not speak the protocol measures refusals.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use genkai_model::load::{Load, Protocol, Request};
use genkai_model::transport::Transport;

use crate::error::LabError;

/// How long connecting may take. Who does not answer within this is not waited for: the load will tell.
const WITHIN: Duration = Duration::from_secs(1);

/// Connects once, sends nothing, and closes.
///
/// # Errors
/// When it is certain that nobody listens: refused by every address, or no such socket. Whatever else happens is the load's to
/// find out.
pub fn reach(load: &Load) -> Result<(), LabError> {
    match &load.transport {
        Transport::Unix { path } => socket(path),
        Transport::Tcp | Transport::Tls(_) => addresses(&load.addresses),
    }
}

/// How long a server may take for each step of saying that it speaks HTTP/2.
const OFFER: Duration = Duration::from_secs(5);

/// What helps where somebody's server does not offer HTTP/2.
pub const SWITCH_ON: &str = "switch HTTP/2 on in the server, or load it over HTTP/1.1, without http2";

/// Opens one HTTP/2 connection, if that is what the load speaks, and closes it.
///
/// # Errors
/// When the server does not speak it, with what helps (`hint`). What else may be wrong is the load's to find out.
pub fn offered(load: &Load, hint: &str) -> Result<(), LabError> {
    let own = Some(load).filter(|load| matches!(load.protocol, Protocol::Http2(_))).cloned();
    own.into_iter().chain(targets(load)).try_for_each(|load| {
        genkai_engine::http2_offered(&load, OFFER).map_err(|no| LabError::Environment(format!("{no}\n  hint: {hint}")))
    })
}

/// Loads of one request that go where the scenario's HTTP/2 goes.
fn targets(load: &Load) -> impl Iterator<Item = Load> {
    let all = load.scenario.iter().flat_map(|scenario| &scenario.targets);
    all.filter_map(|target| {
        let request = Request { host: target.host.clone(), ..load.request.clone() };
        Some(Load {
            addresses: target.addresses.clone(),
            transport: target.transport.clone(),
            protocol: Protocol::Http2(target.http2?),
            request,
            scenario: None,
            ..load.clone()
        })
    })
}

fn addresses(all: &[SocketAddr]) -> Result<(), LabError> {
    let refused = |address: &SocketAddr| {
        let answer = TcpStream::connect_timeout(address, WITHIN);
        answer.err().is_some_and(|e| e.kind() == ErrorKind::ConnectionRefused)
    };
    if all.is_empty() || !all.iter().all(refused) {
        return Ok(());
    }
    let names: Vec<String> = all.iter().map(SocketAddr::to_string).collect();
    Err(LabError::Environment(format!(
        "nobody listens on {}: connection refused\n  hint: start the server first, or correct the port",
        names.join(", ")
    )))
}

fn socket(path: &Path) -> Result<(), LabError> {
    let Err(error) = UnixStream::connect(path) else { return Ok(()) };
    let why = |error: &io::Error| match error.kind() {
        ErrorKind::NotFound => Some("there is no such socket"),
        ErrorKind::ConnectionRefused => Some("nobody listens on it, or it is no socket"),
        ErrorKind::PermissionDenied => Some("permission denied"),
        _ => None,
    };
    match why(&error) {
        None => Ok(()),
        Some(why) => Err(LabError::Environment(format!(
            "{}: {why}\n  hint: start the server first, or correct the path (unix:SOCKET:/PATH)",
            path.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn only_the_certain_no_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let open = listener.local_addr().unwrap();
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert!(addresses(&[open]).is_ok() && addresses(&[closed, open]).is_ok());
        let error = addresses(&[closed]).unwrap_err().to_string();
        assert!(error.contains(&closed.to_string()) && error.contains("refused"), "{error}");
    }

    #[test]
    fn a_socket_that_is_missing_or_deaf() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        assert!(socket(&path).unwrap_err().to_string().contains("no such socket"));
        std::fs::write(&path, "").unwrap();
        assert!(socket(&path).unwrap_err().to_string().contains("nobody listens"));
        std::fs::remove_file(&path).unwrap();
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(socket(&path).is_ok());
    }
}
