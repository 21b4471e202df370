//! Everything the page of a comparison says, so that it words nothing itself.

use genkai_model::comparison::{ComparedPair, ComparisonFinding, Figure, Subject};
use serde::Serialize;

use super::{call, caveat, control, interval, pair, place, sentences, shown, size, stress, sure, title};
use crate::{clean, words};

/// Words of a comparison.
#[derive(Serialize)]
pub(crate) struct Words {
    headline: String,
    /// What is to be said of the advice that is put to the test.
    claim: Option<String>,
    /// A sentence a pair.
    pairs: Vec<PairWords>,
    control: Option<String>,
    sure: String,
    stress: Option<String>,
    caveats: Vec<String>,
    /// What figures are called.
    figures: Vec<&'static str>,
    subjects: Vec<SubjectWords>,
}

#[derive(Serialize)]
struct PairWords {
    sentence: String,
    /// Of each effect.
    sizes: Vec<String>,
    intervals: Vec<String>,
    calls: Vec<String>,
}

#[derive(Serialize)]
struct SubjectWords {
    settings: String,
    errors: String,
    /// Of each figure.
    values: Vec<String>,
    ranks: Vec<String>,
}

pub(crate) fn words(finding: &ComparisonFinding) -> Words {
    Words {
        headline: sentences(finding).swap_remove(0),
        claim: finding.claim.as_ref().filter(|_| finding.blocks > 1).map(|claim| crate::says::claim::sentence(claim)),
        pairs: finding.pairs.iter().map(of_pair).collect(),
        control: control(finding),
        sure: sure(finding),
        stress: stress(finding),
        caveats: finding.caveats.iter().map(caveat).collect(),
        figures: Figure::ALL.iter().map(|(figure, _)| title(*figure)).collect(),
        subjects: finding.subjects.iter().map(of_subject).collect(),
    }
}

fn of_pair(one: &ComparedPair) -> PairWords {
    PairWords {
        sentence: pair(one),
        sizes: one.effects.iter().map(size).collect(),
        intervals: one.effects.iter().map(interval).collect(),
        calls: one.effects.iter().map(|effect| call(effect.call)).collect(),
    }
}

fn of_subject(one: &Subject) -> SubjectWords {
    SubjectWords {
        settings: settings(one),
        errors: if one.errors.is_empty() { "none".to_owned() } else { words::errors(&one.errors) },
        values: one.figures.iter().map(|figure| shown(figure.figure, figure)).collect(),
        ranks: one.figures.iter().map(|figure| place(one, figure)).collect(),
    }
}

/// `worker_connections 1024, gzip on`; all others are the defaults.
pub(crate) fn settings(one: &Subject) -> String {
    let all: Vec<String> =
        one.settings.iter().map(|s| format!("{} {}", clean::line(&s.name), clean::line(&s.value))).collect();
    if all.is_empty() { "all as by default".to_owned() } else { all.join(", ") }
}
