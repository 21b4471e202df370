//! MariaDB and MySQL: how many connections they take, by their command line and their option files (mariadb.com/kb/en/configuring-mariadb-
//! with-option-files).

use std::path::{Path, PathBuf};

use genkai_model::limit::Origin;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;

use super::Started;
use super::database::{Database, Refusals};
use super::known::{Caps, Known, Part};
use crate::files::ConfigError;
use crate::files::entry::{Entries, Entry, Line, Syntax};
use crate::product::Served;
use crate::settings::SourcedValue;

const SOURCE: &str = "mariadb.com/kb/en/server-system-variables/#max_connections";
const SETTING: &str = "max_connections";
const DEFAULT: u64 = 151;
/// What they take instead of less (MariaDB sql/sys_vars.cc: `VALID_RANGE(10, 100000)`; MySQL's begins at 1), and of more.
const RANGE: (u64, u64) = (10, 100_000);
/// What it says where it refuses one more, with log_warnings 2 or more, as by default (MariaDB sql/sql_connect.cc, sql/sql_class.cc).
const REFUSED: &[&str] = &["user: 'unauthenticated' host: 'connecting host' (Too many connections)"];
/// What its number of connections is: another may be in force since, which only one who may ask it is told.
const BEGAN: &str = "that is as it was started: what SET GLOBAL or SET PERSIST made of it is not seen";
/// Groups of option files that a server reads, those with a version in their name left out.
const GROUPS: [&str; 4] = ["mysqld", "server", "mariadb", "mariadbd"];
/// Where they look when nothing else is said.
const FILES: [&str; 2] = ["/etc/my.cnf", "/etc/mysql/my.cnf"];

/// Process `pid` as a server of MariaDB's or MySQL's.
pub(super) fn serves(pid: u32, at: &Endpoint, _: &Machine, _: u64) -> Option<Result<Box<dyn Served>, String>> {
    let started = Started::of(pid);
    let product = match started.program.as_str() {
        "mariadbd" => "MariaDB",
        "mysqld" => "MySQL",
        _ => return None,
    };
    // Its error log is where its messages of errors go: `log_error` leads them there.
    Some(of(&started, product, at).map(|known| Database::of(known, at, refusals(&started, product))))
}

fn of(started: &Started, product: &'static str, at: &Endpoint) -> Result<Known, String> {
    let written = written(started)?;
    let range = if product == "MariaDB" { RANGE.0 } else { 1 };
    let value = written.value.clamp(range, RANGE.1);
    let made = if value == written.value { String::new() } else { format!("{product} takes {value} instead; ") };
    let made = made + BEGAN;
    let held = SourcedValue { value, ..written };
    Ok(Known {
        product,
        told: product.to_owned(),
        parts: vec![Part { setting: SETTING, held, caps: Caps::Sessions, made, source: SOURCE }],
        keeps: true,
        threads: None,
        socket: at.socket(),
        cost: None,
        says: &[],
        says_of: None,
    })
}

/// What its log tells of refusals: every one where it is MariaDB, and nobody asked for fewer messages. (MySQL counts them, and tells none.)
fn refusals(started: &Started, product: &str) -> Refusals {
    let Some(log) = started.errors() else { return Refusals::Untold };
    let fewer = started.value(&["--log_warnings", "--log-warnings"]).is_some() || {
        let all = files(started).into_iter().filter(|path| path.exists());
        let read = all.map(|path| Entries::read(&path, &Options));
        // A file that cannot be read may ask for that, too.
        read.into_iter()
            .any(|config| config.map_or(true, |config| config.all().iter().any(|e| e.name == "log_warnings")))
    };
    Refusals::Logged { log, says: REFUSED, each: product == "MariaDB" && !fewer }
}

/// The number of connections as it is written.
fn written(started: &Started) -> Result<SourcedValue<u64>, String> {
    let no = |text: &str, place: &str| format!("{SETTING} is `{text}` ({place})");
    if let Some(text) = started.value(&["--max_connections", "--max-connections"]) {
        let value = number(text).ok_or_else(|| no(text, "command line"))?;
        return Ok(SourcedValue { value, written: text.to_owned(), origin: started.given() });
    }
    for path in files(started).iter().rev().filter(|path| path.exists()) {
        let config = Entries::read(path, &Options).map_err(|e: ConfigError| e.to_string())?;
        started.has_read(config.paths())?;
        let named = |entry: &&Entry| entry.name == SETTING;
        if let Some(entry) = config.all().iter().filter(named).find(|entry| versioned(&entry.section)) {
            return Err(format!("{SETTING} at {} is of some versions only", config.place(entry)));
        }
        let ours = config.all().iter().rev().filter(named).find(|entry| GROUPS.contains(&entry.section.as_str()));
        if let Some(entry) = ours {
            let text = entry.value();
            let value = number(&text).ok_or_else(|| no(&text, &config.place(entry)))?;
            return Ok(SourcedValue { value, written: text, origin: config.origin(entry) });
        }
    }
    Ok(SourcedValue::plain(DEFAULT, Origin::Default(SOURCE.to_owned())))
}

