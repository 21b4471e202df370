//! What stands behind a product, run a second time: a part of it that genkai knows how to run alone ([`Twin`]), or a whole product that can be put
//! under test itself, from the same files.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use genkai_model::error::ErrorKind;
use genkai_model::event::{Change, Environment, Rewrite};
use genkai_model::limit::{Law, Limit, Origin, Sign};
use genkai_model::transport::Transport;
use genkai_place::began::{began, changed_since};
use genkai_place::caps::Machine;
use genkai_place::endpoint::{Endpoint, Listener};
use genkai_place::observation::Observation;
use genkai_place::process::Child;
use genkai_place::process_tree;

use super::Behind;
use crate::catalog;
use crate::error::TargetError;
use crate::explain::Requests;
use crate::files::{Backup, Finished, Move};
use crate::product::{Cost, Entry, Prepare, Prepared, Running, Twin, is_own, program_of, trusted};
use crate::upstreams::newer;

/// The copy of a server.
pub(super) enum Second {
    /// Of a part of it.
    Part(Box<dyn Twin>),
    /// Of all of it.
    Whole(Whole),
}

/// A product as it can be put under test itself.
pub(super) struct Whole {
    /// As people call it.
    called: &'static str,
    prepared: Box<dyn Prepared>,
    /// Where the user's listens.
    from: Endpoint,
    /// Where this one does.
    at: Endpoint,
}

/// The requests that come to it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Target, as the product before it is asked.
    pub path: &'a str,
    /// Host header.
    pub host: &'a str,
    /// Whether they open WebSocket connections.
    pub websocket: bool,
    /// Whether applications of the user's may be started a second time for them, with all that they do at start.
    pub applications: bool,
}

/// What runs: dropping it ends it.
pub(super) enum Runs {
    /// The first process of a part, what states call it, whether its death was told.
    Part(Child, &'static str, Box<Behind>, bool),
    /// A product.
    Whole(Box<dyn Running>),
}

impl Second {
    /// Whoever listens at `at`, run a second time from `dir`; none: nobody that can be. An error says why he is not.
    pub(super) fn find(at: &Endpoint, asked: Asked<'_>, dir: &Path) -> Option<Result<Second, String>> {
        let Listener::Process(pid) = at.listener() else { return None };
        if let Some(twin) = catalog::twin(pid, at, dir, asked.applications) {
            return Some(twin.map(Second::Part));
        }
        let (entry, main) = catalog::standing(pid)?;
        Some(main.and_then(|main| Whole::of(pid, entry, &main, at, asked, dir)).map(Second::Whole))
    }

    pub(super) fn product(&self) -> &'static str {
        match self {
            Second::Part(twin) => twin.product(),
            Second::Whole(whole) => whole.prepared.product(),
        }
    }

    /// Whether a setting is one of its own.
    pub(super) fn is_setting(&self, setting: &str) -> bool {
        match self {
            Second::Part(twin) => twin.is_setting(setting),
            Second::Whole(whole) => whole.prepared.value_of(setting).is_ok(),
        }
    }

    pub(super) fn with(&self, changes: &[Change], dir: &Path) -> Result<Second, TargetError> {
        Ok(match self {
            Second::Part(twin) => Second::Part(twin.with(changes, dir)?),
            Second::Whole(whole) => Second::Whole(whole.with(changes, dir)?),
        })
    }

    /// The same which finds others where it looks for some.
    pub(super) fn led(&self, moves: &[Move], dir: &Path) -> Result<Second, TargetError> {
        match self {
            Second::Part(twin) => Ok(Second::Part(twin.led(moves, dir)?)),
            Second::Whole(whole) => {
                let what = "its copy asks whom its own files say, and is led to nobody else";
                Err(TargetError::usage(whole.prepared.product(), what))
            }
        }
    }

    /// A part of what process `pid` is, who listens at `at`; none: it is no such part. No application is started for it.
    pub(super) fn part(at: &Endpoint, dir: &Path) -> Option<Result<Second, String>> {
        let Listener::Process(pid) = at.listener() else { return None };
        Some(catalog::twin(pid, at, dir, false)?.map(Second::Part))
    }

