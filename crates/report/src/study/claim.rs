//! Advice put to the test, in words.

use super::comparison::{self, brief, title};
use crate::document::{Block, Document, Section, Table};
use crate::{clean, figure};
use genkai_model::claim::{Claim, Promised, Test};
use genkai_model::finding::Call;
use genkai_model::finding::claim::{ClaimFinding, ClaimVerdict, KeptPromise};

/// `The advice "..." is refuted: promised better throughput, measured x1.00 (interval 0.99-1.01).`
pub(crate) fn sentence(finding: &ClaimFinding) -> String {
    let advice = clean::line(&finding.claim.advice);
    format!("The advice \"{}\": {}. {}", advice.trim_end_matches('.'), verdict(finding.verdict), measured(finding))
}

/// Columns of the table of claims.
pub(crate) const COLUMNS: [&str; 6] = ["advice", "tested", "measured", "verdict", "rests on", "read"];

/// A claim as a row of it.
pub(crate) fn row(finding: &ClaimFinding) -> Vec<String> {
    vec![
        clean::line(&finding.claim.advice),
        test(&finding.claim),
        measured(finding),
        verdict(finding.verdict).to_owned(),
        evidence(finding),
        clean::line(&finding.claim.read),
    ]
}

/// A verdict in a few words.
pub(crate) fn verdict(verdict: ClaimVerdict) -> &'static str {
    match verdict {
        ClaimVerdict::Confirmed => "confirmed",
        ClaimVerdict::Partly => "true in part",
        ClaimVerdict::Refuted => "refuted",
        ClaimVerdict::DoesNotExist => "does not exist",
        ClaimVerdict::Refused => "refused by the server as it is written",
        ClaimVerdict::Clamped => "without effect: the server takes another value",
        ClaimVerdict::Warned => "accepted with a warning",
        ClaimVerdict::Exists => "it exists",
        ClaimVerdict::CannotTell => "cannot tell",
    }
}

/// What was measured, promise by promise; or what the server's own check says.
pub(crate) fn measured(finding: &ClaimFinding) -> String {
    match &finding.claim.test {
        Test::Line(_) => finding.said.first().map_or_else(
            || "The server's own check accepts it.".to_owned(),
            |words| format!("The server's own check says: {}", clean::cut(words, 300)),
        ),
        Test::Load(_) => {
            let all: Vec<String> = finding.kept.iter().map(kept).collect();
            format!("{}.", all.join("; "))
        }
    }
}

/// `throughput: promised better, measured x1.02 (interval 0.99-1.05), no measurable difference`.
fn kept(one: &KeptPromise) -> String {
    let promised = match one.promise.becomes {
        Promised::Same => "no difference".to_owned(),
        word => word.to_string(),
    };
    let what = title(one.promise.figure);
    match &one.effect {
        Some(effect) if effect.effect.is_some() || effect.bound.is_some() => {
            format!("{what}: promised {promised}, measured {}, {}", brief(effect), call(effect.call, one))
        }
        _ => format!("{what}: promised {promised}, nothing was measured"),
    }
}

fn call(call: Call, one: &KeptPromise) -> String {
    match call {
        _ if matches!((one.promise.becomes, one.kept), (Promised::Times(_), Some(false))) => "not that much".to_owned(),
        Call::CannotTell { .. } | Call::NotJudged => "which does not decide it".to_owned(),
        other if one.kept.is_some() => comparison::called(other, ["block", "blocks"]),
        _ => "which does not decide it: nobody was stressed, so that is what was asked".to_owned(),
    }
}

/// What was tested, in a sentence.
pub(crate) fn tested(claim: &Claim) -> String {
    match &claim.test {
        Test::Line(_) => format!("`{}`", test(claim)),
        Test::Load(_) => test(claim),
    }
}

/// What was tested: the change, or the line.
fn test(claim: &Claim) -> String {
    match &claim.test {
        Test::Line(line) => clean::line(line),
        Test::Load(test) => test.changes.iter().map(|change| clean::line(change)).collect::<Vec<_>>().join(", "),
    }
}

/// What it rests on.
pub(crate) fn evidence(finding: &ClaimFinding) -> String {
    let server = clean::line(&finding.server);
    match &finding.claim.test {
        Test::Line(_) => format!("{server}, its own check"),
        Test::Load(_) => {
            let blocks = figure::plural(finding.blocks.into(), "block", "blocks");
            let warned: Vec<String> = finding.said.iter().take(1).map(|words| clean::cut(words, 160)).collect();
            let warned =
                if warned.is_empty() { String::new() } else { format!("; the server warns: {}", warned.join("; ")) };
            format!("{server}, {blocks} of baseline and change{warned}")
        }
    }
}

/// A claim: verdict, what was measured, what that rests on.
pub(crate) fn section(finding: &ClaimFinding) -> Section {
    let facts = [
        ("advice", clean::line(&finding.claim.advice)),
        ("tested", tested(&finding.claim)),
        ("measured", measured(finding)),
        ("rests on", evidence(finding)),
    ];
    let title = format!("{}: {}", clean::line(&finding.claim.name), verdict(finding.verdict));
    Section::terminal(&title).with([Block::facts(facts)])
}

/// Claims and what came of them.
pub fn claims(all: &[ClaimFinding]) -> Document {
    let lead = "Made by `genkai claims --markdown` from its records: each change was compared with the same server without it, in shuffled \
                blocks, under the load that its file in `claims/` says. Intervals are 95 % confidence intervals that hold together for \
                all figures of a claim. What was measured holds for that load and machine.";
    let table = Table::new("Advice", &COLUMNS, all.iter().map(row)).block();
    let table = Section::markdown("").with([Block::text(lead)]).with(table);
    let sections = all.iter().map(section).chain([table]).collect();
    Document { headline: "Advice put to the test".to_owned(), ..Document::plain(String::new(), sections) }
}
