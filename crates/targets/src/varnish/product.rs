//! Varnish as a product: what is installed, how its configuration is read, copied, tested and started.

use std::path::Path;

use genkai_model::event::{Environment, Rewrite};
use genkai_model::limit::Limit;

use super::by_port::by_port;
use super::explain::explain;
use super::lifecycle::copied;
use super::private::Private;
use super::settings::Config;
use super::{limits, passed};
use crate::cache::{Cache, Start, Tested};
use crate::error::TargetError;
use crate::files::Configuration;
use crate::product::{ByPort, Deployment, Entry, Lookup, Prepare, Product, Program, Role, Variant, after};
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;

/// How its program is found.
pub(crate) const LOOKUP: Lookup = Lookup {
    product: "Varnish",
    flag: "varnish",
    names: &["varnishd"],
    built: &[],
    ask: &["-V"],
    package: "varnish",
    version: |said| after(said, "varnish-"),
};

/// What the catalogue knows of it.
pub(crate) const ENTRY: Entry = Entry {
    name: "varnish",
    called: "Varnish",
    program: ("varnishd", &["-V"]),
    role: Role::Cache,
    prepare: Some(Deployment::<Varnish>::boxed),
    explain: Some(explain),
    ask: Some((Deployment::<Varnish>::asked, "`varnishd -C` of a private copy")),
    looks: super::looks::LOOKS,
    clamps: &[],
    unknown: "",
    leaves_out: false,
};

/// The Varnish that is installed.
#[derive(Debug)]
pub(crate) struct Varnish(Program);

impl Product for Varnish {
    const ENTRY: &'static Entry = &ENTRY;
    type Config = Config;
    type Copy = Tested<Private>;
    type Running = Cache;

    fn find(what: &Prepare<'_>, dir: &Path) -> Result<Varnish, TargetError> {
        Program::find(&LOOKUP, what.program, dir).map(Varnish)
    }

    fn version(&self) -> &str {
        self.0.version()
    }

    fn read(&self, main: &Path) -> Result<Config, TargetError> {
        Config::read(main, self.0.path())
    }

    fn copy(of: &Variant<Self>) -> Result<Tested<Private>, TargetError> {
        Tested::of(&Start::of(of, &of.product().0, None), |at| copied(at, of.config()))
    }

    fn by_port(of: &Variant<Self>) -> Option<ByPort> {
        by_port(&of.config().vcl)
    }

    fn forwarded(of: &Variant<Self>, target: &str) -> Option<String> {
        passed::as_asked(&of.config().vcl).then(|| target.to_owned())
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

    fn limits(of: &Variant<Self>, _: &Tested<Private>, machine: &Machine, _: &Environment) -> Vec<Limit> {
        let value = |name: &str| of.config().value_of(name, of.requests()).unwrap_or_else(|_| limits::defaults(name));
        let all = limits::all(&of.config().vcl, &value, machine, of.requests());
        let answering = match of.conditions().backend {
            Some(_) => Vec::new(),
            None => limits::answering(&of.config().vcl),
        };
        all.into_iter().chain(answering).collect()
    }

    fn behind(of: &Variant<Self>, _: &Tested<Private>) -> Vec<Endpoint> {
        match of.conditions().backend {
            Some(backend) => vec![Endpoint::Tcp(backend)],
            None => of.config().vcl.places(of.requests()),
        }
    }

    fn start(of: &Variant<Self>, _: &Tested<Private>, cpus: Option<&[usize]>) -> Result<Cache, TargetError> {
        Cache::start(&Start::of(of, &of.product().0, cpus), &|at| Ok(copied(at, of.config())?.1))
    }
}

/// What the compiler says. A VCL that compiles prints the program it becomes.
fn told(printed: &str) -> Vec<&str> {
    let from = printed.find("Message from VCC-compiler:").map_or("", |at| &printed[at..]);
    from.lines().skip(1).filter(|line| !line.trim().is_empty()).take(12).collect()
}
