//! The system of a run: the product under test in its variants, and what stands behind it.

mod onward;
mod through;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use genkai_engine::StopFlag;
use genkai_model::event::{Change, Environment, Pinning};
use genkai_model::http2::Http2;
use genkai_model::limit::Limit;
use genkai_model::load::{Arrivals, Load, Protocol, Request, Reuse};
use genkai_model::plan::{self, ConfigSource, Plan};
use genkai_model::scenario::Scenario;
use genkai_place::authority::{self, TlsMaterial};
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;
use genkai_place::{machine, port};
use genkai_targets::behind::{Asked, with_store, with_twin};
use genkai_targets::product::{Cost, OwnAnswer, Prepare, Prepared, certificate_wanted, given_up, settled};
use genkai_targets::{catalog, command, embedded};

pub(crate) use self::onward::NOTE as FOLLOWED;
use self::onward::Onward;
use self::through::{Through, through};
use crate::backend::{self, Backend};
use crate::error::LabError;
use crate::first::{self, Unloaded};
use crate::folder::Folder;
use crate::handshakes::{self, Measured};
use crate::pinning;
use crate::pod;
use crate::processor;
use crate::reach;
use crate::redact;
use crate::scenario::{aimed, bodies, of_sockets, paths_asked};

/// What is said where there is no copy of whom those behind the product ask.
const UNCOPIED: &str = "no setting of whom those behind ask is put to the test, as no private copy of it is made";
/// The same where it was made and tried.
const UNLED: &str = "no setting of whom those behind ask is put to the test: a private copy of it was tried, and it was not it that was asked, or it answered otherwise";

/// How sides share the cores.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Pin {
    /// A quarter of the cores makes load, the rest serves.
    #[default]
    Apart,
    /// Nothing is pinned.
    Free,
    /// As the user says.
    Given(Pinning),
}

impl Pin {
    /// The cores of each side on this machine.
    pub fn resolve(&self) -> Option<Pinning> {
        match self {
            Pin::Apart => pinning::share(&pinning::cores()),
            Pin::Free => None,
            Pin::Given(p) => Some(p.clone()),
        }
    }
}

/// The machine, with what is known before any server runs.
pub fn environment(pin: &Pin, product: Option<&dyn Prepared>) -> Environment {
    let versions = product.map(|p| (p.product().to_owned(), p.version().to_owned())).into_iter().collect();
    Environment { pinning: pin.resolve(), ..machine::environment(versions) }
}

/// The product under test, checked but not started, with the backend's place taken by a free port.
///
/// # Errors
/// When the configuration is wrong or the product is missing.
pub fn check(plan: &Plan, dir: &Path) -> Result<Box<dyn Prepared>, LabError> {
    let backend = placeholder(&plan.system.backend)?;
    prepare(&plan.system, &plan.load, backend, dir.to_owned())
}

/// `system` for `load` with its backend's address, checked by the product itself.
pub(crate) fn prepare(
    system: &plan::System,
    load: &Load,
    backend: Option<SocketAddr>,
    dir: PathBuf,
) -> Result<Box<dyn Prepared>, LabError> {
    if let Some(line) = &system.command {
        return Ok(command::prepare(line, &system.settings, redact::parts(&line.words), &dir)?);
    }
    let secured = backend::secured(&system.backend);
    let also = load.scenario.as_deref().map(paths_asked).unwrap_or_default();
    let tls = system.front.tls.then(|| papers(&dir.join("tls"))).transpose()?;
    let what = Prepare {
        program: system.program.as_deref(),
        source: system.config.clone(),
        settings: &system.settings,
        backend,
        secured: secured.as_deref(),
        dir,
        path: &load.request.path,
        also: &also,
        host: &load.request.host,
        websocket: talks(load),
        upgrade: system.front.upgrade,
        streams: streams(load),
        headers: headers(load),
        body: load.scenario.as_deref().map_or_else(|| (load.request.body.len(), load.request.body.len()), bodies),
        tls,
        allow_remote: &system.allow_remote,
        listen: system.front.address(),
        resumes: !system.front.no_resume,
    };
    Ok(catalog::prepare(&system.product, what)?)
}

/// Refuses a load of HTTP/2 on a listener that does not offer it.
///
/// # Errors
/// When it does not, with what to set; or the product does not start.
pub(crate) fn offers(product: &dyn Prepared, load: &Load, cpus: Option<&[usize]>) -> Result<(), LabError> {
    if streams(load).is_none() {
        return Ok(());
    }
    let name = product.product();
    let hint = catalog::http2(name).map_or_else(
        || reach::SWITCH_ON.to_owned(),
        |how| format!("{name} offers HTTP/2 with {how}; without --http2 (in a scenario: `http2: true`) the load is of HTTP/1.1"),
    );
    let running = product.start(cpus)?;
    let offered = reach::offered(&aimed(load, running.address(), product.transport()), &hint);
    running.stop();
    offered
}

