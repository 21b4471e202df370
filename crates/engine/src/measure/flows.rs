//! Counts of flows in one interval of one thread.

use genkai_model::flows::{CheckCount, Flows, StepCount};
use genkai_model::histogram::PayloadError;
use genkai_model::scenario::{MOST_CHECKS, MOST_STEPS};

use super::figure::{Distribution, Figure};
use crate::clock::Moment;

/// What one thread saw of flows in one interval; or, added up, what all did. Steps and checks by their positions.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowTally {
    /// Whether there are flows.
    any: bool,
    /// Runs, misses and messages; its steps and checks stay empty.
    pub(crate) counts: Flows,
    steps: Vec<Step>,
    /// Passed and failed.
    checks: Vec<[u64; 2]>,
}

#[derive(Clone, Debug, Default)]
struct Step {
    ok: u64,
    failed: u64,
    took: Distribution,
}

impl FlowTally {
    /// There are flows.
    pub(crate) fn seen(&mut self) -> &mut FlowTally {
        self.any = true;
        self
    }

    /// A step went well, in the time it `took`, if it took any.
    pub(crate) fn succeeded(&mut self, step: u32, took: Option<Moment>) {
        let step = self.step(step);
        step.ok += 1;
        if let Some(took) = took {
            step.took.record(took);
        }
    }

    /// A step failed.
    pub(crate) fn failed(&mut self, step: u32) {
        self.step(step).failed += 1;
    }

    /// A check was made.
    pub(crate) fn checked(&mut self, check: u32, passed: bool) {
        let check = check as usize;
        if self.checks.len() <= check {
            self.checks.resize(check + 1, [0; 2]);
        }
        self.checks[check][usize::from(!passed)] += 1;
    }

    fn step(&mut self, step: u32) -> &mut Step {
        let step = step as usize;
        if self.steps.len() <= step {
            self.steps.resize(step + 1, Step::default());
        }
        &mut self.steps[step]
    }
}

impl Figure for FlowTally {
    type Recorded = Option<Box<Flows>>;

    fn add(&mut self, other: &FlowTally) {
        self.any |= other.any;
        self.counts.add(&other.counts);
        for (position, theirs) in other.steps.iter().enumerate() {
            let mine = self.step(position as u32);
            mine.ok += theirs.ok;
            mine.failed += theirs.failed;
            mine.took.add(&theirs.took);
        }
        if self.checks.len() < other.checks.len() {
            self.checks.resize(other.checks.len(), [0; 2]);
        }
        for (mine, theirs) in self.checks.iter_mut().zip(&other.checks) {
            *mine = [mine[0] + theirs[0], mine[1] + theirs[1]];
        }
    }

    fn clear(&mut self) {
        self.counts = Flows::default();
        self.checks.clear();
        for step in &mut self.steps {
            (step.ok, step.failed) = (0, 0);
            step.took.clear();
        }
    }

    /// Without the names of steps and checks: see [`name`].
    fn tell(&self) -> Option<Box<Flows>> {
        let done = self.steps.iter().enumerate().filter(|(_, step)| step.ok + step.failed > 0);
        let made = self.checks.iter().enumerate().filter(|(_, [passed, failed])| passed + failed > 0);
        let step = |(position, step): (usize, &Step)| StepCount {
            position: position as u32,
            name: String::new(),
            ok: step.ok,
            failed: step.failed,
            took: step.took.tell(),
        };
        let check = |(position, [passed, failed]): (usize, &[u64; 2])| CheckCount {
            position: position as u32,
            name: String::new(),
            passed: *passed,
            failed: *failed,
        };
        let flows = Flows { steps: done.map(step).collect(), checks: made.map(check).collect(), ..self.counts.clone() };
        self.any.then(|| Box::new(flows))
    }

    fn read(flows: &Option<Box<Flows>>) -> Result<FlowTally, PayloadError> {
        let mut tally = FlowTally::default();
        let Some(flows) = flows else { return Ok(tally) };
        tally.any = true;
        // Positions come from another process of ours, and yet they must not make a table of any size.
        for StepCount { position, name: _, ok, failed, took } in &flows.steps {
            if *position as usize >= MOST_STEPS {
                continue;
            }
            *tally.step(*position) = Step { ok: *ok, failed: *failed, took: Figure::read(took)? };
        }
        for CheckCount { position, name: _, passed, failed } in &flows.checks {
            let at = *position as usize;
            if at >= MOST_CHECKS {
                continue;
            }
            tally.checks.resize(tally.checks.len().max(at + 1), [0; 2]);
            tally.checks[at] = [*passed, *failed];
        }
        tally.counts = Flows { steps: Vec::new(), checks: Vec::new(), ..Flows::clone(flows) };
        Ok(tally)
    }
}

/// Gives steps and checks their names.
pub(super) fn name(flows: &mut Flows, [steps, checks]: &[Vec<String>; 2]) {
    let name = |names: &[String], position: u32| names.get(position as usize).cloned().unwrap_or_default();
    flows.steps.iter_mut().for_each(|step| step.name = name(steps, step.position));
    flows.checks.iter_mut().for_each(|check| check.name = name(checks, check.position));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_add_up_and_clearing_leaves_nothing() {
        let mut one = FlowTally::default();
        one.seen().counts.started = 2;
        one.succeeded(1, Some(5_000));
        one.succeeded(0, None);
        one.failed(1);
        one.checked(2, true);
        one.checked(2, false);
        let mut sum = one.clone();
        sum.add(&one);
        let names = [["a", "b"].map(str::to_owned).to_vec(), vec![]];
        let told = |tally: &FlowTally| {
            let mut flows = *tally.tell().unwrap();
            name(&mut flows, &names);
            flows
        };
        let flows = told(&sum);
        assert_eq!((flows.started, flows.steps.len(), flows.steps[1].name.as_str()), (4, 2, "b"));
        assert_eq!((flows.steps[1].ok, flows.steps[1].failed), (2, 2));
        assert_eq!(flows.steps[1].took.decode().unwrap().len(), 2);
        assert_eq!((flows.checks[0].position, flows.checks[0].passed, flows.checks[0].failed), (2, 2, 2));
        let read = FlowTally::read(&Some(Box::new(flows.clone()))).unwrap();
        assert_eq!(told(&read), flows, "as another process would report it");
        sum.clear();
        assert_eq!(told(&sum), Flows::default());
    }
}
