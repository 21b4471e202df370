//! Traffic Server as a product: what is installed, how its configuration is read, copied, tested and started.

use std::path::Path;

use genkai_model::event::{Environment, Rewrite};
use genkai_model::limit::{Limit, Origin};

use super::lifecycle::{VERSION, copied};
use super::limits::{self, THROTTLE};
use super::private::Private;
use super::records::{FILE, Records, named};
use crate::cache::{Cache, Installed, Start, Tested, file};
use crate::error::TargetError;
use crate::product::{Deployment, Entry, Likeness, Looks, Prepare, Product, Role, Variant};
use genkai_place::caps::Machine;
use genkai_place::machine;

/// What the catalogue knows of it.
pub(crate) const ENTRY: Entry = Entry {
    name: "trafficserver",
    called: "Traffic Server",
    program: ("traffic_server", &[]),
    role: Role::Cache,
    tls: false,
    prepare: Some(Deployment::<TrafficServer>::boxed),
    explain: None,
    looks,
    clamps: &[],
    unknown: "",
};

/// Its files have names of their own.
fn looks(file: &Looks<'_>) -> Likeness {
    let named = if file.path.is_dir() { file.path.join(FILE).is_file() } else { file.name() == FILE };
    if named { Likeness::Name } else { Likeness::None }
}

/// The Traffic Server that is installed.
#[derive(Debug)]
pub(crate) struct TrafficServer(Installed);

impl Product for TrafficServer {
    const ENTRY: &'static Entry = &ENTRY;
    type Config = Records;
    type Copy = Tested<Private>;
    type Running = Cache;

    fn find(what: &Prepare<'_>, dir: &Path) -> Result<TrafficServer, TargetError> {
        Installed::find(&ENTRY, what, VERSION, dir).map(TrafficServer)
    }

    fn version(&self) -> &str {
        &self.0.version
    }

    fn read(&self, what: &Prepare<'_>) -> Result<Records, TargetError> {
        Records::read(file(&ENTRY, what)?)
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
        let name = named(setting)?;
        Ok(of.config().value(&name).unwrap_or_else(|| {
            let value = if name == limits::CONNECTIONS { THROTTLE.to_string() } else { "its default".to_owned() };
            (value, limits::default())
        }))
    }

    fn limits(of: &Variant<Self>, _: &Tested<Private>, _: &Machine, _: &Environment) -> Vec<Limit> {
        let written = of.config().value(limits::CONNECTIONS);
        let asked = written.and_then(|(value, origin)| Some((value.parse().ok()?, origin)));
        limits::with(asked, machine::hard_descriptors())
    }

    fn start(of: &Variant<Self>, _: &Tested<Private>, cpus: Option<&[usize]>) -> Result<Cache, TargetError> {
        Cache::start(&Start::of(of, &of.product().0, cpus), &|at| Ok(copied(at, of.config())?.1))
    }
}

/// Lines of its check that say something.
fn told(printed: &str) -> Vec<&str> {
    let words = ["ERROR", "WARNING", "FATAL"];
    printed.lines().filter(|line| words.iter().any(|word| line.contains(word))).take(20).collect()
}
