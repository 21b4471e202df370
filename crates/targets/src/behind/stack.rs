//! A product with a private copy of what stands behind it, so that settings of either can be tried.

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use genkai_model::event::{Change, Environment, Rewrite};
use genkai_model::limit::{Limit, Origin};
use genkai_model::load::Request;
use genkai_model::setting::Setting;
use genkai_model::transport::Transport;
use genkai_place::caps::Machine;
use genkai_place::endpoint::{Endpoint, Listener};
use genkai_place::observation::Observation;
use genkai_place::process::Child;
use genkai_place::process_tree;

use super::Behind;
use crate::catalog;
use crate::error::TargetError;
use crate::files::{Backup, Finished, Move};
use crate::product::{Cost, OwnAnswer, Prepared, Rejection, Running, Twin};

/// Whom samples of the copy are of.
const SUBJECT: &str = "copy";

/// A product whose copy leads to a copy of the server behind it.
struct Stack {
    front: Box<dyn Prepared>,
    twin: Box<dyn Twin>,
    /// Where it leads besides.
    others: Vec<Endpoint>,
    rewrites: Vec<Rewrite>,
}

/// `front` with a private copy, in `dir`, of the one server of the user's behind it that genkai can run a second time, and a sentence about it; as
/// it is where there is none, or where a copy would not be the same (the sentence says why).
pub fn with_twin(
    front: Box<dyn Prepared>,
    machine: &Machine,
    memory: u64,
    dir: &Path,
) -> (Box<dyn Prepared>, Option<String>) {
    let named = front.behind();
    let twin = |at: &Endpoint| match at.listener() {
        Listener::Process(pid) => catalog::twin(pid, at, &dir.join("twin")),
        _ => None,
    };
    let mut twins: Vec<_> = named.iter().filter_map(twin).collect();
    let found = match (twins.pop(), twins.len()) {
        (None, _) => return (front, None),
        (Some(found), 0) => found,
        (Some(_), more) => Err(format!("there are {} of which one could be made", more + 1)),
    };
    match found.and_then(|twin| stacked(&*front, twin, &named, dir)) {
        Ok(stack) => {
            let told = stack.told(machine, memory);
            (Box::new(stack), Some(told))
        }
        Err(why) => {
            let told =
                format!("no setting of what stands there is put to the test, as no private copy of it is made: {why}");
            (front, Some(told))
        }
    }
}

/// Both, where every way to the server can be led to its copy.
fn stacked(front: &dyn Prepared, twin: Box<dyn Twin>, named: &[Endpoint], dir: &Path) -> Result<Stack, String> {
    let (from, to) = twin.places();
    let others = named.iter().filter(|at| *at != from).cloned().collect();
    let (place, moves) = (to.to_string(), [Move { from: from.clone(), to: to.clone() }]);
    let moved = front.moved(&moves, &dir.join("front")).map_err(|e| e.to_string())?;
    if !moved.rewrites().iter().any(|rewrite| rewrite.to.contains(&place)) {
        return Err(format!("a private copy of {} cannot be led to it", front.product()));
    }
    Ok(Stack::new(moved, twin, others))
}

impl Stack {
    fn new(front: Box<dyn Prepared>, twin: Box<dyn Twin>, others: Vec<Endpoint>) -> Stack {
        let rewrites = front.rewrites().iter().cloned().chain([twin.rewrite()]).collect();
        Stack { front, twin, others, rewrites }
    }

    fn told(&self, machine: &Machine, memory: u64) -> String {
        let (from, told) = (self.twin.places().0, self.twin.told(machine, memory));
        format!("{from} is {told}: the load goes to a private copy of it, it is not touched itself")
    }

    /// Changes of the copy, and those of what stands before it.
    fn parted(&self, changes: &[Change]) -> (Vec<Change>, Vec<Change>) {
        changes.iter().cloned().partition(|change| self.twin.is_setting(&change.setting))
    }
}

