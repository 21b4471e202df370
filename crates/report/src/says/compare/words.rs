//! Everything the page of a comparison says, so that it words nothing itself.

use genkai_model::event::Rewrite;
use genkai_model::figure::Figure;
use genkai_model::finding::comparison::{ComparedContender, ComparedPair, ComparisonFinding};
use serde::Serialize;

use super::{call, caveat, control, interval, pair, place, sentences, shown, size, stress, sure, title};
use crate::{clean, figure, words};

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
    /// What its private copy differs in, in short.
    copy: Option<String>,
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

fn of_subject(one: &ComparedContender) -> SubjectWords {
    SubjectWords {
        settings: settings(one),
        copy: copy(&one.rewrites),
        errors: if one.errors.is_empty() { "none".to_owned() } else { words::errors(&one.errors) },
        values: one.figures.iter().map(|figure| shown(figure.figure, figure)).collect(),
        ranks: one.figures.iter().map(|figure| place(one, figure)).collect(),
    }
}

/// `worker_connections 1024, gzip on`; all others are the defaults.
pub(crate) fn settings(one: &ComparedContender) -> String {
    let all: Vec<String> =
        one.settings.iter().map(|s| format!("{} {}", clean::line(&s.name), clean::line(&s.value))).collect();
    if all.is_empty() { "all as by default".to_owned() } else { all.join(", ") }
}

/// Most files that are named of those a private copy differs in.
const FILES: usize = 3;

/// `5 lines of squid.conf differ in its private copy`; none where there is no copy, or it differs in nothing.
pub(crate) fn copy(rewrites: &[Rewrite]) -> Option<String> {
    let mut files: Vec<String> = Vec::new();
    for one in rewrites {
        let file = file(&one.place);
        if !files.contains(&file) {
            files.push(file);
        }
    }
    let more = files.len().saturating_sub(FILES);
    files.truncate(FILES);
    let mut of = files.join(", ");
    if more > 0 {
        of.push_str(&format!(" and {}", figure::plural(more as u64, "other", "others")));
    }
    let lines = figure::plural(rewrites.len() as u64, "line", "lines");
    let verb = if rewrites.len() == 1 { "differs" } else { "differ" };
    (!rewrites.is_empty()).then(|| format!("{lines} of {of} {verb} in its private copy"))
}

/// The name of the file of a place, which may be a whole file.
fn file(place: &str) -> String {
    let path = place.rsplit_once(':').filter(|(_, line)| line.parse::<u32>().is_ok()).map_or(place, |(path, _)| path);
    clean::line(path.rsplit('/').next().unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_copy_differs_in_is_short() {
        let rewrite = |place: &str| Rewrite { place: place.to_owned(), from: String::new(), to: String::new() };
        let said = |places: &[&str]| copy(&places.iter().map(|place| rewrite(place)).collect::<Vec<_>>());
        assert_eq!(said(&[]), None);
        assert_eq!(said(&["/u/squid.conf:7"]).unwrap(), "1 line of squid.conf differs in its private copy");
        let two = said(&["/u/squid.conf:7", "/u/peers.conf:1", "/u/squid.conf:9"]).unwrap();
        assert_eq!(two, "3 lines of squid.conf, peers.conf differ in its private copy");
        let many = said(&["/u/a:1", "/u/b:1", "/u/c:1", "/u/ssl/d.key", "/u/e:1"]).unwrap();
        assert_eq!(many, "5 lines of a, b, c and 2 others differ in its private copy");
    }
}