/// Whether users of a load open WebSockets.
fn talks(load: &Load) -> bool {
    matches!(load.protocol, Protocol::WebSocket(_)) || load.scenario.as_ref().is_some_and(|scenario| scenario.talks())
}

/// All headers of the requests of a load, but for Host; none where each has its own, or others make it.
fn headers(load: &Load) -> Option<&[(String, String)]> {
    let same = load.is_one_request() && matches!(load.protocol, Protocol::Http1 | Protocol::Http2(_));
    same.then_some(&load.request.headers)
}

/// Most requests at once on a connection of a load that comes by HTTP/2; none: it does not.
fn streams(load: &Load) -> Option<u32> {
    load.http2().map(|http2| if load.reuse == Reuse::PerRequest { 1 } else { http2.streams })
}

/// An address for a backend that does not run yet; none where the configuration names its own.
pub(crate) fn placeholder(backend: &plan::Backend) -> Result<Option<SocketAddr>, LabError> {
    match backend {
        plan::Backend::Kept => Ok(None),
        _ => Ok(Some(([127, 0, 0, 1], free_port()?).into())),
    }
}

/// A certificate and its authority for this run, in a folder of their own.
fn papers(dir: &Path) -> Result<TlsMaterial, LabError> {
    std::fs::create_dir_all(dir).and_then(|()| authority::make(dir)).map_err(LabError::folder(dir))
}

fn free_port() -> Result<u16, LabError> {
    port::free().map_err(|e| LabError::Environment(format!("no free port on 127.0.0.1: {e}")))
}

/// Limits that can be told before anything runs: the product's, and the backend's where the plan says how it is built.
pub fn limits_of(product: &dyn Prepared, plan: &Plan, environment: &Environment) -> Vec<Limit> {
    let mut all = product.limits(environment);
    processor::within_quota(&mut all, environment);
    all.extend(processor::limits(environment));
    let spec = match &plan.system.backend {
        plan::Backend::Embedded(spec) => Some(embedded::Spec::from(spec)),
        plan::Backend::WebSocket(spec) => Some(embedded::Spec::from(spec)),
        _ => None,
    };
    let mut behind: Vec<Limit> =
        spec.iter().flat_map(|spec| embedded::limits(spec, processor::server_cores(environment))).collect();
    processor::within_quota(&mut behind, environment);
    all.extend(behind);
    as_met(all, plan.load.scenario.as_deref())
}

/// Limits as users of a scenario meet them, where they open WebSockets.
fn as_met(all: Vec<Limit>, scenario: Option<&Scenario>) -> Vec<Limit> {
    match scenario.filter(|scenario| scenario.talks()) {
        Some(scenario) => all.into_iter().map(|limit| of_sockets(limit, scenario)).collect(),
        None => all,
    }
}

/// The load with the target by which what stands behind the product is asked. None where a file says what users do: what becomes of each of
/// its requests is not known.
fn as_passed_on(load: &Load, product: &dyn Prepared) -> Option<Load> {
    if !load.is_one_request() {
        return None;
    }
    let path = product.forwarded(&load.request.path)?;
    let request = Request { path, ..load.request.clone() };
    let mut load = Load { request, transport: product.onward(), ..load.clone() };
    // Whoever comes by HTTP/2 is passed on by HTTP/1.1, with a connection for each request in flight.
    if let Some(Http2 { streams }) = load.http2() {
        load.protocol = Protocol::Http1;
        if let Arrivals::Rate { connections, .. } = &mut load.arrivals {
            *connections = connections.saturating_mul(streams);
        }
    }
    Some(load)
}

/// The system while a run lasts.
pub struct System {
    baseline: Box<dyn Prepared>,
    /// What stands behind the product.
    pub backend: Backend,
    cpus: Option<Vec<usize>>,
    environment: Environment,
    /// What asking the backend alone showed.
    unloaded: Unloaded,
    /// The load's request.
    request: Request,
    /// What its users do, where that is a scenario.
    scenario: Option<Box<Scenario>>,
    /// The load as the backend sees it, without what the product makes of it; none where that is not known.
    directly: Option<Load>,
    /// What the product itself answered that with before any load.
    pub answered: Option<OwnAnswer>,
    /// What was made of the pool behind the product, and of whom that asks: a sentence each.
    copies: Vec<String>,
    /// What handshakes take the product and its variants, each with what they make them with.
    handshakes: Vec<Measured>,
    /// Where those behind the product asked further servers when one request was made.
    pub asked: BTreeSet<Endpoint>,
    /// What came of requests that were followed to those behind the product; none: none were.
    onward: Option<Onward>,
    variants: u32,
}

