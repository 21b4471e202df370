//! A search told once more: which limit was named at each break, what became of the break when it was lifted, and what that decides.
//!
//! Nothing that the verdict says is read here.

use genkai_model::limit::{BACKEND_BY_ITSELF, Law, Limit, RemedyUnit, Strength};

use crate::again::{self, Ended, Farther, Second};
use crate::asked::{self, TOLERANCE};
use crate::broken::Judged;
use crate::directives::Removals;
use crate::directly;
use crate::events::{Events, Line};
use crate::laws::{Predicted, of_limit};
use crate::met::{Ends, Met};
use crate::moved::{self, size};
use crate::predictions::met;
use crate::price;
use crate::scan;
use crate::unusable;
use crate::weigh::{self, Weighed};

/// At most so many limits of one break are lifted.
const TESTS: usize = 3;

/// The tests that were not told yet.
type Tests<'a, 'e> = std::iter::Peekable<Box<dyn Iterator<Item = &'a Judged<'e>> + 'a>>;

/// A search.
pub(crate) struct Search<'a, 'e> {
    pub(crate) events: &'e Events,
    judged: &'a [Judged<'e>],
    /// The trial of the system as it is.
    pub(crate) first: Option<&'a Judged<'e>>,
    /// The breaks in the order met.
    pub(crate) steps: Vec<Step<'e>>,
    /// How it ended.
    pub(crate) end: End,
    /// The backend asked directly, where that says something.
    pub(crate) direct: Option<&'a Judged<'e>>,
    /// The search among directives, where there was one.
    pub(crate) removals: Option<Removals<'e>>,
}

/// A break with what was named and lifted.
pub(crate) struct Step<'e> {
    pub(crate) at: Judged<'e>,
    pub(crate) weighed: Vec<Weighed>,
    pub(crate) tests: Vec<Test<'e>>,
}

/// A limit that was lifted.
pub(crate) struct Test<'e> {
    pub(crate) candidate: Weighed,
    pub(crate) after: Judged<'e>,
    pub(crate) moved: &'static str,
    pub(crate) predicted: Option<Ends>,
    /// What `predicted` counts.
    pub(crate) scale: &'static str,
    /// Whether it moved nothing while other programs used most of the machine.
    pub(crate) hindered: bool,
    /// What came of it when it was made again, as it is told; null where it was not.
    pub(crate) again: serde_json::Value,
    /// Whether it should have been.
    pub(crate) once: bool,
}

/// How a search, or the look at one break, ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Untried,
    Cut,
    Invalid,
    Holds,
    Died,
    Refused,
    Open,
    NoCause,
    Crowded,
    Refuted,
    CannotLift,
    Enough,
    Prove,
    Proved,
}

impl<'e> Step<'e> {
    /// The test that moved the break.
    pub(crate) fn proved(&self) -> Option<&Test<'e>> {
        self.tests.last().filter(|test| test.moved != "not")
    }

    /// The likeliest cause that was not tested.
    pub(crate) fn untested(&self) -> Option<&Weighed> {
        self.weighed.iter().find(|one| one.is_possible() && !matches!(one.limit.law, Law::Tried { .. }))
    }

    /// Whether other programs keep a test from telling, and nothing is left that is too slow without them as well.
    fn leaves_open(&self) -> bool {
        let slow = self.untested().map(|one| &one.limit.law);
        self.tests.iter().any(|test| test.hindered) && !matches!(slow, Some(Law::Delay { .. }))
    }

    /// What is told beside `limit`: everything that was weighed but what was lifted in vain beside other programs.
    pub(crate) fn beside(&self, limit: &Limit) -> Vec<serde_json::Value> {
        let hindered = self.tests.iter().filter(|test| test.hindered).map(|test| &test.candidate.limit.id);
        let left: Vec<&String> = hindered.chain([&limit.id]).collect();
        self.weighed.iter().filter(|one| !left.contains(&&one.limit.id)).map(Weighed::told).collect()
    }
}

