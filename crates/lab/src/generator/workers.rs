//! Worker processes as genkai sees them: started, told when to begin, listened to, stopped. None outlives the load.

use std::io::BufReader;
use std::path::PathBuf;
use std::process::{ChildStdin, Command};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use genkai_engine::{End, Join, Start, StopFlag};
use genkai_model::event::Tick;
use genkai_model::load::Load;
use genkai_place::machine;
use genkai_place::process::{Child, Signal, Spawn};

use super::protocol::{Go, Order, Said, read, write};
use super::{Generator, LoadEnd, nothing};
use crate::error::LabError;

/// How often the wish to stop is looked at while nothing is said.
const POLL: Duration = Duration::from_millis(20);
/// How long workers may take until their threads are ready.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// From the word to begin to the beginning: long enough for every worker to have heard it, and to sleep until then.
const AHEAD: Duration = Duration::from_millis(100);
/// How long after its planned end, or a wish to stop, a worker may say nothing of its end. Closing handshakes take a minute
/// at most (engine, `thread`).
const GRACE: Duration = Duration::from_secs(75);
/// How long a worker has to end once it has said its last.
const END_WITHIN: Duration = Duration::from_secs(2);

/// What is heard of a worker.
enum Heard {
    Said(Said),
    /// Nothing more will be: why, if it is known.
    Gone(Option<String>),
}

struct Worker {
    child: Child,
    /// Its end is the word to stop.
    orders: Option<ChildStdin>,
    /// Whether its part is over, or given up.
    over: bool,
}

struct Workers {
    all: Vec<Worker>,
    inbox: Receiver<(usize, Heard)>,
    end: End,
    failure: Option<LabError>,
    /// When those that are not over are given up.
    deadline: Instant,
    stopping: bool,
    _logs: tempfile::TempDir,
}

/// Makes `load` in `many` workers.
pub(super) fn run(
    generator: &Generator<'_>,
    load: &Load,
    many: u16,
    stop: &StopFlag,
    started: impl FnOnce(Instant),
    tick: impl FnMut(Tick),
) -> Result<LoadEnd, LabError> {
    let mut workers = Workers::start(generator, load, many)?;
    if workers.wait_ready(stop)? {
        workers.begin(load)?;
        started(Instant::now() + AHEAD);
        workers.collect(load, stop, tick);
    }
    let Workers { all, end, failure, .. } = workers;
    for mut worker in all {
        drop(worker.orders.take());
        worker.child.stop(Signal::SIGTERM, END_WITHIN);
    }
    Ok(LoadEnd { end, failure })
}

impl Workers {
    fn start(generator: &Generator<'_>, load: &Load, many: u16) -> Result<Workers, LabError> {
        let logs = tempfile::Builder::new()
            .prefix("genkai-workers-")
            .tempdir()
            .map_err(LabError::folder(std::env::temp_dir()))?;
        let (tell, inbox) = mpsc::channel();
        let mut workers = Workers {
            all: Vec::with_capacity(usize::from(many)),
            inbox,
            end: nothing(),
            failure: None,
            deadline: Instant::now() + READY_WITHIN,
            stopping: false,
            _logs: logs,
        };
        for process in 0..many {
            let log = workers._logs.path().join(format!("worker-{process}.log"));
            let order = Order { load: load.clone(), process, of: many, cpus: rotated(generator.cpus, process) };
            workers.all.push(Worker::start(generator, order, log, &tell)?);
        }
        Ok(workers)
    }

    /// Whether all are ready; false when the user wants to stop before.
    fn wait_ready(&mut self, stop: &StopFlag) -> Result<bool, LabError> {
        let mut waiting = self.all.len();
        while waiting > 0 {
            if stop.is_stopped() {
                self.end.stopped = true;
                return Ok(false);
            }
            match self.inbox.recv_timeout(POLL) {
                Ok((_, Heard::Said(Said::Ready))) => waiting -= 1,
                Ok((_, Heard::Said(Said::Failed { usage: true, message }))) => return Err(LabError::Plan(message)),
                Ok((_, Heard::Said(Said::Failed { usage: false, message }))) => {
                    return Err(LabError::Environment(message));
                }
                Ok((_, Heard::Said(Said::Tick(_) | Said::Ended(_)))) => {}
                Ok((n, Heard::Gone(why))) => return Err(self.died(n, why)),
                Err(_) if Instant::now() < self.deadline => {}
                Err(_) => {
                    let all = self.all.len();
                    return Err(LabError::Environment(format!(
                        "{waiting} of {all} worker processes were not ready within {} s\n  hint: the machine may be too busy; \
                         try fewer --processes",
                        READY_WITHIN.as_secs()
                    )));
                }
            }
        }
        Ok(true)
    }

    /// Tells all to begin, at one instant.
    fn begin(&mut self, load: &Load) -> Result<(), LabError> {
        let Start(start) = Start::now().after(AHEAD);
        for n in 0..self.all.len() {
            let said = self.all[n].orders.as_mut().map(|to| write(to, &Go { start }));
            if let Some(Err(e)) = said {
                return Err(self.died(n, Some(e.to_string())));
            }
        }
        let planned = Instant::now().checked_add(AHEAD + load.stop.after.duration() + GRACE);
        self.deadline = planned.unwrap_or_else(|| Instant::now() + Duration::from_secs(u64::from(u32::MAX)));
        Ok(())
    }