impl Prepared for Stack {
    fn product(&self) -> &'static str {
        self.front.product()
    }

    fn version(&self) -> &str {
        self.front.version()
    }

    fn with(&self, changes: &[Change], dir: &Path) -> Result<Box<dyn Prepared>, TargetError> {
        let (twin, front) = self.parted(changes);
        let (front, twin) = (self.front.with(&front, dir)?, self.twin.with(&twin, &dir.join("twin"))?);
        Ok(Box::new(Stack::new(front, twin, self.others.clone())))
    }

    fn value_of(&self, setting: &str) -> Result<(String, Origin), TargetError> {
        if self.twin.is_setting(setting) { self.twin.value_of(setting) } else { self.front.value_of(setting) }
    }

    fn limits(&self, environment: &Environment) -> Vec<Limit> {
        let mut all = self.front.limits(environment);
        all.extend(self.twin.limits(SUBJECT, environment));
        all
    }

    fn answers(&self, request: &Request) -> Vec<OwnAnswer> {
        self.front.answers(request)
    }

    fn behind(&self) -> Vec<Endpoint> {
        self.others.clone()
    }

    fn has_workers(&self) -> bool {
        true
    }

    fn costs(&mut self, cost: Cost) {
        self.twin.costs(cost);
    }

    fn transport(&self) -> Transport {
        self.front.transport()
    }

    fn warnings(&self) -> &[String] {
        self.front.warnings()
    }

    fn rejects(&self, line: &str) -> Result<Option<Rejection>, TargetError> {
        self.front.rejects(line)
    }

    fn written(&self) -> &[Setting] {
        self.front.written()
    }

    fn rewrites(&self) -> &[Rewrite] {
        &self.rewrites
    }

    fn diff(&self, changes: &[Change]) -> String {
        let (twin, front) = self.parted(changes);
        self.front.diff(&front) + &self.twin.diff(&twin)
    }

    fn finished(&self, changes: &[Change]) -> Vec<Finished> {
        let (twin, front) = self.parted(changes);
        let mut all = self.front.finished(&front);
        all.extend(self.twin.finished(&twin));
        all
    }

    fn write_back(&self, changes: &[Change]) -> Result<Vec<Backup>, TargetError> {
        let (twin, front) = self.parted(changes);
        let mut written = self.front.write_back(&front)?;
        match self.twin.write_back(&twin) {
            Ok(more) => written.extend(more),
            Err(error) => {
                // All or none.
                for Backup { file, backup } in &written {
                    std::fs::rename(backup, file).map_err(TargetError::files(file))?;
                }
                return Err(error);
            }
        }
        Ok(written)
    }

    fn start(&self, cpus: Option<&[usize]>) -> Result<Box<dyn Running>, TargetError> {
        let (child, served) = self.twin.start(cpus)?;
        let seen = Behind::of(child.pid(), self.twin.places().1.clone(), SUBJECT, served);
        Ok(Box::new(Both { front: self.front.start(cpus)?, child, name: self.twin.product(), seen, dead: false }))
    }
}

/// Both, as they run.
struct Both {
    // In the order in which they must go.
    front: Box<dyn Running>,
    /// The first process of the copy.
    child: Child,
    /// What states call it.
    name: &'static str,
    seen: Behind,
    dead: bool,
}

impl Running for Both {
    fn address(&self) -> SocketAddr {
        self.front.address()
    }

    fn observe(&mut self) -> Observation {
        let mut seen = self.front.observe();
        if self.dead {
            return seen;
        }
        match process_tree::death(&mut self.child, self.name, "first") {
            Some(state) => {
                self.dead = true;
                seen.states.push(state);
            }
            None => seen.merge(self.seen.observe()),
        }
        seen
    }

    fn processor(&self) -> Duration {
        self.seen.processor()
    }

    fn beside(&self) -> Vec<u32> {
        vec![self.child.pid()]
    }

    fn stop(self: Box<Self>) -> ExitStatus {
        // The copy ends when it is dropped, after what has connections to it.
        self.front.stop()
    }
}
