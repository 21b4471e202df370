//! What was found, and plans, as JSON for scripts; every text ends with a newline.

use genkai_model::event::Environment;
use genkai_model::finding::Predicted;
use genkai_model::latencies::ContenderRecord;
use genkai_model::plan::Plan;
use genkai_model::statement::Statement;
use schemars::JsonSchema;
use serde::Serialize;

use crate::document::Document;

/// `verdict.json`: what was found, and what it says in words.
#[derive(Serialize, JsonSchema)]
pub(crate) struct VerdictFile<'a, T> {
    /// The build of genkai that wrote this: its version and a fingerprint of its source. Another build may state more, or less.
    #[serde(skip_serializing_if = "str::is_empty")]
    build: &'a str,
    /// Why the record may not be the whole of what was seen: it is cut off, edited, or of another version.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    doubts: &'a [String],
    #[serde(flatten)]
    finding: &'a T,
    /// The same in plain sentences, the one to quote first.
    says: &'a [String],
    /// Every figure of it with its address, a line each.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    statements: &'a [Statement],
}

/// The plan with what was predicted for it.
#[derive(Serialize)]
struct PlanFile<'a> {
    plan: &'a Plan,
    predictions: &'a [Predicted],
    environment: &'a Environment,
}

/// A finding with what it `says` in sentences, and with its `statements`, a line each (schemas: `schemas/`).
pub fn finding<T: Serialize>(finding: &T, says: &[String], statements: &[Statement]) -> String {
    said(VerdictFile { build: "", doubts: &[], finding, says, statements: &[] }, statements)
}

/// The same with what `document` says: who wrote it and the doubts about its record come first.
pub fn verdict<T: Serialize>(finding: &T, document: &Document, statements: &[Statement]) -> String {
    let Document { build, doubts, sentences, .. } = document;
    said(VerdictFile { build, doubts, finding, says: sentences, statements: &[] }, statements)
}

fn said<T: Serialize>(said: VerdictFile<'_, T>, statements: &[Statement]) -> String {
    let text = value(&said);
    let Some(open) = text.strip_suffix("\n}\n").filter(|_| !statements.is_empty()) else { return text };
    let line = |one| serde_json::to_string(one).expect("model values serialise");
    let lines: Vec<String> = statements.iter().map(line).collect();
    format!("{open},\n  \"statements\": [\n    {}\n  ]\n}}\n", lines.join(",\n    "))
}

/// What would be compared: `{"plan": .., "contenders": [..], "environment": ..}`.
pub fn comparison_plan(plan: &Plan, contenders: &[ContenderRecord], environment: &Environment) -> String {
    value(&serde_json::json!({ "plan": plan, "contenders": contenders, "environment": environment }))
}

/// The plan: `{"plan": .., "predictions": [..], "environment": ..}`.
pub fn plan(plan: &Plan, predictions: &[Predicted], environment: &Environment) -> String {
    value(&PlanFile { plan, predictions, environment })
}

/// Anything of the model as it is: an explained configuration, claims, a checkup, a load.
pub fn value(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("model values serialise");
    text.push('\n');
    text
}
