//! What is written to files: JSON against its schema, the SVG as XML, the page with its data.

use std::path::PathBuf;
use std::{env, fs};

use genkai_report::document::{Document, Medium};
use genkai_report::{html, json, schema, study};
use serde_json::Value;

use crate::fixture;

/// Set this variable to write the committed schemas and the page's sample data anew.
const RENEW: &str = "GENKAI_UPDATE_SCHEMAS";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn same_as_committed(path: &str, made: &str) {
    let file = root().join(path);
    if env::var_os(RENEW).is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, made).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(committed == made, "{path} is out of date: run `make schemas`");
}

fn validator(name: &str) -> jsonschema::Validator {
    let all = schema::all();
    let text = &all.iter().find(|(known, _)| *known == name).unwrap().1;
    jsonschema::draft202012::new(&serde_json::from_str(text).unwrap()).unwrap()
}

pub(crate) fn tuned(s: &fixture::Sample) -> Document {
    study::tune(&s.record, &s.findings)
}

/// The data of a page, checked against their schema.
fn page(s: &fixture::Sample, document: &Document) -> Value {
    let data = serde_json::from_str(&html::data(s.record.head.as_ref(), document)).unwrap();
    let errors: Vec<String> =
        validator("page").iter_errors(&data).map(|e| format!("{e} at {}", e.instance_path)).collect();
    assert!(errors.is_empty(), "{errors:?}");
    data
}

fn section<'a>(page: &'a Value, id: &str) -> &'a Value {
    page["document"]["sections"].as_array().unwrap().iter().find(|section| section["id"] == id).unwrap()
}

#[test]
fn the_committed_schemas_are_up_to_date() {
    for (name, text) in schema::all() {
        same_as_committed(&format!("schemas/{name}.schema.json"), &text);
    }
}

#[test]
fn what_rooms_showed_is_valid_and_says_something() {
    let v = validator("rooms");
    let finding = fixture::rooms::finding();
    let mut value: Value =
        serde_json::from_str(&json::finding(&finding, &study::rooms(&Default::default(), &finding).sentences, &[]))
            .unwrap();
    let errors: Vec<String> = v.iter_errors(&value).map(|e| format!("{e} at {}", e.instance_path)).collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert!(
        value["says"][0].as_str().is_some_and(|s| s.starts_with("2 nodes: 1,880 of 2,000; 120 missing")),
        "{value}"
    );
    let back: genkai_model::finding::rooms::RoomsFinding = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(back, finding);
    value["runs"][0]["losses"][0]["place"] = "nowhere".into();
    assert!(!v.is_valid(&value), "a made-up place is not valid");
}

#[test]
fn what_holding_requests_showed_is_valid_and_has_its_page() {
    let v = validator("rooms-http");
    let (s, finding) = (fixture::experiment(2.0), fixture::idle_requests::finding());
    let mut value: Value =
        serde_json::from_str(&json::finding(&finding, &study::idle_requests(&s.record, &finding).sentences, &[]))
            .unwrap();
    let errors: Vec<String> = v.iter_errors(&value).map(|e| format!("{e} at {}", e.instance_path)).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let back: genkai_model::finding::idle_requests::IdleFinding = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(back, finding);
    value["trials"][0]["client"] = "fine".into();
    assert!(!v.is_valid(&value), "a made-up check is not valid");
    let data = page(&s, &study::idle_requests(&s.record, &finding));
    same_as_committed("page/test/held.json", &format!("{data}\n"));
    assert_eq!(section(&data, "search")["blocks"][1]["rows"][1][4], "6 waited too long for a node with room");
    assert!(data.to_string().contains("server.maxconn = 5"));
}

