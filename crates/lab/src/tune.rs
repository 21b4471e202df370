//! Finds, names and proves the limit: asks the analysis what to try next, tries it, until there is an answer.

mod answers;
mod bisect;
mod bounds;
mod clock;
mod content;
mod elsewhere;
mod listener;
mod original;
mod pages;
mod proposal;
mod start;

use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use genkai_analysis::tuning::{self, Next, TrialPlan};
use genkai_analysis::{capacity, findings};
use genkai_model::event::{EndReason, Event, Limits, Purpose, ServerState, State, Step, What};
use genkai_model::finding::Because;
use genkai_model::limit::BACKEND_BY_ITSELF;
use genkai_model::load::{Arrivals, Load};
use genkai_model::locust::Locust;
use genkai_model::plan::{ConfigSource, Plan};
use genkai_model::transport::Transport;
use genkai_place::kernel::Kernel;
use genkai_place::observation::Observation;
use genkai_targets::product::{Prepared, Running};
use nix::sys::signal::Signal;

use self::answers::Asking;
use crate::backend::unasked;
use crate::error::LabError;
use crate::first;
use crate::folder::Folder;
use crate::generator::{Generator, MANY_LOADS, Workplaces};
use crate::handshakes;
use crate::headroom;
use crate::job::{Job, Outcome, Preview};
use crate::observer::Observer;
use crate::recorder::{Recorder, Watcher};
use crate::redact;
use crate::scenario;
use crate::system::{self, FOLLOWED, Pin, System};
use crate::trial::{self, Trial};
use crate::unstored;

/// What stands before a backend that is asked directly: nothing, and nothing of it is to be seen.
struct Nobody(SocketAddr);

impl Running for Nobody {
    fn address(&self) -> SocketAddr {
        self.0
    }

    fn observe(&mut self) -> Observation {
        Observation::default()
    }

    fn stop(self: Box<Self>) -> ExitStatus {
        ExitStatus::default()
    }
}

/// Identity of the notes that tell who stands behind the product.
const BEHIND: &str = "behind";
/// ... and of those that tell where the product runs.
const WHERE: &str = "where";
/// ... and of those that tell what could not be removed.
const LEFT: &str = "left-behind";

/// How long a backend may take to finish what an earlier trial left in it.
const DRAIN: Duration = Duration::from_secs(60);

/// Checks a plan without starting a server: the configuration is read and tested by the product itself, the load is
/// held against this machine's descriptors and ports.
///
/// # Errors
/// Whatever would keep the run from being made.
pub(crate) fn preview(plan: &Plan, pin: &Pin) -> Result<Preview, LabError> {
    if let ConfigSource::Cluster(server) = &plan.system.config {
        let why = format!("{server}: what it is made of is seen in a copy that runs, which a dry run does not make");
        return Err(LabError::Plan(format!("{why}\n  hint: leave --dry-run out")));
    }
    let dir =
        tempfile::Builder::new().prefix("genkai-check-").tempdir().map_err(LabError::folder(std::env::temp_dir()))?;
    let product = system::check(plan, dir.path())?;
    if let Some(locust) = &plan.load.locust {
        trusted(locust, &product.transport(), plan.system.front.listen)?;
    }
    let environment = system::environment(pin, Some(&*product));
    let load = headroom::listened(&plan.load, plan.system.front.listen);
    headroom::fit(&load, &headroom::look(&load.addresses, &environment))?;
    let limits = system::limits_of(&*product, plan, &environment);
    let predictions = capacity::predict_under(&limits, &plan.load, &plan.objective, None);
    Ok(Preview { predictions, ..Preview::of(environment) })
}

