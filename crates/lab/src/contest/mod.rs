//! Servers compared: all up with all their clients, then round after round each asked every case once, in an order drawn for
//! that round; servers down, and again for the next start.

mod asker;
mod order;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use genkai_engine::crowd::{Answer, Manner};
use genkai_model::contest::{Case, Collection, Consumption, Contest, Round};
use genkai_model::event::{
    EndReason, Environment, Note, Purpose, RunEnded, RunStarted, SCHEMA, TrialEnded, TrialStarted, What,
};
use genkai_model::histogram::Payload;
use genkai_model::limit::Law;
use genkai_model::plan::Plan;
use genkai_targets::application::{self, Application, Observed, Place};
use nix::time::{ClockId, clock_gettime};

use asker::{Asker, Clients};

use crate::error::LabError;
use crate::folder::Folder;
use crate::recorder::{Recorder, Watcher};
use crate::redact;
use crate::room;
use crate::rooms::{Job, Outcome};
use crate::system::{self, Pin};

/// Descriptors of this process that are no clients.
const OTHERS: u64 = 100;

/// The contest of a plan.
fn contest(plan: &Plan) -> Result<&Contest, LabError> {
    plan.contest.as_ref().ok_or_else(|| LabError::Plan("the plan names no servers to compare".to_owned()))
}

/// Where the applications are: the folder given, else `apps` in the current folder or beside a folder in which genkai's own
/// program lies (it is built into `target/` of its source).
pub fn place(program: &Path, apps: Option<&Path>) -> Place {
    let is_apps = |path: &PathBuf| path.join("protocol").is_dir();
    let near = std::env::current_dir().into_iter().chain(program.ancestors().skip(1).map(Path::to_owned));
    let found = apps.map(Path::to_owned).or_else(|| near.map(|folder| folder.join("apps")).find(is_apps));
    Place { program: program.to_owned(), apps: found }
}

/// Servers that can run here, and why each of the others cannot.
pub fn available(place: &Place) -> (Vec<&'static str>, Vec<String>) {
    let (mut can, mut cannot) = (Vec::new(), Vec::new());
    for product in application::PRODUCTS {
        match product.check(place) {
            Ok(()) => can.push(product.name),
            Err(e) => cannot.push(e.to_string()),
        }
    }
    (can, cannot)
}

/// Checks a plan before anything is started.
///
/// # Errors
/// When it contradicts itself, or something that it needs is missing.
pub fn check(plan: &Plan, place: &Place, pin: &Pin) -> Result<Environment, LabError> {
    let contest = contest(plan)?;
    if contest.contenders.len() < 2 {
        return Err(LabError::Plan("there must be at least two servers to compare".to_owned()));
    }
    for contender in &contest.contenders {
        let product = application::find(&contender.server)?;
        let settings = application::settings::Settings::read(&contender.settings, product.knobs);
        settings.map_err(|why| LabError::Plan(format!("{}: {why}", contender.server)))?;
        product.check(place).map_err(|e| missing(&e, place))?;
    }
    let environment = system::environment(pin, None);
    let needed = u64::from(contest.clients) * contest.contenders.len() as u64 + OTHERS;
    let limit = environment.descriptors.max(genkai_targets::local::machine::hard_descriptors());
    if needed > limit {
        let most = (limit - OTHERS) / contest.contenders.len() as u64;
        return Err(LabError::Environment(format!(
            "{} clients of {} servers need {needed} descriptors in one process, which may have {limit}\n  hint: --clients {most}, \
             or raise the limit (`ulimit -Hn`)",
            contest.clients,
            contest.contenders.len()
        )));
    }
    Ok(environment)
}

fn missing(why: &application::ApplicationError, place: &Place) -> LabError {
    let (can, _) = available(place);
    LabError::Environment(format!("{why}\n  hint: these can run: --servers {}", can.join(",")))
}

/// Makes the run. The folder holds `run.jsonl` afterwards, whatever happened.
///
/// # Errors
/// When the run could not begin. What goes wrong later is in [`Outcome::failure`].
pub fn run(job: &Job<'_>, place: &Place, out: &Path, watcher: &mut Watcher<'_>) -> Result<Outcome, LabError> {
    let environment = check(&job.plan, place, &job.pin)?;
    let folder = Folder::open(out, job.keep)?;
    room::raise_descriptors();
    folder.set_aside()?;
    let mut recorder = Recorder::create(&folder.record(), watcher)?;
    let mut run = Run { job, place, folder: &folder, environment, recorder: &mut recorder };
    let failure = run.whole().err();
    let end = RunEnded {
        interrupted: job.interrupt.is_stopped(),
        failure: failure.as_ref().map(ToString::to_string),
        diff: String::new(),
    };
    let written = recorder.now(None, What::RunEnded(end));
    Ok(Outcome { record: recorder.into_record(), failure: failure.or(written.err()) })
}

