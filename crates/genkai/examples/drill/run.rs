//! One case through the whole pipeline: `genkai tune` on the real product, as a user would run it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use genkai_model::finding::Verdict;

use crate::cases::Case;
use crate::judge::{Judged, judge};
use crate::world::World;

/// No case takes longer; one that does is a failure of the drill.
const LONGEST: Duration = Duration::from_secs(150);
/// Short trials, one limit, put to the test by its counterfactual; no comparison of before and after.
const SHORT: &str = "--quick --quiet --pairs 0 --max-limits 1 --hold 3s";

/// A case that was run.
pub(crate) struct Done<'c> {
    /// The case.
    pub(crate) case: &'c Case,
    /// What came of it; or why nothing did.
    pub(crate) judged: Result<Judged, String>,
    /// Time to the answer.
    pub(crate) took: Duration,
}

/// Runs a case with this genkai, everything of it in `dir`.
pub(crate) fn run<'c>(case: &'c Case, genkai: &Path, dir: &Path) -> Done<'c> {
    let began = Instant::now();
    let judged = answer(case, genkai, dir).map(|verdict| judge(case, &verdict));
    Done { case, judged, took: began.elapsed() }
}

fn answer(case: &Case, genkai: &Path, dir: &Path) -> Result<Verdict, String> {
    let world = World::make(case, genkai, dir).map_err(|e| e.to_string())?;
    let out = dir.join("out");
    let mut command = Command::new(genkai);
    command.args(["tune", case.product]).args(case.flags.split_whitespace()).args(SHORT.split_whitespace());
    if let Some(objective) = case.objective {
        command.args(["--objective", objective]);
    }
    command.args(&world.flags).arg("--out").arg(&out).stdin(Stdio::null()).stdout(Stdio::null());
    let said = dir.join("said.txt");
    let errors = std::fs::File::create(&said).map_err(|e| e.to_string())?;
    let mut child = command.stderr(errors).spawn().map_err(|e| e.to_string())?;
    let deadline = Instant::now() + LONGEST;
    while child.try_wait().map_err(|e| e.to_string())?.is_none() {
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("no answer within {LONGEST:?}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let text = std::fs::read_to_string(out.join("verdict.json"))
        .map_err(|_| std::fs::read_to_string(&said).unwrap_or_default().trim().to_owned())?;
    serde_json::from_str(&text).map_err(|e| e.to_string())
}
