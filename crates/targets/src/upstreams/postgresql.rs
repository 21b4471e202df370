//! PostgreSQL: how many connections it takes, by its command line and its files (postgresql.org/docs: "Setting Parameters").

use std::path::{Path, PathBuf};

use genkai_model::limit::Origin;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;

use super::Started;
use super::database::{Database, Refusals};
use super::known::{Caps, Known, Part};
use crate::files::entry::{Entries, Entry, Line, Syntax};
use crate::product::Served;
use crate::settings::SourcedValue;

const SOURCE: &str =
    "postgresql.org/docs/current/runtime-config-connection.html; src/backend/utils/init/postinit.c: InitPostgres";
const SETTING: &str = "max_connections";
/// Settings, their flag of one letter, and the value where nobody says anything (src/backend/utils/misc/guc_tables.c).
const MOST: (&str, &str, u64) = (SETTING, "-N", 100);
const RESERVED: [(&str, &str, u64); 2] = [("superuser_reserved_connections", "", 3), ("reserved_connections", "", 0)];
/// What it says when it takes no more (proc.c: InitProcess; postinit.c).
const REFUSED: &[&str] = &["sorry, too many clients already", "remaining connection slots are reserved"];

/// Process `pid` as the first of PostgreSQL's.
pub(super) fn serves(pid: u32, at: &Endpoint, _: &Machine, _: u64) -> Option<Result<Box<dyn Served>, String>> {
    let started = Started::of(pid);
    if !["postgres", "postmaster"].contains(&started.program.as_str()) {
        return None;
    }
    Some(of(&started, at).map(|known| Database::of(known, at, refusals(&started))))
}

/// What its log tells of refusals: every one, where messages go to it and not elsewhere only, and not only of panics.
fn refusals(started: &Started) -> Refusals {
    let Some(log) = started.errors() else { return Refusals::Untold };
    let text = |files: &Files, name: &str| given(started, name).or_else(|| files.text(name));
    let each = Files::of(started).is_ok_and(|files| {
        text(&files, "log_destination").is_none_or(|to| to.to_lowercase().contains("stderr"))
            && text(&files, "log_min_messages").is_none_or(|least| !least.eq_ignore_ascii_case("panic"))
    });
    Refusals::Logged { log, says: REFUSED, each }
}

fn of(started: &Started, at: &Endpoint) -> Result<Known, String> {
    let files = Files::of(started)?;
    let most = files.value(started, MOST)?;
    let reserved: Result<Vec<_>, String> = RESERVED.iter().map(|one| files.value(started, *one)).collect();
    let reserved: u64 = reserved?.iter().map(|held| held.value).sum();
    let value = most.value.saturating_sub(reserved);
    let made = match reserved {
        0 => String::new(),
        _ => format!("{} less {reserved} that it keeps for superusers and reserved roles = {value}", most.value),
    };
    Ok(Known {
        product: "PostgreSQL",
        told: "PostgreSQL".to_owned(),
        parts: vec![Part {
            setting: SETTING,
            held: SourcedValue { value, ..most },
            caps: Caps::Sessions,
            made,
            source: SOURCE,
        }],
        keeps: true,
        threads: None,
        socket: at.socket(),
        cost: None,
        says: &[],
        says_of: None,
    })
}

/// Its files: the last of them counts.
struct Files(Vec<Entries>);

impl Files {
    fn of(started: &Started) -> Result<Files, String> {
        let folder = started.value(&["-D"]).map(str::to_owned).or_else(|| started.variable("PGDATA"));
        let main = given(started, "config_file").map(|text| started.path(&text));
        let main = main.or_else(|| Some(started.path(folder.as_ref()?).join("postgresql.conf")));
        let main = main.ok_or("its command line names no folder of data (-D)")?;
        let main = Entries::read(&main, &Conf::of(&main)).map_err(|e| e.to_string())?;
        let data = main.last("data_directory").map(Entry::value).or(folder);
        // ALTER SYSTEM writes there.
        let auto = data.map(|data| started.path(&data).join("postgresql.auto.conf")).filter(|path| path.exists());
        let auto = auto.map(|path| Entries::read(&path, &Conf::of(&path))).transpose().map_err(|e| e.to_string())?;
        Ok(Files([main].into_iter().chain(auto).collect()))
    }

    /// What they say of a setting, as it is written.
    fn text(&self, name: &str) -> Option<String> {
        self.0.iter().rev().find_map(|file| file.last(name)).map(Entry::value)
    }

    /// A number in force.
    fn value(&self, started: &Started, (name, flag, default): (&str, &str, u64)) -> Result<SourcedValue<u64>, String> {
        let no = |text: &str, place: &str| format!("{name} is `{text}` ({place})");
        let short = started.value(&[flag]).filter(|_| !flag.is_empty()).map(str::to_owned);
        if let Some(text) = given(started, name).or(short) {
            let value = text.parse().map_err(|_| no(&text, "command line"))?;
            return Ok(SourcedValue { value, written: text, origin: started.given() });
        }
        started.has_read(self.0.iter().flat_map(Entries::paths))?;
        let found = self.0.iter().rev().find_map(|file| Some((file, file.last(name)?)));
        let Some((file, entry)) = found else {
            return Ok(SourcedValue::plain(default, Origin::Default(SOURCE.to_owned())));
        };
        let written = entry.value();
        let value = written.parse().map_err(|_| no(&written, &file.place(entry)))?;
        Ok(SourcedValue { value, written, origin: file.origin(entry) })
    }
}

