//! Worlds drawn at random: possible systems with limits, failures in bursts or at random, servers that stop or refuse, tests in vain.

use genkai_model::error::ErrorKind;
use genkai_model::event::{EndReason, Purpose, RunEnded, ServerState, State, What};
use genkai_model::limit::{BACKEND_BY_ITSELF, Law, Limit, Strength};
use genkai_model::load::Arrivals;
use genkai_model::record::Record;
use genkai_model::units::Span;
use proptest::prelude::*;

use crate::world::parts::*;
use crate::world::{Moment, Seen, World};

/// What happens beside the limits.
#[derive(Clone, Debug)]
pub(crate) enum Trouble {
    /// Nothing.
    None,
    /// So much of all answers fails, at any load, with the product and without.
    Random(f64),
    /// Every so many intervals a burst fails.
    Bursts(u32, f64),
    /// From this level on requests fail, whatever is set.
    Vain(f64),
    /// From this level on answers are late.
    Slow(f64),
    /// Nothing comes back for a while from this second on.
    Drain(f64),
    /// A server dies at this second of the trial.
    Dies(f64, u32),
    /// The generator is late in this trial.
    Late(u32),
}

/// A run drawn at random.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub(crate) users: u32,
    pub(crate) slots: f64,
    pub(crate) descriptors: Option<f64>,
    pub(crate) backend: bool,
    /// Clients that are taken at once; further ones wait, and nothing fails.
    pub(crate) takes: Option<f64>,
    /// Workers said to refuse who waits for a second; the formula is wrong, and they never do.
    pub(crate) workers: Option<f64>,
    pub(crate) trouble: Trouble,
    pub(crate) objective: &'static str,
    pub(crate) think_ms: u64,
    /// Baselines of the proof that hold by luck, one bit a trial.
    pub(crate) lucky: u32,
    /// Proposals that fail by bad luck.
    pub(crate) unlucky: u32,
    pub(crate) pairs: u32,
    /// After how many trials the run ends; and whether its last one was cut short.
    pub(crate) trials: usize,
    pub(crate) cut: Cut,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cut {
    Not,
    Interrupted,
    /// The record ends so many events before its end.
    Off(usize),
}

fn trouble() -> impl Strategy<Value = Trouble> {
    prop_oneof![
        3 => Just(Trouble::None),
        2 => (0.002..0.05f64).prop_map(Trouble::Random),
        1 => ((2u32..9), (0.01..0.3f64)).prop_map(|(every, part)| Trouble::Bursts(every, part)),
        1 => (5.0..40.0f64).prop_map(Trouble::Vain),
        1 => (5.0..60.0f64).prop_map(Trouble::Slow),
        1 => (0.5..4.0f64).prop_map(Trouble::Drain),
        1 => ((0.5..4.0f64), 1u32..5).prop_map(|(at, trial)| Trouble::Dies(at, trial)),
        1 => (1u32..6).prop_map(Trouble::Late),
    ]
}

pub(crate) fn drawn() -> impl Strategy<Value = Drawn> {
    let system = (
        20u32..60,
        20.0..200.0f64,
        proptest::option::of(30.0..200.0f64),
        any::<bool>(),
        trouble(),
        proptest::option::of(5.0..120.0f64),
        proptest::option::of(1.0..5.0f64),
    );
    let objectives = prop_oneof![Just("errors < 0.1%"), Just("errors < 1%, p99 < 500ms"), Just("p95 < 200ms")];
    let luck = prop_oneof![3 => Just(0u32), 1 => any::<u32>(), 1 => Just(u32::MAX)];
    let unlucky = prop_oneof![4 => Just(0u32), 1 => any::<u32>()];
    let cut = prop_oneof![6 => Just(Cut::Not), 1 => Just(Cut::Interrupted), 1 => (1usize..40).prop_map(Cut::Off)];
    let run = (objectives, prop_oneof![Just(0u64), Just(50u64)], luck, unlucky, 0u32..4, 1usize..30, cut);
    (system, run).prop_map(|((users, slots, descriptors, backend, trouble, takes, workers), run)| {
        let (objective, think_ms, lucky, unlucky, pairs, trials, cut) = run;
        let (slots, descriptors, takes) = (slots.round(), descriptors.map(f64::round), takes.map(f64::round));
        Drawn {
            users,
            slots,
            descriptors,
            backend,
            takes,
            workers: workers.map(f64::round),
            trouble,
            objective,
            think_ms,
            lucky,
            unlucky,
            pairs,
            trials,
            cut,
        }
    })
}

/// Workers with 100 ms a request, who refuse whoever waits for a second.
fn few(workers: f64) -> Limit {
    let law = Law::Workers { workers, queue: None, service: Some(0.1), wait: Some(1.0) };
    limit("workers", workers, law, Vec::new(), &[ErrorKind::Status503], true)
}

/// A slot for each client.
fn one_each(value: f64) -> Law {
    Law::Slots { value, reserved: 0.0, idle_cost: 1.0, busy_cost: 1.0, pools: 1.0, soft: 1.0 }
}

