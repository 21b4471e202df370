//! PgBouncer: how many clients it takes, and how many connections a pool of its has, by its file (pgbouncer.org/config.html).

use std::path::PathBuf;

use genkai_model::limit::Origin;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;

use super::Started;
use super::database::{Database, Refusals};
use super::known::{Caps, Known, Part};
use crate::files::entry::{Entries, Entry, Line, Syntax};
use crate::product::Served;
use crate::settings::SourcedValue;

const SOURCE: &str = "pgbouncer.org/config.html; src/objects.c: find_server, src/client.c";
/// What it says when it takes no more (src/client.c).
const REFUSED: &[&str] = &["no more connections allowed"];

/// Process `pid` as PgBouncer.
pub(super) fn serves(pid: u32, at: &Endpoint, _: &Machine, _: u64) -> Option<Result<Box<dyn Served>, String>> {
    let started = Started::of(pid);
    if started.program != "pgbouncer" {
        return None;
    }
    Some(of(&started, at).map(|(known, refusals)| Database::of(known, at, refusals)))
}

/// It, and what its log tells of refusals: every one, unless nobody wants to read of clients that went.
fn of(started: &Started, at: &Endpoint) -> Result<(Known, Refusals), String> {
    let file = started.words.iter().skip(1).rfind(|word| !word.starts_with('-') && word.ends_with(".ini"));
    let path = file.map(|word| started.path(word)).ok_or("its command line names no file that ends with .ini")?;
    let config = Entries::read(&path, &Ini).map_err(|e| e.to_string())?;
    started.has_read(config.paths())?;
    let mut parts = vec![part(&config, "max_client_conn", 100, Caps::Sessions)?];
    if !has_own_pools(&config) {
        parts.push(part(&config, "default_pool_size", 20, Caps::Pool)?);
    }
    let own = config.value_in("pgbouncer", "logfile").map(|entry| started.path(&entry.value()));
    let each = config.value_in("pgbouncer", "log_disconnections").is_none_or(|entry| entry.value() != "0");
    let refusals = match own.filter(|path| path.is_file()).or_else(|| started.errors()) {
        Some(log) => Refusals::Logged { log, says: REFUSED, each },
        None => Refusals::Untold,
    };
    let (product, told) = ("PgBouncer", "PgBouncer".to_owned());
    Ok((
        Known {
            product,
            told,
            parts,
            keeps: true,
            threads: None,
            socket: at.socket(),
            cost: None,
            says: &[],
            says_of: None,
        },
        refusals,
    ))
}

/// Whether some pools have a size of their own, or get more for a while: then the size of all says nothing of one.
fn has_own_pools(config: &Entries) -> bool {
    let others = ["reserve_pool_size", "max_db_connections", "max_user_connections"];
    config.all().iter().any(|entry| match entry.section.as_str() {
        "databases" | "users" => ["pool_size", "max_"].iter().any(|name| entry.value().contains(name)),
        _ => others.contains(&entry.name.as_str()) && entry.value() != "0",
    })
}

fn part(config: &Entries, setting: &'static str, default: u64, caps: Caps) -> Result<Part, String> {
    let held = match config.value_in("pgbouncer", setting) {
        None => SourcedValue::plain(default, Origin::Default(SOURCE.to_owned())),
        Some(entry) => {
            let written = entry.value();
            let no = |_| format!("{setting} is `{written}` ({})", config.place(entry));
            SourcedValue { value: written.parse().map_err(no)?, origin: config.origin(entry), written }
        }
    };
    Ok(Part { setting, held, caps, made: String::new(), source: SOURCE })
}

/// `[section]`, `name = value`, comments that begin with `;` or `#`, `%include FILE` (libusual: cfparser.c).
struct Ini;

impl Syntax for Ini {
    fn line(&self, line: &[u8]) -> Result<Line, &'static str> {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.is_empty() || text.starts_with([';', '#']) {
            return Ok(Line::Nothing);
        }
        if let Some(path) = text.strip_prefix("%include") {
            return Ok(Line::Entry("%include".to_owned(), vec![path.trim().to_owned()]));
        }
        if let Some(name) = text.strip_prefix('[') {
            let name = name.split(']').next().unwrap_or_default();
            return Ok(Line::Section(name.trim().to_owned()));
        }
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        Ok(Line::Entry(name.trim().to_owned(), vec![value.trim().to_owned()]))
    }

    fn include(&self, entry: &Entry) -> Option<PathBuf> {
        (entry.name == "%include").then(|| PathBuf::from(entry.value()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_and_pools_are_read_from_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.ini");
        let at = Endpoint::parse("127.0.0.1:6432").unwrap();
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            of(&Started::of_line(&format!("pgbouncer -q {}", path.display())), &at).map(|(known, _)| known.parts)
        };
        let parts = read("[databases]\nx = host=127.0.0.1\n[pgbouncer]\n; max_client_conn = 7\nmax_client_conn = 40\n")
            .unwrap();
        let of = |part: &Part| (part.setting, part.held.value, part.held.origin.clone());
        assert_eq!(of(&parts[0]), ("max_client_conn", 40, Origin::File { path: path.clone(), line: 5 }));
        assert_eq!((parts[1].setting, parts[1].held.value), ("default_pool_size", 20));
        assert_eq!(read("[databases]\nx = host=h pool_size=3\n[pgbouncer]\n").unwrap().len(), 1);
        assert_eq!(read("[pgbouncer]\nreserve_pool_size = 5\n").unwrap().len(), 1);
        assert!(read("[pgbouncer]\nmax_client_conn = x\n").unwrap_err().contains("p.ini:2)"));
    }
}
