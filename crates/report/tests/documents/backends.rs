//! What is said of what stands behind the server.

use genkai_model::finding::Evidence;
use genkai_model::units::Range;
use genkai_report::{html, study};

use crate::fixture;

/// All that the page says.
fn page(s: &fixture::Sample) -> String {
    let document: serde_json::Value =
        serde_json::from_str(&html::data(None, &study::tune(&s.record, &s.findings))).unwrap();
    document["document"].to_string()
}

#[test]
fn more_of_a_pool_that_answers_no_faster_is_not_advised() {
    let told = |evidence: Option<Evidence>| {
        let mut s = fixture::stories::backend();
        let cause = &mut s.findings.verdict.causes[0];
        cause.limit.caps = "requests that it works on at once; further ones wait; to lift it, raise threads".to_owned();
        cause.evidence.extend(evidence);
        page(&s)
    };
    let flat = told(Some(Evidence::NoFaster { few: 3.0, rate: 10.0, most: 20.0, full: 10.0 }));
    assert!(told(None).contains("further ones wait; to lift it, raise threads"));
    assert!(!flat.contains("to lift it"), "{flat}");
    assert!(flat.contains("further ones wait; more of them are not likely to help"), "{flat}");
}

/// Workers whose queue hardly ends.
#[test]
fn a_next_limit_without_an_end_in_clients_is_told_in_users() {
    let told = |users: Option<Range>| {
        let mut s = fixture::experiment(1.0);
        let next = s.findings.verdict.next.as_mut().unwrap();
        (next.clients, next.users) = (Some(Range { low: 8.0, high: 2_147_483_656.0 }), users);
        page(&s)
    };
    let users = told(Some(Range { low: 40.0, high: 85.0 }));
    assert!(users.contains("\"40-85 users\""), "{users}");
    assert!(told(None).contains("\"8 clients and more\""));
}