impl Drawn {
    fn world(&self) -> World {
        let mut load = users(self.users, f64::from(self.users) / 3.0);
        if let Arrivals::Users { think, .. } = &mut load.arrivals {
            *think = format!("{}ms", self.think_ms).parse().expect("a time");
        }
        let mut plan = plan(load, self.objective);
        (plan.procedure.min_pairs, plan.procedure.max_pairs) = (self.pairs, self.pairs.max(2));
        (plan.procedure.hold, plan.procedure.proof_hold) = (Span::from_secs(2), Span::from_secs(2));
        let numbers = [("slots", self.slots), ("descriptors", self.descriptors.unwrap_or(1e6))];
        let (has_descriptors, backend, takes, workers, one) =
            (self.descriptors.is_some(), self.backend, self.takes, self.workers, self.clone());
        World {
            plan,
            settings: settings(&numbers),
            limits: Box::new(move |s| {
                let mut all = vec![slots(s["slots"]), cpu(1.0, Strength::Supports, None)];
                all.extend(
                    takes.map(|takes| limit("takes", takes, one_each(takes), Vec::new(), &[ErrorKind::Timeout], true)),
                );
                all.extend(workers.map(few));
                all.extend(has_descriptors.then(|| descriptors(s["descriptors"])));
                all.extend(backend.then(|| Limit::named(BACKEND_BY_ITSELF, "backend", "load it bears by itself")));
                all
            }),
            behaviour: Box::new(move |m| one.behave(m)),
        }
    }

    fn behave(&self, m: &Moment<'_>) -> Seen {
        let mut seen = Seen::closed(m.level, 0.1);
        let bit = |bits: u32| bits >> (m.trial % 32) & 1 == 1;
        let lucky = m.purpose == Purpose::Baseline && bit(self.lucky);
        if m.purpose != Purpose::Direct && !lucky {
            self.limits(m, &mut seen);
        }
        if m.purpose == Purpose::Proposal && bit(self.unlucky) && m.t > 1.0 {
            seen.errors.push((ErrorKind::Reset, 30.0));
        }
        self.trouble(m, &mut seen);
        if self.think_ms > 0 {
            seen.in_flight = (m.level / 8.0).floor();
        }
        seen
    }

    fn limits(&self, m: &Moment<'_>, seen: &mut Seen) {
        let fits = ((m.value("slots") * 15.0 / 16.0 - 2.0) / 2.0).floor();
        if m.level > fits {
            seen.errors.push((ErrorKind::EofReused, (m.level - fits) * 5.0));
            (seen.from_level, seen.logs) = (fits, vec![("slots", 3)]);
        }
        let open = ((m.value("descriptors") - 11.0) / 2.0).floor();
        if self.descriptors.is_some() && m.level > open {
            seen.errors.push((ErrorKind::Status500, (m.level - open) * 3.0));
            seen.from_level = if seen.errors.len() == 1 { open } else { seen.from_level.min(open) };
            seen.logs.push(("descriptors", 1));
        }
    }

    fn trouble(&self, m: &Moment<'_>, seen: &mut Seen) {
        let tick = (m.t * 5.0).round() as u32;
        match self.trouble {
            Trouble::None => {}
            Trouble::Random(part) => {
                // Failures come whole, the sooner the more requests there are.
                let failed = (seen.ok * 0.2 * part * f64::from(tick)).floor()
                    - (seen.ok * 0.2 * part * f64::from(tick - 1)).floor();
                seen.errors.push((ErrorKind::Status500, failed * 5.0));
            }
            Trouble::Bursts(every, part) if tick.is_multiple_of(every) => {
                seen.errors.push((ErrorKind::Status502, seen.ok * part))
            }
            Trouble::Vain(from) if m.level > from => {
                seen.errors.push((ErrorKind::EofReused, 20.0));
                (seen.from_level, seen.logs) = (from, vec![("slots", 1)]);
            }
            Trouble::Slow(from) if m.level > from => (seen.latency, seen.service) = (0.9, 0.9),
            Trouble::Drain(from) if m.t > from && m.t < from + 1.5 => (seen.ok, seen.errors) = (0.0, Vec::new()),
            Trouble::Dies(at, trial) if m.t > at && m.trial == trial => {
                (seen.ok, seen.died) = (0.0, Some("backend"));
                seen.errors.push((ErrorKind::ConnectRefused, 200.0));
            }
            Trouble::Late(trial) if m.trial == trial => (seen.cpu, seen.lateness) = (1.0, 0.5),
            _ => {}
        }
    }

    /// Its record.
    pub(crate) fn record(&self) -> Record {
        let run = self.world().run_until(self.trials.min(39));
        let mut events = run.events;
        match self.cut {
            Cut::Not => {}
            Cut::Off(by) => events.truncate(events.len().saturating_sub(by + 1).max(2)),
            Cut::Interrupted => {
                let last = events.iter_mut().rev().find_map(|e| match &mut e.what {
                    What::TrialEnded(ended) => Some(ended),
                    _ => None,
                });
                if let Some(ended) = last {
                    ended.reason = EndReason::Interrupted;
                }
                if let Some(What::RunEnded(end)) = events.last_mut().map(|e| &mut e.what) {
                    *end = RunEnded { interrupted: true, ..end.clone() };
                }
            }
        }
        let mut record = Record::default();
        events.into_iter().for_each(|event| record.push(event));
        record
    }
}

/// The same with a server that refuses connections from second `from` on, and takes them again after `back` seconds.
pub(crate) fn refusing(mut record: Record, from: f64, back: Option<f64>) -> Record {
    let state = |state| State { subject: "backend".into(), state, detail: None };
    if let Some(trial) = record.trials.first_mut() {
        trial.states.push(((from * 1e6) as i64, state(ServerState::Refuses)));
        trial.states.extend(back.map(|back| (((from + back) * 1e6) as i64, state(ServerState::Ready))));
    }
    record
}
