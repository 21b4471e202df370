//! Contenders whose answers are unlike, as they are told.

use genkai_model::finding::comparison::{ComparisonCaveat, KindOfAnswer};
use genkai_report::{html, text};

use crate::compare::{document, finding, says};

/// Beside the answer, before anything else is said of it, and once.
#[test]
fn unlike_answers_are_told_beside_the_answer() {
    let mut unlike = finding();
    let answer = |name: &str, status, bytes| KindOfAnswer { name: name.to_owned(), status: Some(status), bytes };
    let answers = vec![answer("one", 200, Some(2_150.0)), answer("two", 302, None)];
    unlike.caveats = vec![ComparisonCaveat::AnswersUnlike { answers }];
    let said = says(&unlike);
    assert!(said[1].starts_with("Answers are unlike: one: 200, 2.1 KiB each; two: 302. ("), "{said:?}");
    for told in [html::page(None, &document(&unlike)), text::document(&document(&unlike), text::Style::default())] {
        assert_eq!(told.matches("Answers are unlike: one").count(), 1, "{told}");
    }
}
