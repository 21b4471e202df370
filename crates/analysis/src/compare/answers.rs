//! Whether contenders give like answers to the same request.

use std::collections::BTreeMap;

use genkai_model::comparison::Comparison;
use genkai_model::event::What;
use genkai_model::finding::comparison::{ComparisonCaveat, KindOfAnswer};
use genkai_model::load::Protocol;
use genkai_model::record::Record;

use super::Seen;
use crate::window::Tally;

/// Answers with more than so many times the bytes of another's are not like them.
const UNLIKE: f64 = 2.0;
/// ... where they differ by more than this, too: as much may be their heads.
const HEADS: f64 = 512.0;
/// Part of the requests that may have failed where bytes tell of good answers: those of errors are among them.
const FAILED: f64 = 0.01;
/// Statuses from here on are failures.
const GOOD: u16 = 400;

/// That good answers of contenders are unlike. Only of one request over and over: a scenario's depend on how far each comes.
pub(super) fn unlike(record: &Record, comparison: &Comparison, turns: &[Seen<'_>]) -> Option<ComparisonCaveat> {
    let load = &record.head.as_ref()?.plan.load;
    if !load.is_one_request() || matches!(load.protocol, Protocol::WebSocket(_)) {
        return None;
    }
    let answers: Vec<KindOfAnswer> = comparison.contenders.iter().filter_map(|one| answer(&one.name, turns)).collect();
    let mut classes = answers.iter().filter_map(|one| Some(one.status? / 100));
    let first = classes.next();
    let otherwise = classes.any(|class| Some(class) != first);
    let bytes = || answers.iter().filter_map(|one| one.bytes);
    let (least, most) = bytes().fold((f64::INFINITY, 0.0_f64), |(least, most), one| (least.min(one), most.max(one)));
    // What changes the compression is there to make them smaller.
    let larger = !compresses(record) && most > UNLIKE * least && most - least > HEADS;
    (otherwise || larger).then_some(ComparisonCaveat::AnswersUnlike { answers })
}

/// Whether a contender differs from another by its compression.
fn compresses(record: &Record) -> bool {
    record.remarks.iter().any(|event| matches!(&event.what, What::Contender(entry) if entry.compression))
}

/// What a contender answers well with; none where it answered nothing so.
fn answer(name: &str, turns: &[Seen<'_>]) -> Option<KindOfAnswer> {
    let ticks = || turns.iter().filter(|seen| seen.is(name, false)).flat_map(|seen| &seen.trial.ticks);
    let all = Tally::of(ticks());
    if all.ok == 0 {
        return None;
    }
    let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
    for one in ticks().flat_map(|tick| &tick.statuses).filter(|one| one.status < GOOD) {
        *counts.entry(one.status).or_default() += one.count;
    }
    // Of as many the lowest.
    let status = counts.into_iter().rev().max_by_key(|(_, count)| *count).map(|(status, _)| status);
    let bytes = ticks().map(|tick| tick.bytes_in).sum::<u64>() as f64 / all.finished() as f64;
    let told = bytes > 0.0 && all.failed as f64 <= FAILED * all.finished() as f64;
    Some(KindOfAnswer { name: name.to_owned(), status, bytes: told.then_some(bytes) })
}