    /// Joins what workers say until every part is over.
    fn collect(&mut self, load: &Load, stop: &StopFlag, mut tick: impl FnMut(Tick)) {
        let mut join = Join::new(load, self.all.len());
        while !join.is_done() {
            if stop.is_stopped() || self.failure.is_some() {
                self.stop();
            }
            match self.inbox.recv_timeout(POLL) {
                Ok((n, received)) => self.hear(n, received, &mut join),
                Err(RecvTimeoutError::Timeout) if Instant::now() < self.deadline => {}
                Err(_) => self.give_up(&mut join),
            }
            for merged in join.by_ref() {
                let most = merged.most.unwrap_or(merged.connections);
                self.end.client.connections = self.end.client.connections.max(most);
                self.end.lasted = self.end.lasted.max(genkai_model::units::Span(merged.to_us * 1_000));
                tick(merged);
            }
        }
    }

    fn hear(&mut self, n: usize, received: Heard, join: &mut Join) {
        if self.all[n].over {
            return;
        }
        let lost = match received {
            Heard::Said(Said::Tick(one)) => match join.push(n, &one) {
                Ok(()) => return,
                Err(e) => Some(self.died(n, Some(e.to_string()))),
            },
            Heard::Said(Said::Ready) => return,
            Heard::Said(Said::Ended(ended)) => {
                ended.add_to(&mut self.end);
                None
            }
            Heard::Said(Said::Failed { message, .. }) => Some(self.died(n, Some(message))),
            Heard::Gone(why) => Some(self.died(n, why)),
        };
        self.all[n].over = true;
        join.end(n);
        if self.failure.is_none() {
            self.failure = lost;
        }
    }

    /// Has all end their parts.
    fn stop(&mut self) {
        if std::mem::replace(&mut self.stopping, true) {
            return;
        }
        for worker in &mut self.all {
            drop(worker.orders.take());
        }
        self.deadline = self.deadline.min(Instant::now() + GRACE);
    }

    /// Nobody waits for those that are not over any more.
    fn give_up(&mut self, join: &mut Join) {
        for n in 0..self.all.len() {
            if !self.all[n].over {
                self.hear(n, Heard::Gone(Some("it did not say how its part ended".to_owned())), join);
            }
        }
    }

    /// The error for a worker that is gone, or no use any more.
    fn died(&mut self, n: usize, why: Option<String>) -> LabError {
        let all = self.all.len();
        let child = &mut self.all[n].child;
        // Its output has ended: so will it, in a moment.
        let deadline = Instant::now() + END_WITHIN;
        while child.try_exited().is_none() && why.is_none() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        let status = child.try_exited().map(|status| status.to_string());
        let why: Vec<String> = why.into_iter().chain(status).collect();
        let words = child.last_words();
        let words = if words.is_empty() { words } else { format!("; its last words:\n{words}") };
        LabError::Environment(format!(
            "worker process {} of {all} was lost ({}){words}\n  hint: what was measured up to then is kept; a worker that was \
             killed may have had too little memory",
            n + 1,
            why.join(", ")
        ))
    }
}

impl Worker {
    fn start(
        generator: &Generator<'_>,
        order: Order,
        log: PathBuf,
        tell: &Sender<(usize, Heard)>,
    ) -> Result<Worker, LabError> {
        let mut command = Command::new(generator.program);
        command.arg("worker");
        let spawn = Spawn {
            name: format!("worker process {}", order.process + 1),
            log: Some(log),
            nofile: Some(machine::hard_descriptors()),
            ..Spawn::default()
        };
        let mut child = Child::conversing(command, spawn)?;
        let (Some(mut orders), Some(output)) = (child.take_stdin(), child.take_stdout()) else {
            return Err(LabError::Environment("a worker process without pipes".to_owned()));
        };
        let (n, tell) = (usize::from(order.process), tell.clone());
        let listen = move || {
            let mut output = BufReader::new(output);
            let why = loop {
                match read::<Said>(&mut output) {
                    Ok(Some(said)) => {
                        // Fails when nobody listens any more.
                        if tell.send((n, Heard::Said(said))).is_err() {
                            return;
                        }
                    }
                    Ok(None) => break None,
                    Err(e) => break Some(e.to_string()),
                }
            };
            let _ = tell.send((n, Heard::Gone(why)));
        };
        thread::Builder::new()
            .name(format!("worker-{n}"))
            .spawn(listen)
            .map_err(|e| LabError::Environment(format!("cannot start a thread: {e}")))?;
        // Should it have died already, that is heard.
        let _ = write(&mut orders, &order);
        Ok(Worker { child, orders: Some(orders), over: false })
    }
}

/// Cores in turn, each process beginning with the next one.
fn rotated(cpus: Option<&[usize]>, process: u16) -> Option<Vec<usize>> {
    let mut cpus = cpus?.to_vec();
    let by = usize::from(process) % cpus.len().max(1);
    cpus.rotate_left(by);
    Some(cpus)
}
