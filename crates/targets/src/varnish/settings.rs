//! What can be set, by Varnish's own words: parameters (`-p`), where objects are (`-s`), and how many connections a backend of the VCL takes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use genkai_model::limit::Origin;

use super::removable;
use super::vcl::{CAP, Vcl};
use crate::cache::run;
use crate::error::TargetError;
use crate::files::{Configuration, Edit, Pair, Removable, Requests, diff};

/// The setting that is `-s`; all others are parameters.
const STORAGE: &str = "storage";
/// Its default (varnishd(1): `-s default`, which is malloc with 100 MB).
const DEFAULT_STORAGE: &str = "malloc,100m";
/// Where a parameter's default comes from.
const SOURCE: &str = "varnishd -x parameter";

/// `thread_pools` (default 2) and `thread_pool_max` (default 5000) of Varnish 7.1 (include/tbl/params.h).
pub(super) const THREADS: (u32, u32) = (2, 5000);

/// A VCL with settings, which are in no file.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The files.
    pub(super) vcl: Vcl,
    /// Settings given.
    given: BTreeMap<String, String>,
    /// Every parameter that it knows with its default.
    parameters: BTreeMap<String, String>,
}

impl Config {
    /// Reads the VCL, and asks the program for its parameters.
    ///
    /// # Errors
    /// A file that cannot be read, or a program that cannot be asked.
    pub(super) fn read(main: &Path, program: &Path) -> Result<Config, TargetError> {
        Ok(Config { vcl: Vcl::read(main)?, given: BTreeMap::new(), parameters: parameters(program)? })
    }

    /// The connections that a backend takes, of a setting `backend.NAME.max_connections`; none: it is no such setting, or there is none there.
    fn cap(&self, setting: &str) -> Option<(String, Origin)> {
        let name = capped(setting)?;
        let (_, file, backend) = self.vcl.backends().find(|(_, _, one)| one.name == name)?;
        let attribute = backend.attributes.iter().find(|one| one.name == CAP)?;
        let origin = Origin::File { path: file.path.clone(), line: file.line(attribute.span.start) };
        Some((attribute.value.clone(), origin))
    }

    /// Arguments of varnishd that make the settings.
    pub(super) fn arguments(&self) -> Vec<String> {
        let one = |(name, value): (&String, &String)| match name.as_str() {
            STORAGE => ["-s".to_owned(), value.clone()],
            _ => ["-p".to_owned(), format!("{name}={value}")],
        };
        // Each is checked as it is set, against the others: a most below the least is refused.
        let (least, others): (Vec<_>, Vec<_>) = self.given.iter().partition(|(name, _)| name.ends_with("_min"));
        least.into_iter().chain(others).flat_map(one).collect()
    }
}

impl Configuration for Config {
    fn set(&self, name: &str, value: &str, requests: &Requests) -> Result<Config, TargetError> {
        self.value_of(name, requests)?;
        if name == STORAGE && !is_storage(value) {
            let hint = "malloc,SIZE; varnish-file among the contenders keeps objects in a file";
            return Err(TargetError::usage("Varnish", format!("storage `{value}` is not in memory\n  hint: {hint}")));
        }
        if let Some(backend) = capped(name) {
            if value.parse::<u32>().ok().filter(|most| *most > 0).is_none() {
                let what = format!("`{name} {value}` is not valid: it takes a number, at least 1");
                return Err(TargetError::usage("Varnish", what));
            }
            let vcl = self.vcl.with_cap(backend, value).unwrap_or_else(|| self.vcl.clone());
            return Ok(Config { vcl, ..self.clone() });
        }
        let mut set = self.clone();
        set.given.insert(name.to_owned(), value.to_owned());
        Ok(set)
    }

    fn value_of(&self, name: &str, _: &Requests) -> Result<(String, Origin), TargetError> {
        if let Some(value) = self.given.get(name) {
            return Ok((value.clone(), Origin::Given));
        }
        if let Some(cap) = self.cap(name) {
            return Ok(cap);
        }
        let default = || Origin::Default(SOURCE.to_owned());
        match self.parameters.get(name) {
            _ if name == STORAGE => Ok((DEFAULT_STORAGE.to_owned(), default())),
            Some(value) => Ok((value.clone(), default())),
            None => {
                let hint = "`storage`, `backend.NAME.max_connections` of a backend that has it, or a parameter of varnishd (varnishd -x \
                            parameter lists them)";
                Err(TargetError::usage("Varnish", format!("Varnish has no parameter `{name}`\n  hint: {hint}")))
            }
        }
    }

    fn removable(&self, _: &Requests) -> Vec<Removable> {
        removable::all(&self.vcl)
    }

    fn path_of(&self, of: &Removable) -> PathBuf {
        self.vcl.files().find(|(id, _)| *id == of.file).map(|(_, file)| file.path.clone()).unwrap_or_default()
    }

    fn without(&self, edits: &[Edit]) -> Result<Config, TargetError> {
        let overlap = || {
            TargetError::usage(
                "Varnish",
                "some of these are within others, and can be left out only one after the other",
            )
        };
        Ok(Config { vcl: self.vcl.edited(edits).ok_or_else(overlap)?, ..self.clone() })
    }

