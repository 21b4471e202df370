//! One case through the whole pipeline: genkai on the real product, as a user would run it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use genkai_model::plan::Study;
use genkai_model::record::Record;
use genkai_model::statement::Statement;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cases::{Case, ROOMS};
use crate::inside::Entered;
use crate::judge::{Judged, Mark, judge};
use crate::world::World;

#[path = "../../tests/statements/contradictions/found.rs"]
mod found;

/// No case takes longer; one that does is a failure of the drill.
const LONGEST: Duration = Duration::from_secs(150);
/// Short trials, a limit put to the test by its counterfactual; no comparison of before and after.
const SHORT: &str = "--quick --pairs 0";
/// One limit, where a case does not say how many.
const ONE: &str = "--max-limits 1";
/// How long the full load lasts, where a case has no wish of its own.
const HOLD: [&str; 2] = ["--hold", "3s"];

/// A case that was run, or could not be.
pub(crate) struct Done<'c> {
    /// The case.
    pub(crate) case: &'c Case,
    /// What came of it; or why nothing did.
    pub(crate) judged: Result<Judged, Unjudged>,
    /// What came of asking once more, where it could not tell. It does not count.
    pub(crate) again: Option<Judged>,
    /// Time to the answer.
    pub(crate) took: Duration,
    /// The day on which it was run.
    pub(crate) day: String,
}

/// Why nothing came of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Unjudged {
    /// genkai gave no answer.
    Failed(String),
    /// The fault cannot be made here.
    Skipped(String),
}

/// Runs a case with this genkai, everything of it in `dir`.
pub(crate) fn run<'c>(case: &'c Case, genkai: &Path, dir: &Path) -> Done<'c> {
    let began = Instant::now();
    let judged = Entered::make(&case.inside, dir).map_err(Unjudged::Skipped).and_then(|inside| {
        let verdict = answer(case, genkai, dir, &inside).map_err(Unjudged::Failed)?;
        follows(&verdict, &dir.join("out")).map_err(Unjudged::Failed)?;
        judge(case, &verdict).map_err(Unjudged::Failed)
    });
    Done { case, judged, again: None, took: began.elapsed(), day: today() }
}

/// The day (UTC), as `2026-11-26`.
fn today() -> String {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    now.split('T').next().unwrap_or_default().to_owned()
}

/// Whether all that a verdict states follows from the record beside it, by the second computation, and no two sentences or figures of it
/// contradict each other or a counter of the record.
fn follows(verdict: &str, out: &Path) -> Result<(), String> {
    let verdict: Value = serde_json::from_str(verdict).map_err(|e| e.to_string())?;
    let lines = std::fs::read_to_string(out.join("run.jsonl")).map_err(|e| e.to_string())?;
    agrees(&lines)?;
    let Some(stated) = verdict.get("statements") else { return Ok(()) };
    let stated: Vec<Statement> = serde_json::from_value(stated.clone()).map_err(|e| e.to_string())?;
    let checked = genkai_check::check(&lines, &verdict, &stated)?;
    if checked.holds() { Ok(()) } else { Err(format!("the verdict does not follow from its record: {checked:?}")) }
}

/// Whether no two sentences or figures of what the record `lines` shows contradict each other, or one of its counters.
fn agrees(lines: &str) -> Result<(), String> {
    let record = Record::read(lines.lines()).map_err(|e| e.to_string())?;
    if record.head.as_ref().is_none_or(|head| head.plan.study != Study::Tune) {
        return Ok(());
    }
    let findings = genkai_analysis::findings(&record);
    let document = genkai_report::study::tune(&record, &findings);
    let found = found::contradictions(&record, &findings, &document);
    if found.is_empty() { Ok(()) } else { Err(format!("the verdict contradicts itself or its record: {found:?}")) }
}

impl Done<'_> {
    /// Asks once more where it could not tell, in another folder.
    pub(crate) fn repeated(self, genkai: &Path, dir: &Path) -> Self {
        let unsure = self.judged.as_ref().is_ok_and(|judged| judged.mark == Mark::CannotTell);
        let again = unsure.then(|| run(self.case, genkai, dir).judged.ok()).flatten();
        Done { again, ..self }
    }
}

/// What genkai is asked.
fn command(case: &Case, genkai: &Path, before: &[String]) -> Command {
    let mut words = before.to_vec();
    words.push(genkai.display().to_string());
    let mut say = |text: &str| words.extend(text.split_whitespace().map(str::to_owned));
    if case.product == ROOMS {
        say("experiment run rooms");
    } else {
        let one = if case.flags.iter().any(|word| word == "--max-limits") { "" } else { ONE };
        say(&format!("tune {} {SHORT} {one}", case.product));
        if !case.flags.iter().any(|word| word == HOLD[0]) {
            say(&HOLD.join(" "));
        }
        // Where a rule is to name it, nothing else may.
        if case.config.is_some() && !case.name.starts_with("bisect-") {
            say("--bisect 0");
        }
    }
    words.extend(case.flags.iter().cloned().chain(["--quiet".to_owned()]));
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    if let Some(objective) = case.objective {
        command.args(["--objective", objective]);
    }
    command
}

/// The verdict, as it was written.
fn answer(case: &Case, genkai: &Path, dir: &Path, inside: &Entered) -> Result<String, String> {
    let world = World::make(case, genkai, dir).map_err(|e| e.to_string())?;
    let out = dir.join("out");
    let mut command = command(case, genkai, &inside.before);
    if let Some(program) = &inside.program {
        command.arg(format!("--{}", case.product)).arg(program);
    }
    command.args(&world.flags).arg("--out").arg(&out).stdin(Stdio::null()).stdout(Stdio::null());
    if !case.command.is_empty() {
        command.arg("--").args(&case.command);
    }
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
    std::fs::read_to_string(out.join("verdict.json"))
        .map_err(|_| std::fs::read_to_string(&said).unwrap_or_default().trim().to_owned())
}