/// Whether users of a locustfile can trust a server that is reached so: its certificate is of the run's own authority, for 127.0.0.1.
///
/// # Errors
/// When they cannot.
fn trusted(locust: &Locust, transport: &Transport, listen: Option<Ipv4Addr>) -> Result<(), LabError> {
    let Transport::Tls(tls) = transport else { return Ok(()) };
    let why = if locust.bind.is_some() {
        "its certificate is of the run's own authority, which workers that others start do not trust\n  hint: leave --locust-bind out"
    } else if listen.is_some_and(|ip| ip != Ipv4Addr::LOCALHOST) {
        "its certificate is for 127.0.0.1, and not for the address of --listen\n  hint: leave --listen out"
    } else if tls.ca.is_none() {
        "none of the run's own authority stands in for its certificate, which is for another name than users ask\n  hint: use a listener \
         without TLS, or another load"
    } else {
        return Ok(());
    };
    Err(LabError::Plan(format!("--load locust: the server under test listens with TLS: {why}")))
}

/// Makes the run.
///
/// # Errors
/// When the run could not begin. What goes wrong later is in [`Outcome::failure`].
pub(crate) fn run(job: &Job<'_>, watcher: &mut Watcher<'_>) -> Result<Outcome, LabError> {
    // One in a cluster can only be looked at while it runs.
    if !matches!(job.plan.system.config, ConfigSource::Cluster(_)) {
        preview(&job.plan, &job.pin)?;
    }
    let places = Workplaces::open(&job.place.program, &job.plan.load.scale, &[], MANY_LOADS, job.interrupt)?;
    let cores = job.pin.resolve().map(|pinning| pinning.client);
    let places = places.with_locust(job.plan.load.locust.as_deref(), cores.as_deref(), job.interrupt)?;
    // The servers are not up yet; they will listen there.
    let load = scenario::aimed(&job.plan.load, (job.plan.system.front.address(), 80).into(), Transport::Tcp);
    if matches!(job.plan.system.config, ConfigSource::Cluster(_)) {
        // Where its pods are, and whether all machines reach them, is known once one runs.
        places.fit(&load).map_err(|e| LabError::Environment(e.to_string()))?;
    } else {
        places.check(&load)?;
    }
    let mut written = Vec::new();
    let start = |folder: &Folder| System::start(&job.plan, &job.place.program, folder, &job.pin, job.interrupt);
    let outcome = job.recorded(watcher, start, |system, folder, recorder| {
        let mut run = Run { job, places: &places, folder, system, recorder, written: &mut written, usual: None };
        let made = run.whole();
        let proposed = run.propose();
        let ended = run.system.baseline().end();
        // What is left behind must be told, whatever else is.
        let told = ended.map_or_else(|left| run.recorder.note(None, LEFT, left.to_string()), Ok);
        made.and(proposed).and(told)
    })?;
    Ok(Outcome { written, ..outcome })
}

struct Run<'r, 'j, 'w> {
    job: &'j Job<'j>,
    places: &'r Workplaces,
    folder: &'r Folder,
    system: &'r mut System,
    recorder: &'r mut Recorder<'w>,
    written: &'r mut Vec<(PathBuf, PathBuf)>,
    /// How a command's server answered first, where it was waited for.
    usual: Option<u16>,
}

