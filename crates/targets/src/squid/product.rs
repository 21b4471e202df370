//! Squid as a product: what is installed, how its configuration is read, copied, tested and started.

use std::path::Path;

use genkai_model::event::{Environment, Rewrite};
use genkai_model::limit::{Limit, Origin};

use super::config::Config;
use super::explain::explain;
use super::lifecycle::{VERSION, copied};
use super::limits::{self, Facts};
use super::private::Private;
use super::settings;
use crate::cache::{Cache, Installed, Start, Tested, file};
use crate::error::TargetError;
use crate::product::{Deployment, Entry, Likeness, Looks, Prepare, Product, Role, Variant};
use crate::settings::SourcedValue;
use genkai_place::caps::Machine;
use genkai_place::machine;

/// What the catalogue knows of it.
pub(crate) const ENTRY: Entry = Entry {
    name: "squid",
    called: "Squid",
    program: ("squid", &["-v"]),
    role: Role::Cache,
    tls: false,
    prepare: Some(Deployment::<Squid>::boxed),
    explain: Some(explain),
    looks,
    clamps: &[],
    unknown: "",
};

/// It has a port and who may use it.
fn looks(file: &Looks<'_>) -> Likeness {
    let words = ["http_port", "http_access", "cache_peer", "cache_mem", "cache_dir"];
    Likeness::text(file.begins(&words, &[';', '{']))
}

/// The Squid that is installed.
#[derive(Debug)]
pub(crate) struct Squid(Installed);

impl Product for Squid {
    const ENTRY: &'static Entry = &ENTRY;
    type Config = Config;
    type Copy = Tested<Private>;
    type Running = Cache;

    fn find(what: &Prepare<'_>, dir: &Path) -> Result<Squid, TargetError> {
        Installed::find(&ENTRY, what, VERSION, dir).map(Squid)
    }

    fn version(&self) -> &str {
        &self.0.version
    }

    fn read(&self, what: &Prepare<'_>) -> Result<Config, TargetError> {
        Ok(Config::read(file(&ENTRY, what)?)?)
    }

    fn scope(_: &str, _: &str) {}

    fn copy(of: &Variant<Self>) -> Result<Tested<Private>, TargetError> {
        Tested::of(&Start::of(of, &of.product().0, None), |at| copied(at, of.config()))
    }

    fn rewrites(copy: &Tested<Private>) -> Vec<Rewrite> {
        copy.copy.rewrites.clone()
    }

    fn translate(copy: &Tested<Private>, message: &str) -> String {
        copy.copy.translate(message)
    }

    fn check(
        _: &Variant<Self>,
        copy: &Tested<Private>,
        _: Option<&Path>,
        translate: &dyn Fn(&str) -> String,
    ) -> Result<Vec<String>, TargetError> {
        copy.verdict(ENTRY.called, told, translate)
    }

    fn value_of(of: &Variant<Self>, setting: &str) -> Result<(String, Origin), TargetError> {
        settings::settable(setting, "x")?;
        let SourcedValue { written, origin, .. } = of.config().sourced(setting, |_| Some(()));
        Ok((written, origin))
    }

    fn limits(of: &Variant<Self>, _: &Tested<Private>, machine: &Machine, _: &Environment) -> Vec<Limit> {
        limits::of(&Facts::of(of.config(), machine::hard_descriptors()), machine)
    }

    fn start(of: &Variant<Self>, _: &Tested<Private>, cpus: Option<&[usize]>) -> Result<Cache, TargetError> {
        Cache::start(&Start::of(of, &of.product().0, cpus), &|at| Ok(copied(at, of.config())?.1))
    }
}

/// Lines of `squid -k parse` that are more than what it does, without the time before them (`2026/11/22 00:20:47| `).
fn told(printed: &str) -> Vec<&str> {
    let words = ["ERROR", "FATAL", "WARNING", "unrecognized", "Bungled", "obsolete"];
    let told = printed.lines().filter(|line| words.iter().any(|word| line.contains(word)));
    let is_time = |time: &str| time.starts_with(|c: char| c.is_ascii_digit());
    let without_time =
        |line| str::split_once(line, "| ").filter(|(time, _)| is_time(time)).map_or(line, |(_, rest)| rest);
    told.take(20).map(without_time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_message_is_left_out() {
        let printed =
            "2026/11/22 00:20:47| ERROR a | b\nFATAL: a | b\nProcessing: acl x\nt.conf(3): unrecognized: 'foo_bar'";
        assert_eq!(told(printed), ["ERROR a | b", "FATAL: a | b", "t.conf(3): unrecognized: 'foo_bar'"]);
    }
}
