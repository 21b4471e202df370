//! Servers compared: all up with all their clients, then round after round each asked every case once, in an order drawn for
//! that round; servers down, and again for the next start.

mod asker;
mod asking;
mod check;
mod order;

use std::time::Instant;

use genkai_engine::broadcast::ClientOptions;
use genkai_model::event::{EndReason, Environment, TrialEnded, TrialStarted, What};
use genkai_model::latencies::LatencyComparison;
use genkai_model::transport::Transport;
use genkai_targets::application::{self, Application};

use asker::{Asker, ClientThread};
use asking::Asking;
pub use check::{available, place};
pub(crate) use check::{check, runs};

use crate::error::LabError;
use crate::folder::Folder;
use crate::generator::{Crowd, MANY_LOADS, Workplaces};
use crate::job::{Job, Outcome};
use crate::recorder::{Recorder, Watcher};
use crate::redact;
use crate::scenario;

/// Makes the run.
///
/// # Errors
/// When the run could not begin. What goes wrong later is in [`Outcome::failure`].
pub(crate) fn run(
    job: &Job<'_>,
    comparison: &LatencyComparison,
    watcher: &mut Watcher<'_>,
) -> Result<Outcome, LabError> {
    let environment = check(&job.plan, comparison, &job.place, &job.pin)?;
    let scale = &job.plan.load.scale;
    let places = &Workplaces::open(&job.place.program, scale, &[], MANY_LOADS, job.interrupt)?;
    // The servers are not up yet; they will listen there.
    let front = (job.plan.system.front.address(), 80).into();
    places.check(&scenario::aimed(&job.plan.load, front, Transport::Tcp))?;
    places.have_clients(|has| check::fits(comparison, scale, has))?;
    job.recorded(
        watcher,
        |_| Ok(()),
        |(), folder, recorder| Run { job, places, folder, environment, recorder }.whole(comparison),
    )
}

struct Run<'r, 'j, 'w> {
    job: &'j Job<'j>,
    places: &'r Workplaces,
    folder: &'r Folder,
    environment: Environment,
    recorder: &'r mut Recorder<'w>,
}

impl Run<'_, '_, '_> {
    fn whole(&mut self, comparison: &LatencyComparison) -> Result<(), LabError> {
        self.recorder.now(None, self.job.head(self.environment.clone(), &[]))?;
        for text in available(&self.job.place).1 {
            self.recorder.note(None, "server-left-out", text)?;
        }
        for start in 1..=comparison.starts {
            if !self.job.interrupt.is_stopped() {
                self.start(start, comparison)?;
            }
        }
        Ok(())
    }

    /// One start of all servers.
    fn start(&mut self, number: u32, comparison: &LatencyComparison) -> Result<(), LabError> {
        let started = TrialStarted::measure(redact::load(&self.job.plan.load));
        let began = Instant::now();
        self.recorder.now(Some(number), What::TrialStarted(Box::new(started)))?;
        let cpus = self.environment.pinning.clone();
        let mut servers = Vec::new();
        for contender in &comparison.contenders {
            let dir = self.folder.private(&format!("start-{number}-{}", servers.len() + 1))?;
            let product = application::find(&contender.server)?;
            let cores = cpus.as_ref().map(|pinning| &*pinning.servers);
            let place = (&self.job.place, self.job.plan.system.front.listen);
            let server = Application::start(product, contender, place, cores, &dir)?;
            self.recorder.now(Some(number), What::Contender(Box::new(server.entry().clone())))?;
            servers.push(server);
        }
        let cores = cpus.as_ref().map(|pinning| &*pinning.client);
        let asked = self.asked(number, comparison, &mut servers, cores);
        drop(servers);
        let reason = match &asked {
            Err(_) => EndReason::EngineFailed,
            Ok(()) if self.job.interrupt.is_stopped() => EndReason::Interrupted,
            Ok(()) => EndReason::Completed,
        };
        let ended = TrialEnded {
            reason,
            lasted: began.elapsed().into(),
            abandoned: 0,
            client_rss: 0,
            client: None,
            workers: Vec::new(),
        };
        self.recorder.now(Some(number), What::TrialEnded(ended))?;
        asked
    }

    /// All rounds of a start, by clients on these cores where they are of this machine.
    fn asked(
        &mut self,
        start: u32,
        comparison: &LatencyComparison,
        servers: &mut [Application],
        cores: Option<&[usize]>,
    ) -> Result<(), LabError> {
        let (scale, stop) = (&self.job.plan.load.scale, self.job.interrupt);
        if scale.processes > 1 || scale.is_spread() {
            let clients = (comparison.clients, comparison.timeout.duration());
            let Some(crowd) = Crowd::open(self.places, scale, cores, clients, stop)? else { return Ok(()) };
            return self.rounds(start, comparison, servers, &mut Asker::Processes(Box::new(crowd)));
        }
        std::thread::scope(|scope| {
            let (thread, handle) = ClientThread::start(scope, cores.and_then(|cores| cores.first().copied()));
            let mut asker = Asker::Thread(thread);
            let asked = self.rounds(start, comparison, servers, &mut asker);
            drop(asker);
            // It has nothing to give; that it panicked is told by its silence.
            let _ = handle.join();
            asked
        })
    }

    fn rounds(
        &mut self,
        start: u32,
        comparison: &LatencyComparison,
        servers: &mut [Application],
        asker: &mut Asker<'_>,
    ) -> Result<(), LabError> {
        for (server, contender) in servers.iter().zip(&comparison.contenders) {
            let compression = contender.settings.get("compression").is_some_and(|value| value == "on");
            let options = ClientOptions { socketio: server.product().socketio, compression };
            let clients = (comparison.clients as usize, comparison.timeout.duration());
            asker.gather(server.address(), options, clients)?;
        }
        let lost = vec![false; servers.len()];
        let mut asking = Asking { run: self, start, comparison, servers, asker, lost };
        for round in 1..=comparison.warm_up + comparison.rounds {
            for (contender, case) in order::round(comparison, start, round) {
                if asking.run.job.interrupt.is_stopped() {
                    return Ok(());
                }
                asking.ask(contender, case, round)?;
            }
        }
        if start == 1 { asking.probe() } else { Ok(()) }
    }
}
