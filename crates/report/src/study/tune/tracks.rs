//! Predicted limits against where they were seen.

use genkai_model::finding::{Cause, Findings, Predicted, Scale};

use super::terminal::LATER;
use super::{is_at_work, is_far, is_named, short_place, told_from};
use crate::context::Context;
use crate::document::{Block, Drawing, LimitRow, Part, Section, Tracks, TracksKey};
use crate::{clean, figure, words};

/// Every limit of the baseline, each followed by what was predicted and seen once it was lifted; none without any.
pub(super) fn section(findings: &Findings, context: Context<'_>) -> Option<Section> {
    let verdict = &findings.verdict;
    let (near, far): (Vec<&Predicted>, Vec<&Predicted>) =
        verdict.predictions.iter().partition(|one| !is_far(one, &verdict.caveats, &verdict.causes));
    let rows = |all: &[&Predicted]| {
        all.iter()
            .flat_map(|one| {
                let at_work = is_at_work(one, &verdict.caveats);
                let lifted = verdict.causes.iter().filter_map(|cause| lifted(one, cause));
                let shown = LimitRow { seen: seen(one, at_work, is_named(one, &verdict.causes)), ..row(one, context) };
                std::iter::once(shown).chain(lifted).collect::<Vec<_>>()
            })
            .collect::<Vec<LimitRow>>()
    };
    let others = rows(&far);
    let asked = context.asked().filter(|_| context.closed());
    let drawn = near.iter().any(|one| one.clients.is_some())
        || near.iter().any(|one| one.observed.is_some())
        || asked.is_some();
    let tracks = Tracks {
        asked,
        key: drawn.then(|| key(asked, context)),
        rows: rows(&near),
        more: (!others.is_empty()).then(|| {
            format!(
                "{} more that do not matter for this load: far beyond it, or not to be told beforehand, and no sign of them",
                others.len()
            )
        }),
        others,
    };
    let measured = verdict.predictions.iter().any(|one| one.told_from.is_some());
    let lead = match measured {
        true => {
            "Computed from the configuration, in clients at once; what processor time allows, from what was in use under load."
        }
        false => "Computed from the configuration before any load was sent, in clients at once.",
    };
    let section =
        || Section::page(Part::Evidence, "limits", "Limits", lead).with([Block::Drawing(Drawing::Tracks(tracks))]);
    (!verdict.predictions.is_empty()).then(section)
}

fn key(asked: Option<f64>, context: Context<'_>) -> TracksKey {
    TracksKey {
        predicted: "predicted, from first trouble to the hard limit".to_owned(),
        seen: "seen".to_owned(),
        asked: asked.map(|asked| format!("load asked for ({} {})", figure::whole(asked), context.unit())),
        beyond: "beyond this axis".to_owned(),
    }
}

fn row(one: &Predicted, context: Context<'_>) -> LimitRow {
    LimitRow {
        subject: clean::line(&one.subject),
        setting: words::setting(&one.setting, &one.value),
        predicted: short_place(one, context.closed()),
        met: one.observed.is_some(),
        near: one.within_load,
        range: one.clients.map(|range| (range.low, range.high)),
        at: one.observed,
        notes: std::iter::once(clean::line(&one.formula)).chain(told_from(one)).collect(),
        ..LimitRow::default()
    }
}

/// What became of a limit, in words.
fn seen(one: &Predicted, at_work: bool, named: bool) -> String {
    let placed = one.clients.is_some() || one.users.is_some();
    match one.observed {
        None if at_work => "at work, but held".to_owned(),
        None if named => LATER.to_owned(),
        Some(_) if !placed => "seen".to_owned(),
        Some(at) => format!("seen at {}", figure::whole(at)),
        // What was not found to be what broke may have been full all the same.
        None if one.within_load => "within the load, not named".to_owned(),
        None => "not named".to_owned(),
    }
}

/// What was predicted and seen once the limit alone was lifted.
fn lifted(one: &Predicted, cause: &Cause) -> Option<LimitRow> {
    let test = cause.counterfactual.as_ref()?;
    let range = test.predicted.filter(|_| cause.predicted.limit == one.limit && test.scale == Scale::Clients)?;
    let at = test.observed.as_ref().map(crate::context::clients_at);
    let seen = at.map_or_else(|| "no break seen".to_owned(), |at| format!("seen at {}", figure::whole(at)));
    Some(LimitRow {
        subject: "↳ with".to_owned(),
        setting: words::setting(&one.setting, &test.change.to),
        lifted: true,
        predicted: crate::context::clients(range),
        seen,
        met: at.is_some(),
        range: Some((range.low, range.high)),
        at,
        notes: vec!["the next limit once this setting alone is changed".to_owned()],
        ..LimitRow::default()
    })
}