    /// Its processes that may each ask others, at most; none: that is not a number of them.
    pub(super) fn workers(&self) -> Option<u64> {
        match self {
            Second::Part(twin) => twin.workers(),
            Second::Whole(_) => None,
        }
    }

    /// Where the user's listens, and where this one does.
    pub(super) fn places(&self) -> (&Endpoint, &Endpoint) {
        match self {
            Second::Part(twin) => twin.places(),
            Second::Whole(whole) => (&whole.from, &whole.at),
        }
    }

    pub(super) fn told(&self, machine: &Machine, memory: u64) -> String {
        match self {
            Second::Part(twin) => twin.told(machine, memory),
            Second::Whole(whole) => format!("{} {}", whole.called, whole.prepared.version()),
        }
    }

    /// What it has besides what the user's has.
    pub(super) fn rewrites(&self) -> Vec<Rewrite> {
        match self {
            Second::Part(twin) => vec![twin.rewrite()],
            Second::Whole(whole) => whole.prepared.rewrites().to_vec(),
        }
    }

    pub(super) fn costs(&mut self, cost: Cost) {
        match self {
            Second::Part(twin) => twin.costs(cost),
            Second::Whole(whole) => whole.prepared.costs(cost),
        }
    }

    pub(super) fn has_workers(&self) -> bool {
        match self {
            Second::Part(_) => true,
            Second::Whole(whole) => whole.prepared.has_workers(),
        }
    }

    pub(super) fn value_of(&self, setting: &str) -> Result<(String, Origin), TargetError> {
        match self {
            Second::Part(twin) => twin.value_of(setting),
            Second::Whole(whole) => whole.prepared.value_of(setting),
        }
    }

    /// Its limits for what stands before it. `anew`: as [`Prepared::anew`] of that.
    pub(super) fn limits(&self, environment: &Environment, anew: Option<f64>) -> Vec<Limit> {
        match self {
            Second::Part(twin) => twin.limits(twin.subject(), environment),
            Second::Whole(whole) => {
                let all = whole.prepared.limits(environment);
                let queue = all.iter().find_map(|limit| match limit.law {
                    Law::Backlog { value } => Some(value),
                    _ => None,
                });
                let lined_up = |limit: Limit| match queue {
                    Some(queue) => in_line(limit, queue, anew),
                    None => limit,
                };
                all.into_iter().map(lined_up).filter_map(passed_to).collect()
            }
        }
    }

    /// Where it leads itself.
    pub(super) fn behind(&self) -> Vec<Endpoint> {
        match self {
            Second::Part(_) => Vec::new(),
            Second::Whole(whole) => whole.prepared.behind(),
        }
    }

    pub(super) fn diff(&self, changes: &[Change]) -> String {
        match self {
            Second::Part(twin) => twin.diff(changes),
            Second::Whole(whole) => whole.prepared.diff(changes),
        }
    }

    pub(super) fn finished(&self, changes: &[Change]) -> Vec<Finished> {
        match self {
            Second::Part(twin) => twin.finished(changes),
            Second::Whole(whole) => whole.prepared.finished(changes),
        }
    }

    pub(super) fn write_back(&self, changes: &[Change]) -> Result<Vec<Backup>, TargetError> {
        match self {
            Second::Part(twin) => twin.write_back(changes),
            Second::Whole(whole) => whole.prepared.write_back(changes),
        }
    }

    pub(super) fn start(&self, cpus: Option<&[usize]>) -> Result<Runs, TargetError> {
        match self {
            Second::Part(twin) => {
                let (child, served) = twin.start(cpus)?;
                let seen = Behind::of(child.pid(), twin.places().1.clone(), twin.subject(), served);
                Ok(Runs::Part(child, twin.product(), Box::new(seen), false))
            }
            Second::Whole(whole) => whole.start(cpus).map(Runs::Whole),
        }
    }
}