struct Run<'r, 'j, 'w> {
    job: &'j Job<'j>,
    place: &'r Place,
    folder: &'r Folder,
    environment: Environment,
    recorder: &'r mut Recorder<'w>,
}

impl Run<'_, '_, '_> {
    fn whole(&mut self) -> Result<(), LabError> {
        let head = RunStarted {
            schema: SCHEMA.to_owned(),
            version: self.job.version.clone(),
            started: self.job.started.clone(),
            command: redact::command(&self.job.command),
            environment: self.environment.clone(),
            plan: redact::plan(&self.job.plan),
            rewrites: Vec::new(),
        };
        self.recorder.now(None, What::RunStarted(Box::new(head)))?;
        let contest = contest(&self.job.plan)?.clone();
        for text in available(self.place).1 {
            self.recorder.now(None, What::Note(Note { id: "server-left-out".to_owned(), text }))?;
        }
        for start in 1..=contest.starts {
            if !self.job.interrupt.is_stopped() {
                self.start(start, &contest)?;
            }
        }
        Ok(())
    }

    /// One start of all servers.
    fn start(&mut self, number: u32, contest: &Contest) -> Result<(), LabError> {
        let purpose = Purpose::Measure;
        let load = redact::load(&self.job.plan.load);
        let started = TrialStarted { purpose, changes: Vec::new(), limit: None, load };
        let began = Instant::now();
        self.recorder.now(Some(number), What::TrialStarted(Box::new(started)))?;
        let cpus = self.environment.pinning.clone();
        let mut servers = Vec::new();
        for contender in &contest.contenders {
            let dir = self.folder.private(&format!("start-{number}-{}", servers.len() + 1))?;
            let product = application::find(&contender.server)?;
            let cores = cpus.as_ref().map(|pinning| &*pinning.servers);
            let server = Application::start(product, contender, self.place, cores, &dir)?;
            self.recorder.now(Some(number), What::Entry(Box::new(server.entry().clone())))?;
            servers.push(server);
        }
        let cpu = cpus.as_ref().and_then(|pinning| pinning.client.first().copied());
        let asked = std::thread::scope(|scope| {
            let (asker, thread) = Asker::start(scope, cpu);
            let asked = self.rounds(number, contest, &mut servers, &asker);
            drop(asker);
            // It has nothing to give; that it panicked is told by its silence.
            let _ = thread.join();
            asked
        });
        servers.into_iter().for_each(Application::stop);
        let reason = match &asked {
            Err(_) => EndReason::EngineFailed,
            Ok(()) if self.job.interrupt.is_stopped() => EndReason::Interrupted,
            Ok(()) => EndReason::Completed,
        };
        let ended =
            TrialEnded { reason, lasted: began.elapsed().into(), abandoned: 0, client_rss: 0, client: None };
        self.recorder.now(Some(number), What::TrialEnded(ended))?;
        asked
    }

    fn rounds(
        &mut self,
        start: u32,
        contest: &Contest,
        servers: &mut [Application],
        asker: &Asker,
    ) -> Result<(), LabError> {
        for (server, contender) in servers.iter().zip(&contest.contenders) {
            let compression = contender.settings.get("compression").is_some_and(|value| value == "on");
            asker.gather(Clients {
                address: server.address(),
                manner: Manner { socketio: server.product().socketio, compression },
                count: contest.clients as usize,
                patience: contest.timeout.duration(),
            })?;
        }
        let lost = vec![false; servers.len()];
        let mut asking = Asking { run: self, start, contest, servers, asker, lost };
        for round in 1..=contest.warm_up + contest.rounds {
            for (contender, case) in order::round(contest, start, round) {
                if asking.run.job.interrupt.is_stopped() {
                    return Ok(());
                }
                asking.ask(contender, case, round)?;
            }
        }
        if start == 1 { asking.probe() } else { Ok(()) }
    }

    fn collected(&mut self, start: u32, contender: &str, seen: &Observed) -> Result<(), LabError> {
        for pause in &seen.pauses {
            let what = Collection {
                contender: contender.to_owned(),
                kind: pause.kind.clone(),
                cause: pause.cause.clone(),
                lasted_ns: pause.lasted_ns,
                before: pause.heap.map(|heap| heap.0),
                after: pause.heap.map(|heap| heap.1),
            };
            self.recorder.at(instant(pause.at_ns), Some(start), What::Collection(what))?;
        }
        for line in &seen.logs {
            self.recorder.now(Some(start), What::Log(line.clone()))?;
        }
        for state in &seen.states {
            self.recorder.now(Some(start), What::State(state.clone()))?;
        }
        Ok(())
    }
}

