//! What is written to files: JSON against its schema, the SVG as XML, the page with its data.

mod fixture;

use std::path::PathBuf;
use std::{env, fs};

use genkai_report::{html, json, schema, svg};
use serde_json::Value;

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

fn validator(schema: &str) -> jsonschema::Validator {
    jsonschema::draft202012::new(&serde_json::from_str(schema).unwrap()).unwrap()
}

#[test]
fn the_committed_schemas_are_up_to_date() {
    same_as_committed("schemas/run.schema.json", &schema::run());
    same_as_committed("schemas/verdict.schema.json", &schema::verdict());
    same_as_committed("schemas/contest.schema.json", &schema::contest());
    same_as_committed("schemas/comparison.schema.json", &schema::comparison());
    same_as_committed("schemas/reverse-proxy-cache.schema.json", &schema::cache());
    same_as_committed("schemas/apache-websocket.schema.json", &schema::suite());
    same_as_committed("schemas/rooms.schema.json", &schema::rooms());
    same_as_committed("schemas/rooms-http.schema.json", &schema::held());
}

#[test]
fn what_rooms_showed_is_valid_and_says_something() {
    let v = validator(&schema::rooms());
    let finding = fixture::rooms::finding();
    let mut value: Value = serde_json::from_str(&json::rooms(&finding)).unwrap();
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
    let v = validator(&schema::held());
    let (s, finding) = (fixture::experiment(2.0), fixture::held::finding());
    let mut value: Value = serde_json::from_str(&json::held(&finding)).unwrap();
    let errors: Vec<String> = v.iter_errors(&value).map(|e| format!("{e} at {}", e.instance_path)).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let back: genkai_model::finding::idle_requests::IdleFinding = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(back, finding);
    value["trials"][0]["client"] = "fine".into();
    assert!(!v.is_valid(&value), "a made-up check is not valid");
    let data = html::held_data(&s.record, &s.findings, &finding);
    same_as_committed("page/test/held.json", &format!("{data}\n"));
    assert_eq!(data["held"]["trials"][1]["told"], "6 waited too long for a node with room");
    assert!(html::held(&s.record, &s.findings, &finding).contains("server.maxconn = 5"));
}

#[test]
fn the_page_of_rooms_carries_their_way() {
    let s = fixture::experiment(2.0);
    let finding = fixture::rooms::finding();
    let data = html::rooms_data(&s.record, &s.findings, &finding);
    same_as_committed("page/test/rooms.json", &format!("{data}\n"));
    let stations: Vec<(&str, u64)> = data["rooms"]["runs"][0]["stations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| {
            let lost = s["lost"].as_array().unwrap().iter().filter_map(|lost| lost["count"].as_u64()).sum();
            (s["name"].as_str().unwrap(), lost)
        })
        .collect();
    assert_eq!(stations.iter().map(|(_, lost)| lost).sum::<u64>(), 310, "every loss hangs at one station");
    assert!(
        stations.contains(&("received by nodes", 20)) && stations.contains(&("written to sockets", 290)),
        "{stations:?}"
    );
    assert!(html::rooms(&s.record, &s.findings, &finding).contains("19,000 deliveries heard by members"));
}

#[test]
fn every_line_of_a_record_is_valid_and_nonsense_is_not() {
    let v = validator(&schema::run());
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
    let v = validator(&schema::verdict());
    for (name, s) in fixture::stories::all() {
        let mut value: Value = serde_json::from_str(&json::verdict(&s.record, &s.findings)).unwrap();
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
fn the_figure_is_well_formed_and_marks_the_break() {
    for (name, s) in fixture::stories::all() {
        let text = svg::figure(&s.record, &s.findings);
        let doc = roxmltree::Document::parse(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        let words: String = doc.descendants().filter_map(|n| n.text()).collect::<Vec<_>>().join("\n");
        assert_eq!(words.contains("break at 243 users"), !["holds", "no_headroom"].contains(&name), "{name}: {words}");
        for wanted in ["failures/s", "time since the load began (s)", "users (right axis)"] {
            assert!(words.contains(wanted), "{name}: {wanted}");
        }
        let dashes: Vec<_> = doc.descendants().filter_map(|n| n.attribute("stroke-dasharray")).collect();
        assert!(dashes.len() >= 4, "{name}: lines are told apart by dash: {dashes:?}");
    }
}

#[test]
fn a_hostile_or_empty_record_still_makes_a_figure() {
    let mut s = fixture::experiment(2.0);
    let head = s.record.head.as_mut().unwrap();
    head.plan.title = "<script>&\"\u{0}\u{fffe}]]></script>".into();
    roxmltree::Document::parse(&svg::figure(&s.record, &s.findings)).unwrap();
    s.findings.series[0].points.iter_mut().for_each(|p| p.ok = f64::NAN);
    roxmltree::Document::parse(&svg::figure(&s.record, &s.findings)).unwrap();
    s.findings.series.clear();
    let text = svg::figure(&s.record, &s.findings);
    assert!(text.contains("holds no load"), "{text}");
}

#[test]
fn the_page_carries_its_data_and_nothing_breaks_out() {
    let mut s = fixture::experiment(2.0);
    s.record.trials[0].logs[0].1.text = "</script><script>alert(1)</script>".into();
    let page = html::page(&s.record, &s.findings);
    assert!(!page.contains("<script>alert(1)"), "server text must stay text");
    let start = page.find("id=\"genkai-data\"").unwrap();
    let body = &page[start + page[start..].find('>').unwrap() + 1..];
    let value: Value = serde_json::from_str(&body[..body.find("</script>").unwrap()]).unwrap();
    let data = html::data(&s.record, &s.findings);
    assert!(value["said"] == data["said"] && value["words"] == data["words"], "the words are all there");
    assert_eq!(value["events"].as_array().map(Vec::len), data["events"].as_array().map(Vec::len));
    assert_eq!(value["schema"], html::SCHEMA);
    assert_eq!(value["findings"]["verdict"]["proposal"][0]["change"]["to"], "768");
    let first = &value["events"][0];
    assert_eq!(first["event"], "run_started");
    assert!(value["events"].as_array().unwrap().iter().any(|e| e["text"] == "</script><script>alert(1)</script>"));
}

#[test]
fn the_pages_events_are_a_record_again() {
    let s = fixture::experiment(2.0);
    let lines: Vec<String> =
        html::data(&s.record, &s.findings)["events"].as_array().unwrap().iter().map(Value::to_string).collect();
    let back = genkai_model::record::Record::read(lines.iter().map(String::as_str)).unwrap();
    assert_eq!(back.trials.len(), s.record.trials.len());
    for (a, b) in back.trials.iter().zip(&s.record.trials) {
        assert_eq!((a.number, a.ticks.len(), a.logs.len()), (b.number, b.ticks.len(), b.logs.len()));
        assert_eq!(a.logs, b.logs);
        assert_eq!(a.limits.limits, b.limits.limits);
    }
    assert_eq!(back.end, s.record.end);
}

#[test]
fn the_pages_sample_follows_the_schema() {
    let s = fixture::experiment(2.0);
    same_as_committed("page/test/sample.json", &format!("{}\n", html::data(&s.record, &s.findings)));
}