impl Whole {
    fn of(
        pid: u32,
        entry: &'static Entry,
        main: &Path,
        from: &Endpoint,
        asked: Asked<'_>,
        dir: &Path,
    ) -> Result<Whole, String> {
        let Endpoint::Tcp(user) = from else {
            return Err(format!(
                "{} is reached by a Unix socket there, and its copies listen on TCP ports",
                entry.called
            ));
        };
        has_read(pid, entry, main)?;
        let prepare = entry.prepare.ok_or("it is not put under test itself")?;
        let program = program_of(pid)?;
        // What another user has written may have it execute anything.
        is_own(pid).or_else(|_| trusted(main))?;
        let requests = |host: &str| Requests { websocket: asked.websocket, ..Requests::to(host, asked.path) };
        let (those, none) = (requests(asked.host), BTreeMap::new());
        let what = Prepare { program: Some(&program), ..Prepare::of(main, &those, &none, dir) };
        let limits = |host: &str| catalog::explain(Some(entry.name), main, &requests(host)).map(|all| all.limits);
        if entry.explain.is_some() && limits(asked.host).ok() != limits(&user.ip().to_string()).ok() {
            let text =
                "which of its virtual hosts serves the requests depends on the Host that they are passed on with";
            return Err(text.to_owned());
        }
        std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        let prepared = prepare(what).map_err(|e| e.to_string())?;
        if prepared.transport() != Transport::Tcp {
            return Err(format!("its listener there wants TLS ({})", main.display()));
        }
        let at = prepared.address().ok_or("where its copy listens is not known before it is started")?;
        // Of several listeners, the copy of this one must be meant.
        let (port, place) = (user.port().to_string(), at.to_string());
        let words = |text: &str| text.split(|c: char| !c.is_ascii_digit()).any(|word| word == port);
        if !prepared
            .rewrites()
            .iter()
            .any(|rewrite| rewrite.to.split([' ', ',', ';']).any(|word| word == place) && words(&rewrite.from))
        {
            return Err(format!("{} does not say that requests for {from} are served there", main.display()));
        }
        Ok(Whole { called: entry.called, prepared, from: from.clone(), at: Endpoint::Tcp(at) })
    }

    /// The same with settings changed. It has to listen where this one does: what stands before it is not written anew.
    fn with(&self, changes: &[Change], dir: &Path) -> Result<Whole, TargetError> {
        let prepared = self.prepared.with(changes, dir)?;
        let at = prepared.address().map(Endpoint::Tcp).unwrap_or_else(|| self.at.clone());
        Ok(Whole { called: self.called, prepared, from: self.from.clone(), at })
    }

    fn start(&self, cpus: Option<&[usize]>) -> Result<Box<dyn Running>, TargetError> {
        let running = self.prepared.start(cpus)?;
        let address = Endpoint::Tcp(running.address());
        if address == self.at {
            return Ok(running);
        }
        running.stop();
        let what =
            format!("its port was taken before it was started: it would listen at {address}, not at {}", self.at);
        Err(TargetError::machine(self.called, what))
    }
}

/// That the files of a product are as they were when its process began.
fn has_read(pid: u32, entry: &Entry, main: &Path) -> Result<(), String> {
    let files = match entry.explain {
        None => vec![main.to_owned()],
        Some(_) => catalog::explain(Some(entry.name), main, &Requests::default()).map_err(|e| e.to_string())?.files,
    };
    let Some(began) = began(pid) else { return Ok(()) };
    let changed = files.iter().find(|path| changed_since(path, began));
    changed.map_or(Ok(()), |path| Err(newer(path, began)))
}

/// Part of the slots that are certainly had, from which on it does not matter which: as near as a break must come to where a law puts it.
const SURE: f64 = 0.9;

/// A limit that makes wait, where all wait alike: who finds no slot is served in the order in which he came (the accept queue, which has room for
/// `queue`: Linux, `reqsk_queue_remove`), and is given up after `wait` (seconds; none: by the client alone). So it is for requests of which each
/// has a connection of its own, and where a kept connection takes no slot while nothing is asked on it. Elsewhere one who has a slot keeps it, and one who
/// has none waits for as long as that one asks.
fn in_line(limit: Limit, queue: f64, wait: Option<f64>) -> Limit {
    match limit.law {
        Law::Slots { value, reserved, idle_cost, busy_cost, pools, soft }
            if limit.symptom.slow
                && reserved == 0.0
                && (busy_cost, pools) == (1.0, 1.0)
                && soft >= SURE
                && (wait.is_some() || idle_cost < busy_cost) =>
        {
            let law = Law::Workers { workers: value, queue: Some(queue), service: None, wait };
            let formula = format!("{}; further ones wait, {queue} at most, and are served in order", limit.formula);
            Limit { law, formula, ..limit }
        }
        _ => limit,
    }
}