impl Run<'_, '_, '_> {
    fn whole(&mut self) -> Result<(), LabError> {
        self.head()?;
        let baseline = Limits { limits: self.system.limits(self.system.baseline()) };
        self.recorder.now(None, What::Limits(baseline))?;
        for text in self.system.baseline().told() {
            self.recorder.note(None, WHERE, text)?;
        }
        if let Some(text) = elsewhere::told(self.system.baseline().rewrites()) {
            self.recorder.note(None, elsewhere::NOTE, text)?;
        }
        if let Some(text) = scenario::told(&self.job.plan.load) {
            self.recorder.note(None, scenario::NOTE, text)?;
        }
        let tls = matches!(self.system.baseline().transport(), Transport::Tls(_));
        if let Some(text) = listener::sent(&self.job.plan.load.request.host, tls) {
            self.recorder.note(None, listener::NOTE, text)?;
        }
        if let Some(text) = self.system.handshakes() {
            self.recorder.note(None, handshakes::NOTE, text)?;
        }
        let unresumed = matches!(self.system.baseline().transport(), Transport::Tls(tls) if !tls.resume);
        if self.job.plan.system.front.no_resume && !unresumed {
            let text = "--no-resume does nothing here: the load comes without TLS, or to a cluster".to_owned();
            self.recorder.note(None, handshakes::NOTE, text)?;
        }
        if let Some(text) = redact::told(&self.job.plan.system) {
            self.recorder.note(None, redact::NOTE, text)?;
        }
        while !self.job.interrupt.is_stopped() {
            let Next::Trial(what) = tuning::next(self.recorder.record()) else { break };
            if self.trial(&what)? == EndReason::Interrupted {
                break;
            }
        }
        self.bisect()?;
        self.unasked()?;
        self.unexplained()?;
        if self.job.write { self.write() } else { Ok(()) }
    }

    /// Says where nothing was named what the log has of limits that other requests of the scenario met.
    fn unexplained(&mut self) -> Result<(), LabError> {
        let record = self.recorder.record();
        let load = &self.job.plan.load;
        if scenario::told(load).is_none() || findings(record).verdict.because() != Because::NoCauseFound {
            return Ok(());
        }
        scenario::unexplained(record, load).map_or(Ok(()), |text| self.recorder.note(None, "unexplained", text))
    }

    /// Says where nothing was named and the backend, which is somebody else's, could not be asked without the product.
    fn unasked(&mut self) -> Result<(), LabError> {
        let (backend, baseline) = (&self.system.backend, self.system.baseline());
        let asked = self.system.limits(baseline).iter().any(|limit| limit.id == BACKEND_BY_ITSELF);
        let named = findings(self.recorder.record()).verdict.because() != Because::NoCauseFound;
        if named || asked || backend.is_ours() || self.system.is_unasked() || self.job.interrupt.is_stopped() {
            return Ok(());
        }
        if scenario::told(&self.job.plan.load).is_some() {
            return Ok(()); // It says so: nobody's backend is asked for what a scenario asks for.
        }
        let far = self.job.plan.load.scale.is_spread();
        let why = unasked(backend.alone(), &backend.places(), baseline.is_stacked(), far);
        let product = &self.job.plan.system.product;
        let text = format!("the backend was not asked by itself, without {product}: {why}");
        self.recorder.note(None, "backend-not-asked", text)
    }

    fn head(&mut self) -> Result<(), LabError> {
        let rewrites = self.system.baseline().rewrites();
        self.recorder.now(None, self.job.head(self.system.environment().clone(), rewrites))
    }

    /// Whether no trial was made yet.
    fn is_first(&self) -> bool {
        self.recorder.record().trials.is_empty()
    }

    /// Whether the record has this note.
    fn is_noted(&self, text: &str) -> bool {
        let is_it = |event: &Event| matches!(&event.what, What::Note(note) if note.text == text);
        self.recorder.record().remarks.iter().any(is_it)
    }

    /// One trial: a fresh server with the changes asked for, load, server down.
    fn trial(&mut self, what: &TrialPlan) -> Result<EndReason, LabError> {
        let step = Step { purpose: what.purpose, changes: what.changes.clone(), limit: what.limit.clone() };
        self.recorder.now(None, What::Step(step))?;
        if what.purpose == Purpose::Direct {
            return self.direct(what);
        }
        let product = self.system.variant(&what.changes, self.folder)?;
        // What the backend still does of the trial before would be in the time of a request.
        if !self.drained(DRAIN)? {
            return Ok(EndReason::Interrupted);
        }
        let shaken = self.system.shake(&*product, &self.job.plan.load);
        // Nobody waits for it any more, whatever came of it.
        if self.job.interrupt.is_stopped() {
            return Ok(EndReason::Interrupted);
        }
        if let Some(text) = shaken? {
            self.recorder.note(None, handshakes::NOTE, text)?;
        }
        let Some(mut server) = self.ready(what, &*product)? else { return Ok(self.unloaded()) };
        if let Some(text) = listener::told(product.own_rewrites(), server.address()).filter(|_| self.is_first()) {
            self.recorder.note(None, listener::NOTE, text)?;
        }
        for text in product.apart(server.address()).into_iter().chain(unstored::told(product.rewrites())) {
            if !self.is_noted(&text) {
                self.recorder.note(None, original::APART, text)?;
            }
        }
        let load = trial::shape(&self.job.plan.load, what);
        let failed = self.ask(what, &*product, &mut *server)?;
        let follows = failed.is_some_and(|failed| self.system.follows(&*product, &load, failed));
        if failed == Some(true) || follows {
            server.stop();
            self.state(ServerState::Stopped, None)?;
            if follows && let Some(text) = self.system.follow(&*product, &load, self.folder)? {
                self.recorder.note(None, FOLLOWED, text)?;
            }
            let Some(anew) = self.ready(what, &*product)? else { return Ok(self.unloaded()) };
            server = anew;
        }
        self.recorder.now(None, What::Limits(Limits { limits: self.system.limits(&*product) }))?;
        let ended = self.load(what, &mut *server, product.transport());
        let unseen =
            server.blind(true).map(|why| LabError::Environment(format!("nothing is seen of the server: {why}")));
        let killed = server.stop().signal() == Some(Signal::SIGKILL as i32);
        self.state(ServerState::Stopped, None)?;
        if killed && ended.as_ref().is_ok_and(|ended| *ended != EndReason::ServerDied) {
            self.unwilling()?;
        }
        ended.and_then(|ended| unseen.map_or(Ok(ended), Err))
    }

    /// Notes once that a server that genkai does not know had to be killed.
    fn unwilling(&mut self) -> Result<(), LabError> {
        let text = "after a trial the command did not end when it was asked to (SIGTERM), and was killed";
        if self.job.plan.system.command.is_none() || self.is_noted(text) {
            return Ok(());
        }
        self.recorder.note(None, "killed", text.to_owned())
    }

    /// The server of a trial, which answers; none where the value that is to be tried cannot be used, or nobody waits for it any more.
    fn ready(&mut self, what: &TrialPlan, product: &dyn Prepared) -> Result<Option<Box<dyn Running>>, LabError> {
        // What does not answer once may not by chance.
        let mut again = self.is_tried(what);
        loop {
            let Some(mut server) = self.started(what, product)? else { return Ok(None) };
            let (came, address) = (self.asking(what, product, &mut *server), server.address());
            if matches!(came, Ok(Asking::Answers(_))) {
                self.state(ServerState::Ready, Some(address.to_string()))?;
                return Ok(Some(server));
            }
            server.stop();
            let (said, listens) = match came? {
                Asking::Silent(said) => (said, true),
                Asking::Ended(said) => (said, false),
                Asking::Answers(_) | Asking::Interrupted => return Ok(None),
            };
            if !std::mem::take(&mut again) {
                return match self.unusable(what, &said, listens)? {
                    true => Ok(None),
                    false => Err(self.unanswered(address, &said)),
                };
            }
        }
    }

    /// How a trial ended that came to no load.
    fn unloaded(&self) -> EndReason {
        if self.job.interrupt.is_stopped() { EndReason::Interrupted } else { EndReason::Completed }
    }

    /// Makes one request before the first load, and follows it; whether the server remembers a failure now. None where it makes none.
    fn ask(
        &mut self,
        what: &TrialPlan,
        product: &dyn Prepared,
        server: &mut dyn Running,
    ) -> Result<Option<bool>, LabError> {
        let far = self.system.is_elsewhere() && self.job.plan.load.scale.is_spread();
        // One that others load may be one that this machine does not reach.
        if !self.recorder.record().trials.is_empty() || far {
            return Ok(None);
        }
        let load = scenario::aimed(&trial::shape(&self.job.plan.load, what), server.address(), product.transport());
        let (name, answers) = (product.product(), product.answers(&load.request));
        let first = first::answer(name, &answers, &load, server, &mut self.system.backend);
        self.recorder.before(first.seen)?;
        self.system.answered = first.by;
        first.told.map_or(Ok(()), |text| self.recorder.note(None, first::NOTE, text))?;
        if let Some(said) = first.failing {
            self.faithful(&load, &said, product, server.address())?;
        }
        Ok(Some(first.failed))
    }

    /// Asks the user's own server what its private copy fails at, where it runs.
    ///
    /// # Errors
    /// When it does not fail there: the copy is unlike it.
    fn faithful(&self, load: &Load, said: &str, product: &dyn Prepared, copy: SocketAddr) -> Result<(), LabError> {
        let own = original::at(&self.job.plan.system, product.rewrites(), copy);
        let unlike = own.and_then(|at| original::otherwise(load, said, product.product(), (at, copy)));
        unlike.map_or(Ok(()), |why| Err(LabError::Environment(why)))
    }

    /// The load straight at the backend: nothing of the product runs.
    fn direct(&mut self, what: &TrialPlan) -> Result<EndReason, LabError> {
        let nowhere = || LabError::Environment("it is not known where the backend listens".to_owned());
        let address = self.system.backend.alone().ok_or_else(nowhere)?;
        let limits = self.system.limits(self.system.baseline());
        self.recorder.now(None, What::Limits(Limits { limits }))?;
        if !self.drained(DRAIN)? {
            return Ok(EndReason::Interrupted);
        }
        let transport = self.system.directly().map_or(Transport::Tcp, |load| load.transport.clone());
        self.load(what, &mut Nobody(address), transport)
    }

    /// Waits until the backend has nothing left to do, for a minute or `most`; false: interrupted meanwhile.
    fn drained(&mut self, most: Duration) -> Result<bool, LabError> {
        let idle = self.system.drain(&self.job.plan.load, DRAIN.min(most), self.job.interrupt);
        if self.job.interrupt.is_stopped() {
            return Ok(false);
        }
        if !idle {
            self.recorder.note(
                None,
                "backend-not-idle",
                "the backend still works on requests of the trial before".to_owned(),
            )?;
        }
        Ok(true)
    }

    fn load(
        &mut self,
        what: &TrialPlan,
        server: &mut dyn Running,
        transport: Transport,
    ) -> Result<EndReason, LabError> {
        let direct = self.system.directly().filter(|_| what.purpose == Purpose::Direct);
        let load = trial::shape(direct.unwrap_or(&self.job.plan.load), what);
        let load = scenario::aimed(&load, server.address(), transport);
        self.sent(what, server, load)
    }

    /// This load, sent to a server.
    fn sent(&mut self, what: &TrialPlan, server: &mut dyn Running, load: Load) -> Result<EndReason, LabError> {
        let address = server.address();
        if self.recorder.record().trials.is_empty() {
            for text in self.system.told() {
                self.recorder.note(None, BEHIND, format!("behind {}: {text}", self.job.plan.system.product))?;
            }
            if let Some(text) = original::apart(&self.job.plan.system, &self.system.asked) {
                self.recorder.note(None, original::APART, text)?;
            }
        }
        let load = self.fitted(load)?;
        let pinning = self.system.environment().pinning.clone();
        let trial = Trial {
            number: self.recorder.record().trials.len() as u32 + 1,
            what,
            plan: &self.job.plan,
            load,
            generator: Generator { places: self.places, cpus: pinning.as_ref().map(|p| p.client.as_slice()) },
            interrupt: self.job.interrupt,
        };
        let mut kernel = Kernel::new();
        let listeners = if self.system.is_elsewhere() { Vec::new() } else { vec![address] };
        let backend = &mut self.system.backend;
        let observer = Observer { server, backend, kernel: &mut kernel, listeners };
        trial.run(observer, self.recorder)
    }

    /// The load, cut to what this machine can hold. (The load asked for was checked before; a counterfactual may want
    /// to go beyond it.)
    fn fitted(&self, mut load: Load) -> Result<Load, LabError> {
        let room = headroom::look(&load.addresses, self.system.environment());
        loop {
            let fitted = headroom::fit(&load, &room);
            let fitted = fitted.and_then(|load| self.places.check(&load).map(|()| load));
            match &mut load.arrivals {
                Arrivals::Users { count, .. } if fitted.is_err() && *count > 1 => *count = (*count * 9 / 10).max(1),
                _ => return fitted,
            }
        }
    }

    fn state(&mut self, state: ServerState, detail: Option<String>) -> Result<(), LabError> {
        let subject = self.job.plan.system.product.clone();
        self.recorder.now(None, What::State(State { subject, state, detail }))
    }
}