/// Whether a setting can be given a larger number, which the memory holds as far as `at` tells, or be taken away.
fn can_be_lifted(limit: &Limit, at: &Judged<'_>, (values, trials): (&[&Line], &[Judged<'_>])) -> bool {
    let Some(remedy) = &limit.remedy else { return false };
    let parts = remedy.parts.max(1.0);
    let present = match limit.law {
        Law::Slots { value, .. }
        | Law::BodySize { value }
        | Law::MessageSize { value }
        | Law::Idle { after: value }
        | Law::NewConnections { value }
        | Law::Tried { value, .. }
        | Law::Rate { value, .. } => value,
        Law::Workers { workers, .. } => workers,
        Law::Growing { least, .. } => least,
        // The queue holds one more than its setting.
        Law::Backlog { value } => value - 1.0,
        Law::Cpu { cores } | Law::Handshakes { cores, .. } => cores,
        // No law has it: it is what is written, if that is one number.
        Law::Delay { .. } | Law::Unknown => limit.value.parse().map_or(f64::INFINITY, |value: f64| value * parts),
    };
    if matches!(limit.law, Law::Tried { .. }) && !unusable::leaves_a_value(limit, &remedy.setting, present, values) {
        return false;
    }
    let full = present.is_infinite() || remedy.ceiling.as_ref().is_some_and(|most| most.value <= present / parts);
    let word = remedy.word.is_some() || matches!(limit.law, Law::Tried { word: Some(_), .. });
    word || matches!(remedy.unit, RemedyUnit::Off | RemedyUnit::Zero)
        || !full && price::holds_more(limit, at, &met(at)) && price::holds_one_more(limit, at, trials)
}

/// The next limit to be lifted at a break, or why there is none.
fn pick(step: &Step<'_>, (values, trials): (&[&Line], &[Judged<'_>])) -> Result<Weighed, End> {
    let known = (values, trials);
    let possible: Vec<&Weighed> = step.weighed.iter().filter(|one| one.is_possible()).collect();
    let Some(best) = possible.first() else {
        return Err(if step.tests.is_empty() { End::NoCause } else { End::Refuted });
    };
    let untried =
        |one: &&&Weighed| matches!(one.limit.law, Law::Tried { .. }) && can_be_lifted(&one.limit, &step.at, known);
    if let Some(one) = possible.iter().find(untried) {
        return Ok((*one).clone());
    }
    if matches!(best.limit.law, Law::Delay { .. }) {
        return Err(End::CannotLift);
    }
    if step.tests.len() >= TESTS {
        return Err(End::Refuted);
    }
    let equal =
        possible.iter().find(|one| one.strongest == best.strongest && can_be_lifted(&one.limit, &step.at, known));
    equal.map(|one| (*one).clone()).ok_or(End::CannotLift)
}

