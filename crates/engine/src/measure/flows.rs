//! Counts of flows in one interval of one thread.

use genkai_model::flows::{CheckCount, Flows, StepCount};
use genkai_model::histogram::{Payload, PayloadError};
use genkai_model::scenario::{MOST_CHECKS, MOST_STEPS};
use hdrhistogram::Histogram;

use crate::clock::Moment;
use crate::measure::tally::empty;

/// What one thread saw of flows in one interval; or, added up, what all did. Steps and checks by their positions.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowTally {
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
    /// There once it was needed.
    took: Option<Box<Histogram<u32>>>,
}

impl FlowTally {
    /// A step went well, in the time it `took`, if it took any.
    pub(crate) fn succeeded(&mut self, step: u32, took: Option<Moment>) {
        let step = self.step(step);
        step.ok += 1;
        if let Some(took) = took {
            step.took.get_or_insert_with(|| Box::new(empty())).saturating_record(took);
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

    /// Adds what another thread, or another interval, saw.
    pub(crate) fn add(&mut self, other: &FlowTally) {
        self.counts.add(&other.counts);
        for (position, theirs) in other.steps.iter().enumerate() {
            let mine = self.step(position as u32);
            mine.ok += theirs.ok;
            mine.failed += theirs.failed;
            if let Some(took) = theirs.took.as_ref().filter(|took| !took.is_empty()) {
                mine.took.get_or_insert_with(|| Box::new(empty())).add(took.as_ref()).expect("the same bounds");
            }
        }
        if self.checks.len() < other.checks.len() {
            self.checks.resize(other.checks.len(), [0; 2]);
        }
        for (mine, theirs) in self.checks.iter_mut().zip(&other.checks) {
            *mine = [mine[0] + theirs[0], mine[1] + theirs[1]];
        }
    }

    /// As new, keeping its memory.
    pub(crate) fn clear(&mut self) {
        self.counts = Flows::default();
        self.checks.clear();
        for step in &mut self.steps {
            (step.ok, step.failed) = (0, 0);
            if let Some(took) = step.took.as_mut().filter(|took| !took.is_empty()) {
                took.reset();
            }
        }
    }

    /// What another process reports of an interval.
    ///
    /// # Errors
    /// When a distribution is damaged.
    pub(crate) fn read(flows: &Flows) -> Result<FlowTally, PayloadError> {
        let mut tally = FlowTally::default();
        // Positions come from another process of ours, and yet they must not make a table of any size.
        for StepCount { position, name: _, ok, failed, took } in &flows.steps {
            if *position as usize >= MOST_STEPS {
                continue;
            }
            let step = tally.step(*position);
            (step.ok, step.failed) = (*ok, *failed);
            if *took != Payload::default() {
                took.add_to(step.took.get_or_insert_with(|| Box::new(empty())))?;
            }
        }
        for CheckCount { position, name: _, passed, failed } in &flows.checks {
            let at = *position as usize;
            if at >= MOST_CHECKS {
                continue;
            }
            tally.checks.resize(tally.checks.len().max(at + 1), [0; 2]);
            tally.checks[at] = [*passed, *failed];
        }
        tally.counts = Flows { steps: Vec::new(), checks: Vec::new(), ..flows.clone() };
        Ok(tally)
    }

    /// In the words of a record; `names` are those of steps and of checks.
    pub(crate) fn flows(&self, names: &[Vec<String>; 2]) -> Flows {
        let name = |of: usize, position: usize| names[of].get(position).cloned().unwrap_or_default();
        let done = self.steps.iter().enumerate().filter(|(_, step)| step.ok + step.failed > 0);
        let made = self.checks.iter().enumerate().filter(|(_, [passed, failed])| passed + failed > 0);
        Flows {
            steps: done
                .map(|(position, step)| StepCount {
                    position: position as u32,
                    name: name(0, position),
                    ok: step.ok,
                    failed: step.failed,
                    took: step.took.as_ref().map(|took| Payload::encode(took)).unwrap_or_default(),
                })
                .collect(),
            checks: made
                .map(|(position, [passed, failed])| CheckCount {
                    position: position as u32,
                    name: name(1, position),
                    passed: *passed,
                    failed: *failed,
                })
                .collect(),
            ..self.counts.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_add_up_and_clearing_leaves_nothing() {
        let mut one = FlowTally::default();
        one.counts.started = 2;
        one.succeeded(1, Some(5_000));
        one.succeeded(0, None);
        one.failed(1);
        one.checked(2, true);
        one.checked(2, false);
        let mut sum = one.clone();
        sum.add(&one);
        let names = [["a", "b"].map(str::to_owned).to_vec(), vec![]];
        let flows = sum.flows(&names);
        assert_eq!((flows.started, flows.steps.len(), flows.steps[1].name.as_str()), (4, 2, "b"));
        assert_eq!((flows.steps[1].ok, flows.steps[1].failed), (2, 2));
        assert_eq!(flows.steps[1].took.decode().unwrap().len(), 2);
        assert_eq!((flows.checks[0].position, flows.checks[0].passed, flows.checks[0].failed), (2, 2, 2));
        let read = FlowTally::read(&flows).unwrap();
        assert_eq!(read.flows(&names), flows, "as another process would report it");
        sum.clear();
        assert_eq!(sum.flows(&names), Flows::default());
    }
}
