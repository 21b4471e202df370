//! What went wrong: wrong bodies, failures, counters that disagree, rules that were broken.

use genkai_model::cache::{Aim, CachePass, Caching, Kept};
use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::finding::cache::Trouble;
use genkai_model::record::{Record, Trial};

use super::Passes;
use crate::window::Tally;

pub(super) fn of(plan: &Caching, record: &Record, seen: &Passes<'_>) -> Vec<Trouble> {
    let mut all = Vec::new();
    for one in &plan.contenders {
        let passes: Vec<(&Trial, &CachePass)> =
            seen.0.iter().filter(|(_, pass)| pass.contender == one.name).copied().collect();
        all.extend(wrong(&one.name, &passes));
        all.extend(failed(&one.name, &passes));
        all.extend(disagree(&one.name, &passes));
    }
    let broken = record.conformance.iter().filter(|one| one.verdict == Kept::Broken);
    all.extend(broken.cloned().map(Trouble::Rule));
    all
}

/// Wrong bodies count wherever they came, in searches too.
fn wrong(name: &str, passes: &[(&Trial, &CachePass)]) -> Option<Trouble> {
    let count = |trial: &Trial| Tally::of(&trial.ticks).count(&[ErrorKind::WrongBody]);
    let (first, pass) = passes.iter().find(|(trial, _)| count(trial) > 0)?;
    Some(Trouble::WrongBodies {
        name: name.to_owned(),
        count: passes.iter().map(|(trial, _)| count(trial)).sum(),
        first: pass.wrong,
        trial: first.number,
    })
}

/// Other failures count in passes: a search goes on until there are some.
fn failed(name: &str, passes: &[(&Trial, &CachePass)]) -> Option<Trouble> {
    let rounds = passes.iter().filter(|(_, pass)| matches!(pass.aim, Aim::Pass { .. } | Aim::Mount { .. }));
    let ticks: Vec<_> = rounds.flat_map(|(trial, _)| &trial.ticks).cloned().collect();
    let mut errors: Vec<ErrorCount> = Tally::of(&ticks).errors;
    errors.retain(|error| error.kind != ErrorKind::WrongBody);
    (!errors.is_empty()).then(|| Trouble::Failed { name: name.to_owned(), errors })
}

/// In a pass without failures a cache's misses are the requests that its origin got.
fn disagree(name: &str, passes: &[(&Trial, &CachePass)]) -> Option<Trouble> {
    passes.iter().find_map(|(trial, pass)| {
        let own = pass.own?;
        let in_round = matches!(pass.aim, Aim::Pass { .. });
        let differs = own.misses != pass.origin && Tally::of(&trial.ticks).failed == 0;
        (in_round && differs).then(|| Trouble::Disagree {
            name: name.to_owned(),
            trial: trial.number,
            warmth: pass.warmth,
            misses: own.misses,
            origin: pass.origin,
        })
    })
}
