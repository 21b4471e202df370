//! Why a record may not be the whole of what was seen, in words.

use genkai_model::record::Doubt;

use crate::{clean, figure};

/// A sentence or two for each reason.
pub fn doubts(all: &[Doubt]) -> Vec<String> {
    all.iter().map(sentence).collect()
}

fn sentence(doubt: &Doubt) -> String {
    match doubt {
        Doubt::CutOff { within: Some((trial, there, planned)) } => format!(
            "The record is cut off: it ends {} into the load of trial {trial}, which was planned for {}{}. All figures are of the part that is \
             there.",
            figure::seconds(*there),
            figure::seconds(*planned),
            if there > planned { " and held longer" } else { "" },
        ),
        Doubt::CutOff { within: None } => {
            "The record is cut off: the run has no end. All figures are of the part that is there.".to_owned()
        }
        Doubt::Edited { line } => format!(
            "The record was changed after it was written: line {line} of run.jsonl, or the one before it, is not as genkai wrote it. \
             Nothing here can be relied on."
        ),
        Doubt::Version { version, schema } => format!(
            "The record was made by another version: genkai {}, format {}.",
            clean::line(version),
            clean::line(schema)
        ),
        Doubt::Apart { why } => clean::line(why),
    }
}
