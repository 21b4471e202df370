//! The one list of products. Whoever asks which there are, what each can do, or whose a configuration is asks here.

mod asked;
pub mod caches;
mod guess;
mod running;

use std::path::{Path, PathBuf};

pub use asked::asked;
pub use guess::guess;
pub use running::runs;

use genkai_model::explain::Explanation;
use genkai_model::plan::ConfigSource;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;
use genkai_place::isolated::has_other_files;
use genkai_place::{group, machine};

use crate::error::TargetError;
use crate::explain::{Explain, Requests};
use crate::product::{Entry, Inside, Prepare, Prepared, Role, Served, ServesFn, Twin};
use crate::{apache, caddy, cores, haproxy, nginx, phpfpm, redis, squid, trafficserver, upstreams, varnish};

/// Every product, in the order in which they are listed.
pub const PRODUCTS: &[&Entry] = &[
    &nginx::ENTRY,
    &apache::ENTRY,
    &haproxy::ENTRY,
    &caddy::ENTRY,
    &squid::ENTRY,
    &varnish::ENTRY,
    &trafficserver::ENTRY,
    &phpfpm::ENTRY,
    &redis::ENTRY,
];

/// Products that can be put under test in a container that others made.
const INSIDE: &[&Inside] = &[&nginx::INSIDE];

/// How the product called `name` is met in a container that others made.
///
/// # Errors
/// When it is not known to be.
pub fn inside(name: &str) -> Result<&'static Inside, TargetError> {
    let found = INSIDE.iter().find(|inside| inside.product == name);
    found.copied().ok_or_else(|| {
        let known: Vec<&str> = INSIDE.iter().map(|inside| inside.product).collect();
        let text = format!("{name} in a cluster: genkai puts {} to the test there", known.join(", "));
        TargetError::usage("", format!("{text}\n  hint: copy its configuration here and name it with --config"))
    })
}

/// Names of the products that can be a plain reverse proxy. Caches have names of their own ([`caches::compared`]).
pub fn proxies() -> impl Iterator<Item = &'static str> {
    PRODUCTS.iter().filter(|entry| entry.proxy().is_some()).map(|entry| entry.name)
}

/// What can be named without a configuration: plain reverse proxies, and caches as genkai writes them.
pub fn names() -> Vec<String> {
    proxies().map(str::to_owned).chain(caches::compared()).collect()
}

/// What a file of systems can name: products whose configurations can take part, and caches as genkai writes them.
pub fn systems() -> Vec<String> {
    let products =
        PRODUCTS.iter().filter(|entry| !matches!(entry.role, Role::Behind(_))).map(|entry| entry.name.to_owned());
    let products: Vec<String> = products.collect();
    let caches = caches::compared().into_iter().filter(|name| !products.contains(name));
    products.iter().cloned().chain(caches).collect()
}

/// Names of the products whose configurations are explained.
pub fn explained() -> Vec<&'static str> {
    PRODUCTS.iter().filter(|entry| entry.explain.is_some()).map(|entry| entry.name).collect()
}

/// The product called `name`.
fn find(name: &str) -> Option<&'static Entry> {
    PRODUCTS.iter().copied().find(|entry| entry.name == name)
}

/// Prepares the product called `name`. Nothing is started, nothing of the user's is touched.
///
/// # Errors
/// The product is unknown or missing, or does not accept what it is given.
pub fn prepare(name: &str, what: Prepare<'_>) -> Result<Box<dyn Prepared>, TargetError> {
    let entry = find(name);
    if what.tls.is_some() && what.source == ConfigSource::Generated && !entry.is_some_and(tls) {
        return Err(no_tls(name));
    }
    if what.tls.is_some() && entry.is_some_and(|entry| matches!(entry.role, Role::Cache)) {
        let text = format!("{name}: genkai speaks plain HTTP to caches\n  hint: leave --tls out");
        return Err(TargetError::usage("", text));
    }
    if what.secured.is_some() && http2(name).is_none() {
        let with: Vec<&str> = proxies().filter(|name| http2(name).is_some()).collect();
        let text = format!(
            "{name} before a backend that takes TLS: genkai passes requests on by TLS with {} only",
            with.join(", ")
        );
        return Err(TargetError::usage("", format!("{text}\n  hint: give a backend with http://")));
    }
    let generated = what.source == ConfigSource::Generated;
    // A cache of this name is one with a configuration of the user's.
    let known = entry.filter(|entry| entry.proxy().is_some() || !generated).and_then(|entry| entry.prepare);
    match (known, caches::contender(name)) {
        (Some(prepare), _) => prepare(what),
        (None, Some(preset)) if generated => preset.prepare(&what),
        _ => Err(TargetError::usage("", format!("there is no product `{name}`; there are: {}", names().join(", ")))),
    }
}

