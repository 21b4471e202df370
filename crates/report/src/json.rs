//! The verdict and the plan as JSON, for scripts.

use genkai_model::contest::ContenderRecord;
use genkai_model::event::Environment;
use genkai_model::explain::Explanation;
use genkai_model::finding::cache::CacheFinding;
use genkai_model::finding::claim::ClaimFinding;
use genkai_model::finding::comparison::ComparisonFinding;
use genkai_model::finding::contest::ContestFinding;
use genkai_model::finding::idle_requests::IdleFinding;
use genkai_model::finding::rooms::RoomsFinding;
use genkai_model::finding::{Findings, Predicted, Verdict};
use genkai_model::load::Load;
use genkai_model::machine::Checkup;
use genkai_model::plan::Plan;
use genkai_model::record::Record;
use genkai_model::suite::SuiteFinding;
use schemars::JsonSchema;
use serde::Serialize;

use crate::says;

/// `verdict.json`: the verdict and what it says in words.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "genkai verdict")]
pub(crate) struct VerdictFile<'a> {
    #[serde(flatten)]
    pub(crate) verdict: &'a Verdict,
    /// The verdict in plain sentences, the answer first.
    pub(crate) says: Vec<String>,
}

/// `verdict.json` of an experiment with rooms: what was found and what it says in words.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "genkai rooms")]
pub(crate) struct RoomsFile<'a> {
    #[serde(flatten)]
    pub(crate) finding: &'a RoomsFinding,
    /// The finding in plain sentences.
    pub(crate) says: Vec<String>,
}

/// `verdict.json` of a comparison of servers: what was found and what it says in words.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "genkai contest")]
pub(crate) struct ContestFile<'a> {
    #[serde(flatten)]
    pub(crate) finding: &'a ContestFinding,
    /// The finding in plain sentences.
    pub(crate) says: Vec<String>,
}

/// `verdict.json` of a comparison of systems: what was found and what it says in words.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "genkai comparison")]
pub(crate) struct ComparisonFile<'a> {
    #[serde(flatten)]
    pub(crate) finding: &'a ComparisonFinding,
    /// The finding in plain sentences, the one to quote first.
    pub(crate) says: Vec<String>,
}

/// `verdict.json` of a comparison of caches: what was found and what it says in words.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "genkai reverse-proxy-cache")]
pub(crate) struct CacheFile<'a> {
    #[serde(flatten)]
    pub(crate) finding: &'a CacheFinding,
    /// The finding in plain sentences.
    pub(crate) says: Vec<String>,
}

/// `verdict.json` of an experiment that holds requests open: what was found and what it says in words.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "genkai rooms-http")]
pub(crate) struct HeldFile<'a> {
    #[serde(flatten)]
    pub(crate) finding: &'a IdleFinding,
    /// The finding in plain sentences.
    pub(crate) says: Vec<String>,
}

/// `verdict.json` of an experiment of several runs: what was found and what it says in words.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "genkai apache-websocket")]
pub(crate) struct SuiteFile<'a> {
    #[serde(flatten)]
    pub(crate) finding: &'a SuiteFinding,
    /// The finding in plain sentences, the answer first.
    pub(crate) says: Vec<String>,
}

/// The plan with what was predicted for it.
#[derive(Serialize)]
struct PlanFile<'a> {
    plan: &'a Plan,
    predictions: &'a [Predicted],
    environment: &'a Environment,
}

/// The verdict as JSON (schema: [`crate::schema::verdict`]), with `says` added; ends with a newline.
pub fn verdict(record: &Record, findings: &Findings) -> String {
    pretty(&VerdictFile { verdict: &findings.verdict, says: says::sentences(findings, record) })
}

/// An explained configuration as JSON: [`Explanation`]; ends with a newline.
pub fn explanation(explanation: &Explanation) -> String {
    pretty(explanation)
}

/// The finding of an experiment with rooms as JSON (schema: [`crate::schema::rooms`]); ends with a newline.
pub fn rooms(finding: &RoomsFinding) -> String {
    pretty(&RoomsFile { finding, says: says::rooms::sentences(finding) })
}

/// The finding of a comparison of caches as JSON (schema: [`crate::schema::cache`]); ends with a newline.
pub fn cache(finding: &CacheFinding) -> String {
    pretty(&CacheFile { finding, says: says::cache::sentences(finding) })
}

/// The finding of a comparison of servers as JSON (schema: [`crate::schema::contest`]); ends with a newline.
pub fn contest(finding: &ContestFinding) -> String {
    pretty(&ContestFile { finding, says: says::contest::sentences(finding) })
}

/// The finding of a comparison of systems as JSON (schema: [`crate::schema::comparison`]); ends with a newline.
pub fn comparison(finding: &ComparisonFinding) -> String {
    pretty(&ComparisonFile { finding, says: says::compare::sentences(finding) })
}

/// Claims and what came of them as JSON: a list; ends with a newline.
pub fn claims(all: &[ClaimFinding]) -> String {
    pretty(&all)
}

/// What would be compared as JSON: `{"plan": .., "contenders": [..], "environment": ..}`; ends with a newline.
pub fn comparison_plan(plan: &Plan, contenders: &[ContenderRecord], environment: &Environment) -> String {
    pretty(&serde_json::json!({ "plan": plan, "contenders": contenders, "environment": environment }))
}

/// The finding of an experiment that holds requests open as JSON (schema: [`crate::schema::held`]); ends with a newline.
pub fn held(finding: &IdleFinding) -> String {
    pretty(&HeldFile { finding, says: says::held::sentences(finding) })
}

/// What an experiment of several runs showed, as JSON (schema: [`crate::schema::suite`]); ends with a newline.
pub fn suite(finding: &SuiteFinding) -> String {
    pretty(&SuiteFile { finding, says: says::suite::sentences(finding) })
}

/// The plan as JSON: `{"plan": .., "predictions": [..], "environment": ..}`; ends with a newline.
pub fn plan(plan: &Plan, predictions: &[Predicted], environment: &Environment) -> String {
    pretty(&PlanFile { plan, predictions, environment })
}

/// What a machine holds as JSON; ends with a newline.
pub fn doctor(checkup: &Checkup) -> String {
    pretty(checkup)
}

/// A load as JSON, as it would be made; ends with a newline.
pub fn load(load: &Load) -> String {
    pretty(load)
}

fn pretty(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("model values serialise");
    text.push('\n');
    text
}
