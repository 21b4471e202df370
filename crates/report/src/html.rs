//! A document as one HTML file that works offline: the page built from `page/` with the document inside.
//!
//! The page words nothing, computes nothing and decides nothing: it lays the blocks out and draws the drawings.

use genkai_model::event::RunStarted;
use schemars::JsonSchema;
use serde::Serialize;

use crate::document::{Block, Document, Medium, Style};
use crate::{clean, figure};

/// The built page; `build.rs` puts it there.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));
/// What the data replace in it.
const PLACE: &str = "\"genkai-data-goes-here\"";

/// Version of the data inside the page.
pub const SCHEMA: &str = "genkai.page/2";

/// The data inside the page.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "PageData")]
pub(crate) struct PageData {
    /// `genkai.page/2`.
    schema: String,
    /// The build of genkai that wrote the page; empty: not said.
    #[serde(skip_serializing_if = "String::is_empty")]
    build: String,
    /// Of the plan.
    title: String,
    /// When it was made, RFC 3339, and as people read it.
    started: Option<(String, String)>,
    /// Who made it, and where the record is.
    footer: Footer,
    /// What it says.
    document: Document,
}

/// The foot of the page: words, a file name, words.
#[derive(Serialize, JsonSchema)]
struct Footer {
    before: String,
    file: String,
    after: String,
}

/// The whole report. Foreign text inside cannot end the script element it stands in.
pub fn page(head: Option<&RunStarted>, document: &Document) -> String {
    PAGE.replacen(PLACE, &embedded(&data(head, document)), 1)
}

/// The data of the page as JSON.
pub fn data(head: Option<&RunStarted>, document: &Document) -> String {
    let version = head.map_or_else(String::new, |head| clean::line(&head.version));
    let doubts = document.doubts.iter().map(|doubt| Block::styled(Style::Strong, doubt.as_str()));
    let data = PageData {
        schema: SCHEMA.to_owned(),
        build: document.build.clone(),
        title: head.map_or_else(|| "genkai report".to_owned(), |head| clean::line(&head.plan.title)),
        started: head.map(|head| (head.started.clone(), figure::date(&head.started))),
        footer: Footer {
            before: format!("Made by genkai {version}. Everything on this page is inside this file; "),
            file: "run.jsonl".to_owned(),
            after: format!(" {} is the whole record.", document.record),
        },
        document: Document {
            answer: doubts.chain(document.answer.iter().cloned()).collect(),
            sections: document.on(Medium::Page).into_iter().cloned().collect(),
            ..document.clone()
        },
    };
    serde_json::to_string(&data).expect("a document serialises")
}

/// JSON that is inert inside a `<script>` element: no `<` (so no `</script` or `<!--`), no U+2028 or U+2029.
fn embedded(text: &str) -> String {
    text.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_exactly_one_place_for_data() {
        assert_eq!(PAGE.matches(PLACE).count(), 1);
    }

    #[test]
    fn embedded_text_cannot_leave_its_element() {
        let text = "</script><script>alert(1)</script><!--\u{2028}";
        let out = embedded(&serde_json::json!({ "log": text }).to_string());
        assert!(!out.contains('<') && !out.contains('\u{2028}'), "{out}");
        let back: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(back["log"], text);
    }
}