impl System {
    /// Starts the backend and prepares the product as the plan says.
    ///
    /// # Errors
    /// When one of them cannot be had; what was started is stopped.
    pub fn start(plan: &Plan, program: &Path, folder: &Folder, pin: &Pin, stop: &StopFlag) -> Result<System, LabError> {
        let cpus = pin.resolve().map(|p| p.servers);
        let mut backend = Backend::start(&plan.system.backend, program, folder, cpus.as_deref())?;
        let baseline = match plan.system.config {
            ConfigSource::Cluster(_) => pod::prepare(&plan.system, &plan.load, stop)?,
            _ => prepare(&plan.system, &plan.load, backend.address(), folder.private("baseline")?)?,
        };
        let mut environment = environment(pin, Some(&*baseline));
        environment.versions.extend(backend.versions());
        let machine = Machine::of(&environment);
        offers(&*baseline, &plan.load, cpus.as_deref())?;
        let (mut baseline, mut copies) = match backend {
            Backend::Kept(..) => {
                let Request { path, host, .. } = &plan.load.request;
                let asked =
                    Asked { path, host, websocket: talks(&plan.load), applications: plan.system.start_applications };
                let (baseline, told) =
                    with_twin(baseline, asked, &machine, environment.memory, &folder.private("stack")?);
                (baseline, Vec::from_iter(told))
            }
            _ => (baseline, Vec::new()),
        };
        backend.meet(&baseline.behind(), &machine, environment.memory);
        let mut asked = BTreeSet::new();
        let behind = backend.behind();
        if let Some(behind) = behind.filter(|behind| baseline.has_workers() || !behind.firsts().is_empty()) {
            let workers = baseline.has_workers() || behind.has_workers();
            let Through { mut cost, mut beyond, answered } =
                through(&*baseline, &plan.load, cpus.as_deref(), behind, workers)?;
            let dir = folder.private("store")?;
            match with_store(&*baseline, &beyond, &machine, environment.memory, &dir) {
                Some(Ok(store)) => match through(&*store.stack, &plan.load, cpus.as_deref(), behind, workers) {
                    Ok(again) if (again.answered || !answered) && store.is_asked(&again.beyond) => {
                        beyond = again.beyond.into_iter().filter(|place| !store.is_at(place)).collect();
                        (cost, baseline) = (again.cost, store.stack);
                        copies.push(store.told);
                    }
                    Ok(_) => copies.push(UNLED.to_owned()),
                    Err(why) => copies.push(format!("{UNCOPIED}: {why}")),
                },
                Some(Err(why)) => copies.push(format!("{UNCOPIED}: {why}")),
                None => {}
            }
            // One request of a scenario says nothing of the others.
            if let Some(cost) = cost.filter(|_| plan.load.is_one_request()) {
                let quota = environment.cpu_quota.unwrap_or(f64::INFINITY);
                baseline.costs(Cost { cores: cost.cores.min(quota), ..cost });
                behind.costs(cost);
            }
            behind.beyond(&beyond, !workers, &machine, environment.memory);
            asked = beyond;
        }
        let directly = as_passed_on(&plan.load, &*baseline);
        let unloaded = directly.as_ref().map(|load| first::unloaded(load, &backend)).unwrap_or_default();
        let handshakes = Vec::from_iter(handshakes::measured(&*baseline, &plan.load, environment.pinning.as_ref())?);
        let (request, scenario) = (plan.load.request.clone(), plan.load.scenario.clone());
        Ok(System {
            baseline,
            backend,
            cpus,
            environment,
            unloaded,
            request,
            scenario,
            directly,
            answered: None,
            copies,
            handshakes,
            asked,
            onward: None,
            variants: 0,
        })
    }

    /// The product as the plan has it.
    pub fn baseline(&self) -> &dyn Prepared {
        &*self.baseline
    }

    /// The machine and the programs used.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Who stands behind the product, where genkai did not start it: a sentence each.
    pub fn told(&self) -> Vec<String> {
        self.backend.told().into_iter().chain(self.copies.clone()).chain(self.unloaded.told.clone()).collect()
    }

    /// Whether the product runs on another machine than this one.
    pub fn is_elsewhere(&self) -> bool {
        self.baseline.elsewhere().is_some()
    }

    /// Cores of the servers.
    pub fn cpus(&self) -> Option<&[usize]> {
        self.cpus.as_deref()
    }

