//! A break, the limits that may be behind it, and what came of lifting each.

use genkai_model::event::Change;
use genkai_model::finding::{Against, Candidate, Evidence, Moved};
use genkai_model::limit::{BACKEND_BY_ITSELF, Law, Strength};
use genkai_model::plan::Plan;

use super::TrialPlan;
use super::again::{Again, Repeated};
use super::attempt::Attempt;
use super::directly::{self, Directly};
use super::judged_trial::JudgedTrial;
use super::moved::{self, Outcome};
use super::unusable::{Next, Tests};
use crate::diagnosis::attribute::{self, Weighed};
use crate::proof;

/// At most so many candidates of one break are put to the test.
const TESTS: usize = 3;

/// A break with its candidates and tests.
#[derive(Clone, Debug)]
pub(crate) struct BreakStep<'r> {
    /// The trial that broke.
    pub(crate) at: JudgedTrial<'r>,
    /// Every limit, best first, as they stand after the tests.
    pub(crate) weighed: Vec<Weighed<'r>>,
    /// Tests in order.
    pub(crate) tests: Vec<Test<'r>>,
}

/// A limit that was lifted.
#[derive(Clone, Debug)]
pub(crate) struct Test<'r> {
    pub(crate) attempt: Attempt<'r>,
    /// The limit as a candidate before the test.
    pub(crate) candidate: Weighed<'r>,
    pub(crate) after: JudgedTrial<'r>,
    pub(crate) outcome: Outcome,
    /// What came of it when it was made again, where that was to be.
    pub(crate) again: Option<Again<'r>>,
    /// Whether it was to be made again and was not, so that what it saw may be chance.
    pub(crate) once: bool,
}

impl Test<'_> {
    /// Whether it moved nothing while other programs used most of the machine, which may be why: that says nothing of what was lifted.
    pub(crate) fn is_crowded(&self) -> bool {
        let again = self.again.as_ref().is_some_and(Again::is_crowded);
        self.outcome.moved == Moved::Not && (again || self.after.crowded().is_some())
    }
}

/// Where the search stands with one break.
#[derive(Clone, Debug)]
pub(crate) enum Progress<'r> {
    /// The last test found the cause.
    Proved,
    /// This is to be tried.
    Try(Box<Attempt<'r>>),
    /// The last test moved the break, by no formula: this is to be tried before it is believed.
    Repeat(Box<TrialPlan>),
    /// The likeliest cause cannot be lifted.
    CannotLift,
    /// No candidate is left, and some were tried.
    Refuted,
    /// No candidate at all.
    NoCause,
    /// The test was cut off, or nothing in it came to an end: it says nothing.
    Cut,
    /// The client gave out in the test.
    Invalid,
    /// Other programs used most of the machine when the test broke, which may be why it did not move: that says nothing of what was lifted.
    Crowded,
}

impl<'r> BreakStep<'r> {
    /// The break of `at`; its tests are taken from `tests` for as long as they belong to it.
    pub(crate) fn replay(
        at: JudgedTrial<'r>,
        tests: &mut Tests<'r>,
        changes: &[Change],
        plan: &Plan,
        goal: f64,
    ) -> (BreakStep<'r>, Progress<'r>) {
        let mut step = BreakStep { weighed: Vec::new(), tests: Vec::new(), at };
        loop {
            let refuted: Vec<String> = step.tests.iter().map(|t| t.attempt.limit.id.clone()).collect();
            step.weighed = step.at.case().map(|case| attribute::attribute(&case, &refuted)).unwrap_or_default();
            let (candidate, attempt) = match step.pick(changes, plan, tests) {
                Ok(found) => found,
                // What did not move while others had the machine is not known to be in vain.
                Err(Progress::Refuted | Progress::CannotLift) if step.is_hindered() => {
                    return (step, Progress::Crowded);
                }
                Err(why) => return (step, why),
            };
            let trial = match tests.take() {
                Next::Trial(trial) => trial,
                Next::Unusable => continue,
                Next::Nothing => return (step, Progress::Try(Box::new(attempt))),
            };
            if !proof::is_whole(trial) {
                return (step, Progress::Cut);
            }
            let after = JudgedTrial::of(trial, plan).up_to(goal);
            if !after.client.finding.valid {
                return (step, Progress::Invalid);
            }
            if after.is_silent() {
                return (step, Progress::Cut);
            }
            let mut outcome = moved::judge(&step.at, &attempt, &after, goal);
            let repeated = Again::replay(&step.at, &attempt, (&after, &outcome), tests, (plan, goal));
            let (again, once, ended) = match repeated {
                Repeated::Needless => (None, false, None),
                Repeated::Never => (None, true, None),
                Repeated::Made(again) => (Some(*again), false, None),
                Repeated::Due(trial) => (None, true, Some(Progress::Repeat(trial))),
                Repeated::Cut => (None, true, Some(Progress::Cut)),
                Repeated::Invalid => (None, true, Some(Progress::Invalid)),
            };
            if again.as_ref().is_some_and(|again| !again.stands()) {
                outcome.moved = Moved::Not;
            }
            let proved = outcome.moved != Moved::Not;
            let test = Test { attempt, candidate, after, outcome, again, once };
            // Where no formula says which it is, the next one may be what moves it.
            if test.is_crowded() && !test.attempt.limit.law.is_tried() {
                return (step, Progress::Crowded);
            }
            step.tests.push(test);
            if let Some(why) = ended {
                return (step, why);
            }
            if proved {
                return (step, Progress::Proved);
            }
        }
    }