/// A limit of a server as it is for clients of what stands before it: these hold none of its connections while they ask nothing, what it refuses is
/// answered to them in its place, and the ends of its kept connections are not theirs. None: it is no limit of theirs.
fn passed_to(limit: Limit) -> Option<Limit> {
    let mut limit = limit;
    let own = |sign: &Sign| matches!(sign, Sign::Silent { .. } | Sign::GrewAsEnded(_));
    if limit.signatures.iter().any(|one| own(&one.sign)) || matches!(limit.law, Law::Idle { .. }) {
        return None;
    }
    if let Law::Slots { idle_cost, .. } = &mut limit.law {
        *idle_cost = 0.0;
    }
    let late = [ErrorKind::Timeout, ErrorKind::ConnectTimeout];
    let ended =
        [ErrorKind::ConnectRefused, ErrorKind::Reset, ErrorKind::ResetReused, ErrorKind::EofNew, ErrorKind::EofReused];
    let has = |kinds: &[ErrorKind]| limit.symptom.errors.iter().any(|kind| kinds.contains(kind));
    let answered = [(has(&late), ErrorKind::Status504), (has(&ended), ErrorKind::Status502)];
    for (_, kind) in answered.into_iter().filter(|(is, _)| *is) {
        if !limit.symptom.errors.contains(&kind) {
            limit.symptom.errors.push(kind);
        }
    }
    Some(limit)
}

impl Runs {
    pub(super) fn observe(&mut self) -> Observation {
        match self {
            Runs::Part(_, _, _, true) => Observation::default(),
            Runs::Part(child, name, seen, dead) => match process_tree::death(child, name, "first") {
                Some(state) => {
                    *dead = true;
                    Observation { states: vec![state], ..Observation::default() }
                }
                None => seen.observe(),
            },
            Runs::Whole(running) => running.observe(),
        }
    }

    pub(super) fn processor(&self) -> Duration {
        match self {
            Runs::Part(_, _, seen, _) => seen.processor(),
            Runs::Whole(running) => running.processor(),
        }
    }

    pub(super) fn first(&self) -> Option<u32> {
        match self {
            Runs::Part(child, ..) => Some(child.pid()),
            Runs::Whole(running) => running.first(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_behind_another_is_asked_by_that_and_not_by_clients() {
        let named = || Limit::named("a.b", "a", "b");
        let slots =
            |idle_cost| Law::Slots { value: 9.0, reserved: 0.0, idle_cost, busy_cost: 1.0, pools: 1.0, soft: 1.0 };
        let mut limit = Limit { law: slots(1.0), ..named() };
        limit.symptom.errors = vec![ErrorKind::ConnectTimeout, ErrorKind::Reset];
        let passed = passed_to(limit).unwrap();
        assert_eq!(passed.law, slots(0.0));
        let errors = [ErrorKind::ConnectTimeout, ErrorKind::Reset, ErrorKind::Status504, ErrorKind::Status502];
        assert_eq!(passed.symptom.errors, errors);
        assert_eq!(passed_to(Limit { law: Law::Idle { after: 5.0 }, ..named() }), None);
    }

    #[test]
    fn who_finds_no_slot_waits_in_line_where_slots_are_given_back() {
        let held = |idle_cost: f64, slow: bool| {
            let law = Law::Slots { value: 10.0, reserved: 0.0, idle_cost, busy_cost: 1.0, pools: 1.0, soft: 1.0 };
            let symptom = genkai_model::limit::Symptom { errors: Vec::new(), slow };
            Limit { law, symptom, ..Limit::named("a.b", "a", "b") }
        };
        let line = |wait| Law::Workers { workers: 10.0, queue: Some(512.0), service: None, wait };
        assert_eq!(in_line(held(1.0, true), 512.0, Some(60.0)).law, line(Some(60.0)), "a connection for each request");
        assert_eq!(in_line(held(0.25, true), 512.0, None).law, line(None), "kept ones take no slot");
        for other in [held(1.0, true), held(0.0, false)] {
            assert_eq!(in_line(other.clone(), 512.0, None).law, other.law, "kept with its slot, or refused");
        }
    }
}