    /// The product with `changes` on top of the baseline, in a folder of its own, checked, not started.
    ///
    /// # Errors
    /// When the product refuses the changed configuration.
    pub fn variant(&mut self, changes: &[Change], folder: &Folder) -> Result<Box<dyn Prepared>, LabError> {
        self.variants += 1;
        let dir: PathBuf = folder.private(&format!("variant-{}", self.variants))?;
        Ok(self.baseline.with(changes, &dir)?)
    }

    /// Measures what handshakes take `product` where that was not done of one that makes them like it: a sentence.
    ///
    /// # Errors
    /// When it does not start.
    pub fn shake(&mut self, product: &dyn Prepared, load: &Load) -> Result<Option<String>, LabError> {
        // Where there was nothing to measure, there is nothing more.
        if self.handshakes.is_empty() || self.handshakes.iter().any(|one| one.is_of(product)) {
            return Ok(None);
        }
        let measured = handshakes::measured(product, load, self.environment.pinning.as_ref())?;
        self.handshakes.extend(measured);
        Ok(self.handshakes_of(product).map(|one| one.words(product.product())))
    }

    /// What handshakes take the product as the plan has it: a sentence.
    pub fn handshakes(&self) -> Option<String> {
        self.handshakes_of(self.baseline()).map(|one| one.words(self.baseline.product()))
    }

    fn handshakes_of(&self, product: &dyn Prepared) -> Option<&Measured> {
        self.handshakes.iter().find(|one| one.is_of(product))
    }

    /// The product without some of the directives that may be left out, in a folder of its own, checked, not started.
    ///
    /// # Errors
    /// When the product refuses such a configuration.
    pub fn without(&mut self, which: &[u32], folder: &Folder) -> Result<Box<dyn Prepared>, LabError> {
        self.variants += 1;
        let dir: PathBuf = folder.private(&format!("variant-{}", self.variants))?;
        Ok(self.baseline.without(which, &dir)?)
    }

    /// Waits until the backend has nothing left to do, for at most so long: by what it tells, or, where it tells nothing, by how fast it
    /// answers. Gives whether it has.
    pub fn drain(&mut self, load: &Load, most: Duration, stop: &StopFlag) -> bool {
        let load = self.directly.as_ref().unwrap_or(load);
        self.backend.drain(most, stop) && first::rested(load, &self.backend, &self.unloaded.limits, most, stop)
    }

    /// The load as the backend sees it; none where that is not known.
    pub fn directly(&self) -> Option<&Load> {
        self.directly.as_ref()
    }

    /// Every limit of `product` and of what stands behind it.
    pub fn limits(&self, product: &dyn Prepared) -> Vec<Limit> {
        let (mut all, elsewhere) = (product.limits(&self.environment), product.elsewhere());
        if elsewhere.is_none() {
            processor::within_quota(&mut all, &self.environment);
        }
        all.extend(elsewhere.unwrap_or_else(|| processor::limits(&self.environment).collect()));
        let mut behind = if self.is_unasked() { Vec::new() } else { self.backend.limits() };
        // Whom genkai did not start are in groups of their own.
        if !matches!(self.backend, Backend::External(..) | Backend::Kept(..)) {
            processor::within_quota(&mut behind, &self.environment);
        }
        all.extend(behind);
        if self.is_unasked() {
            all.retain(|limit| onward::is_own(limit, product.product()));
        } else {
            all.extend(self.unloaded.limits.clone());
        }
        all.extend(self.answers(product));
        all.extend(self.onward.as_ref().and_then(Onward::failing));
        let shaken = self.handshakes_of(product).map(|one| one.limits(product.product(), &all));
        all.extend(shaken.unwrap_or_default());
        settled(&mut all);
        given_up(&mut all, product.product());
        if self.unloaded.uncertified {
            certificate_wanted(&mut all);
        }
        as_met(all, self.scenario.as_deref())
    }

    /// What the product may answer itself, where its log says so or it counts that; and what answered the first request, whether it does or not.
    fn answers(&self, product: &dyn Prepared) -> impl Iterator<Item = Limit> {
        let all = product.answers(&self.request).into_iter();
        all.filter_map(|one| {
            let first = self.answered.as_ref().is_some_and(|first| first.is(&one));
            // What the log says of the requests of a scenario need not be of this one; files are there or not from the first request on.
            let elsewhere = one.of_path && (self.scenario.is_some() || !one.kind.is_empty());
            let logged = one.signature.is_some() && !elsewhere;
            (first || logged || one.counter.is_some()).then(|| one.limit(product.product(), first)).flatten()
        })
    }
}