impl<'a, 'e> Search<'a, 'e> {
    /// The search of a record, told by its trials.
    pub(crate) fn of(events: &'e Events, judged: &'a [Judged<'e>]) -> Search<'a, 'e> {
        let first = judged.iter().find(|one| matches!(one.trial.start.text("/purpose"), "break" | "measure"));
        let removals = Removals::of(events, judged);
        let mut search = Search { events, judged, first, steps: Vec::new(), end: End::Untried, direct: None, removals };
        search.end = match first {
            None => End::Untried,
            Some(first) if !first.generator.is_valid() => End::Invalid,
            Some(first) if first.onset.is_none() => {
                if first.is_whole() {
                    End::Holds
                } else {
                    End::Cut
                }
            }
            Some(first) => ended(first).unwrap_or_else(|| search.go_on(first.clone())),
        };
        search
    }

    /// A number of the plan.
    pub(crate) fn head(&self, pointer: &str) -> f64 {
        self.events.head().number(pointer)
    }

    /// Whether a limit is searched for. (Old plans have no study: a product is tuned, a server that somebody runs is only measured.)
    pub(crate) fn is_tuning(&self) -> bool {
        match self.events.head().text("/plan/study") {
            "" => self.events.head().text("/plan/system/product") != "server",
            study => study == "tune",
        }
    }

    /// The load asked for.
    pub(crate) fn load_asked(&self) -> f64 {
        self.asked().0
    }

    /// The whole trials of the last proof.
    pub(crate) fn proof(&self) -> impl Iterator<Item = &'a Judged<'e>> {
        let is_proof = |one: &Judged<'_>| matches!(one.trial.start.text("/purpose"), "baseline" | "proposal");
        let begin = self.judged.iter().rposition(|one| !is_proof(one)).map_or(0, |last| last + 1);
        self.judged[begin..].iter().filter(|one| one.is_whole())
    }

    /// The first proposal of the last proof that broke.
    pub(crate) fn broken_proposal(&self) -> Option<&'a Judged<'e>> {
        self.proof().find(|one| one.trial.start.text("/purpose") == "proposal" && one.onset.is_some())
    }

    /// The trials that were made for this.
    pub(crate) fn tried(&self, purpose: &'static str) -> impl Iterator<Item = &'a Judged<'e>> {
        self.judged.iter().filter(move |one| one.trial.start.text("/purpose") == purpose)
    }

    /// Whether the server did not start with the last proposal in its proof.
    pub(crate) fn has_no_proposal(&self) -> bool {
        let is_proof = |one: &&Judged<'_>| matches!(one.trial.start.text("/purpose"), "baseline" | "proposal");
        let last = self.judged.iter().rfind(|one| !is_proof(one));
        last.is_some_and(|last| unusable::proposal_after(self.events, last.trial.start.number))
    }

    /// The load asked for, and up to where the objective must hold.
    fn asked(&self) -> (f64, f64) {
        asked::goal(self.events)
    }

    fn go_on(&mut self, first: Judged<'e>) -> End {
        let judged = self.judged;
        let tests =
            judged.iter().filter(|one| one.trial.start.text("/purpose") == "counterfactual" || again::is_second(one));
        let mut tests: Tests<'a, 'e> = (Box::new(tests) as Box<dyn Iterator<Item = &'a Judged<'e>> + 'a>).peekable();
        let mut at = first;
        loop {
            if self.steps.len() >= self.head("/plan/procedure/max_limits") as usize {
                let none: Box<dyn Iterator<Item = &'a Judged<'e>> + 'a> = Box::new(std::iter::empty());
                self.look(at, &mut none.peekable());
                return self.or_prove(End::Enough);
            }
            match self.look(at, &mut tests) {
                End::Proved => {}
                End::Crowded => return self.or_prove(End::Crowded),
                End::NoCause if self.steps.last().is_some_and(|step| weigh::is_crowded(&step.at, &met(&step.at))) => {
                    return self.or_prove(End::Crowded);
                }
                why @ (End::CannotLift | End::Refuted | End::NoCause) => return self.or_else(why),
                why => return why,
            }
            let Some(test) = self.steps.last().and_then(Step::proved) else { return End::NoCause };
            at = match test.after.level() {
                Some(level) if level < self.asked().1 => match ended(&test.after) {
                    Some(why) => return why,
                    None => test.after.clone(),
                },
                _ => match self.failed_proof(&test.after) {
                    Some(failed) => failed,
                    None => return End::Prove,
                },
            };
        }
    }

    /// Looks into one break: what is named, and what came of lifting it.
    fn look(&mut self, at: Judged<'e>, tests: &mut Tests<'a, 'e>) -> End {
        let mut step = Step { at, weighed: Vec::new(), tests: Vec::new() };
        let end = self.looked(&mut step, tests);
        self.steps.push(step);
        end
    }

    fn looked(&self, step: &mut Step<'e>, tests: &mut Tests<'a, 'e>) -> End {
        let own = met(&step.at);
        loop {
            let refuted: Vec<String> = step.tests.iter().map(|test| test.candidate.limit.id.clone()).collect();
            step.weighed = weigh::all(&step.at, &own, &refuted);
            let values = unusable::before(self.events, tests.peek().map(|next| next.trial.start.number));
            let candidate = match pick(step, (&values, self.judged)) {
                Ok(candidate) => candidate,
                // What was tried in vain beside other programs is still open.
                Err(End::Refuted | End::CannotLift) if step.leaves_open() => return End::Crowded,
                Err(why) => return why,
            };
            let Some(trial) = tests.next() else { return End::Open };
            if !trial.is_whole() {
                return End::Cut;
            }
            let after = trial.beyond(self.asked().1);
            if !after.generator.is_valid() {
                return End::Invalid;
            }
            if after.onset.is_none() && after.is_silent() {
                return End::Cut;
            }
            let (mut moved, predicted, scale) = self.moved(&step.at, &candidate.limit, &after);
            let crowded = |one: &Judged<'_>| weigh::is_crowded(one, &met(one));
            let (second, beside) = match moved {
                "not" => (Second::None, false),
                _ => self.second((&step.at, &after), &candidate.limit, tests, crowded),
            };
            let (mut again, once) = (serde_json::Value::Null, matches!(second, Second::Missing(_)));
            if let Second::Made { stands, told } = &second {
                again = told.clone();
                moved = if *stands { moved } else { "not" };
            }
            let hindered = moved == "not" && (beside || crowded(&after));
            if hindered && !matches!(candidate.limit.law, Law::Tried { .. }) {
                return End::Crowded;
            }
            step.tests.push(Test { candidate, after, moved, predicted, scale, hindered, again, once });
            match second {
                Second::Missing(Some(Ended::Open)) => return End::Open,
                Second::Missing(Some(Ended::Cut)) => return End::Cut,
                Second::Missing(Some(Ended::Invalid)) => return End::Invalid,
                _ => {}
            }
            if moved != "not" {
                return End::Proved;
            }
        }
    }

    /// What became of the break of `before` when `lifted` was: to where it moved, where the next one was predicted, and in what.
    fn moved(
        &self,
        before: &Judged<'e>,
        lifted: &Limit,
        after: &Judged<'e>,
    ) -> (&'static str, Option<Ends>, &'static str) {
        let Some(size) = size(before) else { return ("elsewhere", None, "clients") };
        let unforeseen = matches!(lifted.law, Law::Tried { .. });
        let own = met(after);
        let next = next(after, &own, lifted, size);
        let levels = next.as_ref().and_then(|(_, predicted)| predicted.levels(&own));
        let clients = next.as_ref().and_then(|(_, predicted)| predicted.clients);
        // A queue that hardly ends has no place in clients; the load is told of by its own unit then.
        let ends = |&(low, high): &Ends| high < 10.0 * low.max(1.0);
        let clients = clients.filter(|clients| own.think == 0.0 && ends(clients) || levels.is_none());
        let scale = if clients.is_some() { "clients" } else { "level" };
        let passed = levels.is_some_and(|(_, high)| high * (1.0 + TOLERANCE) + 1.0 < after.held_to());
        let moved = match self::size(after) {
            _ if unforeseen => {
                if self.farther(lifted).is(lifted, before, after) {
                    "elsewhere"
                } else {
                    "not"
                }
            }
            None if passed => "elsewhere",
            None => "as_predicted",
            Some(now) => {
                let next =
                    next.as_ref().map(|(id, predicted)| (id.as_str(), predicted.clients.filter(|_| clients.is_some())));
                moved::place(before, lifted, (after, &own), [size, now], levels, next)
            }
        };
        (moved, clients.or(levels), scale)
    }

    /// How a break is known to be another one where no formula says where it should be: of what has moved it already, a step that is enough.
    fn farther(&self, lifted: &Limit) -> Farther {
        let setting = |limit: &Limit| limit.remedy.as_ref().map(|remedy| remedy.setting.clone());
        let mut proved = self.steps.iter().filter_map(Step::proved);
        let further = proved.any(|test| setting(&test.candidate.limit) == setting(lifted));
        Farther { further, goal: self.asked().1 }
    }

    /// The second test of what moved the break in the first, where one is to be made; and whether it ran beside other programs.
    fn second(
        &self,
        (before, after): (&Judged<'e>, &Judged<'e>),
        lifted: &Limit,
        tests: &mut Tests<'a, 'e>,
        crowded: impl Fn(&Judged<'e>) -> bool,
    ) -> (Second, bool) {
        if !again::is_due(lifted, after, self.asked().1, self.head("/plan/procedure/min_pairs")) {
            return (Second::None, false);
        }
        // What an older search tried next need not have come to a trial.
        let after_it = after.trial.start.number;
        let refused = unusable::before(self.events, None).iter().any(|one| one.number > after_it);
        match again::second((before, after), (lifted, self.farther(lifted)), tests, crowded) {
            (Second::Missing(Some(Ended::Open)), _) if refused => (Second::Missing(None), false),
            second => second,
        }
    }

    /// Whether a change is believed that should have been tried a second time.
    pub(crate) fn is_once(&self) -> bool {
        self.steps.iter().filter_map(Step::proved).any(|test| test.once)
    }

    /// A trial of the proof that failed by a limit which says so for certain, and can be lifted.
    fn failed_proof(&self, lifted: &Judged<'e>) -> Option<Judged<'e>> {
        let changes = |one: &Judged<'_>| one.trial.start.items("/changes").to_vec();
        let wanted = changes(lifted);
        let mine = |one: &&Judged<'e>| one.trial.start.text("/purpose") == "proposal" && changes(one) == wanted;
        let failed = self
            .judged
            .iter()
            .filter(mine)
            .filter(|one| one.is_whole() && one.generator.is_valid() && one.onset.is_some_and(|onset| !onset.died));
        let says = |one: &&Judged<'e>| {
            let weighed = weigh::all(one, &met(one), &[]);
            let step = Step { at: (*one).clone(), weighed, tests: Vec::new() };
            step.untested().is_some_and(|it| it.strongest == Some(Strength::Decisive))
                && pick(&step, (&unusable::before(self.events, None), self.judged)).is_ok()
        };
        let failed = failed.into_iter().find(says)?;
        let baseline = |one: &&Judged<'e>| one.trial.start.text("/purpose") == "baseline" && one.is_whole();
        let before = self.judged.iter().filter(baseline).filter(|one| one.trial.number < failed.trial.number);
        // Where the system as it is had held, nothing is missing.
        let held = before.into_iter().any(|one| one.generator.is_valid() && one.held());
        (!held).then(|| failed.clone())
    }

    /// What is met beyond the load asked for does not matter once something was lifted.
    fn or_prove(&self, end: End) -> End {
        let beyond = self.steps.last().and_then(|step| step.at.level()).is_some_and(|level| level > self.asked().0);
        let lifted = self.steps.iter().any(|step| step.proved().is_some());
        if lifted && beyond { End::Prove } else { end }
    }

    /// The same; where nothing is more than possible, what the backend did by itself.
    fn or_else(&mut self, end: End) -> End {
        let end = self.or_prove(end);
        let open = self.steps.last().is_some_and(|step| {
            let named = step.untested().is_some_and(|one| one.strongest > Some(Strength::Consistent));
            !named && step.weighed.iter().any(|one| one.limit.id == BACKEND_BY_ITSELF)
        });
        let direct = self.judged.iter().find(|one| one.trial.start.text("/purpose") == "direct");
        let Some(direct) = direct.filter(|one| end != End::Prove && open && one.is_whole()) else { return end };
        if let Some(why) = ended(direct) {
            return why;
        }
        self.direct = Some(direct);
        let tells = direct.generator.is_valid() && !weigh::is_crowded(direct, &met(direct));
        let Some(step) = self.steps.last_mut().filter(|_| tells) else { return end };
        let Some(evidence) = directly::evidence(&step.at, direct) else { return end };
        let Some(at) = step.weighed.iter().position(|one| one.limit.id == BACKEND_BY_ITSELF) else { return end };
        let mut backend = step.weighed.remove(at);
        backend.evidence.push(evidence);
        (backend.against, backend.score, backend.strongest) = (Vec::new(), 1.0, Some(Strength::Decisive));
        step.weighed.iter_mut().filter(|one| one.is_possible()).for_each(|one| one.against.push("explained"));
        step.weighed.insert(0, backend);
        End::CannotLift
    }

    /// Whether anything was lifted.
    pub(crate) fn is_moved(&self) -> bool {
        self.steps.iter().any(|step| step.proved().is_some())
    }
}

/// The limit that should be met next once one was lifted: the first beyond the break, or the lifted one itself, below the load sent.
fn next(after: &Judged<'_>, own: &Met, lifted: &Limit, size: f64) -> Option<(String, Predicted)> {
    let all = after.limits.iter().filter_map(|limit| {
        let predicted = of_limit(limit, own);
        Some((predicted.bites(&limit.law, own)?, limit, predicted))
    });
    let beyond = all.filter(|(at, limit, _)| *at > size * (1.0 + TOLERANCE) || limit.id == lifted.id);
    let (at, limit, predicted) = beyond.reduce(|a, b| if b.0 < a.0 { b } else { a })?;
    (at < own.level).then(|| (limit.id.clone(), predicted))
}

/// Whether a server was gone, or refused connections, when a trial broke.
fn ended(judged: &Judged<'_>) -> Option<End> {
    let onset = judged.onset?;
    let states: Vec<(f64, &Line)> =
        judged.trial.of("state").filter_map(|line| Some((scan::since(&judged.trial, line)? as f64, line))).collect();
    let end = judged.trial.ticks().last().map_or(0.0, |last| last.number("/to_us"));
    let around =
        states.iter().enumerate().filter(|(_, (_, line))| scan::refuses(line)).find_map(|(i, (from, line))| {
            let back = |(_, later): &&(f64, &Line)| {
                later.text("/state") == "ready" && later.text("/subject") == line.text("/subject")
            };
            let until = states[i + 1..].iter().find(back).map(|(at, _)| *at);
            let here = from - 1e6 <= onset.certain_us as f64 && until.is_none_or(|until| onset.at_us as f64 <= until);
            here.then_some(until.is_none() && end - from >= 4e6)
        });
    match around {
        Some(false) => Some(End::Refused),
        _ => onset.died.then_some(End::Died),
    }
}
