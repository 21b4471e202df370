//! JSON Schemas (2020-12) of what genkai writes, made from the model itself.

use genkai_model::event::Event;
use schemars::{JsonSchema, Schema, generate::SchemaSettings};

use crate::json::{CacheFile, ComparisonFile, ContestFile, HeldFile, RoomsFile, SuiteFile, VerdictFile};

/// Schema of one line of `run.jsonl`; ends with a newline.
pub fn run() -> String {
    let mut schema = of::<Event>();
    schema.insert("title".to_owned(), "genkai run: one line of run.jsonl".into());
    schema.insert("$comment".to_owned(), format!("format {}", genkai_model::event::SCHEMA).into());
    text(&schema)
}

/// Schema of `verdict.json`; ends with a newline.
pub fn verdict() -> String {
    let mut schema = of::<VerdictFile<'static>>();
    schema.insert("$comment".to_owned(), format!("format {}", genkai_model::finding::SCHEMA).into());
    text(&schema)
}

/// Schema of `verdict.json` of an experiment with rooms; ends with a newline.
pub fn rooms() -> String {
    text(&of::<RoomsFile<'static>>())
}

/// Schema of `verdict.json` of a comparison of servers; ends with a newline.
pub fn contest() -> String {
    text(&of::<ContestFile<'static>>())
}

/// Schema of `verdict.json` of a comparison of systems; ends with a newline.
pub fn comparison() -> String {
    text(&of::<ComparisonFile<'static>>())
}

/// Schema of `verdict.json` of a comparison of caches; ends with a newline.
pub fn cache() -> String {
    text(&of::<CacheFile<'static>>())
}

/// Schema of `verdict.json` of an experiment that holds requests open; ends with a newline.
pub fn held() -> String {
    text(&of::<HeldFile<'static>>())
}

/// Schema of `verdict.json` of an experiment of several runs; ends with a newline.
pub fn suite() -> String {
    let mut schema = of::<SuiteFile<'static>>();
    schema.insert("$comment".to_owned(), format!("format {}", genkai_model::suite::SCHEMA).into());
    text(&schema)
}

fn of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

fn text(schema: &Schema) -> String {
    let mut text = serde_json::to_string_pretty(schema).expect("a schema serialises");
    text.push('\n');
    text
}
