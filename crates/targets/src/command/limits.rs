//! Limits of a server of which nothing is known: each parameter, to be tried; and what every process has.

use std::collections::BTreeMap;

use genkai_model::command::{Parameter, ParameterKind};
use genkai_model::error::ErrorKind;
use genkai_model::limit::{Ceiling, Law, Limit, Origin, Remedy, RemedyUnit, Strength, Symptom};

use super::SUBJECT;
use super::evidence::metrics;
use crate::limits::{SLOW, grew, memory_group, raised, reached, reached_of};

/// A thread that never waits has as much of a core, or more.
const FULL: f64 = 0.9;

/// Every limit of a command with these values.
pub(super) fn of(parameters: &[Parameter], values: &BTreeMap<String, String>) -> Vec<Limit> {
    let value = |parameter: &Parameter| values.get(&parameter.name).cloned().unwrap_or_default();
    let own = parameters.iter().flat_map(|parameter| tried(parameter, &value(parameter)));
    own.chain(of_any().map(apart)).collect()
}

/// What every process has.
fn of_any() -> impl Iterator<Item = Limit> {
    [thread(), descriptors(), queue(), memory_group(SUBJECT)].into_iter()
}

/// With an identity that no parameter has, whatever its name: what is known of one says nothing of the other.
fn apart(limit: Limit) -> Limit {
    let id = format!("{SUBJECT}-process{}", limit.id.strip_prefix(SUBJECT).unwrap_or_default());
    Limit { id, ..limit }
}

/// What can be tried of a parameter: a larger number, or each of its other words.
fn tried(parameter: &Parameter, value: &str) -> Vec<Limit> {
    let name = &parameter.name;
    match &parameter.kind {
        ParameterKind::Number { most, .. } => {
            let ceiling =
                most.map(|most| Ceiling { value: most as f64, by: format!("the range given with --set {name}") });
            let remedy = Remedy { ceiling, ..raised(name, RemedyUnit::Count, 1.0) };
            let law = Law::Tried { value: value.parse().unwrap_or(0.0), word: None };
            vec![limit(format!("{SUBJECT}.{name}"), name, value, law, remedy)]
        }
        ParameterKind::Words(words) => {
            let others = words.iter().filter(|word| *word != value);
            let one = |word: &String| {
                let law = Law::Tried { value: 0.0, word: Some(word.clone()) };
                limit(format!("{SUBJECT}.{name}={word}"), name, value, law, raised(name, RemedyUnit::Count, 1.0))
            };
            others.map(one).collect()
        }
        ParameterKind::Text | ParameterKind::Secret => Vec::new(),
    }
}

fn limit(id: String, name: &str, value: &str, law: Law, remedy: Remedy) -> Limit {
    Limit {
        value: value.to_owned(),
        origin: Origin::Given,
        caps: "what it stands for is not known".to_owned(),
        law,
        formula: "no formula is known: trying another value tells".to_owned(),
        source: "the trials of this run".to_owned(),
        symptom: Symptom { errors: ErrorKind::ALL.to_vec(), slow: true },
        remedy: Some(remedy),
        ..Limit::named(&id, SUBJECT, name)
    }
}

/// One thread that has a core for itself and needs more.
fn thread() -> Limit {
    Limit {
        value: "1".to_owned(),
        origin: Origin::Machine("its threads".to_owned()),
        caps: "one of its threads has a core for itself all the time: what that thread does for each request is the limit (an event loop, a \
               lock that all wait for)"
            .to_owned(),
        formula: "a thread runs on one core at a time".to_owned(),
        source: "proc(5): /proc/PID/task/TID/schedstat".to_owned(),
        signatures: vec![reached(metrics::THREAD, FULL, Strength::Supports)],
        symptom: Symptom { errors: vec![ErrorKind::Timeout], slow: true },
        ..Limit::named(&format!("{SUBJECT}.thread"), SUBJECT, "one thread's processor time")
    }
}

fn descriptors() -> Limit {
    Limit {
        origin: Origin::Machine("/proc/PID/limits".to_owned()),
        caps: "descriptors of one of its processes".to_owned(),
        formula: "as many as RLIMIT_NOFILE of that process".to_owned(),
        source: "getrlimit(2) RLIMIT_NOFILE".to_owned(),
        signatures: vec![reached_of(metrics::FDS, metrics::FD_LIMIT, 0.98, Strength::Decisive)],
        symptom: Symptom { errors: ErrorKind::ALL.to_vec(), slow: true },
        ..Limit::named(&format!("{SUBJECT}.descriptors"), SUBJECT, "RLIMIT_NOFILE")
    }
}

/// That its accept queue is full says that it does not accept in time, whatever keeps it from that.
fn queue() -> Limit {
    Limit {
        origin: Origin::Machine("its listening socket".to_owned()),
        caps: "connections that wait to be accepted by it".to_owned(),
        formula: "the smaller of its backlog and net.core.somaxconn, and one more".to_owned(),
        source: "listen(2); sock_diag(7)".to_owned(),
        signatures: vec![grew(metrics::DROPS, Strength::Consistent)],
        symptom: Symptom { errors: vec![ErrorKind::ConnectTimeout, ErrorKind::Timeout], ..SLOW },
        ..Limit::named(&format!("{SUBJECT}.backlog"), SUBJECT, "listen backlog")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_shares_its_identity_with_nothing() {
        let own: Vec<String> = of_any().filter_map(|limit| Some(limit.id.rsplit_once('.')?.1.to_owned())).collect();
        assert_eq!(own, ["thread", "descriptors", "backlog", "memory_group"]);
        let all: Vec<Parameter> =
            own.iter().filter_map(|name| Some(Parameter::read(&format!("{name}=4")).ok()?.0)).collect();
        let values = own.iter().map(|name| (name.clone(), "4".to_owned())).collect();
        let mut ids: Vec<String> = of(&all, &values).into_iter().map(|limit| limit.id).collect();
        ids.sort();
        let before = ids.len();
        ids.dedup();
        assert_eq!((ids.len(), before), (8, 8), "{ids:?}");
    }
}