/// The last `-c NAME=VALUE` or `--NAME=VALUE` (`-` for `_`) of its command line.
fn given(started: &Started, name: &str) -> Option<String> {
    let named = |word: &str| {
        let (its, value) = word.split_once('=')?;
        (its.replace('-', "_") == name).then(|| value.to_owned())
    };
    let of = |(n, word): (usize, &String)| match word.strip_prefix("-c").or_else(|| word.strip_prefix("--")) {
        Some("") => named(started.words.get(n + 1)?),
        Some(rest) => named(rest),
        None => None,
    };
    started.words.iter().enumerate().filter_map(of).next_back()
}

/// `name = value` or `name value`, `#` comments, values in quotes, `include`, `include_if_exists`, `include_dir` (guc-file.l).
struct Conf {
    folder: PathBuf,
}

impl Conf {
    /// Of the file at `path`: names of files that are not absolute are beside it.
    fn of(path: &Path) -> Conf {
        Conf { folder: path.parent().map(Path::to_owned).unwrap_or_default() }
    }
}

impl Syntax for Conf {
    fn line(&self, line: &[u8]) -> Result<Line, &'static str> {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        let end = text.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        if name.is_empty() || name.starts_with('#') {
            return Ok(Line::Nothing);
        }
        let rest = rest.trim_start();
        let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
        let value = match rest.strip_prefix('\'') {
            Some(quoted) => quoted.split('\'').next(),
            None => rest.split(|c: char| c == '#' || c.is_whitespace()).next(),
        };
        Ok(Line::Entry(name.to_lowercase(), vec![value.unwrap_or_default().to_owned()]))
    }

    fn include(&self, entry: &Entry) -> Option<PathBuf> {
        let path = self.folder.join(entry.value());
        match entry.name.as_str() {
            "include" => Some(path),
            "include_if_exists" => path.exists().then_some(path),
            "include_dir" => Some(path.join("*.conf")),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_file_counts_and_the_command_line_more() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("postgresql.conf");
        std::fs::create_dir(dir.path().join("conf.d")).unwrap();
        std::fs::write(&main, "# max_connections = 7\nmax_connections = 40\t# few\nport '5'\ninclude_dir 'conf.d'\n")
            .unwrap();
        let at = Endpoint::parse("127.0.0.1:5432").unwrap();
        let line = |words: &str| Started::of_line(&format!("postgres -D {} {words}", dir.path().display()));
        let read = |words: &str| of(&line(words), &at).map(|mut known| known.parts.remove(0));
        let held = read("").unwrap().held;
        assert_eq!((held.value, held.written.as_str()), (37, "40"));
        assert_eq!(held.origin, Origin::File { path: main.clone(), line: 2 });
        let more = dir.path().join("conf.d/a.conf");
        std::fs::write(&more, "MAX_CONNECTIONS '50'\nsuperuser_reserved_connections = 0\n").unwrap();
        let part = read("").unwrap();
        assert_eq!((part.held.value, part.made.as_str()), (50, ""));
        assert_eq!(part.held.origin, Origin::File { path: more, line: 1 });
        let auto = dir.path().join("postgresql.auto.conf");
        std::fs::write(&auto, "# by hand\nmax_connections = '60'\n").unwrap();
        assert_eq!(read("").unwrap().held.origin, Origin::File { path: auto.clone(), line: 2 });
        for words in ["-N 9", "-N9", "-c max_connections=9", "--max-connections=9", "-c port=1 -cmax_connections=9"] {
            let held = read(words).unwrap().held;
            assert_eq!((held.value, matches!(held.origin, Origin::Machine(_))), (9, true), "{words}");
        }
        std::fs::write(&auto, "max_connections = many\n").unwrap();
        assert!(read("").unwrap_err().ends_with("postgresql.auto.conf:1)"));
        std::fs::remove_file(&auto).unwrap();
        std::fs::write(&main, "").unwrap();
        let plain = read("").unwrap().held;
        assert_eq!((plain.value, matches!(plain.origin, Origin::Default(_))), (97, true));
        assert!(of(&Started::of_line("postgres"), &at).unwrap_err().contains("no folder of data"));
        let older = |words: &str| line(words).began(std::time::UNIX_EPOCH);
        assert!(of(&older(""), &at).unwrap_err().contains("postgresql.conf has a date after it began"));
        let given = "-N 9 -c superuser_reserved_connections=1 -c reserved_connections=0";
        assert_eq!(of(&older(given), &at).unwrap().parts[0].held.value, 8, "its command line is what it was");
    }
}
