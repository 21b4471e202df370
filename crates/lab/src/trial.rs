//! The story of one trial: servers up, a first look, load, looks and intervals written down as they come, a decision at
//! every interval whether to go on, a last look, servers down.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use genkai_analysis::capacity::demand;
use genkai_analysis::diagnosis::onset::Onset;
use genkai_analysis::diagnosis::watch::Watch;
use genkai_analysis::refusals;
use genkai_analysis::tuning::{self, TrialPlan};
use genkai_engine::{Hold, StopFlag};
use genkai_model::event::{EndReason, Purpose, ServerState, Tick, TrialStarted, What};
use genkai_model::load::{Arrivals, Load, Protocol, Stop};
use genkai_model::plan::Plan;
use genkai_model::units::Span;
use genkai_model::websocket::WebSocket;

use crate::error::LabError;
use crate::generator::{Generator, LoadEnd, LoadEvent, into, received};
use crate::observer::{self, Look, Observer};
use crate::recorder::Recorder;
use crate::redact;

/// How often the interrupt is looked at while nothing else happens.
const POLL: Duration = Duration::from_millis(50);

/// How long a server that took connections must refuse them to be given up.
const REFUSING: Duration = Duration::from_millis((refusals::LONG * 1000.0) as u64);

/// Most messages of a member of a room in a trial: a bit each is kept for each member.
const MOST_MESSAGES: u32 = 100_000;

/// What a trial is made of.
pub struct Trial<'a> {
    /// Number, from 1.
    pub number: u32,
    /// What is tried.
    pub what: &'a TrialPlan,
    /// The run's plan.
    pub plan: &'a Plan,
    /// The load, addresses filled in.
    pub load: Load,
    /// Makes it.
    pub generator: Generator<'a>,
    /// Set when the user wants to stop.
    pub interrupt: &'a StopFlag,
}

/// What the threads of a trial tell the one that writes.
enum Message {
    Load(LoadEvent),
    Look(Look),
}

impl From<LoadEvent> for Message {
    fn from(told: LoadEvent) -> Message {
        Message::Load(told)
    }
}

/// The plan's load at the level and pace of one trial.
pub fn shape(load: &Load, what: &TrialPlan) -> Load {
    let after = Span(what.ramp.0 + what.hold.0);
    let arrivals = match load.arrivals {
        Arrivals::Users { think, .. } => {
            let count = what.level.round().max(1.0) as u32;
            let spawn_rate = if what.ramp.0 == 0 { 1e6 } else { f64::from(count) / what.ramp.as_secs_f64() };
            Arrivals::Users { count, spawn_rate, think }
        }
        Arrivals::Rate { spacing, connections, .. } => {
            Arrivals::Rate { per_second: what.level, ramp: what.ramp, spacing, connections }
        }
    };
    // Golden-ratio steps keep the drawings of neighbouring seeds apart.
    let seed = load.seed ^ u64::from(what.draw).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut shaped = Load { arrivals, seed, stop: Stop { after, requests: load.stop.requests }, ..load.clone() };
    if let Protocol::WebSocket(WebSocket { rooms: Some(rooms), .. }) = &mut shaped.protocol {
        // They talk to the end.
        rooms.messages = after.0.div_ceil(rooms.every.0.max(1)).min(u64::from(MOST_MESSAGES)) as u32 + 1;
    }
    shaped
}

impl Trial<'_> {
    /// Whether the trial ends as soon as the break is certain.
    fn is_search(&self) -> bool {
        use Purpose::{Bisect, Break, Counterfactual, Direct, Repeat, Smaller};
        matches!(self.what.purpose, Break | Counterfactual | Repeat | Direct | Bisect | Smaller)
    }

    /// Makes the load against running servers and writes down what is seen.
    ///
    /// # Errors
    /// When the record cannot be written or the generator fails; the load is stopped first in any case.
    pub fn run(&self, mut observer: Observer<'_>, recorder: &mut Recorder<'_>) -> Result<EndReason, LabError> {
        let load_stop = StopFlag::new();
        let (look_stop, hold) = (StopFlag::new(), Hold::new());
        let before = observer.look();
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            self.generator.spawn(scope, &self.load, (&load_stop, &hold), into(sender.clone()));
            let stop = look_stop.clone();
            scope.spawn(move || observer.watch(&stop, observer::into(&sender, Message::Look), Instant::now()));
            let watch = Watch::new(&self.load, &self.plan.objective, &self.plan.procedure);
            let (early, refusing, holder) = (vec![before], None, Holder::new(self, hold));
            let (started, broke, reason) = (false, None, None);
            let mut scribe = Scribe { trial: self, recorder, early, started, watch, broke, holder, refusing, reason };
            let result = loop {
                if self.interrupt.is_stopped() {
                    scribe.reason.get_or_insert(EndReason::Interrupted);
                }
                if scribe.reason.is_some() {
                    load_stop.stop();
                }
                let told =
                    received(&receiver, POLL).and_then(|message| message.map_or(Ok(None), |one| scribe.take(one)));
                match told {
                    Ok(None) => {}
                    Ok(Some(end)) => break Ok(end),
                    Err(e) => break Err(e),
                }
            };
            load_stop.stop();
            look_stop.stop();
            let end = result?;
            for message in receiver {
                scribe.take(message)?;
            }
            scribe.close(end)
        })
    }
}

/// How often a load may be held until the patience is over.
const HOLDS: u64 = 3;

