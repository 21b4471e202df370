//! A record as the lines that it would be read from.

use genkai_model::event::{Event, What};
use genkai_model::record::{Record, Trial};

pub fn of(record: &Record) -> String {
    let mut all = Vec::new();
    let head = record.head.clone().unwrap();
    all.push(Event { at_us: 0, trial: None, what: What::RunStarted(Box::new(head)) });
    let pending = record.pending_limits.clone().filter(|_| record.trials.is_empty());
    all.extend(pending.map(|limits| Event { at_us: 0, trial: None, what: What::Limits(limits) }));
    all.extend(record.remarks.iter().cloned().map(|event| Event { at_us: 0, ..event }));
    let refused = |begun: usize, all: &mut Vec<Event>| {
        let here = record.not_started.iter().filter(|(after, _)| *after == begun);
        let at_us = all.iter().map(|event| event.at_us).max().unwrap_or(0);
        all.extend(here.map(|(_, one)| Event { at_us, trial: None, what: What::NotStarted(one.clone()) }));
    };
    refused(0, &mut all);
    for (i, trial) in record.trials.iter().enumerate() {
        of_trial(trial, &mut all);
        refused(i + 1, &mut all);
    }
    let last = all.iter().map(|event| event.at_us).max().unwrap_or(0);
    all.extend(record.end.clone().map(|end| Event { at_us: last, trial: None, what: What::RunEnded(end) }));
    all.iter().map(|event| serde_json::to_string(event).unwrap() + "\n").collect()
}

fn of_trial(trial: &Trial, all: &mut Vec<Event>) {
    let at = |since: i64| trial.at_us.saturating_add_signed(since);
    let turn = trial.turn.clone().map(What::Turn);
    all.extend(turn.map(|what| Event { at_us: trial.at_us, trial: None, what }));
    let mut own = |at_us: u64, what: What| all.push(Event { at_us, trial: Some(trial.number), what });
    own(trial.at_us, What::Limits(trial.limits.clone()));
    own(trial.at_us, What::TrialStarted(Box::new(trial.started.clone())));
    trial.ticks.iter().for_each(|tick| own(trial.at_us + tick.to_us, What::Tick(Box::new(tick.clone()))));
    trial.samples.iter().for_each(|(since, sample)| own(at(*since), What::Sample(sample.clone())));
    trial.logs.iter().for_each(|(since, line)| own(at(*since), What::Log(line.clone())));
    trial.states.iter().for_each(|(since, state)| own(at(*since), What::State(state.clone())));
    let end = trial.at_us + trial.ticks.last().map_or(0, |tick| tick.to_us);
    if let Some(ended) = trial.ended.clone() {
        own(end, What::TrialEnded(ended));
    }
}