/// Whether a group counts for servers of some versions only: `mariadb-10.11`.
fn versioned(group: &str) -> bool {
    let version = GROUPS.iter().find_map(|name| group.strip_prefix(name)?.strip_prefix('-'));
    version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

/// Option files, those that count more later.
fn files(started: &Started) -> Vec<PathBuf> {
    if started.words.iter().any(|word| word == "--no-defaults") {
        return Vec::new();
    }
    if let Some(one) = started.value(&["--defaults-file"]) {
        return vec![started.path(one)];
    }
    let extra = started.value(&["--defaults-extra-file"]).map(|path| started.path(path));
    FILES.iter().map(PathBuf::from).chain(extra).collect()
}

/// A number with its unit (my_getopt.c: `eval_num_suffix`).
fn number(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last()?.to_ascii_lowercase() {
        b'k' => (&text[..text.len() - 1], 1 << 10),
        b'm' => (&text[..text.len() - 1], 1 << 20),
        b'g' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// Option files: `[group]`, `name = value` with `-` for `_`, `!include FILE`, `!includedir FOLDER` (mysys/my_default.c).
struct Options;

impl Syntax for Options {
    fn line(&self, line: &[u8]) -> Result<Line, &'static str> {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.is_empty() || text.starts_with(['#', ';']) {
            return Ok(Line::Nothing);
        }
        if let Some(rest) = text.strip_prefix('[') {
            let (name, _) = rest.split_once(']').ok_or("a group is never closed; add the ]")?;
            return Ok(Line::Section(name.trim().to_owned()));
        }
        if let Some((name, path)) = text.strip_prefix('!').and_then(|rest| rest.split_once(char::is_whitespace)) {
            return Ok(Line::Entry(format!("!{name}"), vec![path.trim().to_owned()]));
        }
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        // A comment may stand behind a value.
        let value = value.split(" #").next().unwrap_or_default().trim();
        let value = value.trim_matches(['"', '\'']);
        Ok(Line::Entry(name.trim().replace('-', "_").to_lowercase(), vec![value.to_owned()]))
    }

    fn may_miss(&self) -> bool {
        true
    }

    fn include(&self, entry: &Entry) -> Option<PathBuf> {
        let path = entry.value();
        match entry.name.as_str() {
            "!include" => Some(path.into()),
            "!includedir" => Some(Path::new(&path).join("*.cnf")),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_group_of_a_server_counts_and_the_command_line_more() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("conf.d")).unwrap();
        let main = dir.path().join("my.cnf");
        let text = format!(
            "[client]\nmax-connections = 7\n[mysqld]\nmax-connections = 40 # few\n!includedir {}/conf.d/\n!include {0}/gone.cnf\n",
            dir.path().display()
        );
        std::fs::write(&main, text).unwrap();
        let more = dir.path().join("conf.d/50.cnf");
        let started = |words: &str| Started::of_line(&format!("mariadbd --defaults-file={} {words}", main.display()));
        let read = |words: &str| written(&started(words)).map(|held| (held.value, held.origin));
        assert_eq!(read("").unwrap(), (40, Origin::File { path: main.clone(), line: 4 }));
        std::fs::write(&more, "[mariadb]\nMAX_CONNECTIONS=\"1K\"\n").unwrap();
        assert_eq!(read("").unwrap(), (1024, Origin::File { path: more.clone(), line: 2 }));
        assert_eq!(read("--max-connections=9").unwrap().0, 9);
        std::fs::write(&more, "[mariadb-10.11]\nmax_connections = 5\n").unwrap();
        assert!(read("").unwrap_err().ends_with("conf.d/50.cnf:2 is of some versions only"));
        let plain = written(&Started::of_line("mariadbd --no-defaults")).unwrap();
        assert_eq!((plain.value, matches!(plain.origin, Origin::Default(_))), (151, true));
    }

    #[test]
    fn fewer_than_ten_are_ten_for_mariadb() {
        let at = Endpoint::parse("127.0.0.1:3306").unwrap();
        let known = |product| of(&Started::of_line("x --no-defaults --max_connections=3"), product, &at).unwrap();
        let part = known("MariaDB").parts.remove(0);
        assert_eq!((part.held.value, part.made.as_str()), (10, &*format!("MariaDB takes 10 instead; {BEGAN}")));
        assert_eq!(known("MySQL").parts[0].held.value, 3);
    }
}
