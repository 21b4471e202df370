//! Traffic Server as a product: what is installed, how its configuration is read, copied, tested and started.

use std::path::Path;

use genkai_model::event::{Environment, Rewrite};
use genkai_model::limit::Limit;

use super::lifecycle::copied;
use super::limits;
use super::private::Private;
use super::records::{CONNECTIONS, FILE, Records};
use crate::cache::{Cache, Start, Tested};
use crate::error::TargetError;
use crate::product::looks::Looks;
use crate::product::{Deployment, Entry, Lookup, Prepare, Product, Program, Role, Variant, after};
use genkai_place::caps::Machine;
use genkai_place::machine;

/// How its program is found.
pub(crate) const LOOKUP: Lookup = Lookup {
    product: "Traffic Server",
    flag: "trafficserver",
    names: &["traffic_server"],
    built: &[],
    ask: &["-V"],
    package: "trafficserver",
    version: |said| after(said, "Traffic Server "),
};

/// What the catalogue knows of it.
pub(crate) const ENTRY: Entry = Entry {
    name: "trafficserver",
    called: "Traffic Server",
    program: ("traffic_server", &[]),
    role: Role::Cache,
    prepare: Some(Deployment::<TrafficServer>::boxed),
    explain: None,
    ask: None,
    looks: Looks { named: is_named, grammar: None },
    clamps: &[],
    unknown: "",
    leaves_out: false,
};

/// Whether a file or folder is its configuration: its files have names of their own.
fn is_named(path: &Path) -> bool {
    if path.is_dir() { path.join(FILE).is_file() } else { path.file_name().is_some_and(|name| name == FILE) }
}

/// The Traffic Server that is installed.
#[derive(Debug)]
pub(crate) struct TrafficServer(Program);

impl Product for TrafficServer {
    const ENTRY: &'static Entry = &ENTRY;
    type Config = Records;
    type Copy = Tested<Private>;
    type Running = Cache;

    fn find(what: &Prepare<'_>, dir: &Path) -> Result<TrafficServer, TargetError> {
        Program::find(&LOOKUP, what.program, dir).map(TrafficServer)
    }

    fn version(&self) -> &str {
        self.0.version()
    }

    fn read(&self, main: &Path) -> Result<Records, TargetError> {
        Records::read(main)
    }

    fn copy(of: &Variant<Self>) -> Result<Tested<Private>, TargetError> {
        Tested::of(&Start::of(of, &of.product().0, None), |at| copied(at, of.config()))
    }

    fn rewrites(tested: &Tested<Private>) -> Vec<Rewrite> {
        tested.copy.rewrites.clone()
    }

    fn translate(tested: &Tested<Private>, message: &str) -> String {
        tested.copy.translate(message)
    }

    fn check(
        _: &Variant<Self>,
        tested: &Tested<Private>,
        _: Option<&Path>,
        translate: &dyn Fn(&str) -> String,
    ) -> Result<Vec<String>, TargetError> {
        tested.verdict(ENTRY.called, told, translate)
    }

    fn limits(of: &Variant<Self>, _: &Tested<Private>, _: &Machine, _: &Environment) -> Vec<Limit> {
        let written = of.config().value(CONNECTIONS);
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