    /// The next candidate to try, and how.
    fn pick(
        &self,
        changes: &[Change],
        plan: &Plan,
        tests: &Tests<'r>,
    ) -> Result<(Weighed<'r>, Attempt<'r>), Progress<'r>> {
        let possible: Vec<&Weighed<'r>> = self.weighed.iter().filter(|w| w.is_possible()).collect();
        let Some(best) = possible.first() else {
            return Err(if self.tests.is_empty() { Progress::NoCause } else { Progress::Refuted });
        };
        // What nothing is known of is tried, each once, whatever else was seen: what heals is the cause.
        let untried = possible.iter().filter(|w| w.forecast.limit.law.is_tried());
        if let Some(found) = untried.map(|w| self.attempt(w, changes, plan, tests)).find_map(|found| found) {
            return Ok(found);
        }
        // What takes too long alone stays too long, whatever is lifted before it.
        if matches!(best.forecast.limit.law, Law::Delay { .. }) {
            return Err(Progress::CannotLift);
        }
        if self.tests.len() >= TESTS {
            return Err(Progress::Refuted);
        }
        let equals = possible.iter().filter(|w| w.strongest == best.strongest);
        equals.map(|w| self.attempt(w, changes, plan, tests)).find_map(|found| found).ok_or(Progress::CannotLift)
    }

    /// A candidate with how it is lifted; none where it cannot be.
    fn attempt(
        &self,
        weighed: &Weighed<'r>,
        changes: &[Change],
        plan: &Plan,
        tests: &Tests<'r>,
    ) -> Option<(Weighed<'r>, Attempt<'r>)> {
        Some((weighed.clone(), Attempt::new(&weighed.forecast, &self.at, changes, plan, tests)?))
    }

    /// Whether nothing that was seen is more than a possible cause, and the backend can be asked by itself.
    pub(crate) fn is_open(&self) -> bool {
        let named = self.untested().is_some_and(|w| w.strongest > Some(Strength::Consistent));
        !named && self.weighed.iter().any(|w| w.forecast.limit.id == BACKEND_BY_ITSELF)
    }

    /// Names the backend where, asked by itself, it broke as it does behind the product, and at no more load.
    pub(crate) fn directly(&mut self, direct: &JudgedTrial<'r>) -> bool {
        let (Some(own), Some(through)) = (&direct.broke, &self.at.broke) else { return false };
        let found = Directly::of(&self.at, direct);
        if !matches!(found, Directly::AsEarly | Directly::AsOften) {
            return false;
        }
        let Some(at) = self.weighed.iter().position(|w| w.forecast.limit.id == BACKEND_BY_ITSELF) else {
            return false;
        };
        let mut backend = self.weighed.remove(at);
        let (trial, level, through) = (direct.trial.number, own.level, through.level);
        let failures = directly::failures(&self.at, direct);
        backend.candidate.evidence.push(Evidence::Directly { trial, level, through, failures });
        backend.candidate.against.clear();
        (backend.candidate.score, backend.strongest) = (1.0, Some(Strength::Decisive));
        for other in self.weighed.iter_mut().filter(|w| w.is_possible()) {
            other.candidate.against.push(Against::Explained);
        }
        self.weighed.insert(0, backend);
        true
    }

    /// The test that proved the cause, if one did.
    pub(crate) fn proved(&self) -> Option<&Test<'r>> {
        self.tests.last().filter(|t| t.outcome.moved != Moved::Not)
    }

    /// The likeliest cause that was not put to the test. What only a trial can tell of is none without one.
    pub(crate) fn untested(&self) -> Option<&Weighed<'r>> {
        self.weighed.iter().find(|w| w.is_possible() && !w.forecast.limit.law.is_tried())
    }

    /// Whether a test was in vain while other programs had the machine, and what is left to name may be theirs, too. What takes too long alone
    /// does, whoever has the machine.
    fn is_hindered(&self) -> bool {
        let alone = self.untested().is_some_and(|w| matches!(w.forecast.limit.law, Law::Delay { .. }));
        !alone && self.tests.iter().any(Test::is_crowded)
    }

    /// All candidates but one, and but those of which a test said nothing: no reason is known against them.
    pub(crate) fn others(&self, but: &str) -> Vec<Candidate> {
        let open = |c: &&Candidate| self.tests.iter().any(|t| t.is_crowded() && t.attempt.limit.id == c.limit);
        let told = self.weighed.iter().map(|w| &w.candidate).filter(|c| c.limit != but && !open(c));
        told.cloned().collect()
    }
}
