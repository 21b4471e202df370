//! Advice put to the test: what is to be said of a claim, from the record of its test.

use genkai_model::claim::{ClaimFinding, ClaimVerdict, Kept, LoadTest, Test};
use genkai_model::comparison::{ComparedPair, Comparison, Figure};
use genkai_model::event::What;
use genkai_model::finding::Outcome;
use genkai_model::record::Record;

/// Identity of the note of a line that the server's own check does not know.
pub const UNKNOWN: &str = "claim-line-unknown";
/// Of one that it knows and refuses.
pub const REFUSED: &str = "claim-line-refused";
/// Of one that it accepts with the warning that it takes another value.
pub const CLAMPED: &str = "claim-line-clamped";
/// Of one that it accepts with another warning.
pub const WARNED: &str = "claim-line-warned";
/// Of one that it accepts.
pub const ACCEPTED: &str = "claim-line-accepted";
/// Of what a server warns of before it starts.
pub const WARNING: &str = "server-warns";

/// What is to be said of the claim that a comparison with such an outcome tests; none where it tests none. `stressed` is whether any
/// contender was: else its throughput is what was asked of it, and decides nothing.
pub(crate) fn finding(
    record: &Record,
    comparison: &Comparison,
    pairs: &[ComparedPair],
    blocks: u32,
    outcome: Outcome,
    stressed: bool,
) -> Option<ClaimFinding> {
    let claim = (**comparison.claim.as_ref()?).clone();
    let notes = |id: &'static str| {
        record.remarks.iter().filter_map(move |event| match &event.what {
            What::Note(note) if note.id == id => Some(note.text.clone()),
            _ => None,
        })
    };
    let (verdict, kept) = match &claim.test {
        Test::Line(_) if notes(UNKNOWN).next().is_some() => (ClaimVerdict::DoesNotExist, Vec::new()),
        Test::Line(_) if notes(REFUSED).next().is_some() => (ClaimVerdict::Refused, Vec::new()),
        Test::Line(_) if notes(CLAMPED).next().is_some() => (ClaimVerdict::Clamped, Vec::new()),
        Test::Line(_) if notes(WARNED).next().is_some() => (ClaimVerdict::Warned, Vec::new()),
        Test::Line(_) if notes(ACCEPTED).next().is_some() => (ClaimVerdict::Exists, Vec::new()),
        Test::Line(_) => (ClaimVerdict::CannotTell, Vec::new()),
        Test::Load(test) => {
            let kept = kept(test, pairs, stressed);
            (verdict(&kept, outcome), kept)
        }
    };
    let said = [UNKNOWN, REFUSED, CLAMPED, WARNED, WARNING].into_iter().flat_map(notes).collect();
    let versions = record.head.as_ref().map(|head| &head.environment.versions);
    let version = versions.and_then(|all| all.get(&claim.system.product)).map_or("", String::as_str);
    let server = format!("{} {version}", claim.system.product);
    Some(ClaimFinding { verdict, kept, said, server, blocks, claim })
}

/// Each promise beside what was measured: of the advice as it is given, which is the last contender.
fn kept(test: &LoadTest, pairs: &[ComparedPair], stressed: bool) -> Vec<Kept> {
    let effects = pairs.last().map(|pair| pair.effects.as_slice()).unwrap_or_default();
    let one = |promise: &genkai_model::claim::Promise| {
        let effect = effects.iter().find(|effect| effect.figure == promise.figure).cloned();
        let told = effect.as_ref().filter(|effect| stressed || effect.figure != Figure::Throughput);
        let kept = told.and_then(|effect| promise.becomes.kept(effect.call));
        Kept { promise: *promise, effect, kept }
    };
    test.promises.iter().map(one).collect()
}

fn verdict(kept: &[Kept], outcome: Outcome) -> ClaimVerdict {
    let count = |wanted: Option<bool>| kept.iter().filter(|one| one.kept == wanted).count();
    match (count(Some(true)), count(Some(false)), count(None)) {
        _ if matches!(outcome, Outcome::Invalid | Outcome::Unfinished) => ClaimVerdict::CannotTell,
        (_, 0, 0) => ClaimVerdict::Confirmed,
        (0, 1.., _) => ClaimVerdict::Refuted,
        (1.., 1.., _) => ClaimVerdict::Partly,
        _ => ClaimVerdict::CannotTell,
    }
}

#[cfg(test)]
mod tests {
    use genkai_model::claim::{Promise, Promised};
    use genkai_model::comparison::Call;

    use super::*;

    fn kept(calls: &[(Promised, Call)]) -> Vec<Kept> {
        let one = |(becomes, call): &(Promised, Call)| Kept {
            promise: Promise { figure: Figure::Throughput, becomes: *becomes },
            effect: None,
            kept: becomes.kept(*call),
        };
        calls.iter().map(one).collect()
    }

    #[test]
    fn a_verdict_needs_every_promise_decided_or_one_broken() {
        let open = Call::CannotTell { more: None };
        let said = |calls: &[(Promised, Call)]| verdict(&kept(calls), Outcome::Fails);
        assert_eq!(said(&[(Promised::Better, Call::Better)]), ClaimVerdict::Confirmed);
        assert_eq!(said(&[(Promised::Same, Call::Same)]), ClaimVerdict::Confirmed);
        assert_eq!(said(&[(Promised::Better, Call::Same)]), ClaimVerdict::Refuted);
        assert_eq!(said(&[(Promised::Better, Call::Worse), (Promised::Better, open)]), ClaimVerdict::Refuted);
        assert_eq!(said(&[(Promised::Better, Call::Better), (Promised::Better, Call::Same)]), ClaimVerdict::Partly);
        assert_eq!(said(&[(Promised::Better, Call::Better), (Promised::Better, open)]), ClaimVerdict::CannotTell);
        let broken = kept(&[(Promised::Better, Call::Same)]);
        assert_eq!(
            verdict(&broken, Outcome::Invalid),
            ClaimVerdict::CannotTell,
            "what was measured is not to be trusted"
        );
    }
}