    fn is_same(one: &str, other: &str) -> bool {
        one == other
    }

    fn pairs<'a>(&'a self, edited: &'a Config) -> impl Iterator<Item = Pair<'a>> {
        self.vcl.pairs(&edited.vcl)
    }

    /// Of the files and of the arguments.
    fn diff(&self, edited: &Config) -> String {
        let was = |name: &String| self.value_of(name, &Requests::default()).map(|(value, _)| value).unwrap_or_default();
        let changed = edited.given.iter().filter(|(name, value)| self.given.get(*name) != Some(value));
        let arguments =
            changed.map(|(name, to)| format!("-varnishd -p {name}={}\n+varnishd -p {name}={to}\n", was(name)));
        diff(self.pairs(edited)) + &arguments.collect::<String>()
    }
}

/// The backend whose connections a setting is.
fn capped(setting: &str) -> Option<&str> {
    setting.strip_prefix("backend.")?.strip_suffix(CAP)?.strip_suffix('.')
}

/// Whether a storage is in memory: others write where the user says.
fn is_storage(value: &str) -> bool {
    ["malloc,", "default,"].iter().any(|kind| value.starts_with(kind)) || ["malloc", "default"].contains(&value)
}

/// Every parameter of the program with its default, as it prints them (`varnishd -x parameter`).
///
/// # Errors
/// When it cannot be asked.
fn parameters(program: &Path) -> Result<BTreeMap<String, String>, TargetError> {
    let dir = tempfile::tempdir().map_err(TargetError::files(std::env::temp_dir()))?;
    let mut command = Command::new(program);
    command.args(["-x", "parameter"]);
    Ok(read(&run(command, &dir.path().join("parameters.txt"), None)?.1))
}

/// Reads what it prints: a name, its underline, and a line `* Default: 5000`.
fn read(printed: &str) -> BTreeMap<String, String> {
    let (mut all, mut name, mut before) = (BTreeMap::new(), "", "");
    for line in printed.lines() {
        if line.starts_with('~') {
            name = before;
        }
        if let Some(value) = line.trim().strip_prefix("* Default: ").filter(|_| !name.is_empty()) {
            let value = value.split(" (").next().unwrap_or(value);
            all.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
        before = line.trim();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_they_are_printed() {
        let printed = "\n.. _ref_param_a:\n\naccept_filter\n~~~~~~~~~~~~~\n\n\t* Units: bool\n\t* Default: on (if it can)\n\nb\n~\n\t* Default: 5000\n";
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(read(printed).into_iter().collect::<Vec<_>>(), [pair("accept_filter", "on"), pair("b", "5000")]);
    }

    #[test]
    fn the_connections_of_a_backend_are_changed_in_its_file_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("default.vcl");
        let text = "vcl 4.1;\nbackend a { .host = \"h\"; .max_connections = 7; }\nbackend b { .host = \"h\"; }\n";
        std::fs::write(&main, text).unwrap();
        let config = Config { vcl: Vcl::read(&main).unwrap(), given: BTreeMap::new(), parameters: BTreeMap::new() };
        let (all, setting) = (Requests::default(), "backend.a.max_connections");
        let set = config.set(setting, "20", &all).unwrap();
        assert_eq!(set.value_of(setting, &all).unwrap().0, "20");
        let after: Vec<_> = config.pairs(&set).map(|pair| String::from_utf8_lossy(pair.after).into_owned()).collect();
        assert_eq!(after, [text.replace("= 7", "= 20")]);
        assert!(config.diff(&set).contains("+backend a { .host = \"h\"; .max_connections = 20; }"));
        let refused = [("backend.b.max_connections", "20"), ("backend.c.max_connections", "20"), (setting, "0")];
        assert!(refused.iter().all(|(name, value)| config.set(name, value, &all).is_err()));
    }

    #[test]
    fn parameters_and_storage_are_arguments() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("default.vcl");
        std::fs::write(&main, "vcl 4.1;\n").unwrap();
        let (vcl, parameters) = (
            Vcl::read(&main).unwrap(),
            ["a", "thread_pool_max", "thread_pool_min"].map(|name| (name.to_owned(), "1".to_owned())),
        );
        let parameters = BTreeMap::from(parameters);
        let config = Config { vcl, given: BTreeMap::new(), parameters };
        let set = config
            .set("storage", "malloc,1m", &Requests::default())
            .and_then(|config| config.set("a", "2", &Requests::default()))
            .unwrap();
        assert_eq!(set.arguments(), ["-p", "a=2", "-s", "malloc,1m"]);
        let threads = set.set("thread_pool_max", "20", &Requests::default());
        let threads = threads.and_then(|config| config.set("thread_pool_min", "5", &Requests::default())).unwrap();
        assert_eq!(threads.arguments()[..2], ["-p", "thread_pool_min=5"], "the least first");
        let changed =
            "-varnishd -p a=1\n+varnishd -p a=2\n-varnishd -p storage=malloc,100m\n+varnishd -p storage=malloc,1m\n";
        assert_eq!(config.diff(&set), changed);
        assert!(is_storage("malloc,1m") && !is_storage("file,/etc/x,1g"));
    }
}
