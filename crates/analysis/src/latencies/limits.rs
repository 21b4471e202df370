//! Messages that contenders did not take, and the setting that is the reason.

use std::collections::BTreeMap;

use genkai_model::finding::latencies::MessageLimit;
use genkai_model::latencies::{Case, LatencyComparison, Round};
use genkai_model::limit::{Law, Limit, Origin};
use genkai_model::record::Record;

/// Close code for a message that is too big (RFC 6455 section 7.4.1).
const TOO_BIG: u16 = 1009;
/// Bytes that a protocol on top may add to a message before its server measures it.
const ENVELOPE: u64 = 64;

/// What was asked of one contender with messages of one kind: whether each size was taken, and with which code the connection
/// ended.
type Takes = BTreeMap<u64, (bool, Option<u16>)>;

pub(super) fn of(comparison: &LatencyComparison, record: &Record) -> Vec<MessageLimit> {
    let mut all: Vec<MessageLimit> = Vec::new();
    for contender in &comparison.contenders {
        let entries = || record.trials.iter().flat_map(|trial| &trial.entries);
        let limit = entries().find(|entry| entry.contender == contender.name).and_then(|entry| entry.largest.as_ref());
        let rounds = || record.trials.iter().flat_map(|trial| trial.rounds.iter().map(|(_, round)| round));
        for (word, binary) in [("text", false), ("binary", true)] {
            let takes = takes(rounds().filter(|round| round.contender == contender.name), binary);
            let Some(mut found) = refused(&contender.name, &takes, limit) else { continue };
            match all.last_mut().filter(|last| last.name == found.name && same(last, &found)) {
                Some(last) => last.kinds.push(word.to_owned()),
                None => {
                    found.kinds.push(word.to_owned());
                    all.push(found);
                }
            }
        }
    }
    all
}

fn takes<'r>(rounds: impl Iterator<Item = &'r Round>, of_binary: bool) -> Takes {
    let one = |round: &Round| match round.case {
        Case::Take { bytes, binary } if binary == of_binary => {
            let code = round.closes.first().map(|close| close.code);
            Some((bytes, (round.figure_ns.is_some(), code)))
        }
        _ => None,
    };
    rounds.filter_map(one).collect()
}

/// None when everything was taken.
fn refused(name: &str, takes: &Takes, limit: Option<&Limit>) -> Option<MessageLimit> {
    let (&refused, &(_, code)) = takes.iter().find(|(_, (taken, _))| !taken)?;
    let taken = takes.range(..refused).next_back().map(|(bytes, _)| *bytes);
    let value = limit.and_then(|limit| match limit.law {
        Law::BodySize { value } => Some(value as u64),
        _ => None,
    });
    let between = |value: u64| taken.is_none_or(|taken| taken <= value) && refused + ENVELOPE > value;
    // It says which limit it is only where it is near: between a small message and a large one there may be others.
    let near = |value: u64| taken.is_some_and(|taken| taken + ENVELOPE >= value) && refused <= value + ENVELOPE;
    let proved = code == Some(TOO_BIG) && value.is_some_and(|value| between(value) && near(value));
    Some(MessageLimit {
        name: name.to_owned(),
        kinds: Vec::new(),
        taken,
        refused,
        code,
        proved,
        setting: limit.and_then(|limit| limit.remedy.as_ref()).map(|remedy| remedy.setting.clone()),
        value: limit.map(|limit| limit.value.clone()),
        source: limit.map(|limit| match &limit.origin {
            Origin::Default(source) => source.clone(),
            _ => "given".to_owned(),
        }),
    })
}

fn same(a: &MessageLimit, b: &MessageLimit) -> bool {
    (a.taken, a.refused, a.code, a.proved) == (b.taken, b.refused, b.code, b.proved)
}
