//! What limits the answer of a comparison.

use genkai_model::finding::latencies::{CaseFinding, LatencyCaveat, MeasuredRound};
use genkai_model::latencies::LatencyComparison;
use genkai_model::record::Record;
use genkai_model::websocket::Messages;

use super::Counted;
use super::compare::{BUSY, busy};
use crate::effect;
use crate::statistics::ALPHA;

/// Processor time of idle contenders, by that of the one who was asked, above which they disturb it.
const DISTURBED: f64 = 0.2;

pub(super) fn of(
    comparison: &LatencyComparison,
    record: &Record,
    counted: &Counted<'_>,
    cases: &[CaseFinding],
) -> Vec<LatencyCaveat> {
    let mut all = Vec::new();
    if comparison.starts == 1 {
        all.push(LatencyCaveat::OneStart);
    }
    for case in cases {
        all.extend(clocks(case));
        all.extend(drifts(case, cases.len()));
        for standing in &case.standings {
            let rounds: Vec<_> = counted.of_one(&standing.name, case.case).collect();
            let (name, case, busy) = (standing.name.clone(), case.case, busy(&rounds));
            if busy > BUSY {
                let place = rounds.iter().find_map(|(_, _, round)| round.workers.first()).map(|one| one.place.clone());
                all.push(LatencyCaveat::ClientBusy { name: name.clone(), case, busy, place });
            }
            if standing.failed > 0 {
                let code = rounds.iter().find_map(|(_, _, round)| round.closes.first()).map(|close| close.code);
                all.push(LatencyCaveat::Unanswered { name, case, rounds: standing.failed, code });
            }
        }
    }
    all.extend(comparison.contenders.iter().filter_map(|contender| disturbed(&contender.name, counted)));
    all.extend(comparison.contenders.iter().filter_map(|contender| reopened(&contender.name, counted)));
    if record.end.is_none() {
        all.push(LatencyCaveat::RecordCutOff);
    }
    all
}

/// What clocks of other machines leave open.
fn clocks(case: &CaseFinding) -> Option<LatencyCaveat> {
    let uncertainty = case.standings.iter().filter_map(|one| one.clock_uncertainty).reduce(f64::max)?;
    Some(LatencyCaveat::Clocks { case: case.case, uncertainty, undecided: case.within_clocks })
}

/// Contenders whose later rounds differ from the earlier ones by more than chance, all of them taken together.
fn drifts(case: &CaseFinding, cases: usize) -> Vec<LatencyCaveat> {
    let alpha = ALPHA / (case.standings.len() * cases).max(1) as f64;
    let drift = |rounds: &[MeasuredRound]| {
        let series: Vec<(u32, f64)> = rounds.iter().filter_map(|round| Some((round.round, round.figure?))).collect();
        effect::drift(&series, alpha).filter(|ratio| effect::drifts(*ratio))
    };
    let one = |standing: &genkai_model::finding::latencies::LatencyStanding| {
        let ratio = drift(&standing.rounds)?;
        Some(LatencyCaveat::Drift { name: standing.name.clone(), case: case.case, ratio })
    };
    case.standings.iter().filter_map(one).collect()
}

fn disturbed(name: &str, counted: &Counted<'_>) -> Option<LatencyCaveat> {
    let of = counted.0.iter().filter(|(_, _, round)| round.contender == name);
    let (own, others) = of.fold((0, 0), |sum, (_, _, round)| (sum.0 + round.used.cpu_us, sum.1 + round.used.others_us));
    let fraction = others as f64 / own as f64;
    // Of one whose own time nobody saw, the others' is no part.
    (own > 0 && fraction > DISTURBED).then(|| LatencyCaveat::Disturbed { name: name.to_owned(), fraction })
}

/// Connections that ended between rounds that count.
fn reopened(name: &str, counted: &Counted<'_>) -> Option<LatencyCaveat> {
    let rounds = counted.0.iter().filter(|(_, _, round)| round.contender == name);
    let mut codes = Messages::default();
    for close in rounds.flat_map(|(_, _, round)| &round.reopened) {
        codes.closed(close.code, close.count);
    }
    let most = codes.closes.iter().max_by_key(|close| close.count)?;
    let connections = codes.closes.iter().map(|close| close.count).sum();
    Some(LatencyCaveat::Reopened { name: name.to_owned(), connections, code: most.code })
}
