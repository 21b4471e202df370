//! What becomes of a proposal: a diff, finished files in the run's folder, and the user's own files, where that is asked for.

use genkai_analysis::findings;
use genkai_model::event::{Change, FinishedFile};
use genkai_model::finding::Because;
use genkai_model::seal::checksum;
use genkai_targets::files::{Finished, masked};

use super::Run;
use crate::error::LabError;

impl Run<'_, '_, '_> {
    /// Writes a proved proposal into the user's files.
    pub(super) fn write(&mut self) -> Result<(), LabError> {
        let verdict = findings(self.recorder.record()).verdict;
        if let Some(text) = not_written(verdict.because(), !verdict.proposal.is_empty()) {
            return self.recorder.note(None, "not-written", text.to_owned());
        }
        let changes: Vec<_> = verdict.proposal.iter().map(|p| p.change.clone()).collect();
        let backups = self.system.baseline().write_back(&changes)?;
        if backups.is_empty() {
            // The kind of a certificate's key.
            let text = "what is proposed stands in no file of the configuration, so none was changed".to_owned();
            return self.recorder.note(None, "not-written", text);
        }
        for text in unwritten(&changes, |changes| self.system.baseline().finished(changes)) {
            self.recorder.note(None, "not-written", text)?;
        }
        for backup in backups {
            let text = format!("{} changed; the old file is {}", backup.file.display(), backup.backup.display());
            self.recorder.note(None, "written", text)?;
            self.written.push((backup.file, backup.backup));
        }
        Ok(())
    }

    /// Notes what the proposal changes in the user's files, for the last line of the record, and writes the finished files into the run's
    /// folder. One with secrets in it is not written a second time.
    pub(super) fn propose(&mut self) -> Result<(), LabError> {
        let verdict = findings(self.recorder.record()).verdict;
        let changes: Vec<_> = verdict.proposal.iter().map(|p| p.change.clone()).collect();
        if changes.is_empty() {
            return Ok(());
        }
        self.bounds(verdict.proposal.iter().any(|one| one.price.is_some() || one.measured.is_some()))?;
        // The diff first: it stays, whatever comes of the files.
        let diff = masked(&self.system.baseline().diff(&changes));
        self.recorder.propose(diff.clone(), Vec::new());
        let mut files = Vec::new();
        let written = self.finish(&changes, &mut files);
        self.recorder.propose(diff, files);
        match written {
            Ok(()) => Ok(()),
            Err(e) => self.recorder.note(None, "proposal-not-written", format!("a finished file was not written: {e}")),
        }
    }

    /// Writes the finished files into the run's folder, and tells where each is.
    fn finish(&self, changes: &[Change], files: &mut Vec<FinishedFile>) -> Result<(), LabError> {
        let mut folder = None;
        for Finished { path, bytes } in self.system.baseline().finished(changes) {
            let text = String::from_utf8_lossy(&bytes);
            let copy = if masked(&text) == text {
                let name = folder.take().map_or_else(|| self.folder.proposal(), Ok)?;
                Some(self.folder.propose(folder.insert(name), &path, &bytes)?)
            } else {
                None
            };
            let sum = copy.is_some().then(|| checksum(&bytes));
            files.push(FinishedFile { path, copy, sum });
        }
        Ok(())
    }
}

/// Why no file is changed with such an answer, and whether something is proposed; none: it is proved.
fn not_written(because: Because, proposes: bool) -> Option<&'static str> {
    match because {
        Because::ProvedAndHolds => None,
        Because::ObjectiveHolds => Some("nothing needs to be changed, so no file was"),
        Because::DirectivesNamed | Because::AccessControl => Some(
            "what is named was left out of a private copy only, and what to write in its place is not known here, so no file was changed",
        ),
        _ if proposes => Some("the proposal is not proved, so no file was changed"),
        _ => Some("nothing is proposed, so no file was changed"),
    }
}

/// What is said of each change for which no file becomes another one: without it they are `finished` as with it.
fn unwritten(changes: &[Change], finished: impl Fn(&[Change]) -> Vec<Finished>) -> Vec<String> {
    let all = finished(changes);
    let is_in_none = |n: usize| {
        let others: Vec<Change> = [&changes[..n], &changes[n + 1..]].concat();
        !others.is_empty() && finished(&others) == all
    };
    let told = (0..changes.len()).filter(|n| is_in_none(*n)).map(|n| &changes[n]);
    told.map(|one| format!("no file of the configuration was changed for {} = {}", one.setting, one.to)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_proposal_is_spoken_of_where_there_is_one() {
        assert_eq!(not_written(Because::ProvedAndHolds, true), None);
        assert!(not_written(Because::ObjectiveHolds, false).is_some_and(|text| text.starts_with("nothing needs")));
        assert!(not_written(Because::DirectivesNamed, false).is_some_and(|text| !text.contains("proposal")));
        assert!(not_written(Because::NoCauseFound, false).is_some_and(|text| text.starts_with("nothing is proposed")));
        assert!(
            not_written(Because::Undecided, true).is_some_and(|text| text.starts_with("the proposal is not proved"))
        );
    }

    #[test]
    fn what_stands_in_no_file_is_told_beside_what_does() {
        let change = |setting: &str| Change {
            product: "nginx".to_owned(),
            setting: setting.to_owned(),
            from: "1".to_owned(),
            to: "2".to_owned(),
        };
        let files = |changes: &[Change]| -> Vec<Finished> {
            let lines = changes.iter().filter(|one| one.setting != "key").map(|one| one.setting.as_str());
            vec![Finished { path: PathBuf::from("/x"), bytes: lines.collect::<String>().into_bytes() }]
        };
        let told = unwritten(&[change("workers"), change("key")], files);
        assert_eq!(told, ["no file of the configuration was changed for key = 2"]);
        assert!(unwritten(&[change("workers"), change("files")], files).is_empty());
    }
}
