//! Advice put to the test: what is to be said of a claim, from the record of its test.

use genkai_model::claim::{LoadTest, Promise, Promised, Test};
use genkai_model::comparison::Comparison;
use genkai_model::event::What;
use genkai_model::figure::Figure;
use genkai_model::finding::claim::{ClaimFinding, ClaimVerdict, KeptPromise};
use genkai_model::finding::comparison::ComparedPair;
use genkai_model::finding::{Call, Effect, Outcome};
use genkai_model::record::Record;
use genkai_model::units::Range;

use crate::effect;

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
fn kept(test: &LoadTest, pairs: &[ComparedPair], stressed: bool) -> Vec<KeptPromise> {
    let effects = pairs.last().map(|pair| pair.effects.as_slice()).unwrap_or_default();
    let one = |promise: &Promise| {
        let effect = effects.iter().find(|effect| effect.figure == promise.figure).cloned();
        let told = effect.as_ref().filter(|effect| stressed || effect.figure != Figure::Throughput);
        let kept = told.and_then(|effect| keeps(promise.becomes, effect));
        KeptPromise { promise: *promise, effect, kept }
    };
    test.promises.iter().map(one).collect()
}

/// Whether what was measured keeps a promise; none where it does not decide it. A promised size is broken where the interval leaves out that
/// much and more, and kept where the figure changed for certain and the interval does not leave it out.
fn keeps(promised: Promised, effect: &Effect) -> Option<bool> {
    let is = |wanted| effect::is_decided(effect.call).then_some(effect.call == wanted);
    match promised {
        Promised::Better => is(Call::Better),
        Promised::Worse => is(Call::Worse),
        Promised::Same => is(Call::Same),
        Promised::Times(times) => {
            let Range { low, high } = effect.effect?.interval;
            let (short, changed) = if times < 1.0 { (low > times, high < 1.0) } else { (high < times, low > 1.0) };
            if short { Some(false) } else { changed.then_some(true) }
        }
    }
}

fn verdict(kept: &[KeptPromise], outcome: Outcome) -> ClaimVerdict {
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
    use genkai_model::finding::Estimate;

    use super::*;

    fn kept(calls: &[(Promised, Call)]) -> Vec<KeptPromise> {
        let one = |(becomes, call): &(Promised, Call)| KeptPromise {
            promise: Promise { figure: Figure::Throughput, becomes: *becomes },
            effect: None,
            kept: keeps(*becomes, &Effect { figure: Figure::Throughput, effect: None, bound: None, call: *call }),
        };
        calls.iter().map(one).collect()
    }

    #[test]
    fn a_promised_size_is_broken_where_the_interval_leaves_it_out() {
        let said = |times: f64, low: f64, high: f64| {
            let effect = Some(Estimate { value: (low * high).sqrt(), interval: Range { low, high }, n: 6 });
            keeps(
                Promised::Times(times),
                &Effect { figure: Figure::Cpu, effect, bound: None, call: Call::CannotTell { more: None } },
            )
        };
        assert_eq!(said(0.56, 0.80, 1.24), Some(false), "not so much less, whatever it is");
        assert_eq!(said(0.56, 0.60, 0.70), Some(false), "less, but not so much");
        assert_eq!((said(0.56, 0.50, 0.70), said(0.56, 0.30, 0.40)), (Some(true), Some(true)));
        assert_eq!((said(0.56, 0.50, 1.10), said(2.0, 0.90, 2.10)), (None, None));
        assert_eq!((said(2.0, 0.90, 1.90), said(2.0, 1.10, 2.10)), (Some(false), Some(true)));
        assert_eq!(
            keeps(
                Promised::Times(2.0),
                &Effect { figure: Figure::Cpu, effect: None, bound: None, call: Call::Missing }
            ),
            None
        );
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
