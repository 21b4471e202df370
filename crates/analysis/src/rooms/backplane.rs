//! Which limit of the backplane it was, where messages went missing in it or on the way to it.

use genkai_model::finding::Evidence;
use genkai_model::finding::rooms::{Place, Placed, RoomsCause};
use genkai_model::limit::{Limit, Strength};
use genkai_model::record::Trial;

use crate::diagnosis::signs::{self, Seconds};

/// The limits of `subject`, the backplane, that left a sign of their own while messages were lost there; nothing where none were. Signs
/// that others may leave too name nothing: a limit is named for certain, or not at all.
pub(super) fn causes(trial: &Trial, losses: &[Placed], subject: Option<&str>) -> Vec<RoomsCause> {
    let there: Vec<&Placed> =
        losses.iter().filter(|placed| matches!(placed.place, Place::InBackplane | Place::ToBackplane)).collect();
    let first = there.iter().filter_map(|placed| placed.from_us).min();
    let last = there.iter().filter_map(|placed| placed.to_us).max();
    let (Some(subject), Some((first, last))) = (subject, first.zip(last)) else { return Vec::new() };
    let seconds = Seconds::during(trial, first, last);
    let lost = there.iter().map(|placed| placed.count).sum();
    let own = trial.limits.limits.iter().filter(|limit| limit.subject == subject);
    let with_signs = own.map(|limit| (limit, decisive(limit, trial, &seconds)));
    with_signs
        .filter(|(_, evidence)| !evidence.is_empty())
        .map(|(limit, evidence)| RoomsCause { limit: limit.clone(), evidence, lost })
        .collect()
}

fn decisive(limit: &Limit, trial: &Trial, seconds: &Seconds) -> Vec<Evidence> {
    let own = limit.signatures.iter().filter(|signature| signature.strength == Strength::Decisive);
    own.filter_map(|signature| signs::find(signature, trial, seconds)).collect()
}
