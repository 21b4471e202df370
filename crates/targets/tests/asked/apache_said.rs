//! What Apache says of a configuration: the directives it has read (`-D DUMP_CONFIG` of mod_info), what it would run with (`-D DUMP_RUN_CFG`)
//! and what it changes (warnings of `-t`); and of itself when it runs (mod_info, mod_status, its log). Nothing of genkai's is used.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// A directive as the server has read it.
struct Read {
    /// Number of the virtual host it stands in, from 1; 0: the main server.
    host: usize,
    /// In a section other than a virtual host.
    deeper: bool,
    name: String,
    args: String,
}

/// What `-t` says.
pub(crate) struct ServerDump {
    /// Why it does not start.
    pub(crate) refused: Option<String>,
    directives: Vec<Read>,
    /// What it would run with, by name.
    running: BTreeMap<String, String>,
    /// Number a warning ends with, by the directive it is about.
    pub(crate) changed: BTreeMap<String, i64>,
}

fn number(text: &str) -> i64 {
    let text = text.trim();
    let end = text.char_indices().find(|(i, c)| !c.is_ascii_digit() && (*i > 0 || !"+-".contains(*c)));
    let whole: i64 = text[..end.map_or(text.len(), |(i, _)| i)].parse().unwrap_or(0);
    // An `int` of C.
    i64::from(whole as i32)
}

impl ServerDump {
    pub(crate) fn of(main: &Path) -> ServerDump {
        let asked = Command::new("apache2").arg("-t").arg("-f").arg(main).args(["-D", "DUMP_CONFIG"]).output().unwrap();
        let said = String::from_utf8_lossy(&asked.stderr).into_owned();
        let refused = (!asked.status.success()).then(|| said.clone());
        let mut changed = BTreeMap::new();
        for line in said.lines() {
            let Some((_, warning)) = line.split_once("WARNING: ") else { continue };
            let Some((name, rest)) = warning.split_once(" of ") else { continue };
            if let Some((_, to)) = rest.split_once("creasing ").and_then(|(_, rest)| rest.split_once("to ")) {
                changed.insert(name.to_lowercase(), number(to.trim_start_matches("nearest multiple ")));
            }
        }
        let running =
            Command::new("apache2").arg("-t").arg("-f").arg(main).args(["-D", "DUMP_RUN_CFG"]).output().unwrap();
        let running = String::from_utf8_lossy(&running.stdout).into_owned();
        let named = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
        ServerDump {
            refused,
            directives: directives(&String::from_utf8_lossy(&asked.stdout)),
            running: running.lines().filter_map(named).collect(),
            changed,
        }
    }

    /// A path that it would run with (`-D DUMP_RUN_CFG`).
    pub(crate) fn runs_with(&self, name: &str) -> Option<String> {
        self.running.get(name).map(|value| value.trim_matches('"').to_owned())
    }

    /// The arguments of the last directive of these names in a virtual host, else in the main server.
    pub(crate) fn last(&self, host: usize, names: &[&str]) -> Option<&str> {
        let of = |host: usize| {
            let found = |r: &&Read| r.host == host && !r.deeper && names.contains(&r.name.as_str());
            self.directives.iter().rev().find(found)
        };
        of(host).or_else(|| of(0)).map(|r| r.args.as_str())
    }

    /// A number in force: as it was changed, else as written, else the default.
    pub(crate) fn in_force(&self, names: &[&str], default: i64) -> i64 {
        let changed = names.iter().find_map(|name| self.changed.get(*name).copied());
        changed.unwrap_or_else(|| self.last(0, names).map_or(default, |text| number(text.trim_matches('"'))))
    }
}

fn directives(dump: &str) -> Vec<Read> {
    let (mut all, mut host, mut hosts, mut depth) = (Vec::new(), 0, 0, 0_usize);
    for line in dump.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if line.starts_with("<VirtualHost ") {
            hosts += 1;
            host = hosts;
        } else if line.starts_with("</VirtualHost") {
            host = 0;
        } else if line.starts_with("</") {
            depth -= 1;
        } else if line.starts_with('<') {
            depth += 1;
        } else {
            let (name, args) = line.split_once(' ').unwrap_or((line, ""));
            let read = Read { host, deeper: depth > 0, name: name.to_lowercase(), args: args.trim().to_owned() };
            all.push(read);
        }
    }
    all
}
