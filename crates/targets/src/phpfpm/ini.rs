//! PHP's own settings as a php-fpm has them without its pools: asked of the program itself (`php-fpm -i`), and found in the files that it says it has
//! read (php.ini, and those of the folders that it scans), where they have a line.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use genkai_model::limit::Origin;
use genkai_place::scratch::Scratch;

use super::given::Given;
use crate::product::tested;
use crate::settings::SourcedValue;
use crate::upstreams::Started;

/// Variables by which php finds its files (main/php_ini.c: php_init_config).
const VARIABLES: [&str; 2] = ["PHPRC", "PHP_INI_SCAN_DIR"];

/// Those of process `pid`.
pub(super) fn variables(pid: u32) -> Vec<(&'static str, String)> {
    let started = Started::of(pid);
    VARIABLES.into_iter().filter_map(|name| Some((name, started.variable(name)?))).collect()
}

/// A command with these, and no others of their names.
pub(super) fn given(command: &mut Command, variables: &[(&'static str, String)]) {
    for name in VARIABLES {
        command.env_remove(name);
    }
    command.envs(variables.iter().map(|(name, value)| (name, value)));
}

/// What it said.
#[derive(Clone, Debug, Default)]
pub(super) struct Ini {
    /// Each directive's value.
    told: BTreeMap<String, String>,
    /// Its files, in the order in which they were read: the last one counts.
    files: Vec<PathBuf>,
    /// How it was asked.
    asked: String,
}

impl Ini {
    /// Of this program, with the variables and the words that decide which files it reads, and what it has besides. Nothing where it does not answer.
    pub(super) fn asked(program: &Path, variables: &[(&'static str, String)], words: &Given) -> Ini {
        let mut command = Command::new(program);
        given(command.args(&words.words).arg("-i"), variables);
        let name = program.file_name().map_or_else(|| "php-fpm".to_owned(), |name| name.to_string_lossy().into_owned());
        let with = if words.words.is_empty() { String::new() } else { format!(" with the words of {}", words.place) };
        let asked = format!("{name} -i{with}");
        let said = Scratch::short("genkai-php-").ok().and_then(|dir| tested(command, &asked, dir.path()).ok());
        Ini { asked, ..said.map(|said| Ini::of(&said.text)).unwrap_or_default() }
    }

    /// Of its text: `name => local value => master value`, a line each, and lists of files that go on in further lines.
    pub(super) fn of(text: &str) -> Ini {
        let mut ini = Ini::default();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some((name, value)) = line.split_once(" => ") else { continue };
            match name {
                "Loaded Configuration File" => ini.files.extend(file(value)),
                "Additional .ini files parsed" => {
                    let mut list = value.to_owned();
                    while list.trim_end().ends_with(',') {
                        list.push_str(lines.next().unwrap_or_default());
                    }
                    ini.files.extend(list.split(',').filter_map(file));
                }
                // Of the two the second is that of the files.
                _ if value.contains(" => ") => {
                    let master = value.rsplit(" => ").next().unwrap_or_default();
                    ini.told.insert(name.to_owned(), master.to_owned());
                }
                _ => {}
            }
        }
        ini
    }

    /// A directive's value, with its line where that says the same.
    pub(super) fn value<T>(&self, name: &str, read: impl Fn(&str) -> Option<T>) -> Option<SourcedValue<T>> {
        let written = self.told.get(name)?.clone();
        let line = self.files.iter().rev().find_map(|path| last(path, name));
        let origin = match line {
            Some((line, text)) if text == written => line,
            _ => Origin::Machine(self.asked.clone()),
        };
        Some(SourcedValue { value: read(&written)?, written, origin })
    }

    /// How it was asked.
    pub(super) fn how(&self) -> &str {
        &self.asked
    }

    /// Its files.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(PathBuf::as_path)
    }
}

fn file(text: &str) -> Option<PathBuf> {
    Some(PathBuf::from(text.trim())).filter(|path| path.is_absolute())
}

/// The last line of a file that sets a directive for all scripts, with its value: not those below `[PATH=...]` or `[HOST=...]`, which are for some
/// only (main/php_ini.c).
fn last(path: &Path, name: &str) -> Option<(Origin, String)> {
    let text = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&text);
    let (mut found, mut special) = (None, false);
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[') {
            let section = section.to_uppercase();
            special = section.starts_with("PATH") || section.starts_with("HOST");
        }
        let Some((_, value)) = line.split_once('=').filter(|(key, _)| key.trim() == name && !special) else { continue };
        let value = value.split(';').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
        found = Some((Origin::File { path: path.to_owned(), line: number + 1 }, value.to_owned()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directive_is_told_with_the_line_that_counts() {
        let dir = tempfile::tempdir().unwrap();
        let (main, more) = (dir.path().join("php.ini"), dir.path().join("20-x.ini"));
        fs::write(&main, "[PHP]\n;memory_limit = 1M\nmemory_limit = 128M ; all\nmax_execution_time = 30\n[PATH=/srv]\nmax_execution_time = 5\n").unwrap();
        fs::write(&more, "memory_limit=\"64M\"\n").unwrap();
        let said = format!(
            "Loaded Configuration File => {}\nScan this dir for additional .ini files => {dir}\nAdditional .ini files parsed => {dir}/none.ini,\n{dir}/20-x.ini\n\n\
             Directive => Local Value => Master Value\nmax_execution_time => 30 => 30\nmemory_limit => 64M => 64M\nerror_log => no value => no value\nlog_errors => On => Off\n",
            main.display(),
            dir = dir.path().display()
        );
        let ini = Ini { asked: "php-fpm8.2 -i".to_owned(), ..Ini::of(&said) };
        let text = |name: &str| ini.value(name, |text| Some(text.to_owned())).unwrap();
        assert_eq!(
            (text("memory_limit").value, text("memory_limit").origin),
            ("64M".to_owned(), Origin::File { path: more.clone(), line: 1 })
        );
        assert_eq!(text("max_execution_time").origin, Origin::File { path: main, line: 4 });
        assert_eq!(text("log_errors").value, "Off");
        assert_eq!(text("error_log").origin, Origin::Machine("php-fpm8.2 -i".to_owned()));
        assert_eq!(ini.files().count(), 3);
        // Changed since: the program's word counts, and the line is not told.
        fs::write(&more, "memory_limit=32M\n").unwrap();
        assert_eq!(
            (text("memory_limit").value, text("memory_limit").origin),
            ("64M".to_owned(), Origin::Machine("php-fpm8.2 -i".to_owned()))
        );
        assert!(Ini::of("").value("memory_limit", |text| Some(text.to_owned())).is_none());
    }
}
