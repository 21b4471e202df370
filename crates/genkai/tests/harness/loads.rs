//! `genkai load`, run to its end, and what it told.

use std::process::Command;
use std::time::Duration;

use genkai_model::finding::{TrialFinding, Verdict};

use super::{finish, genkai};

/// How long one may take.
const LONGEST: Duration = Duration::from_secs(90);

/// What a finished command showed.
pub struct Shown {
    /// Exit code.
    pub code: Option<i32>,
    /// What was printed.
    pub stdout: String,
    /// What was said.
    pub stderr: String,
}

/// Runs a command to its end.
pub fn show(command: &mut Command) -> Shown {
    let output = finish(command, LONGEST);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Shown { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// `genkai load` with these words.
pub fn load(words: &str) -> Shown {
    show(&mut genkai(&format!("load {words}")))
}

/// The only trial of a load with these words, which must have ended without a failure.
pub fn faultless(words: &str) -> TrialFinding {
    load(&format!("{words} --json")).faultless()
}

impl Shown {
    /// The only trial of a load that was told as JSON.
    pub fn trial(&self) -> TrialFinding {
        let verdict: Verdict = serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}\n{}", self.story()));
        verdict.trials.into_iter().next().unwrap_or_else(|| panic!("no trial\n{}", self.story()))
    }

    /// The same, of which nothing may have failed.
    pub fn faultless(&self) -> TrialFinding {
        let trial = self.trial();
        assert_eq!(trial.failed, 0, "{:?}\n{}", trial.errors, self.story());
        trial
    }

    /// Everything a failed assertion should show.
    pub fn story(&self) -> String {
        format!("exit {:?}\n{}\n{}", self.code, self.stdout, self.stderr)
    }
}