/// The rounds of one start.
struct Asking<'a, 'r, 'j, 'w> {
    run: &'a mut Run<'r, 'j, 'w>,
    start: u32,
    contest: &'a Contest,
    servers: &'a mut [Application],
    asker: &'a Asker,
    /// Which of them could not be asked once; that was told.
    lost: Vec<bool>,
}

impl Asking<'_, '_, '_, '_> {
    /// Asks one contender one thing and writes down what came of it.
    fn ask(&mut self, contender: usize, case: Case, round: u32) -> Result<(), LabError> {
        let times = |servers: &[Application]| -> Vec<u64> { servers.iter().map(|s| s.used().cpu_us).collect() };
        let before = times(self.servers);
        let answer = match self.asker.ask(contender, case, self.contest.message.0 as usize) {
            Err(LabError::Crowd(e)) if e.is_of_server() => self.gone(contender, case, &e.to_string())?,
            other => other?,
        };
        let ended = Instant::now();
        let after = times(self.servers);
        let spent: Vec<u64> = after.iter().zip(&before).map(|(after, before)| after.saturating_sub(*before)).collect();
        let seen = self.servers[contender].observe();
        let used = Consumption {
            cpu_us: spent[contender],
            others_us: spent.iter().sum::<u64>() - spent[contender],
            heap: answer.heap,
            ..seen.used
        };
        let name = &self.contest.contenders[contender].name;
        self.run.collected(self.start, name, &seen)?;
        let round = Round { round, warm_up: round <= self.contest.warm_up, ..told(name, case, &answer, used) };
        self.run.recorder.at(ended, Some(self.start), What::Round(Box::new(round)))
    }

    /// A contender cannot be asked any more; the others are.
    fn gone(&mut self, contender: usize, case: Case, why: &str) -> Result<Answer, LabError> {
        let name = &self.contest.contenders[contender].name;
        let note = Note { id: "server-gone".to_owned(), text: format!("{name}: {why}") };
        if !std::mem::replace(&mut self.lost[contender], true) {
            self.run.recorder.now(Some(self.start), What::Note(note))?;
        }
        let several = matches!(case, Case::Receive | Case::Send);
        Ok(Answer::none(if several { self.contest.clients.into() } else { 1 }))
    }

    /// Looks which messages of clients each takes.
    fn probe(&mut self) -> Result<(), LabError> {
        for contender in 0..self.servers.len() {
            let limit = self.servers[contender].entry().largest.as_ref().and_then(|limit| match limit.law {
                Law::BodySize { value } => Some(value as u64),
                _ => None,
            });
            if self.contest.contenders[contender].variant {
                continue;
            }
            for case in order::probes(self.contest, limit) {
                if self.run.job.interrupt.is_stopped() {
                    return Ok(());
                }
                self.ask(contender, case, self.contest.warm_up + 1)?;
            }
        }
        Ok(())
    }
}

fn told(contender: &str, case: Case, answer: &Answer, used: Consumption) -> Round {
    Round {
        contender: contender.to_owned(),
        round: 0,
        warm_up: false,
        case,
        figure_ns: answer.figure,
        delays: Payload::encode(&answer.delays),
        due: answer.due,
        missing: answer.missing,
        closes: answer.closes.clone(),
        lasted: answer.lasted.into(),
        client_busy: answer.busy,
        used,
    }
}

/// The instant at which CLOCK_MONOTONIC showed `ns`; now where that is not known.
fn instant(ns: Option<u64>) -> Instant {
    let clock = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |now| Duration::from(now).as_nanos() as u64);
    let ago = ns.map_or(0, |ns| clock.saturating_sub(ns));
    Instant::now().checked_sub(Duration::from_nanos(ago)).unwrap_or_else(Instant::now)
}
