//! Starts a server for a trial. A value of which nothing is known may be one with which it does not start: then the search goes on without it.

use genkai_analysis::tuning::TrialPlan;
use genkai_model::event::{NotStarted, Purpose, What};
use genkai_model::text::shortened;
use genkai_targets::files::masked;
use genkai_targets::product::{Prepared, Running};

use super::Run;
use crate::error::LabError;

/// Identity of the notes that tell of values that cannot be used.
const NOTE: &str = "not-started";
/// So many characters of what a server printed last are told.
const LONGEST: usize = 300;

impl Run<'_, '_, '_> {
    /// The server of a trial; none where the value that is to be tried cannot be used, which is on record then.
    ///
    /// # Errors
    /// When it does not start and no such value is why.
    pub(super) fn started(
        &mut self,
        what: &TrialPlan,
        product: &dyn Prepared,
    ) -> Result<Option<Box<dyn Running>>, LabError> {
        let cpus = self.system.cpus().map(<[usize]>::to_vec);
        let tried = self.is_tried(what);
        let error = match product.start(cpus.as_deref()) {
            // What ends once may end by chance.
            Err(error) if tried && error.is_exit() => match product.start(cpus.as_deref()) {
                Ok(server) => return Ok(Some(server)),
                Err(error) => error,
            },
            // Nobody waits for it any more.
            Err(_) if self.job.interrupt.is_stopped() => return Ok(None),
            Err(error) => error,
            Ok(server) => return Ok(Some(server)),
        };
        match error.own_end() {
            Some(said) if self.unusable(what, &said, false)? => Ok(None),
            _ => Err(error.into()),
        }
    }

    /// Writes down that the value that a trial is to try cannot be used, and why (`listens`: the server starts, but does not answer); false, and
    /// nothing is written, where it tries none.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn unusable(&mut self, what: &TrialPlan, said: &str, listens: bool) -> Result<bool, LabError> {
        // With a value that is tried again it had started.
        let tries = what.purpose != Purpose::Repeat && self.is_tried(what);
        let Some(change) = what.changes.last().filter(|_| tries) else { return Ok(false) };
        let in_proof = what.purpose == Purpose::Proposal;
        let said: String = shortened(&masked(said), LONGEST);
        let (not, had) = match listens {
            false => ("does not start", "started"),
            true => ("starts, but does not answer", "answered"),
        };
        let text = if in_proof {
            let all: Vec<String> = what.changes.iter().map(|one| format!("{} = {}", one.setting, one.to)).collect();
            format!("in the proof, the server {not} with {}, with which it had {had} before: {said}", all.join(", "))
        } else {
            format!("the server {not} with {} = {}: {said}", change.setting, change.to)
        };
        let (setting, value) = (change.setting.clone(), change.to.clone());
        let one = NotStarted { setting, value, said, purpose: what.purpose, listens };
        self.recorder.now(None, What::NotStarted(one))?;
        self.recorder.note(None, NOTE, text)?;
        Ok(true)
    }

    /// Whether a trial tries a value of which nothing is known but, in a proof or when it is tried again, that it was tried before. A smaller one than is proposed is
    /// only looked at: nothing else rests on it.
    pub(super) fn is_tried(&self, what: &TrialPlan) -> bool {
        let trials = &self.recorder.record().trials;
        let mut limits = trials.iter().flat_map(|trial| &trial.limits.limits).filter(|limit| limit.law.is_tried());
        match what.purpose {
            Purpose::Counterfactual | Purpose::Repeat => limits.any(|limit| Some(&limit.id) == what.limit.as_ref()),
            Purpose::Smaller => true,
            Purpose::Proposal => limits.any(|limit| {
                let setting = limit.remedy.as_ref().map(|remedy| &remedy.setting);
                what.changes.iter().any(|change| Some(&change.setting) == setting)
            }),
            _ => false,
        }
    }
}