/// Process `pid`, reached at `endpoint` behind a product, as one of those that are recognised there. None: it is no one of them.
pub fn serves(
    pid: u32,
    endpoint: &Endpoint,
    machine: &Machine,
    memory: u64,
) -> Option<Result<Box<dyn Served>, String>> {
    if has_other_files(pid) {
        return Some(Err(CONTAINED.to_owned()));
    }
    let products = PRODUCTS.iter().filter_map(|entry| match entry.role {
        Role::Behind(Some((serves, _))) => Some(serves),
        _ => None,
    });
    let others = std::iter::once(nginx::serves as ServesFn).chain(upstreams::ALL.iter().copied());
    products.chain(others).find_map(|serves| serves(pid, endpoint, machine, memory))
}

/// Process `pid`, which listens at `endpoint` behind a product, as one of those that genkai can run a second time, from `dir`. None: it is no one of
/// them. An error says why it is not. `applications`: whether the user's may be started a second time, with all that they do at start.
pub fn twin(pid: u32, endpoint: &Endpoint, dir: &Path, applications: bool) -> Option<Result<Box<dyn Twin>, String>> {
    let products = PRODUCTS.iter().filter_map(|entry| match entry.role {
        Role::Behind(Some((_, twin))) => twin,
        _ => None,
    });
    products.chain(upstreams::TWINS.iter().copied()).find_map(|twin| twin(pid, endpoint, dir, applications))
}

/// Why no file of this machine tells anything of a process.
const CONTAINED: &str = "it sees other files than those that genkai sees, as in a container";

/// Process `pid` as the first of a product that can be put under test itself: the product, and the configuration that it was started with, or
/// why that is not known. None: it is no one of them.
pub fn standing(pid: u32) -> Option<(&'static Entry, Result<PathBuf, String>)> {
    let all = PRODUCTS.iter().filter_map(|entry| Some((*entry, entry.proxy()?.started?)));
    let main = |main| if has_other_files(pid) { Err(CONTAINED.to_owned()) } else { main };
    all.into_iter().find_map(|(entry, started)| Some((entry, main(started(pid)?))))
}

/// How the listener of the product called `name` is made to offer HTTP/2, for people; none: genkai makes no such load on it.
pub fn http2(name: &str) -> Option<&'static str> {
    find(name)?.proxy()?.http2
}

/// Whether a product listens with TLS where genkai writes its configuration.
fn tls(entry: &Entry) -> bool {
    entry.proxy().is_some_and(|proxy| proxy.tls)
}

fn no_tls(name: &str) -> TargetError {
    let with: Vec<&str> = PRODUCTS.iter().filter(|entry| tls(entry)).map(|entry| entry.name).collect();
    let hint = format!("give a configuration of {name} that listens with TLS, or leave TLS out");
    let what = format!("{name} with TLS: genkai writes listeners with TLS for {} only", with.join(", "));
    TargetError::usage("", format!("{what}\n  hint: {hint}"))
}

/// Explains the configuration `main` of a product; none: whose it is follows from its text. Reads files, starts nothing.
///
/// # Errors
/// The product is none of those that are explained, or cannot be told, or a file cannot be read or understood.
pub fn explain(product: Option<&str>, main: &Path, requests: &Requests) -> Result<Explanation, TargetError> {
    let environment = machine::environment(Default::default());
    let machine = Machine::of(&environment);
    let name = match product {
        Some(name) => name,
        None => guess(main)?,
    };
    if product.is_none() && main.is_dir() && name == haproxy::ENTRY.name && !has_cfg(main) {
        return Err(no_cfg(main));
    }
    let explain = find(name).and_then(|entry| entry.explain).ok_or_else(|| not_explained(name))?;
    let mut explained = explain(&Explain { main, requests, machine: &machine, memory: environment.memory })?;
    if let Some(quota) = group::cpu_quota() {
        let called = format!("the quota of the control group here ({})", quota.folder.display());
        cores::within(&mut explained.limits, &quota, &called);
    }
    Ok(explained)
}

fn not_explained(name: &str) -> TargetError {
    let known = explained().join(", ");
    TargetError::usage("", format!("genkai does not explain configurations of `{name}`; it explains those of: {known}"))
}

fn no_cfg(folder: &Path) -> TargetError {
    let what = format!("{} is a folder without `*.cfg` files of HAProxy's", folder.display());
    TargetError::usage("HAProxy", format!("{what}\n  hint: name the main file, like nginx.conf"))
}

/// Whether a folder has files that HAProxy reads of one.
fn has_cfg(folder: &Path) -> bool {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.into_iter().any(|file| file.path().extension().is_some_and(|extension| extension == "cfg"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_explained_is_told_with_what_is() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("records.config"), "").unwrap();
        let requests = Requests::to("localhost", "/");
        let said = explain(None, dir.path(), &requests).unwrap_err();
        let known = explained().join(", ");
        let expected =
            format!("genkai does not explain configurations of `trafficserver`; it explains those of: {known}");
        assert_eq!((said.to_string(), said.is_usage()), (expected, true));
        for product in explained() {
            let known = explain(Some(product), &dir.path().join("gone.conf"), &requests);
            assert!(!known.unwrap_err().to_string().contains("does not explain"), "{product}");
        }
    }
}
