//! Experiment 2: Apache as a WebSocket reverse proxy. What it bears, what is behind the troubles that people report, which of the changes
//! that are recommended makes a difference, and whether the advice is true.

mod changes;
mod searches;

use std::collections::BTreeMap;

use genkai_model::plan::{Backend, Plan, System};
use genkai_model::units::Range;

use super::{Size, echo};

pub use changes::plan as changes;
pub use searches::PROCESSOR;

/// The experiment's name.
pub const NAME: &str = "apache-websocket";

/// A part of the experiment, with a folder of its own.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its folder below the experiment's.
    pub name: &'static str,
    /// What is asked.
    pub question: String,
    /// Whether it is done where no part is named.
    pub usual: bool,
    /// What is done.
    pub task: Task,
}

/// What is done in a part.
#[derive(Clone, Debug)]
pub enum Task {
    /// A limit is searched for: one run.
    Search(Box<Search>),
    /// Changes are compared with the system without them, under so many connections: one run, whose plan is [`changes`].
    Changes(u32),
    /// Advice is put to the test: a run for each claim.
    Claims,
}

/// A search and what it is to find.
#[derive(Clone, Debug)]
pub struct Search {
    /// The run.
    pub plan: Plan,
    /// Whether it is one of the troubles that people report, in their words.
    pub trouble: Option<&'static str>,
    /// What is behind it: the id of the limit that must be named; none where it must hold.
    pub limit: Option<&'static str>,
}

/// The parts in order. Comparisons take longer than a quick look may: there they are done when they are asked for.
pub fn parts(size: Size) -> Vec<Part> {
    let usual = size == Size::Full;
    let part = |name, question: String, task| Part { name, question, usual, task };
    let mut all = searches::all(size);
    all.extend(changes::LOADS.iter().filter(|load| load.in_size(size)).map(|load| {
        let connections = load.connections(size);
        let question = format!(
            "Buffers, MaxRequestWorkers, KeepAliveTimeout: which of the changes makes a difference to {connections} connections?"
        );
        part(load.name, question, Task::Changes(connections))
    }));
    all.push(part("claims", "The advice that is given for Apache: is it true?".to_owned(), Task::Claims));
    all
}

/// The title of the run of a part.
fn title(name: &str, size: Size) -> String {
    format!("{NAME}: {name} ({})", size.word())
}

/// What the plan of a part is known by, whatever its title says.
fn id(name: &str, size: Size) -> String {
    format!("{NAME}/{name}/{}", size.word())
}

/// Whether a plan is that of a part in a size. Plans of `genkai.run/1` say it by their title only.
pub fn is_of(plan: &Plan, part: &Part, size: Size) -> bool {
    match &plan.part {
        Some(known) => *known == id(part.name, size),
        None => plan.title == title(part.name, size),
    }
}

/// Apache, with an echo behind it.
fn system(settings: BTreeMap<String, String>) -> System {
    System { settings, backend: Backend::WebSocket(echo()), ..System::generated("apache") }
}

impl Search {
    /// Seconds of load: what it takes where the first cause tried is the cause, and the most where each limit that is lifted shows another.
    pub fn seconds(&self) -> Range {
        let procedure = &self.plan.procedure;
        let rise = genkai_analysis::capacity::demand::ramp(&self.plan.load);
        let trial = rise + procedure.hold.as_secs_f64();
        if procedure.max_limits == 0 {
            return Range { low: trial, high: trial };
        }
        // As it is, and with the setting changed; then the pairs of the proof.
        let pair = 2.0 * (procedure.proof_ramp.as_secs_f64() + procedure.proof_hold.as_secs_f64());
        let low = 2.0 * trial + f64::from(procedure.min_pairs) * pair;
        let high = f64::from(1 + procedure.max_limits) * trial + f64::from(procedure.max_pairs) * pair;
        Range { low, high }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_is_under_a_minute_of_load_and_has_all_five_troubles() {
        let parts = parts(Size::Quick);
        let trouble = |p: &&Part| matches!(&p.task, Task::Search(search) if search.trouble.is_some());
        assert_eq!(parts.iter().filter(trouble).count(), 5);
        let seconds = |p: &Part| match &p.task {
            Task::Search(search) => search.seconds().low,
            Task::Changes(_) | Task::Claims => panic!("{} is for who asks for it", p.name),
        };
        let all: f64 = parts.iter().filter(|p| p.usual).map(seconds).sum();
        assert!((30.0..60.0).contains(&all), "{all}");
    }

    #[test]
    fn full_does_everything_at_both_loads_of_the_original() {
        let parts = parts(Size::Full);
        assert!(parts.iter().all(|part| part.usual));
        let names: Vec<&str> = parts.iter().map(|part| part.name).collect();
        assert_eq!(
            names,
            [
                "baseline",
                "load-500",
                "load-1000",
                "answer",
                "idle",
                "slow",
                "large",
                "fan-out",
                "refused",
                "changes",
                "changes-1000",
                "claims"
            ]
        );
    }

    #[test]
    fn a_part_is_known_by_its_identity_and_an_old_one_by_its_title() {
        let all = parts(Size::Quick);
        let Task::Search(search) = &all[0].task else { unreachable!() };
        let reworded = Plan { title: "other words".to_owned(), ..search.plan.clone() };
        let old = Plan { part: None, ..search.plan.clone() };
        for plan in [&reworded, &old] {
            assert!(is_of(plan, &all[0], Size::Quick));
            assert!(!is_of(plan, &all[0], Size::Full) && !is_of(plan, &all[1], Size::Quick));
        }
        assert!(!is_of(&Plan { part: None, ..reworded }, &all[0], Size::Quick));
    }
}