#[test]
fn the_page_of_rooms_carries_their_way() {
    let (s, finding) = (fixture::experiment(2.0), fixture::rooms::finding());
    let data = page(&s, &study::rooms(&s.record, &finding));
    same_as_committed("page/test/rooms.json", &format!("{data}\n"));
    let stations = section(&data, "way")["blocks"][0]["tabs"][0]["blocks"][0]["stations"].as_array().unwrap().clone();
    let lost: Vec<(&str, &str)> =
        stations.iter().filter_map(|s| Some((s["name"].as_str()?, s["lost"].as_str()?))).collect();
    assert_eq!(lost, [("received by nodes", "−20"), ("written to sockets", "−290")], "every loss hangs at one station");
    assert!(data.to_string().contains("19,000 deliveries heard by members"));
}

#[test]
fn every_line_of_a_record_is_valid_and_nonsense_is_not() {
    let v = validator("run");
    for event in fixture::experiment(2.0).events {
        let value = serde_json::to_value(&event).unwrap();
        let errors: Vec<String> = v.iter_errors(&value).map(|e| format!("{e} at {}", e.instance_path)).collect();
        assert!(errors.is_empty(), "{errors:?}\n{value}");
    }
    for bad in [
        r#"{"at_us": 0}"#,
        r#"{"at_us": -1, "event": "note", "id": "a", "text": "b"}"#,
        r#"{"at_us": 0, "event": "nap"}"#,
        r#"{"at_us": 0, "event": "note", "id": "a"}"#,
    ] {
        assert!(!v.is_valid(&serde_json::from_str::<Value>(bad).unwrap()), "{bad}");
    }
}

#[test]
fn every_verdict_is_valid_and_says_something() {
    let v = validator("verdict");
    for (name, s) in fixture::stories::all() {
        let mut value: Value =
            serde_json::from_str(&json::finding(&s.findings.verdict, &tuned(&s).sentences, &[])).unwrap();
        let errors: Vec<String> = v.iter_errors(&value).map(|e| format!("{e} at {}", e.instance_path)).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
        assert!(value["says"][0].as_str().is_some_and(|s| !s.is_empty()), "{name}");
        value["must_change"] = "perhaps".into();
        assert!(!v.is_valid(&value), "{name}: a made-up answer is not valid");
    }
}

#[test]
fn the_plan_is_json() {
    let text = json::plan(&fixture::plan(), &fixture::limits::predictions(), &fixture::environment());
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["plan"]["system"]["settings"]["worker_connections"], "512");
    assert_eq!(value["predictions"][0]["clients"]["low"], 239.0);
    assert_eq!(value["environment"]["cores"], 2);
}

#[test]
fn the_page_carries_its_data_and_nothing_breaks_out() {
    let mut s = fixture::experiment(2.0);
    s.record.trials[0].logs[0].1.text = "</script><script>alert(1)</script>".into();
    let shown = html::page(s.record.head.as_ref(), &tuned(&s));
    assert!(!shown.contains("<script>alert(1)"), "server text must stay text");
    let start = shown.find("id=\"genkai-data\"").unwrap();
    let body = &shown[start + shown[start..].find('>').unwrap() + 1..];
    let value: Value = serde_json::from_str(&body[..body.find("</script>").unwrap()]).unwrap();
    let data: Value = serde_json::from_str(&html::data(s.record.head.as_ref(), &tuned(&s))).unwrap();
    assert_eq!(value, data, "the data are all there");
    assert_eq!(value["schema"], html::SCHEMA);
    assert!(value.to_string().contains("</script><script>alert(1)</script>"));
}

#[test]
fn every_page_has_its_parts_in_one_order() {
    for (name, s) in fixture::stories::all() {
        let document = tuned(&s);
        let ids: Vec<&str> = document.on(Medium::Page).into_iter().map(|section| section.id.as_str()).collect();
        let order = ["time", "proof", "limits", "evidence", "trials", "change", "caveats", "environment"];
        let known: Vec<&str> = order.into_iter().filter(|id| ids.contains(id)).collect();
        assert_eq!(ids, known, "{name}");
    }
}

#[test]
fn the_pages_sample_is_up_to_date() {
    let s = fixture::experiment(2.0);
    same_as_committed("page/test/sample.json", &format!("{}\n", page(&s, &tuned(&s))));
}