/// Holds the load as it is while requests wait of which it is not known yet whether they get an answer: a verdict may rest on them only
/// when they had none for as long as is patient.
struct Holder {
    hold: Hold,
    /// Level at which it may be held: any in a search, whose load need not rise further; its highest in a proof, which sends it all.
    from: f64,
    /// For how long it may still be held, microseconds.
    left_us: u64,
    held: bool,
}

impl Holder {
    fn new(trial: &Trial<'_>, hold: Hold) -> Holder {
        let from = if trial.is_search() { 0.0 } else { demand::asked(&trial.load) };
        let plain = trial.load.stages.is_empty() && trial.load.is_one_request();
        let left_us = if plain { trial.load.patience().0 / 1_000 * HOLDS } else { 0 };
        Holder { hold, from, left_us, held: false }
    }

    fn tick(&mut self, tick: &Tick, suspects: bool, broke: bool) {
        let wanted = suspects && !broke && tick.level >= self.from && self.left_us > 0;
        if wanted {
            self.left_us = self.left_us.saturating_sub(tick.to_us.saturating_sub(tick.from_us));
        }
        match (self.held, wanted) {
            (false, true) => self.hold.begin(),
            (true, false) => self.hold.end(),
            _ => {}
        }
        self.held = wanted;
    }
}

/// Writes a trial down in the right order.
struct Scribe<'a, 'r, 'w> {
    trial: &'a Trial<'a>,
    recorder: &'r mut Recorder<'w>,
    /// Looks from before the load, kept until the trial has a beginning.
    early: Vec<Look>,
    started: bool,
    /// Looks for the break. Trials of a search end with it; proof trials always run their whole length.
    watch: Watch,
    /// The break, from when it was certain on.
    broke: Option<Onset>,
    holder: Holder,
    /// Since when a server refuses connections that took some before: the load goes on until it is known whether it comes back.
    refusing: Option<Instant>,
    /// Why the load is to end before its time.
    reason: Option<EndReason>,
}

impl Scribe<'_, '_, '_> {
    /// Takes one message; gives the end of the load when it has come.
    fn take(&mut self, message: Message) -> Result<Option<LoadEnd>, LabError> {
        match message {
            Message::Load(LoadEvent::Started(at)) => self.begin(at)?,
            Message::Load(LoadEvent::Tick(tick)) => {
                let breaks = self.watch.tick(&tick);
                let broke = breaks.is_some();
                self.broke = self.broke.or(breaks);
                match self.refusing.map(|since| since.elapsed() >= REFUSING) {
                    Some(true) => drop(self.reason.get_or_insert(EndReason::ServerDied)),
                    None if self.may_end(tick.to_us) => drop(self.reason.get_or_insert(EndReason::BreakSeen)),
                    _ => {}
                }
                self.holder.tick(&tick, self.watch.suspects(), broke);
                self.recorder.now(Some(self.trial.number), What::Tick(tick))?;
            }
            Message::Look(look) if self.started => self.look(look)?,
            Message::Look(look) => self.early.push(look),
            Message::Load(LoadEvent::Ended(end)) => return Ok(Some((*end)?)),
        }
        Ok(None)
    }

    /// Whether a trial of a search has seen what it is made for, at this moment of its load.
    fn may_end(&self, now_us: u64) -> bool {
        let purpose = self.trial.what.purpose;
        self.trial.is_search() && self.broke.is_some_and(|broke| tuning::may_end(purpose, &broke, now_us))
    }

    fn begin(&mut self, at: Instant) -> Result<(), LabError> {
        self.started = true;
        let what = self.trial.what;
        let started = TrialStarted {
            purpose: what.purpose,
            changes: what.changes.clone(),
            limit: what.limit.clone(),
            load: redact::load(&self.trial.load),
        };
        self.recorder.at(at, Some(self.trial.number), What::TrialStarted(Box::new(started)))?;
        for look in std::mem::take(&mut self.early) {
            self.look(look)?;
        }
        Ok(())
    }

    fn look(&mut self, look: Look) -> Result<(), LabError> {
        for state in &look.seen.states {
            match state.state {
                ServerState::Died => drop(self.reason.get_or_insert(EndReason::ServerDied)),
                ServerState::Refuses => drop(self.refusing.get_or_insert_with(Instant::now)),
                ServerState::Ready => self.refusing = None,
                _ => {}
            }
        }
        self.recorder.look(look.at, self.trial.number, look.seen)?;
        // Without a look at the server no cause can be told from what is left.
        look.blind.map_or(Ok(()), |why| Err(LabError::Environment(format!("nothing is seen of the server: {why}"))))
    }

    fn close(&mut self, made: LoadEnd) -> Result<EndReason, LabError> {
        let reason = if made.failure.is_some() { EndReason::EngineFailed } else { EndReason::Completed };
        let reason = self.reason.unwrap_or(reason);
        self.recorder.now(Some(self.trial.number), What::TrialEnded(made.ended(reason)))?;
        made.failure.map_or(Ok(reason), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_drawing_has_another_seed() {
        let (load, second) = (Load::users(4, 2.0), Span::from_secs(1));
        let seed = |draw| {
            let (purpose, changes, limit) = (Purpose::Baseline, Vec::new(), None);
            shape(&load, &TrialPlan { purpose, changes, limit, level: 4.0, ramp: second, hold: second, draw }).seed
        };
        let [first, second, third] = [0, 1, 2].map(seed);
        assert!(first == load.seed && first != second && second != third && third != first);
    }
}
