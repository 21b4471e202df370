//! A Redis that somebody else started: how many clients it takes, as it tells itself, and where that is written. Nothing is changed.

use genkai_model::limit::Origin;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;

use super::info::{field, told_by};
use super::limits::number;
use super::{config, refusals};
use crate::product::Served;
use crate::settings::SourcedValue;
use crate::upstreams::{Caps, Database, Known, Part, Started};

/// Clients at once.
pub(super) const SETTING: &str = "maxclients";
/// Where that is written down.
pub(super) const SOURCE: &str = "redis.io/docs/latest/develop/reference/clients; src/networking.c: acceptCommonHandler";

/// Process `pid` as a Redis.
pub(super) fn serves(pid: u32, at: &Endpoint, _: &Machine, _: u64) -> Option<Result<Box<dyn Served>, String>> {
    if !is_redis(pid) {
        return None;
    }
    Some(clients(at).map(|held| {
        let refusals = refusals::counted(at, held.value);
        Database::of(known(held, at), at, refusals)
    }))
}

/// Whether process `pid` is one.
pub(super) fn is_redis(pid: u32) -> bool {
    // Of some distributions all its programs are one file.
    ["redis-server", "redis-check-rdb", "redis-check-aof"].contains(&Started::of(pid).program.as_str())
}

fn known(held: SourcedValue<u64>, at: &Endpoint) -> Known {
    let part = Part { setting: SETTING, held, caps: Caps::Sessions, made: String::new(), source: SOURCE };
    let told = super::CALLED.to_owned();
    Known {
        product: super::CALLED,
        told,
        parts: vec![part],
        keeps: true,
        threads: None,
        socket: at.socket(),
        cost: None,
        says: &[],
        says_of: None,
    }
}

/// The number in force: its title hides how it was started, so it is asked.
fn clients(at: &Endpoint) -> Result<SourcedValue<u64>, String> {
    let told = told_by(at, &["server", "clients"])?;
    let text = field(&told, SETTING).ok_or("it does not tell its maxclients (INFO clients)")?;
    let value = number(text).ok_or_else(|| format!("its maxclients is `{text}` (INFO clients)"))?;
    Ok(placed(value, text, field(&told, "config_file").unwrap_or_default()))
}

/// The value with the line of `file` that says so; where none does, as it tells.
fn placed(value: u64, text: &str, file: &str) -> SourcedValue<u64> {
    let config = Some(file).filter(|file| file.starts_with('/')).and_then(|file| config::read(file.as_ref()).ok());
    let written = config.as_ref().and_then(|config| Some((config, config.last(SETTING)?)));
    let same = written.filter(|(_, entry)| number(&entry.value()) == Some(value));
    let origin = match same {
        Some((config, entry)) => config.origin(entry),
        None => Origin::Machine("as it tells: INFO clients".to_owned()),
    };
    SourcedValue { value, written: text.to_owned(), origin }
}

#[cfg(test)]
mod tests {
    use socket2::{Domain, SockAddr, Socket, Type};

    use super::*;
    use crate::redis::info::connected;

    #[test]
    fn a_queue_that_is_full_is_an_error_and_no_wait_without_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("redis.sock");
        let listener = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        let address = SockAddr::unix(&path).unwrap();
        listener.bind(&address).unwrap();
        listener.listen(1).unwrap();
        let waiting = || {
            let socket = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
            socket.set_nonblocking(true).unwrap();
            socket.connect(&address).map(|()| socket)
        };
        let taken: Vec<Socket> = std::iter::from_fn(|| waiting().ok()).take(16).collect();
        assert!(taken.len() < 16, "nobody accepts, and the queue has an end");
        assert!(connected(&path).is_err());
        assert!(clients(&Endpoint::Unix(path)).unwrap_err().contains("it cannot be asked"));
    }

    #[test]
    fn a_line_counts_where_it_says_what_is_in_force() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("redis.conf");
        std::fs::write(&path, "port 0\nmaxclients 40\n").unwrap();
        let place = |value: u64| placed(value, &value.to_string(), &path.display().to_string()).origin;
        assert_eq!(place(40), Origin::File { path: path.clone(), line: 2 });
        assert!(matches!(place(8), Origin::Machine(_)), "lowered by descriptors, or by CONFIG SET");
        assert_eq!(field("# Clients\r\nmaxclients:7\r\n", SETTING), Some("7"));
    }
}
