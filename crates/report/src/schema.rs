//! JSON Schemas (2020-12) of what genkai writes, made from the model itself.

use genkai_model::event::{self, Event};
use genkai_model::finding::cache::CacheFinding;
use genkai_model::finding::comparison::ComparisonFinding;
use genkai_model::finding::idle_requests::IdleFinding;
use genkai_model::finding::latencies::LatencyFinding;
use genkai_model::finding::rooms::RoomsFinding;
use genkai_model::finding::{self, Verdict};
use genkai_model::platforms::{self, PlatformsFinding};
use genkai_model::suite::{self, SuiteFinding};
use schemars::{JsonSchema, Schema, generate::SchemaSettings};

use crate::html::PageData;
use crate::json::VerdictFile;

/// The name of each schema and its text, which ends with a newline: `run` is a line of `run.jsonl`, `page` the data inside
/// `report.html`, all others are `verdict.json` of a kind of run.
pub fn all() -> [(&'static str, String); 10] {
    let format = |schema: &str| Some(format!("format {schema}"));
    [
        ("run", text(sealed(schema::<Event>()), "genkai run: one line of run.jsonl", format(event::SCHEMA))),
        ("verdict", verdict::<Verdict>("genkai verdict", format(finding::SCHEMA))),
        ("rooms", verdict::<RoomsFinding>("genkai rooms", None)),
        ("rooms-http", verdict::<IdleFinding>("genkai rooms-http", None)),
        ("contest", verdict::<LatencyFinding>("genkai contest", None)),
        ("comparison", verdict::<ComparisonFinding>("genkai comparison", None)),
        ("reverse-proxy-cache", verdict::<CacheFinding>("genkai reverse-proxy-cache", None)),
        ("apache-websocket", verdict::<SuiteFinding>("genkai apache-websocket", format(suite::SCHEMA))),
        ("platforms", verdict::<PlatformsFinding>("genkai platforms", format(platforms::SCHEMA))),
        ("page", text(schema::<PageData>(), "PageData", format(crate::html::SCHEMA))),
    ]
}

fn verdict<T: JsonSchema + 'static>(title: &str, format: Option<String>) -> String {
    text(schema::<VerdictFile<'static, T>>(), title, format)
}

/// With the checksum that every line has (`genkai_model::seal`).
fn sealed(mut schema: Schema) -> Schema {
    let sum = serde_json::json!({
        "description": "CRC-32 of this and all earlier lines, each without it.", "type": "string", "pattern": "^[0-9a-f]{8}$"
    });
    if let Some(properties) = schema.get_mut("properties").and_then(serde_json::Value::as_object_mut) {
        properties.insert("sum".to_owned(), sum);
    }
    schema
}

fn schema<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

fn text(mut schema: Schema, title: &str, format: Option<String>) -> String {
    schema.insert("title".to_owned(), title.into());
    if let Some(format) = format {
        schema.insert("$comment".to_owned(), format.into());
    }
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema serialises");
    text.push('\n');
    text
}
